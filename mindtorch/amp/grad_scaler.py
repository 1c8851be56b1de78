"""torch.amp.grad_scaler: losses are scaled up so that their float16 gradients do not vanish, steps scaled down again.

The scale grows while gradients stay finite and shrinks where they do not, in which case the step is left out.
"""
from __future__ import annotations

import warnings
from collections import abc, defaultdict
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import mindtorch
from mindtorch._core.tensor.dtype import float16, float32, int32
from mindtorch._tensor import Tensor
from mindtorch.autograd.grad_mode import no_grad

if TYPE_CHECKING:
    from mindtorch.optim.optimizer import Optimizer

__all__ = ["GradScaler", "OptState"]


_Outputs = TypeVar("_Outputs")


class OptState(Enum):
    """The state of an optimizer since the last update()."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _finite_checked(param):
    """The gradient, or of a sparse one the values: of float16 coalesced, since sums may overflow."""
    if not param.grad.is_sparse:
        return param.grad
    if param.grad.dtype is float16:
        param.grad = param.grad.coalesce()
    return param.grad._values()


def _refresh_per_optimizer_state():
    return {"stage": OptState.READY, "found_inf_per_device": {}}


class GradScaler:
    """Scales losses, gradients back, and adapts the scale: `scale`, `step` and `update` once an iteration.

    It begins with `init_scale`, which is multiplied by `growth_factor` after `growth_interval` steps in a row without
    infinities and NaN, and by `backoff_factor` after a step with some. Disabled, it passes everything through.

    Arguments:
        device: the type of the device

    Example:
        >>> w = torch.ones(2, device="npu", requires_grad=True)
        >>> optimizer = torch.optim.SGD([w], lr=0.5)
        >>> scaler = torch.amp.GradScaler("npu", init_scale=8.0)
        >>> scaler.scale((w * w).sum()).backward()
        >>> w.grad
        tensor([16., 16.], device='npu:0')
        >>> scaler.step(optimizer)
        >>> scaler.update()
        >>> w.detach()
        tensor([0., 0.], device='npu:0')
    """

    def __init__(self, device: str = "cuda", init_scale: float = 2.0 ** 16, growth_factor: float = 2.0,
                 backoff_factor: float = 0.5, growth_interval: int = 2000, enabled: bool = True) -> None:
        self._device = device
        self._enabled = enabled
        if enabled and device == "cuda" == mindtorch.device(device).type:
            warnings.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2)
            self._enabled = False
        if not self._enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale = init_scale
        self._scale = None                      # a tensor, made by the first scale()
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._init_growth_tracker = 0
        self._growth_tracker = None             # how many steps in a row were finite
        self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    def _check_scale_growth_tracker(self, funcname):
        for name in ("_scale", "_growth_tracker"):
            if getattr(self, name) is None:
                raise AssertionError(f"Attempted {funcname} but {name} is None.  This may indicate your script did "
                                     "not use scaler.scale(loss or outputs) earlier in the iteration.")
        return self._scale, self._growth_tracker

    def _lazy_init_scale_growth_tracker(self, dev):
        if self._growth_tracker is not None:
            raise AssertionError("_growth_tracker initialized before _scale")
        self._scale = mindtorch.full((), self._init_scale, dtype=float32, device=dev)
        self._growth_tracker = mindtorch.full((), self._init_growth_tracker, dtype=int32, device=dev)

    # --- scaling -----------------------------------------------------------------------------------------------------

    def scale(self, outputs: _Outputs) -> _Outputs:
        """`outputs`, a tensor or nested iterables of tensors, times the scale."""
        return self._scaled_(outputs, {}) if self._enabled else outputs

    def _scaled_(self, outputs, scales):
        """`scales` keeps the scale on each device that it was needed on."""
        if isinstance(outputs, Tensor):
            if self._scale is None:
                self._lazy_init_scale_growth_tracker(outputs.device)
            if outputs.device not in scales:
                scales[outputs.device] = self._scale.to(outputs.device, non_blocking=True)
            return outputs * scales[outputs.device]
        if isinstance(outputs, abc.Iterable):
            results = map(partial(self._scaled_, scales=scales), outputs)
            return type(outputs)(results) if isinstance(outputs, (list, tuple)) else results
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def _unscale_grads_(self, optimizer, inv_scale, found_inf, allow_fp16):
        """Multiply the gradients by `inv_scale`; gives per device whether one was no finite number."""
        groups = defaultdict(list)
        for group in optimizer.param_groups:
            for param in group["params"]:
                if param.grad is not None:
                    if not allow_fp16 and param.grad.dtype is float16:
                        raise ValueError("Attempting to unscale FP16 gradients.")
                    groups[param.grad.device, param.grad.dtype].append(_finite_checked(param))
        found = {}
        with no_grad():
            for (device, _), grads in groups.items():
                if device not in found:
                    found[device] = found_inf.to(device, copy=True)
                mindtorch._amp_foreach_non_finite_check_and_unscale_(grads, found[device], inv_scale.to(device))
        return found

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divide the gradients of an optimizer by the scale: what clips them calls this before, step() otherwise."""
        if not self._enabled:
            return
        self._check_scale_growth_tracker("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        found_inf = mindtorch.full((), 0.0, dtype=float32, device=self._scale.device)
        state["found_inf_per_device"] = self._unscale_grads_(optimizer, self._scale.reciprocal(), found_inf, False)
        state["stage"] = OptState.UNSCALED

    def _check_inf_per_device(self, optimizer):
        scale, _ = self._check_scale_growth_tracker("_check_inf_per_device")
        one = mindtorch.full((), 1.0, dtype=float32, device=scale.device)
        zero = mindtorch.full((), 0.0, dtype=float32, device=scale.device)
        found = self._unscale_grads_(optimizer, one, zero, True)
        self._per_optimizer_states[id(optimizer)]["found_inf_per_device"] = found
        return found

    def _found_inf_per_device(self, optimizer):
        return self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]

    # --- steps -------------------------------------------------------------------------------------------------------

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> float | None:
        """optimizer.step() with gradients divided by the scale, left out where they are not finite."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check_scale_growth_tracker("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            result = self._step_of_fused_(optimizer, state, args, kwargs)
        else:
            if state["stage"] is OptState.READY:
                self.unscale_(optimizer)
            self._check_found_(state)
            result = self._maybe_opt_step(optimizer, state, *args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    @staticmethod
    def _check_found_(state):
        if not state["found_inf_per_device"]:
            raise AssertionError("No inf checks were recorded for this optimizer.")

    @staticmethod
    def _maybe_opt_step(optimizer, optimizer_state, *args, **kwargs):
        if sum(found.item() for found in optimizer_state["found_inf_per_device"].values()):
            return None
        return optimizer.step(*args, **kwargs)

    def _step_of_fused_(self, optimizer, state, args, kwargs):
        """A fused optimizer divides, and looks whether to step, itself; nothing waits for the device here."""
        if state["stage"] is OptState.READY:
            self._check_inf_per_device(optimizer)
        self._check_found_(state)
        scale = self._scale
        found = [one.to(scale.device, non_blocking=True) for one in state["found_inf_per_device"].values()]
        scaled_by = getattr(optimizer, "grad_scale", None)
        optimizer.grad_scale = None if state["stage"] is OptState.UNSCALED else (
            scale if scaled_by is None else scale * scaled_by)
        optimizer.found_inf = sum(found[1:], found[0])
        try:
            return optimizer.step(*args, **kwargs)
        finally:
            del optimizer.grad_scale
            del optimizer.found_inf

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Adapt the scale after the steps of an iteration, or set it to a float or a tensor of one element."""
        if not self._enabled:
            return
        scale, growth_tracker = self._check_scale_growth_tracker("update")
        if new_scale is None:
            found = [one.to(device=scale.device, non_blocking=True) for state in self._per_optimizer_states.values()
                     for one in state["found_inf_per_device"].values()]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            self._update_scale_(scale, growth_tracker, sum(found[1:], found[0]))
        elif isinstance(new_scale, float):
            scale.fill_(new_scale)
        else:
            if (new_scale.device.type != self._device or new_scale.numel() != 1 or new_scale.requires_grad):
                raise AssertionError("new_scale should be a float or a 1-element torch.cuda.FloatTensor or "
                                     "torch.FloatTensor with requires_grad=False.")
            scale.copy_(new_scale)
        self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    def _update_scale_(self, scale, growth_tracker, found_inf):
        mindtorch._amp_update_scale_(scale, growth_tracker, found_inf, self._growth_factor, self._backoff_factor,
                                     self._growth_interval)

    # --- what it knows -----------------------------------------------------------------------------------------------

    def _get_scale_async(self):
        return self._scale

    def get_scale(self) -> float:
        """The scale as a number; waits for the device. 1 if disabled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def get_growth_factor(self) -> float:
        """What the scale is multiplied by after steps without infinities."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set the growth factor."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the scale is multiplied by after infinities."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set the backoff factor."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many steps without infinities the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set the growth interval."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self):
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else self._growth_tracker.item()

    def is_enabled(self) -> bool:
        """Whether it does anything."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint keeps, after update(); empty where disabled."""
        if not self._enabled:
            return {}
        return {"scale": self.get_scale(), "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
                "growth_interval": self._growth_interval, "_growth_tracker": self._get_growth_tracker()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a result of state_dict(); does nothing if disabled."""
        if not self._enabled:
            return
        if len(state_dict) == 0:
            raise RuntimeError("The source state dict is empty, possibly because it was saved from a disabled "
                               "instance of GradScaler.")
        given = {name: state_dict[name] for name in ("growth_factor", "backoff_factor", "growth_interval")}
        scale, tracker = state_dict["scale"], state_dict["_growth_tracker"]
        self.__dict__.update({f"_{name}": value for name, value in given.items()})
        self._init_scale, self._init_growth_tracker = scale, tracker
        if self._scale is not None:
            self._scale.fill_(scale)
        if self._growth_tracker is not None:
            self._growth_tracker.fill_(tracker)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if self._enabled:
            if self._per_optimizer_states:
                raise AssertionError("A GradScaler instance may only be pickled at the beginning of an iteration, or "
                                     "at the end after scaler.update().")
            state |= {"_init_scale": self.get_scale(), "_init_growth_tracker": self._get_growth_tracker(),
                      "_scale": None, "_growth_tracker": None}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
