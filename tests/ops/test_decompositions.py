"""Decompositions on the NPU: edge values and large arguments beside torch, sizes that take pieces."""
import itertools
import re
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
import scipy.special
import torch

import mindtorch
from mindtorch._cpu.kernels import special
from mindtorch._npu._gen import decompositions
from mindtorch._ops.operators import ops

INF, NAN = float("inf"), float("nan")
TINY = 1e-42                    # float32 has it, without a leading 1
ENDS = [0.0, -0.0, INF, -INF, NAN, 1e30, -1e30, 3e38, TINY, -TINY, 1e-30, -1.0, 2.5]
PAIRS = [[x, y] for x in ENDS for y in ENDS]
TOLERANCE = {"float32": (2e-5, 1e-6), "float64": (1e-9, 1e-9)}


def beside_torch(name, values, dtype, device, module="", also=()):
    """The same call of both libraries; torch computes in float64 and is rounded."""
    def call(lib, dtype, **where):
        function = getattr(getattr(lib, module) if module else lib, name)
        columns = [lib.tensor(column, dtype=getattr(lib, dtype), **where) for column in values]
        results = function(*columns, *also)
        return results if isinstance(results, tuple) else (results,)
    for ours, theirs in zip(call(mindtorch, dtype, device=device), call(torch, "float64"), strict=True):
        expected = theirs.to(getattr(torch, dtype)) if theirs.is_floating_point() else theirs
        found = torch.tensor(ours.tolist(), dtype=expected.dtype)
        rtol, atol = TOLERANCE[dtype]
        torch.testing.assert_close(found, expected, rtol=rtol, atol=atol, equal_nan=True,
                                   msg=lambda text, v=values: f"{name} of {v}: {text}")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["fmax", "fmin", "copysign", "hypot"])
def test_two_operands_at_the_ends(name, dtype, device):
    beside_torch(name, list(zip(*PAIRS, strict=True)), dtype, device)


def test_signs_of_zeros(device):
    found = mindtorch.copysign(mindtorch.tensor([1.0, 0.0, INF, NAN], device=device),
                               mindtorch.tensor([-0.0, -NAN, -1.0, 0.0], device=device))
    assert found.signbit().tolist() == [True, True, True, False]


@pytest.mark.parametrize("other", [-2.0, -0.0, 3])
def test_sign_of_a_number(other, device):
    beside_torch("copysign", [ENDS], "float32", device, also=[other])


@pytest.mark.parametrize("shapes", [((3, 1), (1, 4)), ((4,), (3, 4)), ((), (2,))])
@pytest.mark.parametrize("name", ["fmax", "copysign", "hypot"])
def test_broadcasting(name, shapes, device):
    values = [torch.randn(shape).tolist() for shape in shapes]
    beside_torch(name, values, "float32", device)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["frexp", "special.entr", "special.spherical_bessel_j0"])
def test_one_operand_at_the_ends(name, dtype, device):
    module, _, name = name.rpartition(".")
    if name == "frexp":         # the exponent of what float32 rounds is another one
        values = torch.tensor([*ENDS, 2.0 ** 64, 2.0 ** -126, 2.0 ** -149, 0.5, 1 - 2.0 ** -24],
                              dtype=getattr(torch, dtype)).double().tolist()
    else:
        values = ENDS
    beside_torch(name, [values], dtype, device, module)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64"])
def test_multiples(dtype, device):
    pairs = [(a, b) for a in (0, 1, 6, 9, 11) for b in (0, 1, 4, 10, 11)]
    columns = list(zip(*pairs, strict=True))
    ours = mindtorch.lcm(*(mindtorch.tensor(c, dtype=getattr(mindtorch, dtype), device=device) for c in columns))
    theirs = torch.lcm(*(torch.tensor(c, dtype=getattr(torch, dtype)) for c in columns))
    assert ours.tolist() == theirs.tolist()


@pytest.mark.parametrize(("shape", "dim"), [((1,), 0), ((5,), 0), ((16,), 0), ((17, 3), 0), ((2, 300), 1),
                                            ((3, 4, 5), -2)])
