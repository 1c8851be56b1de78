# Rules of index tensors and masks.
from libc.stdint cimport int64_t
from libc.string cimport memcmp

from mindtorch._core.operators.operator cimport cpp_type_name, raise_not_implemented
from mindtorch._core.python.conversion cimport check_scalar_overflow, read_scalar
from mindtorch._core.rules.infer cimport (
    broadcast, broadcast_shapes, check_no_overlap, operand_order_strides, same_shape, wrap_dim,
)
from mindtorch._core.tensor.dtype cimport COMPLEX_KIND, KIND, Bool, Int, Long, Scalar, ScalarType, dtype_name
from mindtorch._core.tensor.tensor cimport META, Shape, make_view, shape_text


cdef inline bint is_index_dtype(TensorBase index) noexcept:
    return index.dtype == Long or index.dtype == Int


cdef inline int ensure_nonempty_dim(int ndim) noexcept:
    return ndim if ndim > 0 else 1


cdef inline int64_t size_or_one(TensorBase tensor, int dim) noexcept:
    return tensor.sizes[dim] if tensor.ndim else 1


cdef int check_gather(TensorBase self, int64_t dim, TensorBase index) except -1:
    """The index must be int32 or int64, with as many dimensions as `self`, and fit it beside `dim`."""
    cdef int i
    dim = wrap_dim(dim, self.ndim)
    if index.numel == 0:
        return 0
    if not is_index_dtype(index):
        raise RuntimeError("gather(): Expected dtype int32/int64 for index")
    if ensure_nonempty_dim(index.ndim) != ensure_nonempty_dim(self.ndim):
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    for i in range(index.ndim):
        if i != dim and index.sizes[i] > size_or_one(self, i):
            raise RuntimeError(f"Size does not match at dimension {i} expected index {size_text(index)} to be no "
                               f"larger than self {size_text(self)} apart from dimension {dim}")
    return 0


cdef int check_has_places(TensorBase self, int64_t dim, TensorBase index) except -1:
    """Refuses indices of a dimension of size 0: no kernel, which would find them, runs for a result without elements.
    """
    cdef int i
    if self.numel or index.numel == 0 or self.ndim == 0 or self.sizes[dim] or self.device_type == META:
        return 0
    for i in range(self.ndim):
        if i != dim and self.sizes[i] == 0:
            return 0
    raise RuntimeError(f"index {index.flatten()[0].item()} is out of bounds for dimension {dim} with size 0")


cdef int check_scatter(TensorBase self, int64_t dim, TensorBase index, TensorBase src) except -1:
    """The index must be int32 or int64 and fit `self` and src; these must have one dtype. src may be None."""
    cdef int i
    cdef bint fits = True
    dim = wrap_dim(dim, self.ndim)
    if src is not None and src.dtype != self.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if index.numel == 0:
        return 0
    if not is_index_dtype(index):
        raise RuntimeError("scatter(): Expected dtype int32/int64 for index")
    if ensure_nonempty_dim(index.ndim) != ensure_nonempty_dim(self.ndim):
        raise RuntimeError("Index tensor must have the same number of dimensions as self tensor")
    if src is not None and ensure_nonempty_dim(index.ndim) != ensure_nonempty_dim(src.ndim):
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    for i in range(ensure_nonempty_dim(index.ndim)):
        fits = fits and (i == dim or size_or_one(index, i) <= size_or_one(self, i))
        fits = fits and (src is None or size_or_one(index, i) <= size_or_one(src, i))
    if not fits:
        source = f" and to be no larger size than src {size_text(src)}" if src is not None else ""
        raise RuntimeError(f"Expected index {size_text(index)} to be no larger than self {size_text(self)} apart "
                           f"from dimension {dim}{source}")
    return check_has_places(self, dim, index)


cdef int check_no_overlap_with(TensorBase written, list operands) except -1:
    """As check_no_overlap, for each tensor of the list."""
    for operand in operands:
        check_no_overlap(written, <TensorBase>operand)
    return 0


