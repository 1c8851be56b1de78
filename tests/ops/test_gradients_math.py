"""Gradients of the rows of numeric functions, first and second order, against torch's, on the rows' own samples."""
import warnings

import numpy as np
import pytest
import torch
from samples import SAMPLES, Description, Make
from test_ops import ROWS, function_of, not_on, to_torch

import mindtorch

FAMILIES = ("pointwise", "special")
KEYS = [key for key, row in ROWS.items() if row.family in FAMILIES and row.grad != "none"]
TOLERANCE = {"float32": (2e-4, 2e-5), "float64": (1e-7, 1e-8), "complex64": (2e-4, 2e-5), "complex128": (1e-7, 1e-8)}


def leaves(args, kwargs, lib, device):
    """The arguments with tensors that require gradients, and those tensors."""
    found = []

    def made(value):
        if not isinstance(value, Description):
            return value
        tensor = value.realise(lib, device).detach()
        if tensor.is_floating_point() or tensor.is_complex():
            found.append(tensor.requires_grad_())
        return tensor
    return [made(value) for value in args], {key: made(value) for key, value in kwargs.items()}, found


def gradients(row, lib, device, args, kwargs, order):
    """Of the sum of the results' magnitudes; of order 2, of the sum of those gradients."""
    args, kwargs, wanted = leaves(args, kwargs, lib, device)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = function_of(row, lib)(*args, **kwargs)
        result = result[0] if isinstance(result, tuple) else result
        made = lib.autograd.grad(_total(lib, result), wanted, create_graph=order == 2, allow_unused=True)
        if order == 1:
            return made
        used = [one for one in made if one is not None and one.requires_grad]
        if not used:
            return [None] * len(wanted)
        return lib.autograd.grad(sum(_total(lib, one) for one in used), wanted, allow_unused=True)


def _total(lib, tensor):
    """A real number: the real part, weighted so that every element counts differently."""
    weight = (lib.arange(tensor.numel(), device=tensor.device, dtype=lib.float32) + 1).reshape(tuple(tensor.shape))
    if tensor.is_complex():
        tensor = lib.view_as_real(tensor).sum(-1)
    return (tensor * weight).sum()


def outcome(*arguments):
    try:
        return gradients(*arguments)
    except Exception as error:      # noqa: BLE001 - any refusal is an outcome
        return error


def finite(args):
    """Samples whose values are all numbers: at infinities, torch's own formulas give NaN or not as they are written."""
    return all(abs(value) < float("inf") for one in args if isinstance(one, Description) for value in one.values
               if not isinstance(value, bool))


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("key", KEYS)
def test_gradients(key, dtype, order, device):
    row = ROWS[key]
    if not_on(row, device):
        return
    for number, (args, kwargs) in enumerate(SAMPLES[row.samples](Make(dtype, seed=key))):
        if not finite(args):
            continue
        theirs = outcome(row, torch, "cpu", args, kwargs, order)
        ours = outcome(row, mindtorch, device, args, kwargs, order)
        where = f"{key} sample {number} of {dtype} on {device}, {args} {kwargs}"
        if isinstance(theirs, Exception):       # no formula in torch; one here does no harm
            continue
        if isinstance(ours, NotImplementedError) and device == "npu":
            assert dtype != "float32" or "no kernel" in str(ours), where     # a formula may call what ACLNN lacks
            continue
        assert not isinstance(ours, Exception), f"{where}: {ours!r}"
        rtol, atol = TOLERANCE[dtype]
        for one, other in zip(ours, theirs, strict=True):
            if one is None or other is None:
                assert all(gradient is None or not gradient.any() for gradient in (one, other)), where
                continue
            torch.testing.assert_close(to_torch(one), other.resolve_conj(), rtol=rtol, atol=atol, equal_nan=True,
                                       msg=lambda message, where=where: f"{where}: {message}")


@pytest.mark.parametrize("rows", [(), (2,)])
def test_the_spectra_of_an_expanded_signal_share_their_gradient(rows, device):
    """torch's windows are strided views, whose derivative gives each place in memory the mean."""
    def gradient(lib, where):
        x = lib.tensor([-8.5], device=where).expand(*rows, 10).requires_grad_()
        spectra = lib.stft(x, 4, 2, center=False, return_complex=True, window=lib.ones(4, device=where))
        scale = lib.arange(float(spectra.numel()), device=where).reshape(spectra.shape)
        (spectra.real * scale).sum().backward()
        return x.grad.tolist()

    assert np.array(gradient(mindtorch, device)) == pytest.approx(np.array(gradient(torch, "cpu")), rel=1e-5)
