"""Runs the same with torch_npu, on a CANN toolkit, and with mindtorch, and compares.

    python tests/clients/compare.py --clients INTERPRETER --toolkit TOOLKIT_ROOT

Both run the cases of cases.txt, and mindtorch must launch no more operators than torch_npu in any statement
of launches.txt. Between processes, their collectives and their training give equal values. Run by mindtorch's
interpreter; INTERPRETER has torch_npu. The exit status is 1 where a result differs or more is launched and the file
gives no reason, where it gives one that no longer holds, and where a value differs.
"""
import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy
from launches import EXPECTED_TO_LAUNCH_MORE, STATEMENTS
from run_cases import cases

HERE = Path(__file__).parent


def heard(command):
    output = subprocess.run(command, capture_output=True, text=True, check=True,
                            env=dict(os.environ, MINDTORCH_NPU="sim")).stdout
    return [json.loads(line)[1] for line in output.splitlines() if line.startswith('["answer", ')]


def both(script, args):
    """What the script says with torch_npu, and what it says with mindtorch."""
    theirs = heard([args.clients, HERE / "run.py", "--toolkit", args.toolkit, HERE / script, "torch_npu"])
    return theirs, heard([sys.executable, HERE / script, "mindtorch"])


def report(case, theirs, ours, reason):
    print(f"{case}\n    torch_npu: {theirs}\n    mindtorch: {ours}"
          + (f"\n    but it is said: {reason}" if reason else ""))


def compare_answers(args):
    """The number of answers that differ and should not, or do not and should."""
    theirs, ours = both("run_cases.py", args)
    wrong = 0
    for (case, reason), one, other in zip(cases(), theirs, ours, strict=True):
        if (one == other) == bool(reason):
            wrong += 1
            report(case, one, other, reason)
    print(f"{len(ours)} cases, {sum(bool(reason) for _, reason in cases())} known to differ, {wrong} wrong")
    return wrong


def compare_launches(args):
    """The number of statements in which mindtorch launches more and should not, or does not and should, or raises."""
    theirs, ours = both("launches.py", args)
    statements = list(cases(STATEMENTS, EXPECTED_TO_LAUNCH_MORE))
    wrong = fewer = compared = 0
    for (statement, reason), one, other in zip(statements, theirs, ours, strict=True):
        if isinstance(one, str) and not isinstance(other, str):     # the simulator has no kernel for torch_npu's call
            if reason:
                wrong += 1
                report(statement, one, other, reason)
            continue
        compared += 1
        here, there = (float("inf") if isinstance(each, str) else sum(each.values()) for each in (other, one))
        fewer += here < there
        if (here > there) != bool(reason) or here == float("inf"):
            wrong += 1
            report(statement, one, other, reason)
    print(f"{compared} statements, {fewer} launch less than torch_npu's, "
          f"{sum(bool(reason) for _, reason in statements)} known to launch more, {wrong} wrong")
    return wrong


def compare_collectives(args):
    """The number of ranks whose values differ between the libraries."""
    wrong = 0
    for theirs, ours in zip(*both("collectives.py", args), strict=True):
        if theirs[:2] != ours[:2] or theirs[2].keys() != ours[2].keys():
            raise AssertionError(f"other ranks or results: {theirs} and {ours}")
        differ = [name for name, value in theirs[2].items() if not numpy.allclose(value, ours[2][name], 1e-5, 1e-6)]
        wrong += bool(differ)
        for name in differ:
            report(f"rank {theirs[1]} of {theirs[0]}, {name}", theirs[2][name], ours[2][name], "")
    print(f"collectives, DistributedDataParallel and fully_shard between two and four processes, {wrong} wrong")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", required=True, help="an interpreter with torch_npu")
    parser.add_argument("--toolkit", required=True)
    args = parser.parse_args()
    return compare_answers(args) + compare_launches(args) + compare_collectives(args) > 0


if __name__ == "__main__":
    sys.exit(main())
