"""torch.nn.init: values that parameters begin with. All of it works in place and is not recorded."""
from __future__ import annotations

import functools
import math
import warnings
from typing import TYPE_CHECKING

import mindtorch
from mindtorch._core.python.torch_function import published
from mindtorch.autograd.grad_mode import no_grad

if TYPE_CHECKING:
    from mindtorch import Generator, Tensor

GAINS = {"sigmoid": 1, "tanh": 5 / 3, "relu": math.sqrt(2), "selu": 3 / 4, "linear": 1,
         **{f"conv{transposed}{dims}d": 1 for transposed in ("", "_transpose") for dims in (1, 2, 3)}}


def calculate_gain(nonlinearity: str, param: int | float | None = None) -> float:
    """By what the standard deviation is multiplied in front of a nonlinearity.

    Arguments:
        nonlinearity: a function: "linear", "conv2d", "sigmoid", "tanh", "relu", "leaky_relu", "selu"
        param: the negative slope of leaky_relu; 0.01

    Example:
        >>> nn.init.calculate_gain("tanh")
        1.6666666666666667
    """
    if nonlinearity in GAINS:
        return GAINS[nonlinearity]
    if nonlinearity != "leaky_relu":
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    if param is None:
        param = 0.01
    if isinstance(param, bool) or not isinstance(param, (int, float)):
        raise ValueError(f"negative_slope {param} not a valid number")
    return math.sqrt(2 / (1 + param ** 2))


# --- one distribution, one value -------------------------------------------------------------------------------------

@no_grad()
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Uniformly distributed between a and b.

    Arguments:
        tensor: the tensor that is filled, of any shape and floating-point dtype
        a: the least value
        b: the bound above
        generator: where the random numbers come from; that of the device

    Example:
        >>> w = nn.init.uniform_(torch.empty(2, 3), 1, 2)
        >>> bool(((w >= 1) & (w < 2)).all())
        True
    """
    return tensor.uniform_(a, b, generator=generator)


@no_grad()
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Normally distributed.

    Arguments:
        tensor: the tensor that is filled, of any shape and floating-point dtype
        mean: the mean
        std: the standard deviation
        generator: where the random numbers come from; that of the device

    Example:
        >>> nn.init.normal_(torch.empty(2, 3), std=0.02).shape
        torch.Size([2, 3])
    """
    return tensor.normal_(mean, std, generator=generator)


