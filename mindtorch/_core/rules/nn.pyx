"""Rules of matrix products, convolution, pooling, norms and losses: shapes and errors."""
from libc.math cimport INFINITY
from libc.stdint cimport int64_t
from libc.string cimport memcmp

from mindtorch._core.autograd.node cimport grad_enabled, requires_grad
from mindtorch._core.operators.operator cimport (
    check_kernel_float, check_subtract, mv, raise_not_implemented, real_dtype, to_complex_dtype,
)
from mindtorch._core.rules.infer cimport (
    bmm, broadcast, broadcast_shapes, check_cast, is_channels_last, like, operand_order_strides, promote, same_shape,
    sum_dtype, wrap_dim,
)
from mindtorch._core.tensor.dtype cimport (
    COMPLEX_KIND, FLOAT_KIND, INT_KIND, KIND, BFloat16, Bool, Byte, Float, Half, Int, Long, Undefined, dtype_name,
    is_float8,
)
from mindtorch._core.tensor.tensor cimport CPU, has_same_shape, shape_text


# --- matrices --------------------------------------------------------------------------------------------------------


# --- numbers ---------------------------------------------------------------------------------------------------------

cdef int64_t num_rows(TensorBase a) except? -1:
    return a.sizes[a.ndim - 2]


cdef int64_t num_columns(TensorBase a) except? -1:
    return a.sizes[a.ndim - 1]


cdef int64_t min_rows_columns(TensorBase a) except? -1:
    return min(a.sizes[a.ndim - 2], a.sizes[a.ndim - 1])


cdef int64_t if_else(bint condition, int64_t one, int64_t other) except? -1:
    return one if condition else other


cdef bint equals(object mode, str name) except? -1:
    return mode == name


cdef bint differs(object mode, str name) except? -1:
    return mode != name


# --- shapes ----------------------------------------------------------------------------------------------------------

cdef int batch_shape(Shape *shape, TensorBase a) except -1:
    same_shape(shape, a)
    shape.ndim = a.ndim - 2
    return 0


cdef int vector_shape(Shape *shape, TensorBase a, int64_t length) except -1:
    batch_shape(shape, a)
    shape.sizes[shape.ndim] = length
    shape.ndim += 1
    return 0


cdef int matrix_shape(Shape *shape, TensorBase a, int64_t rows, int64_t columns) except -1:
    batch_shape(shape, a)
    return append_matrix(shape, rows, columns)


cdef int matrix_shape_if(Shape *shape, bint wanted, TensorBase a, int64_t rows, int64_t columns) except -1:
    if wanted:
        return matrix_shape(shape, a, rows, columns)
    shape.ndim = 1
    shape.sizes[0] = 0
    return 0


cdef int append_matrix(Shape *shape, int64_t rows, int64_t columns) except -1:
    shape.sizes[shape.ndim] = rows
    shape.sizes[shape.ndim + 1] = columns
    shape.ndim += 2
    return 0


cdef int broadcast_batch(Shape *shape, TensorBase a, TensorBase b) except -1:
    cdef Shape other
    batch_shape(shape, a)
    batch_shape(&other, b)
    return broadcast_shapes(shape, &other)


cdef bint is_vector_rhs(TensorBase a, TensorBase b) noexcept:
    """Whether linalg.solve reads `b` as a batch of vectors."""
    cdef int i
    if b.ndim == 1:
        return True
    if b.ndim != a.ndim - 1:
        return False
    for i in range(b.ndim):
        if a.sizes[i] != b.sizes[i]:
            return False
    return True


cdef int linalg_solve(Shape *shape, TensorBase a, TensorBase b, bint left) except -1:
    cdef int64_t size = num_columns(a)
    if is_vector_rhs(a, b):
        if not left:
            raise RuntimeError("linalg.solve: Vector broadcasting of the left hand side is not supported for "
                               "left=False. In this case linalg.solve is equivalent to B / A.squeeze(-1)")
        batch_shape(shape, a)
        if b.ndim == 1 and b.sizes[0] != size:
            raise_incompatible_shapes("linalg.solve", a, b, left)
        shape.sizes[shape.ndim] = size
        shape.ndim += 1
        return 0
    if b.ndim < 2 or (num_rows(b) if left else num_columns(b)) != size:
        raise_incompatible_shapes("linalg.solve", a, b, left)
    broadcast_batch(shape, a, b)
    return append_matrix(shape, num_rows(b), num_columns(b))


cdef int raise_incompatible_shapes(str op, TensorBase a, TensorBase b, bint left) except -1:
    raise RuntimeError(f"{op}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
                       f"({shape_text(a.ndim, a.sizes)} and {shape_text(b.ndim, b.sizes)})")


cdef int triangular_solve(Shape *shape, TensorBase b, TensorBase a) except -1:
    if b.ndim < 2:
        raise RuntimeError("torch.triangular_solve: Expected b to have at least 2 dimensions, but it has "
                           f"{b.ndim} dimensions instead")
    if num_rows(b) != num_rows(a):
        raise_incompatible_shapes("triangular_solve", a, b, True)
    broadcast_batch(shape, b, a)
    return append_matrix(shape, num_rows(b), num_columns(b))


cdef int triangular_solve_coefficient(Shape *shape, TensorBase a, TensorBase b) except -1:
    broadcast_batch(shape, b, a)
    return append_matrix(shape, num_rows(a), num_columns(a))


cdef int cross(Shape *shape, TensorBase a, TensorBase b, int64_t dim) except -1:
    if a.ndim != b.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    dim = wrap_dim(dim, a.ndim)
    if a.ndim == 0 or a.sizes[dim] != 3 or b.sizes[dim] != 3:
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got "
                           f"{a.sizes[dim] if a.ndim else 1} and {b.sizes[dim] if b.ndim else 1}")
    return broadcast(shape, a, b)


cdef int check_expandable(const Shape *shape, TensorBase self) except -1:
    """RuntimeError unless the addend can be expanded to the product's shape."""
    cdef int i, j
    if self.ndim > shape.ndim:
        raise RuntimeError(f"expand: the number of sizes provided ({shape.ndim}) must be greater or equal to the "
                           f"number of dimensions in the tensor ({self.ndim})")
    for i in range(self.ndim):
        j = shape.ndim - self.ndim + i
        if self.sizes[i] != 1 and self.sizes[i] != shape.sizes[j]:
            raise RuntimeError(
                f"The expanded size of the tensor ({shape.sizes[j]}) must match the existing size ({self.sizes[i]}) at "
                f"non-singleton dimension {j}.  Target sizes: {shape_text(shape.ndim, shape.sizes)}.  Tensor sizes: "
                f"{shape_text(self.ndim, self.sizes)}")
    return 0


cdef int baddbmm(Shape *shape, TensorBase self, TensorBase a, TensorBase b) except -1:
    bmm(shape, a, b)
    return check_expandable(shape, self)


cdef int addbmm(Shape *shape, TensorBase self, TensorBase a, TensorBase b) except -1:
    bmm(shape, a, b)
    shape.ndim = 2
    shape.sizes[0], shape.sizes[1] = shape.sizes[1], shape.sizes[2]
    return check_expandable(shape, self)


cdef int addmv(Shape *shape, TensorBase self, TensorBase mat, TensorBase vec) except -1:
    if self.ndim > 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {self.ndim}, {mat.ndim}, {vec.ndim}")
    mv(shape, mat, vec)
    if self.ndim == 1 and self.sizes[0] != 1 and self.sizes[0] != shape.sizes[0]:
        raise RuntimeError(f"size mismatch, got input ({self.sizes[0]}), mat ({mat.sizes[0]}x{mat.sizes[1]}), "
                           f"vec ({vec.sizes[0]})")
    return 0


cdef int outer(Shape *shape, TensorBase a, TensorBase b) except -1:
    if a.ndim != 1 or b.ndim != 1:
        which, wrong = ("self", a) if a.ndim != 1 else ("vec2", b)
        raise RuntimeError(f"outer: Expected 1-D argument {which}, but got {wrong.dim()}-D")
    shape.ndim = 0
    return append_matrix(shape, a.sizes[0], b.sizes[0])


cdef int addr(Shape *shape, TensorBase self, TensorBase a, TensorBase b) except -1:
    if a.ndim != 1 or b.ndim != 1:
        which, wrong = ("vec1", a) if a.ndim != 1 else ("vec2", b)
        raise RuntimeError(f"addr: Expected 1-D argument {which}, but got {wrong.dim()}-D")
    outer(shape, a, b)
    return check_expandable(shape, self)


cdef int fft_r2c(Shape *shape, TensorBase a, const Shape *dim, bint onesided) except -1:
    same_shape(shape, a)
    cdef int64_t last = wrap_dim(dim.sizes[dim.ndim - 1], a.ndim)
    if onesided:
        shape.sizes[last] = shape.sizes[last] // 2 + 1
    return 0


