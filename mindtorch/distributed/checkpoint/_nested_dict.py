"""Nested state dicts as flat ones: the keys on the way to a value, joined by dots, are its name."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mindtorch import Tensor

__all__ = ["flatten_state_dict", "set_element", "unflatten_state_dict"]


def _holds_tensors(value):
    """Whether a list holds tensors or dicts; others are values, as tuples are."""
    return any(isinstance(each, (Tensor, Mapping)) or (isinstance(each, list) and _holds_tensors(each))
               for each in value)


def _leaves(value, path):
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _leaves(each, (*path, str(key)))
    elif path and isinstance(value, list) and _holds_tensors(value):
        for place, each in enumerate(value):
            yield from _leaves(each, (*path, place))
    else:
        yield path, value


def flatten_state_dict(state_dict: dict[str, Any]) -> tuple[dict[str, Any], dict[str, tuple[str | int, ...]]]:
    """(name -> value, name -> keys on the way to it)."""
    flat, paths = {}, {}
    for path, value in _leaves(state_dict, ()):
        name = ".".join(map(str, path))
        if name in flat:
            raise ValueError(f"duplicated flatten key {name}")
        flat[name], paths[name] = value, path
    return flat, paths


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


def unflatten_state_dict(state_dict: dict[str, Any], mapping: dict[str, tuple[str | int, ...]]) -> dict[str, Any]:
    """The nested dict that flatten_state_dict was given."""
    nested: dict[str, Any] = {}
    for name, value in state_dict.items():
        set_element(nested, mapping[name], value)
    return nested
