"""torch.jit without TorchScript: decorators without effect, predicates that return False, `script`, and `trace`."""
import warnings
from typing import TYPE_CHECKING, Any, Final

from mindtorch import Tensor
from mindtorch._compat.absent_device import abstract_class
from mindtorch._core.python.torch_function import published
from mindtorch._submodules import module_getattr
from mindtorch.futures import Future
from mindtorch.jit import _recursive, _state, annotations  # noqa: F401 - `torch.jit.annotations` needs no own import
from mindtorch.nn import Module

if TYPE_CHECKING:
    from mindtorch.jit._trace import TracerWarning, TracingCheckError, trace, trace_module

__all__ = [
    "Final",
    "Future",
    "ScriptFunction",
    "ScriptModule",
    "TracerWarning",
    "TracingCheckError",
    "annotate",
    "export",
    "fork",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "script",
    "script_if_tracing",
    "trace",
    "trace_module",
    "unused",
    "wait",
]

_said = False


class ScriptModule(Module):
    """The type of TorchScript modules. Only instances of subclasses are instances of it.

    Arguments:
        *args: refused
        **kwargs: refused

    Example:
        >>> isinstance(nn.Linear(1, 1), torch.ScriptModule)
        False
    """


TensorType = abstract_class("torch", "TensorType", "mindtorch has no TorchScript, whose types these are")
ScriptMethod = abstract_class("torch", "ScriptMethod", "mindtorch has no TorchScript, whose methods these are")


class ScriptFunction:
    """The type of TorchScript functions. It has no instances.

    Arguments:
        *args: refused
        **kwargs: refused

    Example:
        >>> isinstance(torch.relu, torch.ScriptFunction)
        False
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise TypeError("ScriptFunction: No constructor defined!")


def script(obj: Any, optimize: Any = None, _frames_up: float = 0, _rcb: Any = None, example_inputs: Any = None) -> Any:
    """`obj`, a function, class or Module, unchanged: it runs as the Python that it is. Says so, once.

    Arguments:
        obj: a function, class or module
        optimize: not read
        example_inputs: not read

    Example:
        >>> @torch.jit.script
        ... def twice(x):
        ...     return 2 * x
        >>> twice(torch.ones(1))
        tensor([2.])
    """
    global _said
    if not _said:
        _said = True
        warnings.warn("mindtorch has no TorchScript: torch.jit.script returns what it is given, unchanged.",
                      UserWarning, stacklevel=2)
    return obj


def is_scripting() -> Any:
    """False: nothing is ever scripted.

    Example:
        >>> torch.jit.is_scripting()
        False
    """
    return False


def is_tracing() -> Any:
    """False: nothing is ever traced.

    Example:
        >>> torch.jit.is_tracing()
        False
    """
    return False


def export(fn: Any) -> Any:
    """`fn` unchanged.

    Arguments:
        fn: the function

    Example:
        >>> torch.jit.export(len) is len
        True
    """
    return fn


def interface(obj: Any) -> Any:
    """The class `obj` unchanged: a set of signatures for TorchScript.

    Arguments:
        obj: the class

    Example:
        >>> @torch.jit.interface
        ... class Layer:
        ...     def forward(self, x): ...
        >>> Layer.__name__
        'Layer'
    """
    if not isinstance(obj, type):
        raise RuntimeError("interface must be applied to a class")
    return obj


def unused(fn: Any) -> Any:
    """`fn` unchanged.

    Arguments:
        fn: the function

    Example:
        >>> torch.jit.unused(len) is len
        True
    """
    return fn


def ignore(drop: bool = False, **kwargs: Any) -> Any:
    """The function given, unchanged; given a bool, a decorator that changes nothing.

    Arguments:
        drop: a function, or a bool
        **kwargs: not read

    Example:
        >>> @torch.jit.ignore
        ... def twice(x):
        ...     return 2 * x
        >>> twice(torch.ones(1))
        tensor([2.])
    """
    if callable(drop):
        return drop
    if not isinstance(drop, bool):
        raise RuntimeError(f"Argument to @torch.jit.ignore must be a bool or a function but got {drop}")
    return unused


def script_if_tracing(fn: Any) -> Any:
    """`fn` unchanged, for nothing is ever traced.

    Arguments:
        fn: the function

    Example:
        >>> torch.jit.script_if_tracing(len) is len
        True
    """
    return fn


_script_if_tracing = script_if_tracing


def _copy_to_script_wrapper(fn):
    """`fn` unchanged: a method that TorchScript's classes take over."""
    return fn


def _overload_method(func):
    """`func` unchanged: a signature for TorchScript."""
    return func


def _overload(func):
    """`func` unchanged: a signature for TorchScript."""
    return func


def annotate(the_type: Any, the_value: Any) -> Any:
    """`the_value`.

    Arguments:
        the_type: the type, which is not looked at
        the_value: the value

    Example:
        >>> torch.jit.annotate(list[int], [1, 2])
        [1, 2]
    """
    return the_value


def fork(func: Any, *args: Any, **kwargs: Any) -> Future:
    """A completed Future of func(*args, **kwargs): outside of TorchScript torch, too, runs the function at once.

    Arguments:
        func: the function
        *args: its arguments
        **kwargs: its arguments by name

    Example:
        >>> torch.jit.wait(torch.jit.fork(torch.add, torch.ones(2), 1))
        tensor([2., 2.])
    """
    result = Future()
    result.set_result(func(*args, **kwargs))
    return result


def wait(future: Future) -> Any:
    """The result of a Future.

    Arguments:
        future: the Future

    Example:
        >>> torch.jit.wait(torch.jit.fork(len, "abc"))
        3
    """
    if future is None:
        raise RuntimeError("Future can't be None")
    return future.wait()


def _assert(condition, message):
    """An assertion as a call, for models that might be traced: torch._assert."""
    if not condition:
        raise AssertionError(message)


_assert = published(_assert, __name__, "_assert", "torch", in_python=True)


def _assert_async(input, assert_msg="Expected Tensor with single nonzero value, but got zero"):
    """RuntimeError where the one element of `input` is zero: torch._assert_async. It waits for the value."""
    for value, name, kind in ((input, "input", Tensor), (assert_msg, "assert_msg", str)):
        if not isinstance(value, kind):
            place = 1 if kind is Tensor else 2
            raise TypeError(f"_assert_async(): argument '{name}' (position {place}) must be {kind.__name__}, not "
                            f"{type(value).__name__}")
    if not input:
        raise RuntimeError(assert_msg)


_OF_TRACES = ("TracerWarning", "TracingCheckError", "trace", "trace_module")
_refused = module_getattr(__name__)


def __getattr__(name):
    if name in _OF_TRACES:                # torch.fx, which they need, is imported where a program uses them
        from mindtorch.jit import _trace
        globals().update({each: getattr(_trace, each) for each in _OF_TRACES})
        return globals()[name]
    return _refused(name)
