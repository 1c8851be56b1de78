"""Sums and extremes that the host reads: of few elements it reads all, of many what a kernel makes of them."""
from mindtorch._core._gen.kernels cimport KERNELS
from mindtorch._core.device cimport BACKENDS, CPU
from mindtorch._core.dtype cimport ITEMSIZE
from mindtorch._core.scalar cimport Long, Scalar, ScalarType
from mindtorch._core.tensor cimport Shape, empty_tensor, make_view
from mindtorch._core.values cimport load

cdef enum:
    FEW = 256           # elements that are read as fast as one is, and need no kernel's time before

cdef struct Elements:
    const char *address
    ScalarType dtype
    char room[FEW * 16]


cdef bint are_few(TensorBase x) noexcept:
    return x.numel <= FEW and x.device_type != CPU


cdef int fetch(TensorBase x, Elements *found) except -1:
    found.dtype = x.dtype
    found.address = found.room
    if x.device_type != CPU:
        return BACKENDS[x.device_type].read(x, found.room)
    found.address = x.data_ptr()
    return 0


cdef Scalar at(const Elements *found, int64_t i) noexcept:
    cdef Scalar value
    load(found.address + i * ITEMSIZE[<int>found.dtype], found.dtype, &value)
    return value


cdef TensorBase made(int64_t count, ScalarType dtype, TensorBase like):
    cdef Shape shape
    shape.ndim, shape.sizes[0] = 1, count
    return empty_tensor(&shape, dtype, like.device_type, like.device_index)


cdef TensorBase element(TensorBase x, int64_t i):
    return make_view(x, 0, NULL, NULL, i)


cdef int64_t read_sum(TensorBase x) except? -1:
    cdef Elements found
    cdef Shape none
    cdef int64_t i, total = 0
    if not are_few(x):
        none.ndim = 0
        kept = made(1, Long, x)
        KERNELS[x.device_type].sum_dim_IntList(x, &none, False, Long, element(kept, 0))
        x = kept
    fetch(x, &found)
    for i in range(x.numel):
        total += at(&found, i).integer
    return total


cdef TensorBase extremes_of(TensorBase x):
    """The least and the largest."""
    cdef Shape none
    none.ndim = 0
    kept = made(2, x.dtype, x)
    KERNELS[x.device_type].aminmax(x, &none, False, element(kept, 0), element(kept, 1))
    return kept


cdef int read_extremes(TensorBase x, int64_t *least, int64_t *most) except -1:
    cdef Elements found
    cdef int64_t i, number
    if not are_few(x):
        x = extremes_of(x)
    fetch(x, &found)
    least[0] = most[0] = at(&found, 0).integer
    for i in range(1, x.numel):
        number = at(&found, i).integer
        least[0], most[0] = min(least[0], number), max(most[0], number)
    return 0
