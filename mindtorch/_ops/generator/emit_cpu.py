"""mindtorch/_cpu/_gen: the rows' NumPy expressions as kernels.

An expression sees every tensor as an array in the compute dtype (half and bfloat16 as float32), numbers as NumPy
scalars of that dtype (rounded before to the operands' own, but for those in the row's column opmath), int lists as
tuples (None when empty), dtypes as NumPy's. `np` is in scope, and so are the modules custom*.py of mindtorch/_cpu.
"""
import ast
from pathlib import Path

from .emit_core import NOTE, SCALAR_IMPORT, compute_dtype, kernel_parameters
from .rows import RARE_TYPES, RowError
from .rules import RULE_CIMPORTS, SCALAR_TYPES, RuleError, Scope

CUSTOM = tuple(sorted(path.stem for path in (Path(__file__).parents[2] / "_cpu").glob("custom*.py")))
# NumPy functions that write into `out=` themselves; other results are assigned.
_UFUNCS = frozenset((
    "add", "subtract", "multiply", "negative", "absolute", "exp", "log", "sqrt", "tanh", "maximum", "minimum",
    "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or",
    "logical_not", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "invert", "isfinite", "reciprocal",
    "power", "divide", "square", "true_divide", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh",
    "arctan2", "cos", "cosh", "sin", "sinh", "tan", "exp2", "expm1", "log1p", "log10", "log2", "logaddexp2", "copysign",
    "hypot", "fmax", "fmin", "gcd", "lcm", "heaviside", "signbit", "isinf",
))


def family_pyx(table, family) -> str:
    rows = [row for row in table.family(family) if row.has_kernel and row.cpu]
    functions = []
    for row in rows:
        try:
            functions.append(_kernel(row))
        except (RuleError, SyntaxError) as error:
            raise RowError(f"{family}.toml: {row.key}: cpu: {error}") from None
    slots = "".join(f"    KERNELS[<int>CPU].{row.slot} = {row.slot}\n" for row in rows)
    return (NOTE.format(source=f"{family}.toml") + "from libc.stdint cimport int64_t\n\n"
            "import numpy as np\n\n"
            f"{_custom_imports(rows)}"
            f"{RULE_CIMPORTS}"
            "from mindtorch._core._gen.kernels cimport KERNELS\n"
            "from mindtorch._core.device cimport CPU\n"
            "from mindtorch._core.generator cimport Generator\n"
            + SCALAR_IMPORT +
            "from mindtorch._core.tensor cimport Shape, TensorBase\n"
            "from mindtorch._core.values cimport as_array\n"
            "from mindtorch._core.dtype cimport is_float8\n"
            "from mindtorch._cpu.arrays cimport (\n"
            "    arrays, computing, ints_or_none, narrow, number, numpy_dtype, operand, operands, promoted,\n"
            "    store_shaped, store_some, widened)\n\n\n"
            + "\n\n".join(functions) + f"\n\ndef register():\n{slots or '    pass' + chr(10)}")


def _custom_imports(rows) -> str:
    """Of the modules that the expressions use."""
    used = {node.id for row in rows for node in ast.walk(ast.parse(row.cpu, mode="eval")) if isinstance(node, ast.Name)}
    return "".join(f"from mindtorch._cpu import {module}\n" for module in CUSTOM if module in used)


def package_init(families) -> str:
    imports = "".join(f"from mindtorch._cpu._gen import {family}\n" for family in families)
    calls = "".join(f"    {family}.register()\n" for family in families)
    return NOTE.format(source="*.toml") + f"{imports}\n\ndef register():\n{calls}"


class _Rename(ast.NodeTransformer):
    """The expression's names become the function's local arrays."""

    def __init__(self, names):
        self.names = names

    def visit_Name(self, node):
        if node.id in self.names:
            node.id = self.names[node.id]
        elif node.id not in ("np", *CUSTOM, "True", "False", "None"):
            raise RuleError(f"the expression uses the unknown name {node.id!r}")
        return node


def _kernel(row) -> str:
    if row.of_lists:
        return _of_lists(row)
    outputs = row.result_names or ["self"]
    scope = Scope(row)
    taken = sum(1 << RARE_TYPES[name] for name in row.rare)
    lines = [f"cdef ScalarType element = {compute_dtype(row, scope, outputs[0])}",
             f'cdef ScalarType compute = computing(element, {taken:#x}, "{row.refusal}")', *_wider(row, outputs)]
    body, names = [], {}
    for argument in row.kernel_arguments:
        if row.schema.inplace and argument.name == "self":
            continue
        names[argument.name] = f"x_{argument.name}"
        body.append(f"x_{argument.name} = {_local(argument, row)}")
    for name in outputs:
        names[name] = f"x_{name}"
        masked = row.outputs and row.outputs[outputs.index(name)].mask
        body.append(f"x_{name} = " + (f"None if {name} is None else " if masked else "") + f"as_array({name})")
    tree = _Rename(names).visit(ast.parse(row.cpu, mode="eval"))
    body.append(_store(tree.body, outputs, row))
    lines += ['with np.errstate(all="ignore"):', *(f"    {line}" for line in body), "return 0"]
    return (f"cdef int {row.slot}({kernel_parameters(row)}) except -1:\n" +
            "".join(f"    {line}\n" for line in lines))


