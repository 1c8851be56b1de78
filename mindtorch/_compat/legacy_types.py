"""torch.FloatTensor, torch.FloatStorage and the like: a dtype on a device as a class. torch has deprecated them."""
from __future__ import annotations

import copy
import importlib
import io
import sys
import warnings
from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch._core.once import warn_once
from mindtorch._core.tensor.dtype import set_default_dtype
from mindtorch._core.tensor.tensor import is_cuda_read_as_npu, set_default_device
from mindtorch._ops.composite.common import scalar_type
from mindtorch._tensor import methods
from mindtorch.storage import UntypedStorage, _load_from_bytes

if TYPE_CHECKING:
    from mindtorch import dtype
    from mindtorch.nn.modules.module import Module
    from mindtorch.types import Device

_TENSOR_DTYPES = {
    "Bool": mindtorch.bool, "Byte": mindtorch.uint8, "Char": mindtorch.int8, "Short": mindtorch.int16,
    "Int": mindtorch.int32, "Long": mindtorch.int64, "Half": mindtorch.float16, "BFloat16": mindtorch.bfloat16,
    "Float": mindtorch.float32, "Double": mindtorch.float64}
_STORAGE_DTYPES = _TENSOR_DTYPES | {"ComplexFloat": mindtorch.complex64, "ComplexDouble": mindtorch.complex128}
__all__ = ["Storage", "TypedStorage", "_storage_classes", "set_default_tensor_type"]
__all__ += [f"{name}Tensor" for name in _TENSOR_DTYPES] + [f"{name}Storage" for name in _STORAGE_DTYPES]


# --- storages ---------------------------------------------------------------------------------------------------------

def _warn_once():
    warn_once("TypedStorage", (
        "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage "
        "class. This should only matter to you if you are using storages directly.  To access UntypedStorage directly, "
        "use tensor.untyped_storage() instead of tensor.storage()"), stacklevel=4)


