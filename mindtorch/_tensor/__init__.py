"""torch._tensor: class Tensor, which is TensorBase with its methods. What needs speed is in Cython (_core)."""
import copy
import copyreg
import sys
import warnings
from collections import OrderedDict
from importlib import import_module

import numpy

from mindtorch import _backend, autograd
from mindtorch._core import hooks
from mindtorch._core.formats import sparse_coo, sparse_csr, strided
from mindtorch._core.python import conversion, torch_function
from mindtorch._core.tensor import attributes, copy_cast, tensor, torch_dispatch, views
from mindtorch._core.tensor import dtype as dtype_module
from mindtorch._core.tensor.factories import tensor_from_data, with_requires_grad
from mindtorch._core.tensor.tensor import Size, TensorBase, is_cuda_read_as_npu
from mindtorch._core.tensor.tensor import device as _device
from mindtorch._cpu import backend
from mindtorch._tensor import methods
from mindtorch._tensor.printing import tensor_str
from mindtorch.storage import UntypedStorage


class Tensor(TensorBase):
    """An array of elements of one dtype on one device, as `torch.Tensor`.

    Arithmetic, comparison and indexing operators come from TensorBase; operators of the table and views are attached
    by `attach_methods`.

    Arguments:
        *args: the sizes of an uninitialised tensor, or one sequence or tensor of numbers
        device: the device, which has to be the CPU; None means the CPU

    Example:
        >>> x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> x.t() @ x
        tensor([[10., 14.],
                [14., 20.]])
        >>> x.shape, x.dtype, x.device
        (torch.Size([2, 2]), torch.float32, device(type='cpu'))
    """

    __array_priority__ = 1000       # NumPy leaves `array + tensor` to the tensor

    is_sparse = property(lambda self: self.layout is sparse_coo)
    is_sparse_csr = property(lambda self: self.layout is sparse_csr)

    # Second names, with functions of their own: handlers get the name that was read.
    _cdata = property(lambda self: self.__hash__())       # what identifies it in C: the address of the object
    _grad = property(lambda self: self.grad, lambda self, value: setattr(self, "grad", value))
    _grad_fn = property(lambda self: self.grad_fn)

    T = property(views.transposed)
    mT = property(views.matrix_transposed)
    H = property(views.conjugate_transposed)
    mH = property(views.matrix_adjoint)
    real = property(views.real, lambda self, value: views.real(self).copy_(value))
    imag = property(views.imag, lambda self, value: views.imag(self).copy_(value))
    data = property(copy_cast.data, copy_cast.set_data, doc="The tensor without its history; assigning replaces it.")

    item = conversion.item
    is_shared = backend.is_shared
    share_memory_ = backend.share_memory_
    tolist = conversion.tolist
    numpy = conversion.numpy

    def __new__(cls, *args, device=None):
        """torch's legacy constructor: `Tensor(2, 3)` is uninitialised, `Tensor([2, 3])` holds those numbers.

        That of a derived class makes one of that class, and so do operators on it: see __torch_function__.
        """
        if len(args) == 1 and isinstance(args[0], TensorBase):
            with torch_function.DisableTorchFunctionSubclass():
                made = args[0].view_as(args[0])
        elif len(args) == 1 and isinstance(args[0], (list, tuple, numpy.ndarray)) and not isinstance(args[0], Size):
            made = tensor_from_data(args[0], dtype_module.get_default_dtype(), device, False, "new")
            if torch_dispatch.is_dispatched():
                made = torch_dispatch.lift_fresh(made)
        else:
            from mindtorch import empty
            from mindtorch._compat.legacy_types import TypedStorage
            if len(args) == 1 and isinstance(args[0], (TypedStorage, UntypedStorage)):
                made = methods.new(empty(0), args[0])
            else:
                made = empty(*(args or (0,)), device=device)
        if copyreg._slotnames(cls):
            return torch_dispatch.alias_of_class(cls, made)
        if cls is not Tensor:
            made.__class__ = cls
        return made

    @staticmethod
    def _make_subclass(kind, data, require_grad=False, *, dispatch_sizes_strides_policy=None, dispatch_device=False,
                       dispatch_layout=False, device_for_backend_keys=None):
        """A leaf of `kind`, a class derived from Tensor, over the elements of `data`.

        Its attributes are those of `data`, whatever the other arguments say.
        """
        torch_dispatch.require_tensor_class(kind)
        with torch_function.DisableTorchFunctionSubclass(), torch_dispatch.DisableModes():
            made = torch_dispatch.alias_of_class(kind, copy_cast.detach(data))
            return made.requires_grad_(require_grad)

    @staticmethod
    def _make_wrapper_subclass(kind, size, strides=None, storage_offset=None, memory_format=None, dtype=None,
                               layout=None, device=None, pin_memory=False, requires_grad=False,
                               dispatch_sizes_strides_policy=None, dispatch_device=False, dispatch_layout=False,
                               _extra_dispatch_keys=None, storage_size=None):
        """A tensor of the class `kind` without elements, whose __torch_dispatch__ computes operators on it.

        It shows the attributes given; by default those of torch.empty(size). The dispatch_ arguments, by which torch
        asks __torch_dispatch__ for attributes, change nothing.
        """
        torch_dispatch.require_tensor_class(kind)
        if not torch_dispatch.class_has_handler(kind):
            raise TypeError(f"{kind.__name__} must define __torch_dispatch__")
        if strides is None and memory_format is not None:
            from mindtorch import empty
            strides = empty(tuple(size), memory_format=memory_format, device="meta").stride()
        made = torch_dispatch.make_wrapper(kind, tuple(size), strides, storage_offset or 0,
                                           dtype or dtype_module.get_default_dtype(), device)
        attributes.set_requires_grad(made, bool(requires_grad))
        return made

    def __init_subclass__(cls, _activates=True, **options):
        """_activates: False for classes of the package, whose first tensor has operators look for handlers."""
        super().__init_subclass__(**options)
        if torch_dispatch.class_has_handler(cls):
            if _activates:
                torch_dispatch.activate()
            if all("__torch_function__" not in vars(kind) for kind in cls.__mro__[:cls.__mro__.index(Tensor)]):
                cls.__torch_function__ = torch_function._disabled_torch_function_impl
        if torch_function.class_has_handler(cls):
            torch_function.activate()

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """Call the function, and convert tensors in its result to the derived class.

        NotImplemented where an argument is of a class that is no base of this one.
        """
        if not all(issubclass(cls, kind) for kind in types):
            return NotImplemented
        with torch_function.DisableTorchFunctionSubclass():
            result = func(*args, **(kwargs or {}))
            return result if func in _KEPT else _converted(result, cls)

    # --- Python's conversions -----------------------------------------------------------------------------------------

    def __repr__(self, *, tensor_contents=None):
        with torch_dispatch.DisableModes():
            return tensor_str(self, dtype_module.get_default_dtype(), tensor_contents,
                              torch_dispatch.is_wrapper(self))

    def __format__(self, spec):
        printed = self.dim() or self.is_meta
        return object.__format__(self, spec) if printed else self.item().__format__(spec)

    def _only_element_(self):
        if self.numel() != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self.item()

    def __bool__(self):
        if self.numel() == 1:
            return bool(self.item())
        many = "more than one value" if self.numel() else "no values"
        raise RuntimeError(f"Boolean value of Tensor with {many} is ambiguous")

    def __int__(self):
        return int(_real(self._only_element_(), "int64_t"))

    def __float__(self):
        return float(_real(self._only_element_(), "double"))

    def __complex__(self):
        return complex(self._only_element_())

    def __index__(self):
        if self.numel() != 1 or self.is_floating_point() or self.is_complex():
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __iter__(self):
        if self.dim() == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __reversed__(self):
        if self.dim() == 0:
            return self
        from mindtorch import stack
        return stack(self.unbind(0)[::-1]) if len(self) else self

    def __contains__(self, element):
        if not isinstance(element, (TensorBase, bool, int, float, complex)):
            raise RuntimeError(
                f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")
        return bool((self == element).any().item())

    def __array__(self, dtype=None, copy=None):
        array = self.numpy()
        if dtype is not None and array.dtype != numpy.dtype(dtype):
            if copy is False:
                raise ValueError("Unable to avoid copy while creating an array as requested.")
            return array.astype(dtype)
        return array.copy() if copy else array

    def __array_wrap__(self, array, context=None, return_scalar=False):
        array = numpy.asarray(array)
        return conversion.from_numpy(array.astype(numpy.uint8) if array.dtype == bool else array)      # as in torch

    def __dlpack_device__(self):
        if self.is_meta:
            raise ValueError("Unknown device type meta for Dlpack")
        return (1, 0) if self.is_cpu else (12, self.get_device())       # kDLCPU, kDLExtDev

    def __dlpack__(self, *, stream=-1, max_version=None, dl_device=None, copy=None):
        if stream is not None and not isinstance(stream, int):
            raise TypeError("stream must be ``int`` or ``none``")
        if self.is_cpu and stream not in (None, -1):
            raise AssertionError("stream should be None on cpu.")
        if self.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        if self.layout is not strided:
            raise BufferError("Can't export tensors with layout other than torch.strided")
        if self.is_conj():
            raise BufferError("Can't export tensors with the conjugate bit set")
        here = self.__dlpack_device__()
        tensor = self
        if dl_device is not None and tuple(dl_device) != here:
            if copy is False:
                raise ValueError(f"cannot move a tensor from device {here} to {tuple(dl_device)} without copying")
            tensor = self.to(conversion.dlpack_device(*dl_device))
        elif copy:
            tensor = self.clone()
        return conversion.to_capsule(tensor, max_version is not None and max_version[0] >= 1)

    # --- copying and pickling -----------------------------------------------------------------------------------------

    def __copy__(self):
        return copy_cast.detach(self)

    def __deepcopy__(self, memo):
        if not self.is_leaf:
            raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
                               "protocol at the moment.")
        if id(self) in memo:
            return memo[id(self)]
        if torch_dispatch.is_wrapper(self):
            return self._deepcopy_of_wrapper_(memo)
        from mindtorch import _utils
        copied = _utils.deep_copied(self, memo)
        if type(self) is not Tensor:
            copied = torch_dispatch.alias_of_class(type(self), copied)
            attributes.set_requires_grad(copied, self.requires_grad)
        return self._copy_attributes_(copied, memo)

    def _copy_attributes_(self, copied, memo):
        memo[id(self)] = copied
        copied.__dict__.update(copy.deepcopy(self.__dict__, memo))
        for name in copyreg._slotnames(type(self)):
            if hasattr(self, name):
                setattr(copied, name, copy.deepcopy(getattr(self, name), memo))
        if self.grad is not None:
            copied.grad = self.grad.__deepcopy__(memo)
        return copied

    def _deepcopy_of_wrapper_(self, memo):
        """A clone, as the class computes it, with copies of the attributes."""
        from mindtorch import no_grad
        with no_grad():
            copied = self.clone()
        if type(copied) is not type(self):
            raise RuntimeError(f"The default implementation of __deepcopy__() for wrapper subclasses only works for "
                               f"subclass types that properly implement clone(), which for {type(self).__name__} "
                               f"gives {type(copied).__name__}. To implement the copy, overwrite __deepcopy__().")
        return self._copy_attributes_(copied.requires_grad_(self.requires_grad), memo)

    def __reduce_ex__(self, protocol):
        from mindtorch import _utils
        if torch_dispatch.is_wrapper(self):
            return _utils._rebuild_wrapper_subclass, _utils.wrapper_arguments(self), _utils.tensor_state(self) or None
        if self.is_meta:
            return _utils._rebuild_meta_tensor_no_storage, _utils.meta_arguments(self), self.__dict__ or None
        if self.layout is not strided:
            return _utils._rebuild_sparse_tensor, _utils.sparse_arguments(self), self.__dict__ or None
        return _utils._rebuild_tensor_v3, (
            _utils.PickledStorage.of(self), self.storage_offset(), tuple(self.size()), self.stride(),
            self.requires_grad, OrderedDict(), self.dtype, _utils.marks_of(self)), self.__dict__ or None

    def __setstate__(self, state):
        from mindtorch import _utils
        _utils.set_attributes(self, state)      # the user's: all else is in the arguments of the rebuilding

    # --- new tensors like this one ------------------------------------------------------------------------------------

    def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
        """`torch.tensor(data)` with this tensor's dtype and device."""
        made = tensor_from_data(data, dtype or self.dtype, device or self.device, pin_memory, "new_tensor")
        return with_requires_grad(made, requires_grad)

    def new_empty(self, *size, dtype=None, device=None, **options):
        """`torch.empty(size)` with this tensor's dtype and device."""
        return self._new_("empty", size, (), dtype, device, options)

    def new_zeros(self, *size, dtype=None, device=None, **options):
        """`torch.zeros(size)` with this tensor's dtype and device."""
        return self._new_("zeros", size, (), dtype, device, options)

    def new_ones(self, *size, dtype=None, device=None, **options):
        """`torch.ones(size)` with this tensor's dtype and device."""
        return self._new_("ones", size, (), dtype, device, options)

    def new_full(self, size, fill_value, *, dtype=None, device=None, **options):
        """`torch.full(size, fill_value)` with this tensor's dtype and device."""
        return self._new_("full", (size,), (fill_value,), dtype, device, options)

    def _new_(self, name, size, more, dtype, device, options):
        import mindtorch
        if "out" in options:
            raise TypeError(f"new_{name}() got an unexpected keyword argument 'out'")
        if "size" in options:
            size = (options.pop("size"),)
        if not size:
            raise TypeError(f'new_{name}() missing 1 required positional arguments: "size"')
        if len(size) == 1 and isinstance(size[0], (tuple, list)):
            size = size[0]
        if name in ("empty", "zeros") and self.layout is not strided:
            options.setdefault("layout", self.layout)
        if torch_dispatch.is_dispatched(self):
            return torch_dispatch.new_like(f"new_{name}", self, [*size], more, dtype=dtype, device=device, **options)
        factory = getattr(mindtorch, name)
        return factory(tuple(size), *more, dtype=dtype or self.dtype, device=device or self.device, **options)

    # --- pinned memory, gradients -------------------------------------------------------------------------------------

    def pin_memory(self, device=None):
        """A copy in page-locked host memory, from which copies to an NPU are asynchronous."""
        if device is not None and _old_device(device, "pin_memory").type == "cpu":
            raise RuntimeError("CPU device type not an accelerator.")
        return _backend.pin_memory(self)

    def cuda(self, device=None, non_blocking=False, memory_format=None):
        """AssertionError, as from a torch that was built without CUDA; `npu` where CUDA means the NPU."""
        if is_cuda_read_as_npu():
            return self.npu("cuda" if device is None else device, non_blocking=non_blocking)
        return self.to("cuda")

    def untyped_storage(self):
        """The bytes that this tensor and its views share."""
        return UntypedStorage.of(self)

    def is_pinned(self, device=None):
        """Whether the tensor is in page-locked host memory."""
        if device is not None and _old_device(device, "is_pinned").type != "npu":
            return False
        return _backend.is_pinned(self)

    def record_stream(self, s):
        """Tell the allocator that the stream `s` uses this NPU tensor."""
        if self.is_npu:
            _backend.record_stream(self, s)
            return
        from mindtorch import Stream
        if not isinstance(s, Stream):
            raise RuntimeError("unknown parameter type")
        raise NotImplementedError("Could not run 'aten::record_stream' with arguments from the 'CPU' backend: streams "
                                  "do not use host memory")

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        """Add the gradients of this tensor to the `.grad` of the leaves it came from; see `autograd.backward`."""
        autograd.backward(self, gradient, retain_graph, create_graph, inputs=inputs)


