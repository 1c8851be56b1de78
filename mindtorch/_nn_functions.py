"""torch._C._nn: the one of its functions that packages call."""
from mindtorch.nn.modules import module

__all__ = ["_parse_to"]


def _parse_to(*args, **kwargs):
    """(device, dtype, non_blocking, memory_format) that a call of Module.to with these arguments means."""
    return module._parse_to(args, kwargs)
