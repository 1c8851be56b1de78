"""mindtorch/_cpu/_gen: the rows' NumPy expressions as Python functions, and how each gets its arguments.

An expression sees every tensor as an array in the compute dtype (half and bfloat16 as float32), numbers as NumPy
scalars of that dtype (rounded before to the operands' own, but for those in the row's column opmath), int lists as
tuples (None when empty), dtypes as NumPy's. It may call NumPy as `np`, and functions of mindtorch/_cpu/kernels by
their bare names.
mindtorch/_cpu/backend.pyx calls the functions; it converts each argument as KERNELS says by a word.
"""
import ast
import functools

from . import derivatives
from .emit_grad import NOTE
from .rows import RARE_TYPES, RowError
from .rules import SCALAR_TYPES

# NumPy functions that write into `out=` themselves; other results are assigned.
_UFUNCS = frozenset((
    "add", "subtract", "multiply", "negative", "absolute", "exp", "log", "sqrt", "tanh", "maximum", "minimum",
    "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or",
    "logical_not", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "invert", "isfinite", "reciprocal",
    "power", "divide", "square", "true_divide", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh",
    "arctan2", "cos", "cosh", "sin", "sinh", "tan", "exp2", "expm1", "log1p", "log10", "log2", "logaddexp2", "copysign",
    "hypot", "fmax", "fmin", "gcd", "lcm", "heaviside", "signbit", "isinf",
))


def family_py(table, family) -> str:
    """A module of the family's kernels, and the list that registers them."""
    rows = [row for row in table.family(family) if row.has_kernel and row.cpu]
    functions, entries = [], []
    for row in rows:
        try:
            functions.append(_function(row))
        except (SyntaxError, ValueError) as error:
            raise RowError(f"{family}.toml: {row.key}: cpu: {error}") from None
        entries.append(f"    {_entry(row)},\n")
    body = "\n\n".join(functions)
    imports = "import numpy as np\n" * ("np." in body) + derivatives.imports(body)
    imports += "from mindtorch._cpu.backend import store_some\n" * ("store_some(" in body)
    return (NOTE.format(source=f"{family}.toml") + imports + "\n\n" + body +
            f"\n\nKERNELS = [\n{''.join(entries)}]\n")


def package_init(families) -> str:
    imports = "".join(f"from mindtorch._cpu._gen import {family}\n" for family in families)
    names = "".join(f", *{family}.KERNELS" for family in families)
    return NOTE.format(source="*.toml") + f"{imports}\nKERNELS = [{names.removeprefix(', ')}]\n"


def _function(row) -> str:
    names = [a.name for a in row.kernel_arguments] + row.result_names
    tree = _Qualify(names).visit(ast.parse(row.cpu, mode="eval"))
    statement = ast.unparse(tree) if row.is_foreach else _store(tree.body, row.result_names or ["self"], row)
    return f"def {row.c_name}({', '.join(names)}):\n    {statement}\n"


class _Qualify(ast.NodeTransformer):
    """Puts the module before the name of a function of mindtorch/_cpu/kernels."""

    def __init__(self, names):
        self.known, self.kernels = {*names, "np", "True", "False", "None"}, derivatives.functions_in("_cpu/kernels")

    def visit_Name(self, node):
        if node.id in self.known:
            return node
        if node.id not in self.kernels:
            raise ValueError(f"{node.id!r} is neither an argument nor a function of mindtorch/_cpu/kernels")
        return ast.Attribute(ast.Name(derivatives.alias(self.kernels[node.id]), ast.Load()), node.id, ast.Load())


def _store(node, outputs, row) -> str:
    """The statement that writes the results, or returns those whose shape their values decide."""
    target, text = outputs[0], ast.unparse(node)
    if any(out.dynamic_shape for out in row.outputs):
        return f"return {text}" if len(outputs) > 1 else f"return ({text},)"
    if any(out.mask for out in row.outputs):
        return f"store_some(({', '.join(outputs)}), {text})"
    if len(outputs) > 1:
        return ", ".join(f"{name}[...]" for name in outputs) + f" = {text}"
    function = node.func if isinstance(node, ast.Call) else None
    if isinstance(function, ast.Attribute) and getattr(function.value, "id", "") == "np" and function.attr in _UFUNCS:
        # A result in a lower precision than the compute dtype is cast on the way out.
        return f'{text[:-1]}, out={target}, casting="unsafe")'
    return f"{target}[...] = {text}"


def _entry(row) -> str:
    """What `register` in mindtorch/_cpu/backend.pyx takes of a kernel."""
    conversions = " ".join([_conversion(row, a) for a in row.kernel_arguments] + ["array"] * len(row.result_names))
    taken = functools.reduce(int.__or__, (1 << RARE_TYPES[name] for name in row.rare), 0)
    return (f'("{row.key}", {row.c_name}, "{conversions}", {len(row.result_names)}, {taken:#x}, "{row.refusal}", '
            f"{_computes_wider(row)})")


def _computes_wider(row) -> bool:
    """Whether floats of 8 bits are computed in float32 and rounded then, as the CPU's copies round. Not so where the
    kernel only moves elements, or the result has another dtype."""
    if not any(name.startswith("float8") for name in row.rare):
        return False
    return not any(out.dynamic_shape or out.dtype in SCALAR_TYPES for out in row.outputs)


def _conversion(row, argument) -> str:
    """The word of Conversion in mindtorch/_cpu/backend.pyx."""
    name = argument.name
    match argument.type:
        case "Tensor" | "Tensor?":
            return "array" if name in row.no_cast or (row.schema.inplace and name == "self") else _operand(row, name)
        case "Tensor[]":
            return "arrays" if row.is_foreach else "operands"
        case "Tensor?[]":
            return "arrays"
        case "Scalar" | "Scalar?":
            # In torch most kernels read a number as an element of the operands' dtype, some as what they compute in.
            return "exact_number" if row.factory or name in row.opmath else "number"
        case "int?" if not name.startswith("dim"):
            return "ints"
        case "int[]" | "int[]?" | "int?":
            # NumPy has no axis 0 in 0-d arrays.
            first = row.kernel_arguments[0]
            return "dims" if first.name == "self" and first.is_tensor else "ints"
        case "bool[]":
            return "bools"
        case "float?":
            return "optional_float"
        case "Generator?":
            return "generator"
        case "ScalarType" | "ScalarType?":
            return "dtype"
        case "int" | "float":
            return argument.type
        case "bool" | "bool?":
            return "bool"
    return "object"


def _operand(row, name) -> str:
    if "promote(" not in (row.compute_dtype or (row.outputs[0].dtype if row.outputs else "")):
        return "operand"
    return "promoted_tensor" if name in row.opmath else "promoted"
