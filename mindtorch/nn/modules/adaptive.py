"""Softmax over many classes of which few are frequent."""
from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from mindtorch import cat
from mindtorch.nn import functional as F
from mindtorch.nn.modules.container import ModuleList, Sequential
from mindtorch.nn.modules.linear import Linear
from mindtorch.nn.modules.module import Module

if TYPE_CHECKING:
    from mindtorch import Tensor, dtype
    from mindtorch.types import Device

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _ASMoutput(NamedTuple):
    output: object
    loss: object


class AdaptiveLogSoftmaxWithLoss(Module):
    """The head knows the classes below cutoffs[0], and one entry for each cluster of rarer ones, which the tail knows.

    Cluster i has in_features / div_value ** (i + 1) features.

    Arguments:
        n_classes: the number of classes
        cutoffs: the first class of each cluster, in ascending order
        div_value: by how much the features of each next cluster are divided
        head_bias: whether the head adds a bias

    Example:
        >>> nn.AdaptiveLogSoftmaxWithLoss(8, 10, [4])(torch.ones(2, 8), torch.tensor([1, 7])).output.shape
        torch.Size([2])
    """

    in_features: int
    n_classes: int
    cutoffs: list[int]
    div_value: float
    head_bias: bool
    head: Linear
    tail: ModuleList

    def __init__(self, in_features: int, n_classes: int, cutoffs: Sequence[int], div_value: float = 4.0,
                 head_bias: bool = False, device: Device = None, dtype: dtype | None = None) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        ends = [0, *cutoffs, n_classes]
        if any(int(cut) != cut for cut in cutoffs) or any(low >= high for low, high in pairwise(ends)):
            raise ValueError("cutoffs should be a sequence of unique, positive integers sorted in an increasing order, "
                             "where each value is between 1 and n_classes-1")
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = cutoffs[0]
        self.n_clusters = len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        factory = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **factory)
        self.tail = ModuleList()
        for i, (low, high) in enumerate(pairwise(self.cutoffs)):
            width = int(in_features // div_value ** (i + 1))
            self.tail.append(Sequential(Linear(in_features, width, bias=False, **factory),
                                        Linear(width, high - low, bias=False, **factory)))

    def reset_parameters(self) -> None:
        """Those of every Linear anew."""
        self.head.reset_parameters()
        for projection, classes in self.tail:
            projection.reset_parameters()
            classes.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        """The logarithm of each target's probability, and minus their mean."""
        if target_.dim() > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        same = input_.size(0) == target_.size(0) if target_.dim() == 1 and input_.dim() == 2 else (
            target_.dim() == 0 and input_.dim() == 1)
        if not same:
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        input, target = (input_, target_) if target_.dim() else (input_.unsqueeze(0), target_.unsqueeze(0))
        low, high = target.min().item(), target.max().item()
        if low < 0 or high >= self.n_classes:
            raise RuntimeError(f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                               f"[{low}, {high}] were found. ")
        head = F.log_softmax(self.head(input), 1)
        entry = target.clamp(max=self.shortlist_size - 1)
        parts = []
        for i, (start, end) in enumerate(pairwise(self.cutoffs)):
            rows = ((target >= start) & (target < end)).nonzero().squeeze(1)
            if rows.numel():
                entry = entry.index_fill(0, rows, self.shortlist_size + i)
                within = F.log_softmax(self.tail[i](input.index_select(0, rows)), 1)
                parts.append((rows, within.gather(1, (target.index_select(0, rows) - start).unsqueeze(1)).squeeze(1)))
        output = head.gather(1, entry.unsqueeze(1)).squeeze(1)
        for rows, within in parts:
            output = output.index_add(0, rows, within)
        loss = (-output).mean()
        return _ASMoutput(output if target_.dim() else output.squeeze(0), loss)

    def log_prob(self, input: Tensor) -> Tensor:
        """The logarithms of the probabilities of all classes."""
        head = F.log_softmax(self.head(input), 1)
        clusters = [F.log_softmax(tail(input), 1) + head[:, self.shortlist_size + i].unsqueeze(1)
                    for i, tail in enumerate(self.tail)]
        return cat([head[:, :self.shortlist_size], *clusters], 1)

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each row."""
        return self.log_prob(input).argmax(1)
