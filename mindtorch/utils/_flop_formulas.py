"""How many floating point operations functions need: a multiplication and an addition are two.

Each formula is given the arguments and the result, and says what was multiplied: [(name of aten's operator, operations,
operands that have gradients to compute, the operations for each of these, operator that computes them)].
"""
from __future__ import annotations

import math
from typing import Any

from mindtorch._ops.composite import matmul as composite_matmul

__all__ = ["FORMULAS"]


def _product(name, count, *operands):
    """A product of matrices; each gradient is a product of the same size."""
    backward = "bmm" if name in ("bmm", "baddbmm") else "mm"
    return [(name, count, [(each, count) for each in operands], backward)]


def _matmul(result, a, b, *args, **kwargs):
    if b.dim() == 1 or (a.dim() == 1 and b.dim() > 2):          # dot, mv: torch does not count them
        return []
    return _product("mm" if min(a.dim(), b.dim()) <= 2 else "bmm", 2 * result.numel() * a.shape[-1], a, b)


def _swapped_matmul(result, b, a):
    return _matmul(result, a, b)


def _plain(name):
    return lambda result, a, b, *args, **kwargs: _product(name, 2 * result.numel() * a.shape[-1], a, b)


def _added(name):
    return lambda result, c, a, b, *args, **kwargs: _product(name, 2 * result.numel() * a.shape[-1], a, b)


def _linear(result, input, weight, bias=None):
    return _product("mm" if bias is None else "addmm", 2 * result.numel() * input.shape[-1], input, weight)


def _inner(result, a, b, **kwargs):
    return _product("mm", 2 * result.numel() * a.shape[-1], a, b) if a.dim() and b.dim() else []


def _tensordot(result, a, b, dims=2, **kwargs):
    shared = math.sqrt(a.numel() * b.numel() // result.numel()) if result.numel() else 0
    return _product("mm", 2 * result.numel() * round(shared), a, b)


def _einsum(result, *args):
    equation, operands = composite_matmul._read_arguments(args)
    inputs, output = composite_matmul._read_equation(equation, operands)
    sizes, listed = composite_matmul._label_sizes(inputs, operands), [label for each in inputs for label in each]
    if output is None:
        output = [label for label in listed if isinstance(label, int) or listed.count(label) == 1]
    found, first = [], set(inputs[0])
    for i, second in enumerate(map(set, inputs[1:]), 1):
        needed = set(output).union(*inputs[i + 1:])
        labels = (first & (second | needed)) | (second & (first | needed))
        if (first & second) - needed:           # else nothing is summed over, and it is an elementwise product
            before = operands[:i] if i > 1 else operands[:1]
            count = 2 * math.prod(sizes[label] for label in labels)
            found += [("bmm", count, [(_First(before), count), (operands[i], count)], "bmm")]
        first = labels & needed
    return found


class _First:
    """The product of the operands so far: it has gradients where one of them has."""

    def __init__(self, operands: Any) -> None:
        self.requires_grad = any(each.requires_grad for each in operands)


def _convolution(transposed):
    def count(result, input, weight, *args, **kwargs):
        positions = math.prod((input if transposed else result).shape[-(weight.dim() - 2):])
        batch = input.shape[0] if input.dim() == weight.dim() else 1
        channels = [each.shape[-weight.dim() + 1] for each in (input, result)]
        # torch's gradient of the weight takes all channels together, whatever the groups are.
        of_weight = 2 * batch * positions * math.prod(channels) * math.prod(weight.shape[2:])
        own = 2 * batch * positions * weight.numel()
        return [("convolution", own, [(input, own), (weight, of_weight)], "convolution_backward")]
    return count


def _attention(result, query, key, value, *args, **kwargs):
    rows = query.shape[:-1].numel() * key.shape[-2]
    scores, sums = 2 * rows * query.shape[-1], 2 * rows * value.shape[-1]
    return (_product("bmm", scores, query, key) + _product("bmm", sums, _First([query, key]), value))


def _cell(result, input, hidden, w_ih, w_hh, b_ih=None, b_hh=None):
    state = hidden[0] if isinstance(hidden, (list, tuple)) else hidden
    batch = input.numel() // input.shape[-1]
    return [part for x, weight, bias in ((input, w_ih, b_ih), (state, w_hh, b_hh)) for part in _product(
        "mm" if bias is None else "addmm", 2 * batch * weight.numel(), x, weight)]


FORMULAS = {
    "matmul": _matmul, "__matmul__": _matmul, "__rmatmul__": _swapped_matmul, "mm": _plain("mm"), "bmm": _plain("bmm"),
    "addmm": _added("addmm"), "addmm_": _added("addmm"), "baddbmm": _added("baddbmm"), "baddbmm_": _added("baddbmm"),
    "linear": _linear, "inner": _inner, "tensordot": _tensordot, "einsum": _einsum,
    "scaled_dot_product_attention": _attention,
    **dict.fromkeys(("conv1d", "conv2d", "conv3d"), _convolution(False)),
    **dict.fromkeys(("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), _convolution(True)),
    **dict.fromkeys(("gru_cell", "lstm_cell", "rnn_tanh_cell", "rnn_relu_cell"), _cell)}
