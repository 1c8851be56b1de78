"""`python -m bench.executors`: what a call costs whose executor is found, and others, with a driver that costs nothing.

Kernels are null, the calling thread launches, and each operator runs on two shapes in turn. Columns, in us:

    found       the executor of an equal call is found
    missed      there is room for one executor, so the look-up finds none, and the call's executor is kept
    not kept    MINDTORCH_EXECUTOR_CACHE=0; CANN looks for the call by its arguments
    cache off   MINDTORCH_EXECUTOR_CACHE=0, and CANN looks for nothing either

Then found as a part of the others. All this twice: with CANN's hooks, and with executors that mindtorch keeps, for a
toolkit that lacks the hooks. The processes take turns, and the least is shown.
"""
import json
import os
import subprocess
import sys
import time

from bench.rungs import ROOT

TURNS = 3
ROUNDS, COUNT = 60, 50
NOT_KEPT = {"MINDTORCH_EXECUTOR_CACHE": "0"}
COLUMNS = {"found": {}, "missed": {"ACLNN_CACHE_LIMIT": "1"}, "not kept": NOT_KEPT,
           "cache off": {**NOT_KEPT, "MINDTORCH_SIM_OP_CACHE": "0"}}
COMMON = {"MINDTORCH_SIM_KERNELS": "null", "TASK_QUEUE_ENABLE": "0"}


def measure():
    """In a process of its own: {operator: us}, and the part of the look-ups that have found an executor."""
    import mindtorch as torch
    found = {}
    shapes = [[torch.ones(n, device="npu"), torch.ones(n, n, device="npu")] for n in (4, 5)]
    for title, program in {
            "a + b": lambda v, m: v + v, "relu": lambda v, m: torch.relu(v), "sum": lambda v, m: m.sum(0),
            "cat": lambda v, m: torch.cat([v, v]), "addmm": lambda v, m: torch.addmm(v, m, m),
            "copy_": lambda v, m: m.copy_(v), "layer_norm": lambda v, m: torch.layer_norm(m, v.shape, v, v),
            "foreach": lambda v, m: torch._foreach_mul_([v, m], 1.5)}.items():
        times = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            for _ in range(COUNT):
                program(*shapes[0])
                program(*shapes[1])
            torch.npu.synchronize()
            times.append(time.perf_counter() - start)
        found[title] = 1e6 * min(times) / COUNT / 2
    stats = torch.npu.executor_cache_stats()
    print(json.dumps([found, stats["hits"] / max(1, stats["hits"] + stats["misses"])]))


def run(settings):
    shown = subprocess.run([sys.executable, "-m", "bench.executors", "measure"], cwd=ROOT, check=True, text=True,
                           env={**os.environ, **COMMON, **settings}, stdout=subprocess.PIPE)
    return json.loads(shown.stdout.splitlines()[-1])


def main():
    sys.path.insert(0, str(ROOT / "tests" / "npu"))
    from process import toolkit_without_hooks
    for title, toolkit in (
            ("CANN's hooks", {"MINDTORCH_NPU": "sim"}),
            ("executors of mindtorch's", {"MINDTORCH_NPU": "cann", "MINDTORCH_CANN_HOME": toolkit_without_hooks()})):
        turns = {column: [run({**toolkit, **settings}) for _ in range(TURNS)] for column, settings in COLUMNS.items()}
        least = {column: {name: min(figures[name] for figures, _ in made) for name in made[0][0]}
                 for column, made in turns.items()}
        print(f"\n{title}; found {turns['found'][0][1]:.0%} of the look-ups in the first column, "
              f"{turns['missed'][0][1]:.0%} in the second")
        others = list(COLUMNS)[1:]
        print(f"{'':12}" + "".join(f"{head:>12}" for head in [*COLUMNS, *(f"/ {other}" for other in others)]))
        for name in least["found"]:
            parts = [least["found"][name] / least[other][name] for other in others]
            print(f"{name:12}" + "".join(f"{value:12.2f}" for value in [*(least[c][name] for c in COLUMNS), *parts]))


if __name__ == "__main__":
    measure() if sys.argv[1:] == ["measure"] else main()
