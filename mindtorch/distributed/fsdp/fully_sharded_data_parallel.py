"""torch.distributed.fsdp.fully_sharded_data_parallel: its settings. FullyShardedDataParallel itself refuses."""
from mindtorch._refusals.modules import refused_names
from mindtorch.distributed.fsdp.api import *  # noqa: F403 - torch has all of api's names in this module, too

__getattr__ = refused_names(__name__)
