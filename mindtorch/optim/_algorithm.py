"""Base of the optimizers that update each parameter separately: options, states, single, foreach and fused steps.

An algorithm is written once, on lists (`_update`); the form decides what the lists are. Plain: one parameter after the
other. Foreach: all parameters of one device and dtype. Fused: one operator that does everything (`_fused_update`).
"""
from __future__ import annotations

import functools
from collections import defaultdict
from typing import Any

import mindtorch
from mindtorch._core.autograd.node import _set_grad_enabled, is_grad_enabled
from mindtorch._core.tensor.tensor import any_sparse
from mindtorch._tensor import Tensor
from mindtorch.autograd.grad_mode import enable_grad
from mindtorch.optim._foreach import DIFFERENTIABLE, FOREACH, PLAIN
from mindtorch.optim._step_counters import counter_values, increment, of_each, scalar_state
from mindtorch.optim.optimizer import Optimizer

_ACCELERATORS = ("npu",)
_FUSED_DEVICES = ["npu", "cpu"]
# Options that checkpoints may lack, since torch added them later.
_LATER_OPTIONS = {"momentum": 0, "centered": False, "nesterov": False, "amsgrad": False, "maximize": False,
                  "foreach": None, "capturable": False, "differentiable": False, "fused": None,
                  "decoupled_weight_decay": False}


def check(allowed: Any, message: Any) -> None:
    """A ValueError for an option that is not allowed."""
    if not allowed:
        raise ValueError(message)


def check_rate(lr: Any) -> None:
    """The checks of a learning rate that most optimizers share."""
    check_single(lr, "lr")
    check(lr >= 0.0, f"Invalid learning rate: {lr}")


def check_single(value: Any, name: str) -> None:
    """Checks that a tensor option has one element."""
    check(not isinstance(value, Tensor) or value.numel() == 1, f"Tensor {name} must be 1-element")


