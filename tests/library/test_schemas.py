"""Schemas as text and as data, beside torch's; those that torch.ops.aten has are torch's own."""
import pytest
import torch

import mindtorch
from mindtorch._core._gen.schemas import SCHEMAS
from mindtorch._library.schema import parse_schema

TEXTS = [
    "f(Tensor x, Tensor(a!) y, Tensor?[] z, int[2]? i=None, float f=1e-5) -> Tensor",
    "ns::f.ov(Tensor(a) x, *, Tensor(b!)[] out) -> (Tensor(a) first, Tensor[])",
    "f(int[2] p=0, SymInt[2] s=1, int[] l=[1, 2], bool b=True, str s2='a\"b', ScalarType d=long, Scalar c=2.5) -> ()",
    "f(Generator? g=None, Device? d=None, Layout? l=None, MemoryFormat? m=None, float n=-1.5) -> int",
    "f(Tensor(a -> *) x, Tensor(b!) y) -> Tensor(a)[]",
    "f(Tensor x", "f(Tensr x) -> Tensor", "1f(Tensor x) -> Tensor", "", "f(Tensor x=3) -> Tensor", "f(Tensor x)",
    "f(int x=abc) -> Tensor", "f(Tensor x) -> ", "f(Tensor x) -> Tensor y z",
]


def described(lib, text):
    schema = lib._C.parse_schema(text)
    return str(schema), schema.name, schema.overload_name, schema.is_mutable, [
        (a.name, str(a.type), a.N, a.default_value, a.has_default_value(), a.kwarg_only, a.is_out, a.is_write)
        for a in (*schema.arguments, *schema.returns)]


@pytest.mark.parametrize("text", TEXTS)
def test_schemas_are_read_and_printed_as_torch_does(text):
    outcomes = []
    for lib in (torch, mindtorch):
        try:
            outcomes.append(described(lib, text))
        except RuntimeError as error:
            outcomes.append(str(error).split(":\n")[0].split("\n\n")[0].strip())
    assert outcomes[1] == outcomes[0]


@pytest.mark.quick
def test_the_schemas_of_aten_are_torchs():
    known = {(s.name, s.overload_name): s for s in torch._C._jit_get_all_schemas()}
    wrong = []
    for line in filter(None, SCHEMAS["aten"].split("\n")):
        schema = parse_schema(f"aten::{line}")
        theirs = known.get((schema.name, schema.overload_name))
        # A tensor named alike or not, and dtypes by name or number, are the same to callers by position.
        if theirs is None or shape_of(parse_schema(str(theirs))) != shape_of(schema):
            wrong.append(line)
    assert not wrong


def shape_of(schema):
    return [(a.name if a.default or a.kwarg_only else "", str(a.type), a.kwarg_only, a.default_value, a.is_write)
            for a in schema.arguments], [str(r.type) for r in schema.returns]
