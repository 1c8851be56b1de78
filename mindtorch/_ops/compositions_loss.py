"""Formulas of losses that ACLNN lacks."""
from mindtorch._ops.derivatives import ops


def multilabel_margin_slopes(grad_output, self, target, reduction, is_target):
    """Of each pair within the margin, 1 for the class that is no label and -1 for the label, over the classes."""
    rows = self.reshape(1, -1) if self.dim() < 2 else self
    labels = target.reshape(rows.shape)
    named = (labels < 0).long().cumsum(1) == 0
    labels = ops.where(named, labels, ops.zeros_like(labels))
    within = 1 - rows.gather(1, labels).unsqueeze(2) + rows.unsqueeze(1) > 0
    others = is_target.reshape(rows.shape) == 0
    hits = (within & named.unsqueeze(2) & others.unsqueeze(1)).to(rows.dtype)
    slopes = hits.sum(1).scatter_add(1, labels, -hits.sum(2))
    count = slopes.numel() if reduction == 1 else slopes.size(1)
    return (grad_output.reshape(-1, 1) * slopes / count).reshape(self.shape)
