"""Linear algebra for rows whose npu column is a formula: what ACLNN lacks, by what it has. See compositions.py."""
from libc.float cimport DBL_EPSILON, FLT_EPSILON
from libc.stdint cimport int64_t
from libc.string cimport memcmp

from mindtorch._core._gen cimport direct as run
from mindtorch._core.scalar cimport Double, Int
from mindtorch._core.space cimport Space, shape_of, space_for, upright
from mindtorch._core.tensor cimport Shape, TensorBase, empty_tensor, make_plain

from mindtorch._core.errors import LinAlgError
from mindtorch._core.scratch import room
from mindtorch._ops.derivatives import ops


def determinant(A, out):
    """From the determinant's logarithm."""
    log = ops.empty_like(out, dtype=out.dtype.to_real()) if out.is_complex() else room(out)
    run.linalg_slogdet(A, out, log)
    size = run.exp(log, log)
    return run.mul_Tensor(out, size.to(out.dtype) if out.is_complex() else size, out)


cdef TensorBase turned(TensorBase x):
    """Matrices with rows for columns."""
    cdef Shape shape
    cdef Shape strides
    cdef int i, last = x.ndim - 1
    shape_of(&shape, x)
    for i in range(last - 1):
        strides.sizes[i] = x.strides[i]
    shape.sizes[last], shape.sizes[last - 1] = x.sizes[last - 1], x.sizes[last]
    strides.sizes[last], strides.sizes[last - 1] = x.strides[last - 1], x.strides[last]
    return make_plain(x.storage, x.dtype, x.ndim, shape.sizes, strides.sizes, x.offset)


cdef TensorBase diagonal(TensorBase x):
    """Of square matrices."""
    cdef Shape strides
    cdef int i, last = x.ndim - 2
    for i in range(last):
        strides.sizes[i] = x.strides[i]
    strides.sizes[last] = x.strides[last] + x.strides[last + 1]
    return make_plain(x.storage, x.dtype, last + 1, x.sizes, strides.sizes, x.offset)


def solved_by_qr(TensorBase A, TensorBase B, bint left, bint check_errors, TensorBase out, TensorBase info):
    """Q R X = B, as stable as LU. Singular is a matrix whose R has an element on its diagonal below rounding."""
    cdef Shape shape
    cdef TensorBase solution = out
    if B.ndim == 1 or B.ndim == A.ndim - 1 and memcmp(B.sizes, A.sizes, B.ndim * sizeof(int64_t)) == 0:
        B, solution = upright(B), upright(solution)
    if not left:
        A, B, solution = turned(A), turned(B), turned(solution)
    space = space_for(A, 7)
    q, r = space.room(), space.room()
    run.linalg_qr(A, "reduced", q, r)
    if info.numel and A.sizes[A.ndim - 1]:
        first_zero(diagonal(r), info, space)
    else:
        info.zero_()
    if check_errors:
        require_regular(info)
    shape_of(&shape, solution)
    sides = empty_tensor(&shape, B.dtype, B.device_type, B.device_index)
    run.matmul(turned(q), B, sides)
    shape.sizes[shape.ndim - 1] = shape.sizes[shape.ndim - 2]
    run.triangular_solve(sides, r, True, False, False, solution,
                         empty_tensor(&shape, B.dtype, B.device_type, B.device_index))
    return out, info


cdef int first_zero(TensorBase found, TensorBase info, Space space) except -1:
    """Per matrix the place of the first 0 on the diagonal, counted from 1; 0 where there is none."""
    cdef Shape shape
    cdef int last = found.ndim - 1
    shape_of(&shape, found)
    size = run.abs(found, space.cut(&shape, 1, found.dtype))
    zero = space.cut(&shape, 1, Int)
    shape.sizes[last] = 1
    limit = run.amax(size, (last,), True, space.cut(&shape, 1, found.dtype))
    run.le_Tensor(size, run.mul_Scalar(limit, DBL_EPSILON if found.dtype == Double else FLT_EPSILON, limit), zero)
    shape.ndim = last
    most, place = space.cut(&shape, 1, Int), space.cut(&shape, 1, Int)
    run.max_dim(zero, last, False, most, place)         # 1 and the first place of it, where there is one
    run.addcmul(most, most, place, 1, info)
    return 0


def require_regular(info):
    """Raises for the first matrix that is singular."""
    if info.numel() and bool((info != 0).any().item()):
        at = int(info.reshape(-1).nonzero()[0].item())
        where = f"(Batch element {at}): " if info.dim() else ""
        raise LinAlgError(f"linalg.solve: {where}The solver failed because the input matrix is singular.")