def check_adaptive(lr: Any, betas: Any, eps: Any, weight_decay: Any) -> None:
    """The checks that the family of Adam shares."""
    check_rate(lr)
    check(eps >= 0.0, f"Invalid epsilon value: {eps}")
    for index in (0, 1):
        check(0.0 <= betas[index] < 1.0, f"Invalid beta parameter at index {index}: {betas[index]}")
    check(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")


def to_scalar(value: Any) -> Any:
    """A tensor of one element without dimensions; any other value as it is."""
    return value.squeeze() if isinstance(value, Tensor) and value.dim() else value


def like(param: Any) -> Any:
    """A state of zeros like `param`."""
    return mindtorch.zeros_like(param)


def corrections(beta: Any, counts: Any) -> Any:
    """1 - beta**count for each parameter."""
    return of_each(lambda count: 1 - beta**count, counts)


def recorded_as_differentiable(step: Any) -> Any:
    """`step` with gradients recorded if, and only if, the optimizer is differentiable."""
    @functools.wraps(step)
    def run(self, *args, **kwargs):
        before = is_grad_enabled()
        _set_grad_enabled(self.defaults.get("differentiable", False))
        try:
            return step(self, *args, **kwargs)
        finally:
            _set_grad_enabled(before)
    return run


def evaluate(closure: Any) -> Any:
    """The loss of a closure, None without one."""
    if closure is None:
        return None
    with enable_grad():
        return closure()


def _real(state):
    return {name: mindtorch.view_as_real(value) if isinstance(value, Tensor) and value.is_complex() else value
            for name, value in state.items()}


class Algorithm(Optimizer):
    """An optimizer that updates each parameter by its own gradient and state."""

    _complex_as_real_ = True
    _counters_ = {"step": 0}     # states of one number, with their first values
    _gathers_ = True             # counters may be replaced by elements of one tensor
    _tensors_ = ()               # states like the parameter, which begin with zeros
    _instead_ = ""               # what torch's message recommends for sparse gradients
    _capturable_ = "params and state_steps"      # what a capturable step needs on the device, as torch says it

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in _LATER_OPTIONS.items():
                if name in self.defaults:
                    group.setdefault(name, value)
            for param in group["params"]:
                kept = self.state.get(param, {})
                if "step" in kept and not isinstance(kept["step"], Tensor):
                    kept["step"] = scalar_state(kept["step"], param, group)

    def _refuse_what_fused_lacks_(self, fused, foreach, differentiable):
        if not fused:
            return
        if differentiable:
            raise RuntimeError("`fused` does not support `differentiable`")
        self._step_supports_amp_scaling = True
        if foreach:
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")

    @recorded_as_differentiable
    def step(self, closure: Any = None) -> Any:
        """Change the parameters once; `closure` computes the loss anew."""
        loss = evaluate(closure)
        for group in self.param_groups:
            params = [param for param in group["params"] if param.grad is not None]
            if params:
                self._step_group_(group, params)
        return loss

    def _step_group_(self, group, params):
        if group.get("fused"):
            self._check_fused_({(param.device, param.dtype) for param in params})
        grads = [param.grad for param in params]
        if any_sparse(grads):
            self._check_sparse_(group)
        self._run_(group, params, grads, self._states_(group, params))

    def _check_sparse_(self, group):
        """RuntimeError where the algorithm takes no sparse gradients."""
        raise RuntimeError(f"{type(self).__name__} does not support sparse gradients{self._instead_}")

    @classmethod
    def _call_(cls, params, grads, columns, group, grad_scale=None, found_inf=None):
        """A step without an optimizer: `columns` are lists of the parameters' states, empty where there are none."""
        if not all(isinstance(step, Tensor) for step in columns.get("step", ())):
            raise RuntimeError("API has changed, `state_steps` argument must contain a list of singleton tensors")
        if not group.get("fused") and not (grad_scale is None and found_inf is None):
            raise AssertionError("Expected grad_scale and found_inf to be None")
        columns = {name: tensors for name, tensors in columns.items() if len(tensors)}
        states = [{name: tensors[index] for name, tensors in columns.items()} for index in range(len(params))]
        self = cls.__new__(cls)
        self._gathers_, self.grad_scale, self.found_inf = False, grad_scale, found_inf
        if params:
            self._run_(group, params, grads, states)
        for name, tensors in columns.items():
            if any(tensor is None for tensor in tensors):       # SGD's first momenta
                tensors[:] = [state[name] for state in states]

    def _run_(self, group, params, grads, states):
        """One step of parameters whose states are there, in the form that the group asks for."""
        kinds = {(param.device, param.dtype) for param in params}
        fused = group.get("fused")
        if group.get("capturable"):
            self._check_capturable_(params, states)
        foreach = False if fused or any_sparse(grads) else self._takes_foreach_(group, kinds)
        if foreach and group.get("differentiable"):
            raise AssertionError("_foreach ops don't support autograd")
        counts = self._count_(group, states)
        if self._complex_as_real_ and any(dtype.is_complex for _, dtype in kinds):
            params, grads, states = self._view_as_real_(params, grads, states)
        columns = params, grads, states, counts
        if fused:
            for part in self._by_kind_(columns, kinds):
                self._fused_update_(group, *part)
        elif foreach:
            for part in self._by_kind_(columns, kinds):
                self._follow_(FOREACH, group, *part)
        else:
            ops = DIFFERENTIABLE if group.get("differentiable") else PLAIN
            for row in zip(*columns, strict=True):
                self._follow_(ops, group, *([item] for item in row))

    @staticmethod
    def _by_kind_(columns, kinds):
        """The columns of each device and dtype; with one kind, that is as they are."""
        if len(kinds) == 1:
            return [columns]
        rows = defaultdict(list)        # complex parameters may have become real ones
        for row in zip(*columns, strict=True):
            rows[row[0].device, row[0].dtype].append(row)
        return [map(list, zip(*part, strict=True)) for part in rows.values()]

    @staticmethod
    def _takes_foreach_(group, kinds):
        """The group's setting; by default foreach on an accelerator, where launches are expensive."""
        if group["foreach"] is not None or group.get("fused") is not None:
            return bool(group["foreach"])
        return not group["differentiable"] and all(device.type in _ACCELERATORS for device, _ in kinds)

    @staticmethod
    def _check_fused_(kinds):
        for device, dtype in kinds:
            if device.type not in _FUSED_DEVICES or not dtype.is_floating_point:
                raise RuntimeError("`fused=True` requires all the params to be floating point Tensors of supported "
                                   f"devices: {_FUSED_DEVICES} but {dtype} and {device.type}")

    def _check_capturable_(self, params, states):
        for param, state in zip(params, states, strict=True):
            place = param.device.type
            if place not in _ACCELERATORS or any(state[name].device.type != place for name in self._counters_):
                raise AssertionError(f"If capturable=True, {self._capturable_} must be on supported devices: "
                                     f"{list(_ACCELERATORS)}.")

    @staticmethod
    def _view_as_real_(params, grads, states):
        def real(tensor):
            return mindtorch.view_as_real(tensor) if tensor.is_complex() else tensor
        return list(map(real, params)), list(map(real, grads)), list(map(_real, states))

    def _states_(self, group, params):
        states = [self.state[param] for param in params]
        for param, state in zip(params, states, strict=True):
            if not state:
                self._start_(state, param, group)
        return states

    def _start_(self, state, param, group):
        """Fill the state of a parameter that is seen for the first time."""
        for name, value in self._counters_.items():
            state[name] = scalar_state(value, param, group)
        for name in self._tensors_:
            state[name] = like(param)

    def _count_(self, group, states):
        """Increment the counters and return each parameter's; a fused operator reads the counters itself."""
        if not self._counters_:
            return [None] * len(states)
        steps, base = increment(states, self._gathers_)
        return steps if group.get("fused") else counter_values(steps, base, group.get("capturable"))

    def _follow_(self, ops, group, params, grads, states, counts):
        """One step in the form that `ops` has; `counts` are the steps so far."""
        lr = self._rate_(group)
        self._update_(ops, group, lr, params, self._gradients_(ops, group, params, grads, lr), states, counts)

    def _update_(self, ops, group, lr, params, grads, states, counts):
        """Change `params` and `states`, which are lists, with the operators of `ops`."""
        raise NotImplementedError

    def _fused_update_(self, group, params, grads, states, steps):
        """The same with one operator for all; `steps` are the counters."""
        raise NotImplementedError

    def _rate_(self, group):
        """The learning rate: a number, or a tensor where its value must not be read on the host."""
        lr = group["lr"]
        if not isinstance(lr, Tensor):
            return lr
        return to_scalar(lr) if lr.requires_grad or group.get("capturable") else lr.item()

    def _gradients_(self, ops, group, params, grads, lr):
        """The gradients to follow: of what is to be maximized negated, with the decay of the weights in them."""
        if group.get("maximize"):
            grads = ops.neg(grads)
        decay = group.get("weight_decay", 0)
        if isinstance(decay, Tensor) and not decay.requires_grad:
            decay = decay.item()
        if isinstance(decay, Tensor):
            return ops.add(grads, ops.mul(params, decay))
        if decay == 0:
            return grads
        if group.get("decoupled_weight_decay"):
            ops.mul_(params, 1 - lr * decay)
            return grads
        return ops.add(grads, params, alpha=decay)
