# Rules of convolutions, and of windows as columns. Lists have an entry for each dimension of the image.
from libc.stdint cimport int64_t

from mindtorch._core.operators.operator cimport cpp_type_name
from mindtorch._core.tensor.dtype cimport dtype_name
from mindtorch._core.tensor.tensor cimport META, Shape


cdef int check_conv_list(const Shape *values, str name, int dims) except -1:
    if values.ndim != dims:
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {dims} values to match the convolution "
            f"dimensions, but got {name}={list_text(values)}")
    return 0


cdef int check_minimum(const Shape *values, int64_t least, str message) except -1:
    cdef int i
    for i in range(values.ndim):
        if values.sizes[i] < least:
            raise RuntimeError(message)
    return 0


cdef int check_convolution(TensorBase input, TensorBase weight, TensorBase bias, const Shape *stride,
                           const Shape *padding, const Shape *dilation, const Shape *output_padding,
                           int64_t groups) except -1:
    """Refuses wrong dimensions, dtypes that differ, and strides, paddings and dilations out of range."""
    cdef int dims = weight.ndim - 2
    if bias is not None and bias.dtype != input.dtype:
        raise RuntimeError(f"Input type ({cpp_type_name(input.dtype)}) and bias type ({cpp_type_name(bias.dtype)}) "
                           "should be the same")
    if weight.dtype != input.dtype:
        raise RuntimeError(f"expected scalar type {dtype_name(input.dtype)} but found {dtype_name(weight.dtype)}")
    check_conv_list(stride, "stride", dims)
    check_conv_list(padding, "padding", dims)
    check_conv_list(dilation, "dilation", dims)
    check_conv_list(output_padding, "output_padding", dims)
    check_minimum(padding, 0, "negative padding is not supported")
    check_minimum(output_padding, 0, "negative output_padding is not supported")
    check_minimum(stride, 1, "non-positive stride is not supported")
    check_minimum(dilation, 1, "dilation should be greater than zero")
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if input.ndim != weight.ndim:
        raise RuntimeError(
            f"Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional weight {size_text(weight)}, but "
            f"got {input.ndim}-dimensional input of size {size_text(input)} instead")
    if input.numel == 0 and input.sizes[0] and input.sizes[1] and input.device_type != META:
        # torch gives a line a second dimension
        raise RuntimeError("Only zero batch or zero channel inputs are supported, but got input shape: "
                           f"{size_text(input) if dims > 1 else [input.sizes[0], input.sizes[1], 1, input.sizes[2]]}")
    return 0


