"""`python -m bench.rows`: host cost of every row of the op table with null kernels, as ratios to a + b; slowest first.

Rows that read a value from the device would take what null kernels leave in memory for it: they are measured after the
others, with real kernels and an a + b that has them as well. Rows that only wait, for the size of a result, are not
among them: a null kernel reports the largest one. The clock is the CPU time of the calling thread, so that
neither the stream's thread nor the rest of the machine counts. Rounds go through the whole table, and a + b is timed
before each row: ratios are of the same moment. Words on the command line pick the rows whose name contains one of them.
"""
import argparse
import contextlib
import gc
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field

os.environ["MINDTORCH_NPU"] = "sim"
os.environ.setdefault("MINDTORCH_SIM_KERNELS", "null")

import mindtorch as torch
from bench.row_samples import READING, Statements
from bench.rungs import python_loop
from mindtorch import sim
from mindtorch._core._gen.namespace import ATEN, NPU
from mindtorch._ops.generator.rows import Row, Table

REAL = os.environ["MINDTORCH_SIM_KERNELS"] != "null"        # the process for the rows that read
COUNT = 200             # launches in one timed loop: stays below the depth of a stream's queue
ROUNDS = 15
MANY = 6                # operators whose names are not printed any more
LIMIT, VIEW_LIMIT = 4, 1
READS = "it reads from the device, where null kernels leave unknown values"
TITLES = {
    "kernel": "Rows with a kernel; beside the ratio of several launches, that of each",
    "composite": "What stands on other operators, and counts by the launch",
    "view": "Views, which launch nothing",
}


@dataclass
class Case:
    """A row with the loop that calls it, and what was measured."""
    row: Row
    kind: str                                       # "kernel", "composite" or "view"
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
    def of_launch(self):
        """The share of each launch in the ratio."""
        return self.ratio / max(self.launches, 1)

    @property
    def count(self):
        """Calls in one timed loop, whose launches stay below the depth of a stream's queue."""
        return max(COUNT // max(self.launches, 1), 1)


def kind_of(row, table):
    target = table.by_key.get(row.same, row)
    if target.npu in ("composite", "each") or target.npu.startswith("formula"):
        return "composite"
    return target.npu if target.npu == "view" else "none" if target.npu.startswith("none") else "kernel"


def find(row, kind, statements):
    """The row's first statement that the NPU takes, as a Case; or why there is none, "" where there should be one."""
    if row.key in READING and not REAL:
        return READS
    for statement, names in statements.of(row):
        loop, taken = python_loop(statement, **names), False
        with sim.counting() as counts, contextlib.suppress(Exception):      # samples say what an operator refuses, too
            loop(1)
            taken = True
        if counts["aclrtSynchronizeStream"] and not REAL and not any(out.reported for out in row.outputs):
            return READS
        torch.npu.synchronize()
        if taken:
            calls = {name: n for name, n in counts.items() if n and f"{name}GetWorkspaceSize" in counts}
            return Case(row, kind, loop, calls)
    return "no kernel on the NPU" if kind == "none" else ""


def nanoseconds(loop, count):
    """One round of a loop; the stream is empty before it and after it."""
    start = time.thread_time_ns()
    loop(count)
    end = time.thread_time_ns()
    torch.npu.synchronize()
    return (end - start) / count


def measure(cases, base, rounds):
    """Fills in the cases' figures; returns the nanoseconds of `base`."""
    gc.collect()
    gc.disable()
    own = [nanoseconds(base, COUNT)]
    for _ in range(rounds):
        for case in cases:
            own.append(nanoseconds(base, COUNT))
            case.times.append(nanoseconds(case.loop, case.count))
            case.ratios.append(case.times[-1] / own[-1])
    gc.enable()
    return statistics.median(own)


def print_cases(title, cases):
    print(f"\n{title}")
    print(f"{'row':40}{'ns':>7}{'/ a+b':>8}{'launches':>10}{'/ launch':>10}")
    for case in sorted(cases, key=lambda case: -case.ratio):
        called = ", ".join(case.calls) if len(case.calls) < MANY else f"{len(case.calls)} operators"
        several = f"{case.of_launch:10.2f}  {called}" if case.launches > 1 else ""
        print(f"{case.row.key:40}{statistics.median(case.times):7.0f}{case.ratio:8.2f}{case.launches:10}{several}")


def above(limit, ratios):
    names = [f"{key} {ratio:.2f}" for key, ratio in ratios.items() if ratio > limit]
    return f"{len(names)} above {limit} x" + (f" ({', '.join(names)})" if names else "")


def print_summary(by_kind, rows):
    kernels = {case.row.key: case.ratio for case in by_kind["kernel"]}
    launches = {case.row.key: case.of_launch for case in by_kind["kernel"] + by_kind["composite"]}
    views = {case.row.key: case.ratio for case in by_kind["view"]}
    print(f"\n{len(launches) + len(views)} of {rows} rows measured with {'real' if REAL else 'null'} kernels")
    print(f"each launch of {len(launches)} rows: {above(LIMIT, launches)}")
    print(f"whole calls of {len(kernels)} rows with a kernel: {above(LIMIT, kernels)}")
    print(f"{len(views)} views: {above(VIEW_LIMIT, views)}")


def report(rows, rounds):
    """Measures and prints; returns {reason: keys of the rows that were not measured}."""
    table, statements = Table(), Statements(torch, ATEN | NPU)
    found = {row.key: find(row, kind_of(row, table), statements) for row in rows}
    cases = [case for case in found.values() if isinstance(case, Case)]
    base = measure(cases, python_loop("v + v", **statements.operands), rounds)

    print(f"{torch.npu.get_device_name()}, {'real' if REAL else 'null'} kernels; a + b of four float32: {base:.0f} ns")
    by_kind = {kind: [case for case in cases if case.kind == kind] for kind in TITLES}
    for kind, title in TITLES.items():
        if by_kind[kind]:
            print_cases(title, by_kind[kind])
    print_summary(by_kind, len(rows))
    without = {}
    for key, why in found.items():
        if isinstance(why, str):
            without.setdefault(why, []).append(key)
    for why, keys in without.items():
        print(f"not measured, {why or 'WITHOUT A REASON: bench/row_samples.py lacks a call'}: {', '.join(keys)}")
    return without


def main(arguments):
    parser = argparse.ArgumentParser(prog="python -m bench.rows", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("words", nargs="*")
    options = parser.parse_args(arguments)
    rows = Table().rows
    if REAL:
        rows = [row for row in rows if row.key in options.words]
    elif options.words:
        rows = [row for row in rows if any(word in row.key for word in options.words)]
    without = report(rows, options.rounds)
    failed = "" in without
    if READS in without:
        print("", flush=True)
        command = [sys.executable, "-m", "bench.rows", f"--rounds={options.rounds}", *without[READS]]
        environment = os.environ | {"MINDTORCH_SIM_KERNELS": "real"}
        failed |= subprocess.run(command, check=False, env=environment).returncode != 0
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
