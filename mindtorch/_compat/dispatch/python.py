"""torch._dispatch.python: which of an operator's kernels in Python run.

In torch such kernels may stand before those in C++, and a switch lets them. Here an operator has one kernel for each
device, whatever it is written in: there is nothing to switch.
"""
from contextlib import nullcontext

__all__ = ["enable_python_dispatcher", "no_python_dispatcher"]
enable_python_dispatcher = no_python_dispatcher = nullcontext
