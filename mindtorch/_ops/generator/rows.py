"""The op rows: mindtorch/_ops/*.toml read and checked. docs/design.md, "An op row", says what the columns mean."""
import ast
import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path

from . import derivatives
from .schema import Schema, SchemaError, parse

FOLDER = Path(__file__).parent.parent
FAMILIES = ("creation", "pointwise", "compare", "reduce", "matmul", "view", "index", "indexing", "rearrange", "nn",
            "activation", "norm", "loss", "random", "linalg", "fft", "math", "arithmetic", "special", "polynomials",
            "statistics", "order", "conv", "pool", "pad", "upsample", "vision", "recurrent", "attention", "foreach",
            "fused", "amp", "torch_npu")
# Rows of these kinds have no kernel: a function written by hand computes them for all devices.
BY_HAND = ("view", "composite")

# What autocast.toml may say of an operator, in the order of Policy in _core/autocast.pxd.
POLICIES = ("not_listed", "lower_precision_fp", "fp32", "fp32_set_opt_dtype", "promote", "banned")

# By name; the numbers are those of _core/scalar.pxd.
RARE_TYPES = {"float8_e5m2": 23, "float8_e4m3fn": 24, "float8_e5m2fnuz": 25, "float8_e4m3fnuz": 26, "uint16": 27,
              "uint32": 28, "uint64": 29, "float8_e8m0fnu": 30}

_COLUMNS = {"schema", "npu", "since", "out", "inplace", "cpu", "compute", "raw", "grad", "samples", "check",
            "inplace_check", "out_check", "same", "variants", "hidden", "onto", "takes_out", "accepts", "python",
            "node", "each", "together", "uniform", "bits", "graph", "writes", "fallback", "reads", "opmath",
            "cpu_check", "older"}


class RowError(ValueError):
    """A row that cannot be built; the message names the file and the op."""


@dataclass(frozen=True)
class Output:
    shape: str = ""
    dtype: str = ""
    mask: str = ""    # "output_mask[1]": there is such a result only where that truth value holds, else None
    # The tensors whose memory format it keeps: it is channels_last where one of them is.
    memory_format: tuple = ()
    # The values decide the shape: `shape` is the largest, and the kernel gives the result the one that it has found.
    reported: bool = False


