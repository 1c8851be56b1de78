from libc.math cimport INFINITY
from libc.stdint cimport int64_t
from libc.string cimport memcmp

from mindtorch._core.dispatch cimport mv, real_dtype
from mindtorch._core.dtype cimport KIND, code_name, default_complex, is_float8
from mindtorch._core.infer cimport bmm, broadcast, broadcast_shapes, like, same, wrap_dim
from mindtorch._core.scalar cimport (
    COMPLEX_KIND, FLOAT_KIND, BFloat16, ComplexDouble, ComplexFloat, Double, Half, Undefined)
from mindtorch._core.tensor cimport shape_text


# --- numbers ---------------------------------------------------------------------------------------------------------

cdef int64_t rows_of(TensorBase a) except? -1:
    return a.sizes[a.ndim - 2]


cdef int64_t columns_of(TensorBase a) except? -1:
    return a.sizes[a.ndim - 1]


cdef int64_t least_of(TensorBase a) except? -1:
    return min(a.sizes[a.ndim - 2], a.sizes[a.ndim - 1])


cdef int64_t pick(bint condition, int64_t one, int64_t other) except? -1:
    return one if condition else other


cdef bint equals(object mode, str name) except? -1:
    return mode == name


cdef bint differs(object mode, str name) except? -1:
    return mode != name


# --- shapes ----------------------------------------------------------------------------------------------------------

cdef int batch(Shape *shape, TensorBase a) except -1:
    same(shape, a)
    shape.ndim = a.ndim - 2
    return 0


cdef int vectors(Shape *shape, TensorBase a, int64_t length) except -1:
    batch(shape, a)
    shape.sizes[shape.ndim] = length
    shape.ndim += 1
    return 0


cdef int matrices(Shape *shape, TensorBase a, int64_t rows, int64_t columns) except -1:
    batch(shape, a)
    return add_matrix(shape, rows, columns)


cdef int matrices_if(Shape *shape, bint wanted, TensorBase a, int64_t rows, int64_t columns) except -1:
    if wanted:
        return matrices(shape, a, rows, columns)
    shape.ndim = 1
    shape.sizes[0] = 0
    return 0


cdef int add_matrix(Shape *shape, int64_t rows, int64_t columns) except -1:
    shape.sizes[shape.ndim] = rows
    shape.sizes[shape.ndim + 1] = columns
    shape.ndim += 2
    return 0


cdef int common_batch(Shape *shape, TensorBase a, TensorBase b) except -1:
    cdef Shape other
    batch(shape, a)
    batch(&other, b)
    return broadcast_shapes(shape, &other)


cdef bint of_vectors(TensorBase a, TensorBase b) noexcept:
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


cdef int solution(Shape *shape, TensorBase a, TensorBase b, bint left) except -1:
    cdef int64_t size = columns_of(a)
    if of_vectors(a, b):
        if not left:
            raise RuntimeError("linalg.solve: Vector broadcasting of the left hand side is not supported for "
                               "left=False. In this case linalg.solve is equivalent to B / A.squeeze(-1)")
        batch(shape, a)
        if b.ndim == 1 and b.sizes[0] != size:
            incompatible("linalg.solve", a, b, left)
        shape.sizes[shape.ndim] = size
        shape.ndim += 1
        return 0
    if b.ndim < 2 or (rows_of(b) if left else columns_of(b)) != size:
        incompatible("linalg.solve", a, b, left)
    common_batch(shape, a, b)
    return add_matrix(shape, rows_of(b), columns_of(b))


cdef int incompatible(str op, TensorBase a, TensorBase b, bint left) except -1:
    raise RuntimeError(f"{op}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
                       f"({shape_text(a.ndim, a.sizes)} and {shape_text(b.ndim, b.sizes)})")


cdef int triangular(Shape *shape, TensorBase b, TensorBase a) except -1:
    if b.ndim < 2:
        raise RuntimeError("torch.triangular_solve: Expected b to have at least 2 dimensions, but it has "
                           f"{b.ndim} dimensions instead")
    if rows_of(b) != rows_of(a):
        incompatible("triangular_solve", a, b, True)
    common_batch(shape, b, a)
    return add_matrix(shape, rows_of(b), columns_of(b))


cdef int square_batch(Shape *shape, TensorBase a, TensorBase b) except -1:
    common_batch(shape, b, a)
    return add_matrix(shape, rows_of(a), columns_of(a))


