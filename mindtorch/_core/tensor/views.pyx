"""Views: new geometry over the same storage, in C and as Python sees them."""
import warnings

from libc.stdint cimport INT64_MAX, int64_t
from libc.string cimport memcpy

from mindtorch._core.operators.autocast import with_autocast_policy

from mindtorch._core.autograd.node cimport may_require_grad, requires_grad
from mindtorch._core.autograd.history cimport (
    adopt_history, mark_multiple_views, record__conj, record__neg_view, record__slice, record_as_strided,
    record_diagonal, record_expand, record_permute, record_select_int, record_split_Tensor,
    record_squeeze, record_transpose_int, record_unbind_int, record_unfold,
    record_unsqueeze, record_view, record_view_as_complex, record_view_as_real, should_record_inplace,
    should_record_view,
)
from mindtorch._core.operators.operator cimport real_dtype, to_complex_dtype
from mindtorch._core.python.conversion cimport (
    parse_ints, parse_list, parse_varargs, raise_no_overload, raise_wrong_type, require_int, require_tensor,
    sizes_argument,
)
from mindtorch._core.rules.infer cimport same_shape, wrap_dim, wrap_dims
from mindtorch._core.tensor.copy_cast cimport clone_tensor, contiguous, legacy_type_name
from mindtorch._core.tensor.dtype cimport (
    COMPLEX_KIND, DTYPES, INT_KIND, ITEMSIZE, KIND, Double, Float, ScalarType, dtype, dtype_name,
)
from mindtorch._core.tensor.tensor cimport (
    CONJUGATED, MAX_DIMS, NEGATED, Shape, TensorBase, bump_version, contiguous_strides, has_shape, make_tensor,
    make_view, set_bits, set_geometry, shape_list, shape_text,
)
cimport mindtorch._core.tensor.torch_dispatch as torch_dispatch


# --- views -----------------------------------------------------------------------------------------------------------
# In C, with torch's checks of sizes and dims. No function copies, except reshape where no view can do it.


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


cdef bint compute_stride(TensorBase self, const Shape *shape, int64_t *strides) noexcept nogil:
    """Strides that show self's elements in `shape`; False where only a copy can.

    Old and new dimensions are walked from the last. A run of old dimensions that lie contiguously forms a chunk, which
    new dimensions may divide in any way; no new dimension may reach across two chunks.
    """
    cdef int new = shape.ndim - 1, old
    cdef int64_t base, chunk = 1, viewed = 1
    if self.numel == 0:
        if has_shape(self, shape):
            memcpy(strides, self.strides, self.ndim * sizeof(int64_t))
        else:
            contiguous_strides(shape.ndim, shape.sizes, strides)
        return True
    if self.ndim == 0:
        contiguous_strides(shape.ndim, shape.sizes, strides)
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


cdef TensorBase view_shape(TensorBase self, Shape *shape):
    cdef int64_t strides[MAX_DIMS]
    infer_size(self, shape)
    if self.contiguous and self.numel != 0 and (self.ndim == 0 or self.strides[self.ndim - 1] == 1):
        return with_view_history(self, make_view(self, shape.ndim, shape.sizes, NULL, self.offset))
    if not compute_stride(self, shape, strides):
        raise RuntimeError("view size is not compatible with input tensor's size and stride (at least one dimension "
                           "spans across two contiguous subspaces). Use .reshape(...) instead.")
    return with_view_history(self, make_view(self, shape.ndim, shape.sizes, strides, self.offset))


cdef inline TensorBase with_view_history(TensorBase self, TensorBase view):
    if torch_dispatch.active:
        view = torch_dispatch.view_of(view, self, "view", ([view.sizes[i] for i in range(view.ndim)],))
    if may_require_grad(self) and should_record_view(self):
        record_view(self, NULL, view)
    return view


cdef TensorBase alias_with_history(TensorBase self):
    """A view of the whole tensor, which handlers know as the operator alias."""
    cdef TensorBase view = make_view(self, self.ndim, self.sizes, self.strides, self.offset)
    if torch_dispatch.active:
        view = torch_dispatch.view_of(view, self, "alias", ())
    if may_require_grad(self) and should_record_view(self):
        record_view(self, NULL, view)
    return view


cdef TensorBase reshape_to(TensorBase self, Shape *shape):
    cdef int64_t strides[MAX_DIMS]
    cdef TensorBase made
    infer_size(self, shape)
    if compute_stride(self, shape, strides):
        return with_view_history(self, make_view(self, shape.ndim, shape.sizes, strides, self.offset))
    self = contiguous(self)
    made = with_view_history(self, make_view(self, shape.ndim, shape.sizes, NULL, self.offset))
    if made.base is self:               # the copy has no other user
        made.base = None
    return made


