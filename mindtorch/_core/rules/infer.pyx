"""Shapes, dtypes and devices of results, and the outputs themselves: torch's rules, with torch's errors."""
import warnings

from libc.stdint cimport uint64_t

from mindtorch._core.autograd.node cimport check_inference_write
from mindtorch._core.tensor.dtype cimport (
    BOOL_KIND, COMPLEX_KIND, DTYPES, FLOAT_KIND, INT_KIND, ITEMSIZE, KIND, Bool, Byte, ComplexDouble, ComplexFloat,
    Double, Long, Undefined, can_cast, default_complex_dtype, default_dtype, dtype_name, is_float8, promote_types,
)
from mindtorch._core.tensor.tensor cimport (
    CPU, MAX_DIMS, META, Storage, allocate, checked_numel, copy_data, device_of, empty_tensor, has_internal_overlap,
    has_same_shape, has_shape, is_non_overlapping_and_dense, make_device, make_tensor, make_view, set_geometry,
    set_storage, shape_text,
)


# --- devices ---------------------------------------------------------------------------------------------------------

cdef inline bint same_device(TensorBase a, TensorBase b) noexcept nogil:
    return a.device_type == b.device_type and a.device_index == b.device_index


cdef inline bint is_cpu_scalar(TensorBase tensor) noexcept nogil:
    """Whether it is a 0-d CPU tensor, which goes with operands on any device."""
    return tensor.ndim == 0 and tensor.device_type == CPU


cdef int raise_device_mismatch(device a, device b) except -1:
    if a.type_code == META or b.type_code == META:
        raise RuntimeError(f"Tensor on device {b} is not on the expected device {a}!")
    raise RuntimeError(f"Expected all tensors to be on the same device, but found at least two devices, {a} and {b}!")


cdef int common_device(TensorBase a, TensorBase b) except -1:
    if same_device(a, b) or is_cpu_scalar(b):
        return a.device_type
    if is_cpu_scalar(a):
        return b.device_type
    return raise_device_mismatch(device_of(a), device_of(b))


cdef int common_device_index(TensorBase a, TensorBase b) noexcept nogil:
    return b.device_index if is_cpu_scalar(a) else a.device_index


cdef int common_device_list(list tensors, int *index) except -1:
    cdef TensorBase lead = <TensorBase>tensors[0]
    cdef TensorBase tensor
    for tensor in tensors:
        if same_device(lead, tensor) or is_cpu_scalar(tensor):
            continue
        if not is_cpu_scalar(lead):
            raise_device_mismatch(device_of(lead), device_of(tensor))
        lead = tensor
    index[0] = lead.device_index
    return lead.device_type


# --- dtypes ----------------------------------------------------------------------------------------------------------

cdef inline ScalarType combine_categories(ScalarType higher, ScalarType lower) except? Undefined nogil:
    """The dtype of operands of two categories: that of the higher one, unless the lower one has a higher kind."""
    if higher == Undefined:
        return lower
    if lower == Undefined or KIND[<int>higher] > KIND[<int>lower]:
        return higher
    if KIND[<int>higher] == KIND[<int>lower] and KIND[<int>higher] != BOOL_KIND:
        return higher
    if KIND[<int>higher] == FLOAT_KIND:           # with a complex number: complex, of this precision
        if is_float8(higher):
            with gil:
                DTYPES[<int>higher].to_complex()  # which says that there is none
        return ComplexDouble if higher == Double else ComplexFloat
    return promote_types(higher, lower)


cdef ScalarType promote(TensorBase a, TensorBase b) except? Undefined nogil:
    """The dtype that torch.result_type gives for both."""
    if a.dtype == b.dtype:
        return a.dtype
    if (a.ndim == 0) == (b.ndim == 0):
        return promote_types(a.dtype, b.dtype)
    if a.ndim == 0:
        return combine_categories(b.dtype, a.dtype)
    return combine_categories(a.dtype, b.dtype)


cdef ScalarType scalar_dtype(const Scalar *number) noexcept nogil:
    if number.kind == BOOL_KIND:
        return Bool
    if number.kind == INT_KIND:
        return Long
    if number.kind == FLOAT_KIND:
        return default_dtype()
    return default_complex_dtype()


cdef ScalarType promote_scalar(TensorBase a, const Scalar *b) except? Undefined nogil:
    """The dtype that torch.result_type gives for a tensor and a number."""
    if b.kind <= KIND[<int>a.dtype]:
        return a.dtype
    return combine_categories(a.dtype, scalar_dtype(b))


