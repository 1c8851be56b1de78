"""How the elements of the weights of convolutions lie in memory."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindtorch.nn.modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d

if TYPE_CHECKING:
    from mindtorch import memory_format

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def _convert(module, memory_format, layers):
    for each in module.modules():
        if isinstance(each, layers):
            each.weight.data = each.weight.detach().clone(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module: Any, memory_format: memory_format) -> Any:
    """Lay out the weights of all Conv2d and ConvTranspose2d in `module` so; gives the module.

    Arguments:
        memory_format: the order of the elements, such as torch.channels_last

    Example:
        >>> conv = nn.utils.convert_conv2d_weight_memory_format(nn.Conv2d(2, 4, 3), torch.channels_last)
        >>> conv.weight.stride()
        (18, 1, 6, 2)
    """
    return _convert(module, memory_format, (Conv2d, ConvTranspose2d))


def convert_conv3d_weight_memory_format(module: Any, memory_format: memory_format) -> Any:
    """Lay out the weights of all Conv3d and ConvTranspose3d in `module` so; gives the module.

    Arguments:
        memory_format: the order of the elements, such as torch.channels_last_3d

    Example:
        >>> conv = nn.utils.convert_conv3d_weight_memory_format(nn.Conv3d(2, 4, 3), torch.channels_last_3d)
        >>> conv.weight.stride()
        (54, 1, 18, 6, 2)
    """
    return _convert(module, memory_format, (Conv3d, ConvTranspose3d))
