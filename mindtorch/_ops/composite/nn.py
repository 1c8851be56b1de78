"""Functions of neural networks: activations, dropout, other forms of batch norm, CTC loss, fake quantization, fused
optimizers."""
from operator import index as _index

from mindtorch._core._gen.namespace import ATEN as _ATEN
from mindtorch._core._gen.namespace import FUNCTIONS as _OPS
from mindtorch._core.grad_mode import no_grad
from mindtorch._core.operators.autocast import with_autocast_policy
from mindtorch._core.tensor.dtype import bool as _bool
from mindtorch._core.tensor.dtype import float32 as _float32
from mindtorch._core.tensor.dtype import int32 as _int32
from mindtorch._core.tensor.dtype import uint8 as _uint8
from mindtorch._core.tensor.factories import empty as _empty
from mindtorch._core.tensor.factories import empty_like as _empty_like
from mindtorch._core.tensor.factories import ones_like as _ones_like
from mindtorch._core.tensor.factories import tensor_from_data as _tensor_from
from mindtorch._core.tensor.factories import zeros_like as _zeros_like
from mindtorch._core.tensor.tensor import TensorBase
from mindtorch._ops.composite.common import _require_tensors, run_for_each_sample, scalar_type

_elu, _elu_in_place, _prelu_kernel = _ATEN["elu"], _ATEN["elu_"], _ATEN["_prelu_kernel"]
_fake_quantize = _ATEN["fake_quantize_per_channel_affine_cachemask"]
_leaky_relu, _leaky_relu_in_place = _ATEN["leaky_relu"], _ATEN["leaky_relu_"]
_rrelu, _rrelu_in_place = _ATEN["_rrelu"], _ATEN["_rrelu_"]
_SELU = (1.6732632423543772848170429916717, 1.0507009873554804934193349852946)     # alpha and scale


def selu(input):
    """elu scaled so that activations keep mean 0 and variance 1."""
    _require_tensors("selu", input=input)
    return _elu(input, *_SELU)


def selu_(input):
    """selu in place."""
    _require_tensors("selu_", input=input)
    return _elu_in_place(input, *_SELU)


@with_autocast_policy("prelu")
def prelu(input, weight):
    """`input` where it is positive, `weight` times it elsewhere: one weight for all, or one a channel (dimension 1)."""
    _require_tensors("prelu", input=input, weight=weight)
    if weight.numel() != 1:
        if input.dim() == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = input.size(1) if input.dim() > 1 else 1
        if channels != weight.numel():
            raise RuntimeError(f"Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                               f"{weight.numel()} and channel size = {channels}.")
    if weight.dim() > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.dim()}")
    if input.dtype is not weight.dtype:
        raise RuntimeError("prelu: Type promoting not supported. Got "
                           f"{scalar_type(input.dtype)} and {scalar_type(weight.dtype)}")
    if weight.dim() and input.dim() not in (1, 2):
        weight = weight.reshape((-1,) + (1,) * (input.dim() - 2) if input.dim() else ())
    return _prelu_kernel(input, weight)


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, generator=None):
    """leaky_relu whose slopes are drawn between `lower` and `upper` in training, their mean otherwise."""
    if not training:
        return _leaky_relu(input, _mean_slope(lower, upper))
    return _rrelu(input, _empty_like(input), lower, upper, generator)


def rrelu_(input, lower=1.0 / 8, upper=1.0 / 3, training=False, generator=None):
    """rrelu in place."""
    if not training:
        return _leaky_relu_in_place(input, _mean_slope(lower, upper))
    return _rrelu_in_place(input, _empty_like(input), lower, upper, generator)


def _mean_slope(lower, upper):
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    return (lower + upper) / 2


# --- other forms of batch norm, native dropout -----------------------------------------------------------------------

_batch_norm = _OPS["native_batch_norm"]


def at_least_float32(input):
    """`input` in the dtype that statistics are computed in: 16-bit numbers in float32."""
    return input.float() if input.dtype.itemsize == 2 else input


def _native_batch_norm_legit(input, weight, bias, *rest):
    """native_batch_norm(..., running_mean, running_var, training, momentum, eps), or without the running statistics."""
    running = rest[:2] if len(rest) == 5 else (None, None)
    return _batch_norm(input, weight, bias, *running, *rest[-3:])


def _batch_norm_with_update(input, weight, bias, running_mean, running_var, momentum, eps):
    """native_batch_norm in training, and an empty buffer where other devices keep something for the backward pass."""
    results = _batch_norm(input, weight, bias, running_mean, running_var, True, momentum, eps)
    return *results, _empty((0,), dtype=_uint8, device=input.device)


def native_dropout(input, p, train):
    """`input` with elements zeroed by probability `p` and the others scaled, and the mask of what was kept."""
    if train is False or (train is not False and p == 0):
        return input.clone(), _ones_like(input, dtype=_bool)
    if p == 1:
        return _zeros_like(input), _zeros_like(input, dtype=_bool)
    mask = _empty_like(input, dtype=_bool).bernoulli_(1 - p)
    return input * mask * (1 / (1 - p)), mask


