"""What moves elements along dimensions: the shapes that come of it, and torch's errors."""
from mindtorch._core.dtype cimport code_name
from mindtorch._core.infer cimport same, wrap_dim, wrap_dims
from mindtorch._core.readings cimport read_sum
from mindtorch._core.scalar cimport Bool, Int, Long
from mindtorch._core.tensor cimport shape_text


cdef int check_flip(TensorBase self, const Shape *dims) except -1:
    cdef Shape wrapped = dims[0]
    return wrap_dims(&wrapped, self.ndim)


cdef int check_roll(TensorBase self, const Shape *shifts, const Shape *dims) except -1:
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


cdef int repeated(Shape *shape, TensorBase self, const Shape *repeats) except -1:
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


# --- repeat_interleave -----------------------------------------------------------------------------------------------

cdef int line_or_same(Shape *shape, TensorBase self, const Shape *dim) except -1:
    """The shape that is repeated in: self's, or that of all its elements in a line. Returns the dimension."""
    if dim.ndim == 0:
        shape.ndim = 1
        shape.sizes[0] = self.numel
        return 0
    if self.ndim == 0:
        raise IndexError(f"Dimension specified as {dim.sizes[0]} but tensor has no dimensions")
    same(shape, self)
    return <int>wrap_dim(dim.sizes[0], self.ndim)


cdef int interleaved_evenly(Shape *shape, TensorBase self, int64_t repeats, const Shape *dim,
                            const Shape *output_size) except -1:
    cdef int place = line_or_same(shape, self, dim)
    if repeats < 0:
        raise RuntimeError("Repeats must be non-negative")
    shape.sizes[place] *= repeats
    if output_size.ndim and output_size.sizes[0] != shape.sizes[place]:
        raise RuntimeError(f"repeat_interleave: Invalid output_size, expected {shape.sizes[place]} but got "
                           f"{output_size.sizes[0]}")
    return 0


cdef int check_counts(ScalarType dtype) except -1:
    if dtype != Long and dtype != Int:
        raise NotImplementedError(f"\"repeat_interleave_cpu\" not implemented for '{code_name(dtype)}'")
    return 0


cdef int64_t total(TensorBase repeats, const Shape *output_size) except -1:
    cdef int64_t found
    if output_size.ndim:
        return output_size.sizes[0]
    found = read_sum(repeats) if repeats.numel else 0
    if found < 0:
        raise RuntimeError("repeats can not be negative")
    return found


cdef int check_repeats(TensorBase self, TensorBase repeats, const Shape *dim) except -1:
    cdef Shape shape
    cdef int place = line_or_same(&shape, self, dim)
    if repeats.ndim > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    if repeats.numel != 1 and repeats.numel != shape.sizes[place]:
        raise RuntimeError(f"repeats must have the same size as input along dim, but got repeats.size(0) = "
                           f"{repeats.numel} and input.size({place}) = {shape.sizes[place]}")
    return check_counts(repeats.dtype)


cdef int interleaved(Shape *shape, TensorBase self, TensorBase repeats, const Shape *dim,
                     const Shape *output_size) except -1:
    cdef int place = line_or_same(shape, self, dim)
    cdef bint one_for_all = repeats.numel == 1 and not output_size.ndim
    shape.sizes[place] = total(repeats, output_size) * (shape.sizes[place] if one_for_all else 1)
    return 0


cdef int check_places(TensorBase repeats) except -1:
    if repeats.ndim != 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    return check_counts(repeats.dtype)


cdef int interleaved_places(Shape *shape, TensorBase repeats, const Shape *output_size) except -1:
    shape.ndim = 1
    shape.sizes[0] = total(repeats, output_size)
    return 0


# --- matrices --------------------------------------------------------------------------------------------------------

cdef int check_triangular(TensorBase self, str op) except -1:
    if self.ndim < 2:
        raise RuntimeError(f"{op}: input tensor must have at least 2 dimensions")
    return 0


cdef int check_trace(TensorBase self) except -1:
    if self.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {self.ndim}")
    if self.dtype == Bool:
        raise NotImplementedError("\"trace\" not implemented for 'Bool'")
    return 0


# --- images ----------------------------------------------------------------------------------------------------------

cdef int check_channel_shuffle(TensorBase self, int64_t groups) except -1:
    if self.ndim < 3:
        raise RuntimeError("channel_shuffle expects input with > 2 dims, but got input with sizes "
                           f"{shape_text(self.ndim, self.sizes)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    if self.sizes[1] % groups:
        raise RuntimeError("Number of channels must be divisible by groups. Got "
                           f"{self.sizes[1]} channels and {groups} groups.")
    return 0
