"""Views: new geometry over the same storage. No function here copies, except reshape where no view can do it.

They check what torch checks of sizes and dims; view_functions.pyx reads the Python arguments.
"""
from libc.string cimport memcpy

from mindtorch._core._gen.records cimport (
    record_diagonal, record_expand, record_permute, record_select_int, record__slice, record_split_Tensor,
    record_squeeze, record_transpose_int, record_unbind_int, record_unsqueeze, record_view, record_view_as_complex,
    record_view_as_real)
from mindtorch._core.autograd cimport tracked
from mindtorch._core.dispatch cimport complex_dtype, real_dtype
from mindtorch._core.dtype cimport ITEMSIZE, KIND, code_name
from mindtorch._core.infer cimport same, wrap_dim, wrap_dims
from mindtorch._core.moves cimport contiguous, type_string
from mindtorch._core.recording cimport recording_view
from mindtorch._core.scalar cimport COMPLEX_KIND, Double, Float, ScalarType
from mindtorch._core.tensor cimport MAX_DIMS, make_tensor, make_view, shape_text


# --- view and reshape ------------------------------------------------------------------------------------------------

cdef int infer_size(TensorBase self, Shape *shape) except -1:
    """Replace a -1 in `shape` and check that the element counts agree."""
    cdef int64_t known = 1
    cdef int i, unknown = -1
    for i in range(shape.ndim):
        if shape.sizes[i] == -1:
            if unknown >= 0:
                raise RuntimeError("only one dimension can be inferred")
            unknown = i
        elif shape.sizes[i] < 0:
            raise RuntimeError(f"invalid shape dimension {shape.sizes[i]} at index {i} of shape "
                               f"{shape_text(shape.ndim, shape.sizes)}")
        else:
            known *= shape.sizes[i]
    if self.numel != known and (unknown < 0 or known == 0 or self.numel % known):
        raise RuntimeError(f"shape '{shape_text(shape.ndim, shape.sizes)}' is invalid for input of size {self.numel}")
    if unknown >= 0:
        if known == 0:
            raise RuntimeError(
                f"cannot reshape tensor of 0 elements into shape {shape_text(shape.ndim, shape.sizes)} because the "
                f"unspecified dimension size -1 can be any value and is ambiguous")
        shape.sizes[unknown] = self.numel // known
    return 0


cdef bint view_strides(TensorBase self, const Shape *shape, int64_t *strides) noexcept nogil:
    """Strides that show self's elements in `shape`; False where only a copy can.

    Old and new dimensions are walked from the last. A run of old dimensions that lie contiguously forms a chunk, which
    new dimensions may divide in any way; no new dimension may reach across two chunks.
    """
    cdef int new = shape.ndim - 1, old
    cdef int64_t base, chunk = 1, viewed = 1
    if self.numel == 0:
        if shape.ndim == self.ndim and keeps_sizes(self, shape):
            memcpy(strides, self.strides, self.ndim * sizeof(int64_t))
        else:
            fill_contiguous(shape, strides)
        return True
    if self.ndim == 0:
        fill_contiguous(shape, strides)
        return True
    base = self.strides[self.ndim - 1]
    for old in range(self.ndim - 1, -1, -1):
        chunk *= self.sizes[old]
        if old == 0 or (self.sizes[old - 1] != 1 and self.strides[old - 1] != chunk * base):
            while new >= 0 and (viewed < chunk or shape.sizes[new] == 1):
                strides[new] = viewed * base
                viewed *= shape.sizes[new]
                new -= 1
            if viewed != chunk:
                return False
            if old > 0:
                base = self.strides[old - 1]
                chunk = 1
                viewed = 1
    return new == -1


cdef bint keeps_sizes(TensorBase self, const Shape *shape) noexcept nogil:
    cdef int i
    for i in range(self.ndim):
        if self.sizes[i] != shape.sizes[i]:
            return False
    return True


cdef void fill_contiguous(const Shape *shape, int64_t *strides) noexcept nogil:
    cdef int64_t stride = 1
    cdef int i
    for i in range(shape.ndim - 1, -1, -1):
        strides[i] = stride
        if shape.sizes[i] > 1:
            stride *= shape.sizes[i]


