"""A container like another one, with other values: what collating, converting and pinning do to nested samples."""
from __future__ import annotations

import copy
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

__all__ = ["is_namedtuple", "is_nested", "map_values", "rebuild_mapping", "rebuild_sequence"]


def is_nested(data: Any) -> Any:
    """Whether `data` is a container of values, and not a text."""
    return isinstance(data, (Mapping, Sequence)) and not isinstance(data, (str, bytes))


def is_namedtuple(data: Any) -> bool:
    return isinstance(data, tuple) and hasattr(data, "_fields")


def rebuild_mapping(like: Any, values: Any) -> Any:
    """`values`, a dict, as the type of `like`: a copy keeps what a mutable type holds beside its items.

    A type that cannot be made this way gives a dict.
    """
    try:
        if not isinstance(like, MutableMapping):
            return type(like)(values)
        made = copy.copy(like)
        made.update(values)
        return made
    except TypeError:
        return values


def rebuild_sequence(like: Any, values: Any) -> Any:
    """`values`, a list, as the type of `like`; a list where that type (such as range) cannot hold them."""
    try:
        if not isinstance(like, MutableSequence):
            return type(like)(values)
        made = copy.copy(like)
        for i, value in enumerate(values):
            made[i] = value
        return made
    except TypeError:
        return values


def map_values(function: Any, data: Any, tuples_to_lists: Any) -> Any:
    """`data`, which is nested, with `function` applied to each value."""
    if isinstance(data, Mapping):
        return rebuild_mapping(data, {key: function(data[key]) for key in data})
    values = [function(value) for value in data]
    if is_namedtuple(data):
        return type(data)(*values)
    if tuples_to_lists and isinstance(data, tuple):
        return values
    return rebuild_sequence(data, values)
