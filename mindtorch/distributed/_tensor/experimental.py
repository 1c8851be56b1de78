"""torch.distributed._tensor.experimental: the older name of torch.distributed.tensor.experimental."""
from mindtorch.distributed.tensor.experimental import *  # noqa: F403 - what that module has
