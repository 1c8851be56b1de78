"""NPU functions of rows whose `npu` column is "formula: ...", or that have a formula in the column `otherwise`: an
expression of other operators, for what ACLNN lacks.

The expression is a derivative's: names of arguments, operators of the table, methods of tensors, and functions of
mindtorch/_ops/derivatives*.py and compositions*, in Python or in Cython. It sees tensors in the dtype that the CPU
computes in, halves in float32, and gives the result, or a sequence of them; casting and writing to the outputs is done
here. It may name an output: that is memory of its shape, in the dtype computed in, which shares none with the
arguments. An operator that writes there costs the host less than half of one that makes a tensor, and a result that
lies there is not copied. What the column `reads` names may be a 0-d tensor of the CPU: a number that was given.
"""
import ast

from . import derivatives
from .emit_core import compute_dtype, kernel_parameters
from .rules import Scope

PREFIX = "formula: "
_CONVERTED = {"Scalar": "scalar_to({})", "int[]": "ints_of({})", "bool": "bool({})",
              "float?": "None if {0} == NULL else {0}[0]"}


def is_formula(row) -> bool:
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
    expression, lines, written = _in_cython(row), [], []
    if not results:                 # it writes to self
        results, lines, written = ["target"], ["cdef TensorBase target = self"], ["target"]
    for argument in row.kernel_arguments:
        name = argument.name
        if argument.type == "Tensor":
            if name not in row.raw:
                lines.append(f"{name} = computed({name}, {goal})")
        elif argument.type in _CONVERTED:
            lines.append(f"cdef object given_{name} = {_CONVERTED[argument.type].format(name)}")
            expression = _renamed(expression, name)
    for name in sorted(set(row.result_names) & derivatives.names_used(expression)):
        shared = " or ".join(f"{name}.storage is {a.name}.storage" for a in row.kernel_arguments if a.type == "Tensor")
        dtype = goal if name == results[0] else f"{name}.dtype"
        lines.append(f"cdef TensorBase given_{name} = memory_for({name}, {dtype}, {shared})")
        expression = _renamed(expression, name)
        written.append(name)
    for name in written:
        lines.append(f"cdef uint32_t version_of_{name} = version_of({name})")
    lines += ["cdef bint recorded = set_grad_enabled(False)",
              "cdef unsigned int casting = suspend()",
              "try:",
              f"    results = {expression}",
              "finally:",
              "    set_grad_enabled(recorded)",
              "    resume(casting)",
              # What writes to it several times counts as one write, which the caller counts.
              *(f"set_version({name}, version_of_{name})" for name in written),
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