cdef ScalarType promote_list(list tensors) except *:
    """The dtype that torch.result_type gives for all."""
    cdef ScalarType dim_result = Undefined, zero_dim_result = Undefined
    cdef TensorBase tensor
    for tensor in tensors:
        if tensor.ndim > 0:
            dim_result = tensor.dtype if dim_result == Undefined else promote_types(dim_result, tensor.dtype)
        else:
            zero_dim_result = (tensor.dtype if zero_dim_result == Undefined else
                               promote_types(zero_dim_result, tensor.dtype))
    return combine_categories(dim_result, zero_dim_result)


cdef ScalarType int_to_float(ScalarType dtype) noexcept nogil:
    """The default dtype for bool and integers; others as they are."""
    return dtype if KIND[<int>dtype] >= FLOAT_KIND else default_dtype()


cdef ScalarType sum_dtype(ScalarType dtype) noexcept nogil:
    """int64 for bool and integers; others as they are."""
    return dtype if KIND[<int>dtype] >= FLOAT_KIND else Long


# --- shapes ----------------------------------------------------------------------------------------------------------

cdef int raise_size_mismatch(int64_t a, int64_t b, int dim) except -1:
    raise RuntimeError(
        f"The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension {dim}")


cdef inline int broadcast_sizes(Shape *shape, int a_ndim, const int64_t *a, int b_ndim, const int64_t *b) except -1:
    """shape = a broadcast with b; `shape` may hold a's sizes already, being filled from the last dimension."""
    cdef int ndim = a_ndim if a_ndim > b_ndim else b_ndim
    cdef int i, i_a, i_b
    cdef int64_t x, y
    for i in range(ndim - 1, -1, -1):
        i_a = i - (ndim - a_ndim)
        i_b = i - (ndim - b_ndim)
        x = a[i_a] if i_a >= 0 else 1
        y = b[i_b] if i_b >= 0 else 1
        if x != y and x != 1 and y != 1:
            return raise_size_mismatch(x, y, i)
        shape.sizes[i] = y if x == 1 else x
    shape.ndim = ndim
    return 0


cdef int broadcast(Shape *shape, TensorBase a, TensorBase b) except -1:
    """The two shapes, broadcast."""
    return broadcast_sizes(shape, a.ndim, a.sizes, b.ndim, b.sizes)


cdef int broadcast_shapes(Shape *shape, const Shape *other) except -1:
    return broadcast_sizes(shape, shape.ndim, shape.sizes, other.ndim, other.sizes)


cdef int broadcast3(Shape *shape, TensorBase a, TensorBase b, TensorBase c) except -1:
    """The three shapes, broadcast."""
    broadcast_sizes(shape, a.ndim, a.sizes, b.ndim, b.sizes)
    return broadcast_sizes(shape, shape.ndim, shape.sizes, c.ndim, c.sizes)


cdef int same_shape(Shape *shape, TensorBase a) except -1:
    """The shape of the tensor."""
    cdef int i
    shape.ndim = a.ndim
    for i in range(a.ndim):
        shape.sizes[i] = a.sizes[i]
    return 0


cdef int like(Shape *shape, TensorBase a) except -1:
    """The shape of the tensor, for an operator that is not elementwise."""
    return same_shape(shape, a)


cdef int vector_of_size(Shape *shape, int64_t size) except -1:
    """(size,)."""
    shape.ndim = 1
    shape.sizes[0] = size
    return 0


cdef int matrix_of_sizes(Shape *shape, int64_t rows, int64_t columns) except -1:
    """(rows, columns)."""
    shape.ndim = 2
    shape.sizes[0] = rows
    shape.sizes[1] = columns
    return 0


cdef int like_or_empty(Shape *shape, TensorBase tensor) except -1:
    """The shape of the tensor, or (0,) for None."""
    if tensor is not None:
        return like(shape, tensor)
    shape.ndim = 1
    shape.sizes[0] = 0
    return 0


cdef int64_t wrap_dim(int64_t dim, int ndim) except? -1:
    cdef int64_t limit = ndim if ndim > 0 else 1
    if dim < -limit or dim >= limit:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], but got {dim})")
    return dim + limit if dim < 0 else dim


