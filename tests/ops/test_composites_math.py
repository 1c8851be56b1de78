"""Numeric functions written with others, torch.special's names, finfo and iinfo, complex views: against torch."""
import warnings

import numpy
import pytest
import torch
from samples import DTYPES, Make
from test_ops import check, outcome, realised

import mindtorch

# name -> forms: f function, m method, i in-place, o out=
COMPOSITES = {"deg2rad": "fmio", "rad2deg": "fmio", "positive": "fm", "isreal": "fm", "resolve_conj": "fm",
              "resolve_neg": "fm", "float_power": "fmio", "nan_to_num_": "fm"}
FORMS = {"f": lambda name, lib, args: getattr(lib, name)(*args),
         "m": lambda name, lib, args: getattr(args[0], name)(*args[1:]),
         "i": lambda name, lib, args: getattr(args[0], name + "_")(*args[1:]),
         "o": lambda name, lib, args: getattr(lib, name)(*args, out=lib.empty(0, dtype=lib.float64,
                                                                              device=args[0].device))}


def samples(name, make):
    for shape in ((), (5,), (2, 3), (0, 2)):
        yield (make(*shape, low=0.5), make(*shape, low=-2, high=2)) if name == "float_power" else (make(*shape),)
    if name == "float_power":
        yield make(3, low=0.5), 1.5
        yield make(3, low=0.5), 2
    else:
        yield (make(8, special=True),)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", COMPOSITES)
