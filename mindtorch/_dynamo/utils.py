"""torch._dynamo.utils: what a compiler could do."""

__all__ = ["is_compile_supported"]


def is_compile_supported(device_type):
    """False: there is no compiler for any device."""
    return False
