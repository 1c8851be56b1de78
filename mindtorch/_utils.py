"""torch._utils: functions that rebuild tensors from a file, by the names that files hold; ExceptionWrapper."""
import copyreg
import sys
import traceback
import weakref
from pickle import UnpicklingError

import mindtorch
from mindtorch._core.tensor import torch_dispatch
from mindtorch._core.tensor.tensor import sparse_storage
from mindtorch._core.tensor.views import set_bits_of


class StorageType:
    """The name that a file gives to the dtype of a storage, as `torch.FloatStorage`."""

    __slots__ = ("__name__", "dtype")

    def __init__(self, name, dtype):
        self.__name__ = name
        self.dtype = dtype

    def __repr__(self):
        return f"<class 'torch.{self.__name__}'>"


def _element_size(dtype):
    """Bytes of an element of a dtype."""
    if not isinstance(dtype, mindtorch.dtype):
        raise RuntimeError(f"expected torch.dtype, but got {type(dtype)}")
    return dtype.itemsize


STORAGE_TYPES = {name: StorageType(name, dtype) for name, dtype in (
    ("FloatStorage", mindtorch.float32), ("DoubleStorage", mindtorch.float64), ("HalfStorage", mindtorch.float16),
    ("BFloat16Storage", mindtorch.bfloat16), ("ByteStorage", mindtorch.uint8), ("CharStorage", mindtorch.int8),
    ("ShortStorage", mindtorch.int16), ("IntStorage", mindtorch.int32), ("LongStorage", mindtorch.int64),
    ("BoolStorage", mindtorch.bool), ("ComplexFloatStorage", mindtorch.complex64),
    ("ComplexDoubleStorage", mindtorch.complex128))}
UNTYPED_STORAGE = StorageType("UntypedStorage", mindtorch.uint8)
_pickled = weakref.WeakValueDictionary()        # identity of a storage -> its PickledStorage


def storage_bytes(tensor):
    """The bytes of the tensor's storage: a tensor of one dimension."""
    count = tensor.untyped_storage().nbytes() // tensor.itemsize
    with torch_dispatch.DisableModes():
        memory = tensor.detach()
        set_bits_of(memory, False, False)
        return memory.as_strided((count,), (1,), 0).view(mindtorch.uint8)


class PickledStorage:
    """A storage for Python's pickle, which writes an object once: tensors that share it must name the same one."""

    __slots__ = ("__weakref__", "content")

    def __init__(self, content):
        self.content = content

    @classmethod
    def of(cls, tensor):
        """The one of the tensor's storage, for as long as somebody holds it, as a pickler does."""
        identity = tensor.untyped_storage()._cdata
        found = _pickled.get(identity)
        if found is None:
            found = _pickled[identity] = cls(storage_bytes(tensor))
        return found

    def __reduce__(self):
        return _rebuild_storage, (self.content.cpu().numpy(), str(self.content.device))


def _rebuild_storage(array, device):
    # Unpickled arrays may be read-only, and need not own their memory: the tensor takes a copy. Its stride is set
    # because that of an empty array is no storage's.
    with torch_dispatch.DisableModes():
        return mindtorch.from_numpy(array.copy()).as_strided((array.size,), (1,)).to(device)


def copied_storage(storage, memo):
    """The bytes of a copy: the same one for all storages and tensors of one copy.deepcopy that share `storage`."""
    copies = memo.setdefault("mindtorch", {})
    if storage._cdata not in copies:
        copies[storage._cdata] = storage._as_tensor().clone(), storage      # held: its identity is not given away
    return copies[storage._cdata][0]


def deep_copied(tensor, memo):
    """The tensor over a copy of its storage; a copy of the elements where it shows conjugates or negatives."""
    if sparse_storage(tensor) is not None or marks_of(tensor):
        return tensor.detach().clone().requires_grad_(tensor.requires_grad)
    return _rebuild_tensor_v3(copied_storage(tensor.untyped_storage(), memo), tensor.storage_offset(), tensor.size(),
                              tensor.stride(), tensor.requires_grad, None, tensor.dtype)


