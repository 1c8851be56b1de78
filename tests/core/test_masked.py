"""torch.masked: the masks that its helpers tell of, against torch."""
import pytest
import torch

import mindtorch

MASK = [[True, False, False], [False, False, False]]


@pytest.mark.parametrize("options", [{}, {"dim": 1}, {"dim": (0, 1), "keepdim": True}, {"dim": -2}])
@pytest.mark.parametrize("name", ["sum", "amax", "var", "logsumexp"])
def test_output_masks(name, options):
    def call(library):
        return library.masked._output_mask(getattr(library.masked, name), library.ones(2, 3),
                                           mask=library.tensor(MASK), **options).tolist()
    assert call(mindtorch) == call(torch)


def test_a_mask_decides_the_strides():
    def call(library):
        x = library.arange(6.0).reshape(2, 3)
        mask = library.tensor(MASK).t().contiguous().t()
        return [library.masked.logaddexp(x, x, input_mask=mask).stride(),
                library.masked.logaddexp(x.t(), x.t(), input_mask=library.tensor(MASK).t().contiguous()).stride(),
                library.masked.logaddexp(x, x, dtype=library.float64, input_mask=mask).tolist()]
    assert call(mindtorch) == call(torch)


@pytest.mark.parametrize(("dtype", "error"), [
    ("complex64", TypeError), ("bool", NotImplementedError), ("int32", NotImplementedError)])
def test_exponentials_that_have_no_identity(dtype, error):
    """Of a dtype without a least number nothing can be masked out."""
    for library in (mindtorch, torch):
        x, mask = library.ones(3).to(getattr(library, dtype)), library.tensor(MASK)[0]
        with pytest.raises(error):
            library.masked.logaddexp(x, x, other_mask=mask)
        if dtype == "bool":
            with pytest.raises(error, match="identity of logsumexp"):
                library.masked.logsumexp(x, 0, mask=mask)


def test_nothing_to_reduce_is_the_input():
    for library in (mindtorch, torch):
        x = library.tensor(2.0, requires_grad=True)
        assert library.masked.prod(x) is x


def test_anything_true_is_unbiased():
    def call(library):
        return library.masked.std(library.arange(5.0), 0, unbiased="mean").item()
    assert call(mindtorch) == pytest.approx(call(torch))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_a_fraction_as_correction_keeps_the_dtype(dtype):
    def call(library):
        x, mask = library.arange(6.0, dtype=getattr(library, dtype)).reshape(2, 3), library.tensor([True, False, True])
        found = [library.masked.var(x, 1, correction=0.5, mask=mask), library.masked.std(x, correction=0.75, mask=mask)]
        return [(str(each.dtype).removeprefix("mind"), each.tolist()) for each in found]
    assert call(mindtorch) == call(torch)


def test_input_masks_and_dimensions():
    def call(library):
        mask = library.masked._input_mask(library.ones(4, 2, 3), mask=library.tensor(MASK))
        spread = library.masked._output_mask(library.masked.softmax, library.ones(2, 3), 1, mask=library.tensor(MASK))
        return mask.tolist(), spread.tolist(), library.masked._canonical_dim((-1, 0), 3)
    assert call(mindtorch) == call(torch)
    for dim, error in (((0, 0), RuntimeError), (3, IndexError)):
        with pytest.raises(error) as theirs:
            torch.masked._canonical_dim(dim, 3)
        with pytest.raises(error) as ours:
            mindtorch.masked._canonical_dim(dim, 3)
        assert str(ours.value) == str(theirs.value)


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "float64"])
@pytest.mark.parametrize("masked", [False, True])
def test_reductions_of_integers(dtype, masked):
    """Variances are computed in float32; logsumexp rounds to the integers that it was given."""
    def call(library):
        x = library.tensor([[1, 4, 2], [3, 3, 9]], dtype=getattr(library, dtype))
        mask = library.tensor([[True, False, True], [True, True, True]]) if masked else None
        found = [getattr(library.masked, name)(x, 1, mask=mask) for name in ("var", "std", "logsumexp")]
        return [(str(each.dtype), [round(number, 5) for number in each.tolist()]) for each in found]
    assert call(mindtorch) == call(torch)


@pytest.mark.parametrize("name", ["sum", "masked.cumprod", "amax", "argmin", "logsumexp", "norm", "masked.mean",
                                  "median", "none"])
@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8", "bool", "complex64"])
def test_the_value_that_changes_no_result(name, dtype):
    if dtype == "complex64" and name in ("amax", "argmin"):
        pytest.skip("torch fails: complex numbers have no order")

    def run(lib, *order):
        try:
            found = lib.masked._reduction_identity(name, lib.ones(2, dtype=getattr(lib, dtype)), *order)
        except NotImplementedError as error:
            return str(error)
        return None if found is None else (repr(found.item()), str(found.dtype))
    assert run(mindtorch) == run(torch)
    assert name != "norm" or dtype != "float32" or run(mindtorch, -float("inf")) == run(torch, -float("inf"))


