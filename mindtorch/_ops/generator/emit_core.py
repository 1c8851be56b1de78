"""What the generated Cython code of kernels shares: parameters, dtypes, and calls of other kernels."""
from . import emit_lists
from .arguments import member, packed
from .emit_grad import NOTE
from .rules import Scope

__all__ = ["NOTE"]
SCALAR_IMPORT = ("from mindtorch._core.scalar cimport (\n"
                 "    BFloat16, Bool, Byte, Char, ComplexDouble, ComplexFloat, Double, Float, Half, Int, Long, Scalar,"
                 " ScalarType, Short,\n    Undefined)\n")


def kernel_parameters(row) -> str:
    """The kernel's parameters: arguments, then outputs; for in-place kernels `self` is written."""
    if row.of_lists:
        return emit_lists.kernel_parameters(row)
    parameters = [f"{a.c_type}{a.name}" for a in row.kernel_arguments]
    return ", ".join(parameters + [f"TensorBase {name}" for name in row.result_names])


def operator_name(row) -> str:
    """The variable of generated modules that holds the row's Operator."""
    return f"OP_{row.slot}"


def operators_declared(rows) -> str:
    return "".join(f'cdef Operator {operator_name(row)} = find_operator("{row.key}")\n' for row in rows)


def compute_dtype(row, scope: Scope, target) -> str:
    """The dtype, in C, that a kernel's operands and numbers are brought to; `target` is its first output."""
    rule = row.compute or (row.outputs[0].dtype if row.outputs and not row.factory else "")
    return scope.dtype(rule) if rule else f"{target}.dtype"


def pack(given) -> list:
    """Lines that put (C type, value) pairs into `arguments`."""
    return [f"arguments[{index}].{member(c_type)} = {packed(c_type, value)}"
            for index, (c_type, value) in enumerate(given)]


def declare_arguments(row) -> str:
    return f"cdef Argument arguments[{max(1, len(row.kernel_arguments) + len(row.result_names) + row.of_lists)}]"