cdef int wrap_dims(Shape *dims, int ndim) except -1:
    cdef uint64_t seen = 0
    cdef int i
    for i in range(dims.ndim):
        dims.sizes[i] = wrap_dim(dims.sizes[i], ndim)
        if (seen >> dims.sizes[i]) & 1:
            raise RuntimeError(f"dim {dims.sizes[i]} appears multiple times in the list of dims")
        seen |= <uint64_t>1 << dims.sizes[i]
    return 0


cdef int reduce_dims(Shape *shape, TensorBase a, const Shape *dims, bint keepdim) except -1:
    """The sizes without `dims`, or with 1 in their places where `keepdim`; no dimensions stand for all."""
    cdef uint64_t reduced = 0
    cdef int64_t dim
    cdef int i, ndim = 0
    for i in range(dims.ndim):
        dim = wrap_dim(dims.sizes[i], a.ndim)
        if (reduced >> dim) & 1:
            raise RuntimeError(f"dim {dim} appears multiple times in the list of dims")
        reduced |= <uint64_t>1 << dim
    if dims.ndim == 0:
        reduced = ~<uint64_t>0
    for i in range(a.ndim):
        if not (reduced >> i) & 1:
            shape.sizes[ndim] = a.sizes[i]
            ndim += 1
        elif keepdim:
            shape.sizes[ndim] = 1
            ndim += 1
    shape.ndim = ndim
    return 0


cdef int raise_cannot_multiply(int64_t rows, int64_t inner, int64_t other_inner, int64_t columns) except -1:
    raise RuntimeError(
        f"mat1 and mat2 shapes cannot be multiplied ({rows}x{inner} and {other_inner}x{columns})")


cdef int mm(Shape *shape, TensorBase a, TensorBase b) except -1:
    """(n, p) of (n, m) and (m, p)."""
    if a.ndim != 2:
        raise RuntimeError("self must be a matrix")
    if b.ndim != 2:
        raise RuntimeError("mat2 must be a matrix")
    if a.sizes[1] != b.sizes[0]:
        raise_cannot_multiply(a.sizes[0], a.sizes[1], b.sizes[0], b.sizes[1])
    shape.ndim = 2
    shape.sizes[0] = a.sizes[0]
    shape.sizes[1] = b.sizes[1]
    return 0


cdef int raise_batch_mismatch(int64_t batch, int64_t inner, int64_t other_batch, int64_t other_inner) except -1:
    raise RuntimeError(f"Expected size for first two dimensions of batch2 tensor to be: [{batch}, {inner}] "
                       f"but got: [{other_batch}, {other_inner}].")


cdef int bmm(Shape *shape, TensorBase a, TensorBase b) except -1:
    """(b, n, p) of (b, n, m) and (b, m, p)."""
    if a.ndim != 3:
        raise RuntimeError("batch1 must be a 3D tensor")
    if b.ndim != 3:
        raise RuntimeError("batch2 must be a 3D tensor")
    if a.sizes[0] != b.sizes[0] or a.sizes[2] != b.sizes[1]:
        raise_batch_mismatch(a.sizes[0], a.sizes[2], b.sizes[0], b.sizes[1])
    shape.ndim = 3
    shape.sizes[0] = a.sizes[0]
    shape.sizes[1] = a.sizes[1]
    shape.sizes[2] = b.sizes[2]
    return 0


cdef int matmul(Shape *shape, TensorBase a, TensorBase b) except -1:
    """That of a @ b, for any number of dimensions."""
    cdef int64_t inner, other_inner
    cdef int i
    if a.ndim == 0 or b.ndim == 0:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {a.ndim}D and {b.ndim}D")
    inner = a.sizes[a.ndim - 1]
    other_inner = b.sizes[b.ndim - 2] if b.ndim > 1 else b.sizes[0]
    # The batch: all but the last two dimensions, broadcast.
    broadcast_sizes(shape, a.ndim - 2 if a.ndim > 2 else 0, a.sizes, b.ndim - 2 if b.ndim > 2 else 0, b.sizes)
    if inner != other_inner:
        raise_matmul_mismatch(shape, a, b, inner, other_inner)
    i = shape.ndim
    if a.ndim > 1:
        shape.sizes[i] = a.sizes[a.ndim - 2]
        i += 1
    if b.ndim > 1:
        shape.sizes[i] = b.sizes[b.ndim - 1]
        i += 1
    shape.ndim = i
    return 0