def test_running_log_sums(shape, dim, device):
    values = torch.randn(shape) * 30
    values.view(-1)[0] = -INF
    beside_torch("logcumsumexp", [values.tolist()], "float32", device, also=[dim])


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_mode(dim, keepdim, device):
    values = torch.randint(0, 4, (7, 9)).float()
    beside_torch("mode", [values.tolist()], "float32", device, also=[dim, keepdim])


@pytest.mark.parametrize("length", [1, 2, 3, 12, 64, 65, 67, 128, 210, 1024])
def test_fourier_transforms(length, device):
    for name in ("fft", "ifft", "rfft", "ihfft"):
        values = torch.randn(2, length, dtype=torch.complex64 if name in ("fft", "ifft") else torch.float32)
        theirs = getattr(torch.fft, name)(values.to(torch.complex128 if values.is_complex() else torch.float64))
        parts = torch.view_as_real(values) if values.is_complex() else values
        given = mindtorch.tensor(parts.tolist(), device=device)
        given = mindtorch.view_as_complex(given) if values.is_complex() else given
        ours = mindtorch.view_as_real(getattr(mindtorch.fft, name)(given).resolve_conj())
        expected = torch.view_as_real(theirs.resolve_conj()).float()
        torch.testing.assert_close(torch.tensor(ours.tolist()), expected, rtol=1e-4,
                                   atol=1e-5 * max(1.0, expected.abs().max().item()))


@pytest.mark.parametrize("shape", [(4, 3), (2, 4, 5), (3, 4, 8, 8), (3, 70)])
def test_fourier_transforms_of_several_dimensions(shape, device):
    """In any order; the last ones go at once where they are short."""
    values = torch.randn(shape, dtype=torch.complex64)
    orders = [dim for count in (1, 2) for dim in itertools.permutations(range(len(shape)), count)]
    for name, dim, turned in itertools.product(("fftn", "ifftn", "rfftn", "irfftn"), orders, (False, True)):
        given = values.real if name == "rfftn" else values
        theirs, ours = given.clone(), mindtorch.tensor(given.tolist(), device=device)
        if turned:
            theirs, ours = theirs.transpose(0, -1), ours.transpose(0, -1)
        theirs, ours = (getattr(lib.fft, name)(x, dim=dim, norm="ortho")
                        for lib, x in ((torch, theirs), (mindtorch, ours)))
        torch.testing.assert_close(torch.tensor(ours.tolist()), theirs, rtol=1e-4, atol=1e-4,
                                   msg=lambda text, what=(name, dim, turned): f"{what}: {text}")


GRID = [k / 16 for k in range(-480, 481)] + [s * 10.0 ** k for k in range(-38, 39, 3) for s in (1, -1)] + ENDS
FUNCTIONS = ["bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "modified_bessel_i0", "modified_bessel_i1", "i0e",
             "i1e", "modified_bessel_k0", "modified_bessel_k1", "scaled_modified_bessel_k0",
             "scaled_modified_bessel_k1", "erfcx", "log_ndtr"]


def compare(ours, theirs, rtol, atol, what):
    torch.testing.assert_close(torch.tensor(ours.tolist(), dtype=theirs.dtype), theirs, rtol=rtol, atol=atol,
                               equal_nan=True, msg=lambda text: f"{what}: {text}")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_functions_of_one_argument(name):
    """float32 beside torch's float64, but for angles that float32 does not know; float64 beside the CPU's."""
    for dtype, rtol, atol in (("float32", 2e-5, 2e-6), ("float64", 1e-9, 1e-11)):
        values = torch.tensor(GRID, dtype=getattr(torch, dtype))
        if name.startswith("bessel"):
            values = values[~(values.abs() > 1e3) | values.isinf()]
        ours = getattr(mindtorch.special, name)(mindtorch.tensor(values.tolist(), dtype=getattr(mindtorch, dtype),
                                                                 device="npu"))
        if dtype == "float32":
            theirs = getattr(torch.special, name)(values.double()).float()
            theirs = torch.where(theirs.abs() < 1e-37, theirs * 0, theirs)      # exp of float32 may leave nothing
        else:
            theirs = torch.tensor(getattr(mindtorch.special, name)(mindtorch.tensor(values.tolist(),
                                  dtype=mindtorch.float64)).tolist(), dtype=torch.float64)
        compare(ours, theirs, rtol, atol, f"{name} of {dtype}")


