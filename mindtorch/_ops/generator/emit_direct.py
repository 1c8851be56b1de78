"""mindtorch/_core/_gen/direct.pyx and .pxd: kernels for formulas to call by themselves.

A formula knows what its operators get: tensors of one device, dtypes that the kernel takes, memory of the result's
shape that no other operand overlaps. So it may call the kernels as the functions of the operators do once all that has
been found out. There is a function for each slot that mindtorch/_ops/compositions* name, as in `run.mul_Tensor`; it
takes the slot's arguments in their order, the outputs last, and returns the first output. Formulas in Cython call it as
a C function.
"""
import re

from .derivatives import COMPOSITIONS, FOLDER
from .emit_core import NOTE, compute_dtype, declare_arguments, operator_name, operators_declared, pack
from .emit_core import SCALAR_IMPORT
from .rows import RowError
from .rules import RULE_CIMPORTS, Scope

_NAME = re.compile(r"\brun\.(\w+)")
_KINDS = {"Tensor": "TensorBase", "Scalar": "object", "Scalar?": "object", "int": "int64_t", "SymInt": "int64_t",
          "float": "double", "float?": "object", "bool": "bint", "bool?": "bint", "Generator?": "Generator",
          "str": "object", "str?": "object", "Tensor?[]": "list"}


def names_called() -> list:
    """Slots that formulas call."""
    texts = [path.read_text(encoding="utf-8") for pattern in COMPOSITIONS for path in FOLDER.glob(pattern)]
    return sorted({name for text in texts for name in _NAME.findall(text)})


def _rows(table) -> list:
    slots = {row.slot: row for row in table.rows if row.has_slot and not row.of_lists}
    names = names_called()
    if unknown := set(names) - set(slots):
        raise RowError(f"formulas run {sorted(unknown)[0]!r}, which is no kernel")
    return [slots[name] for name in names]


def module_pxd(table) -> str:
    return (NOTE.format(source="*.toml") + "from libc.stdint cimport int64_t\n\n"
            "from mindtorch._core.generator cimport Generator\n"
            "from mindtorch._core.tensor cimport TensorBase\n\n\n" +
            "".join(f"{_signature(row)}\n" for row in _rows(table)))


def module(table) -> str:
    return (NOTE.format(source="*.toml") + "from cpython.ref cimport PyObject\n"
            f"{RULE_CIMPORTS}"
            "from mindtorch._core.arguments cimport parse_ints\n"
            "from mindtorch._core.dispatch cimport optional_scalar\n"
            "from mindtorch._core.operator cimport Argument, Operator, find_operator, require_kernel, run_kernel\n"
            f"{SCALAR_IMPORT}"
            "from mindtorch._core.scalar cimport scalar_from\n"
            "from mindtorch._core.tensor cimport Shape\n\n"
            f"{operators_declared(_rows(table))}\n\n" +
            "\n\n".join(_function(row) for row in _rows(table)))


def _is_ints(argument) -> bool:
    return argument.c_type == "const Shape *"


def _signature(row) -> str:
    parameters = []
    for argument in row.kernel_arguments:
        if argument.type == "ScalarType?":      # the output's
            continue
        kind = "object" if _is_ints(argument) else _KINDS.get(argument.type)
        if kind is None:
            raise RowError(f"{row.key}: formulas cannot run a kernel with an argument of type {argument.type!r}")
        parameters.append(f"{kind} {argument.name}")
    parameters += [f"TensorBase {name}" for name in row.result_names]
    return f"cpdef TensorBase {row.slot}({', '.join(parameters)})"


def _passed(row, argument, output) -> tuple:
    """Lines that prepare an argument, and how the kernel gets it."""
    name, kind = argument.name, argument.type
    if _is_ints(argument):
        parsed = f'parse_ints({name}, &ints_{name}, b"{row.slot}", b"{name}")'
        return [f"cdef Shape ints_{name}", parsed], f"&ints_{name}"
    if kind == "Scalar":
        return [f"cdef Scalar number_{name}", f"scalar_from({name}, &number_{name})"], f"&number_{name}"
    if kind == "Scalar?":
        optional = f'optional_scalar({name}, &number_{name}, b"{row.slot}", b"{name}", 0)'
        return [f"cdef Scalar number_{name}"], optional
    if kind == "float?":
        lines = [f"cdef double number_{name} = 0 if {name} is None else {name}"]
        return lines, f"NULL if {name} is None else &number_{name}"
    return [], f"{output}.dtype" if kind == "ScalarType?" else name


def _compute(row, first) -> str:
    if any(a.type == "ScalarType?" for a in row.kernel_arguments):
        return f"{first}.dtype"
    return compute_dtype(row, Scope(row), first)


def _function(row) -> str:
    outputs = row.result_names
    first = (outputs or ["self"])[0]
    tensors = [a.name for a in row.kernel_arguments if a.type == "Tensor"] + outputs
    # A C function takes None for any tensor.
    lines, values = [f"if {' or '.join(f'{name} is None' for name in tensors)}:",
                     f'    raise TypeError("{row.key}: one of the tensors is None")'], []
    for argument in row.kernel_arguments:
        prepared, value = _passed(row, argument, first)
        lines += prepared
        values.append(value)
    given = [*zip([a.c_type for a in row.kernel_arguments], values, strict=True),
             *(("TensorBase", name) for name in outputs)]
    compute = _compute(row, first)
    for index, argument in enumerate(row.kernel_arguments):
        if argument.type in ("Scalar", "Scalar?"):
            compute = re.sub(rf"\b{argument.name}\b", f"arguments[{index}].scalar", compute)
    lines += [declare_arguments(row), f"require_kernel({operator_name(row)}, {first}.device_type, {first}.dtype)",
              *pack(given), f"run_kernel({operator_name(row)}, {first}.device_type, arguments, {compute})",
              f"return {first}"]
    return f"{_signature(row)}:\n" + "".join(f"    {line}\n" for line in lines)