cdef TensorBase view_dtype(TensorBase self, ScalarType code):
    """The same bytes as elements of another dtype; the last dimension grows or shrinks with the item size."""
    cdef Shape shape
    cdef int64_t strides[MAX_DIMS]
    cdef int64_t old_size = ITEMSIZE[<int>self.dtype], new_size = ITEMSIZE[<int>code]
    cdef int64_t ratio
    cdef int i, last = self.ndim - 1
    if torch_dispatch.active and torch_dispatch.dispatches(self):
        return torch_dispatch.view_of(None, self, "view.dtype", (DTYPES[<int>code],))
    if self.bits:
        raise RuntimeError(
            "torch.Tensor.view is not supported for conjugate view tensors when converting to a different dtype."
            if self.bits & CONJUGATED else
            "torch.Tensor.view is not supported for tensors with negative bit set when converting to a different "
            "dtype.")
    if old_size == new_size:
        return make_tensor(self.storage, code, self.ndim, self.sizes, self.strides, self.offset)
    what = f"to view {dtype_name(self.dtype)} as {dtype_name(code)} (different element sizes)"
    if self.ndim == 0:
        raise RuntimeError(f"self.dim() cannot be 0 {what}")
    if self.strides[last] != 1:
        raise RuntimeError(f"self.stride(-1) must be 1 {what}, but got {self.strides[last]}")
    same_shape(&shape, self)
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


cdef TensorBase real_view(TensorBase self):
    """A complex tensor as a real one with a last dimension of two."""
    cdef int64_t sizes[MAX_DIMS + 1]
    cdef int64_t strides[MAX_DIMS + 1]
    cdef TensorBase view
    cdef int i
    if KIND[<int>self.dtype] != COMPLEX_KIND:
        raise RuntimeError("view_as_real is only supported for complex tensors")
    if self.bits & CONJUGATED:
        raise RuntimeError("view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate "
                           "tensor so you can view it as real, use self.resolve_conj(); however, be warned that the "
                           "resulting "
                           "tensor will NOT alias the original.")
    for i in range(self.ndim):
        sizes[i] = self.sizes[i]
        strides[i] = 2 * self.strides[i]
    sizes[self.ndim], strides[self.ndim] = 2, 1
    view = make_view(self, self.ndim + 1, sizes, strides, 2 * self.offset)
    view.dtype = real_dtype(self.dtype)
    if torch_dispatch.active:
        view = torch_dispatch.view_of(view, self, "view_as_real", ())
    if may_require_grad(self) and should_record_view(self):
        record_view_as_real(self, view)
    return view


cdef TensorBase complex_view(TensorBase self):
    """A real tensor with a last dimension of two as a complex one."""
    cdef int64_t strides[MAX_DIMS]
    cdef TensorBase view
    cdef int i, last = self.ndim - 1
    if self.dtype != Float and self.dtype != Double:
        raise RuntimeError("view_as_complex is only supported for half, float and double tensors, but got a tensor of "
                           f"scalar type: {dtype_name(self.dtype)}")
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
    view.dtype = to_complex_dtype(self.dtype)
    if torch_dispatch.active:
        view = torch_dispatch.view_of(view, self, "view_as_complex", ())
    if may_require_grad(self) and should_record_view(self):
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
    if self.ndim == 0:
        raise RuntimeError("unflatten got an unexpected error:\nDimension specified as 0 but tensor has no dimensions")
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
    if torch_dispatch.active:
        view = torch_dispatch.view_of(view, self, "transpose.int", (dim0, dim1))
    if may_require_grad(self) and should_record_view(self):
        record_transpose_int(self, dim0, dim1, view)
    return view


cdef TensorBase transpose_matrix(TensorBase self):
    if self.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {self.ndim}D")
    if torch_dispatch.active and torch_dispatch.dispatches(self):
        return dispatched_transpose(self)
    return transpose_dims(self, 0, 0 if self.ndim < 2 else 1)


cdef TensorBase dispatched_transpose(TensorBase self):
    cdef TensorBase view = torch_dispatch.view_of(None, self, "t", ())
    if may_require_grad(self) and should_record_view(self):
        record_transpose_int(self, 0, 0 if self.ndim < 2 else 1, view)
    return view


cdef TensorBase permute_dims(TensorBase self, Shape *dims):
    cdef int64_t sizes[MAX_DIMS]
    cdef int64_t strides[MAX_DIMS]
    cdef TensorBase view
    cdef int i
    if dims.ndim != self.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {self.ndim} is not equal to len(dims) = {dims.ndim}")
    if wrap_has_duplicates(dims, self.ndim):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    for i in range(self.ndim):
        sizes[i] = self.sizes[dims.sizes[i]]
        strides[i] = self.strides[dims.sizes[i]]
    view = make_view(self, self.ndim, sizes, strides, self.offset)
    if torch_dispatch.active:
        view = torch_dispatch.view_of(view, self, "permute", (shape_list(dims),))
    if may_require_grad(self) and should_record_view(self):
        record_permute(self, dims, view)
    return view


