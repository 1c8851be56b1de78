"""Reductions, scans, sorts and what is composed of them: values and gradients against torch, on both devices."""
from fractions import Fraction

import numpy as np
import pytest
import torch

import mindtorch

X = [[3., -1.5, 2.25, 0.5], [-4., 6., 1., -2.75], [7., 5.5, -3., 4.]]
WITH_NAN = [[3., float("nan"), 2.25, 0.5], [-4., 6., 1., -2.75]]
WITH_ZEROS = [[3., 0., 2.], [0., 0., 4.], [1., 5., 6.]]

GRADIENTS = {
    "var": lambda lib, x: x.var(),
    "var dim": lambda lib, x: x.var(1, False),
    "var kept": lambda lib, x: x.var(0, keepdim=True),
    "std": lambda lib, x: x.std(), "std dim": lambda lib, x: lib.std(x, (0, 1), correction=0),
    "var_mean": lambda lib, x: lib.var_mean(x, 1), "std_mean": lambda lib, x: lib.std_mean(x, 0, unbiased=False),
    "prod": lambda lib, x: x.prod(), "prod dim": lambda lib, x: x.prod(1, keepdim=True),
    "logsumexp": lambda lib, x: x.logsumexp((0, 1)), "logsumexp dim": lambda lib, x: x.logsumexp(1, True),
    "cumsum": lambda lib, x: x.cumsum(1), "cumprod": lambda lib, x: x.cumprod(0),
    "cummax": lambda lib, x: x.cummax(1)[0], "cummin": lambda lib, x: lib.cummin(x, 0).values,
    "sort": lambda lib, x: x.sort(1, descending=True)[0],
    "sort stable": lambda lib, x: lib.sort(x, stable=True, dim=0).values,
    "topk": lambda lib, x: x.topk(2, 1)[0], "kthvalue": lambda lib, x: x.kthvalue(2, 0)[0],
    "median": lambda lib, x: x.median(), "median dim": lambda lib, x: x.median(1).values,
    "nanmedian": lambda lib, x: x.nanmedian(1, True)[0], "msort": lambda lib, x: x.msort(),
    "aminmax": lambda lib, x: tuple(lib.aminmax(x, dim=1)), "nansum": lambda lib, x: x.nansum(1),
    "nanmean": lambda lib, x: x.nanmean(), "quantile": lambda lib, x: x.quantile(0.3, 1),
    "quantiles": lambda lib, x: lib.quantile(x, x.new_tensor([0.1, 0.6]), dim=0, keepdim=True),
    "nanquantile": lambda lib, x: lib.nanquantile(x, 0.75, 1, interpolation="midpoint"),
    "cov": lambda lib, x: x.cov(),
    "corrcoef": lambda lib, x: lib.corrcoef(x),
    "diff": lambda lib, x: x.diff(n=2, dim=1),
    "trapezoid": lambda lib, x: lib.trapezoid(x, dx=0.5),
    "cumulative_trapezoid": lambda lib, x: lib.cumulative_trapezoid(x),
    "trace": lambda lib, x: lib.trace(x), "combinations": lambda lib, x: lib.combinations(x.reshape(-1), 3),
    "cartesian_prod": lambda lib, x: lib.cartesian_prod(x[0], x[1]),
    "dist": lambda lib, x: lib.dist(x, x.cumsum(0), 3),
    "cdist": lambda lib, x: lib.cdist(x, 2 * x, p=1.0), "cdist euclidean": lambda lib, x: lib.cdist(x[:2], x + 1),
    "renorm": lambda lib, x: lib.renorm(x, 2, 1, 3.0), "gradient": lambda lib, x: tuple(lib.gradient(x, spacing=0.5)),
    "gradient second": lambda lib, x: tuple(lib.gradient(x, dim=1, edge_order=2)),
    "gradient points": lambda lib, x: lib.gradient(x, spacing=[x.new_tensor([0, 1, 4, 9][:x.shape[1]])], dim=1)[0],
    "masked sum": lambda lib, x: lib.masked.sum(x, 1, mask=x > 0),
    "masked var": lambda lib, x: lib.masked.var(x, 1, mask=x < 6),
    "masked softmax": lambda lib, x: lib.masked.softmax(x, 1, mask=x > -2),
}
VALUES = {
    "unique": lambda lib, i: lib.unique(i),
    "unique all": lambda lib, i: lib.unique(i, return_inverse=True, return_counts=True),
    "unique dim": lambda lib, i: lib.unique(i, dim=0, return_inverse=True, return_counts=True),
    "unique_consecutive": lambda lib, i: lib.unique_consecutive(i, return_inverse=True, return_counts=True),
    "unique_consecutive dim": lambda lib, i: i.unique_consecutive(dim=1, return_counts=True),
    "unique empty": lambda lib, i: lib.unique(i[:0], return_inverse=True),
    "bincount": lambda lib, i: lib.bincount(i.reshape(-1)),
    "bincount min": lambda lib, i: i.reshape(-1).bincount(minlength=9),
    "bincount weights": lambda lib, i: lib.bincount(i.reshape(-1), i.reshape(-1).float()),
    "argsort": lambda lib, i: lib.argsort(i, dim=1, stable=True), "isin": lambda lib, i: lib.isin(i, i[:1]),
    "isin number": lambda lib, i: lib.isin(i, 2, invert=True), "count_nonzero": lambda lib, i: lib.count_nonzero(i, 1),
    "bucketize": lambda lib, i: lib.bucketize(i, lib.tensor([1, 3], device=i.device), right=True),
    "bucketize number": lambda lib, i: lib.bucketize(2, lib.tensor([1, 3], device=i.device)),
    "cov": lambda lib, i: lib.cov(i), "cov bytes": lambda lib, i: lib.cov(i[0].to(lib.uint8), correction=0),
    "corrcoef": lambda lib, i: lib.corrcoef(i.int()), "vander": lambda lib, i: lib.vander(i[0].int(), 7),
    "vander one": lambda lib, i: lib.vander(i[0], 1, increasing=True),
    "linalg.vander": lambda lib, i: lib.linalg.vander(i.to(lib.uint8), N=9),
}
INTEGERS = [[2, 0, 2, 2], [5, 1, 1, 0], [2, 0, 2, 2]]


