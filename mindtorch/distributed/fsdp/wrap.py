"""torch.distributed.fsdp.wrap: which modules of a model FullyShardedDataParallel wraps."""
from __future__ import annotations

import contextlib
import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from mindtorch import nn
from mindtorch._tensor.docstrings import complete as _complete_docstrings

__all__ = ["CustomPolicy", "ModuleWrapPolicy", "always_wrap_policy", "enable_wrap", "lambda_auto_wrap_policy",
           "size_based_auto_wrap_policy", "transformer_auto_wrap_policy", "wrap"]


# The names of what wrappers hold, which are left out of the names of parameters.
WRAPPED = ("_fsdp_wrapped_module", "_checkpoint_wrapped_module")


def name_without_wrappers(name: str) -> str:
    """The name that a parameter or buffer has in the plain model."""
    return ".".join(part for part in name.split(".") if part not in WRAPPED)


# Policies that are functions (module, recurse, nonwrapped_numel): with `recurse` whether modules below are looked at,
# otherwise whether the module is wrapped.

def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    """Wrap every module.

    Arguments:
        *args: not read
        **kwargs: not read

    Example:
        >>> dist.fsdp.wrap.always_wrap_policy()
        True
    """
    return True


def lambda_auto_wrap_policy(module: nn.Module, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable) -> bool:
    """Wrap the modules for which lambda_fn(module) is true.

    Arguments:
        nonwrapped_numel: not read

    Example:
        >>> def linear_only(module):
        ...     return isinstance(module, torch.nn.Linear)
        >>> dist.fsdp.wrap.lambda_auto_wrap_policy(torch.nn.Linear(1, 1), False, 2, linear_only)
        True
    """
    return recurse or lambda_fn(module)


def _module_wrap_policy(module: nn.Module, recurse: bool, nonwrapped_numel: int,
                        module_classes: set[type[nn.Module]]) -> bool:
    return recurse or isinstance(module, tuple(module_classes))


def transformer_auto_wrap_policy(module: nn.Module, recurse: bool, nonwrapped_numel: int,
                                 transformer_layer_cls: set[type[nn.Module]]) -> bool:
    """Wrap the modules of these classes.

    Arguments:
        transformer_layer_cls: the classes of layers that are wrapped

    Example:
        >>> layer = torch.nn.TransformerEncoderLayer(4, 2)
        >>> dist.fsdp.wrap.transformer_auto_wrap_policy(layer, False, 100, {torch.nn.TransformerEncoderLayer})
        True
    """
    return _module_wrap_policy(module, recurse, nonwrapped_numel, transformer_layer_cls)


def size_based_auto_wrap_policy(module: nn.Module, recurse: bool, nonwrapped_numel: int,
                                min_num_params: int = 100_000_000,
                                force_leaf_modules: set[type[nn.Module]] | None = None,
                                exclude_wrap_modules: set[type[nn.Module]] | None = None) -> bool:
    """Wrap modules with at least so many elements that no module below holds. Those of `force_leaf_modules` are not
    looked into, and those of `exclude_wrap_modules`, by default lists and dicts of modules, not wrapped.

    Arguments:
        min_num_params: the number of parameters from which on a module is wrapped
        force_leaf_modules: classes whose submodules are not looked at
        exclude_wrap_modules: classes that are not wrapped

    Example:
        >>> policy = dist.fsdp.wrap.size_based_auto_wrap_policy
        >>> policy(torch.nn.Linear(1, 1), False, 2, min_num_params=100)
        False
    """
    leaves = (nn.MultiheadAttention,) if force_leaf_modules is None else tuple(force_leaf_modules)
    excluded = (nn.ModuleList, nn.ModuleDict) if exclude_wrap_modules is None else tuple(exclude_wrap_modules)
    if nonwrapped_numel < min_num_params:
        return False
    return not isinstance(module, leaves if recurse else excluded)


def _or_policy(module: nn.Module, recurse: bool, nonwrapped_numel: int, policies: Iterable[Callable]) -> bool:
    return any(policy(module=module, recurse=recurse, nonwrapped_numel=nonwrapped_numel) for policy in policies)


class _Policy(ABC):
    """A policy that knows at once which modules to wrap."""

    @abstractmethod
    def _run_policy(self, root_module: nn.Module, ignored_modules: set[nn.Module],
                    root_kwargs: dict[str, Any]) -> dict[nn.Module, dict[str, Any]]:
        """Module -> the arguments that it is wrapped with."""


class ModuleWrapPolicy(_Policy):
    """Wrap the modules of these classes.

    Arguments:
        module_classes: the classes of modules that are wrapped

    Example:
        >>> policy = dist.fsdp.wrap.ModuleWrapPolicy({torch.nn.Linear})
        >>> policy(torch.nn.Linear(1, 1), recurse=False), policy(torch.nn.ReLU(), recurse=False)
        (True, False)
    """

    def __init__(self, module_classes: Iterable[type[nn.Module]]) -> None:
        self._module_classes = set(module_classes)

    def _run_policy(self, root_module: nn.Module, ignored_modules: set[nn.Module],
                    root_kwargs: dict[str, Any]) -> dict[nn.Module, dict[str, Any]]:
        return {module: root_kwargs for module in root_module.modules()
                if module not in ignored_modules and isinstance(module, tuple(self._module_classes))}

    def __call__(self, module: nn.Module, recurse: bool, *args: Any, **kwargs: Any) -> bool:
        return _module_wrap_policy(module, recurse, -1, self._module_classes)

    def __repr__(self) -> str:
        return f"{super().__repr__()}({self._module_classes})"


