"""torch.utils.checkpoint: what a function saves for backward is computed again instead of kept."""
from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from mindtorch._core.autograd.engine import current_graph_task_id, runs_whole_graph
from mindtorch._core.autograd.node import is_grad_enabled
from mindtorch._core.operators import autocast as _autocast
from mindtorch._core.tensor.factories import empty
from mindtorch._core.tensor.tensor import TensorBase
from mindtorch.autograd import Function, backward
from mindtorch.autograd.grad_mode import enable_grad
from mindtorch.autograd.graph import saved_tensors_hooks
from mindtorch.utils._selective_checkpoint import (
    SAC_IGNORED_OPS,
    CheckpointPolicy,
    SelectiveCheckpointContext,
    _CachedTorchDispatchMode,
    _CachingTorchDispatchMode,
    create_selective_checkpoint_contexts,
)

if TYPE_CHECKING:
    from mindtorch import Tensor

__all__ = ["SAC_IGNORED_OPS", "CheckpointError", "CheckpointPolicy", "DefaultDeviceType", "SelectiveCheckpointContext",
           "_CachedTorchDispatchMode", "_CachingTorchDispatchMode", "checkpoint", "checkpoint_sequential",
           "create_selective_checkpoint_contexts", "get_device_states", "noop_context_fn",
           "set_checkpoint_debug_enabled", "set_checkpoint_early_stop", "set_device_states"]

_early_stop = None                      # what set_checkpoint_early_stop says, for all calls


class CheckpointError(RuntimeError):
    """The second run of a checkpointed function differed from the first.

    Example:
        >>> issubclass(torch.utils.checkpoint.CheckpointError, RuntimeError)
        True
    """


def noop_context_fn() -> Any:
    """Contexts for the first and the second run that do nothing.

    Example:
        >>> len(torch.utils.checkpoint.noop_context_fn())
        2
    """
    return contextlib.nullcontext(), contextlib.nullcontext()


def checkpoint(function: Any, *args: Any, use_reentrant: bool | None = None, context_fn: Any = noop_context_fn,
               determinism_check: str = "default", debug: bool = False, early_stop: bool = True, **kwargs: Any) -> Any:
    """function(*args) without keeping its intermediate tensors: backward calls it again.

    use_reentrant True: forward runs unrecorded and backward runs a backward of its own, so that autograd.grad and
    `inputs=` are refused. False: backward computes again what was saved, when it first needs it. preserve_rng_state
    (default True): the second run sees the random numbers of the first. early_stop: without reentrance, the second run
    ends as soon as it has all that the first one saved.

    Arguments:
        function: the function
        *args: its arguments
        use_reentrant: whether backward runs inside of backward, the older way; None warns
        context_fn: a function that gives two contexts: of the first run and of the second
        determinism_check: "default" compares shapes and dtypes of both runs, "none" does not
        debug: whether an error lists the operators of both runs
        early_stop: whether the second run ends as soon as all tensors are there
        **kwargs: its arguments by name

    Example:
        >>> layer, x = nn.Linear(2, 2), torch.ones(1, 2, requires_grad=True)
        >>> torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False).sum().backward()
        >>> x.grad.shape
        torch.Size([1, 2])
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, "
            "calling checkpoint without use_reentrant will raise an exception. use_reentrant=False is recommended, but "
            "if you need to preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for "
            "more details on the differences between the two variants.", stacklevel=2)
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if not use_reentrant:
        stops = early_stop if _early_stop is None else _early_stop
        return _recomputed(function, args, kwargs, context_fn, determinism_check, preserve, stops)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if context_fn is not noop_context_fn or debug:
        raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
    if not any(isinstance(a, TensorBase) and a.requires_grad for a in args):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)
    return CheckpointFunction.apply(function, preserve, *args)


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Any:
    """Inside, calls of checkpoint without reentrance have that `early_stop`, whatever they were given.

    Arguments:
        enable: whether the second run ends early

    Example:
        >>> with torch.utils.checkpoint.set_checkpoint_early_stop(False):
        ...     x = torch.ones(1, requires_grad=True)
        ...     torch.utils.checkpoint.checkpoint(torch.exp, x, use_reentrant=False).backward()
        >>> x.grad
        tensor([2.7183])
    """
    global _early_stop
    before = _early_stop
    _early_stop = enable
    try:
        yield
    finally:
        _early_stop = before


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Any:
    """A context that changes nothing: no trace is kept of the operators of either run.

    Arguments:
        enabled: not read

    Example:
        >>> with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):
        ...     pass
    """
    yield


class DefaultDeviceType:
    """The kind of device for which torch keeps states where no tensor is on one. Nothing depends on it here.

    The states of autocast are kept for every kind of device, those of random numbers for the devices of the arguments.

    Example:
        >>> torch.utils.checkpoint.DefaultDeviceType.set_device_type("npu")
        >>> torch.utils.checkpoint.DefaultDeviceType.get_device_type()
        'npu'
    """

    _device_type: str | None = None

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Sets the kind of device."""
        DefaultDeviceType._device_type = device

    @staticmethod
    def get_device_type() -> str:
        """The kind of device that was set; else that of torch.accelerator, or "cpu"."""
        if DefaultDeviceType._device_type is None:
            from mindtorch.accelerator import current_accelerator
            found = current_accelerator(True)
            DefaultDeviceType._device_type = "cpu" if found is None else found.type
        return DefaultDeviceType._device_type


