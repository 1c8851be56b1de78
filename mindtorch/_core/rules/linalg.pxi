# Rules of matrices: products, solutions of equations, decompositions. `op` is the name that a message begins with.
from libc.math cimport INFINITY
from libc.stdint cimport int64_t
from libc.string cimport memcmp

from mindtorch._core import hooks

from mindtorch._core.operators.operator cimport mv, raise_not_implemented, real_dtype, to_complex_dtype
from mindtorch._core.rules.infer cimport bmm, broadcast, broadcast_shapes, same_shape, wrap_dim
from mindtorch._core.tensor.dtype cimport (
    COMPLEX_KIND, DTYPES, FLOAT_KIND, INT_KIND, KIND, BFloat16, Bool, Half, Scalar, ScalarType, Undefined, dtype_name,
    is_float8,
)
from mindtorch._core.tensor.tensor cimport Shape, shape_text


cdef int64_t num_rows(TensorBase a) except? -1:
    """The last size but one."""
    return a.sizes[a.ndim - 2]


cdef int64_t num_columns(TensorBase a) except? -1:
    """The last size."""
    return a.sizes[a.ndim - 1]


cdef int64_t min_rows_columns(TensorBase a) except? -1:
    """The smaller of the last two sizes."""
    return min(a.sizes[a.ndim - 2], a.sizes[a.ndim - 1])


cdef int64_t if_else(bint condition, int64_t one, int64_t other) except? -1:
    """One of two numbers."""
    return one if condition else other


cdef bint equals(object mode, str name) except? -1:
    """Whether the string is this one."""
    return mode == name


cdef bint differs(object mode, str name) except? -1:
    """Whether the string is not this one."""
    return mode != name


cdef int batch_shape(Shape *shape, TensorBase a) except -1:
    """All dimensions but the last two."""
    same_shape(shape, a)
    shape.ndim = a.ndim - 2
    return 0


cdef int vector_shape(Shape *shape, TensorBase a, int64_t length) except -1:
    """The batch of `self`, then (length,)."""
    batch_shape(shape, a)
    shape.sizes[shape.ndim] = length
    shape.ndim += 1
    return 0


cdef int matrix_shape(Shape *shape, TensorBase a, int64_t rows, int64_t columns) except -1:
    """The batch of `self`, then (rows, columns)."""
    batch_shape(shape, a)
    return append_matrix(shape, rows, columns)


cdef int matrix_shape_if(Shape *shape, bint wanted, TensorBase a, int64_t rows, int64_t columns) except -1:
    """As matrix_shape where `wanted`, else (0,)."""
    if wanted:
        return matrix_shape(shape, a, rows, columns)
    shape.ndim = 1
    shape.sizes[0] = 0
    return 0


cdef int by_columns(Shape *strides, bint wanted) except -1:
    """Where `wanted`, the strides of matrices that lie by columns, as LAPACK's results do; else contiguous ones."""
    cdef Shape shape = strides[0]
    cdef int64_t rows
    if not wanted or shape.ndim < 2:
        strides.ndim = 0
        return 0
    contiguous_strides(shape.ndim, shape.sizes, strides.sizes)
    rows = shape.sizes[shape.ndim - 2]
    strides.sizes[shape.ndim - 2], strides.sizes[shape.ndim - 1] = 1, max(rows, 1)
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
    """The shape of X in AX = B, or XA = B where not `left`; B may be vectors."""
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
    cdef int64_t rows = num_rows(b) if b.ndim > 1 else b.numel
    cdef int64_t columns = num_columns(b) if b.ndim > 1 else 1
    raise RuntimeError(f"{op}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
                       f"({num_rows(a)}x{num_columns(a)} and {rows}x{columns})")


cdef int triangular_solve(Shape *shape, TensorBase b, TensorBase a) except -1:
    """The shape of X in AX = B."""
    if b.ndim < 2:
        raise RuntimeError("torch.triangular_solve: Expected b to have at least 2 dimensions, but it has "
                           f"{b.ndim} dimensions instead")
    if num_rows(b) != num_rows(a):
        raise_incompatible_shapes("triangular_solve", a, b, True)
    broadcast_batch(shape, b, a)
    return append_matrix(shape, num_rows(b), num_columns(b))


cdef int triangular_solve_coefficient(Shape *shape, TensorBase a, TensorBase b) except -1:
    """The matrices of A in the batch of both, broadcast."""
    broadcast_batch(shape, b, a)
    return append_matrix(shape, num_rows(a), num_columns(a))