cdef int raise_matmul_mismatch(const Shape *batch, TensorBase a, TensorBase b, int64_t inner,
                               int64_t other_inner) except -1:
    cdef int64_t rows = 1
    cdef int i
    if a.ndim == 1 and b.ndim == 1:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{inner}] and src [{other_inner}] to have the same number "
            f"of elements, but got {inner} and {other_inner} elements respectively")
    if b.ndim <= 2:
        for i in range(a.ndim - 1):
            rows *= a.sizes[i]
        if b.ndim == 1:
            raise RuntimeError(f"size mismatch, got input ({rows}), mat ({rows}x{inner}), vec ({other_inner})")
        return raise_cannot_multiply(rows, inner, other_inner, b.sizes[1])
    for i in range(batch.ndim):
        rows *= batch.sizes[i]
    return raise_batch_mismatch(rows, inner, rows, other_inner)


cdef inline bint is_legacy_empty(TensorBase tensor) noexcept nogil:
    """Whether the shape is (0,): cat skips such tensors, whatever the shape of the others."""
    return tensor.ndim == 1 and tensor.sizes[0] == 0


cdef int cat(Shape *shape, list tensors, int64_t dim) except -1:
    """That of the first tensor, with the sum of the sizes along `dim`; tensors of shape (0,) are skipped."""
    cdef TensorBase first = None
    cdef TensorBase tensor
    cdef int position
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    for position, tensor in enumerate(tensors):
        if tensor.ndim == 0:
            raise RuntimeError(f"zero-dimensional tensor (at position {position}) cannot be concatenated")
        if first is None and not is_legacy_empty(tensor):
            first = tensor
    if first is None:                       # nothing is joined, along whatever dimension
        same_shape(shape, <TensorBase>tensors[0])
        return 0
    dim = wrap_dim(dim, first.ndim)
    same_shape(shape, first)
    shape.sizes[dim] = 0
    for position, tensor in enumerate(tensors):
        if not is_legacy_empty(tensor):
            check_cat(first, tensor, dim, position)
            shape.sizes[dim] += tensor.sizes[dim]
    return 0


cdef int check_cat(TensorBase first, TensorBase tensor, int64_t dim, int position) except -1:
    cdef int i
    if tensor.ndim != first.ndim:
        raise RuntimeError(f"Tensors must have same number of dimensions: got {first.ndim} and {tensor.ndim}")
    for i in range(first.ndim):
        if i != dim and first.sizes[i] != tensor.sizes[i]:
            raise RuntimeError(
                f"Sizes of tensors must match except in dimension {dim}. Expected size {first.sizes[i]} but got size "
                f"{tensor.sizes[i]} for tensor number {position} in the list.")
    return 0


cdef int stack(Shape *shape, list tensors, int64_t dim) except -1:
    """That of the tensors, which must be equal, with a new dimension for the list."""
    cdef TensorBase first, tensor
    cdef int i, position
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    first = <TensorBase>tensors[0]
    dim = wrap_dim(dim, first.ndim + 1)
    for position, tensor in enumerate(tensors):
        if not has_same_shape(first, tensor):
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {shape_text(first.ndim, first.sizes)} at entry 0 "
                f"and {shape_text(tensor.ndim, tensor.sizes)} at entry {position}")
    shape.ndim = first.ndim + 1
    for i in range(dim):
        shape.sizes[i] = first.sizes[i]
    shape.sizes[dim] = len(tensors)
    for i in range(dim, first.ndim):
        shape.sizes[i + 1] = first.sizes[i]
    return 0


# --- outputs ---------------------------------------------------------------------------------------------------------

cdef int check_cast(ScalarType result, ScalarType target) except -1:
    """The dtype of a result must be one that can be cast to the dtype of out= or of `self`."""
    if not can_cast(result, target):
        raise RuntimeError(
            f"result type {dtype_name(result)} can't be cast to the desired output type {dtype_name(target)}")
    return 0


cdef int check_no_internal_overlap(TensorBase written) except -1:
    """The written tensor must not have two elements at one address, as expanded tensors have."""
    if has_internal_overlap(written):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation.")
    return 0


cdef bint has_same_strides(TensorBase a, TensorBase b):
    """Whether two tensors have the same sizes and strides; the stride of a dimension of size 1 does not count."""
    cdef int i
    if a.ndim != b.ndim:
        return False
    for i in range(a.ndim):
        if a.sizes[i] != b.sizes[i] or (a.sizes[i] != 1 and a.strides[i] != b.strides[i]):
            return False
    return True


