"""The lists and dicts among a node's arguments. They are immutable, so that changes go through the graph."""

from __future__ import annotations

from typing import Any

__all__ = ["immutable_dict", "immutable_list"]

_REFUSAL = """'{name}' object does not support mutation. If you are attempting to modify the kwargs or args of a torch.fx.Node object,
instead create a new copy of it and assign the copy to the node:

    new_args = ...  # copy and mutate args
    node.args = new_args"""        # noqa: E501 - torch's wording


def _refuse(self, *args, **kwargs):
    raise TypeError(_REFUSAL.format(name=type(self).__name__))


class immutable_list(list):
    """A list that cannot be changed.

    Arguments:
        iterable: the elements

    Example:
        >>> try:
        ...     torch.fx.immutable_collections.immutable_list([1, 2]).append(3)
        ... except TypeError:
        ...     print("it stays as it is")
        it stays as it is
    """

    append = clear = extend = insert = pop = remove = reverse = sort = _refuse
    __delitem__ = __setitem__ = __iadd__ = __imul__ = _refuse

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __reduce__(self) -> Any:
        return immutable_list, (tuple(self),)


class immutable_dict(dict):
    """A dict that cannot be changed.

    Example:
        >>> try:
        ...     torch.fx.immutable_collections.immutable_dict(a=1)["a"] = 2
        ... except TypeError:
        ...     print("it stays as it is")
        it stays as it is
    """

    clear = pop = popitem = update = setdefault = __delitem__ = __setitem__ = __ior__ = _refuse

    def __hash__(self) -> int:
        return hash(frozenset(self.items()))

    def __reduce__(self) -> Any:
        return immutable_dict, (tuple(self.items()),)
