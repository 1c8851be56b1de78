"""docs/ops.md, the support table; docs/rows.md and docs/rules.md, the columns of a row and its rules; what `help` says
of devices."""
from . import emit_decomposition
from .aclnn_calls import ACL_DTYPES, COMMON_DTYPES, RARE_DTYPES, alternatives, read_call
from .rows import COLUMNS, FAMILIES, OUTPUT_COLUMNS
from .rules import CORE, RULE_MODULES, SCALAR_TYPES, RuleError, docstrings, rules

_DOC_HEAD = """# Operators

Generated from the rows in `mindtorch/_ops/rows/*.toml` by the build: edit those.

Every operator below works on `cpu` (NumPy) and, unless said otherwise, on `npu` by the call named; those of the form
"npu" are torch_npu's and have no kernel on `cpu`. "view" shares the storage and runs nothing, "composite" and
"decomposition" are written with other operators, "per_tensor" runs the operator on one tensor after the other; calls
for lists take those whose tensors are alike. `npu dtypes` are those that CANN documents for the operand; with others
the operand is cast or the call raises, as in torch_npu, or its elements are moved as integers of their size; "all"
leaves out uint16, uint32, uint64 and the floats of 8 bits, which are named. `since` is the oldest CANN release that
is known to have the call. `gradient` names the differentiable operands.
"""
_COMMON = dict(zip(ACL_DTYPES.values(), SCALAR_TYPES, strict=True))
_RARE = {RARE_DTYPES["UINT16"]: "uint16", RARE_DTYPES["UINT32"]: "uint32", RARE_DTYPES["UINT64"]: "uint64",
         RARE_DTYPES["FLOAT8_E5M2"]: "float8_e5m2", RARE_DTYPES["FLOAT8_E4M3FN"]: "float8_e4m3fn",
         RARE_DTYPES["FLOAT8_E8M0"]: "float8_e8m0fnu"}


def ops_md(table) -> str:
    parts = [_DOC_HEAD]
    for family in FAMILIES:
        rows = table.family(family)
        if not rows:
            continue
        parts.append(f"\n## {family}\n\n| schema | forms | npu | npu dtypes | since | gradient |\n"
                     "|---|---|---|---|---|---|\n")
        parts += [_line(row) for row in rows]
    if table.aliases:
        parts.append("\n## Other names\n\n| name | is |\n|---|---|\n")
        parts += [f"| `{alias}` | `{name}` |\n" for alias, name in sorted(table.aliases.items())]
    return "".join(parts)


def _line(row) -> str:
    since = _main_call(row).operator.since if _npu(row).startswith("`") else ""
    cells = (f"`{row.schema.text}`", _forms(row), _npu(row), _npu_dtypes(row), since, _derivative(row))
    line = f"| {' | '.join(cells)} |\n"
    while "|  |" in line:
        line = line.replace("|  |", "| |")
    return line


def _main_call(row):
    return read_call(row, alternatives(row, row.npu)[0][1])


def _npu_dtypes(row) -> str:
    """The documented dtypes of the first tensor that the call reads; nothing where CANN documents none."""
    if row.alias_of or not row.npu.startswith("aclnn"):
        return ""
    call = _main_call(row)
    kinds = ("aclTensor", "aclTensorList")
    mask = next((value.mask for value in call.values if value.parameter.kind in kinds and value.mask), 0)
    complete = mask & COMMON_DTYPES == COMMON_DTYPES
    names = ["all"] if complete else [name for bit, name in _COMMON.items() if mask >> bit & 1]
    names += [name for bit, name in _RARE.items() if mask >> bit & 1]
    if complete:
        return ", ".join(names)
    return ", ".join(names + (["others by a decomposition"] if row.fallback else []))


def _forms(row) -> str:
    forms = list(row.variants) + (["in-place"] if row.inplace else [])
    if row.takes_out and not row.schema.inplace and not row.handwritten:
        forms.append("out=")
    return ", ".join(forms)


def _npu(row) -> str:
    if row.alias_of:
        return f"as {row.alias_of}"
    if emit_decomposition.is_decomposition(row.npu):
        return "decomposition"
    return f"`{row.npu.split('(')[0]}`" if row.npu.startswith("aclnn") else row.npu


