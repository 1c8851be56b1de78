"""Runs a function in several processes, the ranks of a job, and collects what it returns in each.

The ranks are forked from a server, a process that has imported the library: importing torch takes longer than most
jobs.
"""
import atexit
import faulthandler
import fcntl
import functools
import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
# What a server imports below the library.
MODULES = ("distributed", "distributed.tensor.parallel", "distributed.fsdp", "distributed.checkpoint.state_dict",
           "distributed.algorithms.join", "distributed.nn", "optim.lr_scheduler")
_servers_lock = threading.Lock()


class RanksFailed(AssertionError):
    """A rank did not end well: the message has what all of them have printed."""


def run_ranks(function, size, folder, library="mindtorch", timeout=120, env=(), backend="gloo", arguments=(),
              exit_codes=None):
    """What `function`, "module:name" of this folder, returns in each rank; it is called with (torch, rank, size, ...).

    `env` has variables that the library reads after its import. RanksFailed if a rank does not end in time, or not with
    its exit code, where those are given and otherwise 0. A rank that is to end with another than 0 returns None.
    """
    expected = exit_codes or [0] * size
    variables = {**os.environ, "WORLD_SIZE": str(size), "OMP_NUM_THREADS": "1", "MINDTORCH_NPU": "off", **dict(env)}
    job = {"function": function, "size": size, "folder": str(folder), "library": library, "timeout": timeout,
           "variables": variables, "backend": backend, "arguments": arguments}
    reader, writer = os.pipe()
    with open(reader, encoding="utf-8") as result:
        try:
            socket.send_fds(server(library), [json.dumps(job).encode()], [writer])
        finally:
            os.close(writer)
        codes = json.loads(result.read() or '"the server has died"')
    if codes != expected:
        logs = "\n".join(f"{path.name}:\n{path.read_text(encoding='utf-8')}" for path in sorted(folder.glob("*.log")))
        raise RanksFailed(f"the ranks ended with {codes}\n{logs}")
    return [None if code else json.loads((folder / f"{rank}.json").read_text()) for rank, code in enumerate(codes)]


def run_once(tmp_path_factory, name, call, *args):
    """What call(folder, *args) returns, a JSON value: it runs in the first of the processes of pytest that asks."""
    folder = tmp_path_factory.getbasetemp()
    folder = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / name
    folder.mkdir(exist_ok=True)
    with open(folder / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        result = folder / "result.json"
        if not result.exists():
            value = call(folder, *args)
            result.write_text(json.dumps(value), encoding="utf-8")
        return json.loads(result.read_text(encoding="utf-8"))


def server(library):
    """The socket of the library's server, which ends with this process."""
    with _servers_lock:
        return _started_server(library)


@functools.cache
def _started_server(library):
    requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    with theirs:
        process = subprocess.Popen([sys.executable, str(HERE / "ranks.py"), library], stdin=theirs, env=variables)

    @atexit.register
    def end():
        requests.close()
        process.wait()
    return requests


def serve(library):
    """Forks a process for each job that is asked for, which forks the job's ranks. Returns in a rank: (job, rank)."""
    for name in MODULES:
        importlib.import_module(f"{library}.{name}")
    gc.freeze()
    with socket.socket(fileno=0) as requests:
        while True:
            message, descriptors, _, _ = socket.recv_fds(requests, 1 << 20, 1)
            if not message:
                sys.exit()
            if os.fork() == 0:
                break
            os.close(descriptors[0])
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                pass
    job, pids = json.loads(message), []
    for rank in range(job["size"]):
        pids.append(os.fork())
        if pids[-1] == 0:
            os.close(descriptors[0])
            return job, rank
    os.write(descriptors[0], json.dumps(codes_of(pids, job["timeout"])).encode())
    os._exit(0)


def codes_of(pids, seconds):
    """Those of the ranks, negative for a signal, when all have ended; after the time-out all are aborted."""
    deadline = time.monotonic() + seconds
    for pid in pids:
        if not select.select([os.pidfd_open(pid)], [], [], max(deadline - time.monotonic(), 0))[0]:
            for each in pids:
                os.kill(each, signal.SIGABRT)       # at which faulthandler prints where each thread is
            break
    return [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]


def main(library, function, folder, backend, arguments, variables, rank, size):
    """One rank: `backend` "none" leaves init_process_group to the function."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    with open(f"{folder}/{rank}.log", "wb") as log:
        for standard in (1, 2):
            os.dup2(log.fileno(), standard)
    faulthandler.enable()
    os.environ.clear()
    os.environ.update(variables | {"RANK": str(rank)})
    torch = importlib.import_module(library)
    torch.distributed.set_debug_level_from_env()        # as its import does
    if backend != "none":
        torch.distributed.init_process_group(backend, f"file://{folder}/store", rank=rank, world_size=size)
    module, _, name = function.partition(":")
    result = getattr(importlib.import_module(module), name)(torch, rank, size, *arguments)
    Path(folder, f"{rank}.json").write_text(json.dumps(result))
    if backend != "none":
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    job, rank = serve(sys.argv[1])
    del job["timeout"]
    main(**job, rank=rank)
