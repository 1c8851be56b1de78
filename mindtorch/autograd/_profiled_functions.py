"""The functions that profiles record as operators, with torch's names."""
from __future__ import annotations

from functools import cache
from typing import Any

from mindtorch import fft, linalg, special
from mindtorch._core._gen import namespace
from mindtorch._core.operators import composites
from mindtorch._core.python import conversion, torch_function
from mindtorch._core.python.torch_function import WrappedFunction, overridable
from mindtorch._core.tensor import copy_cast, factories, indexing, views
from mindtorch._ops.composite import namespace as python_composites
from mindtorch._tensor import Tensor
from mindtorch.nn import functional

_MODULES = (namespace, views, indexing, factories, composites, python_composites)
# In these tables, but not operators: they ask about tensors, or are written in Python in torch as well.
_NO_OPERATORS = frozenset({"broadcast_shapes", "is_conj", "is_neg", "lobpcg", "norm", "pca_lowrank", "svd_lowrank"})
_OTHER_FUNCTIONS = {
    "arange": factories.arange, "empty": factories.empty, "empty_like": factories.empty_like,
    "full": factories.full, "full_like": factories.full_like, "linspace": factories.linspace,
    "ones": factories.ones, "ones_like": factories.ones_like, "zeros": factories.zeros,
    "zeros_like": factories.zeros_like, "linear": composites.linear, "item": conversion.item,
    "numpy_T": Tensor.T.fget, "mT": Tensor.mT.fget, "mH": Tensor.mH.fget, "matrix_H": Tensor.H.fget}
_CONVERSIONS = ("to", "cpu", "npu", "type_as", "float", "double", "half", "bfloat16", "byte", "char", "short",
                "int", "long", "bool", "cfloat", "cdouble")
# Functions of nn.functional that are one operator in torch, of this name, and several here.
_OF_FUNCTIONAL = {"cross_entropy": "cross_entropy_loss", "nll_loss": "nll_loss_nd"} | {
    name: name for name in (
        "alpha_dropout", "bilinear", "cosine_similarity", "dropout", "embedding", "feature_alpha_dropout",
        "hinge_embedding_loss", "huber_loss", "margin_ranking_loss", "pad", "pairwise_distance", "poisson_nll_loss",
        "relu6", "scaled_dot_product_attention", "triplet_margin_loss")}


def _operator_names():
    """{function: the operator's name}. A function of several names goes by its own."""
    found = {}
    tables = [table for module in _MODULES for name in ("FUNCTIONS", "METHODS", "ATEN")
              if (table := getattr(module, name, None))]
    moved = {name: copy_cast.METHODS[name] for name in ("clone", "detach", "copy_", "detach_")}
    for table in (*tables, copy_cast.FUNCTIONS, moved, _OTHER_FUNCTIONS):
        for name, function in zip(table, map(overridable, table.values()), strict=True):
            if name not in _NO_OPERATORS and (function not in found or name == function.__name__):
                found[function] = f"aten::{name}"
    found |= {overridable(copy_cast.METHODS[name]): "aten::to" for name in _CONVERSIONS}
    found |= {getattr(functional, name): f"aten::{torch_name}" for name, torch_name in _OF_FUNCTIONAL.items()}
    for prefix, module in (("fft", fft), ("linalg", linalg), ("special", special)):
        for name in getattr(module, "__all__", vars(module)):
            function = getattr(module, name)
            if isinstance(function, WrappedFunction) and getattr(functional, name, None) is not function:
                found.setdefault(function, f"aten::{prefix}_{name}")
    found |= {function: f"npu::{name}" for name, function in namespace.NPU.items()}
    return found


@cache
def _name_functions():
    named = _operator_names()
    for function, name in named.items():
        function._profiled_name = name
    for method in vars(Tensor).values():                # those that torch has as functions too
        if isinstance(method, WrappedFunction) and method._profiled_name is None:
            method._profiled_name = named.get(overridable(method.__wrapped__))


def enter_profiled(on: Any) -> None:
    """Switch recording of all operators on or off."""
    if on:
        _name_functions()
    torch_function.record_operators(on)
