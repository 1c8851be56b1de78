"""The connectionist temporal classification loss, with torch's arguments and errors."""
from mindtorch._core._gen.namespace import ATEN as _ATEN
from mindtorch._core._gen.namespace import FUNCTIONS as _OPS
from mindtorch._core.autocast import casting
from mindtorch._core.nested import tensor_from as _tensor_from
from mindtorch._core.tensor import TensorBase
from mindtorch._ops.composite import _require_tensors

_forward, _cat = _ATEN["_ctc_loss"], _OPS["cat"]
_MANY = 64            # samples of a call: as many lengths as an argument holds
_WHERE = "(while checking arguments for ctc_loss_allocate_outputs)"


@casting("ctc_loss")
def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction=0, zero_infinity=False):
    """-log of the probability that (T, N, C) or (T, C) give `targets`, over all ways to put blanks between labels.

    `targets` are (N, S), or one after the other; `reduction` is 0 for none, 1 for the mean over labels, 2 for the sum.
    torch documents 1 as its default; what its function does without the argument is 0.
    """
    _require_tensors("ctc_loss", log_probs=log_probs, targets=targets)
    input_lengths, target_lengths = (_lengths(name, lengths) for name, lengths in
                                     (("input_lengths", input_lengths), ("target_lengths", target_lengths)))
    batched = log_probs.dim() == 3
    if not batched:
        log_probs, targets = log_probs.unsqueeze(1), targets.unsqueeze(0)
    _check(log_probs, targets, input_lengths, target_lengths, blank)
    targets = targets if str(targets.dtype) in ("torch.int64", "torch.int32") else targets.long()
    losses = _losses(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity)
    if reduction == 1:
        lengths = [max(length, 1) for length in target_lengths]
        return (losses / _tensor_from(lengths, losses.dtype, losses.device, False, "tensor")).mean()
    if reduction == 2:
        return losses.sum()
    return losses if batched else losses.squeeze(0)


def _losses(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity):
    parts, labels = [], 0
    for first in range(0, len(input_lengths), _MANY):
        lengths = target_lengths[first:first + _MANY]
        if targets.dim() == 2:
            part = targets[first:first + _MANY]
        else:
            part = targets[labels:labels + sum(lengths)]
            labels += sum(lengths)
        parts.append(_forward(log_probs[:, first:first + _MANY], part, input_lengths[first:first + _MANY], lengths,
                              blank, zero_infinity)[0])
    return parts[0] if len(parts) == 1 else _cat(parts)


def _lengths(name, lengths):
    """As a list of numbers. Those on a device are waited for."""
    if not isinstance(lengths, TensorBase):
        return list(lengths)
    if lengths.is_floating_point() or lengths.is_complex():
        raise RuntimeError(f"{name} must be integral")
    return lengths.reshape(-1).tolist()


def _check(log_probs, targets, input_lengths, target_lengths, blank):
    if log_probs.numel() == 0:
        raise RuntimeError("log_probs tensor must not be empty")
    if log_probs.dim() != 3:
        raise RuntimeError(f"Expected 3-dimensional tensor, but got {log_probs.dim()}-dimensional tensor for argument "
                           f"#1 'log_probs' {_WHERE}")
    times, batch, classes = log_probs.shape
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    for name, lengths, most in (("input_lengths", input_lengths, times), ("target_lengths", target_lengths, None)):
        if len(lengths) != batch:
            raise RuntimeError(f"{name} must be of size batch_size")
        for length in lengths:
            if length < 0:
                raise RuntimeError(f"Expected {name} to have value at least 0, but got value {length} {_WHERE}")
            if most is not None and length > most:
                raise RuntimeError(f"Expected {name} to have value at most {most}, but got value {length} {_WHERE}")
    _check_targets(targets, batch, target_lengths)


def _check_targets(targets, batch, lengths):
    if targets.dim() == 1 and targets.numel() != sum(lengths):
        raise RuntimeError(f"Expected tensor to have size {sum(lengths)} at dimension 0, but got size "
                           f"{targets.numel()} for argument #2 'targets' {_WHERE}")
    if targets.dim() == 2 and targets.shape[0] != batch:
        raise RuntimeError(f"Expected tensor to have size {batch} at dimension 0, but got size {targets.shape[0]} for "
                           f"argument #2 'targets' {_WHERE}")
    if targets.dim() == 2 and targets.shape[1] < max(lengths):
        raise RuntimeError(f"Expected tensor to have size at least {max(lengths)} at dimension 1, but got size "
                           f"{targets.shape[1]} for argument #2 'targets' {_WHERE}")


FUNCTIONS = {"ctc_loss": ctc_loss}
METHODS = {}