class TypedStorage:
    """Elements of one dtype on a device; deprecated as in torch, where old code and old files have it.

    TypedStorage(size), TypedStorage(sequence) or TypedStorage(wrap_storage=an UntypedStorage), with `dtype` and
    `device`. What the methods are called as are methods of a tensor of one dimension.

    Arguments:
        *data: the number of elements, or a sequence of numbers
        device: the device; None means the CPU
        dtype: the dtype; None means the default dtype
        wrap_storage: an UntypedStorage whose bytes these are, in place of data

    Example:
        >>> torch.FloatStorage([1.0, 2.0]).tolist()
        [1.0, 2.0]
    """

    is_sparse = is_cuda = is_hpu = False
    filename = None

    def __init__(self, *data: Any, device: Device = None, dtype: dtype | None = None, wrap_storage: Any = None,
                 _internal: bool = False) -> None:
        if not _internal:
            _warn_once()
        forms = ("TypedStorage.__init__", "(*, torch.device device, torch.dtype dtype)",
                 "(int size, *, torch.device device, torch.dtype dtype)",
                 "(Sequence data, *, torch.device device, torch.dtype dtype)",
                 "(*, UntypedStorage wrap_storage, torch.dtype dtype)")
        _check_form(forms, data, wrap_storage)
        if wrap_storage is not None:
            if dtype is None:
                raise _wrong(forms, "Argument 'dtype' must be specified")
            if not isinstance(dtype, mindtorch.dtype):
                raise _wrong(forms, f"Argument 'dtype' must be torch.dtype, not {type(dtype)}", TypeError)
            if device is not None:
                raise _wrong(forms, "Argument 'device' should not be specified when 'wrap_storage' is given")
        elif dtype is not None and not isinstance(dtype, mindtorch.dtype):
            raise RuntimeError(f"expected torch.dtype, but got {type(dtype)}")
        self.dtype = dtype or mindtorch.get_default_dtype()
        self._bytes = wrap_storage or _storage_of(self.dtype, device, *data)

    @classmethod
    def _of(cls, storage, dtype):
        """Over an UntypedStorage; says nothing."""
        made = cls.__new__(cls)
        made._bytes, made.dtype = storage, dtype
        return made

    @property
    def _untyped_storage(self):
        return self._bytes

    @property
    def _dtype(self):
        return self.dtype

    @property
    def _cdata(self):
        return self._bytes._cdata

    @property
    def device(self) -> Any:
        return self._bytes.device

    def _elements(self):
        return self._bytes.elements(self.dtype)

    def _like(self, tensor):
        return TypedStorage(wrap_storage=tensor.untyped_storage(), dtype=tensor.dtype)

    def untyped(self) -> Any:
        """The bytes."""
        return self._bytes

    def size(self) -> Any:
        """The number of elements."""
        return self._bytes.nbytes() // self.dtype.itemsize

    __len__ = size

    def __sizeof__(self) -> int:
        return super().__sizeof__() + self.nbytes()

    def nbytes(self) -> Any:
        """Size in bytes."""
        return self._bytes.nbytes()

    def element_size(self) -> Any:
        """Bytes of an element."""
        return self.dtype.itemsize

    def data_ptr(self) -> Any:
        """Address of the first element, on its device."""
        return self._bytes.data_ptr()

    def is_pinned(self, device: Device = "npu") -> Any:
        """Whether the elements are in page-locked host memory."""
        return self._bytes.is_pinned()

    def is_shared(self) -> Any:
        """Whether other processes can see the elements."""
        return self._elements().is_shared()

    def get_device(self) -> Any:
        """The index of the device; -1 for the CPU."""
        return self._bytes.get_device()

    def type(self) -> Any:
        """The name of the class, as 'torch.FloatStorage'."""
        return f"torch.{storage_class(self.dtype).__name__}" if self.dtype in _CLASSES else "torch.storage.TypedStorage"

    def pickle_storage_type(self) -> Any:
        """The name under which files hold the dtype, as 'FloatStorage'."""
        if self.dtype not in _CLASSES:
            raise KeyError(f"dtype {self.dtype} is not recognized")
        return storage_class(self.dtype).__name__

    def tolist(self) -> Any:
        """The elements as numbers."""
        self._bytes._require_elements()
        return self._elements().tolist()

    def __iter__(self) -> Any:
        return iter(self.tolist())

    def _checked(self, index):
        self._bytes._require_elements()
        if not isinstance(index, int):
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}")
        if not -self.size() <= index < self.size():
            raise IndexError(f"index {index} out of range for storage of size {self.size()}")
        return index

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        return self._elements()[self._checked(index)].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        self._elements()[index if isinstance(index, slice) else self._checked(index)] = value

    def resizable(self) -> Any:
        """Whether it may grow: not where the memory is that of a NumPy array."""
        return self._bytes.resizable()

    def resize_(self, size: int) -> None:
        """Another number of elements, which all tensors on it see."""
        self._bytes.resize_(size * self.dtype.itemsize)

    def _share_fd_cpu_(self, *args: Any) -> Any:
        return self._bytes._share_fd_cpu_(*args)

    def _share_filename_cpu_(self, *args: Any) -> Any:
        return self._bytes._share_filename_cpu_(*args)

    def _write_file(self, *args: Any) -> None:
        self._bytes._write_file(*args)

    def share_memory_(self) -> Any:
        """Moves the elements to memory that other processes can see."""
        self._bytes.share_memory_()
        return self

    def pin_memory(self, device: Device = "npu") -> Any:
        """A copy in page-locked host memory; the storage itself where it is there already."""
        pinned = self._bytes.pin_memory(device)
        return self if pinned is self._bytes else self._of(pinned, self.dtype)

    def fill_(self, value: Any) -> Any:
        """Sets every element."""
        self._elements().fill_(value)
        return self

    def copy_(self, source: Any, non_blocking: bool | None = None) -> Any:
        """Takes over the bytes of another storage of as many bytes."""
        if source.nbytes() != self.nbytes():
            raise RuntimeError(f"size does not match, self was {self.nbytes()} bytes but src was {source.nbytes()} "
                               "bytes")
        self._bytes.copy_(source.untyped(), non_blocking)
        return self

    def clone(self) -> Any:
        """A storage with the same elements."""
        return self._like(self._elements().clone())

    def __deepcopy__(self, memo: Any) -> Any:
        return memo.setdefault(id(self), self._of(copy.deepcopy(self._bytes, memo), self.dtype))

    def __reduce__(self) -> Any:
        file = io.BytesIO()
        mindtorch.save(self, file, _use_new_zipfile_serialization=False)
        return _load_from_bytes, (file.getvalue(),)

    def cpu(self) -> Any:
        """The elements on the CPU."""
        return self._like(self._elements().cpu())

    def npu(self, device: Device = None, non_blocking: bool = False) -> Any:
        """The elements on an NPU."""
        return self._like(self._elements().npu(device, non_blocking))

    def __repr__(self) -> str:
        lines = "..." if self.device.type == "meta" else " " + "\n ".join(map(str, self.tolist()))
        return f"{lines}\n[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {self.size()}]"


