"""Convolution, pooling, pixel shuffle and grid sampling: each checks its arguments and calls one operator."""
from mindtorch._core._gen.namespace import ATEN as _ATEN
from mindtorch._core._gen.namespace import FUNCTIONS as _OPS
from mindtorch._core.formats import channels_last, channels_last_3d, contiguous_format
from mindtorch._core.operators.autocast import with_autocast_policy
from mindtorch._core.tensor.attributes import drop_base
from mindtorch._ops.composite.common import _require_tensors

_convolution, _pad = _OPS["convolution"], _OPS["constant_pad_nd"]


def expand_sizes(value, dims, argument):
    """A number, or a list of one or of `dims` numbers, as a list of `dims`."""
    if isinstance(value, int):
        return [value] * dims
    values = list(value)
    if len(values) == 1:
        return values * dims
    if len(values) != dims:
        raise RuntimeError(f"expected {argument} to be a single integer value or a list of {dims} values to match the "
                           f"convolution dimensions, but got {argument}={values}")
    return values


def _batched(input, dims, function):
    if input.dim() not in (dims + 1, dims + 2):
        raise RuntimeError(f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {function}, but got "
                           f"input of size: {list(input.shape)}")
    return input if input.dim() == dims + 2 else input.unsqueeze(0)


def _is_channels_last(input):
    wanted = {4: channels_last, 5: channels_last_3d}.get(input.dim())
    return wanted is not None and not input.is_contiguous() and input.is_contiguous(memory_format=wanted)


def _check_operands(input, weight, bias, function):
    _require_tensors(function, input=input, weight=weight)
    if bias is not None:
        _require_tensors(function, input=input, weight=weight, bias=bias)