cdef bint is_same_memory(TensorBase a, TensorBase b):
    """Whether two tensors have the same elements in the same order."""
    return (a.storage is b.storage and a.offset == b.offset and a.dtype == b.dtype and a.bits == b.bits
            and has_same_strides(a, b))


cdef int check_no_partial_overlap(TensorBase written, TensorBase operand) except -1:
    """The operand may be the written tensor itself, but must not overlap it in part."""
    if operand is None or operand.storage is not written.storage or operand is written:
        return 0
    if (not written.numel or not operand.numel or not is_non_overlapping_and_dense(written)
            or not is_non_overlapping_and_dense(operand)):
        return 0                             # as in torch, which finds the general case too hard to tell
    cdef char *start = written.data_ptr()
    cdef char *other = operand.data_ptr()
    cdef char *end = start + written.numel * ITEMSIZE[<int>written.dtype]
    cdef char *other_end = other + operand.numel * ITEMSIZE[<int>operand.dtype]
    if start == other and end == other_end and has_same_strides(written, operand):
        return 0
    return raise_overlap() if start < other_end and other < end else 0


cdef int check_no_overlap(TensorBase written, TensorBase operand) except -1:
    """The written tensor must not share memory with the operand, not even all of it."""
    if operand is not None and written.numel and (operand is written or (
            is_same_memory(written, operand) and is_non_overlapping_and_dense(written))):
        raise_overlap()
    return check_no_partial_overlap(written, operand)


cdef int check_no_overlap_of_added(TensorBase written, TensorBase added) except -1:
    """As check_no_partial_overlap where `added` has the shape of the product it is added to."""
    return check_no_partial_overlap(written, added) if has_same_shape(written, added) else 0


cdef int raise_overlap() except -1:
    raise RuntimeError(
        "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
        "memory location. Please clone() the tensor before performing the operation.")


cdef inline int64_t end_byte(TensorBase tensor) noexcept nogil:
    """The byte of the storage behind the last element."""
    cdef int64_t last = tensor.offset
    cdef int i
    for i in range(tensor.ndim):
        last += (tensor.sizes[i] - 1) * tensor.strides[i]
    return (last + 1) * ITEMSIZE[<int>tensor.dtype]


cdef TensorBase result_or_temporary(TensorBase result, TensorBase operand):
    cdef Shape shape
    if operand is None or operand.storage is not result.storage or not operand.numel or not result.numel:
        return result
    if (end_byte(operand) <= result.offset * ITEMSIZE[<int>result.dtype]
            or end_byte(result) <= operand.offset * ITEMSIZE[<int>operand.dtype]):
        return result
    same_shape(&shape, result)
    return empty_tensor(&shape, result.dtype, result.device_type, result.device_index)


cdef bint needs_larger_storage(TensorBase self, int64_t count) except -1:
    """Whether `count` elements need more memory than the storage has."""
    return count != 0 and (self.offset + count) * ITEMSIZE[<int>self.dtype] > <int64_t>self.storage.nbytes


cdef int resize(TensorBase self, const Shape *shape) except -1:
    cdef int64_t count = checked_numel(shape)
    if needs_larger_storage(self, count):
        resize_storage(self.storage, (self.offset + count) * ITEMSIZE[<int>self.dtype])
    return set_geometry(self, shape.ndim, shape.sizes, NULL, self.offset)


cdef int resize_storage(Storage storage, int64_t nbytes) except -1:
    cdef Storage other
    cdef int64_t copied = min(nbytes, <int64_t>storage.nbytes)
    if not storage.resizable():
        raise RuntimeError("Trying to resize storage that is not resizable")
    other = allocate(nbytes, Byte, storage.device_type, storage.device_index)
    if copied:
        copy_data(make_tensor(other, Byte, 1, &copied, NULL, 0), make_tensor(storage, Byte, 1, &copied, NULL, 0), False)
    storage.exchange(other)
    return 0


cdef int warn_output_resized(TensorBase out, const Shape *shape) except -1:
    if out.numel != 0:
        warnings.warn(
            f"An output with one or more elements was resized since it had shape {shape_text(out.ndim, out.sizes)}, "
            f"which does not match the required output shape {shape_text(shape.ndim, shape.sizes)}. This behavior is "
            "deprecated, and in a future PyTorch release outputs will not be resized unless they have zero elements. "
            "You can explicitly reuse an out tensor t by resizing it, inplace, to zero elements with t.resize_(0).",
            UserWarning, stacklevel=2)
    return 0


