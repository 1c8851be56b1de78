"""Rare methods of Tensor: elementwise Python functions, methods for other layouts and devices, deprecated methods.

All tensors of mindtorch are strided and not quantised. Methods for other kinds of tensors behave as torch's do for a
strided tensor.
"""
import math
import warnings

from mindtorch._core.autograd.node import below_autograd
from mindtorch._core.autograd.node import is_grad_enabled as grad_enabled
from mindtorch._core.formats import channels_last, channels_last_3d, contiguous_format, memory_format
from mindtorch._core.python.torch_function import DisableTorchFunctionSubclass
from mindtorch._core.tensor import copy_cast
from mindtorch._core.tensor import dtype as dtypes
from mindtorch._core.tensor.factories import tensor_from_data
from mindtorch._core.tensor.tensor import Size, TensorBase, device
from mindtorch._core.tensor.views import view_as_real
from mindtorch._ops.composite.common import _SCALAR_TYPES, c_type, scalar_type

METHODS = {}
_LEGACY_DTYPES = {legacy: getattr(dtypes, name) for name, (legacy, _) in _SCALAR_TYPES.items()}     # "Float"


def _method(function):
    METHODS[function.__name__] = function
    return function


# --- element by element, by Python functions -------------------------------------------------------------------------

def _apply_elementwise(self, name, function, others):
    """The tensor's elements replaced by function(element, elements of the others...)."""
    for tensor in (self, *others.values()):
        if tensor.requires_grad:
            raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() "
                               "instead.")
    if not self.is_cpu:
        raise TypeError(f"{name} is only implemented on CPU tensors")
    for argument, tensor in others.items():
        if tensor.type() != self.type():
            raise TypeError(f"{name}: expected {self.type()} for {argument} (got {tensor.type()})")
    columns = [tensor.expand(self.shape).flatten().tolist() for tensor in (self, *others.values())]
    found = [_to_element(function(*elements), self) for elements in zip(*columns, strict=True)]
    return self.copy_(tensor_from_data(found, self.dtype, None, False, "tensor").reshape(self.shape))


def _to_element(value, like):
    """The number in the tensor's dtype: integers lose the fraction."""
    if isinstance(value, TensorBase):
        value = value.item()
    if not isinstance(value, (bool, int, float, complex)):
        raise TypeError(f"must be real number, not {type(value).__name__}")
    fraction = isinstance(value, float) and not like.is_floating_point() and not like.is_complex()
    return int(value) if fraction else value


def _require(function, argument, value, position):
    if not isinstance(value, TensorBase):
        raise TypeError(f"{function}(): argument '{argument}' (position {position}) must be Tensor, "
                        f"not {type(value).__name__}")


@_method
def apply_(self, callable):
    """Every element replaced by callable(element). On the CPU only, and slow."""
    return _apply_elementwise(self, "apply_", callable, {})


@_method
def map_(self, other, callable):
    """Every element replaced by callable(element, the other's element); `other` is broadcast. On the CPU only."""
    _require("map_", "other", other, 1)
    return _apply_elementwise(self, "map_", callable, {"'other'": other})


@_method
def map2_(self, x, y, callable):
    """Every element replaced by callable(element, x's element, y's element). On the CPU only."""
    _require("map2_", "x", x, 1)
    _require("map2_", "y", y, 2)
    return _apply_elementwise(self, "map2_", callable, {"argument 'x'": x, "argument 'y'": y})


# --- what the tensor is ----------------------------------------------------------------------------------------------

@_method
def is_nonzero(input):
    """Whether the only element is not 0; RuntimeError where there are more or none."""
    return bool(input)


@_method
def is_distributed(input):
    """False: tensors are not distributed over processes."""
    return False


@_method
def sparse_dim(self):
    """The number of sparse dimensions: none."""
    return 0


@_method
def dense_dim(self):
    """The number of dense dimensions: all."""
    return self.dim()


@_method
def const_data_ptr(self):
    """Address of the first element, for reading."""
    return self.data_ptr()


@_method
def dim_order(self, *, ambiguity_check=False):
    """The dimensions from the one with the largest stride to the one with the smallest.

    ambiguity_check=True: RuntimeError where another order would describe the memory as well. A list of memory formats:
    only where it is not exactly one of these that tells which.
    """
    order = []
    for dim in range(self.dim()):
        place = len(order)
        while place and 0 < self.stride(order[place - 1]) < self.stride(dim):
            place -= 1
        order.insert(place, dim)
    if ambiguity_check is not False:
        _check_order(self, ambiguity_check)
    return tuple(order)


