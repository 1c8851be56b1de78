"""What index tensors may look like, and the shapes they give: torch's rules, with torch's errors."""
from libc.string cimport memcmp

from mindtorch._core.dispatch cimport c_name
from mindtorch._core.dtype cimport KIND, code_name
from mindtorch._core.infer cimport broadcast, broadcast_shapes, same, wrap_dim
from mindtorch._core.readings cimport read_extremes
from mindtorch._core.scalar cimport COMPLEX_KIND, Bool, Int, Long
from mindtorch._core.tensor cimport shape_text
from mindtorch._core.values cimport check_fits


cdef inline bint is_index(TensorBase index) noexcept:
    return index.dtype == Long or index.dtype == Int


cdef inline int at_least_one(int ndim) noexcept:
    return ndim if ndim > 0 else 1


cdef inline int64_t size_at(TensorBase tensor, int dim) noexcept:
    return tensor.sizes[dim] if tensor.ndim else 1


cdef str sizes_text(TensorBase tensor):
    return shape_text(tensor.ndim, tensor.sizes)


# --- gather and scatter ----------------------------------------------------------------------------------------------

cdef int check_gather(TensorBase self, int64_t dim, TensorBase index) except -1:
    cdef int i
    dim = wrap_dim(dim, self.ndim)
    if index.numel == 0:
        return 0
    if not is_index(index):
        raise RuntimeError("gather(): Expected dtype int32/int64 for index")
    if at_least_one(index.ndim) != at_least_one(self.ndim):
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    for i in range(index.ndim):
        if i != dim and index.sizes[i] > size_at(self, i):
            raise RuntimeError(f"Size does not match at dimension {i} expected index {sizes_text(index)} to be no "
                               f"larger than self {sizes_text(self)} apart from dimension {dim}")
    return 0


cdef int check_scatter(TensorBase self, int64_t dim, TensorBase index, TensorBase src) except -1:
    cdef int i
    cdef bint fits = True
    dim = wrap_dim(dim, self.ndim)
    if src is not None and src.dtype != self.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if index.numel == 0:
        return 0
    if not is_index(index):
        raise RuntimeError("scatter(): Expected dtype int32/int64 for index")
    if at_least_one(index.ndim) != at_least_one(self.ndim):
        raise RuntimeError("Index tensor must have the same number of dimensions as self tensor")
    if src is not None and at_least_one(index.ndim) != at_least_one(src.ndim):
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    for i in range(index.ndim):
        fits = fits and (i == dim or index.sizes[i] <= size_at(self, i))
        fits = fits and (src is None or index.sizes[i] <= size_at(src, i))
    if not fits:
        source = f" and to be no larger size than src {sizes_text(src)}" if src is not None else ""
        raise RuntimeError(f"Expected index {sizes_text(index)} to be no larger than self {sizes_text(self)} apart "
                           f"from dimension {dim}{source}")
    return 0