def resize_output(TensorBase out not None, TensorBase like not None, bint warns=True):
    """The out= in the shape of another tensor, as operators resize it: also where it requires a gradient."""
    cdef Shape shape
    same_shape(&shape, like)
    if not has_shape(out, &shape):
        check_inference_write(out)
        if warns:
            warn_output_resized(out, &shape)
        resize(out, &shape)
    return out


cdef int check_output(TensorBase out, ScalarType dtype, int device_type, int device_index) except -1:
    if out.device_type != device_type or out.device_index != device_index:
        raise_device_mismatch(make_device(device_type, device_index), device_of(out))
    check_inference_write(out)
    return check_cast(dtype, out.dtype)


cdef TensorBase output_or_temporary(TensorBase out, const Shape *shape, ScalarType dtype, int device_type,
                                    int device_index):
    if out is None:
        return empty_tensor(shape, dtype, device_type, device_index)
    check_output(out, dtype, device_type, device_index)
    if not has_shape(out, shape):           # write_back will resize it: until then, it may be an operand
        return empty_tensor(shape, dtype, device_type, device_index)
    check_no_internal_overlap(out)
    return out if out.dtype == dtype else empty_tensor(shape, dtype, device_type, device_index)


cdef bint is_channels_last(TensorBase tensor) noexcept:
    """Whether the channels have the smallest stride. A tensor whose sizes of 1 leave that open is not channels_last."""
    cdef int order[5]
    cdef int i, dim
    cdef int64_t least = 0
    if tensor is None or not 4 <= tensor.ndim <= 5 or tensor.strides[1] == 0:
        return False
    order[0], order[tensor.ndim - 1] = 1, 0
    for i in range(1, tensor.ndim - 1):
        order[i] = tensor.ndim - i
    for i in range(tensor.ndim):
        dim = order[i]
        if tensor.sizes[dim] == 0 or tensor.strides[dim] < least or (dim == 0 and least == tensor.strides[1]):
            return False
        least = tensor.strides[dim] * tensor.sizes[dim]
    return True


cdef TensorBase channels_last_output(TensorBase out, const Shape *shape, ScalarType dtype, int device_type,
                                     int device_index, TensorBase a, TensorBase b):
    cdef int64_t strides[MAX_DIMS]
    cdef int64_t stride
    cdef int i
    if not (is_channels_last(a) or is_channels_last(b)) or (out is not None and has_shape(out, shape)):
        return output_or_temporary(out, shape, dtype, device_type, device_index)
    if out is not None:                     # it gets the strides of the temporary
        check_output(out, dtype, device_type, device_index)
    strides[1], stride = 1, shape.sizes[1]
    for i in range(shape.ndim - 1, 1, -1):
        strides[i] = stride
        stride *= shape.sizes[i]
    strides[0] = stride
    return make_tensor(allocate(checked_numel(shape), dtype, device_type, device_index), dtype, shape.ndim,
                       shape.sizes, strides, 0)


cdef TensorBase elementwise_output(TensorBase out, const Shape *shape, ScalarType dtype, int device_type,
                                   int device_index, TensorBase a, TensorBase b, TensorBase c, unsigned int no_cast):
    if out is not None:
        if (out is a or out is b or out is c) and not has_shape(out, shape):
            raise_shape_mismatch(out, shape)
        check_no_internal_overlap(out)
        check_no_partial_overlap(out, a)
        check_no_partial_overlap(out, b)
        check_no_partial_overlap(out, c)
        if has_shape(out, shape):
            return output_or_temporary(out, shape, dtype, device_type, device_index)
        check_output(out, dtype, device_type, device_index)     # it gets the strides of the temporary
    cdef int64_t numel = checked_numel(shape)
    if shape.ndim < 2 or (
            implies_contiguous(a, numel) and implies_contiguous(b, numel) and implies_contiguous(c, numel)):
        return empty_tensor(shape, dtype, device_type, device_index)
    cdef int64_t strides[MAX_DIMS]
    cdef ScalarType computed = dtype
    if dtype == Bool and a is not None and b is not None and a.ndim and b.ndim:         # they are compared
        computed = promote_types(a.dtype, b.dtype)
    operand_order_strides(shape, a if no_cast & 1 else as_cast(a, computed),
                          b if no_cast & 2 else as_cast(b, computed), c if no_cast & 4 else as_cast(c, computed),
                          strides)
    return make_tensor(allocate(checked_numel(shape), dtype, device_type, device_index), dtype, shape.ndim,
                       shape.sizes, strides, 0)


