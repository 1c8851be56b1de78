"""functorch.experimental."""
from mindtorch._functorch.apis import chunk_vmap
from mindtorch._functorch.experimental import control_flow
from mindtorch.func import hessian, jacfwd, jvp

__all__ = ["chunk_vmap", "control_flow", "functionalize", "hessian", "jacfwd", "jvp",
           "replace_all_batch_norm_modules_"]


def functionalize(func, *, remove="mutations"):
    """NotImplementedError: graphs of mindtorch have the writes and views that the program makes."""
    raise NotImplementedError("functorch.experimental.functionalize: mindtorch does not take writes and views out of "
                              "programs. make_fx records them as they are.")


def replace_all_batch_norm_modules_(root):
    """Has all batch norms of a module normalise by the batch alone, without running statistics; gives the module."""
    from mindtorch.nn.modules.batchnorm import _BatchNorm
    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
