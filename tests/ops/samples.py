"""Samples of operator arguments, by the names in the rows' `samples` column.

A sample function takes `make`, which describes a tensor (shape, range of values), and yields (args, kwargs). Tensors
are described, not made: the test realises one description in torch and in mindtorch, in any memory layout.
"""
import math
import random
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

INTEGRAL = ("uint8", "int8", "int16", "int32", "int64")
FLOATING = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
DTYPES = ("bool", *INTEGRAL, *FLOATING, *COMPLEX)
BEYOND = (-3, 130, 300, 70000)          # Python numbers that some dtypes cannot hold
LAYOUTS = ("contiguous", "strided", "offset", "transposed", "expanded")


@dataclass(frozen=True)
class Description:
    """A tensor to be: the same values whichever library makes it."""
    shape: tuple
    values: tuple
    dtype: str
    expandable: bool = True     # may be replaced by its first row, over and over
    dense: bool = False         # stays contiguous: torch reads it wrongly in any other layout

    def realise(self, lib, device, layout="contiguous"):
        """Make it in `lib` (torch or mindtorch), laid out in memory as asked; a layout that cannot be is contiguous."""
        flat = lib.tensor(list(self.values), dtype=getattr(lib, self.dtype))
        dense = flat.reshape(self.shape)
        if self.shape and dense.numel() and not self.dense and (self.expandable or layout != "expanded"):
            dense = _LAYOUTS[layout](lib, dense)
        return dense if device == "cpu" else _on_device(lib, dense, device)


def _on_device(lib, view, device):
    """The same view of a copy on the device: `to` alone would give dense memory there."""
    if not view.numel():
        return view.to(device)
    reach = view.storage_offset() + 1 + sum((n - 1) * s for n, s in zip(view.shape, view.stride(), strict=True))
    base = lib.as_strided(view, (reach,), (1,), 0).to(device)
    return lib.as_strided(base, view.shape, view.stride(), view.storage_offset())


def _strided(lib, dense):
    wide = lib.stack([dense, dense], -1).reshape((*dense.shape[:-1], dense.shape[-1] * 2))
    return wide[..., ::2]


def _offset(lib, dense):
    return lib.cat([dense[:1], dense])[1:]


def _transposed(lib, dense):
    return dense.transpose(0, -1).contiguous().transpose(0, -1)


def _expanded(lib, dense):
    """Only equal rows can be expanded: the first stands for all."""
    return dense[:1].expand(dense.shape)


_LAYOUTS = {"contiguous": lambda lib, dense: dense, "strided": _strided, "offset": _offset,
            "transposed": _transposed, "expanded": _expanded}


class Make:
    """Describes tensors of one dtype; every description differs, and every run sees the same."""

    def __init__(self, dtype, seed):
        self.dtype = dtype
        self.random = random.Random(seed)

    def __call__(self, *shape, low=-4, high=4, nonzero=False, special=False, dtype=None):
        dtype = dtype or self.dtype
        values = [self._value(dtype, low, high, nonzero) for _ in range(math.prod(shape))]
        if special and dtype in FLOATING and len(values) >= 4:
            values[:4] = [math.nan, math.inf, -math.inf, -0.0]
        return Description(shape, tuple(values), dtype)

    def _value(self, dtype, low, high, nonzero):
        if dtype == "bool":
            return nonzero or self.random.random() < 0.5
        if dtype in INTEGRAL:
            low = max(math.ceil(low), 1 if nonzero else 0) if dtype == "uint8" else math.ceil(low)
            value = self.random.randint(low, max(low, math.floor(high)))
            return value or (1 if nonzero else 0)
        value = self.random.uniform(low, high)
        if nonzero and abs(value) < 0.1:
            value = 0.5
        return complex(value, self.random.uniform(-2, 2)) if dtype in COMPLEX else value

    @property
    def numbers(self):
        """Python numbers of the dtype's own category and of those beside it."""
        if self.dtype in COMPLEX:
            return (2, 1.5, 1 - 2j)
        return (2, 1.5, True)


SAMPLES = {}


def sample(function):
    SAMPLES[function.__name__] = function
    return function


def _shapes():
    return ((), (5,), (2, 3), (3, 1, 4), (0,), (2, 0, 3))


def _pairs():
    """Shapes that broadcast."""
    return (((2, 3), (2, 3)), ((2, 3), (3,)), ((4, 1), (1, 5)), ((), (3,)), ((2, 2), ()), ((), ()), ((0, 3), (3,)))


# --- elementwise ---------------------------------------------------------------------------------------------------

@sample
def unary(make):
    yield from (((make(*shape),), {}) for shape in _shapes())
    yield (make(8, special=True),), {}


