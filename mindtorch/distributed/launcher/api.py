"""Starts the agent of a node."""
from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mindtorch.distributed.elastic.agent.server import LocalElasticAgent, WorkerSpec
from mindtorch.distributed.elastic.multiprocessing import DefaultLogsSpecs, LogsSpecs, SignalException
from mindtorch.distributed.elastic.multiprocessing.errors import ChildFailedError
from mindtorch.distributed.elastic.rendezvous import (
    RendezvousClosedError,
    RendezvousConnectionError,
    RendezvousGracefulExitError,
    RendezvousHandler,
    RendezvousParameters,
)

__all__ = ["LaunchConfig", "elastic_launch", "launch_agent"]


@dataclass
class LaunchConfig:
    """The arguments of torchrun.

    Arguments:
        min_nodes: the least number of nodes
        max_nodes: the largest number of nodes
        nproc_per_node: the number of processes on each node
        logs_specs: a LogsSpecs: where output goes; None means to the terminal
        run_id: the name of the job
        role: the name of the workers' task
        rdzv_endpoint: host:port where nodes find each other
        rdzv_backend: "c10d" or "static"
        rdzv_configs: further options of the rendezvous, as a dict
        rdzv_timeout: the seconds that nodes wait for each other; -1 leaves it to rdzv_configs
        max_restarts: how often failed workers are started again
        monitor_interval: the seconds between two looks at the workers
        start_method: how processes are started: "spawn", "fork" or "forkserver"
        log_line_prefix_template: what comes before each line of output; None means the role and the rank
        local_addr: the address of this node; None finds it
        signals_to_handle: the names of signals that end the workers, with commas
        virtual_local_rank: whether each worker sees its device alone, as number 0
        shutdown_timeout: the seconds that workers have to end before they are killed

    Example:
        >>> config = dist.launcher.LaunchConfig(min_nodes=1, max_nodes=1, nproc_per_node=2, max_restarts=0)
        >>> config.nproc_per_node, config.rdzv_configs
        (2, {'timeout': 900})
    """

    min_nodes: int
    max_nodes: int
    nproc_per_node: int
    logs_specs: LogsSpecs | None = None
    run_id: str = ""
    role: str = "default_role"
    rdzv_endpoint: str = ""
    rdzv_backend: str = "c10d"
    rdzv_configs: dict[str, Any] = field(default_factory=dict)
    rdzv_timeout: int = -1
    max_restarts: int = 3
    monitor_interval: float = 0.1
    start_method: str = "spawn"
    log_line_prefix_template: str | None = None
    local_addr: str | None = None
    signals_to_handle: str = "SIGTERM,SIGINT,SIGHUP,SIGQUIT"
    virtual_local_rank: bool = False
    shutdown_timeout: float | None = None

    def __post_init__(self) -> None:
        if self.rdzv_timeout != -1:
            self.rdzv_configs["timeout"] = self.rdzv_timeout
        elif "timeout" not in self.rdzv_configs:
            self.rdzv_configs["timeout"] = 900
        if self.logs_specs is None:
            self.logs_specs = DefaultLogsSpecs()
        if self.shutdown_timeout is None:
            self.shutdown_timeout = float(os.environ.get("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "30"))


class elastic_launch:
    """Calling it runs `entrypoint` in the processes of this node: {rank: what the function has returned}.

    Arguments:
        config: a LaunchConfig
        entrypoint: a function, or a command as a str

    Example:
        >>> import math
        >>> config = dist.launcher.LaunchConfig(min_nodes=1, max_nodes=1, nproc_per_node=2)
        >>> dist.launcher.elastic_launch(config, math.sqrt)(4)
        {0: 2.0, 1: 2.0}
    """

    def __init__(self, config: LaunchConfig, entrypoint: Callable | str | None) -> None:
        self._config, self._entrypoint = config, entrypoint

    def __call__(self, *args: Any) -> dict[int, Any]:
        return launch_agent(self._config, self._entrypoint, list(args))


@contextlib.contextmanager
def _signals_raise(names):
    """Has each of these signals raise SignalException in the main thread, once: the workers are ended only once."""
    numbers = [getattr(signal, name.strip()) for name in names.split(",") if name.strip()]
    if threading.current_thread() is not threading.main_thread():
        numbers = []

    def received(number, _):
        for other in numbers:
            signal.signal(other, signal.SIG_IGN)
        raise SignalException(f"Process {os.getpid()} got signal: {signal.Signals(number).name}",
                              signal.Signals(number))

    before = {number: signal.signal(number, received) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def launch_agent(config: LaunchConfig, entrypoint: Callable | str | None, args: list[Any]) -> dict[int, Any]:
    """Run the workers of this node; what functions return by global rank. ChildFailedError if a rank fails.

    Arguments:
        config: a LaunchConfig
        entrypoint: a function, or a command as a str
        args: the arguments of the function or command

    Example:
        >>> import math
        >>> config = dist.launcher.LaunchConfig(min_nodes=1, max_nodes=1, nproc_per_node=2)
        >>> dist.launcher.launch_agent(config, math.sqrt, [9])
        {0: 3.0, 1: 3.0}
    """
    if entrypoint is None:
        raise ValueError("launch_agent needs a command or a function")
    run_id = config.run_id or str(uuid.uuid4().int % 100_000)
    name = entrypoint if isinstance(entrypoint, str) else entrypoint.__qualname__
    if name == sys.executable:
        name = next((each for each in map(str, args) if each == "-c" or not each.startswith("-")), name)
    with _signals_raise(config.signals_to_handle):
        parameters = RendezvousParameters(config.rdzv_backend, config.rdzv_endpoint, run_id, config.min_nodes,
                                          config.max_nodes, config.local_addr, **config.rdzv_configs)
        rendezvous = RendezvousHandler(parameters, config.nproc_per_node)
        spec = WorkerSpec(config.role, config.nproc_per_node, rendezvous, run_id, entrypoint, tuple(args),
                          config.max_restarts, config.monitor_interval)
        agent = LocalElasticAgent(spec, config.logs_specs, config.start_method, config.log_line_prefix_template,
                                  config.signals_to_handle, config.virtual_local_rank, config.shutdown_timeout)
        here, reason = socket.gethostname(), None
        try:
            result = agent.run()
            if result.is_failed():
                error = ChildFailedError(name, result.failures)
                rank, failure = error.get_first_failure()
                reason = f"rank {rank} failed on {here}: exit code {failure.exitcode}"
                raise error
            config.logs_specs.discard()
            return result.return_values
        except RendezvousGracefulExitError as error:
            print(f"torchrun: this node is not needed: {error}", file=sys.stderr)
            return {}
        except SignalException as error:
            reason = f"torchrun on {here} got {error.sigval.name}"
            agent.close(error.sigval)
            raise
        except RendezvousClosedError:
            raise
        except BaseException as error:
            reason = reason or f"torchrun on {here} failed: {error!r}"
            raise
        finally:
            agent.close()
            if reason is not None:
                with contextlib.suppress(RendezvousConnectionError):
                    rendezvous.set_closed(reason)
            rendezvous.shutdown()
