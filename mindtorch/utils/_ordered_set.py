"""torch.utils._ordered_set: a set that keeps the order in which its elements came."""
from collections.abc import MutableSet, Set

__all__ = ["OrderedSet"]


class OrderedSet(MutableSet):
    """A set that iterates in the order of insertion."""

    __slots__ = ("_dict",)

    def __init__(self, iterable=()):
        self._dict = dict.fromkeys(iterable)

    def __contains__(self, item):
        return item in self._dict

    def __iter__(self):
        return iter(self._dict)

    def __reversed__(self):
        return reversed(self._dict)

    def __len__(self):
        return len(self._dict)

    def __repr__(self):
        return f"OrderedSet({list(self)})"

    def add(self, item):
        """Adds an element; one that is there keeps its place."""
        self._dict[item] = None

    def discard(self, item):
        """Removes an element, where it is there."""
        self._dict.pop(item, None)

    def pop(self):
        """Removes and returns the element that came last."""
        return self._dict.popitem()[0]

    def update(self, *iterables):
        """Adds the elements of several iterables."""
        for iterable in iterables:
            self._dict.update(dict.fromkeys(iterable))

    def union(self, *iterables):
        """A new set with the elements of all."""
        joined = self.copy()
        joined.update(*iterables)
        return joined

    def intersection(self, *iterables):
        """A new set of the elements that all have."""
        others = [set(iterable) for iterable in iterables]
        return OrderedSet(item for item in self if all(item in other for other in others))

    def difference(self, *iterables):
        """A new set of the elements that the others lack."""
        dropped = set().union(*iterables)
        return OrderedSet(item for item in self if item not in dropped)

    def issubset(self, other):
        """Whether the other has every element."""
        return self <= (other if isinstance(other, Set) else set(other))

    def copy(self):
        """A new set of the same elements."""
        return OrderedSet(self)
