"""torch.nn.parallel: one batch in parts on several NPUs of this process."""
from mindtorch.nn.parallel.data_parallel import DataParallel, data_parallel
from mindtorch.nn.parallel.distributed import DistributedDataParallel
from mindtorch.nn.parallel.parallel_apply import parallel_apply
from mindtorch.nn.parallel.replicate import replicate
from mindtorch.nn.parallel.scatter_gather import gather, scatter

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel", "gather", "parallel_apply", "replicate",
           "scatter"]
