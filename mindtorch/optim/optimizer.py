"""torch.optim.optimizer: the base of all optimizers."""
from __future__ import annotations

import functools
import inspect
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any, Self, TypeAlias

import mindtorch
from mindtorch._core.python.profiling import begin_user_range, end_user_range
from mindtorch._core.tensor.tensor import any_sparse
from mindtorch._tensor import Tensor
from mindtorch.utils.hooks import RemovableHandle

ParamsT: TypeAlias = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]

_global_pre_hooks = OrderedDict()
_global_post_hooks = OrderedDict()
_HOOKS = ("step_pre", "step_post", "state_dict_pre", "state_dict_post", "load_state_dict_pre", "load_state_dict_post")


class _RequiredParameter:
    """The default of an option that every group has to give."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _RequiredParameter()


def _typename(value):
    """The name of a value's type, as torch writes it in messages."""
    if isinstance(value, Tensor):
        return value.type()
    named = value if inspect.isclass(value) or inspect.isroutine(value) else type(value)
    module = getattr(named, "__module__", None)
    return named.__qualname__ if module in (None, "builtins") else f"{module}.{named.__qualname__}"


def _add_hook(hooks, hook, prepend=False):
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_optimizer_step_pre_hook(hook: Any) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` before the step of every optimizer; it may return other arguments.

    Arguments:
        hook: the function: (optimizer, args, kwargs)

    Example:
        >>> show = lambda optimizer, args, kwargs: print("step of", type(optimizer).__name__)
        >>> handle = torch.optim.optimizer.register_optimizer_step_pre_hook(show)
        >>> torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1).step()
        step of SGD
        >>> handle.remove()
    """
    return _add_hook(_global_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Any) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` after the step of every optimizer.

    Arguments:
        hook: the function: (optimizer, args, kwargs)

    Example:
        >>> show = lambda optimizer, args, kwargs: print("step of", type(optimizer).__name__)
        >>> handle = torch.optim.optimizer.register_optimizer_step_post_hook(show)
        >>> torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1).step()
        step of SGD
        >>> handle.remove()
    """
    return _add_hook(_global_post_hooks, hook)


class Optimizer:
    """Holds groups of parameters with their options, and the state that an algorithm keeps for each parameter.

    Arguments:
        defaults: the options of groups that have none of their own

    Example:
        >>> net = nn.Linear(2, 1)
        >>> groups = [{"params": [net.weight], "weight_decay": 0.1}, {"params": [net.bias]}]
        >>> optimizer = torch.optim.SGD(groups, lr=0.1)
        >>> [group["weight_decay"] for group in optimizer.param_groups]
        [0.1, 0]
    """

    OptimizerPreHook: TypeAlias = Callable[[Self, tuple[Any, ...], dict[str, Any]],
                                           tuple[tuple[Any, ...], dict[str, Any]] | None]
    OptimizerPostHook: TypeAlias = Callable[[Self, tuple[Any, ...], dict[str, Any]], None]

    def __init__(self, params: ParamsT, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._make_hooks_()
        self._patch_step_function()
        if isinstance(params, Tensor):
            raise TypeError("params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                            + _typename(params))
        self.state = defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def _make_hooks_(self):
        for name in _HOOKS:
            self.__dict__.setdefault(f"_optimizer_{name}_hooks", OrderedDict())
        kind = type(self).__name__
        self._step_profile_name_ = f"Optimizer.step#{kind}.step"
        self._zero_grad_profile_name = f"Optimizer.zero_grad#{kind}.zero_grad"

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._make_hooks_()
        self._patch_step_function()

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for index, group in enumerate(self.param_groups):
            text += f"\nParameter Group {index}\n"
            text += "".join(f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params")
        return text + ")"

    # Hooks.

    @staticmethod
    def profile_hook_step(func: Any) -> Any:
        """`func`, a step method, with the step hooks around it, in a range of profiles."""
        @functools.wraps(func)
        def step(*args, **kwargs):
            opened = begin_user_range(args[0]._step_profile_name_)
            try:
                return hooked(*args, **kwargs)
            finally:
                end_user_range(opened)

        def hooked(*args, **kwargs):
            self = args[0]
            if _global_pre_hooks or self._optimizer_step_pre_hooks:
                for hook in chain(_global_pre_hooks.values(), self._optimizer_step_pre_hooks.values()):
                    result = hook(self, args, kwargs)
                    if result is None:
                        continue
                    if not (isinstance(result, tuple) and len(result) == 2):
                        raise RuntimeError(
                            f"{func} must return None or a tuple of (new_args, new_kwargs), but got {result}.")
                    args, kwargs = result
            out = func(*args, **kwargs)
            if _global_post_hooks or self._optimizer_step_post_hooks:
                for hook in chain(self._optimizer_step_post_hooks.values(), _global_post_hooks.values()):
                    hook(self, args, kwargs)
            return out
        return step

    def _patch_step_function(self):
        """Whoever derives from Optimizer writes a plain `step`: the class gets the hooks with its first instance."""
        cls = type(self)
        if not getattr(cls.step, "hooked", False):
            cls.step = self.profile_hook_step(cls.step)
            cls.step.hooked = True

    def register_step_pre_hook(self, hook: Any) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before each step; it may return other arguments."""
        return _add_hook(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Any) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after each step."""
        return _add_hook(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[[Optimizer], None], prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` before state_dict."""
        return _add_hook(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Any, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` after state_dict; it may return another one."""
        return _add_hook(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Any, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` before load_state_dict; it may return another one."""
        return _add_hook(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[[Optimizer], None],
                                           prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` after load_state_dict."""
        return _add_hook(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    # State.

    def state_dict(self) -> Any:
        """The state and the groups, with numbers in the place of parameters; tensors are not copied."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers, groups = {}, []
        for group in self.param_groups:
            for param in group["params"]:
                numbers.setdefault(id(param), len(numbers))
            packed = {key: value for key, value in group.items() if key != "params"}
            packed["params"] = [numbers[id(param)] for param in group["params"]]
            groups.append(packed)
        state = {numbers[id(key)] if isinstance(key, Tensor) else key: value for key, value in self.state.items()}
        result = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, result)
            result = result if changed is None else changed
        return result

    @staticmethod
    def _process_value_according_to_param_policy(param, value, param_id, param_groups, key=None):
        """A loaded tensor with the device and the dtype that `param` asks for; step counters keep theirs."""
        if key == "step":
            group = next((group for group in param_groups if param_id in group["params"]), {})
            if group.get("capturable") or group.get("fused"):
                return value.to(dtype=mindtorch.float32, device=param.device)
            return value
        if param.is_floating_point():
            return value.to(dtype=param.dtype, device=param.device)
        return value.to(device=param.device)

    def _cast_loaded_(self, param, value, param_id, param_groups, key=None):
        """A loaded value for `param`: containers are copied, what lies in them is adapted."""
        if isinstance(value, Tensor):
            return self._process_value_according_to_param_policy(param, value, param_id, param_groups, key)
        if isinstance(value, dict):
            return {name: self._cast_loaded_(param, item, param_id, param_groups, name) for name, item in value.items()}
        if isinstance(value, Iterable) and not isinstance(value, str):
            return type(value)(self._cast_loaded_(param, item, param_id, param_groups) for item in value)
        return value

    def load_state_dict(self, state_dict: Any) -> None:
        """Take the state and the options that `state_dict` (of a like optimizer) holds."""
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        saved = deepcopy(state_dict["param_groups"])
        if len(self.param_groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        params = {}
        for group, loaded in zip(self.param_groups, saved, strict=True):
            if len(group["params"]) != len(loaded["params"]):
                raise ValueError("loaded state dict contains a parameter group that doesn't match the size of "
                                 "optimizer's group")
            params.update(zip(loaded["params"], group["params"], strict=True))
        state = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in params:
                state[params[key]] = self._cast_loaded_(params[key], value, key, state_dict["param_groups"])
            else:
                state[key] = value
        for group, loaded in zip(self.param_groups, saved, strict=True):
            loaded["params"] = group["params"]
            if "param_names" in group:
                loaded.setdefault("param_names", group["param_names"])
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients, or fill them with zeros."""
        opened = begin_user_range(self._zero_grad_profile_name)
        try:
            self._zero_grad_(set_to_none)
        finally:
            end_user_range(opened)

    def _zero_grad_(self, set_to_none):
        params = [param for group in self.param_groups for param in group["params"]]
        if set_to_none:
            for param in params:
                param.grad = None
            return
        grads = [param.grad for param in params if param.grad is not None]
        for grad in grads:
            if grad.grad_fn is not None:
                grad.detach_()
            else:
                grad.requires_grad_(False)
        if (self.defaults.get("foreach") or self.defaults.get("fused")) and not any_sparse(grads):
            if grads:
                mindtorch._foreach_zero_(grads)
        else:
            for grad in grads:
                grad.zero_()

    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        """Change the parameters once; `closure` computes the loss anew."""
        raise NotImplementedError

    # Groups.

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Optimize further parameters, with options of their own."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        self._list_params_(param_group)
        for param in param_group["params"]:
            if not isinstance(param, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {_typename(param)}")
            if not self.defaults.get("differentiable") and not (param.is_leaf or param.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        params = set(param_group["params"])
        if len(params) != len(param_group["params"]):
            warnings.warn("optimizer contains a parameter group with duplicate parameters; in future, this will cause "
                          "an error; see github.com/pytorch/pytorch/issues/40967 for more information", stacklevel=3)
        for group in self.param_groups:
            if ("param_names" in param_group) != ("param_names" in group):
                kind = "with names" if "param_names" in param_group else "without names"
                raise ValueError("all optimizer param groups should be with/without names. "
                                 f"cannot add param group {kind} to the optimizer")
            if not params.isdisjoint(group["params"]):
                raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    @staticmethod
    def _list_params_(param_group):
        """Make the group's parameters a list of tensors, and its names, where they are given, a list of their own."""
        params = param_group["params"]
        if isinstance(params, set):
            raise TypeError("optimizer parameters need to be organized in ordered collections, but the ordering of "
                            "tensors in sets will change between runs. Please use a list instead.")
        params = [params] if isinstance(params, Tensor) else list(params)
        names = [param[0] for param in params if isinstance(param, tuple)]
        param_group["params"] = [param[1] if isinstance(param, tuple) else param for param in params]
        if names:
            if len(names) != len(params):
                raise ValueError("all optimizer params should be with/without names. Some param names are missing")
            param_group["param_names"] = names


# Names that optimizers of other packages import. `differentiable` and compiled steps need nothing of them here.

StateDict: TypeAlias = dict[str, Any]
ParamsT: TypeAlias = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]
DeviceDict = dict


def _use_grad_for_differentiable(func):
    """A decorator of `step`: gradients are recorded within it only where the optimizer is `differentiable`."""
    @functools.wraps(func)
    def step(*args, **kwargs):
        before = mindtorch.is_grad_enabled()
        try:
            mindtorch.set_grad_enabled(args[0].defaults["differentiable"])
            return func(*args, **kwargs)
        finally:
            mindtorch.set_grad_enabled(before)
    return step


def _disable_dynamo_if_unsupported(single_tensor_fn=None):
    """A decorator that changes nothing."""
    return lambda function: function


def _get_value(x):
    """The number in a tensor with one element; numbers as they are."""
    return x.item() if isinstance(x, Tensor) else x


def _stack_if_compiling(x):
    """`x`: nothing is compiled."""
    return x


def _view_as_real(params, *state_and_grads):
    """Complex parameters, and the lists of tensors that go with them, become views as real numbers, in place."""
    for i, param in enumerate(params):
        if mindtorch.is_complex(param):
            params[i] = mindtorch.view_as_real(param)
            for tensors in state_and_grads:
                tensors[i] = mindtorch.view_as_real(tensors[i])


def _get_capturable_supported_devices(supports_xla=True):
    """The types of devices whose steps a graph can capture."""
    return ["npu"]


def _default_to_fused_or_foreach(params, differentiable, use_fused=False):
    """(fused, foreach) that suit the parameters: lists on the NPU, single tensors elsewhere."""
    on_npu = not differentiable and all(type(param) in (Tensor, mindtorch.nn.Parameter) and param.is_npu
                                        for param in params)
    fused = use_fused and on_npu and all(param.is_floating_point() for param in params)
    return fused, on_npu and not fused