TypedStorage.__module__ = "mindtorch.storage"
# Names by which code that must not warn calls the methods.
for _name in ("size", "nbytes", "element_size", "data_ptr", "is_shared", "resize_", "share_memory_",
              "pickle_storage_type"):
    setattr(TypedStorage, f"_{_name}", getattr(TypedStorage, _name))
TypedStorage._getitem, TypedStorage._setitem = TypedStorage.__getitem__, TypedStorage.__setitem__
TypedStorage._deepcopy = TypedStorage.__deepcopy__


def _wrong(forms, what, error=RuntimeError):
    """The error of a constructor: its name and its forms, and what is wrong with the arguments."""
    name, *forms = forms
    return error(f"{name} received an invalid combination of arguments. Expected one of:\n"
                 + "".join(f" * {form}\n" for form in forms) + what)


def _check_form(forms, data, wrap_storage):
    """Refuses data that no form of a constructor takes, and data beside `wrap_storage`."""
    if wrap_storage is not None:
        if data:
            raise _wrong(forms, "No positional arguments should be given when using 'wrap_storage'")
        if not isinstance(wrap_storage, UntypedStorage):
            raise _wrong(forms, f"Argument 'wrap_storage' must be UntypedStorage, but got {type(wrap_storage)}",
                         TypeError)
    elif len(data) > 1:
        raise _wrong(forms, "Too many positional arguments")
    elif data and (isinstance(data[0], mindtorch.Tensor) or not (isinstance(data[0], int)
                                                                 or hasattr(data[0], "__len__"))):
        raise _wrong(forms, f"Argument type not recognized: {type(data[0])}", TypeError)


def _storage_of(dtype, device, data=0):
    """The bytes of so many elements, or of a sequence of numbers."""
    if isinstance(data, int):
        return UntypedStorage(data * dtype.itemsize, device=device)
    if isinstance(data, str):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    return mindtorch.tensor(list(data), dtype=dtype, device=device).untyped_storage()


def _cast_method(name, dtype):
    def cast(self):
        return self._like(self._elements().to(dtype))
    cast.__name__, cast.__doc__ = name, f"The elements in {dtype}."
    return cast


for _name, _dtype in _STORAGE_DTYPES.items():
    _name = {"ComplexFloat": "complex_float", "ComplexDouble": "complex_double"}.get(_name, _name.lower())
    setattr(TypedStorage, _name, _cast_method(_name, _dtype))


class _StorageType(type):
    """The class of torch.FloatStorage and the like: their instances are the storages of one dtype."""

    def __instancecheck__(cls, instance: Any) -> Any:
        return (isinstance(instance, TypedStorage) and instance.dtype is cls.dtype
                and instance.device.type == cls.device_type)

    def __call__(cls, *data: Any, wrap_storage: Any = None, _internal: bool = False, **options: Any) -> Any:
        if cls.dtype is None:
            raise RuntimeError("Only child classes of _LegacyStorage can be instantiated")
        forms = (f"{cls}.__new__", "no arguments", "(int size)", "(Sequence data)", "(*, UntypedStorage wrap_storage)")
        for name in options:
            if name not in ("device", "dtype"):
                raise TypeError(f"TypedStorage.__new__() got an unexpected keyword argument '{name}'")
            raise _wrong(forms, f"Keyword argument '{name}' cannot be specified")
        _check_form(forms, data, wrap_storage)
        if wrap_storage is not None and wrap_storage.device.type != cls.device_type:
            raise _wrong(forms, f"Device of 'wrap_storage' must be {cls.device_type}, but got "
                                f"{wrap_storage.device.type}")
        return TypedStorage(*data, dtype=cls.dtype, device=None if wrap_storage is not None else cls.device_type,
                            wrap_storage=wrap_storage, _internal=_internal)

    @property
    def _dtype(cls):
        return cls.dtype

    def from_buffer(cls, buffer: Any, byte_order: Any = None, count: Any = -1, offset: float = 0) -> Any:
        """The numbers in an object with the buffer protocol, copied; `byte_order` is "native", "little" or "big"."""
        numbers = mindtorch.frombuffer(bytearray(buffer), dtype=cls.dtype, count=count, offset=offset)
        if byte_order not in (None, "native", sys.byteorder):
            numbers.untyped_storage().byteswap(cls.dtype)
        return cls(wrap_storage=numbers.clone().untyped_storage())


