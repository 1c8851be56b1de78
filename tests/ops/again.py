"""Rows that stand on formulas, called again and again: from the third call on launches are those of plans.

test_again.py runs this in a process of its own, which uses one stream: what has tables of numbers is launched again
only there.
"""
import os

os.environ["MINDTORCH_NPU"] = "sim"

import pytest
import torch
from samples import SAMPLES, Make
from test_ops import ROWS, beyond, check, forms, outcome

import mindtorch
from mindtorch import sim
from mindtorch._ops.generator import emit_formula

CALLS = 6           # of each kind; parts behind what is read from the device are recorded later than the rest
FORMULAS = [key for key, row in ROWS.items() if row.has_slot and (emit_formula.is_formula(row) or row.otherwise)]
DTYPES = ("float16", "float32", "float64", "int64", "complex64")


def launches(counts):
    """How often operators were launched, and for how many of these phase 1 was asked."""
    operators = [name for name in counts if name.startswith("aclnn") and not name.endswith("GetWorkspaceSize")]
    return sum(counts[name] for name in operators), sum(counts[f"{name}GetWorkspaceSize"] for name in operators)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("key", FORMULAS)
def test_row(key, dtype):
    """Other elements in each call: the results are those of these."""
    row = ROWS[key]
    launched = prepared = 0
    taken = True
    samples = [SAMPLES[row.samples](Make(dtype, seed=f"{key} {turn}")) for turn in range(CALLS)]
    for number, turns in enumerate(zip(*samples, strict=True)):
        for form, call in forms(row):
            with sim.counting() as counts:
                for turn, (args, kwargs) in enumerate(turns):
                    theirs = outcome(call, torch, "cpu", "contiguous", args, kwargs)
                    if beyond(row, "npu", theirs):
                        continue
                    ours = outcome(call, mindtorch, "npu", "contiguous", args, kwargs)
                    taken = taken and not isinstance(ours, Exception)
                    check(ours, theirs, f"{key} sample {number}, call {turn}, {form}, {args} {kwargs}", True, dtype)
            launched, prepared = launched + launches(counts)[0], prepared + launches(counts)[1]
    if launched and taken and emit_formula.is_formula(row):
        assert prepared < launched, f"{launched} launches of {key}, {prepared} of them after phase 1"