@no_grad()
def trunc_normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0,
                  generator: Generator | None = None) -> Tensor:
    """Normally distributed, but between a and b: numbers are drawn until they are.

    Arguments:
        tensor: the tensor that is filled, of any shape and floating-point dtype
        mean: the mean before cutting
        std: the standard deviation before cutting
        a: the least value
        b: the largest value
        generator: where the random numbers come from; that of the device

    Example:
        >>> w = nn.init.trunc_normal_(torch.empty(2, 3), a=-1, b=1)
        >>> bool((w.abs() <= 1).all())
        True
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn("mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be "
                      "incorrect.", stacklevel=3)

    def below(x):
        return (1 + math.erf((x - mean) / std / math.sqrt(2))) / 2

    draw = _normal_draws if below(b) - below(a) > 0.3 else _uniform_draws
    result, refused = draw(tensor, mean, std, a, b, generator)
    while not tensor.is_meta and refused.any():
        others, again = draw(tensor, mean, std, a, b, generator)
        result = mindtorch.where(refused, others, result)
        refused = refused & again
    return tensor.copy_(result)


def _normal_draws(tensor, mean, std, a, b, generator):
    """Normally distributed numbers, and which of them lie outside."""
    low, high = (tensor.new_tensor(bound, device="cpu").item() for bound in (a, b))
    drawn = mindtorch.empty_like(tensor).normal_(mean, std, generator=generator)
    return drawn, (drawn < low) | (drawn > high)


def _uniform_draws(tensor, mean, std, a, b, generator):
    """Uniformly distributed numbers, and which of them the density refuses; serves bounds far from the mean."""
    peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
    drawn = mindtorch.empty_like(tensor).uniform_(a, b, generator=generator)
    density = drawn.sub(mean).div_(std).pow_(2).mul_(-0.5).sub_(peak)
    return drawn, mindtorch.empty_like(tensor).uniform_(generator=generator).log_().gt(density)


@no_grad()
def constant_(tensor: Tensor, val: float) -> Tensor:
    """One value everywhere.

    Arguments:
        tensor: the tensor that is filled, of any shape and floating-point dtype
        val: the value

    Example:
        >>> nn.init.constant_(torch.empty(2), 0.3)
        tensor([0.3000, 0.3000])
    """
    return tensor.fill_(val)


@no_grad()
def ones_(tensor: Tensor) -> Tensor:
    """Ones.

    Arguments:
        tensor: the tensor that is filled, of any shape and floating-point dtype

    Example:
        >>> nn.init.ones_(torch.empty(2))
        tensor([1., 1.])
    """
    return tensor.fill_(1.0)


@no_grad()
def zeros_(tensor: Tensor) -> Tensor:
    """Zeros.

    Arguments:
        tensor: the tensor that is filled, of any shape and floating-point dtype

    Example:
        >>> nn.init.zeros_(torch.empty(2))
        tensor([0., 0.])
    """
    return tensor.zero_()


@no_grad()
def eye_(tensor: Tensor) -> Tensor:
    """The identity matrix.

    Arguments:
        tensor: a matrix

    Example:
        >>> nn.init.eye_(torch.empty(2, 2))
        tensor([[1., 0.],
                [0., 1.]])
    """
    _require_matrix(tensor)
    return tensor.copy_(mindtorch.eye(*tensor.shape, dtype=tensor.dtype, device=tensor.device))


@no_grad()
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """The weight of a convolution that gives its input channels unchanged, as many as there are of both.

    Arguments:
        tensor: the weight, of 3 to 5 dimensions
        groups: the groups of the convolution

    Example:
        >>> nn.init.dirac_(torch.empty(1, 1, 3))
        tensor([[[0., 1., 0.]]])
    """
    if tensor.dim() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    outputs, inputs, *kernel = tensor.shape
    if outputs % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    tensor.zero_()
    count = min(outputs // groups, inputs)
    if count:
        rows = [group * (outputs // groups) + channel for group in range(groups) for channel in range(count)]
        tensor[(rows, list(range(count)) * groups, *(size // 2 for size in kernel))] = 1
    return tensor


# --- scaled by the size of a layer -----------------------------------------------------------------------------------

def _calculate_fan_in_and_fan_out(tensor):
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    outputs, inputs, *kernel = tensor.shape
    return inputs * math.prod(kernel), outputs * math.prod(kernel)


def _calculate_correct_fan(tensor, mode):
    modes = ["fan_in", "fan_out"]
    if mode.lower() not in modes:
        raise ValueError(f"Mode {mode.lower()} not supported, please use one of {modes}")
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode.lower())]


@no_grad()
def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Uniform, with the variance that Glorot and Bengio give for the mean of inputs and outputs.

    Arguments:
        tensor: the weight, of at least two dimensions
        gain: what the standard deviation is multiplied by: calculate_gain
        generator: where the random numbers come from; that of the device

    Example:
        >>> w = nn.init.xavier_uniform_(torch.empty(3, 3))
        >>> bool((w.abs() <= 1).all())
        True
    """
    bound = math.sqrt(3) * (gain * math.sqrt(2 / sum(_calculate_fan_in_and_fan_out(tensor))))
    return tensor.uniform_(-bound, bound, generator=generator)


@no_grad()
def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Normal, with the variance that Glorot and Bengio give for the mean of inputs and outputs.

    Arguments:
        tensor: the weight, of at least two dimensions
        gain: what the standard deviation is multiplied by: calculate_gain
        generator: where the random numbers come from; that of the device

    Example:
        >>> nn.init.xavier_normal_(torch.empty(3, 5), gain=nn.init.calculate_gain("relu")).shape
        torch.Size([3, 5])
    """
    std = gain * math.sqrt(2 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return tensor.normal_(0.0, std, generator=generator)


def _kaiming_std(tensor, a, mode, nonlinearity):
    """The standard deviation of He and others; None where there is nothing to fill."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return None
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


