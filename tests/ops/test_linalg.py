"""torch.linalg, torch.fft, einsum and their relatives: values, gradients and second gradients, against torch.

Where a decomposition is unique only up to signs or phases, a function of it that does not depend on them is compared.
"""
import re

import numpy
import pytest
import torch

import mindtorch


def arrays(*shapes, dtype="float64", seed=0, spd=False):
    generator = numpy.random.default_rng(seed)
    made = []
    for shape in shapes:
        array = generator.uniform(-1, 1, shape)
        if dtype.startswith("complex"):
            array = array + 1j * generator.uniform(-1, 1, shape)
        if spd:
            array = array @ numpy.conj(numpy.swapaxes(array, -1, -2)) + 2 * numpy.eye(shape[-1])
        made.append(array.astype(dtype))
    return made


def _outer_of(q):
    return q @ q.transpose(-1, -2)


# name: (function of the library and tensors, shapes)
CASES = {
    "einsum matrix": (lambda lib, a, b: lib.einsum("ij,jk->ik", a, b), ((2, 3), (3, 4))),
    "einsum batch": (lambda lib, a, b: lib.einsum("...ij,...jk->...ik", a, b), ((2, 2, 3), (3, 4))),
    "einsum implicit": (lambda lib, a, b: lib.einsum("ba,bc", a, b), ((2, 3), (2, 4))),
    "einsum trace": (lambda lib, a: lib.einsum("ii", a), ((3, 3),)),
    "einsum diagonal": (lambda lib, a: lib.einsum("iij->ij", a), ((3, 3, 2),)),
    "einsum three": (lambda lib, a, b, c: lib.einsum("bn,anm,bm->ba", a, b, c), ((2, 3), (4, 3, 2), (2, 2))),
    "einsum sum": (lambda lib, a: lib.einsum("ij->j", a), ((2, 3),)),
    "einsum sublists": (lambda lib, a, b: lib.einsum(a, [0, 1], b, [1, 2], [2, 0]), ((2, 3), (3, 4))),
    "einsum sublist ellipsis": (lambda lib, a, b: lib.einsum(a, [..., 1], b, [..., 1], [...]), ((2, 3), (2, 3))),
    "einsum outer": (lambda lib, a, b: lib.einsum("i,j->ij", a, b), ((2,), (3,))),
    "einsum broadcast": (lambda lib, a, b: lib.einsum("...i,...i->...", a, b), ((1, 3), (4, 3))),
    "einsum size one": (lambda lib, a, b: lib.einsum("ij,jk->ik", a, b), ((2, 1), (3, 4))),
    "tensordot": (lambda lib, a, b: lib.tensordot(a, b, dims=2), ((2, 3, 4), (3, 4, 5))),
    "tensordot lists": (lambda lib, a, b: lib.tensordot(a, b, dims=([1, 0], [0, 1])), ((3, 4, 5), (4, 3, 2))),
    "inner": (lambda lib, a, b: lib.inner(a, b), ((2, 3), (4, 3))),
    "outer": (lambda lib, a, b: lib.outer(a, b), ((2,), (3,))),
    "kron": (lambda lib, a, b: lib.kron(a, b), ((2, 3), (4,))),
    "vdot": (lambda lib, a, b: lib.vdot(a, b), ((3,), (3,))),
    "chain_matmul": (lambda lib, *m: lib.chain_matmul(*m), ((2, 3), (3, 4), (4, 2))),
    "multi_dot": (lambda lib, *m: lib.linalg.multi_dot(m), ((3,), (3, 4), (4, 2), (2,))),
    "baddbmm": (lambda lib, a, b, c: lib.baddbmm(a, b, c, beta=2, alpha=3), ((3, 5), (2, 3, 4), (2, 4, 5))),
    "addbmm": (lambda lib, a, b, c: lib.addbmm(a, b, c, beta=2, alpha=3), ((3, 5), (2, 3, 4), (2, 4, 5))),
    "addbmm row": (lambda lib, a, b, c: lib.addbmm(a, b, c), ((5,), (2, 3, 4), (2, 4, 5))),
    "addbmm number": (lambda lib, a, b, c: lib.addbmm(a, b, c), ((), (2, 3, 4), (2, 4, 5))),
    "addmv": (lambda lib, a, b, c: lib.addmv(a, b, c, beta=2, alpha=3), ((2,), (2, 3), (3,))),
    "addr": (lambda lib, a, b, c: lib.addr(a, b, c, beta=2, alpha=3), ((2, 3), (2,), (3,))),
    "cross": (lambda lib, a, b: lib.cross(a, b, dim=1), ((2, 3), (2, 3))),
    "linalg.cross": (lambda lib, a, b: lib.linalg.cross(a, b), ((1, 3), (4, 3))),
    "vecdot": (lambda lib, a, b: lib.linalg.vecdot(a, b), ((2, 3), (2, 3))),
    "vector_norm": (lambda lib, a: lib.linalg.vector_norm(a, 3, dim=1), ((2, 3, 2),)),
    "vector_norm inf": (lambda lib, a: lib.linalg.vector_norm(a, float("inf"), dim=1), ((2, 3),)),
    "norm half": (lambda lib, a: lib.linalg.vector_norm(a, 0.5), ((2, 3),)),
    "matrix_norm": (lambda lib, a: lib.linalg.matrix_norm(a), ((2, 3, 2),)),
    "matrix_norm nuc": (lambda lib, a: lib.linalg.matrix_norm(a, "nuc", dim=(0, 2)), ((2, 3, 2),)),
    "matrix_norm 1": (lambda lib, a: lib.linalg.matrix_norm(a, 1, keepdim=True), ((2, 3, 2),)),
    "matrix_norm -2": (lambda lib, a: lib.linalg.matrix_norm(a, -2), ((2, 3, 2),)),
    "linalg.norm": (lambda lib, a: lib.linalg.norm(a, 2), ((3, 2),)),
    "norm": (lambda lib, a: lib.norm(a, dim=(0, 1)), ((3, 2),)),
    "inv": (lambda lib, a: lib.linalg.inv(a), ((2, 3, 3),)),
    "inv_ex": (lambda lib, a: lib.linalg.inv_ex(a)[0], ((2, 3, 3),)),
    "solve": (lambda lib, a, b: lib.linalg.solve(a, b), ((2, 3, 3), (3, 2))),
    "solve vector": (lambda lib, a, b: lib.linalg.solve(a, b), ((3, 3), (3,))),
    "solve right": (lambda lib, a, b: lib.linalg.solve(a, b, left=False), ((3, 3), (2, 3))),
    "solve_triangular": (lambda lib, a, b: lib.linalg.solve_triangular(a, b, upper=True), ((3, 3), (2, 3, 2))),
    "solve_triangular right": (lambda lib, a, b: lib.linalg.solve_triangular(
        a, b, upper=False, left=False, unitriangular=True), ((3, 3), (2, 3))),
    "triangular_solve": (lambda lib, b, a: lib.triangular_solve(b, a, True, True)[0], ((3, 2), (3, 3))),
    "det": (lambda lib, a: lib.linalg.det(a), ((2, 3, 3),)),
    "slogdet": (lambda lib, a: lib.linalg.slogdet(a)[1], ((2, 3, 3),)),
    "qr": (lambda lib, a: lib.linalg.qr(a), ((4, 3),)),
    "qr wide": (lambda lib, a: lib.linalg.qr(a), ((2, 4),)),
    "qr complete": (lambda lib, a: lib.linalg.qr(a, "complete"), ((3, 3),)),
    "svdvals": (lambda lib, a: lib.linalg.svdvals(a), ((3, 4),)),
    "svd": (lambda lib, a: (lambda u, s, vh: (_outer_of(u), s, _outer_of(vh.transpose(-1, -2))))(
        *lib.linalg.svd(a, full_matrices=False)), ((4, 2),)),
    "eigh": (lambda lib, a: (lambda w, v: (w, _outer_of(v * w.unsqueeze(-2))))(
        *lib.linalg.eigh(a + a.transpose(-1, -2))), ((3, 3),)),
    "eigvalsh": (lambda lib, a: lib.linalg.eigvalsh(a + a.transpose(-1, -2)), ((3, 3),)),
    "lu": (lambda lib, a: lib.linalg.lu(a)[1:], ((3, 3),)),
    "lu tall": (lambda lib, a: lib.linalg.lu(a)[1:], ((4, 2),)),
    "lu wide": (lambda lib, a: lib.linalg.lu(a)[1:], ((2, 4),)),
    "lu_solve": (lambda lib, a, b: lib.linalg.lu_solve(*lib.linalg.lu_factor(a), b), ((3, 3), (3, 2))),
    "lu_solve adjoint": (lambda lib, a, b: lib.linalg.lu_solve(
        *lib.linalg.lu_factor(a), b, adjoint=True, left=False), ((3, 3), (2, 3))),
    "householder_product": (lambda lib, a, t: lib.linalg.householder_product(a, t), ((4, 3), (2,))),
    "ormqr": (lambda lib, a, t, b: lib.ormqr(a, t, b), ((3, 3), (3,), (3, 2))),
    "pinv": (lambda lib, a: lib.linalg.pinv(a), ((2, 4, 3),)),
    "pinv wide": (lambda lib, a: lib.linalg.pinv(a), ((2, 4),)),
    "lstsq": (lambda lib, a, b: lib.linalg.lstsq(a, b)[0], ((4, 2), (4, 3))),
    "lstsq gels": (lambda lib, a, b: lib.linalg.lstsq(a, b, driver="gels")[:2], ((2, 4, 2), (2, 4, 3))),
    "lstsq gels of wide matrices": (lambda lib, a, b: lib.linalg.lstsq(a, b, driver="gels")[0], ((2, 4), (2, 3))),
    "matrix_exp": (lambda lib, a: lib.linalg.matrix_exp(a * 3), ((2, 3, 3),)),
    "matrix_power": (lambda lib, a: lib.linalg.matrix_power(a, 5), ((3, 3),)),
    "matrix_power inverse": (lambda lib, a: lib.linalg.matrix_power(a, -2), ((3, 3),)),
    "cond": (lambda lib, a: lib.linalg.cond(a), ((2, 3, 3),)),
    "vander": (lambda lib, a: lib.linalg.vander(a, N=4), ((2, 3),)),
    "tensorinv": (lambda lib, a: lib.linalg.tensorinv(a), ((2, 3, 6),)),
    "tensorsolve": (lambda lib, a, b: lib.linalg.tensorsolve(a, b), ((2, 3, 6), (2, 3))),
    "fft.rfft": (lambda lib, a: lib.fft.irfft(lib.fft.rfft(a, n=6), n=5), ((2, 5),)),
    "fft.irfft": (lambda lib, a: lib.fft.irfft(lib.fft.rfft(a), n=4), ((2, 5),)),
    "fft.fftn": (lambda lib, a: lib.fft.hfft(lib.fft.fftn(a, norm="ortho")), ((2, 5),)),
    "fft.hfft": (lambda lib, a: lib.fft.hfft(a), ((2, 5),)),
    "fft.ihfft2": (lambda lib, a: lib.fft.hfft(lib.fft.ihfft2(a)), ((2, 5),)),
}
POSITIVE = {"cholesky": (lambda lib, a: lib.linalg.cholesky(a), ((2, 3, 3),)),
            "cholesky upper": (lambda lib, a: lib.linalg.cholesky(a, upper=True), ((3, 3),)),
            "cholesky_ex": (lambda lib, a: lib.linalg.cholesky_ex(a)[0], ((3, 3),)),
            "cholesky_solve": (lambda lib, a: lib.cholesky_solve(a, lib.linalg.cholesky(a)), ((3, 3),)),
            "cholesky_inverse": (lambda lib, a: lib.cholesky_inverse(lib.linalg.cholesky(a)), ((3, 3),)),
            "logdet": (lambda lib, a: lib.logdet(a), ((2, 3, 3),))}


