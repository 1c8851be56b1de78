"""The strides of results of tensors that are channels_last, permuted, cut out or expanded, beside torch's.

Dimensions of one element are left out: nothing goes by their strides. So are Fourier transforms, whose results have the
order that torch's library for them has on this machine. Matrices that LAPACK computes lie by columns.
"""
import random
import warnings

import numpy as np
import pytest
import torch

import mindtorch

SHAPES = [(2, 3, 4, 5), (2, 2, 4, 4), (1, 3, 4, 4), (2, 4, 2, 6), (2, 2, 2, 2), (3, 2, 5, 4)]
FORMS = {
    "channels_last": lambda lib, t: t.contiguous(memory_format=lib.channels_last),
    "permuted": lambda lib, t: t.permute(0, 2, 1, 3).contiguous().permute(0, 2, 1, 3),
    "cut out": lambda lib, t: lib.cat([t, t], 1).contiguous(memory_format=lib.channels_last)[:, :t.shape[1]],
    "expanded": lambda lib, t: t.contiguous(memory_format=lib.channels_last)[:, :1].expand(-1, t.shape[1], -1, -1),
}
# name -> a result of a library, a tensor of four dimensions, one of them, and two indices
OPERATORS = {
    "abs": lambda lib, x, d, i: x.abs(),
    "angle": lambda lib, x, d, i: x.angle(),
    "angle of complex numbers": lambda lib, x, d, i: lib.complex(x, x).angle(),
    "add": lambda lib, x, d, i: x + x.flip(1),
    "add one contiguous": lambda lib, x, d, i: x.contiguous() + x,
    "add one row": lambda lib, x, d, i: x[:, :1] + x,
    "pow": lambda lib, x, d, i: x ** 2,
    "pow of a number": lambda lib, x, d, i: 2 ** x,
    "ldexp": lambda lib, x, d, i: lib.ldexp(x, x.to(lib.int32)),
    "where": lambda lib, x, d, i: lib.where(x > 0, x, -x),
    "where of a condition alone": lambda lib, x, d, i: lib.where(lib.ones_like(x, dtype=lib.bool), 1.0, 2.0),
    "where of a part of a condition": lambda lib, x, d, i: lib.where((x > 0).expand(2, *x.shape)[..., :2], 1.0, 2.0),
    "where of a row of a condition": lambda lib, x, d, i: lib.where((x > 0)[:, :1].expand(x.shape), x[:1], 2.0),
    "clone": lambda lib, x, d, i: x.clone(),
    "empty_like": lambda lib, x, d, i: lib.empty_like(x),
    "to": lambda lib, x, d, i: x.to(lib.float16),
    "cat": lambda lib, x, d, i: lib.cat([x, x], d),
    "stack": lambda lib, x, d, i: lib.stack([x, x], d),
    "stack behind": lambda lib, x, d, i: lib.stack([x, x], -1),
    "sum": lambda lib, x, d, i: x.sum(d, keepdim=True),
    "amax": lambda lib, x, d, i: x.amax(d),
    "argmax": lambda lib, x, d, i: x.argmax(d),
    "cumsum": lambda lib, x, d, i: x.cumsum(d),
    "sort": lambda lib, x, d, i: x.sort(d)[1],
    "flip": lambda lib, x, d, i: x.flip(d),
    "roll": lambda lib, x, d, i: x.roll(1, d),
    "roll as one line": lambda lib, x, d, i: x.roll(1),
    "tril": lambda lib, x, d, i: x.tril(),
    "repeat": lambda lib, x, d, i: x.repeat(1, 2, 1, 1),
    "index": lambda lib, x, d, i: x[(slice(None),) * d + (i,)],
    "index of two dimensions": lambda lib, x, d, i: x[:, lib.stack([i, i])],
    "index twice": lambda lib, x, d, i: x[:, :, i, i],
    "index twice apart": lambda lib, x, d, i: x[:, i, :, i],
    "index_select": lambda lib, x, d, i: x.index_select(d, i),
    "gather": lambda lib, x, d, i: x.gather(d, lib.zeros_like(x, dtype=lib.int64)),
    "put": lambda lib, x, d, i: x.put(i, lib.ones(2, device=i.device)),
    "index_put": lambda lib, x, d, i: x.index_put((i % len(x),), lib.ones((), device=i.device)),
    "index_add": lambda lib, x, d, i: x.index_add(d, i, x.index_select(d, i)),
    "index_reduce": lambda lib, x, d, i: x.index_reduce(d, i, x.index_select(d, i), "amax"),
    "scatter": lambda lib, x, d, i: x.scatter(d, lib.zeros_like(x, dtype=lib.int64), x),
    "masked_fill": lambda lib, x, d, i: x.masked_fill(x > 0, 1.0),
    "softmax": lambda lib, x, d, i: x.softmax(d),
    "logsigmoid": lambda lib, x, d, i: lib.nn.functional.logsigmoid(x),
    "gelu": lambda lib, x, d, i: lib.nn.functional.gelu(x),
    "conv1d": lambda lib, x, d, i: lib.nn.functional.conv1d(x[0], lib.ones(5, x.shape[2], 2, device=i.device)),
    "conv1d of one channel": lambda lib, x, d, i: lib.nn.functional.conv1d(
        x[0].reshape(x.shape[1], -1, 1).mT, lib.ones(5, 1, 2, device=i.device)),
    "conv1d with columns": lambda lib, x, d, i: lib.nn.functional.conv1d(
        x[0], lib.ones(5, 2, x.shape[2], device=i.device).mT),
    "conv_transpose1d with columns": lambda lib, x, d, i: lib.nn.functional.conv_transpose1d(
        x[0], lib.ones(x.shape[2], 2, 5, device=i.device).mT),
    "conv2d": lambda lib, x, d, i: lib.nn.functional.conv2d(x, lib.ones(2, x.shape[1], 2, 2, device=i.device)),
    "max_pool2d": lambda lib, x, d, i: lib.nn.functional.max_pool2d(x, 2),
    "adaptive_avg_pool2d": lambda lib, x, d, i: lib.nn.functional.adaptive_avg_pool2d(x, 2),
    "interpolate": lambda lib, x, d, i: lib.nn.functional.interpolate(x, scale_factor=2.0, mode="bilinear"),
    "pad": lambda lib, x, d, i: lib.nn.functional.pad(x, (1, 1, 1, 0)),
    "pad with nothing": lambda lib, x, d, i: lib.constant_pad_nd(x, (0, 0)),
    "cut by a pad": lambda lib, x, d, i: lib.constant_pad_nd(x, (-1, 0, 0, -1)),
    "circular pad": lambda lib, x, d, i: lib.nn.functional.pad(x, (1, 1, 1, 0), mode="circular"),
    "batch_norm": lambda lib, x, d, i: lib.nn.functional.batch_norm(x, None, None, training=True),
    "group_norm": lambda lib, x, d, i: lib.nn.functional.group_norm(x, 1),
    "pixel_unshuffle": lambda lib, x, d, i: lib.nn.functional.pixel_unshuffle(
        x[:, :, :2, :2].contiguous(memory_format=lib.channels_last), 2),
    "channel_shuffle": lambda lib, x, d, i: lib.nn.functional.channel_shuffle(x.repeat(1, 2, 1, 1), 2),
    "reshape": lambda lib, x, d, i: x.reshape(x.shape[0], -1),
    "index behind None": lambda lib, x, d, i: x[0, 0].t()[None, i],
    "index before None": lambda lib, x, d, i: x[0, 0].t()[i, None],
    "index behind a part of one": lambda lib, x, d, i: x[:1].transpose(1, 3)[:, i],
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.filterwarnings("ignore:index_reduce:UserWarning")
def test_strides_are_those_of_torch(form, device):
    chosen, wrong = random.Random(1), {}
    for name, function in OPERATORS.items():
        for shape in chosen.sample(SHAPES, 2):
            values, dim = np.ones(shape, np.float32), chosen.randrange(shape[0] == 1, 4)

            def result(lib, where, function=function, values=values, dim=dim):
                x = FORMS[form](lib, lib.tensor(values, device=where))
                made = function(lib, x, dim, lib.tensor([0, 1], device=where))
                return [(size, stride) for size, stride in zip(made.shape, made.stride(), strict=True) if size > 1]
            ours, theirs = result(mindtorch, device), result(torch, "cpu")
            if ours != theirs:
                wrong[name, shape, dim] = ours, theirs
    assert not wrong


def test_dimensions_of_one_element_decide_where_operands_are_broadcast(device):
    """An unfolded column has the stride 1 along a dimension of one element, too."""
    for lib, where in ((mindtorch, device), (torch, "cpu")):
        column = lib.ones(2, 1, device=where)
        assert (column.unfold(0, 2, 1) + column).stride()[1:] == (1, 2)


def of_two(solve):
    """A function of a square matrix for `solve(lib, matrix, right-hand side)`."""
    return lambda lib, a: solve(lib, a, lib.cat([a, a], -1))


SQUARE = {
    "inv": lambda lib, a: lib.linalg.inv(a),
    "inv_ex": lambda lib, a: lib.linalg.inv_ex(a),
    "matrix_power": lambda lib, a: lib.linalg.matrix_power(a, -1),
    "first power": lambda lib, a: lib.linalg.matrix_power(a, 1),
    "cholesky": lambda lib, a: lib.linalg.cholesky(a),
    "cholesky_ex": lambda lib, a: lib.linalg.cholesky_ex(a, upper=True),
    "cholesky_inverse": lambda lib, a: lib.cholesky_inverse(a),
    "cholesky_solve": of_two(lambda lib, a, b: lib.cholesky_solve(b, a)),
    "eigh": lambda lib, a: lib.linalg.eigh(a),
    "solve": of_two(lambda lib, a, b: lib.linalg.solve(a, b)),
    "solve from the right": of_two(lambda lib, a, b: lib.linalg.solve(a, b.mT, left=False)),
    "solve vectors": lambda lib, a: lib.linalg.solve(a, a[..., 0]),
    "solve_triangular": of_two(lambda lib, a, b: lib.linalg.solve_triangular(a, b, upper=True)),
    "solve_triangular from the right": of_two(
        lambda lib, a, b: lib.linalg.solve_triangular(a, b.mT, upper=True, left=False)),
    "triangular_solve": of_two(lambda lib, a, b: lib.triangular_solve(b, a)),
    "lu_solve": of_two(lambda lib, a, b: lib.linalg.lu_solve(*lib.linalg.lu_factor(a), b)),
    "lu_solve from the right": of_two(
        lambda lib, a, b: lib.linalg.lu_solve(*lib.linalg.lu_factor(a), b.mT, left=False)),
    "adjoint lu_solve": of_two(lambda lib, a, b: lib.linalg.lu_solve(*lib.linalg.lu_factor(a), b, adjoint=True)),
}
RECTANGULAR = {
    "qr": lambda lib, a: lib.linalg.qr(a),
    "complete qr": lambda lib, a: lib.linalg.qr(a, "complete"),
    "r of qr": lambda lib, a: lib.linalg.qr(a, "r"),
    "svd": lambda lib, a: lib.linalg.svd(a),
    "reduced svd": lambda lib, a: lib.linalg.svd(a, full_matrices=False),
    "older svd": lambda lib, a: lib.svd(a),
    "older svd without vectors": lambda lib, a: lib.svd(a, compute_uv=False),
    "lu_factor": lambda lib, a: lib.linalg.lu_factor(a),
    "lu": lambda lib, a: lib.linalg.lu(a),
    "geqrf": lambda lib, a: lib.geqrf(a),
    "lstsq": lambda lib, a: lib.linalg.lstsq(a, a[..., :2]),
    "lstsq of vectors": lambda lib, a: lib.linalg.lstsq(a, a[..., 0]) if a.dim() > 2 else (),
    "householder_product": lambda lib, a: lib.linalg.householder_product(*lib.geqrf(a)) if a.shape[-2] > 2 else (),
    "ormqr": lambda lib, a: lib.ormqr(*lib.geqrf(a), a),
    "ormqr from the right": lambda lib, a: lib.ormqr(*lib.geqrf(a), a.mT, left=False),
    "pinv": lambda lib, a: lib.linalg.pinv(a),
}


@pytest.mark.parametrize("batch", [(), (2,), (2, 3)])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.filterwarnings("ignore:torch:UserWarning")
def test_matrices_of_lapack_lie_by_columns(batch, transposed, device):
    wrong = {}
    for functions, size in ((SQUARE, (3, 3)), (RECTANGULAR, (3, 3)), (RECTANGULAR, (4, 3)), (RECTANGULAR, (2, 3))):
        values = np.random.default_rng(0).standard_normal((*batch, *size)).astype(np.float32)
        if functions is SQUARE:
            values = values @ np.swapaxes(values, -1, -2) + 3 * np.eye(3, dtype=np.float32)
        for name, function in functions.items():
            def results(lib, where, function=function, values=values):
                x = lib.tensor(values, device=where)
                made = function(lib, x.mT.contiguous().mT if transposed else x)
                return [[(n, s) for n, s in zip(one.shape, one.stride(), strict=True) if n > 1]
                        for one in ([made] if isinstance(made, lib.Tensor) else made)]
            ours, theirs = results(mindtorch, device), results(torch, "cpu")
            if ours != theirs:
                wrong[name, size] = ours, theirs
    assert not wrong


def test_an_empty_out_of_lapack_gets_strides_by_columns(device):
    for lib, where in ((mindtorch, device), (torch, "cpu")):
        a, out = lib.eye(3, device=where), lib.empty(0, device=where)
        assert lib.linalg.inv(a, out=out) is out
        assert out.stride() == (1, 3)
        into = lib.empty(3, 3, device=where)
        assert lib.linalg.inv(a, out=into).stride() == (3, 1)


RESIZED = {
    "cholesky": lambda lib, a, out: lib.cholesky(a, out=out),
    "cholesky_inverse": lambda lib, a, out: lib.cholesky_inverse(a, out=out),
    "cholesky_solve": lambda lib, a, out: lib.cholesky_solve(a, a, out=out),
    "householder_product": lambda lib, a, out: lib.linalg.householder_product(a, a[0], out=out),
    "orgqr": lambda lib, a, out: lib.orgqr(a, a[0], out=out),
    "ormqr": lambda lib, a, out: lib.ormqr(a, a[0], a, out=out),
    "lstsq": lambda lib, a, out: lib.linalg.lstsq(a, a, out=(out, *(lib.empty(0, device=a.device) for _ in "123"))),
    "matrix_power": lambda lib, a, out: lib.linalg.matrix_power(a, -1, out=out),
    "inverse": lambda lib, a, out: lib.inverse(a, out=out),
    "tensorinv": lambda lib, a, out: lib.linalg.tensorinv(a, 1, out=out),
    "lu_solve": lambda lib, a, out: lib.lu_solve(a, *lib.linalg.lu_factor(a), out=out),
}


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.filterwarnings("ignore:torch.cholesky is deprecated")
@pytest.mark.filterwarnings("ignore:torch.lu_solve is deprecated")
@pytest.mark.parametrize("name", RESIZED)
def test_which_resized_outs_of_matrices_lie_by_columns(name, device):
    def strides(lib, device, shape, dtype):
        out = lib.empty(shape, device=device, dtype=getattr(lib, dtype))
        try:
            RESIZED[name](lib, lib.eye(3, device=device), out)
        except RuntimeError:
            return "refused"
        return out.stride()
    for shape in ((0,), (0, 3), (2, 2), (9,), (3, 3)):
        for dtype in ("float32", "float64"):
            assert strides(mindtorch, device, shape, dtype) == strides(torch, "cpu", shape, dtype), (shape, dtype)


def indexed(lib, device, columns, order):
    """x[i] and x[:, i], and their like, where x or the index does not lie by rows."""
    x = lib.arange(120, device=device).reshape(4, 5, 6)
    x = x.permute(2, 0, 1) if columns else x
    i = (lib.arange(24, device=device) % 4).reshape(2, 3, 4).permute(order)
    j = lib.arange(3, device=device).unsqueeze(1)
    odd = lib.arange(3, device=device).as_strided((3, 1), (1, 3))           # as nonzero gives
    return [t.stride() for t in (x[i], x[:, i], x[:, :, i], x[i, j[:1]], x[j, :, j.T], x[i[0], i[0].T.T], x[odd],
                                 x[:, :1][odd], x[..., :1][:, odd])]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 0, 2)])
