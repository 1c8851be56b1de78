"""torch._int_mm: exact products of matrices of 8-bit integers."""
import pytest
import torch

import mindtorch


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize(("rows", "inner", "columns"), [(3, 4, 5), (2, 3000, 3), (0, 4, 2), (2, 0, 3), (40, 513, 17)])
def test_products(rows, inner, columns, dtype, device):
    low, high = (0, 256) if dtype == "uint8" else (-128, 128)
    a = torch.randint(low, high, (rows, inner), dtype=getattr(torch, dtype))
    b = torch.randint(-128, 128, (inner, columns), dtype=torch.int8)
    ours = [mindtorch.tensor(each.numpy(), device=device) for each in (a, b)]
    result = mindtorch._int_mm(*ours)
    assert result.dtype is mindtorch.int32
    assert result.tolist() == torch._int_mm(a, b).tolist()
    out = mindtorch.full((rows, columns), 7, dtype=mindtorch.int32, device=device)
    assert mindtorch._int_mm(*ours, out=out) is out
    assert out.tolist() == result.tolist()


def test_the_largest_numbers():
    a = mindtorch.full((1, 4096), 255, dtype=mindtorch.uint8)
    b = mindtorch.full((4096, 1), -128, dtype=mindtorch.int8)
    assert mindtorch._int_mm(a, b).item() == -255 * 128 * 4096


@pytest.mark.parametrize("call", [
    lambda t, a, b: t._int_mm(a.int(), b), lambda t, a, b: t._int_mm(a, b.int()), lambda t, a, b: t._int_mm(a[0], b),
    lambda t, a, b: t._int_mm(a, a), lambda t, a, b: t._int_mm(a, b, out=t.empty(0, dtype=t.int32)),
    lambda t, a, b: t._int_mm(a, b, out=t.empty(3, 5, dtype=t.int64)), lambda t, a, b: t._int_mm(a, 3)])
def test_refusals(call):
    def refusal(library):
        with pytest.raises((RuntimeError, TypeError)) as error:
            call(library, library.ones(3, 4, dtype=library.int8), library.ones(4, 5, dtype=library.int8))
        return error.type, str(error.value)
    assert refusal(mindtorch) == refusal(torch)


def test_shapes_on_meta():
    a, b = (mindtorch.empty(2, 3, dtype=mindtorch.int8, device="meta") for _ in range(2))
    assert mindtorch._int_mm(a, b.T).shape == (2, 2)
