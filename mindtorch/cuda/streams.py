"""torch.cuda.streams: there are none."""
from mindtorch.cuda import Event, Stream  # noqa: F401 - torch has no __all__ here
