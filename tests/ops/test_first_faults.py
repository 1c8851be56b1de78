"""Calls with several faults: the error is that of the fault which torch finds first."""
import warnings

import pytest
import torch

import mindtorch

CALLS = """
x.scatter(0, index.float(), x[:2], reduce="mean")
x.scatter(5, index, x[:2], reduce="mean")
x.scatter(5, index, 1.0, reduce="mean")
x.scatter(0, wide, x[:2], reduce="mean")
x.scatter_reduce(0, wide, x[:2], reduce="add")
x.scatter_reduce(7, index, x[:2], reduce="add")
c.scatter_reduce(0, wide, c[:2], reduce="amax")
c.scatter_reduce(6, index, c[:2], reduce="amax")
x.index_select(5, index)
x.index_select(5, x[0, :2])
x.index_select(0, x)
x[0, 0].index_select(-2, row)
torch.index_select(x, 7, row, out=x.double())
x.index_fill(5, row, 1j)
x.index_fill(0, row.float(), 1j)
x.index_fill(0, index.float(), 1)
x.byte().index_fill(5, row, 1000)
x.byte().index_fill(0, row.float(), 1000)
x.index_fill(5, row, x[0])
x.index_fill(0, row.float(), x[0])
x.index_fill(0, row.float(), c[0, 0])
x.index_fill(7, row, c[0, 0])
x.topk(-2, 5)
x[0, 0].topk(-2, -3)
x[0, 0].bool().topk(-2, -3)
c.topk(99, 1)
x.repeat_interleave(index, 5)
x.repeat_interleave(x[0], 5)
torch.bincount(row[:0].reshape(0, 2), minlength=-1)
torch.bincount(index, minlength=-1)
c.aminmax(dim=5)
c.aminmax(dim=1)
c.aminmax()
c[:0].aminmax()
c[:0].aminmax(dim=0)
leaf.index_put_((row.short(),), x[0])
leaf.index_put_((row,), x[0].double())
leaf.index_put_((row[:0],), x[0].double())
leaf.index_put_((row.bool(),), x[0].double())
x.index_put((index.byte(),), x[0, :1])
x[:2].index_put_((index.byte(),), x[0, 0])
x[:2].index_put((index.byte(),), x[0, :1])
x[0].put_(row.short(), x[0].double())
torch.embedding(x[:0], row)
torch.embedding(x[:0], row[0])
torch.take_along_dim(x.t(), index)
torch.unbind_copy(x, 3, out=x[0].clone())
torch.split_copy(x, 2, 5, out=x[0].clone())
torch.split_with_sizes_copy(x, [9], 5, out=x[0].clone())
torch.masked.softmax(c, 5, mask=c.bool())
torch.masked.log_softmax(c, 1, mask=c.bool())
torch.masked.softmin(x.bool(), 5, mask=x.bool())
torch.masked.cumsum(x.bool(), 5, mask=x.bool())
torch.masked.cumprod(x.bool(), 5)
torch.masked.amax(c, 5, mask=c.bool())
torch.masked.amin(x.bool(), 5, mask=c.bool())
torch.masked.logsumexp(x.bool(), 5, mask=c.bool())
x.index_add(1, row, x[0, :2])
x.index_add(1, row, x[0, 0])
x[0].index_add(0, row, x[0, 0])
torch.linalg.ldl_solve(x[:2, :2], row.int(), x[0, :2])
torch.linalg.ldl_solve(x[:2, :2], row.int(), x[0, 0])
torch.cov(x, fweights=index[0])
torch.cov(x[:, :0], aweights=x[0, :0])
torch.cov(x, correction=0, aweights=x[0] * 0)
"""


def result(text, lib, device):
    x = lib.arange(12.0, device=device).reshape(3, 4)
    index = lib.zeros(2, 4, dtype=lib.int64, device=device)
    names = {"torch": lib, "x": x, "c": x.to(lib.complex64), "index": index, "row": index[0, :2],
             "wide": lib.zeros(9, 9, dtype=lib.int64, device=device), "leaf": x.clone().requires_grad_()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")                 # masks of bytes
        try:
            eval(text, names)
        except (IndexError, RuntimeError, TypeError, ValueError) as error:
            return type(error).__name__, str(error)
    return None


@pytest.mark.parametrize("text", CALLS.strip().splitlines())
def test_the_first_fault_is_named(text, device):
    expected = result(text, torch, "cpu")
    assert expected is not None
    assert result(text, mindtorch, device) == expected
