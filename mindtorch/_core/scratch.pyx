"""Memory for formulas that run kernels by themselves: mindtorch/_core/_gen/direct.pyx."""
from mindtorch._core.scalar cimport Bool
from mindtorch._core.space cimport same_sizes, shape_of
from mindtorch._core.tensor cimport Shape, TensorBase, empty_tensor


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
    return out if out.dtype == x.dtype and same_sizes(out, x) else room(x)
