"""torch_npu's functions that equal torch operators under another name, for NPU tensors only."""
import mindtorch as _dtypes
from mindtorch._core._gen.namespace import ATEN as _ATEN
from mindtorch._core._gen.namespace import FUNCTIONS as _OPS
from mindtorch._core._gen.namespace import NPU as _OPERATORS
from mindtorch._core.tensor.factories import arange as _arange
from mindtorch._ops.derivatives.nn import add_layer_norm_backward as _add_layer_norm_backward
from mindtorch._torch_npu._checks import leave_out, on_npu
from mindtorch.nn import functional as _functional

__all__ = [
    "npu_add_layer_norm_backward", "npu_apply_rotary_pos_emb", "npu_bmmV2", "npu_broadcast", "npu_confusion_transpose",
    "npu_conv2d", "npu_conv3d", "npu_conv_transpose2d", "npu_convolution", "npu_convolution_transpose",
    "npu_dtype_cast", "npu_dtype_cast_", "npu_dtype_cast_backward", "npu_gelu", "npu_gelu_backward",
    "npu_layer_norm_eval", "npu_linear", "npu_linear_backward", "npu_max", "npu_min", "npu_mish", "npu_mish_backward",
    "npu_moe_token_permute_grad", "npu_one_hot", "npu_pad", "npu_quantize", "npu_reshape", "npu_silu", "npu_silu_",
    "npu_silu_backward", "npu_slice", "npu_softmax_cross_entropy_with_logits", "npu_sort_v2", "npu_transpose",
    "npu_view_copy"]

_QUANTIZED = {"int8": (-128, 127), "uint8": (0, 255), "int32": (-2**31, 2**31 - 1)}


def npu_add_layer_norm_backward(dy_opt, x1, x2, rstd, mean, gamma, dsum_opt):
    """Gradients of x1, x2 (equal), gamma and beta, from the gradients of the norm and, if given, of the sum."""
    on_npu("npu_add_layer_norm_backward", dy_opt, x1, x2, rstd, mean, gamma, dsum_opt)
    return _add_layer_norm_backward([dy_opt, None, None, dsum_opt], x1, x2, rstd, mean, gamma)


def npu_linear(input, weight, bias=None):
    """input @ weight.T + bias, of matrices."""
    on_npu("npu_linear", input, weight, bias)
    if input.dim() != 2 or weight.dim() != 2:
        raise RuntimeError(f"npu_linear: input and weight have {input.dim()} and {weight.dim()} dimensions, "
                           "expected 2")
    return _functional.linear(input, weight, bias)


def npu_linear_backward(grad, input, weight):
    """Gradients of input and weight."""
    on_npu("npu_linear_backward", grad, input, weight)
    return _OPS["mm"](grad, weight), _OPS["mm"](grad.t(), input)


def npu_gelu(input, *, approximate="none"):
    """x * P(X <= x) of a normal X, exact or by tanh."""
    on_npu("npu_gelu", input)
    return _functional.gelu(input, approximate=approximate)


def npu_gelu_backward(grad_output, input, *, approximate="none"):
    """The gradient of its input."""
    on_npu("npu_gelu_backward", grad_output, input)
    return _ATEN["gelu_backward"](grad_output, input, approximate=approximate)


def npu_silu(input):
    """x * sigmoid(x)."""
    on_npu("npu_silu", input)
    return _functional.silu(input)


def npu_silu_(input):
    """The same in place."""
    on_npu("npu_silu_", input)
    return _functional.silu(input, inplace=True)


def npu_silu_backward(grad_output, x0, x1):
    """The gradient of the input x0; x1, the function's result, is not used."""
    on_npu("npu_silu_backward", grad_output, x0, x1)
    return _ATEN["silu_backward"](grad_output, x0)


def npu_mish(input):
    """x * tanh(log(1 + exp(x)))."""
    on_npu("npu_mish", input)
    return _functional.mish(input)


def npu_mish_backward(grad, input):
    """The gradient of its input."""
    on_npu("npu_mish_backward", grad, input)
    return _ATEN["mish_backward"](grad, input)


def npu_moe_token_permute_grad(tokens, grad_permuted_tokens, indices, sorted_indices, padded_mode=False):
    """The gradient of the tokens: the sums of the gradients of their copies."""
    on_npu("npu_moe_token_permute_grad", tokens, grad_permuted_tokens, indices, sorted_indices)
    copies = indices.shape[1] if indices.dim() == 2 else 1
    return _OPERATORS["npu_moe_token_permute_grad_v2"](grad_permuted_tokens, sorted_indices, tokens.shape[0],
                                                       tokens.dtype, copies, padded_mode)