def _named_padding(padding, input, weight, stride, dilation):
    """The input, and the padding in numbers: "same" pads the end once more where the window is even."""
    dims = weight.dim() - 2
    if weight.dim() != input.dim():
        raise RuntimeError(f"Expected {weight.dim()}-dimensional input for {weight.dim()}-dimensional weight"
                           f"{list(weight.shape)}, but got {input.dim()}-dimensional input of size "
                           f"{list(input.shape)} instead")
    if padding == "valid":
        return input, [0] * dims
    if padding != "same":
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    if any(step != 1 for step in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    total = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:], strict=True)]
    if any(width % 2 for width in total):
        input = _pad(input, [side for width in reversed(total) for side in (0, width % 2)], 0)
    return input, [width // 2 for width in total]


def _convolve(function, dims, input, weight, bias, stride, padding, dilation, groups):
    _check_operands(input, weight, bias, function)
    batch = _batched(input, dims, function)
    stride = expand_sizes(stride, dims, "stride")
    dilation = expand_sizes(dilation, dims, "dilation")
    if isinstance(padding, str):
        batch, padding = _named_padding(padding, batch, weight, stride, dilation)
    else:
        padding = expand_sizes(padding, dims, "padding")
    result = _convolution(batch, weight, bias, stride, padding, dilation, False, [0] * dims, groups)
    return result if batch.dim() == input.dim() else result.squeeze(0)


def _transposed(function, dims, input, weight, bias, stride, padding, output_padding, groups, dilation):
    _check_operands(input, weight, bias, function)
    batch = _batched(input, dims, function)
    sizes = [expand_sizes(value, dims, name) for name, value in
             (("stride", stride), ("padding", padding), ("dilation", dilation))]
    extra = expand_sizes(output_padding, dims, "output_padding")
    result = _convolution(batch, weight, bias, *sizes, True, extra, groups)
    return result if batch.dim() == input.dim() else result.squeeze(0)


@with_autocast_policy("conv1d")
def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Windows of (N, C, L) or (C, L) weighed by (out, C / groups, k). padding may be "same" or "valid"."""
    return _convolve("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


@with_autocast_policy("conv2d")
def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """As conv1d over images, (N, C, H, W) or (C, H, W)."""
    return _convolve("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


@with_autocast_policy("conv3d")
def conv3d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """As conv1d over volumes, (N, C, D, H, W) or (C, D, H, W)."""
    return _convolve("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


@with_autocast_policy("conv_transpose1d")
def conv_transpose1d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """The adjoint of conv1d: adds each element times the weight, (C, out / groups, k), to a window of the result."""
    return _transposed("conv_transpose1d", 1, input, weight, bias, stride, padding, output_padding, groups, dilation)


@with_autocast_policy("conv_transpose2d.input")
def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """The adjoint of conv2d."""
    return _transposed("conv_transpose2d", 2, input, weight, bias, stride, padding, output_padding, groups, dilation)


@with_autocast_policy("conv_transpose3d.input")
def conv_transpose3d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """The adjoint of conv3d."""
    return _transposed("conv_transpose3d", 3, input, weight, bias, stride, padding, output_padding, groups, dilation)


# --- pooling and pixel shuffle ---------------------------------------------------------------------------------------

def pool_sizes(value, dims, function, argument):
    """A number, or a list of one or of `dims` numbers, as a list of `dims`."""
    if isinstance(value, int):
        return [value] * dims
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"{function}(): argument '{argument}' must be tuple of ints, not {type(value).__name__}")
    values = list(value)
    if len(values) not in (1, dims):
        what = "a single int, or a tuple of two ints" if dims == 2 else "a single int, or a tuple of three ints"
        raise RuntimeError(f"{function}: {argument} must either be {what}" if dims > 1 else
                           f"{function}() {argument} must be an int or int list of size 1 but got size {len(values)}")
    return values * dims if len(values) == 1 else values


def _windows(function, dims, kernel_size, stride, *others):
    kernel = pool_sizes(kernel_size, dims, function, "kernel_size")
    stride = kernel if stride is None or (not isinstance(stride, int) and not len(stride)) else \
        pool_sizes(stride, dims, function, "stride")
    return [kernel, stride, *(pool_sizes(value, dims, function, name) for name, value in others)]


def _require_line(input, function):
    if input.dim() not in (2, 3):
        raise RuntimeError(f"{function}() Expected 2D or 3D input tensor, but got {list(input.shape)}")


def max_pool(dims, input, kernel_size, stride, padding, dilation, ceil_mode):
    """Values and indices of maximum pooling in one to three dimensions."""
    function = f"max_pool{dims}d"
    _require_tensors(function, input=input)
    sizes = _windows(function, dims, kernel_size, stride, ("padding", padding), ("dilation", dilation))
    if dims > 1:
        return _ATEN[f"{function}_with_indices"](input, *sizes, ceil_mode)
    _require_line(input, function)
    lines = [[1, *sizes[0]], [1, *sizes[1]], [0, *sizes[2]], [1, *sizes[3]]]
    values, indices = _ATEN["max_pool2d_with_indices"](input.unsqueeze(-2), *lines, ceil_mode)
    values, indices = values.squeeze(-2), indices.squeeze(-2)
    # As in torch, a view where it is recorded.
    return (values if values.requires_grad else drop_base(values)), indices


def max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
    """The maximum of each window along the last dimension."""
    return max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode)[0]


def max_pool1d_with_indices(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
    """max_pool1d, and the index of each maximum."""
    return max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
    """The maximum of each window of the last two dimensions."""
    return max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode)[0]


@with_autocast_policy("max_pool3d")
def max_pool3d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
    """The maximum of each window of the last three dimensions."""
    return max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode)[0]


def avg_pool(dims, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override=None):
    """Averages of windows in one to three dimensions."""
    function = f"avg_pool{dims}d"
    _require_tensors(function, input=input)
    kernel, stride, padding = _windows(function, dims, kernel_size, stride, ("padding", padding))
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    if dims > 1:
        return _ATEN[function](input, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override)
    _require_line(input, function)
    return _ATEN["avg_pool2d"](input.unsqueeze(-2), [1, *kernel], [1, *stride], [0, *padding], ceil_mode,
                               count_include_pad).squeeze(-2)


def avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    """The average of each window along the last dimension."""
    return avg_pool(1, input, kernel_size, stride, padding, ceil_mode, count_include_pad)


def adaptive_sizes(function, dims, input, output_size):
    """The output's size in numbers: None keeps the input's."""
    _require_tensors(function, input=input)
    sizes = [output_size] * dims if output_size is None or isinstance(output_size, int) else list(output_size)
    if not isinstance(output_size, int) and dims > 1 and input.dim() <= len(sizes):
        raise ValueError(f"Input dimension should be at least {len(sizes) + 1}")
    if len(sizes) != dims:
        raise RuntimeError(f"{function}: output_size must be {dims}")
    return [input.shape[i - dims] if size is None else size for i, size in enumerate(sizes)]


def adaptive_avg_pool1d(input, output_size):
    """Averages over `output_size` windows of nearly equal sizes that cover the last dimension."""
    sizes = adaptive_sizes("adaptive_avg_pool1d", 1, input, output_size)
    _require_line(input, "adaptive_avg_pool1d")
    return adaptive_avg_pool(2, input.unsqueeze(-2), [1, *sizes]).squeeze(-2)


def adaptive_avg_pool(dims, input, output_size):
    """Averages over windows of nearly equal sizes that cover the last `dims` dimensions.

    Of one window that is the mean, which is how torch computes it, too.
    """
    sizes = adaptive_sizes(f"adaptive_avg_pool{dims}d", dims, input, output_size)
    if any(size != 1 for size in sizes):
        return _ATEN[f"_adaptive_avg_pool{dims}d"](input, sizes)
    result = _OPS["mean"](input, list(range(-1, -dims - 1, -1)), keepdim=True)
    if input.dim() == dims + 2 and _is_channels_last(input):
        batch, channels = result.shape[:2]
        return result.as_strided((batch, channels, *sizes), (channels, 1, *(channels,) * dims))
    return result


def adaptive_max_pool1d(input, output_size):
    """Maxima and indices over `output_size` windows of nearly equal sizes that cover the last dimension."""
    sizes = adaptive_sizes("adaptive_max_pool1d", 1, input, output_size)
    _require_line(input, "adaptive_max_pool1d")
    values, indices = _ATEN["adaptive_max_pool2d"](input.unsqueeze(-2), [1, *sizes])
    return values.squeeze(-2), indices.squeeze(-2)


def pixel_shuffle(input, upscale_factor):
    """(..., C * r * r, H, W) -> (..., C, H * r, W * r)."""
    _require_tensors("pixel_shuffle", input=input)
    if input.dim() < 3:
        raise RuntimeError("pixel_shuffle expects input to have at least 3 dimensions, but got input with "
                           f"{input.dim()} dimension(s)")
    if upscale_factor <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {upscale_factor}")
    r = upscale_factor
    *lead, channels, height, width = input.shape
    if channels % (r * r):
        raise RuntimeError("pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
                           f"upscale_factor, but input.size(-3)={channels} is not divisible by {r * r}")
    n = len(lead)
    parts = input.reshape(*lead, channels // (r * r), r, r, height, width)
    turned = parts.permute(*range(n + 1), n + 3, n + 1, n + 4, n + 2)
    return _rearranged(turned, (*lead, channels // (r * r), height * r, width * r), input)


def pixel_unshuffle(input, downscale_factor):
    """(..., C, H * r, W * r) -> (..., C * r * r, H, W)."""
    _require_tensors("pixel_unshuffle", input=input)
    if input.dim() < 3:
        raise RuntimeError("pixel_unshuffle expects input to have at least 3 dimensions, but got input with "
                           f"{input.dim()} dimension(s)")
    if downscale_factor <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {downscale_factor}")
    r = downscale_factor
    *lead, channels, height, width = input.shape
    for name, dim, size in (("height", -2, height), ("width", -1, width)):
        if size % r:
            raise RuntimeError(f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but "
                               f"input.size({dim})={size} is not divisible by {r}")
    n = len(lead)
    parts = input.reshape(*lead, channels, height // r, r, width // r, r)
    turned = parts.permute(*range(n + 1), n + 2, n + 4, n + 1, n + 3)
    return _rearranged(turned, (*lead, channels * r * r, height // r, width // r), input)


def _rearranged(turned, shape, input):
    """A new tensor, channels_last where `input` is."""
    last = _is_channels_last(input)
    made = turned.reshape(shape)
    if last or made.shape == input.shape:
        return made.clone(memory_format=channels_last if last else contiguous_format)
    return made


# --- grid sampling ---------------------------------------------------------------------------------------------------

_IMAGES, _VOLUMES = _OPS["grid_sampler_2d"], _OPS["grid_sampler_3d"]


@with_autocast_policy("grid_sampler")
def grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners):
    """The image (N, C, H, W) or (N, C, D, H, W) at the positions (x, y[, z]) from -1 to 1 of grid (N, ..., 2 or 3)."""
    _require_tensors("grid_sampler", input=input, grid=grid)
    dims = input.dim()
    if dims not in (4, 5) or dims != grid.dim():
        raise RuntimeError("grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got "
                           f"input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}")
    sample = _IMAGES if dims == 4 else _VOLUMES
    return sample(input, grid, interpolation_mode, padding_mode, align_corners)


FUNCTIONS = {function.__name__: function for function in (
    conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d, max_pool1d, max_pool1d_with_indices,
    max_pool2d, max_pool3d, avg_pool1d, adaptive_avg_pool1d, adaptive_max_pool1d, pixel_shuffle, pixel_unshuffle,
    grid_sampler)}
