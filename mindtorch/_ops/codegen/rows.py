"""The op rows: mindtorch/_ops/rows/*.toml read and checked. docs/design.md, "An op row", says what the columns mean."""
import ast
import difflib
import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path

from . import derivatives
from .schema import Schema, SchemaError, parse

FOLDER = Path(__file__).parents[1] / "rows"
NOT_FAMILIES = ("autocast", "rare_dtypes")             # files that say something of rows of all families
FAMILIES = tuple(sorted(path.stem for path in FOLDER.glob("*.toml") if path.stem not in NOT_FAMILIES))
# Rows of these kinds have no kernel: a function written by hand computes them for all devices.
HANDWRITTEN = ("view", "composite")

# The policies of autocast.toml, in the order of Policy in _core/operators/autocast.pxd.
POLICIES = ("not_listed", "lower_precision_fp", "fp32", "fp32_set_opt_dtype", "promote", "banned")

# By name; the numbers are those of _core/tensor/dtype.pxd.
RARE_TYPES = {"float8_e5m2": 23, "float8_e4m3fn": 24, "float8_e5m2fnuz": 25, "float8_e4m3fnuz": 26, "uint16": 27,
              "uint32": 28, "uint64": 29, "float8_e8m0fnu": 30}

# The columns of a row. docs/rows.md is generated from these lines.
COLUMNS = {
    "for": '`for.name = ["cos", "sin"]`: a row for each; other columns write `{name}`, or `{Name}` for it in CamelCase',
    "schema": "torch's schema of the operator",
    "npu": '`aclnnAdd(self, other, alpha, out)`: the call; `a if condition else b` chooses; "decomposition: f(self)", '
           '"view" or "composite"; "per_tensor" where ACLNN has no call for lists',
    "fallback": '"decomposition: ...": replaces the call for a computation in a dtype that CANN does not document, and '
                "on releases without the call; without it, such a dtype is computed in the next wider one of its kind "
                "that CANN documents, int16 in int32, or refused if there is none",
    "graph_capture": '"decomposition: ...": replaces the call of a random operator while a graph is captured, where '
                     "ACLNN has no form that reads the seed from a tensor",
    "out": "the rules of each result: a table, or a list of tables for several results; see below",
    "inplace": '"kernel": the in-place form runs the same call on `self`; otherwise the call of the in-place form',
    "inout": "ACLNN has only the in-place call: the argument that is copied to the result before the call",
    "cpu": "the CPU's kernel: an expression of NumPy (`np`) and of functions in `_cpu/kernels`",
    "compiled": '"float" (16- and 32-bit floats), "all" (dtypes that the call takes) or "all and float64" (which the '
                "kernel takes though CANN does not document it): the CPU runs the kernel of the row's call for these "
                "dtypes, and the NumPy expression for others",
    "compute_dtype": "the dtype rule that the CPU's tensors are cast to; the first result's where nothing is said",
    "no_cast": "tensors that the CPU's kernel gets in their own dtype",
    "opmath": "numbers that keep the precision of the computation; the others are rounded to the tensors' dtype first",
    "view_as_int": "tensors that the call only copies: dtypes that CANN does not document go as integers of their size",
    "extra_dtypes": "dtypes by argument that the call takes though CANN does not document them",
    "host_read": "tensors whose values a decomposition reads: a number in their place stays on the host",
    "mutates": "arguments that the kernel writes to, though the schema does not say so",
    "check": "calls of check_* functions of `_core/rules`: those of check_kernel_* last, before the kernel, all others "
             "first",
    "cpu_check": "the same, on the CPU alone",
    "inplace_check": "the same, for the in-place form alone",
    "out_check": "the same, where out= is given",
    "older": 'orders of the arguments that torch had once and takes with a warning: `["beta, self, mat1, mat2"]`',
    "grad": 'derivatives by argument: `grad.self = "grad * other"`; `grad."a, b"` for several at once; `grad = "none"`',
    "node_name": "the name of the autograd node, where it is not the operator's in CamelCase with Backward0",
    "samples": "the generator of test inputs: a function with `@sample` in tests/ops/samples*.py",
    "alias_of": "the row that this overload calls; arguments may be set: `div.Tensor_mode(rounding_mode=None)`",
    "variants": '"function", "method" (both where nothing is said); "aten": in torch.ops.aten alone; "own": for our '
                'own code alone; "npu": of torch_npu, without a CPU kernel',
    "hidden": "true: error messages do not list this overload",
    "takes_out": "false: there is no out= form",
    "manual_binding": "the module of `_core` in which the Python function is written by hand",
    "foreach_of": "of an operator on lists: the operator on one tensor, `add.Tensor(self, other, alpha)`",
    "fused_if": "of an operator on lists: calls of may_* functions that must hold for the one call on whole lists",
    "scalar_variant": "of an operator on lists with a number for each tensor: the row for one number",
}
OUTPUT_COLUMNS = {
    "shape": "the shape rule; [rules.md](rules.md) lists all rules",
    "dtype": "the dtype rule, or a dtype",
    "mask": "`output_mask[1]`: the result is None where that element is false",
    "memory_format": "the arguments to look at: the result is channels_last where one of them is",
    "strides": "the arguments whose order of dimensions in memory the result keeps; \"contiguous\": it keeps none; "
               "or a rule, which gives the strides, or none for contiguous ones",
    "dynamic_shape": "true: the kernel tells the shape; `shape` is the largest possible",
}


