"""Functions of rows called directly, with lists, sizes and tensors that make no sense: an error, as in torch."""
import contextlib
import subprocess
import sys

import pytest
import torch

import mindtorch
from mindtorch._core._gen.namespace import ATEN


def ones(lib, device, *shape):
    return lib.ones(shape, device=device)


IMAGE, COLUMNS = (2, 3, 5, 6), (2, 18, 12)
WINDOWS = {
    "im2col": lambda aten, t, **k: aten("im2col")(
        t(*k.get("of", IMAGE)), k.get("kernel", [2, 3]), k.get("dilation", [1, 1]), k.get("padding", [0, 1]),
        k.get("stride", [1, 1])),
    "col2im": lambda aten, t, **k: aten("col2im")(
        t(*k.get("of", COLUMNS)), k.get("size", [5, 6]), k.get("kernel", [2, 3]), k.get("dilation", [1, 1]),
        k.get("padding", [0, 1]), k.get("stride", [1, 2])),
}
WRONG = [{name: value} for name in ("kernel", "dilation", "stride")
         for value in ([0, 0], [1, 0], [-1, 1], [1, 1, 1], [])]
WRONG += [{"padding": value} for value in ([-1, 1], [0, -1], [1, 1, 1], [])]
WRONG += [{"of": ()}, {"of": (0,)}, {"of": (1, 2, 3, 4, 5)}]
OUTPUT_SIZES = [{"size": value} for value in ([-5, 6], [0, 6], [5, 6, 7], [])]


def error_of(call):
    with pytest.raises(Exception) as caught:        # noqa: PT011 - of what type is compared
        call()
    return caught.value


@pytest.mark.parametrize(("name", "wrong"), [(name, wrong) for name in WINDOWS for wrong in WRONG] + [
    ("col2im", wrong) for wrong in OUTPUT_SIZES], ids=str)
def test_sliding_windows(name, wrong, device):
    ours = error_of(lambda: WINDOWS[name](ATEN.__getitem__, lambda *s: ones(mindtorch, device, *s), **wrong))
    theirs = error_of(lambda: WINDOWS[name](lambda n: getattr(torch.ops.aten, n), lambda *s: ones(torch, "cpu", *s),
                                            **wrong))
    if "of" in wrong:
        assert isinstance(theirs, (RuntimeError, IndexError))
        assert "dimensions for input, but got: [" in str(ours)
    else:
        assert (type(ours), str(ours)) == (type(theirs), str(theirs))


def max_pool2d(aten, t, whole, grad, indices):
    return aten("max_pool2d_with_indices_backward")(
        t(*grad), t(*whole), [3, 2], [2, 1], [1, 1], [1, 1], False, t(*indices).long())


@pytest.mark.parametrize(("whole", "grad", "indices"), [
    ((3, 3, 6, 7), (2, 2, 3, 7), (2, 2, 3, 7)), ((2, 5, 6), (2, 2, 3, 7), (2, 2, 3, 7)),
    ((2, 2, 5, 6), (2, 2, 3, 6), (2, 2, 3, 7)), ((2, 2, 5, 6), (2, 2, 3, 7), (2, 2, 3, 6)),
    ((), (2, 2, 3, 7), (2, 2, 3, 7)), ((1, 1, 1, 1), (2, 2, 3, 7), (2, 2, 3, 7))], ids=str)
def test_gradients_of_pools(whole, grad, indices, device):
    ours = error_of(lambda: max_pool2d(ATEN.__getitem__, lambda *s: ones(mindtorch, device, *s), whole, grad, indices))
    theirs = error_of(lambda: max_pool2d(lambda n: getattr(torch.ops.aten, n), lambda *s: ones(torch, "cpu", *s),
                                         whole, grad, indices))
    assert type(ours) is type(theirs)


@pytest.mark.parametrize(("name", "dims"), [
    ("max_pool3d_with_indices_backward", 3), ("adaptive_max_pool2d_backward", 2), ("adaptive_max_pool3d_backward", 3)])