cdef int fft_c2r(Shape *shape, TensorBase a, const Shape *dim, int64_t length) except -1:
    same_shape(shape, a)
    shape.sizes[wrap_dim(dim.sizes[dim.ndim - 1], a.ndim)] = length
    return 0


# --- dtypes ----------------------------------------------------------------------------------------------------------

cdef ScalarType norm_operand_dtype(TensorBase self, ScalarType dtype) except *:
    if dtype == Undefined:
        return self.dtype
    return to_complex_dtype(dtype) if KIND[<int>self.dtype] == COMPLEX_KIND else dtype


cdef ScalarType norm_dtype(TensorBase self, ScalarType dtype) except *:
    return real_dtype(self.dtype if dtype == Undefined else dtype)


# --- checks ----------------------------------------------------------------------------------------------------------

cdef int check_matrices(TensorBase a, str op) except -1:
    if KIND[<int>a.dtype] < FLOAT_KIND:
        raise RuntimeError(f"{op}: Expected a floating point or complex tensor as input. Got {dtype_name(a.dtype)}")
    if a.dtype == Half or a.dtype == BFloat16 or is_float8(a.dtype):
        raise RuntimeError(f"{op}: Low precision dtypes not supported. Got {dtype_name(a.dtype)}")
    if a.ndim < 2:
        raise RuntimeError(f"{op}: The input tensor A must have at least 2 dimensions.")
    return 0


cdef int check_square(TensorBase a, str op) except -1:
    check_matrices(a, op)
    if num_rows(a) != num_columns(a):
        raise RuntimeError(f"{op}: A must be batches of square matrices, but they are "
                           f"{num_rows(a)} by {num_columns(a)} matrices")
    return 0


cdef int check_lu_pivots(TensorBase lu, TensorBase pivots) except -1:
    cdef int i
    cdef bint fits = pivots.ndim == lu.ndim - 1
    if lu.ndim < 2:
        raise RuntimeError("torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: "
                           f"{shape_text(lu.ndim, lu.sizes)} instead")
    for i in range(lu.ndim - 2):
        fits = fits and pivots.sizes[i] == lu.sizes[i]
    if not fits:
        raise RuntimeError("lu_unpack: LU_data and LU_pivots must have the same batch dimensions, but got "
                           f"{shape_text(lu.ndim, lu.sizes)} and {shape_text(pivots.ndim, pivots.sizes)}")
    return 0


cdef int check_one_dtype(TensorBase a, TensorBase b, str op) except -1:
    if a.dtype != b.dtype:
        raise RuntimeError(f"{op}: Expected A and B to have the same dtype, but found A of type {dtype_name(a.dtype)} "
                           f"and B of type {dtype_name(b.dtype)} instead")
    return 0


cdef int check_ldl_pivots(TensorBase factors, TensorBase pivots) except -1:
    if KIND[<int>pivots.dtype] != INT_KIND:
        raise RuntimeError(f"torch.linalg.ldl_solve: Expected pivots to be integers. Got {dtype_name(pivots.dtype)}")
    if pivots.ndim != factors.ndim - 1 or memcmp(pivots.sizes, factors.sizes, pivots.ndim * sizeof(int64_t)) != 0:
        raise RuntimeError("torch.linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be the same, but got "
                           f"pivots with shape {shape_text(pivots.ndim, pivots.sizes)} instead")
    return 0


cdef int check_norm(TensorBase self, const Scalar *ord, const Shape *dim, ScalarType dtype) except -1:
    if KIND[<int>self.dtype] < FLOAT_KIND:
        raise RuntimeError("linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
                           f"{dtype_name(self.dtype)}")
    if dtype != Undefined and KIND[<int>dtype] < FLOAT_KIND:
        raise RuntimeError("linalg.vector_norm: dtype should be floating point or complex. Got "
                           f"{dtype_name(dtype)}")
    if dtype != Undefined and (KIND[<int>dtype] == COMPLEX_KIND) != (KIND[<int>self.dtype] == COMPLEX_KIND):
        kind = "real" if KIND[<int>dtype] == COMPLEX_KIND else "complex"
        raise RuntimeError(f"linalg.vector_norm: dtype should be {kind} for {kind} inputs, but got {dtype_name(dtype)}")
    return check_norm_of_empty(self, ord.real, dim) if self.numel == 0 else 0


cdef int check_norm_of_empty(TensorBase self, double order, const Shape *dim) except -1:
    """Extremes, and sums of reciprocals, have no value for no elements."""
    cdef int i
    if 0 <= order < INFINITY:
        return 0
    if dim == NULL or dim.ndim == 0:
        raise RuntimeError(f"linalg.vector_norm cannot compute the {order:g} norm on an empty tensor because the "
                           "operation does not have an identity")
    for i in range(dim.ndim):
        if self.sizes[wrap_dim(dim.sizes[i], self.ndim)] == 0:
            raise RuntimeError(f"linalg.vector_norm cannot compute the {order:g} norm on the dimension {dim.sizes[i]}"
                               "because this dimension is empty and the operation does not have an identity")
    return 0


cdef int check_qr_mode(object mode) except -1:
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or "
                           "'complete'")
    return 0


cdef int check_uplo(object UPLO) except -1:
    if str(UPLO).upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return 0


cdef int check_fft_r2c(TensorBase self) except -1:
    if self.dtype == Half or self.dtype == BFloat16 or is_float8(self.dtype):
        raise RuntimeError(f"Unsupported dtype {dtype_name(self.dtype)}")
    if KIND[<int>self.dtype] != FLOAT_KIND:
        raise RuntimeError("a real Fourier transform expects a floating point tensor, but got "
                           f"{dtype_name(self.dtype)}")
    return 0


cdef int check_fft_c2c(TensorBase self) except -1:
    if KIND[<int>self.dtype] != COMPLEX_KIND:
        raise RuntimeError(f"a Fourier transform expects a complex tensor, but got {dtype_name(self.dtype)}")
    return 0


cdef int check_matrix(TensorBase self) except -1:
    if self.ndim != 2:
        raise RuntimeError(f"expected a matrix, but got a tensor of size {shape_text(self.ndim, self.sizes)}")
    return 0


cdef int check_fft_dims(TensorBase self, const Shape *dim) except -1:
    cdef int i
    if self.ndim == 0 or dim.ndim == 0:
        raise RuntimeError("a Fourier transform expects at least one dimension")
    for i in range(dim.ndim):
        wrap_dim(dim.sizes[i], self.ndim)
    return 0


# --- attention: (batch, heads, length, width) ------------------------------------------------------------------------

cdef int attention_output(Shape *shape, TensorBase query, TensorBase value) except -1:
    like(shape, query)
    shape.sizes[query.ndim - 1] = value.sizes[value.ndim - 1]
    return 0


cdef int attention_softmax_stats(Shape *shape, TensorBase query) except -1:
    like(shape, query)
    shape.sizes[query.ndim - 1] = 8
    return 0


# --- ctc_loss: (time, batch, classes) --------------------------------------------------------------------------------

cdef int ctc_loss(Shape *shape, TensorBase log_probs) except -1:
    shape.ndim = 1
    shape.sizes[0] = log_probs.sizes[1]
    return 0


cdef int ctc_log_alpha(Shape *shape, TensorBase log_probs, const Shape *target_lengths) except -1:
    """For each time a score of each label of the longest target, with a blank before each and one behind them."""
    cdef int64_t longest = 0
    cdef int i
    for i in range(target_lengths.ndim):
        longest = max(longest, target_lengths.sizes[i])
    shape.ndim = 3
    shape.sizes[0] = log_probs.sizes[1]
    shape.sizes[1] = log_probs.sizes[0]
    shape.sizes[2] = 2 * longest + 1
    return 0


# --- distances, cells ------------------------------------------------------------------------------------------------

cdef int cdist(Shape *shape, TensorBase x1, TensorBase x2) except -1:
    broadcast_batch(shape, x1, x2)
    return append_matrix(shape, num_rows(x1), num_rows(x2))


cdef int with_batch_of(Shape *shape, TensorBase a, TensorBase other) except -1:
    batch_shape(shape, other)
    return append_matrix(shape, num_rows(a), num_columns(a))


cdef int pdist(Shape *shape, TensorBase a) except -1:
    shape.ndim = 1
    shape.sizes[0] = a.sizes[0] * (a.sizes[0] - 1) // 2 if a.sizes[0] else 0
    return 0


cdef int row_shape(Shape *shape, TensorBase a) except -1:
    shape.ndim = 1
    shape.sizes[0] = a.sizes[1]
    return 0


