"""Values of the kernel library beside torch: special numbers, and sizes around those of blocks and partial sums."""
import functools
import math

import numpy as np
import pytest
import torch as peer

import mindtorch as torch

INFINITY, NAN = math.inf, math.nan
SPECIAL = [0.0, -0.0, INFINITY, -INFINITY, NAN, 1e-45, -1e-45, 1e-38, -1e-38, 1e-8, -1e-8, 0.3, -0.3, 1.0, -0.999, 20.0,
           20.1, -20.1, 88.5, 88.73, -88.7, -103.0, -150.0, 3e38, -3e38]


def numbers(*shape, seed=0, scale=1.0):
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(np.float32)


def both(device, call, *arrays, rtol=2e-6, atol=1e-6):
    """Compares a call, of a library and tensors, with torch's; and the gradients of the tensors of floats."""
    results = []
    for lib, where in ((peer, "cpu"), (torch, device)):
        tensors = [lib.from_numpy(array.copy()).to(where) for array in arrays]
        leaves = [tensor.requires_grad_() for tensor in tensors if tensor.is_floating_point()]
        found = call(lib, *tensors)
        grads = lib.autograd.grad(found.sum(), leaves, allow_unused=True) if found.requires_grad else []
        results.append([value.detach().cpu().numpy() for value in (found, *grads) if value is not None])
    for theirs, ours in zip(*results, strict=True):
        assert ours.shape == theirs.shape
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=atol)


@pytest.mark.parametrize("name", ["log1p", "expm1", "exp2", "sinh", "cosh", "nn.functional.softplus",
                                  "nn.functional.mish", "nn.functional.logsigmoid", "nn.functional.elu",
                                  "nn.functional.celu", "nn.functional.selu"])
def test_functions_of_float_are_exact_to_some_bits(device, name):
    x = np.concatenate([np.array(SPECIAL, np.float32), numbers(700, scale=3), numbers(700, scale=1e-3)])
    wide = functools.reduce(getattr, name.split("."), peer)(peer.from_numpy(x).double()).numpy()
    found = functools.reduce(getattr, name.split("."), torch)(torch.from_numpy(x).to(device)).cpu().numpy()
    with np.errstate(over="ignore"):
        expected = wide.astype(np.float32)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=2e-43)
    zero = x == 0
    assert (np.signbit(found) == np.signbit(expected))[zero].all()


def test_remainders_are_exact(device):
    x = np.concatenate([np.array(SPECIAL, np.float32), numbers(600, scale=100), numbers(600, seed=1, scale=1e20)])
    y = np.roll(np.concatenate([np.array(SPECIAL, np.float32), numbers(1200, seed=2)]), 7)
    with np.errstate(all="ignore"):
        expected = np.fmod(x, y)
    found = torch.fmod(torch.from_numpy(x).to(device), torch.from_numpy(y).to(device)).cpu().numpy()
    np.testing.assert_array_equal(found, expected)
    assert (np.signbit(found) == np.signbit(expected))[~np.isnan(expected)].all()


@pytest.mark.parametrize(("low", "high"), [(-0.5, 0.5), (NAN, 0.5), (None, 0.1), (0.5, -0.5)])
def test_clamp_of_special_numbers(device, low, high):
    both(device, lambda lib, x: x.clamp(low, high), np.array(SPECIAL * 9, np.float32))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_short_floats(device, dtype):
    """In order, strided, broadcast, between both types, and of a view of the memory that is written."""
    x = np.concatenate([np.array(SPECIAL, np.float32), numbers(1001, scale=1e-6), numbers(1001, scale=1e4)])

    def call(lib, x):
        narrow = x.detach().to(getattr(lib, dtype))
        spread = lib.zeros(3, 5, dtype=narrow.dtype, device=x.device).t()
        spread.copy_(x.detach()[100:105, None])
        return lib.cat([narrow.float(), x.detach()[::3].to(narrow.dtype).float(), spread.reshape(-1).float(),
                        narrow.to(lib.bfloat16).to(lib.float16).float()])
    both(device, call, x, rtol=0, atol=0)


