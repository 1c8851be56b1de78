"""torch.backends.cpu."""

__all__ = ["get_cpu_capability"]


def get_cpu_capability():
    """ "DEFAULT": kernels are NumPy's, which picks vector instructions by itself."""
    return "DEFAULT"
