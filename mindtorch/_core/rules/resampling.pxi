# Rules of other image sizes, and of grids of coordinates.
from libc.stdint cimport int64_t

from mindtorch._core.operators.operator cimport check_kernel_float, raise_not_implemented
from mindtorch._core.rules.infer cimport same_shape
from mindtorch._core.tensor.dtype cimport Byte, Half, dtype_name
from mindtorch._core.tensor.tensor cimport CPU, Shape


cdef int resize_last_dims(Shape *shape, TensorBase self, const Shape *sizes) except -1:
    """That of `self`, with `sizes` in place of the last ones."""
    cdef int i
    same_shape(shape, self)
    for i in range(sizes.ndim):
        shape.sizes[self.ndim - sizes.ndim + i] = sizes.sizes[i]
    return 0


cdef int check_upsample(TensorBase self, const Shape *output_size, str kernel) except -1:
    """The image must have as many dimensions as output_size, none empty; floats, or often uint8."""
    cdef int dims = output_size.ndim, i
    if self.ndim != dims + 2 or not self.numel and 0 in [self.sizes[i] for i in range(1, self.ndim)]:
        raise RuntimeError(f"Non-empty {dims + 2}D data tensor expected but got a tensor with sizes {size_text(self)}")
    for i in range(dims):
        if self.sizes[i + 2] <= 0 or output_size.sizes[i] <= 0:
            image = [self.sizes[axis + 2] for axis in range(dims)]
            raise RuntimeError(
                "Input and output sizes should be greater than 0, but got input "
                f"({sizes_by_side(image)}) and output ({sizes_by_side(shape_list(output_size))})")
    if self.dtype != Byte or kernel == "compute_indices_weights_linear":
        check_kernel_float(self.dtype, kernel)
    return 0


cdef int check_antialias(TensorBase self, const Shape *output_size, str kernel) except -1:
    """Antialiased resizing takes four dimensions, no empty image, and no float16 on the CPU."""
    if self.ndim != 4:
        raise RuntimeError(f"It is expected input_size equals to 4, but got size {self.ndim}")
    if min(self.sizes[2], self.sizes[3], output_size.sizes[0], output_size.sizes[1]) <= 0:
        raise RuntimeError(
            "Input and output sizes should be greater than 0, but got input "
            f"({sizes_by_side([self.sizes[2], self.sizes[3]])}) output ({sizes_by_side(shape_list(output_size))})")
    check_upsample(self, output_size, kernel)
    # Kernels of the CPU have no half precision.
    if self.dtype == Half and self.device_type == CPU:
        raise_not_implemented(kernel, self.dtype)
    return 0


cdef int check_upsample_backward(TensorBase grad_output, const Shape *output_size, str op) except -1:
    """The gradient must have the image that the forward gave, and be of floats."""
    cdef int dims = output_size.ndim, i
    if grad_output.ndim != dims + 2:
        raise RuntimeError(f"Expected grad_output to be a tensor of dimension {dims + 2} but got: dimension "
                           f"{grad_output.ndim}")
    for i in range(dims):
        if grad_output.sizes[i + 2] != output_size.sizes[i]:
            raise RuntimeError(
                f"Expected grad_output to have the same shape as output; output.size({i + 2}) = "
                f"{output_size.sizes[i]} but got grad_output.size({i + 2}) = {grad_output.sizes[i + 2]}")
    return check_kernel_float(grad_output.dtype, op)


cdef int grid_sampler(Shape *shape, TensorBase input, TensorBase grid) except -1:
    """(batch, channels, *image), where the image is that of the grid."""
    cdef int i
    shape.ndim = input.ndim
    shape.sizes[0], shape.sizes[1] = input.sizes[0], input.sizes[1]
    for i in range(2, input.ndim):
        shape.sizes[i] = grid.sizes[i - 1]
    return 0


cdef int check_grid_sampler(TensorBase input, TensorBase grid, int dims, int64_t interpolation_mode,
                            int64_t padding_mode) except -1:
    """Input and grid must have one dtype and batch, and the grid `dims` coordinates for each pixel."""
    cdef int i
    cdef str sizes = f"got input with sizes {size_text(input)} and grid with sizes {size_text(grid)}"
    if input.ndim != dims + 2 or grid.ndim != input.ndim:
        raise RuntimeError(f"grid_sampler(): expected {dims + 2}D input and grid with same number of dimensions, but "
                           f"{sizes}")
    if input.sizes[0] != grid.sizes[0]:
        raise RuntimeError(f"grid_sampler(): expected grid and input to have same batch size, but {sizes}")
    if grid.sizes[dims + 1] != dims:
        raise RuntimeError(f"grid_sampler(): expected grid to have size {dims} in last dimension, but got grid with "
                           f"sizes {size_text(grid)}")
    for i in range(2, input.ndim):
        if input.sizes[i] == 0:
            raise RuntimeError("grid_sampler(): expected input to have non-empty spatial dimensions, but input has "
                               f"sizes {size_text(input)} with dimension {i} being empty")
    if not 0 <= interpolation_mode <= 2 or not 0 <= padding_mode <= 2:
        raise RuntimeError(f"grid_sampler(): there is no interpolation mode {interpolation_mode} with padding mode "
                           f"{padding_mode}: possible modes: 0, 1, 2")
    if dims != 2 and interpolation_mode == 2:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    check_kernel_float(input.dtype, f"grid_sampler_{dims}d_cpu_kernel_impl")
    if grid.dtype != input.dtype:
        raise RuntimeError(f"expected scalar type {dtype_name(input.dtype)} but found {dtype_name(grid.dtype)}")
    return 0


cdef int affine_grid(Shape *shape, TensorBase theta, const Shape *size) except -1:
    """(batch, *image, dims): for each pixel of a result of `size` its coordinates in the input."""
    cdef int i
    shape.ndim = size.ndim
    shape.sizes[0], shape.sizes[size.ndim - 1] = size.sizes[0], size.ndim - 2
    for i in range(2, size.ndim):
        shape.sizes[i - 1] = size.sizes[i]
    return 0


cdef int check_affine_grid(TensorBase theta, const Shape *size) except -1:
    """`theta` must be (batch, dims, dims + 1) for a `size` of 2 or 3 image dimensions, and of floats."""
    if size.ndim not in (4, 5):
        raise RuntimeError("AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.")
    cdef int dims = size.ndim - 2
    if theta.ndim < 3:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-theta.ndim}, {theta.ndim - 1}], but "
                         "got 2)")
    if theta.ndim > 3 or theta.sizes[0] != size.sizes[0] or theta.sizes[2] != dims + 1:
        raise RuntimeError(f"Expected size for first two dimensions of batch2 tensor to be: [{size.sizes[0]}, "
                           f"{dims + 1}] but got: [{theta.sizes[0]}, {theta.sizes[2]}].")
    if theta.sizes[1] != dims:
        raise RuntimeError(f"theta of sizes {size_text(theta)} is invalid for a grid of {dims} dimensions")
    return check_kernel_float(theta.dtype, "affine_grid_generator")