def storage_class(dtype: dtype) -> Any:
    """torch.FloatStorage and its like, for a dtype."""
    return _CLASSES[dtype]


def _dtype_to_storage_type_map():
    return {dtype: made.__name__ for dtype, made in _CLASSES.items()}


def _storage_type_to_dtype_map():
    return {name: dtype for dtype, name in _dtype_to_storage_type_map().items()}


def _storage_docstring(module, name, dtype, device_type):
    place = module.replace("mindtorch", "torch")
    text = f"Storages of {dtype} on {device_type}, of a size or of a sequence of numbers."
    return f"""{text}

Arguments:
    *data: the number of elements, or a sequence of numbers
    wrap_storage: an UntypedStorage whose bytes these are, in place of data
    **options: refused: the class says dtype and device

Example:
    >>> {place}.{name}Storage(3).nbytes()
    {3 * dtype.itemsize}
"""


def storage_types(module: Module, device_type: Any) -> Any:
    """FloatStorage and the like of a module, for one type of device, by dtype."""
    return {dtype: _StorageType(f"{name}Storage", (), {
        "__module__": module, "__doc__": _storage_docstring(module, name, dtype, device_type), "dtype": dtype,
        "device_type": device_type})
        for name, dtype in _STORAGE_DTYPES.items()}


_LegacyStorage = _StorageType("_LegacyStorage", (), {"__module__": "mindtorch.storage", "dtype": None,
                                                     "device_type": "cpu"})
_CLASSES = storage_types("mindtorch", "cpu")
globals().update({made.__name__: made for made in _CLASSES.values()})
Storage = FloatStorage                  # noqa: F821 - the line above defines it
_storage_classes = {UntypedStorage, TypedStorage, *_CLASSES.values()}


# --- tensors ----------------------------------------------------------------------------------------------------------

class tensortype(type):
    """The class of these classes."""

    is_sparse = is_cuda = False
    layout = mindtorch.strided

    def __instancecheck__(cls, instance: Any) -> Any:
        return (isinstance(instance, mindtorch.Tensor) and instance.device.type == cls.device_type
                and instance.dtype is cls.dtype)

    def __call__(cls, *args: Any, device: Device = None, size: Any = None) -> Any:
        """FloatTensor(2, 3) is uninitialised, FloatTensor([2, 3]) holds those numbers, FloatTensor(t) is t."""
        device = cls.device_type if device is None else mindtorch.device(device)
        if mindtorch.device(device).type != cls.device_type:
            raise RuntimeError(f"legacy constructor expects device type: {cls.device_type} but device type: "
                               f"{mindtorch.device(device).type} was passed")
        return methods.new(mindtorch.empty(0, dtype=cls.dtype), *(args if size is None else (mindtorch.Size(size),)),
                                   device=device)


def _tensor_docstring(module, name, dtype, device_type):
    place = module.replace("mindtorch", "torch")
    text = f"Tensors of {dtype} on {device_type}: of sizes uninitialised, or of a sequence of numbers."
    return f"""{text}

Arguments:
    *args: the sizes, or one sequence of numbers, tensor or storage
    device: the device, which has to be of type {device_type}; None means that
    size: the sizes, in place of args

Example:
    >>> {place}.{name}Tensor([1, 0]).dtype
    {dtype}
    >>> isinstance(torch.ones(2, dtype={dtype}, device="{device_type}"), {place}.{name}Tensor)
    True
"""


def tensor_types(module: Module, device_type: Any) -> Any:
    """FloatTensor and the like of a module, for one type of device, by name."""
    return {f"{name}Tensor": tensortype(f"{name}Tensor", (), {
        "__module__": module, "__doc__": _tensor_docstring(module, name, dtype, device_type), "dtype": dtype,
        "device_type": device_type})
        for name, dtype in _TENSOR_DTYPES.items()}


globals().update(tensor_types("mindtorch", "cpu"))


