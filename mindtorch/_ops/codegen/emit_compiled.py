"""mindtorch/_cpu/_gen/calls.py: the calls that the CPU makes to the kernel library, for mindtorch/_cpu/backend.pyx.

A row with the column `compiled` has an entry: (dtypes of the computation as bits, ((argument, value, call), ...)). The
first call runs whose argument is `value`; the index -1 fits always. A call is one of the row's npu column: (function,
parameters). A parameter is ("constant", value) or (conversion, argument, second argument). That of a tensor goes on
with the dtypes that the operator takes as bits, and what else the call asks for ("optional promoted contiguous").
"""
import ast

from .aclnn_calls import ACL_DTYPES, COMMON_DTYPES, alternatives
from .emit_grad import NOTE
from .rows import RowError

_DOUBLE = "all and float64"     # of a call that CANN documents without float64, which the kernel takes
_COMPUTED = {"float": sum(1 << ACL_DTYPES[name] for name in ("FLOAT16", "BF16", "FLOAT")), "all": COMMON_DTYPES,
             _DOUBLE: COMMON_DTYPES}
# Adapters that are conversions here.
_ADAPTERS = ("dims_or_all", "dtype_of", "cast", "first_or_zero", "or_epsilon", "or_zero",
             "or_minus_one", "num_heads_of", "empty_output", "in_batch", "out_or_temporary")
# These are documented to take no strides, but their kernels do.
_STRIDED = ("aclnnSWhere", "aclnnInplaceMaskedFillScalar", "aclnnInplaceMaskedFillTensor")


def module(table, calls) -> str:
    entries = []
    for row in table.rows:
        if row.compiled:
            try:
                entries.append(f'    "{row.key}": {_entry(row, calls.entries.get(row.key, {}))!r},\n')
            except ValueError as error:
                raise RowError(f"{row.family}.toml: {row.key}: compiled: {error}") from None
    return (NOTE.format(source="*.toml") + '"""What the CPU calls in the kernel library."""\n\n'
            f"CALLS = {{\n{''.join(entries)}}}\n")


def _entry(row, entry) -> tuple:
    if row.compiled not in _COMPUTED:
        raise ValueError(f"{row.compiled!r} is none of {', '.join(_COMPUTED)}")
    if "call" not in entry or row.is_foreach or any(out.dynamic_shape for out in row.outputs):
        raise ValueError("the npu column is no call that the CPU can make")
    *special, _ = alternatives(row, row.npu)
    more = (row.compiled == _DOUBLE) << ACL_DTYPES["DOUBLE"]
    found = [(*_condition(row, text), _call(call, more))
             for (text, _), (_, call) in zip(special, entry.get("conditions", ()), strict=True)]
    return _COMPUTED[row.compiled], (*found, (-1, None, _call(entry["call"], more)))


def _condition(row, text) -> tuple:
    """The index of the argument and the value, of "approximate == 'none'"."""
    node = ast.parse(text, mode="eval").body
    names = [argument.name for argument in row.kernel_arguments]
    if not (isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq) and node.left.id in names):
        raise ValueError(f"the condition {text!r} does not compare an argument with a constant by ==")
    return names.index(node.left.id), ast.literal_eval(node.comparators[0])


def _call(call, more_dtypes) -> tuple:
    name, *_, parameters = call
    return name, tuple(_parameter(name in _STRIDED, more_dtypes, *parameter) for parameter in parameters)


def _parameter(strided, more_dtypes, conversion, found, _name="", mask=COMMON_DTYPES, steps="") -> tuple:
    if conversion == "constant":
        return conversion, found
    second = -1
    if isinstance(found, tuple):
        conversion, found, second = (*found, -1)[:3]
        if conversion not in _ADAPTERS:
            raise ValueError(f"the CPU has no conversion for the adapter {conversion}")
    if conversion not in ("tensor", "optional_tensor"):
        return conversion, found, second
    wanted = [step for step in steps.split() if step == "promoted" or (step == "contiguous" and not strided)]
    wanted += ["optional"] * (conversion == "optional_tensor")
    return "tensor", found, second, (mask | more_dtypes) & COMMON_DTYPES, " ".join(wanted)