cdef int wrap_has_duplicates(Shape *dims, int ndim) except -1:
    """Wrap the dims in place; whether one comes twice."""
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
    if wrap_has_duplicates(source, self.ndim):
        raise RuntimeError(f"movedim: repeated dim in `source` ({text})")
    text = shape_text(destination.ndim, destination.sizes)
    if wrap_has_duplicates(destination, self.ndim):
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
    if torch_dispatch.active:
        view = torch_dispatch.view_of(view, self, "squeeze.dim" if dims.ndim == 1 else "squeeze.dims",
                                      (dims.sizes[0],) if dims.ndim == 1 else (shape_list(dims),))
    if may_require_grad(self) and should_record_view(self):
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
    if torch_dispatch.active:
        view = torch_dispatch.view_of(view, self, "unsqueeze", (dim,))
    if may_require_grad(self) and should_record_view(self):
        record_unsqueeze(self, dim, view)
    return view


cdef int raise_cannot_expand(TensorBase self, const Shape *shape, int at, int64_t size) except -1:
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
            f"expand({legacy_type_name(self)}{{{shape_text(self.ndim, self.sizes)}}}, "
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
            raise_cannot_expand(self, shape, i, self.sizes[own])
    view = make_view(self, shape.ndim, sizes, strides, self.offset)
    if torch_dispatch.active:
        view = torch_dispatch.view_of(view, self, "expand", (shape_list(shape),))
    if may_require_grad(self) and should_record_view(self):
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
    view = select_view(self, dim, index)
    if torch_dispatch.active:
        view = torch_dispatch.view_of(view, self, "select.int", (dim, index))
    if may_require_grad(self) and should_record_view(self):
        record_select_int(self, dim, index, view)
    return view


cdef TensorBase select_view(TensorBase self, int64_t dim, int64_t index):
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
    cdef TensorBase view = slice_view(self, dim, start, length, step)
    if torch_dispatch.active:
        view = torch_dispatch.view_of(view, self, "slice.Tensor", (dim, start, start + length * step, step))
    if may_require_grad(self) and should_record_view(self):
        record__slice(self, dim, start, length, step, view)
    return view


cdef TensorBase slice_view(TensorBase self, int dim, int64_t start, int64_t length, int64_t step):
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
    views = [select_view(self, dim, i) for i in range(self.sizes[dim])]
    if torch_dispatch.active:
        views = torch_dispatch.views_of(views, self, "unbind.int", (dim,))
    mark_multiple_views(views)
    if may_require_grad(self) and should_record_view(self):
        record_unbind_int(self, dim, views)
    return tuple(views)


cdef tuple with_split_history(TensorBase self, int64_t dim, list views):
    mark_multiple_views(views)
    if may_require_grad(self) and should_record_view(self):
        record_split_Tensor(self, 0, dim, views)
    return tuple(views)


cdef tuple split_by_size(TensorBase self, int64_t size, int64_t dim):
    cdef int64_t total, start
    if self.ndim == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    if size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
    dim = wrap_dim(dim, self.ndim)
    total = self.sizes[dim]
    if size == 0 and total:
        raise RuntimeError(
            f"split_size can only be 0 if dimension size is 0, but got dimension size of {total}")
    pieces = [slice_view(self, dim, start, min(size, total - start), 1) for start in range(0, total or 1, size or 1)]
    if torch_dispatch.active:
        pieces = torch_dispatch.views_of(pieces, self, "split.Tensor", (size, dim))
    return with_split_history(self, dim, pieces)


cdef list split_sizes_of(object value, int position):
    # Any number of them, unlike the entries of a shape.
    cdef Shape some
    cdef list sizes = []
    cdef int at
    if not isinstance(value, (list, tuple)):
        raise_wrong_type(value, b"split_with_sizes", b"split_sizes", position, "tuple of ints")
    for at in range(0, len(value), MAX_DIMS):
        parse_ints(value[at:at + MAX_DIMS], &some, b"split_with_sizes", b"split_sizes", position)
        sizes += shape_list(&some)
    return sizes


cdef tuple split_by_sizes(TensorBase self, list sizes, int64_t dim):
    cdef int64_t size, start = 0
    cdef list pieces = []
    if self.ndim == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    dim = wrap_dim(dim, self.ndim)
    for size in sizes:
        if size < 0:
            raise RuntimeError("split_with_sizes expects split_sizes have only non-negative entries, but got "
                               f"split_sizes={sizes}")
        start += size
    if start != self.sizes[dim]:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {self.sizes[dim]} (input tensor's size at "
            f"dimension {dim}), but got split_sizes={sizes}")
    start = 0
    for size in sizes:
        pieces.append(slice_view(self, dim, start, size, 1))
        start += size
    if torch_dispatch.active:
        pieces = torch_dispatch.views_of(pieces, self, "split_with_sizes", (sizes, dim))
    return with_split_history(self, dim, pieces)


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
    if torch_dispatch.active:
        view = torch_dispatch.view_of(view, self, "diagonal", (offset, dim1, dim2))
    if may_require_grad(self) and should_record_view(self):
        record_diagonal(self, offset, dim1, dim2, view)
    return view


