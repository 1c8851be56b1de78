"""`python -m bench.rows`: host cost of every row of the op table with null kernels, as ratios to a + b; slowest first.

Rows that wait for the device to read a value are given the one that a call with kernels has read. The clock is the CPU
time of the calling thread, which makes the launches itself (TASK_QUEUE_ENABLE=0), so that neither the stream's thread
nor the rest of the machine counts. Rounds go through the whole table, and a + b is timed before each row: ratios are of
the same moment. Words on the command line pick the rows whose name contains one of them.
"""
import argparse
import contextlib
import gc
import os
import statistics
import sys
import time
from dataclasses import dataclass, field

os.environ.update(MINDTORCH_NPU="sim", MINDTORCH_SIM_KERNELS="null", TASK_QUEUE_ENABLE="0")

import mindtorch as torch
from bench.row_samples import Statements
from bench.rungs import python_loop
from mindtorch import sim
from mindtorch._core._gen.namespace import ATEN, NPU
from mindtorch._ops.codegen.rows import Row, Table

COUNT = 800             # launches in one timed loop: stays below the depth of a stream's queue
ROUNDS = 15
MANY = 6                # operators whose names are not printed any more
LIMIT, VIEW_LIMIT = 4, 1
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
    target = table.by_key.get(row.alias_of, row)
    if target.npu in ("composite", "each") or target.npu.startswith("decomposition"):
        return "composite"
    return target.npu if target.npu == "view" else "none" if target.npu.startswith("none") else "kernel"


def find(row, kind, statements):
    """The row's first statement that the NPU takes, as a Case; or why there is none, "" where there should be one."""
    for statement, names in statements.of(row):
        loop = python_loop(statement, **names)
        with sim.run_kernels(), sim.record_reads():
            statements.restore()
            calls = launches(loop)
        if calls is not None:
            with sim.repeat_reads():
                if launches(loop) != calls:
                    raise RuntimeError(f"{row.key}: {statement} makes other launches with null kernels")
            return Case(row, kind, loop, calls)
    return "no kernel on the NPU" if kind == "none" else ""


def launches(loop):
    """Those of one call, {operator of ACLNN: how often}; None if it is refused, for samples hold that, too."""
    taken = False
    with sim.counting() as counts, contextlib.suppress(Exception):
        loop(1)
        taken = True
    torch.npu.synchronize()
    return counts.operators() if taken else None


def nanoseconds(loop, count):
    """One round of a loop; the stream is empty before it and after it."""
    start = time.thread_time_ns()
    loop(count)
    end = time.thread_time_ns()
    torch.npu.synchronize()
    return (end - start) / count


def measure(cases, statements, rounds):
    """Fills in the cases' figures; returns the nanoseconds of a + b."""
    base = python_loop("v + v", **statements.operands)
    gc.collect()
    gc.disable()
    own = [nanoseconds(base, COUNT)]
    for _ in range(rounds):
        for case in cases:
            own.append(nanoseconds(base, COUNT))
            with sim.run_kernels(), sim.record_reads():
                statements.restore()
                nanoseconds(case.loop, 1)
            with sim.repeat_reads():
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
    others = {case.row.key: case.ratio for case in by_kind["composite"]}
    views = {case.row.key: case.ratio for case in by_kind["view"]}
    print(f"\n{len(launches) + len(views)} of {rows} rows measured with null kernels")
    print(f"each launch of {len(launches)} rows: {above(LIMIT, launches)}")
    print(f"whole calls of {len(kernels)} rows with a kernel: {above(LIMIT, kernels)}")
    print(f"whole calls of {len(others)} rows that stand on other operators: {above(LIMIT, others)}")
    print(f"{len(views)} views: {above(VIEW_LIMIT, views)}")


def report(rows, rounds):
    """Measures and prints; returns {reason: keys of the rows that were not measured}."""
    table = Table()
    with sim.run_kernels():
        statements = Statements(torch, ATEN | NPU)
    found = {row.key: find(row, kind_of(row, table), statements) for row in rows}
    cases = [case for case in found.values() if isinstance(case, Case)]
    base = measure(cases, statements, rounds)

    print(f"{torch.npu.get_device_name()}, null kernels; a + b of four float32: {base:.0f} ns")
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
    rows = [row for row in Table().rows if not options.words or any(word in row.key for word in options.words)]
    return int("" in report(rows, options.rounds))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
