"""Operator schemas at run time: "ns::name.overload(Tensor(a!) x, int y=1) -> Tensor" as data, printed as torch prints.

The generator reads the schemas of the op table with a parser of its own, of the subset that rows are written in; this
one takes what users define, and raises RuntimeError in torch's words.
"""
import re
from dataclasses import dataclass
from types import NoneType

from mindtorch._core.formats import layout, memory_format
from mindtorch._core.tensor.dtype import dtype
from mindtorch._core.tensor.generator import Generator
from mindtorch._core.tensor.tensor import TensorBase, device

__all__ = ["Argument", "FunctionSchema", "Type", "infer_type", "parse_name", "parse_schema"]

_BASES = {"Tensor", "int", "SymInt", "float", "bool", "SymBool", "str", "Scalar", "ScalarType", "Device", "Generator",
          "Layout", "MemoryFormat", "complex", "Any", "Stream", "Storage", "QScheme", "Dimname", "NoneType",
          "DeviceIndex"}
# How messages and Argument.type call them.
_PLAIN = {"Scalar": "number", "SymInt": "int", "SymBool": "bool", "ScalarType": "int", "Layout": "int",
          "MemoryFormat": "int", "DeviceIndex": "int"}
_NAMED_NUMBERS = {"Mean": 1, "Sum": 2, "contiguous_format": 0, "preserve_format": 1, "strided": 0, "uint8": 0,
                  "int8": 1, "int16": 2, "int": 3, "int32": 3, "long": 4, "int64": 4, "half": 5, "float16": 5,
                  "float": 6, "float32": 6, "double": 7, "float64": 7, "bool": 11, "bfloat16": 15}
_TOKEN = re.compile(r"\s*(?P<arrow>->)|\s*(?P<number>-?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?)"
                    r"|\s*(?P<ident>[A-Za-z_]\w*)|\s*(?P<string>'(\\.|[^'\\])*'|\"(\\.|[^\"\\])*\")"
                    r"|\s*(?P<dots>\.\.\.)|\s*(?P<sign>::|[-()\[\]*,.?!=:|])|\s*(?P<eof>$)|\s*(?P<bad>\S)")
_DOCS = ("unknown type specifier. Common valid schema types include Tensor, SymInt, int, float, bool, Scalar; for a "
         "full list, please see https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/README.md#func ")


@dataclass(frozen=True)
class Type:
    """A schema's type: a base, or an optional or a list of one; that of a value may be a tuple of several."""
    kind: str                   # "base", "list", "optional" or "tuple"
    base: str = ""              # of a base: its name
    inner: "Type | None" = None
    size: int | None = None     # of a list: N in int[N]
    alias: "Alias | None" = None
    parts: tuple = ()           # of a tuple: the types

    def __str__(self):
        """The type in error messages: Optional[List[int]]."""
        if self.kind == "base":
            return _PLAIN.get(self.base, self.base)
        if self.kind == "tuple":
            return f"Tuple[{', '.join(map(str, self.parts)) or '()'}]"
        return f"{'List' if self.kind == 'list' else 'Optional'}[{self.inner}]"

    @property
    def text(self):
        """The type in schemas: Tensor(a!)[]?."""
        note = f"({self.alias})" if self.alias else ""
        if self.kind == "base":
            return self.base + note
        return self.inner.text + ("?" if self.kind == "optional" else f"[{self.size or ''}]") + note

    @property
    def leaf(self):
        """The base that it is made of."""
        return self.base if self.kind == "base" else self.inner.leaf

    @property
    def of_list(self):
        """Whether it is a list, or an optional one."""
        return self.kind == "list" or (self.kind == "optional" and self.inner.of_list)

    def find_alias(self):
        """The alias note, wherever in the type it stands."""
        return self.alias or (self.inner.find_alias() if self.inner else None)


@dataclass(frozen=True)
class Alias:
    """The annotation (a!): the alias set, and whether it is written to."""
    before_set: frozenset
    after_set: frozenset
    is_write: bool

    def __str__(self):
        before, after = "|".join(sorted(self.before_set)), "|".join(sorted(self.after_set))
        return before + ("!" if self.is_write else "") + (f" -> {after}" if after != before else "")


@dataclass(frozen=True)
class Argument:
    """An argument or a result of a schema."""
    name: str
    type: Type
    default: tuple = ()         # of one value, where there is a default
    kwarg_only: bool = False

    @property
    def real_type(self):
        """The type; in torch SymInt and int differ in it."""
        return self.type

    @property
    def default_value(self):
        """The default; None where there is none."""
        return self.default[0] if self.default else None

    def has_default_value(self):
        """Whether it may be left out."""
        return bool(self.default)

    @property
    def N(self):
        """The size of a list that has one."""
        inner = self.type.inner if self.type.kind == "optional" else self.type
        return inner.size if inner.kind == "list" else None

    @property
    def alias_info(self):
        """The alias annotation or None."""
        return self.type.find_alias()

    @property
    def is_write(self):
        """Whether the operator writes to it."""
        return self.alias_info is not None and self.alias_info.is_write

    @property
    def is_out(self):
        """Whether it is the tensor of an out variant."""
        return self.kwarg_only and self.is_write

    def __str__(self):
        default = f"={_shown(self)}" if self.default else ""
        return self.type.text + (f" {self.name}" if self.name else "") + default


