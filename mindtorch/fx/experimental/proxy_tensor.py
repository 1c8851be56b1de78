"""torch.fx.experimental.proxy_tensor."""
__all__ = ["get_proxy_mode"]


def get_proxy_mode():
    """None: tensors are never traced, only modules and functions are (torch.fx.symbolic_trace)."""
    return
