"""Shapes of what slides over images or changes their size: convolution, pooling, padding. torch's rules and errors.

Rows name these as they name the rules of infer.pxd. Lists have an entry for each dimension of the image.
"""
from libc.stdint cimport int64_t

from mindtorch._core.scalar cimport ScalarType
from mindtorch._core.tensor cimport Shape, TensorBase


cdef int convolution(Shape *shape, TensorBase input, TensorBase weight, TensorBase bias, const Shape *stride,
                     const Shape *padding, const Shape *dilation, bint transposed, const Shape *output_padding,
                     int64_t groups) except -1
cdef int check_convolution(TensorBase input, TensorBase weight, TensorBase bias, const Shape *stride,
                           const Shape *padding, const Shape *dilation, const Shape *output_padding,
                           int64_t groups) except -1
cdef int pool(Shape *shape, TensorBase self, const Shape *kernel_size, const Shape *stride, const Shape *padding,
              const Shape *dilation, bint ceil_mode) except -1
cdef int pool_dense(Shape *shape, TensorBase self, const Shape *kernel_size, const Shape *stride,
                    const Shape *padding, bint ceil_mode) except -1          # without dilation
cdef int last_dims(Shape *shape, TensorBase self, const Shape *sizes) except -1
cdef int padded(Shape *shape, TensorBase self, const Shape *padding) except -1     # pairs, from the last dimension
cdef int sampled(Shape *shape, TensorBase input, TensorBase grid) except -1       # a place of the grid for each pixel
cdef int affine_grid(Shape *shape, TensorBase theta, const Shape *size) except -1
cdef int im2col(Shape *shape, TensorBase self, const Shape *kernel_size, const Shape *dilation, const Shape *padding,
                const Shape *stride) except -1
cdef int col2im(Shape *shape, TensorBase self, const Shape *output_size, const Shape *kernel_size) except -1
cdef int check_real_floating(TensorBase self, str op) except -1               # no integers, bool, complex
cdef int check_no_integers(TensorBase self, str op) except -1
cdef int check_real_number(TensorBase self, str op) except -1                        # no bool, complex
cdef int check_upsample(TensorBase self, const Shape *output_size, str op) except -1
cdef int check_antialias(TensorBase self, const Shape *output_size, str op) except -1
cdef int check_upsample_backward(TensorBase grad_output, const Shape *output_size, str op) except -1
cdef int check_grid(TensorBase input, TensorBase grid, int dims, int64_t interpolation_mode) except -1
cdef int check_affine_grid(TensorBase theta, const Shape *size) except -1
cdef int check_unpool(TensorBase self, TensorBase indices, const Shape *output_size) except -1
cdef int check_unpool_windows(const Shape *stride, const Shape *padding) except -1
cdef int check_pad(TensorBase self, const Shape *padding, bint reflect) except -1
cdef int check_adaptive(TensorBase self, const Shape *output_size, str op) except -1
cdef int check_sliding(const Shape *kernel_size, const Shape *dilation, const Shape *padding,
                       const Shape *stride) except -1
# The gradient of what a pool has picked, and the places of it: one size, and the planes of what was pooled.
cdef int check_picked(TensorBase grad_output, TensorBase self, TensorBase indices, int dims) except -1
cdef int check_col2im(TensorBase self, const Shape *output_size, const Shape *kernel_size, const Shape *dilation,
                      const Shape *padding, const Shape *stride) except -1