class CustomPolicy(_Policy):
    """Wrap the modules for which lambda_fn(module) is True, or a dict of arguments for the wrapper.

    Example:
        >>> policy = dist.fsdp.wrap.CustomPolicy(lambda module: isinstance(module, torch.nn.Linear))
    """

    def __init__(self, lambda_fn: Callable[[nn.Module], bool | dict[str, Any]]) -> None:
        self._lambda_fn = lambda_fn

    def _run_policy(self, root_module: nn.Module, ignored_modules: set[nn.Module],
                    root_kwargs: dict[str, Any]) -> dict[nn.Module, dict[str, Any]]:
        chosen = {}
        for module in root_module.modules():
            if module in ignored_modules:
                continue
            found = self._lambda_fn(module)
            if not isinstance(found, (dict, bool)):
                raise ValueError("The lambda_fn passed to CustomPolicy should return False/True or a kwarg dict, but "
                                 f"it returned {found}")
            if found:
                chosen[module] = {**root_kwargs, **(found if isinstance(found, dict) else {})}
        return chosen


# Wrapping

def _recursive_wrap(module: nn.Module, auto_wrap_policy: Callable, wrapper_cls: Callable,
                    ignored_modules: set[nn.Module], ignored_params: set[nn.Parameter],
                    only_wrap_children: bool = False, **kwargs: Any) -> tuple[nn.Module, int]:
    """Wrap the modules below, and this one unless only those are wanted; (module, its elements that are wrapped)."""
    count = sum(each.numel() for each in module.parameters() if each not in ignored_params)
    if not auto_wrap_policy(module=module, recurse=True, nonwrapped_numel=count):
        return module, 0
    wrapped = 0
    for name, child in module.named_children():
        if child not in ignored_modules:
            made, inside = _recursive_wrap(child, auto_wrap_policy, wrapper_cls, ignored_modules, ignored_params,
                                           **kwargs)
            setattr(module, name, made)
            wrapped += inside
    if not only_wrap_children and auto_wrap_policy(module=module, recurse=False, nonwrapped_numel=count - wrapped):
        return wrapper_cls(module, **kwargs), count
    return module, wrapped


def wrap_below(module: nn.Module, policy: Any, wrapper_cls: Callable, ignored_modules: set[nn.Module],
               ignored_params: set[nn.Parameter], kwargs: dict[str, Any]) -> None:
    """Wrap what a policy chooses below a module, from the innermost on."""
    if not isinstance(policy, _Policy):
        _recursive_wrap(module, policy, wrapper_cls, ignored_modules, ignored_params, only_wrap_children=True, **kwargs)
        return
    chosen = policy._run_policy(module, ignored_modules, kwargs)
    made: dict[nn.Module, nn.Module] = {}

    def visit(parent):
        for name, child in parent.named_children():
            visit(child)
            if child in chosen:
                made[child] = made.get(child) or wrapper_cls(child, **chosen[child])
                setattr(parent, name, made[child])

    visit(module)


_wrapping: list[tuple[Callable, dict[str, Any]]] = []       # of the enable_wrap blocks under way


@contextlib.contextmanager
def enable_wrap(*, wrapper_cls: Any, **wrapper_kwargs: Any) -> Iterator[None]:
    """Let `wrap` within the block wrap modules by this class, with these arguments.

    Arguments:
        wrapper_cls: the class that modules are wrapped in, such as FullyShardedDataParallel
        **wrapper_kwargs: the arguments of that class

    Example:
        >>> wrap = dist.fsdp.wrap
        >>> with wrap.enable_wrap(wrapper_cls=dist.fsdp.FullyShardedDataParallel, device_id=torch.device("cpu")):
        ...     layer = wrap.wrap(torch.nn.Linear(2, 2))
        >>> type(layer).__name__
        'FullyShardedDataParallel'
    """
    _wrapping.append((wrapper_cls, wrapper_kwargs))
    try:
        yield
    finally:
        _wrapping.pop()


def wrap(module: nn.Module, **wrap_overrides: Any) -> nn.Module:
    """The module, wrapped where this is within enable_wrap; the arguments override those given there.

    Arguments:
        **wrap_overrides: arguments of the class that are different for this module

    Example:
        >>> type(dist.fsdp.wrap.wrap(torch.nn.Linear(2, 2))).__name__       # not within enable_wrap
        'Linear'
    """
    if not _wrapping:
        return module
    wrapper, arguments = _wrapping[-1]
    return functools.partial(wrapper, **{**arguments, **wrap_overrides})(module)


_complete_docstrings(globals(), "distributed.fsdp")