Tensor.__module__ = "mindtorch"


def _old_device(device, method):
    """The deprecated argument of methods that need not be told the device."""
    if not isinstance(device, (_device, str, int)) or isinstance(device, bool):
        raise TypeError(f"{method}(): argument 'device' (position 1) must be torch.device, not "
                        f"{type(device).__name__}")
    warnings.warn(f"The argument 'device' of Tensor.{method}() is deprecated. Please do not pass this argument.",
                  DeprecationWarning, stacklevel=3)
    return _device(device)


def _real(number, wanted):
    if isinstance(number, complex):
        if number.imag:
            raise RuntimeError(f"value cannot be converted to type {wanted} without overflow")
        return number.real
    return number


# Not overridable: they take no tensors, or call methods that are overridable.
_NOT_OVERRIDABLE = {"__new__", "__init_subclass__", "__torch_function__", "__iter__", "__copy__", "_make_subclass",
                    "_make_wrapper_subclass", "_copy_attributes_",
                    "_deepcopy_of_wrapper_", "_only_element_", "_new_", "as_subclass", "new"}


def _attach(name, value):
    if name not in _NOT_OVERRIDABLE:
        value = torch_function.overridable_property(value) if isinstance(value, property) else (
            torch_function.overridable_method(value, name))
    setattr(Tensor, name, value)
    if isinstance(value, property):
        value.__set_name__(Tensor, name)            # setattr does not


