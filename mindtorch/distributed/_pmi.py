"""PMI-1 for one process: MPI asks for its rank and for the addresses of the others; the answers are in the job's store.

So MPI starts in processes that mpiexec has not started. The protocol is lines of text, cmd=... key=value ..., over a
socket that MPI finds by the environment variable PMI_FD.
"""
from __future__ import annotations

import contextlib
import os
import socket
import threading
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mindtorch.distributed._shared_files import announce
from mindtorch.distributed._stores import DistError

if TYPE_CHECKING:
    from mindtorch.distributed._stores import Store

__all__ = ["environment", "serve"]

_VARIABLES = ("PMI_FD", "PMI_PORT", "PMI_ID", "PMI_RANK", "PMI_SIZE", "PMIX_RANK", "PMIX_NAMESPACE")
_LIMITS = "kvsname_max=256 keylen_max=256 vallen_max=4096"


def _places(hosts):
    """PMI_process_mapping: for each rank the number of its host, (first host, hosts, ranks on each), run by run."""
    numbers: dict[str, int] = {}
    runs: list[list[int]] = []
    for host in hosts:
        number = numbers.setdefault(host, len(numbers))
        if runs and runs[-1][0] == number:
            runs[-1][1] += 1
        else:
            runs.append([number, 1])
    return "(vector," + ",".join(f"({number},1,{count})" for number, count in runs) + ")"


class _Responder:
    """Answers the PMI requests of MPI in this process."""

    def __init__(self, store, rank, size):
        self._store, self._rank, self._size = store, rank, size
        self._barriers = 0
        if rank == 0:       # MPI names files in /dev/shm by it
            store.set("name", f"mindtorch_{uuid.uuid4().hex}")
        store.set(f"host/{rank}", socket.gethostname())

    def init(self, _):
        return "response_to_init pmi_version=1 pmi_subversion=1 rc=0"

    def get_maxes(self, _):
        return f"maxes rc=0 {_LIMITS}"

    def get_appnum(self, _):
        return "appnum rc=0 appnum=0"

    def get_universe_size(self, _):
        return f"universe_size rc=0 size={self._size}"

    def get_my_kvsname(self, _):
        name = self._store.get("name").decode()
        announce(name)
        return f"my_kvsname rc=0 kvsname={name}"

    def put(self, request):
        self._store.set(f"key/{request['key']}", request["value"])
        return "put_result rc=0"

    def get(self, request):
        if request["key"] == "PMI_process_mapping":
            hosts = self._store.multi_get([f"host/{rank}" for rank in range(self._size)])
            return f"get_result rc=0 value={_places([host.decode() for host in hosts])}"
        key = f"key/{request['key']}"
        if not self._store.check([key]):
            return "get_result rc=-1 msg=key_not_found value=unknown"
        return f"get_result rc=0 value={self._store.get(key).decode()}"

    def barrier_in(self, _):
        self._barriers += 1
        self._store.barrier(f"barrier/{self._barriers}", self._size)
        return "barrier_out rc=0"

    def finalize(self, _):
        return "finalize_ack rc=0"


_REQUESTS = {"init", "get_maxes", "get_appnum", "get_universe_size", "get_my_kvsname", "put", "get", "barrier_in",
             "finalize"}


def serve(store: Store, rank: int, size: int) -> socket.socket:
    """Start a thread that answers PMI requests; returns the client's end of its socket."""
    responder = _Responder(store, rank, size)
    ours, theirs = socket.socketpair()
    threading.Thread(target=_answer, args=(ours, responder), name="mindtorch PMI", daemon=True).start()
    return theirs


def _answer(connection, responder):
    with connection, connection.makefile("r") as lines:
        for line in lines:
            request = dict(field.partition("=")[::2] for field in line.split())
            command = request.get("cmd")
            if command not in _REQUESTS:
                return          # cmd=abort, after which MPI ends the process
            try:
                answer = getattr(responder, command)(request)
            except DistError:
                continue        # a rank or the store is gone: MPI waits on, and its caller gives up
            connection.sendall(f"cmd={answer}\n".encode())


@contextlib.contextmanager
def environment(connection: int, rank: int, size: int) -> Iterator[None]:
    """Sets the variables by which MPI finds the socket, its rank and the number of ranks; restores them afterwards."""
    before = {name: os.environ.pop(name, None) for name in _VARIABLES}
    os.environ |= {"PMI_FD": str(connection), "PMI_RANK": str(rank), "PMI_SIZE": str(size)}
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
