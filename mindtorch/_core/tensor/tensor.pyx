# cython: c_api_binop_methods=True
"""torch.device, storages, and TensorBase: geometry, allocation, and the slots of Python's operators."""
import threading

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.object cimport PyObject, PyTypeObject, Py_EQ
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_SET_ITEM
cimport cython
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

from mindtorch._core.tensor.dtype cimport ITEMSIZE, Bool, Long, UInt16, UInt64


# --- devices ---------------------------------------------------------------------------------------------------------
# torch.device, the default device, and the table of backends.


# The first DEVICE_TYPES have a backend. The others torch knows: programs ask whether a tensor is there.
cdef tuple DEVICE_NAMES = ("cpu", "npu", "meta", "cuda", "mps", "xpu", "mtia", "hpu", "xla", "hip", "ipu", "lazy",
                           "maia", "vulkan", "ve", "fpga", "mkldnn", "ideep", "opencl", "opengl")
cdef enum:
    MAX_DEVICE_INDEX = 2147483647
cdef object CUDA_NOTICE = None        # where "cuda" is read as "npu": a function that says so; called once
cdef int CUDA = DEVICE_NAMES.index("cuda"), CUDA_READ_AS = CUDA

DEVICE_SIGNATURES = " * (torch.device device)\n{hint} * (str type, int index = -1)\n"


cdef class device:
    """A kind of device and, where given, which one of them: `torch.device("npu:1")`, `torch.device("npu", 1)`.

    Example:
        >>> device = torch.device("npu:0")
        >>> device.type, device.index
        ('npu', 0)
        >>> torch.ones(1, device=torch.device("cpu"))
        tensor([1.])
    """

    def __init__(self, *args, **kwargs):
        if kwargs:
            args = merge_keywords(args, kwargs)
        if len(args) == 1:
            self.parse_value(args[0])
        elif len(args) == 2:
            self.parse_type_and_index(args[0], args[1])
        else:
            raise_invalid_arguments(args, "")

    cdef int parse_value(self, object value) except -1:
        if isinstance(value, device):
            self.type_code = (<device>value).type_code
            self.given_index = (<device>value).given_index
        elif isinstance(value, str):
            parse_device_string(value, &self.type_code, &self.given_index)
        elif isinstance(value, bytes):
            parse_device_string(value.decode(), &self.type_code, &self.given_index)
        elif isinstance(value, int) and not isinstance(value, bool):
            self.type_code = NPU
            self.given_index = check_device_index(value)
        else:
            hint = f"      didn't match because some of the arguments have invalid types: (!{type(value).__name__}!)\n"
            raise_invalid_arguments((value,), hint)
        return 0

    cdef int parse_type_and_index(self, object name, object index) except -1:
        if not isinstance(name, str):
            shown = "torch.device" if isinstance(name, device) else type(name).__name__
            raise TypeError(f"device(): argument 'type' (position 1) must be str, not {shown}")
        if index is not None and (not isinstance(index, int) or isinstance(index, bool)):
            raise TypeError(f"device(): argument 'index' (position 2) must be int, not {type(index).__name__}")
        parse_device_string(name, &self.type_code, &self.given_index)
        if self.given_index >= 0:
            raise RuntimeError(f"type (string) must not include an index because index was passed explicitly: {name}")
        self.given_index = -1 if index is None else check_device_index(index)
        return 0

    @property
    def type(self):
        return DEVICE_NAMES[self.type_code]

    @property
    def index(self):
        return None if self.given_index < 0 else self.given_index

    def __repr__(self):
        if self.given_index < 0:
            return f"device(type='{DEVICE_NAMES[self.type_code]}')"
        return f"device(type='{DEVICE_NAMES[self.type_code]}', index={self.given_index})"

    def __str__(self):
        name = DEVICE_NAMES[self.type_code]
        return name if self.given_index < 0 else f"{name}:{self.given_index}"

    def __eq__(self, other):
        if not isinstance(other, device):
            return NotImplemented
        return self.type_code == (<device>other).type_code and self.given_index == (<device>other).given_index

    def __hash__(self):
        return hash((self.type_code, self.given_index))

    def __reduce__(self):
        return device, ((self.type,) if self.given_index < 0 else (self.type, self.given_index))

    def __enter__(self):
        """Inside the `with`, factory functions make their tensors on this device (in this thread)."""
        push_default_device(self)
        return self

    def __exit__(self, *exception):
        pop_default_device()


cdef tuple merge_keywords(tuple args, dict kwargs):
    if not args and len(kwargs) == 1 and "device" in kwargs:
        return (kwargs["device"],)
    names = ("type", "index")[len(args):]
    for name in kwargs:
        if name not in names:
            raise TypeError(f"device() got an unexpected keyword argument '{name}'")
    return args + tuple([kwargs[name] for name in names if name in kwargs])


