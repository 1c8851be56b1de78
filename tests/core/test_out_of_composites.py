"""out= of functions that are made of several operators, of all dtypes: where torch wants the result's, so do we."""
import warnings

import pytest
import torch

import mindtorch

DTYPES = ("bool", "int64", "float16", "float32", "float64", "complex64")


def matrix(lib, device):
    return lib.tensor([[4.0, 1.0], [1.0, 3.0]], device=device)


def line(lib, device):
    return lib.tensor([1.0, 2.0], device=device)


CALLS = {
    "vdot": lambda lib, d, out: lib.vdot(line(lib, d), line(lib, d), out=out),
    "inner": lambda lib, d, out: lib.inner(line(lib, d), line(lib, d), out=out),
    "inner of 0-d": lambda lib, d, out: lib.inner(line(lib, d)[0], line(lib, d), out=out),
    "tensordot": lambda lib, d, out: lib.tensordot(matrix(lib, d), matrix(lib, d), 1, out=out),
    "isin": lambda lib, d, out: lib.isin(line(lib, d), line(lib, d), out=out),
    "float_power": lambda lib, d, out: lib.float_power(line(lib, d), 2, out=out),
    "norm": lambda lib, d, out: lib.norm(line(lib, d), 2, 0, out=out),
    "linalg.norm": lambda lib, d, out: lib.linalg.norm(line(lib, d), out=out),
    "linalg.matrix_norm": lambda lib, d, out: lib.linalg.matrix_norm(matrix(lib, d), out=out),
    "linalg.vecdot": lambda lib, d, out: lib.linalg.vecdot(line(lib, d), line(lib, d), out=out),
    "linalg.multi_dot": lambda lib, d, out: lib.linalg.multi_dot([matrix(lib, d), matrix(lib, d)], out=out),
    "linalg.solve": lambda lib, d, out: lib.linalg.solve(matrix(lib, d), line(lib, d), out=out),
    "linalg.solve_triangular": lambda lib, d, out: lib.linalg.solve_triangular(
        matrix(lib, d).triu(), matrix(lib, d), upper=True, out=out),
    "linalg.svdvals": lambda lib, d, out: lib.linalg.svdvals(matrix(lib, d), out=out),
    "kron": lambda lib, d, out: lib.kron(matrix(lib, d), matrix(lib, d), out=out),
    "matrix_power": lambda lib, d, out: lib.linalg.matrix_power(matrix(lib, d), 2, out=out),
    **{f"matrix_power of {n}": lambda lib, d, out, n=n: lib.linalg.matrix_power(matrix(lib, d), n, out=out)
       for n in (-5, -4, -1, 0, 1, 3, 4)},
    "quantile": lambda lib, d, out: lib.quantile(line(lib, d), 0.5, out=out),
    "bitwise_and of a number": lambda lib, d, out: lib.bitwise_and(1, lib.tensor([1, 2], device=d), out=out),
    "remainder of a number": lambda lib, d, out: lib.remainder(5, lib.tensor([1, 2], device=d), out=out),
}


def outcome(call, lib, device, dtype, requires_grad=False):
    out = lib.empty(0, dtype=getattr(lib, dtype), device=device)
    try:
        call(lib, device, out.requires_grad_(requires_grad))
    except Exception as error:      # noqa: BLE001 - whatever is raised is compared
        return type(error).__name__.replace("NotImplementedError", "RuntimeError")
    return tuple(out.shape), [complex(x) for x in out.cpu().reshape(-1).tolist()]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CALLS)
def test_dtypes_of_out(name, dtype, device):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, given = (outcome(CALLS[name], lib, d, dtype) for lib, d in ((torch, "cpu"), (mindtorch, device)))
    if isinstance(expected, tuple) and isinstance(given, tuple):
        assert given[0] == expected[0]
        assert given[1] == pytest.approx(expected[1], rel=1e-3)
    else:
        assert given == expected


@pytest.mark.parametrize("n", [-5, -4, -1, 0, 1, 2, 4])
@pytest.mark.parametrize("differs", ["A", "out", "the shape of out"])
def test_the_last_step_of_a_power_writes_to_out(n, differs, device):
    """A copy has a history, a product has none; torch names the operator that refuses it."""
    def result(lib, device):
        a = matrix(lib, device).requires_grad_(differs == "A")
        out = lib.empty((2, 3) if differs == "the shape of out" else (2, 2), device=device)
        try:
            made = lib.linalg.matrix_power(a, n, out=out.requires_grad_(differs == "out"))
        except RuntimeError as error:
            return str(error)
        assert made is out
        return made.requires_grad, made.tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, given = result(torch, "cpu"), result(mindtorch, device)
    assert given[0] == expected[0]
    assert given[1:] == expected[1:] if isinstance(expected, str) else given[1] == [
        pytest.approx(row, rel=1e-3, abs=1e-6) for row in expected[1]]


