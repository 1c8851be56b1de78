"""torch.distributed._tensor.device_mesh: another name of torch.distributed.device_mesh."""
from mindtorch.distributed.device_mesh import *  # noqa: F403 - what that module has
