"""torch.autograd.graph: nodes, edges, and hooks on what is saved for backward."""
from __future__ import annotations

import contextlib
import functools
import threading
from collections import namedtuple
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

from mindtorch._core.autograd.engine import count_nodes_run, current_graph_task_id, gradient_edge_of, queue_callback
from mindtorch._core.autograd.node import (
    Node,
    pop_saved_tensors_hooks,
    push_saved_tensors_hooks,
    thread_modes,
)
from mindtorch._core.tensor.attributes import increment_version

if TYPE_CHECKING:
    from mindtorch import Tensor
    from mindtorch._core.removable_handle import RemovableHandle

__all__ = ["GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks",
           "get_gradient_edge", "increment_version", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks"]

_THREAD = threading.local()             # .refusal: why saved_tensors_hooks are not allowed

GradientEdge = namedtuple("GradientEdge", ("node", "output_nr"))
GradientEdge.__doc__ = """Where the gradient of a tensor goes: the node of the graph, and which of its outputs.

Arguments:
    node: the function of the graph
    output_nr: which of its results

Example:
    >>> x = torch.ones(1, requires_grad=True)
    >>> torch.autograd.graph.get_gradient_edge(x).output_nr
    0
"""


def get_gradient_edge(tensor: Tensor) -> Any:
    """The node, and the number of its output, through which the tensor's gradient comes.

    Arguments:
        tensor: a tensor that needs a gradient

    Example:
        >>> x = torch.tensor([3.0], requires_grad=True)
        >>> torch.autograd.grad((x * x).sum(), torch.autograd.graph.get_gradient_edge(x))
        (tensor([6.]),)
    """
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(*gradient_edge_of(tensor))


class saved_tensors_hooks:
    """Context manager: tensors saved for backward go through pack_hook, and through unpack_hook when they are used.

    Arguments:
        pack_hook: a function of a saved tensor; what it returns is kept
        unpack_hook: a function of what was kept, which gives the tensor

    Example:
        >>> packed = []
        >>> with torch.autograd.graph.saved_tensors_hooks(lambda x: packed.append(x) or x, lambda x: x):
        ...     y = torch.ones(2, requires_grad=True).exp()
        >>> len(packed)
        1
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        if getattr(_THREAD, "refusal", None) is not None:
            raise RuntimeError(_THREAD.refusal)
        push_saved_tensors_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *exception: object) -> None:
        pop_saved_tensors_hooks()


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Any:
    """Inside, saved_tensors_hooks raises RuntimeError with that message; so does this where hooks are active.

    Arguments:
        error_message: what the RuntimeError says

    Example:
        >>> with torch.autograd.graph.disable_saved_tensors_hooks("no hooks here"):
        ...     y = torch.ones(2, requires_grad=True).exp()
        >>> y.requires_grad
        True
    """
    *_, hooks = thread_modes()
    if hooks:
        raise RuntimeError(error_message)
    before = getattr(_THREAD, "refusal", None)
    _THREAD.refusal = error_message
    try:
        yield
    finally:
        _THREAD.refusal = before


def saved_tensors_hooks_is_enabled() -> Any:
    return getattr(_THREAD, "refusal", None) is None


class save_on_cpu(saved_tensors_hooks):
    """Context manager: tensors saved for backward are kept in host memory (page-locked with `pin_memory`).

    Arguments:
        pin_memory: whether the copies lie in pinned memory
        device_type: not read

    Example:
        >>> x = torch.ones(2, device="npu", requires_grad=True)
        >>> with torch.autograd.graph.save_on_cpu():
        ...     y = x * x
        >>> y.sum().backward()
        >>> x.grad
        tensor([2., 2.], device='npu:0')
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "npu") -> None:
        def pack(tensor):
            host = tensor.cpu()
            return tensor.device, host.pin_memory() if pin_memory and tensor.is_npu else host

        def unpack(packed):
            device, tensor = packed
            return tensor.to(device, non_blocking=pin_memory)

        super().__init__(pack, unpack)


# --- one hook for several tensors ------------------------------------------------------------------------------------

class _Handles:
    """A handle that removes the hooks of several tensors."""

    def __init__(self, handles: Any) -> None:
        self.handles = handles

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.remove()


