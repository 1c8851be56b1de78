"""torch.device, storages, and TensorBase: geometry, allocation, and the slots of Python's operators."""
from cpython.object cimport PyObject, PyTypeObject
cimport cython
from libc.stdint cimport int64_t, intptr_t, uint32_t
from libc.string cimport memcmp

from mindtorch._core.tensor.dtype cimport ITEMSIZE, Scalar, ScalarType

cdef extern from "Python.h":
    PyTypeObject *Py_TYPE(PyObject *value) noexcept
    bint PyLong_Check(PyObject *value) noexcept
    bint PyObject_TypeCheck(PyObject *value, PyTypeObject *kind) noexcept


# --- devices ---------------------------------------------------------------------------------------------------------
# torch.device, and the functions that a backend registers for memory and copies.


cdef enum DeviceType:
    CPU = 0
    NPU = 1
    META = 2
    DEVICE_TYPES = 3

cdef enum:
    SPARSE = 3            # SPARSE + CPU, SPARSE + NPU: the device_type of sparse tensors, for which no row has a kernel
    BACKEND_TYPES = 5


cdef class device:
    cdef readonly int type_code                 # DeviceType
    cdef readonly int given_index               # -1: none given ("npu"); then the current device is meant
    cdef int parse_value(self, object value) except -1
    cdef int parse_type_and_index(self, object name, object index) except -1

ctypedef struct Backend:
    bint ready                                               # False until the backend has registered itself
    Storage (*allocate)(size_t nbytes, int index)            # uninitialised bytes on device `index`
    Storage (*allocate_pinned)(size_t nbytes)                # on the host, for asynchronous copies; CPU: NULL
    int (*current_index)() except -1                         # the calling thread's current device
    # dst[...] = src, with broadcasting, casts and any strides; one side at least lives on this backend's device.
    # The CPU backend serves CPU to CPU only. Asynchronous only where `non_blocking` and the host side is pinned.
    int (*copy)(TensorBase dst, TensorBase src, bint non_blocking) except -1
    # The elements of `src`, in order, into memory of the host, once they are there. CPU: NULL.
    int (*read)(TensorBase src, char *elements) except -1
    bint streams                                             # some thread has left a device's default stream
    intptr_t (*capturing)(int index) noexcept                # which capture stores its stream's work there; CPU: NULL

cdef Backend BACKENDS[BACKEND_TYPES]

# None: the default device. Loads the backend.
cdef int resolve_device(object device_or_none, int *type_code, int *index) except -1
cdef int require_backend(int type_code) except -1   # imports it through mindtorch._backend
cdef device device_of(TensorBase tensor)
cdef int check_pinnable(int type_code) except -1    # the device of what is to be pinned
cdef TensorBase empty_pinned_like(TensorBase made)  # in pinned memory; `made` is on the CPU and is not read
cdef device make_device(int type_code, int index)   # index -1: none; only NPUs have one
# dst[...] = src through the backend that serves the pair. Broadcasts and casts; does not count a new version.
cdef int copy_data(TensorBase dst, TensorBase src, bint non_blocking) except -1


# --- tensors ---------------------------------------------------------------------------------------------------------
# TensorBase: a view (sizes, strides, offset) of a Storage. Views share the storage; nothing here copies data.


cdef enum:
    INLINE_DIMS = 8        # what ACLNN takes; tensors of more dimensions keep them on the heap
    MAX_DIMS = 64


cdef struct Shape:         # a shape under construction, on the stack; only the first ndim entries are set
    int ndim
    int64_t sizes[MAX_DIMS]


@cython.no_gc
@cython.freelist(64)
cdef class Storage:
    # Backends subclass it and free `data` in __dealloc__. Subclasses without fields of their own share the free list.
    cdef char *data                    # device address (NPU: not readable by the host); NULL when nbytes is 0
    cdef size_t nbytes
    cdef int device_type
    cdef int device_index
    cdef bint lent                     # a NumPy array shares its bytes: they must not be exchanged
    cdef uint32_t version              # counts in-place writes through any view of it; see TensorBase.version_counter
    cdef Storage owner                 # whose memory `data` is since share_memory_, or of which it is a part; or None
    cdef char *own_data                # its memory before share_memory_, which others may still use
    cdef void *block                   # what the backend's allocator knows `data` by, or NULL


cdef class WrapperStorage(Storage):
    # On the meta device: that of a wrapper (torch_dispatch.pyx), which reports another device.
    cdef int reported_type
    cdef int reported_index


