"""torch.sparse.FloatTensor and its like, beside torch."""
import pytest
import torch

import mindtorch

pytestmark = pytest.mark.filterwarnings("ignore:torch.sparse.SparseTensor")         # deprecated

CALLS = [
    "FloatTensor(i, v)", "FloatTensor(i, v, torch.Size((2, 3)))", "FloatTensor(indices=i, values=v, size=(2, 3))",
    "FloatTensor(i, v.double())", "LongTensor(i, v)", "FloatTensor()", "DoubleTensor(2, 3)",
    "HalfTensor(torch.Size((2, 3)))", "FloatTensor(size=(2, 3))", "FloatTensor(i, v).type(torch.sparse.DoubleTensor)",
    "FloatTensor(i, v).type('torch.sparse.DoubleTensor')"]
REFUSED = ["FloatTensor(i)", "FloatTensor(v)", "FloatTensor(i.int(), v)", "FloatTensor([[0, 1]], [1.0])",
           "FloatTensor([1, 2])", "FloatTensor(i, v, 2, 2)", "FloatTensor(i, v, device='meta')", "FloatTensor('a')"]


def call(lib, text):
    names = {"torch": lib, "i": lib.tensor([[0, 1], [1, 0]]), "v": lib.tensor([1.0, 2.0])}
    return eval(f"torch.sparse.{text}", names)


@pytest.mark.parametrize("text", CALLS)
def test_construction(text):
    ours, theirs = call(mindtorch, text), call(torch, text)
    assert [str(ours.dtype), tuple(ours.shape), ours.is_coalesced()] == [str(theirs.dtype), tuple(theirs.shape),
                                                                        theirs.is_coalesced()]
    assert ours.to_dense().tolist() == theirs.to_dense().tolist()


@pytest.mark.parametrize("text", REFUSED)
def test_refused(text):
    with pytest.raises((TypeError, RuntimeError)) as theirs:
        call(torch, text)
    with pytest.raises(theirs.type):
        call(mindtorch, text)


def test_instances_are_sparse_and_of_the_dtype():
    one = call(mindtorch, "FloatTensor(i, v)")
    assert isinstance(one, mindtorch.sparse.FloatTensor)
    assert not isinstance(one, mindtorch.sparse.DoubleTensor)
    assert not isinstance(one.to_dense(), mindtorch.sparse.FloatTensor)
    assert one.type() == "torch.sparse.FloatTensor"


def test_other_names_of_attributes():
    one = call(mindtorch, "FloatTensor(i, v, (2, 3))")
    assert (one.ndimension(), one.nelement()) == (2, 6)
