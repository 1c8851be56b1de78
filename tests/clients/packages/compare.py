"""Runs the programs of programs.py, and in two processes of torchrun those of programs_of_two.py, with torch and,
unmodified, with mindtorch on both devices: the numbers must agree.

    python tests/clients/packages/compare.py --packages INTERPRETER [PROGRAM ...]

Run by an interpreter that has torch; INTERPRETER has the packages, what mindtorch needs, and no torch. The exit status
is 1 where a program fails or a number differs.
"""
import argparse
import json
import math
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
TOLERANCE = 2e-4                # of a number, and of the largest beside it
ALONE, IN_TWO = ([line.split()[1].partition("(")[0] for line in HERE.joinpath(file).read_text().split("@program\n")[1:]]
                 for file in ("programs.py", "programs_of_two.py"))
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]


def answers(command, path, **variables):
    """What each program told, by its name."""
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(map(str, path)), MINDTORCH_NPU="sim",
                       HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error", **variables)
    done = subprocess.run(command, capture_output=True, check=False, text=True, env=environment)
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"program"')]
    if not found:
        sys.exit(f"{command} says nothing:\n{done.stderr[-2000:]}")
    return {each.pop("program"): each for each in found}


def difference(ours, theirs):
    """Why two answers are not the same; "" where they are."""
    if "error" in ours or "error" in theirs:
        return "; ".join(f"{who}: {each['error']}" for who, each in (("torch", theirs), ("mindtorch", ours))
                         if "error" in each)
    if [each[:2] for each in ours["told"]] != [each[:2] for each in theirs["told"]]:
        return f"told {[each[:2] for each in ours['told']]} in place of {[each[:2] for each in theirs['told']]}"
    for (what, _, values), (_, _, expected) in zip(ours["told"], theirs["told"], strict=True):
        near = TOLERANCE * max((abs(each) for each in expected if math.isfinite(each)), default=0) + 1e-6
        for place, (one, other) in enumerate(zip(values, expected, strict=True)):
            if not (math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=near) or (one != one and other != other)):
                return f"{what}: number {place} of {len(values)} is {one!r}, with torch {other!r}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--packages", required=True)
    parser.add_argument("programs", nargs="*", default=ALONE + IN_TWO)
    args = parser.parse_args()
    listing = "import sys; print(*(each for each in sys.path if each.endswith('-packages')), sep='\\n')"
    packages = subprocess.run([args.packages, "-c", listing], check=True, capture_output=True, text=True).stdout.split()
    script = HERE / "run.py"
    # The packages come after what the interpreter with torch has itself.
    behind = f"import runpy, sys; sys.path += {packages!r}; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0])"
    alone, in_two = ([name for name in args.programs if name in names] for names in (ALONE, IN_TWO))
    theirs = answers([sys.executable, "-c", behind, script, "cpu", *alone], []) if alone else {}
    for name in in_two:         # each alone: what a package has started may not serve the next one
        theirs |= answers([sys.executable, *TORCHRUN, script, "cpu", name], packages)
    wrong = 0
    for device in ("cpu", "npu"):
        ours = answers([args.packages, "-m", "mindtorch", script, device, *alone], [ROOT]) if alone else {}
        for name in in_two:
            ours |= answers([args.packages, "-m", "mindtorch", *TORCHRUN, script, device, name], [ROOT],
                            MINDTORCH_SIM_DEVICES="2", HCCL_IF_IP="127.0.0.1")
        for name in args.programs:
            missing = {"error": "the process ended before it"}
            reason = difference(ours.get(name, missing), theirs.get(name, missing))
            count = sum(len(values) for _, _, values in theirs.get(name, {}).get("told", []))
            print(f"{name} on {device}: {reason or f'{count} numbers as with torch'}")
            wrong += bool(reason)
    print(f"{len(args.programs)} programs on 2 devices, {wrong} wrong")
    return 1 if wrong else 0


sys.exit(main())