@sample
def unary_positive(make):
    yield from (((make(*shape, low=0.1, high=9),), {}) for shape in _shapes())
    yield (make(8, special=True),), {}


@sample
def binary(make):
    yield from (((make(*a), make(*b, nonzero=True)), {}) for a, b in _pairs())
    yield (make(8, special=True), make(8)), {}


@sample
def binary_nonzero(make):
    yield from (((make(*a), make(*b, nonzero=True)), {}) for a, b in _pairs())


@sample
def binary_alpha(make):
    yield from (((make(*a), make(*b)), {}) for a, b in _pairs())
    yield (make(2, 3), make(3)), {"alpha": 2}
    yield (make(2, 3), make(3)), {"alpha": 0.5}
    yield (make(2, 3), make(3)), {"alpha": True}
    yield from (((make(2), make(2)), {"alpha": n}) for n in BEYOND)


@sample
def isclose(make):
    for options in ({}, {"rtol": 0.5}, {"atol": 2.0, "rtol": 0}, {"rtol": 0, "atol": 0}, {"atol": -1}):
        yield from (((make(*a), make(*b)), options) for a, b in _pairs())
    yield (make(8, special=True), make(8, special=True)), {}
    yield (make(8, special=True), make(8, special=True)), {"equal_nan": True, "atol": 3}
    yield (make(3), make(3, dtype="float32")), {}


@sample
def binary_mixed(make):
    """Operands of two dtypes."""
    for dtype in DTYPES:
        yield (make(2, 3), make(3, nonzero=True, dtype=dtype)), {}
        yield (make(2, 3), make(nonzero=True, dtype=dtype)), {}
        yield (make(nonzero=True), make(2, dtype=dtype, nonzero=True)), {}


@sample
def binary_rounded(make):
    for mode in (None, "trunc", "floor"):
        yield from (((make(*a), make(*b, nonzero=True)), {"rounding_mode": mode}) for a, b in _pairs())
    yield (make(2), make(2)), {"rounding_mode": "nearest"}


@sample
def binary_power(make):
    yield from (((make(*a, low=0.5), make(*b, low=0, high=3)), {}) for a, b in _pairs())
    yield (make(6), make(6, low=-2, high=2)), {}


@sample
def ldexp(make):
    yield from (((make(*a), make(*b, low=-2, high=3)), {}) for a, b in _pairs())


@sample
def number(make):
    yield from (((make(2, 3), n), {}) for n in make.numbers)
    yield (make(), 3), {}
    yield (make(0, 2), 3), {}
    yield from (((make(5), n), {}) for n in BEYOND)


@sample
def number_nonzero(make):
    yield from (((make(2, 3), n), {}) for n in (*make.numbers, *BEYOND) if n is not True)


@sample
def number_first(make):
    yield from (((n, make(2, 3)), {}) for n in (*make.numbers, *BEYOND))
    yield (3, make()), {}


@sample
def number_first_nonzero(make):
    yield from (((n, make(2, 3, nonzero=True)), {}) for n in make.numbers if n is not True)


@sample
def number_alpha(make):
    yield from (((make(2, 3), n), {}) for n in make.numbers)
    yield (make(2, 3), 3), {"alpha": 2}
    yield from (((make(2), n), {}) for n in BEYOND)


@sample
def number_rounded(make):
    for mode in (None, "trunc", "floor"):
        yield from (((make(2, 3), n), {"rounding_mode": mode}) for n in (2, 1.5, *BEYOND))


@sample
def number_power(make):
    yield from (((make(2, 3, low=0.5), n), {}) for n in (0, 1, 2, 3, 0.5, 1.5, -1, -2, -0.5))
    yield (make(4, special=True), 2), {}


@sample
def number_first_power(make):
    yield from (((n, make(2, 3, low=0, high=4)), {}) for n in (2, 0.5, 1, -2.0))


@sample
def clamp_numbers(make):
    yield from (((make(2, 3),), kwargs) for kwargs in ({"min": -1}, {"max": 1}, {"min": -1, "max": 2},
                                                       {"min": 0.5, "max": 1.5}, {"min": 2, "max": -1}, {},
                                                       *({"min": n} for n in BEYOND)))
    yield (make(8, special=True), -1, 1), {}
    yield (make(),), {"min": 0}


@sample
def clamp_tensors(make):
    yield (make(2, 3), make(3), make(3)), {}
    yield (make(2, 3),), {"min": make(2, 3)}
    yield (make(2, 3),), {"max": make(3)}


@sample
def where(make):
    for shape in ((2, 3), (3,), ()):
        yield (make(2, 3, dtype="bool"), make(*shape), make(2, 3)), {}
    yield (make(4, dtype="bool"), make(4), 2), {}
    yield (make(4, dtype="bool"), 1.5, make(4)), {}
    yield (make(4, dtype="bool"), 1, 0.0), {}
    yield (make(4), make(4), make(4)), {}