cdef int raise_invalid_arguments(tuple args, str hint) except -1:
    shown = ", ".join([type(a).__name__ for a in args])
    raise TypeError(f"device() received an invalid combination of arguments - got ({shown}), but expected one of:\n"
                    + DEVICE_SIGNATURES.format(hint=hint))


cdef int check_device_index(object index) except -1:
    if index < 0:
        raise RuntimeError("Device index must not be negative")
    if index > MAX_DEVICE_INDEX:
        raise RuntimeError(f"Device index {index} is out of range")
    return index


cdef int parse_device_string(str text, int *type_code, int *index) except -1:
    """"npu" or "npu:1", written exactly so: no blanks, signs or leading zeros."""
    if not text:
        raise RuntimeError("Device string must not be empty")
    name, colon, digits = text.partition(":")
    if name not in DEVICE_NAMES:
        letters = name.replace("_", "")
        if not (letters.isascii() and letters.isalpha()):
            raise RuntimeError(f"Invalid device string: '{text}'")
        known = ", ".join(DEVICE_NAMES[:DEVICE_TYPES])
        raise RuntimeError(f"Expected one of {known} device type at start of device string: {name}")
    type_code[0] = DEVICE_NAMES.index(name)
    if type_code[0] == CUDA:
        type_code[0] = read_cuda()
    index[0] = -1
    if colon:
        if not (digits.isascii() and digits.isdigit()) or (digits[0] == "0" and digits != "0"):
            raise RuntimeError(f"Invalid device string: '{text}'")
        if int(digits) > MAX_DEVICE_INDEX:
            raise RuntimeError(f"Could not parse device index '{digits}' in device string '{text}'")
        index[0] = int(digits)
    return 0


cdef int read_cuda() except -1:
    global CUDA_NOTICE
    if CUDA_NOTICE is not None:
        notice, CUDA_NOTICE = CUDA_NOTICE, None
        notice()
    return CUDA_READ_AS


def read_cuda_as_npu(notice):
    """Read the device "cuda" as "npu" from now on. `notice` is called when that happens first."""
    global CUDA_NOTICE, CUDA_READ_AS
    CUDA_NOTICE, CUDA_READ_AS = notice, NPU
    PARSED_DEVICES.clear()


def is_cuda_read_as_npu():
    """Whether read_cuda_as_npu was called."""
    return CUDA_READ_AS == NPU


cdef device make_device(int type_code, int index):
    cdef device made = device.__new__(device)
    made.type_code = type_code - SPARSE if type_code >= SPARSE else type_code
    made.given_index = index if made.type_code == NPU else -1
    return made


cdef device CPU_DEVICE = make_device(CPU, -1)
cdef device META_DEVICE = make_device(META, -1)
cdef list NPU_DEVICES = []


cdef device device_of(TensorBase tensor):
    cdef int type_code = reported_device_type(tensor), index = reported_device_index(tensor)
    if type_code == CPU or type_code == SPARSE + CPU:
        return CPU_DEVICE
    if type_code == META:
        return META_DEVICE
    while len(NPU_DEVICES) <= index:
        NPU_DEVICES.append(make_device(NPU, len(NPU_DEVICES)))
    return <device>NPU_DEVICES[index]


# --- the default device ----------------------------------------------------------------------------------------------

cdef device DEFAULT_DEVICE = CPU_DEVICE
cdef int DEVICE_CONTEXTS = 0                   # `with device:` blocks open in any thread; 0 spares the look-up
THREAD_STATE = threading.local()


cdef int push_default_device(device chosen) except -1:
    global DEVICE_CONTEXTS
    THREAD_STATE.__dict__.setdefault("scopes", []).append(chosen)
    DEVICE_CONTEXTS += 1
    return 0


cdef int pop_default_device() except -1:
    global DEVICE_CONTEXTS
    THREAD_STATE.scopes.pop()
    DEVICE_CONTEXTS -= 1
    return 0


cdef device default_device():
    if DEVICE_CONTEXTS:
        scopes = getattr(THREAD_STATE, "scopes", None)
        if scopes:
            return <device>scopes[len(scopes) - 1]
    return DEFAULT_DEVICE


def set_default_device(device_or_none):
    """Set the device on which factory functions make tensors when none is given; None goes back to the CPU.

    Arguments:
        device_or_none: the device; None means the CPU

    Example:
        >>> torch.set_default_device("npu")
        >>> torch.ones(1).device
        device(type='npu', index=0)
        >>> torch.set_default_device(None)
    """
    global DEFAULT_DEVICE
    DEFAULT_DEVICE = CPU_DEVICE if device_or_none is None else device(device_or_none)


