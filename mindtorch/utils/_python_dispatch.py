"""torch.utils._python_dispatch: modes of __torch_dispatch__, and help for classes that wrap tensors."""
from contextlib import contextmanager, nullcontext

from mindtorch import Tensor
from mindtorch._core.tensor import torch_dispatch
from mindtorch._core.tensor.torch_dispatch import is_dispatched

__all__ = ["BaseTorchDispatchMode", "TorchDispatchMode", "is_in_torch_dispatch_mode", "is_traceable_wrapper_subclass",
           "is_traceable_wrapper_subclass_type", "return_and_correct_aliasing", "transform_subclass"]


class TorchDispatchMode:
    """Within `with mode:` every operator of the thread calls mode.__torch_dispatch__(func, types, args, kwargs).

    `func` is an overload such as torch.ops.aten.add.Tensor, and the call is below autograd. While the handler runs, the
    mode is not in force: what it calls goes to the modes around it, and then to the classes of the arguments.
    """

    def __init__(self, _dispatch_key=None):
        if _dispatch_key is not None:
            raise NotImplementedError("TorchDispatchMode: modes of other dispatch keys (functorch) are not available")

    @classmethod
    def push(cls, *args, **kwargs):
        """The older way to write `cls(...)` after `with`."""
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls):
        """Whether the mode is one of torch's own tracers."""
        return False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError

    def __enter__(self):
        _push_mode(self)
        return self

    def __exit__(self, *exception):
        _pop_mode()


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that changes nothing."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


# --- the stack of modes -----------------------------------------------------------------------------------------------

def _push_mode(mode):
    torch_dispatch.push_mode(mode)


def _pop_mode(k=None):
    return torch_dispatch.pop_mode()


@contextmanager
def _pop_mode_temporarily(k=None):
    """The innermost mode, which is off inside the `with`."""
    mode = _pop_mode()
    try:
        yield mode
    finally:
        _push_mode(mode)


def _get_current_dispatch_mode_stack():
    return torch_dispatch.current_modes()


def _get_current_dispatch_mode():
    return next(reversed(torch_dispatch.current_modes()), None)


def _len_torch_dispatch_stack():
    return len(torch_dispatch.current_modes())


def is_in_torch_dispatch_mode(include_infra_modes=True):
    """Whether a mode is in force in this thread."""
    return bool(torch_dispatch.current_modes())


def is_in_any_mode_without_ignore_compile_internals():
    """Whether a mode is in force in this thread."""
    return is_in_torch_dispatch_mode()


@contextmanager
def _disable_current_modes():
    """No mode is in force within; gives the list of those that were."""
    modes = [torch_dispatch.pop_mode() for _ in torch_dispatch.current_modes()]
    try:
        yield modes
    finally:
        for mode in reversed(modes):
            torch_dispatch.push_mode(mode)


def _detect_infra_mode(key):
    """None: mindtorch has none of torch's tracers."""
    return


def _disable_infra_mode(key):
    return nullcontext()


def autograd_would_have_decomposed(func, flat_args):
    """False: what torch composes of other operators reaches no handler as one operator."""
    return False


# --- wrappers ---------------------------------------------------------------------------------------------------------

def _has_flatten(kind):
    return hasattr(kind, "__tensor_flatten__") and hasattr(kind, "__tensor_unflatten__")


def is_traceable_wrapper_subclass(t):
    """Whether a tensor can be taken apart by __tensor_flatten__ and put together by __tensor_unflatten__."""
    return isinstance(t, Tensor) and type(t) is not Tensor and _has_flatten(t)


def is_traceable_wrapper_subclass_type(t):
    """is_traceable_wrapper_subclass of the instances of a class."""
    return issubclass(t, Tensor) and t is not Tensor and _has_flatten(t)


def transform_subclass(t, callback, outer_size=None, outer_stride=None):
    """The wrapper with callback(name, tensor) in place of each tensor that it holds."""
    names, context = t.__tensor_flatten__()
    inner = {name: callback(name, getattr(t, name)) for name in names}
    made = type(t).__tensor_unflatten__(inner, context, t.size() if outer_size is None else outer_size,
                                        t.stride() if outer_stride is None else outer_stride)
    if outer_size is not None and made.shape != tuple(outer_size):
        raise AssertionError(f"Expected return value from {type(t)}__tensor_unflatten__() to have shape equal to "
                             f"{outer_size}, but got: {made.shape}")
    if outer_stride is not None and made.stride() != tuple(outer_stride):
        raise AssertionError(f"Expected return value from {type(t)}__tensor_unflatten__() to have stride equal to "
                             f"{outer_stride}, but got: {made.stride()}")
    return made


def _names(alias):
    return frozenset() if alias is None else frozenset(alias.before_set)


def return_and_correct_aliasing(func, args, kwargs, out):
    """`out`, the results of a handler for `func`, with the aliasing that the schema of `func` says.

    A view gets the storage of the argument that it is a view of; where an argument is written and returned, that very
    tensor is returned.
    """
    schema = func._schema
    given = {a.name: value for a, value in zip(schema.arguments, args, strict=False)} | (kwargs or {})
    by_alias = {}
    for argument in schema.arguments:
        if _names(argument.alias_info) and isinstance(given.get(argument.name), Tensor):
            by_alias[_names(argument.alias_info)] = given[argument.name]
    results = list(out) if isinstance(out, (tuple, list)) else [out]
    for place, returned in enumerate(schema.returns):
        info, source = returned.alias_info, by_alias.get(_names(returned.alias_info))
        if source is None:
            continue
        if info.is_write:
            results[place] = source
            continue
        made = results if returned.type.kind == "list" else [results[place]]
        for view in made:
            if isinstance(view, Tensor) and is_dispatched(view) and view is not source:
                torch_dispatch.share_storage(view, source)
    if not isinstance(out, (tuple, list)):
        return results[0]
    return type(out)(results)
