"""Whether the arguments of a call are those of torch's operator of that name: what functions written in Python ask
once they have failed, since they do not look at the types of their arguments."""
from functools import cache

from mindtorch._core._gen.schemas import SCHEMAS
from mindtorch._library.binding import Binder
from mindtorch._library.schema import parse_schema

_PREFIXES = {"mindtorch.fft": "fft_", "mindtorch.linalg": "linalg_", "mindtorch.special": "special_",
             "mindtorch._ops.composite.linalg": "linalg_"}
_NAMES = {"input": "self"}          # of parameters: in torch's Python functions, and in the schemas


@cache
def _texts():
    """Name of an operator -> the schemas of its overloads."""
    texts = {}
    for line in filter(None, SCHEMAS["aten"].splitlines()):
        texts.setdefault(line.partition("(")[0].partition(".")[0], []).append(line)
    return texts


@cache
def _binders(name):
    return [Binder(parse_schema(f"aten::{text}")) for text in _texts().get(name, ())]


def wrong_arguments(function, args, kwargs):
    """The TypeError of a call whose arguments fit no overload; None if they fit one, or if there are none."""
    name = function.__name__
    binders = _binders(_PREFIXES.get(function.__module__, "") + name) or _binders(name)
    named = {_NAMES.get(key, key): value for key, value in kwargs.items()}
    for binder in binders:
        try:
            binder.bind(args, named)
        except RuntimeError:
            continue
        return None
    if not binders:
        return None
    given = [type(value).__name__ for value in args]
    given += [f"{key}={type(value).__name__}" for key, value in kwargs.items()]
    return TypeError(f"{name}() received an invalid combination of arguments - got ({', '.join(given)}), but expected "
                     "one of:\n" + "\n".join(f" * {binder.schema}" for binder in binders))
