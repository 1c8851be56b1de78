# DLPack: the memory of a tensor for other libraries, and tensors over theirs. https://dmlc.github.io/dlpack
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_IsValid, PyCapsule_New, PyCapsule_SetName
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from mindtorch._core.tensor.dtype cimport (
    BOOL_KIND, COMPLEX_KIND, DTYPES, INT_KIND, ITEMSIZE, KIND, NUM_SCALAR_TYPES, BFloat16, Float8_e4m3fn,
    Float8_e4m3fnuz, Float8_e5m2, Float8_e5m2fnuz, Float8_e8m0fnu, ScalarType,
)
from mindtorch._core.tensor.tensor cimport CPU, MAX_DIMS, NPU, Storage, TensorBase, device, make_tensor, require_backend


cdef enum:
    DL_CPU = 1
    DL_CUDA_HOST = 3
    DL_EXT_DEV = 12             # what torch calls devices of PrivateUse1, such as the NPU

cdef struct DLDevice:
    int32_t type
    int32_t index

cdef struct DLDataType:
    uint8_t code
    uint8_t bits
    uint16_t lanes

cdef struct DLTensor:
    char *data
    DLDevice device
    int32_t ndim
    DLDataType dtype
    int64_t *sizes
    int64_t *strides            # NULL: contiguous
    uint64_t byte_offset

cdef struct DLManagedTensor:
    DLTensor tensor
    void *context
    void (*deleter)(DLManagedTensor *) noexcept

cdef struct DLManagedTensorVersioned:
    uint32_t major
    uint32_t minor
    void *context
    void (*deleter)(DLManagedTensorVersioned *) noexcept
    uint64_t flags
    DLTensor tensor

cdef const char *PLAIN = "dltensor"
cdef const char *VERSIONED = "dltensor_versioned"

cdef int DLPACK_CODES[NUM_SCALAR_TYPES]         # DLDataTypeCode by ScalarType
cdef dict DLPACK_DTYPES = {}                    # (code, bits) -> ScalarType


cdef int fill_dlpack_codes() except -1:
    cdef int number, kind
    for number in range(NUM_SCALAR_TYPES):
        kind = KIND[number]
        DLPACK_CODES[number] = (6 if kind == BOOL_KIND else 5 if kind == COMPLEX_KIND else 2 if kind != INT_KIND else
                                0 if DTYPES[number] is not None and DTYPES[number].is_signed else 1)
    for number, code in ((BFloat16, 4), (Float8_e4m3fn, 10), (Float8_e4m3fnuz, 11), (Float8_e5m2, 12),
                         (Float8_e5m2fnuz, 13), (Float8_e8m0fnu, 14)):
        DLPACK_CODES[number] = code
    for number in range(NUM_SCALAR_TYPES):
        if DTYPES[number] is not None:
            DLPACK_DTYPES[DLPACK_CODES[number], 8 * ITEMSIZE[number]] = number
    return 0


fill_dlpack_codes()


def dlpack_device(int type, int index):
    """The device that DLPack describes by two numbers."""
    if type not in (DL_CPU, DL_CUDA_HOST, DL_EXT_DEV):
        raise BufferError(f"no device has the DLPack device type {type}")
    return device("npu", index) if type == DL_EXT_DEV else device("cpu")


# --- for others ------------------------------------------------------------------------------------------------------

cdef struct Exported:           # one block: the record, then sizes and strides
    DLManagedTensor plain
    DLManagedTensorVersioned versioned
    PyObject *owner             # the tensor
    int64_t dims[2 * MAX_DIMS]


cdef void free_exported(Exported *exported) noexcept with gil:
    Py_DECREF(<object>exported.owner)
    PyMem_Free(exported)


cdef void delete_plain(DLManagedTensor *managed) noexcept:
    free_exported(<Exported *>managed.context)


cdef void delete_versioned(DLManagedTensorVersioned *managed) noexcept:
    free_exported(<Exported *>managed.context)


cdef void destroy_capsule(object capsule) noexcept:
    """Free the memory if no consumer has taken it: a consumer changes the capsule's name."""
    cdef DLManagedTensor *plain
    cdef DLManagedTensorVersioned *versioned
    if PyCapsule_IsValid(capsule, PLAIN):
        plain = <DLManagedTensor *>PyCapsule_GetPointer(capsule, PLAIN)
        plain.deleter(plain)
    elif PyCapsule_IsValid(capsule, VERSIONED):
        versioned = <DLManagedTensorVersioned *>PyCapsule_GetPointer(capsule, VERSIONED)
        versioned.deleter(versioned)


