"""Every op row with a derivative: gradcheck and gradgradcheck in float64, and the NPU's gradients beside the CPU's.

A sample counts where torch's function gives finite real numbers; each row needs at least one that does.
"""
import cmath
import warnings

import numpy as np
import pytest
import torch
from samples import SAMPLES, Description, Make
from test_ops import TABLE, forms

import mindtorch
from mindtorch._ops.codegen import emit_grad

# Their derivatives hold in front of a log_softmax only, in torch too: tests/nn compare them.
IN_FRONT_OF_SOFTMAX = ("_ctc_loss",)
# Their derivatives hold where mean and rstd are those of the input, whose second derivatives reach them.
WITH_STATISTICS = ("native_layer_norm_backward", "native_group_norm_backward", "native_batch_norm_backward")
# Their derivatives pass rounding by: tests/ops/test_composites_math.py compares them with torch's.
STRAIGHT_THROUGH = ("fake_quantize_per_channel_affine_cachemask",)
# Their derivatives are those of a whole matrix, of which they read a triangle: tests/ops/test_linalg.py compares them.
OF_ONE_TRIANGLE = ("cholesky_solve",)
ROWS = {row.key: row for row in TABLE.rows if row.samples in SAMPLES and emit_grad.recorded(row) and [*forms(row)]
        and row.key not in (*IN_FRONT_OF_SOFTMAX, *WITH_STATISTICS, *STRAIGHT_THROUGH, *OF_ONE_TRIANGLE)
        and not all(expression.startswith("no_derivative") for expression in row.grad.values())}
ON_NPU = [key for key, row in ROWS.items() if not row.npu.startswith("none")]
# Their derivatives cannot be differentiated once more, in torch neither.
ONCE = ()
# They read one triangle of what must be symmetric, so small differences are made in both.
SYMMETRIC = ("linalg_cholesky", "linalg_cholesky_ex", "linalg_eigh", "linalg_eigvalsh")
# Complex results of these are determined but for a factor of absolute value 1.
UP_TO_PHASE = ("linalg_eig",)
# Samples for gradients, where those for values will not do.
GRADIENT_SAMPLES = {"_linalg_svd": "svd_vectors"}


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


def results(value, key, lib):
    """The differentiable tensors among results, in real numbers."""
    found = [r for r in (value if isinstance(value, (tuple, list)) else (value,))
             if isinstance(r, lib.Tensor) and (r.is_floating_point() or r.is_complex())]
    return [r if not r.is_complex() else r.abs() if key in UP_TO_PHASE else lib.view_as_real(r) for r in found]


def elements(args, kwargs):
    return sum(len(d.values) for d in (*tensors(args), *tensors(kwargs)))


def finite(key, call, args, kwargs):
    """Whether the sample is one to differentiate: torch computes finite numbers from such, and can go back."""
    described = [*tensors(args), *tensors(kwargs)]
    if not all(cmath.isfinite(x) for d in described for x in d.values):
        return False
    if not 0 < elements(args, kwargs) <= MANY:
        return False
    inputs, restore = parameters(key, args, kwargs, "float64", "cpu", torch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = [r for r in results(call(torch, *restore(inputs)), key, torch) if r.requires_grad]
        except Exception:               # noqa: BLE001 - a call that is refused has no derivative
            return False
        try:
            torch.autograd.backward(found, [torch.ones_like(r) for r in found])
        except RuntimeError as error:
            if "is not implemented" not in str(error):          # some of ours are not torch's
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
        for dtype in ("float64", "complex128"):         # complex numbers where the row is of nothing else
            samples = SAMPLES[GRADIENT_SAMPLES.get(row.key, row.samples)](Make(dtype, seed=row.key))
            usable = [(args, kwargs) for args, kwargs in samples if finite(row.key, call, args, kwargs)]
            if usable:
                break
        small = [one for one in usable if elements(*one) <= FEW]
        for args, kwargs in small or sorted(usable, key=lambda one: elements(*one))[:2]:
            yield form, call, args, kwargs


def parameters(key, args, kwargs, dtype, device, lib):
    """The sample as a function of a flat list of real tensors: (the list, how to put them back).

    Those of which the row has a derivative require a gradient.
    """
    names = {a.name for a in emit_grad.differentiable(ROWS[key])
             if not ROWS[key].grad[a.name].startswith("no_derivative")}
    places = [a.name for a in ROWS[key].schema.arguments]
    wanted = {id(d) for name, value in [*zip(places, args, strict=False), *kwargs.items()] if name in names
              for d in tensors(value)}
    made = []
    for d in [*tensors(args), *tensors(kwargs)]:
        of = dtype if d.dtype in ("float64", "complex128") else d.dtype
        values = [(x.real, x.imag) for x in d.values] if d.dtype == "complex128" else list(d.values)
        shape = (*d.shape, 2) if d.dtype == "complex128" else d.shape
        made.append(lib.tensor(values, dtype=getattr(lib, of)).reshape(shape).to(device))
        if of == dtype and id(d) in wanted:
            made[-1].requires_grad_()

    def restore(given):
        left = iter(given)

        def put(value):
            if isinstance(value, Description):
                tensor = next(left)
                tensor = lib.view_as_complex(tensor) if value.dtype == "complex128" else tensor
                return (tensor + tensor.mT.conj()) / 2 if key in SYMMETRIC else tensor
            if isinstance(value, (list, tuple)):
                return type(value)(put(item) for item in value)
            if isinstance(value, dict):
                return {k: getattr(lib, v) if k.endswith("dtype") else put(v) for k, v in value.items()}
            return value
        return put(args), put(kwargs)
    return made, restore


@pytest.mark.parametrize("key", ROWS)
def test_gradcheck(key):
    row, checked = ROWS[key], 0
    for form, call, args, kwargs in cases(row):
        inputs, restore = parameters(key, args, kwargs, "float64", "cpu", mindtorch)

        def function(*given, call=call, restore=restore):
            return tuple(results(call(mindtorch, *restore(given)), key, mindtorch))
        where = f"{key}, {form}, {args} {kwargs}"
        assert any(r.requires_grad for r in function(*inputs)), f"no history: {where}"
        try:
            mindtorch.autograd.gradcheck(function, inputs, fast_mode=True)
            if key not in ONCE:
                mindtorch.autograd.gradgradcheck(function, inputs, atol=1e-4, fast_mode=True)
        except Exception as error:
            raise AssertionError(f"{where}: {error}") from error
        checked += 1
    assert checked, f"{key}: no sample could be differentiated"


@pytest.mark.parametrize("key", ON_NPU)
def test_npu_as_cpu(key):
    for form, call, args, kwargs in cases(ROWS[key]):
        where, found = f"{key}, {form}, {args} {kwargs}", []
        for device in ("cpu", "npu"):
            inputs, restore = parameters(key, args, kwargs, "float32", device, mindtorch)
            outputs = [r for r in results(call(mindtorch, *restore(inputs)), key, mindtorch) if r.requires_grad]
            mindtorch.autograd.backward(outputs, [mindtorch.ones_like(r) for r in outputs])
            for tensor in inputs:
                assert tensor.grad is None or tensor.grad.device == tensor.device, where
            found.append([None if x.grad is None else x.grad.cpu().numpy() for x in inputs])
        for one, other in zip(*found, strict=True):
            assert (one is None) == (other is None), where
            if one is not None:
                np.testing.assert_allclose(other, one, rtol=1e-3, atol=1e-4, err_msg=where)