cdef int cross(Shape *shape, TensorBase a, TensorBase b, int64_t dim) except -1:
    """The two shapes, broadcast; both sizes along `dim` must be 3."""
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
    """(b, n, p) of the products of (b, n, m) and (b, m, p); `self` must expand to it."""
    bmm(shape, a, b)
    return check_expandable(shape, self)


cdef int addbmm(Shape *shape, TensorBase self, TensorBase a, TensorBase b) except -1:
    """(n, p) of the sum of products of (b, n, m) and (b, m, p); `self` must expand to it."""
    bmm(shape, a, b)
    shape.ndim = 2
    shape.sizes[0], shape.sizes[1] = shape.sizes[1], shape.sizes[2]
    return check_expandable(shape, self)


cdef int addmv(Shape *shape, TensorBase self, TensorBase mat, TensorBase vec) except -1:
    """(n,) of the product of (n, m) and (m,); `self` must be a scalar or have that size, or 1."""
    if self.ndim > 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {self.ndim}, {mat.ndim}, {vec.ndim}")
    mv(shape, mat, vec)
    if self.ndim == 1 and self.sizes[0] != 1 and self.sizes[0] != shape.sizes[0]:
        raise RuntimeError(f"size mismatch, got input ({self.sizes[0]}), mat ({mat.sizes[0]}x{mat.sizes[1]}), "
                           f"vec ({vec.sizes[0]})")
    return 0


cdef int outer(Shape *shape, TensorBase a, TensorBase b) except -1:
    """(n, m) of two vectors."""
    if a.ndim != 1 or b.ndim != 1:
        which, wrong = ("self", a) if a.ndim != 1 else ("vec2", b)
        raise RuntimeError(f"outer: Expected 1-D argument {which}, but got {wrong.dim()}-D")
    shape.ndim = 0
    return append_matrix(shape, a.sizes[0], b.sizes[0])


cdef int addr(Shape *shape, TensorBase self, TensorBase a, TensorBase b) except -1:
    """(n, m) of the outer product of (n,) and (m,); `self` must expand to it."""
    if a.ndim != 1 or b.ndim != 1:
        which, wrong = ("vec1", a) if a.ndim != 1 else ("vec2", b)
        raise RuntimeError(f"addr: Expected 1-D argument {which}, but got {wrong.dim()}-D")
    outer(shape, a, b)
    return check_expandable(shape, self)


cdef ScalarType norm_operand_dtype(TensorBase self, ScalarType dtype) except *:
    """The dtype to compute a norm in: complex where `self` is."""
    if dtype == Undefined:
        return self.dtype
    return to_complex_dtype(dtype) if KIND[<int>self.dtype] == COMPLEX_KIND else dtype


cdef ScalarType norm_dtype(TensorBase self, ScalarType dtype) except *:
    """The real dtype of a norm of this dtype."""
    return real_dtype(self.dtype if dtype == Undefined else dtype)


cdef int check_matrices(TensorBase a, str op) except -1:
    """The dtype must be float32, float64 or complex, with at least 2 dimensions."""
    if KIND[<int>a.dtype] < FLOAT_KIND:
        raise RuntimeError(f"{op}: Expected a floating point or complex tensor as input. Got {dtype_name(a.dtype)}")
    if a.dtype == Half or a.dtype == BFloat16 or is_float8(a.dtype):
        raise RuntimeError(f"{op}: Low precision dtypes not supported. Got {dtype_name(a.dtype)}")
    if a.ndim < 2:
        raise RuntimeError(f"{op}: The input tensor A must have at least 2 dimensions.")
    return 0


cdef int check_square(TensorBase a, str op) except -1:
    """As check_matrices; the matrices must be square."""
    check_matrices(a, op)
    if num_rows(a) != num_columns(a):
        raise RuntimeError(f"{op}: A must be batches of square matrices, but they are "
                           f"{num_rows(a)} by {num_columns(a)} matrices")
    return 0


cdef int check_cholesky_solve(TensorBase b, TensorBase factor) except -1:
    """Both must be matrices of one dtype, float32, float64 or complex, and the factor square, with b's rows."""
    for name, matrix in (("b", b), ("u", factor)):
        if matrix.ndim < 2:
            raise RuntimeError(f"{name} should have at least 2 dimensions, but has {matrix.ndim} dimensions instead")
    if b.dtype != factor.dtype:
        raise RuntimeError(f"Expected b and A to have the same dtype, but found b of type {dtype_name(b.dtype)} and A "
                           f"of type {dtype_name(factor.dtype)} instead.")
    if num_rows(factor) != num_columns(factor):
        raise RuntimeError("A must be batches of square matrices, but they are "
                           f"{num_rows(factor)} by {num_columns(factor)} matrices")
    if num_rows(b) != num_rows(factor):
        raise RuntimeError(f"Incompatible matrix sizes for cholesky_solve: each A matrix is {num_rows(factor)} by "
                           f"{num_rows(factor)} but each b matrix is {num_rows(b)} by {num_columns(b)}")
    if KIND[<int>b.dtype] < FLOAT_KIND or b.dtype == Half or b.dtype == BFloat16 or is_float8(b.dtype):
        raise NotImplementedError(f'"cholesky_solve_cpu" not implemented for \'{dtype_name(b.dtype)}\'')
    return 0