def _check_order(self, ambiguity_check):
    formats = () if ambiguity_check is True else ambiguity_check
    if not isinstance(formats, (list, tuple)) or not all(isinstance(f, memory_format) for f in formats):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    if 0 in self.stride() and (formats or ambiguity_check is True):
        raise RuntimeError("The tensor does not have unique dim order.")
    if 1 in self.shape:
        if sum(_has_format(self, f) for f in formats) != 1:
            raise RuntimeError("The tensor does not have unique dim order, or cannot map to exact one of the given "
                               "memory formats.")
        if sum(_has_format(self, f) for f in (contiguous_format, channels_last, channels_last_3d)) > 1:
            raise RuntimeError("The tensor does not have unique dim order.")


def _has_format(tensor, format):
    return tensor.is_contiguous(memory_format=format)


# --- tensors of other kinds ------------------------------------------------------------------------------------------

_LAYOUTS = {
    "is_coalesced": "sparse coordinate tensor", "coalesce": "sparse coordinate tensor",
    "indices": "sparse coordinate tensor", "values": "sparse tensor", "crow_indices": "sparse row compressed tensor",
    "col_indices": "sparse row compressed tensor", "ccol_indices": "sparse column compressed tensor",
    "row_indices": "sparse column compressed tensor"}


def _sparse_only(name, wanted):
    def refuse(self):
        raise RuntimeError(f"{name} expected {wanted} layout but got Strided")
    refuse.__name__, refuse.__doc__ = name, f"Of a {wanted} in torch; the tensor is strided: RuntimeError."
    return refuse


METHODS.update({name: _sparse_only(name, wanted) for name, wanted in _LAYOUTS.items()})


def _of_sparse_tensors(name):
    def method(self, *args, **kwargs):
        from mindtorch._sparse.kernels import KERNELS
        return KERNELS[name](self, *args, **kwargs)
    method.__name__, method.__doc__ = name, f"torch's `{name}`, which mindtorch._sparse has."
    return method


METHODS.update({name: _of_sparse_tensors(name) for name in (
    "resize_as_sparse_", "smm", "sparse_mask", "sparse_resize_", "sparse_resize_and_clear_", "sspaddmm", "to_sparse",
    "to_sparse_bsc", "to_sparse_bsr", "to_sparse_coo", "to_sparse_csc", "to_sparse_csr", "_coalesced_", "_dimI",
    "_dimV", "_indices", "_nnz", "_to_dense", "_to_sparse", "_to_sparse_bsc", "_to_sparse_bsr", "_to_sparse_csc",
    "_to_sparse_csr", "_values")})


@_method
def to_dense(self, dtype=None, *, masked_grad=None):
    """The tensor itself, or cast to `dtype`."""
    return self if dtype is None else self.to(dtype)


@_method
def dequantize(input):
    """The tensor in float32."""
    _require("dequantize", "input", input, 1)
    return input.float()


def _unavailable_device(name, error, message):
    def move(self, device=None, non_blocking=False, memory_format=None):
        raise error(message)
    move.__name__, move.__doc__ = name, f"Not here: there are no devices of type {name}, as in torch's CPU build."
    return move


METHODS |= {
    "xpu": _unavailable_device("xpu", AssertionError, "Torch not compiled with XPU enabled"),
    "ipu": _unavailable_device("ipu", RuntimeError, "PyTorch is not linked with support for ipu devices")}


# --- old and rare forms ----------------------------------------------------------------------------------------------

