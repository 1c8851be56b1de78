"""torch.utils.weak: dictionaries that hold their keys weakly and compare them by identity."""
import weakref
from collections.abc import MutableMapping

from mindtorch import Tensor

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]


class WeakIdRef(weakref.ref):
    """A weak reference that equals those to the same object, whatever its `==` says."""

    __slots__ = ("_id",)

    def __init__(self, key, callback=None):
        super().__init__(key, callback)
        self._id = id(key)

    def __hash__(self):
        return self._id

    def __eq__(self, other):
        ours, theirs = self(), other()
        return ours is theirs if ours is not None and theirs is not None else self is other


class WeakIdKeyDictionary(MutableMapping):
    """A dictionary whose entries go with their keys; keys are the same if they are one object."""

    def __init__(self, dict=None, ref_type=WeakIdRef):
        self.data, self.ref_type = {}, ref_type
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key):
        return self.data[self.ref_type(key)]

    def __setitem__(self, key, value):
        data = self.data
        data[self.ref_type(key, lambda dead: data.pop(dead, None))] = value

    def __delitem__(self, key):
        del self.data[self.ref_type(key)]

    def __contains__(self, key):
        try:
            return self.ref_type(key) in self.data
        except TypeError:                   # no weak reference to such a key
            return False

    def __iter__(self):
        return (key for ref in list(self.data) if (key := ref()) is not None)

    def __len__(self):
        return sum(ref() is not None for ref in list(self.data))

    def __repr__(self):
        return f"<{type(self).__name__} at {id(self):#x}>"

    def copy(self):
        """A new dictionary with the same entries."""
        return type(self)(self)

    __copy__ = copy


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor; calling it gives the tensor, or None when it is gone."""

    def __init__(self, tensor):
        if not isinstance(tensor, Tensor):
            raise AssertionError(f"expected torch.Tensor, got {type(tensor)}.")
        self.ref = weakref.ref(tensor)

    def __call__(self):
        return self.ref()
