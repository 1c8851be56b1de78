"""mindtorch/_npu/_gen/decompositions.py: the decompositions of rows, which mindtorch/_npu/aclnn_call.pyx calls.

A row names one in its column `npu`, `fallback` or `graph_capture`: "decomposition: ...", an expression as in `grad` of
arguments, operators of the table, methods of tensors, and functions of mindtorch/_ops/decompositions and
mindtorch/_ops/derivatives. It gets tensors in the dtype that the CPU computes in, float16 and bfloat16 in float32, and
gives the result, or a sequence of them; the caller casts it and writes it to the outputs. It may ask an output for its
shape. A tensor that the column `host_read` names may be a 0-d tensor of the CPU: a number that the user gave.
"""
import ast

from . import derivatives
from .emit_grad import NOTE

PREFIX = "decomposition: "
_CONVERSIONS = {"Scalar": "scalar", "Scalar?": "scalar", "int": "int", "float": "float", "float?": "optional_float",
                **dict.fromkeys(("int[]", "int[]?", "int?", "bool[]"), "ints"),
                **dict.fromkeys(("bool", "bool?"), "bool"), **dict.fromkeys(("ScalarType", "ScalarType?"), "int"),
                **dict.fromkeys(("Tensor", "Tensor?", "Tensor[]", "Tensor?[]", "Generator?", "str", "str?"), "object")}


def is_decomposition(text) -> bool:
    return text.startswith(PREFIX)


def module(table) -> str:
    functions, tables = [], []
    for name, column in (("KERNELS", "npu"), ("FALLBACKS", "fallback"), ("IN_GRAPHS", "graph_capture")):
        rows = [row for row in table.rows if is_decomposition(getattr(row, column)) and row.may_have_kernel]
        functions += [_function(row, column) for row in rows]
        entries = "".join(f'    "{row.key}": ({_name(row, column)}, "{_conversions(row)}", {len(row.result_names)}),\n'
                          for row in rows)
        tables.append(f"{name} = {{\n{entries}}}\n")
    text = "\n\n".join(functions)
    return (NOTE.format(source="*.toml") + derivatives.imports(text) + "\n\n" + text +
            "\n\n# By operator: function, conversions of its arguments, number of results.\n"
            + "".join(tables))


def _name(row, column) -> str:
    return row.c_name if column == "npu" else f"{row.c_name}_{column}"


def _function(row, column) -> str:
    names = [a.name for a in row.kernel_arguments] + row.result_names
    known = {*names, "True", "False", "None"}

    class Qualify(ast.NodeTransformer):
        def visit_Name(self, node):
            if node.id in known:
                return node
            return derivatives.qualified(node.id)

    text = getattr(row, column).removeprefix(PREFIX)
    expression = ast.unparse(Qualify().visit(ast.parse(text, mode="eval").body))
    return f"def {_name(row, column)}({', '.join(names)}):\n    return {expression}\n"


def _conversions(row) -> str:
    """Words of Conversion in mindtorch/_npu/aclnn_call.pyx."""
    words = ["computed" if a.type == "Tensor" and a.name not in row.no_cast else _CONVERSIONS[a.type]
             for a in row.kernel_arguments]
    return " ".join(words + ["object"] * len(row.result_names))