def _derivative(row) -> str:
    if row.alias_of or (row.handwritten and not row.grad):
        return ""
    if row.foreach_of:
        return f"as {row.foreach_of}"
    if row.grad == "none" or not row.grad:
        return "none"
    return ", ".join(name for name, text in row.grad.items() if text != "none") or "none"


# What `help` says of the first result's shape, by the rule of the row, from the rule's arguments.
_SHAPES = {"same_shape": "{0}", "like": "{0}", "broadcast": "{0} and {1}, broadcast",
           "broadcast3": "{0}, {1} and {2}, broadcast", "elementwise_loss": "{0} and {1}, broadcast, unless reduced",
           "reduce_dims": "{0} without the dimensions reduced", "reduce_dim": "{0} without the dimension reduced",
           "resize_last_dims": "{0}, with {1} in place of the last sizes"}


def _shape(row) -> str:
    rule, _, arguments = (row.outputs[0].shape if row.outputs else "").rstrip(")").partition("(")
    return _SHAPES.get(rule, "").format(*arguments.split(", "))


def support_py(table) -> str:
    """The support table's lines of operators that are functions or methods, with the shape of the result."""
    lines = "".join(f"    {row.key!r}: {(_npu(row).strip('`'), _npu_dtypes(row), _derivative(row), _shape(row))!r},\n"
                    for row in table.rows if row.variants)
    return ('"""By operator: its kernel on npu, the dtypes that CANN documents for it, the operands that have\n'
            'gradients, the shape of its result."""\n\n'
            f"SUPPORT = {{\n{lines}}}\n")


def rows_md() -> str:
    """The columns of a row and of its results."""
    tables = ["".join(f"| `{name}` | {text} |\n" for name, text in columns.items())
              for columns in (COLUMNS, OUTPUT_COLUMNS)]
    head = "| column | says |\n|---|---|\n"
    return ("# The columns of an op row\n\nGenerated from `mindtorch/_ops/codegen/rows.py`: edit that. An unknown "
            f"column is an error of the build.\n\n{head}{tables[0]}\nOf each result, in `out`:\n\n{head}{tables[1]}\n"
            "Above its rows, a file may say\n\n"
            '- `inplace_functions = ["selu_"]`: in-place forms that are functions of the namespace, too,\n'
            '- `[alias]` with lines such as `less = "lt"`: other names of an operator.\n')


_RULES_HEAD = """# The rules of op rows

Generated from the docstrings in `mindtorch/_core/rules/` and `mindtorch/_core/operators/operator.pyx`: edit those.

A row names a rule in its columns for shapes, dtypes and checks ([rows.md](rows.md)). A shape rule gives the shape of a
result, or its strides. A dtype rule gives its dtype. A condition gives a bool or a number to another rule, or to the
column `fused_if`. A check raises torch's error or does nothing: those named `check_kernel_` raise NotImplementedError,
most others RuntimeError. Shapes are written as tuples; `*batch` stands for any number of sizes.
"""
_SHOWN_ROWS = 6


def rules_md(used) -> str:
    """Every rule that a row uses, by the file that has it; `used` has the keys of the rows."""
    parts, left = [_RULES_HEAD], set(used)
    for module in RULE_MODULES:
        for path, texts in docstrings(module).items():
            lines = [_rule_line(name, text, used[name]) for name, text in texts.items() if name in left]
            left -= texts.keys()
            if lines:
                parts.append(f"\n## `{path.relative_to(CORE.parent).as_posix()}`\n\n| rule | for | says | rows |\n"
                             f"|---|---|---|---|\n{''.join(lines)}")
    if left:
        raise RuleError(f"rules without a docstring: {', '.join(sorted(left))}")
    return "".join(parts)


def _rule_line(name, text, keys) -> str:
    rule, operators = rules()[name], sorted({key.partition(".")[0] for key in keys})
    kind = ("check" if name.startswith("check_") else "shape" if rule.is_shape_rule
            else "dtype" if rule.returns == "ScalarType" else "condition")
    shown = ", ".join(f"`{operator}`" for operator in operators[:_SHOWN_ROWS])
    more = f", {len(operators) - _SHOWN_ROWS} more" if len(operators) > _SHOWN_ROWS else ""
    return f"| `{name}` | {kind} | {' '.join(text.split())} | {shown}{more} |\n"
