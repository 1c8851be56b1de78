"""torch.distributed.elastic.rendezvous: how the nodes of a job find each other and agree on ranks.

The state of a job is one JSON value in a store, which nodes change by compare_set: the number of the round, its nodes,
those that wait for the next round, those that are done, and the reason for which the job was closed. A round begins
when all nodes of the one before have left it. A node that does not say in time that it is alive is taken out by the
others.
"""
from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
import uuid
from dataclasses import dataclass
from datetime import timedelta
from importlib.util import find_spec
from typing import Any

from mindtorch._alias import is_active
from mindtorch._submodules import module_getattr
from mindtorch.distributed._stores import DistError, HashStore, PrefixStore, Store, TCPStore
from mindtorch.distributed.elastic.rendezvous.utils import parse_rendezvous_endpoint
from mindtorch.distributed.elastic.utils.distributed import get_free_port, is_local_address

__all__ = ["RendezvousClosedError", "RendezvousConnectionError", "RendezvousError", "RendezvousGracefulExitError",
           "RendezvousHandler", "RendezvousInfo", "RendezvousParameters", "RendezvousStateError",
           "RendezvousTimeoutError"]

_POLL = 0.05                # seconds between two looks at the state
DEFAULT_PORT = 29400


class RendezvousError(Exception):
    """An error of a rendezvous."""


class RendezvousClosedError(RendezvousError):
    """The job has been closed."""


class RendezvousTimeoutError(RendezvousError):
    """Too few nodes have come."""


class RendezvousConnectionError(RendezvousError):
    """The store of the job cannot be reached."""


class RendezvousStateError(RendezvousError):
    """The state in the store is invalid."""


class RendezvousGracefulExitError(RendezvousError):
    """This node is not needed."""


_BOOLS = {"1": True, "true": True, "t": True, "yes": True, "y": True,
          "0": False, "false": False, "f": False, "no": False, "n": False}


class RendezvousParameters:
    """`backend` is "c10d" or "static", `endpoint` host:port; `config` has the options of `rdzv_conf`.

    Arguments:
        backend: "c10d" or "static"
        endpoint: the text, such as "host:29400"
        run_id: the name of the job
        min_nodes: the least number of nodes
        max_nodes: the largest number of nodes
        local_addr: the address of this node; None finds it
        **kwargs: further options of the rendezvous

    Example:
        >>> parameters = dist.elastic.rendezvous.RendezvousParameters("c10d", "host:29500", "job", 1, 4, timeout="60")
        >>> parameters.max_nodes, parameters.get_as_int("timeout")
        (4, 60)
    """

    def __init__(self, backend: str, endpoint: str, run_id: str, min_nodes: int, max_nodes: int,
                 local_addr: str | None = None, **kwargs: Any) -> None:
        if not backend:
            raise ValueError("The rendezvous backend name must be a non-empty string.")
        if min_nodes < 1:
            raise ValueError(f"The minimum number of rendezvous nodes ({min_nodes}) must be greater than zero.")
        if max_nodes < min_nodes:
            raise ValueError(f"The maximum number of rendezvous nodes ({max_nodes}) must be greater than or equal "
                             f"to the minimum number of rendezvous nodes ({min_nodes}).")
        self.backend, self.endpoint, self.run_id, self.local_addr = backend, endpoint, run_id, local_addr
        self.min_nodes, self.max_nodes = min_nodes, max_nodes
        self.config = kwargs

    def get(self, key: str, default: Any = None) -> Any:
        """An option."""
        return self.config.get(key, default)

    def get_as_bool(self, key: str, default: bool | None = None) -> bool | None:
        """An option that is a bool, 1 or 0, or one of their names."""
        value = self.get(key, default)
        if value is None or isinstance(value, bool):
            return value
        known = _BOOLS.get(str(value).lower()) if isinstance(value, (int, str)) else None
        if known is None:
            raise ValueError(f"The rendezvous configuration option '{key}' does not represent a valid boolean value.")
        return known

    def get_as_int(self, key: str, default: int | None = None) -> int | None:
        """An option that is an integer, or the text of one."""
        value = self.get(key, default)
        try:
            return None if value is None else int(value)
        except ValueError:
            raise ValueError(f"The rendezvous configuration option '{key}' does not represent a valid integer "
                             "value.") from None

    def seconds(self, name: str, default: float) -> float:
        """An option that is a number of seconds."""
        return float(self.get(name, default))


@dataclass
class RendezvousInfo:
    """A round: the processes of each node in the order of its rank, and where its workers find their store.

    Arguments:
        number: the number of the round
        rank: the rank of this process or node
        local_world_sizes: the number of workers on each node, by its rank
        master_addr: the host of the store
        master_port: the port of the store
        store: the store that the workers use
        worker_server: a server of the workers' state; None for none

    Example:
        >>> info = dist.elastic.rendezvous.RendezvousInfo(0, 1, [8, 8], "host", 29500, store=None, worker_server=None)
        >>> info.rank, sum(info.local_world_sizes)
        (1, 16)
    """

    number: int
    rank: int
    local_world_sizes: list[int]
    master_addr: str
    master_port: int
    store: Store
    worker_server: Any          # keeps the workers' store alive, on the node of rank 0