cdef int check_cdist(TensorBase x1, TensorBase x2, double p, const Shape *compute_mode) except -1:
    for position, x in enumerate((x1, x2), 1):
        if (<TensorBase>x).ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, X{position} got: {(<TensorBase>x).ndim}D")
        if KIND[<int>(<TensorBase>x).dtype] != FLOAT_KIND:
            raise RuntimeError(f"cdist only supports floating-point dtypes, X{position} got: "
                               f"{dtype_name((<TensorBase>x).dtype)}")
    if num_columns(x1) != num_columns(x2):
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {num_columns(x1)} X2: "
                           f"{num_columns(x2)}")
    if x1.dtype != x2.dtype and x1.numel and x2.numel:
        raise RuntimeError(f"expected scalar type {dtype_name(x1.dtype)} but found {dtype_name(x2.dtype)}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    if compute_mode.ndim and not 0 <= compute_mode.sizes[0] <= 2:
        raise RuntimeError(f"possible modes: 0, 1, 2, but was: {compute_mode.sizes[0]}")
    return 0


cdef int check_pdist(TensorBase self) except -1:
    if not self.contiguous:
        raise RuntimeError("_pdist_forward requires contiguous input")
    return 0


cdef int check_lstm_cell(TensorBase input_gates, TensorBase hidden_gates, TensorBase cx) except -1:
    cdef TensorBase other
    if input_gates.ndim != 2 or cx.ndim != 2 or input_gates.sizes[1] != 4 * cx.sizes[1]:
        raise RuntimeError(f"expected gates four times as wide as the cell state, but got sizes "
                           f"{shape_text(input_gates.ndim, input_gates.sizes)} and {shape_text(cx.ndim, cx.sizes)}")
    if (hidden_gates.ndim != 2 or hidden_gates.sizes[0] != input_gates.sizes[0] or cx.sizes[0] != input_gates.sizes[0]
            or hidden_gates.sizes[1] != input_gates.sizes[1]):
        raise RuntimeError("expected gates and cell state of one batch, but got sizes "
                           f"{shape_text(input_gates.ndim, input_gates.sizes)}, "
                           f"{shape_text(hidden_gates.ndim, hidden_gates.sizes)} and {shape_text(cx.ndim, cx.sizes)}")
    for other in (hidden_gates, cx):
        if other.dtype != input_gates.dtype:
            raise RuntimeError(f"expected scalar type {dtype_name(input_gates.dtype)} but found "
                               f"{dtype_name(other.dtype)}")
    return 0


cdef int check_lstm_gradients(TensorBase grad_hy, TensorBase grad_cy, TensorBase cx, TensorBase cy,
                              TensorBase workspace) except -1:
    cdef TensorBase state
    check_lstm_cell(workspace, workspace, cx)
    if grad_hy is None and grad_cy is None:
        raise RuntimeError("expected a gradient of the hidden state or of the cell state")
    for state in (cy, grad_hy, grad_cy):
        if state is not None and (state.ndim != 2 or memcmp(state.sizes, cx.sizes, 2 * sizeof(int64_t))):
            raise RuntimeError(f"expected a state of size {shape_text(cx.ndim, cx.sizes)}, but got "
                               f"{shape_text(state.ndim, state.sizes)}")
    return 0


# --- convolution, pooling, padding, resampling -----------------------------------------------------------------------


cdef str list_text(const Shape *values):
    return shape_text(values.ndim, values.sizes)


cdef str size_text(TensorBase tensor):
    return shape_text(tensor.ndim, tensor.sizes)


# --- convolution -----------------------------------------------------------------------------------------------------

cdef int check_conv_list(const Shape *values, str name, int dims) except -1:
    if values.ndim != dims:
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {dims} values to match the convolution "
            f"dimensions, but got {name}={list_text(values)}")
    return 0


cdef int check_minimum(const Shape *values, int64_t least, str message) except -1:
    cdef int i
    for i in range(values.ndim):
        if values.sizes[i] < least:
            raise RuntimeError(message)
    return 0


cdef int check_convolution(TensorBase input, TensorBase weight, TensorBase bias, const Shape *stride,
                           const Shape *padding, const Shape *dilation, const Shape *output_padding,
                           int64_t groups) except -1:
    cdef int dims = weight.ndim - 2
    check_conv_dtype(input.dtype, weight.dtype, "weight")
    if bias is not None:
        check_conv_dtype(input.dtype, bias.dtype, "bias")
    check_conv_list(stride, "stride", dims)
    check_conv_list(padding, "padding", dims)
    check_conv_list(dilation, "dilation", dims)
    check_conv_list(output_padding, "output_padding", dims)
    check_minimum(padding, 0, "negative padding is not supported")
    check_minimum(output_padding, 0, "negative output_padding is not supported")
    check_minimum(stride, 1, "non-positive stride is not supported")
    check_minimum(dilation, 1, "dilation should be greater than zero")
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if input.ndim != weight.ndim:
        raise RuntimeError(
            f"Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional weight {size_text(weight)}, but "
            f"got {input.ndim}-dimensional input of size {size_text(input)} instead")
    return 0


cdef int check_conv_dtype(ScalarType input, ScalarType other, str name) except -1:
    if input != other:
        raise RuntimeError(f"Input type ({dtype_name(input)}) and {name} type ({dtype_name(other)}) should be the same")
    return 0


cdef int check_conv_channels(TensorBase input, TensorBase weight, TensorBase bias, bint transposed,
                             int64_t groups) except -1:
    cdef int64_t channels = weight.sizes[0] if transposed else weight.sizes[1] * groups
    cdef int64_t results = weight.sizes[1] * groups if transposed else weight.sizes[0]
    if weight.sizes[0] < groups:
        raise RuntimeError(f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got "
                           f"weight of size {size_text(weight)} instead")
    if weight.sizes[0] % groups:
        raise RuntimeError(f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but "
                           f"got weight of size {size_text(weight)} instead")
    if input.sizes[1] != channels:
        how = "transposed=1" if transposed else f"groups={groups}"
        raise RuntimeError(
            f"Given {how}, weight of size {size_text(weight)}, expected input{size_text(input)} to have {channels} "
            f"channels, but got {input.sizes[1]} channels instead")
    if bias is not None and (bias.ndim != 1 or bias.sizes[0] != results):
        how = "transposed=1" if transposed else "weight"
        of_size = f", weight of size {size_text(weight)}" if transposed else f" of size {size_text(weight)}"
        raise RuntimeError(f"Given {how}{of_size}, expected bias to be 1-dimensional with {results} elements, but got "
                           f"bias of size {size_text(bias)} instead")
    return 0


cdef int raise_kernel_too_large(TensorBase input, TensorBase weight, const Shape *padding,
                                const Shape *dilation) except -1:
    cdef list image = [], kernel = []
    cdef int i
    for i in range(padding.ndim):
        image.append(str(input.sizes[i + 2] + 2 * padding.sizes[i]))
        kernel.append(str(dilation.sizes[i] * (weight.sizes[i + 2] - 1) + 1))
    raise RuntimeError(f"Calculated padded input size per channel: ({' x '.join(image)}). Kernel size: "
                       f"({' x '.join(kernel)}). Kernel size can't be greater than actual input size")


cdef int convolution(Shape *shape, TensorBase input, TensorBase weight, TensorBase bias, const Shape *stride,
                     const Shape *padding, const Shape *dilation, bint transposed, const Shape *output_padding,
                     int64_t groups) except -1:
    cdef int i
    cdef int64_t reach
    check_conv_channels(input, weight, bias, transposed, groups)
    shape.ndim = input.ndim
    shape.sizes[0] = input.sizes[0]
    # torch makes nothing of no channels, however many the weight has results for.
    shape.sizes[1] = weight.sizes[1] * groups if transposed else weight.sizes[0] if input.sizes[1] else 0
    for i in range(padding.ndim):
        reach = dilation.sizes[i] * (weight.sizes[i + 2] - 1)
        if transposed:
            shape.sizes[i + 2] = ((input.sizes[i + 2] - 1) * stride.sizes[i] - 2 * padding.sizes[i] + reach
                                  + output_padding.sizes[i] + 1)
            if output_padding.sizes[i] >= max(stride.sizes[i], dilation.sizes[i]):
                raise_output_padding_too_large(stride, dilation, output_padding)
        else:
            if input.sizes[i + 2] + 2 * padding.sizes[i] <= reach:
                raise_kernel_too_large(input, weight, padding, dilation)
            shape.sizes[i + 2] = (input.sizes[i + 2] + 2 * padding.sizes[i] - reach - 1) // stride.sizes[i] + 1
        if shape.sizes[i + 2] < 1:
            sizes = [input.sizes[axis] for axis in range(1, input.ndim)]
            made = [shape.sizes[axis + 2] for axis in range(i + 1)]
            raise RuntimeError(
                f"Given input size per channel: ({' x '.join(map(str, sizes[1:]))}). Calculated output size per "
                f"channel: ({' x '.join(map(str, made))}). Output size is too small")
    return 0


cdef int raise_output_padding_too_large(const Shape *stride, const Shape *dilation,
                                        const Shape *output_padding) except -1:
    cdef list text = []
    for name, values in (("output_padding", list_of(output_padding)), ("stride", list_of(stride)),
                         ("dilation", list_of(dilation))):
        sides = ("width",) if len(values) == 1 else ("depth", "height", "width")[-len(values):]
        text.append(" ".join([f"{name}_{side}: {value}" for side, value in zip(sides, values)]))
    raise RuntimeError(f"output padding must be smaller than either stride or dilation, but got {' '.join(text)}")


