"""functorch.experimental.control_flow: torch.cond and its like under their older name."""
from mindtorch._functorch.control_flow import cond, map

__all__ = ["cond", "map"]