cdef class SparseStorage(Storage):       # of a sparse tensor: no bytes, but the tensors that hold its elements
    cdef readonly object layout
    cdef public tuple indices          # COO: (indices,); compressed: (compressed indices, plain indices)
    cdef public TensorBase values
    cdef public bint coalesced         # COO: the indices are sorted, and none is there twice


# How a view was made, in torch's words: in-place operators that are recorded write to default ones alone (history.pyx).
cdef enum CreationMeta:
    DEFAULT
    IN_CUSTOM_FUNCTION                 # an output of autograd.Function
    MULTI_OUTPUT_NODE                  # one of the views that one function gave: split, unbind
    NO_GRAD_MODE
    INFERENCE_MODE


cdef class TensorBase:
    cdef Storage storage
    cdef int64_t *sizes                # inline_dims, or in heap_dims when ndim > INLINE_DIMS
    cdef int64_t *strides              # in elements; follows sizes in the same block
    cdef int64_t inline_dims[2 * INLINE_DIMS]
    cdef bytes heap_dims               # an object, since its release costs less than a __dealloc__; None: inline_dims
    cdef int64_t offset                # storage_offset, in elements
    cdef int64_t numel
    cdef int ndim
    cdef ScalarType dtype
    cdef int device_type               # as in the storage: saves a load; SPARSE + that of a sparse tensor
    cdef int device_index
    cdef bint contiguous
    cdef int bits                      # CONJUGATED and NEGATED, below
    cdef object autograd               # AutogradMeta, or None for a tensor that never took part in differentiation
    cdef TensorBase base               # what this is a view of (itself no view), or None
    cdef CreationMeta creation_meta    # of a view
    cdef uint32_t attr_version         # of a view: its version when it was made, or when it got its grad_fn
    cdef Storage version_counter       # counts the writes of `t.data`, which t ignores; None: the storage counts them

    @cython.final
    cdef inline char *data_ptr(self) noexcept:
        return self.storage.data + self.offset * ITEMSIZE[<int>self.dtype]


# The bits of conj and _neg_view: views whose elements are the conjugates or negatives of what the memory holds. Where
# elements are read or written, copy_data computes them; kernels never see bits (run_operator.pyx, run_without_bits).
cdef enum:
    CONJUGATED = 1
    NEGATED = 2

cdef bint bits_seen                    # whether the process has made a tensor with bits
cdef int set_bits(TensorBase self, int bits) except -1


cdef bint sparse_seen                  # whether the process has made a sparse tensor

cdef inline bint is_sparse(TensorBase tensor) noexcept:
    return tensor.device_type >= SPARSE

# The device that a tensor reports.
cdef inline int reported_device_type(TensorBase tensor) noexcept:
    if tensor.device_type == META and type(tensor.storage) is WrapperStorage:
        return (<WrapperStorage>tensor.storage).reported_type
    return tensor.device_type

cdef inline int reported_device_index(TensorBase tensor) noexcept:
    if tensor.device_type == META and type(tensor.storage) is WrapperStorage:
        return (<WrapperStorage>tensor.storage).reported_index
    return tensor.device_index


cdef inline uint32_t version_of(TensorBase tensor) noexcept:
    return tensor.storage.version if tensor.version_counter is None else tensor.version_counter.version

cdef inline void bump_version(TensorBase tensor) noexcept:
    if tensor.version_counter is None:
        tensor.storage.version += 1
    else:
        tensor.version_counter.version += 1

cdef inline void set_version(TensorBase tensor, uint32_t version) noexcept:
    if tensor.version_counter is None:
        tensor.storage.version = version
    else:
        tensor.version_counter.version = version

# torch.Size, a tuple. `make_size` builds one from C.
cdef type SIZE_CLASS
cdef object make_size(int ndim, const int64_t *sizes)
cdef str shape_text(int ndim, const int64_t *sizes)                # "[2, 3]", as torch's messages print shapes
cdef list shape_list(const Shape *shape)

cdef inline bint has_same_shape(TensorBase a, TensorBase b) noexcept nogil:
    return a.ndim == b.ndim and memcmp(a.sizes, b.sizes, a.ndim * sizeof(int64_t)) == 0

cdef inline bint has_shape(TensorBase tensor, const Shape *shape) noexcept nogil:
    return tensor.ndim == shape.ndim and memcmp(tensor.sizes, shape.sizes, shape.ndim * sizeof(int64_t)) == 0

