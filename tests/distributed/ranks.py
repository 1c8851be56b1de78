"""Runs a function in several processes, the ranks of a job, and collects what it returns in each."""
import contextlib
import faulthandler
import importlib
import json
import os
import signal
import subprocess
import sys
import time
import traceback
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


def run_forked_ranks(function, size, folder, library="mindtorch", timeout=120, env=(), backend="gloo", arguments=()):
    """As run_ranks, but one process imports the library and forks the ranks: torch takes seconds to import."""
    command = [sys.executable, str(HERE / "ranks.py"), "--fork", str(size), library, function, str(folder), backend,
               *arguments]
    variables = {**os.environ, "WORLD_SIZE": str(size), "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT),
                 "MINDTORCH_NPU": "off", **dict(env)}
    with subprocess.Popen(command, env=variables, start_new_session=True) as process:
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            code = "time-out"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    if code:
        logs = "\n".join(path.read_text() for path in sorted(folder.glob("*.log")))
        raise RanksFailed(f"the ranks ended with {code}\n{logs}")
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(size)]


def fork_ranks(size, library, function, folder, *rest):
    """The process that run_forked_ranks starts. The module of `function` may have a `preload(library)`."""
    importlib.import_module(f"{library}.distributed")
    cases = importlib.import_module(function.partition(":")[0])
    if hasattr(cases, "preload"):
        cases.preload(library)
    ranks = [rank for rank in range(int(size)) if run_in_child(rank, library, function, folder, *rest)]
    return max(os.waitstatus_to_exitcode(os.wait()[1]) != 0 for _ in ranks)


def run_in_child(rank, library, function, folder, *rest):
    """The process id of a child that is a rank."""
    child = os.fork()
    if child:
        return child
    with open(Path(folder, f"{rank}.log"), "wb") as log:
        for stream in (1, 2):
            os.dup2(log.fileno(), stream)
    os.environ["RANK"] = str(rank)
    code = 1
    try:
        main(library, function, folder, *rest)
        code = 0
    finally:        # with an exception on its way as well: a child must not go on with its parent's work
        if code:
            traceback.print_exc()
        sys.stderr.flush()
        os._exit(code)


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
    if sys.argv[1] == "--fork":
        sys.exit(fork_ranks(*sys.argv[2:]))
    main(*sys.argv[1:])
