"""Names that torch keeps for older programs, for its compiler or for devices that are absent here.

MODULES has the modules of torch that stand elsewhere here: name in torch -> name in mindtorch.
"""

MODULES = {"_C._distributed_c10d": "distributed._c10d", "_jit_internal": "jit",
           "testing._internal.distributed.fake_pg": "distributed._fake", "_custom_ops": "_library.fake",
           "_dispatch": "_compat.dispatch", "accelerator.graphs": "accelerator", "accelerator.memory": "accelerator",
           "compiler.config": "_dynamo.config", "quantization": "ao.quantization",
           "_prims": "_compat.prims", "_prims_common": "_compat.prims_common", "_tensor_str": "_tensor.printing",
           "_vmap_internals": "_compat.vmap_internals",
           "_weights_only_unpickler": "_serialization.weights_only_unpickler"}

_ELASTIC = {"agent.server.api": "agent.server", "events.api": "events", "events.handlers": "events",
            "metrics.api": "metrics", "multiprocessing.errors.error_handler": "multiprocessing.errors",
            "multiprocessing.errors.handlers": "multiprocessing.errors", "rendezvous.api": "rendezvous",
            "timer.api": "timer", "timer.local_timer": "timer", "utils.data.cycling_iterator": "utils.data",
            "utils.data.elastic_distributed_sampler": "utils.data", "utils.log_level": "utils.logging"}
MODULES |= {f"distributed.elastic.{name}": f"distributed.elastic.{place}" for name, place in _ELASTIC.items()}