def get_default_device():
    """The device on which factory functions make tensors when none is given.

    Example:
        >>> torch.get_default_device()
        device(type='cpu')
    """
    cdef int type_code, index
    resolve_device(None, &type_code, &index)
    return make_device(type_code, index)


cdef dict PARSED_DEVICES = {}                   # string -> device: programs write `device="npu"` in loops


cdef device device_from_string(str name):
    cdef device known = PARSED_DEVICES.get(name)
    if known is None:
        known = PARSED_DEVICES[name] = device(name)
    return known


cdef int resolve_device(object device_or_none, int *type_code, int *index) except -1:
    cdef device chosen
    if device_or_none is None:
        chosen = default_device()
    elif isinstance(device_or_none, device):
        chosen = <device>device_or_none
    elif isinstance(device_or_none, str):
        chosen = device_from_string(device_or_none)
    elif isinstance(device_or_none, int) and not isinstance(device_or_none, bool):
        chosen = device(device_or_none)
    else:
        raise TypeError(f"argument 'device' must be torch.device, not {type(device_or_none).__name__}")
    type_code[0] = chosen.type_code
    if chosen.type_code >= DEVICE_TYPES:
        raise_no_such_device(chosen.type)
    if not BACKENDS[chosen.type_code].ready:
        require_backend(chosen.type_code)
    if chosen.type_code != NPU:
        index[0] = 0                  # there is one of each, whatever index it is given
    else:
        index[0] = chosen.given_index if chosen.given_index >= 0 else BACKENDS[chosen.type_code].current_index()
    return 0


cdef int raise_no_such_device(str name) except -1:
    if name in ("cuda", "xpu", "mtia"):
        raise AssertionError(f"Torch not compiled with {name.upper()} enabled")
    known = ", ".join(DEVICE_NAMES[:DEVICE_TYPES])
    raise NotImplementedError(f"mindtorch has no tensors on device '{name}', only on {known}")


cdef int require_backend(int type_code) except -1:
    if BACKENDS[type_code].ready:
        return 0
    from mindtorch._core import hooks
    hooks.load_backend(DEVICE_NAMES[type_code])
    if not BACKENDS[type_code].ready:
        raise RuntimeError(f"the {DEVICE_NAMES[type_code]} backend has been loaded but has not registered itself")
    return 0


cdef int check_pinnable(int type_code) except -1:
    if type_code != CPU:
        raise RuntimeError("Only dense CPU tensors can be pinned")
    return 0


cdef TensorBase empty_pinned_like(TensorBase made):
    check_pinnable(made.device_type)
    require_backend(NPU)
    return make_tensor(BACKENDS[<int>NPU].allocate_pinned(made.numel * ITEMSIZE[<int>made.dtype]), made.dtype,
                       made.ndim, made.sizes, made.strides, 0)


cdef int copy_data(TensorBase dst, TensorBase src, bint non_blocking) except -1:
    cdef int served_by = max(dst.device_type, src.device_type)
    if dst.bits | src.bits:
        return TENSOR_SLOTS.copy_with_bits(dst, src, non_blocking)
    if not BACKENDS[served_by].ready:
        require_backend(served_by)
    return BACKENDS[served_by].copy(dst, src, non_blocking)


# --- tensors ---------------------------------------------------------------------------------------------------------
# Storage and TensorBase: geometry, allocation, and the C slots of Python's operators.
#
# 1. A tensor's geometry is set once, when it is made; only set_geometry and set_storage change it afterwards.
# 2. Views hold the storage, and the tensor that they are views of. A storage dies with its last view, and frees its
#    bytes.
# 3. Reference cycles pass through TensorBase only by its AutogradMeta, where the cycle collector breaks them.


cdef extern from "Python.h":
    # Cython's own declarations take any object where C wants a type, and leave out the slots.
    object PyType_GenericAlloc(PyTypeObject *cls, Py_ssize_t items)
    ctypedef struct PyNumberMethods:
        void *nb_add
    ctypedef struct PyMappingMethods:
        void *mp_length
    ctypedef struct TypeSlots "PyTypeObject":
        PyNumberMethods *tp_as_number
        PyMappingMethods *tp_as_mapping
        void *tp_richcompare

cdef tuple EMPTY_TUPLE = ()