# --- functions of Python ---------------------------------------------------------------------------------------------
# They read Python's arguments for the functions above. One function serves as `torch.f` and as `Tensor.f`; where the
# two differ in signature, the method's name ends in `_method`. FUNCTIONS and METHODS have the published names.


cdef TensorBase shape_like(TensorBase self, TensorBase other, TensorBase (*f)(TensorBase, Shape *)):
    cdef Shape shape
    cdef int i
    shape.ndim = other.ndim
    for i in range(other.ndim):
        shape.sizes[i] = other.sizes[i]
    return f(self, &shape)


VIEW_SIGNATURES = " * (torch.dtype dtype)\n * (tuple of ints size)\n"


def view_method(TensorBase self, *args, **kwargs):
    """The same elements in another shape (one size may be -1), or the same bytes in another dtype. Never copies."""
    cdef Shape shape
    if len(args) == 1 and isinstance(args[0], dtype):
        return view_dtype(self, (<dtype>args[0]).code)
    if kwargs:
        if not args and len(kwargs) == 1 and isinstance(kwargs.get("dtype"), dtype):
            return view_dtype(self, (<dtype>kwargs["dtype"]).code)
        args = sizes_argument(args, kwargs, "view", "size")
    if not args or (len(args) == 1 and not isinstance(args[0], (int, tuple, list, TensorBase))
                    and not hasattr(args[0], "__index__")):
        raise_no_overload(b"view", args, kwargs, VIEW_SIGNATURES)
    parse_varargs(args, &shape, b"view", b"size")
    return view_shape(self, &shape)


def reshape(input, shape):
    """The elements in another shape (one size may be -1): a view where that is possible, else a copy."""
    cdef TensorBase self = require_tensor(input, b"reshape", b"input", 1)
    cdef Shape parsed
    parse_list(shape, &parsed, b"reshape", b"shape", 2)
    return reshape_to(self, &parsed)


def reshape_method(TensorBase self, *args, **kwargs):
    """The elements in another shape (one size may be -1): a view where that is possible, else a copy."""
    cdef Shape shape
    parse_varargs(sizes_argument(args, kwargs, "reshape", "shape"), &shape, b"reshape", b"shape")
    return reshape_to(self, &shape)


def view_as(TensorBase self, other):
    """The same elements in the shape of `other`, as a view."""
    return shape_like(self, require_tensor(other, b"view_as", b"other", 1), view_shape)


def reshape_as(TensorBase self, other):
    """The elements in the shape of `other`: a view where that is possible, else a copy."""
    return shape_like(self, require_tensor(other, b"reshape_as", b"other", 1), reshape_to)


def flatten(input, start_dim=0, end_dim=-1):
    """Dimensions start_dim..end_dim merged into one; copies only where no view can do it."""
    cdef TensorBase self = require_tensor(input, b"flatten", b"input", 1)
    return flatten_dims(self, require_int(start_dim, b"flatten", b"start_dim", 1),
                        require_int(end_dim, b"flatten", b"end_dim", 2))


def ravel(input):
    """All elements in one dimension, contiguous; copies only where it must."""
    cdef TensorBase self = require_tensor(input, b"ravel", b"input", 1)
    cdef Shape shape
    shape.ndim = 1
    shape.sizes[0] = -1 if self.numel else 0
    return reshape_to(contiguous(self), &shape)


def unflatten(input, dim, sizes):
    """Dimension `dim` divided into `sizes`, of which one may be -1."""
    cdef TensorBase self = require_tensor(input, b"unflatten", b"input", 1)
    cdef Shape parts
    parse_list(sizes, &parts, b"unflatten", b"sizes", 2)
    return unflatten_dim(self, require_int(dim, b"unflatten", b"dim", 1), &parts)


# --- order of dimensions ---------------------------------------------------------------------------------------------

def transpose(input, dim0, dim1):
    """Two dimensions exchanged."""
    cdef TensorBase self = require_tensor(input, b"transpose", b"input", 1)
    return transpose_dims(self, require_int(dim0, b"transpose", b"dim0", 1),
                          require_int(dim1, b"transpose", b"dim1", 2))


def t(input):
    """The transpose of a matrix; tensors of fewer dimensions as they are."""
    return transpose_matrix(require_tensor(input, b"t", b"input", 1))


def adjoint(input):
    """The last two dimensions exchanged, complex numbers conjugated."""
    return adjoint_as(require_tensor(input, b"adjoint", b"input", 1), "adjoint()", "adjoint()")


cdef TensorBase adjoint_as(TensorBase self, str name, str name_without_dims):
    if self.ndim == 0:
        warnings.warn(f"{name_without_dims} is deprecated on 0-D tensors. Consider using x.conj().", UserWarning,
                      stacklevel=2)
    elif self.ndim == 1:
        raise RuntimeError(f"tensor.{name} is only supported on matrices or batches of matrices. Got 1-D tensor.")
    else:
        self = transpose_dims(self, -2, -1)
    return conjugate_view(self) if KIND[<int>self.dtype] == COMPLEX_KIND else self


