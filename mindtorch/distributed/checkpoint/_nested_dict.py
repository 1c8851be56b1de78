"""Nested state dicts as flat ones: the keys on the way to a value, joined by dots, are its name."""
from __future__ import annotations

from typing import Any

from mindtorch.distributed.checkpoint._traverse import leaves, set_element

__all__ = ["flatten_state_dict", "set_element", "unflatten_state_dict"]


def flatten_state_dict(state_dict: dict[str, Any]) -> tuple[dict[str, Any], dict[str, tuple[str | int, ...]]]:
    """(name -> value, name -> keys on the way to it)."""
    flat, paths = {}, {}
    for path, value in leaves(state_dict, ()):
        name = ".".join(map(str, path))
        if name in flat:
            raise ValueError(f"duplicated flatten key {name}")
        flat[name], paths[name] = value, path
    return flat, paths


def unflatten_state_dict(state_dict: dict[str, Any], mapping: dict[str, tuple[str | int, ...]]) -> dict[str, Any]:
    """The nested dict that flatten_state_dict was given."""
    nested: dict[str, Any] = {}
    for name, value in state_dict.items():
        set_element(nested, mapping[name], value)
    return nested
