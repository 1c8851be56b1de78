"""torch.distributed.elastic.multiprocessing.api: the worker processes, by the name of torch's module."""
from mindtorch._submodules import module_getattr
from mindtorch.distributed.elastic.multiprocessing import (
    DefaultLogsSpecs,
    LogsDest,
    LogsSpecs,
    MultiprocessContext,
    PContext,
    RunProcsResult,
    SignalException,
    Std,
    SubprocessContext,
    to_map,
)

__all__ = ["DefaultLogsSpecs", "LogsDest", "LogsSpecs", "MultiprocessContext", "PContext", "RunProcsResult",
           "SignalException", "Std", "SubprocessContext", "to_map"]

__getattr__ = module_getattr(__name__)
