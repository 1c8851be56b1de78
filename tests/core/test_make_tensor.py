"""torch.testing.make_tensor, torch.asarray's history, torch.lobpcg and other names, beside torch."""
import numpy as np
import pytest
import torch

import mindtorch

DTYPES = ["bool", "uint8", "int8", "int64", "uint16", "float16", "bfloat16", "float32", "float64", "complex64",
          "complex128", "float8_e4m3fn"]
OPTIONS = [{}, {"low": 2, "high": 5}, {"noncontiguous": True}, {"exclude_zero": True, "low": 0, "high": 1e-30},
           {"memory_format": "channels_last"}, {"requires_grad": True}, {"low": -1e40, "high": 1e40},
           {"low": float("nan")}, {"low": 3, "high": 2}, {"low": 1e39, "high": 2e39},
           {"low": 1 << 1100, "high": 1 << 1101}, {"low": -(1 << 1101), "high": 1.0},
           {"noncontiguous": True, "memory_format": "channels_last"}]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_make_tensor(dtype, options):
    def made(library):
        chosen = {key: getattr(library, value) if key == "memory_format" else value for key, value in options.items()}
        library.manual_seed(3)
        try:
            result = library.testing.make_tensor((2, 3, 2, 2), dtype=getattr(library, dtype), device="cpu", **chosen)
        except (ValueError, TypeError, RuntimeError) as error:
            return type(error), str(error).replace("mindtorch", "torch")
        assert result.is_complex() or not options.get("exclude_zero") or bool((result.float() != 0).all())
        numbers = result.detach() if result.is_complex() else result.detach().double()
        return result.stride(), result.requires_grad, str(result.dtype), numbers.tolist()

    theirs, ours = made(torch), made(mindtorch)
    if isinstance(theirs[0], type):
        assert ours == theirs
    else:
        assert ours[:3] == theirs[:3]
        np.testing.assert_allclose(ours[3], theirs[3], rtol=1e-6)


def test_sizes_one_by_one():
    assert mindtorch.testing.make_tensor(2, 3, dtype=mindtorch.int8, device="npu").shape == (2, 3)


@pytest.mark.parametrize("options", [{}, {"copy": True}, {"requires_grad": True}, {"requires_grad": False},
                                     {"copy": True, "requires_grad": False}], ids=str)
@pytest.mark.filterwarnings("ignore:torch.asarray. unspecified requires_grad")
def test_history_of_asarray(options):
    def made(library):
        result = library.asarray(library.ones(2, requires_grad=True) + 2, **options)
        return result.requires_grad, result.is_leaf, result.tolist()
    assert made(mindtorch) == made(torch)


@pytest.mark.parametrize("options", [{}, {"k": 2}, {"k": 2, "largest": False}, {"k": 3, "B": True}, {"X": True}],
                         ids=str)
def test_lobpcg(options, device):
    generator = np.random.default_rng(5)
    matrix, other = generator.normal(size=(2, 12, 12))
    matrix, other = matrix + matrix.T, other @ other.T + np.eye(12)

    def found(library, device):
        chosen = dict(options)
        A = library.tensor(matrix, device=device, dtype=library.float32)
        if "B" in chosen:
            chosen["B"] = library.tensor(other, device=device, dtype=library.float32)
        if "X" in chosen:
            library.manual_seed(0)
            chosen["X"] = library.randn(12, 2).to(device)
        values, vectors = library.lobpcg(A, niter=200, **chosen)
        return A, chosen.get("B"), values, vectors

    A, B, values, vectors = found(mindtorch, device)
    np.testing.assert_allclose(values.cpu(), found(torch, "cpu")[2], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose((A @ vectors).cpu(), ((vectors if B is None else B @ vectors) * values).cpu(), atol=2e-3)


def test_lobpcg_of_too_many_values():
    for library in (torch, mindtorch):
        with pytest.raises(ValueError, match="is smaller than 3 x the number of requested eigenpairs"):
            library.lobpcg(library.eye(3), k=2)


def test_batch_norms_without_running_statistics():
    net = mindtorch.nn.Sequential(mindtorch.nn.Linear(2, 2), mindtorch.nn.BatchNorm1d(2))
    assert mindtorch.func.replace_all_batch_norm_modules_(net) is net
    assert net[1].running_mean is None
    assert not net[1].track_running_stats


def test_points_of_sobol_stay_on_the_host():
    with mindtorch.device("npu"):
        assert mindtorch.quasirandom.SobolEngine(2, scramble=True).draw(2).device.type == "cpu"


def test_gradients_of_convolutions_by_functional():
    assert mindtorch.nn.functional.grad is mindtorch.nn.grad


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "int64"])
def test_bounds_that_no_float_holds(dtype):
    def error(library):
        with pytest.raises(ValueError, match="low") as found:
            library.testing.make_tensor(low=2 * 10**308, high=4 * 10**308, dtype=getattr(library, dtype), device="cpu")
        return str(found.value).replace("mindtorch", "torch")
    assert error(mindtorch) == error(torch)
