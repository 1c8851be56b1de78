"""An elementwise op must not read what it has just written: memory shared in part is refused, as torch refuses it."""
import pytest
import torch

import mindtorch

CASES = {
    "shifted, in place": lambda lib, x: x[1:].add_(x[:-1]),
    "shifted, out=": lambda lib, x: lib.add(x[:-1], 1, out=x[1:]),
    "transposed, in place": lambda lib, x: x[:9].view(3, 3).mul_(x[:9].view(3, 3).t()),
    "one dimension broadcast": lambda lib, x: x.view(3, 4).add_(x.view(3, 4)[1]),
}


@pytest.mark.quick
@pytest.mark.parametrize("case", CASES)
def test_partial_overlap_is_refused(device, case):
    ours, theirs = mindtorch.arange(12.0).to(device), torch.arange(12.0)
    with pytest.raises(RuntimeError, match="refer to a single memory location") as expected:
        CASES[case](torch, theirs)
    with pytest.raises(RuntimeError) as raised:
        CASES[case](mindtorch, ours)
    assert str(raised.value) == str(expected.value)
    assert ours.tolist() == list(range(12))


def test_same_view_is_fine(device):
    x = mindtorch.arange(6.0).to(device)
    assert x.add_(x).tolist() == [0, 2, 4, 6, 8, 10]
    assert mindtorch.add(x[:3], x[:3], out=x[:3]).tolist() == [0, 4, 8]
    assert x[:3].add_(x[3:]).tolist() == [6, 12, 18]
