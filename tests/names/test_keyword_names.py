"""Every overload of a function or method takes its arguments under the names in torch's type declarations (.pyi)."""
import ast
import inspect
from pathlib import Path

import pytest
import torch

import mindtorch

SPACES = {"torch": (mindtorch, "_VariableFunctions.pyi", None),
          "Tensor": (mindtorch.Tensor, "__init__.pyi", "TensorBase")}
# Names that are not taken, with the reason.
EXCEPTIONS = {
    "dequantize": "a list: there are no quantised tensors",
    "add sub mul floor_divide true_divide": "torch itself refuses out= of the methods",
    "addmm baddbmm bmm mm": "out_dtype= of CUDA's kernels",
    "full": "torch itself refuses names=",
    "gru lstm rnn_relu rnn_tanh": "nn calls them, by position",
    "ccol_indices_copy col_indices_copy crow_indices_copy indices_copy row_indices_copy values_copy": "out= of what a "
    "sparse tensor holds",
    "result_type": "scalar, scalar1 and scalar2: numbers are given by position",
    "new": "a constructor that torch.tensor has replaced",
    "view": "an object that is no dtype is no argument of view(dtype=)",
    "native_batch_norm": "out= of three results",
    "numel sspaddmm": "torch itself refuses self=",
    "requires_grad_": "torch itself refuses mode=",
}


def overloads(file, kind):
    """Pairs of a name and its parameters: the functions that a .pyi file of torch._C declares."""
    tree = ast.parse((Path(torch.__file__).parent / "_C" / file).read_text(encoding="utf-8"))
    body = tree.body if kind is None else next(
        node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == kind).body
    for node in body:
        if isinstance(node, ast.FunctionDef) and node.name[0] != "_":
            found = node.args
            yield node.name, [one.arg for one in (*found.posonlyargs, *found.args, *found.kwonlyargs)]


def refuses_a_name(function, positional, names):
    """Whether a call is refused because of a name. What is passed fits no parameter."""
    try:
        function(*positional, **dict.fromkeys(names, object()))
    except TypeError as error:
        return "keyword argument" in str(error)
    except Exception:       # noqa: BLE001 - of the values, of which none is right
        return False
    return False


@pytest.mark.parametrize("space", SPACES)
def test_arguments_are_taken_by_the_names_of_every_overload(space):
    ours, file, kind = SPACES[space]
    excepted = {name for names in EXCEPTIONS for name in names.split()}
    refused = []
    for name, parameters in overloads(file, kind):
        function = getattr(ours, name, None)
        if not callable(function) or getattr(function, "refuses", False) or name in excepted:
            continue
        names = parameters[1:] if kind else parameters
        missing = set(names) - set(inspect.signature(function).parameters)
        if missing and refuses_a_name(function, [mindtorch.ones(1)] if kind else [], names):
            refused.append(f"{name}({', '.join(names)})")
    assert refused == []
