"""The rules that rows name: `shape = "broadcast(self, other)"`.

Which rules exist, and what they take, is read from the .pxd files that declare them: a rule with a wrong name or a
wrong argument is an error of the row.
"""
import functools
import re
from dataclasses import dataclass
from pathlib import Path

# Modules of _core whose .pxd files declare the rules.
RULE_MODULES = ("operators.operator", "rules.infer", "rules.rules")


def alias(module: str) -> str:
    return module.replace(".", "_")


def cimport_module(name: str) -> str:
    """In the form that Cython follows to the .pxd file when that has changed: `from package cimport module` is not."""
    return f"cimport mindtorch._core.{name} as {alias(name)}\n"


RULE_CIMPORTS = "".join(map(cimport_module, RULE_MODULES))
CORE = Path(__file__).parents[2] / "_core"
SCALAR_TYPES = {
    "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long", "float16": "Half",
    "float32": "Float", "float64": "Double", "complex64": "ComplexFloat", "complex128": "ComplexDouble",
    "bool": "Bool", "bfloat16": "BFloat16",
}

# Shape rules of elementwise ops: their results keep the operands' order of dimensions.
ELEMENTWISE = ("same_shape", "broadcast", "broadcast3", "broadcast_optional", "elementwise_loss", "weighted_loss")


class RuleError(ValueError):
    """A rule that does not exist or is called wrongly."""


@dataclass(frozen=True)
class Rule:
    name: str
    module: str
    returns: str
    parameters: tuple       # C types, without names

    @property
    def is_shape_rule(self) -> bool:
        return self.parameters[:1] == ("Shape *",)


_DECLARATION = re.compile(r"^cdef (?:inline )?(\w+) (\w+)\(([^)]*)\)", re.MULTILINE)


@functools.cache
def rules() -> dict:
    """Every function that a row may name."""
    found = {}
    for module in RULE_MODULES:
        text = (CORE / f"{module.replace('.', '/')}.pxd").read_text(encoding="utf-8")
        for returns, name, parameters in _DECLARATION.findall(text):
            types = tuple(re.sub(r"\w+$", "", p.strip()).strip() for p in parameters.split(",") if p.strip())
            if name in found:
                raise RuleError(f"{name} is declared twice: in {found[name].module} and in {alias(module)}")
            found[name] = Rule(name, alias(module), returns, types)
    return found


_DEFINITION = re.compile(r'^cdef (?:inline )?\w+ (\w+)\([^)]*\)[^\n]*:\n    """(.+?)"""', re.MULTILINE | re.DOTALL)
_INCLUDE = re.compile(r'^include "(.+)"$', re.MULTILINE)


def docstrings(module) -> dict:
    """Of a module of rules: source file -> (function -> its docstring)."""
    source = CORE / f"{module.replace('.', '/')}.pyx"
    parts = [source.parent / name for name in _INCLUDE.findall(source.read_text(encoding="utf-8"))]
    return {path: dict(_DEFINITION.findall(path.read_text(encoding="utf-8"))) for path in (source, *parts)}
