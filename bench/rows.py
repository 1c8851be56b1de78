"""`python -m bench.rows`: host cost of every row of the op table with null kernels, as ratios to a + b; slowest first.

The clock is the CPU time of the calling thread, so neither the stream's thread nor the rest of the machine counts.
Rounds go through the whole table, and a + b is timed before each row: ratios are of the same moment. Words on the
command line pick the rows whose name contains one of them.
"""
import argparse
import gc
import os
import statistics
import sys
import time
from dataclasses import dataclass, field

os.environ.update(MINDTORCH_NPU="sim", MINDTORCH_SIM_KERNELS="null")

import mindtorch as torch
from bench.row_samples import UNMEASURED, Statements
from bench.rungs import python_loop
from mindtorch import sim
from mindtorch._core._gen.namespace import ATEN
from mindtorch._ops.generator.rows import Row, Table

COUNT = 200             # calls in one timed loop: stays below the depth of a stream's queue
ROUNDS = 15
LIMIT, VIEW_LIMIT = 4, 1


@dataclass
class Case:
    """A row with the loop that calls it, and what was measured."""
    row: Row
    loop: object
    calls: dict                                     # operators of ACLNN -> how often one call launches them
    times: list = field(default_factory=list)       # nanoseconds a call, one a round
    ratios: list = field(default_factory=list)      # to a + b

    @property
    def ratio(self):
        return statistics.median(self.ratios)

    @property
    def launches(self):
        return sum(self.calls.values())

    @property
    def kind(self):
        return self.row.npu if self.row.by_hand else "kernel"


def find(row, statements):
    """The row's first statement that the NPU takes, as a Case, or None."""
    for statement, names in statements.of(row):
        loop = python_loop(statement, **names)
        try:
            loop(1)
        except Exception:       # noqa: BLE001 - samples say what an operator refuses, too
            continue
        torch.npu.synchronize()
        with sim.counting() as counts:
            loop(1)
        torch.npu.synchronize()
        calls = {name: n for name, n in counts.items() if n and f"{name}GetWorkspaceSize" in counts}
        return Case(row, loop, calls)
    return None


def reason(row, table):
    """Why a row has no figure, or "" where it should have one."""
    target = table.by_key.get(row.same, row)
    return "no kernel on the NPU" if target.npu.startswith("none") else UNMEASURED.get(row.key, "")


def nanoseconds(loop):
    """One round of a loop; the stream is empty before it and after it."""
    start = time.thread_time_ns()
    loop(COUNT)
    end = time.thread_time_ns()
    torch.npu.synchronize()
    return (end - start) / COUNT


def measure(cases, base, rounds):
    """Fills in the cases' figures; returns the nanoseconds of `base`."""
    own = []
    gc.collect()
    gc.disable()
    for _ in range(rounds):
        for case in cases:
            own.append(nanoseconds(base))
            case.times.append(nanoseconds(case.loop))
            case.ratios.append(case.times[-1] / own[-1])
    gc.enable()
    return statistics.median(own)


def print_cases(title, cases):
    print(f"\n{title}")
    print(f"{'row':40}{'ns':>7}{'/ a+b':>8}{'launches':>10}{'/ launch':>10}")
    for case in sorted(cases, key=lambda case: -case.ratio):
        several = f"{case.ratio / case.launches:10.2f}  {', '.join(case.calls)}" if case.launches > 1 else ""
        print(f"{case.row.key:40}{statistics.median(case.times):7.0f}{case.ratio:8.2f}{case.launches:10}{several}")


def above(cases, limit):
    names = [f"{case.row.key} {case.ratio:.2f}" for case in cases if case.ratio > limit]
    return f"{len(names)} above {limit} x" + (f" ({', '.join(names)})" if names else "")


def main(arguments):
    parser = argparse.ArgumentParser(prog="python -m bench.rows", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("words", nargs="*")
    options = parser.parse_args(arguments)
    table, statements = Table(), Statements(torch, ATEN)
    rows = [row for row in table.rows if not options.words or any(word in row.key for word in options.words)]
    found = {row.key: find(row, statements) for row in rows}
    cases = [case for case in found.values() if case]
    base = measure(cases, python_loop("v + v", **statements.operands), options.rounds)

    by_kind = {kind: [case for case in cases if case.kind == kind] for kind in ("kernel", "composite", "view")}
    print(f"{torch.npu.get_device_name()}, kernels left out; a + b of four float32: {base:.0f} ns")
    print_cases("Rows with a kernel; beside the ratio of several launches, that of each", by_kind["kernel"])
    print_cases("Composites, which cost what they call", by_kind["composite"])
    print_cases("Views, which launch nothing", by_kind["view"])
    without = {}
    for row in (row for row in rows if found[row.key] is None):
        without.setdefault(reason(row, table), []).append(row.key)
    print(f"\n{len(cases)} of {len(rows)} rows measured; {len(by_kind['kernel'] + by_kind['composite'])} that launch: "
          f"{above(by_kind['kernel'] + by_kind['composite'], LIMIT)}; {len(by_kind['view'])} views: "
          f"{above(by_kind['view'], VIEW_LIMIT)}")
    for why, keys in without.items():
        print(f"not measured, {why or 'WITHOUT A REASON: bench/row_samples.py lacks a call'}: {', '.join(keys)}")
    return 1 if "" in without else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
