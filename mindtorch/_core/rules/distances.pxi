# Rules of distances between the rows of matrices.
from mindtorch._core.rules.infer cimport broadcast
from mindtorch._core.tensor.dtype cimport FLOAT_KIND, KIND, dtype_name
from mindtorch._core.tensor.tensor cimport Shape


cdef int cdist(Shape *shape, TensorBase x1, TensorBase x2) except -1:
    """(*batch, n, m) of n rows of x1 and m rows of x2; the batch is that of both, broadcast."""
    broadcast_batch(shape, x1, x2)
    return append_matrix(shape, num_rows(x1), num_rows(x2))


cdef int with_batch_of(Shape *shape, TensorBase a, TensorBase other) except -1:
    """The matrices of `a` in the batch of the other."""
    batch_shape(shape, other)
    return append_matrix(shape, num_rows(a), num_columns(a))


cdef int pdist(Shape *shape, TensorBase a) except -1:
    """(n * (n - 1) / 2,): each pair of rows once."""
    shape.ndim = 1
    shape.sizes[0] = a.sizes[0] * (a.sizes[0] - 1) // 2 if a.sizes[0] else 0
    return 0


cdef int row_shape(Shape *shape, TensorBase a) except -1:
    """(columns,) of a matrix."""
    shape.ndim = 1
    shape.sizes[0] = a.sizes[1]
    return 0


cdef int check_cdist(TensorBase x1, TensorBase x2, double p, const Shape *compute_mode) except -1:
    """x1 and x2 must be float matrices of equal width and dtype; `p` must not be negative."""
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
    """The tensor must be contiguous."""
    if not self.contiguous:
        raise RuntimeError("_pdist_forward requires contiguous input")
    return 0
