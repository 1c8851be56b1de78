"""Runs a function in several processes, the ranks of a job, and collects what it returns in each."""
import faulthandler
import importlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent


class RanksFailed(AssertionError):
    """A rank did not end well: the message has what all of them have printed."""


def start_ranks(function, size, folder, library="mindtorch", env=(), backend="gloo", arguments=()):
    """The processes, in which `function`, "module:name" of this folder, is called with (torch, rank, size, ...)."""
    processes = []
    for rank in range(size):
        command = [sys.executable, str(HERE / "ranks.py"), library, function, str(folder), backend, *arguments]
        variables = {**os.environ, "RANK": str(rank), "WORLD_SIZE": str(size), "OMP_NUM_THREADS": "1",
                     "PYTHONPATH": str(ROOT), "MINDTORCH_NPU": "off", **dict(env)}
        with open(folder / f"{rank}.log", "wb") as log:
            processes.append(subprocess.Popen(command, env=variables, stdout=log, stderr=subprocess.STDOUT))
    return processes


def run_ranks(function, size, folder, library="mindtorch", timeout=120, **options):
    """What `function` returns in each rank; RanksFailed if one fails, or does not end in time."""
    processes = start_ranks(function, size, folder, library, **options)
    deadline = time.monotonic() + timeout
    try:
        codes = [process.wait(max(deadline - time.monotonic(), 0.1)) for process in processes]
    except subprocess.TimeoutExpired:
        codes = ["time-out"]
        for process in processes:
            process.send_signal(signal.SIGABRT)     # at which faulthandler prints where each thread is
            process.wait()
    finally:
        for process in processes:
            process.kill()
            process.wait()
    if any(codes):
        logs = "\n".join(f"rank {rank}:\n{(folder / f'{rank}.log').read_text()}" for rank in range(size))
        raise RanksFailed(f"the ranks ended with {codes}\n{logs}")
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(size)]


def main(library, function, folder, backend, *arguments):
    """One rank: `backend` "none" leaves init_process_group to the function."""
    faulthandler.enable()
    torch = importlib.import_module(library)
    importlib.import_module(f"{library}.distributed")
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    if backend != "none":
        torch.distributed.init_process_group(backend, f"file://{folder}/store", rank=rank, world_size=size)
    module, _, name = function.partition(":")
    result = getattr(importlib.import_module(module), name)(torch, rank, size, *arguments)
    Path(folder, f"{rank}.json").write_text(json.dumps(result))
    if backend != "none":
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
