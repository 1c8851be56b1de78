"""Mixture of experts: copies of tokens by expert, and products with a matrix for each expert."""
import mindtorch as _torch
from mindtorch._core._gen.namespace import FUNCTIONS as _OPS
from mindtorch._core._gen.namespace import NPU as _OPERATORS
from mindtorch._core.tensor.tensor import TensorBase as _TensorBase
from mindtorch._torch_npu._checks import leave_out as _leave_out
from mindtorch._torch_npu._checks import on_npu as _on_npu
from mindtorch._torch_npu._checks import only as _only

__all__ = ["npu_grouped_matmul", "npu_moe_init_routing_v2"]

_route = _OPERATORS["_npu_moe_init_routing_v2"]
_of_rows, _of_columns = _OPERATORS["_npu_grouped_matmul"], _OPERATORS["_npu_grouped_matmul_of_columns"]


def npu_moe_init_routing_v2(x, expert_idx, *, scale=None, offset=None, active_num=-1, expert_capacity=-1,
                            expert_num=-1, drop_pad_mode=0, expert_tokens_num_type=0, expert_tokens_num_flag=False,
                            quant_mode=-1, active_expert_range=(), row_idx_type=0, x_dtype=None):
    """Copies of the tokens in the order of their experts; where each copy went; copies by expert; scales.

    `x` is (tokens, width), `expert_idx` (tokens, k) int32, `expert_num` the number of experts. Of copies whose expert
    is outside `active_expert_range`, (first, end), nothing comes: their places, by row_idx_type 0 of each copy, are -1;
    with 1 the places say which copy each row is. expert_tokens_num_type: 0 sums up to each expert, 1 numbers, 2 pairs
    of expert and number. With quant_mode 1 the copies are int8, with a scale each; `scale` then has a line of factors
    for each expert, otherwise a number for each token, which goes with its copies.
    """
    name = "npu_moe_init_routing_v2"
    _on_npu(name, x, expert_idx, scale)
    _leave_out(name, offset=offset, x_dtype=x_dtype)
    _only(name, drop_pad_mode=(drop_pad_mode, 0), expert_tokens_num_flag=(bool(expert_tokens_num_flag), True))
    if quant_mode not in (-1, 1):
        raise NotImplementedError(f"{name}: quant_mode {quant_mode} is not supported on npu: only -1 and 1 are")
    copies = expert_idx.numel()
    if active_num not in (-1, copies):
        raise RuntimeError(f"{name}: active_num is {active_num}, expected the number of copies, {copies}")
    dtype = _torch.int8 if quant_mode == 1 else x.dtype
    active = tuple(active_expert_range) or (0, expert_num)
    return _route(x, expert_idx, scale, copies, expert_num, expert_tokens_num_type, quant_mode, active, row_idx_type,
                  dtype)


def _single(name, values):
    """The only tensor of a list, or None."""
    if values is None or len(values) == 0:
        return None
    if len(values) > 1:
        raise NotImplementedError(f"npu_grouped_matmul: {name} with several tensors is not supported on npu beside x "
                                  "in one tensor: stack them")
    return values[0]


def _products(x, weight, bias):
    """Each x @ its weight + its bias."""
    if len(x) != len(weight):
        raise RuntimeError(f"npu_grouped_matmul: x has {len(x)} tensors, weight has {len(weight)}")
    found = [_OPS["matmul"](one, matrix) for one, matrix in zip(x, weight, strict=True)]
    return found if not bias else [one + added for one, added in zip(found, bias, strict=True)]


def npu_grouped_matmul(x, weight, *, bias=None, scale=None, offset=None, antiquant_scale=None, antiquant_offset=None,
                       per_token_scale=None, group_list=None, activation_input=None, activation_quant_scale=None,
                       activation_quant_offset=None, split_item=0, group_type=None, group_list_type=0, act_type=0,
                       tuning_config=None, output_dtype=None, x_dtype=None, weight_dtype=None, scale_dtype=None,
                       per_token_scale_dtype=None):
    """A list of products of lists of matrices, in one call where the matrices of all groups are in one tensor.

    group_type -1 (None): x[i] @ weight[i] + bias[i] for each i. 0: the rows of x[0], (m, k), come in groups, each with
    a matrix of weight[0], (groups, k, n), and a line of bias[0], (groups, n); 2: the k of x[0] (m, k) and weight[0]
    (k, n) comes in groups, of which each has a product (groups, m, n). These two need split_item 2 or 3, for a list of
    one result. `group_list`, a list or an int64 tensor: the ends of the groups, or with group_list_type 1 their sizes.
    x and weight of int8 take scale[0], (groups, n), and may take per_token_scale[0], (m,); `output_dtype` is
    torch.float16 or torch.bfloat16 then. Gradients of x, weight and bias; tuning_config changes no result.
    """
    name = "npu_grouped_matmul"
    _on_npu(name, *x, *weight, *(bias or ()), *(scale or ()), *(per_token_scale or ()))
    _leave_out(name, offset=offset, antiquant_scale=antiquant_scale, antiquant_offset=antiquant_offset,
               activation_input=activation_input, activation_quant_scale=activation_quant_scale,
               activation_quant_offset=activation_quant_offset, x_dtype=x_dtype, weight_dtype=weight_dtype,
               scale_dtype=scale_dtype, per_token_scale_dtype=per_token_scale_dtype)
    _only(name, act_type=(act_type or 0, 0))
    if group_type in (None, -1):
        _leave_out(name, scale=scale, per_token_scale=per_token_scale, output_dtype=output_dtype)
        _only(name, split_item=(split_item or 0, 0))
        return _products(x, weight, bias)
    if group_type not in (0, 2) or split_item not in (2, 3):
        raise NotImplementedError(f"{name}: group_type {group_type} with split_item {split_item} is not supported on "
                                  "npu: take group_type 0 or 2 with split_item 2 or 3, or -1 with 0")
    if group_list is None:
        raise RuntimeError(f"{name}: group_list is None, expected the ends of the groups")
    if group_list_type not in (0, 1):
        raise NotImplementedError(f"{name}: group_list_type {group_list_type} is not supported on npu: 0 and 1 are")
    rows, matrices = _single("x", x), _single("weight", weight)
    if not isinstance(group_list, _TensorBase):
        group_list = _torch.tensor(group_list, dtype=_torch.int64, device=rows.device)
    if group_type == 2:
        _leave_out(name, bias=bias, scale=scale, per_token_scale=per_token_scale, output_dtype=output_dtype)
        return [_of_columns(rows, matrices, group_list, group_list_type)]
    return [_of_rows(rows, matrices, _single("bias", bias), _single("scale", scale),
                     _single("per_token_scale", per_token_scale), group_list, group_list_type,
                     rows.dtype if output_dtype is None else output_dtype)]