@pytest.mark.parametrize(("dtype", "rtol"), [("float32", 5e-7), ("float64", 1e-14)])
def test_erfcx_does_not_round_the_square(dtype, rtol):
    values = torch.linspace(-9 if dtype == "float32" else -26, 30, 1001, dtype=getattr(torch, dtype)).tolist()
    ours = mindtorch.special.erfcx(mindtorch.tensor(values, dtype=getattr(mindtorch, dtype), device="npu"))
    with numpy.errstate(all="ignore"):
        theirs = torch.from_numpy(special.erfcx.__wrapped__(values))        # torch's and SciPy's round the square
    compare(ours, theirs.to(getattr(torch, dtype)), rtol, 0, f"erfcx of {dtype}")


@pytest.mark.parametrize("name", ["gammainc", "gammaincc", "zeta"])
def test_special_functions_of_two_arguments(name):
    a = [0.0, 1e-6, 0.01, 0.5, 1.0, 1.5, 2.0, 3.0, 10.0, 33.3, 100.0, -1.0, NAN] + [INF] * (name != "zeta")
    b = [0.0, 1e-8, 0.02, 0.5, 1.0, 1.9, 3.0, 9.5, 34.0, 99.0, 140.0, INF, -1.0, -2.5, -30.25, NAN]
    first, second = torch.tensor([[x, y] for x in a for y in b]).T
    for dtype, rtol, atol in (("float32", 1e-4, 1e-6), ("float64", 1e-9, 1e-11)):
        columns = [column.to(getattr(torch, dtype)) for column in (first, second)]
        theirs = getattr(torch.special, name)(*(column.double() for column in columns)).to(columns[0].dtype)
        given = [mindtorch.tensor(column.tolist(), dtype=getattr(mindtorch, dtype), device="npu") for column in columns]
        compare(getattr(mindtorch.special, name)(*given), theirs, rtol, atol, f"{name} of {dtype}")


@pytest.mark.parametrize(("name", "rows"), [("bessel_j1", 30000), ("gammainc", 8000)])
def test_tables_of_large_tensors_are_made_in_pieces(name, rows):
    """Beside the results of a few columns, which are made at once."""
    x = mindtorch.linspace(-20, 20, 21 * rows, device="npu").reshape(rows, 21).t()
    others = (mindtorch.linspace(0, 9, rows, device="npu"),) if name == "gammainc" else ()
    function = getattr(mindtorch.special, name)
    whole = function(x.abs(), *others) if others else function(x)
    few = x[:, 7::2000]
    part = function(few.abs(), others[0][7::2000]) if others else function(few)
    assert whole[:, 7::2000].tolist() == part.tolist()


@pytest.mark.parametrize("name", ["chebyshev_polynomial_t", "shifted_chebyshev_polynomial_w", "hermite_polynomial_h",
                                  "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"])
def test_polynomials(name):
    function, theirs = getattr(mindtorch.special, name), getattr(torch.special, name)
    x, n = torch.randn(5, 1), torch.tensor([-3.0, -1.0, 0.0, 0.5, 1.0, 2.9, 7.0, 4.0])
    for xs, ns in ((x, n), (x, torch.tensor([3.0])), (x, torch.tensor([-1.0])), (x[0], n), (x, torch.tensor(0.0))):
        given = [mindtorch.tensor(t.tolist(), device="npu") for t in (xs, ns)]
        compare(function(*given), theirs(xs.double(), ns.double()).float(), 1e-4, 1e-5, f"{name} of {ns}")
    for degree in (-1, 0, 1, 6):
        compare(function(mindtorch.tensor(x.tolist(), device="npu"), degree), theirs(x.double(), degree).float(), 1e-4,
                1e-5, f"{name} of {degree}")
    for degrees in (n, n.abs(), torch.full((3,), 2.0), torch.arange(300.0) % 5 - 1):
        compare(function(0.3, mindtorch.tensor(degrees.tolist(), device="npu")), theirs(0.3, degrees.double()).float(),
                1e-4, 1e-5, f"{name} of a number, {degrees}")


