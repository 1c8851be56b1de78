"""Memory and shapes for formulas that run kernels by themselves: mindtorch/_core/_gen/direct.pyx."""
from libc.stdint cimport int64_t

from mindtorch._core._gen.kernels cimport KERNELS
from mindtorch._core.scalar cimport Bool, Scalar, ScalarType, scalar_from
from mindtorch._core.tensor cimport Shape, TensorBase, empty_tensor, make_view


cdef int shape_of(Shape *shape, TensorBase x) except -1:
    cdef int i
    shape.ndim = x.ndim
    for i in range(x.ndim):
        shape.sizes[i] = x.sizes[i]
    return 0


def room(TensorBase x not None):
    """Memory of its shape and dtype."""
    cdef Shape shape
    shape_of(&shape, x)
    return empty_tensor(&shape, x.dtype, x.device_type, x.device_index)


def room_for_truth(TensorBase x not None):
    """Memory for a truth value an element."""
    cdef Shape shape
    shape_of(&shape, x)
    return empty_tensor(&shape, Bool, x.device_type, x.device_index)


def room_in(TensorBase out not None, TensorBase x not None):
    """Memory of its shape and dtype: `out`, where that is such memory."""
    cdef int i
    if out.ndim != x.ndim or out.dtype != x.dtype:
        return room(x)
    for i in range(x.ndim):
        if out.sizes[i] != x.sizes[i]:
            return room(x)
    return out


def column(TensorBase x not None):
    """The elements as the rows of a table, one number each."""
    cdef Shape shape
    cdef Shape strides
    cdef int i
    shape_of(&shape, x)
    for i in range(x.ndim):
        strides.sizes[i] = x.strides[i]
    shape.sizes[shape.ndim] = 1
    strides.sizes[shape.ndim] = 1
    return make_view(x, shape.ndim + 1, shape.sizes, strides.sizes, x.offset)


def total(TensorBase table not None, TensorBase weights, TensorBase out not None):
    """Each row's sum, times the weights where there are any: the table's memory takes the products."""
    cdef Shape last
    if weights is not None:
        KERNELS[out.device_type].mul_Tensor(table, weights, table)
    last.ndim = 1
    last.sizes[0] = table.ndim - 1
    KERNELS[out.device_type].sum_dim_IntList(table, &last, False, out.dtype, out)
    return out


cdef TensorBase in_lines(TensorBase x, int64_t width, ScalarType dtype):
    cdef int64_t parts = 1 if x.dtype == dtype else 2
    cdef int64_t sizes[2]
    cdef TensorBase view
    sizes[0], sizes[1] = x.numel * parts // width, width
    view = make_view(x, 2, sizes, NULL, x.offset * parts)
    view.dtype = dtype
    return view


def product(TensorBase x not None, TensorBase matrix not None, TensorBase out not None):
    """Lines of numbers, as many as the matrix has rows, times it. Complex numbers are two each. All are contiguous."""
    KERNELS[out.device_type].matmul(in_lines(x, matrix.sizes[0], matrix.dtype), matrix,
                                    in_lines(out, matrix.sizes[1], matrix.dtype))
    return out


def neighbours(TensorBase x not None, int dim, int64_t width, int64_t step, double first):
    """For each element so many, `step` apart along `dim`, the last of which it is; what lies before all is `first`."""
    cdef Shape shape
    cdef Shape strides
    cdef Shape sides
    cdef Scalar number
    cdef TensorBase padded
    cdef int i
    scalar_from(first, &number)
    shape_of(&shape, x)
    shape.sizes[dim] += step * (width - 1)
    padded = empty_tensor(&shape, x.dtype, x.device_type, x.device_index)
    sides.ndim = 2 * x.ndim
    for i in range(sides.ndim):
        sides.sizes[i] = 0
    sides.sizes[2 * (x.ndim - 1 - dim)] = step * (width - 1)
    KERNELS[x.device_type].constant_pad_nd(x, &sides, &number, padded)
    shape.sizes[dim] = x.sizes[dim]
    for i in range(x.ndim):
        strides.sizes[i] = padded.strides[i]
    shape.sizes[x.ndim] = width
    strides.sizes[x.ndim] = step * padded.strides[dim]
    return make_view(padded, x.ndim + 1, shape.sizes, strides.sizes, 0)