def register_multi_grad_hook(tensors: Sequence[Tensor],
                             fn: Callable[[Sequence[Tensor | None]], None] | Callable[[Tensor], None], *,
                             mode: Literal["all", "any"] = "all") -> RemovableHandle:
    """Call `fn` once in each backward that computes gradients of some of the tensors. Returns a handle to remove it.

    mode "all": fn(gradients), None for those not computed, when the last of them is known. "any": fn(gradient), when
    the first is.

    Arguments:
        tensors: the tensors
        fn: a function of their gradients, a list; None for one without
        mode: "all" calls it with all gradients, "any" with the first one

    Example:
        >>> a, b = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
        >>> def hook(grads):
        ...     print(len(grads), "gradients")
        >>> handle = torch.autograd.graph.register_multi_grad_hook((a, b), hook)
        >>> (a * b).backward()
        2 gradients
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    lock, states = threading.Lock(), {}

    def state_of_backward():
        number = current_graph_task_id()
        if number not in states:
            # Entries that an error leaves behind belong to a backward whose number is not used again.
            states[number] = [0, None if mode == "any" else count_nodes_run(nodes), [None] * len(tensors)]
            queue_callback(functools.partial(states.pop, number, None))
        return states[number]

    def one_of_all(place, gradient):
        with lock:
            state = state_of_backward()
            state[0] += 1
            state[2][place] = gradient
            complete = state[0] == state[1]
        if complete:
            fn(state[2])

    def any_of_them(gradient):
        with lock:
            state = state_of_backward()
            state[0] += 1
            first = state[0] == 1
        if first:
            fn(gradient)

    nodes = [gradient_edge_of(tensor)[0] for tensor in tensors]
    return _Handles([tensor.register_hook(functools.partial(one_of_all, place) if mode == "all" else any_of_them)
                     for place, tensor in enumerate(tensors)])


# --- saved tensors that may be written to ----------------------------------------------------------------------------

class _Saved:
    """A tensor as backward will want it: the one that was saved, or a copy made before it was written to."""

    __slots__ = ("__weakref__",)


class _MutationContext:
    """The state of allow_mutation_on_saved_tensors: tensors by handles that the graph holds."""

    def __init__(self) -> None:
        self.active = True
        self.clear()

    def clear(self) -> None:
        from weakref import WeakKeyDictionary, WeakValueDictionary
        self.original, self.cloned = WeakKeyDictionary(), WeakKeyDictionary()
        self.tid_to_weakhandle = WeakValueDictionary()      # a tensor in a version -> its handle
        self.of_storage = {}                                # storage -> tensors in versions

    def pack(self, tensor: Any) -> Any:
        storage = tensor.untyped_storage()._cdata
        known = (storage, tensor.storage_offset(), tuple(tensor.shape), tensor.stride(), tensor._version)
        handle = self.tid_to_weakhandle.get(known)
        if handle is None:
            handle = self.tid_to_weakhandle[known] = _Saved()
            self.original[handle] = tensor
            self.of_storage.setdefault(storage, set()).add(known)
        return handle

    def unpack(self, handle: Any) -> Any:
        if not self.active or (handle not in self.cloned and handle not in self.original):
            raise AssertionError("Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which "
                                 "the graph was originally recorded.")
        return self.cloned[handle] if handle in self.cloned else self.original[handle]

    def before_write(self, tensor: Any) -> None:
        """Copies what is saved of the tensor's storage."""
        for known in self.of_storage.pop(tensor.untyped_storage()._cdata, ()):
            handle = self.tid_to_weakhandle.pop(known, None)
            if handle is not None:
                self.cloned[handle] = self.original.pop(handle).clone()


@contextlib.contextmanager
def allow_mutation_on_saved_tensors() -> Any:
    """Inside, tensors that were saved for backward may be written to: copies are made before. Backward runs inside too.

    Yields what it knows; `clear()` lets go of it.

    Example:
        >>> x = torch.ones(2, requires_grad=True)
        >>> with torch.autograd.graph.allow_mutation_on_saved_tensors():
        ...     y = x.clone()
        ...     z = y ** 2
        ...     _ = y.zero_()
        ...     z.sum().backward()
        >>> x.grad
        tensor([2., 2.])
    """
    from mindtorch.overrides import TorchFunctionMode

    class CopyBeforeWrite(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            for tensor in _written(func, args, kwargs):
                context.before_write(tensor)
            return func(*args, **kwargs)

    if getattr(_THREAD, "mutating", False):
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    context = _MutationContext()
    _THREAD.mutating = True
    try:
        with saved_tensors_hooks(context.pack, context.unpack), CopyBeforeWrite():
            yield context
    finally:
        _THREAD.mutating, context.active = False, False
        context.clear()


def _written(func, args, kwargs):
    """The tensors that a call writes to, by torch's convention for names, and out=."""
    from mindtorch import Tensor
    name = getattr(func, "__name__", "")
    in_place = (name.endswith("_") and not name.endswith("__")) or name == "__setitem__" or (
        name.startswith("__i") and name not in ("__index__", "__int__", "__invert__", "__iter__"))
    out = kwargs.get("out", ())
    found = [*(out if isinstance(out, (tuple, list)) else [out]), *(args[:1] if in_place else ())]
    return [tensor for tensor in found if isinstance(tensor, Tensor)]