def permute(input, dims):
    """The dimensions in the order `dims`."""
    cdef TensorBase self = require_tensor(input, b"permute", b"input", 1)
    cdef Shape order
    parse_list(dims, &order, b"permute", b"dims", 2)
    return permute_dims(self, &order)


def permute_method(TensorBase self, *args, **kwargs):
    """The dimensions in the order given."""
    cdef Shape order
    parse_varargs(sizes_argument(args, kwargs, "permute", "dims"), &order, b"permute", b"dims")
    return permute_dims(self, &order)


MOVEDIM_SIGNATURES = " * (int source, int destination)\n * (tuple of ints source, tuple of ints destination)\n"


def movedim(input, source, destination):
    """Dimension(s) `source` moved to the position(s) `destination`; the others keep their order."""
    cdef TensorBase self = require_tensor(input, b"movedim", b"input", 1)
    cdef Shape origin, target
    if isinstance(source, (tuple, list)) != isinstance(destination, (tuple, list)) or isinstance(source, str):
        raise_no_overload(b"movedim", (source, destination), {}, MOVEDIM_SIGNATURES)
    parse_ints(source, &origin, b"movedim", b"source", 1)
    parse_ints(destination, &target, b"movedim", b"destination", 2)
    return move_dims(self, &origin, &target)


# --- dimensions of size 1, expansion ---------------------------------------------------------------------------------

def squeeze(input, dim=...):
    """The tensor without its dimensions of size 1: all of them, or those among `dim`."""
    cdef TensorBase self = require_tensor(input, b"squeeze", b"input", 1)
    cdef Shape dims
    cdef int i
    if dim is ...:
        dims.ndim = self.ndim
        for i in range(self.ndim):
            dims.sizes[i] = i
    else:
        if dim is None or isinstance(dim, str):
            raise_no_overload(b"squeeze", (dim,), {}, " * ()\n * (int dim)\n * (tuple of ints dim)\n")
        parse_ints(dim, &dims, b"squeeze", b"dim", 1)
    return squeeze_dims(self, &dims)


def unsqueeze(input, dim):
    """The tensor with a new dimension of size 1 at `dim`."""
    return unsqueeze_dim(require_tensor(input, b"unsqueeze", b"input", 1), require_int(dim, b"unsqueeze", b"dim", 1))


def expand_method(TensorBase self, *args, **kwargs):
    """Dimensions of size 1 repeated to the sizes given (-1: as it is), new ones in front; no memory is used."""
    cdef Shape shape
    kwargs.pop("implicit", None)
    parse_varargs(sizes_argument(args, kwargs, "expand", "size"), &shape, b"expand", b"size")
    return expand_to(self, &shape)


def expand_as(TensorBase self, other):
    """Expanded to the shape of `other`."""
    cdef Shape shape
    cdef TensorBase like = require_tensor(other, b"expand_as", b"other", 1)
    cdef int i
    shape.ndim = like.ndim
    for i in range(like.ndim):
        shape.sizes[i] = like.sizes[i]
    return expand_to(self, &shape)


def broadcast_to(input, size):
    """Expanded to `size`."""
    cdef TensorBase self = require_tensor(input, b"broadcast_to", b"input", 1)
    cdef Shape shape
    parse_list(size, &shape, b"broadcast_to", b"size", 2)
    return expand_to(self, &shape)


# --- parts -----------------------------------------------------------------------------------------------------------

def select(input, dim, index):
    """The slice at `index` of dimension `dim`, which goes away."""
    cdef TensorBase self = require_tensor(input, b"select", b"input", 1)
    return select_dim(self, require_int(dim, b"select", b"dim", 1), require_int(index, b"select", b"index", 2))


cdef int require_index(TensorBase start) except -1:
    if start.ndim != 0 or KIND[<int>start.dtype] != INT_KIND:
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    return 0


def narrow(input, dim, start, length):
    """`length` slices of dimension `dim`, from `start` on."""
    cdef TensorBase self = require_tensor(input, b"narrow", b"input", 1)
    if isinstance(start, TensorBase):
        require_index(<TensorBase>start)
    return narrow_dim(self, require_int(dim, b"narrow", b"dim", 1), require_int(start, b"narrow", b"start", 2),
                      require_int(length, b"narrow", b"length", 3))


def unbind(input, dim=0):
    """All slices along `dim`, as a tuple."""
    return unbind_dim(require_tensor(input, b"unbind", b"input", 1), require_int(dim, b"unbind", b"dim", 1))


def split(tensor, split_size_or_sections, dim=0):
    """Parts of `split_size_or_sections` slices each (the last may be smaller), or of the sizes listed there."""
    return split_method(require_tensor(tensor, b"split", b"tensor", 1), split_size_or_sections, dim)