def _check_geometry(count, offset, size, stride):
    """RuntimeError unless the view ends within the `count` elements of its storage.

    In Python's ints: none of it can overflow.
    """
    numbers = (offset, *size, *stride)
    others = {type(number).__name__ for number in numbers} - {"int"}
    if others:
        raise RuntimeError(f"A tensor's size, stride and storage offset must be ints, got {', '.join(sorted(others))}")
    if len(size) != len(stride):
        raise RuntimeError(f"mismatch in length of strides and shape: {size} and {stride}")
    if min(numbers) < 0:
        raise RuntimeError(f"Negative sizes, strides and storage offsets are not supported: size {size}, "
                           f"stride {stride}, storage offset {offset}")
    if max(numbers) >= 1 << 62:
        raise RuntimeError("sizes, strides or the storage offset are out of bounds: they must be below 2**62")
    empty = 0 in size
    needed = offset + (0 if empty else 1 + sum((length - 1) * step for length, step in zip(size, stride, strict=True)))
    if needed > count:
        raise RuntimeError(f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset} require "
                           f"{needed} elements, which is out of bounds for a storage of {count}")
    elements = 1
    for length in () if empty else size:
        elements *= length
        if elements >= 1 << 62:
            raise RuntimeError(f"Sizes {list(size)}, strides {list(stride)}, storage offset {offset} are too large")


def loaded_storage(elements):
    """The storage of a file, whose elements are a tensor of one dimension."""
    from mindtorch._compat.legacy_types import TypedStorage
    made = TypedStorage._of(elements.untyped_storage(), elements.dtype)
    made.loaded = elements
    return made


def _elements_of(storage):
    """What loaded_storage was given, or the elements of another TypedStorage; anything else as it is."""
    from mindtorch._compat.legacy_types import TypedStorage
    if not isinstance(storage, TypedStorage):
        return storage
    return storage.loaded if hasattr(storage, "loaded") else storage._elements()


def _rebuild_tensor(storage, storage_offset, size, stride, marks=()):
    """A view of `storage`, which is a tensor of one dimension; of a conjugate or negated copy where `marks` say so."""
    storage = _elements_of(storage)
    if not isinstance(storage, mindtorch.Tensor) or storage.dim() != 1 or storage.stride() != (1,):
        raise RuntimeError(f"A tensor can be put together from a storage only, not from {type(storage)}")
    if not isinstance(size, (tuple, list)) or not isinstance(stride, (tuple, list)):
        raise TypeError(f"size and stride are tuples, not {type(size)} and {type(stride)}")
    size, stride = tuple(size), tuple(stride)
    _check_geometry(1 << 62 if storage.is_meta else storage.numel(), storage_offset, size, stride)
    if storage.is_meta:         # which grows as far as it must
        end = storage_offset + 1 + sum((length - 1) * step for length, step in zip(size, stride, strict=True))
        storage = storage.new_empty(max(storage.numel(), 0 if 0 in size else end))
    # Detached: to autograd the tensor is no view of the storage, which nobody else sees as a tensor.
    made = storage.as_strided(size, stride, storage_offset).detach()
    return with_marks(made, marks) if marks else made


def marks_of(tensor):
    """torch's marks of a tensor that shows conjugates or negatives, as files hold them: a dict, empty for others."""
    return ({"conj": True} if tensor.is_conj() else {}) | ({"neg": True} if tensor.is_neg() else {})


def with_marks(made, marks):
    """The tensor, showing conjugates or negatives as the names say."""
    if "conj" in marks and not made.is_complex():
        raise RuntimeError(f"A tensor of {made.dtype} has no conjugate")
    set_bits_of(made, "conj" in marks, "neg" in marks)
    return made


def _rebuild_tensor_v2(storage, storage_offset, size, stride, requires_grad, backward_hooks, metadata=None):
    """A tensor as files hold it. The only metadata is torch's mark of a conjugate or negated view."""
    marks = {name for name, is_set in (metadata or {}).items() if is_set}
    if marks - {"conj", "neg"}:
        raise RuntimeError(f"Tensors marked {sorted(marks)} cannot be loaded")
    if torch_dispatch.is_dispatched():          # modes see the tensor, not how it comes about
        with torch_dispatch.DisableModes():
            made = _rebuild_tensor(storage, storage_offset, size, stride, marks)
        made = torch_dispatch.lift_fresh(made)
    else:
        made = _rebuild_tensor(storage, storage_offset, size, stride, marks)
    return made.requires_grad_(bool(requires_grad))