def to_capsule(TensorBase tensor, bint versioned):
    """A capsule that shares the memory of the tensor, with DLPack 1's record if `versioned`, else the older one."""
    cdef Exported *exported = <Exported *>PyMem_Malloc(sizeof(Exported))
    cdef DLTensor *described
    cdef int i
    if exported == NULL:
        raise MemoryError()
    described = &exported.versioned.tensor if versioned else &exported.plain.tensor
    if tensor.device_type == CPU:
        described.device.type, described.data, described.byte_offset = DL_CPU, tensor.data_ptr(), 0
    else:                       # CANN wants to know where the memory begins
        described.device.type, described.data = DL_EXT_DEV, tensor.storage.data
        described.byte_offset = <uint64_t>(tensor.data_ptr() - tensor.storage.data)
    described.device.index = tensor.device_index
    described.ndim, described.sizes, described.strides = tensor.ndim, exported.dims, exported.dims + MAX_DIMS
    described.dtype.code, described.dtype.lanes = <uint8_t>DLPACK_CODES[<int>tensor.dtype], 1
    described.dtype.bits = <uint8_t>(8 * ITEMSIZE[<int>tensor.dtype])
    for i in range(tensor.ndim):
        described.sizes[i] = tensor.sizes[i]
        described.strides[i] = tensor.strides[i]
    exported.owner = <PyObject *>tensor
    Py_INCREF(tensor)
    if versioned:
        exported.versioned.major, exported.versioned.minor, exported.versioned.flags = 1, 0, 0
        exported.versioned.context, exported.versioned.deleter = exported, delete_versioned
        return PyCapsule_New(&exported.versioned, VERSIONED, <void (*)(object) noexcept>destroy_capsule)
    exported.plain.context, exported.plain.deleter = exported, delete_plain
    return PyCapsule_New(&exported.plain, PLAIN, <void (*)(object) noexcept>destroy_capsule)


# --- of others -------------------------------------------------------------------------------------------------------

cdef class ForeignStorage(Storage):
    """Memory of another library. Its deleter runs when the last user is gone."""
    cdef DLManagedTensor *plain
    cdef DLManagedTensorVersioned *versioned

    def __dealloc__(self):
        if self.plain != NULL and self.plain.deleter != NULL:
            self.plain.deleter(self.plain)
        if self.versioned != NULL and self.versioned.deleter != NULL:
            self.versioned.deleter(self.versioned)

    def resizable(self):
        return False


def from_capsule(capsule):
    """The tensor that a capsule describes. A capsule is consumed once."""
    cdef ForeignStorage storage = ForeignStorage.__new__(ForeignStorage)
    cdef DLManagedTensorVersioned *versioned
    if PyCapsule_IsValid(capsule, VERSIONED):
        versioned = <DLManagedTensorVersioned *>PyCapsule_GetPointer(capsule, VERSIONED)
        if versioned.major > 1:
            raise BufferError(f"DLPack {versioned.major}.{versioned.minor} is not known: only versions below 2 are")
        made = tensor_over(storage, &versioned.tensor)
        storage.versioned = versioned
        PyCapsule_SetName(capsule, b"used_dltensor_versioned")
        return made
    if not PyCapsule_IsValid(capsule, PLAIN):
        raise RuntimeError("from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only "
                           "once, so you might have already constructed a tensor from it once.")
    made = tensor_over(storage, &(<DLManagedTensor *>PyCapsule_GetPointer(capsule, PLAIN)).tensor)
    storage.plain = <DLManagedTensor *>PyCapsule_GetPointer(capsule, PLAIN)
    PyCapsule_SetName(capsule, b"used_dltensor")
    return made


cdef TensorBase tensor_over(ForeignStorage storage, const DLTensor *described):
    """A tensor of `storage`, which gets the memory described. BufferError for what no tensor can be."""
    cdef int64_t strides[MAX_DIMS]
    cdef int64_t reach = 1, stride = 1, offset
    cdef int i, itemsize
    cdef bint empty = False
    number = DLPACK_DTYPES.get((described.dtype.code, described.dtype.bits))
    if number is None or described.dtype.lanes != 1:
        raise BufferError(f"no dtype has the DLPack type code {described.dtype.code} with {described.dtype.bits} bits "
                          f"and {described.dtype.lanes} lanes")
    place = dlpack_device(described.device.type, described.device.index)
    if described.ndim > MAX_DIMS:
        raise BufferError(f"tensors of {described.ndim} dimensions are not supported: {MAX_DIMS} at most")
    for i in reversed(range(described.ndim)):
        strides[i] = stride if described.strides == NULL else described.strides[i]
        stride *= described.sizes[i]
        empty = empty or described.sizes[i] == 0
        reach += (described.sizes[i] - 1) * strides[i]
    storage.device_type = CPU if place.type == "cpu" else NPU
    storage.device_index = described.device.index if storage.device_type == NPU else 0
    require_backend(storage.device_type)
    itemsize = ITEMSIZE[<int>number]
    offset = <int64_t>described.byte_offset // itemsize
    storage.data = described.data + <int64_t>described.byte_offset % itemsize
    storage.nbytes = 0 if empty else <size_t>((offset + reach) * itemsize)
    return make_tensor(storage, <ScalarType><int>number, described.ndim, described.sizes, strides, offset)