def tensors(result):
    return list(result) if isinstance(result, tuple) else [result]


def assert_same(ours, theirs):
    values = torch.tensor(ours.detach().cpu().tolist(), dtype=theirs.dtype).reshape(tuple(ours.shape))
    torch.testing.assert_close(values, theirs.detach(), rtol=1e-5, atol=1e-5, equal_nan=True)


@pytest.mark.parametrize("rows", [X, WITH_NAN, WITH_ZEROS], ids=["numbers", "nan", "zeros"])
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name, rows, device):
    call = GRADIENTS[name]
    x, y = mindtorch.tensor(rows, device=device, requires_grad=True), torch.tensor(rows, requires_grad=True)
    ours, theirs = tensors(call(mindtorch, x)), tensors(call(torch, y))
    for one, other in zip(ours, theirs, strict=True):
        assert one.shape == tuple(other.shape)
        assert_same(one, other)
    sum((one * one).sum() for one in ours).backward()
    sum((other * other).sum() for other in theirs).backward()
    assert_same(x.grad, y.grad)


@pytest.mark.parametrize("name", VALUES)
def test_values(name, device):
    ours = tensors(VALUES[name](mindtorch, mindtorch.tensor(INTEGERS, device=device)))
    theirs = tensors(VALUES[name](torch, torch.tensor(INTEGERS)))
    for one, other in zip(ours, theirs, strict=True):
        assert (one.shape, str(one.dtype)) == (tuple(other.shape), str(other.dtype))
        assert_same(one, other)


def hashed(lib, numbers, dtype, device, *args, **options):
    try:
        found = lib.hash_tensor(lib.tensor(numbers).to(device, getattr(lib, dtype)), *args, **options)
    except (IndexError, NotImplementedError, RuntimeError) as error:
        return type(error), str(error)
    return str(found.dtype), tuple(found.shape), found.tolist()


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "int64", "bfloat16", "float32", "float64"])
def test_hashes(dtype, device):
    for numbers in (INTEGERS, WITH_ZEROS, [[]], [5]):
        for args in ((), (0,), (-1,), (None,), ((0, 1),)):
            for keepdim in (False, True):
                ours = hashed(mindtorch, numbers, dtype, device, *args, keepdim=keepdim)
                assert ours == hashed(torch, numbers, dtype, "cpu", *args, keepdim=keepdim), (numbers, args)
    assert hashed(mindtorch, [1], dtype, device, mode=2) == hashed(torch, [1], dtype, "cpu", mode=2)
    assert hashed(mindtorch, X, dtype, device, (0, 0)) == hashed(torch, X, dtype, "cpu", (0, 0))
    assert hashed(mindtorch, X, "complex64", device) == hashed(torch, X, "complex64", "cpu")


@pytest.mark.parametrize("dtype", ["bool", "float32", "complex64"])
def test_what_is_not_counted(dtype, device):
    said = []
    for lib, place in ((mindtorch, device), (torch, "cpu")):
        with pytest.raises(NotImplementedError) as caught:
            lib.bincount(lib.ones(2, 2).to(place, getattr(lib, dtype)))
        said.append(str(caught.value))
    assert said[0] == said[1]


@pytest.mark.parametrize("count", [8, 5000])
def test_results_of_reported_size_hold_no_more_memory_than_their_own(device, count):
    x = mindtorch.arange(count, device=device) // 3
    for result in (x.unique(), x.unique_consecutive(), *x.unique(return_counts=True), x.nonzero()):
        assert result.untyped_storage().nbytes() == result.numel() * result.element_size()
    given = mindtorch.empty(count, 1, dtype=mindtorch.int64, device=device)
    mindtorch.nonzero(x, out=given[:count - 3])
    assert given.untyped_storage().nbytes() == 8 * count
    assert given[:count - 3, 0].tolist() == list(range(3, count))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64"])
