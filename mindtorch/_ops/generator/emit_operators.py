"""mindtorch/_core/_gen/operators.pyx: Python's number operators, in OPERATORS of _core/tensor.pxd.

Each sees the operands in Python's order; either may be the tensor. What is no tensor and no number gets
NotImplemented, so that the other operand's type can answer.
"""
from .emit_core import NOTE
from .emit_python import default_value
from .rows import RowError, inplace_name

# slot -> rows for (tensor, tensor), (tensor, number), and (number, tensor) with the operands as that row takes them.
BINARY = {
    "add": ("add.Tensor", "add.Scalar", "add.Scalar", "swapped"),
    "sub": ("sub.Tensor", "sub.Scalar", "rsub.Scalar", "swapped"),
    "mul": ("mul.Tensor", "mul.Scalar", "mul.Scalar", "swapped"),
    "truediv": ("div.Tensor", "div.Scalar", None, "reciprocal"),
    "floordiv": ("floor_divide", "floor_divide.Scalar", "floor_divide", "wrapped"),
    "mod": ("remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor", "in order"),
    "matmul": ("matmul", None, None, ""),
    "pow": ("pow.Tensor_Tensor", "pow.Tensor_Scalar", "pow.Scalar", "in order"),
    "and_": ("bitwise_and.Tensor", "bitwise_and.Scalar", "bitwise_and.Scalar", "swapped"),
    "or_": ("bitwise_or.Tensor", "bitwise_or.Scalar", "bitwise_or.Scalar", "swapped"),
    "xor": ("bitwise_xor.Tensor", "bitwise_xor.Scalar", "bitwise_xor.Scalar", "swapped"),
    "lshift": ("bitwise_left_shift.Tensor", "bitwise_left_shift.Tensor_Scalar", "bitwise_left_shift.Scalar_Tensor",
               "in order"),
    "rshift": ("bitwise_right_shift.Tensor", "bitwise_right_shift.Tensor_Scalar", "bitwise_right_shift.Scalar_Tensor",
               "in order"),
    "lt": ("lt.Tensor", "lt.Scalar", None, ""),
    "le": ("le.Tensor", "le.Scalar", None, ""),
    "eq": ("eq.Tensor", "eq.Scalar", None, ""),
    "ne": ("ne.Tensor", "ne.Scalar", None, ""),
    "gt": ("gt.Tensor", "gt.Scalar", None, ""),
    "ge": ("ge.Tensor", "ge.Scalar", None, ""),
}
UNARY = {"neg": "neg", "abs": "abs", "invert": "bitwise_not"}
INPLACE = {"iadd": ("add.Tensor", "add.Scalar"), "isub": ("sub.Tensor", "sub.Scalar"),
           "imul": ("mul.Tensor", "mul.Scalar"), "itruediv": ("div.Tensor", "div.Scalar"),
           "ipow": ("pow.Tensor_Tensor", "pow.Tensor_Scalar"),
           "ifloordiv": ("floor_divide", "floor_divide.Scalar"), "imod": ("remainder.Tensor", "remainder.Scalar"),
           "iand": ("bitwise_and.Tensor", "bitwise_and.Scalar"), "ior": ("bitwise_or.Tensor", "bitwise_or.Scalar"),
           "ixor": ("bitwise_xor.Tensor", "bitwise_xor.Scalar"),
           "ilshift": ("bitwise_left_shift.Tensor", "bitwise_left_shift.Tensor_Scalar"),
           "irshift": ("bitwise_right_shift.Tensor", "bitwise_right_shift.Tensor_Scalar")}


def module(table) -> str:
    """The whole module; a slot whose rows do not exist stays NULL."""
    writer = _Writer(table)
    functions = [writer.binary(slot, *spec) for slot, spec in BINARY.items() if spec[0] in table.by_key]
    functions += [writer.unary(slot, key) for slot, key in UNARY.items() if key in table.by_key]
    functions += [writer.inplace(slot, *keys) for slot, keys in INPLACE.items() if keys[0] in table.by_key]
    fills = "".join(f"OPERATORS.{slot} = {slot}\n" for slot in writer.slots)
    asking = "".join(f"    OPERATORS.{slot} = ask_{slot}\n" for slot in writer.slots)
    install = f'def install():\n    """Have the operators ask their operands first, from now on."""\n{asking}'
    imports = "".join(f"from mindtorch._core._gen.{family} cimport {', '.join(sorted(names))}\n"
                      for family, names in sorted(writer.used.items()))
    return (NOTE.format(source="*.toml") + imports +
            "from mindtorch._core.dispatch cimport ONE, wrapped_number\n"
            "from mindtorch._core.scalar cimport Scalar, is_scalar, scalar_from\n"
            "from mindtorch._core.tensor cimport OPERATORS, TensorBase\n"
            "from mindtorch._core.torch_function cimport ask_for_operator, discover, operands_ask\n\n\n" +
            "\n\n".join([*functions, *map(_asking, writer.slots), install]) + "\n\n" + fills)


def _asking(slot) -> str:
    """What takes the operator's place once there is a class or mode that has to be asked (torch_function.pyx)."""
    parameters, operands = ("object a", "a") if slot in UNARY else ("object a, object b", "a, b")
    both = "a, a" if slot in UNARY else operands
    return (f"cdef object ask_{slot}({parameters}):\n    if operands_ask({both}):\n"
            f'        return ask_for_operator("{slot}", ({operands},))\n    return {slot}({operands})\n')


# What torch calls them where that is not the row's name.
_EVENTS = {"and_": "__and__", "or_": "__or__", "xor": "__xor__", "lshift": "__lshift__", "rshift": "__rshift__",
           "iand": "__iand__", "ior": "__ior__", "ixor": "__ixor__", "ilshift": "__ilshift__",
           "irshift": "__irshift__"}


