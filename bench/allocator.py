"""`python -m bench.allocator`: what a block of device memory from the cache costs the host.

Allocating and freeing a block, from Cython, beside malloc and free and beside the C++ allocator of the
published torch_npu wheel on the same simulator, where `make test-clients` has installed that. One loop of C calls them
all; figures are medians over rounds that alternate, of CPU time of the calling thread.
"""
import argparse
import json
import os
import statistics
import subprocess
from pathlib import Path

os.environ["MINDTORCH_NPU"] = "sim"

import mindtorch as torch
from bench import client
from bench.pairs import ARRANGEMENTS, WORKLOADS, Subject, addresses, compile_native
from bench.rungs import ROOT, build_loop

COUNT = 10_000                                  # pairs in one timed loop
CACHED = "of one size", 10                      # what is in use while all workloads are timed
BUSY = "1000 B", "512 B to 16 MiB"              # the workloads that are timed with more and more blocks in use
LIMIT_NS, LIMIT_RATIO, LIMIT_GROWTH = 100, 0.5, 1.3


class Peer:
    """A Subject in the process of peer.py."""

    def __init__(self, python):
        site = next(python.parents[1].glob("lib/python*/site-packages"))
        headers = ("torch/include", "torch/include/torch/csrc/api/include", "torch_npu/include",
                   "torch_npu/include/third_party/acl/inc")
        library = compile_native("peer.cpp", "libpeer.so", *(f"-isystem{site / folder}" for folder in headers),
                                 f"-L{site / 'torch_npu' / 'lib'}", "-l:libtorch_npu.so")
        self.process = subprocess.Popen(client.command(python, "peer.py", library), cwd=ROOT, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=client.environment())

    def call(self, *request):
        print(json.dumps(request), file=self.process.stdin, flush=True)
        return client.receive(self.process.stdout)

    def measure(self, *arguments):
        return self.call("measure", *arguments)

    def empty_cache(self):
        return self.call("empty_cache")


def subjects(python):
    torch.empty(1, device="npu")
    found = {"malloc": Subject(*addresses(None, "malloc", "free"), lambda: None),
             "mindtorch": Subject(*build_loop("memory_functions").addresses(), torch.npu.empty_cache)}
    if python.exists():
        found["torch_npu"] = Peer(python)
    return found


def measure(found, rounds, counts):
    """{(subject, workload, arrangement, blocks in use): nanoseconds}."""
    times = {}
    for _ in range(rounds):
        for arrangement, live in [CACHED, *((arrangement, live) for arrangement in ARRANGEMENTS for live in counts)]:
            workloads = list(WORKLOADS) if (arrangement, live) == CACHED else BUSY
            for name, subject in found.items():
                subject.empty_cache()
                costs = subject.measure(workloads, arrangement, live, COUNT)
                for workload, cost in zip(workloads, costs, strict=True):
                    times.setdefault((name, workload, arrangement, live), []).append(cost)
    return {key: statistics.median(costs) for key, costs in times.items()}


def print_pairs(found, times):
    print(f"\n{'take and give back':26}" + "".join(f"{name:>14}" for name in found))
    for workload in WORKLOADS:
        costs = {name: times[name, workload, *CACHED] for name in found}
        ours = costs["mindtorch"]
        verdict = [] if ours <= LIMIT_NS else [f"above {LIMIT_NS} ns"]
        if "torch_npu" in found:
            ratio = ours / costs["torch_npu"]
            verdict += [f"{ratio:.2f} x torch_npu" + f", above {LIMIT_RATIO}" * (ratio > LIMIT_RATIO)]
        print(f"{workload:26}" + "".join(f"{cost:11.0f} ns" for cost in costs.values()), *verdict, sep="   ")
    if "torch_npu" not in found:
        print(client.LEFT_OUT)


def print_growth(found, times, counts):
    print(f"\n{'the same, so many blocks in use:':62}" + "".join(f"{count:>11}" for count in counts) + "  growth")
    for arrangement in ARRANGEMENTS:
        for workload in BUSY:
            for name in found:
                costs = [times[name, workload, arrangement, live] for live in counts]
                growth = costs[-1] / costs[0]
                print(f"{arrangement:30}{workload:20}{name:12}" + "".join(f"{cost:8.0f} ns" for cost in costs)
                      + f"{growth:8.2f}" + f" above {LIMIT_GROWTH}" * (growth > LIMIT_GROWTH and name == "mindtorch"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--in-use", type=int, nargs="+", default=[10, 1000, 100_000], help="blocks, for the growth")
    parser.add_argument("--clients", type=Path, default=client.PYTHON, help="interpreter that has torch_npu")
    args = parser.parse_args()
    found = subjects(args.clients)
    times = measure(found, args.rounds, args.in_use)
    print(f"\n{torch.npu.toolkit()}")
    print_pairs(found, times)
    print_growth(found, times, args.in_use)


if __name__ == "__main__":
    main()