cdef int cross(Shape *shape, TensorBase a, TensorBase b, int64_t dim) except -1:
    if a.ndim != b.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    dim = wrap_dim(dim, a.ndim)
    if a.ndim == 0 or a.sizes[dim] != 3 or b.sizes[dim] != 3:
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got "
                           f"{a.sizes[dim] if a.ndim else 1} and {b.sizes[dim] if b.ndim else 1}")
    return broadcast(shape, a, b)


cdef int require_expandable(const Shape *shape, TensorBase self) except -1:
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
    return require_expandable(shape, self)


cdef int addbmm(Shape *shape, TensorBase self, TensorBase a, TensorBase b) except -1:
    bmm(shape, a, b)
    shape.ndim = 2
    shape.sizes[0], shape.sizes[1] = shape.sizes[1], shape.sizes[2]
    return require_expandable(shape, self)


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
    return add_matrix(shape, a.sizes[0], b.sizes[0])


cdef int addr(Shape *shape, TensorBase self, TensorBase a, TensorBase b) except -1:
    if a.ndim != 1 or b.ndim != 1:
        which, wrong = ("vec1", a) if a.ndim != 1 else ("vec2", b)
        raise RuntimeError(f"addr: Expected 1-D argument {which}, but got {wrong.dim()}-D")
    outer(shape, a, b)
    return require_expandable(shape, self)


cdef int halved(Shape *shape, TensorBase a, const Shape *dim, bint onesided) except -1:
    same(shape, a)
    cdef int64_t last = wrap_dim(dim.sizes[dim.ndim - 1], a.ndim)
    if onesided:
        shape.sizes[last] = shape.sizes[last] // 2 + 1
    return 0


cdef int resized(Shape *shape, TensorBase a, const Shape *dim, int64_t length) except -1:
    same(shape, a)
    shape.sizes[wrap_dim(dim.sizes[dim.ndim - 1], a.ndim)] = length
    return 0


# --- dtypes ----------------------------------------------------------------------------------------------------------

cdef ScalarType complex_dtype(ScalarType dtype) except *:
    if KIND[<int>dtype] == COMPLEX_KIND:
        return dtype
    if KIND[<int>dtype] < FLOAT_KIND:
        return default_complex()
    return ComplexDouble if dtype == Double else ComplexFloat


cdef ScalarType norm_operand(TensorBase self, ScalarType dtype) except *:
    if dtype == Undefined:
        return self.dtype
    return complex_dtype(dtype) if KIND[<int>self.dtype] == COMPLEX_KIND else dtype


cdef ScalarType norm_dtype(TensorBase self, ScalarType dtype) except *:
    return real_dtype(self.dtype if dtype == Undefined else dtype)


# --- checks ----------------------------------------------------------------------------------------------------------

cdef int check_matrices(TensorBase a, str op) except -1:
    if KIND[<int>a.dtype] < FLOAT_KIND:
        raise RuntimeError(f"{op}: Expected a floating point or complex tensor as input. Got {code_name(a.dtype)}")
    if a.dtype == Half or a.dtype == BFloat16 or is_float8(a.dtype):
        raise RuntimeError(f"{op}: Low precision dtypes not supported. Got {code_name(a.dtype)}")
    if a.ndim < 2:
        raise RuntimeError(f"{op}: The input tensor A must have at least 2 dimensions.")
    return 0


cdef int check_square(TensorBase a, str op) except -1:
    check_matrices(a, op)
    if rows_of(a) != columns_of(a):
        raise RuntimeError(f"{op}: A must be batches of square matrices, but they are "
                           f"{rows_of(a)} by {columns_of(a)} matrices")
    return 0


cdef int check_one_dtype(TensorBase a, TensorBase b, str op) except -1:
    if a.dtype != b.dtype:
        raise RuntimeError(f"{op}: Expected A and B to have the same dtype, but found A of type {code_name(a.dtype)} "
                           f"and B of type {code_name(b.dtype)} instead")
    return 0


cdef int check_norm(TensorBase self, const Scalar *ord, const Shape *dim, ScalarType dtype) except -1:
    if KIND[<int>self.dtype] < FLOAT_KIND:
        raise RuntimeError("linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
                           f"{code_name(self.dtype)}")
    if dtype != Undefined and KIND[<int>dtype] < FLOAT_KIND:
        raise RuntimeError("linalg.vector_norm: dtype should be floating point or complex. Got "
                           f"{code_name(dtype)}")
    if dtype != Undefined and (KIND[<int>dtype] == COMPLEX_KIND) != (KIND[<int>self.dtype] == COMPLEX_KIND):
        kind = "real" if KIND[<int>dtype] == COMPLEX_KIND else "complex"
        raise RuntimeError(f"linalg.vector_norm: dtype should be {kind} for {kind} inputs, but got {code_name(dtype)}")
    return check_norm_of_nothing(self, ord.real, dim) if self.numel == 0 else 0


