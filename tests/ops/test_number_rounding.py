"""Numbers beside floats of 16 and 8 bits: torch rounds most to the elements' dtype, some not, and so do the rows."""
import pytest
import torch
from test_ops import to_torch

import mindtorch

NUMBERS = (1.3, 0.1, 2.7, -0.3, 0.001, 300.7, 2049, 65519.0, 1e-8, 70000.0, 3)
VALUES = (1.3, 0.1, 2.7, -0.3, 0.001, 300.7, 5.3, -2.0, 2048.0, float("inf"))

COMPARISONS = {name: lambda lib, x, s, name=name: getattr(lib, name)(x, s)
               for name in ("eq", "ne", "lt", "le", "gt", "ge")}
# Rounded to the elements' dtype, as a tensor of that dtype holds it.
ROUNDED = {
    "add": lambda lib, x, s: x + s,
    "sub": lambda lib, x, s: x - s,
    "rsub": lambda lib, x, s: s - x,
    "add_": lambda lib, x, s: x.clone().add_(s),
    "fmod": lambda lib, x, s: lib.fmod(x, s),
    "remainder": lambda lib, x, s: x % s,
    "remainder of a number": lambda lib, x, s: s % x,
    "hardshrink": lambda lib, x, s: lib.nn.functional.hardshrink(x, min(s, 1000)),
    "hardshrink_backward": lambda lib, x, s: lib.ops.aten.hardshrink_backward(x, x, min(s, 1000)),
    "softshrink_backward": lambda lib, x, s: lib.ops.aten.softshrink_backward(x, x, min(s, 1000)),
    "scatter, added": lambda lib, x, s: lib.scatter(x, 0, lib.arange(3, device=x.device), s, reduce="add"),
    "scatter, multiplied": lambda lib, x, s: lib.scatter(x, 0, lib.arange(3, device=x.device), s, reduce="multiply"),
    "addmv": lambda lib, x, s: lib.addmv(x[:3], lib.zeros(3, 3).to(x), x[:3], beta=min(s, 1000)),
    "isin": lambda lib, x, s: lib.isin(x, s),
    "foreach add": lambda lib, x, s: lib._foreach_add([x, x], s)[1],
    "foreach add, a number each": lambda lib, x, s: lib._foreach_add([x, x], [1.0, s])[1],
}
# In the precision of the computation.
EXACT = {
    "mul": lambda lib, x, s: x * s,
    "div": lambda lib, x, s: x / s,
    "div, towards zero": lambda lib, x, s: lib.div(x, s, rounding_mode="trunc"),
    "threshold": lambda lib, x, s: lib.nn.functional.threshold(x, min(s, 1000), -7.0),
    "threshold_backward": lambda lib, x, s: lib.ops.aten.threshold_backward(x, x, min(s, 1000)),
    "hardtanh_backward": lambda lib, x, s: lib.ops.aten.hardtanh_backward(x, x, -s, s),
    "softshrink": lambda lib, x, s: lib.nn.functional.softshrink(x, min(abs(s), 1000)),
    "leaky_relu": lambda lib, x, s: lib.nn.functional.leaky_relu(x, s),
    "addcmul": lambda lib, x, s: lib.addcmul(x, x, x.flip(0), value=min(s, 1000)),
    "lerp": lambda lib, x, s: lib.lerp(x, x.flip(0), s),
    "addmm": lambda lib, x, s: lib.addmm(x[:9].reshape(3, 3), lib.zeros(3, 3).to(x), lib.zeros(3, 3).to(x), beta=s),
    "foreach mul": lambda lib, x, s: lib._foreach_mul([x, x], s)[1],
    "foreach mul, a number each": lambda lib, x, s: lib._foreach_mul([x, x], [1.0, s])[1],
}
ALL = COMPARISONS | ROUNDED | EXACT


def outcome(call, lib, tensor, number):
    try:
        return call(lib, tensor, number)
    except RuntimeError as error:
        return error


def assert_same(ours, theirs, where):
    if isinstance(theirs, Exception):               # a number that does not fit
        assert (type(ours), str(ours)) == (type(theirs), str(theirs)), where
        return
    assert str(ours.dtype) == str(theirs.dtype), where
    rtol = 1e-6 if theirs.dtype == torch.float32 else 0         # where torch's vectors multiply and add in one step
    torch.testing.assert_close(to_torch(ours), theirs, rtol=rtol, atol=0, equal_nan=True,
                               msg=lambda message: f"{where}: {message}")


def both(dtype, device):
    """The same elements here and there."""
    theirs = torch.tensor(VALUES).to(getattr(torch, dtype))
    return mindtorch.tensor(theirs.float().tolist(), device=device).to(getattr(mindtorch, dtype)), theirs


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_numbers(name, dtype, device):
    ours, theirs = both(dtype, device)
    for number in NUMBERS:
        if name.startswith("div, ") and (device, dtype) == ("npu", "bfloat16"):
            continue                # which the operator does not document
        assert_same(outcome(ALL[name], mindtorch, ours, number), outcome(ALL[name], torch, theirs, number),
                    f"{name} {dtype} {number}")


@pytest.mark.parametrize("dtype", [f"float8_{kind}" for kind in ("e4m3fn", "e5m2", "e4m3fnuz", "e5m2fnuz", "e8m0fnu")])
@pytest.mark.parametrize("name", ["eq", "ne"])
def test_floats_of_8_bits(name, dtype):
    ours, theirs = both(dtype, "cpu")
    for number in NUMBERS:
        assert_same(ALL[name](mindtorch, ours, number), ALL[name](torch, theirs, number), f"{name} {dtype} {number}")


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64", "uint8"])
@pytest.mark.parametrize("name", COMPARISONS)
def test_integers_beside_numbers(name, dtype, device):
    theirs = torch.tensor([0, 1, 2, 3, 44, 100], dtype=getattr(torch, dtype))
    ours = mindtorch.tensor(theirs.tolist(), dtype=getattr(mindtorch, dtype), device=device)
    for number in (1.0, 1.3, 2.7, -0.3, 300, 16777217.0, True):
        assert_same(ALL[name](mindtorch, ours, number), ALL[name](torch, theirs, number), f"{name} {dtype} {number}")


@pytest.mark.parametrize("wide", ["float32", "float64", "int64"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", [*COMPARISONS, "add", "sub", "rsub", "fmod", "remainder", "mul", "div"])
def test_tensors_without_dimensions(name, dtype, wide):
    """On the CPU they are rounded where numbers are."""
    ours, theirs = both(dtype, "cpu")
    for number in (1.3, 0.1, 2049.0, 300.7):
        one, other = (lib.tensor(number, dtype=lib.float64).to(getattr(lib, wide)) for lib in (mindtorch, torch))
        assert_same(ALL[name](mindtorch, ours, one), ALL[name](torch, theirs, other), f"{name} {dtype} {wide} {number}")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_integers_of_other_tensors(dtype):
    """An integer tensor becomes one of the elements' dtype before anything is computed."""
    ours, theirs = both(dtype, "cpu")
    one, other = (lib.arange(2045, 2055) for lib in (mindtorch, torch))
    for name in (*COMPARISONS, "add", "mul"):
        assert_same(ALL[name](mindtorch, ours, one), ALL[name](torch, theirs, other), f"{name} {dtype}")
