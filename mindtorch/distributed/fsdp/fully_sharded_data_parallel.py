"""torch.distributed.fsdp.fully_sharded_data_parallel: its settings. FullyShardedDataParallel itself refuses."""
from mindtorch._refusals.modules import refused_names
from mindtorch.distributed.fsdp.api import *  # noqa: F403 - its names, under this older module's

__getattr__ = refused_names(__name__)