@pytest.mark.parametrize("count", [3, 256, 257])
def test_what_is_read_of_few_elements_and_of_many(count):
    """Few are read themselves, of many what a kernel finds."""
    values = torch.arange(count) % 7
    ours = mindtorch.tensor(values.tolist(), device="npu")
    assert mindtorch.bincount(ours).tolist() == torch.bincount(values).tolist()
    assert mindtorch.repeat_interleave(ours).tolist() == torch.repeat_interleave(values).tolist()
    assert mindtorch.nn.functional.one_hot(ours).tolist() == torch.nn.functional.one_hot(values).tolist()
    with pytest.raises(RuntimeError, match="non-negative"):
        mindtorch.bincount(ours - 1)
    drawn = mindtorch.poisson(ours * 100.0).tolist()        # 0, 100, 200: more than are counted out
    assert drawn[0] == 0
    assert 50 < drawn[1] < 150 < drawn[2] < 250


@pytest.mark.parametrize("q", [1, 2.5, 0, -2.0, -2.5, INF, NAN])
def test_zeta_of_a_number(q):
    """The host knows it: whether it is a pole, and how many terms are below 0."""
    s = torch.tensor([-1.0, 0.5, 1.0, 1.5, 2.0, 7.0, 60.0, NAN])
    ours = mindtorch.special.zeta(mindtorch.tensor(s.tolist(), device="npu"), q)
    compare(ours, torch.special.zeta(s.double(), q).float(), 1e-5, 1e-6, f"zeta of {q}")


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_derivatives_of_digamma(n):
    """But for poles of the first one, of which torch gives large numbers, and infinities on the left."""
    values = [-7.3, -2.5, -0.1, *[-3.0, -1.0] * (n > 1), 0.0, 1e-3, 0.49, 0.5, 0.51, 1.0, 2.5, 31.0, 1e6, INF, NAN]
    for dtype, rtol, atol in (("float32", 2e-5, 1e-6), ("float64", 1e-8, 1e-11)):
        x = torch.tensor(values, dtype=getattr(torch, dtype))
        ours = mindtorch.polygamma(n, mindtorch.tensor(x.tolist(), dtype=getattr(mindtorch, dtype), device="npu"))
        compare(ours, torch.polygamma(n, x.double()).to(x.dtype), rtol, atol, f"polygamma {n} of {dtype}")


@pytest.mark.parametrize("name", ["gammainc", "gammaincc"])
def test_incomplete_gamma_functions_of_large_numbers(name):
    """The terms of the exponents are as large as a * log(a), and the values go by what is left of them."""
    a = torch.tensor([15.9, 16.1, 100, 300, 5000, 10000, 30000, 100000], dtype=torch.float64).reshape(-1, 1)
    x = a + a.sqrt() * torch.tensor([-3, -1, -0.1, 0, 0.1, 1, 3], dtype=torch.float64)
    a, x = a.float(), x.float()
    ours = getattr(mindtorch.special, name)(*[mindtorch.tensor(value.tolist(), device="npu") for value in (a, x)])
    compare(ours, getattr(torch.special, name)(a.double(), x.double()).float(), 1e-5, 0, name)


@pytest.mark.parametrize("name", ["gammainc", "gammaincc"])
def test_incomplete_gamma_functions_of_huge_numbers_on_the_cpu(name):
    """The series and the fraction would take as many terms as the root of a."""
    a = torch.tensor([1e3, 2e4, 1e6, 1e8, 1e10, 1e12], dtype=torch.float64).reshape(-1, 1)
    x = a + a.sqrt() * torch.tensor([-3, -1, -0.1, 0, 0.1, 1, 3], dtype=torch.float64)
    ours = getattr(mindtorch.special, name)(mindtorch.tensor(a.tolist(), dtype=mindtorch.float64),
                                            mindtorch.tensor(x.tolist(), dtype=mindtorch.float64))
    compare(ours, torch.tensor(getattr(scipy.special, name)(a.numpy(), x.numpy())), 1e-11, 0, name)


@pytest.mark.parametrize("call", [lambda x: mindtorch.special.legendre_polynomial_p(x, 4),
                                  lambda x: mindtorch.special.laguerre_polynomial_l(x, mindtorch.tensor(3)),
                                  lambda x: mindtorch.special.zeta(x, 1), lambda x: mindtorch.polygamma(1, x)])
def test_nothing_waits_for_what_the_host_knows(call):
    x = mindtorch.tensor([0.5, 1.5, 2.0], device="npu")
    call(x)                                     # brings the tables
    with mindtorch.sim.counting() as counts:
        call(x)
    assert counts["aclrtSynchronizeStream"] == 0


