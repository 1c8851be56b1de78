"""torch.nn.parameter: tensors that a module registers when they are assigned to it."""
from collections import OrderedDict

from mindtorch._core.tensor import TensorBase
from mindtorch._factories import tensor
from mindtorch._tensor import Tensor
from mindtorch._utils import _rebuild_parameter, _rebuild_parameter_with_state

__all__ = ["Buffer", "Parameter"]


def _as_class(cls, data):
    """The elements of `data` under a new tensor of class `cls`, without history."""
    made = tensor([]) if data is None else data.detach()
    made.__class__ = cls
    return made


class _ParameterMeta(type):
    """Tensors of other classes that carry `_is_param` count as parameters."""

    def __instancecheck__(cls, instance):
        if super().__instancecheck__(instance):
            return True
        return cls is Parameter and isinstance(instance, TensorBase) and getattr(instance, "_is_param", False)


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that a module counts among its parameters; it shares the elements of `data`."""

    def __new__(cls, data=None, requires_grad=True):
        """A leaf over the elements of `data` (empty without), whatever history `data` has."""
        made = _as_class(cls, data)
        if requires_grad and not (made.is_floating_point() or made.is_complex()):
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        return made.requires_grad_(requires_grad)

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return memo[id(self)]

    def __repr__(self, *, tensor_contents=None):
        return "Parameter containing:\n" + super().__repr__(tensor_contents=tensor_contents)

    def __reduce_ex__(self, protocol):
        parts = self.data, self.requires_grad, OrderedDict()
        if self.__dict__:
            return _rebuild_parameter_with_state, (*parts, self.__dict__)
        return _rebuild_parameter, parts


class _BufferMeta(type):
    """A buffer keeps the class Tensor; the mark `_is_buffer` makes it an instance of Buffer."""

    def __instancecheck__(cls, instance):
        if super().__instancecheck__(instance):
            return True
        return cls is Buffer and isinstance(instance, TensorBase) and getattr(instance, "_is_buffer", False)


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that a module counts among its buffers, and keeps out of its state_dict if not `persistent`."""

    def __new__(cls, data=None, *, persistent=True):
        """A tensor over the elements of `data`, marked as a buffer."""
        made = tensor([]) if data is None else data.detach().requires_grad_(data.requires_grad)
        made.persistent = persistent
        made._is_buffer = True
        return made