cdef list list_of(const Shape *values):
    cdef int i
    return [values.sizes[i] for i in range(values.ndim)]


# --- pooling ---------------------------------------------------------------------------------------------------------

cdef inline int64_t floor_div(int64_t a, int64_t b) noexcept:
    cdef int64_t quotient = a // b if a >= 0 else -((-a + b - 1) // b)
    return quotient


cdef int64_t pooling_output_size(int64_t size, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                                 bint ceil_mode) except? -1:
    """The last window starts inside the image or the padding before it, never in the padding behind it."""
    cdef int64_t room = size + 2 * padding - dilation * (kernel - 1) - 1
    cdef int64_t places = floor_div(room + (stride - 1 if ceil_mode else 0), stride) + 1
    if ceil_mode and (places - 1) * stride >= size + padding:
        places -= 1
    return places


cdef int check_pool(TensorBase self, const Shape *kernel_size, const Shape *stride, const Shape *padding) except -1:
    cdef int dims = kernel_size.ndim, i
    if self.ndim != dims + 1 and self.ndim != dims + 2:
        raise RuntimeError(f"Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with optional 0 dim batch size "
                           f"for input, but got: {size_text(self)}")
    for i in range(self.ndim - dims - 1, self.ndim):
        if self.sizes[i] == 0:
            raise RuntimeError(f"Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with optional 0 dim batch "
                               f"size for input, but got:{size_text(self)}")
    for i in range(dims):
        if kernel_size.sizes[i] <= 0:
            raise RuntimeError(f"kernel size should be greater than zero, but got kernel_size={list_of(kernel_size)}")
        if stride.sizes[i] <= 0:
            raise RuntimeError("stride should not be zero")
        if padding.sizes[i] < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {padding.sizes[i]}")
    return 0


cdef int pool_shape(Shape *shape, TensorBase self, const Shape *kernel_size, const Shape *stride,
                    const Shape *padding, const Shape *dilation, bint ceil_mode) except -1:
    cdef int dims = kernel_size.ndim, lead = self.ndim - kernel_size.ndim, i
    cdef int64_t step
    check_pool(self, kernel_size, stride, padding)
    same_shape(shape, self)
    for i in range(dims):
        step = dilation.sizes[i] if dilation != NULL else 1
        if step <= 0:
            raise RuntimeError(f"dilation should be greater than zero, but got dilation={list_of(dilation)}")
        if padding.sizes[i] > ((kernel_size.sizes[i] - 1) * step + 1) // 2:
            raise RuntimeError(f"pad should be at most half of effective kernel size, but got pad={padding.sizes[i]}, "
                               f"kernel_size={kernel_size.sizes[i]} and dilation={step}")
        shape.sizes[lead + i] = pooling_output_size(self.sizes[lead + i], kernel_size.sizes[i], stride.sizes[i],
                                                    padding.sizes[i], step, ceil_mode)
    for i in range(dims):
        if shape.sizes[lead + i] < 1:
            given = "x".join([str(self.sizes[axis]) for axis in range(lead - 1, self.ndim)])
            made = "x".join([str(shape.sizes[axis]) for axis in range(lead - 1, self.ndim)])
            raise RuntimeError(f"Given input size: ({given}). Calculated output size: ({made}). Output size is "
                               "too small")
    return 0


cdef int max_pool(Shape *shape, TensorBase self, const Shape *kernel_size, const Shape *stride, const Shape *padding,
                  const Shape *dilation, bint ceil_mode) except -1:
    return pool_shape(shape, self, kernel_size, stride, padding, dilation, ceil_mode)


cdef int avg_pool(Shape *shape, TensorBase self, const Shape *kernel_size, const Shape *stride,
                  const Shape *padding, bint ceil_mode) except -1:
    return pool_shape(shape, self, kernel_size, stride, padding, NULL, ceil_mode)


cdef int resize_last_dims(Shape *shape, TensorBase self, const Shape *sizes) except -1:
    cdef int i
    same_shape(shape, self)
    for i in range(sizes.ndim):
        shape.sizes[self.ndim - sizes.ndim + i] = sizes.sizes[i]
    return 0


# --- padding, windows as columns -------------------------------------------------------------------------------------

