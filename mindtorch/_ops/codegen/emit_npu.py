"""mindtorch/_npu/_gen/calls.py: the calls of ACLNN that each row makes, as data for mindtorch/_npu/aclnn_call.pyx.

An entry of CALLS:

    "call"              what runs where nothing below does
    "inplace"           where the result is `self`
    "in_graph"          of random operators, while a graph is captured; None: a decomposition, or a refusal
    "conditions"        (name of a condition in thunks.pyx, call) pairs; the first that holds decides
    "fallback"          dtypes, as bits, beyond which a decomposition runs; so it does where CANN lacks the function
    "list_dtypes"       of an operator on lists: dtypes that its kernel takes, as bits
    "parts"             of an operator on lists: the arguments that are split where they are long

A call: (function, the first release of CANN known to have it or "", number of its signature, argument that is a tensor
or list on the device, whether it is made for each tensor of the lists, parameters). A parameter: (conversion, argument
or constant); that of a tensor goes on with the name in the prototype, the documented dtypes and the preparation.
"""
import functools
import pprint

from .aclnn import operators
from .aclnn_calls import ACL_DTYPES, COMMON_DTYPES, adapters, alternatives, draws, graph_form, read_call, signature_of
from .emit_grad import NOTE
from .rows import RARE_TYPES

_FLOAT8_DTYPES = sum(1 << bit for name, bit in RARE_TYPES.items() if name.startswith("float8"))
_CONVERSIONS = {
    "aclTensorList": "tensor_list", "aclIntArray": "int_array", "aclBoolArray": "bool_array", "double": "real",
    "float": "real", "char": "text",
}


class Calls:
    """Every row's entry; on the way it collects what thunks.pyx has to hold."""

    def __init__(self, table):
        self.signatures, self.adapters, self.conditions = {}, set(), {}
        self.operators = set()
        self.entries = {row.key: self._entry(row) for row in table.rows
                        if row.may_have_kernel and row.npu.startswith("aclnn")}

    def module(self) -> str:
        lines = []
        for key, entry in self.entries.items():
            columns = "".join(f"        {name!r}: {value!r},\n" for name, value in entry.items())
            lines.append(f'    "{key}": {{\n{columns}    }},\n')
        functions = {name: operators()[name].since for name in sorted(self.operators)}
        return (NOTE.format(source="*.toml") + '"""What each operator calls on the NPU."""\n\n'
                f"CALLS = {{\n{''.join(lines)}}}\n\n"
                "# With the first release of CANN known to have each.\n"
                f"FUNCTIONS = {pprint.pformat(functions, width=110)}\n")

    def _entry(self, row) -> dict:
        *special, (_, text) = alternatives(row, row.npu)
        entry = {"call": self._call(row, text)}
        if row.is_foreach:
            if not entry["call"][4]:
                entry["parts"] = _list_positions(row)
            if row.foreach_of:
                entry["list_dtypes"] = list_dtypes(row)
            return entry
        if row.inplace.startswith("aclnn"):
            entry["inplace"] = self._call(row, row.inplace)
        if special:
            entry["conditions"] = tuple((self._condition(row, condition), self._call(row, call))
                                        for condition, call in special)
        if draws(text):
            form = graph_form(text)
            entry["in_graph"] = self._call(row, form) if form else None
        if row.fallback:
            entry["fallback"] = _documented(row, read_call(row, text))
        return entry

    def _condition(self, row, text) -> str:
        types = {a.name: a.c_type.strip() for a in row.kernel_arguments}
        name = f"{row.c_name}_{sum(known.startswith(f'{row.c_name}_') for known in self.conditions)}"
        self.conditions[name] = (text, types)
        return name

    def _call(self, row, text) -> tuple:
        call = read_call(row, text)
        self.operators.add(call.operator.name)
        number = self.signatures.setdefault(signature_of(call.operator), len(self.signatures))
        indices = {name: index for index, name in enumerate(names_of(row))}
        parameters = tuple(self._parameter(row, value, indices, call) for value in call.values)
        each = row.is_foreach and runs_one_by_one(call)
        return (call.operator.name, call.operator.since, number, indices[_target(row)], each, parameters)

    def _parameter(self, row, value, indices, call) -> tuple:
        kind = value.parameter.kind
        if value.type == "absent" and kind in ("aclTensor", "aclTensorList"):
            return ("absent_tensor", None)
        if value.type in ("absent", "constant"):
            constant = value.constant
            if kind in ("double", "float"):
                constant = float(constant)
            return ("constant", constant.encode() if isinstance(constant, str) else constant)
        found = indices.get(value.name)
        if value.adapter:
            self.adapters.add(value.adapter)
            found = (value.adapter, *_operands(value, indices))
        if kind == "aclTensor":
            name = "optional_tensor" if value.name in _optional(row) or value.type == "list" else "tensor"
            if value.name is None or (value.type == "list" and value.name != row.schema.tensor_lists[0].name):
                return (name, found)
            return (name, found, *_preparation(row, value, call))
        if kind == "aclScalar":
            return (_number(row, value.name, "scalar") if value.name and not row.factory else "plain_scalar", found)
        if kind == "aclScalarList":
            return (_number(row, value.name, "scalar_list"), found)
        return (_CONVERSIONS.get(kind, "integer"), found)


