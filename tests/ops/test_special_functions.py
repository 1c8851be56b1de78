"""Special functions on the CPU, as SciPy computes them and, where it is not installed, our own code: against torch."""
import numpy
import pytest
import torch
from test_ops import ROWS, cases, check, forms, outcome

import mindtorch
from mindtorch._cpu.kernels import special

OF_SCIPY = {row.key: row for row in ROWS.values() if row.variants and row.key in (
    "digamma", "erfinv", "i0", "igamma", "igammac", "lgamma", "polygamma", "special_airy_ai", "special_bessel_j0",
    "special_bessel_j1", "special_bessel_y0", "special_bessel_y1", "special_erfcx", "special_i0e", "special_i1",
    "special_i1e", "special_log_ndtr", "special_modified_bessel_i0", "special_modified_bessel_i1",
    "special_modified_bessel_k0", "special_modified_bessel_k1", "special_ndtri", "special_scaled_modified_bessel_k0",
    "special_scaled_modified_bessel_k1", "special_zeta")}


@pytest.fixture(params=["SciPy's", "our own"])
def source(request, monkeypatch):
    """Whose functions are called."""
    if request.param == "our own":
        monkeypatch.setattr(special, "scipy_special", lambda: None)
    return request.param


FAR = numpy.concatenate([numpy.linspace(-60, 60, 601), numpy.logspace(-8, 3, 100)])


@pytest.mark.parametrize("name", ["bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "airy_ai", "modified_bessel_i0",
                                  "modified_bessel_i1", "modified_bessel_k0", "modified_bessel_k1", "i0e", "i1e",
                                  "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "spherical_bessel_j0"])
def test_bessel_functions_far_from_the_origin(name, source):
    """torch's own values are good to six digits there."""
    theirs = getattr(torch.special, name)(torch.tensor(FAR)).numpy()
    ours = getattr(mindtorch.special, name)(mindtorch.tensor(FAR)).numpy()
    numpy.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=2e-6)


def test_wronskians(source):
    """Products of Bessel functions of both kinds have differences known exactly: dlmf.nist.gov 10.5.2 and 10.28.2."""
    x = mindtorch.tensor(numpy.logspace(-3, 2, 400))
    s = mindtorch.special
    crossed = s.bessel_j1(x) * s.bessel_y0(x) - s.bessel_j0(x) * s.bessel_y1(x)
    numpy.testing.assert_allclose((crossed * x).numpy() * numpy.pi / 2, 1, rtol=1e-12)
    crossed = s.i0e(x) * s.scaled_modified_bessel_k1(x) + s.i1e(x) * s.scaled_modified_bessel_k0(x)
    numpy.testing.assert_allclose((crossed * x).numpy(), 1, rtol=1e-13)


def test_inverses(source):
    p = mindtorch.tensor(numpy.concatenate([numpy.logspace(-300, -1, 300), numpy.linspace(0.1, 0.9, 81)]))
    numpy.testing.assert_allclose(mindtorch.special.ndtr(mindtorch.special.ndtri(p)).numpy(), p.numpy(), rtol=1e-12)
    numpy.testing.assert_allclose(mindtorch.erf(mindtorch.erfinv(p)).numpy(), p.numpy(), rtol=1e-14)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("key", OF_SCIPY)
def test_forms_without_scipy(key, dtype, monkeypatch):
    """test_ops.py runs the same samples with SciPy."""
    monkeypatch.setattr(special, "scipy_special", lambda: None)
    for where, args, kwargs in cases(OF_SCIPY[key], dtype):
        for form, call in forms(OF_SCIPY[key]):
            theirs = outcome(call, torch, "cpu", "contiguous", args, kwargs)
            ours = outcome(call, mindtorch, "cpu", "contiguous", args, kwargs)
            check(ours, theirs, f"{where}, {form}, {args} {kwargs}", False, dtype)


def test_functions_are_scipy_s_where_it_is_installed(monkeypatch):
    x = numpy.array([0.25, 0.5])

    class Scipy:
        ndtri = staticmethod(lambda p: p + 41)

    monkeypatch.setattr(special, "scipy_special", lambda: Scipy)
    assert mindtorch.special.ndtri(mindtorch.tensor(x)).tolist() == [41.25, 41.5]


INF = float("inf")
EDGES = [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, -0.5, -2.5, 1e-3, 30.0, -30.0, 700.0, INF, -INF, float("nan")]
BINARY = ("igamma", "igammac", "special.zeta")


@pytest.mark.parametrize("name", [
    "erfinv", "lgamma", "digamma", "special.erfcx", "special.ndtri", "special.log_ndtr", "special.i1", "special.i1e",
    "special.bessel_y0", "special.bessel_y1", "special.modified_bessel_k1", "special.airy_ai", *BINARY])
def test_edges(name):
    """Zeros with their sign, poles, infinities and NaN, where SciPy's limits are not all torch's."""
    def result(lib):
        x = lib.tensor(EDGES, dtype=lib.float64)
        function = lib
        for part in name.split("."):
            function = getattr(function, part)
        if name in BINARY:
            return function(*(t.contiguous() for t in lib.meshgrid(x, x, indexing="ij"))).numpy()
        return function(x).numpy()
    ours, theirs = result(mindtorch), result(torch)
    numpy.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-300)
    assert numpy.array_equal(numpy.signbit(ours[ours == 0]), numpy.signbit(theirs[ours == 0]))