cdef TensorBase as_cast(TensorBase operand, ScalarType dtype):
    """The operand with the strides of its cast to `dtype`, which torch makes first: it is dense, and not expanded."""
    cdef Shape shape
    cdef int64_t strides[MAX_DIMS]
    if operand is None or operand.dtype == dtype or dtype == Bool or is_non_overlapping_and_dense(operand):
        return operand
    same_shape(&shape, operand)
    operand_order_strides(&shape, operand, None, None, strides)
    return make_view(operand, operand.ndim, operand.sizes, strides, operand.offset)


cdef inline bint implies_contiguous(TensorBase operand, int64_t numel) noexcept:
    """Whether the result is contiguous as far as this operand goes; one that is broadcast may decide its strides."""
    return operand is None or (operand.contiguous and (operand.numel == numel or operand.numel == 1))


cdef inline int64_t operand_stride(TensorBase operand, const Shape *shape, int dim) noexcept:
    """The operand's stride along a dimension of the result; 0 where the operand is broadcast or absent."""
    if operand is None:
        return 0
    dim -= shape.ndim - operand.ndim
    if dim < 0 or (operand.sizes[dim] == 1 and shape.sizes[dim + shape.ndim - operand.ndim] != 1):
        return 0
    return operand.strides[dim]


cdef int compare_operand_strides(const Shape *shape, TensorBase a, TensorBase b, TensorBase c, int first,
                                 int second) noexcept:
    """Whether `first` runs slower (1) or faster (-1) than `second` in the first operand that tells them apart."""
    cdef int64_t one, other
    for operand in (a, b, c):
        one = operand_stride(operand, shape, first)
        other = operand_stride(operand, shape, second)
        if one != 0 and other != 0:
            if one != other:
                return 1 if one > other else -1
            if shape.sizes[first] > shape.sizes[second]:
                return 1
    return 0


cdef int strides_in_order(Shape *strides, const Shape *shape, const int *order) except -1:
    """Dense strides, of dimensions in `order` in memory, the outermost first."""
    cdef int i
    cdef int64_t stride = 1
    strides.ndim = shape.ndim
    for i in range(shape.ndim - 1, -1, -1):
        strides.sizes[order[i]] = stride
        stride *= max(shape.sizes[order[i]], 1)
    return 0


cdef inline int channels_last_dim(int index, int ndim) noexcept:
    """The dimension at `index` of the order in memory, the outermost first."""
    return 0 if index == 0 else 1 if index == ndim - 1 else index + 1


cdef int stack_strides(Shape *strides, list tensors, int64_t dim) except -1:
    """Those of torch's stack, a view of what cat gives: channels_last tensors stay so beside the new dimension."""
    cdef TensorBase tensor
    cdef Shape shape
    cdef int order[MAX_DIMS]
    cdef int i, old, count = 0
    stack(&shape, tensors, dim)
    strides.ndim = 0
    dim = wrap_dim(dim, shape.ndim)
    for tensor in tensors:
        if not is_channels_last(tensor) or dim == tensor.ndim:
            return 0
    for i in range(shape.ndim - 1):
        old = channels_last_dim(i, shape.ndim - 1)
        if old == dim:
            order[count] = old
            count += 1
        order[count] = old + (old >= dim)
        count += 1
    return strides_in_order(strides, &shape, order)


cdef int roll_strides(Shape *strides, TensorBase self, const Shape *dims) except -1:
    """channels_last as self, where dimensions are given and self is not rolled as one line."""
    cdef Shape shape
    cdef int order[MAX_DIMS]
    cdef int i
    strides.ndim = 0
    if not dims.ndim or not is_channels_last(self):
        return 0
    same_shape(&shape, self)
    for i in range(self.ndim):
        order[i] = channels_last_dim(i, self.ndim)
    return strides_in_order(strides, &shape, order)


cdef bint is_line_channels_last(TensorBase line) noexcept:
    """is_channels_last of (batch, channels, length), taken for an image of one row."""
    cdef int64_t row = line.sizes[2] * line.strides[2]
    return (line.numel != 0 and line.strides[1] != 0 and line.strides[2] >= line.sizes[1] * line.strides[1]
            and line.strides[0] >= row and row != line.strides[1])


