from libc.stdint cimport int64_t
from libc.string cimport memcmp

from mindtorch._core.device cimport CPU
from mindtorch._core.dtype cimport KIND, code_name
from mindtorch._core.scalar cimport FLOAT_KIND, INT_KIND, Bool, Byte, Half, Long
from mindtorch._core.tensor cimport shape_text
from mindtorch._core.infer cimport same


cdef str list_text(const Shape *values):
    return shape_text(values.ndim, values.sizes)


cdef str size_text(TensorBase tensor):
    return shape_text(tensor.ndim, tensor.sizes)


# --- convolution -----------------------------------------------------------------------------------------------------

cdef int check_list(const Shape *values, str name, int dims) except -1:
    if values.ndim != dims:
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {dims} values to match the convolution "
            f"dimensions, but got {name}={list_text(values)}")
    return 0


cdef int check_least(const Shape *values, int64_t least, str message) except -1:
    cdef int i
    for i in range(values.ndim):
        if values.sizes[i] < least:
            raise RuntimeError(message)
    return 0


cdef int check_convolution(TensorBase input, TensorBase weight, TensorBase bias, const Shape *stride,
                           const Shape *padding, const Shape *dilation, const Shape *output_padding,
                           int64_t groups) except -1:
    cdef int dims = weight.ndim - 2
    check_type(input.dtype, weight.dtype, "weight")
    if bias is not None:
        check_type(input.dtype, bias.dtype, "bias")
    check_list(stride, "stride", dims)
    check_list(padding, "padding", dims)
    check_list(dilation, "dilation", dims)
    check_list(output_padding, "output_padding", dims)
    check_least(padding, 0, "negative padding is not supported")
    check_least(output_padding, 0, "negative output_padding is not supported")
    check_least(stride, 1, "non-positive stride is not supported")
    check_least(dilation, 1, "dilation should be greater than zero")
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if input.ndim != weight.ndim:
        raise RuntimeError(
            f"Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional weight {size_text(weight)}, but "
            f"got {input.ndim}-dimensional input of size {size_text(input)} instead")
    return 0


cdef int check_type(ScalarType input, ScalarType other, str name) except -1:
    if input != other:
        raise RuntimeError(f"Input type ({code_name(input)}) and {name} type ({code_name(other)}) should be the same")
    return 0


cdef int check_channels(TensorBase input, TensorBase weight, TensorBase bias, bint transposed,
                        int64_t groups) except -1:
    cdef int64_t channels = weight.sizes[0] if transposed else weight.sizes[1] * groups
    cdef int64_t results = weight.sizes[1] * groups if transposed else weight.sizes[0]
    if weight.sizes[0] < groups:
        raise RuntimeError(f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got "
                           f"weight of size {size_text(weight)} instead")
    if weight.sizes[0] % groups:
        raise RuntimeError(f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but "
                           f"got weight of size {size_text(weight)} instead")
    if input.sizes[1] != channels:
        how = "transposed=1" if transposed else f"groups={groups}"
        raise RuntimeError(
            f"Given {how}, weight of size {size_text(weight)}, expected input{size_text(input)} to have {channels} "
            f"channels, but got {input.sizes[1]} channels instead")
    if bias is not None and (bias.ndim != 1 or bias.sizes[0] != results):
        how = "transposed=1" if transposed else "weight"
        of_size = f", weight of size {size_text(weight)}" if transposed else f" of size {size_text(weight)}"
        raise RuntimeError(f"Given {how}{of_size}, expected bias to be 1-dimensional with {results} elements, but got "
                           f"bias of size {size_text(bias)} instead")
    return 0


cdef int kernel_too_large(TensorBase input, TensorBase weight, const Shape *padding, const Shape *dilation) except -1:
    cdef list image = [], kernel = []
    cdef int i
    for i in range(padding.ndim):
        image.append(str(input.sizes[i + 2] + 2 * padding.sizes[i]))
        kernel.append(str(dilation.sizes[i] * (weight.sizes[i + 2] - 1) + 1))
    raise RuntimeError(f"Calculated padded input size per channel: ({' x '.join(image)}). Kernel size: "
                       f"({' x '.join(kernel)}). Kernel size can't be greater than actual input size")


