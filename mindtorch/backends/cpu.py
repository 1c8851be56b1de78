"""torch.backends.cpu."""

from __future__ import annotations

__all__ = ["get_cpu_capability"]


def get_cpu_capability() -> str:
    """ "DEFAULT": kernels are NumPy's, which picks vector instructions by itself.

    Example:
        >>> torch.backends.cpu.get_cpu_capability()
        'DEFAULT'
    """
    return "DEFAULT"
