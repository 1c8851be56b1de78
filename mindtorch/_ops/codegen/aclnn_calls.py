"""The `npu` column: "aclnnAdd(self, other, alpha, out)" checked against the operator's prototype.

An argument is a name of the schema, an output, a constant, None for an object that is left out, or a call of an adapter
of mindtorch/_npu/aclnn_call.pxd. Count, kinds and C types of the arguments must be those of the prototype; a row that
differs is an error.
"""
import ast
import functools
import re
from dataclasses import dataclass
from pathlib import Path

from .aclnn import Operator, operators
from .rows import RowError
from .rules import SCALAR_TYPES

ADAPTERS = Path(__file__).parents[2] / "_npu" / "aclnn_call.pxd"
ACL_DTYPES = {
    "UINT8": 0, "INT8": 1, "INT16": 2, "INT32": 3, "INT64": 4, "FLOAT16": 5, "FLOAT": 6, "DOUBLE": 7,
    "COMPLEX64": 9, "COMPLEX128": 10, "BOOL": 11, "BF16": 15,
}
COMMON_DTYPES = sum(1 << bit for bit in ACL_DTYPES.values())
# Those of CANN's that are rare in torch (_core/tensor/dtype.pxd); it has none for the fnuz floats.
RARE_DTYPES = {"FLOAT8_E5M2": 23, "FLOAT8_E4M3FN": 24, "UINT16": 27, "UINT32": 28, "UINT64": 29, "FLOAT8_E8M0": 30}
_BITS = ACL_DTYPES | RARE_DTYPES
assert len(ACL_DTYPES) == len(SCALAR_TYPES)

# ACLNN's argument kinds, and the Cython types that each takes.
_TAKES = {
    "aclTensor": ("TensorBase", "absent"), "aclTensorList": ("list", "absent"), "aclScalar": ("const Scalar *",),
    "aclIntArray": ("const Shape *", "absent"), "aclBoolArray": ("const Shape *",), "aclScalarList": ("tuple",),
    "bool": ("bint", "constant"), "double": ("double", "constant"),
    "float": ("double", "constant"), "aclDataType": ("aclDataType",),
    "char": ("char *", "constant"),
    "int64_t": ("int64_t", "int", "constant"), "uint64_t": ("int64_t",),
    "int8_t": ("int", "constant"), "int": ("int", "int64_t", "constant"),
}

_NUMBERS = ("int64_t", "int", "double")


@dataclass(frozen=True)
class Value:
    """One argument of a call: the prototype's parameter and what the row gives for it."""
    parameter: object
    type: str               # in C; "constant", "absent"
    name: str | None = None         # of the schema's argument or output, where it is one
    constant: object = None
    adapter: str | None = None      # the function of aclnn_call.pxd that gives it, and what it is called with:
    operands: tuple = ()            # names and numbers

    @property
    def mask(self) -> int:
        """Documented dtypes as bits by ScalarType; 0 where CANN documents none."""
        return sum(1 << _BITS[d] for d in self.parameter.dtypes if d in _BITS)


@dataclass(frozen=True)
class Call:
    operator: Operator
    values: tuple


@functools.cache
def adapters() -> dict:
    """Adapter name -> (result type, parameter types)."""
    found = {}
    text = ADAPTERS.read_text(encoding="utf-8")
    declaration = re.compile(r"^cdef (?:inline )?([\w ]+?[ *]+)(\w+)\(([^)]*)\)", re.MULTILINE)
    for returns, name, parameters in declaration.findall(text):
        types = tuple(re.sub(r"\w+$", "", p.strip()).strip() for p in parameters.split(",") if p.strip())
        found[name] = (returns.strip(), types)
    return found


def has_storage(adapter) -> bool:
    """Whether an adapter fills a Shape or a Scalar, which is its first parameter, and gives that."""
    return adapters()[adapter][1][:1] in (("Shape *",), ("Scalar *",))


def signature_of(operator) -> tuple:
    """The types of the parameters in C. What is passed by value is the same without const."""
    return tuple(p.type if p.type.endswith("*") else p.type.removeprefix("const ") for p in operator.parameters)


def alternatives(row, text) -> list:
    """(condition, call) pairs of "aclnnA(...) if x is None else aclnnB(...)"; the last condition is None."""
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:
        raise RowError(f"{row.family}.toml: {row.key}: npu = {text!r} is no call") from None
    found = []
    while isinstance(node, ast.IfExp):
        found.append((ast.unparse(node.test), ast.unparse(node.body)))
        node = node.orelse
    return [*found, (None, ast.unparse(node))]


