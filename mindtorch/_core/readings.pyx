"""Sums and extremes that the host reads: of few elements it reads all, of many what a kernel makes of them."""
from cpython.ref cimport PyObject

from mindtorch._core.device cimport BACKENDS, CPU
from mindtorch._core.dtype cimport ITEMSIZE
from mindtorch._core.operator cimport Argument, Operator, find_operator, run_kernel
from mindtorch._core.scalar cimport Long, Scalar, ScalarType
from mindtorch._core.tensor cimport Shape, empty_tensor, make_view
from mindtorch._core.values cimport load

cdef enum:
    FEW = 256           # elements that are read as fast as one is, and need no kernel's time before

cdef Operator SUM = find_operator("sum.dim_IntList")
cdef Operator AMINMAX = find_operator("aminmax")

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
    cdef Argument arguments[5]
    cdef Shape none
    cdef int64_t i, total = 0
    if not are_few(x):
        none.ndim = 0
        kept = made(1, Long, x)
        result = element(kept, 0)
        arguments[0].object, arguments[1].ints = <PyObject *>x, &none
        arguments[2].integer, arguments[3].integer, arguments[4].object = False, Long, <PyObject *>result
        run_kernel(SUM, x.device_type, arguments, Long)
        x = kept
    fetch(x, &found)
    for i in range(x.numel):
        total += at(&found, i).integer
    return total


cdef TensorBase extremes_of(TensorBase x):
    """The least and the largest."""
    cdef Argument arguments[5]
    cdef Shape none
    none.ndim = 0
    kept = made(2, x.dtype, x)
    least, most = element(kept, 0), element(kept, 1)
    arguments[0].object, arguments[1].ints, arguments[2].integer = <PyObject *>x, &none, False
    arguments[3].object, arguments[4].object = <PyObject *>least, <PyObject *>most
    run_kernel(AMINMAX, x.device_type, arguments, x.dtype)
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
