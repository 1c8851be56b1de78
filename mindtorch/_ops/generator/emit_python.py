"""Python functions over the device-neutral ones: one per op name, which picks the overload by the operands' types.

The parameters of all overloads are merged. Where overloads differ at a position (a Tensor here, a number there, absent
elsewhere), tests on that position choose; everything else is converted by helpers that raise torch's TypeError.
"""
import ast
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise

from .rows import FOLDER, RowError, inplace_name

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
    def of_many(self) -> bool:
        """Whether it is a method of one list of ints, which may come as several arguments: x.flip(0, 1)."""
        schema = self.rows[0].schema
        types = [a.type for a in schema.kernel_arguments]
        return self.method and len(self.rows) == 1 and types == ["Tensor", "int[]"] and "[] " in schema.text

    @property
    def signature(self) -> str:
        """The parameters in Python, as stubs and Cython write them."""
        if self.of_many:
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
                          if not row.by_hand and not row.python)
    made = []
    for name in names:
        rows = [row for row in table.family(family) if row.schema.name == name and not row.by_hand]
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
        of_tensors = [row for row in rows if row.schema.arguments[0].is_tensor]
        made.append(_merge(name, of_tensors, table, inplace, method=True))
    return made


def _merge(name, rows, table, inplace, method) -> Function:
    chosen = [row for row in rows if not _subsumed(row, table)]
    longest = max(chosen, key=lambda row: (not row.hidden, len(_positional(row))))
    order = [longest, *(row for row in chosen if row is not longest)]
    parameters = {}
    for row in order:
        for position, argument in enumerate(row.schema.kernel_arguments):
            _place(parameters, row, position, argument, longest, method)
    merged = list(parameters.values())
    for parameter in merged:
        # An overload that a fuller one covers makes its extra arguments optional: sum(input) beside sum(input, dim).
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
    return Function(name, chosen, merged, takes_out, results, method, inplace, aten, row.of_npu)


def _place(parameters, row, position, argument, longest, method):
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
    """Whether another overload of the same name takes the very arguments of this one."""
    target = table.by_key.get(row.same)
    if target is None or target.schema.name != row.schema.name:
        return False
    return not any(a.is_tensor != target.schema.argument(a.name).is_tensor for a in row.schema.arguments)


def family_functions(table, family) -> tuple:
    """Cython source of the family's functions and, in a class, methods; and the cimports from other families."""
    made = functions(table, family)
    elsewhere = {}
    for row in (row for function in made for row in function.rows if row.same):
        target = table.by_key[row.same]
        if target.family != family:
            elsewhere.setdefault(target.family, set()).add(f"op_{target.slot}")
    imports = "".join(f"from mindtorch._core._gen.{module} cimport {', '.join(sorted(names))}\n"
                      for module, names in sorted(elsewhere.items()))
    sources = [_Emitter(function, table).source() for function in made if not function.method]
    methods = [_Emitter(function, table).source() for function in made if function.method]
    if methods:
        body = "\n".join(methods).replace("\n", "\n    ").replace("\n    \n", "\n\n").rstrip(" ")
        sources.append(f'class Methods:\n    """What Tensor takes over."""\n\n    {body}')
    return sources, imports


@cache
def named_results() -> frozenset:
    """The functions whose results are types of mindtorch/return_types.py; those of others are tuples, as in torch."""
    tree = ast.parse((FOLDER.parent / "return_types.py").read_text(encoding="utf-8"))
    return frozenset(node.targets[0].id for node in tree.body if isinstance(node, ast.Assign))


