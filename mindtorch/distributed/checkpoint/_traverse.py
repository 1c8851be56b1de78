"""The values of nested state dicts, by the keys and places on the way to them."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mindtorch import Tensor

__all__ = ["get_element", "leaves", "set_element", "traverse_state_dict"]

OBJ_PATH = tuple[str | int, ...]


def _holds_tensors(value: list) -> bool:
    """Whether a list holds tensors or dicts; others are values, as tuples are."""
    return any(isinstance(each, (Tensor, Mapping)) or (isinstance(each, list) and _holds_tensors(each))
               for each in value)


def leaves(value: Any, path: OBJ_PATH, keep_traversing: Callable = _holds_tensors) -> Iterator[tuple[OBJ_PATH, Any]]:
    """(path, value) of all that is neither a dict nor a list to look into, by default one that holds tensors."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from leaves(each, (*path, str(key)), keep_traversing)
    elif path and isinstance(value, list) and keep_traversing(value):
        for place, each in enumerate(value):
            yield from leaves(each, (*path, place), keep_traversing)
    else:
        yield path, value


def traverse_state_dict(state_dict: dict[str, Any], visitor: Callable[[OBJ_PATH, Any], None],
                        keep_traversing: Callable[[Any], bool] = _holds_tensors) -> None:
    """Call visitor(path, value) for each value."""
    for path, value in leaves(state_dict, (), keep_traversing):
        visitor(path, value)


def set_element(root: dict[str, Any], path: tuple[str | int, ...], value: Any) -> None:
    """Put a value at its place; dicts and lists on the way are made where they lack."""
    holder: Any = root
    for key, following in zip(path, (*path[1:], None), strict=True):
        if isinstance(key, int):
            holder.extend([None] * (key + 1 - len(holder)))
        if following is None:
            holder[key] = value
        else:
            inner = holder[key] if isinstance(key, int) else holder.get(key)
            if inner is None:
                inner = holder[key] = {} if isinstance(following, str) else []
            holder = inner


def get_element(root_dict: dict[str, Any], path: OBJ_PATH, default_value: Any = None) -> Any:
    """The value at a place, or the default where there is none."""
    found: Any = root_dict
    for key in path:
        if isinstance(key, int):
            if not isinstance(found, list) or len(found) <= key:
                return default_value
        elif not isinstance(found, Mapping) or key not in found:
            return default_value
        found = found[key]
    return found
