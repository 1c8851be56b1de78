"""ProcessGroupGloo: the engine of the CPU, MPI, by the name that programs for gloo have for it."""
from __future__ import annotations

from datetime import timedelta
from typing import Any

from mindtorch import device
from mindtorch.distributed._backend import Backend, DistributedBackendOptions
from mindtorch.distributed._process_group import BackendType, ProcessGroup
from mindtorch.distributed.constants import default_pg_timeout

__all__ = ["ProcessGroupGloo"]


class _Device:
    """A network interface, as gloo takes one; MPI chooses its own."""

    def __init__(self, hostname: str = "", interface: str = "", lazy_init: bool | None = None) -> None:
        self.hostname, self.interface = hostname, interface


class _Options(Backend.Options):
    """`_timeout` counts. Devices and threads are MPI's own."""

    def __init__(self) -> None:
        super().__init__("gloo", default_pg_timeout)
        self._devices: list[_Device] = []
        self._threads = 2


class ProcessGroupGloo(ProcessGroup):
    """All ranks of a job, on the CPU, found by a store: MPI does the work.

    Arguments:
        store: the store through which the ranks find each other
        size: the number of ranks
        options: options of the backend

    Example:
        >>> group = dist.ProcessGroupGloo(dist.HashStore(), 0, 1)
        >>> x = torch.ones(2)
        >>> group.allreduce(x).wait()
        True
    """

    Options = _Options
    create_device = staticmethod(_Device)
    create_default_device = staticmethod(_Device)

    def __init__(self, store: Any, rank: int, size: int, options: Any = default_pg_timeout) -> None:
        """`options` may be the time-out alone."""
        from mindtorch.distributed import _mpi  # mpi4py is an extra
        super().__init__(store, rank, size)
        timeout = options._timeout if isinstance(options, Backend.Options) else options
        if not isinstance(timeout, timedelta):
            timeout = timedelta(seconds=timeout)
        _mpi.start(store, rank, size, timeout)
        engine = _mpi.create_backend(DistributedBackendOptions(store, rank, size, timeout, "", list(range(size))))
        self._register_backend(device("cpu"), BackendType.GLOO, engine)
        self._set_default_backend(BackendType.GLOO)


ProcessGroupGloo._Options = _Options
