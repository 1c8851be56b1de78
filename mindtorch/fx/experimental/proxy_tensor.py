"""torch.fx.experimental.proxy_tensor."""
from __future__ import annotations

from typing import Any

from mindtorch._refusals.modules import refused_names

__all__ = ["get_proxy_mode"]


def get_proxy_mode() -> Any:
    """None: tensors are never traced, only modules and functions are (torch.fx.symbolic_trace)."""
    return


__getattr__ = refused_names(__name__)
