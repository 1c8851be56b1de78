"""Hooks around a module's forward and backward, of one module and of all."""
from __future__ import annotations

import functools
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mindtorch._core.tensor.tensor import TensorBase
from mindtorch.utils.hooks import BackwardHook, RemovableHandle

if TYPE_CHECKING:
    from mindtorch import Tensor
    from mindtorch.nn.modules.module import Module

NOT_BOTH = "Cannot use both regular backward hooks and full backward hooks as a {}. Please use only one of them."


class _GlobalHooks:
    """The hooks of all modules, by torch's names."""

    def __init__(self) -> None:
        self.forward_pre_hooks, self.forward_hooks = OrderedDict(), OrderedDict()
        self.forward_hooks_with_kwargs, self.forward_hooks_always_called = OrderedDict(), OrderedDict()
        self.backward_pre_hooks, self.backward_hooks = OrderedDict(), OrderedDict()
        self.is_full_backward_hook = None             # what backward_hooks holds; None before the first one
        self.buffer_registration_hooks, self.module_registration_hooks = OrderedDict(), OrderedDict()
        self.parameter_registration_hooks = OrderedDict()


GLOBAL = _GlobalHooks()


class WrappedHook:
    """A hook that is given the module it belongs to, without keeping the module alive."""

    def __init__(self, hook: Any, module: Module | None = None) -> None:
        self.hook = hook
        functools.update_wrapper(self, hook)
        self.with_module = module is not None
        if self.with_module:
            self.module = weakref.ref(module)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self) -> Any:
        state = {"hook": self.hook, "with_module": self.with_module}
        if self.with_module:
            state["module"] = self.module()
        return state

    def __setstate__(self, state: Any) -> None:
        self.hook, self.with_module = state["hook"], state["with_module"]
        if self.with_module:
            if state["module"] is None:
                raise RuntimeError("You are trying to revive the hook of a dead Module!")
            self.module = weakref.ref(state["module"])


def add_hook(hooks: Any, hook: Any, prepend: bool = False, flags: Any = ()) -> Any:
    """Register `hook`; each of `flags` is (dictionary, whether the hook has that property)."""
    handle = RemovableHandle(hooks, extra_dict=[flagged for flagged, _ in flags])
    hooks[handle.id] = hook
    for flagged, wanted in flags:
        if wanted:
            flagged[handle.id] = True
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def call_registration_hooks(hooks: Any, module: Module, name: str, value: Tensor) -> Any:
    """The object to register under `name`: `value`, or what hooks return in its place."""
    for hook in hooks.values():
        output = hook(module, name, value)
        if output is not None:
            value = output
    return value


# --- hooks of all modules --------------------------------------------------------------------------------------------

def register_module_buffer_registration_hook(hook: Callable[..., None]) -> RemovableHandle:
    """Call hook(module, name, buffer) whenever a module registers a buffer; a result replaces the buffer.

    Arguments:
        hook: the function; what it is called with is said above

    Example:
        >>> show = lambda module, name, buffer: print(name)
        >>> handle = torch.nn.modules.module.register_module_buffer_registration_hook(show)
        >>> torch.nn.Module().register_buffer("mean", torch.zeros(2))
        mean
        >>> handle.remove()
    """
    return add_hook(GLOBAL.buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Callable[..., None]) -> RemovableHandle:
    """Call hook(module, name, submodule) whenever a module registers another; a result replaces it.

    Arguments:
        hook: the function; what it is called with is said above

    Example:
        >>> show = lambda module, name, submodule: print(name, submodule)
        >>> handle = torch.nn.modules.module.register_module_module_registration_hook(show)
        >>> model = torch.nn.Module()
        >>> model.activation = torch.nn.ReLU()
        activation ReLU()
        >>> handle.remove()
    """
    return add_hook(GLOBAL.module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook: Callable[..., None]) -> RemovableHandle:
    """Call hook(module, name, parameter) whenever a module registers a parameter; a result replaces it.

    Arguments:
        hook: the function; what it is called with is said above

    Example:
        >>> show = lambda module, name, parameter: print(name)
        >>> handle = torch.nn.modules.module.register_module_parameter_registration_hook(show)
        >>> model = torch.nn.Linear(2, 1)
        weight
        bias
        >>> handle.remove()
    """
    return add_hook(GLOBAL.parameter_registration_hooks, hook)


