"""Operators whose result or operands are written to before backward: what torch allows is allowed.

Where torch refuses, backward may do without the tensor that torch saves.
"""
import warnings

import pytest
import torch
from samples import SAMPLES, Description, Make
from test_ops import TABLE

import mindtorch
from mindtorch._ops.codegen import emit_grad

ROWS = {row.key: row for row in TABLE.rows
        if row.samples in SAMPLES and emit_grad.recorded(row) and "function" in row.variants
        and not row.schema.name.startswith("_") and hasattr(torch, row.schema.name)}
FAMILIES = sorted({row.family for row in ROWS.values()} - {"compare"})      # which gives bools


def realised(value, lib, tensors):
    """The value of a sample; `tensors` gets those with a history."""
    if isinstance(value, (list, tuple)):
        return [realised(each, lib, tensors) for each in value]
    if not isinstance(value, Description):
        return value
    tensor = value.realise(lib, "cpu")
    if tensor.is_floating_point():
        tensor = tensor.requires_grad_() * 1
        tensors.append(tensor)
    return tensor


def outcome(lib, row, args, kwargs, written):
    """What backward says after a write to that operand, to the result for -1; None where there is nothing to write."""
    tensors = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        args = [realised(value, lib, tensors) for value in args]
        kwargs = {name: getattr(lib, value) if name.endswith("dtype") and isinstance(value, str) else
                  realised(value, lib, tensors) for name, value in kwargs.items()}
        try:
            found = getattr(lib, row.schema.name)(*args, **kwargs)
        except (IndexError, RuntimeError, TypeError):       # the sample is for another overload
            return None
        results = [each for each in (found if isinstance(found, (tuple, list)) else [found]) if each.requires_grad]
        if not results or written >= len(tensors):
            return None
        target = tensors[written] if written >= 0 else results[0]
        with lib.no_grad():
            try:
                target.zero_()
            except RuntimeError:                # its elements lie on each other
                return None
        try:
            (results[0].abs() if results[0].is_complex() else results[0]).sum().backward()
        except RuntimeError as error:
            return str(error)
    return "allowed"


@pytest.mark.parametrize("family", FAMILIES)
def test_writes_that_torch_allows(family):
    wrong, tried = {}, 0
    for key, row in ROWS.items():
        if row.family != family:
            continue
        for args, kwargs in list(SAMPLES[row.samples](Make("float32", seed=1)))[:2]:
            for written in range(-1, 3):
                if outcome(torch, row, args, kwargs, written) == "allowed":
                    tried += 1
                    found = outcome(mindtorch, row, args, kwargs, written)
                    if found != "allowed":
                        wrong[key, written] = found
    assert not wrong
    assert tried


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.parametrize("shapes", [((1, 6), ()), ((1, 6), (2, 3)), ((6,), (2, 3)), ((2, 6), (3, 3)), ((2, 6), (2, 1))])
def test_a_leaf_that_out_resizes_before_backward(shapes, device):
    """The gradient takes the shape that the leaf then has, if it can be broadcast to that."""
    def outcome(lib, where):
        before, after = (lib.ones(shape, device=where) for shape in shapes)
        leaf = before[..., ::2].requires_grad_()
        result = lib.tril(lib.stack([leaf, leaf]))
        lib.ge(after, after, out=leaf)
        try:
            result.sum().backward()
        except RuntimeError as error:
            return str(error)
        return leaf.grad.tolist()
    assert outcome(mindtorch, device) == outcome(torch, "cpu")
