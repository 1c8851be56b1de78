"""The Python source of a graph."""
from __future__ import annotations

import builtins
import enum
import operator
import re
import types
import typing
from dataclasses import dataclass, field
from typing import Any

from mindtorch import Tensor
from mindtorch.fx.node import map_arg, qualified_name

BINARY = {"eq": "==", "ne": "!=", "lt": "<", "gt": ">", "le": "<=", "ge": ">=", "add": "+", "sub": "-", "mul": "*",
          "floordiv": "//", "truediv": "/", "mod": "%", "pow": "**", "lshift": "<<", "rshift": ">>", "and_": "&",
          "or_": "|", "xor": "^", "matmul": "@"}
MAGIC = {**{name: f"{{}} {sign} {{}}" for name, sign in BINARY.items()}, "getitem": "{}[{}]", "pos": "+{}",
         "neg": "-{}", "invert": "~{}"}
REFLECTED = ("add", "sub", "mul", "floordiv", "truediv", "mod", "pow", "lshift", "rshift", "and_", "or_", "xor",
             "matmul")
INPLACE = {**{f"i{name.rstrip('_')}": f"{{}} {sign}= {{}}" for name, sign in BINARY.items() if name in REFLECTED},
           "setitem": "{}[{}] = {}"}


# How annotations name the classes that typing has a name for.
_TYPING = {list: typing.List, dict: typing.Dict, set: typing.Set, frozenset: typing.FrozenSet,      # noqa: UP006
           tuple: typing.Tuple}                                                                     # noqa: UP006


@dataclass
class PythonCode:
    """Source, and what its names mean.

    Arguments:
        src: the Python source
        globals: the names that the source uses

    Example:
        >>> code = torch.fx.symbolic_trace(lambda x: x + 1).graph.python_code("self")
        >>> "def forward(self, x)" in code.src
        True
    """

    src: str
    globals: dict = field(default_factory=dict)


class CodeGen:
    """Writes the function `forward` of a graph.

    Example:
        >>> graph = torch.fx.symbolic_trace(lambda x: x + 1).graph
        >>> isinstance(graph._codegen, torch.fx.CodeGen)
        True
    """

    def generate(self, nodes: Any, root_module: Any, namespace: Any) -> Any:
        """PythonCode of the nodes; `root_module` is the name of the module among the parameters."""
        return _Writer(nodes, root_module, namespace).code()