def profiled_module() -> str:
    """The same functions in a range of a profile each, and the exchange of the two sets."""
    keys = {slot: spec[0] for slot, spec in BINARY.items()} | {slot: spec[0] for slot, spec in INPLACE.items()}
    names = {slot: f"aten::{_EVENTS.get(slot) or key.split('.')[0] + '_' * (slot in INPLACE)}"
             for slot, key in (keys | UNARY).items()}
    functions = []
    for slot, name in names.items():
        arguments = "a" if slot in UNARY else "a, b"
        shown = f'"{name}"' if slot != "sub" else f'"{name}" if isinstance(a, TensorBase) else "aten::rsub"'
        functions.append(f"cdef object {slot}({arguments}):\n    return profiled_"
                         f"{'unary' if slot in UNARY else 'binary'}(OWN.{slot}, {shown}, {arguments})\n")
    exchanges = "".join(f"    OPERATORS.{slot} = {slot} if on else OWN.{slot}\n"
                        for slot in [*names, "getitem", "setitem"])
    return NOTE.format(source="*.toml") + _PROFILED.format(functions="\n\n".join(functions), exchanges=exchanges)


_PROFILED = '''\
from mindtorch._core.profiling cimport (
    FUNCTION, Range, assignment_name, begin, end, index_name, profiled_binary, profiled_unary)
from mindtorch._core.tensor cimport OPERATORS, Operators, TensorBase

cdef Operators OWN
cdef bint entered = False


{functions}

cdef object getitem(a, index):
    return profiled_binary(OWN.getitem, index_name(index), a, index)


cdef int setitem(a, index, value) except -1:
    cdef Range opened = begin(assignment_name(index, value), FUNCTION, "cpu_op")
    try:
        return OWN.setitem(a, index, value)
    finally:
        end(opened)


def enter_profiled(bint on):
    """Have Python's operators go through the functions of this module, or by themselves again."""
    global OWN, entered
    if on == entered:
        return
    if on:
        OWN = OPERATORS         # not before: by now they may ask their operands first
    entered = on
{exchanges}'''


class _Writer:
    def __init__(self, table):
        self.table, self.used, self.slots = table, {}, []

    def _name(self, key, inplace=False) -> str:
        """The C function of a row, noted for the cimports."""
        row = self.table.by_key.get(key)
        if row is None:
            raise RowError(f"the operators need a row {key!r}")
        target = self.table.by_key[row.same] if row.same else row
        name = f"op_{inplace_name(target) if inplace else target.slot}"
        self.used.setdefault(target.family, set()).add(name)
        return name

    def _call(self, key, first, second, inplace=False) -> str:
        row = self.table.by_key[key]
        target = self.table.by_key[row.same] if row.same else row
        first, second = self._as_taken(row, target, 0, first, second), self._as_taken(row, target, 1, second, first)
        rest = [default_value(target, a, row.same_values) for a in target.kernel_arguments[2:]]
        return f"{self._name(key, inplace)}({', '.join([first, second, *rest] + ([] if inplace else ['None']))})"

    @staticmethod
    def _as_taken(row, target, position, value, other) -> str:
        """A number becomes a tensor beside the other operand where the function that serves the row takes tensors."""
        wanted, given = target.kernel_arguments[position].type, row.kernel_arguments[position].type
        return f"wrapped_number({value}, {other})" if given == "Scalar" and wanted == "Tensor" else value

    def binary(self, slot, tensors, scalar, reverse, how) -> str:
        self.slots.append(slot)
        a, b, number = "<TensorBase>a", "<TensorBase>b", "&number"
        with_tensor = [f"if isinstance(b, TensorBase):\n            return {self._call(tensors, a, b)}"]
        if scalar:
            with_tensor.append("if is_scalar(b):\n            scalar_from(b, &number)\n"
                               f"            return {self._call(scalar, a, number)}")
        lines = ["cdef Scalar number"] if scalar else []
        inside = "\n        ".join(with_tensor)
        lines.append(f"if isinstance(a, TensorBase):\n        {inside}")
        if how:
            values = {"swapped": lambda: self._call(reverse, b, number),
                      "in order": lambda: self._call(reverse, number, b),
                      "wrapped": lambda: self._call(reverse, "wrapped_number(&number, <TensorBase>b)", b),
                      "reciprocal": lambda: self._call("mul.Scalar", f"{self._name('reciprocal')}(<TensorBase>b, None)",
                                                       number)}
            lines.append(f"elif is_scalar(a):\n        scalar_from(a, &number)\n        return {values[how]()}")
        return self._text(slot, "object a, object b", [*lines, self._otherwise(slot)])

    @staticmethod
    def _otherwise(slot) -> str:
        """The last line: an operand is neither tensor nor number."""
        return f"return ask_{slot}(a, b) if discover(a, b) else NotImplemented"

    def unary(self, slot, key) -> str:
        self.slots.append(slot)
        return self._text(slot, "object a", [f"return {self._name(key)}(<TensorBase>a, None)"])

    def inplace(self, slot, tensors, scalar) -> str:
        self.slots.append(slot)
        a = "<TensorBase>a"
        return self._text(slot, "object a, object b", [
            "cdef Scalar number",
            f"if isinstance(b, TensorBase):\n        return {self._call(tensors, a, '<TensorBase>b', True)}",
            "if is_scalar(b):\n        scalar_from(b, &number)\n"
            f"        return {self._call(scalar, a, '&number', True)}",
            self._otherwise(slot)])

    @staticmethod
    def _text(slot, parameters, lines) -> str:
        return f"cdef object {slot}({parameters}):\n" + "".join(f"    {line}\n" for line in lines)
