"""Settings of the process: threads, determinism, float32 precision, warnings."""
from __future__ import annotations

import warnings
from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch import _backend
from mindtorch._core import once
from mindtorch._core.tensor import copy_cast

if TYPE_CHECKING:
    from mindtorch.types import Device

__all__ = ["are_deterministic_algorithms_enabled", "get_deterministic_debug_mode", "get_device_module",
           "get_float32_matmul_precision", "get_num_interop_threads", "get_num_threads", "has_lapack",
           "has_mkl", "has_openmp", "has_spectral", "init_num_threads",
           "is_deterministic_algorithms_warn_only_enabled", "is_warn_always_enabled", "set_deterministic_debug_mode",
           "set_float32_matmul_precision", "set_flush_denormal", "set_num_interop_threads", "set_num_threads",
           "set_warn_always", "use_deterministic_algorithms"]

_DEBUG_MODES = ("default", "warn", "error")
_PRECISIONS = ("highest", "high", "medium")


@dataclass
class _State:
    deterministic: bool = False
    warn_only: bool = False
    fills_memory: bool = True
    precision: str = "highest"
    warn_always: bool = False


_state = _State()


def _require(value, kind, message):
    if type(value) is not kind:
        raise RuntimeError(f"{message} expects {'an' if kind is int else 'a'} {kind.__name__}, but got "
                           f"{type(value).__name__}")
    return value


# --- threads ----------------------------------------------------------------------------------------------------------

def set_num_threads(num: Any, /) -> None:
    """Sets the number of threads of the BLAS library, which computes matrix products on the CPU.

    All other operators run on one thread. RuntimeError for anything but a positive int. Warns if NumPy's BLAS library
    has no such setting.

    Arguments:
        num: the number of threads

    Example:
        >>> torch.set_num_threads(torch.get_num_threads())
    """
    if _require(num, int, "set_num_threads") <= 0:
        raise RuntimeError("set_num_threads expects a positive integer")
    if not _backend.cpu_threads().set_blas_threads(num):
        warnings.warn("set_num_threads has no effect: the BLAS library of this NumPy has no setting for the number of "
                      "threads", UserWarning, stacklevel=2)


def get_num_threads() -> Any:
    """The number of threads of the BLAS library; 1 if it is unknown.

    Example:
        >>> torch.get_num_threads() >= 1
        True
    """
    return _backend.cpu_threads().blas_threads() or 1


def set_num_interop_threads(num: Any, /) -> None:
    """Has no effect: operators of a thread run one after the other. RuntimeError for anything but a positive int.

    Arguments:
        num: the number of threads

    Example:
        >>> torch.set_num_interop_threads(1)
    """
    if _require(num, int, "set_num_interop_threads") <= 0:
        raise RuntimeError("set_num_interop_threads expects a positive integer")


def get_num_interop_threads() -> Any:
    """1: operators of a thread run one after the other.

    Example:
        >>> torch.get_num_interop_threads()
        1
    """
    return 1


# --- arithmetic -------------------------------------------------------------------------------------------------------

def set_float32_matmul_precision(precision: Any, /) -> None:
    """Stores "highest", "high" or "medium". Float32 matrix products always have the "highest" precision.

    Arguments:
        precision: "highest", "high" or "medium"

    Example:
        >>> torch.set_float32_matmul_precision("high")
        >>> torch.get_float32_matmul_precision()
        'high'
        >>> torch.set_float32_matmul_precision("highest")
    """
    if precision not in _PRECISIONS:
        warnings.warn(f"{precision} is not one of 'highest', 'high', or 'medium'; the current "
                      "setFloat32MatmulPrecision call has no effect.", UserWarning, stacklevel=2)
        return
    _state.precision = precision


def get_float32_matmul_precision() -> Any:
    """The value of set_float32_matmul_precision; "highest" by default.

    Example:
        >>> torch.get_float32_matmul_precision()
        'highest'
    """
    return _state.precision


def set_flush_denormal(mode: Any, /) -> Any:
    """Returns False: flushing of denormal numbers is not supported.

    Arguments:
        mode: whether numbers below the smallest normal one become 0

    Example:
        >>> torch.set_flush_denormal(True)
        False
    """
    _require(mode, bool, "flush_denormal")
    return False


# --- determinism ------------------------------------------------------------------------------------------------------

def use_deterministic_algorithms(mode: Any, *, warn_only: bool = False) -> None:
    """Requests deterministic operators. On the CPU and the simulated NPU all operators are deterministic; max_unpool is
    refused all the same, as torch has none.

    Arguments:
        mode: whether operators have to be deterministic
        warn_only: whether one that is not warns, in place of an error

    Example:
        >>> torch.use_deterministic_algorithms(True)
        >>> torch.are_deterministic_algorithms_enabled()
        True
        >>> torch.use_deterministic_algorithms(False)
    """
    for shown, value in (("'mode' (position 1)", mode), ("'warn_only'", warn_only)):
        if not isinstance(value, bool):
            raise TypeError(f"_set_deterministic_algorithms(): argument {shown} must be bool, not "
                            f"{type(value).__name__}")
    _state.deterministic, _state.warn_only = mode, warn_only
    _update_filling()


