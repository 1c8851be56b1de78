"""torch.distributed._composable: functions that change a module in place."""
from mindtorch.distributed._composable.checkpoint_activation import checkpoint
from mindtorch.distributed._composable.contract import _get_registry, contract
from mindtorch.distributed._composable.replicate import replicate

__all__ = ["_get_registry", "checkpoint", "contract", "replicate"]
