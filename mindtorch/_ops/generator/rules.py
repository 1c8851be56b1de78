"""The rules that rows name, `shape = "broadcast(self, other)"`, as Cython: `infer.broadcast(&shape, self, other)`.

Which rules exist, and what they take, is read from the .pxd files that declare them: a rule with a wrong name or a
wrong argument is an error of the row.
"""
import ast
import functools
import re
from dataclasses import dataclass
from pathlib import Path

# Modules of _core whose .pxd files declare the rules.
RULE_MODULES = ("dispatch", "index_rules", "infer", "lists", "loss_rules", "matrix_rules", "norm_rules", "npu_rules",
                "rearrange_rules", "reduce_rules", "sampling", "windows")


def cimport_module(name: str) -> str:
    """In the form that Cython follows to the .pxd file when that has changed: `from package cimport module` is not."""
    return f"cimport mindtorch._core.{name} as {name}\n"


RULE_CIMPORTS = "".join(map(cimport_module, RULE_MODULES))
CORE = Path(__file__).parents[2] / "_core"
SCALAR_TYPES = {
    "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long", "float16": "Half",
    "float32": "Float", "float64": "Double", "complex64": "ComplexFloat", "complex128": "ComplexDouble",
    "bool": "Bool", "bfloat16": "BFloat16",
}

# Shape rules of elementwise ops: their results keep the operands' order of dimensions.
ELEMENTWISE = ("same", "broadcast", "broadcast3", "broadcast_optional", "loss", "weighted_loss")


class RuleError(ValueError):
    """A rule that does not exist or is called wrongly."""


@dataclass(frozen=True)
class Rule:
    name: str
    module: str
    returns: str
    parameters: tuple       # C types, without names

    @property
    def of_shape(self) -> bool:
        return self.parameters[:1] == ("Shape *",)


_DECLARATION = re.compile(r"^cdef (?:inline )?(\w+) (\w+)\(([^)]*)\)", re.MULTILINE)


@functools.cache
def rules() -> dict:
    """Every function that a row may name."""
    found = {}
    for module in RULE_MODULES:
        text = (CORE / f"{module}.pxd").read_text(encoding="utf-8")
        for returns, name, parameters in _DECLARATION.findall(text):
            types = tuple(re.sub(r"\w+$", "", p.strip()).strip() for p in parameters.split(",") if p.strip())
            found[name] = Rule(name, module, returns, types)
    return found


class Scope:
    """Names a rule may use, with their C types."""

    def __init__(self, row):
        self.types = {a.name: a.c_type.strip() for a in row.kernel_arguments}
        self.types |= dict.fromkeys(row.result_names, "TensorBase")

    def shape(self, text) -> str:
        """The statement that fills `shape`; the name of an int list is that list itself."""
        node = _parse(text)
        if isinstance(node, ast.Name) and self.types.get(node.id) == "const Shape *":
            return f"shape = {node.id}[0]"
        if not isinstance(node, ast.Call):
            raise RuleError(f"shape rule {text!r} is no call")
        return self._call(node, of_shape=True)

    def operands(self, text) -> list:
        """The tensors that an elementwise op's shape comes from; none for other ops."""
        node = _parse(text)
        if isinstance(node, ast.Call) and node.func.id in ELEMENTWISE:
            return [a.id for a in node.args if isinstance(a, ast.Name) and self.types[a.id] == "TensorBase"]
        return []

    def dtype(self, text) -> str:
        """A dtype rule as an expression of type ScalarType; "dtype or out or rule" takes the first that was given."""
        node = _parse(text)
        *given, rule = node.values if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or) else [node]
        value = self._value(rule, "ScalarType")
        for name in reversed([argument.id for argument in given]):
            absent = "is not None" if self.types[name] == "TensorBase" else "!= Undefined"
            value = f"{self._value(ast.Name(name), 'ScalarType')} if {name} {absent} else {value}"
        return value

    def check(self, text) -> str:
        node = _parse(text)
        if not isinstance(node, ast.Call) or not node.func.id.startswith("check_"):
            raise RuleError(f"{text!r} is no call of a check")
        return self._call(node)

    def permission(self, text) -> str:
        """A call of a may_* function, as a condition."""
        node = _parse(text)
        if not isinstance(node, ast.Call) or not node.func.id.startswith("may_"):
            raise RuleError(f"{text!r} is no call of a may_ function")
        return self._call(node)

    def _call(self, node, of_shape=False) -> str:
        rule = rules().get(node.func.id)
        if rule is None or rule.of_shape != of_shape:
            raise RuleError(f"unknown rule {node.func.id!r}")
        wanted = rule.parameters[1:] if of_shape else rule.parameters
        if len(node.args) != len(wanted):
            raise RuleError(f"{rule.name} takes {len(wanted)} arguments, not {len(node.args)}")
        values = [self._value(argument, type_) for argument, type_ in zip(node.args, wanted, strict=True)]
        return f"{rule.module}.{rule.name}({', '.join(['&shape', *values] if of_shape else values)})"

    def _value(self, node, wanted) -> str:
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.Constant):
            return f'"{node.value}"' if isinstance(node.value, str) else repr(node.value)
        if isinstance(node, ast.Compare):       # "min is None" where a check wants a bool
            name = node.left.id
            null = "NULL" if self.types[name].endswith("*") else None
            return f"{name} != NULL" if null else f"{name} is not None"
        if not isinstance(node, ast.Name):
            raise RuleError(f"cannot read {ast.unparse(node)!r} in a rule")
        if wanted == "ScalarType" and node.id in SCALAR_TYPES:
            return SCALAR_TYPES[node.id]
        actual = self.types.get(node.id)
        if actual is None:
            raise RuleError(f"the schema has no argument {node.id!r}")
        if wanted == "ScalarType" and actual == "TensorBase":
            return f"{node.id}.dtype"
        if actual.replace(" ", "") != wanted.replace(" ", ""):
            raise RuleError(f"{node.id!r} is a {actual}, the rule wants a {wanted}")
        return node.id


def _parse(text):
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:
        raise RuleError(f"rule {text!r} is no expression") from None