def _wider(row, outputs) -> list:
    """A float of 8 bits is computed as a float32, which is then rounded as the CPU's copies round."""
    if not any(name.startswith("float8") for name in row.rare):
        return []
    if any(out.reported or out.dtype in SCALAR_TYPES for out in row.outputs):      # moved as it is, or no such output
        return []
    (out,) = outputs
    arguments = [argument.name for argument in row.kernel_arguments] + row.result_names
    values = ", ".join("wide" if name == out else name for name in arguments)
    return ["cdef TensorBase wide", f"if is_float8({out}.dtype):", f"    wide = widened({out})",
            f"    {row.slot}({values})", f"    return narrow({out}, wide)"]


def _of_lists(row) -> str:
    """The expression is a function of lists of arrays, in the tensors' own dtypes, which writes to some of them."""
    lines, names = [], {}
    call = ast.parse(row.cpu, mode="eval")
    used = {node.id for node in ast.walk(call) if isinstance(node, ast.Name)}
    for argument in (a for a in row.kernel_arguments if a.name in used):
        names[argument.name] = f"x_{argument.name}"
        made = {"Tensor[]": f"arrays({argument.name})"}.get(argument.type) or _local(argument, row)
        lines.append(f"    x_{argument.name} = {made}")
    call = _Rename(names).visit(call)
    lines = ['with np.errstate(all="ignore"):', *lines, f"    {ast.unparse(call.body)}", "return 0"]
    return (f"cdef int {row.slot}({kernel_parameters(row)}) except -1:\n" +
            "".join(f"    {line}\n" for line in lines))


def _local(argument, row) -> str:
    name = argument.name
    match argument.type:
        case "Tensor" | "Tensor?":
            made = f"as_array({name})" if name in row.raw else _operand(name, row)
            return f"None if {name} is None else {made}" if argument.optional else made
        case "Tensor[]":
            return f"operands({name}, compute)"
        case "Tensor?[]":
            return f"arrays({name})"
        case "Scalar":
            return _number(name, row)
        case "Scalar?":
            return f"None if {name} == NULL else {_number(name, row)}"
        case "int[]" | "int[]?" | "int?":
            if argument.type == "int?" and not name.startswith("dim"):
                return f"ints_or_none({name})"
            # NumPy has no axis 0 in 0-d arrays.
            return f"ints_or_none({name})" + (" if self.ndim else None" if row.schema.argument("self") else "")
        case "float?":
            return f"None if {name} == NULL else {name}[0]"
        case "bool[]":
            return f"[bool({name}.sizes[i]) for i in range({name}.ndim)]"
        case "bool":
            return f"bool({name})"
        case "Generator?":
            return f"{name}.stream"
        case "ScalarType" | "ScalarType?":
            return f"numpy_dtype({name})"
    return name


def _number(name, row) -> str:
    """In torch most kernels read a number as an element of the operands' dtype, some as what they compute in."""
    exact = row.factory or row.of_lists or name in row.opmath
    return f"number({name}, {'compute' if exact else 'element'}, compute)"


def _operand(name, row) -> str:
    if "promote(" not in (row.compute or (row.outputs[0].dtype if row.outputs else "")):
        return f"operand({name}, compute)"
    made = f"promoted({name}, element, compute)"
    return f"operand({name}, compute) if {name}.ndim == 0 else {made}" if name in row.opmath else made


def _store(node, outputs, row) -> str:
    target = f"x_{outputs[0]}"
    text = ast.unparse(node)
    if any(out.reported for out in row.outputs):
        many = text if len(outputs) > 1 else f"({text},)"
        return f"store_shaped([{', '.join(outputs)}], {many})"
    if any(out.mask for out in row.outputs):
        return f"store_some(({', '.join(f'x_{name}' for name in outputs)}), {text})"
    if len(outputs) > 1:
        return ", ".join(f"x_{name}[...]" for name in outputs) + f" = {text}"
    function = node.func if isinstance(node, ast.Call) else None
    if isinstance(function, ast.Attribute) and getattr(function.value, "id", "") == "np" and function.attr in _UFUNCS:
        # A result in a lower precision than the compute dtype is cast on the way out.
        return f'{text[:-1]}, out={target}, casting="unsafe")'
    return f"{target}[...] = {text}"