cdef int check_reduction(object reduce) except -1:
    if reduce not in ("add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    return 0


cdef int check_scatter_reduce(object reduce, ScalarType dtype, TensorBase index) except -1:
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if not index.numel:
        return 0
    if (KIND[<int>dtype] == COMPLEX_KIND and reduce in ("amax", "amin")) or (dtype == Bool and reduce == "mean"):
        raise NotImplementedError(
            f"\"scatter_gather_tensor_cpu_reduce_{reduce}\" not implemented for '{code_name(dtype)}'")
    return 0


# --- along one dimension ---------------------------------------------------------------------------------------------

cdef int check_index_select(TensorBase self, TensorBase index) except -1:
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if not is_index(index):
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    if self.ndim == 0 and index.numel != 1:
        raise RuntimeError(
            f"index_select(): Index to scalar can have only 1 value, got {index.numel} value(s)")
    return 0


cdef int index_select(Shape *shape, TensorBase self, int64_t dim, TensorBase index) except -1:
    same(shape, self)
    if self.ndim:
        shape.sizes[dim] = index.numel
    return 0


cdef int check_index_add(TensorBase self, int64_t dim, TensorBase index, TensorBase source) except -1:
    cdef int i
    cdef int64_t along
    dim = wrap_dim(dim, self.ndim)
    if index.ndim > 1:
        raise IndexError("index_add_(): Index is supposed to be a vector, but got dim: "
                         f"{index.ndim} with type: {code_name(index.dtype)} and size: {sizes_text(index)}")
    if not is_index(index):
        raise RuntimeError(f"index_add_(): Expected dtype int32/int64 for index but got: {code_name(index.dtype)}")
    if self.dtype != source.dtype:
        raise RuntimeError(f"index_add_(): self ({code_name(self.dtype)}) and source ({code_name(source.dtype)}) must "
                           "have the same scalar type")
    along = source.sizes[wrap_dim(dim, source.ndim)] if source.ndim else 1
    if index.numel != along:
        raise RuntimeError(f"index_add_(): Number of indices ({index.numel}) should be equal to source.size(dim): "
                           f"({along}), for dim: {dim}")
    fits = self.ndim == source.ndim
    for i in range(self.ndim if fits else 0):
        fits = fits and (i == dim or self.sizes[i] == size_at(source, i))
    if not fits:
        raise RuntimeError("source tensor shape must match self tensor shape, excluding the specified dimension. Got "
                           f"self.shape = {sizes_text(self)} source.shape = {sizes_text(source)}")
    return 0


cdef int check_index_copy(TensorBase self, int64_t dim, TensorBase index, TensorBase source) except -1:
    cdef Shape mine, theirs
    dim = wrap_dim(dim, self.ndim)
    if index.ndim > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {index.ndim})")
    if source.ndim == 0 and index.numel != 1:
        raise IndexError(f"index_copy_(): When source is scalar, index should have one element (got {index.numel})")
    if source.ndim != self.ndim and source.ndim and self.ndim:
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must match. Source "
            f"dimensionality ({source.ndim}), destination dimensionality ({self.ndim})")
    if index.dtype != Long:
        raise RuntimeError(f"index_copy_(): Expected a long tensor for index, but got {code_name(index.dtype)}")
    if self.dtype != source.dtype:
        raise RuntimeError("index_copy_(): self and source expected to have the same dtype, but got (self) "
                           f"{code_name(self.dtype)} and (source) {code_name(source.dtype)}")
    if source.ndim and index.numel != source.sizes[dim]:
        raise IndexError(f"index_copy_(): Number of indices ({index.numel}) should be equal to source.size(dim) "
                         f"({source.sizes[dim]})")
    slice_shape(&mine, self, dim)
    slice_shape(&theirs, source, dim)
    if mine.ndim != theirs.ndim or memcmp(mine.sizes, theirs.sizes, mine.ndim * sizeof(int64_t)) != 0:
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: "
            f"{spaced(&mine)} at dimension {dim} and source slice shape: {spaced(&theirs)} at dimension 0.")
    return 0


cdef int slice_shape(Shape *shape, TensorBase tensor, int64_t dim) except -1:
    """The sizes beside `dim`."""
    cdef int i
    shape.ndim = 0
    for i in range(tensor.ndim):
        if i != dim:
            shape.sizes[shape.ndim] = tensor.sizes[i]
            shape.ndim += 1
    return 0


cdef str spaced(const Shape *shape):
    return " ".join([str(shape.sizes[i]) for i in range(shape.ndim)])


cdef int check_index_fill(TensorBase self, int64_t dim, TensorBase index) except -1:
    wrap_dim(dim, self.ndim)
    if index.dtype != Long:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if index.ndim > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    return 0


cdef int check_filling(ScalarType dtype, const Scalar *value) except -1:
    if value.kind == COMPLEX_KIND and KIND[<int>dtype] != COMPLEX_KIND:
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
    return check_fits(value, dtype)


