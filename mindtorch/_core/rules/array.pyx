"""Rules of reductions, rearrangements, indices, random numbers and lists of tensors: shapes and errors."""
import warnings

from cpython.object cimport Py_NE, PyObject_RichCompareBool
from cpython.ref cimport PyObject
from libc.math cimport INFINITY, isnan
from libc.stdint cimport INT64_MIN
from libc.string cimport memcmp

from mindtorch._core.autograd.node cimport AutogradMeta, grad_enabled, may_require_grad
from mindtorch._core.operators.operator cimport (
    Argument, Operator, check_kernel_float, check_kernel_not_complex, cpp_type_name, find_operator,
    raise_not_implemented, run_kernel,
)
from mindtorch._core.python.conversion cimport check_scalar_overflow, load_element, read_scalar
from mindtorch._core.rules.infer cimport (
    broadcast, broadcast_shapes, check_no_internal_overlap, check_no_overlap, common_device, common_device_index,
    inplace_output, operand_order_strides, raise_device_mismatch, same_shape, wrap_dim, wrap_dims,
)
from mindtorch._core.tensor.dtype cimport (
    COMPLEX_KIND, FLOAT_KIND, INT_KIND, ITEMSIZE, KIND, BFloat16, Bool, Byte, Char, ComplexDouble, Double, Float, Half,
    Int, Long, Scalar, ScalarType, Short, UInt16, UInt32, UInt64, Undefined, default_dtype, dtype_name, is_float8,
    promote_types, scalar_from_python,
)
from mindtorch._core.tensor.tensor cimport (
    BACKENDS, CPU, Shape, bump_version, device_of, empty_tensor, has_same_shape, make_view, shape_text,
    shown_device_index, shown_device_type,
)
from mindtorch._core.tensor.views cimport expand_to


# --- sums and extremes that the host reads ---------------------------------------------------------------------------
# Sums and extremes that the host reads: of few elements it reads all, of many what a kernel makes of them.


cdef enum:
    DIRECT_READ_LIMIT = 256           # elements that are read as fast as one is, and need no kernel's time before

cdef Operator SUM = find_operator("sum.dim_IntList")
cdef Operator AMINMAX = find_operator("aminmax")

cdef struct HostElements:
    const char *address
    ScalarType dtype
    char room[DIRECT_READ_LIMIT * 16]


cdef bint is_read_directly(TensorBase x) noexcept:
    return x.numel <= DIRECT_READ_LIMIT and x.device_type != CPU


cdef int read_elements(TensorBase x, HostElements *found) except -1:
    found.dtype = x.dtype
    found.address = found.room
    if x.device_type != CPU:
        return BACKENDS[x.device_type].read(x, found.room)
    found.address = x.data_ptr()
    return 0


cdef Scalar element_at(const HostElements *found, int64_t i) noexcept:
    cdef Scalar value
    load_element(found.address + i * ITEMSIZE[<int>found.dtype], found.dtype, &value)
    return value


cdef TensorBase empty_vector(int64_t count, ScalarType dtype, TensorBase like):
    cdef Shape shape
    shape.ndim, shape.sizes[0] = 1, count
    return empty_tensor(&shape, dtype, like.device_type, like.device_index)


cdef TensorBase element_view(TensorBase x, int64_t i):
    return make_view(x, 0, NULL, NULL, i)


cdef int64_t read_sum(TensorBase x) except? -1:
    cdef HostElements found
    cdef Argument arguments[5]
    cdef Shape none
    cdef int64_t i, total = 0
    if not is_read_directly(x):
        none.ndim = 0
        kept = empty_vector(1, Long, x)
        result = element_view(kept, 0)
        arguments[0].object, arguments[1].ints = <PyObject *>x, &none
        arguments[2].integer, arguments[3].integer, arguments[4].object = False, Long, <PyObject *>result
        run_kernel(SUM, x.device_type, arguments, Long)
        x = kept
    read_elements(x, &found)
    for i in range(x.numel):
        total += element_at(&found, i).integer
    return total


cdef TensorBase device_min_max(TensorBase x):
    """The least and the largest."""
    cdef Argument arguments[5]
    cdef Shape none
    none.ndim = 0
    kept = empty_vector(2, x.dtype, x)
    least, most = element_view(kept, 0), element_view(kept, 1)
    arguments[0].object, arguments[1].ints, arguments[2].integer = <PyObject *>x, &none, False
    arguments[3].object, arguments[4].object = <PyObject *>least, <PyObject *>most
    run_kernel(AMINMAX, x.device_type, arguments, x.dtype)
    return kept


cdef int read_min_max(TensorBase x, int64_t *least, int64_t *most) except -1:
    cdef HostElements found
    cdef int64_t i, number
    if not is_read_directly(x):
        x = device_min_max(x)
    read_elements(x, &found)
    least[0] = most[0] = element_at(&found, 0).integer
    for i in range(1, x.numel):
        number = element_at(&found, i).integer
        least[0], most[0] = min(least[0], number), max(most[0], number)
    return 0


# --- reductions ------------------------------------------------------------------------------------------------------


# --- shapes --------------------------------------------------------------------------------------------------------

cdef int resize_dim(Shape *shape, TensorBase self, int64_t k, int64_t dim) except -1:
    same_shape(shape, self)
    if self.ndim:
        shape.sizes[wrap_dim(dim, self.ndim)] = k
    return 0


cdef int histogram(Shape *shape, int64_t bins) except -1:
    shape.ndim = 1
    shape.sizes[0] = bins
    return 0


# --- dtypes --------------------------------------------------------------------------------------------------------

cdef ScalarType index_dtype(bint out_int32) except *:
    return Int if out_int32 else Long


cdef ScalarType nansum_operand_dtype(TensorBase self, ScalarType dtype) except *:
    return self.dtype if KIND[<int>self.dtype] == FLOAT_KIND or dtype == Undefined else dtype