def flat(results):
    return list(results) if isinstance(results, (tuple, list)) else [results]


def total(lib, results):
    """A number that every element of every result weighs on differently."""
    weighed = [(one * (lib.arange(one.numel(), dtype=one.dtype, device=one.device).reshape(one.shape) + 1)).sum()
               for one in flat(results)]
    return sum(weighed[1:], weighed[0])


def derivatives(lib, function, values, device, twice):
    """Results, gradients, and the gradients of the gradients' squares."""
    tensors = [lib.tensor(v, device=device, requires_grad=True) for v in values]
    results = function(lib, *tensors)
    first = lib.autograd.grad(total(lib, results), tensors, create_graph=twice)
    squares = [(one * one).sum() for one in first if one.requires_grad]
    second = lib.autograd.grad(sum(squares[1:], squares[0]), tensors, allow_unused=True) if squares else ()
    return flat(results), first, second


def compare(ours, theirs, tolerance):
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        assert str(one.dtype) == str(other.dtype)
        numpy.testing.assert_allclose(one.detach().numpy(force=True), other.detach().numpy(force=True), rtol=tolerance,
                                      atol=tolerance)


@pytest.mark.filterwarnings("ignore:.*deprecated:UserWarning")
@pytest.mark.parametrize("name", [*CASES, *POSITIVE])
def test_derivatives(name, device):
    dtype = "float64" if device == "cpu" else "float32"
    function, shapes = (CASES | POSITIVE)[name]
    values = arrays(*shapes, dtype=dtype, spd=name in POSITIVE)
    twice = device == "cpu" and name not in ("ormqr", "householder_product")
    theirs = derivatives(torch, function, values, "cpu", twice)
    ours = derivatives(mindtorch, function, values, device, twice)
    tolerance = 1e-7 if dtype == "float64" else 5e-3
    for one, other in zip(ours[:2], theirs[:2], strict=True):
        compare(one, other, tolerance)
    for one, other in zip(ours[2], theirs[2], strict=False):       # empty where a library knows that they are zero
        if one is not None and other is not None:
            compare([one], [other], tolerance)


