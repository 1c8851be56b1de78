# Rules of what moves or repeats elements along dimensions. `dim` and `output_size` have one entry, or none where
# they are not given: then the operator works on all elements in a line.
from libc.stdint cimport int64_t

from mindtorch._core.operators.operator cimport raise_not_implemented
from mindtorch._core.rules.infer cimport same_shape, wrap_dim, wrap_dims
from mindtorch._core.tensor.dtype cimport Int, Long, ScalarType
from mindtorch._core.tensor.tensor cimport Shape, shape_text


cdef int check_flip(TensorBase self, const Shape *dims) except -1:
    """The dimensions must be in range, and differ."""
    cdef Shape wrapped = dims[0]
    return wrap_dims(&wrapped, self.ndim)


cdef int check_roll(TensorBase self, const Shape *shifts, const Shape *dims) except -1:
    """There must be a shift for each dimension, or one shift alone."""
    cdef int i
    if shifts.ndim == 0:
        raise RuntimeError("`shifts` required")
    if shifts.ndim != dims.ndim and (dims.ndim or shifts.ndim > 1):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {shifts.ndim}, dims:{dims.ndim}")
    if self.ndim == 0 and dims.ndim:
        raise IndexError(f"Dimension specified as {dims.sizes[0]} but tensor has no dimensions")
    for i in range(dims.ndim if self.numel else 0):
        wrap_dim(dims.sizes[i], self.ndim)
    return 0


cdef int repeat_shape(Shape *shape, TensorBase self, const Shape *repeats) except -1:
    """The sizes times `repeats`, aligned at the last dimension."""
    cdef int i, leading = repeats.ndim - self.ndim
    if leading < 0:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    shape.ndim = repeats.ndim
    for i in range(repeats.ndim):
        shape.sizes[i] = repeats.sizes[i] * (self.sizes[i - leading] if i >= leading else 1)
    for i in range(repeats.ndim):
        if shape.sizes[i] < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {shape.sizes[i]}: "
                               f"{shape_text(shape.ndim, shape.sizes)}")
    return 0


cdef int vector_or_same(Shape *shape, TensorBase self, const Shape *dim) except -1:
    """Set `shape` to self's, or without `dim` to that of all elements in a line; returns the dimension to repeat in."""
    if dim.ndim == 0:
        shape.ndim = 1
        shape.sizes[0] = self.numel
        return 0
    if self.ndim == 0:
        raise IndexError(f"Dimension specified as {dim.sizes[0]} but tensor has no dimensions")
    same_shape(shape, self)
    return <int>wrap_dim(dim.sizes[0], self.ndim)


cdef int repeat_interleave_int(Shape *shape, TensorBase self, int64_t repeats, const Shape *dim,
                               const Shape *output_size) except -1:
    """The size along `dim` is multiplied by `repeats`; without `dim` the number of elements is."""
    cdef int axis = vector_or_same(shape, self, dim)
    if repeats < 0:
        raise RuntimeError("Repeats must be non-negative")
    shape.sizes[axis] *= repeats
    if output_size.ndim and output_size.sizes[0] != shape.sizes[axis]:
        raise RuntimeError(f"repeat_interleave: Invalid output_size, expected {shape.sizes[axis]} but got "
                           f"{output_size.sizes[0]}")
    return 0


cdef int check_repeats_dtype(ScalarType dtype) except -1:
    if dtype != Long and dtype != Int:
        raise_not_implemented("repeat_interleave_cpu", dtype)
    return 0


cdef int64_t sum_of_repeats(TensorBase repeats, const Shape *output_size) except -1:
    cdef int64_t found
    if repeats.numel == 0:
        return 0
    if output_size.ndim:
        if output_size.sizes[0] < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {output_size.sizes[0]}")
        return output_size.sizes[0]
    found = read_sum(repeats)
    if found < 0 or (found == 0 and repeats.min().item() < 0):
        raise RuntimeError("repeats can not be negative")
    return found


cdef int check_repeat_interleave(TensorBase self, TensorBase repeats, const Shape *dim) except -1:
    """`repeats` must be one integer, or one for each index along `dim`."""
    cdef Shape shape
    cdef int axis
    if repeats.ndim > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    axis = vector_or_same(&shape, self, dim)
    if repeats.numel != 1 and repeats.numel != shape.sizes[axis]:
        raise RuntimeError(f"repeats must have the same size as input along dim, but got repeats.size(0) = "
                           f"{repeats.numel} and input.size({axis}) = {shape.sizes[axis]}")
    return check_repeats_dtype(repeats.dtype)


cdef int repeat_interleave(Shape *shape, TensorBase self, TensorBase repeats, const Shape *dim,
                           const Shape *output_size) except -1:
    """The size along `dim` is the sum of `repeats`, which the host reads unless output_size is given."""
    cdef int axis = vector_or_same(shape, self, dim)
    cdef bint one_for_all = repeats.numel == 1 and not output_size.ndim
    shape.sizes[axis] = sum_of_repeats(repeats, output_size) * (shape.sizes[axis] if one_for_all else 1)
    return 0


cdef int check_repeat_vector(TensorBase repeats) except -1:
    """`repeats` must be a vector of int32 or int64."""
    if repeats.ndim != 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    return check_repeats_dtype(repeats.dtype)


cdef int repeat_interleave_indices(Shape *shape, TensorBase repeats, const Shape *output_size) except -1:
    """(n,): the sum of `repeats`, which the host reads unless output_size is given."""
    shape.ndim = 1
    shape.sizes[0] = sum_of_repeats(repeats, output_size)
    return 0


cdef int check_channel_shuffle(TensorBase self, int64_t groups) except -1:
    """Refuses fewer than 3 dimensions, and groups that do not divide the channels."""
    if self.ndim < 3:
        raise RuntimeError("channel_shuffle expects input with > 2 dims, but got input with sizes "
                           f"{shape_text(self.ndim, self.sizes)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    if self.sizes[1] % groups:
        raise RuntimeError("Number of channels must be divisible by groups. Got "
                           f"{self.sizes[1]} channels and {groups} groups.")
    return 0
