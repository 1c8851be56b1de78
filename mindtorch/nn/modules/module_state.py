"""state_dict and load_state_dict of modules."""
from __future__ import annotations

import warnings
from collections import OrderedDict, namedtuple
from collections.abc import Mapping
from typing import Any

from mindtorch import __future__ as _future
from mindtorch._core.tensor.tensor import TensorBase
from mindtorch.autograd.grad_mode import no_grad
from mindtorch.nn.modules.module_hooks import WrappedHook, add_hook
from mindtorch.nn.parameter import Parameter, is_lazy

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ("missing_keys", "unexpected_keys"))):
    """The result of load_state_dict: missing keys and unexpected keys."""

    __slots__ = ()

    def __repr__(self) -> str:
        return super().__repr__() if self.missing_keys or self.unexpected_keys else "<All keys matched successfully>"

    __str__ = __repr__


class ModuleState:
    """The part of Module that makes and loads state dictionaries."""

    # --- hooks --------------------------------------------------------------------------------------------------------

    def _register_state_dict_hook(self, hook):
        """Call hook(module, state_dict, prefix, local_metadata) after state_dict; it may give another dictionary."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError("Cannot register the same function as the state dict post hook that was previously "
                               "registered via register_state_dict_post_hook")
        return add_hook(self._state_dict_hooks, hook)

    def register_state_dict_post_hook(self, hook: Any) -> Any:
        """Call hook(module, state_dict, prefix, local_metadata) after state_dict; it must give None."""
        hook._from_public_api = True
        return add_hook(self._state_dict_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Any) -> Any:
        """Call hook(module, prefix, keep_vars) before state_dict."""
        return add_hook(self._state_dict_pre_hooks, hook)

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        return add_hook(self._load_state_dict_pre_hooks, WrappedHook(hook, self if with_module else None))

    def register_load_state_dict_pre_hook(self, hook: Any) -> Any:
        """Call hook(module, state_dict, prefix, local_metadata, strict, missing, unexpected, errors) before loading."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook: Any) -> Any:
        """Call hook(module, incompatible_keys) after loading; it may change the two lists."""
        return add_hook(self._load_state_dict_post_hooks, hook)

    # --- state that is no tensor --------------------------------------------------------------------------------------

    def get_extra_state(self) -> Any:
        """Additional state for the state_dict. A class that defines this also defines set_extra_state."""
        raise RuntimeError("Reached a code path in Module.get_extra_state() that should never be called.")

    def set_extra_state(self, state: Any) -> Any:
        """Take back what get_extra_state gave."""
        raise RuntimeError("Reached a code path in Module.set_extra_state() that should never be called.")

    # --- writing ------------------------------------------------------------------------------------------------------

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        for name, value in self._own_state_().items():
            destination[prefix + name] = value if keep_vars else value.detach()
        if type(self).get_extra_state is not ModuleState.get_extra_state:
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def _own_state_(self):
        """Parameters and persistent buffers of this module alone."""
        found = dict(self._parameters)
        found.update((name, buffer) for name, buffer in self._buffers.items()
                     if name not in self._non_persistent_buffers_set)
        return {name: value for name, value in found.items() if value is not None}

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "",
                   keep_vars: bool = False) -> dict[str, Any]:
        """Parameters and persistent buffers of the module and those below it, by their names."""
        if args:
            destination, prefix, keep_vars = _legacy_arguments(args, destination, prefix, keep_vars)
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            found = hook(self, destination, prefix, metadata)
            if found is not None:
                if getattr(hook, "_from_public_api", False):
                    raise RuntimeError("state_dict post-hook must return None")
                destination = found
        return destination

    # --- reading ------------------------------------------------------------------------------------------------------

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
                              error_msgs):
        """Load the state of this module only; problems are added to the three lists."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        state = self._own_state_()
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, own in state.items():
            if prefix + name in state_dict:
                problem = self._load_tensor_(name, own, prefix + name, state_dict[prefix + name], assign)
                if problem is not None:
                    error_msgs.append(problem)
            elif strict:
                missing_keys.append(prefix + name)
        self._load_extra_state_(state_dict, prefix + _EXTRA_STATE_KEY_SUFFIX, strict, missing_keys, unexpected_keys)
        if strict:
            unexpected_keys.extend(self._unexpected_(state_dict, prefix, state))

    def _load_tensor_(self, name, own, key, loaded, assign):
        """Copy `loaded` into the parameter or buffer `own`, or put it in its place; gives what is wrong with it."""
        if not isinstance(loaded, TensorBase):
            return (f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from '
                    f"checkpoint but received {type(loaded)}")
        if is_lazy(own):                # and what is loaded too: LazyModuleMixin gave it a shape otherwise
            return None
        if own.dim() == 0 and tuple(loaded.shape) == (1,):        # how scalars were saved before there were any
            loaded = loaded[0]
        if loaded.shape != own.shape:
            return (f"size mismatch for {key}: copying a param with shape {loaded.shape} from checkpoint, the shape in "
                    f"current model is {own.shape}.")
        if own.is_meta and not loaded.is_meta and not assign:
            warnings.warn(f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the "
                          "current model, which is a no-op. (Did you mean to pass `assign=True` to assign items in the "
                          "state dictionary to their corresponding key in the module instead of copying them in "
                          "place?)", stacklevel=2)
        swaps = _future.get_swap_module_params_on_conversion()
        try:
            with no_grad():
                if swaps:
                    _swap_loaded(own, loaded, assign)
                elif assign:
                    setattr(self, name, _in_the_place_of(own, loaded))
                else:
                    own.copy_(loaded)
        except Exception as error:      # noqa: BLE001 - all that goes wrong is reported together
            action = "swapping" if swaps else "copying"
            return (f'While {action} the parameter named "{key}", whose dimensions in the model are {own.size()} and '
                    f"whose dimensions in the checkpoint are {loaded.size()}, an exception occurred : {error.args}.")
        return None

    def _load_extra_state_(self, state_dict, key, strict, missing_keys, unexpected_keys):
        takes = type(self).set_extra_state is not ModuleState.set_extra_state
        if takes and key in state_dict:
            self.set_extra_state(state_dict[key])
        elif takes and strict:
            missing_keys.append(key)
        elif strict and key in state_dict:
            unexpected_keys.append(key)

    def _unexpected_(self, state_dict, prefix, state):
        """Keys that begin with the prefix and belong to nothing here."""
        for key in state_dict:
            if key.startswith(prefix) and key != prefix + _EXTRA_STATE_KEY_SUFFIX:
                first, *rest = key[len(prefix):].split(".", 1)
                if first not in (self._modules if rest else state):
                    yield key

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Copy the tensors of a state_dict into this module and those below; with `assign`, take them over."""
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        metadata = getattr(state_dict, "_metadata", None)
        state_dict = OrderedDict(state_dict)              # hooks may change it
        if metadata is not None:
            state_dict._metadata = metadata
        keys, errors = _IncompatibleKeys([], []), []
        _load(self, state_dict, "", metadata or {}, assign, keys, errors)
        if strict:
            for words, names in (("Unexpected", keys.unexpected_keys), ("Missing", keys.missing_keys)):
                if names:
                    quoted = ", ".join(f'"{name}"' for name in names)
                    errors.insert(0, f"{words} key(s) in state_dict: {quoted}. ")
        if errors:
            raise RuntimeError("Error(s) in loading state_dict for {}:\n\t{}".format(
                type(self).__name__, "\n\t".join(errors)))
        return keys