def test_gradients_of_other_pools(name, dims, device):
    """Of other planes than what was pooled, or with places for other gradients: torch reads what is not there."""
    whole, grad = (2, 2) + (4,) * dims, (2, 2) + (2,) * dims
    more = () if "adaptive" in name else ([2] * dims, [2] * dims, [0] * dims, [1] * dims, False)
    for sizes in ((whole[1:], grad, grad), ((3, *whole[1:]), grad, grad), (whole, grad[:-1], grad),
                  (whole, grad, grad[:-1]), ((), grad, grad), (whole, (), grad)):
        of_whole, of_grad, indices = (ones(mindtorch, device, *size) for size in sizes)
        with pytest.raises(RuntimeError, match=r"Expected a tensor of dimension|tensor expected for input"):
            ATEN[name](of_grad, of_whole, *more, indices.long())


def test_fourier_transforms(device):
    real = ones(mindtorch, device, 4, 4)
    calls = {"_fft_r2c": (real, (0, True)), "_fft_c2c": (real + 0j, (0, True)), "_fft_c2r": (real + 0j, (0, 4))}
    for name, (x, more) in calls.items():
        for dim in ([5], [0, 5], [2**31], [-3, 0], [-2**63]):
            with pytest.raises(IndexError, match=r"Dimension out of range \(expected to be in range of \[-2, 1\]"):
                ATEN[name](x, dim, *more)
        for empty in (x, x.sum()):
            with pytest.raises(RuntimeError, match="at least one dimension"):
                ATEN[name](empty, [], *more)


def test_cells(device):
    """The gradient of a cell without gradients of its results, or with those of another cell."""
    cx, gates = ones(mindtorch, device, 2, 3), ones(mindtorch, device, 2, 12)
    backward = ATEN["_thnn_fused_lstm_cell_backward_impl"]
    for arguments in ((None, None, cx, cx, gates), (cx, cx, cx, cx, gates[:1]), (cx, None, cx, cx, gates[:, :5]),
                      (cx.sum(), None, cx, cx, gates), (None, cx[:1], cx, cx, gates), (cx, cx, cx, cx[0], gates)):
        with pytest.raises(RuntimeError, match="expected"):
            backward(*arguments, True)


def test_matrices(device):
    for shape in ((), (3,), (2, 2, 2)):
        with pytest.raises(RuntimeError, match="expected a matrix"):
            ATEN["_eye_"](ones(mindtorch, device, *shape))


@pytest.mark.parametrize(("name", "error"), [("cat", "ValueError"), ("stack", "RuntimeError")])
def test_lists_without_tensors_in_a_process_without_any(name, error):
    """Nothing has asked for a device yet."""
    code = f"import mindtorch\ntry:\n    mindtorch.{name}([])\nexcept {error} as e:\n    print(e)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == str(error_of(lambda: getattr(torch, name)([])))


def test_methods_of_none():
    """An error, which each method finds for itself where it is called through the class."""
    for name in dir(mindtorch.Tensor):
        method = getattr(mindtorch.Tensor, name)
        if callable(method) and not name.startswith("_"):
            for arguments in ((None,), (None, None), (None, 0)):
                with contextlib.suppress(Exception):        # torch takes some, as Tensor.new_tensor
                    method(*arguments)
    for name in ("short", "detach_", "dim", "resize_", "t", "view", "numel", "to", "contiguous", "item"):
        with pytest.raises(TypeError):
            getattr(mindtorch.Tensor, name)(None)


class Handled:
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return "handled"


NO_TENSORS = {
    "take_along_dim": lambda lib: lib.take_along_dim(lib.ones(2), "x", 0),
    "index_reduce": lambda lib: lib.index_reduce(lib.ones(2), 0, [0], lib.ones(1), "prod"),
    "svdvals": lambda lib: lib.linalg.svdvals([1]), "fliplr": lambda lib: lib.fliplr("x"),
    "view_copy": lambda lib: lib.view_copy(b"x", (1,)), "multi_dot": lambda lib: lib.linalg.multi_dot(range(3)),
    "diff": lambda lib: lib.diff(lib.ones(3), 1, 0, 1.5), "atleast_3d": lambda lib: lib.atleast_3d(False),
}