def tensor_state(tensor):
    """The attributes of a tensor as files hold them: a dict, or where its class has slots (dict, those in slots)."""
    slots = {name: getattr(tensor, name) for name in copyreg._slotnames(type(tensor)) if hasattr(tensor, name)}
    return (vars(tensor), slots) if slots else vars(tensor)


def set_attributes(made, state):
    """Gives a tensor the attributes that a file holds for it; UnpicklingError where they are no dict of names."""
    if type(state) is tuple and len(state) == 2 and type(state[1]) is dict:
        state, slots = state
        for name in slots.keys() & set(copyreg._slotnames(type(made))):
            setattr(made, name, slots[name])
    if type(state) is not dict or not all(type(name) is str for name in state):
        raise UnpicklingError(f"the attributes of {type(made)} are no dict of names")
    made.__dict__.update(state)


def _rebuild_tensor_v3(storage, storage_offset, size, stride, requires_grad, backward_hooks, dtype, metadata=None):
    """A tensor whose storage has no dtype."""
    with torch_dispatch.DisableModes():
        storage = _elements_of(storage).view(dtype)
    return _rebuild_tensor_v2(storage, storage_offset, size, stride, requires_grad, backward_hooks,
                              metadata)


def sparse_arguments(tensor):
    """The arguments with which _rebuild_sparse_tensor makes the tensor again."""
    parts = sparse_storage(tensor)
    data = (*parts.indices, parts.values, tensor.size())
    return parts.layout, (*data, bool(parts.coalesced)) if tensor.is_sparse else data


def _rebuild_sparse_tensor(layout, data):
    """A sparse tensor of its indices and values, which are checked."""
    from mindtorch._sparse import constructors
    if layout is mindtorch.sparse_coo:
        indices, values, size, *coalesced = data
        return constructors.coo(indices, values, size, bool(coalesced and coalesced[0]), check=True)
    first, plain, values, size = data
    return constructors.compressed(layout, (first, plain), values, size, check=True)


def meta_arguments(tensor):
    """The arguments with which _rebuild_meta_tensor_no_storage makes a tensor like this one."""
    return tensor.dtype, tuple(tensor.size()), tensor.stride(), tensor.requires_grad


def _rebuild_meta_tensor_no_storage(dtype, size, stride, requires_grad):
    """A tensor on the meta device, of which a file has no bytes."""
    _check_geometry(1 << 62, 0, size, stride)
    return mindtorch.empty_strided(size, stride, dtype=dtype, device="meta").requires_grad_(bool(requires_grad))


def wrapper_arguments(tensor):
    """The arguments with which _rebuild_wrapper_subclass makes a wrapper like this one."""
    return (type(tensor), tensor.dtype, tuple(tensor.size()), tensor.stride(), tensor.storage_offset(), tensor.layout,
            tensor.device, tensor.requires_grad)


def _rebuild_wrapper_subclass(cls, dtype, size, stride, storage_offset, layout, device, requires_grad):
    """A wrapper without its attributes, which files hold beside it."""
    _check_geometry(1 << 62, storage_offset, size, stride)
    return mindtorch.Tensor._make_wrapper_subclass(
        cls, size, strides=stride, storage_offset=storage_offset, layout=layout, device=device, dtype=dtype,
        requires_grad=requires_grad)


def _rebuild_parameter(data, requires_grad, backward_hooks):
    """A Parameter around `data`; hooks are not in files, their place is torch's."""
    from mindtorch.nn.parameter import Parameter
    if not isinstance(data, mindtorch.Tensor):
        raise RuntimeError(f"A parameter is put together from a tensor, not from {type(data)}")
    return Parameter(data, bool(requires_grad))


def _rebuild_parameter_with_state(data, requires_grad, backward_hooks, state):
    """A Parameter with attributes of its own."""
    made = _rebuild_parameter(data, requires_grad, backward_hooks)
    set_attributes(made, state)
    return made


