"""Runs random programs beside torch and calls with senseless arguments, for a time. See README.md.

Exits with 1 where mindtorch differs from torch without a reason in differences.toml, crashes, hangs or leaks.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DEVICE_FAULT = 75       # the status of a worker whose NPU has to be reset
BREAKDOWNS = {"live objects", "fault"}
SILENCE = 600           # seconds after which a worker that says nothing hangs: a busy machine may keep it waiting


class Worker:
    """A child process, started anew where it dies."""

    def __init__(self, kind, first, step, seconds, limits):
        self.kind, self.seed, self.step, self.limits = kind, first, step, limits
        self.left, self.until = seconds, None       # the time counts from its first program
        self.current, self.ended = None, False
        self.start()

    def start(self):
        env = dict(os.environ, PYTHONPATH=str(ROOT), OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", PYTHONHASHSEED="0",
                   MINDTORCH_NPU="sim", MINDTORCH_SIM_MEMORY="512MiB")
        self.process = subprocess.Popen(
            ["nice", sys.executable, "-W", "ignore", HERE / "worker.py", self.kind, str(self.seed), str(self.step),
             str(self.left), *self.limits], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        os.set_blocking(self.process.stdout.fileno(), False)
        self.heard, self.rest = time.time(), b""

    def events(self):
        """What has arrived."""
        data = self.process.stdout.read() or b""
        self.heard = time.time() if data else self.heard
        self.until = self.until or (self.heard + self.left if data else None)
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            yield json.loads(line)

    def done(self):
        """Whether it will say nothing more than it has said."""
        return self.ended or self.process.poll() == 0

    def went_down(self):
        """How the process died or hung; None where it is alive or done. It goes on after the program at fault."""
        status = self.process.poll()
        if self.ended or status == 0 or (status is None and time.time() - self.heard < SILENCE):
            return None
        self.process.kill()
        fault = status == DEVICE_FAULT
        words = self.process.stderr.read().decode(errors="replace")[-2000:]
        self.process.wait()
        how = f"hangs for {SILENCE} s" if status is None else f"ends with status {status}\n{words}"
        self.left = 0 if self.current is None else self.until - time.time()
        self.ended = self.left <= 0
        if not self.ended:
            self.seed = self.current["seed"] + self.step
            self.start()
        return None if fault else how


class Report:
    def __init__(self):
        self.programs, self.steps, self.reasons, self.differences = Counter(), Counter(), Counter(), Counter()
        self.breakdowns = 0         # crashes, hangs, leaks and faults of the device

    def add(self, kind, event):
        if "program" in event:
            self.programs[kind] += 1
        elif "signature" in event:
            self.breakdowns += not BREAKDOWNS.isdisjoint(event["signature"])
            self.difference(tuple(event["signature"]), event["seed"], event["source"])
        else:
            self.steps[kind] += event["steps"]
            self.reasons.update(event["reasons"])

    def difference(self, signature, seed, source):
        self.differences[signature] += 1
        if self.differences[signature] == 1:
            print(f"\n--- {' '.join(signature)}, seed {seed}\n{source}", flush=True)

    def breakdown(self, worker, how):
        self.breakdowns += 1
        current = worker.current or {"seed": worker.seed, "device": "", "program": []}
        self.difference((worker.kind, current["device"], how.partition("\n")[0]), current["seed"],
                        "\n".join(current["program"]) + f"\n# {how}")

    def close(self, seed, tolerant):
        print(f"\n{self.programs['programs']} programs, {self.steps['programs']} steps; "
              f"{self.programs['hostile']} hostile calls")
        for reason, count in self.reasons.most_common():
            print(f"{count:6} allowed: {reason}")
        for signature, count in self.differences.most_common():
            print(f"{count:6} {' '.join(signature)}")
        total = sum(self.differences.values())
        print(f"{total} differences without a reason, {self.breakdowns} of them crashes, hangs, leaks or faults")
        failed = self.breakdowns if tolerant else total
        if total:
            print(f"The same programs: make fuzz SEED={seed}. One of them: tests/fuzz/run.py --seconds 1 --seed N")
        return 1 if failed or not self.programs.total() else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--seed", type=int, default=None, help="a new one each time where it is missing")
    parser.add_argument("--kinds", default="programs,hostile")
    parser.add_argument("--devices", default="cpu,npu")
    parser.add_argument("--without", default="", help="reasons to leave out, which shows what they hide: an expression")
    parser.add_argument("--count", type=int, default=None, help="of each kind at most so many")
    parser.add_argument("--tolerant", action="store_true",
                        help="print differences, but fail for crashes, hangs, leaks and faults alone")
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(10**9) if options.seed is None else options.seed
    print(f"fuzz: SEED={seed} SECONDS={options.seconds:g}", flush=True)
    limits = ["--without", options.without, "--devices", options.devices]
    if options.count is not None:
        limits += ["--end", str(seed + options.count)]
    workers = [Worker(kind, seed, 1, options.seconds, limits) for kind in options.kinds.split(",")]
    report = Report()
    going = True
    while going:
        going = not all(worker.done() for worker in workers)
        for worker in workers:
            for event in worker.events():
                if "writing" in event:          # torch alone runs: a crash is torch's
                    worker.current = {"seed": event["writing"], "device": "while torch writes a program", "program": []}
                    continue
                worker.current = event if "program" in event else worker.current
                report.add(worker.kind, event)
            how = worker.went_down()
            if how is not None:
                report.breakdown(worker, how)
        time.sleep(0.1)
    return report.close(seed, options.tolerant)


if __name__ == "__main__":
    sys.exit(main())
