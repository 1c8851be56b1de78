"""torch.cuda.amp.common."""

__all__ = ["amp_definitely_not_available"]


def amp_definitely_not_available():
    """True: there is no CUDA."""
    return True
