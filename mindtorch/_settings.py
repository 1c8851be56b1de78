"""Settings of the process: threads, determinism, float32 precision, warnings."""
import warnings
from dataclasses import dataclass

import mindtorch
from mindtorch import _backend
from mindtorch._core import once

__all__ = ["are_deterministic_algorithms_enabled", "get_deterministic_debug_mode", "get_device_module",
           "get_float32_matmul_precision", "get_num_interop_threads", "get_num_threads",
           "is_deterministic_algorithms_warn_only_enabled", "is_warn_always_enabled", "set_deterministic_debug_mode",
           "set_float32_matmul_precision", "set_flush_denormal", "set_num_interop_threads", "set_num_threads",
           "set_warn_always", "use_deterministic_algorithms"]

_DEBUG_MODES = ("default", "warn", "error")
_PRECISIONS = ("highest", "high", "medium")


@dataclass
class _State:
    deterministic: bool = False
    warn_only: bool = False
    precision: str = "highest"
    warn_always: bool = False


_state = _State()


def _require(value, kind, message):
    if type(value) is not kind:
        raise RuntimeError(f"{message} expects {'an' if kind is int else 'a'} {kind.__name__}, but got "
                           f"{type(value).__name__}")
    return value


# --- threads ----------------------------------------------------------------------------------------------------------

def set_num_threads(num, /):
    """How many threads the BLAS library uses, which computes the matrix products on the CPU.

    All other operators run on one thread. RuntimeError for what is no positive int. Warns where the BLAS of NumPy
    cannot be told.
    """
    if _require(num, int, "set_num_threads") <= 0:
        raise RuntimeError("set_num_threads expects a positive integer")
    if not _backend.cpu_threads().set_blas_threads(num):
        warnings.warn("set_num_threads has no effect: the BLAS library of this NumPy cannot be told how many threads "
                      "to use", UserWarning, stacklevel=2)


def get_num_threads():
    """How many threads the BLAS library uses; 1 where it does not say."""
    return _backend.cpu_threads().blas_threads() or 1


def set_num_interop_threads(num, /):
    """Changes nothing: operators of one Python thread follow each other. RuntimeError for what is no positive int."""
    if _require(num, int, "set_num_interop_threads") <= 0:
        raise RuntimeError("set_num_interop_threads expects a positive integer")


def get_num_interop_threads():
    """1: operators of one Python thread follow each other."""
    return 1


# --- arithmetic -------------------------------------------------------------------------------------------------------

def set_float32_matmul_precision(precision, /):
    """Says how exact float32 matrix products must be: "highest", "high" or "medium". They always are "highest"."""
    if precision not in _PRECISIONS:
        warnings.warn(f"{precision} is not one of 'highest', 'high', or 'medium'; the current "
                      "setFloat32MatmulPrecision call has no effect.", UserWarning, stacklevel=2)
        return
    _state.precision = precision


def get_float32_matmul_precision():
    """What set_float32_matmul_precision was given; "highest" at first."""
    return _state.precision


def set_flush_denormal(mode, /):
    """False: denormal numbers are kept, whatever `mode` says."""
    _require(mode, bool, "flush_denormal")
    return False


# --- determinism ------------------------------------------------------------------------------------------------------

def use_deterministic_algorithms(mode, *, warn_only=False):
    """Asks for operators that give the same bits each time. On the CPU and the simulated NPU all do anyway."""
    for shown, value in (("'mode' (position 1)", mode), ("'warn_only'", warn_only)):
        if not isinstance(value, bool):
            raise TypeError(f"_set_deterministic_algorithms(): argument {shown} must be bool, not "
                            f"{type(value).__name__}")
    _state.deterministic, _state.warn_only = mode, warn_only


def are_deterministic_algorithms_enabled():
    """Whether deterministic operators have been asked for."""
    return _state.deterministic


def is_deterministic_algorithms_warn_only_enabled():
    """Whether an operator that is not deterministic should only be warned of."""
    return _state.warn_only


def set_deterministic_debug_mode(debug_mode):
    """use_deterministic_algorithms by a name or number: "default" (0), "warn" (1), "error" (2)."""
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


def get_deterministic_debug_mode():
    """0, 1 or 2; see set_deterministic_debug_mode."""
    if not _state.deterministic:
        return 0
    return 1 if _state.warn_only else 2


# --- the rest ---------------------------------------------------------------------------------------------------------

def set_warn_always(mode, /):
    """Whether a warning that comes once in a process should come each time; Python's own filters decide of others."""
    _state.warn_always = _require(mode, bool, "setWarnOnlyOnce")
    once.set_always(mode)


def is_warn_always_enabled():
    """What set_warn_always was given; False at first."""
    return _state.warn_always


def get_device_module(device=None):
    """The module of a device type: torch.npu, torch.cpu. None means the default device's."""
    kind = mindtorch.get_default_device() if device is None else mindtorch.device(device)
    return getattr(mindtorch, kind.type)