@pytest.mark.parametrize("dim", [None, 0, 1])
@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
@pytest.mark.parametrize("name", ["prod", "amax", "amin", "sum"])
@pytest.mark.filterwarnings("ignore:Sparse (CSR|invariant)")
def test_masks_of_sparse_tensors(name, layout, dim):
    """What the mask shows and the tensor does not hold is 0; where the mask shows nothing, nothing is held."""
    def call(library, mask):
        x, *shown = (library.tensor(each).to_sparse(layout=getattr(library, layout)) for each in (
            [[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]], *([mask] if mask else [])))
        try:
            return getattr(library.masked, name)(x, dim=dim, keepdim=True, mask=shown[0] if shown else None
                                                 ).to_dense().tolist()
        except ValueError as error:
            return str(error)
    for mask in (None, [[True, True, False], [False, True, False]]):
        assert call(mindtorch, mask) == call(torch, mask)


@pytest.mark.parametrize("name", ["var", "std"])
def test_spread_of_complex_numbers(name):
    def call(library):
        x, mask = library.tensor([1 + 1j, 2, 4j]), library.tensor([True, True, False])
        result = getattr(library.masked, name)(x, 0, mask=mask)
        return result.dtype.is_complex, result.item()
    (ours, given), (theirs, expected) = call(mindtorch), call(torch)
    assert ours is theirs
    assert given == pytest.approx(expected)


@pytest.mark.filterwarnings("ignore:Casting complex values to real")
@pytest.mark.parametrize("mask", [[True, False, True], [False] * 3])
@pytest.mark.parametrize("values", [[3, 1, 2], [True, False, True], [3 + 1j, 1, 2]], ids=str)
def test_median_of_what_is_no_fraction(values, mask, device):
    def median(lib, where):
        given, taken = lib.tensor(values, device=where), lib.tensor(mask, device=where)
        try:
            return str(lib.masked.median(given, 0, mask=taken).cpu())
        except ValueError as error:
            return str(error)
    assert median(mindtorch, device) == median(torch, "cpu")


@pytest.mark.filterwarnings("ignore:Casting complex values to real")
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "float64", "complex64"])
@pytest.mark.parametrize("given", ["bool", "uint8", "int64", "float32", "complex64"])
def test_dtypes_of_reductions(given, dtype):
    """Extremes are cast to `dtype`, norms and variances computed in it."""
    def outcomes(library):
        x = library.tensor([[1, 2, 0], [3, 1, 1]], dtype=getattr(library, given))
        mask, wanted = library.tensor([[True, True, False], [True] * 3]), getattr(library, dtype)
        masked, found = library.masked, []
        for call in (lambda options: masked.amax(x, 1, **options), lambda options: masked.amin(x, 1, **options),
                     lambda options: masked.norm(x, 2.0, 1, **options), lambda options: masked.var(x, 1, **options),
                     lambda options: masked.std(x, 1, **options)):
            for options in ({"dtype": wanted}, {"dtype": wanted, "mask": mask}):
                try:
                    result = call(options)
                    found.append((str(result.dtype), result.to(library.complex64).tolist()))
                except (RuntimeError, TypeError, ValueError) as error:
                    found.append((type(error).__name__.replace("NotImplementedError", "RuntimeError"), []))
        return found
    for ours, theirs in zip(outcomes(mindtorch), outcomes(torch), strict=True):
        assert ours[0] == theirs[0]
        assert ours[1] == pytest.approx(theirs[1], rel=2e-3, abs=1e-5)


@pytest.mark.parametrize("dim", [None, 1, -3, (0,), (0, 0), "x"])
@pytest.mark.parametrize("mask", [None, (), (1,), (3,)])
@pytest.mark.parametrize("name", [
    "sum", "prod", "amin", "argmax", "mean", "median", "var", "norm", "logsumexp", "softmax", "cumsum"])
def test_which_fault_is_found_first(name, mask, dim):
    """Sums, products, softmax and scans look at the dimensions first, others at the mask."""
    def outcomes(library):
        found = []
        for shape, dtype in (((), "float32"), ((), "bool"), ((2,), "float32"), ((2, 3), "float32")):
            x = library.ones(shape).to(getattr(library, dtype))
            given = None if mask is None else library.ones(mask, dtype=library.bool)
            try:
                arguments = (x, 2.0, dim) if name == "norm" else (x, dim)
                found.append(getattr(library.masked, name)(*arguments, mask=given).tolist())
            except (RuntimeError, TypeError, ValueError, IndexError) as error:
                found.append(type(error).__name__.replace("NotImplementedError", "RuntimeError"))
        return found
    assert str(outcomes(mindtorch)) == str(outcomes(torch))
