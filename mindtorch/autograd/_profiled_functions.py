"""The functions that profiles record as operators, with torch's names, and how they are redirected.

_core/python/profiling.pyx says how. A function written in Python is redirected by its code, which every reference to
the function shares: for the time of a recording it hands its arguments to an Entry, which calls a copy.
"""
from contextlib import contextmanager
from types import FunctionType

from mindtorch import fft, linalg, special
from mindtorch._core._gen import namespace
from mindtorch._core.operators import composites
from mindtorch._core.python import conversion, profiling, torch_function
from mindtorch._core.tensor import copy_cast, factories, indexing, views
from mindtorch._ops.composite import namespace as python_composites
from mindtorch.nn import functional

_MODULES = (namespace, views, indexing, factories, composites, python_composites)
# In these tables, but not operators: they ask about tensors, or are written in Python in torch as well.
_NO_OPERATORS = frozenset({"broadcast_shapes", "is_conj", "is_neg", "norm", "pca_lowrank", "svd_lowrank"})
_OTHER_FUNCTIONS = {
    "arange": factories.arange, "empty": factories.empty, "empty_like": factories.empty_like,
    "full": factories.full, "full_like": factories.full_like, "linspace": factories.linspace,
    "ones": factories.ones, "ones_like": factories.ones_like, "zeros": factories.zeros,
    "zeros_like": factories.zeros_like, "linear": composites.linear, "item": conversion.item,
    "numpy_T": views.transposed, "mT": views.matrix_transposed,
    "mH": views.adjoint, "matrix_H": views.conjugate_transposed}
_CONVERSIONS = ("to", "cpu", "npu", "type", "type_as", "float", "double", "half", "bfloat16", "byte", "char", "short",
                "int", "long", "bool", "cfloat", "cdouble")
# Functions of nn.functional that are one operator in torch, of this name, and several here.
_OF_FUNCTIONAL = {"cross_entropy": "cross_entropy_loss", "nll_loss": "nll_loss_nd"} | {
    name: name for name in (
        "alpha_dropout", "bilinear", "cosine_similarity", "dropout", "embedding", "feature_alpha_dropout",
        "hinge_embedding_loss", "huber_loss", "margin_ranking_loss", "pad", "pairwise_distance", "poisson_nll_loss",
        "relu6", "scaled_dot_product_attention", "triplet_margin_loss")}


def _named():
    """{function: the operator's name}. A function of several names goes by its own."""
    found = {}
    tables = [table for module in _MODULES for name in ("FUNCTIONS", "METHODS", "ATEN")
              if (table := getattr(module, name, None))]
    moved = {name: copy_cast.METHODS[name] for name in ("clone", "detach", "copy_", "detach_")}
    for table in (*tables, copy_cast.FUNCTIONS, moved, _OTHER_FUNCTIONS):
        for name, function in table.items():
            if name not in _NO_OPERATORS and (function not in found or name == function.__name__):
                found[function] = f"aten::{name}"
    found |= {copy_cast.METHODS[name]: "aten::to" for name in _CONVERSIONS}
    found |= {getattr(functional, name): f"aten::{torch_name}" for name, torch_name in _OF_FUNCTIONAL.items()}
    for prefix, module in (("fft", fft), ("linalg", linalg), ("special", special)):
        for name in getattr(module, "__all__", vars(module)):
            function = getattr(module, name)
            of_ours = name[0] != "_" and isinstance(function, (FunctionType, type(conversion.item)))
            if of_ours and getattr(functional, name, None) is not function:
                found.setdefault(function, f"aten::{prefix}_{name}")
    found |= {function: f"npu::{name}" for name, function in namespace.NPU.items()}
    return found


def _redirect(*args, **kwargs):
    entry = "entry"
    return entry(*args, **kwargs)


class _PythonFunction:
    """A function written in Python, and the code by which it is redirected."""

    def __init__(self, function, name):
        self.function, self.name, self.own = function, name, None

    def _take(self):
        """Save the function's current code, which the first use of __torch_function__ replaces."""
        function, own = self.function, self.function.__code__
        copy = FunctionType(own, function.__globals__, function.__name__, function.__defaults__,
                            function.__closure__)
        copy.__kwdefaults__ = function.__kwdefaults__
        constants = tuple(profiling.ProfiledFunction(copy, self.name) if constant == "entry" else constant
                          for constant in _redirect.__code__.co_consts)
        self.redirected = _redirect.__code__.replace(
            co_consts=constants, co_name=own.co_name, co_filename=own.co_filename,
            co_firstlineno=own.co_firstlineno, co_freevars=own.co_freevars)
        self.own = own

    def enter_profiled(self, on):
        if on and self.function.__code__ is not self.own:
            self._take()
        if self.own is not None:
            self.function.__code__ = self.redirected if on else self.own


_python_functions = []
_entered = False


def _prepare():
    names = _named()
    profiling.register_profiled_functions({function: name for function, name in names.items()
                                           if type(function) is not FunctionType})
    _python_functions.extend([_PythonFunction(function, name) for function, name in names.items()
                              if type(function) is FunctionType])


def enter_profiled(on):
    """Switch recording of all operators on or off. If switching on fails, switching off undoes it."""
    global _entered
    with torch_function.PATCH_LOCK:
        if on == _entered:
            return
        if not _python_functions:
            _prepare()
        _entered = on
        profiling.set_profiled_entries(on)
        for function in _python_functions:
            function.enter_profiled(on)


@contextmanager
def left():
    """Context manager: recording is off, so that the code of functions can be replaced."""
    with torch_function.PATCH_LOCK:
        before = _entered
        enter_profiled(False)
        try:
            yield
        finally:
            enter_profiled(before)
