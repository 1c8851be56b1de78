"""Python functions over the device-neutral ones: one per op name, which picks the overload by the operands' types.

The parameters of all overloads are merged. Where overloads differ at a position (a Tensor here, a number there, absent
elsewhere), tests on that position choose; everything else is converted by helpers that raise torch's TypeError.
"""
import ast
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise

from .rows import FOLDER, RowError

# NumPy's words, which torch takes as well.
SYNONYMS = {"dim": "axis", "keepdim": "keepdims"}
_LITERALS = {"[]": "()", "Mean": "1"}


@dataclass
class Parameter:
    """A parameter of the merged function; `by_overload` maps an overload's key to its argument, if it has one."""
    name: str
    keyword_only: bool
    default: str | None = None
    synonyms: list = field(default_factory=list)
    by_overload: dict = field(default_factory=dict)

    @property
    def text(self) -> str:
        return self.name if self.default is None else f"{self.name}={self.default}"


@dataclass
class Function:
    name: str
    rows: list               # the overloads it chooses from
    parameters: list
    takes_out: bool
    results: int
    method: bool = False     # called on its first argument, `self`, which no message counts
    inplace: bool = False
    aten: bool = False       # not of the torch namespace: what nn.functional and derivatives call
    npu: bool = False        # of the namespace of torch_npu

    @property
    def varargs(self) -> bool:
        """Whether it is a method of one list of ints, which may come as several arguments: x.flip(0, 1)."""
        schema = self.rows[0].schema
        types = [a.type for a in schema.kernel_arguments]
        return self.method and len(self.rows) == 1 and types == ["Tensor", "int[]"] and "[] " in schema.text

    @property
    def signature(self) -> str:
        """The parameters in Python, as stubs and Cython write them."""
        if self.varargs:
            return "self, *args, **kwargs"
        parts = [p.text for p in self.parameters if not p.keyword_only]
        keywords = [p.text for p in self.parameters if p.keyword_only]
        if self.takes_out:
            keywords.append("out=None")
        keywords += [f"{name}=None" for p in self.parameters for name in p.synonyms]
        return ", ".join(parts + (["*", *keywords] if keywords else []))


def python_name(argument, method) -> str:
    """torch's functions call their first tensor `input`; a number in its place stays `self`."""
    return "input" if argument.name == "self" and argument.is_tensor and not method else argument.name


def functions(table, family) -> list:
    """The merged functions and methods of a family, in-place forms after their functional ones."""
    names = dict.fromkeys(row.schema.name for row in table.family(family)
                          if not row.handwritten and not row.manual_binding)
    made = []
    for name in names:
        rows = [row for row in table.family(family) if row.schema.name == name and not row.handwritten]
        made += _forms(name, rows, table, name.endswith("_"))
        inplace = [row for row in rows if row.inplace]
        if inplace:
            made += _forms(name + "_", inplace, table, inplace=True)
    return made


def _forms(name, rows, table, inplace) -> list:
    """The function of that name and the method, as far as torch has them."""
    variants = {variant for row in rows for variant in row.variants}
    names = [name, *(alias for alias, target in table.aliases.items() if target == name)]
    made = []
    if variants & {"aten", "own", "npu"}:
        return [_merge(name, rows, table, inplace, method=False)]
    if table.inplace_functions.intersection(names) if inplace else "function" in variants:
        made.append(_merge(name, rows, table, inplace, method=False))
    if "method" in variants:
        tensor_rows = [row for row in rows if row.schema.arguments[0].is_tensor]
        made.append(_merge(name, tensor_rows, table, inplace, method=True))
    return made


def _merge(name, rows, table, inplace, method) -> Function:
    chosen = [row for row in rows if not _subsumed(row, table)]
    longest = max(chosen, key=lambda row: (not row.hidden, len(_positional(row))))
    order = [longest, *(row for row in chosen if row is not longest)]
    parameters = {}
    for row in order:
        for position, argument in enumerate(row.schema.kernel_arguments):
            _merge_parameter(parameters, row, position, argument, longest, method)
    merged = list(parameters.values())
    for parameter in merged:
        # An overload that lacks an argument makes it optional: sum(input) beside sum(input, dim).
        present = [row for row in rows if _has(row, parameter)]
        if parameter.default is None and (len(present) < len(rows) or parameter.synonyms):
            parameter.default = "None"      # which may also be given by another overload's name for it
        synonym = SYNONYMS.get(parameter.name)
        if synonym and not inplace and {"aten", "npu"}.isdisjoint(longest.variants):
            parameter.synonyms.append(synonym)
            if parameter.default is None:
                parameter.default = "None"
    positional = [parameter for parameter in merged if not parameter.keyword_only]
    for before, parameter in pairwise(positional):
        if before.default is not None and parameter.default is None:
            parameter.default = "None"      # after one that may be given by NumPy's word instead
    row = chosen[0]
    takes_out = row.takes_out and not inplace and not method
    results = 1 if inplace else len(row.schema.returns)
    aten = not {"aten", "own", "npu"}.isdisjoint(row.variants)
    return Function(name, chosen, merged, takes_out, results, method, inplace, aten, row.is_torch_npu)


def _merge_parameter(parameters, row, position, argument, longest, method):
    """Give `argument` its merged parameter: that of the same name, else that of the same position."""
    name = python_name(argument, method)
    merged = parameters.get(name)
    if merged is None and row is not longest and not argument.keyword_only:
        base = _positional(longest)
        merged = parameters[python_name(base[position], method)]
        if name not in merged.synonyms:
            merged.synonyms.append(name)
    if merged is None:
        default = _LITERALS.get(argument.default, argument.default)
        merged = parameters[name] = Parameter(name, argument.keyword_only, default)
    merged.by_overload[row.key] = argument


