"""torch.__config__: what this was built with, as text."""
from __future__ import annotations

import platform

import numpy

import mindtorch
from mindtorch._compat import settings as _settings
from mindtorch.version import mindtorch as own_version

__all__ = ["parallel_info", "show"]


def show() -> str:
    """The versions of mindtorch, of the torch that it stands for, and of what it computes with."""
    blas = numpy.show_config(mode="dicts").get("Build Dependencies", {}).get("blas", {})
    lines = [f"mindtorch {own_version} (torch {mindtorch.__version__})", f"Python {platform.python_version()}",
             f"NumPy {numpy.__version__}, BLAS: {blas.get('name', 'unknown')} {blas.get('version', '')}".rstrip()]
    if mindtorch.npu.is_available():
        lines.append(f"CANN {mindtorch.npu.toolkit()}")
    return "mindtorch built with:\n" + "".join(f"  - {line}\n" for line in lines)


def parallel_info() -> str:
    """How many threads compute."""
    return (f"threads of the BLAS library: {_settings.get_num_threads()}\n"
            f"threads of other operators: 1\n")
