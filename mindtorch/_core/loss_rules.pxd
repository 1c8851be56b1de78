"""Shapes, dtypes and checks of losses and of the activation functions beside them. torch's rules and errors.

Rows name these as they name the rules of infer.pxd. A reduction is 0 for none, 1 for the mean, 2 for the sum.
"""
from libc.stdint cimport int64_t

from mindtorch._core.scalar cimport Scalar, ScalarType
from mindtorch._core.tensor cimport Shape, TensorBase


cdef int loss(Shape *shape, TensorBase self, TensorBase target, int64_t reduction) except -1
# Weights, which may be None, are spread over the losses, not the losses over them.
cdef int weighted_loss(Shape *shape, TensorBase self, TensorBase target, TensorBase weight, TensorBase pos_weight,
                       int64_t reduction) except -1
cdef int nll_loss(Shape *shape, TensorBase self, TensorBase target, TensorBase weight, int64_t reduction) except -1
cdef int nll_loss2d(Shape *shape, TensorBase self, TensorBase target, TensorBase weight, int64_t reduction) except -1
cdef int multilabel_loss(Shape *shape, TensorBase self, TensorBase target, int64_t reduction) except -1
cdef int gated(Shape *shape, TensorBase self, int64_t dim) except -1

cdef ScalarType distance_dtype(TensorBase self, TensorBase target, int64_t reduction) except *

cdef int check_mean(ScalarType dtype, int64_t reduction) except -1
cdef int check_beta(double beta) except -1                                        # smooth_l1_loss
cdef int check_divergence(TensorBase self, TensorBase target) except -1           # kl_div
cdef int check_logits(TensorBase self, TensorBase target) except -1               # binary_cross_entropy_with_logits
cdef int check_constant(TensorBase tensor, str function, str argument) except -1  # what has no derivative
cdef int check_classes(TensorBase target) except -1
cdef int check_classes_of_pixels(TensorBase self, TensorBase target) except -1
cdef int check_labels(TensorBase self, TensorBase target) except -1               # multilabel_margin_loss
cdef int check_halves(TensorBase self, int64_t dim) except -1                     # glu
cdef int check_celu(const Scalar *alpha) except -1
