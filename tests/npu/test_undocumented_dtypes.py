"""Operators of dtypes that ACLNN lacks, which run by decompositions or as integers of the same size, beside torch."""
import pytest
import torch

import mindtorch

CALLS = {
    "any": lambda lib, x: [x.any(), x.any(0), x.any(1, keepdim=True), x.all(1)],
    "histc": lambda lib, x: [lib.histc(x, 4), lib.histc(x, 3, 0, 2), lib.histc(x * 0, 2), lib.histc(x, 2, -9, -8)],
    "nonzero": lambda lib, x: [x.nonzero(), *x.nonzero(as_tuple=True), lib.argwhere(x)],
    "index_select": lambda lib, x: [x.index_select(1, lib.tensor([2, 0], device=x.device))],
    "embedding": lambda lib, x: [lib.nn.functional.embedding(lib.tensor([1, 0, 1], device=x.device), x)],
    "index": lambda lib, x: [x[:, lib.tensor([2, 0], device=x.device)], x[lib.tensor([True, False], device=x.device)]],
}
CASES = [("any", "uint8"), ("histc", "float64"), ("nonzero", "complex64"), ("nonzero", "complex128"),
         *((name, dtype) for name in ("index_select", "embedding", "index")
           for dtype in ("float8_e5m2", "float8_e4m3fn", "complex64", "uint16"))]


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_as_torch(name, dtype):
    def results(lib, device):
        x = lib.tensor([[0.0, 1, 2], [3, 0, 0.5]]).to(getattr(lib, dtype)).to(device)
        found = CALLS[name](lib, x)
        return [(str(y.dtype), (y.float() if "float8" in dtype else y).tolist()) for y in found]

    assert results(mindtorch, "npu") == results(torch, "cpu")


def test_a_range_of_infinity_has_no_histogram():
    with pytest.raises(RuntimeError, match=r"range of \[0, inf\] is not finite"):
        mindtorch.histc(mindtorch.tensor([0, float("inf")], dtype=mindtorch.float64, device="npu"))


def test_dropout_of_float64_keeps_elements_over_the_share_that_stays():
    x = mindtorch.randn(1000, dtype=mindtorch.float64, device="npu", requires_grad=True)
    dropped = mindtorch.nn.functional.dropout(x, 0.25)
    stays = dropped != 0
    assert 600 < stays.sum().item() < 900
    mindtorch.testing.assert_close(dropped, mindtorch.where(stays, x / 0.75, 0))
    dropped.sum().backward()
    mindtorch.testing.assert_close(x.grad, stays / mindtorch.tensor(0.75, dtype=mindtorch.float64))
    assert mindtorch.nn.functional.dropout(x, 1.0).count_nonzero().item() == 0


@pytest.mark.parametrize("draw", [lambda x: x.exponential_(2.0), lambda x: mindtorch.nn.functional.rrelu(-x, 0.2, 0.8,
                                                                                                         training=True)])
def test_random_numbers_of_float64(draw):
    x = draw(mindtorch.ones(10_000, dtype=mindtorch.float64, device="npu"))
    assert x.dtype == mindtorch.float64
    assert x.abs().mean().item() == pytest.approx(0.5, abs=0.03)
