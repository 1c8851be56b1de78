"""torch.amp.autocast_mode: regions in which operators get their arguments in the dtype that suits them."""
from __future__ import annotations

import collections.abc
import functools
import threading
import warnings
from typing import Any, Self

import mindtorch
from mindtorch._core.operators.autocast import (
    autocast_decrement_nesting,
    autocast_increment_nesting,
    clear_autocast_cache,
    exchange_state,
    get_autocast_dtype,
    is_autocast_cache_enabled,
    is_autocast_enabled,
)
from mindtorch._core.tensor.dtype import bfloat16, float16, float64
from mindtorch._core.tensor.tensor import device
from mindtorch._tensor import Tensor

__all__ = ["autocast", "autocast_decorator", "custom_bwd", "custom_fwd", "is_autocast_available"]

_THREAD = threading.local()       # .before: the states that the open regions of this thread will restore


def is_autocast_available(device_type: str) -> bool:
    """Whether autocast supports the device type.

    Example:
        >>> torch.amp.is_autocast_available("npu")
        True
    """
    if not isinstance(device_type, str):
        raise TypeError("_is_autocast_available(): argument 'device_type' (position 1) must be str, not "
                        f"{type(device_type).__name__}")
    get_autocast_dtype(device_type)
    return True


def _check_type(device_type):
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")


class autocast:
    """A region, as context manager or decorator, in which listed operators cast their arguments; others do not.

    `dtype` is what fast operators compute in: bfloat16 by default on "cpu", float16 on "npu". Regions nest, one with
    `enabled=False` turns autocast off, and each concerns its own type of device and the thread that enters it.

    Arguments:
        device_type: the type of the devices whose operators are cast, such as "npu"
        dtype: the dtype that operators are cast to; None means that of the device
        enabled: whether it has an effect

    Example:
        >>> x = torch.ones(2, 2)
        >>> with torch.autocast("cpu"):
        ...     y = x @ x
        >>> y.dtype
        torch.bfloat16
    """

    def __init__(self, device_type: str, dtype: Any = None, enabled: bool = True,
                 cache_enabled: bool | None = None) -> None:
        _check_type(device_type)
        self.device = device(device_type).type if device_type == "cuda" else device_type
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self._cache_enabled = is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        self._enabled = enabled and self._possible_()

    def _possible_(self):
        if self.device == "cuda":
            warnings.warn("CUDA is not available or torch_xla is imported. Disabling autocast.", stacklevel=3)
            return False
        name, supported = "CPU", [bfloat16, float16]
        if device(self.device).type != "cpu":
            name, supported = self.device, mindtorch.npu.get_amp_supported_dtype()
        if self.fast_dtype not in supported:
            warnings.warn(f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n{name} "
                          f"Autocast only supports dtypes of {', '.join(map(str, supported))} currently.", stacklevel=3)
            return False
        return True

    def __enter__(self) -> Self:
        if not hasattr(_THREAD, "before"):
            _THREAD.before = []
        _THREAD.before.append(exchange_state(self.device, self._enabled, self.fast_dtype, self._cache_enabled))
        autocast_increment_nesting()
        return self

    def __exit__(self, *exception: Any) -> None:
        if autocast_decrement_nesting() == 0:
            clear_autocast_cache()
        exchange_state(*_THREAD.before.pop())
        return False

    def __call__(self, func: Any) -> Any:
        return autocast_decorator(self, func)


def autocast_decorator(autocast_instance: Any, func: Any) -> Any:
    """`func` inside the region, at each call.

    Arguments:
        autocast_instance: the torch.autocast in which the function is to run
        func: the function

    Example:
        >>> double = torch.amp.autocast_mode.autocast_decorator(torch.autocast("cpu"), lambda x: x @ x)
        >>> double(torch.ones(2, 2)).dtype
        torch.bfloat16
    """
    @functools.wraps(func)
    def decorate_autocast(*args, **kwargs):
        with autocast_instance:
            return func(*args, **kwargs)
    return decorate_autocast


# --- for torch.autograd.Function -------------------------------------------------------------------------------------

def _cast(value, device_type, dtype):
    """Floating point tensors of the device in `dtype`, also those in containers."""
    if isinstance(value, Tensor):
        wanted = value.is_floating_point() and value.device.type == device_type and value.dtype is not float64
        return value.to(dtype) if wanted else value
    if isinstance(value, collections.abc.Mapping):
        return {_cast(key, device_type, dtype): _cast(one, device_type, dtype) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([_cast(one, device_type, dtype) for one in value])
    return value


def custom_fwd(fwd: Any = None, *, device_type: str, cast_inputs: Any = None) -> Any:
    """Decorator of a Function's forward: backward, under custom_bwd, will run in the same state of autocast.

    With `cast_inputs` the tensors come in that dtype, and autocast is off inside; outside of regions nothing happens.

    Example:
        >>> class Twice(torch.autograd.Function):
        ...     @staticmethod
        ...     @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
        ...     def forward(ctx, x):
        ...         return 2 * x
        ...     @staticmethod
        ...     @torch.amp.custom_bwd(device_type="cpu")
        ...     def backward(ctx, grad):
        ...         return 2 * grad
        >>> with torch.autocast("cpu"):
        ...     print(Twice.apply(torch.ones(1, dtype=torch.bfloat16)).dtype)
        torch.float32
    """
    _check_type(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorate_fwd(*args, **kwargs):
        ctx = args[0]
        enabled = is_autocast_enabled(device_type)
        ctx._dtype = get_autocast_dtype(device_type)
        ctx._fwd_used_autocast = enabled and cast_inputs is None
        if cast_inputs is None or not enabled:
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(*_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs))
    return decorate_fwd


def custom_bwd(bwd: Any = None, *, device_type: str) -> Any:
    """Decorator of a Function's backward, which runs in the state of autocast that its forward ran in.

    Example:
        >>> class Twice(torch.autograd.Function):
        ...     @staticmethod
        ...     @torch.amp.custom_fwd(device_type="cpu")
        ...     def forward(ctx, x):
        ...         return 2 * x
        ...     @staticmethod
        ...     @torch.amp.custom_bwd(device_type="cpu")
        ...     def backward(ctx, grad):
        ...         return 2 * grad
        >>> x = torch.ones(1, requires_grad=True)
        >>> Twice.apply(x).backward()
        >>> x.grad
        tensor([2.])
    """
    _check_type(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorate_bwd(*args, **kwargs):
        with autocast(device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return bwd(*args, **kwargs)
    return decorate_bwd
