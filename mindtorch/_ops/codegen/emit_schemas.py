"""mindtorch/_core/_gen/schemas.py: what torch.ops offers of mindtorch's own, by namespace, as schemas."""
from .emit_grad import NOTE
from .rows import FOLDER


def module(table) -> str:
    """The schemas of the rows, of their in-place forms, and those of aten.txt, whose operators have no row."""
    aten, npu = [], []
    for row in table.rows:
        if "own" in row.variants or row.schema.name in _PRIVATE:
            continue
        forms = [row.schema.text]
        if row.inplace:
            forms.append(_inplace(row.schema.text, row.schema.name))
        (npu if row.of_npu else aten).extend(forms)
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
_OVERLOADS = {"floor_divide_": "floor_divide_.Tensor", "pow_.Tensor_Tensor": "pow_.Tensor",
              "pow_.Tensor_Scalar": "pow_.Scalar"}


def _key(text) -> str:
    return text.partition("(")[0]


def _inplace(text, name) -> str:
    """The schema of the in-place form: neg(Tensor self) -> Tensor as neg_(Tensor(a!) self) -> Tensor(a!)."""
    head, _, rest = text.partition("(")
    lists = rest.startswith("Tensor[]")
    written = rest.replace("Tensor", "Tensor(a!)", 1).rpartition(" -> ")[0]
    key = f"{name}_{head[len(name):]}"
    return f"{_OVERLOADS.get(key, key)}({written} -> {'()' if lists else 'Tensor(a!)'}"
