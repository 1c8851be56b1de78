"""Asks torch_npu, on a CANN toolkit, and mindtorch the same questions (questions.txt), and compares their answers.

    python tests/clients/compare.py --clients INTERPRETER --toolkit TOOLKIT_ROOT

Run by mindtorch's interpreter; INTERPRETER has torch_npu. The exit status is 1 where an answer differs that should
not, and where one does not that is said to.
"""
import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from answers import questions

HERE = Path(__file__).parent


def answers(command):
    output = subprocess.run(command, capture_output=True, text=True, check=True,
                            env=dict(os.environ, MINDTORCH_NPU="sim")).stdout
    return [json.loads(line)[1] for line in output.splitlines() if line.startswith('["answer", ')]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", required=True, help="an interpreter with torch_npu")
    parser.add_argument("--toolkit", required=True)
    args = parser.parse_args()
    theirs = answers([args.clients, HERE / "run.py", "--toolkit", args.toolkit, HERE / "answers.py", "torch_npu"])
    ours = answers([sys.executable, HERE / "answers.py", "mindtorch"])
    wrong = 0
    for (question, reason), one, other in zip(questions(), theirs, ours, strict=True):
        if (one == other) == bool(reason):
            wrong += 1
            print(f"{question}\n    torch_npu: {one}\n    mindtorch: {other}"
                  + (f"\n    but it is said to differ: {reason}" if reason else ""))
    print(f"{len(ours)} questions, {sum(bool(reason) for _, reason in questions())} known to differ, {wrong} wrong")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
