"""torch.fx.experimental.proxy_tensor."""
from mindtorch._refusals.modules import refused_names

__all__ = ["get_proxy_mode"]


def get_proxy_mode():
    """None: tensors are never traced, only modules and functions are (torch.fx.symbolic_trace)."""
    return


__getattr__ = refused_names(__name__)
