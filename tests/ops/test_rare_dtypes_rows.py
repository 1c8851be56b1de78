"""Every row in the rare dtypes: on the CPU it refuses what torch refuses, in torch's words, and computes the rest."""
import dataclasses

import pytest
import torch
from samples import SAMPLES, Description, Make
from test_ops import TABLE, _is_empty, forms, outcome, to_torch

import mindtorch

# Beside which dtype's samples are made: those of uint8 have no negative numbers.
LIKE = {"uint16": "uint8", "uint64": "uint8", "float8_e4m3fn": "float32", "float8_e8m0fnu": "float32"}
ROWS = {row.key: row for row in TABLE.rows
        if row.has_kernel and row.cpu and row.samples in SAMPLES and not row.is_foreach
        and {"own", "npu"}.isdisjoint(row.variants)}


# What torch has for some arguments alone: exponents 0 and 1, sums over several dimensions, sums of products.
SHORTCUTS = ("pow.Tensor_Scalar", "pow.Scalar", "unfold_backward", "sum.dim_IntList", "addbmm")
# What torch refuses for some alone: one dimension, results that nobody wants.
BEYOND = ("index_select", "flip", "trace", "repeat_interleave.self_Tensor", "native_group_norm_backward", "matmul")



def renamed(value, old, new):
    """Arguments in which one dtype stands for another."""
    if isinstance(value, Description):
        return dataclasses.replace(value, dtype=new) if value.dtype == old else value
    if isinstance(value, (list, tuple)):
        return type(value)(renamed(v, old, new) for v in value)
    if isinstance(value, dict):
        return {k: new if v == old and k.endswith("dtype") else renamed(v, old, new) for k, v in value.items()}
    return value


def calls(row, dtype):
    samples = list(SAMPLES[row.samples](Make(LIKE[dtype], seed=row.key)))
    for args, kwargs in samples[:4]:
        for form, call in list(forms(row))[:1]:
            yield form, call, renamed(args, LIKE[dtype], dtype), renamed(kwargs, LIKE[dtype], dtype)


def _most_elements(result):
    return max(one.numel() for one in (result if isinstance(result, tuple) else (result,)) if one is not None)


@pytest.mark.parametrize("key", ROWS)
def test_cpu(key):
    for form, call, args, kwargs in (one for dtype in LIKE for one in calls(ROWS[key], dtype)):
        theirs = outcome(call, torch, "cpu", "contiguous", args, kwargs)
        ours = outcome(call, mindtorch, "cpu", "contiguous", args, kwargs)
        where = f"{key} {form} {args} {kwargs}: torch {theirs!r}, here {ours!r}"
        if isinstance(theirs, Exception):
            assert isinstance(ours, Exception) or key in BEYOND or _is_empty(ours), where
            continue
        if isinstance(ours, NotImplementedError) and (key in SHORTCUTS or _most_elements(theirs) <= 1):
            continue
        assert not isinstance(ours, Exception), where
        for one, other in zip(*(r if isinstance(r, tuple) else (r,) for r in (ours, theirs)), strict=True):
            assert str(one.dtype) == str(other.dtype), where
            if key in ("eq.Scalar", "ne.Scalar"):
                continue
            torch.testing.assert_close(to_torch(one).double(), other.double(), rtol=1e-5, atol=1e-6, equal_nan=True)