cdef int check_lu_pivots(TensorBase lu, TensorBase pivots, bint unpack_pivots) except -1:
    """LU must have at least 2 dimensions, and the pivots its batch; pivots that are unpacked must be int32."""
    cdef int i
    cdef bint fits = pivots.ndim == lu.ndim - 1
    if lu.ndim < 2:
        raise RuntimeError("torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: "
                           f"{shape_text(lu.ndim, lu.sizes)} instead")
    if unpack_pivots and pivots.dtype != Int:
        raise RuntimeError("torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\n"
                           "Note: this function is intended to be used with the output produced by "
                           "torch.linalg.lu_factor")
    for i in range(lu.ndim - 2):
        fits = fits and pivots.sizes[i] == lu.sizes[i]
    if not fits:
        raise RuntimeError("lu_unpack: LU_data and LU_pivots must have the same batch dimensions, but got "
                           f"{shape_text(lu.ndim, lu.sizes)} and {shape_text(pivots.ndim, pivots.sizes)}")
    return 0


cdef int check_one_dtype(TensorBase a, TensorBase b, str op) except -1:
    """A and B must have one dtype."""
    if a.dtype != b.dtype:
        raise RuntimeError(f"{op}: Expected A and B to have the same dtype, but found A of type {dtype_name(a.dtype)} "
                           f"and B of type {dtype_name(b.dtype)} instead")
    return 0


cdef int check_ldl_solve(TensorBase factors, TensorBase pivots, TensorBase B) except -1:
    """B must have rows and columns; the pivots must be integers of the shape LD.shape[:-1]."""
    if B.ndim == 0:
        raise IndexError("Dimension specified as -2 but tensor has no dimensions")
    wrap_dim(-2, B.ndim)
    if KIND[<int>pivots.dtype] != INT_KIND:
        raise RuntimeError(f"torch.linalg.ldl_solve: Expected pivots to be integers. Got {dtype_name(pivots.dtype)}")
    if pivots.ndim != factors.ndim - 1 or memcmp(pivots.sizes, factors.sizes, pivots.ndim * sizeof(int64_t)) != 0:
        raise RuntimeError("torch.linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be the same, but got "
                           f"pivots with shape {shape_text(pivots.ndim, pivots.sizes)} instead")
    return 0


cdef int check_norm(TensorBase self, const Scalar *ord, const Shape *dim, ScalarType dtype) except -1:
    """The order must be real, the dtypes floats or complex; some norms of no elements do not exist."""
    if ord.kind == COMPLEX_KIND:
        raise RuntimeError("linalg.vector_norm: Expected a non-complex scalar as the order of norm.")
    if KIND[<int>self.dtype] < FLOAT_KIND:
        raise RuntimeError("linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
                           f"{dtype_name(self.dtype)}")
    if dtype != Undefined:
        hooks.check_norm_dtype("linalg.vector_norm", DTYPES[<int>self.dtype], DTYPES[<int>dtype])
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
    """The mode must be "reduced", "complete" or "r"."""
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or "
                           "'complete'")
    return 0


cdef int check_uplo(object UPLO) except -1:
    """UPLO must be "L" or "U", in either case."""
    if str(UPLO).upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return 0


cdef int check_matrix(TensorBase self) except -1:
    """There must be 2 dimensions."""
    if self.ndim != 2:
        raise RuntimeError(f"expected a matrix, but got a tensor of size {shape_text(self.ndim, self.sizes)}")
    return 0


cdef int check_triangular(TensorBase self, str op) except -1:
    """There must be at least 2 dimensions."""
    if self.ndim < 2:
        raise RuntimeError(f"{op}: input tensor must have at least 2 dimensions")
    return 0


cdef int check_trace(TensorBase self) except -1:
    """There must be 2 dimensions; refuses bool."""
    if self.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {self.ndim}")
    if self.dtype == Bool:
        raise_not_implemented("trace", self.dtype)
    return 0