# --- checks: moments -------------------------------------------------------------------------------------

cdef int check_variance(ScalarType dtype, str name) except -1:
    if KIND[<int>dtype] < FLOAT_KIND:
        raise RuntimeError(f"{name} only support floating point and complex dtypes")
    return 0


cdef int check_cumulative_not_bool(TensorBase self, ScalarType dtype, str op) except -1:
    if dtype == Bool and self.ndim:
        raise_not_implemented(op, dtype)
    return 0


cdef int check_inplace_dtype(TensorBase self, ScalarType dtype) except -1:
    if dtype != Undefined and dtype != self.dtype:
        raise RuntimeError(f"Bad in-place call: input tensor dtype {cpp_type_name(self.dtype)} and output tensor dtype "
                           f"{cpp_type_name(dtype)} should match")
    return 0


cdef int check_cumulative_not_complex(TensorBase self, str op) except -1:
    return check_kernel_not_complex(self.dtype, op) if self.ndim else 0


cdef int check_aminmax(TensorBase self, const Shape *dim) except -1:
    check_kernel_not_complex(self.dtype, "aminmax_cpu")
    if self.numel:
        return 0
    if dim.ndim == 0:
        raise RuntimeError("aminmax(): cannot compute aminmax over an empty dimension as the operation has no "
                           "identity.")
    cdef int64_t axis = wrap_dim(dim.sizes[0], self.ndim)
    if self.sizes[axis] == 0:
        raise IndexError(f"aminmax: Expected reduction dim {axis} to have non-zero size.")
    return 0


cdef int check_isclose(TensorBase self, TensorBase other, double rtol, double atol) except -1:
    if self.dtype != other.dtype:
        raise RuntimeError(f"{dtype_name(self.dtype)} did not match {dtype_name(other.dtype)}")
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value < 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value:g}")
    return 0


cdef int check_out_logsumexp(TensorBase out) except -1:
    if KIND[<int>out.dtype] < FLOAT_KIND:
        raise RuntimeError("logsumexp(): Expected floating point type for result tensor, but got: "
                           f"{dtype_name(out.dtype)}")
    return 0


# --- checks: order -------------------------------------------------------------------------------------------------

cdef int check_sortable(TensorBase self, int64_t dim, str name) except -1:
    wrap_dim(dim, self.ndim)
    if KIND[<int>self.dtype] == COMPLEX_KIND:
        raise RuntimeError(f"{name} does not support complex dtypes on CPU")
    return 0


cdef int check_topk(TensorBase self, int64_t k, int64_t dim) except -1:
    cdef int64_t length = self.sizes[wrap_dim(dim, self.ndim)] if self.ndim else 1
    if k < 0 or k > length:
        raise RuntimeError("selected index k out of range")
    check_sortable(self, dim, " topk")
    if self.dtype == Bool:
        raise RuntimeError("topk does not support bool dtypes on CPU")
    return 0


cdef int check_kthvalue(TensorBase self, int64_t k, int64_t dim) except -1:
    cdef int64_t axis = wrap_dim(dim, self.ndim)
    cdef int64_t length = self.sizes[axis] if self.ndim else 1
    if k < 1 or k > length:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {axis}")
    if self.ndim and (self.dtype == Bool or KIND[<int>self.dtype] == COMPLEX_KIND):
        raise_not_implemented("kthvalue_cpu", self.dtype)
    return 0


cdef str legacy_tensor_type(ScalarType dtype):
    """torch.FloatTensor, as old messages name dtypes."""
    return f"torch.{dtype_name(dtype)}Tensor"


cdef int check_out_values(TensorBase out, TensorBase self, str name) except -1:
    if out.dtype != self.dtype:
        raise RuntimeError(f"Expected tensor for 'values' to have the same type as tensor for argument #2 'self'; but "
                           f"type {legacy_tensor_type(out.dtype)} does not equal {legacy_tensor_type(self.dtype)} "
                           "(while checking "
                           f"arguments for {name})")
    return 0


cdef int check_out_indices(TensorBase out, str name) except -1:
    if out.dtype != Long:
        raise RuntimeError("Expected tensor for argument #1 'indices' to have scalar type Long; but got "
                           f"{legacy_tensor_type(out.dtype)} instead (while checking arguments for {name})")
    return 0


cdef int check_searchsorted(TensorBase sequence, TensorBase values, bint right, object side,
                            TensorBase sorter) except -1:
    name = "torch.searchsorted()"
    if side is not None and side not in ("left", "right"):
        raise RuntimeError(f"{name}: side can only be 'left' or 'right' but got {side}")
    if right and side == "left":
        raise RuntimeError(f"{name}: side and right can't be set to opposites, got side of left while right was True")
    if sorter is not None:
        check_sorter(sequence, sorter, name)
    if sequence.ndim == 0:
        raise RuntimeError(f"{name}: boundaries tensor should have positive dimension, but got 0 dimension")
    if values.ndim == 0 and sequence.ndim != 1:
        raise RuntimeError(f"{name}: input value can be a scalar only when boundaries tensor dimension is 1, but we "
                           f"got boundaries tensor dim({sequence.ndim}) and input value's dim(0) numel(1)")
    if sequence.ndim != 1 and not same_leading_sizes(sequence, values):
        raise RuntimeError(f"{name}: boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
                           "tensor and input value tensor must match, but we got boundaries tensor "
                           f"{shape_text(sequence.ndim, sequence.sizes)} and input value tensor "
                           f"{shape_text(values.ndim, values.sizes)}")
    dtype = promote_types(sequence.dtype, values.dtype)
    if dtype == Bool or KIND[<int>dtype] == COMPLEX_KIND:
        raise_not_implemented("searchsorted_out_cpu", dtype)
    return 0