def shares_store() -> bool:
    """Whether torchrun serves the workers' store, rather than rank 0.

    TORCH_DISABLE_SHARE_RDZV_TCP_STORE says it. Without it: not where torch is installed as well, since torch's programs
    have stores of another protocol.
    """
    setting = os.environ.get("TORCH_DISABLE_SHARE_RDZV_TCP_STORE")
    return setting != "1" if setting else is_active() or find_spec("torch") is None


class RendezvousHandler:
    """Finds the other nodes of a job.

    Arguments:
        params: a RendezvousParameters
        local_world_size: the number of workers on this node

    Example:
        >>> rendezvous = dist.elastic.rendezvous
        >>> parameters = rendezvous.RendezvousParameters("c10d", "localhost:0", "job", min_nodes=1, max_nodes=1)
        >>> info = rendezvous.RendezvousHandler(parameters, local_world_size=2).next_rendezvous()
        >>> info.rank, info.local_world_sizes
        (0, [2])
    """

    def __init__(self, params: RendezvousParameters, local_world_size: int) -> None:
        if params.backend not in ("c10d", "static"):
            raise ValueError(f"The rendezvous backend '{params.backend}' is not registered: there are c10d and static.")
        self._params, self._local_world_size = params, local_world_size
        self._node = f"{socket.gethostname()}_{os.getpid()}_{uuid.uuid4().hex[:8]}"
        self._round, self._size, self._worker_server, self._serves = -1, 0, None, False
        self._heartbeats: dict[str, tuple[int, float]] = {}      # node -> (its count, when this node first saw it)
        self._interval = params.seconds("keep_alive_interval", 5)
        self._misses = params.get_as_int("keep_alive_max_attempt", 3)
        self._ended = threading.Event()
        self._host, self._port = parse_rendezvous_endpoint(params.endpoint, DEFAULT_PORT)
        try:
            whole = self._connect()
        except DistError as error:
            raise RendezvousConnectionError(f"The connection to the C10d store at {params.endpoint} has failed: {error}"
                                            ) from error
        self._store = PrefixStore(f"torchrun/{params.run_id}", whole)
        if params.max_nodes > 1:
            threading.Thread(target=self._send_heartbeats, args=(self._store.clone(),), name="heartbeats",
                             daemon=True).start()

    def _connect(self):
        params = self._params
        timeout = timedelta(seconds=params.seconds("read_timeout", 60))
        self._address = params.local_addr or ("localhost" if params.max_nodes == 1 else None)
        if params.max_nodes == 1:
            return HashStore()
        serve = (params.get_as_int("rank") == 0 if params.backend == "static"
                 else params.get_as_bool("is_host", is_local_address(self._host)))
        if serve:
            try:
                store = TCPStore(self._host, self._port, is_master=True, timeout=timeout, multi_tenant=True)
            except DistError:
                if params.backend == "static":
                    raise                       # otherwise another torchrun of this machine serves it
            else:
                self._address, self._serves = self._address or self._host, True
                return store
        store = TCPStore(self._host, self._port, timeout=timeout)
        self._address = self._address or store.local_address
        return store

    def _send_heartbeats(self, store):
        """Counts up a key of the store every few seconds. Other nodes see from it that this node is alive."""
        with contextlib.suppress(DistError):
            while not self._ended.is_set():
                store.add(f"alive/{self._node}", 1)
                self._ended.wait(self._interval)

    def _is_dead(self, node):
        if node == self._node or not self._store.check([f"alive/{node}"]):
            return False
        count, now = self._store.add(f"alive/{node}", 0), time.monotonic()
        known, since = self._heartbeats.get(node, (None, now))
        if count != known:
            self._heartbeats[node] = count, now
            return False
        return now - since > self._interval * self._misses

    def _update(self, change):
        """Apply `change` to the state, again if another node changes it first. Returns the new state."""
        try:
            while True:
                old = self._store.compare_set("state", "", _FIRST_STATE)
                state = json.loads(old)
                change(state)
                new = json.dumps(state)
                if new.encode() == old or self._store.compare_set("state", old, new) == new.encode():
                    return state
        except DistError as error:
            raise RendezvousConnectionError(f"The store of the job at {self._params.endpoint} is gone, and with it the "
                                            f"node that served it: {error}") from error

    def _remove_dead_nodes(self, state):
        for node in [*state["nodes"], *state["waiting"]]:
            if node not in state["done"] and self._is_dead(node):
                state["nodes"].pop(node, None)
                state["waiting"].pop(node, None)
        if state["complete"] and not state["nodes"]:
            state["complete"], state["round"], state["done"] = False, state["round"] + 1, []
            state["nodes"], state["waiting"] = state["waiting"], {}

    def _leave(self, state):
        state["nodes"].pop(self._node, None)
        state["waiting"].pop(self._node, None)

    def next_rendezvous(self) -> RendezvousInfo:
        """Leave the round, wait for the other nodes, and begin the next one with them."""
        params = self._params
        timeout = params.seconds("join_timeout", params.seconds("timeout", 600))
        last_call = params.seconds("last_call_timeout", 30)
        deadline, enough_since = time.monotonic() + timeout, None
        me = [str(params.config["rank"]).zfill(8) if params.backend == "static" else self._address, self._address,
              self._local_world_size]

        def join(state):
            if state["complete"] and state["round"] == self._round:
                state["nodes"].pop(self._node, None)
            self._remove_dead_nodes(state)
            if state["complete"]:
                if self._node not in state["nodes"]:
                    state["waiting"][self._node] = me
            else:
                state["nodes"][self._node] = me
                enough = enough_since is not None and time.monotonic() - enough_since >= last_call
                state["complete"] = len(state["nodes"]) == params.max_nodes or enough

        while True:
            state = self._update(join)
            if state["closed"]:
                raise RendezvousClosedError(state["closed"])
            if state["complete"] and self._node in state["nodes"]:
                break
            if state["done"]:
                raise RendezvousGracefulExitError("The other nodes have finished the job.")
            if len(state["nodes"]) < params.min_nodes:
                enough_since = None
            elif enough_since is None:
                enough_since = time.monotonic()
            if time.monotonic() > deadline:
                self._update(self._leave)
                raise RendezvousTimeoutError(f"{len(state['nodes'])} of at least {params.min_nodes} nodes have come "
                                             f"within {timeout:g} s.")
            time.sleep(_POLL)
        self._round, self._size = state["round"], len(state["nodes"])
        return self._info(state)

    def _info(self, state):
        nodes = sorted(state["nodes"], key=lambda node: (state["nodes"][node][0], node))
        rank = nodes.index(self._node)
        store = PrefixStore(f"round_{self._round}", self._store)
        if rank == 0:
            self._worker_server = None
            fixed = self._params.backend == "static" and (self._params.max_nodes == 1 or self._round == 0)
            port = self._port if fixed else 0
            if shares_store():
                self._worker_server = TCPStore(self._address, port, is_master=True, multi_tenant=True)
                port = self._worker_server.port
            elif port == 0 or self._params.max_nodes > 1:
                port = get_free_port()
            store.set("master", json.dumps([self._address, port]))
        address, port = json.loads(store.get("master"))
        sizes = [state["nodes"][node][2] for node in nodes]
        return RendezvousInfo(self._round, rank, sizes, address, port, store, self._worker_server)

    def nodes_have_changed(self) -> bool:
        """Whether the round is over: a node has left or died, or a new one waits. An error if the job is closed."""
        if self._params.max_nodes == 1:
            return False
        state = self._update(self._remove_dead_nodes)
        if state["closed"]:
            raise RendezvousClosedError(state["closed"])
        return (state["round"] != self._round or len(state["nodes"]) < self._size
                or (bool(state["waiting"]) and len(state["nodes"]) < self._params.max_nodes))

    def num_nodes_waiting(self) -> int:
        """How many nodes wait for the next round."""
        return len(self._update(self._remove_dead_nodes)["waiting"])

    def exit_barrier(self) -> None:
        """Called when this node is done. Waits until the others of the round are."""
        if self._params.max_nodes == 1:
            return

        def done(state):
            self._remove_dead_nodes(state)
            if self._node not in state["done"]:
                state["done"].append(self._node)

        deadline = time.monotonic() + self._params.seconds("exit_barrier_timeout", 300)
        while time.monotonic() < deadline:
            state = self._update(done)
            if state["closed"]:
                raise RendezvousClosedError(state["closed"])
            if state["nodes"].keys() <= set(state["done"]):
                return
            time.sleep(_POLL)

    def can_restart(self) -> bool:
        """Whether another round is possible: not once a node is done."""
        return not self._update(lambda state: None)["done"]

    def set_closed(self, reason: str) -> None:
        """End the job on all nodes."""
        self._update(lambda state: state.update(closed=state["closed"] or reason))

    def shutdown(self) -> None:
        """Leave the job. The node that serves the store waits until the others have left."""
        deadline = time.monotonic() + self._interval * self._misses
        with contextlib.suppress(RendezvousConnectionError):
            while True:
                state = self._update(lambda state: (self._leave(state), self._remove_dead_nodes(state)))
                if not (self._serves and (state["nodes"] or state["waiting"])) or time.monotonic() > deadline:
                    break
                time.sleep(_POLL)
        self._ended.set()
        self._worker_server = None


_FIRST_STATE = json.dumps({"round": 0, "complete": False, "closed": "", "nodes": {}, "waiting": {}, "done": []})


__getattr__ = module_getattr(__name__)