_DRAWS = "seed_of(generator), next_offset(generator)"
_DRAWS_IN_GRAPH = "seed_tensor(generator), offset_tensor(generator), next_offset(generator)"


def draws(text) -> bool:
    """Whether a call is handed a seed and an offset."""
    return _DRAWS in text


def graph_form(text) -> str | None:
    """The call for graphs, of the operator's form that reads them from tensors; None where it has no such form."""
    name, _, arguments = text.partition("(")
    form = operators().get(f"{name}Tensor")
    if form is None or "seedTensor" not in [parameter.name for parameter in form.parameters]:
        return None
    return f"{form.name}({arguments.replace(_DRAWS, _DRAWS_IN_GRAPH)}"


def read_call(row, text) -> Call:
    """Parse and check one call of a row; RowError names the file and the op."""
    def fail(message):
        raise RowError(f"{row.family}.toml: {row.key}: {message}")
    try:
        node = ast.parse(text, mode="eval").body
        name = node.func.id
    except (SyntaxError, AttributeError):
        fail(f"npu = {text!r} is no call")
    if name not in operators():
        fail(f"aclnn_ops.jsonl has no operator {name!r}")
    operator = operators()[name]
    if len(node.args) != len(operator.parameters):
        fail(f"{name} takes {len(operator.parameters)} arguments "
             f"({', '.join(p.name for p in operator.parameters)}), the row gives {len(node.args)}")
    types = {a.name: a.c_type.strip() for a in row.kernel_arguments} | dict.fromkeys(
        row.result_names, "list" if row.is_foreach else "TensorBase")
    values = []
    for parameter, argument in zip(operator.parameters, node.args, strict=True):
        value = _value(parameter, argument, types, fail)
        _check_kind(operator, row, value, fail)
        values.append(value)
    return Call(operator, tuple(values))


def _value(parameter, node, types, fail) -> Value:
    if isinstance(node, ast.Constant):
        return Value(parameter, "absent" if node.value is None else "constant", constant=node.value)
    if isinstance(node, ast.Name):
        if node.id not in types:
            fail(f"{parameter.name}: neither argument nor output: {node.id!r}")
        return Value(parameter, types[node.id], node.id)
    if isinstance(node, ast.Call) and node.func.id in adapters():
        returns, wanted = adapters()[node.func.id]
        given = [types.get(getattr(a, "id", None), "constant") for a in node.args]
        wanted = wanted[has_storage(node.func.id):]
        fits = [a.replace(" ", "") == b.replace(" ", "") or (a == "constant" and b in _NUMBERS)
                for a, b in zip(given, wanted, strict=False)]
        if len(given) != len(wanted) or not all(fits):
            fail(f"{node.func.id} takes ({', '.join(wanted)}), the row gives ({', '.join(given)})")
        operands = tuple(a.id if isinstance(a, ast.Name) else ast.literal_eval(a) for a in node.args)
        return Value(parameter, returns, adapter=node.func.id, operands=operands)
    return fail(f"{parameter.name}: cannot read {ast.unparse(node)!r}")


def _check_kind(operator, row, value, fail):
    parameter = value.parameter
    takes = _TAKES.get(parameter.kind)
    if takes is None:
        fail(f"{operator.name}: {parameter.name} has the kind {parameter.kind!r}, which has no marshaller")
    if row.is_foreach and parameter.kind == "aclTensor":
        takes = (*takes, "list")                    # one call for each element
    if value.type.replace(" ", "") not in [t.replace(" ", "") for t in takes]:
        fail(f"{operator.name}: {parameter.name} is a {parameter.type}, the row gives a {value.type}")
    outputs = [*(row.result_names or ["self"]), *row.mutates]
    if row.is_foreach:
        outputs = [*outputs, *(a.name for a in row.schema.arguments if a.written)]
    if parameter.role == "out" and value.name is not None and value.name not in outputs:
        fail(f"{operator.name}: {parameter.name} is an output, the row gives {value.name!r}")
    if parameter.role == "in" and parameter.kind == "aclTensor" and value.name in row.result_names:
        fail(f"{operator.name}: {parameter.name} is an input, the row gives the output {value.name!r}")