def npu_dtype_cast(input, dtype, input_dtype=None):
    """A copy in another dtype; its gradient is cast back to the input's dtype."""
    on_npu("npu_dtype_cast", input)
    if input_dtype is not None:
        raise NotImplementedError("npu_dtype_cast: input_dtype is for dtypes that mindtorch does not have")
    return input.to(dtype, copy=True)


def npu_dtype_cast_(input, src):
    """Writes `src` to `input`, in input's dtype, and returns it."""
    on_npu("npu_dtype_cast_", input, src)
    return input.copy_(src)


def npu_dtype_cast_backward(grad, dtype, grad_dtype=None, input_dtype=None):
    """The gradient in the dtype that the input had."""
    on_npu("npu_dtype_cast_backward", grad)
    leave_out("npu_dtype_cast_backward", grad_dtype=grad_dtype, input_dtype=input_dtype)
    return grad.to(dtype, copy=True)


def npu_view_copy(input, other, non_blocking):
    """Writes `other` to `input` and returns it."""
    on_npu("npu_view_copy", input)
    return input.copy_(other, non_blocking)


def npu_pad(input, paddings):
    """Zeros before and behind each dimension: `paddings` has two numbers for each, from the first dimension on."""
    on_npu("npu_pad", input)
    if len(paddings) != 2 * input.dim():
        raise RuntimeError(f"npu_pad: paddings has {len(paddings)} numbers, expected two for each of "
                           f"{input.dim()} dimensions")
    pairs = [paddings[i:i + 2] for i in range(0, len(paddings), 2)]
    return _functional.pad(input, [number for pair in reversed(pairs) for number in pair])


def npu_slice(input, offsets, size):
    """A copy of the part of `size` from `offsets` on; both have a number for each dimension, size -1 takes the rest."""
    on_npu("npu_slice", input)
    if not len(offsets) == len(size) == input.dim():
        raise RuntimeError(f"npu_slice: {len(offsets)} offsets and {len(size)} sizes, expected {input.dim()} of both")
    for dim, (offset, count) in enumerate(zip(offsets, size, strict=True)):
        input = input.narrow(dim, offset, input.shape[dim] - offset if count == -1 else count)
    return input.clone().contiguous()


def npu_sort_v2(input, dim=-1, descending=False):
    """The sorted elements along a dimension, without their places."""
    on_npu("npu_sort_v2", input)
    return _OPS["sort"](input, dim, descending)[0]


def npu_softmax_cross_entropy_with_logits(input, labels):
    """The cross entropy of each line of (n, classes) with a line of probabilities: (n,)."""
    on_npu("npu_softmax_cross_entropy_with_logits", input, labels)
    return -(labels * _functional.log_softmax(input, -1)).sum(-1)


def npu_transpose(input, perm, require_contiguous=True):
    """A contiguous permutation of the dimensions."""
    on_npu("npu_transpose", input)
    return input.permute(*perm).clone().contiguous()


def npu_confusion_transpose(input, perm, shape, transpose_first):
    """permute and reshape in one call, in either order."""
    on_npu("npu_confusion_transpose", input)
    result = input.permute(*perm).reshape(*shape) if transpose_first else input.reshape(*shape).permute(*perm)
    return result.contiguous()


def npu_bmmV2(input, mat2, output_sizes):
    """The product of batches of matrices, summed to `output_sizes` where those are given."""
    on_npu("npu_bmmV2", input, mat2)
    result = _OPS["matmul"](input, mat2)
    return result.sum_to_size(*output_sizes) if output_sizes else result


def npu_one_hot(input, num_classes=-1, depth=1, on_value=1, off_value=0):
    """float32: `on_value` where the index along a new dimension is the element, `off_value` elsewhere.

    The new dimension has `depth` places and lies at `num_classes`, -1 being behind the others.
    """
    on_npu("npu_one_hot", input)
    if input.dtype.is_floating_point or depth < 1:
        raise RuntimeError("npu_one_hot: integers and a depth of 1 or more are expected, not "
                           f"{input.dtype} and {depth}")
    hit = (input.unsqueeze(-1) == _arange(depth, device=input.device)).float()
    result = hit * (on_value - off_value) + off_value if (on_value, off_value) != (1, 0) else hit
    return result.movedim(-1, num_classes).contiguous()


