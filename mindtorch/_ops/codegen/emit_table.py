"""mindtorch/_core/_gen/rows.py: what mindtorch/_core/operators/operator.pyx has to know of each operator, as data.

Only columns that say something are there. Rules are encoded as emit_rules.py says.
"""
import pprint

from . import emit_grad
from .emit_grad import NOTE
from .emit_rules import Encoder
from .rows import FOLDER, POLICIES, RowError
from .rules import RuleError


def entries(table) -> tuple:
    """key -> columns of every row that can run; and by the name of each rule the keys of the rows that use it."""
    used, found = {}, {}
    for row in table.rows:
        if row.alias_of or (row.handwritten and not row.foreach_of):
            continue
        try:
            found[row.key] = _entry(row, table, used)
        except RuleError as error:
            raise RowError(f"{row.family}.toml: {row.key}: {error}") from None
    return found, used


def module(found) -> str:
    lines = "".join(f'    "{key}": {pprint.pformat(entry, width=110, compact=True, sort_dicts=False)},\n'
                    .replace("\n     ", "\n        ") for key, entry in found.items())
    return NOTE.format(source="*.toml") + f'"""Operators by the names of their schemas."""\n\nROWS = {{\n{lines}}}\n'


def _entry(row, table, used) -> dict:
    encoder = Encoder(row, used)
    places = encoder.places
    entry = {"arguments": ", ".join(f"{a.type} {a.name}" for a in row.kernel_arguments),
             "results": len(row.result_names)}
    if row.schema.inplace:
        entry["inplace_only"] = True
    if row.is_foreach:
        entry |= _foreach_entry(row, table, encoder)
    elif not row.factory:
        entry["outputs"] = [_output(out, encoder, row.no_cast) for out in row.outputs]
        if row.inplace and (rule := _inplace_dtype(row)) != row.outputs[0].dtype:
            entry["inplace_dtype"] = encoder.dtype(rule)
        if row.compute_dtype:
            entry["compute_dtype"] = encoder.dtype(row.compute_dtype)
        if row.inout:
            entry["inout"] = places[row.inout]
    # What a kernel refuses is refused last, as in torch.
    last = [] if row.is_foreach else [call for call in row.check if call.startswith("check_kernel_")]
    columns = {"check": [call for call in row.check if call not in last], "kernel_check": last}
    for column in ("inplace_check", "out_check", "cpu_check"):
        columns[column] = getattr(row, column)
    for column, calls in columns.items():
        if calls:
            entry[column] = [encoder.check(call) for call in calls]
    if row.autocast:
        policies = [row.autocast.get(device) or "not_listed" for device in ("cpu", "npu")]
        entry["autocast"] = tuple(POLICIES.index(policy) for policy in policies)
    if emit_grad.recorded(row):
        entry["differentiable"] = [places[a.name] for a in emit_grad.differentiable(row)]
        if row.outputs and all(out.dtype == "bool" for out in row.outputs):     # in place, self may be a float
            entry["records_inplace_only"] = True
        if emit_grad.saves_self(row):
            entry["saves_self"] = True
    return entry


def _inplace_dtype(row) -> str:
    """The dtype rule of the in-place form: in "... or out or ..." `self` takes the place of `out` and of the rest."""
    before, found, _ = row.outputs[0].dtype.partition(" or out ")
    return f"{before} or self" if found else row.outputs[0].dtype


def _output(out, encoder, no_cast) -> dict:
    entry = {"shape": encoder.shape(out.shape), "dtype": encoder.dtype(out.dtype)}
    if operands := encoder.operands(out.shape):
        entry["elementwise"] = operands
        if kept := sum(1 << operands.index(encoder.places[name]) for name in no_cast
                       if encoder.places[name] in operands):
            entry["no_cast"] = kept
    if out.memory_format:
        entry["memory_format"] = [encoder.places[name] for name in out.memory_format]
    if out.strides:
        entry["strides"] = [encoder.places[name] for name in out.strides if name != "contiguous"]
    if out.strides_rule:
        entry["strides_rule"] = encoder.shape(out.strides_rule)
    if out.mask:
        name, _, index = out.mask.partition("[")
        entry["mask"] = (encoder.places[name], int(index.rstrip("]") or -1))
    if out.dynamic_shape:
        entry["dynamic_shape"] = True
    return entry


