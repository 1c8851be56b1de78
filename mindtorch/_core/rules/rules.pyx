"""Rules of operators: shapes, dtypes and errors. Each subject is a file of its own, which this includes."""
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t

from mindtorch._core.operators.operator cimport Argument, Operator, find_operator, run_kernel
from mindtorch._core.python.conversion cimport load_element
from mindtorch._core.tensor.dtype cimport ITEMSIZE, Long, Scalar, ScalarType
from mindtorch._core.tensor.tensor cimport (
    BACKENDS, CPU, Shape, contiguous_strides, empty_tensor, make_view, shape_list, shape_text,
)

include "reductions.pxi"
include "sorting.pxi"
include "rearrangements.pxi"
include "indexing.pxi"
include "random.pxi"
include "linalg.pxi"
include "fft.pxi"
include "distances.pxi"
include "convolution.pxi"
include "pooling.pxi"
include "padding.pxi"
include "resampling.pxi"
include "normalization.pxi"
include "activations.pxi"
include "losses.pxi"
include "recurrent.pxi"
include "attention.pxi"
include "torch_npu.pxi"


# Numbers that the host reads: all elements, or of many elements what a kernel computes of them.

cdef enum:
    DIRECT_READ_LIMIT = 256           # so many elements are read as fast as one


cdef Operator SUM_OPERATOR = find_operator("sum.dim_IntList")
cdef Operator AMINMAX_OPERATOR = find_operator("aminmax")


cdef struct HostElements:
    const char *address
    ScalarType dtype
    char buffer[DIRECT_READ_LIMIT * 16]


cdef bint is_read_directly(TensorBase x) noexcept:
    return x.numel <= DIRECT_READ_LIMIT and x.device_type != CPU


cdef int read_elements(TensorBase x, HostElements *found) except -1:
    found.dtype = x.dtype
    found.address = found.buffer
    if x.device_type != CPU:
        return BACKENDS[x.device_type].read(x, found.buffer)
    found.address = x.data_ptr()
    return 0


cdef Scalar element_at(const HostElements *found, int64_t i) noexcept:
    cdef Scalar value
    load_element(found.address + i * ITEMSIZE[<int>found.dtype], found.dtype, &value)
    return value


cdef TensorBase empty_vector(int64_t count, ScalarType dtype, TensorBase like):
    cdef Shape shape
    shape.ndim, shape.sizes[0] = 1, count
    return empty_tensor(&shape, dtype, like.device_type, like.device_index)


cdef TensorBase element_view(TensorBase x, int64_t i):
    return make_view(x, 0, NULL, NULL, i)


cdef int64_t read_sum(TensorBase x) except? -1:
    cdef HostElements found
    cdef Argument arguments[5]
    cdef Shape none
    cdef int64_t i, total = 0
    if not is_read_directly(x):
        none.ndim = 0
        sums = empty_vector(1, Long, x)
        result = element_view(sums, 0)
        arguments[0].object, arguments[1].ints = <PyObject *>x, &none
        arguments[2].integer, arguments[3].integer, arguments[4].object = False, Long, <PyObject *>result
        run_kernel(SUM_OPERATOR, x.device_type, arguments, Long)
        x = sums
    read_elements(x, &found)
    for i in range(x.numel):
        total += element_at(&found, i).integer
    return total


cdef TensorBase device_min_max(TensorBase x):
    """A tensor of the smallest and the largest element."""
    cdef Argument arguments[5]
    cdef Shape none
    none.ndim = 0
    extremes = empty_vector(2, x.dtype, x)
    least, most = element_view(extremes, 0), element_view(extremes, 1)
    arguments[0].object, arguments[1].ints, arguments[2].integer = <PyObject *>x, &none, False
    arguments[3].object, arguments[4].object = <PyObject *>least, <PyObject *>most
    run_kernel(AMINMAX_OPERATOR, x.device_type, arguments, x.dtype)
    return extremes


cdef int read_min_max(TensorBase x, int64_t *least, int64_t *most) except -1:
    cdef HostElements found
    cdef int64_t i, number
    if not is_read_directly(x):
        x = device_min_max(x)
    read_elements(x, &found)
    least[0] = most[0] = element_at(&found, 0).integer
    for i in range(1, x.numel):
        number = element_at(&found, i).integer
        least[0], most[0] = min(least[0], number), max(most[0], number)
    return 0


cdef str list_text(const Shape *values):
    return shape_text(values.ndim, values.sizes)


cdef str size_text(TensorBase tensor):
    return shape_text(tensor.ndim, tensor.sizes)


cdef inline int64_t floor_div(int64_t a, int64_t b) noexcept:
    cdef int64_t quotient = a // b if a >= 0 else -((-a + b - 1) // b)
    return quotient


cdef str sizes_by_side(list sizes):
    return ", ".join([f"{side}: {size}" for side, size in zip(("D", "H", "W")[-len(sizes):], sizes)])