cdef int check_sorter(TensorBase sequence, TensorBase sorter, str name) except -1:
    if shape_text(sequence.ndim, sequence.sizes) != shape_text(sorter.ndim, sorter.sizes):
        raise RuntimeError(f"{name}: boundary and sorter must have the same size, but got boundary tensor "
                           f"{shape_text(sequence.ndim, sequence.sizes)}and got sorter tensor "
                           f"{shape_text(sorter.ndim, sorter.sizes)}")
    if sorter.dtype != Long:
        raise RuntimeError(f"{name}: sorter must be a tensor of long dtype but got dtype {dtype_name(sorter.dtype)}")
    return 0


cdef bint same_leading_sizes(TensorBase sequence, TensorBase values):
    cdef int i
    if sequence.ndim != values.ndim:
        return False
    for i in range(sequence.ndim - 1):
        if sequence.sizes[i] != values.sizes[i]:
            return False
    return True


cdef int check_out_searchsorted(TensorBase out, bint out_int32) except -1:
    if out.dtype != index_dtype(out_int32):
        raise RuntimeError("torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or "
                           "Long(int64) depending on whether out_int32 flag is True, but we got output tensor's dtype "
                           f"{dtype_name(out.dtype)} and out_int32 flag is {bool(out_int32)}")
    return 0


cdef int check_histogram(int64_t bins, const Scalar *low, const Scalar *high) except -1:
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    if low.real > high.real:
        raise RuntimeError("torch.histc: max must be larger than min")
    if not (-float("inf") < low.real and high.real < float("inf")):
        raise RuntimeError(f"torch.histc: range of [{low.real:g}, {high.real:g}] is not finite")
    return 0


cdef int check_out_histogram(TensorBase out, TensorBase self) except -1:
    if out.dtype != self.dtype:
        raise RuntimeError("torch.histogram: input tensor and hist tensor should have the same dtype, but got input "
                           f"{cpp_type_name(self.dtype)} and hist {cpp_type_name(out.dtype)}")
    return 0


# --- distinct elements -----------------------------------------------------------------------------------------------

cdef int vector_of_length(Shape *shape, int64_t length) except -1:
    shape.ndim = 1
    shape.sizes[0] = length
    return 0


cdef int like_if_wanted(Shape *shape, TensorBase self, bint wanted) except -1:
    return same_shape(shape, self) if wanted else vector_of_length(shape, 0)


cdef int vector_if_wanted(Shape *shape, TensorBase self, bint wanted) except -1:
    return vector_of_length(shape, self.numel if wanted else 0)


cdef int dim_vector_if_wanted(Shape *shape, TensorBase self, int64_t dim, bint wanted) except -1:
    return vector_of_length(shape, self.sizes[dim] if wanted else 0)


cdef int unique_consecutive(Shape *shape, TensorBase self, const Shape *dim) except -1:
    return same_shape(shape, self) if dim.ndim else vector_of_length(shape, self.numel)


cdef int unique_consecutive_inverse(Shape *shape, TensorBase self, bint wanted, const Shape *dim) except -1:
    if dim.ndim:
        return dim_vector_if_wanted(shape, self, wrap_dim(dim.sizes[0], self.ndim), wanted)
    return like_if_wanted(shape, self, wanted)


cdef int unique_consecutive_counts(Shape *shape, TensorBase self, bint wanted, const Shape *dim) except -1:
    if dim.ndim:
        return dim_vector_if_wanted(shape, self, wrap_dim(dim.sizes[0], self.ndim), wanted)
    return vector_if_wanted(shape, self, wanted)


cdef int check_unique(ScalarType dtype) except -1:
    return check_kernel_not_complex(dtype, "unique")


cdef int check_unique_dim(TensorBase self, int64_t dim) except -1:
    cdef int i
    if self.ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    dim = wrap_dim(dim, self.ndim)
    for i in range(self.ndim if self.numel == 0 else 0):
        if self.sizes[i] == 0 and i != dim:
            raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")
    return 0


cdef int check_unique_consecutive(TensorBase self, const Shape *dim) except -1:
    return check_unique_dim(self, dim.sizes[0]) if dim.ndim else 0


# --- how often numbers occur -----------------------------------------------------------------------------------------

cdef int check_bincount(TensorBase self, TensorBase weights, int64_t minlength) except -1:
    if self.dtype == Bool or KIND[<int>self.dtype] != INT_KIND:
        raise_not_implemented("bincount_cpu", self.dtype)
    if self.ndim != 1:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if weights is not None and (weights.ndim != 1 or weights.numel != self.numel):
        raise RuntimeError("weights should be 1-d and have the same length as input")
    return 0


cdef int bincount(Shape *shape, TensorBase self, int64_t minlength) except -1:
    cdef int64_t least, most
    if self.numel:
        read_min_max(self, &least, &most)
        if least < 0:
            raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
        minlength = max(minlength, most + 1)
    return vector_of_length(shape, minlength)


cdef ScalarType bincount_dtype(TensorBase self, TensorBase weights) except *:
    if weights is None or self.numel == 0:
        return Long
    return Float if weights.dtype == Float else Double


# --- rearrangements --------------------------------------------------------------------------------------------------
# What moves elements along dimensions: the shapes that come of it, and torch's errors.


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


cdef int repeat_shape(Shape *shape, TensorBase self, const Shape *repeats) except -1:
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

