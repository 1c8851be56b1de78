"""torch.utils.weak: dictionaries whose keys are objects themselves, not what they are equal to, held weakly."""
import weakref
from collections.abc import Mapping, MutableMapping

from mindtorch import Tensor

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]


class WeakIdRef(weakref.ref):
    """A weak reference that is equal to those of the same object alone.

    Arguments:
        key: the object
        callback: a function of the reference, called when the object is gone

    Example:
        >>> x = torch.ones(2)
        >>> torch.utils.weak.WeakIdRef(x) == torch.utils.weak.WeakIdRef(x)
        True
    """

    __slots__ = ("_id",)

    def __init__(self, key, callback=None):
        super().__init__(key, callback)
        self._id = id(key)

    def __call__(self):
        return super().__call__()

    def __hash__(self):
        return self._id

    def __eq__(self, other):
        mine, its = self(), other()
        return self is other if mine is None or its is None else mine is its


WeakTensorRefKey = WeakIdRef


class TensorWeakRef:
    """A weak reference to a tensor.

    Arguments:
        tensor: the tensor

    Example:
        >>> x = torch.ones(2)
        >>> reference = torch.utils.weak.TensorWeakRef(x)
        >>> reference() is x
        True
    """

    def __init__(self, tensor):
        if not isinstance(tensor, Tensor):
            raise AssertionError(f"expected torch.Tensor, got {type(tensor)}")
        self.ref = weakref.ref(tensor)

    def __call__(self):
        return self.ref()


class WeakIdKeyDictionary(MutableMapping):
    """A dictionary with keys by identity. An entry goes when no other reference to its key is left.

    Arguments:
        dict: the first keys and values; None means none
        ref_type: the class of the references

    Example:
        >>> x = torch.ones(2)
        >>> notes = torch.utils.weak.WeakIdKeyDictionary()
        >>> notes[x] = "input"
        >>> notes[x], len(notes)
        ('input', 1)
        >>> del x
        >>> len(notes)
        0
    """

    def __init__(self, dict=None, ref_type=WeakIdRef):
        self.data, self.ref_type = {}, ref_type
        remove_from = weakref.ref(self)

        def remove(reference):
            this = remove_from()
            if this is not None:
                this.data.pop(reference, None)
        self._remove = remove
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key):
        return self.data[self.ref_type(key)]

    def __setitem__(self, key, value):
        self.data[self.ref_type(key, self._remove)] = value

    def __delitem__(self, key):
        del self.data[self.ref_type(key)]

    def __contains__(self, key):
        try:
            reference = self.ref_type(key)
        except TypeError:                       # nothing refers to it weakly
            return False
        return reference in self.data

    def __len__(self):
        return len(self.data)

    def __iter__(self):
        for reference in list(self.data):
            key = reference()
            if key is not None:
                yield key

    def __repr__(self):
        return f"<{type(self).__name__} at {id(self):#x}>"

    def update(self, other=(), /):
        """Take over the entries of a dictionary or of pairs: all of them, or none where reading them raises."""
        for key, value in (other if hasattr(other, "items") else dict(other)).items():
            self[key] = value

    def keyrefs(self):
        """The weak references to the keys."""
        return list(self.data)

    def copy(self):
        """A dictionary with the same keys and values."""
        made = type(self)()
        made.update(self)
        return made

    def __deepcopy__(self, memo):
        from copy import deepcopy
        made = type(self)()
        for key, value in self.items():
            made[key] = deepcopy(value, memo)
        return made

    def __or__(self, other):
        if not isinstance(other, Mapping):
            return NotImplemented
        made = self.copy()
        made.update(other)
        return made

    def __ror__(self, other):
        if not isinstance(other, Mapping):
            return NotImplemented
        made = type(self)()
        made.update(other)
        made.update(self)
        return made

    def __ior__(self, other):
        self.update(other)
        return self


WeakTensorKeyDictionary = WeakIdKeyDictionary
