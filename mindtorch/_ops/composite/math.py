"""Functions of numbers that are written with other operators, on every device; with out= and in-place forms."""
import functools
import math

from mindtorch._core._gen.namespace import FUNCTIONS as _OPS
from mindtorch._core.tensor import factories as _factories
from mindtorch._core.tensor import views as _views
from mindtorch._core.tensor.dtype import _can_cast, _promote_types, float64, get_default_dtype
from mindtorch._core.tensor.dtype import bool as bool_
from mindtorch._core.tensor.tensor import TensorBase
from mindtorch._ops.composite.common import scalar_type as _name
from mindtorch._ops.composite.common import with_names, with_out

FUNCTIONS, METHODS = {}, {}


def _require_tensor(function, value, position=1, name="input"):
    if not isinstance(value, TensorBase):
        raise TypeError(f"{function}(): argument '{name}' (position {position}) must be Tensor, "
                        f"not {type(value).__name__}")


def _in_place(self, result):
    """`self` with the elements of `result`, which it has to be able to hold."""
    if not _can_cast(result.dtype, self.dtype):
        raise RuntimeError(f"result type {_name(result.dtype)} can't be cast to the desired output type "
                           f"{_name(self.dtype)}")
    if result.shape != self.shape:
        raise RuntimeError(f"output with shape {list(self.shape)} doesn't match the broadcast shape "
                           f"{list(result.shape)}")
    return self.copy_(result)


def _published(takes_out=False, inplace=False, method=True):
    """A decorator that adds the method, the form with out= and the in-place form, where torch has them.

    takes_out="same dtype": out= must have the dtype of the result.
    inplace="function": the in-place form is a function of the namespace, too.
    """
    def publish(function):
        name = function.__name__

        @functools.wraps(function)
        def in_place(self, *args, **options):
            return _in_place(self, function(self, *args, **options))

        FUNCTIONS[name] = with_out(function, same_dtype=takes_out == "same dtype") if takes_out else function
        if method:
            METHODS[name] = function
        if inplace:
            METHODS[name + "_"] = in_place
        if inplace == "function":
            FUNCTIONS[name + "_"] = in_place
        return FUNCTIONS[name]
    return publish


def _scaled(name, input, factor):
    _require_tensor(name, input)
    if input.is_complex():
        raise RuntimeError(f"{name} is not supported for complex tensors.")
    return (input if input.is_floating_point() else input.to(get_default_dtype())) * factor


@_published(takes_out=True, inplace="function")
def deg2rad(input):
    """Degrees as radians."""
    return _scaled("deg2rad", input, math.pi / 180)


@_published(takes_out=True, inplace="function")
def rad2deg(input):
    """Radians as degrees."""
    return _scaled("rad2deg", input, 180 / math.pi)


@_published()
def positive(input):
    """The tensor itself."""
    _require_tensor("positive", input)
    return +input


@_published()
def isreal(input):
    """Where the imaginary part is 0."""
    _require_tensor("isreal", input)
    return _OPS["eq"](_views.imag(input), 0) if input.is_complex() else _factories.ones_like(input, dtype=bool_)


def _dtype_of(value):
    """The dtype that float_power computes in."""
    complex_ = value.is_complex() if isinstance(value, TensorBase) else isinstance(value, complex)
    return float64.to_complex() if complex_ else float64


@_published(takes_out="same dtype")
@with_names(self="input")
def float_power(input, exponent):
    """input ** exponent in double precision."""
    if not isinstance(input, TensorBase):
        _require_tensor("float_power", exponent, 2, "exponent")
    dtype = _promote_types(_dtype_of(input), _dtype_of(exponent))
    base, power = (v.to(dtype) if isinstance(v, TensorBase) else v for v in (input, exponent))
    return _OPS["pow"](base, power)


def float_power_(self, exponent):
    """float_power, in place: the tensor must have the double precision of the result."""
    dtype = _promote_types(_dtype_of(self), _dtype_of(exponent))
    if self.dtype is not dtype:
        raise RuntimeError(f"the base given to float_power_ has dtype {_name(self.dtype)} but the operation's result "
                           f"requires dtype {_name(dtype)}")
    return self.pow_(exponent)


