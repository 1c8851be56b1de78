"""torch.distributed.elastic.agent.server: the agent of a node starts the workers, watches and restarts them."""
from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from string import Template
from typing import Any

from mindtorch._submodules import module_getattr
from mindtorch.distributed.elastic.guard import MARK, Guard
from mindtorch.distributed.elastic.multiprocessing import LogsSpecs, RunProcsResult, start_processes
from mindtorch.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure
from mindtorch.distributed.elastic.rendezvous import RendezvousHandler, RendezvousInfo, shares_store

__all__ = ["LocalElasticAgent", "RunResult", "WorkerSpec", "WorkerState"]


class WorkerState(StrEnum):
    """The state of the workers of a node."""

    HEALTHY = "HEALTHY"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"


@dataclass
class WorkerSpec:
    """What a node runs: `local_world_size` processes of `entrypoint`, a command or a function, with `args`.

    Arguments:
        role: the name of the workers' task
        local_world_size: the number of workers on this node
        rdzv_handler: the RendezvousHandler
        run_id: the name of the job
        entrypoint: a function, or a command as a str
        args: the arguments of the function or command, by local rank
        max_restarts: how often failed workers are started again
        monitor_interval: the seconds between two looks at the workers

    Example:
        >>> elastic = dist.elastic
        >>> parameters = elastic.rendezvous.RendezvousParameters("c10d", "localhost:0", "job", 1, 1)
        >>> handler = elastic.rendezvous.RendezvousHandler(parameters, local_world_size=2)
        >>> spec = elastic.agent.server.WorkerSpec("trainer", 2, handler, "job", "python", ("-c", "pass"))
        >>> spec.local_world_size, spec.entrypoint
        (2, 'python')
    """

    role: str
    local_world_size: int
    rdzv_handler: RendezvousHandler
    run_id: str
    entrypoint: Callable | str
    args: tuple = ()
    max_restarts: int = 3
    monitor_interval: float = 0.1


@dataclass
class RunResult:
    """By global rank: what functions have returned, or how processes have failed.

    Arguments:
        state: the state, a letter or a member of an enumeration
        return_values: what each rank has returned
        failures: how ranks have failed: rank -> ProcessFailure

    Example:
        >>> server = dist.elastic.agent.server
        >>> server.RunResult(server.WorkerState.SUCCEEDED, return_values={0: "done"}).is_failed()
        False
    """

    state: WorkerState
    return_values: dict[int, Any] = field(default_factory=dict)
    failures: dict[int, ProcessFailure] = field(default_factory=dict)

    def is_failed(self) -> bool:
        """Whether a rank has failed."""
        return self.state == WorkerState.FAILED