cdef int convolution(Shape *shape, TensorBase input, TensorBase weight, TensorBase bias, const Shape *stride,
                     const Shape *padding, const Shape *dilation, bint transposed, const Shape *output_padding,
                     int64_t groups) except -1:
    cdef int i
    cdef int64_t reach
    check_channels(input, weight, bias, transposed, groups)
    shape.ndim = input.ndim
    shape.sizes[0] = input.sizes[0]
    # torch makes nothing of no channels, however many the weight has results for.
    shape.sizes[1] = weight.sizes[1] * groups if transposed else weight.sizes[0] if input.sizes[1] else 0
    for i in range(padding.ndim):
        reach = dilation.sizes[i] * (weight.sizes[i + 2] - 1)
        if transposed:
            shape.sizes[i + 2] = ((input.sizes[i + 2] - 1) * stride.sizes[i] - 2 * padding.sizes[i] + reach
                                  + output_padding.sizes[i] + 1)
            if output_padding.sizes[i] >= max(stride.sizes[i], dilation.sizes[i]):
                output_padding_too_large(stride, dilation, output_padding)
        else:
            if input.sizes[i + 2] + 2 * padding.sizes[i] <= reach:
                kernel_too_large(input, weight, padding, dilation)
            shape.sizes[i + 2] = (input.sizes[i + 2] + 2 * padding.sizes[i] - reach - 1) // stride.sizes[i] + 1
        if shape.sizes[i + 2] < 1:
            sizes = [input.sizes[axis] for axis in range(1, input.ndim)]
            made = [shape.sizes[axis + 2] for axis in range(i + 1)]
            raise RuntimeError(
                f"Given input size per channel: ({' x '.join(map(str, sizes[1:]))}). Calculated output size per "
                f"channel: ({' x '.join(map(str, made))}). Output size is too small")
    return 0


cdef int output_padding_too_large(const Shape *stride, const Shape *dilation, const Shape *output_padding) except -1:
    cdef list text = []
    for name, values in (("output_padding", list_of(output_padding)), ("stride", list_of(stride)),
                         ("dilation", list_of(dilation))):
        sides = ("width",) if len(values) == 1 else ("depth", "height", "width")[-len(values):]
        text.append(" ".join(f"{name}_{side}: {value}" for side, value in zip(sides, values)))
    raise RuntimeError(f"output padding must be smaller than either stride or dilation, but got {' '.join(text)}")


cdef list list_of(const Shape *values):
    cdef int i
    return [values.sizes[i] for i in range(values.ndim)]


# --- pooling ---------------------------------------------------------------------------------------------------------

cdef inline int64_t floor_div(int64_t a, int64_t b) noexcept:
    cdef int64_t quotient = a // b if a >= 0 else -((-a + b - 1) // b)
    return quotient


cdef int64_t pooled_size(int64_t size, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                         bint ceil_mode) except? -1:
    """The last window starts inside the image or the padding before it, never in the padding behind it."""
    cdef int64_t room = size + 2 * padding - dilation * (kernel - 1) - 1
    cdef int64_t places = floor_div(room + (stride - 1 if ceil_mode else 0), stride) + 1
    if ceil_mode and (places - 1) * stride >= size + padding:
        places -= 1
    return places


cdef int check_pool(TensorBase self, const Shape *kernel_size, const Shape *stride, const Shape *padding) except -1:
    cdef int dims = kernel_size.ndim, i
    if self.ndim != dims + 1 and self.ndim != dims + 2:
        raise RuntimeError(f"Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with optional 0 dim batch size "
                           f"for input, but got: {size_text(self)}")
    for i in range(self.ndim - dims - 1, self.ndim):
        if self.sizes[i] == 0:
            raise RuntimeError(f"Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with optional 0 dim batch "
                               f"size for input, but got:{size_text(self)}")
    for i in range(dims):
        if kernel_size.sizes[i] <= 0:
            raise RuntimeError(f"kernel size should be greater than zero, but got kernel_size={list_of(kernel_size)}")
        if stride.sizes[i] <= 0:
            raise RuntimeError("stride should not be zero")
        if padding.sizes[i] < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {padding.sizes[i]}")
    return 0


