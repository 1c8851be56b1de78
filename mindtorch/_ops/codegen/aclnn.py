"""The facts about ACLNN operators (aclnn_ops.jsonl): prototypes, roles, documented dtypes, ranks and contiguity.

The table is read at build time only. Of it are made the declarations in include/aclnnop, the check of every op row
against its call, and the simulator's parameter checks.
"""
import functools
import json
import re
from dataclasses import dataclass
from pathlib import Path

TABLE = Path(__file__).parents[1] / "aclnn_ops.jsonl"
MAX_RANK = 8

# Vendor headers hold an operator with its scalar and in-place forms; these are not told by the name's own rule.
_HEADERS = {
    "PowTensorScalar": "pow", "PowScalarTensor": "pow", "PowTensorTensor": "pow_tensor_tensor",
    "SWhere": "s_where", "EqScalar": "eq_scalar", "EqTensor": "eq_tensor", "MaxDim": "max_dim", "MinDim": "min_dim",
    "RReluWithNoise": "rrelu_with_noise", "Rsubs": "rsub",
    "Lerps": "lerp", "Divs": "div", "DivMods": "div", "DivMod": "div",
}
_SCALAR_FORMS = {"Adds", "Subs", "Muls", "Divs", "Lerps", "Rsubs"}


@dataclass(frozen=True)
class Parameter:
    name: str
    type: str            # C type as declared: "const aclTensor *", "int64_t", ...
    role: str            # "in", "out" or "inout"
    dtypes: frozenset    # documented names without the ACL_ prefix; empty where CANN documents none
    ranks: tuple         # (least, most) number of dimensions
    noncontiguous_ok: bool

    @property
    def kind(self) -> str:
        """The argument kind: the bare C type, const and pointer taken off."""
        return self.type.replace("const", "").replace("*", "").strip()

    @property
    def declaration(self) -> str:
        return f"{self.type}{'' if self.type.endswith('*') else ' '}{self.name}"


@dataclass(frozen=True)
class Operator:
    name: str
    parameters: tuple
    since: str           # the first release of CANN known to have it; "" where none is

    @property
    def header(self) -> str:
        stem = self.name.removeprefix("aclnn").removeprefix("Inplace")
        if stem in _SCALAR_FORMS:
            stem = stem[:-1]
        snake = _HEADERS.get(stem) or re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", stem).lower()
        return f"aclnn_{snake}.h"


def _ranks(text) -> tuple:
    """'0-8' -> (0, 8), '<=8D' -> (0, 8), '1~6' -> (1, 6), '2' -> (2, 2); what is no plain range allows every rank."""
    text = (text or "").strip().removesuffix("D")
    if match := re.fullmatch(r"(\d)\s*[-~]\s*(\d)", text):
        return int(match[1]), int(match[2])
    if match := re.fullmatch(r"<=\s*(\d)", text):
        return 0, int(match[1])
    if re.fullmatch(r"[1-7]", text):
        return int(text), int(text)
    return 0, MAX_RANK


@functools.cache
def operators() -> dict:
    """Every known ACLNN operator by name."""
    table = {}
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        table[row["name"]] = Operator(row["name"], tuple(
            Parameter(p["name"], p["type"], "out" if p["role"].startswith("out") else p["role"],
                      frozenset(p.get("dtypes", ())), _ranks(p.get("rank")), p.get("noncontiguous_ok", False))
            for p in row["params"]), row.get("seen_since", ""))
    return table
