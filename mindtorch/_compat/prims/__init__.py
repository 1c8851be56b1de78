"""torch._prims: `utils`, which is torch._prims_common. The operators are not here: torch.ops.aten has what they do."""
from mindtorch._compat import prims_common as utils

__all__ = ["utils"]
