"""GraphModule: a module whose forward is made from a Graph."""
from __future__ import annotations

import contextlib
import copy
import functools
import itertools
import linecache
import os
import sys
import traceback
from types import ModuleType
from typing import TYPE_CHECKING, Any, Self

from mindtorch import Tensor
from mindtorch.fx.graph import Graph
from mindtorch.nn import Module, Parameter

if TYPE_CHECKING:
    from mindtorch.fx._codegen import PythonCode

__all__ = ["GraphModule", "reduce_graph_module"]

_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"
_numbers = itertools.count()
_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class _CodeOnlyModule(Module):
    """A module with the attributes of another."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.__dict__ = body


def _get_attr(model, attr_name):
    """The attribute at the end of a path with dots."""
    return functools.reduce(getattr, attr_name.split("."), model)


def _copy_attr(from_module, to_module, target):
    """Share the object at a path with `to_module`, unless that has one there."""
    *prefix, field = target.split(".")
    for name in prefix:
        following = getattr(from_module, name)
        child = getattr(to_module, name, None)
        if child is following:
            return
        if child is None:
            child = Module()
            setattr(to_module, name, child)
        from_module, to_module = following, child
    _put(to_module, field, getattr(from_module, field))


def _assign_attr(from_obj, to_module, target):
    """Put an object at a path below a module; modules on the way are made."""
    *prefix, field = target.split(".")
    for name in prefix:
        if getattr(to_module, name, None) is None:
            setattr(to_module, name, Module())
        to_module = getattr(to_module, name)
    _put(to_module, field, from_obj)


def _put(module, name, value):
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        module.register_buffer(name, value)
    else:
        setattr(module, name, value)


def _function(src, names):
    """The function `forward` of a source; tracebacks show its lines."""
    file = f"<eval_with_key>.{next(_numbers)}"
    linecache.cache[file] = len(src), None, src.splitlines(True), file
    names = dict(names)
    exec(compile(src, file, "exec", dont_inherit=True), names)
    return names["forward"]


def reduce_graph_module(body: dict[str, Any], src: Any, names: Any) -> Module:
    """A GraphModule from its pickled attributes and source; tracing the source gives the graph.

    Arguments:
        body: the attributes of the module
        src: the Python source
        names: the lines that import what the source uses

    Example:
        >>> import pickle
        >>> module = pickle.loads(pickle.dumps(torch.fx.symbolic_trace(torch.nn.ReLU())))     # calls it
        >>> module(torch.tensor([-1.0, 1.0]))
        tensor([0., 1.])
    """
    import mindtorch
    from mindtorch.fx._symbolic_trace import Tracer

    class KeepModules(Tracer):
        def is_leaf_module(self, m, module_qualified_name):
            return True

    class Source(_CodeOnlyModule):
        forward = _function(src, {"torch": mindtorch, **names})
    made = Source(body)
    return GraphModule(made, KeepModules().trace(made), body.get("_graph_name", "GraphModule"))


def _tell_line(error):
    """Print the line of generated code that raised an error, with those around it, to stderr."""
    frames = [each for each in traceback.extract_tb(error.__traceback__)
              if not os.path.abspath(each.filename).startswith(_HERE) and not each.filename.endswith((".pyx", ".pxi"))]
    if not frames or not frames[-1].filename.startswith("<eval_with_key>"):
        return
    number, lines = frames[-1].lineno, linecache.getlines(frames[-1].filename)
    around = "".join(lines[max(number - 3, 0):number]), "".join(lines[number:number + 2])
    print(f"Call using an FX-traced Module, line {number} of the traced Module's generated forward function:\n"
          f"{around[0]}\n~~~~~~ <--- HERE\n{around[1]}", file=sys.stderr)


class GraphModule(Module):
    """A module that runs `graph`.

    After the graph was changed, recompile() makes forward anew; assigning a graph does so by itself.

    Arguments:
        root: the module whose parameters and submodules the graph names, or a dict of them by path
        graph: the graph
        class_name: the name of the class

    Example:
        >>> module = torch.fx.symbolic_trace(lambda x: x + 1)
        >>> isinstance(module, torch.fx.GraphModule), module(torch.ones(2))
        (True, tensor([2., 2.]))
        >>> print(module.code.strip())
        def forward(self, x):
            add = x + 1;  x = None
            return add
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        kept = next(kind for kind in cls.__mro__ if not kind.__dict__.get("_of_one_instance", False))
        return super().__new__(type(kept.__name__, (kept,), {"_of_one_instance": True, "__module__": kept.__module__}))

    def __init__(self, root: Module | dict[str, Any], graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        self.__class__.__name__ = class_name
        paths = [(node, node.target) for node in graph.nodes if node.op in ("get_attr", "call_module")]
        if isinstance(root, Module):
            self.training = root.training
            for _, path in paths:
                _copy_attr(root, self, path)
        elif isinstance(root, dict):
            for node, path in sorted(paths, key=lambda pair: pair[1].count(".")):
                if path not in root:
                    raise RuntimeError(f"Node {node} referenced target {path} but that target was not provided in "
                                       "``root``!")
                _assign_attr(root[path], self, path)
        else:
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        self.graph = graph
        self.meta = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().__call__(*args, **kwargs)
        except Exception as error:
            _tell_line(error)
            raise

    @property
    def graph(self) -> Graph:
        """The graph that forward was made from."""
        return self._graph

    @graph.setter
    def graph(self, g: Any) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self._graph = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The source of forward."""
        if not hasattr(self, "_code"):
            raise RuntimeError("Code has not been generated! Please report a bug to PyTorch")
        return self._code

    def recompile(self) -> PythonCode:
        """Regenerate forward from the graph; returns the source code."""
        made = self._graph.python_code("self")
        self._code = made.src
        type(self).forward = _function(made.src, made.globals)
        return made

    # --- submodules ---------------------------------------------------------------------------------------------------

    def add_submodule(self, target: str, m: Module) -> bool:
        """Put a module at a path. False where a part of the path is no module."""
        found = self
        *prefix, field = target.split(".")
        for name in prefix:
            child = getattr(found, name, None)
            if child is None:
                child = Module()
                setattr(found, name, child)
            if not isinstance(child, Module):
                return False
            found = child
        found.add_module(field, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Remove the module at a path. False where there is none."""
        path, _, field = target.rpartition(".")
        try:
            found = self.get_submodule(path)
        except AttributeError:
            return False
        if not isinstance(getattr(found, field, None), Module):
            return False
        delattr(found, field)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Remove the modules that the graph does not use, directly or below a module that it calls."""
        used = set()
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = node.target.split(".")
                used |= {".".join(parts[:i + 1]) for i in range(len(parts))}
            if node.op == "call_module":
                with contextlib.suppress(AttributeError):           # one that is still to come keeps nothing
                    used |= {f"{node.target}.{name}" for name, _ in self.get_submodule(node.target).named_modules()}
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    # --- copies and text ----------------------------------------------------------------------------------------------

    def _deepcopy_init(self):
        return GraphModule.__init__

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        copied = memo[id(self)] = type(self).__new__(type(self))
        attributes = _CodeOnlyModule(copy.deepcopy(self.__dict__, memo))
        self._deepcopy_init()(copied, attributes, attributes.__dict__["_graph"], self.__class__.__name__)
        copied.meta = copy.copy(self.meta)
        return copied

    def __copy__(self) -> GraphModule:
        copied = GraphModule(self, copy.deepcopy(self.graph), self.__class__.__name__)
        copied.meta = copy.copy(self.meta)
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        body = {**self.__dict__, "_graph_name": self.__class__.__name__}
        made = body.pop("_graph").python_code("self")
        names = {name: value for name, value in made.globals.items() if not isinstance(value, ModuleType)}
        return reduce_graph_module, (body, made.src, names)

    def print_readable(self, print_output: bool = True) -> str:
        """The source in a class, with those of the GraphModules below; printed unless print_output is false."""
        body = self._code.strip("\n ").replace("\n", "\n    ")
        inner = [child.print_readable(False) for child in self.children() if isinstance(child, GraphModule)]
        text = f"class {self._get_name()}(torch.nn.Module):\n    {body}\n" + "".join(
            f"\n    {part.rstrip()}\n".replace("\n", "\n    ").rstrip(" ") for part in inner)
        if print_output:
            print(text)
        return text

    def __str__(self) -> str:
        return "\n".join([super().__str__(), self._code,
                          "# To see more debug info, please use `graph_module.print_readable()`"])

    def __repr__(self) -> str:
        return super().__repr__()