COMPLEX = ("einsum matrix", "tensordot", "kron", "vdot", "inv", "solve", "det", "svdvals", "qr", "matrix_exp", "lu",
           "solve_triangular", "pinv", "cond", "vector_norm", "matrix_norm", "cross", "cholesky", "cholesky_solve",
           "householder_product", "lu_solve")


@pytest.mark.parametrize("name", COMPLEX)
def test_complex(name):
    function, shapes = (CASES | POSITIVE)[name]
    values = arrays(*shapes, dtype="complex128", spd=name in POSITIVE)
    theirs = flat(function(torch, *map(torch.tensor, values)))
    ours = flat(function(mindtorch, *map(mindtorch.tensor, values)))
    compare(ours, theirs, 1e-9)
    for lib, found in ((torch, theirs), (mindtorch, ours)):
        tensors = [lib.tensor(v, requires_grad=True) for v in values]
        size = sum((one.abs() ** 2).sum() for one in flat(function(lib, *tensors)))
        found[:] = lib.autograd.grad(size, tensors)
    compare(ours, theirs, 1e-8)


def test_singular_solve(device):
    """On npu, where a QR decomposition stands for LU, rounding hides the zero."""
    batch = [[[1.0, 0.0], [0.0, 1.0]], [[1.0, 2.0], [2.0, 4.0]]]
    for lib, where in ((torch, "cpu"), (mindtorch, device)):
        a, b = lib.tensor(batch, device=where), lib.ones(2, 2, 1, device=where)
        assert lib.linalg.solve_ex(a, b)[1].tolist() == [0, 2]
        with pytest.raises(RuntimeError, match=r"Batch element 1\): The solver failed because the input matrix is s"):
            lib.linalg.solve(a, b)


