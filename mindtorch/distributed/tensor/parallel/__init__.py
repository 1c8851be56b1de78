"""torch.distributed.tensor.parallel: modules with layers cut over the ranks."""
from mindtorch._submodules import module_getattr
from mindtorch._tensor.docstrings import complete as _complete_docstrings
from mindtorch.distributed.tensor.parallel.api import parallelize_module
from mindtorch.distributed.tensor.parallel.loss import loss_parallel
from mindtorch.distributed.tensor.parallel.style import (
    ColwiseParallel,
    ParallelStyle,
    PrepareModuleInput,
    PrepareModuleInputOutput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
)

__all__ = ["ColwiseParallel", "ParallelStyle", "PrepareModuleInput", "PrepareModuleInputOutput", "PrepareModuleOutput",
           "RowwiseParallel", "SequenceParallel", "loss_parallel", "parallelize_module"]

_complete_docstrings(globals(), "distributed.tensor")
__getattr__ = module_getattr(__name__)
