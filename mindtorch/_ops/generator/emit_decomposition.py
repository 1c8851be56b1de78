"""NPU functions of rows whose `npu` column is "decomposition: ...", or that have one in the columns `fallback` or
`graph`: an expression of other operators, for what ACLNN lacks.

The expression is a derivative's: names of arguments, operators of the table, methods of tensors, and functions of
mindtorch/_ops/decompositions and derivatives*.py. It sees tensors in the dtype that the CPU computes in, halves in
float32, and gives the result, or a sequence of them; casting and writing to the outputs is done here. It may ask an
output for its shape. What the column `reads` names may be a 0-d tensor of the CPU: a number that was given.
"""
import ast

from . import derivatives
from .emit_core import compute_dtype, kernel_parameters
from .rules import Scope

PREFIX = "decomposition: "
_CONVERTED = {"Scalar": "scalar_to({})", "int[]": "ints_of({})", "bool": "bool({})",
              "float?": "None if {0} == NULL else {0}[0]"}


def is_decomposition(row) -> bool:
    return row.npu.startswith(PREFIX)


def _in_cython(row) -> str:
    values = {a.name for a in row.schema.arguments} | set(row.result_names) | {"True", "False", "None"}

    class Rename(ast.NodeTransformer):
        def visit_Name(self, node):
            if node.id in values:
                return node
            owner = "formulas()" if node.id in derivatives.formulas() else "formulas().ops"
            return ast.Attribute(ast.Name(owner, ast.Load()), node.id, ast.Load())

    return ast.unparse(Rename().visit(ast.parse(row.npu.removeprefix(PREFIX), mode="eval").body))


def kernel(row, function=None) -> str:
    """The function in the slot, or one of another name.

    What it calls records no history, and casts nothing: the row's own node stands for all of it, and autocast has seen
    the row's arguments.
    """
    function = function or row.slot
    results = row.result_names
    goal = compute_dtype(row, Scope(row), (results or ["self"])[0])
    expression, lines, restore = _in_cython(row), [], []
    if not results:                 # it writes to self: once, as the caller counts it
        results, lines = ["target"], ["cdef TensorBase target = self", "cdef uint32_t version = version_of(self)"]
        restore = ["set_version(target, version)"]
    for argument in row.kernel_arguments:
        name = argument.name
        if argument.type == "Tensor":
            if name not in row.raw:
                lines.append(f"{name} = computed({name}, {goal})")
        elif argument.type in _CONVERTED:
            lines.append(f"cdef object given_{name} = {_CONVERTED[argument.type].format(name)}")
            expression = _renamed(expression, name)
    lines += ["cdef bint recorded = set_grad_enabled(False)",
              "cdef unsigned int casting = suspend()",
              "try:",
              f"    results = {expression}",
              "finally:",
              "    set_grad_enabled(recorded)",
              "    resume(casting)",
              *restore,
              f"return store_all([{', '.join(results)}], results)" if len(results) > 1 else
              f"return store({results[0]}, results)"]
    return (f"cdef int {function}({kernel_parameters(row)}) except -1:\n" +
            "".join(f"    {line}\n" for line in lines))


def _renamed(expression, name) -> str:
    tree = ast.parse(expression, mode="eval")
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == name:
            node.id = f"given_{name}"
    return ast.unparse(tree)
