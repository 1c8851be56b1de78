"""What the operators of indexing and rearranging launch on the NPU: one each, and those whose result is as large as the
values say wait once."""
import pytest

import mindtorch as torch
from mindtorch import sim

LAUNCHED = {
    "Tril": lambda a, i: a.tril(), "InplaceTriu": lambda a, i: a.clone().triu_(1), "Flip": lambda a, i: a.flip(0, 1),
    "Roll": lambda a, i: a.roll(1, 0), "Repeat": lambda a, i: a.repeat(2, 1),
    "RepeatInterleaveIntWithDim": lambda a, i: a.repeat_interleave(2, 1),
    "RepeatInterleaveWithDim": lambda a, i: a.repeat_interleave(i, 1, output_size=4),
    "IndexFill": lambda a, i: a.index_fill(0, i[1:], 2), "IndexCopy": lambda a, i: a.index_copy(0, i[1:], a[:2]),
    "Take": lambda a, i: a.take(i), "InplacePut": lambda a, i: a.clone().put_(i, a[0]), "Trace": lambda a, i: a.trace(),
    "ChannelShuffle": lambda a, i: torch.channel_shuffle(a[None], 3),
    "InplaceMaskedScatter": lambda a, i: a.clone().masked_scatter_(a > 2, a),
    "EmbeddingRenorm": lambda a, i: torch.embedding_renorm_(a.clone(), i, 1.0, 2.0),
}
BESIDES = ("aclnnInplaceCopy", "aclnnGtScalar")         # clones, masks and results of their own size
REPORTING = {
    "Unique2": lambda a, i: torch.unique(a % 2), "UniqueDim": lambda a, i: torch.unique(a % 2, dim=0),
    "UniqueConsecutive": lambda a, i: torch.unique_consecutive(i), "MaskedSelect": lambda a, i: a.masked_select(a > 2),
    "Nonzero": lambda a, i: i.nonzero(),
}


def operands():
    return torch.arange(9.0, device="npu").reshape(3, 3), torch.tensor([2, 0, 2], device="npu")


def operators(counts):
    return {name: n for name, n in counts.operators().items() if name not in (*BESIDES, "aclnnRemainderTensorScalar")}


@pytest.mark.parametrize("name", LAUNCHED)
def test_one_launch(name):
    given = operands()
    with sim.counting() as counts:
        LAUNCHED[name](*given)
    assert operators(counts) == {f"aclnn{name}": 1}
    assert not counts["aclrtSynchronizeStream"]


@pytest.mark.parametrize("name", REPORTING)
def test_one_launch_and_one_wait(name):
    given = operands()
    with sim.counting() as counts:
        result = REPORTING[name](*given)
    assert operators(counts) == {f"aclnn{name}": 1}
    assert counts["aclrtSynchronizeStream"] == 1
    assert result.untyped_storage().nbytes() == result.numel() * result.element_size()


def test_waiting_is_said():
    a, _ = operands()
    torch.npu.set_sync_debug_mode("error")
    try:
        with pytest.raises(RuntimeError, match="synchronizing"):
            torch.unique(a)
    finally:
        torch.npu.set_sync_debug_mode("default")


def test_gradient_of_windows_is_one_launch():
    a = operands()[0].requires_grad_()
    windows = a.unfold(1, 2, 1)
    gradient = torch.ones_like(windows)
    with sim.counting() as counts:
        found, = torch.autograd.grad(windows, a, gradient)
    assert operators(counts) == {"aclnnUnfoldGrad": 1}
    assert found.tolist() == [[1.0, 2.0, 1.0]] * 3