@pytest.mark.parametrize("name", NO_TENSORS)
def test_what_is_no_tensor_is_a_type_error(name):
    """Also after a class with a handler has been seen."""
    for _ in range(2):
        for lib in (mindtorch, torch):
            with pytest.raises(TypeError):
                NO_TENSORS[name](lib)
        assert mindtorch.neg(Handled()) == "handled"


# Calls of functions that are written in Python here, and refused by the parser in torch; and others.
REFUSED = {
    "a number shifted into out=": lambda t, x: t.bitwise_right_shift(2, t.tensor([1]), out=t.tensor([0])),
    "a number shifted left into out=": lambda t, x: t.bitwise_left_shift(2, t.tensor([1]), out=t.tensor([0])),
    "cholesky_solve": lambda t, x: t.cholesky_solve(x, -1),
    "mvlgamma": lambda t, x: t.mvlgamma(x, t.ones(2)),
    "isin": lambda t, x: t.isin(["x"], x),
    "multi_dot": lambda t, x: t.linalg.multi_dot(b"x"),
    "rot90": lambda t, x: x.rot90((0,)),
    "vsplit": lambda t, x: t.ones(0).vsplit([1.5]),
    "hfftn": lambda t, x: t.fft.hfftn(x, True, 3),
    "index_reduce": lambda t, x: t.index_reduce(x, 1, t.zeros(1).long(), x, x),
    "cov": lambda t, x: t.cov(x, correction=t.ones(2, 3).bool()),
    "diff": lambda t, x: t.diff(x, t.ones(2, 0)),
    "quantile": lambda t, x: t.quantile(x, 0.5, interpolation=1),
    "take_along_dim": lambda t, x: t.take_along_dim(x, x.long(), float("nan")),
    "logspace": lambda t, x: t.logspace(0, 1, 2, dtype=x),
    "multi_margin_loss": lambda t, x: t.nn.functional.multi_margin_loss(1j, t.zeros(3).long()),
    "reduction": lambda t, x: t.nn.functional.mse_loss(x, x, reduction=[1]),
    "margin_ranking_loss": lambda t, x: t.nn.functional.margin_ranking_loss(x, x, x, reduction=[]),
    "L1Loss": lambda t, x: t.nn.L1Loss(x, ()),
    "mask": lambda t, x: t.masked.sum(x, mask=t.ones(1, 1, 1)),
    "window": lambda t, x: t.signal.windows.cosine(3, dtype=False),
    "window of a tensor": lambda t, x: t.signal.windows.kaiser(3, dtype=x),
    "tril_indices": lambda t, x: t.tril_indices(2, 2, dtype=t.float32),
    "tensordot": lambda t, x: t.tensordot(x, x, dims=t.ones(3, 3)),
    "tensordot of an object": lambda t, x: t.tensordot(x, x, dims=object()),
    "tensorsolve": lambda t, x: t.linalg.tensorsolve(t.ones(()), t.ones(()), dims=(0, 2)),
    "vander": lambda t, x: t.linalg.vander(x.bool()),
    "pinv": lambda t, x: t.linalg.pinv(x, t.ones(2, dtype=t.complex64)),
    "pinv of a list": lambda t, x: t.linalg.pinv(x, [1, 2]),
    "matrix_rank": lambda t, x: t.linalg.matrix_rank(x, t.ones(2, dtype=t.complex64)),
    "ormqr": lambda t, x: t.ormqr(t.ones(3, 2), t.ones(2), t.ones(4, 3)),
    "cov of NaN": lambda t, x: t.cov(t.ones(2, 2), aweights=t.full((2,), float("nan"))),
    "cholesky_solve of a vector": lambda t, x: t.cholesky_solve(x, t.ones(2)),
    "householder_product": lambda t, x: t.linalg.householder_product(x, x),
    "lstsq": lambda t, x: t.linalg.lstsq(x, t.ones(())),
    "cartesian_prod": lambda t, x: t.cartesian_prod(t.ones(2), t.ones(2).long()),
    "take_along_dim beyond the end": lambda t, x: t.take_along_dim(t.ones(2), t.tensor([4])),
    "hfft": lambda t, x: t.fft.hfft(x, -1),
    "ifftshift": lambda t, x: t.fft.ifftshift(x, ()),
    "fft of a number": lambda t, x: t.fft.fft(t.ones(())),
    "rfft2 of a number": lambda t, x: t.fft.rfft2(t.ones(())),
    "ihfftn of a number": lambda t, x: t.fft.ihfftn(t.ones(()), dim=0),
    "fftshift of a number": lambda t, x: t.fft.fftshift(t.ones(()), 0),
    "vsplit of a vector": lambda t, x: t.vsplit(t.ones(2), 2),
    "dsplit of a matrix": lambda t, x: t.ones(2, 2).dsplit((1,)),
    "sizes": lambda t, x: t.tile(x, -5),
    "broadcast_shapes": lambda t, x: t.broadcast_shapes((1, 3), t.int64),
    "broadcast_shapes of a size below 0": lambda t, x: t.broadcast_shapes(-5, (1, 9)),
    "broadcast_shapes of a string": lambda t, x: t.broadcast_shapes("x"),
    "broadcast_shapes of sizes that differ": lambda t, x: t.broadcast_shapes((10, 1, 5), [-1]),
    "clamp": lambda t, x: t.clamp(x.bool(), False),
    "ormqr of two dtypes": lambda t, x: t.ormqr(x, t.zeros(2).byte(), x),
    "svd_lowrank": lambda t, x: t.svd_lowrank(x, 1, 1, False),
    "softplus": lambda t, x: t.nn.functional.softplus(x, beta=1j),
    "trapezoid": lambda t, x: t.trapezoid(x, dx=1j),
    "cumulative_trapezoid": lambda t, x: t.cumulative_trapezoid(t.ones(0), t.ones(3)),
    "cumulative_trapezoid of a complex step": lambda t, x: t.cumulative_trapezoid(x, dx=1j),
    "clip_grad_norm_": lambda t, x: t.nn.utils.clip_grad_norm_(x, "x"),
    "pca_lowrank": lambda t, x: t.pca_lowrank(x.long()),
    "_safe_softmax": lambda t, x: t.ops.aten._safe_softmax(x.bool(), 0),
    "equal": lambda t, x: t.equal(x.to("meta"), t.ones(3)),
    "masked.prod": lambda t, x: t.masked.prod(x, 5),
    "masked.prod of one dimension twice": lambda t, x: t.masked.prod(x, (0, 0)),
    "masked.logsumexp": lambda t, x: t.masked.logsumexp(x, keepdim={}),
    "masked.softmin": lambda t, x: t.masked.softmin(range(3), -1),
    "mvlgamma of complex numbers": lambda t, x: t.mvlgamma(x + 1j, 1),
    "norm": lambda t, x: t.linalg.vector_norm(x, 1j),
    "dist": lambda t, x: t.dist(x, x, 1j),
    "index_select": lambda t, x: t.index_select(t.ones(0), 0, t.zeros(1).long()),
    "index_reduce of a number": lambda t, x: t.index_reduce(t.ones(()), 0, t.zeros(1).long(), t.ones(1), "prod"),
    "batch_norm": lambda t, x: t.nn.functional.batch_norm(x, t.ones(2, 1), t.ones(1, 2)),
    "take_along_dim of a number": lambda t, x: t.take_along_dim(t.ones(()), t.zeros(()).long(), 0),
    "block_diag": lambda t, x: t.block_diag(x, 1),
    "block_diag of two devices": lambda t, x: t.block_diag(x.to("meta"), x),
    "chain_matmul": lambda t, x: t.chain_matmul(x, "x"),
    "chain_matmul of nothing": lambda t, x: t.chain_matmul(),
    "tensordot of numbers": lambda t, x: t.tensordot(x, x, dims=[0, 0]),
    "tensordot below 0": lambda t, x: t.tensordot(x, 1, dims=-1),
    "to_sparse": lambda t, x: x.to_sparse(-5),
    "to_sparse of a string": lambda t, x: x.to_sparse("x"),
    "to_sparse of a number": lambda t, x: t.ones(()).to_sparse(1),
    "to_sparse_bsr": lambda t, x: x.to_sparse_bsr((1, 1), -1),
    "sparse.sum": lambda t, x: t.sparse.sum(x),
    "dropout3d": lambda t, x: t.nn.functional.dropout3d(t.ones(())),
    "lu_unpack": lambda t, x: t.lu_unpack(x, t.ones(2).long()),
    "nll_loss": lambda t, x: t.nn.functional.nll_loss(x, t.zeros(2).long(), weight=t.ones(2).double()),
    "soft_margin_loss": lambda t, x: t.nn.functional.soft_margin_loss(t.ones(2), x),
    "PowerTransform": lambda t, x: t.distributions.PowerTransform([0, 0]),
    "new_full": lambda t, x: x.new_full((2, 0), 1j),
    "max_unpool1d": lambda t, x: t.nn.functional.max_unpool1d(x, x.long(), (3, 3), 1),
    "a number for a bool": lambda t, x: t.svd(x, some=1),
    "a layout for a bool": lambda t, x: t.linalg.lu_solve(x, t.ones(2).int(), x, left=t.strided),
    "a method's number for a bool": lambda t, x: x.quantile(0.5, 0, keepdim=1.5),
    "a bool for an int": lambda t, x: t.combinations(x[0], True),
    "no string": lambda t, x: t.linalg.eigh(x, UPLO=None),
    "a list for a string": lambda t, x: t.div(x, x, rounding_mode=[x]),
    "requires_grad": lambda t, x: t.eye(2, requires_grad=1),
    "no size": lambda t, x: x.new_zeros(),
    "istft": lambda t, x: t.istft(x, n_fft=()),
    "pad": lambda t, x: t.nn.functional.pad(x, x),
    "fft2": lambda t, x: t.fft.fft2(x, [x, x]),
    "smm": lambda t, x: t.smm(x, 3),
    "lstm": lambda t, x: t.lstm(x, x, x, x),
    "segment_reduce": lambda t, x: t.segment_reduce(2, "sum"),
    "sparse_mask": lambda t, x: x.sparse_mask("x"),
    "a tensor for a margin": lambda t, x: t.margin_ranking_loss(x, x, x, margin=x),
    "nonzero": lambda t, x: t.nonzero(x, as_tuple=x),
    "nonzero as a tuple into a tensor": lambda t, x: t.nonzero(x, as_tuple=True, out=x.long()),
    "nonzero of a number for a bool": lambda t, x: x.nonzero(as_tuple=1),
    "multi_margin_loss of integers": lambda t, x: t.nn.functional.multi_margin_loss(x.long(), t.zeros(2).long()),
    "multi_margin_loss of a class too many": lambda t, x: t.nn.functional.multi_margin_loss(x, t.tensor([0, 2])),
    "multi_margin_loss of another weight": lambda t, x: t.nn.functional.multi_margin_loss(
        x, t.zeros(2).long(), weight=t.ones(2).double()),
    "min": lambda t, x: t.min(x, None),
    "min of no elements": lambda t, x: t.ones(2, 0).min(None),
    "max by its name": lambda t, x: t.max(x, dim=None),
    "prod": lambda t, x: t.prod(x, None),
    "median": lambda t, x: t.median(x, None),
    "round": lambda t, x: t.round(x, decimals=None),
    "masked.logaddexp": lambda t, x: t.masked.logaddexp(x + 0j, x, input_mask=-1),
    "masked.log_softmax": lambda t, x: t.masked.log_softmax(x + 0j, -1, mask=t.ones(3)),
    "lobpcg": lambda t, x: t.lobpcg(t.eye(9), k=-1),
    "dequantize": lambda t, x: t.dequantize({}),
    "batch_norm of a vector": lambda t, x: t.nn.functional.batch_norm(x[0], x[0], x[0]),
    "what autocast knows": lambda t, x: t.ormqr(x, x[0], x, left="x"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_wrong_types_are_refused_as_torch_does(name):
    ours = error_of(lambda: REFUSED[name](mindtorch, mindtorch.ones(2, 2)))
    assert type(ours) is type(error_of(lambda: REFUSED[name](torch, torch.ones(2, 2))))


def test_the_argument_of_a_wrong_type_is_named():
    for call in (lambda t: t.cholesky_solve(t.ones(2, 2), -1), lambda t: t.ones(2, 2).cov(correction=t.ones(3))):
        assert str(error_of(lambda call=call: call(mindtorch))) == str(error_of(lambda call=call: call(torch)))


def test_an_error_that_is_not_of_types_stays():
    """Numbers, 0-d tensors and sizes given one by one are types that the parser takes."""
    for call, words in ((lambda: mindtorch.ones(3).tile(-5), "negative dimension"),
                        (lambda: mindtorch.ones(3).vsplit(mindtorch.tensor(2)), "at least 2 dimension"),
                        (lambda: mindtorch.ones(3).rot90(1, [0, 1]), "total dims >= 2")):
        with pytest.raises(RuntimeError, match=words):
            call()


def test_types_that_fit_once_hide_none_that_do_not():
    for call in (lambda x: mindtorch.roll(x, [1], 0), lambda x: mindtorch.svd(x, some=True),
                 lambda x: mindtorch.diff(x, mindtorch.tensor(1))):
        call(mindtorch.ones(2, 2))
    for call in (lambda x: mindtorch.roll(x, ["x"], 0), lambda x: mindtorch.svd(x, some=1),
                 lambda x: mindtorch.diff(x, mindtorch.ones(2, 0))):
        assert type(error_of(lambda call=call: call(mindtorch.ones(2, 2)))) is TypeError


def test_none_stands_for_what_is_not_given_where_a_function_calls_another():
    x = mindtorch.full((3,), 0.5)
    assert x.bernoulli().shape == x.bernoulli(0.5).shape == (3,)
    assert mindtorch.linalg.lstsq(mindtorch.eye(2), mindtorch.eye(2)).solution.shape == (2, 2)


NUMBERS = {
    "a Poisson rate of NaN": lambda t, x: t.poisson(x / 0 * 0),
    "a Poisson rate below 0": lambda t, x: t.poisson(-x),
    "a tolerance of NaN": lambda t, x: t.allclose(x, x, rtol=float("nan")),
    "a complex threshold": lambda t, x: t.nn.functional.softshrink(x, lambd=1j),
    "an output_size below 0": lambda t, x: t.repeat_interleave(x, x.long(), output_size=-1),
    "two dtypes": lambda t, x: t.tensordot(x, x.long(), 1),
    "a dtype of integers": lambda t, x: t.log_softmax(x.expand(2, 2), 0, dtype=t.int64),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_that_make_no_sense(name, device):
    ours = error_of(lambda: NUMBERS[name](mindtorch, mindtorch.ones(2, device=device)))
    theirs = error_of(lambda: NUMBERS[name](torch, torch.ones(2)))
    assert type(ours) is type(theirs)
    assert str(ours) in str(theirs)


INTO_NOTHING = {
    "scatter": lambda t, x, i: x.scatter(0, i, t.ones(2, device=i.device)),
    "scatter_": lambda t, x, i: x.scatter_(0, i, 1.0),
    "scatter_add": lambda t, x, i: x.scatter_add(0, i, t.ones(2, device=i.device)),
    "scatter_reduce": lambda t, x, i: x.scatter_reduce(0, i, t.ones(2, device=i.device), "amax"),
    "index_add": lambda t, x, i: x.index_add(0, i, t.ones(2, device=i.device)),
    "index_copy": lambda t, x, i: x.index_copy(0, i, t.ones(2, device=i.device)),
    "index_fill": lambda t, x, i: x.index_fill(0, i, 1.0),
    "index_reduce": lambda t, x, i: x.index_reduce(0, i, t.ones(2, device=i.device), "prod"),
}


@pytest.mark.parametrize("name", INTO_NOTHING)
def test_indices_into_a_dimension_of_size_0_are_out_of_bounds(name, device):
    def call(lib, where):
        return INTO_NOTHING[name](lib, lib.ones(0, device=where), lib.zeros(2, dtype=lib.int64, device=where))
    assert type(error_of(lambda: call(mindtorch, device))) is type(error_of(lambda: call(torch, "cpu")))


def test_windows_that_only_their_ends_make_fit(device):
    """With ceil_mode a window may be larger than the image, as long as the next stride reaches it."""
    for dtype in ("float32", "float16", "float64"):
        if device == "npu" and dtype == "float64":
            continue
        for sizes, strides in ((4, 2), ((4, 3), (3, 2))):
            x = torch.arange(9.0).reshape(1, 3, 3)
            theirs = torch.nn.functional.max_pool2d(x, sizes, strides, ceil_mode=True, return_indices=True)
            ours = mindtorch.nn.functional.max_pool2d(
                mindtorch.arange(9.0, dtype=getattr(mindtorch, dtype)).reshape(1, 3, 3).to(device), sizes, strides,
                ceil_mode=True, return_indices=True)
            assert [value.cpu().tolist() for value in ours] == [value.tolist() for value in theirs]


def test_no_gradients_are_clipped_by_whatever():
    weight = mindtorch.ones(2)
    assert mindtorch.nn.utils.clip_grads_with_norm_(weight, 3, "no norm") is None


def test_what_torch_does_not_look_at_is_taken(device):
    def unpooled(lib, where):
        x = lib.ones(1, 2, 1, device=where)
        return lib.nn.functional.max_unpool1d(x, x.long() - 1, 3, stride=[1, 2])
    assert unpooled(mindtorch, device).tolist() == unpooled(torch, "cpu").tolist()
    assert mindtorch.signal.windows.general_cosine(1, a=[], device=device).tolist() == [1.0]
    slopes = mindtorch.gradient(mindtorch.ones(4, device=device), spacing=0.0, edge_order=2)[0]
    assert slopes.isnan().all()


def test_principal_components_of_complex_numbers():
    ours, theirs = (lib.pca_lowrank(lib.tensor([[1 + 1j, 2.0, 0.0], [3.0, 1j, 1.0]]))[1] for lib in (mindtorch, torch))
    assert ours.tolist() == pytest.approx(theirs.tolist(), abs=1e-5)


def test_histogram_has_a_hundred_bins():
    assert mindtorch.histogram(mindtorch.ones(3)).hist.shape == (100,)


COMPLEX = {
    "clamp": lambda x: x.clamp(0, 1), "clamp_": lambda x: x.clamp_(0, 1), "clamp_min": lambda x: x.clamp_min(0),
    "clamp by tensors": lambda x: x.clamp(x, x), "relu": lambda x: x.relu(), "relu_": lambda x: x.relu_(),
    "maximum": lambda x: x.maximum(x), "minimum": lambda x: x.minimum(x), "amax": lambda x: x.amax(),
    "amin": lambda x: x.amin(), "max": lambda x: x.max(), "min": lambda x: x.min(), "max of rows": lambda x: x.max(0),
    "min of rows": lambda x: x.min(0), "lt": lambda x: x < x, "ge": lambda x: x >= 1, "floor_divide": lambda x: x // x,
}


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_numbers_are_refused(name, device):
    ours = error_of(lambda: COMPLEX[name](mindtorch.tensor([1j, 2], device=device)))
    theirs = error_of(lambda: COMPLEX[name](torch.tensor([1j, 2])))
    assert (type(ours), str(ours)) == (type(theirs), str(theirs))


@pytest.mark.parametrize(("mode", "dims", "dtype"), [
    ("nearest", 1, "int64"), ("nearest", 2, "int8"), ("nearest-exact", 3, "int64"), ("linear", 1, "uint8"),
    ("trilinear", 3, "uint8"), ("bilinear", 2, "int64"), ("bicubic", 2, "int64"), ("bicubic", 1, "float32"),
    ("bicubic", 3, "float32"), ("area", 3, "uint8"),
    ("lanczos", 2, "float32")], ids=str)
def test_images_that_are_not_resized(mode, dims, dtype, device):
    def call(lib, device):
        image = lib.ones((1, 3, *(4,) * dims), dtype=getattr(lib, dtype), device=device)
        return lib.nn.functional.interpolate(image, scale_factor=2, mode=mode)
    ours, theirs = (error_of(lambda lib=lib, on=on: call(lib, on)) for lib, on in ((mindtorch, device), (torch, "cpu")))
    assert (type(ours), str(ours)) == (type(theirs), str(theirs))


@pytest.mark.parametrize("call", [
    lambda lib: lib.tril_indices(2 ** 62, 2), lambda lib: lib.tril_indices(2 ** 31, 2 ** 31),
    lambda lib: lib.triu_indices(2 ** 31, 2 ** 31), lambda lib: lib.triu_indices(2 ** 63, 1),
    lambda lib: lib.tril_indices(1, 1, 2 ** 63), lambda lib: lib.vander(lib.ones(2), 2 ** 63),
    lambda lib: lib.linalg.vander(lib.ones(2), N=2 ** 62), lambda lib: lib.linalg.vander(lib.ones(2), N=2 ** 63)])
def test_numbers_of_elements_that_overflow(call):
    ours, theirs = (error_of(lambda lib=lib: call(lib)) for lib in (mindtorch, torch))
    assert (type(ours), str(ours)) == (type(theirs), str(theirs))


@pytest.mark.parametrize("name", ["tril_indices", "triu_indices"])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1), (3, 5), (5, 3), (4, 4)], ids=str)
def test_triangles_at_every_offset(name, shape):
    for offset in range(-7, 8):
        ours, theirs = (getattr(lib, name)(*shape, offset).tolist() for lib in (mindtorch, torch))
        assert ours == theirs, offset