def register_module_forward_pre_hook(hook: Callable[..., None]) -> RemovableHandle:
    """Call hook(module, args) before the forward of any module.

    Arguments:
        hook: the function; what it is called with is said above

    Example:
        >>> show = lambda module, args: print(type(module).__name__, args)
        >>> handle = torch.nn.modules.module.register_module_forward_pre_hook(show)
        >>> _ = torch.nn.ReLU()(torch.tensor([-1.0, 1.0]))
        ReLU (tensor([-1.,  1.]),)
        >>> handle.remove()
    """
    return add_hook(GLOBAL.forward_pre_hooks, hook)


def register_module_forward_hook(hook: Callable[..., None], *, with_kwargs: bool = False,
                                 always_call: bool = False) -> RemovableHandle:
    """Call hook(module, args, output) after the forward of any module.

    Arguments:
        hook: the function; what it is called with is said above
        with_kwargs: whether the hook gets the arguments by name as well
        always_call: whether the hook runs after an exception too

    Example:
        >>> show = lambda module, args, output: print(type(module).__name__, output)
        >>> handle = torch.nn.modules.module.register_module_forward_hook(show)
        >>> _ = torch.nn.ReLU()(torch.tensor([-1.0, 1.0]))
        ReLU tensor([0., 1.])
        >>> handle.remove()
    """
    return add_hook(GLOBAL.forward_hooks, hook, False, ((GLOBAL.forward_hooks_with_kwargs, with_kwargs),
                                                  (GLOBAL.forward_hooks_always_called, always_call)))


def register_module_backward_hook(hook: Any) -> RemovableHandle:
    """Call hook(module, grad_input, grad_output) for the last node of any module; full hooks are better.

    Arguments:
        hook: the function; what it is called with is said above

    Example:
        >>> show = lambda module, grad_input, grad_output: print(type(module).__name__, grad_output)
        >>> handle = torch.nn.modules.module.register_module_backward_hook(show)
        >>> layer = torch.nn.ReLU()
        >>> layer(torch.ones(2, requires_grad=True)).sum().backward()
        ReLU (tensor([1., 1.]),)
        >>> handle.remove()
    """
    if GLOBAL.is_full_backward_hook is True:
        raise RuntimeError(NOT_BOTH.format("global Module hook"))
    GLOBAL.is_full_backward_hook = False
    return add_hook(GLOBAL.backward_hooks, hook)


def register_module_full_backward_pre_hook(hook: Any) -> RemovableHandle:
    """Call hook(module, grad_output) before the backward of any module.

    Arguments:
        hook: the function; what it is called with is said above

    Example:
        >>> show = lambda module, grad_output: print(type(module).__name__, grad_output)
        >>> handle = torch.nn.modules.module.register_module_full_backward_pre_hook(show)
        >>> layer = torch.nn.ReLU()
        >>> layer(torch.ones(2, requires_grad=True)).sum().backward()
        ReLU (tensor([1., 1.]),)
        >>> handle.remove()
    """
    return add_hook(GLOBAL.backward_pre_hooks, hook)


def register_module_full_backward_hook(hook: Any) -> RemovableHandle:
    """Call hook(module, grad_input, grad_output) after the backward of any module.

    Arguments:
        hook: the function; what it is called with is said above

    Example:
        >>> show = lambda module, grad_input, grad_output: print(type(module).__name__, grad_input)
        >>> handle = torch.nn.modules.module.register_module_full_backward_hook(show)
        >>> layer = torch.nn.ReLU()
        >>> layer(torch.tensor([-1.0, 1.0], requires_grad=True)).sum().backward()
        ReLU (tensor([0., 1.]),)
        >>> handle.remove()
    """
    if GLOBAL.is_full_backward_hook is False:
        raise RuntimeError(NOT_BOTH.format("global Module hook"))
    GLOBAL.is_full_backward_hook = True
    return add_hook(GLOBAL.backward_hooks, hook)


# --- a call with hooks -----------------------------------------------------------------------------------------------