def test_histograms_of_integers(dtype):
    """The NPU's operator documents them, as torch has them on GPUs; torch's CPU and ours refuse them in one word."""
    values = [0, 3, 3, 1, 7, 5, 3, 6, -1 if dtype != "uint8" else 9]
    for arguments in ({"bins": 8, "min": 0, "max": 7}, {"bins": 4, "min": 1, "max": 6}, {"bins": 3}):
        want = torch.histc(torch.tensor(values, dtype=torch.float64), **arguments)
        x = mindtorch.tensor(values, dtype=getattr(mindtorch, dtype), device="npu")
        found = mindtorch.histc(x, **arguments)
        assert found.dtype == x.dtype
        assert found.tolist() == want.tolist(), arguments
        into = mindtorch.empty(0, dtype=x.dtype, device="npu")
        assert mindtorch.histc(x, out=into, **arguments) is into
        assert into.tolist() == want.tolist()
        with pytest.raises(NotImplementedError) as theirs:
            torch.histc(torch.tensor(values, dtype=getattr(torch, dtype)), **arguments)
        into = mindtorch.empty(1, dtype=x.dtype)
        for more in ({}, {"out": into}):
            with pytest.raises(NotImplementedError) as ours:
                mindtorch.histc(x.cpu(), **arguments, **more)
            assert str(ours.value) == str(theirs.value)
        assert tuple(into.shape) == (1,)           # as it was


def test_histograms_refuse_what_the_operator_does_not_document():
    for dtype in (mindtorch.bool, mindtorch.complex64):
        with pytest.raises(NotImplementedError):
            mindtorch.histc(mindtorch.ones(3, device="npu").to(dtype), 4)


def test_correlation_of_complex_numbers():
    results = [lib.corrcoef(lib.tensor([[1 + 2j, 3, -1j], [2, 1j, 4 + 1j], [1, 2, 3]])) for lib in (mindtorch, torch)]
    np.testing.assert_allclose(results[0].numpy(), results[1].numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("options", [{}, {"largest": False}, {"sorted": False}])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64", "float64"])
def test_which_of_equal_elements_topk_names(dtype, options, device):
    """Those that torch's CPU names: a router's choice, say, does not depend on the library."""
    for size, k in ((5, 3), (20, 20), (65, 1), (300, 4), (300, 30)):
        values = torch.arange(size) * 7 % 4 + torch.zeros(3, 1)
        if dtype == "float32":
            values[1, ::3] = float("nan")
        for lib, where in ((torch, "cpu"), (mindtorch, device)):
            x = lib.tensor(values.tolist(), device=where).to(getattr(lib, dtype))
            found = x.topk(k, **options)
            if lib is torch:
                expected = found
        assert found[1].tolist() == expected[1].tolist()
        assert str(found[0].tolist()) == str(expected[0].tolist())


def test_bins_on_whose_edges_numbers_lie(device):
    """Between bounds that lie one to either side of a number this is in the middle, rounded as the dtype rounds."""
    for seed in range(60):
        torch.manual_seed(seed)
        values, bins = torch.rand(1) * 4 - 2, 2 * seed % 12 + 2
        assert mindtorch.histc(mindtorch.tensor(values.tolist(), device=device), bins).tolist() == \
            torch.histc(values, bins).tolist()


@pytest.mark.parametrize(("name", "dtype"), [("cumprod", "float32"), ("cumprod", "complex64"), ("cumsum", "float32"),
                                             ("cumsum", "complex64"), ("logcumsumexp", "float32")])
def test_scans_keep_float64_between_two_elements(name, dtype):
    numbers = torch.linspace(-1.5, 1.7, 400).reshape(40, 10)
    for dim in (0, 1):
        expected = getattr(torch, name)(numbers.to(getattr(torch, dtype)), dim)
        found = getattr(mindtorch, name)(mindtorch.tensor(numbers.tolist(), dtype=getattr(mindtorch, dtype)), dim)
        assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("ends", [(0.0001, 0.02), (-3, 7), (5, -5.5)])
def test_linspace_rounds_each_number_once(ends, dtype):
    """torch's does where the processor multiplies and adds in one instruction."""
    kind, steps = getattr(np, dtype), 776
    start, end = map(kind, ends)
    step = Fraction(float((end - start) / kind(steps)))
    half = (steps + 1) // 2
    exact = [Fraction(float(start)) + step * i for i in range(half)] + [
        Fraction(float(end)) - step * (steps - i) for i in range(half, steps + 1)]
    found = mindtorch.linspace(*ends, steps + 1, dtype=getattr(mindtorch, dtype))
    assert found.tolist() == [float(kind(float(number))) for number in exact]
    theirs = torch.linspace(*ends, steps + 1, dtype=getattr(torch, dtype))
    tolerance = 4 * np.finfo(dtype).eps * max(map(abs, ends))
    np.testing.assert_allclose(found.numpy(), theirs.numpy(), rtol=0, atol=tolerance)