SINGULAR = {
    "equal rows": [[2.0, -1.0, 1.0]] * 3, "a column of zeros": [[0.0, 1.0, 2.0], [0.0, -1.0, 1.0], [0.0, 2.0, 2.0]],
    "a row of zeros": [[1.0, -2.0, 1.0], [0.0, 0.0, 0.0], [2.0, 1.0, 1.0]], "zeros": [[0.0] * 3] * 3,
}


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize("name", SINGULAR)
def test_solve_ex_goes_on_after_a_pivot_of_zero(name, dtype, left, device):
    """Infinity and NaN are on the CPU where the substitutions leave them; beside them, what is regular is solved."""
    found = []
    for lib, where in ((torch, "cpu"), (mindtorch, device)):
        a = lib.tensor([SINGULAR[name], [[2.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 4.0]]], device=where)
        b = lib.tensor([[[1.0, -2.0, 3.0], [2.0, 5.0, -1.0]]], device=where)
        a, b = a.to(getattr(lib, dtype)), (b.mT if left else b).to(getattr(lib, dtype))
        x, info = lib.linalg.solve_ex(a, b, left=left)
        assert info[0] > 0
        assert info[1] == 0
        found.append(x.resolve_conj().cpu().numpy()[0 if device == "cpu" else 1:])
    numpy.testing.assert_allclose(found[1], found[0], 1e-5)


def test_singular_lu(device):
    for lib, where in ((torch, "cpu"), (mindtorch, device)):
        with pytest.raises(RuntimeError, match=r"U\[1,1\] is zero"):
            lib.linalg.lu_factor(lib.zeros(2, 2, device=where))


def test_more_pivots_than_columns_are_not_read(device):
    for lib, where in ((torch, "cpu"), (mindtorch, device)):
        pivots = lib.tensor([3, 4, 4, 4], dtype=lib.int32, device=where)
        permutation = lib.lu_unpack(lib.ones(4, 2, device=where), pivots)[0]
        assert permutation.argmax(0).tolist() == [2, 3, 0, 1]


