"""Operators as C functions, for Cython that is written by hand.

mindtorch/_core/_gen/calls.pyx has `op_<C name>` for each such name that this Cython calls: it takes the arguments of
the schema, then out= of the plain form, and runs the operator. `op_add__Tensor` is the in-place form of add.Tensor.
mindtorch/_core/_gen/record_history.pxi, which autograd/history.pyx includes, has `record_<C name>` for each row with a
derivative and a handwritten function: it takes the arguments and the results, and records the operator's autograd node.
"""
import re
from pathlib import Path

from .arguments import member, packed
from .emit_grad import NOTE, recorded, returns_list
from .rows import RowError, inplace_name

PACKAGE = Path(__file__).parents[2]
_NAME = re.compile(r"\bop_(\w+)\(")


def names_called() -> list:
    paths = [path for folder in ("_core", "_npu") for path in (PACKAGE / folder).rglob("*.pyx")
             if "_gen" not in path.parts]
    texts = [path.read_text(encoding="utf-8") for path in paths]
    return sorted({name for text in texts for name in _NAME.findall(text)})


def _function(name, key, returns, given, size, statement) -> tuple:
    """(head, body, operator) of a function that puts its arguments, pairs of C type and name, into an array."""
    declared = ", ".join(f"{c_type}{argument}" for c_type, argument in given)
    fills = "".join(f"    arguments[{index}].{member(c_type)} = {packed(c_type, argument)}\n"
                    for index, (c_type, argument) in enumerate(given))
    returned, _, raises = returns.partition(" except ")
    head = f"cdef {returned} {name}({declared})" + (f" except {raises}" if raises else "")
    c_name = name.partition("_")[2]
    return (head, f"    cdef Argument arguments[{size}]\n{fills}    return {statement}\n",
            f'cdef Operator OP_{c_name} = find_operator("{key}")\n')


def _calls(table) -> list:
    plain = {row.c_name: row for row in table.rows}
    inplace = {inplace_name(row): row for row in table.rows if row.inplace}
    found = []
    for name in names_called():
        row, is_inplace = (plain[name], plain[name].schema.inplace) if name in plain else (inplace.get(name), True)
        if row is None:
            raise RowError(f"op_{name} is called in _core or _npu, but there is no such row")
        given = [(a.c_type, a.name) for a in row.kernel_arguments]
        if not is_inplace and not row.is_foreach:
            given += [("TensorBase ", result) for result in row.result_names]
        several = row.is_foreach or len(row.result_names) > 1
        kind = "list" if row.is_foreach and is_inplace else "tuple" if several else "TensorBase"
        run = "run_inplace" if is_inplace else "run"
        found.append(_function(f"op_{name}", row.key, kind, given, "MAX_ARGUMENTS",
                               f"<{kind}>{run}(OP_{name}, arguments)"))
    return found


def _recorders(table) -> list:
    found = []
    for row in table.rows:
        if not (recorded(row) and row.handwritten):
            continue
        given = [(a.c_type, a.name) for a in row.kernel_arguments]
        if not row.schema.inplace:
            given.append(("list ", "results") if returns_list(row) else ("TensorBase ", "result"))
        found.append(_function(f"record_{row.c_name}", row.key, "int except -1", given, len(given),
                               f"record_operator(OP_{row.c_name}, arguments, None, {row.schema.inplace})"))
    return found


def _declarations(functions) -> str:
    return "".join(f"{head}\n" for head, _, _ in functions)


def _definitions(functions) -> str:
    return ("".join(operator for _, _, operator in functions) + "\n\n" +
            "\n\n".join(f"{head}:\n{body}" for head, body, _ in functions))


def modules(table) -> dict:
    """File name in _core/_gen -> text."""
    calls, recorders = _calls(table), _recorders(table)
    note = NOTE.format(source="*.toml")
    return {
        "calls.pxd": f"{note}from libc.stdint cimport int64_t\n\n"
                     "from mindtorch._core.tensor.generator cimport Generator\n"
                     "from mindtorch._core.tensor.dtype cimport Scalar, ScalarType\n"
                     "from mindtorch._core.tensor.tensor cimport Shape, TensorBase\n\n\n" + _declarations(calls),
        "calls.pyx": f"{note}from cpython.ref cimport PyObject\n\n"
                     "from mindtorch._core.operators.operator cimport MAX_ARGUMENTS, Argument, Operator, "
                     "find_operator\n"
                     "from mindtorch._core.operators.run_operator cimport run, run_inplace\n\n" + _definitions(calls),
        "history_functions.pxi": note + _declarations(recorders),
        "record_history.pxi": note + _definitions(recorders),
    }
