"""torch.utils."""
from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mindtorch.utils import checkpoint as checkpoint
    from mindtorch.utils import data as data
    from mindtorch.utils import deterministic as deterministic
    from mindtorch.utils import dlpack as dlpack
    from mindtorch.utils import hooks as hooks
    from mindtorch.utils._swap import swap_tensors as swap_tensors
else:
    from mindtorch._refusals.modules import module_getattr as _module_getattr

    _lazy = _module_getattr(__name__)

    def __getattr__(name):
        if name == "swap_tensors":
            from mindtorch.utils._swap import swap_tensors
            return swap_tensors
        return _lazy(name)