def _rebuild_from_type_v2(func, new_type, args, state):
    """A tensor with attributes of its own."""
    known = any(func is function for function in (_rebuild_tensor_v2, _rebuild_tensor_v3, _rebuild_wrapper_subclass,
                                                  _rebuild_meta_tensor_no_storage, _rebuild_sparse_tensor))
    derived = isinstance(new_type, type) and issubclass(new_type, mindtorch.Tensor)
    if not known or not derived or type(args) is not tuple:
        raise RuntimeError("A tensor with attributes is not put together by a function of torch, from a tuple")
    made = func(*args)
    if type(made) is not new_type:
        made = mindtorch.Tensor._make_subclass(new_type, made, made.requires_grad)
    set_attributes(made, state)
    return made


_rebuild_from_type_v2.__module__ = "mindtorch._tensor"      # under that name files hold it


# --- exceptions of other processes ------------------------------------------------------------------------------------

class KeyErrorMessage(str):
    """A text that KeyError shows as it is, lines and all."""

    __slots__ = ()

    def __repr__(self):
        return str(self)


class ExceptionWrapper:
    """Type and printed traceback of the exception being handled: those can be pickled, a traceback cannot."""

    def __init__(self, exc_info=None, where="in background"):
        exc_info = exc_info or sys.exc_info()
        self.exc_type = exc_info[0]
        self.exc_msg = "".join(traceback.format_exception(*exc_info))
        self.where = where

    def reraise(self):
        """Raises the exception's type with its traceback as the message; RuntimeError where that type wants more."""
        message = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        # Without a name: its traceback leads to this frame, and a cycle would keep alive all that it passes.
        raise _exception(self.exc_type, message) from None


def _exception(kind, message):
    if getattr(kind, "message", None):
        return kind(message=message)
    try:
        return kind(KeyErrorMessage(message) if kind is KeyError else message)
    except Exception:  # noqa: BLE001 - a constructor may raise anything
        return RuntimeError(message)


def _shape_as_tensor(tensor):
    """The sizes of a tensor as an int64 tensor on the CPU."""
    return mindtorch.tensor(list(tensor.shape), dtype=mindtorch.int64)


def _flatten_dense_tensors(tensors):
    """The elements of tensors of one dtype, one after another in a new tensor with one dimension."""
    return mindtorch.cat([tensor.reshape(-1) for tensor in tensors]) if len(tensors) else mindtorch.tensor([])


def _unflatten_dense_tensors(flat, tensors):
    """Views of `flat` with the shapes of `tensors`: the way back from _flatten_dense_tensors."""
    parts = flat.split([tensor.numel() for tensor in tensors])
    return tuple(part.view(tensor.shape) for part, tensor in zip(parts, tensors, strict=True))


def _take_tensors(tensors, size_limit):
    """Yields lists of tensors of one type whose bytes reach `size_limit` with the last, then what is left."""
    waiting = {}
    for tensor in tensors:
        kept, size = waiting.get(tensor.type(), ([], 0))
        if size + tensor.nbytes > size_limit and kept:
            yield kept
            kept, size = [], 0
        waiting[tensor.type()] = [*kept, tensor], size + tensor.nbytes
    for kept, _ in waiting.values():
        if kept:
            yield kept


def _get_available_device_type():
    """"npu" where there is an NPU, else None."""
    return "npu" if mindtorch.npu.is_available() else None


def _get_device_module(device_type):
    """The module of a type of device, such as torch.npu. RuntimeError where there is none."""
    module = getattr(mindtorch, device_type, None)
    if module is None:
        raise RuntimeError(f"Device '{device_type}' does not have a corresponding module registered as "
                           f"'torch.{device_type}'.")
    return module


def _get_device_index(device, optional=False, allow_cpu=False):
    """The index of a device, given as int, text or torch.device; -1 for the CPU, where it is allowed.

    Without an index it is the current device's, where that is `optional`, else ValueError.
    """
    if isinstance(device, int):
        return device
    if isinstance(device, str):
        device = mindtorch.device(device)
    if isinstance(device, mindtorch.device):
        if device.type == "cpu":
            if not allow_cpu:
                raise ValueError(f"Expected a non cpu device, but got: {device}")
            return -1
        if device.index is not None:
            return device.index
    if not optional:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")
    return mindtorch.npu.current_device()


def _set_obj_state(obj, state):
    """Gives an object the state that __reduce_ex__ has saved: a dict, or (dict, slots)."""
    attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    for name, value in {**(attributes or {}), **(slots or {})}.items():
        setattr(obj, name, value)
    return obj


def is_compiling():
    """False: nothing is ever compiled."""
    return False