cdef int pad_shape(Shape *shape, TensorBase self, const Shape *padding) except -1:
    cdef int i, dim
    if padding.ndim % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {padding.ndim}")
    if padding.ndim > 2 * self.ndim:
        raise RuntimeError(
            "Length of pad should be no more than twice the number of dimensions of the input. Pad length is "
            f"{padding.ndim} while the input has {self.ndim} dimensions.")
    same_shape(shape, self)
    for i in range(padding.ndim // 2):
        dim = self.ndim - 1 - i
        shape.sizes[dim] += padding.sizes[2 * i] + padding.sizes[2 * i + 1]
        if shape.sizes[dim] < 0:
            raise RuntimeError(
                f"The input size {self.sizes[dim]}, plus negative padding {padding.sizes[2 * i]} and "
                f"{padding.sizes[2 * i + 1]}, resulted in a negative output size, which is invalid. Check dimension "
                f"{dim} of your input.")
    return 0


cdef int pad_strides(Shape *strides, TensorBase self, const Shape *padding) except -1:
    """Where nothing is added, those of a copy of what is left; else channels_last where self is."""
    cdef Shape shape
    cdef bint grows = False
    cdef int i
    for i in range(padding.ndim):
        grows = grows or padding.sizes[i] > 0
    strides.ndim = 0
    if not grows or is_channels_last(self):
        pad_shape(&shape, self, padding)
        operand_order_strides(&shape, self, None, None, strides.sizes)
        strides.ndim = shape.ndim
    return 0


cdef int check_cut(TensorBase self, const Shape *padding) except -1:
    """Negative padding takes away at one end what is there before anything is added at the other."""
    cdef int i
    for i in range(padding.ndim):
        if padding.sizes[i] < 0 and self.sizes[self.ndim - 1 - i // 2] + padding.sizes[i] < 0:
            raise RuntimeError("narrow(): length must be non-negative.")
    return 0


cdef int im2col(Shape *shape, TensorBase self, const Shape *kernel_size, const Shape *dilation, const Shape *padding,
                const Shape *stride) except -1:
    cdef int lead = self.ndim - 2, i
    cdef int64_t places = 1, elements = 1, count
    if self.ndim != 3 and self.ndim != 4:
        raise RuntimeError(f"Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero "
                           f"dimensions for input, but got: {size_text(self)}")
    for i in range(2):
        count = floor_div(self.sizes[lead + i] + 2 * padding.sizes[i] - dilation.sizes[i] * (kernel_size.sizes[i] - 1)
                          - 1, stride.sizes[i]) + 1
        if count < 1:
            raise RuntimeError(
                f"Given input with spatial size {tuple([self.sizes[lead], self.sizes[lead + 1]])}, kernel_size="
                f"{tuple(list_of(kernel_size))}, dilation={tuple(list_of(dilation))}, padding="
                f"{tuple(list_of(padding))}, stride={tuple(list_of(stride))}, calculated shape of the array of sliding "
                "blocks is too small, but its components must be at least one.")
        places *= count
        elements *= kernel_size.sizes[i]
    shape.ndim = self.ndim - 1
    shape.sizes[0] = self.sizes[0]
    shape.sizes[lead - 1] = self.sizes[lead - 1] * elements
    shape.sizes[lead] = places
    return 0


cdef int check_col2im_input(TensorBase self) except -1:
    if self.ndim != 2 and self.ndim != 3:
        raise RuntimeError(f"Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero "
                           f"dimensions for input, but got: {size_text(self)}")
    return 0


cdef int col2im(Shape *shape, TensorBase self, const Shape *output_size, const Shape *kernel_size) except -1:
    cdef int64_t elements = kernel_size.sizes[0] * kernel_size.sizes[1]
    cdef int channels = self.ndim - 2
    if self.sizes[channels] % elements:
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={self.sizes[channels]} and kernel_size=({kernel_size.sizes[0]}, {kernel_size.sizes[1]}).")
    shape.ndim = self.ndim + 1
    shape.sizes[0] = self.sizes[0]
    shape.sizes[channels] = self.sizes[channels] // elements
    shape.sizes[channels + 1] = output_size.sizes[0]
    shape.sizes[channels + 2] = output_size.sizes[1]
    return 0


cdef int check_tensor_kernel_not_integral(ScalarType dtype, str op) except -1:
    if KIND[<int>dtype] == INT_KIND:
        raise_not_implemented(op, dtype)
    return 0


cdef int check_tensor_kernel_real(ScalarType dtype, str op) except -1:
    if dtype == Bool or KIND[<int>dtype] > FLOAT_KIND:
        raise_not_implemented(op, dtype)
    return 0


# --- other sizes -----------------------------------------------------------------------------------------------------

cdef int check_upsample(TensorBase self, const Shape *output_size, str op) except -1:
    cdef int dims = output_size.ndim, i
    if self.ndim != dims + 2 or not self.numel and 0 in [self.sizes[i] for i in range(1, self.ndim)]:
        raise RuntimeError(f"Non-empty {dims + 2}D data tensor expected but got a tensor with sizes {size_text(self)}")
    for i in range(dims):
        if self.sizes[i + 2] <= 0 or output_size.sizes[i] <= 0:
            image = [self.sizes[axis + 2] for axis in range(dims)]
            raise RuntimeError(
                "Input and output sizes should be greater than 0, but got input "
                f"({sizes_by_side(image)}) and output ({sizes_by_side(list_of(output_size))})")
    if self.dtype != Byte or op in ("upsample_linear1d", "upsample_trilinear3d"):
        check_kernel_float(self.dtype, op)
    return 0


cdef int check_antialias(TensorBase self, const Shape *output_size, str op) except -1:
    if self.ndim != 4:
        raise RuntimeError(f"It is expected input_size equals to 4, but got size {self.ndim}")
    if min(self.sizes[2], self.sizes[3], output_size.sizes[0], output_size.sizes[1]) <= 0:
        raise RuntimeError(
            "Input and output sizes should be greater than 0, but got input "
            f"({sizes_by_side([self.sizes[2], self.sizes[3]])}) output ({sizes_by_side(list_of(output_size))})")
    check_upsample(self, output_size, op)
    # Kernels of the CPU have no half precision.
    if self.dtype == Half and self.device_type == CPU:
        raise_not_implemented("compute_index_ranges_weights", self.dtype)
    return 0


cdef str sizes_by_side(list sizes):
    return ", ".join([f"{side}: {size}" for side, size in zip(("D", "H", "W")[-len(sizes):], sizes)])


cdef int check_upsample_backward(TensorBase grad_output, const Shape *output_size, str op) except -1:
    cdef int dims = output_size.ndim, i
    if grad_output.ndim != dims + 2:
        raise RuntimeError(f"Expected grad_output to be a tensor of dimension {dims + 2} but got: dimension "
                           f"{grad_output.ndim}")
    for i in range(dims):
        if grad_output.sizes[i + 2] != output_size.sizes[i]:
            raise RuntimeError(
                f"Expected grad_output to have the same shape as output; output.size({i + 2}) = "
                f"{output_size.sizes[i]} but got grad_output.size({i + 2}) = {grad_output.sizes[i + 2]}")
    return check_kernel_float(grad_output.dtype, op)


# --- grids -----------------------------------------------------------------------------------------------------------

cdef int grid_sampler(Shape *shape, TensorBase input, TensorBase grid) except -1:
    cdef int i
    shape.ndim = input.ndim
    shape.sizes[0], shape.sizes[1] = input.sizes[0], input.sizes[1]
    for i in range(2, input.ndim):
        shape.sizes[i] = grid.sizes[i - 1]
    return 0


cdef int check_grid_sampler(TensorBase input, TensorBase grid, int dims, int64_t interpolation_mode,
                            int64_t padding_mode) except -1:
    cdef int i
    cdef str sizes = f"got input with sizes {size_text(input)} and grid with sizes {size_text(grid)}"
    if input.ndim != dims + 2 or grid.ndim != input.ndim:
        raise RuntimeError(f"grid_sampler(): expected {dims + 2}D input and grid with same number of dimensions, but "
                           f"{sizes}")
    if input.sizes[0] != grid.sizes[0]:
        raise RuntimeError(f"grid_sampler(): expected grid and input to have same batch size, but {sizes}")
    if grid.sizes[dims + 1] != dims:
        raise RuntimeError(f"grid_sampler(): expected grid to have size {dims} in last dimension, but got grid with "
                           f"sizes {size_text(grid)}")
    for i in range(2, input.ndim):
        if input.sizes[i] == 0:
            raise RuntimeError("grid_sampler(): expected input to have non-empty spatial dimensions, but input has "
                               f"sizes {size_text(input)} with dimension {i} being empty")
    if not 0 <= interpolation_mode <= 2 or not 0 <= padding_mode <= 2:
        raise RuntimeError(f"grid_sampler(): there is no interpolation mode {interpolation_mode} with padding mode "
                           f"{padding_mode}: possible modes: 0, 1, 2")
    if dims != 2 and interpolation_mode == 2:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    check_kernel_float(input.dtype, f"grid_sampler_{dims}d_cpu_kernel_impl")
    if grid.dtype != input.dtype:
        raise RuntimeError(f"expected scalar type {dtype_name(input.dtype)} but found {dtype_name(grid.dtype)}")
    return 0


cdef int affine_grid(Shape *shape, TensorBase theta, const Shape *size) except -1:
    cdef int i
    shape.ndim = size.ndim
    shape.sizes[0], shape.sizes[size.ndim - 1] = size.sizes[0], size.ndim - 2
    for i in range(2, size.ndim):
        shape.sizes[i - 1] = size.sizes[i]
    return 0


cdef int check_affine_grid(TensorBase theta, const Shape *size) except -1:
    if size.ndim not in (4, 5):
        raise RuntimeError("AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.")
    cdef int dims = size.ndim - 2
    if theta.ndim < 3:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-theta.ndim}, {theta.ndim - 1}], but "
                         "got 2)")
    if theta.ndim > 3 or theta.sizes[0] != size.sizes[0] or theta.sizes[2] != dims + 1:
        raise RuntimeError(f"Expected size for first two dimensions of batch2 tensor to be: [{size.sizes[0]}, "
                           f"{dims + 1}] but got: [{theta.sizes[0]}, {theta.sizes[2]}].")
    if theta.sizes[1] != dims:
        raise RuntimeError(f"theta of sizes {size_text(theta)} is invalid for a grid of {dims} dimensions")
    return check_kernel_float(theta.dtype, "affine_grid_generator")


# --- the reverse of pooling ------------------------------------------------------------------------------------------

cdef int check_max_unpool(TensorBase self, TensorBase indices, const Shape *output_size) except -1:
    cdef int dims = output_size.ndim, i
    if indices.dtype != Long:
        raise RuntimeError(f"elements in indices should be type int64 but got: {dtype_name(indices.dtype)}")
    if self.ndim != dims + 1 and self.ndim != dims + 2:
        raise RuntimeError(f"Input to max_unpooling{dims}d should be a {dims + 1}d or {dims + 2}d Tensor, but got a "
                           f"tensor with {self.ndim} dimensions.")
    if not has_same_shape(self, indices):
        raise RuntimeError("Expected shape of indices to be same as that of the input tensor "
                           f"({size_text(self)}) but got indices tensor with shape: {size_text(indices)}")
    for i in range(self.ndim - dims - 1, self.ndim):
        if self.sizes[i] == 0:
            raise RuntimeError(f"max_unpooling{dims}d_forward_out_cpu(): Expected input to have non-zero size for "
                               f"non-batch dimensions, but got {size_text(self)} with dimension {i} being empty.")
    return check_kernel_float(self.dtype, f"max_unpool{dims}d")


cdef int check_max_unpool3d(const Shape *stride, const Shape *padding) except -1:
    cdef int i
    for name, count in (("stride", stride.ndim), ("padding", padding.ndim)):
        if count != 3:
            raise RuntimeError(f"There should be exactly three elements (depth, height, width) in {name}, but got: "
                               f"{count} elements.")
    for i in range(3):
        if stride.sizes[i] < 1:
            raise RuntimeError(f"strides should be greater than zero, but got stride: {list_of(stride)}")
    return 0


# --- padding and adaptive pooling ------------------------------------------------------------------------------------

cdef int check_pad(TensorBase self, const Shape *padding, bint reflect) except -1:
    cdef int dims = padding.ndim // 2, i, dim
    if self.dtype == Bool:
        raise_not_implemented(f"{'reflection' if reflect else 'replication'}_pad{dims}d", self.dtype)
    if self.ndim != dims + 1 and self.ndim != dims + 2:
        raise RuntimeError(f"Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with possibly 0 batch size and "
                           f"other non-zero dimensions for input, but got: {size_text(self)}")
    for i in range(dims):
        dim = self.ndim - 1 - i
        if self.sizes[dim] == 0 or self.sizes[self.ndim - dims - 1] == 0:
            raise RuntimeError(f"Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with possibly 0 batch size "
                               f"and other non-zero dimensions for input, but got: {size_text(self)}")
        if reflect and (padding.sizes[2 * i] >= self.sizes[dim] or padding.sizes[2 * i + 1] >= self.sizes[dim]):
            raise RuntimeError(
                "Argument #4: Padding size should be less than the corresponding input dimension, but got: padding "
                f"({padding.sizes[2 * i]}, {padding.sizes[2 * i + 1]}) at dimension {dim} of input {size_text(self)}")
        if self.sizes[dim] + padding.sizes[2 * i] + padding.sizes[2 * i + 1] < 1:
            raise RuntimeError(f"input ({sizes_by_side([self.sizes[dim]])}) is too small. Calculated output "
                               f"{sizes_by_side([self.sizes[dim] + padding.sizes[2 * i] + padding.sizes[2 * i + 1]])}")
    return 0


