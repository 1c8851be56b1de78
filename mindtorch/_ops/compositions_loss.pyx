"""Formulas of losses that ACLNN lacks. See compositions.py."""
from libc.stdint cimport int64_t

from mindtorch._core._gen cimport direct as run
from mindtorch._core.dtype cimport ITEMSIZE
from mindtorch._core.scalar cimport Long
from mindtorch._core.space cimport inserted, shape_of, space_for, upright
from mindtorch._core.tensor cimport Shape, TensorBase


cdef TensorBase as_rows(TensorBase x):
    while x.ndim < 2:
        x = inserted(x, 0)
    return x


def multilabel_margin_slopes(TensorBase grad_output, TensorBase self, TensorBase target, int64_t reduction,
                             TensorBase is_target, TensorBase out):
    """Of each pair within the margin, 1 for the class that is no label and -1 for the label, over the classes."""
    cdef Shape shape
    rows, target, is_target, slopes = as_rows(self), as_rows(target), as_rows(is_target), as_rows(out)
    shape_of(&shape, rows)
    classes = rows.sizes[1]
    scale = 1.0 / (rows.numel if reduction == 1 else classes)
    space = space_for(rows, 3 + classes + 2 * 8 // ITEMSIZE[<int>rows.dtype])
    least, label = space.cut(&shape, 1, Long), space.cut(&shape, 1, Long)
    run.cummin(target, 1, least, label)                             # negative from the first negative one on
    weight = run.ge_Scalar(least, 0, space.room())
    run.mul_Tensor(weight, upright(grad_output) if grad_output.ndim else grad_output, weight)
    run.clamp(target, 0, None, label)
    own = run.gather(rows, 1, label, False, space.room())
    shape.ndim = 3
    shape.sizes[2] = classes
    pairs = space.cut(&shape, classes, rows.dtype)                  # each label beside all classes
    run.gt_Tensor(inserted(rows, 1), upright(run.sub_Scalar(own, 1, 1, own)), pairs)
    run.mul_Tensor(pairs, upright(weight), pairs)
    run.mul_Tensor(pairs, inserted(run.rsub_Scalar(is_target, scale, scale, own), 1), pairs)
    run.sum_dim_IntList(pairs, (1,), False, slopes)
    run.sum_dim_IntList(pairs, (2,), False, own)
    run.scatter_add(slopes, 1, label, run.neg(own, own), slopes)
    return out
