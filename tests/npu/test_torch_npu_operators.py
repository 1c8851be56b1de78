"""torch_npu's own operators by formulas in torch, which compute in float64; gradients by torch's autograd of them.

tests/clients/cases.txt compares some of them with torch_npu itself.
"""
import subprocess
import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "ops"))

from samples import LAYOUTS, SAMPLES, Description, Make

import mindtorch
from mindtorch import _torch_npu as torch_npu
from mindtorch._core._gen.namespace import NPU
from mindtorch._ops.codegen import emit_grad
from mindtorch._ops.codegen.rows import Table

ROWS = {row.key: row for row in Table().rows if row.is_torch_npu}
DTYPES = ("float32", "float16", "bfloat16")
HALVES = ("float16", "bfloat16")
# Of rows that do not take all of DTYPES.
DTYPES_OF = {"npu_dynamic_quant": HALVES, "_npu_quant_matmul": HALVES, "_npu_weight_quant_batchmatmul": HALVES,
             "npu_moe_compute_expert_tokens": ("int32",), "_npu_trans_quant_param": ("int64",)}
RESULTS_OF = {"npu_dynamic_quant": {"int8", "float32"}}         # dtypes of the results, where none is the argument's
TOLERANCE = {"int32": (0, 0), "int64": (0, 0), "float32": (2e-5, 2e-5), "float16": (4e-3, 4e-3),
             "bfloat16": (3e-2, 3e-2)}
MASKED = -10000.0


# --- formulas --------------------------------------------------------------------------------------------------------

def normal(x, gamma, epsilon):
    dims = tuple(range(x.dim() - gamma.dim(), x.dim()))
    rstd = (x.square().mean(dims, keepdim=True) + epsilon).rsqrt()
    return x * rstd * gamma, rstd


def rms_norm(input, gamma, epsilon=1e-6):
    return normal(input, gamma, epsilon)


def rms_norm_backward(dy, input, gamma, rstd):
    dims = tuple(range(input.dim() - gamma.dim(), input.dim()))
    unit = input * rstd
    inner = (dy * gamma * unit).mean(dims, keepdim=True)
    return rstd * (dy * gamma - unit * inner), (dy * unit).reshape(-1, *gamma.shape).sum(0)


def add_rms_norm(x1, x2, gamma, epsilon=1e-6):
    return (*normal(x1 + x2, gamma, epsilon), x1 + x2)


def centred(x, gamma, beta, epsilon):
    dims = tuple(range(x.dim() - gamma.dim(), x.dim()))
    mean = x.mean(dims, keepdim=True)
    rstd = ((x - mean).square().mean(dims, keepdim=True) + epsilon).rsqrt()
    return (x - mean) * rstd * gamma + beta, mean, rstd


def centred_backward(dy, x, gamma, mean, rstd):
    """Gradients of x, gamma and beta, with the statistics as they are given."""
    dims = tuple(range(x.dim() - gamma.dim(), x.dim()))
    unit = (x - mean) * rstd
    own = dy * gamma
    of_x = rstd * (own - own.mean(dims, keepdim=True) - unit * (own * unit).mean(dims, keepdim=True))
    return of_x, (dy * unit).reshape(-1, *gamma.shape).sum(0), dy.reshape(-1, *gamma.shape).sum(0)


def deep_norm(x, gx, beta, gamma, alpha=0.3, epsilon=1e-6):
    result, mean, rstd = centred(alpha * x + gx, gamma, beta, epsilon)
    return mean, rstd, result


def deep_norm_backward(dy, x, gx, gamma, mean, rstd, alpha=0.3):
    of_sum, of_gamma, of_beta = centred_backward(dy, alpha * x + gx, gamma, mean, rstd)
    return alpha * of_sum, of_sum, of_beta, of_gamma


def add_layer_norm(x1, x2, gamma, beta, epsilon=1e-5, additional_output=False):
    return (*centred(x1 + x2, gamma, beta, epsilon), x1 + x2)


def add_layer_norm_grad(dy, x1, x2, rstd, mean, gamma, dsum):
    of_sum, of_gamma, of_beta = centred_backward(dy, x1 + x2, gamma, mean, rstd)
    return of_sum if dsum is None else of_sum + dsum, of_gamma, of_beta


def group_norm_silu(input, weight, bias, group, eps=1e-5):
    groups = input.reshape(input.shape[0], group, -1)
    mean = groups.mean(-1)
    rstd = (groups.var(-1, correction=0) + eps).rsqrt()
    result = torch.nn.functional.group_norm(input, group, weight, bias, eps)
    return torch.nn.functional.silu(result), mean, rstd


def swiglu(input, dim=-1):
    left, right = input.chunk(2, dim)
    return torch.nn.functional.silu(left) * right


def geglu(input, dim=-1, approximate=1, activate_left=False):
    left, right = input.chunk(2, dim)
    plain, active = (right, left) if activate_left else (left, right)
    active = torch.nn.functional.gelu(active, approximate="tanh" if approximate else "none")
    return plain * active, active


def geglu_grad(grad_output, input, gelu, dim=-1, approximate=1, activate_left=False):
    """`gelu` is taken as it is given."""
    left, right = input.chunk(2, dim)
    plain, active = (right, left) if activate_left else (left, right)
    active = active.detach().requires_grad_()
    mode = "tanh" if approximate else "none"
    slope, = torch.autograd.grad(torch.nn.functional.gelu(active, approximate=mode), active, grad_output * plain)
    found = [slope, grad_output * gelu] if activate_left else [grad_output * gelu, slope]
    return torch.cat(found, dim)


def gelu_mul(input, approximate="none"):
    left, right = input.chunk(2, -1)
    return torch.nn.functional.gelu(left, approximate=approximate) * right


def fast_gelu(input):
    return input * torch.sigmoid(1.702 * input)


def rotary_mul(input, r1, r2, rotary_mode="half"):
    if rotary_mode == "half":
        first, second = input.chunk(2, -1)
        crossed = torch.cat([-second, first], -1)
    else:
        crossed = torch.stack([-input[..., 1::2], input[..., ::2]], -1).flatten(-2)
    return input * r1 + crossed * r2


def masked_softmax(x, mask, scale=1, fixed_triu_mask=False):
    return (x * scale).masked_fill(mask, MASKED).softmax(-1)


def masked_softmax_backward(y_grad, y, mask, scale, fixed_triu_mask):
    return ((y_grad - (y_grad * y).sum(-1, keepdim=True)) * y * scale).masked_fill(mask, 0)