@dataclass(frozen=True)
class Row:
    family: str
    schema: Schema
    npu: str = ""                 # "aclnnAdd(self, ...)", "decomposition: fmin(self, ...)" (emit_decomposition.py),
                                  # "view", "composite", "none: reason"
    graph: str = ""               # of a random op, "decomposition: ...": what is captured in a graph, where the
                                  # operator has no form that reads its seed from a tensor
    since: str = "8.0"            # the oldest CANN release that has the operator
    fallback: str = ""            # "decomposition: ...", for dtypes that the operator is not documented for, and for
                                  # releases of CANN that lack it
    outputs: tuple = ()
    inplace: str = ""             # "" no in-place form; "kernel": the same kernel, writing to self; or a call
    cpu: str = ""
    compute: str = ""             # dtype rule that the CPU's inputs are cast to; default: the first output's
    raw: tuple = ()               # tensor arguments that the CPU expression sees in their own dtype
    opmath: tuple = ()            # numbers that keep the precision of the computation; all others are rounded to the
                                  # dtype of the elements beside them. The CPU treats 0-d tensors as numbers here
    bits: tuple = ()              # tensors whose elements the operator only moves: those of a dtype that CANN does not
                                  # document reach it as integers of the same size
    onto: str = ""                # the argument whose elements the output holds when the kernel starts, where ACLNN
                                  # has the operator in place only
    reads: tuple = ()             # tensors that a decomposition asks for their values: a number in the place of one
                                  # stays on the host
    writes: tuple = ()            # arguments that the kernel writes to, though torch's schema does not say so
    check: tuple = ()             # calls of check_* functions made before anything else
    cpu_check: tuple = ()         # the same, on the CPU alone, where it takes less than the NPU does
    inplace_check: tuple = ()     # the same, for the in-place form alone
    out_check: tuple = ()         # calls of check_* functions on an out= that was given
    grad: dict = field(default_factory=dict)
    joint: tuple = ()             # names of arguments whose derivatives come from one expression, together
    older: tuple = ()             # orders of arguments by position that torch still takes, and warns of once:
                                  # "beta, self, mat1, mat2". Of a method, `self` comes first
    node: str = ""                # the name of the autograd node, where it is not CamelCaseBackward0
    samples: str = ""
    same: str = ""                # key of the row whose function this overload calls; what it lacks takes defaults, or
    same_values: dict = field(default_factory=dict)     # the values that the column gives: 'div.Tensor_mode(x="y")'
    # Or "aten": what torch offers under torch.ops.aten only; or "own": what torch does not have, for our own code; or
    # "npu": what torch_npu has for the NPU alone, without a kernel on the CPU.
    variants: tuple = ("function", "method")
    hidden: bool = False          # torch's messages do not list this overload
    takes_out: bool = True
    accepts: dict = field(default_factory=dict)   # dtypes an operator takes beyond its documentation
    each: str = ""                # of an op on lists: the op on one tensor, 'add.Tensor(self, other, alpha)', where
                                  # elements stand for the lists. Devices without a kernel for lists run that
    each_values: tuple = ()       # (names given in order, names given by keyword -> value)
    together: tuple = ()          # calls of may_* functions, which allow the kernel for lists
    uniform: str = ""             # of an op with a number for each tensor: the row for all numbers equal
    autocast: dict = field(default_factory=dict)  # device -> policy, from autocast.toml
    rare: tuple = ()              # rare dtypes that the CPU's kernel takes, from rare_dtypes.toml
    refusal: str = ""             # what it is called where it refuses others, from there too
    python: str = ""              # "custom": the Python function is written by hand in mindtorch/_core/factories.pyx

    @property
    def key(self) -> str:
        return self.schema.key

    @property
    def slot(self) -> str:
        return self.schema.slot

    @property
    def by_hand(self) -> bool:
        return self.npu in BY_HAND

    @property
    def has_kernel(self) -> bool:
        return not (self.by_hand or self.same or self.each)

    @property
    def has_slot(self) -> bool:
        """Whether devices may have a kernel: npu = "each" says that ACLNN has none for lists."""
        return self.has_kernel or (bool(self.each) and self.npu != "each")

    @property
    def of_npu(self) -> bool:
        """Whether it is torch_npu's, and not torch's."""
        return "npu" in self.variants

    @property
    def of_lists(self) -> bool:
        """Whether it works on every tensor of its lists: _foreach_* and _fused_*."""
        return _of_lists(self.schema, self.each or self.same)

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
        """What the kernel sees of the schema. A "like" argument gives only its properties and is left out."""
        arguments = self.schema.kernel_arguments
        if self.factory and not self.by_hand:
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
            for key in filter(None, (row.same, row.each, row.uniform)):
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
                for column in (row.npu, row.graph, row.fallback):
                    if column.startswith("decomposition: "):
                        derivatives.check_functions(row.schema, {"npu": column.removeprefix("decomposition: ")},
                                                    operators | set(row.result_names))
            except derivatives.DerivativeError as error:
                raise RowError(f"{row.family}.toml: {row.key}: {error}") from None

    def _with_opmath(self, row) -> Row:
        """Rows of operators on lists with what the operator on one tensor says."""
        if not row.each:
            return row
        other = self.by_key[row.each]
        positional, named = row.each_values
        values = dict(zip((a.name for a in other.schema.arguments), positional, strict=False)) | named
        return replace(row, opmath=tuple(values[name] for name in other.opmath if name in values))

    def family(self, name) -> list:
        return [row for row in self.rows if row.family == name]

    @property
    def families(self) -> list:
        """Those with at least one generated function."""
        return [f for f in FAMILIES if any(not row.by_hand for row in self.family(f))]

    def _load(self, family, path):
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        self.aliases.update(content.get("alias", {}))
        self.inplace_functions.update(content.get("inplace_functions", ()))
        seen = {row.key for row in self.rows}
        for entry in content.get("op", ()):
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
            if row.of_lists:
                self.inplace_functions.add(f"{row.schema.name.rstrip('_')}_")


