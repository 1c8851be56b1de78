"""Programs derive from torch's classes, and name their own members as they like: ours must not be in the way."""
import ast
import functools
import importlib
import inspect
import re
import textwrap
from pathlib import Path

import pytest
import torch

# Modules whose classes programs derive from.
MODULES = ["nn", "nn.modules.batchnorm", "nn.modules.conv", "nn.modules.dropout", "nn.modules.instancenorm",
           "nn.modules.lazy", "nn.modules.loss", "nn.modules.padding", "nn.modules.pooling", "nn.modules.rnn",
           "nn.utils.parametrizations", "nn.utils.parametrize", "nn.utils.prune", "optim", "optim.lr_scheduler",
           "optim.swa_utils", "distributions", "distributions.constraints", "distributions.transforms", "utils.data",
           "fx", "autograd", "amp"]
TORCH = Path(torch.__file__).parent


def members(cls):
    """The private names of a class's body, and those that its methods assign to an object, without mangled ones."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    except OSError:                 # made by a call of type()
        tree = ast.Module([], [])
    assigned = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(
        node.ctx, ast.Store) and isinstance(node.value, ast.Name) and node.value.id in ("self", "cls", "new")}
    mangled = f"_{cls.__name__.lstrip('_')}__"
    return {name for name in vars(cls).keys() | assigned if re.fullmatch(r"_[^_](\w*[^_])?", name)
            and not name.startswith(mangled)}


@functools.cache
def names_in_torch(package):
    """The private names that occur in a package of torch, and those of tensors and abstract classes."""
    files = [TORCH / f"{package}.py"] if (TORCH / f"{package}.py").exists() else (TORCH / package).rglob("*.py")
    return set(re.findall(r"\b_\w+", "\n".join(file.read_text() for file in files))) | {*dir(torch.Tensor), "_abc_impl"}


def unexpected_members(cls):
    package = cls.__module__.removeprefix("mindtorch.").removeprefix("mindtorch") or "_tensor"
    return members(cls) - names_in_torch("utils/data" if package.startswith("utils.data") else package.split(".")[0])


@pytest.mark.parametrize("module", MODULES)
def test_members_that_torch_does_not_have_end_with_an_underscore(module):
    theirs = vars(importlib.import_module(f"torch.{module}"))
    namespace = vars(importlib.import_module(f"mindtorch.{module}"))
    classes = [value for name, value in namespace.items() if isinstance(value, type) and name in theirs]
    ours = {base for cls in classes if not issubclass(cls, tuple) for base in cls.__mro__
            if base.__module__.startswith("mindtorch") and not base.__module__.startswith("mindtorch._core")}
    assert ours
    assert {(base.__qualname__, name) for base in ours for name in unexpected_members(base)} == set()