MATRICES = {
    "repeated eigenvalues": [[2.0, 0, 0], [0, 2, 0], [0, 0, -2]], "zero": [[0.0, 0], [0, 0]],
    "indefinite": [[1.0, 5, -2], [5, 1, 3], [-2, 3, -7]], "complex": [[2.0, 1j, 1], [-1j, -3, 2 + 1j], [1, 2 - 1j, 0]],
}


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("UPLO", ["L", "U"])
def test_eigh_reads_one_triangle(name, UPLO, device):
    """And gives orthonormal vectors where eigenvalues are equal."""
    matrix = numpy.array(MATRICES[name])
    half = numpy.tril(matrix) if UPLO == "L" else numpy.triu(matrix)
    values, vectors = mindtorch.linalg.eigh(mindtorch.tensor(half, device=device), UPLO)
    values, vectors = values.cpu().numpy(), vectors.cpu().numpy()
    numpy.testing.assert_allclose(values, numpy.linalg.eigvalsh(matrix), atol=1e-12)
    numpy.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-12)
    numpy.testing.assert_allclose(vectors.conj().T @ vectors, numpy.eye(len(matrix)), atol=1e-12)


def test_infos_of_failures(device):
    """As LAPACK counts them; the factors of the other matrices of the batch are right."""
    batch = [[[4.0, 2], [2, 5]], [[1, 2], [2, 1]], [[-1, 0], [0, 1]]]
    for lib, where in ((torch, "cpu"), (mindtorch, device)):
        matrices = lib.tensor(batch, device=where)
        factor, info = lib.linalg.cholesky_ex(matrices)
        assert info.tolist() == [0, 2, 1]
        assert factor[0].tolist() == [[2, 0], [1, 2]]
        assert lib.linalg.inv_ex(lib.tensor([[[1.0, 0], [0, 0]], [[2, 0], [0, 4]]], device=where))[1].tolist() == [2, 0]
        with pytest.raises(lib.linalg.LinAlgError, match=r"Batch element 1\): The factorization .* order 2 is not"):
            lib.linalg.cholesky_ex(matrices, check_errors=True)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_what_a_zero_pivot_leaves(dtype):
    """Of inv_ex on the CPU, infinity and NaN where torch has them, in the matrix at fault alone."""
    matrices = [[[0.0, 1, 2], [0, 4, 4], [0, 2, 6]], [[2, 0, 0], [0, 4, 0], [1, 0, 1]], [[0] * 3] * 3, [[1, 2, 2]] * 3]
    expected, found = (lib.linalg.inv_ex(lib.tensor(matrices, dtype=getattr(lib, dtype))) for lib in (torch, mindtorch))
    numpy.testing.assert_array_equal(found[0].numpy(), expected[0].numpy())
    assert found[1].tolist() == expected[1].tolist()


ERRORS = {
    "inv": lambda lib, zeros: lib.linalg.inv(zeros),
    "solve": lambda lib, zeros: lib.linalg.solve(zeros, zeros[0]),
    "tensorinv": lambda lib, zeros: lib.linalg.tensorinv(zeros, 1),
    "cholesky": lambda lib, zeros: lib.linalg.cholesky(zeros),
    "cholesky of a batch": lambda lib, zeros: lib.linalg.cholesky(lib.stack([zeros + lib.eye(2), zeros])),
    "cholesky of complex numbers": lambda lib, zeros: lib.linalg.cholesky(zeros * 1j),
    "cholesky of NaN": lambda lib, zeros: lib.linalg.cholesky(zeros / zeros),
    "cholesky_inverse": lambda lib, zeros: lib.cholesky_inverse(zeros),
    "gels": lambda lib, zeros: lib.linalg.lstsq(lib.cat([zeros, zeros[:1]]) + lib.arange(2), zeros[[0, 0, 0]],
                                                driver="gels"),
    "gels of wide matrices": lambda lib, zeros: lib.linalg.lstsq(
        lib.eye(2, 3, dtype=zeros.dtype) * lib.tensor([[[1], [1]], [[1], [0]]]), zeros.expand(2, 2, 2), driver="gels"),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ERRORS)
def test_linalg_errors(name, dtype, device):
    """The NPU's kernels give no infos: the host waits and looks at their results."""
    def call(lib, where):
        with lib.device(where):
            return ERRORS[name](lib, lib.zeros(2, 2, dtype=getattr(lib, dtype)))

    with pytest.raises(torch.linalg.LinAlgError) as expected:
        call(torch, "cpu")
    with pytest.raises(mindtorch.linalg.LinAlgError) as found:
        call(mindtorch, device)
    words = str(expected.value)
    assert str(found.value) == (f"linalg.{words}" if name == "tensorinv" else words)
    assert issubclass(mindtorch.linalg.LinAlgError, RuntimeError)


