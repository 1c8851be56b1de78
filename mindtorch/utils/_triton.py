"""torch.utils._triton: whether kernels can be written in Triton."""

__all__ = ["has_triton", "has_triton_package"]


def has_triton():
    """False: there is no device for Triton."""
    return False


has_triton_package = has_triton
