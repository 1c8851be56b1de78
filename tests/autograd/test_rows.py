"""Every op row with a derivative: gradcheck and gradgradcheck in float64, and the NPU's gradients beside the CPU's.

A sample counts where torch's function gives finite real numbers; each row needs at least one that does.
"""
import math
import warnings

import numpy as np
import pytest
import torch
from samples import SAMPLES, Description, Make
from test_ops import TABLE, forms, realised

import mindtorch
from mindtorch._ops.generator import emit_grad

ROWS = {row.key: row for row in TABLE.rows if row.samples in SAMPLES and emit_grad.recorded(row) and [*forms(row)]}
# Their derivatives cannot be differentiated once more, in torch neither.
ONCE = ()
# Rows that the checks below do not pass, or whose samples they cannot use: to be mended. They must go on failing.
OPEN = {
    "gradcheck": ("outer", "nll_loss_forward", "nll_loss_backward", "embedding_dense_backward",
                  "linalg_cholesky", "linalg_cholesky_ex", "linalg_eig", "linalg_qr", "_linalg_svd", "_fft_c2c",
                  "_fft_c2r", "_fft_r2c", "complex", "polar", "igamma", "igammac", "special_zeta"),
    "npu": ("linalg_qr", "_linalg_svd", "digamma"),
}


def rows_for(check):
    """The rows as parameters of a test; those known to be open must fail."""
    return [pytest.param(key, marks=pytest.mark.xfail(strict=True, reason="open")) if key in OPEN[check] else key
            for key, row in ROWS.items() if check != "npu" or not row.npu.startswith("none")]


FEW, MANY = 40, 400            # elements of a sample: a jacobian costs two calls each


def tensors(value):
    """The tensor descriptions in arguments."""
    if isinstance(value, Description):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors(item)
    elif isinstance(value, dict):
        yield from tensors(list(value.values()))


def results(value):
    """The differentiable tensors among results."""
    return [r for r in (value if isinstance(value, (tuple, list)) else (value,))
            if isinstance(r, (torch.Tensor, mindtorch.Tensor)) and r.is_floating_point()]


def elements(args, kwargs):
    return sum(len(d.values) for d in (*tensors(args), *tensors(kwargs)))


def finite(call, args, kwargs):
    """Whether the sample is one to differentiate: torch computes real, finite numbers from such."""
    described = [*tensors(args), *tensors(kwargs)]
    if not all(math.isfinite(x) for d in described if d.dtype.startswith("float") for x in d.values):
        return False
    if not 0 < elements(args, kwargs) <= MANY:
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = results(call(torch, realised(args, torch, "cpu", "contiguous"),
                                 realised(kwargs, torch, "cpu", "contiguous")))
        except Exception:      # noqa: BLE001 - a call that is refused has no derivative
            return False
    return bool(found) and all(r.isfinite().all() and r.dtype == torch.float64 for r in found)


def functions(row):
    """(form, function) that give results without changing their arguments."""
    found = list(forms(row))
    if len(found) > 1 and found[1][0] == "method":       # the same as the function
        del found[1]
    for form, call in found:
        if form == "in-place" or row.schema.inplace:
            yield form, lambda lib, args, kwargs, call=call: call(lib, (args[0].clone(), *args[1:]), kwargs)
        else:
            yield form, call


def cases(row):
    """(form, call, args, kwargs) of the samples that can be differentiated and are small, or else of the smallest."""
    for form, call in functions(row):
        usable = [(args, kwargs) for args, kwargs in SAMPLES[row.samples](Make("float64", seed=row.key))
                  if finite(call, args, kwargs)]
        small = [one for one in usable if elements(*one) <= FEW]
        for args, kwargs in small or sorted(usable, key=lambda one: elements(*one))[:2]:
            yield form, call, args, kwargs


def parameters(args, kwargs, dtype, device):
    """The sample as a function of a flat list of tensors: (the list, how to put them back)."""
    described = [*tensors(args), *tensors(kwargs)]
    made = []
    for d in described:
        of = dtype if d.dtype == "float64" else d.dtype
        made.append(mindtorch.tensor(list(d.values), dtype=getattr(mindtorch, of)).reshape(d.shape).to(device))
        if d.dtype == "float64":
            made[-1].requires_grad_()

    def restore(given):
        left = iter(given)

        def put(value):
            if isinstance(value, Description):
                return next(left)
            if isinstance(value, (list, tuple)):
                return type(value)(put(item) for item in value)
            if isinstance(value, dict):
                return {k: getattr(mindtorch, v) if k.endswith("dtype") else put(v) for k, v in value.items()}
            return value
        return put(args), put(kwargs)
    return made, restore


@pytest.mark.parametrize("key", rows_for("gradcheck"))
def test_gradcheck(key):
    row, checked = ROWS[key], 0
    for form, call, args, kwargs in cases(row):
        inputs, restore = parameters(args, kwargs, "float64", "cpu")

        def function(*given, call=call, restore=restore):
            return tuple(results(call(mindtorch, *restore(given))))
        where = f"{key}, {form}, {args} {kwargs}"
        assert any(r.requires_grad for r in function(*inputs)), f"no history: {where}"
        try:
            mindtorch.autograd.gradcheck(function, inputs)
            if key not in ONCE:
                mindtorch.autograd.gradgradcheck(function, inputs, atol=1e-4)
        except Exception as error:
            raise AssertionError(f"{where}: {error}") from error
        checked += 1
    assert checked, f"{key}: no sample could be differentiated"


@pytest.mark.parametrize("key", rows_for("npu"))
def test_npu_as_cpu(key):
    for form, call, args, kwargs in cases(ROWS[key]):
        where, found = f"{key}, {form}, {args} {kwargs}", []
        for device in ("cpu", "npu"):
            inputs, restore = parameters(args, kwargs, "float32", device)
            outputs = [r for r in results(call(mindtorch, *restore(inputs))) if r.requires_grad]
            mindtorch.autograd.backward(outputs, [mindtorch.ones_like(r) for r in outputs])
            for tensor in inputs:
                assert tensor.grad is None or tensor.grad.device == tensor.device, where
            found.append([None if x.grad is None else x.grad.cpu().numpy() for x in inputs])
        for one, other in zip(*found, strict=True):
            assert (one is None) == (other is None), where
            if one is not None:
                np.testing.assert_allclose(other, one, rtol=1e-3, atol=1e-4, err_msg=where)