@no_grad()
def kaiming_uniform_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
                     generator: Generator | None = None) -> Tensor:
    """Uniform, with the variance of He and others for layers before a rectifier of negative slope a.

    Arguments:
        tensor: the weight, of at least two dimensions
        a: the negative slope of the rectifier
        mode: "fan_in" keeps the variance of results, "fan_out" that of gradients
        nonlinearity: "relu" or "leaky_relu"
        generator: where the random numbers come from; that of the device

    Example:
        >>> w = nn.init.kaiming_uniform_(torch.empty(3, 6), nonlinearity="relu")
        >>> bool((w.abs() <= 1).all())
        True
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    bound = 0 if std is None else math.sqrt(3) * std
    return tensor if std is None else tensor.uniform_(-bound, bound, generator=generator)


@no_grad()
def kaiming_normal_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
                    generator: Generator | None = None) -> Tensor:
    """Normal, with the variance of He and others for layers before a rectifier of negative slope a.

    Arguments:
        tensor: the weight, of at least two dimensions
        a: the negative slope of the rectifier
        mode: "fan_in" keeps the variance of results, "fan_out" that of gradients
        nonlinearity: "relu" or "leaky_relu"
        generator: where the random numbers come from; that of the device

    Example:
        >>> nn.init.kaiming_normal_(torch.empty(3, 5), mode="fan_out", nonlinearity="relu").shape
        torch.Size([3, 5])
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else tensor.normal_(0, std, generator=generator)


# --- matrices --------------------------------------------------------------------------------------------------------

def _require_matrix(tensor):
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")


@no_grad()
def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """A (semi-)orthogonal matrix, in a tensor of more dimensions its first one by the others.

    Arguments:
        tensor: the weight, of at least two dimensions
        gain: what the matrix is multiplied by
        generator: where the random numbers come from; that of the device

    Example:
        >>> w = nn.init.orthogonal_(torch.empty(2, 2))
        >>> torch.allclose(w @ w.T, torch.eye(2), atol=1e-5)
        True
    """
    if tensor.dim() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.shape[0]
    flat = tensor.new_empty((rows, tensor.numel() // rows)).normal_(0, 1, generator=generator)
    wide = flat.shape[0] < flat.shape[1]
    q, r = mindtorch.linalg.qr(flat.t() if wide else flat)
    q = q * mindtorch.diag(r, 0).sign()          # uniform over orthogonal matrices (arXiv:math-ph/0609050)
    tensor.copy_((q.t() if wide else q).reshape(tensor.shape))
    return tensor.mul_(gain)


@no_grad()
def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """Normal, with a share of zeros in each column.

    Arguments:
        tensor: a matrix
        sparsity: the share of zeros in each column
        std: the standard deviation of the others
        generator: where the random numbers come from; that of the device

    Example:
        >>> (nn.init.sparse_(torch.empty(4, 2), 0.5) == 0).sum(0)
        tensor([2, 2])
    """
    _require_matrix(tensor)
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    tensor.normal_(0, std, generator=generator)
    for column in range(columns):
        tensor[mindtorch.randperm(rows)[:zeros].to(tensor.device), column] = 0
    return tensor


# --- names without the underscore ------------------------------------------------------------------------------------

def _deprecated(function):
    name = function.__name__
    old = name[:-1]

    @functools.wraps(function)
    def warned(*args, **kwargs):
        warnings.warn(f"`nn.init.{old}` is now deprecated in favor of `nn.init.{name}`.", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    warned.__name__ = warned.__qualname__ = old
    return warned


# Those that handlers of __torch_function__ see, as modes that skip initialisation do.
OVERRIDABLE = ("uniform_", "normal_", "constant_", "kaiming_uniform_")
for _name in OVERRIDABLE:
    globals()[_name] = published(globals()[_name], __name__, _name, "torch.nn.init", in_python=True)

# torch has these for its own use. Some programs call them.
_no_grad_uniform_, _no_grad_normal_, _no_grad_trunc_normal_ = uniform_, normal_, trunc_normal_
_no_grad_fill_, _no_grad_zero_ = constant_, zeros_

uniform, normal, constant, eye, dirac = map(_deprecated, (uniform_, normal_, constant_, eye_, dirac_))
xavier_uniform, xavier_normal = _deprecated(xavier_uniform_), _deprecated(xavier_normal_)
kaiming_uniform, kaiming_normal = _deprecated(kaiming_uniform_), _deprecated(kaiming_normal_)
orthogonal, sparse = _deprecated(orthogonal_), _deprecated(sparse_)

__all__ = [
    "calculate_gain", "constant", "constant_", "dirac", "dirac_", "eye", "eye_", "kaiming_normal", "kaiming_normal_",
    "kaiming_uniform", "kaiming_uniform_", "normal", "normal_", "ones_", "orthogonal", "orthogonal_", "sparse",
    "sparse_", "trunc_normal_", "uniform", "uniform_", "xavier_normal", "xavier_normal_", "xavier_uniform",
    "xavier_uniform_", "zeros_"]
