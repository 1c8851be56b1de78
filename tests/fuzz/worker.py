"""A child of run.py: fuzzes until its time is over. Its output is a JSON object a line; see `main`."""
import argparse
import gc
import itertools
import json
import os
import re
import resource
import sys
import time
import tomllib
from pathlib import Path

import hostile
import programs
import torch
from programs import call_of, is_inexact

from mindtorch import npu, sim

HERE = Path(__file__).resolve().parent
ALLOWED = tomllib.loads((HERE / "differences.toml").read_text())["allowed"]
DEVICES = ("cpu", "npu")
LEAKS_EVERY = 100       # programs
DEVICE_FAULT = 75       # the status of a worker that run.py shall start anew
LENGTH = 14             # statements of a program
EVENTS = sys.stdout


def operands(statement, names):
    """torch's tensors that a statement names."""
    named = map(names.get, re.findall(r"\w+", statement.text))
    return [value.detach() for value in named if isinstance(value, torch.Tensor)]


def unsorted(statement, names):
    boundaries = re.findall(r"(?:searchsorted\(|(?:bucketize|histogram)\(\w+, |\.(?:histogram|bucketize)\()(\w+)",
                            statement.text)
    found = [names[name] for name in boundaries if isinstance(names.get(name), torch.Tensor)]
    return "sorter" in statement.text or any(
        not bool((each[..., 1:] >= each[..., :-1]).all()) for each in found or operands(statement, names) if each.dim())


def does_not_fit(statement, names):
    """Whether a fraction is beyond the least of the dtypes of integers."""
    found = operands(statement, names)
    limits = [torch.iinfo(each.dtype) for each in found if not is_inexact(each) and each.dtype is not torch.bool]
    low = max((each.min for each in limits), default=-2 ** 31)
    high = min((each.max for each in limits), default=2 ** 31 - 1)
    numbers = [each.real.double() for each in found if is_inexact(each)]
    return any(not bool(((each >= low) & (each <= high)).all()) for each in numbers)


# What a reason may ask of the statement that differs, or of the one before that it names by `uses`.
CONDITIONS = {
    "an operand has NaN": lambda statement, names: any(bool(each.isnan().any()) for each in operands(statement, names)),
    "an operand has NaN or infinity": lambda statement, names: any(
        not bool(each.isfinite().all()) for each in operands(statement, names)),
    "an operand has equal elements": lambda statement, names: any(
        each.unique().numel() < each.numel() for each in operands(statement, names)),
    "an operand has no elements": lambda statement, names: any(not each.numel() for each in operands(statement, names)),
    "an operand is expanded": lambda statement, names: any(0 in each.stride() for each in operands(statement, names)),
    "elements of an operand lie on each other": lambda statement, names: any(
        map(programs.overlaps_itself, operands(statement, names))),
    "an operand has a dimension of size 1, or at most one element": lambda statement, names: any(
        1 in each.shape or each.numel() < 2 for each in operands(statement, names)),
    "operands share memory": lambda statement, names: any(
        programs.share_memory(*pair) for pair in itertools.combinations(operands(statement, names), 2)),
    "a fraction does not fit the integers": does_not_fit,
    "an integer is below 0 or above 62": lambda statement, names: any(
        bool(((each < 0) | (each > 62)).any()) for each in operands(statement, names)
        if not is_inexact(each) and each.dtype is not torch.bool),
    "boundaries are not sorted": unsorted,
    "a matrix is singular": lambda statement, names: any(
        bool((torch.linalg.matrix_rank(each.to(torch.complex128)) < each.shape[-1]).any())
        for each in operands(statement, names) if each.dim() > 1 and bool(each.isfinite().all())),
    "a matrix is not positive definite": lambda statement, names: any(
        bool(torch.linalg.cholesky_ex(each)[1].any()) for each in operands(statement, names)
        if each.dim() > 1 and is_inexact(each) and each.itemsize > 2 and each.shape[-1] == each.shape[-2]),
}


def fits(entry, statement, before, names):
    """Whether `uses` and `when` of a reason are true."""
    used = [earlier for earlier in before if re.fullmatch(entry["uses"], earlier.operator)
            and re.search(entry.get("used_text", ""), earlier.text)] if "uses" in entry else \
        [call_of(statement, before)]
    return any("when" not in entry or (names is not None and CONDITIONS[entry["when"]](each, names)) for each in used)