@pytest.mark.parametrize("columns", [False, True])
def test_indices_that_do_not_lie_by_rows(columns, order, device):
    assert indexed(mindtorch, device, columns, order) == indexed(torch, "cpu", columns, order)


def places(lib, device):
    x = lib.tensor([[0, 1, 2], [3, 0, 4]], device=device)
    out, right = lib.empty(0, dtype=lib.int64, device=device), lib.empty(4, 2, dtype=lib.int64, device=device)
    lib.nonzero(x, out=out)
    lib.nonzero(x, out=right)
    return [(t.tolist(), t.stride()) for t in (x.nonzero(), lib.argwhere(x), *lib.where(x > 1), out, right)]


def test_the_places_that_nonzero_finds_lie_by_columns():
    """On the NPU they lie by rows, as torch_npu's: columns would cost another launch."""
    assert places(mindtorch, "cpu") == places(torch, "cpu")
    assert [found for found, _ in places(mindtorch, "npu")] == [found for found, _ in places(torch, "cpu")]


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_expanded_operands_that_are_cast(dtype, device):
    """Where the operator casts it, an expanded operand has strides like any other."""
    def made(lib, where):
        expanded = lib.ones(2, 1, device=where).to(getattr(lib, dtype)).expand(2, 3)
        columns = lib.ones(3, 2, device=where).to(getattr(lib, dtype)).t()
        return lib.xlogy(expanded, columns).stride(), lib.xlogy(columns, expanded).stride()
    assert made(mindtorch, device) == made(torch, "cpu")