def split_method(TensorBase self, split_size, dim=0):
    """Parts of `split_size` slices each (the last may be smaller), or of the sizes listed there."""
    cdef int64_t along = require_int(dim, b"split", b"dim", 2)
    if isinstance(split_size, (list, tuple)):
        return split_by_sizes(self, split_sizes_of(split_size, 2), along)
    if isinstance(split_size, str):
        raise_wrong_type(split_size, b"split_with_sizes", b"split_sizes", 2, "tuple of ints")
    return split_by_size(self, require_int(split_size, b"split", b"split_size", 1), along)


def split_with_sizes(input, split_sizes, dim=0):
    """Parts of the sizes listed."""
    cdef TensorBase self = require_tensor(input, b"split_with_sizes", b"input", 1)
    cdef list sizes = split_sizes_of(split_sizes, 1)
    return split_by_sizes(self, sizes, require_int(dim, b"split_with_sizes", b"dim", 2))


def chunk(input, chunks, dim=0):
    """At most `chunks` parts of equal size; the last may be smaller."""
    cdef TensorBase self = require_tensor(input, b"chunk", b"input", 1)
    cdef int64_t count = require_int(chunks, b"chunk", b"chunks", 1)
    cdef int64_t along = require_int(dim, b"chunk", b"dim", 2)
    if self.ndim == 0:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if count <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {count}")
    size = size_of_dim(self, along)
    if size == 0:
        return split_by_sizes(self, [0] * count, along)
    return split_by_size(self, (size + count - 1) // count, along)


cdef int64_t size_of_dim(TensorBase self, int64_t dim) except -1:
    return self.sizes[wrap_dim(dim, self.ndim)]


def diagonal(input, offset=0, dim1=0, dim2=1):
    """The diagonal of the dimensions dim1 and dim2, as the last dimension."""
    cdef TensorBase self = require_tensor(input, b"diagonal", b"input", 1)
    return diagonal_of(self, require_int(offset, b"diagonal", b"offset", 1),
                       require_int(dim1, b"diagonal", b"dim1", 2), require_int(dim2, b"diagonal", b"dim2", 3))


def unfold(TensorBase self, dimension, size, step):
    """All windows of `size` slices of a dimension, `step` apart, as the last dimension of a view."""
    cdef int64_t sizes[MAX_DIMS + 1]
    cdef int64_t strides[MAX_DIMS + 1]
    cdef int64_t width = require_int(size, b"unfold", b"size", 2), distance = require_int(step, b"unfold", b"step", 3)
    cdef int64_t dim = wrap_dim(require_int(dimension, b"unfold", b"dimension", 1), self.ndim)
    cdef int64_t length = self.sizes[dim] if self.ndim else 1
    cdef TensorBase view
    cdef int i
    if width < 0:
        raise RuntimeError(f"size is {width} but must be >= 0")
    if width > length:
        raise RuntimeError(f"maximum size for tensor at dimension {dim} is {length} but size is {width}")
    if distance <= 0:
        raise RuntimeError(f"step is {distance} but must be > 0")
    if self.ndim == 0:
        return as_strided(self, (width,), (1,))
    for i in range(self.ndim):
        sizes[i] = self.sizes[i]
        strides[i] = self.strides[i]
    sizes[dim] = (length - width) // distance + 1
    strides[dim] *= distance
    sizes[self.ndim] = width
    strides[self.ndim] = self.strides[dim]
    view = make_view(self, self.ndim + 1, sizes, strides, self.offset)
    if torch_dispatch.active:
        view = torch_dispatch.view_of(view, self, "unfold", (dim, width, distance))
    if may_require_grad(self) and should_record_view(self):
        record_unfold(self, dim, width, distance, view)
    return view


cdef int check_in_bounds_for_storage(TensorBase self, const Shape *sizes, const Shape *strides,
                                     int64_t offset) except -1:
    """RuntimeError where a geometry leaves the storage. Divides the space left, since products may overflow."""
    cdef int64_t space = <int64_t>self.storage.nbytes // ITEMSIZE[<int>self.dtype] - 1, count = 1, steps
    cdef int i
    for i in range(sizes.ndim):
        if sizes.sizes[i] == 0:
            return 0
    space = space - offset if space >= offset else -1
    for i in range(sizes.ndim):
        steps = sizes.sizes[i] - 1
        if space >= 0 and steps and strides.sizes[i]:
            space = space - steps * strides.sizes[i] if steps <= space // strides.sizes[i] else -1
        if count > INT64_MAX // sizes.sizes[i]:
            raise RuntimeError("numel: integer multiplication overflow")
        count *= sizes.sizes[i]
    if space < 0:
        raise_beyond_storage(self, sizes, strides, offset)
    return 0


cdef int raise_beyond_storage(TensorBase self, const Shape *sizes, const Shape *strides, int64_t offset) except -1:
    cdef int i
    wanted = <object>offset + 1         # in Python's integers, which do not overflow
    for i in range(sizes.ndim):
        wanted += (<object>sizes.sizes[i] - 1) * <object>strides.sizes[i]
    wanted *= ITEMSIZE[<int>self.dtype]
    shown = shape_text(sizes.ndim, sizes.sizes), shape_text(strides.ndim, strides.sizes)
    if wanted > INT64_MAX:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={shown[0]} and strides={shown[1]}")
    raise RuntimeError(
        f"setStorage: sizes {shown[0]}, strides {shown[1]}, storage offset {offset}, and itemsize "
        f"{ITEMSIZE[<int>self.dtype]} requiring a storage size of {wanted} are out of bounds for storage of size "
        f"{self.storage.nbytes}")


def as_strided(input, size, stride, storage_offset=None):
    """A view of the storage with any geometry that stays inside it."""
    cdef TensorBase self = require_tensor(input, b"as_strided", b"input", 1)
    cdef Shape sizes, strides
    cdef TensorBase view
    cdef int64_t offset = self.offset
    cdef int i
    parse_list(size, &sizes, b"as_strided", b"size", 1)
    parse_list(stride, &strides, b"as_strided", b"stride", 2)
    if storage_offset is not None:
        offset = require_int(storage_offset, b"as_strided", b"storage_offset", 3)
    if sizes.ndim != strides.ndim:
        raise RuntimeError("mismatch in length of strides and shape")
    for i in range(sizes.ndim):
        if strides.sizes[i] < 0:
            raise RuntimeError("as_strided: Negative strides are not supported at the moment, got strides: "
                               f"{shape_text(strides.ndim, strides.sizes)}")
        if sizes.sizes[i] < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {sizes.sizes[i]}: "
                               f"{shape_text(sizes.ndim, sizes.sizes)}")
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    check_in_bounds_for_storage(self, &sizes, &strides, offset)
    view = make_view(self, sizes.ndim, sizes.sizes, strides.sizes, offset)
    if torch_dispatch.active:
        view = torch_dispatch.view_of(view, self, "as_strided", (shape_list(&sizes), shape_list(&strides),
                                                                 storage_offset))
    if may_require_grad(self) and should_record_view(self):
        record_as_strided(view, self)
    return view