def scatter_nd(self, indices, updates):
    result = self.clone()
    result[tuple(indices.long().unbind(-1))] = updates
    return result


def iou(bboxes, gtboxes, mode):
    """By plain Python, box by box."""
    def area(box):
        return (box[2] - box[0] + 0.01) * (box[3] - box[1] + 0.01)

    def share(box, truth):
        width, height = (max(min(box[i + 2], truth[i + 2]) - max(box[i], truth[i]), 0) for i in (0, 1))
        return width * height / (area(truth) if mode == 1 else area(box) + area(truth) - width * height)

    lines = [[share(box, truth) for truth in gtboxes.tolist()] for box in bboxes.tolist()]
    return torch.tensor(lines, dtype=torch.float64).reshape(len(bboxes), len(gtboxes))


def dynamic_quant(input, smooth_scales=None, dst_type=None):
    scaled = input if smooth_scales is None else input * smooth_scales
    scale = scaled.abs().amax(-1) / 127
    return (scaled / scale[..., None]).round(), scale


def moe_gating(x, finished=None, k=1):
    values, experts = x.softmax(-1).topk(k)
    if finished is not None:
        experts = experts.masked_fill(finished[..., None], x.shape[-1])
    tokens = x.numel() // x.shape[-1]
    return values, experts, torch.arange(tokens * k).reshape(k, tokens).T.reshape(values.shape)


def moe_init_routing(x, row_idx, expert_idx, active_num):
    experts, order = expert_idx.flatten().sort(stable=True)
    rows = row_idx.flatten()[order].long()
    return x[rows % len(x)][:min(len(x), active_num) * expert_idx.shape[1]], rows.argsort(), experts


def moe_finalize_routing(expanded, skip1, skip2, bias, scales, rows, experts):
    copies = expanded[rows.long()].reshape(scales.shape[1], len(scales), -1).transpose(0, 1)
    result = skip1 + (scales[..., None] * (copies + bias[experts.long()])).sum(1)
    return result if skip2 is None else result + skip2