def _load(module, state_dict, prefix, metadata, assign, keys, errors):
    """Load `module` and those below it; each sees the part of the state that belongs to it."""
    local = metadata.get(prefix[:-1], {})
    if assign:
        local["assign_to_params_buffers"] = assign
    module._load_from_state_dict(state_dict, prefix, local, True, keys.missing_keys, keys.unexpected_keys, errors)
    for name, child in module._modules.items():
        if child is not None:
            below = f"{prefix}{name}."
            part = {key: value for key, value in state_dict.items() if key.startswith(below)}
            _load(child, part, below, metadata, assign, keys, errors)
    for hook in module._load_state_dict_post_hooks.values():
        if hook(module, keys) is not None:
            raise AssertionError("Hooks registered with ``register_load_state_dict_post_hook`` are not expected to "
                                 "return new values, if incompatible_keys need to be modified, it should be done "
                                 "inplace.")


def _swap_loaded(own, loaded, assign):
    """Exchanges the contents of `own` with those that its module_load makes of `loaded`."""
    from mindtorch.utils._swap import swap_tensors
    made = own.module_load(loaded, assign=assign)
    if made is own or made is loaded:
        raise RuntimeError("module_load returned one of self or other, please .detach() the result if returning one of "
                           "the inputs in module_load")
    swap_tensors(own, _in_the_place_of(own, made))


def _in_the_place_of(own, loaded):
    """`loaded` as what `own` is: a parameter replaces a parameter, and keeps requires_grad."""
    if not isinstance(own, Parameter):
        return loaded
    if not isinstance(loaded, Parameter):
        return Parameter(loaded, requires_grad=own.requires_grad)
    return loaded.requires_grad_(own.requires_grad)


def _legacy_arguments(args, destination, prefix, keep_vars):
    """destination, prefix and keep_vars, of which the first were given by position."""
    warnings.warn("Positional args are being deprecated, use kwargs instead. Refer to https://pytorch.org/docs/main/"
                  "generated/torch.nn.Module.html#torch.nn.Module.state_dict for details.", FutureWarning, stacklevel=3)
    destination = args[0] if destination is None else destination
    if len(args) > 1 and prefix == "":
        prefix = args[1]
    if len(args) > 2 and keep_vars is False:
        keep_vars = args[2]
    return destination, prefix, keep_vars