# --- in place: the tensor itself gets the geometry of the view -------------------------------------------------------

cdef TensorBase adopt_view(TensorBase self, TensorBase view):
    if may_require_grad(self) and should_record_inplace(self, requires_grad(self)):
        adopt_history(self, view)
    set_geometry(self, view.ndim, view.sizes, view.strides, view.offset)
    bump_version(self)
    return self


def squeeze_(TensorBase self, dim=...):
    return adopt_view(self, squeeze(self, dim))


def unsqueeze_(TensorBase self, dim):
    return adopt_view(self, unsqueeze(self, dim))


def transpose_(TensorBase self, dim0, dim1):
    return adopt_view(self, transpose(self, dim0, dim1))


def t_(TensorBase self):
    return adopt_view(self, t(self))


def as_strided_(input, size, stride, storage_offset=None):
    """as_strided, in place: the tensor itself gets that geometry."""
    cdef TensorBase self = require_tensor(input, b"as_strided_", b"input", 1)
    return adopt_view(self, as_strided(self, size, stride, storage_offset))


# --- parts of complex numbers ----------------------------------------------------------------------------------------

def view_as_real(input):
    """A complex tensor as a real one, whose last dimension holds the real and the imaginary part."""
    return real_view(require_tensor(input, b"view_as_real", b"input", 1))


@with_autocast_policy("view_as_complex")
def view_as_complex(input):
    """A real tensor whose last dimension has two elements as a complex one."""
    return complex_view(require_tensor(input, b"view_as_complex", b"input", 1))


def real(input):
    """The real parts, as a view; a real tensor itself."""
    cdef TensorBase self = require_tensor(input, b"real", b"input", 1)
    if KIND[<int>self.dtype] != COMPLEX_KIND:
        return self
    return select_dim(real_view(conjugate_view(self) if self.bits & CONJUGATED else self), -1, 0)


def imag(input):
    """The imaginary parts, as a view."""
    cdef TensorBase self = require_tensor(input, b"imag", b"input", 1)
    if KIND[<int>self.dtype] != COMPLEX_KIND:
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    if self.bits & CONJUGATED:
        return select_dim(negative_view(real_view(conjugate_view(self))), -1, 1)
    return select_dim(real_view(self), -1, 1)


# --- views of other elements than the memory holds -------------------------------------------------------------------
# The bits of a tensor say so (tensor.pxd). Whoever reads or writes the elements computes conjugates and negatives.

cdef TensorBase view_with_bit(TensorBase self, int bit):
    cdef TensorBase view = make_view(self, self.ndim, self.sizes, self.strides, self.offset)
    set_bits(view, self.bits ^ bit)
    if torch_dispatch.active:
        view = torch_dispatch.view_of(view, self, "_conj" if bit == CONJUGATED else "_neg_view", ())
    if may_require_grad(self) and should_record_view(self):
        if bit == CONJUGATED:
            record__conj(self, view)
        else:
            record__neg_view(self, view)
    return view