def _foreach_entry(row, table, encoder) -> dict:
    entry = {"is_foreach": True, "kernel": row.may_have_kernel}
    if row.foreach_of:
        target = table.by_key[row.foreach_of]
        positional, named = row.foreach_values
        names = [a.name for a in target.kernel_arguments]
        if len(positional) > len(names) or set(named) - set(names):
            raise RowError(f"{row.family}.toml: {row.key}: {row.foreach_of} takes ({', '.join(names)})")
        values = dict(zip(names, positional, strict=False)) | named
        entry["single"] = row.foreach_of
        entry["single_arguments"] = [_single_argument(row, values.get(a.name), a) for a in target.kernel_arguments]
        entry["single_is_method"], entry["single_has_inplace"] = target.handwritten, bool(target.inplace)
    else:
        entry["written_lists"] = [index for index, a in enumerate(row.kernel_arguments)
                                  if a.type == "Tensor[]" and a.written]
    if row.scalar_variant:
        entry["scalar_variant"] = row.scalar_variant
    if row.fused_if:
        entry["fused_if"] = [encoder.check(call) for call in row.fused_if]
    return entry


def _single_argument(row, name, argument):
    """Where an argument of the operator on one tensor comes from: "l0" is an element of list 0, "n1" one of the numbers
    in argument 1, "a2" argument 2, "d1" the default 1 and "d" the default None."""
    if name is None:
        return "d" + {"1": "1", "False": "0", "None": "", None: ""}[argument.default]
    given = row.schema.argument(name)
    if given is None:
        return "d" + {"1": "1", "False": "0", "None": ""}[name]
    index = [a.name for a in row.kernel_arguments].index(name)
    return {"Tensor[]": f"l{index}", "Scalar[]": f"n{index}"}.get(given.type, f"a{index}")


# --- tables beside the rows -------------------------------------------------------------------------------------------

def policies(table) -> str:
    """mindtorch/_core/_gen/autocast_policies.py: operators that no row runs -> (cpu, npu), by the codes of Policy."""
    lines = []
    for name, devices in sorted(table.autocast.items()):
        if name not in table.by_key or table.by_key[name].handwritten:
            codes = [POLICIES.index(devices.get(device, "not_listed")) for device in ("cpu", "npu")]
            lines.append(f'    "{name}": ({codes[0]}, {codes[1]}),\n')
    return NOTE.format(source="autocast.toml") + f"POLICIES = {{\n{''.join(lines)}}}\n"


def schemas(table) -> str:
    """mindtorch/_core/_gen/schemas.py: what torch.ops offers of mindtorch's own, by namespace.

    These are the schemas of the rows, of their in-place forms, and those of aten.txt, whose operators have no row.
    """
    aten, npu = [], []
    for row in table.rows:
        if "own" in row.variants or row.schema.name in _PRIVATE:
            continue
        forms = [row.schema.text]
        if row.inplace:
            forms.append(_inplace_schema(row.schema.text, row.schema.name))
        (npu if row.is_torch_npu else aten).extend(forms)
    known = {_key(text) for text in aten}
    others = [line for line in (FOLDER.parent / "aten.txt").read_text(encoding="utf-8").splitlines()
              if line and not line.startswith("#") and _key(line) not in known]
    return (NOTE.format(source="*.toml and aten.txt") +
            '"""Schemas by namespace, one a line."""\n\nSCHEMAS = {\n' +
            "".join(f'    "{name}": r"""\n{chr(10).join(lines)}\n""",\n'
                    for name, lines in (("aten", aten + others), ("npu", npu))) + "}\n")


# Rows that torch has under other names, or not at all.
_PRIVATE = {"_rms_norm_backward", "l1_loss_backward", "kl_div_backward", "binary_cross_entropy_with_logits_backward",
            "_dropout_mask", "_amp_non_finite_check_and_unscale_", "_slice", "_basic_index"}
# In-place forms whose overloads torch names unlike those of the functions.
_OVERLOADS = {"floor_divide_": "floor_divide_.Tensor", "ldexp_.Tensor": "ldexp_", "pow_.Tensor_Tensor": "pow_.Tensor",
              "pow_.Tensor_Scalar": "pow_.Scalar"}


def _key(text) -> str:
    return text.partition("(")[0]


def _inplace_schema(text, name) -> str:
    """The schema of the in-place form: neg(Tensor self) -> Tensor as neg_(Tensor(a!) self) -> Tensor(a!)."""
    head, _, rest = text.partition("(")
    lists = rest.startswith("Tensor[]")
    written = rest.replace("Tensor", "Tensor(a!)", 1).rpartition(" -> ")[0]
    key = f"{name}_{head[len(name):]}"
    return f"{_OVERLOADS.get(key, key)}({written} -> {'()' if lists else 'Tensor(a!)'}"