class Size(tuple):
    """The shape of a tensor: a tuple of ints, as `torch.Size`.

    Example:
        >>> torch.Size([2, 3]).numel()
        6
        >>> torch.zeros(2, 3).size() == (2, 3)
        True
    """

    __slots__ = ()

    def __new__(cls, iterable=()):
        sizes = []
        for position, item in enumerate(iterable):
            if not hasattr(item, "__index__"):
                raise TypeError(
                    f"torch.Size() takes an iterable of 'int' (item {position} is '{type(item).__name__}')")
            sizes.append(item.__index__())
        return tuple.__new__(cls, sizes)

    def numel(self):
        """The number of elements of a tensor of this shape."""
        count = 1
        for size in self:
            count *= size
        return count

    def __repr__(self):
        return f"torch.Size({list(self)})"

    def __add__(self, other):
        return Size(tuple.__add__(self, other)) if isinstance(other, tuple) else NotImplemented

    def __radd__(self, other):
        return Size(tuple.__add__(other, self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, other):
        return Size(tuple.__mul__(self, other))

    __rmul__ = __mul__

    def __getitem__(self, index):
        item = tuple.__getitem__(self, index)
        return Size(item) if isinstance(index, slice) else item

    def __reduce__(self):
        return Size, (tuple(self),)


SIZE_CLASS = Size


cdef object make_size(int ndim, const int64_t *sizes):
    cdef object size = PyType_GenericAlloc(<PyTypeObject *>SIZE_CLASS, ndim)
    cdef object item
    cdef int i
    for i in range(ndim):
        item = sizes[i]
        Py_INCREF(item)
        PyTuple_SET_ITEM(size, i, item)
    return size


cdef str shape_text(int ndim, const int64_t *sizes):
    return "[" + ", ".join([str(sizes[i]) for i in range(ndim)]) + "]"


cdef list shape_list(const Shape *shape):
    return [shape.sizes[i] for i in range(shape.ndim)]


@cython.no_gc
cdef class Storage:
    """Bytes on a device, shared by the views of them."""

    def __init__(self):
        raise TypeError("storages are made by the functions that make tensors")

    def resizable(self):
        """Whether the storage may be resized: its memory is its own and is not shared."""
        return not self.lent

    def exchange(self, Storage other):
        """Exchange the bytes of two storages of the same class."""
        self.data, other.data = other.data, self.data
        self.nbytes, other.nbytes = other.nbytes, self.nbytes
        self.owner, other.owner = other.owner, self.owner
        self.own_data, other.own_data = other.own_data, self.own_data


@cython.no_gc
cdef class WrapperStorage(Storage):
    """The storage of a wrapper: it has a size and no memory."""


cdef class SparseStorage(Storage):
    """The indices and values of a sparse tensor: tensors, which have no history."""


@cython.no_gc_clear
cdef class TensorBase:
    """What every tensor has in C. `mindtorch.Tensor` adds the methods."""

    def __hash__(self):
        return <Py_hash_t><size_t><void *>self

    def __len__(self):
        if self.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return self.sizes[0]

    def __getitem__(self, index):
        return TENSOR_SLOTS.getitem(self, index)

    def __setitem__(self, index, value):
        TENSOR_SLOTS.setitem(self, index, value)

    def __delitem__(self, index):
        raise TypeError("Tensor does not support deleting items")

    def __richcmp__(self, other, int op):
        found = TENSOR_SLOTS.binary(SLOT_LT + op, self, other)
        return equal_to_array(self, other) if found is NotImplemented and op == Py_EQ else found

    # With c_api_binop_methods the first operand is the left one, whichever of the two is the tensor.

    def __add__(a, b):
        return TENSOR_SLOTS.binary(SLOT_ADD, a, b)

    def __sub__(a, b):
        return TENSOR_SLOTS.binary(SLOT_SUB, a, b)

    def __mul__(a, b):
        return TENSOR_SLOTS.binary(SLOT_MUL, a, b)

    def __truediv__(a, b):
        return TENSOR_SLOTS.binary(SLOT_TRUEDIV, a, b)

    def __floordiv__(a, b):
        return TENSOR_SLOTS.binary(SLOT_FLOORDIV, a, b)

    def __mod__(a, b):
        return TENSOR_SLOTS.binary(SLOT_MOD, a, b)

    def __matmul__(a, b):
        return TENSOR_SLOTS.binary(SLOT_MATMUL, a, b)

    def __pow__(a, b, modulo):
        if modulo is not None:
            return NotImplemented
        return TENSOR_SLOTS.binary(SLOT_POW, a, b)

    def __and__(a, b):
        return TENSOR_SLOTS.binary(SLOT_AND, a, b)

    def __or__(a, b):
        return TENSOR_SLOTS.binary(SLOT_OR, a, b)

    def __xor__(a, b):
        return TENSOR_SLOTS.binary(SLOT_XOR, a, b)

    def __lshift__(a, b):
        return TENSOR_SLOTS.binary(SLOT_LSHIFT, a, b)

    def __rshift__(a, b):
        return TENSOR_SLOTS.binary(SLOT_RSHIFT, a, b)

    def __neg__(self):
        return TENSOR_SLOTS.unary(SLOT_NEG, self)

    def __pos__(self):
        if self.dtype == Bool:
            raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
        return self

    def __abs__(self):
        return TENSOR_SLOTS.unary(SLOT_ABS, self)

    def __invert__(self):
        if not (self.dtype <= Long or self.dtype == Bool or UInt16 <= self.dtype <= UInt64):
            raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
        return TENSOR_SLOTS.unary(SLOT_INVERT, self)

    def __iadd__(self, other):
        return TENSOR_SLOTS.binary(SLOT_IADD, self, other)

    def __isub__(self, other):
        return TENSOR_SLOTS.binary(SLOT_ISUB, self, other)

    def __imul__(self, other):
        return TENSOR_SLOTS.binary(SLOT_IMUL, self, other)

    def __itruediv__(self, other):
        return TENSOR_SLOTS.binary(SLOT_ITRUEDIV, self, other)

    def __ipow__(self, other):
        return TENSOR_SLOTS.binary(SLOT_IPOW, self, other)

    def __ifloordiv__(self, other):
        return TENSOR_SLOTS.binary(SLOT_IFLOORDIV, self, other)

    def __imod__(self, other):
        return TENSOR_SLOTS.binary(SLOT_IMOD, self, other)

    def __iand__(self, other):
        return TENSOR_SLOTS.binary(SLOT_IAND, self, other)

    def __ior__(self, other):
        return TENSOR_SLOTS.binary(SLOT_IOR, self, other)

    def __ixor__(self, other):
        return TENSOR_SLOTS.binary(SLOT_IXOR, self, other)

    def __ilshift__(self, other):
        return TENSOR_SLOTS.binary(SLOT_ILSHIFT, self, other)

    def __irshift__(self, other):
        return TENSOR_SLOTS.binary(SLOT_IRSHIFT, self, other)


cdef object equal_to_array(TensorBase self, object other):
    """`tensor == array`, which NumPy leaves to the tensor either way round."""
    from numpy import ndarray

    from mindtorch._core.python.conversion import from_numpy
    if not isinstance(other, ndarray):
        return NotImplemented
    try:
        other = from_numpy(other)
    except TypeError:                       # of strings, or of objects
        return NotImplemented
    return TENSOR_SLOTS.binary(SLOT_EQ, self, other)


TENSOR_CLASS = TensorBase


def register_tensor_class(cls):
    """From now on every new tensor is a `cls`; called once, with mindtorch.Tensor."""
    global TENSOR_CLASS
    if not issubclass(cls, TensorBase):
        raise TypeError("the tensor class must derive from TensorBase")
    TENSOR_CLASS = cls
    inherit_slots(<TypeSlots *>TensorBase, <TypeSlots *>TENSOR_CLASS)


cdef int inherit_slots(TypeSlots *base, TypeSlots *derived) except -1:
    """Give the Python class the C slots of TensorBase, so that `a + b` needs no look-up of `__add__`.

    Python does not let it inherit them, since Cython's methods are no slot wrappers. TensorBase has no slot for what
    the class defines itself.
    """
    copy_slots(<void **>base.tp_as_number, <void **>derived.tp_as_number, sizeof(PyNumberMethods) // sizeof(void *))
    copy_slots(<void **>base.tp_as_mapping, <void **>derived.tp_as_mapping, sizeof(PyMappingMethods) // sizeof(void *))
    derived.tp_richcompare = base.tp_richcompare
    return 0


cdef void copy_slots(void **base, void **derived, size_t count) noexcept:
    cdef size_t i
    for i in range(count):
        if base[i] != NULL:
            derived[i] = base[i]


# --- geometry --------------------------------------------------------------------------------------------------------

cdef bint strides_are_contiguous(int ndim, const int64_t *sizes, const int64_t *strides) noexcept nogil:
    cdef int64_t expected = 1
    cdef int i
    for i in range(ndim):
        if sizes[i] == 0:
            return True
    for i in range(ndim - 1, -1, -1):
        if sizes[i] != 1:
            if strides[i] != expected:
                return False
            expected *= sizes[i]
    return True


cdef int contiguous_strides(int ndim, const int64_t *sizes, int64_t *strides) noexcept nogil:
    cdef int64_t stride = 1
    cdef int i
    for i in range(ndim - 1, -1, -1):
        strides[i] = stride
        if sizes[i] > 1:          # an empty dimension counts as one of size 1, as in torch
            stride *= sizes[i]
    return 0


cdef extern from *:
    bint multiply_overflows "__builtin_mul_overflow"(int64_t a, int64_t b, int64_t *product) noexcept nogil


cdef int64_t checked_numel(const Shape *shape) except -1:
    cdef int64_t count = 1
    cdef int64_t limit = <int64_t>((<uint64_t>-1) >> 1)
    cdef bint empty = False, overflow = False
    cdef int i
    for i in range(shape.ndim):
        if shape.sizes[i] < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {shape.sizes[i]}: "
                               f"{shape_text(shape.ndim, shape.sizes)}")
        if shape.sizes[i] == 0:
            empty = True
        elif multiply_overflows(count, shape.sizes[i], &count):
            overflow = True
    if empty:
        return 0
    if overflow or count > limit // 16:          # 16: the widest item
        raise RuntimeError(f"Storage size calculation overflowed with sizes={shape_text(shape.ndim, shape.sizes)}")
    return count


cdef void sort_dims_by_stride(TensorBase like, int *order) noexcept nogil:
    """Set `order` to the dimensions by stride, the smallest first. Those of stride 0 stay in position, as in torch."""
    cdef int i, moving, other, before
    for i in range(like.ndim):
        order[i] = like.ndim - 1 - i
    for i in range(1, like.ndim):
        moving = i
        for other in range(i - 1, -1, -1):
            before = compare_strides(like, order[other], order[moving])
            if before < 0:
                break
            if before > 0:
                order[other], order[moving] = order[moving], order[other]
                moving = other


cdef inline int compare_strides(TensorBase like, int a, int b) noexcept nogil:
    """Below 0: the stride of dimension `a` is the smaller one; above 0: that of `b`; 0: the strides do not decide."""
    if like.strides[a] == 0 or like.strides[b] == 0:
        return 0
    if like.strides[a] != like.strides[b]:
        return -1 if like.strides[a] < like.strides[b] else 1
    return 1 if like.sizes[a] > like.sizes[b] else 0


cdef bint is_non_overlapping_and_dense(TensorBase tensor) noexcept nogil:
    cdef int order[MAX_DIMS]
    cdef int64_t expected = 1
    cdef int i, dim
    if tensor.contiguous:
        return True
    sort_dims_by_stride(tensor, order)
    for i in range(tensor.ndim):
        dim = order[i]
        if tensor.sizes[dim] != 1:
            if tensor.strides[dim] != expected:
                return False
            expected *= tensor.sizes[dim]
    return True


cdef int infer_dense_strides(TensorBase like, int64_t *strides) noexcept nogil:
    """torch.preserve_format: the strides of a dense tensor are kept; others become contiguous in their own order."""
    cdef int order[MAX_DIMS]
    cdef int64_t stride = 1
    cdef int i, dim
    if is_non_overlapping_and_dense(like):
        memcpy(strides, like.strides, like.ndim * sizeof(int64_t))
        return 0
    sort_dims_by_stride(like, order)
    for i in range(like.ndim):
        dim = order[i]
        strides[dim] = stride
        if like.sizes[dim] > 1:
            stride *= like.sizes[dim]
    return 0


cdef bint has_internal_overlap(TensorBase tensor) noexcept nogil:
    cdef int i
    if tensor.contiguous:
        return False
    for i in range(tensor.ndim):
        if tensor.strides[i] == 0 and tensor.sizes[i] > 1:
            return True
    return False


# --- making tensors --------------------------------------------------------------------------------------------------

cdef inline int allocate_dims(TensorBase tensor, int ndim) except -1:
    """Room for sizes and strides."""
    if ndim <= INLINE_DIMS:
        tensor.sizes = tensor.inline_dims
    else:
        if ndim > MAX_DIMS:
            raise RuntimeError(f"tensors of more than {MAX_DIMS} dimensions are not supported, got {ndim}")
        tensor.heap_dims = PyBytes_FromStringAndSize(NULL, 2 * ndim * sizeof(int64_t))
        tensor.sizes = <int64_t *>PyBytes_AS_STRING(tensor.heap_dims)
    tensor.strides = tensor.sizes + ndim
    tensor.ndim = ndim
    return 0


cdef inline int init_sizes_and_strides(TensorBase tensor, int ndim, const int64_t *sizes,
                                       const int64_t *strides) except -1:
    cdef int64_t count = 1
    cdef int i
    allocate_dims(tensor, ndim)
    for i in range(ndim):
        tensor.sizes[i] = sizes[i]
        count *= sizes[i]
    tensor.numel = count
    if strides == NULL:
        contiguous_strides(ndim, sizes, tensor.strides)
        tensor.contiguous = True
        return 0
    for i in range(ndim):
        tensor.strides[i] = strides[i]
    tensor.contiguous = strides_are_contiguous(ndim, sizes, strides)
    return 0


cdef inline TensorBase new_tensor(Storage storage, ScalarType dtype, int ndim, const int64_t *sizes,
                                  const int64_t *strides, int64_t offset):
    # The base's constructor, called for the registered class: Tensor.__new__ is Python's legacy constructor.
    cdef TensorBase tensor = <TensorBase>(<PyTypeObject *>TensorBase).tp_new(
        TENSOR_CLASS, <PyObject *>EMPTY_TUPLE, NULL)
    tensor.storage = storage
    tensor.dtype = dtype
    tensor.device_type = storage.device_type
    tensor.device_index = storage.device_index
    tensor.offset = offset
    init_sizes_and_strides(tensor, ndim, sizes, strides)
    return tensor


cdef TensorBase make_tensor(Storage storage, ScalarType dtype, int ndim, const int64_t *sizes, const int64_t *strides,
                            int64_t offset):
    cdef TensorBase tensor = new_tensor(storage, dtype, ndim, sizes, strides, offset)
    if inference_threads:
        mark_inference(tensor, None)
    return tensor


cdef TensorBase make_view(TensorBase base, int ndim, const int64_t *sizes, const int64_t *strides, int64_t offset):
    if is_sparse(base):
        raise_no_sparse_kernel("as_strided", base.device_type)
    cdef TensorBase view = new_tensor(base.storage, base.dtype, ndim, sizes, strides, offset)
    view.bits = base.bits
    view.version_counter = base.version_counter
    set_base(view, base)
    if base.autograd is not None:
        mark_inference(view, base)
    return view


cdef CreationMeta creation_meta_of_import() noexcept:
    return DEFAULT


creation_meta_of_mode = creation_meta_of_import


cdef int set_base(TensorBase view, TensorBase source) noexcept:
    view.attr_version = version_of(view)
    view.creation_meta = creation_meta_of_mode()
    if source.base is None:
        view.base = source
        return 0
    view.base = source.base
    if view.creation_meta == DEFAULT or source.creation_meta == INFERENCE_MODE:
        view.creation_meta = source.creation_meta
    return 0


cdef TensorBase make_alias(TensorBase base):
    cdef TensorBase alias = new_tensor(base.storage, base.dtype, base.ndim, base.sizes, base.strides, base.offset)
    alias.bits = base.bits
    alias.version_counter = base.version_counter
    if base.autograd is not None:
        mark_inference(alias, base)
    return alias


cdef TensorBase make_variable_data(TensorBase base):
    cdef TensorBase data = make_alias(base)
    data.version_counter = Storage.__new__(Storage)
    return data


cdef int set_bits(TensorBase self, int bits) except -1:
    global bits_seen
    self.bits = bits
    bits_seen = bits_seen or bits != 0
    return 0


cdef Storage allocate(int64_t count, ScalarType dtype, int device_type, int device_index):
    if not BACKENDS[device_type].ready:
        require_backend(device_type)
    return BACKENDS[device_type].allocate(<size_t>count * <size_t>ITEMSIZE[<int>dtype], device_index)


cdef TensorBase empty_tensor(const Shape *shape, ScalarType dtype, int device_type, int device_index):
    cdef Storage storage = allocate(checked_numel(shape), dtype, device_type, device_index)
    return make_tensor(storage, dtype, shape.ndim, shape.sizes, NULL, 0)


cdef TensorBase empty_like_tensor(TensorBase like, ScalarType dtype, int device_type, int device_index):
    cdef int64_t strides[MAX_DIMS]
    cdef Storage storage = allocate(like.numel, dtype, device_type, device_index)
    infer_dense_strides(like, strides)
    return make_tensor(storage, dtype, like.ndim, like.sizes, strides, 0)


cdef int set_geometry(TensorBase self, int ndim, const int64_t *sizes, const int64_t *strides,
                      int64_t offset) except -1:
    cdef int64_t copied[2 * MAX_DIMS]
    cdef int i
    # The new geometry may be given by the old arrays.
    for i in range(ndim):
        copied[i] = sizes[i]
        copied[ndim + i] = 0 if strides == NULL else strides[i]
    init_sizes_and_strides(self, ndim, copied, NULL if strides == NULL else copied + ndim)
    if ndim <= INLINE_DIMS:
        self.heap_dims = None
    self.offset = offset
    return 0


cdef int set_storage(TensorBase self, Storage storage, ScalarType dtype) except -1:
    self.storage = storage
    self.dtype = dtype
    self.device_type = storage.device_type
    self.device_index = storage.device_index
    return 0


# --- the meta device -------------------------------------------------------------------------------------------------
# Its storages have a size and no bytes. The rules of a row make the result, and its kernel does nothing.

cdef Storage allocate_meta(size_t nbytes, int index):
    cdef Storage storage = Storage.__new__(Storage)
    storage.nbytes = nbytes
    storage.device_type = META
    return storage


cdef int index_of_meta() except -1:
    return 0


cdef int check_not_wrapper(TensorBase tensor) except -1:
    """RuntimeError for a wrapper: only its handler knows its elements (torch_dispatch.pyx)."""
    if type(tensor.storage) is WrapperStorage:
        raise RuntimeError("The tensor has a non-zero number of elements, but its data is not allocated yet: it is a "
                           f"wrapper, of class {type(tensor).__name__}.")
    return 0


cdef int copy_meta(TensorBase dst, TensorBase src, bint non_blocking) except -1:
    check_not_wrapper(dst)
    check_not_wrapper(src)
    if dst.device_type != META:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    return 0


cdef int read_meta(TensorBase src, char *elements) except -1:
    check_not_wrapper(src)
    raise RuntimeError("Tensor.item() cannot be called on meta tensors")


BACKENDS[<int>META].allocate = allocate_meta
BACKENDS[<int>META].current_index = index_of_meta
BACKENDS[<int>META].copy = copy_meta
BACKENDS[<int>META].read = read_meta
BACKENDS[<int>META].ready = True


# --- sparse tensors --------------------------------------------------------------------------------------------------
# A sparse tensor has a shape and a SparseStorage, which holds two tensors, indices and values. No row has a kernel for
# it: the functions of operators look for a sparse kernel first (torch_function.pyx), and mindtorch._sparse has these.

cdef int raise_no_sparse_kernel(str operator, int device_type) except -1:
    backend = "SparseCPU" if device_type == SPARSE + CPU else "SparseNPU"
    raise NotImplementedError(f"Could not run 'aten::{operator}' with arguments from the '{backend}' backend.")


cdef Storage allocate_sparse_cpu(size_t nbytes, int index):
    raise_no_sparse_kernel("empty_strided", SPARSE + CPU)


cdef Storage allocate_sparse_npu(size_t nbytes, int index):
    raise_no_sparse_kernel("empty_strided", SPARSE + NPU)


cdef int copy_sparse(TensorBase dst, TensorBase src, bint non_blocking) except -1:
    raise_no_sparse_kernel("copy_", max(dst.device_type, src.device_type))


cdef int read_sparse(TensorBase src, char *elements) except -1:
    raise_no_sparse_kernel("_local_scalar_dense", src.device_type)


for sparse_type in range(SPARSE, BACKEND_TYPES):
    BACKENDS[<int>sparse_type].current_index = index_of_meta
    BACKENDS[<int>sparse_type].copy = copy_sparse
    BACKENDS[<int>sparse_type].read = read_sparse
    BACKENDS[<int>sparse_type].ready = True
BACKENDS[SPARSE + CPU].allocate = allocate_sparse_cpu
BACKENDS[SPARSE + NPU].allocate = allocate_sparse_npu


def make_sparse(layout, tuple indices, TensorBase values, size, bint coalesced):
    """A sparse tensor of the shape `size` that holds these indices and values."""
    global sparse_seen
    cdef SparseStorage storage = SparseStorage.__new__(SparseStorage)
    cdef Shape shape
    cdef int i
    if values.device_type >= META:
        raise NotImplementedError(f"mindtorch has no sparse tensors on device '{device_of(values)}'")
    shape.ndim = len(size)
    if shape.ndim > MAX_DIMS:
        raise RuntimeError(f"tensors of more than {MAX_DIMS} dimensions are not supported, got {shape.ndim}")
    for i in range(shape.ndim):
        shape.sizes[i] = size[i]
    checked_numel(&shape)
    storage.layout, storage.indices, storage.values, storage.coalesced = layout, indices, values, coalesced
    storage.device_type, storage.device_index = SPARSE + values.device_type, values.device_index
    sparse_seen = True
    return make_tensor(storage, values.dtype, shape.ndim, shape.sizes, NULL, 0)


def any_sparse(tensors):
    """Whether one of the tensors is sparse."""
    if sparse_seen:
        for tensor in tensors:
            if is_sparse(<TensorBase?>tensor):
                return True
    return False


def sparse_storage(TensorBase tensor):
    """The SparseStorage of a tensor; None of a dense one."""
    return <SparseStorage>tensor.storage if is_sparse(tensor) else None


# --- slots before operator_function.pyx fills them -------------------------------------------------------------------

cdef object unimplemented_binary(int slot, object a, object b):
    return NotImplemented


cdef object unimplemented_unary(int slot, object a):
    raise NotImplementedError("this operator has no implementation: import mindtorch first")


cdef object unimplemented_getitem(object a, object index):
    return NotImplemented


cdef int unimplemented_setitem(object a, object index, object value) except -1:
    raise NotImplementedError("item assignment has no implementation: import mindtorch first")


def _reset_slots():
    TENSOR_SLOTS.binary, TENSOR_SLOTS.unary = unimplemented_binary, unimplemented_unary
    TENSOR_SLOTS.getitem = unimplemented_getitem
    TENSOR_SLOTS.setitem = unimplemented_setitem


_reset_slots()