cdef int check_scatter_mode(object reduce) except -1:
    """`reduce` must be "add" or "multiply"."""
    if reduce not in ("add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    return 0


cdef int check_scatter_reduce(object reduce, ScalarType dtype, TensorBase index) except -1:
    """`reduce` must be "sum", "prod", "mean", "amax" or "amin", and take the dtype."""
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if not index.numel:
        return 0
    if (KIND[<int>dtype] == COMPLEX_KIND and reduce in ("amax", "amin")) or (dtype == Bool and reduce == "mean"):
        raise_not_implemented(f"scatter_gather_tensor_cpu_reduce_{reduce}", dtype)
    return 0


cdef int check_index_select(TensorBase self, int64_t dim, TensorBase index) except -1:
    """The index must be an int32 or int64 vector or scalar."""
    wrap_dim(dim, self.ndim)
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if not is_index_dtype(index):
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    if self.ndim == 0 and index.numel != 1:
        raise RuntimeError(
            f"index_select(): Index to scalar can have only 1 value, got {index.numel} value(s)")
    return 0


cdef int check_indices_of_nothing(TensorBase self, int64_t dim, TensorBase index) except -1:
    """Refuses indices beyond the slices of a tensor without elements: no kernel, which would find them, runs for it."""
    if self.numel or self.ndim == 0 or self.sizes[dim] == 0:
        return 0
    for place in index.flatten().tolist():
        if not 0 <= place < self.sizes[dim]:
            raise RuntimeError(f"INDICES element is out of DATA bounds, id={place} axis_dim={self.sizes[dim]}")
    return 0


cdef int index_select(Shape *shape, TensorBase self, int64_t dim, TensorBase index) except -1:
    """That of `self`, with as many elements along `dim` as there are indices."""
    same_shape(shape, self)
    if self.ndim and self.sizes[dim] == 0 and index.numel and self.device_type != META:
        if self.ndim == 1:
            raise IndexError("index out of range in self")
        raise RuntimeError("index_select(): self indexing axis dim should be positive")
    if self.ndim:
        shape.sizes[dim] = index.numel
    return 0


cdef int check_index_add(TensorBase self, int64_t dim, TensorBase index, TensorBase source) except -1:
    """The index must be a vector as long as the source along `dim`; shapes and dtypes must agree."""
    cdef int i
    cdef int64_t along
    dim = wrap_dim(dim, self.ndim)
    if index.ndim > 1:
        raise IndexError("index_add_(): Index is supposed to be a vector, but got dim: "
                         f"{index.ndim} with type: {dtype_name(index.dtype)} and size: {size_text(index)}")
    if not is_index_dtype(index):
        raise RuntimeError(f"index_add_(): Expected dtype int32/int64 for index but got: {dtype_name(index.dtype)}")
    if self.dtype != source.dtype:
        raise RuntimeError(f"index_add_(): self ({dtype_name(self.dtype)}) and source ({dtype_name(source.dtype)}) "
                           "must "
                           "have the same scalar type")
    if dim and dim >= source.ndim:
        raise RuntimeError(f"index_add_(): Indexing dim {dim} is out of bounds of the source tensor with dim "
                           f"{source.ndim}")
    if source.ndim == 0 and index.numel != 1:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    along = source.sizes[dim] if source.ndim else 1
    if index.numel != along:
        raise RuntimeError(f"index_add_(): Number of indices ({index.numel}) should be equal to source.size(dim): "
                           f"({along}), for dim: {dim}")
    fits = self.ndim == source.ndim
    for i in range(self.ndim if fits else 0):
        fits = fits and (i == dim or self.sizes[i] == size_or_one(source, i))
    if not fits:
        raise RuntimeError("source tensor shape must match self tensor shape, excluding the specified dimension. Got "
                           f"self.shape = {size_text(self)} source.shape = {size_text(source)}")
    if self.ndim == 1 and self.numel == 0 and index.numel and self.device_type != META:
        raise IndexError("index out of range in self")
    return 0


cdef int check_index_copy(TensorBase self, int64_t dim, TensorBase index, TensorBase source) except -1:
    """The index must be an int64 vector as long as the source along `dim`; the rest must agree."""
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
        raise RuntimeError(f"index_copy_(): Expected a long tensor for index, but got {dtype_name(index.dtype)}")
    if self.dtype != source.dtype:
        raise RuntimeError("index_copy_(): self and source expected to have the same dtype, but got (self) "
                           f"{dtype_name(self.dtype)} and (source) {dtype_name(source.dtype)}")
    if source.ndim and index.numel != source.sizes[dim]:
        raise IndexError(f"index_copy_(): Number of indices ({index.numel}) should be equal to source.size(dim) "
                         f"({source.sizes[dim]})")
    slice_shape(&mine, self, dim)
    slice_shape(&theirs, source, dim)
    if mine.ndim != theirs.ndim or memcmp(mine.sizes, theirs.sizes, mine.ndim * sizeof(int64_t)) != 0:
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: "
            f"{space_separated(&mine)} at dimension {dim} and source slice shape: {space_separated(&theirs)} at "
            "dimension 0.")
    return check_has_places(self, dim, index)