cdef int pool_over(Shape *shape, TensorBase self, const Shape *kernel_size, const Shape *stride,
                   const Shape *padding, const Shape *dilation, bint ceil_mode) except -1:
    cdef int dims = kernel_size.ndim, lead = self.ndim - kernel_size.ndim, i
    cdef int64_t spread
    check_pool(self, kernel_size, stride, padding)
    same(shape, self)
    for i in range(dims):
        spread = dilation.sizes[i] if dilation != NULL else 1
        if spread <= 0:
            raise RuntimeError(f"dilation should be greater than zero, but got dilation={list_of(dilation)}")
        if padding.sizes[i] > ((kernel_size.sizes[i] - 1) * spread + 1) // 2:
            raise RuntimeError(f"pad should be at most half of effective kernel size, but got pad={padding.sizes[i]}, "
                               f"kernel_size={kernel_size.sizes[i]} and dilation={spread}")
        shape.sizes[lead + i] = pooled_size(self.sizes[lead + i], kernel_size.sizes[i], stride.sizes[i],
                                            padding.sizes[i], spread, ceil_mode)
    for i in range(dims):
        if shape.sizes[lead + i] < 1:
            given = "x".join([str(self.sizes[axis]) for axis in range(lead - 1, self.ndim)])
            made = "x".join([str(shape.sizes[axis]) for axis in range(lead - 1, self.ndim)])
            raise RuntimeError(f"Given input size: ({given}). Calculated output size: ({made}). Output size is "
                               "too small")
    return 0


cdef int pool(Shape *shape, TensorBase self, const Shape *kernel_size, const Shape *stride, const Shape *padding,
              const Shape *dilation, bint ceil_mode) except -1:
    return pool_over(shape, self, kernel_size, stride, padding, dilation, ceil_mode)


cdef int pool_dense(Shape *shape, TensorBase self, const Shape *kernel_size, const Shape *stride,
                    const Shape *padding, bint ceil_mode) except -1:
    return pool_over(shape, self, kernel_size, stride, padding, NULL, ceil_mode)


cdef int last_dims(Shape *shape, TensorBase self, const Shape *sizes) except -1:
    cdef int i
    same(shape, self)
    for i in range(sizes.ndim):
        shape.sizes[self.ndim - sizes.ndim + i] = sizes.sizes[i]
    return 0


# --- padding, windows as columns -------------------------------------------------------------------------------------

