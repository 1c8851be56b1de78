"""Products of int8 matrices, and norms that quantize what they give."""
import mindtorch as _torch
from mindtorch._core._gen.namespace import NPU as _OPERATORS
from mindtorch._torch_npu._checks import leave_out as _leave_out
from mindtorch._torch_npu._checks import on_npu as _on_npu
from mindtorch._torch_npu._checks import only as _only

__all__ = ["npu_add_rms_norm_quant", "npu_quant_matmul", "npu_trans_quant_param", "npu_weight_quant_batchmatmul"]

_quant_matmul, _trans_quant_param = _OPERATORS["_npu_quant_matmul"], _OPERATORS["_npu_trans_quant_param"]
_weight_quant, _norm_quant = _OPERATORS["_npu_weight_quant_batchmatmul"], _OPERATORS["_npu_add_rms_norm_quant"]


def _require(name, dtype, **tensors):
    """RuntimeError for tensors of another dtype."""
    for each, tensor in tensors.items():
        if tensor.dtype is not dtype:
            raise RuntimeError(f"{name}: {each} has dtype {tensor.dtype}, expected {dtype}")


def npu_trans_quant_param(scale, offset=None, round_mode=0):
    """int64 numbers that hold the upper 19 bits of each float32 scale, and nine bits of its offset."""
    _on_npu("npu_trans_quant_param", scale, offset)
    _only("npu_trans_quant_param", round_mode=(round_mode or 0, 0))
    _require("npu_trans_quant_param", _torch.float32, scale=scale)
    if offset is not None and scale.numel() == 1:
        scale = scale.expand(offset.shape).contiguous()
    return _trans_quant_param(scale, offset)


def npu_quant_matmul(x1, x2, scale, *, offset=None, pertoken_scale=None, bias=None, output_dtype=None, x1_dtype=None,
                     x2_dtype=None, pertoken_scale_dtype=None, scale_dtype=None, group_sizes=None, y_scale=None):
    """x1 @ x2 of int8 matrices, with a scale for each column, or one, and with `pertoken_scale` one for each row.

    (..., m, k) and (..., k, n). `output_dtype`: torch.int8 (None), float16 or bfloat16. An int32 bias is added before
    the scales, another one behind them; `offset` goes with int8. A float32 scale without pertoken_scale, and not for
    bfloat16, goes through npu_trans_quant_param, which keeps 11 bits of its fraction. No gradients.
    """
    name = "npu_quant_matmul"
    _on_npu(name, x1, x2, scale, offset, pertoken_scale, bias)
    _leave_out(name, x1_dtype=x1_dtype, x2_dtype=x2_dtype, pertoken_scale_dtype=pertoken_scale_dtype,
               scale_dtype=scale_dtype, group_sizes=group_sizes, y_scale=y_scale)
    _require(name, _torch.int8, x1=x1, x2=x2)
    dtype = _torch.int8 if output_dtype is None else output_dtype
    if dtype not in (_torch.int8, _torch.float16, _torch.bfloat16):
        raise NotImplementedError(f"{name}: output_dtype {dtype} is not supported on npu: int8, float16 and bfloat16 "
                                  "are")
    if scale.dtype is _torch.float32 and pertoken_scale is None and dtype is not _torch.bfloat16:
        scale = npu_trans_quant_param(scale)
    return _quant_matmul(x1, x2, scale, offset, pertoken_scale, bias, dtype)


def npu_weight_quant_batchmatmul(x, weight, antiquant_scale, antiquant_offset=None, quant_scale=None,
                                 quant_offset=None, bias=None, antiquant_group_size=0, inner_precise=0,
                                 weight_dtype=None):
    """x @ ((weight + antiquant_offset) * antiquant_scale) + bias, of float x (m, k) and int8 weight (k, n).

    The scale and the offset, in x's dtype, have one element or one for each column; inner_precise changes nothing here.
    No gradients.
    """
    name = "npu_weight_quant_batchmatmul"
    _on_npu(name, x, weight, antiquant_scale, antiquant_offset, bias)
    _leave_out(name, quant_scale=quant_scale, quant_offset=quant_offset, weight_dtype=weight_dtype)
    _only(name, antiquant_group_size=(antiquant_group_size, 0))
    _require(name, _torch.int8, weight=weight)
    _require(name, x.dtype, antiquant_scale=antiquant_scale)
    return _weight_quant(x, weight, antiquant_scale, antiquant_offset, bias)


def npu_add_rms_norm_quant(x1, x2, gamma, scales1, zero_points1, beta=None, scales2=None, zero_points2=None, *,
                           axis=-1, epsilon=1e-06, div_mode=True, dst_type=None):
    """npu_add_rms_norm as int8: the norm / scales1 + zero_points1 (without div_mode times), that by scales2, the sum.

    gamma, scales and zero points have an element for each place of the last dimension. Without scales2 the second
    result is zero. No gradients.
    """
    name = "npu_add_rms_norm_quant"
    _on_npu(name, x1, x2, gamma, scales1, zero_points1, scales2, zero_points2)
    _leave_out(name, beta=beta)
    _only(name, axis=(axis, -1), dst_type=(dst_type or _torch.int8, _torch.int8))
    first, second, added = _norm_quant(x1, x2, gamma, scales1, scales2, zero_points1, zero_points2, axis, epsilon,
                                       div_mode)
    return first, second if scales2 is not None else second.zero_(), added
