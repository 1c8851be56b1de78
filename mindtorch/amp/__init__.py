"""torch.amp: autocast, operators in the dtype that suits them."""
# ruff: noqa: F401 - what is imported here is what the namespace consists of
from mindtorch.amp import autocast_mode
from mindtorch.amp.autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available

__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