def moe_token_permute(tokens, indices, num_out_tokens=None):
    order = indices.flatten().argsort(stable=True)
    copies = tokens.repeat_interleave(indices.numel() // len(tokens), 0)
    return copies[order][:num_out_tokens or None], order.argsort()


def moe_token_permute_grad(grad, sorted_indices, tokens, tokens_dtype, num_topK):
    padded = torch.cat([grad, grad.new_zeros(len(sorted_indices) - len(grad), grad.shape[1])])
    return padded[sorted_indices.long()].reshape(tokens, num_topK, -1).sum(1)


def moe_token_unpermute(permuted, sorted_indices, probs=None):
    padded = torch.cat([permuted, permuted.new_zeros(len(sorted_indices) - len(permuted), permuted.shape[1])])
    copies = padded[sorted_indices.long()]
    return copies if probs is None else (copies.reshape(*probs.shape, -1) * probs[..., None]).sum(1)


def moe_token_unpermute_grad(permuted, grad, sorted_indices, probs=None):
    wanted = [x.detach().requires_grad_() for x in (permuted, probs) if x is not None]
    found = torch.autograd.grad(moe_token_unpermute(wanted[0], sorted_indices, *wanted[1:]), wanted, grad)
    return found if len(found) == 2 else (*found, permuted.new_empty(0))


def gemma_rms_norm(input, gamma, epsilon=1e-6):
    return normal(input, gamma + 1, epsilon)


def moe_expert_tokens(sorted_experts, num_expert):
    return (sorted_experts[None] <= torch.arange(num_expert)[:, None]).sum(1)


def moe_grouped_gating(x, k, *, bias=None, k_group=1, group_count=1, group_select_mode=0, renorm=0, norm_type=0,
                       out_flag=False, routed_scaling_factor=1.0, eps=1e-20):
    scores = x.sigmoid() if norm_type else x.softmax(-1)
    shifted = scores if bias is None else scores + bias
    groups = shifted.unflatten(1, (group_count, -1))
    worth = groups.topk(2, -1).values.sum(-1) if group_select_mode else groups.amax(-1)
    kept = torch.zeros_like(worth, dtype=torch.bool).scatter_(1, worth.topk(k_group).indices, True)
    chosen = groups.masked_fill(~kept[..., None], -torch.inf).flatten(1).topk(k).indices
    values = scores.gather(1, chosen)
    if norm_type or renorm:
        values = values / (values.sum(-1, keepdim=True) + eps)
    return values * routed_scaling_factor, chosen, scores


def moe_init_routing_v2(x, experts, scale, active_num, expert_num, count_type, quant_mode, active, row_type, dtype):
    """By plain Python, copy by copy."""
    chosen = sorted((expert, copy) for copy, expert in enumerate(experts.flatten().tolist())
                    if active[0] <= expert < active[1])
    expanded, scales = x.new_zeros(experts.numel(), x.shape[1]), torch.zeros(experts.numel())
    rows, counts = [-1] * experts.numel(), [0] * (active[1] - active[0])
    for place, (expert, copy) in enumerate(chosen):
        expanded[place] = x[copy // experts.shape[1]]
        scales[place] = 0 if scale is None else scale[copy // experts.shape[1]]
        rows[place if row_type else copy] = copy if row_type else place
        counts[expert - active[0]] += 1
    pairs = [[active[0] + index, count] for index, count in enumerate(counts) if count]
    pairs += [[0, 0]] * (expert_num - len(pairs))
    counts = torch.tensor(counts)
    return expanded, torch.tensor(rows), (counts.cumsum(0), counts, torch.tensor(pairs))[count_type], scales


def groups_of(group_list, list_type):
    ends = group_list.cumsum(0) if list_type else group_list
    return [slice(*pair) for pair in zip([0, *ends.tolist()[:-1]], ends.tolist(), strict=True)]


def grouped_matmul(x, weight, bias, scale, per_token_scale, group_list, list_type, output_dtype=None):
    parts = [x[rows] @ weight[group] + (0 if bias is None else bias[group])
             for group, rows in enumerate(groups_of(group_list, list_type))]
    found = torch.cat(parts)
    return torch.cat([found, found.new_zeros(len(x) - len(found), found.shape[1])])


def grouped_matmul_of_columns(x, weight, group_list, list_type):
    return torch.stack([x[:, part] @ weight[part] for part in groups_of(group_list, list_type)])


def quant_matmul(x1, x2, scale, offset, pertoken_scale, bias, output_dtype=None):
    """Its integers come as integers, its bias as it is."""
    found = x1.double() @ x2.double()
    found = found + bias if bias is not None and not bias.is_floating_point() else found
    found = found * scale * (1 if pertoken_scale is None else pertoken_scale[:, None])
    return found + bias if bias is not None and bias.is_floating_point() else found


def trans_quant_param(scale, offset):
    """By NumPy: the upper 19 bits of the float, nine bits of the offset, and bit 46."""
    bits = scale.float().view(torch.int32).long() & 0xFFFFE000
    whole = torch.zeros(len(scale)) if offset is None else offset
    return bits | (whole.round().clamp(-256, 255).long() & 0x1FF) << 37 | 1 << 46


def weight_quant_batchmatmul(x, weight, scale, offset, bias):
    return x @ ((weight + (0 if offset is None else offset)) * scale) + (0 if bias is None else bias)


def add_rms_norm_quant(x1, x2, gamma, scales1, scales2, zero_points1, zero_points2, axis, epsilon, div_mode):
    norm, _ = normal(x1 + x2, gamma, epsilon)
    found = [((norm / scales if div_mode else norm * scales) + (0 if zeros is None else zeros)).round().clamp(-128, 127)
             for scales, zeros in ((scales1, zero_points1), (scales2, zero_points2))]
    return *found, x1 + x2


def top_k_top_p(logits, p=None, k=None):
    """By plain Python, line by line."""
    lines = []
    for line, values in enumerate(logits.tolist()):
        kept = sorted(range(len(values)), key=values.__getitem__)
        if k is not None:
            kept = [place for place in kept if values[place] >= values[kept[len(values) - int(k[line])]]]
        if p is not None:
            shares = torch.tensor([values[place] for place in kept], dtype=torch.float64).softmax(0).cumsum(0).tolist()
            kept = [place for place, share in zip(kept[:-1], shares, strict=False) if share > 1 - p[line]] + kept[-1:]
        lines.append([value if place in kept else -torch.inf for place, value in enumerate(values)])
    return torch.tensor(lines, dtype=torch.float64)


def gradient_of(function, count):
    """The operator that gives the gradients of the first `count` arguments of `function`."""
    def backward(grad, *args):
        args = [arg.detach().requires_grad_() if index < count else arg for index, arg in enumerate(args)]
        found = torch.autograd.grad(function(*args), args[:count], grad)
        return found if count > 1 else found[0]
    return backward


FORMULAS = {
    "npu_rms_norm": rms_norm, "npu_rms_norm_backward": rms_norm_backward, "npu_add_rms_norm": add_rms_norm,
    "npu_swiglu": swiglu, "npu_swiglu_backward": gradient_of(swiglu, 1), "npu_geglu": geglu,
    "npu_geglu_grad": geglu_grad, "npu_gelu_mul": gelu_mul, "npu_fast_gelu": fast_gelu,
    "npu_fast_gelu_backward": gradient_of(fast_gelu, 1), "npu_rotary_mul": rotary_mul,
    "npu_rotary_mul_backward": gradient_of(rotary_mul, 3), "npu_scaled_masked_softmax": masked_softmax,
    "npu_scaled_masked_softmax_backward": masked_softmax_backward, "npu_deep_norm": deep_norm,
    "npu_deep_norm_backward": deep_norm_backward, "npu_add_layer_norm": add_layer_norm,
    "npu_group_norm_silu": group_norm_silu, "_npu_add_layer_norm_grad": add_layer_norm_grad,
    "npu_scatter_nd_update": scatter_nd, "npu_dynamic_quant": dynamic_quant, "_npu_iou": iou,
    "npu_moe_gating_top_k_softmax": moe_gating, "npu_moe_init_routing": moe_init_routing,
    "npu_moe_finalize_routing": moe_finalize_routing, "npu_moe_token_permute": moe_token_permute,
    "npu_moe_token_permute_grad_v2": moe_token_permute_grad, "npu_moe_token_unpermute": moe_token_unpermute,
    "npu_moe_token_unpermute_grad": moe_token_unpermute_grad, "npu_gemma_rms_norm": gemma_rms_norm,
    "npu_moe_compute_expert_tokens": moe_expert_tokens, "npu_moe_gating_top_k": moe_grouped_gating,
    "_npu_moe_init_routing_v2": moe_init_routing_v2, "_npu_grouped_matmul": grouped_matmul,
    "_npu_grouped_matmul_of_columns": grouped_matmul_of_columns, "_npu_quant_matmul": quant_matmul,
    "_npu_trans_quant_param": trans_quant_param, "_npu_weight_quant_batchmatmul": weight_quant_batchmatmul,
    "_npu_add_rms_norm_quant": add_rms_norm_quant, "npu_top_k_top_p": top_k_top_p,
}
HANDWRITTEN = {"_npu_fusion_attention", "_npu_fusion_attention_grad"}       # test_torch_npu_attention.py


# --- the rows --------------------------------------------------------------------------------------------------------

def test_every_row_has_a_formula():
    assert set(FORMULAS) | HANDWRITTEN == set(ROWS)


def arguments(value, lib, device, layout="contiguous"):
    """A sample made into tensors of `lib`; torch's are float64."""
    if isinstance(value, Description):
        made = value.realise(lib, device, layout)
        return made.double() if lib is torch and made.is_floating_point() else made
    return value


def keywords(options, *made):
    return {name: getattr(mindtorch, value) if name.endswith(("dtype", "dst_type")) else arguments(value, *made)
            for name, value in options.items()}


def both(key, dtype, layout="contiguous"):
    """The arguments of the row and those of the formula, each with keywords, for each sample."""
    for args, options in SAMPLES[ROWS[key].samples](Make(dtype, seed=key)):
        if key == "npu_fast_gelu_backward" and args[0].shape != args[1].shape:
            continue        # ACLNN takes equal shapes alone
        found = []
        for made in ((mindtorch, "npu", layout), (torch, "cpu", layout)):
            found += [[arguments(arg, *made) for arg in args], keywords(options, *made)]
        yield found


def as_torch(tensor):
    return torch.tensor(tensor.detach().cpu().tolist(), dtype=torch.float64).reshape(tuple(tensor.shape))


def close(ours, theirs, dtype):
    rtol, atol = TOLERANCE[dtype]
    torch.testing.assert_close(as_torch(ours), theirs.detach().double(), rtol=rtol, atol=atol, equal_nan=True)


def dtypes_of(key):
    return DTYPES_OF.get(key, DTYPES)


def as_tuple(result):
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("key", "dtype"), [(key, dtype) for key in FORMULAS for dtype in dtypes_of(key)])
def test_values(key, dtype, layout):
    if layout != "contiguous" and dtype != dtypes_of(key)[0]:
        return
    for ours, our_keywords, theirs, their_keywords in both(key, dtype, layout):
        found, expected = as_tuple(NPU[key](*ours, **our_keywords)), as_tuple(FORMULAS[key](*theirs, **their_keywords))
        for one, other in zip(found, expected, strict=True):
            assert tuple(one.shape) == tuple(other.shape)
            close(one, other, dtype)
        assert RESULTS_OF.get(key, {dtype}) <= {str(one.dtype).removeprefix("torch.") for one in found}


DIFFERENTIABLE = [key for key in FORMULAS if emit_grad.recorded(ROWS[key])
                  and not any("no_derivative" in text for text in ROWS[key].grad.values())]


# Which result has the history, where it is not the first.
RESULT = {"npu_deep_norm": 2, "npu_dynamic_quant": 1, "_npu_add_rms_norm_quant": 2}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("key", DIFFERENTIABLE)
def test_gradients(key, dtype):
    names = [argument.name for argument in ROWS[key].schema.arguments]
    places = [names.index(argument.name) for argument in emit_grad.differentiable(ROWS[key])]
    for ours, our_keywords, theirs, their_keywords in both(key, dtype):
        wanted = [place for place in places if place < len(ours) and ours[place] is not None]
        for args in (ours, theirs):
            for place in wanted:
                args[place].requires_grad_()
        place = RESULT.get(key, 0)
        found = as_tuple(NPU[key](*ours, **our_keywords))[place]
        expected = as_tuple(FORMULAS[key](*theirs, **their_keywords))[place]
        slopes = torch.linspace(-1, 1, expected.numel(), dtype=torch.float64).reshape(expected.shape)
        expected.backward(slopes)
        found.backward(mindtorch.tensor(slopes.tolist(), dtype=found.dtype, device="npu").reshape(found.shape))
        for place in wanted:
            assert ours[place].grad.dtype is ours[place].dtype
            close(ours[place].grad, theirs[place].grad, dtype)


@pytest.mark.parametrize("key", [key for key, row in ROWS.items() if row.grad != "none"
                                 and any("no_derivative" in text for text in row.grad.values())])
def test_what_has_no_derivative_says_so(key):
    args, kwargs, *_ = next(both(key, dtypes_of(key)[0]))
    next(arg for arg in args if arg.is_floating_point()).requires_grad_()
    with pytest.raises(NotImplementedError, match=r"the derivative for 'npu_.*' is not implemented"):
        as_tuple(NPU[key](*args, **kwargs))[RESULT.get(key, 0)].sum().backward()


@pytest.mark.parametrize("key", ROWS)
def test_the_cpu_has_none_of_them(key):
    args, kwargs = next(iter(SAMPLES[ROWS[key].samples](Make("float32", seed=key))))
    kwargs = keywords(kwargs, mindtorch, "cpu")
    with pytest.raises(NotImplementedError, match=rf"Could not run '{key}' on cpu"):
        NPU[key](*(arguments(arg, mindtorch, "cpu") for arg in args), **kwargs)


# --- wrong calls -----------------------------------------------------------------------------------------------------

REFUSED = [
    ("npu_swiglu(x[:, :7])", RuntimeError, "Halving dimension must be even"),
    ("npu_swiglu(x, 2)", IndexError, "Dimension out of range"),
    ("npu_swiglu(x.int())", NotImplementedError, "aclnnSwiGlu: argument x of dtype torch.int32"),
    ("npu_swiglu(x.double())", NotImplementedError, "torch.float64"),
    ("npu_swiglu(3)", TypeError, "must be Tensor"),
    ("npu_swiglu_backward(x, x)", RuntimeError, "yGrad"),
    ("npu_geglu(x, -1, 2)", RuntimeError, "approximate is 2"),
    ("npu_gelu_mul(x, approximate='x')", RuntimeError, "approximate"),
    ("npu_rms_norm(x, x[0, :4])", RuntimeError, "gamma has the shape"),
    ("npu_rms_norm(x[0], x)", RuntimeError, "gamma has the shape"),
    ("npu_rms_norm(x, x[0].cpu())", RuntimeError, "Expected all tensors to be on the same device"),
    ("npu_rms_norm(x)", TypeError, "missing 1 required positional arguments: \"gamma\""),
    ("npu_add_rms_norm(x, x[:1], x[0])", RuntimeError, "x2"),
    ("npu_rotary_mul(x, x, x)", RuntimeError, "expected 3 or 4"),
    ("npu_rotary_mul(x[None], x[None], x[None, :1])", RuntimeError, "sin"),
    ("npu_rotary_mul(x[None], x[None], x[None], 'whole')", RuntimeError, "rotary_mode is 'whole'"),
    ("npu_rotary_mul(x[None], x[None], x[None], 'half', x)", NotImplementedError, "rotate is not supported"),
    ("npu_scaled_masked_softmax(x, x > 0)", RuntimeError, "expected 4"),
    ("npu_scaled_masked_softmax(x[None, None], x[None, None])", NotImplementedError, "mask of dtype torch.float32"),
    ("npu_scaled_masked_softmax(x[None, None], x[None, None] > 0, 1.0, True)", RuntimeError, "triangular mask"),
    ("npu_deep_norm(x, x[:1], x[0], x[0])", RuntimeError, "gx"),
    ("npu_deep_norm(x, x, x[0, :3], x[0])", RuntimeError, "gamma has the shape"),
    ("npu_add_layer_norm(x, x.half(), x[0], x[0])", RuntimeError, "different data types"),
    ("npu_group_norm_silu(x, None, None, 3)", RuntimeError, "3 groups"),
    ("npu_group_norm_silu(x, x[0, :3], None, 2)", RuntimeError, "gamma"),
    ("npu_scatter_nd_update(x, x.int(), x)", RuntimeError, "lines of 8 numbers, expected 1 to 2"),
    ("npu_scatter_nd_update(x, x[:1, :1].long(), x)", RuntimeError, "updates"),
    ("npu_scatter_nd_update(x, x[:1, :1].long(), x[:1].half())", RuntimeError, "data type"),
    ("npu_scatter_nd_update(x, x[:1, :1], x[:1])", NotImplementedError, "indices of dtype torch.float32"),
    ("npu_scatter_nd_update(x.double(), x[:1, :1].int(), x[:1].double())", NotImplementedError, "dtype torch.float64"),
    ("npu_scatter_nd_update_(x, x[:1, :1].int(), x[1:])", RuntimeError, "overlap|memory location"),
    ("npu_iou(x, x)", RuntimeError, "expected"),
    ("npu_iou(x[:, :4], x[0])", RuntimeError, "gtboxes has 1 dimensions"),
    ("npu_iou(x[:, :4], x[:, :4].half())", RuntimeError, "different data types"),
    ("npu_iou(x[:, :4].cpu(), x[:, :4])", NotImplementedError, "Could not run 'npu_iou' on cpu"),
    ("npu_dynamic_quant(x)", NotImplementedError, "argument x of dtype torch.float32"),
    ("npu_dynamic_quant(x[0].half())", RuntimeError, "input has 1 dimensions"),
    ("npu_dynamic_quant(x.half(), x[0].half())", TypeError, "takes 1 positional argument"),
    ("npu_dynamic_quant(x.half(), smooth_scales=x[0, :4].half())", RuntimeError, "smoothScalesOptional"),
    ("npu_dynamic_quant(x.half(), group_index=x[0].int())", NotImplementedError, "group_index is not supported"),
    ("npu_dynamic_quant(x.half(), dst_type=x.dtype)", NotImplementedError, "dst_type Float is not supported"),
    ("npu_dynamic_quant(x.half(), quant_mode='pertensor')", NotImplementedError, "quant_mode 'pertensor'"),
    ("npu_dynamic_quant(x.half(), dst_type_max=7.0)", NotImplementedError, "dst_type_max"),
    ("npu_moe_gating_top_k_softmax(x, None, 9)", RuntimeError, "9 experts"),
    ("npu_moe_init_routing(x, x.int(), x.int(), -1)", RuntimeError, "active_num is -1"),
    ("npu_moe_finalize_routing(x, x, None, None, x, x, x)", NotImplementedError, "bias is None"),
    ("npu_moe_finalize_routing(x, x, None, x, x, x, x, 1)", NotImplementedError, "drop_pad_mode 1"),
    ("npu_moe_token_permute(x[0], x.int())", RuntimeError, "tokens has 1 dimensions"),
    ("npu_moe_token_permute(x, x[:1].int())", RuntimeError, "indices"),
    ("npu_moe_token_permute(x, x[:, 0].int(), None, True)", RuntimeError, "paddedMode"),
    ("npu_moe_token_unpermute(x, x[0].int(), None, True)", NotImplementedError, "padded_mode"),
    ("npu_moe_token_unpermute(x, x[0].int(), x[:, :3])", RuntimeError, "probs"),
    ("npu_linear(x[None], x)", RuntimeError, "expected 2"),
    ("npu_quantize(x, x[0], None, torch_npu.npu.current_device)", RuntimeError, "expected int8, uint8 or int32"),
    ("npu_apply_rotary_pos_emb(x, x, x, x)", NotImplementedError, "take four, BSND"),
    ("npu_grouped_matmul([x], [x], group_type=0)", NotImplementedError, "take group_type 0 or 2"),
    ("npu_grouped_matmul([x], [x], group_type=0, split_item=3)", RuntimeError, "group_list is None"),
    ("npu_grouped_matmul([x], [x], group_list=[2], group_type=0, split_item=3)", RuntimeError, "expected .m, k. and"),
    ("npu_grouped_matmul([x], [x], group_list=[8], group_type=2, split_item=3)", RuntimeError, "expected .m, k. and"),
    ("npu_grouped_matmul([x, x], [x.mT])", RuntimeError, "x has 2 tensors, weight has 1"),
    ("npu_grouped_matmul([x, x], [x], group_list=[2], group_type=0, split_item=3)", NotImplementedError, "stack them"),
    ("npu_grouped_matmul([x], [x.mT], act_type=1)", NotImplementedError, "act_type 1 is not supported on npu: only 0"),
    ("npu_grouped_matmul([x], [x.mT], offset=[x])", NotImplementedError, "offset is not supported on npu"),
    ("npu_grouped_matmul([x], [x.mT[None]], scale=[x], group_list=[2], group_type=0, split_item=3)", RuntimeError,
     "scaleOptional is given, and x is not INT8"),
    ("npu_quant_matmul(x, x.mT, x[0])", RuntimeError, "x1 has dtype torch.float32, expected torch.int8"),
    ("npu_weight_quant_batchmatmul(x.half(), x.mT, x[0].half())", RuntimeError, "weight has dtype torch.float32"),
    ("npu_trans_quant_param(x[0].half())", RuntimeError, "scale has dtype torch.float16, expected torch.float32"),
    ("npu_quant_matmul(x.char(), x.mT.char(), x[0, :2], output_dtype=x.dtype)", NotImplementedError,
     "output_dtype torch.float32"),
    ("npu_quant_matmul(x.char(), x.mT.char(), x[0])", RuntimeError, "neither 1 nor 2 elements"),
    ("npu_trans_quant_param(x[0], None, 1)", NotImplementedError, "round_mode 1"),
    ("npu_weight_quant_batchmatmul(x.half(), x.mT.char(), x[0, :2].half(), antiquant_group_size=32)",
     NotImplementedError, "antiquant_group_size 32"),
    ("npu_weight_quant_batchmatmul(x.half(), x.char(), x[0].half())", RuntimeError, "inner|cannot be multiplied"),
    ("npu_add_rms_norm_quant(x, x, x[0], x[0], None, axis=0)", NotImplementedError, "axis 0"),
    ("npu_add_rms_norm_quant(x, x, x[0], x[0], None, beta=x[0])", NotImplementedError, "beta is not supported"),
    ("npu_add_rms_norm_quant(x, x, x[0], x[0, :4], None)", RuntimeError, "scales1"),
    ("npu_moe_init_routing_v2(x, x.int(), expert_num=4)", NotImplementedError, "expert_tokens_num_flag False"),
    ("npu_moe_init_routing_v2(x, x.int(), expert_num=4, expert_tokens_num_flag=True, active_num=3)", RuntimeError,
     "active_num is 3, expected the number of copies, 16"),
    ("npu_moe_init_routing_v2(x, x.int(), expert_num=4, expert_tokens_num_flag=True, active_expert_range=[2, 9])",
     RuntimeError, "no range"),
    ("npu_moe_init_routing_v2(x, x.int(), expert_tokens_num_flag=True, quant_mode=0)", NotImplementedError,
     "quant_mode 0"),
    ("npu_moe_gating_top_k(x, 9)", RuntimeError, "9 experts"),
    ("npu_moe_gating_top_k(x, 2, group_count=3)", RuntimeError, "groupCount is 3"),
    ("npu_moe_gating_top_k(x, 5, group_count=2)", RuntimeError, "k is 5"),
    ("npu_moe_gating_top_k(x, 2, input_ids=x)", NotImplementedError, "input_ids is not supported on npu"),
    ("npu_moe_compute_expert_tokens(x.int(), 2)", RuntimeError, "sortedExperts"),
    ("npu_top_k_top_p(x[0], x[0])", RuntimeError, "1 dimensions|logits has"),
    ("npu_pad(x, [1, 1])", RuntimeError, "two for each of 2 dimensions"),
    ("npu_slice(x, [0], [1])", RuntimeError, "expected 2 of both"),
    ("npu_mm_all_reduce_base(x, x, 'group')", NotImplementedError, "Call torch.matmul and torch.distributed"),
    ("npu_get_float_status(x)", NotImplementedError, "Call torch.isfinite"),
    ("npu_no_such_operator(x)", AttributeError, "nor has torch_npu 2.13"),
    ("npu_one_hot(x)", RuntimeError, "integers"),
    ("npu_format_cast(x, 29)", RuntimeError, "FRACTAL_NZ is a format of the chip's own"),
    ("npu_format_cast(x, 99)", RuntimeError, "unknown format type:99"),
]


@pytest.mark.parametrize(("call", "error", "text"), REFUSED)
def test_refused(call, error, text):
    x = mindtorch.arange(16, device="npu").reshape(2, 8).float()
    with pytest.raises(error, match=text):
        eval(f"torch_npu.{call}", {"torch_npu": torch_npu, "x": x})


# --- what stands on operators of torch -------------------------------------------------------------------------------

X = "torch.arange(24.).reshape(2, 3, 4) / 8 - 1"
SAME = [
    ("npu_linear(x[0], x[1], x[1, :, 0])", "F.linear(x[0], x[1], x[1, :, 0])"),
    ("npu_linear(x[0], x[1])", "F.linear(x[0], x[1])"),
    ("npu_gelu(x, approximate='tanh')", "F.gelu(x, approximate='tanh')"),
    ("npu_silu(x)", "F.silu(x)"),
    ("npu_silu_(x.clone())", "F.silu(x)"),
    ("npu_mish(x)", "F.mish(x)"),
    ("npu_dtype_cast(x, torch.float16)", "x.half()"),
    ("npu_transpose(x, (2, 0, 1))", "x.permute(2, 0, 1)"),
    ("npu_confusion_transpose(x, (0, 2, 1), (2, 12), True)", "x.permute(0, 2, 1).reshape(2, 12)"),
    ("npu_confusion_transpose(x, (1, 0), (4, 6), False)", "x.reshape(4, 6).permute(1, 0)"),
    ("npu_bmmV2(x, x.mT, [])", "x @ x.mT"),
    ("npu_bmmV2(x, x.mT, [1, 3, 3])", "(x @ x.mT).sum(0, True)"),
    ("npu_one_hot(x[0, 0].int(), depth=3)", "(x[0, 0].int()[:, None] == torch.arange(3)).float()"),
    ("npu_one_hot(x[0, 0].int(), 0, 2, 5, 3)", "(x[0, 0].int() == torch.arange(2)[:, None]) * 2.0 + 3"),
    ("npu_format_cast(x, 2)", "x"),
    ("npu_format_cast_(x, 0)", "x"),
    ("fast_gelu(x)", "x * torch.sigmoid(1.702 * x)"),
    ("npu_linear_backward(x[0] @ x[1].mT, x[0], x[1])[0]", "x[0] @ x[1].mT @ x[1]"),
    ("npu_linear_backward(x[0] @ x[1].mT, x[0], x[1])[1]", "(x[0] @ x[1].mT).mT @ x[0]"),
    ("npu_gelu_backward(x, x, approximate='tanh')", "torch.ops.aten.gelu_backward(x, x, approximate='tanh')"),
    ("npu_silu_backward(x, x, x)", "torch.ops.aten.silu_backward(x, x)"),
    ("npu_mish_backward(x, x)", "torch.ops.aten.mish_backward(x, x)"),
    ("npu_layer_norm_eval(x, (4,), x[0, 1], x[1, 0])", "F.layer_norm(x, (4,), x[0, 1], x[1, 0])"),
    ("npu_max(x, 1)[0]", "x.max(1).values"),
    ("npu_max(x, -1, True)[1]", "x.max(-1, True).indices.int()"),
    ("npu_min(x, 0)[0]", "x.min(0).values"),
    ("npu_min(x, 0)[1]", "x.min(0).indices.int()"),
    ("npu_broadcast(x[:, :1], (2, 3, 4))", "x[:, :1].expand(2, 3, 4)"),
    ("npu_reshape(x, (6, 4))", "x.reshape(6, 4)"),
    ("npu_conv2d(x[None], x[None, :, :2, :2], None, (1, 2), (0, 1), (1, 1), 1)",
     "F.conv2d(x[None], x[None, :, :2, :2], None, (1, 2), (0, 1), (1, 1), 1)"),
    ("npu_quantize(x, x[0, :, 0].abs() / 4, torch.tensor([1, 0, -2], dtype=torch.int32).to(x.device), torch.int8)",
     "(x / (x[0, :, 0].abs() / 4)[:, None] + torch.tensor([1, 0, -2])[:, None]).round().clamp(-128, 127).char()"),
    ("npu_quantize(x, 100 * x.new_ones(1), None, torch.quint8, 0, False)", "(x * 100).round().clamp(0, 255).byte()"),
    ("npu_apply_rotary_pos_emb(x[None], x[None, :, :1], x[None, :, :1], x[None, :, 1:2])[0]",
     "x[None] * x[None, :, :1] + torch.cat([-x[..., 2:], x[..., :2]], -1) * x[None, :, 1:2]"),
    ("npu_apply_rotary_pos_emb(x[None], x[None, :, :1], x[None, :, :1], x[None, :, 1:2])[1]",
     "x[None, :, :1] ** 2 + torch.cat([-x[None, :, :1, 2:], x[None, :, :1, :2]], -1) * x[None, :, 1:2]"),
    ("npu_pad(x, [1, 0, 0, 2, 0, 1])", "F.pad(x, [0, 1, 0, 2, 1, 0])"),
    ("npu_slice(x, [1, 0, 1], [1, 2, -1])", "x[1:2, :2, 1:]"),
    ("npu_sort_v2(x, 1, True)", "x.sort(1, True).values"),
    ("npu_view_copy(x[0].clone(), x[1], False)", "x[1]"),
    ("npu_dtype_cast_(x.half(), x * 2)", "x.half() * 2"),
    ("npu_dtype_cast_backward(x, torch.float16)", "x.half()"),
    ("npu_softmax_cross_entropy_with_logits(x[0], x[1].softmax(-1))",
     "F.cross_entropy(x[0], x[1].softmax(-1), reduction='none')"),
    ("npu_convolution(x[None], x[None, :, :2, :2], None, (1, 2), (0, 1), (1, 1), 1)",
     "F.conv2d(x[None], x[None, :, :2, :2], None, (1, 2), (0, 1), (1, 1), 1)"),
    ("npu_convolution(x[None, None], x[None, None, :1], None, (1, 1, 1), (0, 1, 0), (1, 1, 1), 1)",
     "F.conv3d(x[None, None], x[None, None, :1], None, (1, 1, 1), (0, 1, 0), (1, 1, 1), 1)"),
    ("npu_conv3d(x[None, None], x[None, None, :1], None, (1, 1, 1), (0, 1, 0), (1, 1, 1), 1)",
     "F.conv3d(x[None, None], x[None, None, :1], None, (1, 1, 1), (0, 1, 0), (1, 1, 1), 1)"),
    ("npu_conv_transpose2d(x[None], x[:, None, :2, :2], None, (0, 1), (0, 1), (1, 2), (1, 1), 1)",
     "F.conv_transpose2d(x[None], x[:, None, :2, :2], None, (1, 2), (0, 1), (0, 1), 1, (1, 1))"),
    ("npu_convolution_transpose(x[None, None], x[None, None, :1], None, (0, 1, 0), (0, 0, 0), (1, 1, 1), (1, 1, 1), 1)",
     "F.conv_transpose3d(x[None, None], x[None, None, :1], None, 1, (0, 1, 0))"),
    ("npu_grouped_matmul([x[0], x[1]], [x[1].mT, x[0].mT])[1]", "x[1] @ x[0].mT"),
    ("npu_grouped_matmul([x[0]], [x[1].mT], bias=[x[0, 0, :3]])[0]", "x[0] @ x[1].mT + x[0, 0, :3]"),
    ("npu_grouped_matmul([x[0]], [x.mT], group_list=[1, 3], split_item=3, group_type=0)[0]",
     "torch.cat([x[0, :1] @ x[0].mT, x[0, 1:] @ x[1].mT])"),
    ("npu_grouped_matmul([x[0]], [x[1].mT], group_list=[1, 3], split_item=2, group_type=2, group_list_type=1)[0]",
     "torch.stack([x[0, :, :1] @ x[1].mT[:1], x[0, :, 1:] @ x[1].mT[1:]])"),
    ("npu_quant_matmul((x[0] * 8).char(), (x[1].mT * 8).char(), x.new_full((3,), 0.25), output_dtype=torch.float16)",
     "((x[0] * 8) @ (x[1].mT * 8) / 4).half()"),
    ("npu_quant_matmul((x[0] * 8).char(), (x[1].mT * 8).char(), x.new_full((1,), 0.125))",
     "((x[0] * 8) @ (x[1].mT * 8) / 8).round().char()"),
    ("npu_weight_quant_batchmatmul(x[0].half(), (x[1].mT * 8).char(), x.new_full((3,), 0.25).half())",
     "(x[0] @ (x[1].mT * 2)).half()"),
    ("npu_trans_quant_param(x.new_full((1,), 0.25))", "torch.tensor([0x3E800000 + (1 << 46)])"),
    ("npu_add_rms_norm_quant(x[0], x[0], x[0, 0] * 8, x.new_ones(4), None)[0]",
     "(x[0] * 2 * (x[0] * 2).square().mean(-1, keepdim=True).add(1e-6).rsqrt() * x[0, 0] * 8).round().char()"),
    ("npu_moe_token_permute_grad(x[0], x[1], *2 * [torch.tensor([2, 0, 1], dtype=torch.int32).to(x.device)])",
     "x[1][[2, 0, 1]]"),
]


@pytest.mark.parametrize(("call", "formula"), SAME)
def test_functions_that_torch_has_by_another_name(call, formula):
    theirs = eval(formula, {"torch": torch, "F": torch.nn.functional, "x": eval(X)})
    x = eval(X, {"torch": mindtorch}).npu()
    names = {"torch_npu": torch_npu, "torch": mindtorch, "x": x}
    ours = eval(f"torch_npu.{call}", names)
    assert str(ours.dtype) == str(theirs.dtype)
    assert ours.is_contiguous()
    rtol = 1e-5 if theirs.dtype is torch.float32 else 1e-3
    torch.testing.assert_close(as_torch(ours), theirs.double(), rtol=rtol, atol=rtol)
    if call.startswith("npu_"):
        with pytest.raises(NotImplementedError, match="on cpu"):
            eval(f"torch_npu.{call}", names | {"x": x.cpu()})


@pytest.mark.parametrize("name", ["Adadelta", "Adam", "AdamW", "RMSprop", "SGD"])
def test_optimizers(name):
    """Steps of torch.optim's, with torch_npu's order of parameters; gradients are clipped for all groups."""
    stepped = []
    for optimizers, prefix, lib, device in ((torch.optim, "", torch, "cpu"),
                                            (torch_npu.optim, "NpuFused", mindtorch, "npu")):
        parameters = [lib.tensor([1.0, -2.0], device=device, requires_grad=True) for _ in range(2)]
        optimizer = getattr(optimizers, prefix + name)([{"params": [each]} for each in parameters], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            sum((each ** 2).sum() for each in parameters).backward()
            if prefix:
                optimizer.clip_grad_norm_fused_(1.0)
            else:
                torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
        stepped.append(parameters[0].tolist())
    assert stepped[1] == pytest.approx(stepped[0], rel=1e-5)


def test_optimizers_that_are_not_there():
    with pytest.raises(AttributeError, match=r"mindtorch has NpuFusedAdadelta, .*, and torch\.optim"):
        _ = torch_npu.optim.NpuFusedLamb


def test_formats():
    for shape, name in (((2,), "ND"), ((1, 2, 3), "ND"), ((1, 2, 3, 4), "NCHW"), ((1, 2, 3, 4, 5), "NCDHW")):
        assert str(torch_npu.get_npu_format(mindtorch.zeros(shape, device="npu"))) == name
    assert torch_npu.Format.FRACTAL_NZ == 29
    x = mindtorch.ones(2, 2, device="npu", requires_grad=True)
    cast = torch_npu.npu_format_cast(x, torch_npu.Format.ND)
    assert cast.data_ptr() == x.data_ptr()
    cast.sum().backward()
    assert x.grad.tolist() == [[1, 1], [1, 1]]


def test_the_sum_that_is_normalized_has_a_gradient_too():
    """Of npu_add_layer_norm: alone, and beside that of the norm."""
    names = ("x1", "x2", "gamma", "beta")
    for of_norm in (0, 1):
        theirs = {name: torch.randn(4 if name in ("gamma", "beta") else (2, 4), dtype=torch.float64,
                                    generator=torch.Generator().manual_seed(3)).requires_grad_() for name in names}
        ours = {name: mindtorch.tensor(x.tolist(), device="npu").requires_grad_() for name, x in theirs.items()}
        for call, args in ((add_layer_norm, theirs), (torch_npu.npu_add_layer_norm, ours)):
            norm, _, _, added = call(*args.values(), 1e-3, True)
            ((norm * norm).sum() * of_norm + (added * added).sum()).backward()
        for name in names:
            if of_norm or name[0] == "x":
                close(ours[name].grad, theirs[name].grad, "float32")


def test_the_second_result_of_a_norm_and_its_dtype():
    x = mindtorch.ones(2, 4, dtype=mindtorch.float16, device="npu")
    result, rstd = torch_npu.npu_rms_norm(x, mindtorch.ones(4, device="npu"))
    assert (result.dtype, rstd.dtype, tuple(rstd.shape)) == (mindtorch.float16, mindtorch.float32, (2, 1))


@pytest.mark.parametrize("dtype", ["bool", "int8", "int32", "int64", "float32"])
def test_a_cache_is_written_in_place(dtype):
    """As inference does: rows of a cache, through a view of it, by slots."""
    cache = mindtorch.zeros(2, 3, 4, device="npu").to(getattr(mindtorch, dtype))
    rows = (mindtorch.arange(8, device="npu") % 3).reshape(2, 4).to(cache.dtype)
    lines = cache.view(6, 4)
    assert torch_npu.npu_scatter_nd_update_(lines, mindtorch.tensor([[4], [1]], device="npu"), rows) is lines
    expected = torch.zeros(6, 4, dtype=torch.float64)
    expected[[4, 1]] = as_torch(rows)
    assert torch.equal(as_torch(cache), expected.reshape(2, 3, 4))
    copied = torch_npu.npu_scatter_nd_update(lines, mindtorch.tensor([[0], [1]], device="npu").int(), rows)
    assert torch.equal(as_torch(cache), expected.reshape(2, 3, 4))
    expected[[0, 1]] = as_torch(rows)
    assert torch.equal(as_torch(copied), expected)


def test_a_line_of_overlaps_for_each_ground_truth_box():
    boxes = mindtorch.tensor([[0., 0, 10, 10], [10, 10, 20, 20], [32, 32, 38, 42]], device="npu")
    truths = mindtorch.tensor([[0., 0, 10, 20], [10, 10, 20, 20]], device="npu")
    for mode in (0, 1):
        found = torch_npu.npu_iou(boxes, truths, mode)
        expected = iou(as_torch(boxes), as_torch(truths), mode).t()
        assert found.is_contiguous()
        assert expected[1, 1] > 0.99
        close(found, expected, "float32")


def test_an_expert_gets_int8_copies_with_a_scale_each():
    """A whole layer of experts as programs for inference write it: dynamic quantization, and products by groups."""
    x, experts = torch.randn(4, 8, generator=torch.Generator().manual_seed(1)).half(), [[1, 0], [2, 1], [0, 2], [1, 2]]
    weight = torch.randint(-9, 10, (3, 8, 6), generator=torch.Generator().manual_seed(2))
    factors = torch.linspace(0.01, 0.05, 18).reshape(3, 6)
    copies, rows, sizes, scales = torch_npu.npu_moe_init_routing_v2(
        mindtorch.tensor(x.tolist(), dtype=mindtorch.float16, device="npu"),
        mindtorch.tensor(experts, dtype=mindtorch.int32, device="npu"), active_num=8, expert_num=3,
        expert_tokens_num_type=1, expert_tokens_num_flag=True, quant_mode=1)
    assert sizes.tolist() == [2, 3, 3]
    found, = torch_npu.npu_grouped_matmul(
        [copies], [mindtorch.tensor(weight.tolist(), dtype=mindtorch.int8, device="npu")],
        scale=[mindtorch.tensor(factors.tolist(), device="npu")], per_token_scale=[scales], group_list=sizes,
        split_item=3, group_type=0, group_list_type=1, output_dtype=mindtorch.float16)
    assert found.dtype is mindtorch.float16
    for copy, expert in enumerate(expert for line in experts for expert in line):
        line = as_torch(found)[rows.tolist()[copy]]
        expected = x[copy // 2].double() @ (weight * factors[:, None])[expert].double()
        torch.testing.assert_close(line, expected, rtol=0.02, atol=0.05)


def test_bounds_of_groups_that_leave_the_rows_are_a_fault():
    code = """if True:
        import mindtorch as torch
        from mindtorch import _torch_npu as torch_npu
        x = torch.ones(4, 2, device="npu")
        torch_npu.npu_grouped_matmul([x], [x.reshape(1, 2, 4)], group_list=[9], split_item=3, group_type=0)[0].cpu()
    """
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.returncode == 1
    assert "aclnnGroupedMatmulV4" in found.stderr


def test_every_operator_is_there_or_says_what_is_missing():
    names = (Path(__file__).parent / "torch_npu_operator_names.txt").read_text(encoding="utf-8").split()
    refused = torch_npu._refused.FUNCTIONS
    assert [name for name in names if not callable(getattr(torch_npu, name, None))] == []
    assert set(refused) <= set(names)
    others = [name for module in (torch_npu._attention, torch_npu._boxes, torch_npu._formats, torch_npu._moe,
                                  torch_npu._quantization, torch_npu._renamed) for name in module.__all__]
    assert not set(refused) & {*others, *NPU}
    for name, function in refused.items():
        with pytest.raises(NotImplementedError, match=rf"^torch_npu\.{name}: .*\. (Call|Write|Compute) "):
            function()
