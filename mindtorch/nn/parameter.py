"""torch.nn.parameter: tensors that a module registers when they are assigned to it."""
from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from mindtorch._core.python.torch_function import _disabled_torch_function_impl
from mindtorch._core.tensor.factories import empty
from mindtorch._core.tensor.tensor import TensorBase
from mindtorch._tensor import Tensor
from mindtorch._tensor.factories import tensor
from mindtorch._utils import _rebuild_parameter, _rebuild_parameter_with_state

if TYPE_CHECKING:
    from typing import Self

    from mindtorch import dtype
    from mindtorch.types import Device

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "UninitializedTensorMixin",
           "is_lazy"]


def _as_class(cls, data):
    """The elements of `data` under a new tensor of class `cls`, without history."""
    made = tensor([]) if data is None else data.detach()
    made.__class__ = cls
    return made


def _of_other_class(data, requires_grad):
    """A tensor of a derived class keeps it, and is marked as a parameter."""
    made = data.detach().requires_grad_(requires_grad)
    if type(made) is not type(data):
        raise RuntimeError(f"Creating a Parameter from an instance of type {type(data).__name__} requires that "
                           "detach() returns an instance of the same type, but return type "
                           f"{type(made).__name__} was found instead. To use the type as a Parameter, please correct "
                           "the detach() semantics defined by its __torch_dispatch__() implementation.")
    made._is_param = True
    return made


class _ParameterMeta(type):
    """Tensors of other classes that carry `_is_param` count as parameters."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if super().__instancecheck__(instance):
            return True
        return cls is Parameter and isinstance(instance, TensorBase) and getattr(instance, "_is_param", False)


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that a module counts among its parameters; it shares the elements of `data`.

    Arguments:
        data: the tensor
        requires_grad: whether gradients are computed

    Example:
        >>> nn.Parameter(torch.ones(2))
        Parameter containing:
        tensor([1., 1.], requires_grad=True)
    """

    __torch_function__ = _disabled_torch_function_impl

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Self:
        """A leaf over the elements of `data` (empty without), whatever history `data` has."""
        if data is not None and type(data) is not Tensor and not issubclass(type(data), Parameter):
            return _of_other_class(data, requires_grad)
        made = _as_class(cls, data)
        if requires_grad and not (made.is_floating_point() or made.is_complex()):
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        return made.requires_grad_(requires_grad)

    def __deepcopy__(self, memo: Any) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return memo[id(self)]

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return "Parameter containing:\n" + super().__repr__(tensor_contents=tensor_contents)

    def __reduce_ex__(self, protocol: Any) -> Any:
        parts = self.data, self.requires_grad, OrderedDict()
        if self.__dict__:
            return _rebuild_parameter_with_state, (*parts, self.__dict__)
        return _rebuild_parameter, parts


class _BufferMeta(type):
    """A buffer keeps the class Tensor; the mark `_is_buffer` makes it an instance of Buffer."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if super().__instancecheck__(instance):
            return True
        return cls is Buffer and isinstance(instance, TensorBase) and getattr(instance, "_is_buffer", False)


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that a module counts among its buffers, and keeps out of its state_dict if not `persistent`.

    Arguments:
        data: the tensor
        persistent: whether the state_dict has it

    Example:
        >>> class Counter(nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.count = nn.Buffer(torch.zeros(()))
        >>> Counter().state_dict()
        OrderedDict([('count', tensor(0.))])
    """

    persistent: bool

    __torch_function__ = _disabled_torch_function_impl

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Self:
        """A tensor over the elements of `data`, marked as a buffer."""
        made = tensor([]) if data is None else data.detach().requires_grad_(data.requires_grad)
        made.persistent = persistent
        made._is_buffer = True
        return made


_CONVERSIONS = ("char", "cpu", "double", "float", "half", "int", "long", "npu", "short", "to")
_QUESTIONS = ("copy_", "get_device", "is_complex", "is_floating_point", "size")


def _refusal(name):
    """The method `name` of a tensor that has no shape yet: an error."""
    def method(self, *args, **kwargs):
        raise ValueError(
            f"Attempted to use an uninitialized parameter in <method '{name}' of 'torch._C.TensorBase' objects>. This "
            "error happens when you are using a `LazyModule` or explicitly manipulating "
            f"`torch.nn.parameter.{type(self).__name__}` objects. When using LazyModules Call `forward` with a dummy "
            "batch to initialize the parameters before calling torch functions")
    method.__name__ = name
    return method