MAKERS = {
    "arange": lambda lib, d, out: lib.arange(3, out=out),
    "linspace": lambda lib, d, out: lib.linspace(0, 1, 3, out=out),
    "zeros": lambda lib, d, out: lib.zeros(3, out=out), "full": lambda lib, d, out: lib.full((3,), 1.0, out=out),
    "rand": lambda lib, d, out: lib.rand(3, out=out), "eye": lambda lib, d, out: lib.eye(3, out=out),
    "masked_select": lambda lib, d, out: lib.masked_select(line(lib, d), line(lib, d) > 0, out=out),
}


@pytest.mark.parametrize("name", MAKERS)
def test_out_that_requires_a_gradient_is_refused(name, device):
    assert outcome(MAKERS[name], torch, "cpu", "float32", True) == "RuntimeError"
    assert outcome(MAKERS[name], mindtorch, device, "float32", True) == "RuntimeError"


@pytest.mark.parametrize("name", ["vdot", "linalg.norm", "kron", "quantile"])
def test_out_on_another_device(name):
    for device, other in (("npu", "cpu"), ("cpu", "npu")):
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
            CALLS[name](mindtorch, device, mindtorch.empty(0, device=other))


@pytest.mark.parametrize("dtype", ["bool", "int32", "float64"])
def test_bernoulli_writes_to_any_dtype(dtype, device):
    def drawn(lib, device):
        out = lib.empty(5, dtype=getattr(lib, dtype), device=device)
        assert lib.bernoulli(lib.tensor([0.0, 1.0, 1.0], device=device), out=out) is out
        return str(out.dtype), out.tolist()
    assert drawn(mindtorch, device) == drawn(torch, "cpu")


@pytest.mark.parametrize("name", ["vdot", "linalg.norm", "kron", "linalg.matrix_norm", "isin", "float_power"])
def test_an_out_with_elements_is_resized_with_a_warning(name, device):
    dtype = {"isin": "bool", "float_power": "float64"}.get(name, "float32")
    for size, warned in ((5, True), (0, False)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            CALLS[name](mindtorch, device, mindtorch.empty(size, dtype=getattr(mindtorch, dtype), device=device))
        assert any("was resized" in str(each.message) for each in caught) == warned


WRITTEN = {
    "diag": lambda lib, out: lib.diag(lib.ones(3, 3, device=out.device), out=out),
    "quantile": lambda lib, out: lib.quantile(lib.ones(4, device=out.device), 0.5, out=out),
    "diff": lambda lib, out: lib.diff(lib.ones(4, device=out.device), out=out),
    "diagonal_copy": lambda lib, out: lib.diagonal_copy(lib.ones(3, 3, device=out.device), out=out),
    "zeros": lambda lib, out: lib.zeros(4, out=out), "full": lambda lib, out: lib.full((4,), 2.0, out=out),
    "zeros of one dimension": lambda lib, out: lib.zeros(2, out=out), "eye": lambda lib, out: lib.eye(3, out=out),
    "rand": lambda lib, out: lib.rand(4, out=out), "randperm": lambda lib, out: lib.randperm(4, out=out),
    "linspace": lambda lib, out: lib.linspace(0, 1, 4, out=out), "arange": lambda lib, out: lib.arange(4, out=out),
    "arange of as many": lambda lib, out: lib.arange(2, out=out),
    "logspace": lambda lib, out: lib.logspace(0, 1, 4, out=out), "range": lambda lib, out: lib.range(0, 4, out=out),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_who_warns_of_an_out_of_another_shape(name, device):
    """Operators do, functions that make tensors from sizes do not, and a range says it in its own words."""
    def result(lib, device, **options):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            out = lib.ones(2, 1, device=device)
            try:
                WRITTEN[name](lib, out.requires_grad_(**options) if options else out)
            except RuntimeError as error:
                return "functions with out=... arguments don't support automatic" in str(error)
        return tuple(out.shape), [str(each.message).split("t.resize_(0).")[0].split(" (Trig")[0] for each in caught]
    assert result(mindtorch, device) == result(torch, "cpu")
    assert result(mindtorch, device, requires_grad=True) is True