class LocalElasticAgent:
    """Runs the workers of this node as processes.

    Arguments:
        spec: a WorkerSpec
        logs_specs: a LogsSpecs: where output goes
        start_method: how processes are started: "spawn", "fork" or "forkserver"
        log_line_prefix_template: what comes before each line of output; None means the role and the rank
        signals: the names of signals that end the workers, with commas
        virtual_local_rank: whether each worker sees its device alone, as number 0
        shutdown_timeout: the seconds that workers have to end before they are killed

    Example:
        >>> import sys
        >>> elastic = dist.elastic
        >>> parameters = elastic.rendezvous.RendezvousParameters("c10d", "localhost:0", "job", 1, 1)
        >>> handler = elastic.rendezvous.RendezvousHandler(parameters, local_world_size=2)
        >>> spec = elastic.agent.server.WorkerSpec("trainer", 2, handler, "job", sys.executable, ("-c", "pass"))
        >>> agent = elastic.agent.server.LocalElasticAgent(spec, elastic.multiprocessing.DefaultLogsSpecs())
        >>> agent.run().state
        <WorkerState.SUCCEEDED: 'SUCCEEDED'>
    """

    def __init__(self, spec: WorkerSpec, logs_specs: LogsSpecs, start_method: str = "spawn",
                 log_line_prefix_template: str | None = None, signals: str = "", virtual_local_rank: bool = False,
                 shutdown_timeout: float = 30) -> None:
        self._spec, self._logs_specs, self._start_method = spec, logs_specs, start_method
        self._prefix_template, self._signals = log_line_prefix_template, signals
        self._virtual_local_rank, self._shutdown_timeout = virtual_local_rank, shutdown_timeout
        self._guard, self._context, self._restarts = Guard(), None, 0

    def run(self) -> RunResult:
        """Runs the workers until they succeed, or fail more than `max_restarts` times."""
        spec, rendezvous = self._spec, self._spec.rdzv_handler
        while True:
            info = rendezvous.next_rendezvous()
            self._start_workers(info)
            result = self._monitor()
            if result is None:                          # another node has left or come
                self._stop_workers()
                continue
            if not result.is_failed():
                rendezvous.exit_barrier()
                return self._run_result(info, WorkerState.SUCCEEDED, result)
            failed = self._run_result(info, WorkerState.FAILED, result)
            if self._restarts == spec.max_restarts or not rendezvous.can_restart():
                return failed
            self._restarts += 1
            rank, failure = ChildFailedError(spec.role, failed.failures).get_first_failure()
            print(f"torchrun: rank {rank} failed ({_ending(failure)}); restart {self._restarts} of at most "
                  f"{spec.max_restarts}", file=sys.stderr, flush=True)

    def _start_workers(self, info):
        spec = self._spec
        count, first = spec.local_world_size, sum(info.local_world_sizes[:info.rank])
        envs = {local_rank: self._environment(info, local_rank, first) for local_rank in range(count)}
        args = {local_rank: tuple(_with_macros(argument, envs[local_rank]) for argument in spec.args)
                for local_rank in range(count)}
        prefixes = None
        if self._prefix_template is not None:
            prefixes = {local_rank: Template(self._prefix_template).safe_substitute(
                role_name=spec.role, rank=env["RANK"], local_rank=local_rank) for local_rank, env in envs.items()}
        self._context = start_processes(spec.role.removesuffix("_role"), spec.entrypoint, args, envs, self._logs_specs,
                                        prefixes, self._start_method)
        self._context.shutdown_timeout = self._shutdown_timeout
        self._guard.watch(self._context.pids().values())

    def _environment(self, info: RendezvousInfo, local_rank, first):
        spec, world_size = self._spec, str(sum(info.local_world_sizes))
        rank = str(first + local_rank)
        env = {
            "RANK": rank, "LOCAL_RANK": str(local_rank), "WORLD_SIZE": world_size,
            "LOCAL_WORLD_SIZE": str(spec.local_world_size),
            "GROUP_RANK": str(info.rank), "GROUP_WORLD_SIZE": str(len(info.local_world_sizes)),
            "ROLE_RANK": rank, "ROLE_NAME": spec.role, "ROLE_WORLD_SIZE": world_size,
            "MASTER_ADDR": info.master_addr, "MASTER_PORT": str(info.master_port),
            "TORCHELASTIC_RESTART_COUNT": str(self._restarts), "TORCHELASTIC_MAX_RESTARTS": str(spec.max_restarts),
            "TORCHELASTIC_RUN_ID": spec.run_id, "TORCHELASTIC_USE_AGENT_STORE": str(shares_store()),
            "TORCHELASTIC_SIGNALS_TO_HANDLE": self._signals, MARK: self._guard.mark,
        }
        if self._virtual_local_rank:
            visible = os.environ.get("ASCEND_RT_VISIBLE_DEVICES")
            devices = visible.split(",") if visible else [str(number) for number in range(spec.local_world_size)]
            env["LOCAL_RANK"], env["ASCEND_RT_VISIBLE_DEVICES"] = "0", devices[local_rank]
        return env

    def _monitor(self):
        """The result of the workers, or None where this round is over because of another node."""
        while True:
            result = self._context.wait(self._spec.monitor_interval, self._spec.monitor_interval)
            if result is not None:
                return result
            if self._spec.rdzv_handler.nodes_have_changed():
                return None

    def _run_result(self, info, state, result: RunProcsResult):
        first = sum(info.local_world_sizes[:info.rank])
        return RunResult(state, {first + rank: value for rank, value in result.return_values.items()},
                         {first + rank: failure for rank, failure in result.failures.items()})

    def _stop_workers(self, signal=None):
        if self._context is not None:
            self._context.close(signal)

    def close(self, signal: Any = None) -> None:
        """End the workers and all that they have started."""
        try:
            self._stop_workers(signal)
        finally:
            self._guard.close()


def _ending(failure):
    return failure.signal_name() if failure.exitcode < 0 else f"exit code {failure.exitcode}"


def _with_macros(argument, env):
    if not isinstance(argument, str):
        return argument
    return Template(argument).safe_substitute(local_rank=env["LOCAL_RANK"])


__getattr__ = module_getattr(__name__)