# node.pyx sets mark_inference: it marks the tensors that a thread makes in inference_mode. A tensor that shares the
# memory of another one, `base`, is an inference tensor where `base` is one, whatever the mode.
cdef int inference_threads
cdef object (*mark_inference)(TensorBase tensor, TensorBase base)

cdef int raise_no_sparse_kernel(str operator, int device_type) except -1          # always raises NotImplementedError

# What grad mode and inference mode make of a new view: DEFAULT, NO_GRAD_MODE or INFERENCE_MODE. node.pyx sets it.
cdef CreationMeta (*creation_meta_of_mode)() noexcept
# Makes `view` a view of what `source` is or views; they count their versions together already.
cdef int set_base(TensorBase view, TensorBase source) noexcept

# The class of every tensor handed to Python (mindtorch.Tensor), registered once by mindtorch._tensor.
cdef type TENSOR_CLASS

cdef inline bint is_tensor(PyObject *value) noexcept:
    return Py_TYPE(value) == <PyTypeObject *>TENSOR_CLASS or (
        not PyLong_Check(value) and PyObject_TypeCheck(value, <PyTypeObject *>TensorBase))

# A new tensor on `storage`. sizes and strides are copied; strides NULL means contiguous.
cdef TensorBase make_tensor(Storage storage, ScalarType dtype, int ndim, const int64_t *sizes, const int64_t *strides,
                            int64_t offset)
cdef TensorBase make_view(TensorBase base, int ndim, const int64_t *sizes, const int64_t *strides, int64_t offset)
# A second tensor over the same elements; and one with a version counter of its own.
cdef TensorBase make_alias(TensorBase base)
cdef TensorBase make_variable_data(TensorBase base)
# A new contiguous, uninitialised tensor.
cdef TensorBase empty_tensor(const Shape *shape, ScalarType dtype, int device_type, int device_index)
# A new tensor as torch.empty_like makes it: with the strides of `like` if it is dense, else in its order of dimensions.
cdef TensorBase empty_like_tensor(TensorBase like, ScalarType dtype, int device_type, int device_index)

cdef Storage allocate(int64_t count, ScalarType dtype, int device_type, int device_index)    # room for `count` elements
cdef int64_t checked_numel(const Shape *shape) except -1       # RuntimeError for negative sizes and overflow
cdef int contiguous_strides(int ndim, const int64_t *sizes, int64_t *strides) noexcept nogil
# no gaps and no overlaps, in any order of dimensions
cdef bint is_non_overlapping_and_dense(TensorBase tensor) noexcept nogil
cdef bint has_internal_overlap(TensorBase tensor) noexcept nogil  # elements that share memory: expanded tensors
# Gives `self` another geometry, or another storage as well: `t.data = other`, resize_, in-place transposes.
cdef int set_geometry(TensorBase self, int ndim, const int64_t *sizes, const int64_t *strides, int64_t offset) except -1
cdef int set_storage(TensorBase self, Storage storage, ScalarType dtype) except -1

# Python's operators, comparisons in the order of Py_LT ..., then those in place.
cdef enum Slot:
    SLOT_ADD, SLOT_SUB, SLOT_MUL, SLOT_TRUEDIV, SLOT_FLOORDIV, SLOT_MOD, SLOT_MATMUL, SLOT_POW, SLOT_AND,
    SLOT_OR, SLOT_XOR, SLOT_LSHIFT, SLOT_RSHIFT, SLOT_LT, SLOT_LE, SLOT_EQ, SLOT_NE, SLOT_GT, SLOT_GE,
    SLOT_NEG, SLOT_ABS, SLOT_INVERT,
    SLOT_IADD, SLOT_ISUB, SLOT_IMUL, SLOT_ITRUEDIV, SLOT_IPOW, SLOT_IFLOORDIV, SLOT_IMOD, SLOT_IAND, SLOT_IOR,
    SLOT_IXOR, SLOT_ILSHIFT, SLOT_IRSHIFT

# The slots of TensorBase (`a + b`) call these; modules above fill them in, so none imports in a circle. `binary` takes
# the operands as Python gave them and may return NotImplemented.
ctypedef struct TensorSlots:
    object (*binary)(int slot, object a, object b)
    object (*unary)(int slot, object a)
    object (*getitem)(object a, object index)
    int (*setitem)(object a, object index, object value) except -1
    int (*fill)(TensorBase self, const Scalar *value) except -1       # every element = value; counts no version
    int (*copy_with_bits)(TensorBase dst, TensorBase src, bint non_blocking) except -1    # copy_data where one has bits

cdef TensorSlots TENSOR_SLOTS