cdef TensorBase view_shape(TensorBase self, Shape *shape):
    cdef int64_t strides[MAX_DIMS]
    infer_size(self, shape)
    if self.contiguous and self.numel != 0:
        return viewed(self, make_view(self, shape.ndim, shape.sizes, NULL, self.offset))
    if not view_strides(self, shape, strides):
        raise RuntimeError("view size is not compatible with input tensor's size and stride (at least one dimension "
                           "spans across two contiguous subspaces). Use .reshape(...) instead.")
    return viewed(self, make_view(self, shape.ndim, shape.sizes, strides, self.offset))


cdef inline TensorBase viewed(TensorBase self, TensorBase view):
    if tracked(self) and recording_view(self, (view,)):
        record_view(self, NULL, view)
    return view


cdef TensorBase reshape_to(TensorBase self, Shape *shape):
    cdef int64_t strides[MAX_DIMS]
    infer_size(self, shape)
    if view_strides(self, shape, strides):
        return viewed(self, make_view(self, shape.ndim, shape.sizes, strides, self.offset))
    self = contiguous(self)
    return viewed(self, make_view(self, shape.ndim, shape.sizes, NULL, self.offset))


cdef TensorBase view_dtype(TensorBase self, ScalarType code):
    """The same bytes as elements of another dtype; the last dimension grows or shrinks with the item size."""
    cdef Shape shape
    cdef int64_t strides[MAX_DIMS]
    cdef int64_t old_size = ITEMSIZE[<int>self.dtype], new_size = ITEMSIZE[<int>code]
    cdef int64_t ratio
    cdef int i, last = self.ndim - 1
    if old_size == new_size:
        return make_tensor(self.storage, code, self.ndim, self.sizes, self.strides, self.offset)
    what = f"to view {code_name(self.dtype)} as {code_name(code)} (different element sizes)"
    if self.ndim == 0:
        raise RuntimeError(f"self.dim() cannot be 0 {what}")
    if self.strides[last] != 1:
        raise RuntimeError(f"self.stride(-1) must be 1 {what}, but got {self.strides[last]}")
    same(&shape, self)
    if old_size > new_size:
        ratio = old_size // new_size
        for i in range(last):
            strides[i] = self.strides[i] * ratio
        strides[last] = 1
        shape.sizes[last] *= ratio
        return make_tensor(self.storage, code, self.ndim, shape.sizes, strides, self.offset * ratio)
    ratio = new_size // old_size
    if shape.sizes[last] % ratio:
        raise RuntimeError(f"self.size(-1) must be divisible by {ratio} {what}, but got {shape.sizes[last]}")
    if self.offset % ratio:
        raise RuntimeError(f"self.storage_offset() must be divisible by {ratio} {what}, but got {self.offset}")
    for i in range(last):
        if self.strides[i] % ratio:
            raise RuntimeError(f"self.stride({i}) must be divisible by {ratio} {what}, but got {self.strides[i]}")
        strides[i] = self.strides[i] // ratio
    strides[last] = 1
    shape.sizes[last] //= ratio
    return make_tensor(self.storage, code, self.ndim, shape.sizes, strides, self.offset // ratio)


cdef TensorBase parts_of(TensorBase self):
    """A complex tensor as a real one with a last dimension of two."""
    cdef int64_t sizes[MAX_DIMS + 1]
    cdef int64_t strides[MAX_DIMS + 1]
    cdef TensorBase view
    cdef int i
    if KIND[<int>self.dtype] != COMPLEX_KIND:
        raise RuntimeError("view_as_real is only supported for complex tensors")
    for i in range(self.ndim):
        sizes[i] = self.sizes[i]
        strides[i] = 2 * self.strides[i]
    sizes[self.ndim], strides[self.ndim] = 2, 1
    view = make_view(self, self.ndim + 1, sizes, strides, 2 * self.offset)
    view.dtype = real_dtype(self.dtype)
    if tracked(self) and recording_view(self, (view,)):
        record_view_as_real(self, view)
    return view


cdef TensorBase whole_of(TensorBase self):
    """A real tensor with a last dimension of two as a complex one."""
    cdef int64_t strides[MAX_DIMS]
    cdef TensorBase view
    cdef int i, last = self.ndim - 1
    if self.dtype != Float and self.dtype != Double:
        raise RuntimeError("view_as_complex is only supported for half, float and double tensors, but got a tensor of "
                           f"scalar type: {code_name(self.dtype)}")
    if self.ndim == 0:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if self.sizes[last] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if self.strides[last] != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    for i in range(last):
        if self.strides[i] % 2:
            raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
        strides[i] = self.strides[i] // 2
    if self.offset % 2:
        raise RuntimeError("Tensor must have a storage_offset divisible by 2")
    view = make_view(self, last, self.sizes, strides, self.offset // 2)
    view.dtype = complex_dtype(self.dtype)
    if tracked(self) and recording_view(self, (view,)):
        record_view_as_complex(self, view)
    return view


cdef TensorBase flatten_dims(TensorBase self, int64_t start, int64_t end):
    cdef Shape shape
    cdef int64_t merged = 1
    cdef int i
    start = wrap_dim(start, self.ndim)
    end = wrap_dim(end, self.ndim)
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if self.ndim == 0:
        shape.ndim = 1
        shape.sizes[0] = 1
        return reshape_to(self, &shape)
    if start == end:
        return self
    for i in range(start, end + 1):
        merged *= self.sizes[i]
    shape.ndim = self.ndim - (end - start)
    for i in range(start):
        shape.sizes[i] = self.sizes[i]
    shape.sizes[start] = merged
    for i in range(end + 1, self.ndim):
        shape.sizes[i - (end - start)] = self.sizes[i]
    return reshape_to(self, &shape)


cdef TensorBase unflatten_dim(TensorBase self, int64_t dim, Shape *parts):
    cdef Shape shape
    cdef int64_t product = 1
    cdef int i, unknown = -1
    if parts.ndim == 0:
        raise RuntimeError("unflatten: sizes must be non-empty")
    dim = wrap_dim(dim, self.ndim)
    for i in range(parts.ndim):
        if parts.sizes[i] == -1:
            if unknown >= 0:
                raise RuntimeError("only one dimension can be inferred")
            unknown = i
        else:
            product *= parts.sizes[i]
    if product != self.sizes[dim] and (unknown < 0 or product == 0 or self.sizes[dim] % product):
        raise RuntimeError(f"unflatten: Provided sizes {shape_text(parts.ndim, parts.sizes)} don't multiply up to the "
                           f"size of dim {dim} ({self.sizes[dim]}) in the input tensor")
    if unknown >= 0:
        parts.sizes[unknown] = self.sizes[dim] // product
    shape.ndim = self.ndim - 1 + parts.ndim
    for i in range(dim):
        shape.sizes[i] = self.sizes[i]
    for i in range(parts.ndim):
        shape.sizes[dim + i] = parts.sizes[i]
    for i in range(dim + 1, self.ndim):
        shape.sizes[i - 1 + parts.ndim] = self.sizes[i]
    return view_shape(self, &shape)


# --- order of dimensions ---------------------------------------------------------------------------------------------

cdef TensorBase transpose_dims(TensorBase self, int64_t dim0, int64_t dim1):
    cdef int64_t sizes[MAX_DIMS]
    cdef int64_t strides[MAX_DIMS]
    cdef TensorBase view
    dim0 = wrap_dim(dim0, self.ndim)
    dim1 = wrap_dim(dim1, self.ndim)
    memcpy(sizes, self.sizes, self.ndim * sizeof(int64_t))
    memcpy(strides, self.strides, self.ndim * sizeof(int64_t))
    if self.ndim:
        sizes[dim0], sizes[dim1] = sizes[dim1], sizes[dim0]
        strides[dim0], strides[dim1] = strides[dim1], strides[dim0]
    view = make_view(self, self.ndim, sizes, strides, self.offset)
    if tracked(self) and recording_view(self, (view,)):
        record_transpose_int(self, dim0, dim1, view)
    return view


cdef TensorBase transpose_matrix(TensorBase self):
    if self.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {self.ndim}D")
    return transpose_dims(self, 0, 0 if self.ndim < 2 else 1)


cdef TensorBase permute_dims(TensorBase self, Shape *dims):
    cdef int64_t sizes[MAX_DIMS]
    cdef int64_t strides[MAX_DIMS]
    cdef TensorBase view
    cdef int i
    if dims.ndim != self.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {self.ndim} is not equal to len(dims) = {dims.ndim}")
    if repeats(dims, self.ndim):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    for i in range(self.ndim):
        sizes[i] = self.sizes[dims.sizes[i]]
        strides[i] = self.strides[dims.sizes[i]]
    view = make_view(self, self.ndim, sizes, strides, self.offset)
    if tracked(self) and recording_view(self, (view,)):
        record_permute(self, dims, view)
    return view


cdef int repeats(Shape *dims, int ndim) except -1:
    """Wraps the dims in place and tells whether one comes twice."""
    cdef bint seen[MAX_DIMS]
    cdef int i
    for i in range(MAX_DIMS):
        seen[i] = False
    for i in range(dims.ndim):
        dims.sizes[i] = wrap_dim(dims.sizes[i], ndim)
        if seen[dims.sizes[i]]:
            return 1
        seen[dims.sizes[i]] = True
    return 0


cdef TensorBase move_dims(TensorBase self, Shape *source, Shape *destination):
    cdef Shape order
    cdef bint taken[MAX_DIMS]
    cdef int i, free = 0
    if source.ndim != destination.ndim:
        raise RuntimeError(
            "movedim: Invalid source or destination dims: source "
            f"({shape_text(source.ndim, source.sizes)} dims) should contain the same number of dims as destination "
            f"({shape_text(destination.ndim, destination.sizes)} dims)")
    text = shape_text(source.ndim, source.sizes)
    if repeats(source, self.ndim):
        raise RuntimeError(f"movedim: repeated dim in `source` ({text})")
    text = shape_text(destination.ndim, destination.sizes)
    if repeats(destination, self.ndim):
        raise RuntimeError(f"movedim: repeated dim in `destination` ({text})")
    order.ndim = self.ndim
    for i in range(self.ndim):
        order.sizes[i] = -1
        taken[i] = False
    for i in range(source.ndim):
        order.sizes[destination.sizes[i]] = source.sizes[i]
        taken[source.sizes[i]] = True
    for i in range(self.ndim):
        if not taken[i]:
            while order.sizes[free] != -1:
                free += 1
            order.sizes[free] = i
    return permute_dims(self, &order)


# --- dimensions of size 1, expansion ---------------------------------------------------------------------------------

cdef TensorBase squeeze_dims(TensorBase self, Shape *dims):
    cdef int64_t sizes[MAX_DIMS]
    cdef int64_t strides[MAX_DIMS]
    cdef bint chosen[MAX_DIMS]
    cdef TensorBase view
    cdef int i, kept = 0
    wrap_dims(dims, self.ndim)
    for i in range(self.ndim):
        chosen[i] = False
    if self.ndim > 0:
        for i in range(dims.ndim):
            chosen[dims.sizes[i]] = True
    for i in range(self.ndim):
        if not chosen[i] or self.sizes[i] != 1:
            sizes[kept] = self.sizes[i]
            strides[kept] = self.strides[i]
            kept += 1
    view = make_view(self, kept, sizes, strides, self.offset)
    if tracked(self) and recording_view(self, (view,)):
        record_squeeze(self, view)
    return view


cdef TensorBase unsqueeze_dim(TensorBase self, int64_t dim):
    cdef int64_t sizes[MAX_DIMS + 1]
    cdef int64_t strides[MAX_DIMS + 1]
    cdef TensorBase view
    cdef int i
    dim = wrap_dim(dim, self.ndim + 1)
    for i in range(dim):
        sizes[i] = self.sizes[i]
        strides[i] = self.strides[i]
    sizes[dim] = 1
    strides[dim] = self.sizes[dim] * self.strides[dim] if dim < self.ndim else 1
    for i in range(dim, self.ndim):
        sizes[i + 1] = self.sizes[i]
        strides[i + 1] = self.strides[i]
    view = make_view(self, self.ndim + 1, sizes, strides, self.offset)
    if tracked(self) and recording_view(self, (view,)):
        record_unsqueeze(self, dim, view)
    return view


cdef int cannot_expand(TensorBase self, const Shape *shape, int at, int64_t size) except -1:
    raise RuntimeError(
        f"The expanded size of the tensor ({shape.sizes[at]}) must match the existing size ({size}) at non-singleton "
        f"dimension {at}.  Target sizes: {shape_text(shape.ndim, shape.sizes)}.  "
        f"Tensor sizes: {shape_text(self.ndim, self.sizes)}")


cdef TensorBase expand_to(TensorBase self, const Shape *shape):
    cdef int64_t sizes[MAX_DIMS]
    cdef int64_t strides[MAX_DIMS]
    cdef TensorBase view
    cdef int i, own, added = shape.ndim - self.ndim
    if added < 0:
        raise RuntimeError(
            f"expand({type_string(self)}{{{shape_text(self.ndim, self.sizes)}}}, "
            f"size={shape_text(shape.ndim, shape.sizes)}): the number of sizes provided ({shape.ndim}) must be greater "
            f"or equal to the number of dimensions in the tensor ({self.ndim})")
    for i in range(shape.ndim - 1, -1, -1):
        own = i - added
        sizes[i] = shape.sizes[i]
        if own < 0:
            if sizes[i] < 0:
                raise RuntimeError(f"The expanded size of the tensor ({sizes[i]}) isn't allowed in a leading, "
                                   f"non-existing dimension {i}")
            # The stride that a contiguous new dimension of size 1 would have; 0 once it repeats.
            strides[i] = sizes[i + 1] * strides[i + 1] if sizes[i] == 1 and self.ndim else 0
        elif sizes[i] == -1 or sizes[i] == self.sizes[own]:
            sizes[i] = self.sizes[own]
            strides[i] = self.strides[own]
        elif self.sizes[own] == 1 and sizes[i] >= 0:
            strides[i] = 0
        else:
            cannot_expand(self, shape, i, self.sizes[own])
    view = make_view(self, shape.ndim, sizes, strides, self.offset)
    if tracked(self) and recording_view(self, (view,)):
        record_expand(self, NULL, False, view)
    return view


# --- parts -----------------------------------------------------------------------------------------------------------

cdef TensorBase select_dim(TensorBase self, int64_t dim, int64_t index):
    cdef TensorBase view
    cdef int64_t size
    if self.ndim == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, self.ndim)
    size = self.sizes[dim]
    if index < -size or index >= size:
        raise IndexError(f"select(): index {index} out of range for tensor of size "
                         f"{shape_text(self.ndim, self.sizes)} at dimension {dim}")
    if index < 0:
        index += size
    view = selected(self, dim, index)
    if tracked(self) and recording_view(self, (view,)):
        record_select_int(self, dim, index, view)
    return view


cdef TensorBase selected(TensorBase self, int64_t dim, int64_t index):
    cdef int64_t sizes[MAX_DIMS]
    cdef int64_t strides[MAX_DIMS]
    cdef int i
    for i in range(dim):
        sizes[i] = self.sizes[i]
        strides[i] = self.strides[i]
    for i in range(dim + 1, self.ndim):
        sizes[i - 1] = self.sizes[i]
        strides[i - 1] = self.strides[i]
    return make_view(self, self.ndim - 1, sizes, strides, self.offset + index * self.strides[dim])


cdef TensorBase slice_dim(TensorBase self, int dim, int64_t start, int64_t length, int64_t step):
    cdef TensorBase view = sliced(self, dim, start, length, step)
    if tracked(self) and recording_view(self, (view,)):
        record__slice(self, dim, start, length, step, view)
    return view


cdef TensorBase sliced(TensorBase self, int dim, int64_t start, int64_t length, int64_t step):
    cdef int64_t sizes[MAX_DIMS]
    cdef int64_t strides[MAX_DIMS]
    memcpy(sizes, self.sizes, self.ndim * sizeof(int64_t))
    memcpy(strides, self.strides, self.ndim * sizeof(int64_t))
    sizes[dim] = length
    strides[dim] *= step
    return make_view(self, self.ndim, sizes, strides, self.offset + start * self.strides[dim])


cdef TensorBase narrow_dim(TensorBase self, int64_t dim, int64_t start, int64_t length):
    cdef int64_t size
    if self.ndim == 0:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    dim = wrap_dim(dim, self.ndim)
    size = self.sizes[dim]
    if start < -size or start > size:
        raise IndexError(
            f"start out of range (expected to be in range of [{-size}, {size}], but got {start})")
    if start < 0:
        start += size
    if start + length > size:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return slice_dim(self, dim, start, length, 1)


cdef tuple unbind_dim(TensorBase self, int64_t dim):
    if self.ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    dim = wrap_dim(dim, self.ndim)
    views = [selected(self, dim, i) for i in range(self.sizes[dim])]
    if tracked(self) and recording_view(self, views):
        record_unbind_int(self, dim, views)
    return tuple(views)


cdef tuple parted(TensorBase self, int64_t dim, list views):
    if tracked(self) and recording_view(self, views):
        record_split_Tensor(self, 0, dim, views)
    return tuple(views)


cdef tuple split_evenly(TensorBase self, int64_t size, int64_t dim):
    cdef int64_t total, start
    if self.ndim == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    if size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
    dim = wrap_dim(dim, self.ndim)
    total = self.sizes[dim]
    if total == 0:
        return (slice_dim(self, dim, 0, 0, 1),)
    if size == 0:
        raise RuntimeError(
            f"split_size can only be 0 if dimension size is 0, but got dimension size of {total}")
    return parted(self, dim, [sliced(self, dim, start, min(size, total - start), 1)
                              for start in range(0, total, size)])


cdef tuple split_by_sizes(TensorBase self, const Shape *parts, int64_t dim):
    cdef int64_t start = 0
    cdef list pieces = []
    cdef int i
    if self.ndim == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    dim = wrap_dim(dim, self.ndim)
    for i in range(parts.ndim):
        if parts.sizes[i] < 0:
            raise RuntimeError("split_with_sizes expects split_sizes have only non-negative entries, but got "
                               f"split_sizes={shape_text(parts.ndim, parts.sizes)}")
        start += parts.sizes[i]
    if start != self.sizes[dim]:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {self.sizes[dim]} (input tensor's size at "
            f"dimension {dim}), but got split_sizes={shape_text(parts.ndim, parts.sizes)}")
    start = 0
    for i in range(parts.ndim):
        pieces.append(sliced(self, dim, start, parts.sizes[i], 1))
        start += parts.sizes[i]
    return parted(self, dim, pieces)


cdef TensorBase diagonal_of(TensorBase self, int64_t offset, int64_t dim1, int64_t dim2):
    cdef int64_t sizes[MAX_DIMS]
    cdef int64_t strides[MAX_DIMS]
    cdef int64_t length, start
    cdef TensorBase view
    cdef int i, kept = 0
    dim1 = wrap_dim(dim1, self.ndim)
    dim2 = wrap_dim(dim2, self.ndim)
    if dim1 == dim2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    if offset >= 0:
        length = max(min(self.sizes[dim1], self.sizes[dim2] - offset), 0)
        start = offset * self.strides[dim2]
    else:
        length = max(min(self.sizes[dim1] + offset, self.sizes[dim2]), 0)
        start = -offset * self.strides[dim1]
    for i in range(self.ndim):
        if i != dim1 and i != dim2:
            sizes[kept] = self.sizes[i]
            strides[kept] = self.strides[i]
            kept += 1
    sizes[kept] = length
    strides[kept] = self.strides[dim1] + self.strides[dim2]
    view = make_view(self, kept + 1, sizes, strides, self.offset + (start if length else 0))
    if tracked(self) and recording_view(self, (view,)):
        record_diagonal(self, offset, dim1, dim2, view)
    return view
