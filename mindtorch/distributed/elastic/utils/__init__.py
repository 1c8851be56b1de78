"""torch.distributed.elastic.utils."""
from mindtorch.distributed.elastic.utils.distributed import get_free_port

__all__ = ["get_free_port"]