def test_singular_values_of_nan():
    found = []
    for lib in (torch, mindtorch):
        for shape in ((2, 2), (3, 2, 2)):
            matrices = lib.ones(shape)
            matrices[..., 0, 0] *= float("nan")
            with pytest.raises(lib.linalg.LinAlgError, match="non-finite values") as error:
                lib.linalg.svd(matrices)
            found.append(str(error.value))
    assert found[:2] == found[2:]


@pytest.mark.parametrize(("head", "inverse"), [("nan", "nan"), ("inf", 0), (1e-40, "inf")])
def test_infinity_and_nan_are_no_fault_of_an_inverse(head, inverse, device):
    """No pivot is zero."""
    for lib, where in ((torch, "cpu"), (mindtorch, device)):
        matrix = lib.tensor([[float(head), 0], [0, 1]], device=where)
        assert lib.linalg.inv(matrix)[0, 0].item() == pytest.approx(float(inverse), nan_ok=True)


WRONG = {
    "einsum unknown output": lambda lib: lib.einsum("ij->k", lib.ones(2, 2)),
    "einsum operands": lambda lib: lib.einsum("ij,jk", lib.ones(2, 2)),
    "einsum ranks": lambda lib: lib.einsum("ijk", lib.ones(2, 2)),
    "einsum sizes": lambda lib: lib.einsum("ij,jk", lib.ones(2, 3), lib.ones(4, 2)),
    "einsum repeated": lambda lib: lib.einsum("ij->ii", lib.ones(2, 2)),
    "tensordot sizes before the next dimension": lambda lib: lib.tensordot(
        lib.ones(3), lib.ones(2, 2, 1), dims=([0, 1], [0, 2])),
    "chain_matmul into another dtype": lambda lib: lib.chain_matmul(
        lib.ones(2, 2), lib.ones(2, 2), out=lib.ones(0, dtype=lib.float64)),
    "lu_solve of too many pivots": lambda lib: lib.linalg.lu_solve(
        lib.ones(2, 2), lib.ones(3, dtype=lib.int32), lib.ones(2, 2)),
    "lu_solve of a number of pivots": lambda lib: lib.linalg.lu_solve(
        lib.ones(2, 2), lib.ones((), dtype=lib.int32), lib.ones(2, 2)),
    "index_reduce of a slice that is not there": lambda lib: lib.ones(3).index_reduce(
        0, lib.tensor([5]), lib.ones(1), "amax"),
    "index_reduce of such a slice of a batch": lambda lib: lib.vmap(
        lambda x, i: x.index_reduce(0, i, x[:1], "amax"))(lib.ones(2, 3), lib.tensor([[5], [0]])),
    "tensordot sizes": lambda lib: lib.tensordot(lib.ones(2, 3), lib.ones(2, 3), dims=([0], [1])),
    "matrix_norm of a vector": lambda lib: lib.linalg.matrix_norm(lib.ones(3)),
    "matrix_norm order": lambda lib: lib.linalg.matrix_norm(lib.ones(3, 3), 3),
    "matrix_norm 16 bits": lambda lib: lib.linalg.matrix_norm(lib.ones(3, 3).half(), 2, dtype=lib.float32),
    "norm 16 bits autocast": lambda lib: lib.autocast("cpu")(lib.norm)(lib.ones(3, 3).bfloat16(), "nuc"),
    "inv not square": lambda lib: lib.linalg.inv(lib.ones(2, 3)),
    "solve shapes": lambda lib: lib.linalg.solve(lib.ones(3, 3), lib.ones(2, 2)),
    "qr mode": lambda lib: lib.linalg.qr(lib.ones(3, 3), "raw"),
    "fft size": lambda lib: lib.fft.fft(lib.ones(3), n=0),
    "fft dim": lambda lib: lib.fft.fft(lib.ones(3), dim=1),
    "rfft of complex": lambda lib: lib.fft.rfft(lib.ones(3, dtype=lib.complex64)),
    "fft norm": lambda lib: lib.fft.fft(lib.ones(3), norm="half"),
    "multi_dot of one": lambda lib: lib.linalg.multi_dot([lib.ones(3, 3)]),
    "integers": lambda lib: lib.linalg.inv(lib.ones(3, 3, dtype=lib.int32)),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments(name):
    with pytest.raises(Exception) as theirs:      # noqa: PT011 - whatever torch raises
        WRONG[name](torch)
    with pytest.raises(theirs.type):
        WRONG[name](mindtorch)


FFTS = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "ifft2", "rfft2", "irfft2", "hfft2", "ihfft2", "fftn",
        "ifftn", "rfftn", "irfftn", "hfftn", "ihfftn")


