"""Shared by the layers: sizes given as one number or one for each dimension, and their description."""
from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from mindtorch.nn import init

if TYPE_CHECKING:
    from mindtorch.nn.modules.module import Module


def _ntuple(n):
    """A function that repeats a number `n` times and makes a tuple of anything else."""
    def as_tuple(value):
        return tuple(value) if isinstance(value, Iterable) else (value,) * n
    return as_tuple


def uniform_within(bound: Any, parameters: Any) -> None:
    """Draws all of them anew from [-bound, bound)."""
    for parameter in parameters:
        init.uniform_(parameter, -bound, bound)


_single, _pair, _triple, _quadruple = _ntuple(1), _ntuple(2), _ntuple(3), _ntuple(4)


def _reverse_repeat_tuple(sizes, n):
    """The sizes from the last to the first, each `n` times: as functional.pad wants them."""
    return tuple(size for size in reversed(sizes) for _ in range(n))


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Take `prefix` from the beginning of the keys of a state_dict that have it, and of those of its metadata.

    Arguments:
        state_dict: the state dict, which is changed
        prefix: the beginning of the keys

    Example:
        >>> state = {"module.weight": 1, "bias": 2}
        >>> torch.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
        >>> sorted(state)
        ['bias', 'weight']
    """
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key[len(prefix):]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is not None:
        # The metadata's keys are those of modules: that of the prefix alone has no dot behind it.
        for key in list(metadata):
            if key and (key == prefix.rstrip(".") or key.startswith(prefix)):
                metadata[key[len(prefix):]] = metadata.pop(key)


def described(module: Module, *names: Any) -> Any:
    """"a=1, b=2" of the attributes `names`; `inplace` is told only where it is set."""
    values = ((name, getattr(module, name)) for name in names)
    return ", ".join(f"{name}={value}" for name, value in values if name != "inplace" or value)