def alert_not_deterministic(caller: str) -> None:
    """The error, or warning, of an operator for which torch has no deterministic implementation."""
    if not _state.deterministic:
        return
    told, advice = ("True, warn_only=True", "You can file an issue at") if _state.warn_only else (
        "True", "You can turn off determinism just for this operation, or you can use the 'warn_only=True' option, if "
        "that's acceptable for your application. You can also file an issue at")
    text = (f"{caller} does not have a deterministic implementation, but you set 'torch.use_deterministic_algorithms("
            f"{told})'. {advice} https://github.com/pytorch/pytorch/issues to help us prioritize adding deterministic "
            "support for this operation.")
    if not _state.warn_only:
        raise RuntimeError(text)
    warnings.warn(text, UserWarning, stacklevel=3)


def set_fill_uninitialized_memory(mode: Any) -> None:
    """Whether deterministic operators fill what empty, empty_like and resize_ leave undefined; at first they do."""
    if not isinstance(mode, bool):
        raise RuntimeError(f"expected a bool, but got {type(mode).__name__}")
    _state.fills_memory = mode
    _update_filling()


def get_fill_uninitialized_memory() -> bool:
    """The value of set_fill_uninitialized_memory."""
    return _state.fills_memory


def _update_filling():
    copy_cast.set_fill_new_memory(_fill_undefined if _state.deterministic and _state.fills_memory else None)


def _fill_undefined(tensor):
    """NaN, the largest integer or True."""
    dtype = tensor.dtype
    if dtype.is_floating_point or dtype.is_complex:
        value = nan
    else:
        value = dtype is mindtorch.bool or mindtorch.iinfo(dtype).max
    tensor.detach().fill_(value)


def are_deterministic_algorithms_enabled() -> Any:
    """Whether deterministic operators were requested.

    Example:
        >>> torch.are_deterministic_algorithms_enabled()
        False
    """
    return _state.deterministic


def is_deterministic_algorithms_warn_only_enabled() -> Any:
    """Whether a non-deterministic operator only warns.

    Example:
        >>> torch.is_deterministic_algorithms_warn_only_enabled()
        False
    """
    return _state.warn_only


def set_deterministic_debug_mode(debug_mode: Any) -> None:
    """use_deterministic_algorithms by a name or number: "default" (0), "warn" (1), "error" (2).

    Arguments:
        debug_mode: "default", "warn" or "error", or 0, 1 or 2

    Example:
        >>> torch.set_deterministic_debug_mode("warn")
        >>> torch.get_deterministic_debug_mode()
        1
        >>> torch.set_deterministic_debug_mode("default")
    """
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str):
        if debug_mode not in _DEBUG_MODES:
            raise RuntimeError("invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got "
                               f"{debug_mode}")
        debug_mode = _DEBUG_MODES.index(debug_mode)
    if debug_mode not in range(3):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    use_deterministic_algorithms(debug_mode > 0, warn_only=debug_mode == 1)


def get_deterministic_debug_mode() -> Any:
    """0, 1 or 2; see set_deterministic_debug_mode.

    Example:
        >>> torch.get_deterministic_debug_mode()
        0
    """
    if not _state.deterministic:
        return 0
    return 1 if _state.warn_only else 2


# --- the rest ---------------------------------------------------------------------------------------------------------

def set_warn_always(mode: Any, /) -> None:
    """Whether a warning that comes once in a process should come each time; Python's filters decide on others.

    Arguments:
        mode: whether a warning is given each time, not once

    Example:
        >>> torch.set_warn_always(True)
        >>> torch.is_warn_always_enabled()
        True
        >>> torch.set_warn_always(False)
    """
    _state.warn_always = _require(mode, bool, "setWarnOnlyOnce")
    once.set_always(mode)


def is_warn_always_enabled() -> Any:
    """The value of set_warn_always; False by default.

    Example:
        >>> torch.is_warn_always_enabled()
        False
    """
    return _state.warn_always


def get_device_module(device: Device = None) -> Any:
    """The module of a device type: torch.npu, torch.cpu. None means the default device's.

    Arguments:
        device: a device, or its type; None means the accelerator

    Example:
        >>> torch.get_device_module("npu") is torch.npu
        True
    """
    kind = mindtorch.get_default_device() if device is None else mindtorch.device(device)
    if not hasattr(mindtorch, kind.type):
        raise RuntimeError(f"Device '{kind.type}' does not have a corresponding module registered as "
                           f"'torch.{kind.type}'.")
    return getattr(mindtorch, kind.type)


# What torch was built with, under the names that torch.backends has replaced.
has_lapack, has_spectral, has_mkl, has_openmp = True, True, False, False


def init_num_threads() -> None:
    """Give a new thread what set_num_threads has set. All threads have it here: this does nothing.

    Example:
        >>> torch.init_num_threads()
    """