cdef int vector_or_same(Shape *shape, TensorBase self, const Shape *dim) except -1:
    """The shape that is repeated in: self's, or that of all its elements in a line. Returns the dimension."""
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
    cdef int place = vector_or_same(shape, self, dim)
    if repeats < 0:
        raise RuntimeError("Repeats must be non-negative")
    shape.sizes[place] *= repeats
    if output_size.ndim and output_size.sizes[0] != shape.sizes[place]:
        raise RuntimeError(f"repeat_interleave: Invalid output_size, expected {shape.sizes[place]} but got "
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
        return output_size.sizes[0]
    found = read_sum(repeats)
    if found < 0 or (found == 0 and repeats.min().item() < 0):
        raise RuntimeError("repeats can not be negative")
    return found


cdef int check_repeat_interleave(TensorBase self, TensorBase repeats, const Shape *dim) except -1:
    cdef Shape shape
    cdef int place = vector_or_same(&shape, self, dim)
    if repeats.ndim > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    if repeats.numel != 1 and repeats.numel != shape.sizes[place]:
        raise RuntimeError(f"repeats must have the same size as input along dim, but got repeats.size(0) = "
                           f"{repeats.numel} and input.size({place}) = {shape.sizes[place]}")
    return check_repeats_dtype(repeats.dtype)


cdef int repeat_interleave(Shape *shape, TensorBase self, TensorBase repeats, const Shape *dim,
                           const Shape *output_size) except -1:
    cdef int place = vector_or_same(shape, self, dim)
    cdef bint one_for_all = repeats.numel == 1 and not output_size.ndim
    shape.sizes[place] = sum_of_repeats(repeats, output_size) * (shape.sizes[place] if one_for_all else 1)
    return 0


cdef int check_repeat_vector(TensorBase repeats) except -1:
    if repeats.ndim != 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    return check_repeats_dtype(repeats.dtype)


cdef int repeat_interleave_indices(Shape *shape, TensorBase repeats, const Shape *output_size) except -1:
    shape.ndim = 1
    shape.sizes[0] = sum_of_repeats(repeats, output_size)
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
        raise_not_implemented("trace", self.dtype)
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


# --- indices ---------------------------------------------------------------------------------------------------------
# What index tensors may look like, and the shapes they give: torch's rules, with torch's errors.


cdef inline bint is_index_dtype(TensorBase index) noexcept:
    return index.dtype == Long or index.dtype == Int


cdef inline int ensure_nonempty_dim(int ndim) noexcept:
    return ndim if ndim > 0 else 1


cdef inline int64_t size_or_one(TensorBase tensor, int dim) noexcept:
    return tensor.sizes[dim] if tensor.ndim else 1


cdef str sizes_text(TensorBase tensor):
    return shape_text(tensor.ndim, tensor.sizes)


# --- gather and scatter ----------------------------------------------------------------------------------------------

cdef int check_gather(TensorBase self, int64_t dim, TensorBase index) except -1:
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
        source = f" and to be no larger size than src {sizes_text(src)}" if src is not None else ""
        raise RuntimeError(f"Expected index {sizes_text(index)} to be no larger than self {sizes_text(self)} apart "
                           f"from dimension {dim}{source}")
    return 0


cdef int check_no_overlap_with(TensorBase written, list operands) except -1:
    for operand in operands:
        check_no_overlap(written, <TensorBase>operand)
    return 0


cdef int check_scatter_mode(object reduce) except -1:
    if reduce not in ("add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    return 0


cdef int check_scatter_reduce(object reduce, ScalarType dtype, TensorBase index) except -1:
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if not index.numel:
        return 0
    if (KIND[<int>dtype] == COMPLEX_KIND and reduce in ("amax", "amin")) or (dtype == Bool and reduce == "mean"):
        raise_not_implemented(f"scatter_gather_tensor_cpu_reduce_{reduce}", dtype)
    return 0


# --- along one dimension ---------------------------------------------------------------------------------------------

cdef int check_index_select(TensorBase self, TensorBase index) except -1:
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if not is_index_dtype(index):
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    if self.ndim == 0 and index.numel != 1:
        raise RuntimeError(
            f"index_select(): Index to scalar can have only 1 value, got {index.numel} value(s)")
    return 0


cdef int index_select(Shape *shape, TensorBase self, int64_t dim, TensorBase index) except -1:
    same_shape(shape, self)
    if self.ndim:
        shape.sizes[dim] = index.numel
    return 0


cdef int check_index_add(TensorBase self, int64_t dim, TensorBase index, TensorBase source) except -1:
    cdef int i
    cdef int64_t along
    dim = wrap_dim(dim, self.ndim)
    if index.ndim > 1:
        raise IndexError("index_add_(): Index is supposed to be a vector, but got dim: "
                         f"{index.ndim} with type: {dtype_name(index.dtype)} and size: {sizes_text(index)}")
    if not is_index_dtype(index):
        raise RuntimeError(f"index_add_(): Expected dtype int32/int64 for index but got: {dtype_name(index.dtype)}")
    if self.dtype != source.dtype:
        raise RuntimeError(f"index_add_(): self ({dtype_name(self.dtype)}) and source ({dtype_name(source.dtype)}) "
                           "must "
                           "have the same scalar type")
    along = source.sizes[wrap_dim(dim, source.ndim)] if source.ndim else 1
    if index.numel != along:
        raise RuntimeError(f"index_add_(): Number of indices ({index.numel}) should be equal to source.size(dim): "
                           f"({along}), for dim: {dim}")
    fits = self.ndim == source.ndim
    for i in range(self.ndim if fits else 0):
        fits = fits and (i == dim or self.sizes[i] == size_or_one(source, i))
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


cdef str space_separated(const Shape *shape):
    return " ".join([str(shape.sizes[i]) for i in range(shape.ndim)])


cdef int check_index_fill(TensorBase self, int64_t dim, TensorBase index) except -1:
    wrap_dim(dim, self.ndim)
    if index.dtype != Long:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if index.ndim > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    return 0


cdef int check_index_fill_value(ScalarType dtype, const Scalar *value) except -1:
    if value.kind == COMPLEX_KIND and KIND[<int>dtype] != COMPLEX_KIND:
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
    return check_scalar_overflow(value, dtype)


cdef int check_index_fill_tensor(TensorBase self, TensorBase value) except -1:
    if value.ndim:
        raise RuntimeError("index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                           f"{value.ndim} dimension(s).")
    if KIND[<int>value.dtype] == COMPLEX_KIND and KIND[<int>self.dtype] != COMPLEX_KIND:
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
    return 0


# --- as if in one line -----------------------------------------------------------------------------------------------

cdef int check_take(TensorBase self, TensorBase index) except -1:
    if index.dtype != Long:
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {dtype_name(index.dtype)}")
    if self.numel == 0 and index.numel:
        raise IndexError("take(): tried to take from an empty tensor")
    return 0


cdef int check_put(TensorBase self, TensorBase index, TensorBase source) except -1:
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


# --- several dimensions at once --------------------------------------------------------------------------------------

cdef int index_dims(Shape *shape, TensorBase self, list indices, int *place) except -1:
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


cdef int index_shape(Shape *shape, TensorBase self, list indices) except -1:
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


cdef int index_strides(Shape *strides, TensorBase self, list indices) except -1:
    """The order of self's dimensions, in which those of the indices are broadcast, and then of the indices' own."""
    cdef Shape made, shape, source, index
    cdef int64_t stride = 1
    cdef int i, k, place = 0
    strides.ndim = 0
    if self.contiguous:
        return 0
    index_dims(&made, self, indices, &place)
    index_shape(&shape, self, indices)
    for k in range(shape.ndim - 1, -1, -1):         # the index stands between dimensions of size 1
        source.sizes[k] = 0
        index.sizes[k] = stride if place <= k < place + made.ndim or shape.sizes[k] == 1 else 0
        if place <= k < place + made.ndim:
            stride *= max(shape.sizes[k], 1)
    k = 0
    for i in range(self.ndim):
        if k == place:
            k += made.ndim
        if i >= len(indices) or indices[i] is None:
            source.sizes[k] = self.strides[i]
            k += 1
    strides.ndim = shape.ndim
    operand_order_strides(&shape, make_view(self, shape.ndim, shape.sizes, source.sizes, self.offset),
                          make_view(self, shape.ndim, shape.sizes, index.sizes, self.offset), None, strides.sizes)
    return 0


cdef int check_index_put(TensorBase self, list indices, TensorBase values) except -1:
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
        raise RuntimeError(f"shape mismatch: value tensor of shape {sizes_text(values)} cannot be broadcast to "
                           f"indexing result of shape {shape_text(target.ndim, target.sizes)}")
    return 0


# --- masks -----------------------------------------------------------------------------------------------------------

cdef int check_masked_fill(ScalarType dtype) except -1:
    if dtype != Bool:
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype "
                           f"{cpp_type_name(dtype)}")
    return 0


cdef int check_masked_fill_value(TensorBase self, TensorBase value) except -1:
    if value.ndim:
        raise RuntimeError("masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                           f"{value.ndim} dimension(s).")
    if KIND[<int>value.dtype] == COMPLEX_KIND and KIND[<int>self.dtype] != COMPLEX_KIND:
        raise RuntimeError(f"value cannot be converted to type {cpp_type_name(self.dtype)} without overflow")
    return 0


cdef int check_masked_scatter(TensorBase self, TensorBase mask, TensorBase source) except -1:
    cdef Shape places
    if mask.dtype != Bool:
        raise RuntimeError(
            f"masked_scatter_ only supports boolean masks, but got mask with dtype {dtype_name(mask.dtype)}")
    if self.dtype != source.dtype:
        raise RuntimeError("masked_scatter: expected self and source to have same dtypes but got"
                           f"{dtype_name(self.dtype)} and {dtype_name(source.dtype)}")
    broadcast_numel(&places, self, mask)
    # Only a source that may be too short has the mask counted, which waits for the device.
    if source.numel < places.sizes[0] and source.numel < places.sizes[0] // mask.numel * <object>mask.sum().item():
        raise RuntimeError("Number of elements of source < number of ones in mask")
    return 0


cdef int check_masked_select(ScalarType dtype) except -1:
    if dtype != Bool:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    return 0


cdef int broadcast_numel(Shape *shape, TensorBase self, TensorBase mask) except -1:
    cdef int i
    cdef int64_t count = 1
    broadcast(shape, self, mask)
    for i in range(shape.ndim):
        count *= shape.sizes[i]
    shape.ndim = 1
    shape.sizes[0] = count
    return 0


cdef int nonzero_shape(Shape *shape, TensorBase self) except -1:
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
    same_shape(shape, self)
    if num_classes == -1:
        read_min_max(self, &least, &num_classes)
        num_classes += 1
        if num_classes <= 0:
            raise RuntimeError("Class values must be non-negative.")
    shape.sizes[shape.ndim] = num_classes
    shape.ndim += 1
    return 0


# --- random numbers --------------------------------------------------------------------------------------------------
# What the random ops refuse.


cdef dict CPP_NAMES = {"Long": "long int", "Int": "int", "Short": "short int", "Char": "signed char",
                       "Byte": "unsigned char", "Bool": "bool"}


cdef double finfo_max(ScalarType dtype) noexcept:
    if dtype == Half:
        return 65504.0
    if dtype == BFloat16:
        return 3.3895313892515355e38
    return 1.7976931348623157e308 if dtype in (Double, ComplexDouble) else 3.4028234663852886e38


cdef int check_uniform(TensorBase self, double low, double high) except -1:
    if KIND[<int>self.dtype] < FLOAT_KIND:
        raise_not_implemented("check_uniform_bounds", self.dtype)
    cdef double most = finfo_max(self.dtype)
    name = {"Half": "c10::Half", "BFloat16": "c10::BFloat16", "Double": "double", "ComplexDouble": "double"}.get(
        dtype_name(self.dtype), "float")
    if not -most <= low <= most:
        raise RuntimeError(f"from is out of bounds for {name}")
    if not -most <= high <= most:
        raise RuntimeError(f"to is out of bounds for {name}")
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    if high - low > most:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{dtype_name(self.dtype)}>::max(), but found to={high:g} "
            f"and from={low:g} which result in to-from to exceed the limit")
    return check_no_internal_overlap(self)


cdef int check_normal(TensorBase self, double std) except -1:
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    if KIND[<int>self.dtype] < FLOAT_KIND:
        raise_not_implemented("normal_kernel_cpu", self.dtype)
    return check_no_internal_overlap(self)


cdef int check_bernoulli(TensorBase self, double p) except -1:
    if isnan(p) or not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    if KIND[<int>self.dtype] == COMPLEX_KIND:
        raise_not_implemented("bernoulli_scalar_cpu_", self.dtype)
    return check_no_internal_overlap(self)


cdef int check_bernoulli_tensor(TensorBase self, TensorBase p) except -1:
    cdef Shape shape
    same_shape(&shape, self)
    expand_to(p, &shape)
    check_bernoulli_dtype(p.dtype)
    if KIND[<int>self.dtype] == COMPLEX_KIND:
        raise_not_implemented("bernoulli_tensor_cpu_self_", self.dtype)
    return check_no_internal_overlap(self)


cdef int check_bernoulli_dtype(ScalarType dtype) except -1:
    return check_kernel_float(dtype, "bernoulli_tensor_cpu_p_")


cdef tuple random_limits(ScalarType dtype):
    """C name, least and largest value of what random_ may write."""
    return {
        <int>Bool: ("bool", 0, 1), <int>Byte: ("unsigned char", 0, 255), <int>Char: ("signed char", -128, 127),
        <int>Short: ("short int", -2 ** 15, 2 ** 15 - 1), <int>Int: ("int", -2 ** 31, 2 ** 31 - 1),
        <int>Long: ("long int", -2 ** 63, 2 ** 63 - 1), <int>UInt16: ("short unsigned int", 0, 2 ** 16 - 1),
        <int>UInt32: ("unsigned int", 0, 2 ** 32 - 1), <int>UInt64: ("long unsigned int", 0, 2 ** 63 - 1),
        <int>Half: ("c10::Half", -65504, 65504),
    }.get(<int>dtype, ("float", -2 ** 63, 2 ** 63 - 1))


cdef int check_random(TensorBase self, int64_t low, const Shape *high) except -1:
    if KIND[<int>self.dtype] == COMPLEX_KIND:
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    if not high.ndim and low == INT64_MIN:
        if self.numel and self.dtype not in (Long, Float, Double, BFloat16):
            raise_not_implemented("random_full_64_bits_range_kernel_cpu", self.dtype)
        return check_no_internal_overlap(self)
    name, least, most = random_limits(self.dtype)
    if high.ndim and low >= high.sizes[0]:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high.sizes[0]}")
    if not least <= low <= most:
        raise RuntimeError(f"from is out of bounds for {name}")
    if high.ndim and not least <= high.sizes[0] - 1 <= most:
        raise RuntimeError(f"to - 1 is out of bounds for {name}")
    for what, bound in (("from", low), ("to - 1", high.sizes[0] - 1 if high.ndim else 0)):
        warn_inexact_bound(self.dtype, what, bound)
    return check_no_internal_overlap(self)


cdef int warn_inexact_bound(ScalarType dtype, str what, int64_t bound) except -1:
    """Warn of a bound of random integers beyond which a float dtype does not hold every integer."""
    cdef int digits = {<int>Half: 11, <int>BFloat16: 8, <int>Float: 24, <int>Double: 53}.get(<int>dtype, 63)
    if digits < 63 and not -(<int64_t>1 << digits) <= bound <= <int64_t>1 << digits:
        warnings.warn(f"{what} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision limitations "
                      f"{dtype_name(dtype)} can support discrete uniform distribution only within this range.",
                      UserWarning, stacklevel=2)
    return 0


cdef int check_random_full_range(TensorBase self) except -1:
    if KIND[<int>self.dtype] == COMPLEX_KIND and self.numel:
        raise_not_implemented("random_kernel_cpu", self.dtype)
    return check_no_internal_overlap(self)


cdef int check_exponential(TensorBase self, double rate) except -1:
    if self.numel == 0:
        return 0
    if not rate > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={rate:g}")
    if KIND[<int>self.dtype] != FLOAT_KIND:
        raise RuntimeError("Exponential distribution is a continuous probability distribution. dtype must be a "
                           f"floating point but you specified {dtype_name(self.dtype)}")
    return check_no_internal_overlap(self)


cdef int check_geometric(TensorBase self, double p) except -1:
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    if KIND[<int>self.dtype] == COMPLEX_KIND or self.dtype == Bool:
        raise_not_implemented("geometric_cpu", self.dtype)
    return check_no_internal_overlap(self)


cdef int check_cauchy(TensorBase self, double sigma) except -1:
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    if KIND[<int>self.dtype] != FLOAT_KIND:
        raise RuntimeError("Cauchy distribution is a continuous probability distribution. dtype must be a floating "
                           f"point but you specified {CPP_NAMES.get(dtype_name(self.dtype), dtype_name(self.dtype))}")
    return check_no_internal_overlap(self)


cdef int check_poisson(ScalarType dtype) except -1:
    return check_kernel_float(dtype, "poisson_cpu")


cdef int check_binomial(TensorBase count, TensorBase prob) except -1:
    cdef TensorBase operand
    for operand, name in ((count, "count"), (prob, "prob")):
        if KIND[<int>operand.dtype] != FLOAT_KIND:
            raise ValueError(f"binomial only supports floating-point dtypes for {name}, got: "
                             f"{dtype_name(operand.dtype)}")
    if count.dtype != prob.dtype:
        raise RuntimeError(f"Found dtype {dtype_name(prob.dtype)} but expected {dtype_name(count.dtype)}")
    if count.dtype in (Half, BFloat16):
        raise_not_implemented("binomial_cpu", count.dtype)
    return 0


cdef int check_log_normal(TensorBase self, double std) except -1:
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    if KIND[<int>self.dtype] != FLOAT_KIND:
        raise_not_implemented("log_normal_cpu", self.dtype)
    return check_no_internal_overlap(self)


cdef int check_multinomial(TensorBase self, int64_t count, bint replacement) except -1:
    if not 0 < self.ndim <= 2:
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if KIND[<int>self.dtype] != FLOAT_KIND:
        raise RuntimeError("multinomial only supports floating-point dtypes for input, got: "
                           f"{dtype_name(self.dtype)}")
    if count <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and count > self.sizes[self.ndim - 1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    if self.sizes[self.ndim - 1] > 1 << 24:     # what float32 counts without gaps
        raise RuntimeError("number of categories cannot exceed 2^24")
    return 0


cdef int check_rrelu(TensorBase self, const Scalar *lower, const Scalar *upper) except -1:
    cdef double bound
    for name, bound in (("lower", lower.real), ("upper", upper.real)):
        if not -INFINITY < bound < INFINITY:
            raise RuntimeError(f"rrelu: {name} bound must be finite, got {bound:g}")
    if lower.real > upper.real:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if KIND[<int>self.dtype] != FLOAT_KIND or (self.dtype == Half and self.device_type == CPU):
        raise_not_implemented("rrelu_with_noise_out_cpu", self.dtype)
    return 0


cdef int check_dropout(TensorBase input, double p) except -1:
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p:g}")
    if KIND[<int>input.dtype] == COMPLEX_KIND:
        raise_not_implemented("bernoulli_scalar_cpu_", input.dtype)
    if KIND[<int>input.dtype] != FLOAT_KIND:
        raise RuntimeError(f"result type {dtype_name(default_dtype())} can't be cast to the desired output type "
                           f"{dtype_name(input.dtype)}")
    return 0


cdef enum:
    MASK_BITS = 128         # an operator's mask of bits has a multiple of as many


cdef int dropout_mask(Shape *shape, TensorBase input) except -1:
    shape.ndim = 1
    shape.sizes[0] = (input.numel + MASK_BITS - 1) // MASK_BITS * (MASK_BITS // 8)
    return 0


cdef int multinomial(Shape *shape, TensorBase self, int64_t count) except -1:
    shape.ndim = self.ndim
    shape.sizes[0] = self.sizes[0]
    shape.sizes[self.ndim - 1] = count
    return 0


# --- lists of tensors ------------------------------------------------------------------------------------------------


cdef Py_ssize_t checked_length(list tensors) except -1:
    if not tensors:
        raise RuntimeError("Tensor list must have at least one tensor.")
    return len(tensors)


cdef int check_same_length(list tensors, list others) except -1:
    if len(others) != len(tensors):
        checked_length(others)
        raise RuntimeError(f"Tensor lists must have the same number of tensors, got {len(tensors)} and {len(others)}")
    return 0


cdef int check_scalar_count(list tensors, tuple numbers) except -1:
    if len(numbers) != len(tensors):
        raise RuntimeError("Tensor list must have same number of elements as scalar list.")
    return 0


cdef inline bint has_autograd_effect(TensorBase tensor, bint recording) noexcept:
    """Whether the op on one tensor has to look at it: it may join the graph, or refuse to be written."""
    return may_require_grad(tensor) and (recording or (
        tensor.autograd is not None and (<AutogradMeta>tensor.autograd).is_inference))


cdef bint is_fast_route_list(list tensors, unsigned int dtypes) noexcept:
    cdef TensorBase first = <TensorBase>tensors[0]
    cdef TensorBase tensor
    cdef bint recording
    cdef Py_ssize_t i
    if not (dtypes >> <int>first.dtype) & 1:
        return False
    recording = grad_enabled()
    for i in range(len(tensors)):
        tensor = <TensorBase>tensors[i]
        if (tensor.dtype != first.dtype or tensor.device_type != first.device_type
                or tensor.device_index != first.device_index or not tensor.contiguous or not tensor.numel
                or has_autograd_effect(tensor, recording)):
            return False
    return True


cdef bint matches_fast_route_list(list tensors, list others) noexcept:
    cdef TensorBase tensor, other
    cdef bint recording = grad_enabled()
    cdef Py_ssize_t i
    for i in range(len(tensors)):
        tensor = <TensorBase>tensors[i]
        other = <TensorBase>others[i]
        if (other.dtype != tensor.dtype or other.device_type != tensor.device_type
                or other.device_index != tensor.device_index or not other.contiguous
                or not has_same_shape(other, tensor) or has_autograd_effect(other, recording)):
            return False
    return True


cdef list empty_like_list(list tensors):
    cdef list made = []
    cdef TensorBase tensor
    cdef Shape shape
    cdef Py_ssize_t i
    for i in range(len(tensors)):
        tensor = <TensorBase>tensors[i]
        same_shape(&shape, tensor)
        made.append(empty_tensor(&shape, tensor.dtype, tensor.device_type, tensor.device_index))
    return made


cdef int bump_versions(list tensors) except -1:
    cdef Py_ssize_t i
    for i in range(len(tensors)):
        bump_version(<TensorBase>tensors[i])
    return 0


cdef int write_inplace_result(TensorBase self, TensorBase result) except -1:
    cdef Shape shape
    same_shape(&shape, result)
    inplace_output(self, &shape, result.dtype)       # raises where the result does not fit
    (<object>self).copy_(result)
    return 0


cdef int highest_kind_scalar(tuple numbers, Scalar *number) except -1:
    cdef Scalar other
    scalar_from_python(numbers[0], number)
    for value in numbers[1:]:
        scalar_from_python(value, &other)
        if other.kind > number.kind:
            number[0] = other
    return 0


cdef bint all_equal(tuple numbers) except -1:
    first = numbers[0]
    for number in numbers:
        if type(number) is not type(first) or PyObject_RichCompareBool(number, first, Py_NE):
            return False
    return True


cdef tuple unpack_scalars(TensorBase scalars, list tensors):
    if scalars.device_type != CPU:
        raise RuntimeError(f"Expected scalars to be on CPU, got {device_of(scalars)} instead.")
    if scalars.ndim != 1:
        raise RuntimeError(f"Expected packed scalar Tensor to be of dimension 1. Got {scalars.ndim} instead.")
    if scalars.numel != len(tensors):
        raise RuntimeError(f"Expected length of scalars to match input of length {len(tensors)} but got "
                           f"{scalars.numel} instead.")
    return tuple(scalars.tolist())


cdef double single_double(TensorBase tensor) except? -1.0:
    cdef Scalar number
    read_scalar(tensor, &number)
    if number.kind > FLOAT_KIND:
        raise RuntimeError("value cannot be converted to type double without overflow")
    return number.real


cpdef TensorBase common_base(list tensors):
    cdef TensorBase base = (<TensorBase?>tensors[0]).base
    cdef TensorBase tensor
    cdef Py_ssize_t i
    if base is None or base.ndim != 1 or base.numel != len(tensors) or not base.contiguous:
        return None
    for i in range(base.numel):
        tensor = <TensorBase?>tensors[i]
        if (tensor.base is not base or tensor.ndim or tensor.dtype != base.dtype
                or tensor.offset != base.offset + i):
            return None
    return base


cdef int check_not_empty_list(list tensors, str op) except -1:
    if not tensors:
        raise NotImplementedError(
            "There were no tensor arguments to this function (e.g., you passed an empty list of Tensors), but no "
            f"fallback function is registered for schema aten::{op}.")
    return 0


cdef int raise_expected(str condition) except -1:
    raise RuntimeError(f"Expected {condition} to be true, but got false.  (Could this error message be improved?  If "
                       "so, please report an enhancement request to PyTorch.)")


cdef int check_list_length(list tensors, list others, str name) except -1:
    if len(others) != len(tensors):
        raise_expected(f"{name}.size() == n_tensors")
    return 0


cdef int check_matching_list(list tensors, list others, str name) except -1:
    cdef TensorBase tensor, other
    cdef Py_ssize_t i
    check_list_length(tensors, others, name)
    for i in range(len(tensors)):
        tensor = <TensorBase>tensors[i]
        other = <TensorBase>others[i]
        if (common_device(tensor, other) != other.device_type
                or common_device_index(tensor, other) != other.device_index):
            raise_device_mismatch(device_of(tensor), device_of(other))
        if other.dtype != tensor.dtype:
            raise RuntimeError(f"expected scalar type {dtype_name(tensor.dtype)} but found {dtype_name(other.dtype)}")
        if not has_same_shape(other, tensor):
            raise RuntimeError(f"{name}[{i}] has the shape {shape_text(other.ndim, other.sizes)}, its parameter "
                               f"{shape_text(tensor.ndim, tensor.sizes)}")
    return 0


cdef int check_matching_list_if(bint wanted, list tensors, list others, str name) except -1:
    if wanted:
        return check_matching_list(tensors, others, name)
    return raise_expected(f"{name}.empty()") if others else 0


cdef int check_momentum(double momentum, list tensors, list others, str name) except -1:
    return check_matching_list_if(momentum != 0, tensors, others, name)


cdef int check_all_float(list tensors, str op) except -1:
    cdef TensorBase tensor
    for tensor in tensors:
        check_kernel_float(tensor.dtype, op)
        if is_float8(tensor.dtype):
            raise_not_implemented(op, tensor.dtype)
    return 0


cdef int check_one_element(TensorBase tensor, ScalarType dtype, str name, str kind) except -1:
    if tensor.numel != 1:
        raise RuntimeError(f"{name} must be a 1-element tensor.")
    if tensor.dtype != dtype:
        raise RuntimeError(f"{name} must be {kind} tensor.")
    return 0


cdef int check_one_float(TensorBase tensor, str name) except -1:
    return check_one_element(tensor, Float, name, "a float")


cdef int check_one_int(TensorBase tensor, str name) except -1:
    return check_one_element(tensor, Int, name, "an int")


cdef int check_on_device(list tensors, TensorBase other) except -1:
    cdef TensorBase tensor
    for one in tensors:
        tensor = <TensorBase>one
        if shown_device_type(tensor) != shown_device_type(other) or (
                shown_device_index(tensor) != shown_device_index(other)):
            raise_device_mismatch(device_of(tensor), device_of(other))
    return 0


cdef int check_scalar_tensor(TensorBase other) except -1:
    if other.ndim:
        raise RuntimeError(f"scalar tensor expected to be 0 dim but it has {other.ndim} dimensions and {other.numel} "
                           "elements.")
    return 0


cdef int check_no_empty_tensor(list tensors) except -1:
    cdef Py_ssize_t i
    for i in range(len(tensors)):
        if not (<TensorBase>tensors[i]).numel:
            raise RuntimeError("_foreach_max cannot compute the maximum of an empty tensor; max over zero elements is "
                               "undefined.")
    return 0


cdef bint may_use_device_scalar(list tensors, TensorBase other) noexcept:
    cdef TensorBase first = <TensorBase>tensors[0]
    # CANN documents the number in the dtype of the tensors, and no bfloat16 number.
    return (other.dtype == first.dtype != BFloat16 and other.device_type == first.device_type
            and other.device_index == first.device_index and not has_autograd_effect(other, grad_enabled()))


cdef bint may_norm(const Scalar *ord) noexcept:
    return ord.kind != COMPLEX_KIND and (ord.real == 1 or ord.real == 2)


cdef bint may_step(list grads, TensorBase grad_scale, TensorBase found_inf) except -1:
    if found_inf is not None and found_inf.item():
        return False
    if grad_scale is not None:
        for grad in grads:
            grad.div_(grad_scale)
    return True