def read_autocast(path) -> dict:
    """The lists of autocast.toml turned round: op -> {device: policy}."""
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


def read_row(family, entry) -> Row:
    """One [[op]] table as a Row; RowError where columns are missing, unknown or at odds with the schema."""
    if unknown := set(entry) - _COLUMNS:
        raise RowError(f"unknown columns {sorted(unknown)}")
    entry = dict(entry)
    entry["grad"], entry["joint"] = _read_grad(entry.get("grad", {}))
    schema = parse(entry.pop("schema"))
    out = entry.pop("out", [])
    outputs = tuple(_read_output(o) for o in (out if isinstance(out, list) else [out]))
    for column in ("raw", "reads", "writes", "check", "inplace_check", "out_check", "variants", "together", "bits",
                   "opmath", "cpu_check", "older"):
        if column in entry:
            entry[column] = tuple(entry[column])
    if _of_lists(schema, entry.get("each") or entry.get("same")):
        entry |= {"variants": ("function",), "takes_out": False}
    if "variants" not in entry and (schema.inplace or not schema.argument("self")):
        entry["variants"] = ("method",) if schema.inplace else ("function",)
    if "each" in entry:
        entry["each"], entry["each_values"] = _read_each(entry["each"])
    if "same" in entry:
        entry["same"], entry["same_values"] = _read_same(entry["same"])
    row = Row(family=family, schema=schema, outputs=outputs, **entry)
    _check_row(row)
    return row


def _read_output(rules) -> Output:
    kept = rules.get("memory_format")
    return Output(**rules | {"memory_format": tuple(kept.split(", ")) if kept else ()})


def _of_lists(schema, other) -> bool:
    """Whether an op writes to lists, or stands on another op and gives a list for one."""
    return not schema.returns or (bool(other) and bool(schema.lists) and schema.returns[0][0] == "Tensor[]")


def _read_grad(grad) -> tuple:
    """Derivatives by argument, and the groups of arguments that share one: the key "input, weight" names two.

    A shared expression gives a sequence, and None for those that `grad_input_mask`, a list of bools, leaves out.
    """
    if grad == "none":
        return grad, ()
    groups = {tuple(key.split(", ")): text for key, text in grad.items()}
    single = {name: text for names, text in groups.items() for name in names}
    return single, tuple(names for names in groups if len(names) > 1)


def _read_same(text) -> tuple:
    key, _, values = text.partition("(")
    if not values:
        return key, {}
    call = ast.parse(f"f({values}", mode="eval").body
    return key, {k.arg: ast.unparse(k.value) for k in call.keywords}


def _read_each(text) -> tuple:
    """The key of the op on one tensor, and what each of its arguments is given."""
    key, _, values = text.partition("(")
    call = ast.parse(f"f({values}", mode="eval").body
    return key, ([ast.unparse(a) for a in call.args], {k.arg: ast.unparse(k.value) for k in call.keywords})


def _check_row(row):
    derivatives.check(row.schema, row.grad)
    if not row.same and not row.npu:
        raise RowError("has no npu column")
    if row.has_kernel:
        if bool(row.cpu) == row.of_npu:
            raise RowError("has a CPU reference, but is of the NPU alone" if row.cpu else "has no CPU reference")
        if not (row.samples or row.of_lists):        # tests/ops/test_foreach.py has the lists
            raise RowError("has no samples")
        if not row.grad:
            raise RowError('has no derivative: grad = "none" where there is none')
        if not row.schema.inplace and len(row.outputs) != len(row.schema.returns):
            raise RowError(f"{len(row.outputs)} output rules for {len(row.schema.returns)} results")
    for name in (*row.raw, *row.reads, *row.bits, *row.opmath, *filter(None, (row.onto,))):
        if row.schema.argument(name) is None and name not in row.result_names:
            raise RowError(f"the schema has no argument {name!r}")
