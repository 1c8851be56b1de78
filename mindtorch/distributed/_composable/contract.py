"""torch.distributed._composable.contract: functions that change a module in place, and what they may not change."""
from __future__ import annotations

import functools
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from mindtorch.nn import Module

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["REGISTRY_KEY", "STATE_KEY", "RegistryItem", "_get_registry", "contract"]

STATE_KEY, REGISTRY_KEY = "__composable_api_state_key", "__composable_api_registry_key"


class RegistryItem:
    """Stands for a function that was applied to a module."""


class _State:
    """What a function keeps of its modules, as attributes."""


def contract(state_cls: type = _State) -> Callable:
    """A decorator of a function (module or list of modules, ...) that returns what it was given, changed in place.

    It may be applied to a module once, and leaves the names of parameters, buffers and modules as they are.
    `function.state(module)` is an object of `state_cls`, one for the modules of a call.
    """
    def decorate(function: Callable) -> Callable:
        @functools.wraps(function)
        def applied(module: Any, *args: Any, **kwargs: Any) -> Any:
            modules = [module] if isinstance(module, Module) else list(module)
            state, item = state_cls(), RegistryItem()
            for each in modules:
                registry = each.__dict__.setdefault(REGISTRY_KEY, OrderedDict())
                if function.__name__ in registry or applied in each.__dict__.setdefault(STATE_KEY, OrderedDict()):
                    raise AssertionError("Each distinct composable distributed API can only be applied to a module "
                                         f"once. {function.__name__} has already been applied to the following "
                                         f"module:\n{each}")
                each.__dict__[STATE_KEY][applied] = state
                registry[function.__name__] = item
            before = [_names(each) for each in modules]
            result = function(module, *args, **kwargs)
            changed = modules if result is None else [result] if isinstance(result, Module) else list(result)
            if len(changed) != len(modules):
                raise RuntimeError("Output modules are not the same number as input modules: "
                                   f"{len(changed)}, not {len(modules)}")
            for names, each in zip(before, changed, strict=True):
                for (kind, was), (_, now) in zip(names, _names(each), strict=True):
                    if was != now:
                        raise RuntimeError(f"Checking {kind}: Composable distributed API implementations cannot modify "
                                           f"FQNs. Only before: {sorted(set(was) - set(now))}, only after: "
                                           f"{sorted(set(now) - set(was))}")
            return result

        def state(module: Module) -> Any:
            """The function's state of a module; None where it was not applied."""
            return module.__dict__.get(STATE_KEY, {}).get(applied)

        applied.state = state
        return applied
    return decorate


def _names(module):
    return [("parameters", [name for name, _ in module.named_parameters()]),
            ("buffers", [name for name, _ in module.named_buffers()]),
            ("modules", [name for name, _ in module.named_modules()])]


def _get_registry(module: Module) -> dict[str, RegistryItem] | None:
    """The functions that were applied to a module, by name."""
    return module.__dict__.get(REGISTRY_KEY)