def type_(self, dtype=None, non_blocking=False):
    """Without arguments the legacy type string; else the tensor cast to a dtype or to a legacy type, or its string."""
    place = self.device
    if dtype is None:
        where = "" if place.type == "cpu" else f"{place.type}."
        return f"torch.{where}{'sparse.' * self.is_sparse}{scalar_type(self.dtype)}Tensor"
    if isinstance(dtype, type):                  # torch.LongTensor, torch.npu.LongTensor
        module = dtype.__module__.replace("mindtorch", "torch", 1)
        known = module in ("torch", "torch.npu", "torch.cuda", "torch.sparse")
        dtype = f"{module}.{dtype.__name__}" if known else dtype.__name__
    if isinstance(dtype, str):
        given = dtype
        where, _, name = given.removeprefix("torch.").removesuffix("Tensor").rpartition(".")
        dtype = _LEGACY_DTYPES.get(name) if name else dtypes.get_default_dtype()
        if (dtype is None or where not in ("", "npu", "cuda", "sparse") or not given.startswith("torch.")
                or not given.endswith("Tensor")):
            raise ValueError(f"invalid type: '{given}'")
        named = device(where if where in ("npu", "cuda") else "cpu")
        if named.type == "cuda":                 # else "cuda" is read as "npu"
            raise RuntimeError("Cannot initialize CUDA without ATen_cuda library.")
        place = place if named.type == place.type else named
    if not isinstance(dtype, dtypes.dtype):
        raise TypeError("dtype must be a type, str, or dtype object")
    if not isinstance(non_blocking, bool):
        raise TypeError("type(): argument 'non_blocking' (position 2) must be bool, not "
                        f"{type(non_blocking).__name__}")
    return self.to(place, dtype, non_blocking)


type_.__name__ = "type"
METHODS["type"] = type_


@_method
def new(self, *args, device=None):
    """torch's legacy constructor, of this dtype and device: new(2, 3) is uninitialised, new([2, 3]) has two numbers.

    new(storage) shows the storage's elements.
    """
    from mindtorch import empty
    from mindtorch._compat.legacy_types import TypedStorage, UntypedStorage
    if len(args) == 1 and isinstance(args[0], (TypedStorage, UntypedStorage)):
        return empty(0, dtype=self.dtype, device=device or args[0].device).set_(args[0])
    if len(args) == 1 and isinstance(args[0], TensorBase):
        if args[0].dtype is not self.dtype:
            raise TypeError(f"expected a tensor of {self.dtype} (got one of {args[0].dtype})")
        return copy_cast.FUNCTIONS["detach"](args[0])
    if len(args) == 1 and not isinstance(args[0], (int, Size)):
        if not hasattr(args[0], "__len__"):
            raise TypeError(f"new(): data must be a sequence (got {type(args[0]).__name__})")
        return tensor_from_data(args[0], self.dtype, device or self.device, False, "new")
    return empty(*(args or (0,)), dtype=self.dtype, device=device or self.device)


@_method
def set_(self, source=None, storage_offset=0, size=None, stride=None):
    """The tensor becomes a view of another's storage: with that tensor's geometry, or with the one given.

    `source` is a tensor of the same dtype or a storage, on the same device; without it the tensor has no elements.
    RuntimeError for a geometry beyond the end of the storage, and where gradients would have to flow.
    """
    elements = _source_elements(self, source)
    if grad_enabled() and not below_autograd() and (self.requires_grad or elements.requires_grad):
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation."
                           if self.is_leaf else "the derivative for 'set_' is not implemented")
    if elements.device != self.device:
        raise RuntimeError(f'Attempted to set the storage of a tensor on device "{self.device}" to a storage on '
                           f'different device "{elements.device}".  This is no longer allowed; the devices must match.')
    if size is not None:
        size, offset = Size(size), storage_offset
        stride = stride or [math.prod(size[i + 1:]) for i in range(len(size))]
        if len(stride) != len(size):
            raise RuntimeError(f"unequal size length ({len(size)}) and stride length ({len(stride)})")
        elements = elements.as_strided(size, stride, offset)
    copy_cast.set_tensor(self, elements)
    return self


def _source_elements(self, source):
    """The argument of set_, as a tensor of this dtype."""
    from mindtorch._compat.legacy_types import TypedStorage, UntypedStorage
    if source is None:
        return self.new_empty(0)
    if isinstance(source, TensorBase):
        if source.dtype is not self.dtype:
            raise RuntimeError(f"Could not set tensor of type {c_type(source.dtype)} to a tensor of type "
                               f"{c_type(self.dtype)}")
        return source
    if isinstance(source, TypedStorage):
        if source.dtype is not self.dtype:
            raise RuntimeError(f"Expected a Storage of type {c_type(self.dtype)} or an UntypedStorage, but got type "
                               f"{scalar_type(source.dtype)} for argument 1 'storage'")
        source = source.untyped()
    if not isinstance(source, UntypedStorage):
        raise TypeError("set_() received an invalid combination of arguments - got "
                        f"({type(source).__name__}), but expected a torch.Storage or Tensor source")
    return source.elements(self.dtype)


