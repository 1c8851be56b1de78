"""torch.distributed: processes that communicate, by MPI on the CPU and by HCCL on NPUs."""
# ruff: noqa: F401, F403 - the names are here for programs
from __future__ import annotations

from mindtorch import ops as _ops
from mindtorch._submodules import module_getattr
from mindtorch._tensor.docstrings import complete as _complete_docstrings
from mindtorch.distributed import device_mesh, distributed_c10d
from mindtorch.distributed._debug import (
    DebugLevel,
    get_debug_level,
    set_debug_level,
    set_debug_level_from_env,
)
from mindtorch.distributed._module_states import _broadcast_coalesced, _verify_params_across_processes
from mindtorch.distributed._options import _make_nccl_premul_sum
from mindtorch.distributed._reducer import GradBucket
from mindtorch.distributed._store_collectives import _ControlCollectives, _StoreCollectives
from mindtorch.distributed._stores import (
    DistBackendError,
    DistError,
    DistNetworkError,
    DistStoreError,
    FileStore,
    HashStore,
    PrefixStore,
    QueueEmptyError,
    Store,
    TCPStore,
)
from mindtorch.distributed._work import Work as _Work
from mindtorch.distributed.device_mesh import DeviceMesh, init_device_mesh
from mindtorch.distributed.distributed_c10d import *
from mindtorch.distributed.distributed_c10d import (
    _all_gather_base,
    _coalescing_manager,
    _CoalescingManager,
    _get_process_group_name,
    _rank_not_in_group,
    _reduce_scatter_base,
)
from mindtorch.distributed.rendezvous import register_rendezvous_handler, rendezvous

__all__ = distributed_c10d.__all__ + [      # noqa: RUF005 - so that linters see which names
    "DeviceMesh", "DistBackendError", "DistError", "DistNetworkError", "DistStoreError", "FileStore", "GradBucket",
    "HashStore", "QueueEmptyError", "TCPStore", "device_mesh", "init_device_mesh", "is_available",
    "register_rendezvous_handler", "rendezvous", "set_debug_level", "set_debug_level_from_env"]


def is_available() -> bool:
    """True.

    Example:
        >>> dist.is_available()
        True
    """
    return True


set_debug_level_from_env()
_ops.import_on_use(("_c10d_functional", "c10d_functional", "c10d"), "mindtorch.distributed._collective_operators")
_complete_docstrings(globals(), "distributed")
__getattr__ = module_getattr(__name__)
