"""functorch.einops.rearrange: a tensor's dimensions in another order, merged, or split."""
from __future__ import annotations

import math
import re
from collections.abc import Sequence

from mindtorch import Tensor, stack

__all__ = ["rearrange"]


def rearrange(tensor: Tensor | Sequence[Tensor], pattern: str, **axes_lengths: int) -> Tensor:
    """The tensor as the pattern says, "b (h w) c -> b c h w": the names of its dimensions, and those of the result.

    Names in brackets are one dimension, the product of theirs; at most one of them may be missing in `axes_lengths`.
    "..." are all dimensions that have no name, 1 is a dimension of that size. A list of tensors is stacked first.
    ValueError where pattern and shape do not fit.

    Example:
        >>> from mindtorch._functorch.einops import rearrange
        >>> rearrange(torch.zeros(2, 6, 4), "b (h w) c -> b c h w", h=2).shape
        torch.Size([2, 4, 2, 3])
    """
    if not isinstance(tensor, Tensor):
        tensor = stack(list(tensor))
    sides = pattern.split("->")
    if len(sides) != 2:
        raise ValueError(f"a pattern has one '->', but got '{pattern}'")
    left, right = (_dimensions(side, pattern) for side in sides)
    _check_names(left, right, axes_lengths, pattern)
    left, names = _without_ellipsis(left, tensor, pattern)
    right = [[each for name in group for each in (names if name == "..." else [name])]
             for group in _spread(right, names)]
    sizes = _sizes(left, tensor, dict(axes_lengths), pattern)
    order = [name for group in left for name in group if name != "1"]
    split = tensor.reshape([sizes[name] for name in order])
    wanted = [name for group in right for name in group if name != "1"]
    moved = split.permute([order.index(name) for name in wanted])
    return moved.reshape([math.prod(sizes[name] for name in group if name != "1") for group in right])


def _dimensions(side, pattern):
    """The dimensions of one side of a pattern: each a list of names, or "..."."""
    found = re.findall(r"\(([^()]*)\)|(\.\.\.|[A-Za-z]\w*|1)|(\S)", side.replace("...", " ... "))
    if any(rest for _, _, rest in found):
        raise ValueError(f"'{pattern}' is no pattern: it has names, 1, '...' and brackets around these")
    return [name if name == "..." else [name] if name else group.split() for group, name, _ in found]


def _check_names(left, right, given, pattern):
    names = [[name for group in side for name in ([group] if group == "..." else group) if name != "1"]
             for side in (left, right)]
    if any(len(set(side)) < len(side) for side in names):
        raise ValueError(f"a name comes twice on one side of '{pattern}'")
    if set(names[0]) != set(names[1]):
        raise ValueError(f"the sides of '{pattern}' do not have the same names")
    if any(group != "..." and "..." in group for group in left):
        raise ValueError(f"'...' cannot be in brackets on the left of '{pattern}'")
    if set(given) - set(names[0]):
        raise ValueError(f"{sorted(set(given) - set(names[0]))} are no names of '{pattern}'")


def _without_ellipsis(left, tensor, pattern):
    """The left side with names for what '...' stands for, and these names."""
    extra = tensor.dim() - sum(group != "..." for group in left)
    if extra < 0 or (extra and "..." not in left):
        raise ValueError(f"'{pattern}' does not fit a tensor of {tensor.dim()} dimensions")
    names = [f"...{place}" for place in range(extra)]
    return _spread(left, names), names


def _spread(side, names):
    """'...' outside of brackets as dimensions of their own."""
    return [each for group in side for each in ([[name] for name in names] if group == "..." else [group])]


def _sizes(left, tensor, sizes, pattern):
    """The size of each name."""
    for group, size in zip(left, tensor.shape, strict=True):
        unknown = [name for name in group if name not in sizes and name != "1"]
        known = math.prod(sizes[name] for name in group if name in sizes)
        if len(unknown) > 1:
            raise ValueError(f"the sizes of {unknown} in '{pattern}' are not known")
        if unknown and known and size % known == 0:
            sizes[unknown[0]] = size // known
        elif unknown or known != size:
            raise ValueError(f"a dimension of size {size} is not {' x '.join(group)} of '{pattern}', with {sizes}")
    return sizes