def is_near(words, near=0.0, within=0.0):
    """Whether the words of a difference tell two numbers that are as near as that, for their size or whatever it is."""
    one, other = map(complex, re.search(r"torch np\.\w+\((\S+)\), here np\.\w+\((\S+)\);", words).groups())
    return abs(one - other) <= within + near * abs(one)


def is_near_enough(entry, words):
    bounds = {name: entry[name] for name in ("near", "within") if name in entry}
    return not bounds or is_near(words, **bounds)


def allowed(device, statement, kind, words, before=(), names=None):
    """The reason for which a difference is allowed, or None. `before` holds the statements before it, `names` torch's
    variables."""
    call = call_of(statement, before)
    text = statement.text if call is statement else f"{call.text}\n{statement.text}"
    for entry in ALLOWED:
        if entry.get("device", device) == device and re.fullmatch(entry["kind"], kind) and \
                re.fullmatch(entry.get("operator", ".*"), statement.operator) and \
                re.search(entry.get("words", ""), words) and re.search(entry.get("text", ""), text) and \
                is_near_enough(entry, words) and fits(entry, statement, before, names):
            return entry["reason"]
    return None


def fuzz_programs(seed, devices=DEVICES):
    """(source, Difference or None, steps, reasons) for each device."""
    program = programs.Writer(seed).write(LENGTH)
    for device in devices:
        if device == "npu" and any("autocast" in statement.text for statement in program):
            continue                # where autocast has other lists than on torch's CPU
        comparison = programs.Comparison(program, device, allowed)
        yield program, device
        found = comparison.run()
        shrinks = found and found.kind != "fault"
        yield programs.shrink(found, allowed) if shrinks else found, comparison.steps, comparison.reasons


def fuzz_hostile(seed, devices=DEVICES):
    program, small = hostile.Caller(seed).write()
    for device in devices:
        yield program, device
        found, reason = hostile.check(program, small, device, allowed)
        yield found, 1, [reason] if reason else []


def live_objects():
    gc.collect()
    npu.synchronize()
    npu.empty_cache()
    return dict(sim.live_objects(), bytes=npu.memory_allocated())


def emit(**event):
    print(json.dumps(event), flush=True, file=EVENTS)


def take_output():
    """Events alone go to the standard output: what a call prints goes nowhere, since nobody reads it."""
    global EVENTS
    EVENTS = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=("programs", "hostile"))
    parser.add_argument("first", type=int)
    parser.add_argument("step", type=int)
    parser.add_argument("seconds", type=float)
    parser.add_argument("--end", type=int, default=None, help="the seed to stop at")
    parser.add_argument("--without", default="", help="reasons in differences.toml to leave out, a regular expression")
    parser.add_argument("--devices", default=",".join(DEVICES))
    options = parser.parse_args()
    if options.without:
        ALLOWED[:] = [entry for entry in ALLOWED if not re.search(options.without, entry["reason"])]
    take_output()
    resource.setrlimit(resource.RLIMIT_DATA, (4 << 30, 4 << 30))
    fuzz = {"programs": fuzz_programs, "hostile": fuzz_hostile}[options.kind]
    seed, since, before, until = options.first, options.first, None, time.time() + options.seconds
    while time.time() < until and (options.end is None or seed < options.end):
        if (seed - since) // options.step == LEAKS_EVERY:
            after = live_objects()
            left = {kind: f"{before[kind]} -> {count}" for kind, count in after.items() if count > before[kind]} \
                if before else {}
            if left:
                emit(signature=["npu", "live objects", ", ".join(left)], seed=since,
                     source=f"# {left}, seeds {since} to {seed - 1}")
            since, before = seed, after
        emit(writing=seed)
        results = fuzz(seed, options.devices.split(","))
        for program, device in results:
            emit(seed=seed, device=device, program=[statement.text for statement in program])
            found, steps, reasons = next(results)
            emit(steps=steps, reasons=reasons)
            if found:
                emit(signature=list(found.signature), source=programs.source(found), seed=seed)
            if device == "npu" and programs.fault(device):
                return DEVICE_FAULT
        seed += options.step
    return 0


if __name__ == "__main__":
    sys.exit(main())
