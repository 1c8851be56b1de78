"""torch.__future__: how modules change their parameters, by default in the way that torch has always had."""

from __future__ import annotations

_overwrites = _swaps = False


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Whether Module.to and its like put new parameters in the place of those they convert."""
    global _overwrites
    _overwrites = value


def get_overwrite_module_params_on_conversion() -> bool:
    """The value that set_overwrite_module_params_on_conversion has set."""
    return _overwrites


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Whether Module.to and its like, and load_state_dict, exchange contents by torch.utils.swap_tensors.

    load_state_dict then asks Tensor.module_load for what it loads.
    """
    global _swaps
    _swaps = value


def get_swap_module_params_on_conversion() -> bool:
    """The value that set_swap_module_params_on_conversion has set."""
    return _swaps
