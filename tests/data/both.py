"""Runs the same code on mindtorch and on torch, and compares what comes of it."""
import warnings
from collections.abc import Mapping, Sequence
from types import SimpleNamespace

import torch
import torch.utils.data

import mindtorch
import mindtorch.utils.data

OURS = SimpleNamespace(t=mindtorch, d=mindtorch.utils.data)
TORCH = SimpleNamespace(t=torch, d=torch.utils.data)


def plain(value):
    """`value` with tensors as (dtype, numbers), to be compared with that of the other library."""
    if isinstance(value, (mindtorch.Tensor, torch.Tensor)):
        return str(value.dtype).replace("mindtorch", "torch"), value.tolist()
    if isinstance(value, Mapping):
        return type(value).__name__, [(key, plain(value[key])) for key in value]
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return type(value).__name__, [plain(item) for item in value]
    return value


def outcome(function, side):
    """What `function(side)` gives or raises, and of what it warns."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = plain(function(side))
        except Exception as error:      # noqa: BLE001 - any refusal is an outcome
            result = type(error).__name__, str(error)
    return result, [str(w.message) for w in caught if w.category is UserWarning]


def assert_alike(function):
    """`function(side)` has on both sides the same outcome."""
    assert outcome(function, OURS) == outcome(function, TORCH)