cdef int check_adaptive_pool(TensorBase self, const Shape *output_size, str op) except -1:
    cdef int dims = output_size.ndim, i
    if self.ndim != dims + 1 and self.ndim != dims + 2:
        raise RuntimeError(f"{op}(): Expected {dims + 1}D or {dims + 2}D tensor, but got {size_text(self)}")
    for i in range(dims):
        if output_size.sizes[i] < 0:
            raise RuntimeError(f"{op}(): elements of output_size must be greater than or equal to 0")
    for i in range(self.ndim - dims - (self.ndim == dims + 2 and self.sizes[0] != 0), self.ndim):
        if self.sizes[i] == 0:
            raise RuntimeError(f"{op}(): Expected input to have non-zero size for non-batch dimensions, but input has "
                               f"sizes {size_text(self)} with dimension {i} being empty")
    return 0


cdef int check_pair(const Shape *values, int64_t least, str name, str rule, str parts) except -1:
    if values.ndim != 2:
        raise RuntimeError(f"It is expected {name} equals to 2, but got size {values.ndim}")
    if values.sizes[0] < least or values.sizes[1] < least:
        raise RuntimeError(f"{rule}, but got {parts}_height: {values.sizes[0]} {parts}_width: {values.sizes[1]}")
    return 0


cdef int check_im2col(const Shape *kernel_size, const Shape *dilation, const Shape *padding,
                      const Shape *stride) except -1:
    check_pair(kernel_size, 1, "kernel_size", "kernel size should be greater than zero", "kernel")
    check_pair(dilation, 1, "dilation", "dilation should be greater than zero", "dilation")
    check_pair(padding, 0, "padding", "padding should be non-negative", "pad")
    return check_pair(stride, 1, "stride", "stride should be greater than zero", "stride")


cdef int check_col2im(TensorBase self, const Shape *output_size, const Shape *kernel_size, const Shape *dilation,
                      const Shape *padding, const Shape *stride) except -1:
    cdef int64_t places[2]
    cdef int64_t given
    cdef int i
    if output_size.ndim != 2:
        raise RuntimeError(f"It is expected output_size equals to 2, but got size {output_size.ndim}")
    check_im2col(kernel_size, dilation, padding, stride)
    check_col2im_input(self)
    given = self.sizes[self.ndim - 1]
    for i in range(2):
        places[i] = floor_div(output_size.sizes[i] + 2 * padding.sizes[i] - dilation.sizes[i]
                              * (kernel_size.sizes[i] - 1) - 1, stride.sizes[i]) + 1
    if places[0] * places[1] != given:
        raise RuntimeError(
            f"Given output_size={tuple(list_of(output_size))}, kernel_size={tuple(list_of(kernel_size))}, dilation="
            f"{tuple(list_of(dilation))}, padding={tuple(list_of(padding))}, stride={tuple(list_of(stride))}, expected "
            f"size of input's dimension 2 to match the calculated number of sliding blocks {places[0]} * {places[1]} = "
            f"{places[0] * places[1]}, but got input.size(2)={given}.")
    return 0


cdef int check_max_pool_backward(TensorBase grad_output, TensorBase self, TensorBase indices, int dims) except -1:
    cdef TensorBase other
    cdef int i
    if not dims < self.ndim < dims + 3:
        raise RuntimeError(f"non-empty {dims + 1}D or {dims + 2}D (batch mode) tensor expected for input")
    for other in (grad_output, indices):
        for i in range(self.ndim - dims):
            check_dim_size(other, self.ndim, i, self.sizes[i])
    for i in range(indices.ndim):
        check_dim_size(grad_output, indices.ndim, i, indices.sizes[i])
    return 0


cdef int check_dim_size(TensorBase tensor, int dims, int dim, int64_t size) except -1:
    if tensor.ndim != dims or tensor.sizes[dim] != size:
        got = f" = {tensor.sizes[dim]}" if dim < tensor.ndim else ""
        raise RuntimeError(f"Expected a tensor of dimension {dims} and tensor.size[{dim}] == {size} but got: dimension "
                           f"{tensor.ndim} and tensor.size[{dim}]{got}")
    return 0


# --- norms -----------------------------------------------------------------------------------------------------------


# --- shapes and dtypes -----------------------------------------------------------------------------------------------

cdef int layer_norm_stats(Shape *shape, TensorBase input, const Shape *normalized_shape) except -1:
    cdef int i
    like(shape, input)
    for i in range(max(input.ndim - normalized_shape.ndim, 0), input.ndim):
        shape.sizes[i] = 1
    return 0


cdef int group_norm_stats(Shape *shape, int64_t samples, int64_t groups) except -1:
    shape.ndim = 2
    shape.sizes[0] = samples
    shape.sizes[1] = groups
    return 0


cdef int vector_of_size(Shape *shape, int64_t size) except -1:
    shape.ndim = 1
    shape.sizes[0] = size
    return 0


cdef int batch_norm_stats(Shape *shape, TensorBase input, bint wanted) except -1:
    return vector_of_size(shape, input.sizes[wrap_dim(1, input.ndim)] if wanted else 0)


cdef ScalarType norm_parameter_dtype(TensorBase input, TensorBase weight, TensorBase bias, TensorBase running) noexcept:
    for parameter in (weight, bias, running):
        if parameter is not None:
            return (<TensorBase>parameter).dtype
    return input.dtype


# --- checks ----------------------------------------------------------------------------------------------------------

cdef bint has_last_dims(TensorBase tensor, const Shape *shape) noexcept:
    """Whether `shape` is that of the tensor's last dimensions."""
    cdef int i, leading = tensor.ndim - shape.ndim
    if leading < 0:
        return False
    for i in range(shape.ndim):
        if tensor.sizes[leading + i] != shape.sizes[i]:
            return False
    return True


cdef int check_layer_norm(TensorBase input, const Shape *normalized_shape, TensorBase weight, TensorBase bias,
                          str text) except -1:
    if normalized_shape.ndim == 0:
        raise RuntimeError("Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
                           "element, but got normalized_shape = []")
    check_layer_norm_parameter(weight, normalized_shape, "weight")
    check_layer_norm_parameter(bias, normalized_shape, "bias")
    if not has_last_dims(input, normalized_shape):
        shape = shape_text(normalized_shape.ndim, normalized_shape.sizes)
        raise RuntimeError(f"Given normalized_shape={shape}, expected input with shape {text}{shape[1:]}, but got "
                           f"input of size{shape_text(input.ndim, input.sizes)}")
    return 0


cdef int check_layer_norm_parameter(TensorBase parameter, const Shape *shape, str name) except -1:
    if parameter is None or (parameter.ndim == shape.ndim and has_last_dims(parameter, shape)):
        return 0
    raise RuntimeError(f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
                       f"{shape_text(parameter.ndim, parameter.sizes)} and normalized_shape = "
                       f"{shape_text(shape.ndim, shape.sizes)}")


cdef inline bint has_dtype(TensorBase parameter, ScalarType dtype) noexcept:
    return parameter is None or parameter.dtype == dtype


cdef int check_norm_parameter_dtypes(TensorBase input, TensorBase weight, TensorBase bias, TensorBase running_mean,
                                     TensorBase running_var) except -1:
    cdef ScalarType dtype = input.dtype
    if (has_dtype(weight, dtype) and has_dtype(bias, dtype) and has_dtype(running_mean, dtype)
            and has_dtype(running_var, dtype)):
        return 0
    parameters = [p for p in (weight, bias, running_mean, running_var) if p is not None]
    mixed = (<TensorBase>parameters[0]).dtype != dtype
    for parameter in parameters:
        if mixed and not has_dtype(<TensorBase>parameter, Float):
            raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")
        if not mixed and not has_dtype(<TensorBase>parameter, dtype):
            raise RuntimeError(f"expected scalar type {dtype_name(dtype)} but found "
                               f"{dtype_name((<TensorBase>parameter).dtype)}")
    if dtype != Half and dtype != BFloat16:
        raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")
    return 0


cdef int check_group_norm(TensorBase input, TensorBase weight, TensorBase bias, int64_t N, int64_t C, int64_t HxW,
                          int64_t group) except -1:
    if group <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {group}")
    if C % group:
        raise RuntimeError("Expected number of channels in input to be divisible by num_groups, but got input of shape "
                           f"{shape_text(input.ndim, input.sizes)} and num_groups={group}")
    for name, each in (("weight", weight), ("bias", bias)):
        vector = <TensorBase>each
        if vector is not None and (vector.ndim != 1 or vector.numel != C):
            raise RuntimeError(f"Expected {name} to be a vector of size equal to the number of channels in input, but "
                               f"got {name} of shape {shape_text(vector.ndim, vector.sizes)} and input of shape "
                               f"{shape_text(input.ndim, input.sizes)}")
    if input.numel != N * C * HxW:
        raise RuntimeError("Expected X.numel() == N * C * HxW to be true, but got false.")
    return 0