@pytest.mark.parametrize("count", [1, 15, 16, 33, 511, 512, 1100])
@pytest.mark.parametrize("name", ["dot", "norm", "norm1", "prod", "nansum", "mse", "bce", "smooth_l1"])
def test_sums_of_any_length(device, name, count):
    calls = {"dot": lambda lib, x, y: x @ y, "norm": lambda lib, x, y: lib.linalg.vector_norm(x),
             "norm1": lambda lib, x, y: lib.linalg.vector_norm(x, 1), "prod": lambda lib, x, y: (y + 0.5).prod(),
             "nansum": lambda lib, x, y: (x / (y > 0.1)).nan_to_num(NAN, 1.0, 1.0).nansum(),
             "mse": lambda lib, x, y: lib.nn.functional.mse_loss(x, y, reduction="sum"),
             "bce": lambda lib, x, y: lib.nn.functional.binary_cross_entropy_with_logits(x, y, y.detach() + 1),
             "smooth_l1": lambda lib, x, y: lib.nn.functional.smooth_l1_loss(x, y, beta=0.3)}
    y = np.random.default_rng(1).random(count, np.float32)
    both(device, calls[name], numbers(count), y, rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("width", [1, 3, 4, 17])
@pytest.mark.parametrize("transposed", [False, True])
def test_rows_at_indices(device, width, transposed):
    """Added and taken whole where they are contiguous, element by element elsewhere; one place several times."""
    index = np.random.default_rng(0).integers(0, 20, 600)
    x, rows = numbers(20, width), numbers(600, width, seed=1)

    def call(lib, x, rows, index):
        x, rows = ((x.t().contiguous().t(), rows.t().contiguous().t()) if transposed else (x, rows))
        return x.index_add(0, index, rows, alpha=0.5).index_select(0, index) * x[index] + x.take(index)[:, None]
    both(device, call, x, rows, index, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dim", [0, 1])
def test_scattered_elements(device, dim):
    index = np.random.default_rng(0).integers(0, 30, (30, 30))

    def call(lib, x, source, index):
        added = x.scatter_add(dim, index, source)
        return added * x.scatter_reduce(dim, index, source, "amax") + x.gather(dim, index).masked_fill(index > 7, 2.0)
    both(device, call, numbers(30, 30), numbers(30, 30, seed=1), index, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("options", [{"mode": "nearest"}, {"mode": "bilinear"}, {"mode": "bicubic"}, {"mode": "area"},
                                     {"mode": "bilinear", "antialias": True}])
@pytest.mark.parametrize("size", [(5, 20), (13, 3)])
def test_resized_images(device, options, size):
    image = numbers(2, 3, 7, 9)
    image[0, 0, 2, 3] = INFINITY
    both(device, lambda lib, x: lib.nn.functional.interpolate(x, size=size, **options), image[:, 1:], rtol=1e-4)
    both(device, lambda lib, x: lib.nn.functional.interpolate(x.detach(), size=size, **options), image, rtol=1e-4)


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 3.0, INFINITY])
@pytest.mark.parametrize("columns", [1, 16, 37])
def test_distances(device, p, columns):
    x, y = numbers(2, 9, columns), numbers(2, 7, columns, seed=1)
    y[0, 0] = x[0, 0]
    both(device, lambda lib, x, y: lib.cdist(x, y, p, "donot_use_mm_for_euclid_dist"), x, y, rtol=1e-4, atol=1e-5)
    both(device, lambda lib, x: lib.cdist(x[0], x, p, "donot_use_mm_for_euclid_dist"), y, rtol=1e-4, atol=1e-5)
    both(device, lambda lib, x: lib.nn.functional.pdist(x[0].detach(), p), x, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("with_nan", [False, True])
def test_medians(device, with_nan):
    x = np.round(numbers(7, 101), 1)
    x[3, 50] = NAN if with_nan else 0
    both(device, lambda lib, x: lib.cat([x.median(1)[0], x.nanmedian(1)[0], x.median()[None], x.nanmedian()[None]]), x)


def test_isin_of_many(device):
    elements, among = numbers(40, 3).round(1), numbers(300, seed=1).round(1)
    elements[0, 0] = among[0] = NAN
    both(device, lambda lib, x, y: lib.isin(x, y), elements, among)
    both(device, lambda lib, x, y: lib.isin(x, y, invert=True), elements, (among[1:] * 10).astype(np.int32))


def test_places_that_an_index_names_several_times(device):
    index = np.random.default_rng(0).integers(-6, 6, (4, 5))
    both(device, lambda lib, x, y, index: (x[:, index] * y).sum((1, 2)), numbers(3, 6, 4), numbers(3, 4, 5, 1), index,
         rtol=1e-5, atol=1e-5)


def test_sparse_products_in_parts(device):
    """More terms than a product holds at once."""
    x = numbers(60, 50) * (np.random.default_rng(0).random((60, 50)) > 0.5)

    both(device, lambda lib, x, y: lib.sparse.mm(x.detach().to_sparse(), y), x, numbers(50, 700, seed=1), rtol=1e-4,
         atol=1e-4)


def test_cholesky_of_a_batch_with_failures():
    x = np.stack([np.eye(3), -np.eye(3), np.eye(3) * NAN, 4 * np.eye(3)]).astype(np.float32)
    theirs, ours = peer.linalg.cholesky_ex(peer.from_numpy(x)), torch.linalg.cholesky_ex(torch.from_numpy(x))
    assert ours.info.tolist() == theirs.info.tolist()
    assert ours.L[3].tolist() == theirs.L[3].tolist()
