"""Derivative expressions of op rows: what they use, what the forward saves for them, and how they read in Python.

An expression is a Python expression over
- `grad` (or grad0, grad1 for several results): the gradient of the result; `grads`: the list of all of them,
  None where nothing came back. A result whose gradient no expression names has no history,
- the arguments of the schema, by name,
- `result` (or result0, result1): what the op returned,
- functions of mindtorch/_ops/derivatives and mindtorch/_ops/decompositions, operators of the table, and methods of
  tensors.
The names an expression uses are what the forward saves; `self.shape` saves the shape alone, and so do the other
attributes in PROPERTIES. "none" says that there is no derivative.
"""
import ast
import builtins
import functools
import re
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).parents[2]
_FUNCTION = re.compile(r"^(?:def )?([a-zA-Z]\w*)(?=\(| = )", re.MULTILINE)
# Attributes that are saved in the place of a tensor, or of a list of tensors: how history.pyx calls them.
PROPERTIES = {"shape": "shape", "dtype": "dtype_of", "device": "device", "ndim": "ndim", "stride": "stride"}
LIST_PROPERTIES = {"shape": "shapes"}
_CONSTANTS = {"True", "False", "None"}


class DerivativeError(ValueError):
    """A derivative that cannot be built."""


@dataclass(frozen=True)
class Saved:
    """One thing that a node keeps: `name` in the backward function, `source` the argument or result it comes from."""
    name: str
    source: str
    attribute: str = ""       # a property of the tensor, saved in its place


@functools.cache
def functions_in(*folders) -> dict:
    """The functions of the modules in folders of mindtorch/: name -> the module, as in "_ops.derivatives.linalg"."""
    return {name: ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
            for folder in folders for path in sorted((PACKAGE / folder).glob("*.py"))
            for name in _FUNCTION.findall(path.read_text(encoding="utf-8"))}


def functions_of_rows() -> dict:
    """The functions that `grad` and "decomposition: ..." may call, besides operators."""
    return functions_in("_ops/derivatives", "_ops/decompositions")


def alias(module) -> str:
    """How generated code names a module: "_ops.derivatives.linalg" as derivatives_linalg."""
    return "_".join(module.split(".")[-2:])


def imports(text) -> str:
    """The import statements that generated code needs for the modules and `ops` that it names."""
    modules = {*functions_of_rows().values(), *functions_in("_cpu/kernels").values()}
    lines = [f"import mindtorch.{module} as {alias(module)}\n" for module in sorted(modules)
             if re.search(rf"\b{alias(module)}\.", text)]
    return "".join(lines) + "from mindtorch._ops.operators import ops\n" * ("ops." in text)


def qualified(name) -> ast.expr:
    """A function of the modules that rows may call, or an operator, under its name in generated code."""
    module = functions_of_rows().get(name)
    return ast.Attribute(ast.Name(alias(module) if module else "ops", ast.Load()), name, ast.Load())


def _parse(expression):
    try:
        return ast.parse(expression, mode="eval").body
    except SyntaxError as error:
        raise DerivativeError(f"derivative {expression!r} is no expression: {error.msg}") from None


def names_used(expression) -> set:
    """The free names of an expression: functions called, and values."""
    return {node.id for node in ast.walk(_parse(expression)) if isinstance(node, ast.Name)}


def results(schema, stem) -> list:
    return [stem] if len(schema.returns) == 1 else [f"{stem}{i}" for i in range(len(schema.returns))]


def saved(schema, expression) -> list:
    """The values that the forward saves for this derivative, in the schema's order."""
    whole, parts = _names_used(schema, expression)
    kept = []
    for name in [a.name for a in schema.arguments] + results(schema, "result"):
        if name in whole:
            kept.append(Saved(name, name))
        kept += [Saved(f"{name}_{attribute}", name, attribute) for attribute in parts.get(name, ())]
    return kept


def _names_used(schema, expression) -> tuple:
    """Names used as they are, and the properties used of tensors."""
    types = _tensor_types(schema)
    tree, inside, parts = _parse(expression), set(), {}
    for node in ast.walk(tree):
        if _is_property(node, types):
            inside.add(id(node.value))
            if node.attr not in parts.setdefault(node.value.id, []):
                parts[node.value.id].append(node.attr)
    return {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and id(n) not in inside}, parts


def _tensor_types(schema) -> dict:
    types = {a.name: a.type for a in schema.arguments if a.type.startswith("Tensor")}
    return types | dict.fromkeys(results(schema, "result"), "Tensor")


def _is_property(node, types) -> bool:
    if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
        return False
    known = LIST_PROPERTIES if "[]" in types.get(node.value.id, "") else PROPERTIES
    return node.value.id in types and node.attr in known


def in_python(schema, expression) -> str:
    """The expression with its functions and saved properties under the names they have in a backward function."""
    types = _tensor_types(schema)
    values = {a.name for a in schema.arguments} | set(results(schema, "result")) | set(results(schema, "grad"))

    class Rename(ast.NodeTransformer):
        def visit_Attribute(self, node):
            if _is_property(node, types):
                return ast.Name(f"{node.value.id}_{node.attr}", ast.Load())
            return self.generic_visit(node)

        def visit_Name(self, node):
            if node.id in values or node.id in _CONSTANTS or node.id in ("grads", "grad_input_mask"):
                return node
            return qualified(node.id)

    return ast.unparse(Rename().visit(_parse(expression)))


def check(schema, grads):
    """DerivativeError unless every derivative is of a tensor argument and uses known names only.

    Operators of the table are known by their names, which `check_functions` looks at once all rows are read.
    """
    if grads == "none":
        return
    for argument, expression in grads.items():
        found = schema.argument(argument)
        if found is None or not found.type.startswith("Tensor"):
            raise DerivativeError(f"derivative of {argument!r}, which is no tensor argument")
        names_used(expression)


def check_functions(schema, grads, operators):
    """DerivativeError for names that are neither values of the op nor functions that a derivative may call."""
    if grads == "none":
        return
    known = {*functions_of_rows(), *operators, *_CONSTANTS, "grads", "grad_input_mask"}
    known |= {a.name for a in schema.arguments}
    known |= set(results(schema, "grad")) | set(results(schema, "result"))
    for argument, expression in grads.items():
        if expression == "none":
            continue
        if unknown := names_used(expression) - known:
            kind = "builtin" if unknown <= set(dir(builtins)) else "name"
            raise DerivativeError(f"the derivative of {argument!r} uses the unknown {kind} {sorted(unknown)[0]!r}")