# --- reductions ----------------------------------------------------------------------------------------------------

@sample
def reduce(make):
    yield (make(2, 3),), {}
    yield (make(2, 3, 4), 1), {}
    yield (make(2, 3, 4), -1, True), {}
    yield (make(2, 3, 4), (0, 2)), {}
    yield (make(2, 3, 4),), {"dim": (0, -1), "keepdim": True}
    yield (make(),), {}
    yield (make(), 0), {}
    yield (make(0, 3), 0), {}
    yield (make(0, 3), 1), {}
    yield (make(0, 3),), {}
    yield (make(2, 3), 2), {}
    yield (make(2, 3), (0, 0)), {}
    yield (make(2, 3),), {"axis": 0, "keepdims": True}
    yield (make(8, special=True),), {}


@sample
def reduce_dtype(make):
    yield from reduce(make)
    yield (make(2, 3),), {"dtype": "float32"}
    yield (make(2, 3), 0), {"dtype": "int64"}


@sample
def reduce_one(make):
    yield (make(2, 3),), {}
    yield (make(2, 3, 4), 1), {}
    yield (make(2, 3, 4), -1, True), {}
    yield (make(2, 3),), {"keepdim": True}
    yield (make(),), {}
    yield (make(0, 3), 1), {}
    yield (make(0, 3),), {}
    yield (make(2, 3), 5), {}
    yield (make(8, special=True),), {}


@sample
def reduce_one_by_name(make):
    yield from (((self,), dict(zip(("dim", "keepdim"), rest, strict=False)) | options)
                for (self, *rest), options in reduce_one(make))


@sample
def reduce_dim(make):
    yield (make(2, 3, 4), 1), {}
    yield (make(2, 3, 4), -1, True), {}
    yield (make(2, 3),), {"dim": 0, "keepdim": True}
    yield (make(), 0), {}
    yield (make(3, 0), 0), {}
    yield (make(3, 0), 1), {}
    yield (make(8, special=True), 0), {}


# --- matrix products -----------------------------------------------------------------------------------------------

@sample
def matmul(make):
    pairs = (((2, 3), (3, 4)), ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((5, 2, 3), (3, 4)),
             ((5, 2, 3), (5, 3, 4)), ((2, 1, 2, 3), (4, 3, 2)), ((3,), (2, 3, 4)), ((2, 2, 3), (3,)),
             ((0, 3), (3, 2)), ((2, 0), (0, 3)), ((2, 3), (4, 2)), ((), (3,)))
    yield from (((make(*a), make(*b)), {}) for a, b in pairs)


@sample
def mm(make):
    yield from (((make(*a), make(*b)), {}) for a, b in (((2, 3), (3, 4)), ((1, 1), (1, 1)), ((0, 3), (3, 2)),
                                                       ((2, 3), (2, 3)), ((3,), (3, 2))))


@sample
def bmm(make):
    yield from (((make(*a), make(*b)), {}) for a, b in (((2, 2, 3), (2, 3, 4)), ((2, 2, 3), (3, 3, 4)),
                                                       ((2, 3), (3, 4))))


@sample
def addmm(make):
    for shape in ((2, 4), (4,), (1, 4), (2, 1), ()):
        yield (make(*shape), make(2, 3), make(3, 4)), {}
    yield (make(2, 4), make(2, 3), make(3, 4)), {"beta": 2, "alpha": 3}
    yield (make(3), make(2, 3), make(3, 4)), {}


@sample
def mv(make):
    yield (make(2, 3), make(3)), {}
    yield (make(2, 3), make(2)), {}


@sample
def dot(make):
    yield (make(3), make(3)), {}
    yield (make(3), make(2)), {}


# --- neural networks and putting together --------------------------------------------------------------------------

@sample
def softmax(make):
    for shape, dim in (((2, 3), 1), ((2, 3), 0), ((2, 3, 4), -2), ((), 0), ((0, 3), 1)):
        yield (make(*shape), dim), {}
    yield (make(2, 3), 1), {"dtype": "float32"}
    yield (make(2, 3), 2), {}


@sample
def cat(make):
    yield ([make(2, 3), make(2, 3)],), {}
    yield ([make(2, 3), make(2, 1)], 1), {}
    yield ([make(2, 3), make(4, 3), make(0)], -2), {}
    yield ([make(2), make(3, dtype="float32")],), {}
    yield ([make(2, 3), make(3, 2)],), {}
    yield ([],), {}
    yield ([make()],), {}


