# Rules of losses.
from libc.stdint cimport int64_t

from mindtorch._core.autograd.history cimport should_record
from mindtorch._core.autograd.node cimport grad_enabled, requires_grad
from mindtorch._core.operators.operator cimport check_subtract, real_dtype
from mindtorch._core.rules.infer cimport broadcast, broadcast_shapes, check_cast, promote, same_shape, sum_dtype
from mindtorch._core.tensor.dtype cimport COMPLEX_KIND, FLOAT_KIND, KIND, Byte, Long, ScalarType, dtype_name
from mindtorch._core.tensor.tensor cimport Shape, shape_text


cdef int ctc_loss(Shape *shape, TensorBase log_probs) except -1:
    """A loss for each sample: (batch,)."""
    shape.ndim = 1
    shape.sizes[0] = log_probs.sizes[1]
    return 0


cdef int ctc_log_alpha(Shape *shape, TensorBase log_probs, const Shape *target_lengths) except -1:
    """(batch, time, 2 * longest + 1): blanks stand between the labels of a target and at its ends."""
    cdef int64_t longest = 0
    cdef int i
    for i in range(target_lengths.ndim):
        longest = max(longest, target_lengths.sizes[i])
    shape.ndim = 3
    shape.sizes[0] = log_probs.sizes[1]
    shape.sizes[1] = log_probs.sizes[0]
    shape.sizes[2] = 2 * longest + 1
    return 0


cdef enum:
    NONE = 0
    MEAN = 1
    SUM = 2


cdef int elementwise_loss(Shape *shape, TensorBase self, TensorBase target, int64_t reduction) except -1:
    """The two shapes, broadcast; () where the loss is reduced."""
    broadcast(shape, self, target)
    if reduction == MEAN or reduction == SUM:
        shape.ndim = 0
    return 0


cdef int check_weight_broadcasts(const Shape *losses, TensorBase weight) except -1:
    """RuntimeError where the weight does not expand to the shape of the losses."""
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
    """The two shapes, broadcast; () where the loss is reduced. Weights, which may be None, must expand to it."""
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
    """(batch,), or () where the loss is reduced; `weight` must have a number for each class."""
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
    """That of the target, or () where the loss is reduced; `weight` must have a number for each class."""
    check_class_weights(weight, self.sizes[1])
    same_shape(shape, target)
    if reduction != NONE:
        shape.ndim = 0
    return 0


cdef int multilabel_loss(Shape *shape, TensorBase self, TensorBase target, int64_t reduction) except -1:
    """(batch,), or () where the loss is reduced."""
    shape.ndim = 1 if reduction == NONE and self.ndim == 2 else 0
    shape.sizes[0] = self.sizes[0]
    return 0


cdef ScalarType mse_loss_dtype(TensorBase self, TensorBase target, int64_t reduction) except *:
    """The promoted dtype without its imaginary part; int64 for a sum of integers."""
    cdef ScalarType dtype = real_dtype(promote(self, target))
    return sum_dtype(dtype) if reduction == SUM else dtype


cdef int check_loss_mean_dtype(ScalarType dtype, int64_t reduction) except -1:
    """Refuses the mean of integers."""
    if reduction == MEAN and KIND[<int>dtype] < FLOAT_KIND:
        raise RuntimeError("mean(): could not infer output dtype. Input dtype must be either a floating point or "
                           f"complex dtype. Got: {dtype_name(dtype)}")
    return 0


cdef int check_smooth_l1_beta(double beta) except -1:
    """`beta` must not be negative."""
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    return 0


cdef int check_kl_div(TensorBase self, TensorBase target) except -1:
    """Input and target must be floats."""
    for tensor in (self, target):
        if KIND[<int>(<TensorBase>tensor).dtype] == COMPLEX_KIND:
            raise RuntimeError("kl_div: Complex inputs not supported.")
    for tensor in (self, target):
        if KIND[<int>(<TensorBase>tensor).dtype] != FLOAT_KIND:
            raise RuntimeError("kl_div: Integral inputs not supported.")
    return 0


cdef int check_bce_with_logits(TensorBase self, TensorBase target, TensorBase pos_weight) except -1:
    """The target must have the shape and a dtype for the loss, and must not be bool."""
    # torch writes the loss to the memory of 1 - target: so the target decides its shape and dtype.
    check_subtract(target, target)
    check_cast(promote(self, target), target.dtype)
    if pos_weight is not None:              # torch writes what it multiplies with target to the memory of log_sigmoid
        check_cast(promote(pos_weight, target), self.dtype)
    return check_expands_to(self, target)


cdef int check_expands_to(TensorBase tensor, TensorBase other) except -1:
    """The first tensor must expand to the shape of the other."""
    cdef Shape shape
    same_shape(&shape, other)
    return check_weight_broadcasts(&shape, tensor)


cdef int check_not_differentiated(TensorBase tensor, str function, str argument) except -1:
    """Refuses an argument that requires a gradient: the function has no derivative by it."""
    if tensor is not None and grad_enabled() and requires_grad(tensor):
        raise RuntimeError(f"The function '{function}' is not differentiable with respect to argument '{argument}'. "
                           "This input cannot have requires_grad True.")
    return 0


cdef int check_out_not_differentiated(TensorBase out, str op) except -1:
    """Refuses an out= that requires a gradient, which an operator of integers does not give it."""
    if requires_grad(out):
        should_record(out, f"aten::{op}")
    return 0


cdef int check_nll_loss_dtypes(TensorBase self, TensorBase target, TensorBase weight) except -1:
    """The target must be int64 or uint8, the weight of self's dtype."""
    if target.dtype != Long and target.dtype != Byte:
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {dtype_name(target.dtype)}")
    if weight is not None and weight.dtype != self.dtype:
        raise RuntimeError(f"expected scalar type {dtype_name(self.dtype)} but found {dtype_name(weight.dtype)}")
    return 0


cdef int check_nll_loss2d(TensorBase self, TensorBase target) except -1:
    """The input must have 4 dimensions, the target 3, of the same batch and image."""
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
    """The input must be a vector or a matrix; the target must be int64 of its shape."""
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