cdef int convolution_strides(Shape *strides, TensorBase input, TensorBase weight) except -1:
    """channels_last where input or weight is; of a line, which torch makes contiguous first, few are."""
    cdef Shape shape = strides[0]
    cdef int order[MAX_DIMS]
    cdef int i
    strides.ndim = 0
    if input.ndim == 3:
        if not ((input.contiguous and is_line_channels_last(input)) or is_line_channels_last(weight)):
            return 0
    elif not (is_channels_last(input) or is_channels_last(weight)):
        return 0
    for i in range(shape.ndim):
        order[i] = channels_last_dim(i, shape.ndim)
    return strides_in_order(strides, &shape, order)


cdef int angle_strides(Shape *strides, TensorBase self) except -1:
    """Those of torch's angle, which asks for new memory where the numbers are complex."""
    cdef Shape shape
    strides.ndim = 0
    if KIND[<int>self.dtype] != COMPLEX_KIND:
        same_shape(&shape, self)
        operand_order_strides(&shape, self, None, None, strides.sizes)
        strides.ndim = shape.ndim
    return 0


cdef void operand_order_strides(const Shape *shape, TensorBase a, TensorBase b, TensorBase c,
                                int64_t *strides) noexcept:
    """Dense strides in the operands' order of dimensions: the permutation that torch's TensorIterator finds."""
    cdef int order[MAX_DIMS]                 # from the fastest dimension to the slowest
    cdef int i, j, at, compared
    cdef int64_t stride = 1
    for i in range(shape.ndim):
        order[i] = shape.ndim - 1 - i
    for i in range(1, shape.ndim):
        at = i
        for j in range(i - 1, -1, -1):
            compared = compare_operand_strides(shape, a, b, c, order[j], order[at])
            if compared > 0:
                order[j], order[at] = order[at], order[j]
                at = j
            elif compared < 0:
                break
    for i in range(shape.ndim):
        strides[order[i]] = stride
        if shape.sizes[order[i]] > 1:
            stride *= shape.sizes[order[i]]


cdef enum:
    SHRINK_THRESHOLD = 512     # bytes; a copy that saves less frees no block of the allocator


cdef TensorBase shrink_to_fit(TensorBase result, TensorBase out):
    cdef Shape shape
    cdef TensorBase made
    cdef size_t nbytes = result.numel * ITEMSIZE[<int>result.dtype]
    if result is not out and result.numel and result.storage.nbytes - nbytes < SHRINK_THRESHOLD:
        result.storage.nbytes = nbytes
        return result
    same_shape(&shape, result)
    made = empty_tensor(&shape, result.dtype, result.device_type, result.device_index)
    if made.numel:
        copy_data(made, result, True)
    return made


cdef TensorBase write_back(TensorBase result, TensorBase out):
    cdef Shape shape
    if out is None or out is result:
        return result
    same_shape(&shape, result)
    if not has_shape(out, &shape):
        warn_output_resized(out, &shape)
        if (out.numel == 0 and out.dtype == result.dtype and is_non_overlapping_and_dense(result)
                and needs_larger_storage(out, result.numel) and out.storage.resizable()):
            return take_storage(out, result)
        resize(out, &shape)
        if is_non_overlapping_and_dense(result):
            set_geometry(out, result.ndim, result.sizes, result.strides, out.offset)
    copy_data(out, result, False)
    return out


cdef TensorBase take_storage(TensorBase out, TensorBase result):
    """An empty out= takes over the memory of the result, which has no other user."""
    result.storage.version = out.storage.version
    set_geometry(out, result.ndim, result.sizes, result.strides, result.offset)
    set_storage(out, result.storage, result.dtype)
    return out


cdef int raise_shape_mismatch(TensorBase written, const Shape *shape) except -1:
    raise RuntimeError(f"output with shape {shape_text(written.ndim, written.sizes)} doesn't match the broadcast shape "
                       f"{shape_text(shape.ndim, shape.sizes)}")


cdef TensorBase inplace_output(TensorBase self, const Shape *shape, ScalarType dtype):
    check_no_internal_overlap(self)
    if not has_shape(self, shape):
        raise_shape_mismatch(self, shape)
    check_cast(dtype, self.dtype)
    return self if self.dtype == dtype else empty_tensor(shape, dtype, self.device_type, self.device_index)