cdef int slice_shape(Shape *shape, TensorBase tensor, int64_t dim) except -1:
    """The sizes beside `dim`."""
    cdef int i
    shape.ndim = 0
    for i in range(tensor.ndim):
        if i != dim:
            shape.sizes[shape.ndim] = tensor.sizes[i]
            shape.ndim += 1
    return 0


cdef str space_separated(const Shape *shape):
    return " ".join([str(shape.sizes[i]) for i in range(shape.ndim)])


cdef int check_index_fill(TensorBase self, int64_t dim, TensorBase index) except -1:
    """The index must be a vector or scalar."""
    dim = wrap_dim(dim, self.ndim)
    if index.ndim > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    return check_has_places(self, dim, index)


cdef int check_index_fill_dtypes(ScalarType dtype, ScalarType index, int value) except -1:
    """The index must be int64, and a value of that kind not complex unless the dtype is."""
    if index != Long:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if value == COMPLEX_KIND and KIND[<int>dtype] != COMPLEX_KIND:
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
    return 0


cdef int check_index_fill_value(ScalarType dtype, ScalarType index, const Scalar *value) except -1:
    """The index must be int64, and the value not complex unless the dtype is."""
    return check_index_fill_dtypes(dtype, index, value.kind)


cdef int check_index_fill_tensor(ScalarType dtype, ScalarType index, TensorBase value) except -1:
    """The value must be 0-d, and not complex unless the dtype is, and the index int64."""
    if value.ndim:
        raise RuntimeError("index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                           f"{value.ndim} dimension(s).")
    return check_index_fill_dtypes(dtype, index, KIND[<int>value.dtype])


cdef int check_value_on_host(TensorBase self, TensorBase value) except -1:
    """A value that fills must fit the dtype. On another device the host would have to wait for it."""
    cdef Scalar number
    if value.dtype != self.dtype and value.device_type == CPU:
        read_scalar(value, &number)
        check_scalar_overflow(&number, self.dtype)
    return 0


cdef int check_take(TensorBase self, TensorBase index) except -1:
    """The index must be int64; refuses to take from an empty tensor."""
    if index.dtype != Long:
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {dtype_name(index.dtype)}")
    if self.numel == 0 and index.numel:
        raise IndexError("take(): tried to take from an empty tensor")
    return 0


cdef int check_put(TensorBase self, TensorBase index, TensorBase source) except -1:
    """The index must be int64, as long as the source, which must have self's dtype."""
    if index.dtype != Long:
        raise RuntimeError(f"put_(): Expected a long tensor for index, but got {dtype_name(index.dtype)}")
    if self.dtype != source.dtype:
        raise RuntimeError("put_(): self and source expected to have the same dtype, but got self.dtype = "
                           f"{dtype_name(self.dtype)} and source.dtype = {dtype_name(source.dtype)}")
    if index.numel != source.numel:
        raise IndexError("put_(): Expected source and index to have the same number of elements, but got "
                         f"source.numel() = {source.numel}, index.numel() = {index.numel}")
    if self.numel == 0 and index.numel:
        raise IndexError("put_(): Tried to put elements into an empty tensor")
    return 0


cdef int index_dims(Shape *shape, TensorBase self, list indices, int *first_dim) except -1:
    cdef TensorBase index
    cdef Shape one
    cdef int i, first = -1, last = -1, count = 0
    shape.ndim = 0
    for i, index in enumerate(indices):
        if index is None:
            continue
        same_shape(&one, index)
        try:
            broadcast_shapes(shape, &one)
        except RuntimeError:
            shapes = ", ".join([size_text(<TensorBase>t) for t in indices if t is not None])
            raise IndexError("shape mismatch: indexing tensors could not be broadcast together with shapes "
                             f"{shapes}") from None
        if first < 0:
            first = i
        last = i
        count += 1
    # As in NumPy: indices that are not adjacent put their dimensions first.
    first_dim[0] = first if count and last - first + 1 == count else 0
    return 0


cdef int index_shape(Shape *shape, TensorBase self, list indices) except -1:
    """That of self[indices]; None in the list stands for a whole dimension."""
    cdef Shape made
    cdef int i, k, first_dim = 0
    index_dims(&made, self, indices, &first_dim)
    shape.ndim = 0
    for i in range(self.ndim + 1):
        for k in range(made.ndim if i == first_dim else 0):
            shape.sizes[shape.ndim] = made.sizes[k]
            shape.ndim += 1
        if i < self.ndim and (i >= len(indices) or indices[i] is None):
            shape.sizes[shape.ndim] = self.sizes[i]
            shape.ndim += 1
    for i in range(min(self.ndim, <int>len(indices))):
        if indices[i] is not None and self.sizes[i] == 0 and (<TensorBase>indices[i]).numel:
            raise IndexError("index is out of bounds for dimension with size 0")
    return 0


cdef TensorBase index_operand(TensorBase index, const Shape *shape, const Shape *made, int first_dim):
    """The index as an operand of the result: its own dimensions from `first_dim` on, those of self with size 1."""
    cdef Shape sizes, strides
    cdef int64_t extent = index.strides[index.ndim - 1] if index.ndim else 1
    cdef int k, dim
    for k in range(shape.ndim - 1, -1, -1):
        dim = k - first_dim - made.ndim + index.ndim
        if first_dim <= k < first_dim + made.ndim and dim >= 0:
            sizes.sizes[k], strides.sizes[k] = index.sizes[dim], index.strides[dim]
            extent = index.strides[dim] * max(index.sizes[dim], 1)
        else:
            sizes.sizes[k], strides.sizes[k] = 1, extent
    return make_view(index, shape.ndim, sizes.sizes, strides.sizes, index.offset)


cdef bint is_plain(TensorBase tensor) noexcept:
    """Whether it lies by rows, and no dimension of size 1 has a stride that says something else."""
    cdef int i
    for i in range(tensor.ndim if tensor.ndim > 1 else 0):
        if tensor.sizes[i] == 1:
            return False
    return tensor.contiguous


cdef int index_strides(Shape *strides, TensorBase self, list indices) except -1:
    """The order of self's dimensions, in which those of the indices are broadcast, and then that of the indices'."""
    cdef Shape made, shape, source
    cdef TensorBase index, first = None, second = None
    cdef int i, k, first_dim = 0
    cdef bint plain = is_plain(self)
    for index in indices:
        plain = plain and (index is None or is_plain(index))
    strides.ndim = 0
    if plain:
        return 0
    index_dims(&made, self, indices, &first_dim)
    index_shape(&shape, self, indices)
    for k in range(shape.ndim):
        source.sizes[k] = 0
    k = 0
    for i in range(self.ndim):
        if k == first_dim:
            k += made.ndim
        if i >= len(indices) or indices[i] is None:
            source.sizes[k] = self.strides[i]
            k += 1
    for index in indices:                   # a third one has nothing to say but where both of these are broadcast
        if index is not None and second is None:
            first, second = (index_operand(index, &shape, &made, first_dim), None) if first is None else (
                first, index_operand(index, &shape, &made, first_dim))
    strides.ndim = shape.ndim
    operand_order_strides(&shape, make_view(self, shape.ndim, shape.sizes, source.sizes, self.offset), first, second,
                          strides.sizes)
    return 0


cdef int check_index_put(TensorBase self, list indices, TensorBase values) except -1:
    """The values must have self's dtype, and expand to the shape of self[indices]."""
    cdef Shape target
    cdef int i, shift
    index_shape(&target, self, indices)
    if values.dtype != self.dtype:
        raise RuntimeError("Index put requires the source and destination dtypes match, got "
                           f"{dtype_name(self.dtype)} for the destination and {dtype_name(values.dtype)} for the "
                           "source.")
    shift = target.ndim - values.ndim
    fits = shift >= 0
    for i in range(values.ndim if fits else 0):
        fits = fits and (values.sizes[i] == 1 or values.sizes[i] == target.sizes[i + shift])
    if not fits:
        raise RuntimeError(f"shape mismatch: value tensor of shape {size_text(values)} cannot be broadcast to "
                           f"indexing result of shape {shape_text(target.ndim, target.sizes)}")
    return 0


cdef int check_masked_fill(ScalarType dtype) except -1:
    """The mask must be bool."""
    if dtype != Bool:
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype "
                           f"{cpp_type_name(dtype)}")
    return 0


