"""Random functions written with other operators: Tensor.random_, torch.normal, bernoulli(input, p)."""
from math import exp

from mindtorch._core._gen.namespace import ATEN
from mindtorch._core._gen.namespace import FUNCTIONS as _FUNCTIONS
from mindtorch._core._gen.namespace import METHODS as _OPS
from mindtorch._core.rules.infer import resize_output
from mindtorch._core.tensor.dtype import bfloat16, float16, float32, float64, int8, int16, int32, int64, uint8
from mindtorch._core.tensor.dtype import bool as bool_
from mindtorch._core.tensor.factories import empty, empty_like, zeros
from mindtorch._core.tensor.tensor import TensorBase
from mindtorch._ops.composite.common import _require_tensors

_bernoulli, _random = ATEN["bernoulli"], ATEN["random_"]
where = _FUNCTIONS["where"]
_add_, _mul_, _normal_ = _OPS["add_"], _OPS["mul_"], _OPS["normal_"]

# The end of random_(from, None): 1 + the largest value of an integer dtype, or the largest integer up to which a
# floating dtype holds all. For int64, that is no int64.
_ENDS = {bool_: 2, uint8: 1 << 8, int8: 1 << 7, int16: 1 << 15, int32: 1 << 31, int64: None,
         float16: (1 << 11) + 1, bfloat16: (1 << 8) + 1, float32: (1 << 24) + 1, float64: (1 << 53) + 1}


def random_(self, *bounds, generator=None, **named):
    """Fill with integers evenly from [from, to): random_(), random_(to) or random_(from, to), to=None being the end."""
    low, high = {0: (0, None), 1: (0, *bounds), 2: bounds}.get(len(bounds), (None, None))
    if len(bounds) > 2 or not named.keys() <= {"from", "to"}:
        raise TypeError("random_() received an invalid combination of arguments")
    low, high = named.get("from", low), named.get("to", high)
    if not bounds and not named:
        return _random(self, generator=generator)
    if high is None and low != -2 ** 63:
        high = _ENDS.get(self.dtype)
    return _random(self, low, high, generator=generator)


def _check_deviation(std):
    if isinstance(std, TensorBase):
        if std.is_complex():
            raise RuntimeError("normal expects standard deviation to be non-complex")
        # On an NPU asking for the values would wait for the device.
        if std.device.type == "cpu" and std.numel() and bool((std < 0).any()):
            raise RuntimeError("normal expects all elements of std >= 0.0")
    elif not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")


def normal(mean, std=1.0, size=None, *, generator=None, out=None, **options):
    """Normal numbers: of tensors of means and deviations (one of the two may be a number), or of `size`."""
    tensors = [value.detach() for value in (mean, std) if isinstance(value, TensorBase)]
    if not tensors:
        if size is None:
            raise TypeError(f"normal() received an invalid combination of arguments - got ({type(mean).__name__}, "
                            f"{type(std).__name__}), but expected one of:\n * (float mean, float std, tuple of ints "
                            "size, *, torch.Generator generator = None, Tensor out = None)\n")
        requires_grad = options.pop("requires_grad", False)
        made = empty(size, **options) if out is None else zeros(size, out=out, **options)
        _normal_(made, mean, std, generator=generator)
        return made.requires_grad_() if requires_grad else made
    _check_deviation(std)
    mean, std = (value.detach() if isinstance(value, TensorBase) else value for value in (mean, std))
    model = tensors[0] if len(tensors) == 1 else tensors[0] + tensors[1]
    if out is None:
        made = empty_like(model)
    else:
        made = resize_output(out, model)
    if not isinstance(std, TensorBase):
        return _add_(_normal_(made, 0.0, std, generator=generator), mean)
    return _add_(_mul_(_normal_(made, generator=generator), std), mean)


def bernoulli_method(self, p=None, *, generator=None):
    """1 with probability p, or with the probability in the tensor; else 0."""
    return bernoulli(self, p, generator=generator)


def bernoulli(input, p=None, *, generator=None, out=None):
    """1 with the probability in `input`, or with probability p for each of its elements; else 0."""
    if p is None and out is not None and out.dtype is not input.dtype:      # any dtype holds 0 and 1
        return resize_output(out, input, False).bernoulli_(input, generator=generator)
    if p is None:
        return _bernoulli(input, generator=generator, out=out)
    return empty_like(input).bernoulli_(p, generator=generator)


# --- derivatives of samples ------------------------------------------------------------------------------------------
# At a fixed quantile, dx/da = -(dF/da) / f. F is the integral of f from the lower end to x, and 1 minus that from x to
# the upper end. The one that leads away from the mode is computed: on the logarithmic (gamma) or logistic (beta) scale
# its integrand decreases with the distance s from x. The points are those of the double exponential formula (Takahasi
# and Mori 1974).

_STEP = 0.2
_NODES = [exp(u - exp(-u)) for u in (_STEP * k for k in range(-18, 31))]
_WEIGHTS = [_STEP * s * (1 + exp(-u)) for s, u in zip(_NODES, (_STEP * k for k in range(-18, 31)), strict=True)]


def _integral(width, integrand):
    """The integral over s from 0 to infinity of a function that decays within about `width`."""
    result = 0
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        result = result + weight * integrand(node * width)
    return result * width


def _standard_gamma_grad(self, output):
    """The derivative of the gamma sample `output` by its shape `self`, at a fixed quantile."""
    _require_tensors("_standard_gamma_grad", self=self, output=output)
    distance = self - output
    sign = where(distance > 0, 1.0, -1.0).to(self.dtype)
    excess = sign * (self.digamma() - output.log())

    def integrand(s):
        signed = sign * s
        return (excess + s) * (-distance * signed - output * ((-signed).expm1() + signed)).exp()
    return output * _integral(1 / (output.sqrt() + distance.abs()), integrand)


def _dirichlet_grad(x, alpha, total):
    """The derivative by alpha of a sample x of Beta(alpha, total - alpha), divided by 1 - x.

    The quantile and total - alpha are fixed. In a Dirichlet sample, the other numbers shrink in this proportion.
    """
    _require_tensors("_dirichlet_grad", x=x, alpha=alpha, total=total)
    distance = alpha - total * x
    below, sign = distance > 0, where(distance > 0, 1.0, -1.0).to(x.dtype)
    excess = alpha.digamma() - total.digamma() - x.log()
    near = where(below, x, 1 - x)
    of_near, of_far = where(below, alpha, total - alpha), where(below, total - alpha, alpha)

    def integrand(s):
        grown = -(near * (-s).expm1()).log1p()              # the logarithm by which the other end comes nearer
        return sign * (excess - where(below, grown - s, grown)) * (of_near * (grown - s) + of_far * grown).exp()
    return x * _integral(1 / ((total * x * (1 - x)).sqrt() + distance.abs()), integrand)


FUNCTIONS = {"normal": normal, "bernoulli": bernoulli, "_standard_gamma_grad": _standard_gamma_grad,
             "_dirichlet_grad": _dirichlet_grad}
METHODS = {"random_": random_, "bernoulli": bernoulli_method}
