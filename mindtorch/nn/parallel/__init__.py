"""torch.nn.parallel: one batch in parts on several NPUs of this process, or in several processes."""
import sys
from typing import TYPE_CHECKING

from mindtorch.nn.parallel.data_parallel import DataParallel, data_parallel
from mindtorch.nn.parallel.parallel_apply import parallel_apply
from mindtorch.nn.parallel.replicate import replicate
from mindtorch.nn.parallel.scatter_gather import gather, scatter

if TYPE_CHECKING:
    from mindtorch.nn.parallel.distributed import DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel", "gather", "parallel_apply", "replicate",
           "scatter"]


def __getattr__(name):
    if name in ("DistributedDataParallel", "distributed"):      # stands on torch.distributed, which stands on nn
        from mindtorch.nn.parallel.distributed import DistributedDataParallel
        return DistributedDataParallel if name == "DistributedDataParallel" else sys.modules[f"{__name__}.distributed"]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