def test_composites(name, dtype, device):
    for args in samples(name, Make(dtype, seed=name)):
        for form in COMPOSITES[name]:
            def call(lib, args, kwargs, form=form):
                return FORMS[form](name, lib, args)
            theirs = outcome(call, torch, "cpu", "contiguous", args, {})
            ours = outcome(call, mindtorch, device, "contiguous", args, {})
            check(ours, theirs, f"{name} {form} of {dtype} on {device}, {args}", device == "npu", dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("p", [1, 3])
def test_mvlgamma(p, dtype, device):
    args = (Make(dtype, seed="mvlgamma")(2, 3, low=3, high=9), p)
    for call in (lambda lib, args, kwargs: lib.mvlgamma(*args), lambda lib, args, kwargs: args[0].mvlgamma(args[1]),
                 lambda lib, args, kwargs: lib.special.multigammaln(*args)):
        theirs = outcome(call, torch, "cpu", "contiguous", args, {})
        check(outcome(call, mindtorch, device, "contiguous", args, {}), theirs, f"{args}", device == "npu", dtype)
    with pytest.raises(RuntimeError, match="p has to be greater than or equal to 1"):
        mindtorch.mvlgamma(mindtorch.ones(2), 0)


FAKE_QUANTIZED = {
    "per_channel": lambda lib, x, on: lib.fake_quantize_per_channel_affine(
        x, on([.1, .02, .5]), on([0, 5, -3]).int(), 1, -8, 7),
    "per_tensor": lambda lib, x, on: lib.fake_quantize_per_tensor_affine(x, .1, 3, -8, 7),
    "per_tensor with tensors": lambda lib, x, on: lib.fake_quantize_per_tensor_affine(x, on(.1), on([3.]), -8, 7),
    "zero point out of range": lambda lib, x, on: lib.fake_quantize_per_tensor_affine(x, .1, 8, -8, 7),
    "one zero point out of range": lambda lib, x, on: lib.fake_quantize_per_channel_affine(
        x, on([.1, .02, .5]), on([0, 5, 9]).int(), 1, -8, 7),
    "empty range": lambda lib, x, on: lib.fake_quantize_per_tensor_affine(x, .1, 0, 7, -8),
    "a float as zero point": lambda lib, x, on: lib.fake_quantize_per_tensor_affine(x, .1, .5, -8, 7)}


@pytest.mark.parametrize("name", FAKE_QUANTIZED)
def test_fake_quantize(name, device):
    """The results, and the gradients, which pass the rounding by."""
    def call(lib, args, kwargs):
        (x,) = args
        x.requires_grad_()
        result = FAKE_QUANTIZED[name](lib, x, lambda data: lib.tensor(data, device=x.device))
        result.sum().backward()
        return result.detach(), x.grad
    args = (Make("float32", seed="fake_quantize")(2, 3, 4),)
    theirs = outcome(call, torch, "cpu", "contiguous", args, {})
    check(outcome(call, mindtorch, device, "contiguous", args, {}), theirs, name, device == "npu", "float32")


def test_fake_quantize_by_zero_points_that_are_floats():
    """They are added before the rounding."""
    def call(lib, args, kwargs):
        scale, zero_point = lib.tensor([.1, .2, .5]), lib.tensor([0, .5, -2.3])
        return lib.fake_quantize_per_channel_affine(*args, scale, zero_point, 1, -8, 7)
    args = (Make("float32", seed="fake_quantize")(2, 3, 4),)
    theirs = outcome(call, torch, "cpu", "contiguous", args, {})
    check(outcome(call, mindtorch, "cpu", "contiguous", args, {}), theirs, "float", False, "float32")


def test_out_that_cannot_hold_the_result():
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        mindtorch.deg2rad(mindtorch.ones(2), out=mindtorch.empty(2, dtype=mindtorch.int64))
    with pytest.raises(RuntimeError, match="can't be cast"):
        mindtorch.ones(2, dtype=mindtorch.int64).deg2rad_()
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        mindtorch.rad2deg(mindtorch.ones(2, requires_grad=True), out=mindtorch.empty(2))


# --- torch.special ---------------------------------------------------------------------------------------------------

NAMES = [name for name in dir(torch.special) if not name.startswith("_")
         and name not in ("Tensor", "torch", "common_args", "multi_dim_common", "logsumexp")]


@pytest.mark.parametrize("name", NAMES)
def test_special_has_torchs_names(name):
    assert callable(getattr(mindtorch.special, name))


@pytest.mark.parametrize("name", ["expit", "gammaln", "psi", "ndtr", "log_ndtr", "expm1", "erfcx", "entr"])
def test_special_names_mean_what_torchs_do(name, device):
    x = Make("float32", seed=name)(16, special=True)
    theirs = getattr(torch.special, name)(realised(x, torch, "cpu", "contiguous"))
    def call(lib, args, kwargs):
        return getattr(lib.special, name)(*args)
    ours = outcome(call, mindtorch, device, "contiguous", (x,), {})
    if not (device == "npu" and isinstance(ours, NotImplementedError) and name in ("log_ndtr", "erfcx", "entr")):
        check(ours, theirs, name, False, "float32")


# --- complex numbers as pairs ----------------------------------------------------------------------------------------

def parts(lib, device):
    z = (lib.arange(12, dtype=lib.float32, device=device).reshape(2, 3, 2) - 5) / 3
    return lib.view_as_complex(z), z


def test_views_of_parts(device):
    for view in (lambda lib, z, r: lib.view_as_real(z), lambda lib, z, r: z.real, lambda lib, z, r: z.imag,
                 lambda lib, z, r: lib.real(r), lambda lib, z, r: lib.view_as_real(z.t())[..., 1],
                 lambda lib, z, r: lib.view_as_complex(r[:, 1:]), lambda lib, z, r: z.conj().imag):
        theirs, ours = view(torch, *parts(torch, "cpu")), view(mindtorch, *parts(mindtorch, device))
        assert (ours.shape, ours.tolist()) == (tuple(theirs.shape), theirs.tolist())
        assert str(ours.dtype) == str(theirs.dtype)


def test_writing_through_a_part(device):
    for lib, where in ((torch, "cpu"), (mindtorch, device)):
        z, _ = parts(lib, where)
        z.imag.fill_(1)
        z.real = lib.zeros(2, 3, device=where)
        assert z.tolist() == [[1j] * 3] * 2


@pytest.mark.parametrize("shape", [(), (3,), (2, 1)])
def test_view_as_complex_refuses(shape):
    for lib in (torch, mindtorch):
        with pytest.raises(RuntimeError, match="Input tensor must have one or more" if not shape else "size 2"):
            lib.view_as_complex(lib.zeros(shape))
    for lib in (torch, mindtorch):
        with pytest.raises(RuntimeError, match="last dimension with stride 1"):
            lib.view_as_complex(lib.zeros(2, 3).t())
        with pytest.raises(RuntimeError, match="imag is not implemented for tensors with non-complex dtypes"):
            lib.imag(lib.zeros(2))


def test_gradients_of_parts(device):
    def total(lib, z, x):
        z = z * 1j
        return (z.real * x + lib.view_as_real(z)[..., 1] ** 2 + lib.complex(x, x * 2).imag + z.abs()
                + lib.polar(x.abs(), x).real).sum()
    found = []
    for lib, where in ((torch, "cpu"), (mindtorch, device)):
        z, r = parts(lib, where)
        z, x = z.detach().requires_grad_(), r[..., 0].clone().requires_grad_()
        total(lib, z, x).backward()
        found.append((z.grad.tolist(), x.grad.tolist()))
    numpy.testing.assert_allclose(found[1][0], found[0][0], rtol=1e-5)
    numpy.testing.assert_allclose(found[1][1], found[0][1], rtol=1e-5)


VIEWS_OF_ANOTHER_DTYPE = {
    "real": lambda lib, x: x.real,
    "imag": lambda lib, x: x.imag,
    "transposed": lambda lib, x: x.t().real[1:],
    "view_as_real": lambda lib, x: lib.view_as_real(x)[:, 1:],
    "column of view_as_real": lambda lib, x: lib.view_as_real(x)[..., 1],
    "view_as_complex": lambda lib, x: lib.view_as_complex(x.real if x.is_complex() else x)[1:],
}


@pytest.mark.parametrize("name", VIEWS_OF_ANOTHER_DTYPE)
@pytest.mark.parametrize("where", ["base", "slice of the base", "view"])
def test_gradients_through_writes_to_a_view_of_another_dtype_and_to_its_base(name, where, device):
    def results(lib, device, tracked):
        values = lib.arange(1.0, 13.0, device=device).reshape(3, 2, 2)
        x = (values if name == "view_as_complex" else lib.view_as_complex(values)).requires_grad_(tracked)
        base = x * (1 if tracked else 2)
        factor = lib.tensor(3.0, device=device, requires_grad=True)
        view = VIEWS_OF_ANOTHER_DTYPE[name](lib, base)
        {"base": base, "slice of the base": base[1:], "view": view}[where].mul_(factor)
        flags = view.requires_grad, base.requires_grad, view.is_leaf
        total = sum((lib.view_as_real(each) if each.is_complex() else each).pow(2).sum() for each in (view, base))
        grads = lib.autograd.grad(total, [factor, x] if tracked else [factor], create_graph=True)
        again = lib.autograd.grad(grads[0], factor)
        return flags, [each.tolist() for each in (*grads, *again)]
    for tracked in (False, True):
        ours, theirs = results(mindtorch, device, tracked), results(torch, "cpu", tracked)
        assert ours[0] == theirs[0]
        for one, other in zip(ours[1], theirs[1], strict=True):
            numpy.testing.assert_allclose(one, other, rtol=1e-5)


# --- operators, limits -----------------------------------------------------------------------------------------------

@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "float32", "bool"])
def test_operators(dtype, device):
    x = Make(dtype, seed="operators")(6, low=1, high=5, nonzero=True)
    y = Make(dtype, seed="others")(6, low=1, high=3, nonzero=True)
    for call in (lambda x, y: x << y, lambda x, y: x >> y, lambda x, y: x << 2, lambda x, y: 3 << x,
                 lambda x, y: 100 >> x, lambda x, y: x % y, lambda x, y: x % 2, lambda x, y: 7 % x,
                 lambda x, y: x // y, lambda x, y: 7 // x, lambda x, y: x.__rdiv__(2), lambda x, y: x ^ 3,
                 lambda x, y: 5 | x, lambda x, y: x.__ilshift__(1), lambda x, y: x.__irshift__(y),
                 lambda x, y: x.__imod__(2)):
        def both(lib, args, kwargs, call=call):
            return call(*args)
        theirs = outcome(both, torch, "cpu", "contiguous", (x, y), {})
        check(outcome(both, mindtorch, device, "contiguous", (x, y), {}), theirs, f"{x} {y}", device == "npu", dtype)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"])