class _HookedCall:
    """One call of a module that has hooks around it."""

    def __init__(self, module: Module, args: Any, kwargs: Any) -> None:
        self.module, self.args, self.kwargs = module, args, kwargs
        self.result = None
        self.called = set()              # ids of the hooks marked always_call that were called

    def run(self) -> Any:
        """Forward between its hooks."""
        module = self.module
        pre_hooks = module._get_backward_pre_hooks()
        full_hooks, plain_hooks = module._get_backward_hooks()
        self.forward_pre_hooks()
        backward = BackwardHook(module, full_hooks, pre_hooks) if full_hooks or pre_hooks else None
        if backward is not None:
            self.args = backward.setup_input_hook(self.args)
        self.result = module.forward(*self.args, **self.kwargs)
        self.forward_hooks()
        if backward is not None:
            self.backward_through(backward)
        if plain_hooks:
            self.plain_backward_hooks(plain_hooks)
        return self.result

    def forward_pre_hooks(self) -> None:
        """Let the hooks before forward see its arguments, or change them."""
        module = self.module
        for number, hook in (*GLOBAL.forward_pre_hooks.items(), *module._forward_pre_hooks.items()):
            if number not in module._forward_pre_hooks_with_kwargs:
                found = hook(module, self.args)
                if found is not None:
                    self.args = found if isinstance(found, tuple) else (found,)
                continue
            found = hook(module, self.args, self.kwargs)
            if found is not None:
                if not isinstance(found, tuple) or len(found) != 2:
                    raise RuntimeError("forward pre-hook must return None or a tuple of (new_args, new_kwargs), but "
                                       f"got {found}.")
                self.args, self.kwargs = found

    def forward_hooks(self) -> None:
        """Let the hooks after forward see its result, or change it."""
        module = self.module
        for number, hook in (*GLOBAL.forward_hooks.items(), *module._forward_hooks.items()):
            if self.always(number):
                self.called.add(number)
            self.forward_hook(number, hook)

    def always(self, number: Any) -> Any:
        """Whether a hook is called after an exception too."""
        return number in GLOBAL.forward_hooks_always_called or number in self.module._forward_hooks_always_called

    def forward_hook(self, number: Any, hook: Any) -> None:
        """Call one of them."""
        module = self.module
        if number in GLOBAL.forward_hooks_with_kwargs or number in module._forward_hooks_with_kwargs:
            found = hook(module, self.args, self.kwargs, self.result)
        else:
            found = hook(module, self.args, self.result)
        if found is not None:
            self.result = found

    def after_exception(self) -> None:
        """Call the remaining hooks with always_call; their exceptions become warnings."""
        for kind, hooks in (("global module", GLOBAL.forward_hooks), ("module", self.module._forward_hooks)):
            for number, hook in hooks.items():
                if number in self.called or not self.always(number):
                    continue
                try:
                    self.forward_hook(number, hook)
                except Exception as error:      # noqa: BLE001 - the exception of forward matters more
                    warnings.warn(f"{kind} forward hook with ``always_call=True`` raised an exception that was "
                                  f"silenced as another error was raised in forward: {error}", stacklevel=2)

    def backward_through(self, backward: Any) -> None:
        """Make the result lead backward through the full hooks."""
        if not isinstance(self.result, (TensorBase, tuple)):
            warnings.warn("For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but "
                          f"received {type(self.result)}", stacklevel=2)
        self.result = backward.setup_output_hook(self.result)

    def plain_backward_hooks(self, hooks: Any) -> None:
        """Hang hooks that are not full on the node of the (first) result."""
        found = self.result
        while not isinstance(found, TensorBase):
            if isinstance(found, dict):
                found = next(value for value in found.values() if isinstance(value, TensorBase))
            else:
                found = found[0]
        if found.grad_fn is not None:
            for hook in hooks:
                found.grad_fn.register_hook(WrappedHook(hook, self.module))
            missed = _missed_by_plain_hooks(self.args, self.result, found.grad_fn)
            if missed:
                warnings.warn(missed, FutureWarning, stacklevel=2)


def _tensors(values):
    """`values` as a tuple of tensors, or None where it is something else."""
    if isinstance(values, TensorBase):
        return (values,)
    return values if isinstance(values, tuple) and all(isinstance(v, TensorBase) for v in values) else None


