"""torch operator schemas: "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor" as data."""
import keyword
import re
from dataclasses import dataclass

# What a schema type becomes in a C signature. Optional numbers are NULL pointers, "int?" is a Shape of at most one,
# truth values are a Shape of 0 and 1; lists of numbers are tuples of Python numbers.
_C_TYPES = {
    "Tensor": "TensorBase ", "Tensor?": "TensorBase ", "Tensor[]": "list ", "Tensor?[]": "list ",
    "Scalar": "const Scalar *", "Scalar?": "const Scalar *", "Scalar[]": "tuple ",
    "int": "int64_t ", "int?": "const Shape *", "int[]": "const Shape *", "int[]?": "const Shape *",
    "bool": "bint ", "bool?": "bint ", "bool[]": "const Shape *", "float": "double ", "float?": "const double *",
    "ScalarType": "ScalarType ", "ScalarType?": "ScalarType ", "str": "object ", "str?": "object ",
    "Generator?": "Generator ",
}
# Names in the C headers that Cython's code includes: macros of <math.h>, which no member can be called.
_MACROS = {"isnan", "isfinite", "isinf", "signbit", "complex"}
# Arguments that say where a new tensor lies; they never reach a kernel.
FACTORY_TYPES = {"Layout?", "Device?", "MemoryFormat?", "MemoryFormat", "Layout", "Device"}


class SchemaError(ValueError):
    """A schema string that cannot be read."""


@dataclass(frozen=True)
class Argument:
    name: str
    type: str               # "Tensor", "Tensor?", "Tensor[]", "int[]", "Scalar?", ...; SymInt reads as int
    default: str | None     # the schema's text, None where there is none
    keyword_only: bool
    written: bool           # the alias note has "!"
    sized: bool = False     # int[2]: one number stands for both

    @property
    def is_tensor(self) -> bool:
        return self.type in ("Tensor", "Tensor?")

    @property
    def optional(self) -> bool:
        return self.type.endswith("?")

    @property
    def is_option(self) -> bool:
        return self.type in FACTORY_TYPES or self.name == "pin_memory"

    @property
    def c_type(self) -> str:
        """The C type, ending where the name follows."""
        return _C_TYPES[self.type]


@dataclass(frozen=True)
class Schema:
    text: str
    name: str
    overload: str
    arguments: tuple
    returns: tuple          # (type, name or "") pairs

    @property
    def key(self) -> str:
        """As torch writes it: "add.Tensor", or "neg" where the overload has no name."""
        return f"{self.name}.{self.overload}" if self.overload else self.name

    @property
    def c_name(self) -> str:
        """The name of C functions and struct members; <math.h> has macros of some names."""
        name = self.key.replace(".", "_")
        return f"{name}_kernel" if name in _MACROS else name

    @property
    def inplace(self) -> bool:
        return self.name.endswith("_")

    @property
    def tensor_lists(self) -> list:
        """The arguments that are lists of tensors."""
        return [a for a in self.arguments if a.type == "Tensor[]"]

    def argument(self, name) -> Argument | None:
        return next((a for a in self.arguments if a.name == name), None)

    @property
    def kernel_arguments(self) -> list:
        return [a for a in self.arguments if not a.is_option]


_HEAD = re.compile(r"(?P<name>\w+)(\.(?P<overload>\w+))?\((?P<arguments>.*)\)\s*->\s*(?P<returns>.+)")
_TYPE = re.compile(r"(?P<base>[A-Za-z]+)(\((?P<alias>[a-z*]!?( -> \*)?)\))?"
                   r"(?P<inner>\?(?=\[))?(?P<list>\[\d*\])?(?P<optional>\?)?")
_ARGUMENT = re.compile(r"(?P<type>\w+(\([^)]*\))?\S*)\s+(?P<name>\w+)(=(?P<default>.+))?")


def _split(text) -> list:
    """Split at top-level commas."""
    parts, depth, current = [], 0, ""
    for character in text:
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += character
    return [*parts, current.strip()] if current.strip() else parts


def _read_type(text) -> tuple:
    match = _TYPE.fullmatch(text)
    if not match:
        raise SchemaError(f"unknown type {text!r}")
    base = match["base"].replace("SymInt", "int")
    name = base + (match["inner"] or "") + ("[]" if match["list"] else "") + (match["optional"] or "")
    return name, "!" in (match["alias"] or "")


def _read_argument(text, keyword_only) -> Argument:
    match = _ARGUMENT.fullmatch(text)
    if not match:
        raise SchemaError(f"cannot read argument {text!r}")
    type_, written = _read_type(match["type"])
    if type_ not in _C_TYPES and type_ not in FACTORY_TYPES and match["name"] != "pin_memory":
        raise SchemaError(f"argument {match['name']!r} has the unknown type {type_!r}")
    name = match["name"] + ("_" if keyword.iskeyword(match["name"]) else "")     # uniform_ has a `from`
    sized = re.search(r"\[\d", match["type"]) is not None
    return Argument(name, type_, match["default"], keyword_only, written, sized)


def parse(text) -> Schema:
    """Read one schema; SchemaError says what could not be read."""
    head = _HEAD.fullmatch(text.strip())
    if not head:
        raise SchemaError(f"cannot read schema {text!r}")
    arguments, keyword_only = [], False
    for part in _split(head["arguments"]):
        if part == "*":
            keyword_only = True
        else:
            arguments.append(_read_argument(part, keyword_only))
    returned = head["returns"].strip()
    returned = _split(returned[1:-1]) if returned.startswith("(") else [returned]
    returns = []
    for part in returned:
        type_, _, name = part.partition(" ")
        returns.append((_read_type(type_)[0], name))
    return Schema(text.strip(), head["name"], head["overload"] or "", tuple(arguments), tuple(returns))