cdef int check_batch_norm(TensorBase input, TensorBase weight, TensorBase bias, TensorBase running_mean,
                          TensorBase running_var, bint training) except -1:
    cdef int64_t channels = input.sizes[wrap_dim(1, input.ndim)]
    check_kernel_float(input.dtype, "batch_norm")           # before the rest, though torch's kernel refuses it
    if (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")
    if not training and running_mean is None:
        raise RuntimeError("Expected running_mean to be defined when training=False")
    for name, each in (("running_mean", running_mean), ("running_var", running_var), ("weight", weight),
                       ("bias", bias)):
        vector = <TensorBase>each
        if vector is not None and vector.numel != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {vector.numel}")
    if training and input.numel == 0:
        raise RuntimeError("input tensor must have at least one element, but got input_sizes = "
                           f"{shape_text(input.ndim, input.sizes)}")
    return 0


cdef int check_renorm(TensorBase self, const Scalar *p, int64_t dim, const Scalar *maxnorm) except -1:
    if p.kind == COMPLEX_KIND or maxnorm.kind == COMPLEX_KIND:
        raise RuntimeError(f"renorm: {'p' if p.kind == COMPLEX_KIND else 'maxnorm'} must be real-valued")
    if (p.real if p.kind == FLOAT_KIND else p.integer) <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if (maxnorm.real if maxnorm.kind == FLOAT_KIND else maxnorm.integer) < 0:
        raise RuntimeError("renorm: expected maxnorm to be >= 0 but got "
                           f"{maxnorm.real if maxnorm.kind == FLOAT_KIND else maxnorm.integer:g}")
    if self.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {self.ndim} dimensions")
    wrap_dim(dim, self.ndim)
    if KIND[<int>self.dtype] < FLOAT_KIND:
        raise RuntimeError("linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
                           f"{dtype_name(self.dtype)}")
    return 0


# --- losses ----------------------------------------------------------------------------------------------------------


cdef enum:
    NONE = 0
    MEAN = 1
    SUM = 2


# --- shapes ----------------------------------------------------------------------------------------------------------

cdef int elementwise_loss(Shape *shape, TensorBase self, TensorBase target, int64_t reduction) except -1:
    broadcast(shape, self, target)
    if reduction == MEAN or reduction == SUM:
        shape.ndim = 0
    return 0


cdef int check_weight_broadcasts(const Shape *losses, TensorBase weight) except -1:
    """RuntimeError where the weight has more places than the losses."""
    cdef Shape together = losses[0]
    cdef Shape own
    cdef int i
    if weight is None:
        return 0
    same_shape(&own, weight)
    broadcast_shapes(&together, &own)
    for i in range(together.ndim):
        if together.ndim != losses.ndim or together.sizes[i] != losses.sizes[i]:
            raise RuntimeError(f"output with shape {shape_text(losses.ndim, losses.sizes)} doesn't match the broadcast "
                               f"shape {shape_text(together.ndim, together.sizes)}")
    return 0


cdef int weighted_loss(Shape *shape, TensorBase self, TensorBase target, TensorBase weight, TensorBase pos_weight,
                       int64_t reduction) except -1:
    broadcast(shape, self, target)
    check_weight_broadcasts(shape, weight)
    check_weight_broadcasts(shape, pos_weight)
    if reduction == MEAN or reduction == SUM:
        shape.ndim = 0
    return 0


cdef int check_class_weights(TensorBase weight, int64_t classes) except -1:
    if weight is not None and (weight.ndim != 1 or weight.sizes[0] != classes):
        raise RuntimeError(f"weight tensor should be defined either for all {classes} classes or no classes but got "
                           f"weight tensor of shape: {shape_text(weight.ndim, weight.sizes)}")
    return 0


cdef int nll_loss(Shape *shape, TensorBase self, TensorBase target, TensorBase weight, int64_t reduction) except -1:
    if self.ndim != 1 and self.ndim != 2:
        raise RuntimeError("input tensor should be 1D or 2D")
    if target.ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    cdef int64_t samples = self.sizes[0] if self.ndim == 2 else 1
    if target.numel != samples:
        raise RuntimeError(f"size mismatch (got input: {shape_text(self.ndim, self.sizes)}, target: "
                           f"{shape_text(target.ndim, target.sizes)})")
    check_class_weights(weight, self.sizes[self.ndim - 1])
    shape.ndim = 1 if reduction == NONE and self.ndim == 2 else 0
    shape.sizes[0] = samples
    return 0


cdef int nll_loss2d(Shape *shape, TensorBase self, TensorBase target, TensorBase weight, int64_t reduction) except -1:
    check_class_weights(weight, self.sizes[1])
    same_shape(shape, target)
    if reduction != NONE:
        shape.ndim = 0
    return 0


cdef int multilabel_loss(Shape *shape, TensorBase self, TensorBase target, int64_t reduction) except -1:
    shape.ndim = 1 if reduction == NONE and self.ndim == 2 else 0
    shape.sizes[0] = self.sizes[0]
    return 0


cdef int glu(Shape *shape, TensorBase self, int64_t dim) except -1:
    same_shape(shape, self)
    shape.sizes[dim] //= 2
    return 0


# --- dtypes ----------------------------------------------------------------------------------------------------------

cdef ScalarType mse_loss_dtype(TensorBase self, TensorBase target, int64_t reduction) except *:
    cdef ScalarType dtype = real_dtype(promote(self, target))
    return sum_dtype(dtype) if reduction == SUM else dtype


# --- checks ----------------------------------------------------------------------------------------------------------

cdef int check_loss_mean_dtype(ScalarType dtype, int64_t reduction) except -1:
    if reduction == MEAN and KIND[<int>dtype] < FLOAT_KIND:
        raise RuntimeError("mean(): could not infer output dtype. Input dtype must be either a floating point or "
                           f"complex dtype. Got: {dtype_name(dtype)}")
    return 0


cdef int check_smooth_l1_beta(double beta) except -1:
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    return 0


cdef int check_kl_div(TensorBase self, TensorBase target) except -1:
    for tensor in (self, target):
        if KIND[<int>(<TensorBase>tensor).dtype] == COMPLEX_KIND:
            raise RuntimeError("kl_div: Complex inputs not supported.")
    for tensor in (self, target):
        if KIND[<int>(<TensorBase>tensor).dtype] != FLOAT_KIND:
            raise RuntimeError("kl_div: Integral inputs not supported.")
    return 0


cdef int check_bce_with_logits(TensorBase self, TensorBase target) except -1:
    # torch computes in 1 - target, which so decides on the dtype and must have the shape.
    cdef Shape shape
    cdef int i
    check_subtract(target, target)
    check_cast(promote(self, target), target.dtype)
    broadcast(&shape, self, target)
    for i in range(shape.ndim):
        if shape.ndim != target.ndim or shape.sizes[i] != target.sizes[i]:
            raise RuntimeError(f"output with shape {shape_text(target.ndim, target.sizes)} doesn't match the "
                               f"broadcast shape {shape_text(shape.ndim, shape.sizes)}")
    return 0


cdef int check_not_differentiated(TensorBase tensor, str function, str argument) except -1:
    if tensor is not None and grad_enabled() and requires_grad(tensor):
        raise RuntimeError(f"The function '{function}' is not differentiable with respect to argument '{argument}'. "
                           "This input cannot have requires_grad True.")
    return 0


cdef int check_nll_loss_target(TensorBase target) except -1:
    if target.dtype != Long and target.dtype != Byte:
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {dtype_name(target.dtype)}")
    return 0


cdef int check_nll_loss2d(TensorBase self, TensorBase target) except -1:
    if target.ndim != 3:
        raise RuntimeError("only batches of spatial targets supported (3D tensors) but got targets of dimension: "
                           f"{target.ndim}")
    if self.ndim != 4:
        raise RuntimeError("only batches of spatial inputs supported (4D tensors), but got input of dimension: "
                           f"{self.ndim}")
    if (self.sizes[0] != target.sizes[0] or self.sizes[2] != target.sizes[1] or self.sizes[3] != target.sizes[2]):
        raise RuntimeError(f"size mismatch (got input: {shape_text(self.ndim, self.sizes)} , target: "
                           f"{shape_text(target.ndim, target.sizes)}")
    return 0


cdef int check_multilabel_margin(TensorBase self, TensorBase target) except -1:
    cdef bint same_length = target.numel == self.numel and self.ndim < 2 and target.ndim < 2
    if self.ndim > 2 or (self.ndim and self.sizes[self.ndim - 1] == 0):
        raise RuntimeError("Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
                           f"{shape_text(self.ndim, self.sizes)}")
    if not same_length and (target.ndim != self.ndim or target.sizes[0] != self.sizes[0]
                            or target.sizes[1] != self.sizes[1]):
        raise RuntimeError(f"inconsistent target size: {shape_text(target.ndim, target.sizes)} for input of size: "
                           f"{shape_text(self.ndim, self.sizes)}")
    if target.dtype != Long:
        raise RuntimeError(f"expected scalar type Long but found {dtype_name(target.dtype)}")
    return 0


cdef int check_glu(TensorBase self, int64_t dim) except -1:
    if self.ndim == 0:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    dim = wrap_dim(dim, self.ndim)
    if self.sizes[dim] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {self.sizes[dim]}")
    return 0


cdef int check_fake_quantize(TensorBase self, TensorBase scale, TensorBase zero_point, int64_t axis,
                             int64_t quant_min, int64_t quant_max) except -1:
    if scale.dtype != Float and scale.dtype != BFloat16:
        raise RuntimeError(f"Scale must be Float or BFloat16, found {dtype_name(scale.dtype)}")
    if zero_point.dtype != Int and zero_point.dtype != Float and zero_point.dtype != Half:
        raise RuntimeError(f"Zero-point must be Int32, Float or Half, found {dtype_name(zero_point.dtype)}")
    if scale.ndim != 1:
        raise RuntimeError("scale should be a 1-D tensor")
    if zero_point.ndim != 1:
        raise RuntimeError("zero point should be a 1-D tensor")
    if scale.numel != zero_point.numel:
        raise RuntimeError("scale and zero-point need to have the same dimensions")
    if self.ndim == 0:
        raise IndexError(f"Dimension specified as {axis} but tensor has no dimensions")
    if scale.numel != self.sizes[wrap_dim(axis, self.ndim)]:
        raise RuntimeError("dimensions of scale and zero-point are not consistent with input tensor")
    if quant_min > quant_max:
        raise RuntimeError("`quant_min` should be less than or         equal to `quant_max`.")
    if axis < 0 or axis > self.ndim:
        raise RuntimeError("`axis` must be between 0 and number of dimensions of input")
    return 0


cdef int check_celu(const Scalar *alpha) except -1:
    if alpha.real == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return 0


# --- operators of torch_npu ------------------------------------------------------------------------------------------


cdef int swiglu(Shape *shape, TensorBase input) except -1:
    check_glu(input, -1)
    return glu(shape, input, input.ndim - 1)


cdef int rms_norm_rstd(Shape *shape, TensorBase input, TensorBase gamma) except -1:
    cdef int i
    like(shape, input)
    for i in range(input.ndim - gamma.ndim, input.ndim):
        shape.sizes[i] = 1
    return 0


cdef int matrix_of_sizes(Shape *shape, int64_t rows, int64_t columns) except -1:
    shape.ndim = 2
    shape.sizes[0] = rows
    shape.sizes[1] = columns
    return 0


cdef int npu_group_norm_stats(Shape *shape, TensorBase input, int64_t groups) except -1:
    if input.ndim < 2 or groups <= 0 or input.sizes[1] % groups:
        raise RuntimeError(f"{groups} groups of channels in a tensor of shape {shape_text(input.ndim, input.sizes)}: "
                           "expected a divisor of its second dimension")
    return matrix_of_sizes(shape, input.sizes[0], groups)


# --- a mixture of experts --------------------------------------------------------------------------------------------

cdef int require_matrix(TensorBase tensor, str name) except -1:
    if tensor.ndim != 2:
        raise RuntimeError(f"{name} has {tensor.ndim} dimensions, expected 2")
    return 0


cdef int moe_gating_topk(Shape *shape, TensorBase x, int64_t k) except -1:
    like(shape, x)
    if not 2 <= x.ndim <= 3 or not 1 <= k <= x.sizes[x.ndim - 1]:
        raise RuntimeError(f"{k} experts of scores of shape {shape_text(x.ndim, x.sizes)}: expected 2 or 3 dimensions, "
                           "and 1 to all of the last one")
    shape.sizes[x.ndim - 1] = k
    return 0


cdef int moe_init_routing(Shape *shape, TensorBase x, TensorBase expert_idx, int64_t active_num) except -1:
    require_matrix(x, "x")
    require_matrix(expert_idx, "expert_idx")
    if active_num < 0:
        raise RuntimeError(f"active_num is {active_num}, expected 0 or more")
    return matrix_of_sizes(shape, min(x.sizes[0], active_num) * expert_idx.sizes[1], x.sizes[1])


cdef int moe_row_indices(Shape *shape, TensorBase tensor) except -1:
    shape.ndim = 1
    shape.sizes[0] = tensor.numel
    return 0


cdef int moe_permute(Shape *shape, TensorBase tokens, TensorBase indices, const Shape *kept) except -1:
    cdef int64_t rows = indices.numel
    require_matrix(tokens, "tokens")
    if kept.ndim and kept.sizes[0] != 0:        # as the end of a slice
        rows = max(0, min(rows, kept.sizes[0] if kept.sizes[0] > 0 else rows + kept.sizes[0]))
    return matrix_of_sizes(shape, rows, tokens.sizes[1])


cdef int moe_unpermute(Shape *shape, TensorBase tokens, TensorBase sorted_indices, TensorBase probs) except -1:
    cdef int64_t choices = 1
    require_matrix(tokens, "permuted_tokens")
    if probs is not None:
        require_matrix(probs, "probs")
        choices = max(probs.sizes[1], 1)
    return matrix_of_sizes(shape, sorted_indices.numel // choices, tokens.sizes[1])


cdef int moe_token_grads(Shape *shape, TensorBase tokens, int64_t rows) except -1:
    require_matrix(tokens, "grad_permuted_tokens")
    return matrix_of_sizes(shape, rows, tokens.sizes[1])


cdef int like_or_empty(Shape *shape, TensorBase tensor) except -1:
    if tensor is not None:
        return like(shape, tensor)
    shape.ndim = 1
    shape.sizes[0] = 0
    return 0


# --- attention -------------------------------------------------------------------------------------------------------

cdef int npu_fusion_attention(Shape *shape, TensorBase query, TensorBase key, TensorBase value,
                              int64_t head_num) except -1:
    cdef int last = query.ndim - 1
    cdef int64_t shared
    like(shape, query)
    if not query.ndim == key.ndim == value.ndim or head_num <= 0:
        raise RuntimeError(f"attention of {query.ndim}, {key.ndim} and {value.ndim} dimensions with {head_num} heads")
    if query.ndim == 4:
        shape.sizes[last] = value.sizes[last]
    elif query.sizes[last] // head_num:     # heads side by side: value has as many as key, which is as wide as query
        shared = key.sizes[last] // (query.sizes[last] // head_num)
        shape.sizes[last] = head_num * (value.sizes[last] // shared) if shared else 0
    return 0


cdef int npu_attention_softmax_stats(Shape *shape, TensorBase query, int64_t head_num, object layout) except -1:
    cdef int batch = 1 if layout == "SBH" else 0
    cdef int length = {"BNSD": 2, "SBH": 0}.get(layout, 1)
    shape.ndim = 4
    shape.sizes[0] = query.sizes[batch]
    shape.sizes[1] = head_num
    shape.sizes[2] = query.sizes[length]
    shape.sizes[3] = 8
    return 0


# --- checks ----------------------------------------------------------------------------------------------------------

cdef int check_gamma(TensorBase input, TensorBase gamma) except -1:
    cdef int i, skipped = input.ndim - gamma.ndim
    for i in range(gamma.ndim):
        if skipped < 0 or gamma.sizes[i] != input.sizes[skipped + i]:
            raise RuntimeError(f"gamma has the shape {shape_text(gamma.ndim, gamma.sizes)}, which is not that of the "
                               f"last dimensions of {shape_text(input.ndim, input.sizes)}")
    return 0


cdef int check_rotary_mode(object mode) except -1:
    if mode not in ("half", "interleave"):
        raise RuntimeError(f"rotary_mode is {mode!r}, expected half or interleave")
    return 0


cdef int check_not_none(TensorBase tensor, str name) except -1:
    if tensor is None:
        raise NotImplementedError(f"{name} is None, which is not supported on npu")
    return 0


cdef int check_dropless(const Shape *drop_pad_mode) except -1:
    if drop_pad_mode.ndim and drop_pad_mode.sizes[0]:
        raise NotImplementedError(f"drop_pad_mode {drop_pad_mode.sizes[0]} is not supported on npu: only 0 is")
    return 0


cdef int check_not_padded(bint padded_mode) except -1:
    if padded_mode:
        raise NotImplementedError("padded_mode is not supported on npu: only False is")
    return 0


cdef int check_none(TensorBase tensor, str name) except -1:
    if tensor is not None:
        raise NotImplementedError(f"{name} is not supported on npu: only None is")
    return 0