cdef int check_masked_fill_tensor(TensorBase self, ScalarType mask, TensorBase value) except -1:
    """The value must be 0-d, the mask bool, and the value not complex unless `self` is, or its imaginary part is 0: the
    host reads it then. One on the host must fit the dtype.
    """
    cdef Scalar number
    if value.ndim:
        raise RuntimeError("masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                           f"{value.ndim} dimension(s).")
    check_masked_fill(mask)
    if KIND[<int>value.dtype] == COMPLEX_KIND and KIND[<int>self.dtype] != COMPLEX_KIND:
        read_scalar(value, &number)
        check_scalar_overflow(&number, self.dtype)
    return check_value_on_host(self, value)


cdef int check_masked_scatter(TensorBase self, TensorBase mask, TensorBase source) except -1:
    """The mask must be bool, and the source long enough. If it may be too short, the host counts the mask."""
    cdef Shape places
    if mask.dtype != Bool:
        raise RuntimeError(
            f"masked_scatter_ only supports boolean masks, but got mask with dtype {dtype_name(mask.dtype)}")
    if self.dtype != source.dtype:
        raise RuntimeError("masked_scatter: expected self and source to have same dtypes but got"
                           f"{dtype_name(self.dtype)} and {dtype_name(source.dtype)}")
    broadcast_numel(&places, self, mask)
    if source.numel < places.sizes[0] and source.numel < places.sizes[0] // mask.numel * <object>mask.sum().item():
        raise RuntimeError("Number of elements of source < number of ones in mask")
    return 0


cdef int check_masked_select(ScalarType dtype) except -1:
    """The mask must be bool."""
    if dtype != Bool:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    return 0


cdef int broadcast_numel(Shape *shape, TensorBase self, TensorBase mask) except -1:
    """(n,): the number of elements of both shapes, broadcast."""
    cdef int i
    cdef int64_t count = 1
    broadcast(shape, self, mask)
    for i in range(shape.ndim):
        count *= shape.sizes[i]
    shape.ndim = 1
    shape.sizes[0] = count
    return 0


cdef int nonzero_shape(Shape *shape, TensorBase self) except -1:
    """(elements, dims): the largest possible result; the kernel reports how many rows there are."""
    shape.ndim = 2
    shape.sizes[0] = self.numel
    shape.sizes[1] = self.ndim
    return 0


cdef int nonzero_strides(Shape *strides, TensorBase self) except -1:
    """(1, rows): by columns, also where there are no rows."""
    strides.sizes[1] = strides.sizes[0]
    strides.sizes[0] = 1
    return 0


cdef int check_one_hot(TensorBase self, int64_t num_classes) except -1:
    """The classes must be int64, with num_classes positive or -1; an empty tensor needs num_classes."""
    if self.dtype != Long:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if self.numel == 0 and num_classes <= 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    if num_classes <= 0 and num_classes != -1:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return 0


cdef int one_hot(Shape *shape, TensorBase self, int64_t num_classes) except -1:
    """That of `self`, then the number of classes; -1 has the host read the largest class."""
    cdef int64_t least
    same_shape(shape, self)
    if num_classes == -1:
        read_min_max(self, &least, &num_classes)
        num_classes += 1
        if num_classes <= 0:
            raise RuntimeError("Class values must be non-negative.")
    shape.sizes[shape.ndim] = num_classes
    shape.ndim += 1
    return 0
