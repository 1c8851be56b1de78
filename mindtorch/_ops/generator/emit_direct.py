"""mindtorch/_core/_gen/direct.pyx: kernels for formulas to call by themselves.

A formula knows what its operators get: tensors of one device, dtypes that the kernel takes, memory of the result's
shape that no other operand overlaps. So it may call the kernels as the functions of the operators do once all that has
been found out. There is a function for each slot that mindtorch/_ops/compositions*.py name, as in `run.mul_Tensor`; it
takes the slot's arguments in their order, the outputs last, and returns the first output.
"""
import re

from .derivatives import FOLDER
from .emit_core import NOTE
from .rows import RowError

_NAME = re.compile(r"\brun\.(\w+)")
_PLAIN = {"int": "int64_t ", "SymInt": "int64_t ", "float": "double ", "bool": "bint ", "Generator?": "Generator ",
          "str": "object ", "str?": "object ", "Tensor?[]": "list "}


def names_called() -> list:
    """Slots that formulas call."""
    texts = [path.read_text(encoding="utf-8") for path in FOLDER.glob("compositions*.py")]
    return sorted({name for text in texts for name in _NAME.findall(text)})


def module(table) -> str:
    slots = {row.slot: row for row in table.rows if row.has_slot and not row.of_lists}
    names = names_called()
    functions = [_function(slots[name]) for name in names if name in slots]
    if unknown := set(names) - set(slots):
        raise RowError(f"formulas run {sorted(unknown)[0]!r}, which is no kernel")
    return (NOTE.format(source="*.toml") + "from libc.stdint cimport int64_t\n\n"
            "from mindtorch._core._gen.kernels cimport KERNELS\n"
            "from mindtorch._core.arguments cimport parse_ints\n"
            "from mindtorch._core.dispatch cimport no_kernel, optional_scalar\n"
            "from mindtorch._core.generator cimport Generator\n"
            "from mindtorch._core.scalar cimport Scalar, scalar_from\n"
            "from mindtorch._core.tensor cimport Shape, TensorBase\n\n\n" + "\n\n".join(functions))


def _function(row) -> str:
    parameters, numbers, values = [], [], []
    outputs = row.result_names
    for argument in row.kernel_arguments:
        name, kind = argument.name, argument.type
        if kind == "Tensor":
            parameters.append(f"TensorBase {name} not None")
        elif kind in ("Scalar", "Scalar?"):
            parameters.append(f"object {name}")
            numbers.append(f"cdef Scalar number_{name}")
            if kind == "Scalar":
                numbers.append(f"scalar_from({name}, &number_{name})")
        elif kind == "float?":
            parameters.append(f"object {name}")
            numbers.append(f"cdef double number_{name} = 0 if {name} is None else {name}")
        elif argument.c_type == "const Shape *":
            parameters.append(f"object {name}")
            numbers += [f"cdef Shape ints_{name}", f'parse_ints({name}, &ints_{name}, b"{row.slot}", b"{name}")']
        elif kind == "ScalarType?":
            values.append(f"{outputs[0]}.dtype")
            continue
        elif kind in _PLAIN:
            parameters.append(f"{_PLAIN[kind]}{name}")
        else:
            raise RowError(f"{row.key}: formulas cannot run a kernel with an argument of type {kind!r}")
        optional = f'optional_scalar({name}, &number_{name}, b"{row.slot}", b"{name}", 0)'
        given = {"Scalar": f"&number_{name}", "Scalar?": optional,
                 "float?": f"NULL if {name} is None else &number_{name}"}.get(kind, name)
        values.append(f"&ints_{name}" if argument.c_type == "const Shape *" else given)
    first = (outputs or ["self"])[0]
    parameters += [f"TensorBase {name} not None" for name in outputs]
    slot = f"KERNELS[{first}.device_type].{row.slot}"
    lines = [*numbers, f"if {slot} == NULL:", f'    no_kernel("{row.key}", {first}.device_type, {first}.dtype)',
             f"{slot}({', '.join(values + outputs)})", f"return {first}"]
    return f"def {row.slot}({', '.join(parameters)}):\n" + "".join(f"    {line}\n" for line in lines)