class RowError(ValueError):
    """A row that cannot be built; the message names the file and the op."""


@dataclass(frozen=True)
class Output:
    """The rules of one result, as OUTPUT_COLUMNS describes them."""
    shape: str = ""
    dtype: str = ""
    mask: str = ""
    memory_format: tuple = ()
    strides: tuple = ()
    strides_rule: str = ""
    dynamic_shape: bool = False


@dataclass(frozen=True)
class Row:
    """One row, as COLUMNS describes it, with what autocast.toml and rare_dtypes.toml say of the operator."""
    family: str
    schema: Schema
    npu: str = ""
    fallback: str = ""
    graph_capture: str = ""
    outputs: tuple = ()
    inplace: str = ""
    inout: str = ""
    cpu: str = ""
    compiled: str = ""
    compute_dtype: str = ""
    no_cast: tuple = ()
    opmath: tuple = ()
    view_as_int: tuple = ()
    extra_dtypes: dict = field(default_factory=dict)
    host_read: tuple = ()
    mutates: tuple = ()
    check: tuple = ()
    cpu_check: tuple = ()
    inplace_check: tuple = ()
    out_check: tuple = ()
    grad: dict = field(default_factory=dict)
    joint: tuple = ()                             # arguments whose derivatives come from one expression
    older: tuple = ()
    node_name: str = ""
    samples: str = ""
    alias_of: str = ""                            # the key
    alias_values: dict = field(default_factory=dict)
    variants: tuple = ("function", "method")
    hidden: bool = False
    takes_out: bool = True
    manual_binding: str = ""
    foreach_of: str = ""                          # the key
    foreach_values: tuple = ()                    # (names given by position, {parameter: name given by keyword})
    fused_if: tuple = ()
    scalar_variant: str = ""
    autocast: dict = field(default_factory=dict)  # device -> policy
    rare: tuple = ()                              # rare dtypes that the CPU's kernel takes
    refusal: str = ""                             # the kernel's name in the error for other rare dtypes

    @property
    def key(self) -> str:
        return self.schema.key

    @property
    def c_name(self) -> str:
        return self.schema.c_name

    @property
    def handwritten(self) -> bool:
        return self.npu in HANDWRITTEN

    @property
    def has_kernel(self) -> bool:
        return not (self.handwritten or self.alias_of or self.foreach_of)

    @property
    def may_have_kernel(self) -> bool:
        """Whether devices may have a kernel: npu = "per_tensor" says that ACLNN has none for lists."""
        return self.has_kernel or (bool(self.foreach_of) and self.npu != "per_tensor")

    @property
    def is_torch_npu(self) -> bool:
        """Whether the operator is torch_npu's, and not torch's."""
        return "npu" in self.variants

    @property
    def is_foreach(self) -> bool:
        """Whether it works on every tensor of its lists: _foreach_* and _fused_*."""
        return _is_foreach_row(self.schema, self.foreach_of or self.alias_of)

    @property
    def factory(self) -> bool:
        """Whether it makes a tensor from nothing, or from the properties of one."""
        return self.schema.argument("device") is not None

    @property
    def result_names(self) -> list:
        """The kernel's outputs: out, or out0, out1; none where it writes to self."""
        if self.schema.inplace or not self.schema.returns:
            return []
        count = len(self.schema.returns)
        return ["out"] if count == 1 else [f"out{i}" for i in range(count)]

    @property
    def kernel_arguments(self) -> list:
        """The arguments that the kernel gets. A "like" argument, of which only shape and dtype count, is left out."""
        arguments = self.schema.kernel_arguments
        if self.factory and not self.handwritten:
            arguments = [a for a in arguments if a.type in ("Scalar", "Scalar?", "Generator?")]
        return arguments


def inplace_name(row) -> str:
    """add.Tensor -> add__Tensor, as torch's own key add_.Tensor gives it."""
    schema = row.schema
    return f"{schema.name}__{schema.overload}" if schema.overload else f"{schema.name}_"