cdef int padded(Shape *shape, TensorBase self, const Shape *padding) except -1:
    cdef int i, dim
    if padding.ndim % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {padding.ndim}")
    if padding.ndim > 2 * self.ndim:
        raise RuntimeError(
            "Length of pad should be no more than twice the number of dimensions of the input. Pad length is "
            f"{padding.ndim} while the input has {self.ndim} dimensions.")
    same(shape, self)
    for i in range(padding.ndim // 2):
        dim = self.ndim - 1 - i
        shape.sizes[dim] += padding.sizes[2 * i] + padding.sizes[2 * i + 1]
        if shape.sizes[dim] < 0:
            raise RuntimeError(
                f"The input size {self.sizes[dim]}, plus negative padding {padding.sizes[2 * i]} and "
                f"{padding.sizes[2 * i + 1]}, resulted in a negative output size, which is invalid. Check dimension "
                f"{dim} of your input.")
    return 0


cdef int im2col(Shape *shape, TensorBase self, const Shape *kernel_size, const Shape *dilation, const Shape *padding,
                const Shape *stride) except -1:
    cdef int lead = self.ndim - 2, i
    cdef int64_t places = 1, elements = 1, count
    if self.ndim != 3 and self.ndim != 4:
        raise RuntimeError(f"Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero "
                           f"dimensions for input, but got: {size_text(self)}")
    for i in range(2):
        count = floor_div(self.sizes[lead + i] + 2 * padding.sizes[i] - dilation.sizes[i] * (kernel_size.sizes[i] - 1)
                          - 1, stride.sizes[i]) + 1
        if count < 1:
            raise RuntimeError(
                f"Given input with spatial size {tuple([self.sizes[lead], self.sizes[lead + 1]])}, kernel_size="
                f"{tuple(list_of(kernel_size))}, dilation={tuple(list_of(dilation))}, padding="
                f"{tuple(list_of(padding))}, stride={tuple(list_of(stride))}, calculated shape of the array of sliding "
                "blocks is too small, but its components must be at least one.")
        places *= count
        elements *= kernel_size.sizes[i]
    shape.ndim = self.ndim - 1
    shape.sizes[0] = self.sizes[0]
    shape.sizes[lead - 1] = self.sizes[lead - 1] * elements
    shape.sizes[lead] = places
    return 0


cdef int check_columns(TensorBase self) except -1:
    if self.ndim != 2 and self.ndim != 3:
        raise RuntimeError(f"Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero "
                           f"dimensions for input, but got: {size_text(self)}")
    return 0


cdef int col2im(Shape *shape, TensorBase self, const Shape *output_size, const Shape *kernel_size) except -1:
    cdef int64_t elements = kernel_size.sizes[0] * kernel_size.sizes[1]
    cdef int channels = self.ndim - 2
    if self.sizes[channels] % elements:
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={self.sizes[channels]} and kernel_size=({kernel_size.sizes[0]}, {kernel_size.sizes[1]}).")
    shape.ndim = self.ndim + 1
    shape.sizes[0] = self.sizes[0]
    shape.sizes[channels] = self.sizes[channels] // elements
    shape.sizes[channels + 1] = output_size.sizes[0]
    shape.sizes[channels + 2] = output_size.sizes[1]
    return 0


cdef int check_real_floating(TensorBase self, str op) except -1:
    if KIND[<int>self.dtype] != FLOAT_KIND:
        raise NotImplementedError(f"\"{op}\" not implemented for '{code_name(self.dtype)}'")
    return 0


cdef int check_no_integers(TensorBase self, str op) except -1:
    if KIND[<int>self.dtype] == INT_KIND:
        raise NotImplementedError(f"\"{op}\" not implemented for '{code_name(self.dtype)}'")
    return 0


cdef int check_real_number(TensorBase self, str op) except -1:
    if self.dtype == Bool or KIND[<int>self.dtype] > FLOAT_KIND:
        raise NotImplementedError(f"\"{op}\" not implemented for '{code_name(self.dtype)}'")
    return 0


# --- other sizes -----------------------------------------------------------------------------------------------------

cdef int check_upsample(TensorBase self, const Shape *output_size, str op) except -1:
    cdef int dims = output_size.ndim, i
    if self.ndim != dims + 2 or not self.numel and 0 in [self.sizes[i] for i in range(1, self.ndim)]:
        raise RuntimeError(f"Non-empty {dims + 2}D data tensor expected but got a tensor with sizes {size_text(self)}")
    for i in range(dims):
        if self.sizes[i + 2] <= 0 or output_size.sizes[i] <= 0:
            image = [self.sizes[axis + 2] for axis in range(dims)]
            raise RuntimeError(
                "Input and output sizes should be greater than 0, but got input "
                f"({sides(image)}) and output ({sides(list_of(output_size))})")
    if self.dtype != Byte or op in ("upsample_linear1d", "upsample_trilinear3d"):
        check_real_floating(self, op)
    return 0


cdef int check_antialias(TensorBase self, const Shape *output_size, str op) except -1:
    if self.ndim != 4:
        raise RuntimeError(f"It is expected input_size equals to 4, but got size {self.ndim}")
    if min(self.sizes[2], self.sizes[3], output_size.sizes[0], output_size.sizes[1]) <= 0:
        raise RuntimeError(
            "Input and output sizes should be greater than 0, but got input "
            f"({sides([self.sizes[2], self.sizes[3]])}) output ({sides(list_of(output_size))})")
    check_upsample(self, output_size, op)
    # Kernels of the CPU have no half precision.
    if self.dtype == Half and self.device_type == CPU:
        raise NotImplementedError(f"\"compute_index_ranges_weights\" not implemented for '{code_name(self.dtype)}'")
    return 0


cdef str sides(list sizes):
    return ", ".join([f"{side}: {size}" for side, size in zip(("D", "H", "W")[-len(sizes):], sizes)])


cdef int check_upsample_backward(TensorBase grad_output, const Shape *output_size, str op) except -1:
    cdef int dims = output_size.ndim, i
    if grad_output.ndim != dims + 2:
        raise RuntimeError(f"Expected grad_output to be a tensor of dimension {dims + 2} but got: dimension "
                           f"{grad_output.ndim}")
    for i in range(dims):
        if grad_output.sizes[i + 2] != output_size.sizes[i]:
            raise RuntimeError(
                f"Expected grad_output to have the same shape as output; output.size({i + 2}) = "
                f"{output_size.sizes[i]} but got grad_output.size({i + 2}) = {grad_output.sizes[i + 2]}")
    return check_real_floating(grad_output, op)


# --- grids -----------------------------------------------------------------------------------------------------------

cdef int sampled(Shape *shape, TensorBase input, TensorBase grid) except -1:
    cdef int i
    shape.ndim = input.ndim
    shape.sizes[0], shape.sizes[1] = input.sizes[0], input.sizes[1]
    for i in range(2, input.ndim):
        shape.sizes[i] = grid.sizes[i - 1]
    return 0


cdef int check_grid(TensorBase input, TensorBase grid, int dims, int64_t interpolation_mode) except -1:
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
    if dims != 2 and interpolation_mode == 2:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    check_real_floating(input, f"grid_sampler_{dims}d_cpu_kernel_impl")
    if grid.dtype != input.dtype:
        raise RuntimeError(f"expected scalar type {code_name(input.dtype)} but found {code_name(grid.dtype)}")
    return 0


cdef int affine_grid(Shape *shape, TensorBase theta, const Shape *size) except -1:
    cdef int i
    shape.ndim = size.ndim
    shape.sizes[0], shape.sizes[size.ndim - 1] = size.sizes[0], size.ndim - 2
    for i in range(2, size.ndim):
        shape.sizes[i - 1] = size.sizes[i]
    return 0


cdef int check_affine_grid(TensorBase theta, const Shape *size) except -1:
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
    return check_real_floating(theta, "affine_grid_generator")


# --- the reverse of pooling ------------------------------------------------------------------------------------------

cdef int check_unpool(TensorBase self, TensorBase indices, const Shape *output_size) except -1:
    cdef int dims = output_size.ndim, i
    if indices.dtype != Long:
        raise RuntimeError(f"elements in indices should be type int64 but got: {code_name(indices.dtype)}")
    if self.ndim != dims + 1 and self.ndim != dims + 2:
        raise RuntimeError(f"Input to max_unpooling{dims}d should be a {dims + 1}d or {dims + 2}d Tensor, but got a "
                           f"tensor with {self.ndim} dimensions.")
    if self.ndim != indices.ndim or memcmp(self.sizes, indices.sizes, self.ndim * sizeof(int64_t)) != 0:
        raise RuntimeError("Expected shape of indices to be same as that of the input tensor "
                           f"({size_text(self)}) but got indices tensor with shape: {size_text(indices)}")
    for i in range(self.ndim - dims - 1, self.ndim):
        if self.sizes[i] == 0:
            raise RuntimeError(f"max_unpooling{dims}d_forward_out_cpu(): Expected input to have non-zero size for "
                               f"non-batch dimensions, but got {size_text(self)} with dimension {i} being empty.")
    return check_real_floating(self, f"max_unpool{dims}d")


cdef int check_unpool_windows(const Shape *stride, const Shape *padding) except -1:
    cdef int i
    for name, count in (("stride", stride.ndim), ("padding", padding.ndim)):
        if count != 3:
            raise RuntimeError(f"There should be exactly three elements (depth, height, width) in {name}, but got: "
                               f"{count} elements.")
    for i in range(3):
        if stride.sizes[i] < 1:
            raise RuntimeError(f"strides should be greater than zero, but got stride: {list_of(stride)}")
    return 0


# --- padding and adaptive pooling ------------------------------------------------------------------------------------

cdef int check_pad(TensorBase self, const Shape *padding, bint reflect) except -1:
    cdef int dims = padding.ndim // 2, i, dim
    if self.dtype == Bool:
        raise NotImplementedError(f"\"{'reflection' if reflect else 'replication'}_pad{dims}d\" not implemented for "
                                  f"'{code_name(self.dtype)}'")
    if self.ndim != dims + 1 and self.ndim != dims + 2:
        raise RuntimeError(f"Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with possibly 0 batch size and "
                           f"other non-zero dimensions for input, but got: {size_text(self)}")
    for i in range(dims):
        dim = self.ndim - 1 - i
        if self.sizes[dim] == 0 or self.sizes[self.ndim - dims - 1] == 0:
            raise RuntimeError(f"Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with possibly 0 batch size "
                               f"and other non-zero dimensions for input, but got: {size_text(self)}")
        if reflect and (padding.sizes[2 * i] >= self.sizes[dim] or padding.sizes[2 * i + 1] >= self.sizes[dim]):
            raise RuntimeError(
                "Argument #4: Padding size should be less than the corresponding input dimension, but got: padding "
                f"({padding.sizes[2 * i]}, {padding.sizes[2 * i + 1]}) at dimension {dim} of input {size_text(self)}")
        if self.sizes[dim] + padding.sizes[2 * i] + padding.sizes[2 * i + 1] < 1:
            raise RuntimeError(f"input ({sides([self.sizes[dim]])}) is too small. Calculated output "
                               f"{sides([self.sizes[dim] + padding.sizes[2 * i] + padding.sizes[2 * i + 1]])}")
    return 0


cdef int check_adaptive(TensorBase self, const Shape *output_size, str op) except -1:
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


cdef int check_pair(const Shape *values, int64_t least, str name, str rule, str parts) except -1:
    if values.ndim != 2:
        raise RuntimeError(f"It is expected {name} equals to 2, but got size {values.ndim}")
    if values.sizes[0] < least or values.sizes[1] < least:
        raise RuntimeError(f"{rule}, but got {parts}_height: {values.sizes[0]} {parts}_width: {values.sizes[1]}")
    return 0


cdef int check_sliding(const Shape *kernel_size, const Shape *dilation, const Shape *padding,
                       const Shape *stride) except -1:
    check_pair(kernel_size, 1, "kernel_size", "kernel size should be greater than zero", "kernel")
    check_pair(dilation, 1, "dilation", "dilation should be greater than zero", "dilation")
    check_pair(padding, 0, "padding", "padding should be non-negative", "pad")
    return check_pair(stride, 1, "stride", "stride should be greater than zero", "stride")


cdef int check_col2im(TensorBase self, const Shape *output_size, const Shape *kernel_size, const Shape *dilation,
                      const Shape *padding, const Shape *stride) except -1:
    cdef int64_t places[2]
    cdef int64_t given
    cdef int i
    if output_size.ndim != 2:
        raise RuntimeError(f"It is expected output_size equals to 2, but got size {output_size.ndim}")
    check_sliding(kernel_size, dilation, padding, stride)
    check_columns(self)
    given = self.sizes[self.ndim - 1]
    for i in range(2):
        places[i] = floor_div(output_size.sizes[i] + 2 * padding.sizes[i] - dilation.sizes[i]
                              * (kernel_size.sizes[i] - 1) - 1, stride.sizes[i]) + 1
    if places[0] * places[1] != given:
        raise RuntimeError(
            f"Given output_size={tuple(list_of(output_size))}, kernel_size={tuple(list_of(kernel_size))}, dilation="
            f"{tuple(list_of(dilation))}, padding={tuple(list_of(padding))}, stride={tuple(list_of(stride))}, expected "
            f"size of input's dimension 2 to match the calculated number of sliding blocks {places[0]} * {places[1]} = "
            f"{places[0] * places[1]}, but got input.size(2)={given}.")
    return 0


cdef int check_picked(TensorBase grad_output, TensorBase self, TensorBase indices, int dims) except -1:
    cdef TensorBase other
    cdef int i
    if not dims < self.ndim < dims + 3:
        raise RuntimeError(f"non-empty {dims + 1}D or {dims + 2}D (batch mode) tensor expected for input")
    for other in (grad_output, indices):
        for i in range(self.ndim - dims):
            check_size(other, self.ndim, i, self.sizes[i])
    for i in range(indices.ndim):
        check_size(grad_output, indices.ndim, i, indices.sizes[i])
    return 0


cdef int check_size(TensorBase tensor, int dims, int dim, int64_t size) except -1:
    if tensor.ndim != dims or tensor.sizes[dim] != size:
        got = f" = {tensor.sizes[dim]}" if dim < tensor.ndim else ""
        raise RuntimeError(f"Expected a tensor of dimension {dims} and tensor.size[{dim}] == {size} but got: dimension "
                           f"{tensor.ndim} and tensor.size[{dim}]{got}")
    return 0
