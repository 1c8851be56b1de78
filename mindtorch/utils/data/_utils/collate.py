"""torch.utils.data.default_collate and default_convert: from samples to batches of tensors."""
from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import mindtorch
from mindtorch.utils.data._utils.containers import (
    is_namedtuple,
    is_nested,
    map_values,
    rebuild_mapping,
    rebuild_sequence,
)
from mindtorch.utils.data._utils.transport import empty_shared
from mindtorch.utils.data._utils.worker import get_worker_info

__all__ = ["collate", "default_collate", "default_collate_fn_map", "default_convert"]

default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}")
np_str_obj_array_pattern = re.compile("[SUaO]")


def _holds_text_or_objects(dtype):
    return np_str_obj_array_pattern.search(dtype.str) is not None


def default_convert(data: Any) -> Any:
    """NumPy arrays and numbers, also inside containers, as tensors; all else as it is.

    Arguments:
        data: arrays, also in containers

    Example:
        >>> import numpy
        >>> torch.utils.data.default_convert({"x": numpy.arange(2)})
        {'x': tensor([0, 1])}
    """
    if isinstance(data, mindtorch.Tensor):
        return data
    if type(data).__module__ == "numpy" and not isinstance(data, (np.str_, np.bytes_)):
        if isinstance(data, np.ndarray) and _holds_text_or_objects(data.dtype):
            return data
        return mindtorch.as_tensor(data)
    return map_values(default_convert, data, tuples_to_lists=True) if is_nested(data) else data


def _function_for(elem, table):
    if type(elem) in table:
        return table[type(elem)]
    return next((function for kind, function in table.items() if isinstance(elem, kind)), None)


def collate(batch: Any, *, collate_fn_map: dict[type | tuple[type, ...], Callable] | None = None) -> Any:
    """A batch of what the samples in the list `batch` are: containers are gone through, values collated.

    `collate_fn_map` says how: type, or tuple of types, -> `function(values, *, collate_fn_map)`.
    """
    elem = batch[0]
    function = _function_for(elem, collate_fn_map or {})
    if function is not None:
        return function(batch, collate_fn_map=collate_fn_map)

    def collate_values(values):
        return collate(values, collate_fn_map=collate_fn_map)

    if isinstance(elem, Mapping):
        return rebuild_mapping(elem, {key: collate_values([sample[key] for sample in batch]) for key in elem})
    if is_namedtuple(elem):
        return type(elem)(*(collate_values(values) for values in zip(*batch, strict=False)))
    if isinstance(elem, Sequence):
        if any(len(sample) != len(elem) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [collate_values(values) for values in zip(*batch, strict=True)]
        return columns if isinstance(elem, tuple) else rebuild_sequence(elem, columns)
    raise TypeError(default_collate_err_msg_format.format(type(elem)))


def collate_tensor_fn(batch: Any, *, collate_fn_map: dict[type | tuple[type, ...], Callable] | None = None) -> Any:
    batch = list(batch)
    first = batch[0]
    if get_worker_info() is None or not first.is_cpu or any(
            sample.requires_grad or sample.dtype != first.dtype for sample in batch):
        return mindtorch.stack(batch, 0)
    # Made where the parent process will see it: nothing is copied when it is sent.
    return mindtorch.stack(batch, 0, out=empty_shared((len(batch), *first.shape), first.dtype))


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: dict[type | tuple[type, ...], Callable] | None = None) -> Any:
    if _holds_text_or_objects(batch[0].dtype):
        raise TypeError(default_collate_err_msg_format.format(batch[0].dtype))
    return collate([mindtorch.as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Any, *,
                            collate_fn_map: dict[type | tuple[type, ...], Callable] | None = None) -> Any:
    return mindtorch.as_tensor(batch)


def collate_float_fn(batch: Any, *, collate_fn_map: dict[type | tuple[type, ...], Callable] | None = None) -> Any:
    return mindtorch.tensor(batch, dtype=mindtorch.float64)


def collate_int_fn(batch: Any, *, collate_fn_map: dict[type | tuple[type, ...], Callable] | None = None) -> Any:
    return mindtorch.tensor(batch)


def collate_str_fn(batch: Any, *, collate_fn_map: dict[type | tuple[type, ...], Callable] | None = None) -> Any:
    return batch


default_collate_fn_map = {
    mindtorch.Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def default_collate(batch: Any) -> Any:
    """One sample that holds all of the list `batch`: tensors stacked, numbers made tensors, texts left in lists.

    Arguments:
        batch: a list of samples

    Example:
        >>> torch.utils.data.default_collate([{"x": 1.0, "y": "a"}, {"x": 2.0, "y": "b"}])
        {'x': tensor([1., 2.], dtype=torch.float64), 'y': ['a', 'b']}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)