def checkpoint_sequential(functions: Any, segments: Any, input: Tensor, use_reentrant: Any = None,
                          **kwargs: Any) -> Any:
    """A chain of functions in `segments` parts, each a checkpoint but for the last.

    Arguments:
        functions: the functions or modules, in order; or a Sequential
        segments: the number of parts
        input: the argument of the first
        use_reentrant: whether backward runs inside of backward, the older way; None warns
        **kwargs: preserve_rng_state, as of checkpoint

    Example:
        >>> layers, x = [nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1)], torch.ones(1, 2, requires_grad=True)
        >>> torch.utils.checkpoint.checkpoint_sequential(layers, 2, x, use_reentrant=False).shape
        torch.Size([1, 1])
    """
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    functions = list(functions.children()) if hasattr(functions, "children") else list(functions)
    size = max(len(functions) // segments, 1)

    def segment(start, end):
        def run(value):
            for function in functions[start:end]:
                value = function(value)
            return value
        return run

    last = size * (segments - 1)
    for start in range(0, last, size):
        input = checkpoint(segment(start, start + size), input, use_reentrant=use_reentrant,
                           preserve_rng_state=preserve)
    return segment(last, len(functions))(input)


# --- random numbers --------------------------------------------------------------------------------------------------

def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """The numbers of the NPUs that hold tensors among `args`, also inside containers, and their generators' states.

    Arguments:
        *args: its arguments

    Example:
        >>> devices, states = torch.utils.checkpoint.get_device_states(torch.ones(1, device="npu"))
        >>> devices, len(states)
        ([0], 1)
    """
    from mindtorch import npu
    from mindtorch.utils._pytree import tree_iter
    devices = dict.fromkeys(a.get_device() for a in tree_iter(args) if isinstance(a, TensorBase) and a.is_npu)
    return list(devices), [npu.get_rng_state(device) for device in devices]


def set_device_states(devices: Any, states: Any, *, device_type: Any = None) -> None:
    """Sets the generators of the NPUs with these numbers. `device_type` is "npu" wherever there is a number.

    Arguments:
        devices: the indexes of the NPUs
        states: the state of each generator
        device_type: not read

    Example:
        >>> devices, states = torch.utils.checkpoint.get_device_states(torch.ones(1, device="npu"))
        >>> torch.utils.checkpoint.set_device_states(devices, states, device_type="npu")
    """
    from mindtorch import npu
    for device, state in zip(devices, states, strict=False):
        npu.set_rng_state(state, device)


class _RandomState:
    """The generators' states at one time, of the host and of the devices that the arguments are on."""

    def __init__(self, arguments: Any) -> None:
        import mindtorch
        self.host = mindtorch.get_rng_state()
        self.devices, self.states = get_device_states(*arguments)

    def restore(self) -> None:
        import mindtorch
        mindtorch.set_rng_state(self.host)
        set_device_states(self.devices, self.states)


@contextlib.contextmanager
def _same_autocast(state):
    """Inside, autocast is in that state, as in a region of its own."""
    now = _autocast.get_state()
    _autocast.set_state(state)
    _autocast.autocast_increment_nesting()
    try:
        yield
    finally:
        if _autocast.autocast_decrement_nesting() == 0:
            _autocast.clear_autocast_cache()
        _autocast.set_state(now)


@contextlib.contextmanager
def _restored_random_state(state, arguments):
    """Random numbers continue from `state` inside, and afterwards from where they were before."""
    if state is None:
        yield
        return
    now = _RandomState(arguments)
    state.restore()
    try:
        yield
    finally:
        now.restore()


# --- a backward of its own -------------------------------------------------------------------------------------------

class CheckpointFunction(Function):
    """Runs the function unrecorded; backward runs it again, recorded, and then that graph's backward."""

    @staticmethod
    def forward(ctx: Any, function: Any, preserve: Any, *args: Any) -> Any:
        ctx.function = function
        ctx.state = _RandomState(args) if preserve else None
        ctx.autocast = _autocast.get_state()
        ctx.others = [None if isinstance(a, TensorBase) else a for a in args]
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, TensorBase)]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        return function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if not runs_whole_graph():
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` "
                "parameter to .backward(). To resolve this error, you can either set use_reentrant=False, or call "
                ".backward() without passing the `inputs` argument.")
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors, strict=True):
            args[place] = tensor.detach().requires_grad_(tensor.requires_grad)
        with _restored_random_state(ctx.state, args), _same_autocast(ctx.autocast), enable_grad():
            results = ctx.function(*args)
        results = results if isinstance(results, tuple) else (results,)
        pairs = [(out, grad) for out, grad in zip(results, grads, strict=True)
                 if isinstance(out, TensorBase) and out.requires_grad]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([out for out, _ in pairs], [grad for _, grad in pairs])
        return None, None, *(a.grad if isinstance(a, TensorBase) else None for a in args)


# --- saved tensors that are computed again ---------------------------------------------------------------------------

class _AllRecomputed(Exception):
    """Ends the second run once it has saved all that the first one did."""


class _Frame:
    """One checkpointed call: how to run it again, and what the second run saved."""

    def __init__(self, run: Any, determinism_check: Any, early_stop: Any) -> None:
        self.run, self.early_stop = run, early_stop
        self.complete = False        # the first run has ended: until then a second run, for a gradient that the
                                     # function itself asks for, saves more than the first has so far
        self.checks = determinism_check != "none"
        self.first = []              # per saved tensor, what it looked like
        self.again = {}              # which backward -> number of a tensor -> the tensor, until it is taken

    def pack(self, tensor: Any) -> Any:
        self.first.append(_metadata(tensor))
        return len(self.first) - 1

    def unpack(self, number: Any) -> Any:
        task = current_graph_task_id()
        if task < 0:                 # the user looks at it, outside any backward
            return self.recompute()[number]
        if task not in self.again:
            self.again[task] = self.recompute()
        if number not in self.again[task]:
            raise CheckpointError(
                "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. If you "
                "are calling ctx.saved_tensors in backward, make sure to do so only once.")
        return self.again[task].pop(number)

    def recompute(self) -> Any:
        found = []

        def pack(tensor):
            if self.complete and len(found) == len(self.first):
                raise CheckpointError(
                    "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original "
                    "forward pass.")
            found.append(tensor.detach())
            if self.early_stop and len(found) == len(self.first):
                raise _AllRecomputed
            return len(found) - 1

        with contextlib.suppress(_AllRecomputed), saved_tensors_hooks(pack, found.__getitem__):
            self.run()
        if len(found) < len(self.first):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {len(self.first)}\nNumber of tensors saved "
                f"during recomputation: {len(found)}.")
        for number, tensor in enumerate(found[:len(self.first)]):
            if self.checks and _metadata(tensor) != self.first[number]:
                raise CheckpointError(
                    "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than "
                    f"during the forward pass.\ntensor at position {number}:\nsaved metadata: {self.first[number]}\n"
                    f"recomputed metadata: {_metadata(tensor)}")
        return dict(enumerate(found))


def _metadata(tensor):
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


class _Saves(Function):
    """What saves its arguments, as torch's checkpoint does: it refuses those of inference mode."""

    @staticmethod
    def forward(ctx, number, *tensors):
        ctx.save_for_backward(*tensors)
        return number.clone()


def _recomputed(function, args, kwargs, context_fn, determinism_check, preserve, early_stop):
    of_inference = [value for value in args if isinstance(value, TensorBase) and value.is_inference()]
    if of_inference and is_grad_enabled():
        _Saves.apply(empty(0, requires_grad=True), *of_inference)
    first, second = context_fn()
    arguments = (*args, *kwargs.values())
    state, autocast = _RandomState(arguments) if preserve else None, _autocast.get_state()

    def run():
        with _restored_random_state(state, arguments), _same_autocast(autocast), enable_grad(), second:
            function(*args, **kwargs)

    frame = _Frame(run, determinism_check, early_stop)
    with saved_tensors_hooks(frame.pack, frame.unpack), first:
        result = function(*args, **kwargs)
    frame.complete = True
    return result


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Tensor, ...]:
    """The inputs with their tensors detached, which require a gradient where they did before."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type:  {type(inputs).__name__}")
    return tuple(value.detach().requires_grad_(value.requires_grad) if isinstance(value, TensorBase) else value
                 for value in inputs)


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warns where no input requires a gradient: then no gradient reaches the parameters either."""
    if not any(value.requires_grad for value in inputs if isinstance(value, TensorBase)):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)
