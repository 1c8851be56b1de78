"""Executors that CANN keeps: a call that was made before finds its own by a key, without descriptors and phase 1."""
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

from mindtorch._core.tensor.dtype cimport BOOL_KIND, COMPLEX_KIND, FLOAT_KIND, ITEMSIZE, Scalar
from mindtorch._core.tensor.tensor cimport MAX_DIMS, NPU, Shape, TensorBase
from mindtorch._npu.acl cimport api
from mindtorch._npu.cann cimport aclOpExecutor


# --- keys ------------------------------------------------------------------------------------------------------------
# A key holds all that phase 1 reads but the addresses of tensors: which call it is, its device, the settings, and of
# each argument the value, of a tensor its dtype, geometry, bytes of storage, and the first tensor of the call that has
# the same storage. What may be absent or has several lengths begins with a word that says so: so different calls have
# different keys.


cdef enum:
    KEY_HEAD = 3                 # words before the arguments: the address of the call, settings, limits
    MAX_WORDS = 1024             # CANN takes keys of 8 KiB
    MAX_TENSORS = 512
    MAX_TEXT = 64                # bytes of a string
    MAX_ARGUMENT_WORDS = 4 + 2 * MAX_DIMS
    SEEN_BITS = 1024

cdef struct Key:                 # on the stack of the function that makes the call
    int words
    int tensors
    uint64_t seen[SEEN_BITS / 64]        # a bit for some bits of the address of each storage
    void *storages[MAX_TENSORS]
    unsigned short places[MAX_TENSORS]       # in `text`, of the tensors
    uint64_t text[MAX_WORDS]

cdef uint64_t settings          # a number for the values of the settings that phase 1 reads

# `call` stands for the function and its constant arguments; it must live as long as the process.
cdef inline void begin_key(Key *key, void *call, int device, void *limits) noexcept nogil:
    cdef int i
    key.text[0] = <uint64_t>call
    key.text[1] = settings << 8 | <uint64_t>device
    key.text[2] = <uint64_t>limits
    key.words = KEY_HEAD
    key.tensors = 0
    for i in range(SEEN_BITS / 64):
        key.seen[i] = 0

# The functions that add an argument return False where the call cannot be kept.
cdef inline bint has_room(const Key *key) noexcept nogil:
    return key.words <= MAX_WORDS - MAX_ARGUMENT_WORDS

cdef inline bint add_word(Key *key, uint64_t word) noexcept nogil:
    key.text[key.words] = word
    key.words += 1
    return has_room(key)

cdef inline bint add_shape(Key *key, const Shape *values) noexcept nogil:
    key.text[key.words] = <uint64_t>values.ndim
    memcpy(&key.text[key.words + 1], values.sizes, values.ndim * sizeof(int64_t))
    key.words += 1 + values.ndim
    return has_room(key)

cdef inline bint add_real(Key *key, double value) noexcept nogil:
    memcpy(&key.text[key.words], &value, sizeof(double))
    key.words += 1
    return has_room(key)

cdef inline bint add_scalar(Key *key, const Scalar *scalar) noexcept nogil:
    """As `create_scalar` reads it."""
    add_word(key, 1 + <uint64_t>scalar.kind)
    if scalar.kind == FLOAT_KIND:
        return add_real(key, scalar.real)
    if scalar.kind == COMPLEX_KIND:
        add_real(key, scalar.real)
        return add_real(key, scalar.imag)
    return add_word(key, scalar.integer != 0 if scalar.kind == BOOL_KIND else <uint64_t>scalar.integer)

cdef inline int first_with_storage(Key *key, void *storage) noexcept nogil:
    """The number of the first tensor with this storage; the next tensor has it from now on."""
    cdef uint64_t bits = <uint64_t>storage // 512 % SEEN_BITS
    cdef uint64_t bit = <uint64_t>1 << bits % 64
    cdef int i = key.tensors
    if key.seen[bits // 64] & bit:
        i = 0
        while i < key.tensors and key.storages[i] != storage:
            i += 1
    key.seen[bits // 64] |= bit
    key.storages[key.tensors] = storage
    key.tensors += 1
    return i

cdef inline bint is_whole_storage(TensorBase tensor) noexcept:
    """Whether the sizes tell strides, offset and storage."""
    cdef int64_t stride = 1
    cdef int i = tensor.ndim
    if not tensor.contiguous or tensor.offset != 0:
        return False
    while i > 0:
        i -= 1
        if tensor.strides[i] != stride:
            return False
        stride *= tensor.sizes[i]
    return tensor.storage.nbytes == <size_t>(stride * ITEMSIZE[<int>tensor.dtype])

cdef inline bint add_tensor(Key *key, TensorBase tensor) noexcept:
    cdef uint64_t *text = &key.text[key.words]
    cdef size_t dims = tensor.ndim * sizeof(int64_t)
    cdef bint whole
    if tensor.device_type != NPU or key.tensors == MAX_TENSORS:
        return False
    whole = is_whole_storage(tensor)
    key.places[key.tensors] = key.words
    text[0] = (<uint64_t>first_with_storage(key, tensor.storage.data) << 32 | <uint64_t>tensor.dtype << 16
               | <uint64_t>tensor.ndim << 8 | <uint64_t>whole << 1 | 1)
    memcpy(text + 1, tensor.sizes, dims)
    key.words += 1 + tensor.ndim
    if not whole:
        text += 1 + tensor.ndim
        memcpy(text, tensor.strides, dims)
        text[tensor.ndim] = <uint64_t>tensor.offset
        text[tensor.ndim + 1] = tensor.storage.nbytes
        key.words += 2 + tensor.ndim
    return has_room(key)

cdef bint add_tensors(Key *key, list tensors) noexcept
cdef bint add_text(Key *key, const char *text) noexcept nogil


# --- look-ups --------------------------------------------------------------------------------------------------------


cdef bint enabled                # whether calls look for executors
cdef uint64_t hits

cdef enum LookUp:
    NOT_KEPT                     # CANN does not keep the call
    FOUND                        # phase 2 follows
    MISSED                       # both phases follow, with `end_look_up` between them, also where phase 1 is not called

# Look for the executor of a call of the function `name`.
cdef LookUp find_executor(Key *key, const char *name, aclOpExecutor **executor, uint64_t *workspace_size) noexcept

cdef inline void end_look_up() noexcept nogil:
    api.UnInitPTACacheThreadLocal()
