"""What torch.cpu.amp and torch.cuda.amp say: torch.amp has what they have, for every type of device."""
import warnings

_TEXT = "`torch.{device}.amp.{name}(args...)` is deprecated. Please use `torch.amp.{call}` instead."


def deprecated(device, name, call=None):
    """Warn the caller of the caller."""
    text = _TEXT.format(device=device, name=name, call=call or f"{name}('{device}', args...)")
    warnings.warn(text, FutureWarning, stacklevel=3)