@pytest.mark.parametrize("norm", [None, "forward", "ortho"])
@pytest.mark.parametrize("name", FFTS)
def test_ffts(name, norm):
    for dtype in ("float32", "float64", "complex64", "int64"):
        value = (arrays((3, 4, 5), dtype=dtype if dtype != "int64" else "float64")[0] * 9).astype(dtype)
        if name.startswith(("r", "ih")) and dtype == "complex64":
            continue
        plural = name.endswith(("2", "n"))
        for options in ({}, {"s": (3, 6), "dim": (0, 2)} if plural else {"n": 3, "dim": 1}):
            theirs = getattr(torch.fft, name)(torch.tensor(value), norm=norm, **options)
            ours = getattr(mindtorch.fft, name)(mindtorch.tensor(value), norm=norm, **options)
            compare([ours], [theirs], 1e-4)


def test_frequencies():
    for size in (4, 5):
        for lib_name in ("fftfreq", "rfftfreq"):
            compare([getattr(mindtorch.fft, lib_name)(size, 0.5)], [getattr(torch.fft, lib_name)(size, 0.5)], 1e-6)
        for lib_name in ("fftshift", "ifftshift"):
            value = numpy.arange(size * 3.0).reshape(size, 3)
            compare([getattr(mindtorch.fft, lib_name)(mindtorch.tensor(value))],
                    [getattr(torch.fft, lib_name)(torch.tensor(value))], 0)


@pytest.mark.parametrize("shape", [(5, 0), (0, 5), (0, 0), (2, 5, 0)])
@pytest.mark.parametrize("order", [1, -1, 2, numpy.inf, -numpy.inf, "nuc", "fro"])
@pytest.mark.parametrize("keepdim", [False, True])
def test_norms_of_empty_matrices(shape, order, keepdim):
    """The largest of no sums is 0; there is no least one."""
    def run(lib):
        try:
            return lib.linalg.matrix_norm(lib.ones(shape), order, keepdim=keepdim).tolist()
        except IndexError as error:
            return str(error)
    assert run(mindtorch) == run(torch)


@pytest.mark.parametrize("dtypes", [("float16", "float16"), ("bfloat16", "bfloat16"), ("int32", "int32"),
                                    ("float32", "float64"), ("float64", "float16")])
@pytest.mark.parametrize("options", [{}, {"rcond": 0.1}, {"driver": "gelss"}, {"driver": "other"}])
def test_dtypes_that_least_squares_refuse(dtypes, options, device):
    def refused(lib, where):
        one, other = (lib.ones(3, 2, dtype=getattr(lib, dtype), device=where) for dtype in dtypes)
        with pytest.raises(RuntimeError) as error:
            lib.linalg.lstsq(one, other, **options)
        return error.type, str(error.value).partition("`driver`")[0]
    assert refused(mindtorch, device) == refused(torch, "cpu")


@pytest.mark.parametrize("order", ["fro", 2, 0, numpy.inf, None, "inf"])
@pytest.mark.parametrize("method", [False, True])
def test_norms_of_integers_are_refused(order, method, device):
    def refused(lib, where):
        whole = lib.ones(2, 2, dtype=lib.int64, device=where)
        with pytest.raises(RuntimeError) as error:
            whole.norm(order) if method else lib.norm(whole, order)
        return str(error.value)
    assert refused(mindtorch, device) == refused(torch, "cpu")


@pytest.mark.parametrize("name", ["eigh", "svd", "svdvals", "pinv", "matrix_rank", "cond"])
def test_matrices_with_nan_are_refused(name):
    """With torch's type of error, which programs catch, and its words."""
    def call(lib):
        matrix = lib.eye(3).expand(2, 3, 3).clone()
        matrix[1] = float("nan")
        return getattr(lib.linalg, name)(matrix)
    with pytest.raises(torch.linalg.LinAlgError) as theirs:
        call(torch)
    with pytest.raises(mindtorch.linalg.LinAlgError, match=re.escape(str(theirs.value))):
        call(mindtorch)


@pytest.mark.filterwarnings("ignore:torch.triangular_solve is deprecated:UserWarning")
@pytest.mark.parametrize("chosen", [(0,), (1,), (0, 1)])
def test_gradients_of_the_copy_that_triangular_solve_returns(chosen, device):
    """It is no solution: its gradient does not depend on the matrix."""
    found = []
    for lib, place in ((mindtorch, device), (torch, "cpu")):
        matrix = lib.tensor([[2.0, 1.0], [0.0, 3.0]], device=place, requires_grad=True)
        b = lib.tensor([[1.0], [2.0]], device=place, requires_grad=True)
        results = lib.triangular_solve(b, matrix)
        gradients = lib.autograd.grad([results[i].sum() for i in chosen], (matrix, b), create_graph=True)
        found.append([(each.requires_grad, tuple(each.shape)) for each in gradients])
    assert found[0] == found[1]