class Table:
    """All rows, in file order, with aliases of whole ops (name -> name)."""

    def __init__(self, folder=FOLDER):
        self.rows, self.aliases, self.inplace_functions = [], {}, set()
        self.autocast = read_autocast(folder / "autocast.toml")
        self.rare, self.refusals = read_rare(folder / "rare_dtypes.toml")
        for family in FAMILIES:
            path = folder / f"{family}.toml"
            if path.exists():
                self._load(family, path)
        self.by_key = {row.key: row for row in self.rows}
        for row in self.rows:
            for key in filter(None, (row.alias_of, row.foreach_of, row.scalar_variant)):
                if key not in self.by_key:
                    raise RowError(f"{row.family}.toml: {row.key}: there is no row {key!r}")
        self.rows = [self._with_opmath(row) for row in self.rows]
        self.by_key = {row.key: row for row in self.rows}
        if unknown := {*self.rare, *self.refusals} - set(self.by_key):
            raise RowError(f"rare_dtypes.toml: there are no rows {sorted(unknown)}")
        operators = {row.schema.name for row in self.rows}
        for row in self.rows:
            try:
                derivatives.check_functions(row.schema, row.grad, operators)
                for column in (row.npu, row.graph_capture, row.fallback):
                    if column.startswith("decomposition: "):
                        derivatives.check_functions(row.schema, {"npu": column.removeprefix("decomposition: ")},
                                                    operators | set(row.result_names))
            except derivatives.DerivativeError as error:
                raise RowError(f"{row.family}.toml: {row.key}: {error}") from None

    def _with_opmath(self, row) -> Row:
        """The row of an operator on lists, with the column `opmath` of the operator on one tensor."""
        if not row.foreach_of:
            return row
        other = self.by_key[row.foreach_of]
        positional, named = row.foreach_values
        values = dict(zip((a.name for a in other.schema.arguments), positional, strict=False)) | named
        return replace(row, opmath=tuple(values[name] for name in other.opmath if name in values))

    def family(self, name) -> list:
        return [row for row in self.rows if row.family == name]

    @property
    def families(self) -> list:
        """Those with at least one generated function."""
        return [f for f in FAMILIES if any(not row.handwritten for row in self.family(f))]

    def _load(self, family, path):
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        self.aliases.update(content.get("alias", {}))
        self.inplace_functions.update(content.get("inplace_functions", ()))
        seen = {row.key for row in self.rows}
        if any(len({len(words) for words in entry.get("for", {}).values()}) > 1 for entry in content.get("op", ())):
            raise RowError(f"{path.name}: the lists of the column 'for' differ in length")
        for entry in (each for written in content.get("op", ()) for each in instances(written)):
            try:
                row = read_row(family, entry)
            except (SchemaError, RowError, derivatives.DerivativeError) as error:
                raise RowError(f"{path.name}: {entry.get('schema', '?').split('(')[0]}: {error}") from None
            if row.key in seen:
                raise RowError(f"{path.name}: {row.key}: a row of that name exists already")
            seen.add(row.key)
            row = replace(row, autocast=self.autocast.get(row.key, {}), rare=self.rare.get(row.key, ()),
                          refusal=self.refusals.get(row.key, f"{row.schema.name}_cpu"))
            self.rows.append(row)
            if row.is_foreach:
                self.inplace_functions.add(f"{row.schema.name.rstrip('_')}_")


def read_autocast(path) -> dict:
    """The lists of autocast.toml by operator: op -> {device: policy}."""
    listed = {}
    content = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for device, policies in content.items():
        for policy, ops in policies.items():
            if policy not in POLICIES:
                raise RowError(f"{path.name}: {policy!r} of {device!r} is none of {', '.join(POLICIES)}")
            for op in ops:
                if listed.setdefault(op, {}).setdefault(device, policy) != policy:
                    raise RowError(f"{path.name}: {op} is in two lists of {device!r}")
    return listed


def read_rare(path) -> tuple:
    """rare_dtypes.toml: op -> the rare dtypes that it takes, and op -> the name of its kernel in refusals."""
    content = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    taken = {}
    for entry in content.get("takes", ()):
        if unknown := set(entry["dtypes"]) - set(RARE_TYPES):
            raise RowError(f"{path.name}: {sorted(unknown)} are no rare dtypes")
        for op in entry["ops"]:
            taken[op] = (*taken.get(op, ()), *entry["dtypes"])
    return taken, content.get("refusals", {})


