"""torch.signal.windows: symmetric windows of M points, or with `sym=False` periodic ones."""
from __future__ import annotations

from collections.abc import Iterable
from math import pi, sqrt
from typing import TYPE_CHECKING, Any

from mindtorch._core._gen.namespace import FUNCTIONS as _OPS
from mindtorch._core.formats import strided
from mindtorch._core.tensor.dtype import float32, float64, get_default_dtype
from mindtorch._core.tensor.factories import FUNCTIONS as _FACTORIES
from mindtorch._tensor.docstrings import complete as _complete_docstrings

if TYPE_CHECKING:
    from mindtorch import Tensor, device, dtype, layout

__all__ = ["bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming",
           "hann", "kaiser", "nuttall"]


def _checked(name, M, dtype, layout):
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout not in (None, strided):
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    dtype = get_default_dtype() if dtype is None else dtype
    if dtype is not float32 and dtype is not float64:
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
    return dtype


def _window(name, M, sym, dtype, layout, device, requires_grad, formula):
    """`formula` of the places 0 ... M - 1 and of the period; a window of one point is 1."""
    dtype = _checked(name, M, dtype, layout)
    place = _FACTORIES["arange"](M, dtype=dtype, device=device)
    result = place * 0 + 1 if M <= 1 else formula(place, M - 1 if sym else M)
    return result.requires_grad_(requires_grad)


def exponential(M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, dtype: dtype | None = None,
                layout: layout | None = None, device: device | None = None, requires_grad: bool = False) -> Tensor:
    """exp(-|n - center| / tau).

    Arguments:
        center: the index of the middle; None means (M - 1) / 2
        tau: how slowly it falls

    Example:
        >>> torch.signal.windows.exponential(5, tau=1.0)
        tensor([0.1353, 0.3679, 1.0000, 0.3679, 0.1353])
    """
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    return _window("exponential", M, sym, dtype, layout, device, requires_grad,
                   lambda n, period: (-(n - (period / 2 if center is None else center)).abs() / tau).exp())


def cosine(M: int, *, sym: bool = True, dtype: dtype | None = None, layout: layout | None = None,
           device: device | None = None, requires_grad: bool = False) -> Tensor:
    """Half a period of the sine, taken at the middles of its steps.

    Example:
        >>> torch.signal.windows.cosine(5)
        tensor([0.3090, 0.8090, 1.0000, 0.8090, 0.3090])
    """
    return _window("cosine", M, sym, dtype, layout, device, requires_grad,
                   lambda n, period: ((n + 0.5) * (pi / (period + 1))).sin())


def gaussian(M: int, *, std: float = 1.0, sym: bool = True, dtype: dtype | None = None, layout: layout | None = None,
             device: device | None = None, requires_grad: bool = False) -> Tensor:
    """exp(-(n - middle)^2 / (2 std^2)).

    Arguments:
        std: the standard deviation, in elements

    Example:
        >>> torch.signal.windows.gaussian(5, std=1.0)
        tensor([0.1353, 0.6065, 1.0000, 0.6065, 0.1353])
    """
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    return _window("gaussian", M, sym, dtype, layout, device, requires_grad,
                   lambda n, period: (-((n - period / 2) / (std * sqrt(2))) ** 2).exp())


def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, dtype: dtype | None = None, layout: layout | None = None,
           device: device | None = None, requires_grad: bool = False) -> Tensor:
    """I0(beta sqrt(1 - x^2)) / I0(beta), x from -1 to 1.

    Arguments:
        beta: the shape: the larger, the narrower

    Example:
        >>> torch.signal.windows.kaiser(5)
        tensor([5.2773e-05, 2.1567e-01, 1.0000e+00, 2.1567e-01, 5.2773e-05])
    """
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")

    def formula(n, period):
        x = n * (2 / period) - 1
        return _OPS["i0"]((1 - x * x).clamp(min=0).sqrt() * beta) / _OPS["i0"](n.new_full((), beta))
    return _window("kaiser", M, sym, dtype, layout, device, requires_grad, formula)