def _conversion(name):
    """The method `name`, whose result has no shape yet either."""
    def method(self, *args, **kwargs):
        made = getattr(Tensor, name)(self, *args, **kwargs)
        made.__class__ = type(self)
        made.__dict__.update(self.__dict__)
        return made
    method.__name__ = name
    return method


class UninitializedTensorMixin:
    """A tensor of which device and dtype are known, and the shape is not. `materialize` gives it one.

    Example:
        >>> parameter = torch.nn.UninitializedParameter()
        >>> isinstance(parameter, torch.nn.parameter.UninitializedTensorMixin)
        True
        >>> parameter.materialize((2, 3))
        >>> parameter.shape
        torch.Size([2, 3])
    """

    __torch_function__ = _disabled_torch_function_impl
    cls_to_become: type

    def materialize(self, shape: Any, device: Device = None, dtype: dtype | None = None) -> None:
        """Become an uninitialised tensor of this shape, and of the class `cls_to_become`."""
        old = self.data
        self.data = empty(shape, device=old.device if device is None else device,
                          dtype=old.dtype if dtype is None else dtype)
        self.__class__ = self.cls_to_become

    @property
    def shape(self) -> Any:
        raise RuntimeError("Can't access the shape of an uninitialized parameter or buffer. This error usually happens "
                           "in `load_state_dict` when trying to load an uninitialized parameter into an initialized "
                           "one. Call `forward` to initialize the parameters before accessing their attributes.")

    def share_memory_(self) -> Any:
        raise RuntimeError("Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize "
                           "the parameters before calling `module.share_memory()`.")

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"<{type(self).__name__}>"

    __str__ = __repr__

    def __deepcopy__(self, memo: Any) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.device, self.dtype)
            memo[id(self)].__dict__.update(self.__dict__)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return type(self), (self.requires_grad,)


def _prepare(mixin):
    """Define every other method of tensors: as a conversion, or as one that refuses."""
    compared = {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"}
    kept = set(dir(object)).difference(compared).union(_QUESTIONS, vars(mixin), ("__setstate__", "__torch_dispatch__"))
    for name in _CONVERSIONS:
        setattr(mixin, name, _conversion(name))
    for name in set(dir(Tensor)).difference(kept, _CONVERSIONS):
        if callable(getattr(Tensor, name)):
            setattr(mixin, name, _refusal(name))
    mixin.__hash__ = Tensor.__hash__


_prepare(UninitializedTensorMixin)


def is_lazy(param: Tensor) -> Any:
    """Whether the shape of a parameter or buffer is not known yet.

    Arguments:
        param: a parameter or buffer

    Example:
        >>> torch.nn.parameter.is_lazy(torch.nn.UninitializedParameter()), torch.nn.parameter.is_lazy(torch.ones(1))
        (True, False)
    """
    return isinstance(param, UninitializedTensorMixin)


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape is not known yet: layers that see their input first have it.

    Arguments:
        requires_grad: whether autograd records operators on it
        device: the device; None means the default device
        dtype: the dtype; None means the default dtype

    Example:
        >>> net = nn.LazyLinear(2)
        >>> isinstance(net.weight, nn.UninitializedParameter)
        True
        >>> _ = net(torch.ones(1, 3))
        >>> net.weight.shape
        torch.Size([2, 3])
    """

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Device = None, dtype: dtype | None = None) -> Self:
        made = Parameter(empty(0, device=device, dtype=dtype), requires_grad)
        made.__class__ = cls
        return made


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose shape is not known yet.

    Arguments:
        requires_grad: whether autograd records operators on it
        device: the device; None means the default device
        dtype: the dtype; None means the default dtype
        persistent: whether the state_dict has it

    Example:
        >>> net = nn.LazyBatchNorm1d()
        >>> isinstance(net.running_mean, nn.UninitializedBuffer)
        True
        >>> _ = net(torch.ones(2, 3))
        >>> net.running_mean.shape
        torch.Size([3])
    """

    persistent: bool

    cls_to_become = Tensor

    def __new__(cls, requires_grad: bool = False, device: Device = None, dtype: dtype | None = None,
                persistent: bool = True) -> Self:
        made = _as_class(cls, empty(0, device=device, dtype=dtype))
        Tensor.requires_grad_(made, requires_grad)
        made.persistent = persistent
        made._is_buffer = True
        return made