def names_of(row) -> list:
    """The names of the kernel's arguments, in order."""
    return [a.name for a in row.kernel_arguments] + row.result_names


def _operands(value, indices) -> list:
    _, types = adapters()[value.adapter]
    types = types[len(types) - len(value.operands):]
    return [indices[operand] if isinstance(operand, str) else ("=", {"double": float}.get(type_, int)(operand))
            for operand, type_ in zip(value.operands, types, strict=True)]


def _number(row, name, conversion) -> str:
    """A number is rounded to the dtype of the tensors, unless `opmath` has it: uint8 == 300 compares with 44."""
    return f"opmath_{conversion}" if name in row.opmath else conversion


def _preparation(row, value, call) -> tuple:
    """(name in the prototype, documented dtypes, what is to be done) of a tensor."""
    parameter, name, steps = value.parameter, value.name, []
    if row.is_foreach and value.type == "list":
        return (parameter.name, value.mask or COMMON_DTYPES, "written")
    allowed = value.mask | sum(1 << ACL_DTYPES[d] for d in row.extra_dtypes.get(name, ())) or COMMON_DTYPES
    rule = row.compute_dtype or (row.outputs[0].dtype if row.outputs else "")
    if parameter.role != "in":
        steps.append("written")
    elif "promote(" in rule and name not in row.no_cast:
        # ACLNN promotes a 0-d tensor as any other; in torch it does not raise the dtype within its category.
        steps.append("promoted")
    if name in row.view_as_int:
        allowed = next((other.mask for other in call.values if other.name in row.view_as_int and other.mask),
                       COMMON_DTYPES)
        steps.append("view_as_int")
    if not parameter.noncontiguous_ok:
        steps.append("contiguous")
    if any(out.dynamic_shape for result, out in zip(row.result_names, row.outputs, strict=False) if result == name):
        steps.append("dynamic_shape")
    return (parameter.name, allowed, " ".join(steps))


def _target(row) -> str:
    """The tensor that decides the device: the result, or an operand where a mask may leave results out."""
    if row.is_foreach:
        return row.schema.tensor_lists[0].name
    if any(out.mask for out in row.outputs):
        return next(a.name for a in row.kernel_arguments if a.type == "Tensor")
    return (row.result_names or ["self"])[0]


def _optional(row) -> set:
    """Tensors that may be None: optional arguments, results that a mask may leave out."""
    masked = {name for name, out in zip(row.result_names, row.outputs, strict=False) if out.mask}
    return masked | {a.name for a in row.kernel_arguments if a.type == "Tensor?"}


def _documented(row, call) -> int:
    """The dtypes that CANN documents the operator for, of those that the row computes in, and those that go as integers
    of their size: all but complex128.
    """
    operands = {a.name for a in row.kernel_arguments if a.is_tensor or a.type == "Tensor[]"} - set(row.no_cast)
    computed = {result for result, out in zip(row.result_names, row.outputs, strict=False)
                if out.dtype in operands or out.dtype.startswith(("promote(", "int_to_float("))}
    masks = [v.mask for v in call.values if v.mask and v.name in operands | computed]
    if row.outputs and "all_any_dtype(" in row.outputs[0].dtype:        # uint8 of uint8
        out_mask = next(v.mask for v in call.values if v.name in row.result_names)
        masks.append(out_mask | ~(1 << ACL_DTYPES["UINT8"]))
    masks = masks or [v.mask for v in call.values if v.mask and v.name in row.result_names]
    if row.view_as_int:
        return ~(1 << ACL_DTYPES["COMPLEX128"]) & 0xFFFFFFFF
    # No decomposition computes in floats of 8 bits; some fill tensors of them.
    fills = "float8_e5m2" in row.rare and not any(
        v.parameter.kind == "aclTensor" and v.parameter.role == "in" for v in call.values)
    return functools.reduce(int.__and__, masks) | (0 if fills else _FLOAT8_DTYPES)


# --- lists -----------------------------------------------------------------------------------------------------------

def runs_one_by_one(call) -> bool:
    """Whether the operator takes one tensor where the row gives a list."""
    return any(value.parameter.kind == "aclTensor" and value.type == "list" for value in call.values)


def _list_positions(row) -> tuple:
    return tuple(index for index, a in enumerate(row.kernel_arguments) if a.type in ("Tensor[]", "Scalar[]"))


def list_dtypes(row) -> int:
    """The dtypes that the operator documents for all of its lists, as bits."""
    dtypes = COMMON_DTYPES
    for value in read_call(row, row.npu).values:
        if value.parameter.kind == "aclTensorList" and value.mask:
            dtypes &= value.mask
    return dtypes
