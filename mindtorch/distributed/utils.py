"""torch.distributed.utils: helpers for programs that train in several processes."""
from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from mindtorch._core.tensor.tensor import TensorBase
from mindtorch._submodules import module_getattr
from mindtorch.distributed._module_states import (
    _sync_module_states,
    _sync_params_and_buffers,
    _verify_param_shape_across_processes,
)

if TYPE_CHECKING:
    from mindtorch import Tensor, device, dtype
    from mindtorch.nn import Module

__all__ = ["_apply_to_tensors", "_cast_forward_inputs", "_get_root_modules", "_p_assert", "_pack_kwargs",
           "_sync_module_states", "_sync_params_and_buffers", "_to_kwargs", "_unpack_kwargs",
           "_verify_param_shape_across_processes"]


def _apply_to_tensors(fn: Callable[[Tensor], Any], container: Any) -> Any:
    """The container with `fn(tensor)` for each tensor in its lists, tuples, sets, dictionaries and dataclasses."""
    if isinstance(container, TensorBase):
        return fn(container)
    if is_dataclass(container) and not isinstance(container, type):
        return replace(container, **{field.name: _apply_to_tensors(fn, getattr(container, field.name))
                                     for field in fields(container) if field.init})
    if isinstance(container, Mapping):
        return type(container)((key, _apply_to_tensors(fn, value)) for key, value in container.items())
    if isinstance(container, tuple) and hasattr(container, "_fields"):
        return type(container)(*(_apply_to_tensors(fn, value) for value in container))
    if isinstance(container, (list, tuple, set)):
        return type(container)(_apply_to_tensors(fn, value) for value in container)
    return container


def _to_kwargs(inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, target_device: device,
               use_side_stream_for_tensor_copies: bool = False) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """The arguments with their tensors on a device, in tuples with one element."""
    def move(tensor):
        return tensor.to(target_device)
    return (_apply_to_tensors(move, inputs),), (_apply_to_tensors(move, kwargs or {}),)


def _cast_forward_inputs(dtype: dtype | None, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
    """The arguments with their floating-point tensors in a dtype."""
    if dtype is None:
        return args, kwargs

    def cast(tensor):
        return tensor.to(dtype) if tensor.is_floating_point() else tensor
    return _apply_to_tensors(cast, args), _apply_to_tensors(cast, kwargs)


def _pack_kwargs(*args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], tuple[str, ...]]:
    """All arguments behind each other, and the names of the last ones."""
    return (*args, *kwargs.values()), tuple(kwargs)


def _unpack_kwargs(flat_args: tuple[Any, ...], kwarg_keys: tuple[str, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What `_pack_kwargs` was given."""
    if len(kwarg_keys) > len(flat_args):
        raise AssertionError(f"too many keys {len(kwarg_keys)} vs. {len(flat_args)}")
    count = len(flat_args) - len(kwarg_keys)
    return flat_args[:count], dict(zip(kwarg_keys, flat_args[count:], strict=True))


def _p_assert(cond: Any, s: str, raise_assertion_error: bool = True) -> None:
    """An assertion for backward hooks, which also prints the failure."""
    if not cond:
        print(s)
        traceback.print_stack()
        if raise_assertion_error:
            raise AssertionError(s)


def _get_root_modules(modules: list[Module]) -> list[Module]:
    """The modules that are not inside another module of the list."""
    held = {child for module in modules for child in module.modules() if child is not module}
    return [module for module in modules if module not in held]


__getattr__ = module_getattr(__name__)
