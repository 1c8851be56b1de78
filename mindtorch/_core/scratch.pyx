"""Memory and shapes for formulas that run kernels by themselves: mindtorch/_core/_gen/direct.pyx."""
from mindtorch._core._gen.kernels cimport KERNELS
from mindtorch._core.scalar cimport Bool
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