cdef int check_conv_channels(TensorBase input, TensorBase weight, TensorBase bias, bint transposed,
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


cdef int raise_kernel_too_large(TensorBase input, TensorBase weight, const Shape *padding,
                                const Shape *dilation) except -1:
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
    """(batch, channels, *image) after a convolution, or a transposed one; RuntimeError where it is empty."""
    cdef int i
    cdef int64_t reach
    check_conv_channels(input, weight, bias, transposed, groups)
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
                raise_output_padding_too_large(stride, dilation, output_padding)
        else:
            if input.sizes[i + 2] + 2 * padding.sizes[i] <= reach:
                raise_kernel_too_large(input, weight, padding, dilation)
            shape.sizes[i + 2] = (input.sizes[i + 2] + 2 * padding.sizes[i] - reach - 1) // stride.sizes[i] + 1
        if shape.sizes[i + 2] < 1:
            sizes = [input.sizes[axis] for axis in range(1, input.ndim)]
            made = [shape.sizes[axis + 2] for axis in range(i + 1)]
            raise RuntimeError(
                f"Given input size per channel: ({' x '.join(map(str, sizes[1:]))}). Calculated output size per "
                f"channel: ({' x '.join(map(str, made))}). Output size is too small")
    return 0


cdef int raise_output_padding_too_large(const Shape *stride, const Shape *dilation,
                                        const Shape *output_padding) except -1:
    cdef list text = []
    for name, values in (("output_padding", shape_list(output_padding)), ("stride", shape_list(stride)),
                         ("dilation", shape_list(dilation))):
        sides = ("width",) if len(values) == 1 else ("depth", "height", "width")[-len(values):]
        text.append(" ".join([f"{name}_{side}: {value}" for side, value in zip(sides, values)]))
    raise RuntimeError(f"output padding must be smaller than either stride or dilation, but got {' '.join(text)}")


cdef int im2col(Shape *shape, TensorBase self, const Shape *kernel_size, const Shape *dilation, const Shape *padding,
                const Shape *stride) except -1:
    """(batch, channels * window, windows): a column for each window."""
    cdef int lead = self.ndim - 2, i
    cdef int64_t counts[2]
    if self.ndim != 3 and self.ndim != 4:
        raise RuntimeError(f"Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero "
                           f"dimensions for input, but got: {size_text(self)}")
    for i in range(2):
        counts[i] = floor_div(self.sizes[lead + i] + 2 * padding.sizes[i] - dilation.sizes[i]
                              * (kernel_size.sizes[i] - 1) - 1, stride.sizes[i]) + 1
    if counts[0] < 1 or counts[1] < 1:
        raise RuntimeError(
            f"Given input with spatial size {tuple([self.sizes[lead], self.sizes[lead + 1]])}, kernel_size="
            f"{tuple(shape_list(kernel_size))}, dilation={tuple(shape_list(dilation))}, padding="
            f"{tuple(shape_list(padding))}, calculated shape of the array of sliding blocks as ({counts[0]}, "
            f"{counts[1]}), but its components must be at least one.")
    shape.ndim = self.ndim - 1
    shape.sizes[0] = self.sizes[0]
    shape.sizes[lead - 1] = self.sizes[lead - 1] * kernel_size.sizes[0] * kernel_size.sizes[1]
    shape.sizes[lead] = counts[0] * counts[1]
    return 0


cdef int check_col2im_input(TensorBase self) except -1:
    if self.ndim != 2 and self.ndim != 3:
        raise RuntimeError(f"Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero "
                           f"dimensions for input, but got: {size_text(self)}")
    return 0


cdef int col2im(Shape *shape, TensorBase self, const Shape *output_size, const Shape *kernel_size) except -1:
    """(batch, channels, *output_size) of columns (batch, channels * window, windows)."""
    cdef int64_t elements = kernel_size.sizes[0] * kernel_size.sizes[1]
    cdef int channels = self.ndim - 2
    shape.ndim = self.ndim + 1
    shape.sizes[0] = self.sizes[0]
    shape.sizes[channels] = self.sizes[channels] // elements
    shape.sizes[channels + 1] = output_size.sizes[0]
    shape.sizes[channels + 2] = output_size.sizes[1]
    return 0


cdef int check_pair(const Shape *values, int64_t least, str name, str rule, str parts) except -1:
    if values.ndim != 2:
        raise RuntimeError(f"It is expected {name} equals to 2, but got size {values.ndim}")
    if values.sizes[0] < least or values.sizes[1] < least:
        raise RuntimeError(f"{rule}, but got {parts}_height: {values.sizes[0]} {parts}_width: {values.sizes[1]}")
    return 0


cdef int check_im2col(const Shape *kernel_size, const Shape *dilation, const Shape *padding,
                      const Shape *stride) except -1:
    """Kernel size, dilation, padding and stride must be pairs in range."""
    check_pair(kernel_size, 1, "kernel_size", "kernel size should be greater than zero", "kernel")
    check_pair(dilation, 1, "dilation", "dilation should be greater than zero", "dilation")
    check_pair(padding, 0, "padding", "padding should be non-negative", "pad")
    return check_pair(stride, 1, "stride", "stride should be greater than zero", "stride")


cdef int check_col2im(TensorBase self, const Shape *output_size, const Shape *kernel_size, const Shape *dilation,
                      const Shape *padding, const Shape *stride) except -1:
    """Refuses windows that do not fit the image, or whose number is not that of the columns."""
    cdef int64_t counts[2]
    cdef int64_t given
    cdef int i
    if output_size.ndim != 2:
        raise RuntimeError(f"It is expected output_size equals to 2, but got size {output_size.ndim}")
    check_im2col(kernel_size, dilation, padding, stride)
    check_col2im_input(self)
    if self.sizes[self.ndim - 2] % (kernel_size.sizes[0] * kernel_size.sizes[1]):
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={self.sizes[self.ndim - 2]} and kernel_size={tuple(shape_list(kernel_size))}.")
    given = self.sizes[self.ndim - 1]
    for i in range(2):
        counts[i] = floor_div(output_size.sizes[i] + 2 * padding.sizes[i] - dilation.sizes[i]
                              * (kernel_size.sizes[i] - 1) - 1, stride.sizes[i]) + 1
    if counts[0] * counts[1] != given:
        raise RuntimeError(
            f"Given output_size={tuple(shape_list(output_size))}, kernel_size={tuple(shape_list(kernel_size))}, "
            f"dilation={tuple(shape_list(dilation))}, padding={tuple(shape_list(padding))}, "
            f"stride={tuple(shape_list(stride))}, expected size of input's dimension 2 to match the calculated number "
            f"of sliding blocks {counts[0]} * {counts[1]} = "
            f"{counts[0] * counts[1]}, but got input.size(2)={given}.")
    return 0
