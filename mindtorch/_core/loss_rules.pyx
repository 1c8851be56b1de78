from mindtorch._core.autograd cimport requires_grad
from mindtorch._core.dispatch cimport check_subtract, real_dtype
from mindtorch._core.dtype cimport KIND, code_name
from mindtorch._core.infer cimport broadcast, broadcast_shapes, check_cast, promote, same, to_sum, wrap_dim
from mindtorch._core.modes cimport grad_enabled
from mindtorch._core.scalar cimport COMPLEX_KIND, FLOAT_KIND, Byte, Long
from mindtorch._core.tensor cimport shape_text


cdef enum:
    NONE = 0
    MEAN = 1
    SUM = 2


# --- shapes ----------------------------------------------------------------------------------------------------------

cdef int loss(Shape *shape, TensorBase self, TensorBase target, int64_t reduction) except -1:
    broadcast(shape, self, target)
    if reduction == MEAN or reduction == SUM:
        shape.ndim = 0
    return 0


cdef int spread(const Shape *losses, TensorBase weight) except -1:
    """RuntimeError where the weight has more places than the losses."""
    cdef Shape together = losses[0]
    cdef Shape own
    cdef int i
    if weight is None:
        return 0
    same(&own, weight)
    broadcast_shapes(&together, &own)
    for i in range(together.ndim):
        if together.ndim != losses.ndim or together.sizes[i] != losses.sizes[i]:
            raise RuntimeError(f"output with shape {shape_text(losses.ndim, losses.sizes)} doesn't match the broadcast "
                               f"shape {shape_text(together.ndim, together.sizes)}")
    return 0


cdef int weighted_loss(Shape *shape, TensorBase self, TensorBase target, TensorBase weight, TensorBase pos_weight,
                       int64_t reduction) except -1:
    broadcast(shape, self, target)
    spread(shape, weight)
    spread(shape, pos_weight)
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
    same(shape, target)
    if reduction != NONE:
        shape.ndim = 0
    return 0


cdef int multilabel_loss(Shape *shape, TensorBase self, TensorBase target, int64_t reduction) except -1:
    shape.ndim = 1 if reduction == NONE and self.ndim == 2 else 0
    shape.sizes[0] = self.sizes[0]
    return 0


cdef int gated(Shape *shape, TensorBase self, int64_t dim) except -1:
    same(shape, self)
    shape.sizes[dim] //= 2
    return 0


# --- dtypes ----------------------------------------------------------------------------------------------------------

cdef ScalarType distance_dtype(TensorBase self, TensorBase target, int64_t reduction) except *:
    cdef ScalarType dtype = real_dtype(promote(self, target))
    return to_sum(dtype) if reduction == SUM else dtype


# --- checks ----------------------------------------------------------------------------------------------------------

cdef int check_mean(ScalarType dtype, int64_t reduction) except -1:
    if reduction == MEAN and KIND[<int>dtype] < FLOAT_KIND:
        raise RuntimeError("mean(): could not infer output dtype. Input dtype must be either a floating point or "
                           f"complex dtype. Got: {code_name(dtype)}")
    return 0


cdef int check_beta(double beta) except -1:
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    return 0


cdef int check_divergence(TensorBase self, TensorBase target) except -1:
    for tensor in (self, target):
        if KIND[<int>(<TensorBase>tensor).dtype] == COMPLEX_KIND:
            raise RuntimeError("kl_div: Complex inputs not supported.")
    for tensor in (self, target):
        if KIND[<int>(<TensorBase>tensor).dtype] != FLOAT_KIND:
            raise RuntimeError("kl_div: Integral inputs not supported.")
    return 0


cdef int check_logits(TensorBase self, TensorBase target) except -1:
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


cdef int check_constant(TensorBase tensor, str function, str argument) except -1:
    if tensor is not None and grad_enabled() and requires_grad(tensor):
        raise RuntimeError(f"The function '{function}' is not differentiable with respect to argument '{argument}'. "
                           "This input cannot have requires_grad True.")
    return 0


cdef int check_classes(TensorBase target) except -1:
    if target.dtype != Long and target.dtype != Byte:
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {code_name(target.dtype)}")
    return 0


cdef int check_classes_of_pixels(TensorBase self, TensorBase target) except -1:
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


cdef int check_labels(TensorBase self, TensorBase target) except -1:
    cdef bint alike = target.numel == self.numel and self.ndim < 2 and target.ndim < 2
    if self.ndim > 2 or (self.ndim and self.sizes[self.ndim - 1] == 0):
        raise RuntimeError("Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
                           f"{shape_text(self.ndim, self.sizes)}")
    if not alike and (target.ndim != self.ndim or target.sizes[0] != self.sizes[0] or target.sizes[1] != self.sizes[1]):
        raise RuntimeError(f"inconsistent target size: {shape_text(target.ndim, target.sizes)} for input of size: "
                           f"{shape_text(self.ndim, self.sizes)}")
    if target.dtype != Long:
        raise RuntimeError(f"expected scalar type Long but found {code_name(target.dtype)}")
    return 0


cdef int check_halves(TensorBase self, int64_t dim) except -1:
    if self.ndim == 0:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    dim = wrap_dim(dim, self.ndim)
    if self.sizes[dim] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {self.sizes[dim]}")
    return 0


cdef int check_celu(const Scalar *alpha) except -1:
    if alpha.real == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return 0
