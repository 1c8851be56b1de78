"""What a tensor tells about itself. mindtorch._tensor publishes these as properties and methods."""
from libc.stdint cimport int64_t

from mindtorch._core.arguments cimport require_int, require_scalar, require_tensor
from mindtorch._core.device cimport CPU, NPU, device_of
from mindtorch._core.dtype cimport DTYPES, ITEMSIZE, KIND, promote_types
from mindtorch._core.infer cimport promote, promote_scalar, scalar_dtype, wrap_dim
from mindtorch._core.scalar cimport COMPLEX_KIND, FLOAT_KIND, Byte, Scalar
from mindtorch._core.tensor cimport Storage, TensorBase, make_size, make_tensor, version_of

from mindtorch._core.formats import channels_last, channels_last_3d, contiguous_format, strided


cdef class StorageBase:
    """The bytes below a tensor; those of views of one tensor are equal. mindtorch.storage has what is built on it."""
    cdef Storage storage
    cdef object place

    def __cinit__(self, TensorBase tensor not None):
        self.storage = tensor.storage
        self.place = device_of(tensor)

    def __init__(self, *args, **kwargs):
        pass                            # all is done by __cinit__, which a subclass calls with a tensor

    @property
    def device(self):
        return self.place

    def nbytes(self):
        """Size in bytes."""
        return self.storage.nbytes

    def __len__(self):
        return self.storage.nbytes

    def resizable(self):
        """Whether a tensor on it may grow: not where the memory is that of a NumPy array."""
        return self.storage.resizable()

    def data_ptr(self):
        """Address of the first byte, on its device."""
        return <size_t>self.storage.data

    @property
    def _cdata(self):
        return <size_t><void *>self.storage

    def _as_tensor(self):
        """The bytes as a tensor of uint8 that shares them."""
        cdef int64_t size = <int64_t>self.storage.nbytes
        cdef int64_t step = 1
        return make_tensor(self.storage, Byte, 1, &size, &step, 0)

    def __eq__(self, other):
        if not isinstance(other, StorageBase):
            return NotImplemented
        return self.storage is (<StorageBase>other).storage

    def __hash__(self):
        return <Py_hash_t><size_t><void *>self.storage


# --- geometry --------------------------------------------------------------------------------------------------------

def shape(TensorBase self):
    """The size of each dimension."""
    return make_size(self.ndim, self.sizes)


def ndim(TensorBase self):
    """The number of dimensions."""
    return self.ndim


def dim(TensorBase self):
    """The number of dimensions."""
    return self.ndim


def size(TensorBase self, dim=None):
    """The shape, or the size of one dimension."""
    if dim is None:
        return make_size(self.ndim, self.sizes)
    return self.sizes[own_dim(self, dim, b"size")]


def stride(TensorBase self, dim=None):
    """The steps between neighbours, in elements: of all dimensions, or of one."""
    if dim is None:
        return tuple([self.strides[i] for i in range(self.ndim)])
    return self.strides[own_dim(self, dim, b"stride")]


cdef int own_dim(TensorBase self, object dim, const char *function) except -1:
    cdef int64_t wanted = require_int(dim, function, b"dim", 1)
    if self.ndim == 0:
        raise IndexError(f"Dimension specified as {wanted} but tensor has no dimensions")
    return wrap_dim(wanted, self.ndim)


def storage_offset(TensorBase self):
    """The place of the first element in the storage, in elements."""
    return self.offset


def numel(input):
    """The number of elements."""
    return require_tensor(input, b"numel", b"input", 1).numel


def is_contiguous(TensorBase self, memory_format=contiguous_format):
    """Whether the elements lie in memory one after the other, the last dimension fastest."""
    if memory_format is contiguous_format:
        return bool(self.contiguous)
    if memory_format is channels_last:
        return self.ndim == 4 and runs_in_order(self, (1, 3, 2, 0))
    if memory_format is channels_last_3d:
        return self.ndim == 5 and runs_in_order(self, (1, 4, 3, 2, 0))
    raise RuntimeError("preserve memory format is unsupported by is_contiguous")


cdef bint runs_in_order(TensorBase self, tuple dims) except -1:
    """Whether the elements lie one after the other when `dims` is the order from the fastest dimension on."""
    cdef int64_t expected = 1
    cdef int dim
    for dim in dims:
        if self.sizes[dim] != 1:
            if self.strides[dim] != expected:
                return False
            expected *= self.sizes[dim]
    return True


