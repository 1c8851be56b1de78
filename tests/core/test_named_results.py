"""Results with names: the types of torch.return_types, for the functions that torch gives them."""
import pytest
import torch

import mindtorch

MATRIX = [[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]]

CALLS = {
    "max": lambda lib, a: lib.max(a, 0), "min": lambda lib, a: lib.min(a, 0), "sort": lambda lib, a: lib.sort(a),
    "topk": lambda lib, a: lib.topk(a, 2), "kthvalue": lambda lib, a: lib.kthvalue(a, 2),
    "median": lambda lib, a: lib.median(a, 0), "nanmedian": lambda lib, a: lib.nanmedian(a, 0),
    "mode": lambda lib, a: lib.mode(a), "cummax": lambda lib, a: lib.cummax(a, 0),
    "cummin": lambda lib, a: lib.cummin(a, 0), "aminmax": lambda lib, a: lib.aminmax(a),
    "frexp": lambda lib, a: lib.frexp(a), "var_mean": lambda lib, a: lib.var_mean(a), "svd": lambda lib, a: lib.svd(a),
    "slogdet": lambda lib, a: lib.slogdet(a), "geqrf": lambda lib, a: lib.geqrf(a),
    "lu_unpack": lambda lib, a: lib.lu_unpack(*lib.linalg.lu_factor(a)),
    "histogram": lambda lib, a: lib.histogram(a, 3), "histogramdd": lambda lib, a: lib.histogramdd(a, [2, 2, 2]),
    "linalg.qr": lambda lib, a: lib.linalg.qr(a), "linalg.eigh": lambda lib, a: lib.linalg.eigh(a),
    "linalg.eig": lambda lib, a: lib.linalg.eig(a), "linalg.svd": lambda lib, a: lib.linalg.svd(a),
    "linalg.slogdet": lambda lib, a: lib.linalg.slogdet(a), "linalg.lu": lambda lib, a: lib.linalg.lu(a),
    "linalg.lu_factor": lambda lib, a: lib.linalg.lu_factor(a), "linalg.inv_ex": lambda lib, a: lib.linalg.inv_ex(a),
    "linalg.lu_factor_ex": lambda lib, a: lib.linalg.lu_factor_ex(a),
    "linalg.lstsq": lambda lib, a: lib.linalg.lstsq(a, a),
    "linalg.cholesky_ex": lambda lib, a: lib.linalg.cholesky_ex(a),
    "linalg.solve_ex": lambda lib, a: lib.linalg.solve_ex(a, a),
}


def described(result):
    fields = [name for name in dir(result) if isinstance(getattr(type(result), name, None), property)
              or type(getattr(type(result), name, None)).__name__ == "member_descriptor"]
    return type(result).__name__, fields or len(result)


@pytest.mark.parametrize("name", CALLS)
def test_as_torch(name):
    theirs, ours = CALLS[name](torch, torch.tensor(MATRIX)), CALLS[name](mindtorch, mindtorch.tensor(MATRIX))
    assert described(ours) == described(theirs)
    assert isinstance(ours, tuple)
    if type(ours) is not tuple:
        assert [id(getattr(ours, field)) for field in ours.__match_args__] == [id(value) for value in ours]


@pytest.mark.parametrize("name", ["sort", "linalg.qr", "linalg.svd", "linalg.lu", "linalg.lu_factor_ex", "linalg.eigh"])
def test_out(name):
    matrix = mindtorch.tensor(MATRIX)
    function = getattr(mindtorch.linalg, name.removeprefix("linalg.")) if "." in name else getattr(mindtorch, name)
    expected = function(matrix)
    places = tuple(mindtorch.empty(0, dtype=value.dtype) for value in expected)
    result = function(matrix, out=places)
    assert type(result) is type(expected)
    for place, value, other in zip(places, result, expected, strict=True):
        assert value is place
        assert value.tolist() == other.tolist()
