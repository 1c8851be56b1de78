"""Sums and extremes that the host reads; each is a kernel by itself. readings.pxd."""
from mindtorch._core._gen.kernels cimport KERNELS
from mindtorch._core.scalar cimport Long, Scalar
from mindtorch._core.tensor cimport Shape, empty_tensor, make_view
from mindtorch._core.values cimport read_scalar, read_scalars


cdef int64_t read_sum(TensorBase x) except? -1:
    cdef Shape none
    cdef Scalar value
    none.ndim = 0
    total = empty_tensor(&none, Long, x.device_type, x.device_index)
    KERNELS[x.device_type].sum_dim_IntList(x, &none, False, Long, total)
    read_scalar(total, &value)
    return value.integer


cdef double read_largest(TensorBase x) except? -1:
    cdef Shape none
    cdef Scalar value
    none.ndim = 0
    largest = empty_tensor(&none, x.dtype, x.device_type, x.device_index)
    KERNELS[x.device_type].max(x, largest)
    read_scalar(largest, &value)
    return value.real


cdef int read_extremes(TensorBase x, int64_t *least, int64_t *most) except -1:
    cdef Shape none
    cdef Shape pair
    cdef Scalar[2] values
    none.ndim, pair.ndim = 0, 1
    pair.sizes[0] = 2
    both = empty_tensor(&pair, x.dtype, x.device_type, x.device_index)
    first, second = make_view(both, 0, NULL, NULL, 0), make_view(both, 0, NULL, NULL, 1)
    KERNELS[x.device_type].aminmax(x, &none, False, first, second)
    read_scalars(both, values)
    least[0], most[0] = values[0].integer, values[1].integer
    return 0
