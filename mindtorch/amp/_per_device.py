"""What torch.cpu.amp and torch.cuda.amp say: torch.amp has what they have, for every type of device."""
from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mindtorch.types import Device

_TEXT = "`torch.{device}.amp.{name}(args...)` is deprecated. Please use `torch.amp.{call}` instead."


def deprecated(device: Device, name: str, call: Any = None) -> None:
    """Warn the caller of the caller."""
    text = _TEXT.format(device=device, name=name, call=call or f"{name}('{device}', args...)")
    warnings.warn(text, FutureWarning, stacklevel=3)