@pytest.mark.parametrize("text", [
    "t.func.jacfwd(lambda x: x * 1.5)(whole)", "t.func.hessian(lambda x: (x * x).sum())(whole)",
    "t.linalg.vander(x.half())", "t.linalg.vander(x.bfloat16())",
    "t.gradient(whole.to(t.uint8))", "t.masked.norm(whole, 2.0, -2)",
    "t.nonzero(x, as_tuple=True, out=whole)", "t.nonzero(x, as_tuple=x)", "t.nonzero(x, as_tuple=None)",
    "whole.polygamma_(2)", "t.nn.functional.dropout2d(whole.view(1, 1, 2, 2), 0.3)",
    "t.nn.functional.alpha_dropout(whole, 0.3, True)", "t.nn.functional.feature_alpha_dropout(whole[None], 0.3, True)",
])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_dtypes_that_torch_refuses(text, device):
    ours, theirs = (error_of(lambda lib=lib, where=where: eval(text, {
        "t": lib, "x": lib.arange(4.0, device=where), "whole": lib.arange(4, device=where)}))
        for lib, where in ((mindtorch, device), (torch, "cpu")))
    assert (type(ours), str(ours)) == (type(theirs), str(theirs))


@pytest.mark.parametrize("name", ["median", "nanmedian"])
def test_a_median_of_all_takes_no_out(name, device):
    x = mindtorch.tensor([[3.0, 1.0, 2.0]], device=device)
    with pytest.raises(TypeError, match=name):
        getattr(mindtorch, name)(x, out=x)
    values, place = mindtorch.zeros(1, device=device), mindtorch.zeros(1, dtype=mindtorch.int64, device=device)
    getattr(mindtorch, name)(x, 1, out=(values, place))
    assert (values.tolist(), place.tolist(), getattr(mindtorch, name)(x).item()) == ([2.0], [2], 2.0)


@pytest.mark.parametrize("text", [
    "t.index_select(x, 0, i)", "t.index_select(x, 1, i)", "t.index_select(x, -2, i)", "t.index_select(x, 2, i)",
    "t.index_select(x.bool()[0], 1, i)", "t.index_add(x, 0, i, x[:1])", "t.index_add(x, 0, i, x[:1], alpha=2)",
    "t.index_add(x, 1, i, x[:, :1])", "t.index_add(x, 2, i.int(), x[..., :1])",
    "t.index_add(x[0, 0], 0, i, x[0, 0, :1])",
    "t.index_add(x.double(), 1, i, x.double()[:, :1])", "t.nn.functional.multi_margin_loss(x[0, :1], i)",
])
def test_indices_out_of_bounds(text):
    """On the CPU alone: a fault of an NPU ends its use."""
    for index in (-1, 9):
        ours, theirs = (error_of(lambda lib=lib, index=index: eval(text, {
            "t": lib, "x": lib.ones(2, 3, 4), "i": lib.tensor([index])})) for lib in (mindtorch, torch))
        assert type(ours) is type(theirs)