# --- views of another tensor -----------------------------------------------------------------------------------------
# For code like torch's functionalization, which calls them by these names. The visitors, of sizes and tensors that the
# view remembers, get nothing to see: a view has a geometry, and does not remember its function.

def _same_view(tensor, view):
    """A view of `tensor` with the dtype, the geometry and the bits of `view`."""
    if tensor.dtype is not view.dtype:
        tensor = view_as_real(tensor) if tensor.is_complex() else tensor.view(view.dtype)
    made = tensor.as_strided(view.size(), view.stride(), view.storage_offset())
    made = made.conj() if made.is_conj() != view.is_conj() else made
    return made._neg_view() if made.is_neg() != view.is_neg() else made


@_method
def _view_func_unsafe(self, new_base, symint_visitor_fn=None, tensor_visitor_fn=None):
    """The view of `new_base` that this tensor is of its base; None for a tensor that is no view."""
    return _same_view(new_base, self) if self._is_view() else None


@_method
def _view_func(self, new_base, symint_visitor_fn=None, tensor_visitor_fn=None):
    """_view_func_unsafe where `new_base` has dtype, device and geometry of the base, else None."""
    def geometry(tensor):
        return tensor.dtype, tensor.device, tensor.size(), tensor.stride(), tensor.storage_offset()
    if not self._is_view() or geometry(new_base) != geometry(self._base):
        return None
    return self._view_func_unsafe(new_base)


@_method
def _rev_view_func_unsafe(self, new_view, symint_visitor_fn=None, tensor_visitor_fn=None):
    """The base that a view like this has where the view is `new_view`: over its memory, which must be large enough."""
    return _same_view(new_view, self._base) if self._is_view() else None


# --- storages, other shapes and classes ------------------------------------------------------------------------------

@_method
def storage(self):
    """The elements of the tensor and its views, as a TypedStorage. Deprecated: untyped_storage() has the bytes."""
    from mindtorch._compat.legacy_types import TypedStorage
    return TypedStorage(wrap_storage=self.untyped_storage(), dtype=self.dtype)


@_method
def _typed_storage(self):
    """The same without a warning, as torch's own code has it."""
    from mindtorch._compat.legacy_types import TypedStorage
    return TypedStorage._of(self.untyped_storage(), self.dtype)


@_method
def storage_type(self):
    """The class of storages of this dtype, as torch.FloatStorage."""
    from mindtorch._compat.legacy_types import storage_class
    return storage_class(self.dtype)


def _resized(self, name, shape):
    warnings.warn(f"non-inplace {name} is deprecated", UserWarning, stacklevel=3)
    if math.prod(shape) != self.numel():
        raise RuntimeError(
            f"requested resize to {'x'.join(map(str, shape))} ({math.prod(shape)} elements in total), but the given "
            f"tensor has a size of {'x'.join(map(str, self.shape))} ({self.numel()} elements). autograd's resize can "
            "only change the shape of a given tensor, while preserving the number of elements. ")
    return self.contiguous().view(tuple(shape))


@_method
def resize(self, *sizes):
    """Deprecated: the elements in another shape that has room for just as many."""
    return _resized(self, "resize", sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes)


@_method
def resize_as(self, tensor):
    """Deprecated: the elements in the shape of another tensor."""
    return _resized(self, "resize_as", tensor.shape)


@_method
def as_subclass(self, cls):
    """The tensor under a class derived from Tensor, with its history."""
    if not (isinstance(cls, type) and issubclass(cls, TensorBase)):
        raise TypeError("Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. "
                        "Make sure your class inherits from Tensor.")
    with DisableTorchFunctionSubclass():
        made = self.view_as(self)
    made.__class__ = cls
    return made


@_method
def module_load(self, other, assign=False):
    """The tensor that load_state_dict puts in place of a parameter or buffer when modules swap their tensors."""
    if assign:
        return other.detach()
    return self.copy_(other).detach()


def volatile(self):
    """Always False: gradients are switched off by no_grad."""
    warnings.warn("volatile was removed (Variable.volatile is always False)", UserWarning, stacklevel=2)
    return False


def name(self):
    """None: tensors have no names."""


PROPERTIES = {"volatile": volatile, "name": name}
FUNCTIONS = {name: METHODS[name] for name in ("is_nonzero", "is_distributed", "dequantize")}