cdef int check_filling_tensor(TensorBase self, TensorBase value) except -1:
    if value.ndim:
        raise RuntimeError("index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                           f"{value.ndim} dimension(s).")
    if KIND[<int>value.dtype] == COMPLEX_KIND and KIND[<int>self.dtype] != COMPLEX_KIND:
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
    return 0


# --- as if in one line -----------------------------------------------------------------------------------------------

cdef int check_take(TensorBase self, TensorBase index) except -1:
    if index.dtype != Long:
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {code_name(index.dtype)}")
    if self.numel == 0 and index.numel:
        raise IndexError("take(): tried to take from an empty tensor")
    return 0


cdef int check_put(TensorBase self, TensorBase index, TensorBase source) except -1:
    if index.dtype != Long:
        raise RuntimeError(f"put_(): Expected a long tensor for index, but got {code_name(index.dtype)}")
    if self.dtype != source.dtype:
        raise RuntimeError("put_(): self and source expected to have the same dtype, but got self.dtype = "
                           f"{code_name(self.dtype)} and source.dtype = {code_name(source.dtype)}")
    if index.numel != source.numel:
        raise IndexError("put_(): Expected source and index to have the same number of elements, but got "
                         f"source.numel() = {source.numel}, index.numel() = {index.numel}")
    if self.numel == 0 and index.numel:
        raise IndexError("put_(): Tried to put elements into an empty tensor")
    return 0


# --- several dimensions at once --------------------------------------------------------------------------------------

cdef int index_dims(Shape *shape, TensorBase self, list indices, int *place) except -1:
    cdef TensorBase index
    cdef Shape one
    cdef int i, first = -1, last = -1, count = 0
    shape.ndim = 0
    for i, index in enumerate(indices):
        if index is None:
            continue
        same(&one, index)
        try:
            broadcast_shapes(shape, &one)
        except RuntimeError:
            shapes = ", ".join([sizes_text(<TensorBase>t) for t in indices if t is not None])
            raise IndexError("shape mismatch: indexing tensors could not be broadcast together with shapes "
                             f"{shapes}") from None
        if first < 0:
            first = i
        last = i
        count += 1
    # Indices that stand apart put their dimensions first.
    place[0] = first if count and last - first + 1 == count else 0
    return 0


cdef int indexed(Shape *shape, TensorBase self, list indices) except -1:
    cdef Shape made
    cdef int i, k, place = 0
    index_dims(&made, self, indices, &place)
    shape.ndim = 0
    for i in range(self.ndim + 1):
        for k in range(made.ndim if i == place else 0):
            shape.sizes[shape.ndim] = made.sizes[k]
            shape.ndim += 1
        if i < self.ndim and (i >= len(indices) or indices[i] is None):
            shape.sizes[shape.ndim] = self.sizes[i]
            shape.ndim += 1
    for i in range(min(self.ndim, <int>len(indices))):
        if indices[i] is not None and self.sizes[i] == 0 and (<TensorBase>indices[i]).numel:
            raise IndexError("index is out of bounds for dimension with size 0")
    return 0


cdef int check_index_put(TensorBase self, list indices, TensorBase values) except -1:
    cdef Shape target
    cdef int i, shift
    if values.dtype != self.dtype:
        raise RuntimeError("Index put requires the source and destination dtypes match, got "
                           f"{code_name(self.dtype)} for the destination and {code_name(values.dtype)} for the source.")
    indexed(&target, self, indices)
    shift = target.ndim - values.ndim
    fits = shift >= 0
    for i in range(values.ndim if fits else 0):
        fits = fits and (values.sizes[i] == 1 or values.sizes[i] == target.sizes[i + shift])
    if not fits:
        raise RuntimeError(f"shape mismatch: value tensor of shape {sizes_text(values)} cannot be broadcast to "
                           f"indexing result of shape {shape_text(target.ndim, target.sizes)}")
    return 0


# --- masks -----------------------------------------------------------------------------------------------------------

cdef int check_mask(TensorBase mask) except -1:
    if mask.dtype != Bool:
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {c_name(mask.dtype)}")
    return 0


cdef int check_mask_value(TensorBase self, TensorBase value) except -1:
    if value.ndim:
        raise RuntimeError("masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                           f"{value.ndim} dimension(s).")
    if KIND[<int>value.dtype] == COMPLEX_KIND and KIND[<int>self.dtype] != COMPLEX_KIND:
        raise RuntimeError(f"value cannot be converted to type {c_name(self.dtype)} without overflow")
    return 0


cdef int check_masked_scatter(TensorBase self, TensorBase mask, TensorBase source) except -1:
    cdef Shape places
    if mask.dtype != Bool:
        raise RuntimeError(
            f"masked_scatter_ only supports boolean masks, but got mask with dtype {code_name(mask.dtype)}")
    if self.dtype != source.dtype:
        raise RuntimeError("masked_scatter: expected self and source to have same dtypes but got"
                           f"{code_name(self.dtype)} and {code_name(source.dtype)}")
    in_line(&places, self, mask)
    # Only a source that may be too short has the mask counted, which waits for the device.
    if source.numel < places.sizes[0] and source.numel < places.sizes[0] // mask.numel * <object>mask.sum().item():
        raise RuntimeError("Number of elements of source < number of ones in mask")
    return 0


cdef int check_selecting(TensorBase mask) except -1:
    if mask.dtype != Bool:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    return 0


cdef int in_line(Shape *shape, TensorBase self, TensorBase mask) except -1:
    cdef int i
    cdef int64_t count = 1
    broadcast(shape, self, mask)
    for i in range(shape.ndim):
        count *= shape.sizes[i]
    shape.ndim = 1
    shape.sizes[0] = count
    return 0


cdef int positions(Shape *shape, TensorBase self) except -1:
    shape.ndim = 2
    shape.sizes[0] = self.numel
    shape.sizes[1] = self.ndim
    return 0


# --- classes ---------------------------------------------------------------------------------------------------------

cdef int check_one_hot(TensorBase self, int64_t num_classes) except -1:
    if self.dtype != Long:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if self.numel == 0 and num_classes <= 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    if num_classes <= 0 and num_classes != -1:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return 0


cdef int one_hot(Shape *shape, TensorBase self, int64_t num_classes) except -1:
    cdef int64_t least
    same(shape, self)
    if num_classes == -1:
        read_extremes(self, &least, &num_classes)
        num_classes += 1
        if num_classes <= 0:
            raise RuntimeError("Class values must be non-negative.")
    shape.sizes[shape.ndim] = num_classes
    shape.ndim += 1
    return 0