@pytest.mark.parametrize(("name", "matrix"), [
    ("logdet", [[1.0, 2.0], [3.0, 4.0]]), ("logdet", [[-0.2]]), ("logdet", [[1.0, 1.0], [1.0, 1.0]]),
    ("slogdet", [[1.0, 2.0], [2.0, 4.0]]), ("slogdet", [[0.0]]),
    ("slogdet", [[[1.0, 2.0, 4.0], [2.0, 4.0, 8.0], [1.0, 1.0, 1.0]]])], ids=str)
def test_gradients_where_a_determinant_has_no_logarithm(name, matrix, device):
    """Of a negative one, whose logarithm is NaN, they are 0, as in torch; of 0 they are infinite, or of another size on
    the NPU, whose pivots differ by rounding, and no error."""
    def gradient(lib, where):
        a = lib.tensor(matrix, device=where, requires_grad=True)
        result = getattr(lib, name)(a)
        (result[1] if name == "slogdet" else result).sum().backward()
        return a.grad.cpu().numpy()

    ours, theirs = gradient(mindtorch, device), gradient(torch, "cpu")
    if device == "cpu" or numpy.isfinite(theirs).all():
        numpy.testing.assert_allclose(ours, theirs, 1e-6)


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("name", ["cholesky_solve", "cholesky_inverse"])
def test_the_triangle_that_a_cholesky_factor_does_not_use_has_a_gradient(name, upper, device):
    """As in torch, whose derivative is that of the whole matrix."""
    def gradients(lib, where):
        factor = lib.tensor([[[2.0, 0.5, 0.1], [1.0, 3.0, 0.2], [0.5, 0.7, 1.0]]] * 2, device=where, requires_grad=True)
        b = lib.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], device=where, requires_grad=True)
        result = (lib.cholesky_solve(b, factor, upper=upper) if name == "cholesky_solve"
                  else lib.cholesky_inverse(factor, upper=upper))
        (result * result).sum().backward()
        return [None if each.grad is None else each.grad.cpu().numpy() for each in (factor, b)]

    for ours, theirs in zip(gradients(mindtorch, device), gradients(torch, "cpu"), strict=True):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            numpy.testing.assert_allclose(ours, theirs, rtol=1e-4)


def outcome(call):
    """The dtype and the elements of a result, or the type and the words of an error."""
    try:
        found = call()
    except (RuntimeError, TypeError) as error:
        return type(error).__name__.replace("NotImplementedError", "RuntimeError"), str(error)
    return str(found.dtype), numpy.round(found.tolist(), 2).tolist()


@pytest.mark.parametrize("computed", ["int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("given", ["bool", "int64", "float16", "bfloat16", "float32", "float64", "complex64",
                                   "complex128"])
def test_dtypes_that_norms_are_computed_in(given, computed):
    """One that holds all numbers of the operand, and is of its kind."""
    def outcomes(lib):
        matrix, dtype = lib.tensor([[1, 2], [0, 1]], dtype=getattr(lib, given)), getattr(lib, computed)
        linalg = lib.linalg
        calls = (lambda: linalg.vector_norm(matrix, dtype=dtype), lambda: lib.norm(matrix, 1, dtype=dtype),
                 lambda: linalg.norm(matrix, dtype=dtype), lambda: linalg.norm(matrix, 1, -1, dtype=dtype),
                 lambda: linalg.matrix_norm(matrix, dtype=dtype), lambda: linalg.matrix_norm(matrix, 1, dtype=dtype),
                 lambda: linalg.norm(matrix, "nuc", dtype=dtype), lambda: lib.nansum(matrix, dtype=dtype),
                 lambda: lib.nanmean(matrix, dtype=dtype))
        return [outcome(call) for call in calls]
    assert outcomes(mindtorch) == outcomes(torch)


@pytest.mark.parametrize("shapes", [((3, 0), (0,), (3, 2)), ((0, 0), (0,), (0, 2)), ((2, 0, 0), (2, 0), (2, 0, 2))])
def test_a_product_of_no_reflections_requires_a_gradient(shapes, device):
    def result(lib, device):
        reflectors, tau, other = (lib.ones(shape, device=device) for shape in shapes)
        return [lib.ormqr(a.requires_grad_(), b, other).requires_grad for a, b in
                ((reflectors.clone(), tau), (reflectors, tau.clone().requires_grad_()))]
    assert result(mindtorch, device) == result(torch, "cpu") == [True, True]