@sample
def stack(make):
    for dim in (0, 1, -1, 3):
        yield ([make(2, 3), make(2, 3)], dim), {}
    yield ([make(), make()],), {}
    yield ([make(2), make(3)],), {}


# --- filling -------------------------------------------------------------------------------------------------------

@sample
def fill(make):
    yield from (((make(2, 3), n), {}) for n in make.numbers)
    yield (make(), 1), {}


@sample
def fill_tensor(make):
    yield (make(2, 3), make()), {}
    yield (make(2, 3), make(1)), {}


@sample
def matrix_inplace(make):
    yield from (((make(*shape),), {}) for shape in ((3, 3), (2, 4), (4, 2), (0, 3)))


@sample
def unary_inplace(make):
    yield from unary(make)


@sample
def copy(make):
    yield (make(2, 3), make(2, 3)), {}
    yield (make(2, 3), make(3)), {}
    yield (make(2, 3), make(4)), {}


# --- from sizes and numbers ----------------------------------------------------------------------------------------

@sample
def size(make):
    yield from (((shape,), {"dtype": make.dtype}) for shape in _shapes())
    yield (2, 3), {"dtype": make.dtype}
    yield ((2, -1),), {}


@sample
def full(make):
    yield from ((((2, 3), n), {"dtype": make.dtype}) for n in (2, 1.5, True))
    yield from ((((2, 3), n), {}) for n in (2, 1.5, True, 1j))


@sample
def full_like(make):
    yield (make(2, 3), 2), {}
    yield (make(2, 3), 2), {"dtype": "float32"}


@sample
def arange(make):
    for numbers in ((0, 5), (1, 8, 2), (5, 0, -2), (0, 1, 0.25), (0.5, 3), (3, 3), (0, 1, 0), (0, 5, -1)):
        yield numbers, {"dtype": make.dtype}
        yield numbers, {}


@sample
def linspace(make):
    for numbers in ((0, 5, 6), (1, -8, 4), (0.5, 3.25, 11), (2, 2, 3), (3, 7, 1), (3, 7, 0), (0, 1, 200), (0, 1, -1)):
        yield numbers, {"dtype": make.dtype}
        yield numbers, {}
    yield (0, 1 + 2j, 5), {"dtype": make.dtype}


@sample
def arange_end(make):
    yield (5,), {}
    yield (2.5,), {}
    yield (), {"end": 3}


# --- views ---------------------------------------------------------------------------------------------------------

@sample
def view(make):
    yield (make(2, 6), 3, 4), {}
    yield (make(2, 6), (-1, 4)), {}
    yield (make(2, 6), 5, 2), {}


@sample
def reshape(make):
    yield (make(2, 6), (3, 4)), {}
    yield (make(2, 6), (-1,)), {}
    yield (make(2, 6), (5, -1)), {}


@sample
def flatten(make):
    yield (make(2, 3, 4),), {}
    yield (make(2, 3, 4), 1), {}
    yield (make(), 0), {}


@sample
def transpose(make):
    yield (make(2, 3, 4), 0, -1), {}
    yield (make(2, 3), 0, 2), {}


@sample
def t(make):
    yield from (((make(*shape),), {}) for shape in ((2, 3), (3,), (), (2, 3, 4)))


@sample
def permute(make):
    yield (make(2, 3, 4), (2, 0, 1)), {}
    yield (make(2, 3, 4), (2, 0)), {}


@sample
def squeeze(make):
    yield from (((make(*shape),), {}) for shape in ((1, 3, 1), (2, 3), ()))


@sample
def squeeze_dim(make):
    yield (make(1, 3, 1), 0), {}
    yield (make(1, 3, 1), 1), {}
    yield (make(1, 3), 4), {}


@sample
def unsqueeze(make):
    yield from (((make(2, 3), dim), {}) for dim in (0, 1, -1, 3))


@sample
def expand(make):
    yield (make(1, 3), 2, 3), {}
    yield (make(1, 3), (4, -1, 3)), {}
    yield (make(2, 3), (3, 3)), {}


@sample
def select(make):
    yield (make(2, 3), 0, 1), {}
    yield (make(2, 3), 1, -1), {}
    yield (make(2, 3), 1, 3), {}


@sample
def narrow(make):
    yield (make(5, 3), 0, 1, 2), {}
    yield (make(5, 3), 0, 4, 2), {}


@sample
def linear(make):
    yield (make(2, 3), make(4, 3), make(4)), {}
    yield (make(2, 5, 3), make(4, 3)), {}
    yield (make(2, 5, 3), make(4, 3), make(4)), {}


# Samples of other families.
for _path in sorted(Path(__file__).parent.glob("samples_*.py")):
    import_module(_path.stem)