cdef TensorBase conjugate_view(TensorBase self):
    """The conjugates of a complex tensor."""
    return view_with_bit(self, CONJUGATED)


cdef TensorBase negative_view(TensorBase self):
    return view_with_bit(self, NEGATED)


def conj(input):
    """The complex conjugates, as a view; a real tensor itself."""
    cdef TensorBase self = require_tensor(input, b"conj", b"input", 1)
    return conjugate_view(self) if KIND[<int>self.dtype] == COMPLEX_KIND else self


def _conj(input):
    """conj of a complex tensor."""
    return conj(input)


def _neg_view(input):
    """The negatives, as a view."""
    return negative_view(require_tensor(input, b"_neg_view", b"input", 1))


def is_conj(input):
    """Whether the tensor shows the conjugates of what its memory holds."""
    return (require_tensor(input, b"is_conj", b"input", 1).bits & CONJUGATED) != 0


def is_neg(input):
    """Whether the tensor shows the negatives of what its memory holds."""
    return (require_tensor(input, b"is_neg", b"input", 1).bits & NEGATED) != 0


def resolve_conj(input):
    """The tensor itself, or a copy where it shows the conjugates of what its memory holds."""
    cdef TensorBase self = require_tensor(input, b"resolve_conj", b"input", 1)
    return clone_tensor(self) if self.bits & CONJUGATED else self


def resolve_neg(input):
    """The tensor itself, or a copy where it shows the negatives of what its memory holds."""
    cdef TensorBase self = require_tensor(input, b"resolve_neg", b"input", 1)
    return clone_tensor(self) if self.bits & NEGATED else self


def set_bits_of(TensorBase self not None, conjugated=None, negated=None):
    """Have a tensor show conjugates or negatives of what its memory holds; None changes nothing."""
    cdef int bits = self.bits
    if conjugated is not None:
        bits = (bits & ~CONJUGATED) | (CONJUGATED if conjugated else 0)
    if negated is not None:
        bits = (bits & ~NEGATED) | (NEGATED if negated else 0)
    set_bits(self, bits)


# --- attributes that are views ---------------------------------------------------------------------------------------

def transposed(TensorBase self):
    """The dimensions in reverse order (torch's `T`)."""
    cdef Shape order
    cdef int i
    if self.ndim != 2:
        what = "on 0-D tensors. This function is the identity in these cases." if self.ndim == 0 else None
        warnings.warn(
            f"Tensor.T is deprecated {what}" if what else
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will "
            "throw an error in a future release. Consider `x.mT` to transpose batches of matrices or "
            "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor.",
            UserWarning, stacklevel=2)
    order.ndim = self.ndim
    for i in range(self.ndim):
        order.sizes[i] = self.ndim - 1 - i
    return permute_dims(self, &order)


def matrix_transposed(TensorBase self):
    """The last two dimensions exchanged (torch's `mT`)."""
    if self.ndim == 0:
        warnings.warn("Tensor.mT is deprecated on 0-D tensors. This function is the identity in these cases.",
                      UserWarning, stacklevel=2)
        return self
    if self.ndim == 1:
        raise RuntimeError("tensor.mT is only supported on matrices or batches of matrices. Got 1-D tensor.")
    return transpose_dims(self, -2, -1)


def conjugate_transposed(TensorBase self):
    """The transpose of a matrix, complex numbers conjugated (torch's `H`)."""
    if self.ndim not in (0, 2):
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {self.ndim}-D tensor."
                           + (" For batches of matrices, consider using tensor.mH" if self.ndim > 2 else ""))
    return adjoint_as(self, "H", "Tensor.H")


def matrix_adjoint(TensorBase self):
    """The last two dimensions exchanged, complex numbers conjugated (torch's `mH`)."""
    return adjoint_as(self, "mH", "Tensor.mH")


FUNCTIONS = {f.__name__: f for f in (
    reshape, flatten, ravel, unflatten, transpose, t, adjoint, permute, movedim, squeeze,
    unsqueeze, broadcast_to, select, narrow, unbind, split, split_with_sizes, chunk, diagonal, as_strided)}

METHODS = dict(
    FUNCTIONS, unfold=unfold, view=view_method, reshape=reshape_method, permute=permute_method, expand=expand_method,
    conj=conj, _conj=_conj, _neg_view=_neg_view, is_conj=is_conj, is_neg=is_neg, resolve_conj=resolve_conj,
    resolve_neg=resolve_neg, split=split_method, view_as=view_as, reshape_as=reshape_as, expand_as=expand_as,
    squeeze_=squeeze_, unsqueeze_=unsqueeze_, transpose_=transpose_, t_=t_, as_strided_=as_strided_)

del METHODS["broadcast_to"]             # of composite/shape.py
FUNCTIONS |= {f.__name__: f for f in (
    view_as_real, view_as_complex, real, imag, as_strided_, conj, _conj, _neg_view, is_conj, is_neg, resolve_conj,
    resolve_neg)}
