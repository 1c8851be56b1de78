"""out= of functions of sparse tensors."""
import pytest
import torch

import mindtorch

DENSE = [[0.0, 0.5, 0.0], [0.25, 0.0, -0.5]]
CALLS = {
    "asin": lambda lib, x, out: lib.asin(x, out=out), "neg": lambda lib, x, out: lib.neg(x, out=out),
    "pow": lambda lib, x, out: lib.pow(x, 2, out=out), "div": lambda lib, x, out: lib.div(x, 2, out=out),
    "add": lambda lib, x, out: lib.add(x, x, out=out), "mul": lambda lib, x, out: lib.mul(x, x, out=out),
    "cast": lambda lib, x, out: lib.neg(x.double(), out=out),
}


@pytest.mark.parametrize("name", CALLS)
def test_sparse_results(name, device):
    def run(lib, where):
        out = lib.zeros(2, 3, device=where).to_sparse()
        result = CALLS[name](lib, lib.tensor(DENSE).to(where).to_sparse(), out)
        assert result is out
        return out.coalesce().indices().tolist(), out.to_dense().tolist()
    mine, theirs = run(mindtorch, device), run(torch, "cpu")
    assert mine[0] == theirs[0]
    torch.testing.assert_close(torch.tensor(mine[1]), torch.tensor(theirs[1]))


@pytest.mark.parametrize("lib", [torch, mindtorch])
def test_dense_results_and_what_is_refused(lib):
    sparse, out = lib.tensor(DENSE).to_sparse(), lib.zeros(2, 1)
    assert lib.mm(sparse, lib.ones(3, 1), out=out) is out
    assert out.tolist() == [[0.5], [-0.25]]
    with pytest.raises(RuntimeError, match="can't be cast"):
        lib.asin(sparse, out=lib.zeros(2, 3, dtype=lib.int64).to_sparse())
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        lib.neg(sparse.requires_grad_(), out=lib.zeros(2, 3).to_sparse())