def native_dropout_backward(grad_output, mask, scale):
    """grad_output where the mask has kept the input, times `scale`."""
    return grad_output * (mask.to(grad_output.dtype) * scale)


# --- CTC loss --------------------------------------------------------------------------------------------------------

_forward, _cat = _ATEN["_ctc_loss"], _OPS["cat"]
_MANY = 64            # samples of one call: an argument holds so many lengths
_WHERE = "(while checking arguments for ctc_loss_allocate_outputs)"


@run_for_each_sample
@with_autocast_policy("ctc_loss")
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
    """The lengths as a list of numbers. Waits for the device of a tensor."""
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


# --- fused optimizers that ACLNN lacks -------------------------------------------------------------------------------

def _expect(condition, text):
    if not condition:
        raise RuntimeError(f"Expected {text} to be true, but got false.  (Could this error message be improved?  If "
                           "so, please report an enhancement request to PyTorch.)")


def _check_lists(self, lists):
    if not self:
        raise NotImplementedError(
            "There were no tensor arguments to this function (e.g., you passed an empty list of Tensors), but no "
            "fallback function is registered for schema aten::_fused_adagrad_.")
    for name, tensors in lists.items():
        _expect(len(tensors) == len(self), f"{name}.size() == n_tensors")
    for tensor in self:
        if not tensor.is_floating_point() or tensor.dtype.itemsize == 1:
            raise NotImplementedError("\"fused_adagrad_kernel\" not implemented for "
                                      f"'{tensor.type().rpartition('.')[2].removesuffix('Tensor')}'")


@no_grad()
def _fused_adagrad_(self, grads, state_sums, state_steps, *, lr, lr_decay, weight_decay, eps, maximize,
                    grad_scale=None, found_inf=None):
    """One step of Adagrad for all parameters of a list; `lr` may be a tensor. The steps are counted by the caller."""
    _check_lists(self, {"grads": grads, "state_sums": state_sums, "state_steps": state_steps})
    if found_inf is not None and found_inf.item():
        return
    if grad_scale is not None:
        for grad in grads:
            grad.div_(grad_scale)
    change = _OPS["_foreach_neg"](grads) if maximize else grads
    if weight_decay:
        change = _OPS["_foreach_add"](change, self, alpha=weight_decay)
    _OPS["_foreach_addcmul_"](state_sums, change, change)
    spread = _OPS["_foreach_add_"](list(_OPS["_foreach_sqrt"](state_sums)), eps)
    if lr_decay:
        # The steps are on the device, so the decayed rate is computed there.
        rates = list(_OPS["_foreach_sub"](state_steps, 1))
        _OPS["_foreach_add_"](_OPS["_foreach_mul_"](rates, lr_decay), 1)
        change = _OPS["_foreach_div"](change, rates)
    _OPS["_foreach_addcdiv_"](self, change, spread, -float(lr))


def fake_quantize_per_channel_affine(input, scale, zero_point, axis, quant_min, quant_max):
    """Round to the multiples of `scale` that integers from `quant_min` to `quant_max` can represent, with a scale and a
    zero point for each channel along `axis`. The gradient passes unchanged where `input` is in that range."""
    result = _fake_quantize(input, scale, zero_point, axis, quant_min, quant_max)[0]
    if zero_point.dtype is _int32 and not zero_point.is_meta and zero_point.numel():
        _require_in_range(int(zero_point.min()), int(zero_point.max()), quant_min, quant_max)
    return result


@with_autocast_policy("fake_quantize_per_tensor_affine")
def fake_quantize_per_tensor_affine(input, scale, zero_point, quant_min, quant_max):
    """fake_quantize_per_channel_affine with one scale and one zero point, numbers or tensors of one element."""
    _require_tensors("fake_quantize_per_tensor_affine", input=input)
    if isinstance(scale, TensorBase):
        scale, zero_point = scale.reshape(1).to(_float32), zero_point.reshape(1).to(_int32)
    else:
        _require_in_range(_index(zero_point), zero_point, quant_min, quant_max)
        scale = _tensor_from([scale], _float32, input.device, False, "fake_quantize_per_tensor_affine")
        zero_point = _tensor_from([zero_point], _int32, input.device, False, "fake_quantize_per_tensor_affine")
    return _fake_quantize(input.unsqueeze(0), scale, zero_point, 0, quant_min, quant_max)[0].squeeze(0)


def _require_in_range(least, most, quant_min, quant_max):
    if quant_min <= quant_max and not quant_min <= least <= most <= quant_max:
        raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")


FUNCTIONS = {"selu": selu, "selu_": selu_, "prelu": prelu, "rrelu": rrelu, "rrelu_": rrelu_,
             "_native_batch_norm_legit": _native_batch_norm_legit, "_batch_norm_with_update": _batch_norm_with_update,
             "native_dropout": native_dropout, "native_dropout_backward": native_dropout_backward,
             "ctc_loss": ctc_loss, "_fused_adagrad_": _fused_adagrad_,
             "fake_quantize_per_channel_affine": fake_quantize_per_channel_affine,
             "fake_quantize_per_tensor_affine": fake_quantize_per_tensor_affine}
METHODS = {"prelu": prelu}