def _positional(row) -> list:
    return [a for a in row.schema.kernel_arguments if not a.keyword_only]


def _has(row, parameter) -> bool:
    return row.key in parameter.by_overload or any(a.name in (parameter.name, *parameter.synonyms) or
                                                   python_name(a, method=False) == parameter.name
                                                   for a in row.schema.kernel_arguments)


def _subsumed(row, table) -> bool:
    """Whether another overload of the same name takes the very arguments of this one, and requires no other.

    sum(input) stands beside sum(input, dim, keepdim): torch takes no keepdim= without dim.
    """
    target = table.by_key.get(row.alias_of)
    if target is None or target.schema.name != row.schema.name:
        return False
    if any(a.default is None and not row.schema.argument(a.name) for a in target.schema.kernel_arguments):
        return False
    return not any(a.is_tensor != target.schema.argument(a.name).is_tensor for a in row.schema.arguments)


@cache
def named_results() -> frozenset:
    """The functions whose results are types of mindtorch/return_types.py; those of others are tuples, as in torch."""
    tree = ast.parse((FOLDER.parents[1] / "return_types.py").read_text(encoding="utf-8"))
    return frozenset(node.targets[0].id for node in tree.body if isinstance(node, ast.Assign))


class Overloads:
    """How a merged function tells its overloads apart."""

    def __init__(self, function, table):
        self.function = function
        self.table = table

    def accepts_number_self(self) -> bool:
        """Functions with hidden overloads for numbers take one as their first operand as well."""
        return not self.function.method and any(row.hidden for row in self.function.rows)


    def discriminating(self) -> list:
        return [p for p in self.function.parameters if self._selects_overload(p)]

    def _selects_overload(self, parameter) -> bool:
        """Whether its type differs between overloads, one requires what another lacks, or all want a tensor."""
        arguments = [parameter.by_overload.get(row.key) for row in self.function.rows]
        kinds = {a.type for a in arguments if a is not None}
        needed = any(a is not None and a.default is None for a in arguments)
        return len(kinds) > 1 or (None in arguments and needed) or (
            kinds in ({"Tensor"}, {"Tensor[]"}) and len(self._visible()) > 1)

    def _visible(self) -> list:
        return [row for row in self.function.rows if not row.hidden]

    @staticmethod
    def _kind(row, parameter) -> str:
        argument = parameter.by_overload.get(row.key)
        return argument.type if argument else ""

    def test_order(self) -> list:
        """Tensor overloads first, those that lack the argument last: `is None` is the most open test."""
        ranks = {"Tensor": 0, "Scalar": 1, "Scalar?": 2, "Tensor?": 3, "Scalar[]": 3, "": 5}

        def rank(row):
            kinds = [self._kind(row, p) for p in self.discriminating()]
            return [ranks.get(kind, 4) for kind in kinds]
        return sorted(self.function.rows, key=rank)

    def signatures(self) -> str:
        """The signatures that torch lists where no overload fits, a line each; none where there is one to show."""
        visible = self._visible()
        if len(visible) < 2:
            return ""
        return "".join(f" * {_torch_signature(row, self.function)}\n" for row in sorted(visible, key=_torch_order))


def default_literal(target, argument, given):
    """The value of a target's argument that the calling overload does not have. None: absent or empty."""
    if argument.name in given:
        return ast.literal_eval(given[argument.name])
    if argument.type in ("Tensor?", "Scalar?", "float?", "int[]", "int[]?", "int?", "ScalarType?"):
        return None
    if argument.type == "Scalar":
        return 1
    if argument.default is None:
        raise RowError(f"{target.family}.toml: {target.key}: {argument.name!r} has no default for overloads without it")
    return ast.literal_eval(argument.default)


_TORCH_TYPES = {"Scalar": "Number", "Scalar?": "Number", "int[]": "tuple of ints", "int[]?": "tuple of ints",
                "ScalarType?": "torch.dtype", "Tensor[]": "tuple of Tensors", "int?": "int", "Tensor?": "Tensor",
                "str?": "str", "Generator?": "torch.Generator", "float?": "float", "Scalar[]": "tuple of Scalars"}


def _torch_signature(row, function) -> str:
    """The overload as torch lists it in "expected one of"."""
    parts, keyword = [], False
    for argument in row.schema.kernel_arguments[function.method:]:
        if argument.keyword_only and not keyword:
            parts.append("*")
            keyword = True
        default = f" = {argument.default}" if argument.default else ""
        type_ = _TORCH_TYPES.get(argument.type, argument.type)
        parts.append(f"{type_} {python_name(argument, function.method)}{default}")
    if function.takes_out and row.takes_out:
        out = "Tensor" if len(row.schema.returns) == 1 else "tuple of Tensors"
        parts += ([] if keyword else ["*"]) + [f"{out} out = None"]
    return f"({', '.join(parts)})"


def _torch_order(row) -> tuple:
    """torch lists short overloads first, then those whose last arguments are tensors."""
    kinds = [argument.type for argument in _positional(row)]
    ranks = {"Tensor": 0, "Tensor?": 0, "Scalar": 1, "Scalar?": 1}
    return len(kinds), [ranks.get(kind, 2) for kind in reversed(kinds)]
