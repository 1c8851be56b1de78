"""Losses that ACLNN lacks."""


def multilabel_margin_backward(grad_output, self, target, reduction, is_target):
    """Of each pair within the margin, 1 for the class that is no label and -1 for the label, over the classes."""
    rows, target, is_target = (x.reshape(-1, self.shape[-1] if self.ndim else 1) for x in (self, target, is_target))
    scale = 1 / (rows.numel() if reduction == 1 else rows.shape[1])
    is_label = (target.cummin(1)[0] >= 0).to(rows.dtype)            # up to the first negative one
    weight = is_label * (grad_output.unsqueeze(-1) if grad_output.ndim else grad_output) * scale
    label = target.clamp(min=0)
    own = rows.gather(1, label)
    pairs = (rows.unsqueeze(1) > own.unsqueeze(2) - 1) * weight.unsqueeze(2) * (1 - is_target).unsqueeze(1)
    return pairs.sum(1).scatter_add(1, label, -pairs.sum(2)).reshape(self.shape)
