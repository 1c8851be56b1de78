"""torch.segment_reduce against torch: results, gradients, refusals."""
import math

import pytest
import torch

import mindtorch

ROWS = [[1., math.nan, 3, 3, 0, 0], [2., 4., 0., 5., 5., -1.]]
CASES = {
    "lengths": (ROWS[0], {"lengths": [2, 2, 0, 2]}),
    "offsets": (ROWS[1], {"offsets": [0, 1, 1, 4]}),
    "rows": (ROWS, {"lengths": [[2, 4, 0], [1, 1, 4]], "axis": 1}),
    "wide": ([[row] for row in ROWS], {"lengths": [1, 0, 1]}),
    "empty": ([], {"lengths": [0, 0]}),
}
REFUSED = [
    ((ROWS[0], "sum"), {}), ((ROWS[0], "median"), {"lengths": [6]}), ((ROWS[0], "sum"), {"lengths": [2, -1, 5]}),
    ((ROWS[0], "sum"), {"lengths": [2, 3]}), ((ROWS, "sum"), {"lengths": [2], "axis": 1}),
    ((ROWS[0], "sum"), {"lengths": [6], "axis": 1}), ((ROWS[0], "sum"), {"indices": [2]}),
    (([1, 2], "sum"), {"lengths": [2]}), ((ROWS[0], "sum"), {"lengths": [6.0]})]


def call(library, device, data, reduce, options, requires_grad=False):
    tensors = {name: library.tensor(value, device=device) if isinstance(value, list) else value
               for name, value in options.items()}
    data = library.tensor(data, device=device, requires_grad=requires_grad)
    return data, library.segment_reduce(data, reduce, **tensors)


@pytest.mark.parametrize("initial", [None, 2.0])
@pytest.mark.parametrize("reduce", ["sum", "mean", "prod", "max", "min"])
@pytest.mark.parametrize("case", CASES)
def test_results_and_gradients(case, reduce, initial, device):
    data, options = CASES[case]
    found = []
    for library, place in ((torch, "cpu"), (mindtorch, device)):
        leaf, result = call(library, place, data, reduce, options | {"initial": initial}, requires_grad=True)
        result.sum().backward()
        found.append((result.tolist(), leaf.grad.tolist()))
    torch.testing.assert_close(*(torch.tensor(each[0]) for each in found[::-1]), equal_nan=True)
    torch.testing.assert_close(*(torch.tensor(each[1]) for each in found[::-1]), equal_nan=True)


@pytest.mark.parametrize(("arguments", "options"), REFUSED)
def test_refusals(arguments, options):
    with pytest.raises((RuntimeError, IndexError)) as theirs:
        call(torch, "cpu", *arguments, options)
    with pytest.raises(theirs.type) as ours:
        call(mindtorch, "cpu", *arguments, options)
    assert str(theirs.value).split("  (")[0] == str(ours.value)
