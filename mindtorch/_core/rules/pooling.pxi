# Rules of pooling and its reverse. Lists have an entry for each dimension of the image.
from libc.stdint cimport int64_t

from mindtorch._core.operators.operator cimport check_kernel_float
from mindtorch._core.rules.infer cimport same_shape
from mindtorch._core.tensor.dtype cimport Long, dtype_name
from mindtorch._core.tensor.tensor cimport Shape, has_same_shape


cdef int64_t pooling_output_size(int64_t size, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                                 bint ceil_mode) except? -1:
    """The last window starts inside the image or the padding before it, never in the padding behind it."""
    cdef int64_t span = size + 2 * padding - dilation * (kernel - 1) - 1
    cdef int64_t count = floor_div(span + (stride - 1 if ceil_mode else 0), stride) + 1
    if ceil_mode and (count - 1) * stride >= size + padding:
        count -= 1
    return count


cdef int check_pool(TensorBase self, const Shape *kernel_size, const Shape *stride, const Shape *padding,
                    bint is_average) except -1:
    cdef int dims = kernel_size.ndim, i
    cdef bint is_image = self.ndim == dims + 1 or self.ndim == dims + 2
    if not is_image and not (is_average and dims == 2):
        raise RuntimeError(f"non-empty {dims + 1}D or {dims + 2}D (batch mode) tensor expected for input")
    for i in range(self.ndim - dims - 1, self.ndim):
        if not is_image or self.sizes[i] == 0:
            raise RuntimeError(f"Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with optional 0 dim batch "
                               f"size for input, but got:{size_text(self)}")
    for i in range(dims):
        if kernel_size.sizes[i] <= 0:
            raise RuntimeError("kernel size should be greater than zero, but got "
                               f"kernel_size={shape_list(kernel_size)}")
        if stride.sizes[i] <= 0:
            raise RuntimeError("stride should not be zero")
        if padding.sizes[i] < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {padding.sizes[i]}")
    return 0


cdef int pool_shape(Shape *shape, TensorBase self, const Shape *kernel_size, const Shape *stride,
                    const Shape *padding, const Shape *dilation, bint ceil_mode) except -1:
    cdef int dims = kernel_size.ndim, lead = self.ndim - kernel_size.ndim, i
    cdef int64_t step
    check_pool(self, kernel_size, stride, padding, dilation == NULL)
    same_shape(shape, self)
    for i in range(dims):
        step = dilation.sizes[i] if dilation != NULL else 1
        if step <= 0:
            raise RuntimeError(f"dilation should be greater than zero, but got dilation={shape_list(dilation)}")
        if padding.sizes[i] > ((kernel_size.sizes[i] - 1) * step + 1) // 2:
            raise RuntimeError(f"pad should be at most half of effective kernel size, but got pad={padding.sizes[i]}, "
                               f"kernel_size={kernel_size.sizes[i]} and dilation={step}")
        if padding.sizes[i] > kernel_size.sizes[i] // 2:
            raise RuntimeError("pad should be smaller than or equal to half of kernel size, but got "
                               f"pad={padding.sizes[i]} and kernel_size={kernel_size.sizes[i]}")
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
    """The sizes after pooling; RuntimeError for an image that is too small."""
    return pool_shape(shape, self, kernel_size, stride, padding, dilation, ceil_mode)


cdef int avg_pool(Shape *shape, TensorBase self, const Shape *kernel_size, const Shape *stride,
                  const Shape *padding, bint ceil_mode) except -1:
    """The sizes after pooling without dilation; RuntimeError for an image that is too small."""
    return pool_shape(shape, self, kernel_size, stride, padding, NULL, ceil_mode)


cdef int check_max_unpool(TensorBase self, TensorBase indices, const Shape *output_size) except -1:
    """The indices must be int64, of the shape of `self`, and the image must not be empty."""
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
    """Stride and padding must have 3 elements; the strides must be positive."""
    cdef int i
    for name, count in (("stride", stride.ndim), ("padding", padding.ndim)):
        if count != 3:
            raise RuntimeError(f"There should be exactly three elements (depth, height, width) in {name}, but got: "
                               f"{count} elements.")
    for i in range(3):
        if stride.sizes[i] < 1:
            raise RuntimeError(f"strides should be greater than zero, but got stride: {shape_list(stride)}")
    return 0


cdef int check_adaptive_pool(TensorBase self, const Shape *output_size, str op) except -1:
    """Refuses a wrong number of dimensions, an empty image and negative output sizes."""
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


cdef int check_adaptive_pool_gradient(TensorBase grad_output, str op) except -1:
    """Refuses a gradient whose channels or image have no elements."""
    cdef int i
    for i in range(1, grad_output.ndim):
        if grad_output.sizes[i] == 0:
            raise RuntimeError(f"{op}(): Expected grad_output to have non-zero size for non-batch dimensions, but "
                               f"grad_output has sizes {size_text(grad_output)} with dimension {i} being empty")
    return 0


cdef int check_max_pool_backward(TensorBase grad_output, TensorBase self, TensorBase indices, int dims) except -1:
    """Gradient and indices must have one size, and the batch and channels of the input."""
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
