"""repr, character for character as torch prints."""
import numpy as np
import pytest
import torch as reference

import mindtorch as torch

DTYPES = (
    "float32", "float64", "float16", "bfloat16", "int64", "int32", "uint8", "int8", "int16", "bool", "complex64",
    "complex128")
OPTIONS = [{}, {"precision": 2, "threshold": 20, "edgeitems": 2, "linewidth": 60}, {"sci_mode": True},
           {"profile": "short", "sci_mode": False}, {"profile": "full"}]


def numbers(random, shape):
    """Arrays that lead to each notation: fixed, scientific, whole, all special, all zero."""
    return [
        random.standard_normal(shape) * 10.0 ** random.integers(-6, 10),
        random.integers(-10 ** 5, 10 ** 5, shape).astype(float),
        random.choice([0.0, np.nan, np.inf, -np.inf, 1.5, -2, 1e-5], shape),
        random.choice([np.nan, np.inf, -np.inf, 0.0], shape),
        10.0 ** random.uniform(-8, 8, shape),
        np.zeros(shape),
        random.standard_normal(shape).round(1),
    ]


def both(array, dtype):
    if dtype.startswith("complex"):
        real, array = array, np.empty(array.shape, "complex128")
        array.real, array.imag = real, np.flip(real)
    elif not dtype.startswith(("float", "bfloat")):
        array = np.nan_to_num(array, posinf=3, neginf=-3).clip(-1e9, 1e9).astype("int64")
    with np.errstate(all="ignore"):
        array = np.array(array).astype("float32" if dtype == "bfloat16" else dtype)
    return [lib.from_numpy(array).to(getattr(lib, dtype)) for lib in (torch, reference)]


@pytest.fixture(params=OPTIONS, ids=str)
def options(request):
    for lib in (torch, reference):
        lib.set_printoptions(**request.param)
    yield
    for lib in (torch, reference):
        lib.set_printoptions(profile="default")


@pytest.mark.parametrize("dtype", DTYPES)
def test_repr(dtype, options):
    random = np.random.default_rng(0)
    for shape in ((), (1,), (7,), (30,), (2, 3), (8, 7), (2, 1, 3), (2, 2, 2, 2), (0,), (0, 3), (1001,), (40, 30)):
        for array in numbers(random, shape):
            ours, theirs = both(np.asarray(array), dtype)
            assert repr(ours) == repr(theirs)
            if len(shape) > 1:
                assert repr(ours.transpose(0, -1)) == repr(theirs.transpose(0, -1))


@pytest.mark.quick
def test_the_device_is_named():
    assert repr(torch.ones(2, device="npu")) == "tensor([1., 1.], device='npu:0')"
    assert repr(torch.ones(2, device="npu", dtype=torch.int32)) == "tensor([1, 1], device='npu:0', dtype=torch.int32)"
    assert repr(torch.empty(0, 3, device="npu")) == "tensor([], device='npu:0', size=(0, 3))"


@pytest.mark.parametrize("indent", [0, 7])
def test_the_numbers_alone_are_printed(indent):
    from mindtorch._tensor.printing import PRINT_OPTS, _tensor_str
    values = np.arange(60.0).reshape(3, 20) / 7
    expected = reference._tensor_str._tensor_str(reference.tensor(values), indent)
    assert _tensor_str(torch.tensor(values), indent) == expected
    assert PRINT_OPTS.threshold == reference._tensor_str.PRINT_OPTS.threshold
