"""torch._C._distributed_c10d: the classes of torch.distributed that torch has in C++."""
# ruff: noqa: F401 - the names are here for programs
from mindtorch._submodules import module_getattr
from mindtorch.distributed._backend import Backend
from mindtorch.distributed._backend import DistributedBackendOptions as _DistributedBackendOptions
from mindtorch.distributed._debug import DebugLevel, get_debug_level, set_debug_level, set_debug_level_from_env
from mindtorch.distributed._fake import FakeProcessGroup, FakeWork
from mindtorch.distributed._gloo import ProcessGroupGloo
from mindtorch.distributed._module_states import _broadcast_coalesced, _verify_params_across_processes
from mindtorch.distributed._options import (
    UNSET_TIMEOUT,
    AllgatherOptions,
    AllreduceCoalescedOptions,
    AllreduceOptions,
    AllToAllOptions,
    BarrierOptions,
    BroadcastOptions,
    GatherOptions,
    OpType,
    ReduceOp,
    ReduceOptions,
    ReduceScatterOptions,
    ScatterOptions,
    _make_nccl_premul_sum,
)
from mindtorch.distributed._process_group import ProcessGroup
from mindtorch.distributed._stores import FileStore, HashStore, PrefixStore, Store, TCPStore
from mindtorch.distributed._work import Work, _create_work_from_future
from mindtorch.distributed._world import _resolve_process_group
from mindtorch.distributed.constants import default_pg_timeout as _DEFAULT_PG_TIMEOUT


def _set_thread_isolation_mode(enable: bool) -> None:
    """Nothing: groups are found by their names in the records, which differ between threads where a program says so."""


__getattr__ = module_getattr("mindtorch._C._distributed_c10d")
