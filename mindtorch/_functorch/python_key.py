"""torch._functorch.python_key: where older programs import make_fx from."""
from mindtorch.fx.experimental.proxy_tensor import make_fx

__all__ = ["make_fx"]