def npu_apply_rotary_pos_emb(query, key, cos, sin, layout="BSND", rotary_mode="half"):
    """npu_rotary_mul of query and of key, (B, S, N, D) both; rotary_mode "half" or "interleave"."""
    on_npu("npu_apply_rotary_pos_emb", query, key, cos, sin)
    if layout != "BSND" or query.dim() != 4:
        raise NotImplementedError(f"npu_apply_rotary_pos_emb: {query.dim()} dimensions in layout {layout} are not "
                                  "supported on npu: take four, BSND")
    rotate = _OPERATORS["npu_rotary_mul"]
    return rotate(query, cos, sin, rotary_mode), rotate(key, cos, sin, rotary_mode)


def npu_quantize(input, scales, zero_points, dtype, axis=1, div_mode=True):
    """The integers, rounded and within the range of `dtype`: input / scales + zero_points, or without div_mode times.

    scales and zero_points have one element, or one for each place along `axis`; dtype: int8, uint8 or int32.
    """
    on_npu("npu_quantize", input, scales, zero_points)
    name = str(dtype).rpartition(".")[2].removeprefix("q")
    if name not in _QUANTIZED:
        raise RuntimeError(f"npu_quantize: dtype is {dtype}, expected int8, uint8 or int32")
    shape = [-1 if each == axis % input.dim() else 1 for each in range(input.dim())]
    scales = scales.reshape(shape).float()
    result = input.float() / scales if div_mode else input.float() * scales
    if zero_points is not None:
        result = result + zero_points.reshape(shape).float()
    return result.round().clamp(*_QUANTIZED[name]).to(getattr(_dtypes, name))


def npu_layer_norm_eval(input, normalized_shape, weight=None, bias=None, eps=1e-05):
    """Layer norm."""
    on_npu("npu_layer_norm_eval", input, weight, bias)
    return _functional.layer_norm(input, normalized_shape, weight, bias, eps)


def npu_max(input, dim, keepdim=False):
    """The largest elements along a dimension, and their places as int32."""
    on_npu("npu_max", input)
    values, places = _OPS["max"](input, dim, keepdim)
    return values, places.int()


def npu_min(input, dim, keepdim=False):
    """The least elements along a dimension, and their places as int32."""
    on_npu("npu_min", input)
    values, places = _OPS["min"](input, dim, keepdim)
    return values, places.int()


def npu_broadcast(input, size):
    """A copy that is expanded to `size`."""
    on_npu("npu_broadcast", input)
    return input.expand(*size).clone().contiguous()


def npu_reshape(input, shape, can_refresh=False):
    """A copy of another shape; `can_refresh` changes nothing here."""
    on_npu("npu_reshape", input)
    return input.reshape(*shape).clone().contiguous()


def npu_conv2d(input, weight, bias, stride, padding, dilation, groups):
    """Convolution of images."""
    on_npu("npu_conv2d", input, weight, bias)
    return _functional.conv2d(input, weight, bias, stride, padding, dilation, groups)


def npu_conv3d(input, weight, bias, stride, padding, dilation, groups):
    """Convolution of volumes."""
    on_npu("npu_conv3d", input, weight, bias)
    return _functional.conv3d(input, weight, bias, stride, padding, dilation, groups)


def npu_convolution(input, weight, bias, stride, padding, dilation, groups):
    """Convolution of images, or of volumes where the input has five dimensions."""
    on_npu("npu_convolution", input, weight, bias)
    convolution = _functional.conv3d if input.dim() == 5 else _functional.conv2d
    return convolution(input, weight, bias, stride, padding, dilation, groups)


def npu_conv_transpose2d(input, weight, bias, padding, output_padding, stride, dilation, groups):
    """Transposed convolution of images."""
    on_npu("npu_conv_transpose2d", input, weight, bias)
    return _functional.conv_transpose2d(input, weight, bias, stride, padding, output_padding, groups, dilation)


def npu_convolution_transpose(input, weight, bias, padding, output_padding, stride, dilation, groups):
    """Transposed convolution of images, or of volumes where the input has five dimensions."""
    on_npu("npu_convolution_transpose", input, weight, bias)
    convolution = _functional.conv_transpose3d if input.dim() == 5 else _functional.conv_transpose2d
    return convolution(input, weight, bias, stride, padding, output_padding, groups, dilation)