@dataclass(frozen=True)
class FunctionSchema:
    """A schema; str() writes it as torch does."""
    name: str                   # "aten::add"
    overload_name: str
    arguments: tuple
    returns: tuple

    @property
    def is_mutable(self):
        """Whether an argument is written to."""
        return any(argument.is_write for argument in self.arguments)

    @property
    def qualname(self):
        """The name with its overload: "aten::add.Tensor"."""
        return self.name + (f".{self.overload_name}" if self.overload_name else "")

    @property
    def positional(self):
        """The arguments that may be given by position."""
        return [argument for argument in self.arguments if not argument.kwarg_only]

    def __str__(self):
        parts = [str(a) for a in self.positional]
        keywords = [str(a) for a in self.arguments if a.kwarg_only]
        returns = ", ".join(str(r) for r in self.returns)
        if len(self.returns) != 1:
            returns = f"({returns})"
        return f"{self.qualname}({', '.join(parts + (['*', *keywords] if keywords else []))}) -> {returns}"

    def __repr__(self):
        return str(self)


@dataclass(frozen=True)
class InferredType:
    """What infer_type found: a type, or the reason why there is none."""
    found: Type | None
    why: str = ""

    def success(self):
        """Whether the value has a type."""
        return self.found is not None

    def type(self):
        """The type."""
        return self.found

    def reason(self):
        """Why the value has none."""
        return self.why


_VALUE_TYPES = {bool: "bool", int: "int", float: "float", complex: "complex", str: "str", NoneType: "NoneType",
                dtype: "int", layout: "Layout", device: "Device", memory_format: "MemoryFormat", Generator: "Generator"}


def infer_type(value):
    """The InferredType of a value: as a schema would call it, a tuple by its elements, a list by what they share."""
    if isinstance(value, TensorBase):
        return InferredType(Type("base", "Tensor"))
    if type(value) in _VALUE_TYPES:
        return InferredType(Type("base", _VALUE_TYPES[type(value)]))
    if not isinstance(value, (list, tuple)):
        return InferredType(None, "Only tensors and (possibly nested) tuples of tensors, lists, or dicts are supported "
                                  "as inputs or outputs of traced functions, but instead got value of type "
                                  f"{type(value).__name__}.")
    inner = [infer_type(each) for each in value]
    failed = next((each for each in inner if not each.success()), None)
    if failed is not None:
        return failed
    parts = tuple(each.found for each in inner)
    if isinstance(value, tuple):
        return InferredType(Type("tuple", parts=parts))
    if not parts:
        return InferredType(None, "List trace inputs must have elements")
    if len(set(parts)) > 1:
        return InferredType(None, f"Could not infer type of list element: Lists must contain elements of one type, "
                                  f"but have {', '.join(sorted(map(str, set(parts))))}")
    return InferredType(Type("list", inner=parts[0]))


def _shown(argument):
    """A default, as schemas print it."""
    value = argument.default_value
    if argument.N and argument.type.leaf == "int" and isinstance(value, list) and len(set(value)) == 1:
        value = value[0]
    return _shown_value(value)


def _shown_value(value):
    if isinstance(value, list):
        return f"[{', '.join(map(_shown_value, value))}]"
    if isinstance(value, float):
        text = f"{value:.17g}"
        return text if re.search(r"[.en]", text) else f"{text}."
    if isinstance(value, str):
        return '"' + re.sub(r"([\\'\"])", r"\\\1", value) + '"'
    return str(value)