class _SparseTensorType(tensortype):
    """The class of torch.sparse.FloatTensor and its like."""

    is_sparse = True
    layout = mindtorch.sparse_coo

    def __instancecheck__(cls, instance: Any) -> Any:
        return super().__instancecheck__(instance) and instance.layout is cls.layout

    def __call__(cls, *args: Any, indices: Any = None, values: Any = None, size: Any = None,
                 device: Device = None) -> Any:
        """FloatTensor(2, 3) is empty, FloatTensor(indices, values, size) keeps the dtype of the values, as in torch."""
        warn_once("SparseTensor", "torch.sparse.SparseTensor is deprecated. Please use torch.sparse_coo_tensor.",
                  stacklevel=2)
        if args and isinstance(args[0], mindtorch.Tensor):
            if len(args) > 3:
                raise TypeError(f"new() takes 3 positional arguments but {len(args)} were given")
            indices, values, size = (*args, *(indices, values, size)[len(args):])
        elif args:
            size = args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
        device = mindtorch.device(cls.device_type if device is None else device)
        if device.type != cls.device_type:
            raise RuntimeError(f"legacy constructor expects device type: {cls.device_type} but device type: "
                               f"{device.type} was passed")
        if indices is None and values is None:
            sizes = mindtorch.Size([0]) if size is None else size
            if not isinstance(sizes, (tuple, list)) or not all(hasattr(each, "__index__") for each in sizes):
                raise TypeError(f"new() received an invalid combination of arguments - got {args}, but expected sizes, "
                                "or indices and values")
            if isinstance(sizes, list):
                raise TypeError("torch.sparse.SparseTensor(sequence) only accepts sizes.  Please use "
                                "torch.sparse_coo_tensor() or construct a strided tensor and convert it to sparse via "
                                "to_sparse.")
            return mindtorch.sparse_coo_tensor(sizes, dtype=cls.dtype, device=device)
        for name, value in (("indices", indices), ("values", values)):
            if not isinstance(value, mindtorch.Tensor):
                raise TypeError(f"new() received an invalid combination of arguments - {name} must be a Tensor, not "
                                f"{type(value).__name__}")
        if indices.dtype is not mindtorch.int64:
            raise RuntimeError(f"expected scalar type Long but found {scalar_type(indices.dtype)}")
        return mindtorch.sparse_coo_tensor(indices, values, *(() if size is None else (size,)), device=device)


def _sparse_docstring(name, dtype):
    return f"""Sparse COO tensors of {dtype} on the CPU. torch has deprecated them: call torch.sparse_coo_tensor.

Arguments:
    *args: indices (dimensions, n) of int64, values (n, ...) and, if it is not the smallest, the size; or the sizes of
        an empty tensor
    indices, values, size: the same by name
    device: the device, which has to be of type cpu

The dtype is that of the values; {dtype} is that of empty tensors.

Example:
    >>> torch.sparse.{name}Tensor(torch.tensor([[0], [1]]), torch.tensor([3.0]), (2, 2)).to_dense()
    tensor([[0., 3.],
            [0., 0.]])
"""


SPARSE_TYPES = {f"{name}Tensor": _SparseTensorType(f"{name}Tensor", (), {
    "__module__": "mindtorch.sparse", "__doc__": _sparse_docstring(name, dtype), "dtype": dtype, "device_type": "cpu"})
    for name, dtype in _TENSOR_DTYPES.items() if name != "Bool"}


def set_default_tensor_type(t: Any, /) -> None:
    """Deprecated: the dtype of a legacy type, or of its name, becomes the default, and its device the default device.

    Arguments:
        t: a class such as torch.DoubleTensor, or its name

    Example:
        >>> torch.set_default_tensor_type(torch.DoubleTensor)
        >>> torch.tensor(0.5).dtype
        torch.float64
        >>> torch.set_default_dtype(torch.float32)
    """
    if isinstance(t, type) and t.__module__ == "torch.cuda":
        t = f"torch.cuda.{t.__name__}"
    if isinstance(t, str):
        module, _, name = t.rpartition(".")
        if module in ("torch", "mindtorch") and name in globals():
            t = globals()[name]
        elif module in ("torch.npu", "mindtorch.npu") or (module == "torch.cuda" and is_cuda_read_as_npu()):
            t = getattr(mindtorch.npu, name, None)
        elif module == "torch.cuda":
            raise TypeError(f"type {t} not available. Torch not compiled with CUDA enabled.")
        else:
            t = getattr(importlib.import_module(module or name), name, None)
    if not isinstance(t, tensortype):
        raise TypeError("invalid type object: only floating-point types are supported as the default type")
    if scalar_type(t.dtype) not in ("Half", "BFloat16", "Float", "Double"):
        raise TypeError("only floating-point types are supported as the default type")
    warnings.warn("torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use "
                  "torch.set_default_dtype() and torch.set_default_device() as alternatives.", UserWarning,
                  stacklevel=2)
    set_default_dtype(t.dtype)
    set_default_device(t.device_type)