class _Writer:
    def __init__(self, nodes: Any, root_module: Any, namespace: Any) -> None:
        self.nodes, self.root, self.namespace = list(nodes), root_module, namespace
        self.globals, self.parameters, self.lines, self.wrapped, self.returns = {}, [], [], [], ""
        self.last_uses = self._last_uses()

    def code(self) -> Any:
        for node in self.nodes:
            line = getattr(self, f"_{node.op}")(node)
            if node.op == "placeholder":
                if line:
                    self.lines.append(line)
            else:
                self.lines.append(line + self._releases(node))
        body = "".join(f"    {line}\n" for line in self.lines or ["pass"])
        wraps = "".join(f'torch.fx._symbolic_trace.wrap("{name}")\n' for name in self.wrapped)
        if self.wrapped:
            import mindtorch
            self.globals["torch"] = mindtorch
        own = self.parameters[:1] == [self.root]        # a traced function may have a `self` of its own
        head = f"def forward({', '.join(self.parameters if own else [self.root, *self.parameters])}){self.returns}:"
        return PythonCode(f"\n{wraps}\n" + ("" if wraps else "\n") + f"{head}\n{body}    ", self.globals)

    def _last_uses(self):
        """node -> the nodes with values that are not used after it."""
        found, seen = {}, set()

        def register(used, user):
            if used not in seen:
                seen.add(used)
                found.setdefault(user, []).append(used)
            return used
        for node in reversed(self.nodes):
            map_arg((node.args, node.kwargs), lambda used, user=node: register(used, user))
        return found

    def _releases(self, node):
        if node.op == "output":
            return ""
        names = self.last_uses.get(node, []) + ([] if node.users else [node])
        return f";  {' = '.join(map(repr, names))} = None" if names else ""

    # --- names --------------------------------------------------------------------------------------------------------

    def _global(self, hint, value):
        """The name of a value that the code gets from outside; torch's own are reached through `torch`."""
        if hint.startswith("torch."):
            import mindtorch
            self.globals["torch"] = mindtorch
            return hint
        name = re.sub(r"\W", "_", hint)
        while name in self.globals and self.globals[name] is not value:
            name += "_1"
        self.globals[name] = value
        return name

    def _path(self, target):
        """An attribute below the module, also where a name on the way is no identifier."""
        text = self.root
        for name in target.split("."):
            text = f"{text}.{name}" if name.isidentifier() else f'getattr({text}, "{name}")'
        return text

    def _value(self, value):
        if hasattr(value, "_fields") and isinstance(value, tuple):
            return self._global(qualified_name(type(value)), type(value)) + repr(tuple(value))
        if isinstance(value, tuple):
            return f"({', '.join(map(self._value, value))}{',' if len(value) == 1 else ''})"
        if isinstance(value, list):
            return f"[{', '.join(map(self._value, value))}]"
        if isinstance(value, dict):
            return f"{{{', '.join(f'{key!r}: {self._value(item)}' for key, item in value.items())}}}"
        if isinstance(value, slice):
            return f"slice({self._value(value.start)}, {self._value(value.stop)}, {self._value(value.step)})"
        if isinstance(value, enum.Enum):
            return f"{self._global(type(value).__name__, type(value))}.{value.name}"
        if callable(value) and not isinstance(value, str):
            return self._global(qualified_name(value), value)
        text = repr(value)
        for name in re.findall(r"^-?(torch|device|inf|nan|mindtorch)\b", text):
            self._constant_(name)
        return text

    def _constant_(self, name):
        import mindtorch
        self.globals[name] = {"torch": mindtorch, "mindtorch": mindtorch, "device": mindtorch.device,
                              "inf": float("inf"), "nan": float("nan")}[name]

    def _annotation(self, kind):
        if isinstance(kind, str):       # not evaluated: by `from __future__ import annotations` none are
            return repr(kind)
        if isinstance(kind, typing.ForwardRef):
            return repr(kind.__forward_arg__)
        if kind is None or kind is type(None):
            return "None"
        if kind is Ellipsis or isinstance(kind, list):      # of Callable[[int, str], ...]
            return "..." if kind is Ellipsis else f"[{', '.join(map(self._annotation, kind))}]"
        inner = typing.get_args(kind)
        if isinstance(kind, types.UnionType):
            return " | ".join(map(self._annotation, inner))
        if inner and typing.get_origin(kind) is not typing.Literal:
            outer = _TYPING.get(typing.get_origin(kind), typing.get_origin(kind))
            return f"{self._annotation(outer)}[{', '.join(map(self._annotation, inner))}]"
        if getattr(builtins, getattr(kind, "__name__", ""), None) is kind:
            return kind.__name__
        name = getattr(kind, "__qualname__", None) or getattr(kind, "_name", None)
        if kind is Tensor or not name:          # Literal["a"] has no name of its own
            return self._global("torch.Tensor" if kind is Tensor else re.sub(r"\W+", "_", repr(kind)), kind)
        return self._global(qualified_name(kind) if isinstance(kind, type) else f"{kind.__module__}.{name}", kind)

    # --- one method an op ---------------------------------------------------------------------------------------------

    def _placeholder(self, node):
        text = node.target
        if node.type is not None:
            text += f" : {self._annotation(node.type)}"
        self.parameters.append(text + (f" = {self._value(node.args[0])}" if node.args else ""))
        raw = node.target.lstrip("*")
        return f"{node!r} = {raw}" if raw != repr(node) else ""

    def _arguments(self, args, kwargs):
        return ", ".join([*map(self._value, args), *(f"{name} = {self._value(value)}"
                                                     for name, value in kwargs.items())])

    def _call_method(self, node):
        return f"{node!r} = {self._value(node.args[0])}.{node.target}({self._arguments(node.args[1:], node.kwargs)})"

    def _call_function(self, node):
        name = node.target.__name__
        if getattr(operator, name, None) is node.target and not node.kwargs:
            if name in MAGIC:
                return f"{node!r} = {MAGIC[name].format(*map(self._value, node.args))}"
            if name in INPLACE:
                first = self._value(node.args[0])
                return f"{INPLACE[name].format(*map(self._value, node.args))};  {node!r} = {first}"
        if node.target is getattr and len(node.args) == 2 and str(node.args[1]).isidentifier():
            return f"{node!r} = {self._value(node.args[0])}.{node.args[1]}"
        name = self._global(qualified_name(node.target), node.target)
        if node.meta.get("is_wrapped") and name not in self.wrapped:
            self.wrapped.append(name)
        return f"{node!r} = {name}({self._arguments(node.args, node.kwargs)})"

    def _call_module(self, node):
        return f"{node!r} = {self._path(node.target)}({self._arguments(node.args, node.kwargs)})"

    def _get_attr(self, node):
        return f"{node!r} = {self._path(node.target)}"

    def _output(self, node):
        if node.type is not None:
            self.returns = f" -> {self._annotation(node.type)}"
        return f"return {self._value(node.args[0])}"