def test_tables_stay_until_the_cache_is_emptied():
    """In a process of one stream; tests beside this one may have left it."""
    held = subprocess.run([sys.executable, "-c", """if True:
        import mindtorch as torch
        x, held = torch.ones(8, device="npu"), []
        for call in (torch.fft.fft, torch.fft.fft, lambda x: torch.npu.empty_cache()):
            held.append(torch.npu.memory_allocated())
            call(x)
        print(*held, torch.npu.memory_allocated())"""], check=True, capture_output=True, text=True).stdout
    before, once, twice, after = map(int, held.split())
    assert before == after < once == twice


def test_decompositions_name_operators_that_exist():
    """The generated calls of rows; one that is missing would show in its first call alone."""
    assert not [name for name in set(re.findall(r"\bops\.(\w+)", Path(decompositions.__file__).read_text()))
                if not hasattr(ops, name)]


@pytest.mark.parametrize(("name", "at"), [("laguerre_polynomial_l", 0.0), ("legendre_polynomial_p", 1.0)])
def test_polynomials_that_are_1_are_exactly_1(name, at):
    """Their recurrences divide at the end, so that nothing is rounded."""
    function = getattr(mindtorch.special, name)
    for shape in ((), (4,)):
        for degree in range(12):
            assert function(mindtorch.full(shape, at, device="npu"), degree).tolist() == torch.ones(shape).tolist()


def _matrices(dtype):
    """By name: matrices whose eigenvalues are equal, far apart or in a circle, or that have too few eigenvectors."""
    torch.manual_seed(0)
    eye, random = torch.eye(4, dtype=dtype), torch.randn(3, 4, 4, dtype=dtype)
    return {"random": torch.randn(12, 12, dtype=dtype), "one element": torch.randn(1, 1, dtype=dtype),
            "batch of kinds": torch.stack([eye, eye * 0, eye.roll(1, 0), random[0]]), "symmetric": random + random.mH,
            "rotation": torch.tensor([[0, -1], [1, 0]], dtype=dtype), "triangular": random.triu(),
            "one eigenvector": eye + eye.roll(-1, 0).tril(), "nilpotent": eye.roll(1, 0).tril(),
            "tiny": random * 1e-15, "huge": random * 1e15, "no batch": random[:0], "no rows": random[:, :0, :0]}


@pytest.mark.parametrize("name", _matrices(torch.float32))
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_eigenvalues_and_eigenvectors(name, dtype, device):
    """A V = V L with columns of norm 1; the eigenvalues are torch's in some order."""
    matrix = _matrices(getattr(torch, dtype))[name]
    given = mindtorch.tensor(matrix.tolist(), dtype=getattr(mindtorch, dtype), device=device).reshape(matrix.shape)
    values, vectors = (torch.tensor(each.tolist(), dtype=torch.complex128).reshape(each.shape)
                       for each in mindtorch.linalg.eig(given))
    matrix = matrix.to(torch.complex128)
    expected = torch.linalg.eigvals(matrix)
    assert (values.shape, vectors.shape) == (expected.shape, matrix.shape)
    size = matrix.abs().max().item() if matrix.numel() else 0
    tolerance = 100 * size * (2 ** -52 if dtype in ("float64", "complex128") else 2 ** -23)
    torch.testing.assert_close(matrix @ vectors, vectors * values.unsqueeze(-2), rtol=0, atol=tolerance)
    torch.testing.assert_close(vectors.norm(dim=-2), torch.ones(vectors.shape[:-1], dtype=torch.float64), rtol=0,
                               atol=1e-5)
    # Near each one of the expected there is one, and the other way round.
    distance = (values.unsqueeze(-1) - expected.unsqueeze(-2)).abs()
    if distance.numel():
        assert max(distance.amin(-1).max(), distance.amin(-2).max()) <= tolerance
    if not dtype.startswith("complex"):
        assert (values.imag == 0).sum() % 2 == values.numel() % 2, "complex ones come in pairs"


def test_eigenvalues_of_what_is_not_finite(device):
    for value in (NAN, INF):
        with pytest.raises(RuntimeError, match="input tensor should not contain infs or NaNs"):
            mindtorch.linalg.eigvals(mindtorch.full((2, 2), value, device=device))