def general_cosine(M: Any, *, a: Iterable, sym: bool = True, dtype: dtype | None = None, layout: layout | None = None,
                   device: device | None = None, requires_grad: bool = False) -> Tensor:
    """The sum of (-1)^k a[k] cos(k x), x from 0 to 2 pi.

    Arguments:
        a: the weights of the cosines

    Example:
        >>> torch.signal.windows.general_cosine(5, a=[0.5, 0.5])
        tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    def formula(n, period):
        if not isinstance(a, (list, tuple)):
            raise TypeError("Coefficients must be a list/tuple")
        if not a:
            raise ValueError("Coefficients cannot be empty")
        total = 0
        for k, factor in enumerate(a):
            total = total + (n * (2 * pi * k / period)).cos() * ((-1) ** k * factor)
        return total
    return _window("general_cosine", M, sym, dtype, layout, device, requires_grad, formula)


def general_hamming(M: Any, *, alpha: float = 0.54, sym: bool = True, dtype: dtype | None = None,
                    layout: layout | None = None, device: device | None = None, requires_grad: bool = False) -> Tensor:
    """alpha - (1 - alpha) cos(x), x from 0 to 2 pi.

    Arguments:
        alpha: the weight of the constant

    Example:
        >>> torch.signal.windows.general_hamming(5, alpha=0.54)
        tensor([0.0800, 0.5400, 1.0000, 0.5400, 0.0800])
    """
    return general_cosine(M, a=[alpha, 1 - alpha], sym=sym, dtype=dtype, layout=layout, device=device,
                          requires_grad=requires_grad)


def hamming(M: int, *, sym: bool = True, dtype: dtype | None = None, layout: layout | None = None,
            device: device | None = None, requires_grad: bool = False) -> Tensor:
    """general_hamming of 0.54.

    Example:
        >>> torch.signal.windows.hamming(5)
        tensor([0.0800, 0.5400, 1.0000, 0.5400, 0.0800])
    """
    return general_hamming(M, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def hann(M: int, *, sym: bool = True, dtype: dtype | None = None, layout: layout | None = None,
         device: device | None = None, requires_grad: bool = False) -> Tensor:
    """general_hamming of 0.5.

    Example:
        >>> torch.signal.windows.hann(5)
        tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    return general_hamming(M, alpha=0.5, sym=sym, dtype=dtype, layout=layout, device=device,
                           requires_grad=requires_grad)


def blackman(M: int, *, sym: bool = True, dtype: dtype | None = None, layout: layout | None = None,
             device: device | None = None, requires_grad: bool = False) -> Tensor:
    """general_cosine of three terms.

    Example:
        >>> torch.signal.windows.blackman(5)
        tensor([-1.4901e-08,  3.4000e-01,  1.0000e+00,  3.4000e-01, -1.4901e-08])
    """
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, dtype=dtype, layout=layout, device=device,
                          requires_grad=requires_grad)


def bartlett(M: int, *, sym: bool = True, dtype: dtype | None = None, layout: layout | None = None,
             device: device | None = None, requires_grad: bool = False) -> Tensor:
    """A triangle.

    Example:
        >>> torch.signal.windows.bartlett(5)
        tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    return _window("bartlett", M, sym, dtype, layout, device, requires_grad,
                   lambda n, period: 1 - (n * (2 / period) - 1).abs())


def nuttall(M: int, *, sym: bool = True, dtype: dtype | None = None, layout: layout | None = None,
            device: device | None = None, requires_grad: bool = False) -> Tensor:
    """general_cosine of four terms.

    Example:
        >>> torch.signal.windows.nuttall(5)
        tensor([3.6280e-04, 2.2698e-01, 1.0000e+00, 2.2698e-01, 3.6280e-04])
    """
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, dtype=dtype, layout=layout,
                          device=device, requires_grad=requires_grad)


_complete_docstrings(globals(), "signal")
