"""torch.distributed.elastic.utils."""
from mindtorch.distributed.elastic.utils.api import get_env_variable_or_raise, macros
from mindtorch.distributed.elastic.utils.distributed import get_free_port, get_socket_with_port

__all__ = ["get_env_variable_or_raise", "get_free_port", "get_socket_with_port", "macros"]
