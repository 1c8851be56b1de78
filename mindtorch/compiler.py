"""torch.compiler: there is no compiler. What is handed to one runs as it did."""
from __future__ import annotations

import functools
import warnings
from typing import Any

from mindtorch._submodules import module_getattr

__path__ = []       # modules below it come from the table of refusals

__all__ = ["allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable",
           "get_default_backend", "is_compiling", "is_dynamo_compiling", "is_exporting", "list_backends",
           "nested_compile_region", "reset", "set_default_backend", "set_stance", "substitute_in_graph"]

_MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")
_said = False


def compile(model: Any = None, *, fullgraph: bool = False, dynamic: Any = None, backend: Any = None, mode: Any = None,
            options: Any = None, name: Any = None, disable: bool = False, recompile_limit: Any = None,
            isolate_recompiles: bool = False, shapes_spec: Any = None) -> Any:
    """`model` to be called as torch's compiled one; without one a decorator. Nothing is compiled, which it says once.

    A function comes back as it is. A module comes back in a `torch._dynamo.OptimizedModule`, as in torch: the module
    is its `_orig_mod`, which a call runs as it is, and the names in its state dict begin with `_orig_mod.`.

    Arguments:
        model: a module or function; None makes a decorator
        fullgraph: not read: nothing is compiled
        dynamic: not read: nothing is compiled
        backend: not read: nothing is compiled
        mode: a mode of torch, which is checked; nothing is compiled
        options: not read: nothing is compiled
        name: not read: nothing is compiled
        disable: whether the model is returned as it is
        recompile_limit: not read: nothing is compiled
        isolate_recompiles: not read: nothing is compiled
        shapes_spec: not read: nothing is compiled

    Example:
        >>> double = torch.compile(lambda x: 2 * x)
        >>> double(torch.ones(2))
        tensor([2., 2.])
    """
    global _said
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if mode is not None and mode not in _MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(_MODES)}")
    if model is None:
        return functools.partial(compile, disable=disable)
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    if disable:
        return model
    if not _said:
        _said = True
        warnings.warn("mindtorch has no compiler: what torch.compile returns runs as it did before.", UserWarning,
                      stacklevel=2)
    from mindtorch._dynamo.eval_frame import OptimizeContext
    return OptimizeContext()(model)


def disable(fn: Any = None, recursive: bool = True, *, reason: Any = None) -> Any:
    """`fn` unchanged; without one a decorator that changes nothing.

    Arguments:
        fn: the function
        recursive: not read: nothing is compiled
        reason: not read

    Example:
        >>> @torch.compiler.disable
        ... def twice(x):
        ...     return 2 * x
        >>> twice(torch.ones(2))
        tensor([2., 2.])
    """
    if fn is None:
        return disable
    if not callable(fn):
        raise AssertionError("fn must be callable")
    return fn


def allow_in_graph(fn: Any) -> Any:
    """`fn` unchanged.

    Arguments:
        fn: the function

    Example:
        >>> torch.compiler.allow_in_graph(len) is len
        True
    """
    return fn


def assume_constant_result(fn: Any) -> Any:
    """`fn` unchanged.

    Arguments:
        fn: the function

    Example:
        >>> torch.compiler.assume_constant_result(len) is len
        True
    """
    return fn


class set_stance:
    """A setting for a compiler, of which mindtorch has none; also a decorator and a context manager.

    Arguments:
        stance: "default" or another stance of torch
        skip_guard_eval_unsafe: not read
        force_backend: not read

    Example:
        >>> with torch.compiler.set_stance("force_eager"):
        ...     torch.compile(lambda x: x + 1)(torch.ones(1))
        tensor([2.])
    """

    def __init__(self, stance: str = "default", *, skip_guard_eval_unsafe: bool = False,
                 force_backend: Any = None) -> None:
        self.stance = stance

    def __call__(self, fn: Any) -> Any:
        return fn

    def __enter__(self) -> Any:
        return None

    def __exit__(self, *exception: Any) -> None:
        return None


def is_compiling() -> bool:
    """False: nothing is ever compiled.

    Example:
        >>> torch.compiler.is_compiling()
        False
    """
    return False


def is_dynamo_compiling() -> bool:
    """False: nothing is ever compiled.

    Example:
        >>> torch.compiler.is_dynamo_compiling()
        False
    """
    return False


def is_exporting() -> bool:
    """False: nothing is ever exported.

    Example:
        >>> torch.compiler.is_exporting()
        False
    """
    return False


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """The compilers that there are: none.

    Arguments:
        exclude_tags: not read

    Example:
        >>> torch.compiler.list_backends()
        []
    """
    return []


def reset() -> None:
    """Forgets all that was compiled, which is nothing.

    Example:
        >>> torch.compiler.reset()
    """


def cudagraph_mark_step_begin() -> Any:
    """Marks a step for graphs of which there are none.

    Example:
        >>> torch.compiler.cudagraph_mark_step_begin()
    """


_default_backend: Any = "inductor"


def get_default_backend() -> Any:
    """What set_default_backend has set; "inductor" at first, as in torch.

    Example:
        >>> torch.compiler.get_default_backend()
        'inductor'
    """
    return _default_backend


def set_default_backend(backend: Any) -> None:
    """Sets what get_default_backend returns. Nothing else depends on it.

    Arguments:
        backend: a name or function; None means "inductor"

    Example:
        >>> torch.compiler.set_default_backend("eager")
        >>> torch.compiler.get_default_backend()
        'eager'
        >>> torch.compiler.set_default_backend(None)
    """
    global _default_backend
    _default_backend = "inductor" if backend is None else backend


def nested_compile_region(fn: Any = None, **options: Any) -> Any:
    """`fn` unchanged; without one a decorator that changes nothing.

    Arguments:
        fn: the function
        **options: not read: nothing is compiled

    Example:
        >>> torch.compiler.nested_compile_region(len) is len
        True
    """
    return (lambda function: function) if fn is None else fn


def substitute_in_graph(original_fn: Any, *, can_constant_fold_through: bool = False,
                        skip_signature_check: bool = False) -> Any:
    """A decorator that changes nothing: no function is replaced where nothing is compiled.

    Arguments:
        original_fn: the function that would be replaced
        can_constant_fold_through: not read
        skip_signature_check: not read

    Example:
        >>> import operator
        >>> @torch.compiler.substitute_in_graph(operator.indexOf)
        ... def place(sequence, value):
        ...     return sequence.index(value)
        >>> place([1, 2], 2)
        1
    """
    return lambda function: function


def _disable_dynamo(fn=None, recursive=True):
    """`fn` unchanged, or a decorator that changes nothing."""
    return (lambda function: function) if fn is None else fn


__getattr__ = module_getattr(__name__)