cdef int check_norm_of_nothing(TensorBase self, double order, const Shape *dim) except -1:
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


cdef int check_mode(object mode) except -1:
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or "
                           "'complete'")
    return 0


cdef int check_triangle(object UPLO) except -1:
    if str(UPLO).upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return 0


cdef int check_transformable(TensorBase self) except -1:
    if self.dtype == Half or self.dtype == BFloat16 or is_float8(self.dtype):
        raise RuntimeError(f"Unsupported dtype {code_name(self.dtype)}")
    if KIND[<int>self.dtype] != FLOAT_KIND:
        raise RuntimeError(f"a real Fourier transform expects a floating point tensor, but got {code_name(self.dtype)}")
    return 0


cdef int check_complex(TensorBase self) except -1:
    if KIND[<int>self.dtype] != COMPLEX_KIND:
        raise RuntimeError(f"a Fourier transform expects a complex tensor, but got {code_name(self.dtype)}")
    return 0


cdef int check_matrix(TensorBase self) except -1:
    if self.ndim != 2:
        raise RuntimeError(f"expected a matrix, but got a tensor of size {shape_text(self.ndim, self.sizes)}")
    return 0


cdef int check_axes(TensorBase self, const Shape *dim) except -1:
    cdef int i
    if self.ndim == 0 or dim.ndim == 0:
        raise RuntimeError("a Fourier transform expects at least one dimension")
    for i in range(dim.ndim):
        wrap_dim(dim.sizes[i], self.ndim)
    return 0


# --- attention: (batch, heads, length, width) ------------------------------------------------------------------------

cdef int attended(Shape *shape, TensorBase query, TensorBase value) except -1:
    like(shape, query)
    shape.sizes[query.ndim - 1] = value.sizes[value.ndim - 1]
    return 0


cdef int attention_statistics(Shape *shape, TensorBase query) except -1:
    like(shape, query)
    shape.sizes[query.ndim - 1] = 8
    return 0


# --- ctc_loss: (time, batch, classes) --------------------------------------------------------------------------------

cdef int losses_of_paths(Shape *shape, TensorBase log_probs) except -1:
    shape.ndim = 1
    shape.sizes[0] = log_probs.sizes[1]
    return 0


cdef int scores_of_paths(Shape *shape, TensorBase log_probs, const Shape *target_lengths) except -1:
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

cdef int distances(Shape *shape, TensorBase x1, TensorBase x2) except -1:
    common_batch(shape, x1, x2)
    return add_matrix(shape, rows_of(x1), rows_of(x2))


cdef int in_batch(Shape *shape, TensorBase a, TensorBase other) except -1:
    batch(shape, other)
    return add_matrix(shape, rows_of(a), columns_of(a))


cdef int pairs(Shape *shape, TensorBase a) except -1:
    shape.ndim = 1
    shape.sizes[0] = a.sizes[0] * (a.sizes[0] - 1) // 2 if a.sizes[0] else 0
    return 0


cdef int one_row(Shape *shape, TensorBase a) except -1:
    shape.ndim = 1
    shape.sizes[0] = a.sizes[1]
    return 0


cdef int check_distances(TensorBase x1, TensorBase x2, double p, const Shape *compute_mode) except -1:
    for position, x in enumerate((x1, x2), 1):
        if (<TensorBase>x).ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, X{position} got: {(<TensorBase>x).ndim}D")
        if KIND[<int>(<TensorBase>x).dtype] != FLOAT_KIND:
            raise RuntimeError(f"cdist only supports floating-point dtypes, X{position} got: "
                               f"{code_name((<TensorBase>x).dtype)}")
    if columns_of(x1) != columns_of(x2):
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {columns_of(x1)} X2: "
                           f"{columns_of(x2)}")
    if x1.dtype != x2.dtype:
        raise RuntimeError(f"expected scalar type {code_name(x1.dtype)} but found {code_name(x2.dtype)}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    if compute_mode.ndim and not 0 <= compute_mode.sizes[0] <= 2:
        raise RuntimeError(f"possible modes: 0, 1, 2, but was: {compute_mode.sizes[0]}")
    return 0


cdef int check_pairs(TensorBase self) except -1:
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
            raise RuntimeError(f"expected scalar type {code_name(input_gates.dtype)} but found "
                               f"{code_name(other.dtype)}")
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