@_published(takes_out=True, inplace=True)
def mvlgamma(input, p):
    """log of the multivariate gamma function of p dimensions."""
    _require_tensor("mvlgamma", input)
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    if _name(input.dtype) in ("Bool", "ComplexFloat", "ComplexDouble"):
        raise NotImplementedError(f"\"mvlgamma\" not implemented for '{_name(input.dtype)}'")
    wide = input if input.is_floating_point() else input.to(get_default_dtype())
    steps = _factories.arange((1 - p) / 2, 0.25, 0.5, dtype=wide.dtype, device=wide.device)
    return _OPS["lgamma"](wide.unsqueeze(-1) + steps).sum(-1) + p * (p - 1) / 4 * math.log(math.pi)


def polygamma_method(self, n):
    """The n-th derivative of digamma."""
    return _OPS["polygamma"](n, self)


def polygamma_in_place(self, n):
    """The n-th derivative of digamma, in place."""
    return _in_place(self, _OPS["polygamma"](n, self))


def conj_physical(input, *, out=None):
    """The conjugates of complex numbers; without out=, a tensor of other numbers is returned itself, as in torch."""
    _require_tensor("conj_physical", input)
    return _OPS["conj_physical"](input, out=out) if out is not None or input.is_complex() else input


def conj_physical_method(self):
    """The conjugates of complex numbers; a tensor of other numbers is returned itself."""
    return conj_physical(self)


def conj_physical_(input):
    """Conjugates a complex tensor in place; other numbers are their own conjugates, and nothing is written."""
    return input.copy_(_OPS["conj_physical"](input)) if input.is_complex() else input


def nan_to_num_(input, nan=None, posinf=None, neginf=None):
    """nan_to_num, in place; integers have nothing to replace."""
    _require_tensor("nan_to_num_", input)
    if not input.is_floating_point() and not input.is_complex():
        return input
    before = input.clone() if input.requires_grad else input        # of which the derivative asks where it is finite
    return input.copy_(_OPS["nan_to_num"](before, nan, posinf, neginf))


def rdiv(self, other):
    """other / self."""
    return _OPS["reciprocal"](self) * other


def idiv(self, other):
    """self /= other, under the name of Python 2."""
    return self.div_(other)


METHODS |= {"polygamma": polygamma_method, "polygamma_": polygamma_in_place, "__rdiv__": rdiv, "__idiv__": idiv,
            "nan_to_num_": nan_to_num_, "float_power_": float_power_}


def _is_all_true(input):
    """Whether all elements of a tensor of bools are True."""
    return input.all()


def _is_any_true(input):
    """Whether any element of a tensor of bools is True."""
    return input.any()


def _is_zerotensor(input):
    """False: mindtorch has no tensors of zeros without memory."""
    return False


_PRIVATE = {f.__name__: f for f in (
    _is_all_true, _is_any_true, _is_zerotensor)} | {"_conj_physical": conj_physical_method}
FUNCTIONS |= _PRIVATE | {"nan_to_num_": nan_to_num_}
METHODS |= _PRIVATE
FUNCTIONS |= {"conj_physical": conj_physical, "conj_physical_": conj_physical_}
METHODS |= {"conj_physical": conj_physical_method, "conj_physical_": conj_physical_}


@with_out
def ndtr(input):
    """The normal distribution function."""
    _require_tensor("special_ndtr", input)
    wide = input if input.is_floating_point() or input.is_complex() else input.to(get_default_dtype())
    scaled = wide * math.sqrt(0.5)
    return _OPS["where"](_OPS["abs"](scaled) < math.sqrt(0.5), (1 + _OPS["erf"](scaled)) * 0.5,
                         _OPS["where"](scaled > 0, 1 - _OPS["erfc"](scaled) * 0.5, _OPS["erfc"](-scaled) * 0.5))


@with_out
def multigammaln(input, p):
    """mvlgamma, which torch.special has once more."""
    return mvlgamma(input, p)


@with_out
def round_(input, *, decimals=0):
    """The nearest multiple of 10 ** -decimals: of torch.special, where a number of decimals is always given."""
    return _OPS["round"](input, decimals=decimals)
