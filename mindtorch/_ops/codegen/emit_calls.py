"""mindtorch/_core/_gen/calls.pyx: operators as C functions, for modules written by hand that call them.

A function for each name `op_<slot>` that those modules cimport; it takes the arguments of the schema, then out= of the
plain form. `op_add__Tensor` is the in-place form of add.Tensor.
"""
import re
from pathlib import Path

from .arguments import member, packed
from .emit_grad import NOTE
from .rows import RowError, inplace_name

PACKAGE = Path(__file__).parents[2]
_NAME = re.compile(r"\bop_(\w+)\(")


def names_called() -> list:
    paths = [path for folder in ("_core", "_npu") for path in (PACKAGE / folder).glob("*.pyx")]
    texts = [path.read_text(encoding="utf-8") for path in paths]
    return sorted({name for text in texts for name in _NAME.findall(text)})


def _functions(table) -> list:
    """(head, body) of each function."""
    plain = {row.slot: row for row in table.rows}
    inplace = {inplace_name(row): row for row in table.rows if row.inplace}
    found = []
    for name in names_called():
        row, is_inplace = (plain[name], plain[name].schema.inplace) if name in plain else (inplace.get(name), True)
        if row is None:
            raise RowError(f"op_{name} is called in _core or _npu, but there is no such row")
        given = [(a.c_type, a.name) for a in row.kernel_arguments]
        if not is_inplace and not row.of_lists:
            given += [("TensorBase ", result) for result in row.result_names]
        several = row.of_lists or len(row.result_names) > 1
        kind = "list" if row.of_lists and is_inplace else "tuple" if several else "TensorBase"
        head = f"cdef {kind} op_{name}({', '.join(f'{c_type}{a}' for c_type, a in given)})"
        fills = "".join(f"    arguments[{i}].{member(c_type)} = {packed(c_type, a)}\n"
                        for i, (c_type, a) in enumerate(given))
        run = "run_inplace" if is_inplace else "run"
        found.append((head, f"    cdef Argument arguments[MAX_ARGUMENTS]\n{fills}"
                            f"    return <{kind}>{run}(OP_{name}, arguments)\n",
                      f'cdef Operator OP_{name} = find_operator("{row.key}")\n'))
    return found


def module_pxd(table) -> str:
    return (NOTE.format(source="*.toml") + "from libc.stdint cimport int64_t\n\n"
            "from mindtorch._core.generator cimport Generator\n"
            "from mindtorch._core.scalar cimport Scalar, ScalarType\n"
            "from mindtorch._core.tensor cimport Shape, TensorBase\n\n\n" +
            "".join(f"{head}\n" for head, _, _ in _functions(table)))


def module(table) -> str:
    functions = _functions(table)
    return (NOTE.format(source="*.toml") + "from cpython.ref cimport PyObject\n\n"
            "from mindtorch._core.operator cimport MAX_ARGUMENTS, Argument, Operator, find_operator\n"
            "from mindtorch._core.run_operator cimport run, run_inplace\n\n" +
            "".join(declared for _, _, declared in functions) + "\n\n" +
            "\n\n".join(f"{head}:\n{body}" for head, body, _ in functions))