# --- elements and memory ---------------------------------------------------------------------------------------------

def dtype(TensorBase self):
    """The type of the elements."""
    return DTYPES[<int>self.dtype]


def itemsize(TensorBase self):
    """Bytes of one element."""
    return ITEMSIZE[<int>self.dtype]


def element_size(TensorBase self):
    """Bytes of one element."""
    return ITEMSIZE[<int>self.dtype]


def nbytes(TensorBase self):
    """Bytes of all elements, counting those of an expanded dimension as often as they appear."""
    return self.numel * ITEMSIZE[<int>self.dtype]


def data_ptr(TensorBase self):
    """Address of the first element, on its device; 0 for a tensor without elements."""
    return <size_t>self.data_ptr() if self.numel else 0


def version(TensorBase self):
    """How often the storage has been written to in place."""
    return version_of(self)


def is_floating_point(input):
    """Whether the dtype is a floating-point one."""
    return KIND[<int>require_tensor(input, b"is_floating_point", b"input", 1).dtype] == FLOAT_KIND


def is_complex(input):
    """Whether the dtype is a complex one."""
    return KIND[<int>require_tensor(input, b"is_complex", b"input", 1).dtype] == COMPLEX_KIND


def is_signed(input):
    """Whether the dtype has negative values."""
    cdef TensorBase self = require_tensor(input, b"is_signed", b"input", 1)
    return DTYPES[<int>self.dtype].is_signed


def is_same_size(input, other):
    """Whether two tensors have the same shape."""
    cdef TensorBase self = require_tensor(input, b"is_same_size", b"input", 1)
    cdef TensorBase like = require_tensor(other, b"is_same_size", b"other", 2)
    return make_size(self.ndim, self.sizes) == make_size(like.ndim, like.sizes)


def result_type(tensor, other, /):
    """The dtype in which an operator on the two computes; each is a tensor or a number."""
    cdef Scalar number, second
    if isinstance(tensor, TensorBase) and isinstance(other, TensorBase):
        return DTYPES[<int>promote(<TensorBase>tensor, <TensorBase>other)]
    if isinstance(other, TensorBase):
        tensor, other = other, tensor
    if not isinstance(tensor, TensorBase):
        require_scalar(tensor, &number, b"result_type", b"scalar1", 1)
        require_scalar(other, &second, b"result_type", b"scalar2", 2)
        return DTYPES[<int>promote_types(scalar_dtype(&number), scalar_dtype(&second))]
    require_scalar(other, &number, b"result_type", b"other", 2)
    return DTYPES[<int>promote_scalar(<TensorBase>tensor, &number)]


def is_set_to(TensorBase self, tensor):
    """Whether two tensors are the same view of the same storage."""
    cdef TensorBase other = require_tensor(tensor, b"is_set_to", b"tensor", 1)
    return (self.storage is other.storage and self.offset == other.offset and shape(self) == shape(other)
            and stride(self) == stride(other))


# --- device ----------------------------------------------------------------------------------------------------------

def device(TensorBase self):
    """Where the elements are."""
    return device_of(self)


def layout(TensorBase self):
    """Always torch.strided."""
    return strided


def is_cpu(TensorBase self):
    """Whether the elements are in host memory."""
    return self.device_type == CPU


def is_npu(TensorBase self):
    """Whether the elements are on an NPU."""
    return self.device_type == NPU


def get_device(input):
    """The index of the device; -1 for the CPU."""
    cdef TensorBase self = require_tensor(input, b"get_device", b"input", 1)
    return -1 if self.device_type == CPU else self.device_index


PROPERTIES = {
    "shape": shape, "ndim": ndim, "dtype": dtype, "itemsize": itemsize, "nbytes": nbytes, "_version": version,
    "device": device, "layout": layout, "is_cpu": is_cpu, "is_npu": is_npu}

FUNCTIONS = {f.__name__: f for f in (numel, is_floating_point, is_complex, is_signed, is_same_size, get_device)}

METHODS = dict(
    FUNCTIONS, dim=dim, ndimension=dim, size=size, stride=stride, storage_offset=storage_offset, nelement=numel,
    is_contiguous=is_contiguous, element_size=element_size, data_ptr=data_ptr, is_set_to=is_set_to)

FUNCTIONS["result_type"] = result_type