class _Emitter:
    """Writes one merged function."""

    def __init__(self, function, table):
        self.function = function
        self.table = table
        self.locals = {}          # C variable -> type

    def source(self) -> str:
        function = self.function
        body = [f"if {synonym} is not None:\n        {p.name} = {synonym}"
                for p in function.parameters for synonym in p.synonyms]
        if self._takes_numbers():
            first, other = (p.name for p in function.parameters[:2])
            body.append(f"if not isinstance({first}, TensorBase):\n        {first} = as_operand({first}, {other})")
        if len(function.rows) == 1:
            body += self._overload(function.rows[0])
        else:
            for row in self._test_order():
                lines = "\n        ".join(self._overload(row))
                body.append(f"if {self._test(row)}:\n        {lines}")
            body.append(self._complaint())
        declared = [f"cdef {type_} {name}" for name, type_ in self.locals.items()]
        lines = "".join(f"    {line}\n" for line in [self._docstring(), *declared, *body])
        name = function.name
        return f"def {name}({function.signature}):\n{lines}"

    def _docstring(self) -> str:
        rows = self.function.rows
        overloads = "; ".join(row.key for row in rows)
        return f'"""{self.function.name}({self._plain_signature()}). Schemas: {overloads}."""'

    def _plain_signature(self) -> str:
        signature = self.function.signature
        for parameter in self.function.parameters:
            for synonym in parameter.synonyms:
                signature = signature.replace(f", {synonym}=None", "")
        return signature.removesuffix(", *")

    def _takes_numbers(self) -> bool:
        """Functions with hidden overloads for numbers take one as their first operand as well."""
        return not self.function.method and any(row.hidden for row in self.function.rows)

    # Choosing.

    def _discriminating(self) -> list:
        return [p for p in self.function.parameters if self._discriminates(p)]

    def _discriminates(self, parameter) -> bool:
        """Types differ, some overload must have what another lacks, or a wrong one means that no overload fits."""
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

    def _test_order(self) -> list:
        """Tensor overloads first, those that lack the argument last: `is None` is the most open test."""
        ranks = {"Tensor": 0, "Scalar": 1, "Scalar?": 2, "Tensor?": 3, "Scalar[]": 3, "": 5}

        def rank(row):
            kinds = [self._kind(row, p) for p in self._discriminating()]
            return [ranks.get(kind, 4) for kind in kinds]
        return sorted(self.function.rows, key=rank)

    def _test(self, row) -> str:
        tests = []
        for parameter in self._discriminating():
            name, kind = parameter.name, self._kind(row, parameter)
            test = {"Tensor": f"isinstance({name}, TensorBase)", "Scalar": f"is_scalar({name})",
                    "Tensor?": f"({name} is None or isinstance({name}, TensorBase))",
                    "Scalar?": f"({name} is None or is_scalar({name}))", "int": f"is_int({name})",
                    "int?": f"({name} is None or is_int({name}))", "Scalar[]": f"is_scalar_list({name})",
                    "Tensor[]": f"isinstance({name}, (list, tuple))",
                    "": f"{name} is None"}
            tests.append(test.get(kind, f"{name} is not None"))
        return " and ".join(tests)

    def _complaint(self) -> str:
        """The TypeError where no overload fits."""
        function, visible = self.function, self._visible()
        counted = [p for p in function.parameters if not p.keyword_only][function.method:]
        if len(visible) > 1:
            values = "".join(f"{p.name}, " for p in counted)
            defaults = "".join(f"{p.default}, " for p in counted if p.default)
            expected = "".join(f' * {_torch_signature(row, function)}\\n' for row in sorted(visible, key=_torch_order))
            keywords = ", ".join(f'"{name}": {name}' for name in self._given_keywords())
            return f'no_combination(b"{function.name}", given(({values}), ({defaults})), {{{keywords}}}, "{expected}")'
        checks = [(i, p) for i, p in enumerate(counted) if self._kind(visible[0], p) == "Tensor"]
        return "\n    ".join(f'require_tensor({p.name}, b"{function.name}", b"{p.name}", {i + 1})' for i, p in checks)

    def _given_keywords(self) -> list:
        """Keyword parameters that are None where they were not given."""
        names = [p.name for p in self.function.parameters if p.keyword_only and p.default == "None"]
        return names + (["out"] if self.function.takes_out else [])

    # Calling.

    def _overload(self, row) -> list:
        """Statements that convert the arguments, call, and return."""
        target = self.table.by_key[row.same] if row.same else row
        tested = {p.name for p in self._discriminating()} if len(self.function.rows) > 1 else set()
        lines, values = [], {}
        for position, parameter in enumerate(self.function.parameters):
            argument = parameter.by_overload.get(row.key)
            if argument is not None:
                value = self._convert(argument, parameter, position + 1, parameter.name in tested, lines)
                wanted = target.schema.argument(argument.name)
                if argument.type == "Scalar" and wanted is not None and wanted.is_tensor:
                    value = self._as_tensor(row, value, argument.name)
                elif argument.type == "Tensor" and wanted is not None and not wanted.is_tensor:
                    value = self._as_numbers(wanted, value, values[row.schema.lists[0].name])
                values[argument.name] = value
        call = [values.get(a.name) or default_value(target, a, row.same_values) for a in target.kernel_arguments]
        name = f"op_{target.slot}"
        if self.function.inplace:
            name = f"op_{target.slot if target.schema.inplace else inplace_name(target)}"
        elif self.function.takes_out:
            call += self._outs(len(target.schema.returns), lines)
        elif not target.of_lists:
            call += ["None"] * len(target.result_names)
        result = f"{name}({', '.join(call)})"
        if target.of_lists and self.function.inplace:      # the very object that was given; the fused ones give None
            return [*lines, result, f"return {self.function.parameters[0].name if target.each else None}"]
        if len(target.schema.returns) > 1 and self.function.name in named_results():
            result = f"named(return_types.{self.function.name}, {result})"
        return [*lines, f"return {result}"]

    def _outs(self, results, lines) -> list:
        function = self.function
        if results == 1:
            return [f'optional_tensor(out, b"{function.name}", b"out")']
        self.locals["outs"] = "tuple"
        lines.append(f'outs = several_outs(out, {results}, b"{function.name}", {len(function.parameters)})')
        return [f"<TensorBase>outs[{i}]" for i in range(results)]

    def _local(self, name, type_) -> str:
        self.locals[name] = type_
        return name

    def _convert(self, argument, parameter, position, tested, lines) -> str:
        """The C value of a parameter; statements it needs first are appended to `lines`."""
        name, function = parameter.name, self.function.name
        position -= self.function.method
        where = f'b"{function}", b"{name.rstrip("_")}", {0 if parameter.keyword_only else position}'
        match argument.type:
            case "Tensor":
                return f"<TensorBase>{name}" if tested else f"require_tensor({name}, {where})"
            case "Tensor?":
                return f"<TensorBase>{name}" if tested else f"optional_tensor({name}, {where})"
            case "Scalar[]":
                return f"tuple({name})" if tested else f"require_scalars({name}, {where})"
            case "Tensor[]":
                return f"require_tensors({name}, {where})"
            case "Scalar":
                number = self._local(f"{name}_number", "Scalar")
                lines.append(f"scalar_from({name}, &{number})" if tested else
                             f"require_scalar({name}, &{number}, {where})")
                return f"&{number}"
            case "Scalar?":
                number = self._local(f"{name}_number", "Scalar")
                return f"optional_scalar({name}, &{number}, {where})"
            case "int[]" if self.function.of_many:
                sizes = self._local(f"{name}_sizes", "Shape")
                lines.append(f'parse_varargs(sizes_argument(args, kwargs, "{function}", "{name}"), &{sizes}, '
                             f'b"{function}", b"{name}")')
                return f"&{sizes}"
            case "int[]" | "int[]?" | "int?":
                sizes = self._local(f"{name}_sizes", "Shape")
                parse = "parse_optional_int" if argument.type == "int?" else "parse_optional_ints"
                lines.append(f"{parse}({name}, &{sizes}, {where})")
                return f"&{sizes}"
            case "int" if tested:
                return f"as_int({name})"
            case "int":
                return f"require_int({name}, {where})"
            case "bool" | "bool?":
                return f"require_bool({name}, {where})"
            case "float?":
                number = self._local(f"{name}_number", "double")
                return f"optional_float({name}, &{number}, {where})"
            case "bool[]":
                truths = self._local(f"{name}_truths", "Shape")
                lines.append(f"parse_bools({name}, &{truths}, {where})")
                return f"&{truths}"
            case "float":
                return f"require_float({name}, {where})"
            case "Generator?":
                return f'require_generator({name}, b"{function}", b"{name}")'
            case "ScalarType" | "ScalarType?":
                return f"require_dtype({name}, Undefined, {where})"
        return name

    def _as_tensor(self, row, number, name) -> str:
        """A number where the function called takes a tensor: where(condition, x, 0)."""
        beside = next((a for a in row.schema.arguments if a.type == "Tensor" and a.name != "condition"), None)
        if beside is None:
            return f"number_beside({number}, require_tensor(condition, b\"{self.function.name}\", b\"condition\", 1))"
        other = next(p.name for p in self.function.parameters if p.by_overload.get(row.key) is beside)
        function = "number_to_read" if name in self.table.by_key[row.same].reads else "number_like"
        return f"{function}({number}, <TensorBase>{other})"

    @staticmethod
    def _as_numbers(wanted, tensor, tensors) -> str:
        """The elements of a tensor where the function called takes numbers: lr of an optimizer, packed scalars."""
        return f"lists.packed({tensor}, {tensors})" if wanted.type == "Scalar[]" else f"lists.only_number({tensor})"


def default_value(target, argument, given) -> str:
    """C value of a target's argument that the overload calling it does not have."""
    if argument.name in given:
        return given[argument.name]
    match argument.type:
        case "Tensor?":
            return "None"
        case "Scalar?" | "float?":
            return "NULL"
        case "Scalar":
            return "&ONE"
        case "int[]" | "int[]?" | "int?":
            return "&NO_DIMS"
        case "ScalarType?":
            return "Undefined"
        case "bool":
            return str(int(argument.default == "True"))
    if argument.default is None:
        raise RowError(f"{target.family}.toml: {target.key}: {argument.name!r} has no default for overloads without it")
    return argument.default


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
