"""torch.ops.profiler: the ranges of record_function as operators, which programs put into graphs of torch.fx."""
from itertools import count

import mindtorch
from mindtorch._core.python import profiling
from mindtorch._library import registry
from mindtorch._library.schema import parse_schema

__all__ = []

_open = {}              # handle -> the range of an operator, None where no profile records the thread
_handles = count()


def _enter(name, args=None):
    handle = next(_handles)
    _open[handle] = profiling.begin_user_range(name)
    return mindtorch.tensor(handle, device="cpu")


def _exit(handle):
    profiling.end_user_range(_open.pop(handle.item(), None))


class _Operators:
    """The operators of the namespace. torch's handles are tensors too."""

    _kernels = {"_record_function_enter": ("(str name, str? args=None) -> Tensor", _enter),
                "_record_function_exit": ("(Tensor handle) -> ()", _exit)}

    def names(self):
        return list(self._kernels)

    def __call__(self, name):
        if name in self._kernels:
            arguments, kernel = self._kernels[name]
            yield parse_schema(f"profiler::{name}{arguments}"), kernel


registry.provide("profiler", _Operators())