def _missed_by_plain_hooks(args, result, grad_fn):
    """The warning about what a hook on the node of the result does not see, or None."""
    results, inputs = _tensors(result), _tensors(args)
    if results is None:
        return _deprecation("hooks on a Module that does not return a single Tensor or a tuple of Tensors",
                            "of the grad_output")
    if inputs is None:
        return _deprecation("hooks on a Module that does not take as input a single Tensor or a tuple of Tensors",
                            "of the grad_input")
    nodes = {tensor.grad_fn for tensor in results if tensor.grad_fn is not None}
    if len(nodes) > 1:
        return _deprecation("hook when outputs are generated by different autograd Nodes", "grad_output")
    if grad_fn not in nodes:
        return _deprecation("hook when outputs are nested in python data structure", "grad_output", "")
    if ({tensor.grad_fn for tensor in inputs if tensor.grad_fn is not None}
            != {edge[0] for edge in grad_fn.next_functions}):
        return _deprecation("hook when the forward contains multiple autograd Nodes", "grad_input")
    return None


def _deprecation(use, part, advice=" Please use register_full_backward_hook to get the documented behavior."):
    kind = "Using non-full backward " if use.startswith("hooks") else "Using a non-full backward "
    return f"{kind}{use} is deprecated and will be removed in future versions. This hook will be missing some " \
           f"{part}.{advice}"


class ModuleHooks:
    """The part of Module that runs hooks around a call."""

    def register_full_backward_pre_hook(self, hook: Any, prepend: bool = False) -> Any:
        """Call hook(module, grad_output) before the gradients of the module's inputs are computed."""
        return add_hook(self._backward_pre_hooks, hook, prepend)

    def register_backward_hook(self, hook: Any) -> Any:
        """Call hook(module, grad_input, grad_output) for the last node of the module; full hooks are better."""
        if self._is_full_backward_hook is True:
            raise RuntimeError(NOT_BOTH.replace("as a {}", "on a single Module"))
        self._is_full_backward_hook = False
        return add_hook(self._backward_hooks, hook)

    def register_full_backward_hook(self, hook: Any, prepend: bool = False) -> Any:
        """Call hook(module, grad_input, grad_output) when the gradients of the module's inputs are known."""
        if self._is_full_backward_hook is False:
            raise RuntimeError(NOT_BOTH.replace("as a {}", "on a single Module"))
        self._is_full_backward_hook = True
        return add_hook(self._backward_hooks, hook, prepend)

    def register_forward_pre_hook(self, hook: Any, *, prepend: bool = False, with_kwargs: bool = False) -> Any:
        """Call hook(module, args[, kwargs]) before forward; its result replaces the arguments."""
        return add_hook(self._forward_pre_hooks, hook, prepend, ((self._forward_pre_hooks_with_kwargs, with_kwargs),))

    def register_forward_hook(self, hook: Any, *, prepend: bool = False, with_kwargs: bool = False,
                              always_call: bool = False) -> Any:
        """Call hook(module, args[, kwargs], output) after forward; its result replaces the output."""
        return add_hook(self._forward_hooks, hook, prepend, ((self._forward_hooks_with_kwargs, with_kwargs),
                                                             (self._forward_hooks_always_called, always_call)))

    def _get_backward_hooks(self):
        """The full hooks and the others."""
        found = {True: [], False: [], None: []}
        found[GLOBAL.is_full_backward_hook] += GLOBAL.backward_hooks.values()
        found[self._is_full_backward_hook] += self._backward_hooks.values()
        return found[True], found[False]

    def _get_backward_pre_hooks(self):
        return [*GLOBAL.backward_pre_hooks.values(), *self._backward_pre_hooks.values()]

    def _call_impl(self, *args, **kwargs):
        if not (self._forward_hooks or self._forward_pre_hooks or self._backward_hooks or self._backward_pre_hooks
                or GLOBAL.forward_hooks or GLOBAL.forward_pre_hooks or GLOBAL.backward_hooks
                or GLOBAL.backward_pre_hooks):
            return self.forward(*args, **kwargs)
        call = _HookedCall(self, args, kwargs)
        try:
            return call.run()
        except Exception:
            call.after_exception()
            raise

    __call__ = _call_impl