class _Parser:
    """Recursive descent over the tokens of one text."""

    def __init__(self, text):
        self.text, self.tokens, place = text, [], 0
        while not self.tokens or self.tokens[-1][0] != "eof":
            match = _TOKEN.match(text, place)
            kind = match.lastgroup
            kind = next(name for name in ("arrow", "number", "ident", "string", "dots", "sign", "eof", "bad")
                        if match[name] is not None)
            self.tokens.append((kind, match[kind], match.start(kind)))
            place = match.end()
        self.place = 0

    @property
    def token(self):
        return self.tokens[self.place]

    def fail(self, message, token=None):
        kind, word, start = token or self.token
        where = "" if kind == "eof" else " " * start + "~" * len(word) + " <--- HERE\n"
        raise RuntimeError(f"{message}:\n{self.text}\n{where}")

    def unexpected(self, wanted):
        kind, word, _ = self.token
        found = kind if kind in ("number", "ident", "eof", "arrow") else word
        self.fail(f"expected {wanted} but found '{found}' here")

    def take(self, word):
        """Consumes the token if it is next; returns whether it was."""
        if self.token[1] != word or self.token[0] in ("string", "eof"):
            return False
        self.place += 1
        return True

    def need(self, word, called=None):
        if not self.take(word):
            self.unexpected(called or word)

    def ident(self):
        if self.token[0] != "ident":
            self.unexpected("ident")
        self.place += 1
        return self.tokens[self.place - 1][1]

    def name(self):
        name, overload = self.ident(), ""
        while self.take("::"):
            name += "::" + self.ident()
        if self.take("."):
            overload = self.ident()
        return name, overload

    def alias(self):
        """The note behind a type: (a), (a!), (a -> *), (a|b)."""
        if not (self.token[1] == "(" and self.tokens[self.place + 1][0] in ("ident", "sign")
                and self.tokens[self.place + 1][1] not in ")("):
            return None
        self.need("(")
        before = self._alias_set()
        write = self.take("!")
        after = self._alias_set() if self.take("->") else before
        self.need(")")
        return Alias(before, after, write)

    def _alias_set(self):
        names = set()
        while True:
            names.add("*" if self.take("*") else self.ident())
            if not self.take("|"):
                return frozenset(names)

    def type(self):
        token = self.token
        base = self.ident()
        if base not in _BASES:
            if base != "__torch__":
                self.fail("\n" + _DOCS, token)
            while self.take("."):
                base += "." + self.ident()
        found = Type("base", base, alias=self.alias())
        while True:
            if self.take("["):
                size = None
                if self.token[0] == "number":
                    size = int(self.token[1])
                    self.place += 1
                self.need("]")
                found = Type("list", inner=found, size=size, alias=self.alias())
            elif self.take("?"):
                found = Type("optional", inner=found)
            else:
                return found

    def argument(self, kwarg_only):
        kind = self.type()
        name = self.ident()
        default = (self.default(kind),) if self.take("=") else ()
        return Argument(name, kind, default, kwarg_only)

    def default(self, kind):
        """The value after "=", for an argument of that type."""
        if kind.kind == "optional":
            return None if self.take("None") else self.default(kind.inner)
        if kind.kind == "list":
            return self._list(kind)
        token = self.token
        self.place += 1
        if kind.leaf == "Tensor" or token[1] == "None":
            if token[1] != "None":
                self.place -= 1
                self.unexpected("None")
            return None
        if token[0] == "string":
            return re.sub(r"\\(.)", r"\1", token[1][1:-1])
        if token[1] in ("True", "False"):
            return token[1] == "True"
        if token[0] == "number":
            exact = kind.leaf not in ("float", "complex") and re.fullmatch(r"-?\d+", token[1])
            return int(token[1]) if exact else float(token[1])
        if token[1] in _NAMED_NUMBERS:
            return _NAMED_NUMBERS[token[1]]
        return self.fail("\ninvalid numeric default value", token)

    def _list(self, kind):
        if not self.take("["):
            if kind.size is None:
                self.unexpected("[")
            return [self.default(kind.inner)] * kind.size
        if kind.leaf not in ("int", "float", "complex", "SymInt", "bool", "Scalar"):
            self.fail("\nlists are only supported for float, int and complex types", self.token)
        values = []
        while not self.take("]"):
            values.append(self.default(kind.inner))
            if not self.take(",") and self.token[1] != "]":
                self.unexpected("]")
        return values

    def arguments(self):
        self.need("(")
        found, kwarg_only = [], False
        while not self.take(")"):
            if self.take("*"):
                kwarg_only = True
            else:
                found.append(self.argument(kwarg_only))
            if not self.take(",") and self.token[1] != ")":
                self.unexpected(")")
        return tuple(found)

    def returns(self):
        if self.take("("):
            found = []
            while not self.take(")"):
                found.append(self._returned())
                if not self.take(",") and self.token[1] != ")":
                    self.unexpected(")")
            return tuple(found)
        return (self._returned(),)

    def _returned(self):
        kind = self.type()
        return Argument(self.ident() if self.token[0] == "ident" else "", kind)

    def schema(self):
        name, overload = self.name()
        arguments = self.arguments()
        self.need("->", "arrow")
        returns = self.returns()
        if self.token[0] != "eof":
            self.unexpected("eof")
        return FunctionSchema(name, overload, arguments, returns)


def parse_schema(text):
    """Parses a schema. RuntimeError points at the position of an error."""
    schema = _Parser(text).schema()
    seen_default = False
    for argument in schema.positional:
        if seen_default and not argument.default:
            raise RuntimeError("Non-default positional argument follows default argument. Parameter "
                               f"{argument.name} in {schema}")
        seen_default = seen_default or bool(argument.default)
    return schema


def parse_name(text):
    """("ns::name", "overload") of a bare name."""
    parser = _Parser(text)
    name = parser.name()
    if parser.token[0] != "eof":
        parser.unexpected("eof")
    return name