def instances(entry) -> list:
    """The rows that one [[op]] table stands for: more than one where it has the column `for`."""
    lists = entry.get("for")
    if not lists:
        return [entry]
    rest = {column: value for column, value in entry.items() if column != "for"}
    rows = []
    for chosen in zip(*lists.values(), strict=True):
        words = {f"{{{name}}}": word for name, word in zip(lists, chosen, strict=True)}
        words |= {f"{{{name[:1].upper()}{name[1:]}}}": "".join(part[:1].upper() + part[1:] for part in word.split("_"))
                  for name, word in zip(lists, chosen, strict=True)}
        rows.append(_filled(rest, words))
    return rows


def _filled(value, words):
    """A value of a row with the words in place of their names."""
    if isinstance(value, dict):
        return {name: _filled(inner, words) for name, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner, words) for inner in value]
    if isinstance(value, str):
        for name, word in words.items():
            value = value.replace(name, word)
    return value


def read_row(family, entry) -> Row:
    """One [[op]] table as a Row; RowError where columns are missing, unknown or at odds with the schema."""
    _refuse_unknown(entry, COLUMNS)
    entry = dict(entry)
    entry["grad"], entry["joint"] = _read_grad(entry.get("grad", {}))
    schema = parse(entry.pop("schema"))
    out = entry.pop("out", [])
    outputs = tuple(_read_output(o) for o in (out if isinstance(out, list) else [out]))
    entry |= {column: tuple(value) for column, value in entry.items() if isinstance(value, list)}
    if _is_foreach_row(schema, entry.get("foreach_of") or entry.get("alias_of")):
        entry |= {"variants": ("function",), "takes_out": False}
    if "variants" not in entry and (schema.inplace or not schema.argument("self")):
        entry["variants"] = ("method",) if schema.inplace else ("function",)
    if "foreach_of" in entry:
        entry["foreach_of"], entry["foreach_values"] = _read_call(entry["foreach_of"])
    if "alias_of" in entry:
        entry["alias_of"], (_, entry["alias_values"]) = _read_call(entry["alias_of"])
    row = Row(family=family, schema=schema, outputs=outputs, **entry)
    _check_row(row)
    return row


def _refuse_unknown(entry, columns):
    for name in set(entry) - set(columns):
        near = difflib.get_close_matches(name, columns, 1)
        raise RowError(f"there is no column {name!r}" + (f"; did you mean {near[0]!r}?" if near else
                                                         f", the columns are {', '.join(columns)}"))


def _read_output(rules) -> Output:
    _refuse_unknown(rules, OUTPUT_COLUMNS)
    if "(" in rules.get("strides", ""):
        rules = {**rules, "strides_rule": rules["strides"], "strides": "contiguous"}
    names = {column: tuple(rules[column].split(", ")) for column in ("memory_format", "strides") if column in rules}
    return Output(**rules | names)


def _is_foreach_row(schema, other) -> bool:
    """Whether an op writes to lists, or applies another op to each tensor of a list."""
    return not schema.returns or (bool(other) and bool(schema.tensor_lists) and schema.returns[0][0] == "Tensor[]")


def _read_grad(grad) -> tuple:
    """Derivatives by argument, and the groups of arguments that share one: the key "input, weight" names two.

    A shared expression gives a sequence, and None for those that `grad_input_mask`, a list of bools, leaves out.
    """
    if grad == "none":
        return grad, ()
    groups = {tuple(key.split(", ")): text for key, text in grad.items()}
    single = {name: text for names, text in groups.items() for name in names}
    return single, tuple(names for names in groups if len(names) > 1)


def _read_call(text) -> tuple:
    """'add.Tensor(self, alpha=2)': the key, and the values given by position and by keyword, as texts."""
    key, _, values = text.partition("(")
    call = ast.parse(f"f({values or ')'}", mode="eval").body
    return key, ([ast.unparse(a) for a in call.args], {k.arg: ast.unparse(k.value) for k in call.keywords})


def _check_row(row):
    derivatives.check(row.schema, row.grad)
    if not row.alias_of and not row.npu:
        raise RowError("has no npu column")
    if row.has_kernel:
        if bool(row.cpu) == row.is_torch_npu:
            raise RowError("has a CPU reference, but is of the NPU alone" if row.cpu else "has no CPU reference")
        if not (row.samples or row.is_foreach):        # tests/ops/test_foreach.py has the lists
            raise RowError("has no samples: name a generator of tests/ops/samples*.py")
        if not row.grad:
            raise RowError('has no derivative: grad = "none" where there is none')
        if not row.schema.inplace and len(row.outputs) != len(row.schema.returns):
            raise RowError(f"{len(row.outputs)} output rules for {len(row.schema.returns)} results")
    for name in (*row.no_cast, *row.host_read, *row.view_as_int, *row.opmath, *filter(None, (row.inout,))):
        if row.schema.argument(name) is None and name not in row.result_names:
            raise RowError(f"the schema has no argument {name!r}")