@pytest.mark.parametrize("shape", [(3,), (0,), (4, 2, 2, 2)])
def test_what_is_joined_into_a_tensor_of_another_shape_stays_channels_last(shape, device):
    def strides(lib, where):
        x = lib.arange(16, dtype=lib.int16, device=where).reshape(2, 2, 2, 2)
        x = x.contiguous(memory_format=lib.channels_last)
        out = lib.ones(shape, device=where)
        return [lib.cat(tensors, 0, out=out.clone()).stride() for tensors in ([x], [x, x], [x, x.contiguous()])]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")                 # of an out= that has elements
        assert strides(mindtorch, device) == strides(torch, "cpu")


# name -> two operands and a result: one is expanded, and cast where the dtypes differ, which makes it dense
EXPANDED = {
    "comparison": ("uint8", "int32", lambda lib, x, y: x == y),
    "comparison of a bool": ("bool", "float64", lambda lib, x, y: x < y),
    "logical_xor": ("uint8", "float64", lambda lib, x, y: lib.logical_xor(x, y)),
    "comparison of one dtype": ("int32", "int32", lambda lib, x, y: x > y),
    "nextafter": ("uint8", "float16", lambda lib, x, y: lib.nextafter(x, y)),
    "nextafter of one dtype": ("float32", "float32", lambda lib, x, y: lib.nextafter(x, y)),
    "polar": ("float64", "float64", lambda lib, x, y: lib.polar(x, y)),
    "complex": ("float32", "float32", lambda lib, x, y: lib.complex(x, y)),
    "add": ("int64", "float32", lambda lib, x, y: x + y),
}


@pytest.mark.parametrize("axes", [(1,), (0,), (2,), (0, 2)])
@pytest.mark.parametrize("name", EXPANDED)
def test_an_expanded_operand_decides_the_strides_as_torchs_does(name, axes, device):
    def strides(lib, where):
        first, second, compute = EXPANDED[name]
        x = lib.ones(3, 4, 2, dtype=getattr(lib, first), device=where)
        for axis in axes:
            x = x.narrow(axis, 0, 1)
        y = lib.ones(2, 3, 4, dtype=getattr(lib, second), device=where).permute(1, 2, 0)
        return [compute(lib, one, other).stride() for one in (x.expand(3, 4, 2), x) for other in (y, y.contiguous())]

    assert strides(mindtorch, device) == strides(torch, "cpu")