def test_finfo(dtype):
    ours, theirs = mindtorch.finfo(getattr(mindtorch, dtype)), torch.finfo(getattr(torch, dtype))
    assert repr(ours) == repr(theirs)
    for name in ("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution", "dtype"):
        assert getattr(ours, name) == getattr(theirs, name), name
    assert ours == mindtorch.finfo(getattr(mindtorch, dtype))
    assert mindtorch.finfo() == mindtorch.finfo(mindtorch.float32)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64"])
def test_iinfo(dtype):
    ours, theirs = mindtorch.iinfo(getattr(mindtorch, dtype)), torch.iinfo(getattr(torch, dtype))
    assert repr(ours) == repr(theirs)
    assert (ours.bits, ours.min, ours.max, ours.dtype) == (theirs.bits, theirs.min, theirs.max, theirs.dtype)


@pytest.mark.parametrize(("name", "dtype"), [("finfo", "int32"), ("finfo", "bool"), ("iinfo", "float32"),
                                             ("iinfo", "bool"), ("iinfo", "complex64")])
def test_limits_of_the_wrong_kind(name, dtype):
    messages = []
    for lib in (torch, mindtorch):
        with warnings.catch_warnings(), pytest.raises(TypeError) as error:
            getattr(lib, name)(getattr(lib, dtype))
        messages.append(str(error.value))
    assert messages[0] == messages[1]
