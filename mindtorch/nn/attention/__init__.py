"""torch.nn.attention: which way scaled_dot_product_attention may be computed. Each device has one: nothing changes."""
from contextlib import contextmanager
from enum import IntEnum

from mindtorch.backends import cuda

__all__ = ["SDPBackend", "sdpa_kernel"]


class SDPBackend(IntEnum):
    """Ways to compute attention."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextmanager
def sdpa_kernel(backends, set_priority=False):
    """Allows only those ways for the length of a `with` block. The switches say so; the computation is the same."""
    allowed = [backends] if isinstance(backends, SDPBackend) else list(backends)
    with cuda.sdp_kernel(enable_flash=SDPBackend.FLASH_ATTENTION in allowed, enable_math=SDPBackend.MATH in allowed,
                         enable_mem_efficient=SDPBackend.EFFICIENT_ATTENTION in allowed,
                         enable_cudnn=SDPBackend.CUDNN_ATTENTION in allowed):
        yield {}