def attach_methods(methods):
    """Publish functions as methods of Tensor, and make them overridable. One that is there already is a mistake."""
    for name, function in methods.items():
        if name in vars(Tensor):
            raise TypeError(f"Tensor.{name} is defined twice")
        if function.__name__ == f"{name}_method":       # beside a function of the name, in the same module
            function.__name__ = name
        _attach(name, function)


for _name, _value in list(vars(Tensor).items()):
    if isinstance(_value, property) or callable(_value):
        _attach(_name, _value)
for _name, _getter in (attributes.PROPERTIES | methods.PROPERTIES).items():
    _attach(_name, property(_getter, doc=_getter.__doc__))
for _name, _accessors in attributes.GRADIENT_PROPERTIES.items():
    _attach(_name, property(*_accessors, doc=_accessors[0].__doc__))
for _name in ("is_cuda", "is_ipu", "is_maia", "is_mkldnn", "is_mps", "is_mtia", "is_nested", "is_quantized",
              "is_vulkan", "is_xla", "is_xpu"):
    _attach(_name, property(lambda self: False, doc="False: there are no such tensors."))
_KEPT = {Tensor.grad.__get__, Tensor._base.__get__}         # these give tensors that were there before


def _converted(result, cls):
    """Tensors, also in tuples and lists, under the class `cls`."""
    if cls is Tensor:
        return result
    if isinstance(result, Tensor) and not isinstance(result, cls):
        return result.as_subclass(cls)
    if isinstance(result, (tuple, list)):
        return type(result)([_converted(item, cls) for item in result])
    return result


attach_methods(attributes.METHODS)
attach_methods(attributes.GRADIENT_METHODS)
attach_methods(views.METHODS)
attach_methods(copy_cast.METHODS)
attach_methods(methods.METHODS)
tensor.register_tensor_class(Tensor)


def _resolve_name(function):
    from mindtorch.overrides import resolve_name
    return resolve_name(function)


def _describe(function, overloads=()):
    # property() and staticmethod() read the docstring of a function while torch, nn or distributions are imported.
    packages = [sys.modules.get(f"mindtorch{name}") for name in ("", ".nn", ".distributions")]
    if any(package and package.__spec__._initializing for package in packages):
        return None
    from mindtorch import _docs
    return _docs.describe(function, overloads)


def _load_torch_dispatch():
    import_module("mindtorch._library.torch_dispatch")


Tensor.__torch_dispatch__ = torch_dispatch._disabled_torch_dispatch_impl
hooks.resolve_name, hooks.load_torch_dispatch, hooks.describe = _resolve_name, _load_torch_dispatch, _describe

