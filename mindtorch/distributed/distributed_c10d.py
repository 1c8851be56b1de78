"""torch.distributed.distributed_c10d: process groups and collectives."""
# ruff: noqa: F401 - the names are here for programs
from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from mindtorch._submodules import module_getattr
from mindtorch.distributed._backend import DistributedBackendOptions as _DistributedBackendOptions
from mindtorch.distributed._backend_names import (
    Backend,
    BackendConfig,
    get_default_backend_for_device,
    is_backend_available,
    is_gloo_available,
    is_mpi_available,
    is_nccl_available,
    is_ucc_available,
    is_xccl_available,
)
from mindtorch.distributed._collectives import (
    P2POp,
    _all_gather_base,
    _check_single_tensor,
    _check_tensor_list,
    _coalescing_manager,
    _CoalescingManager,
    _ensure_all_tensors_same_dtype,
    _IllegalWork,
    _reduce_scatter_base,
    all_gather,
    all_gather_coalesced,
    all_gather_into_tensor,
    all_gather_single,
    all_reduce,
    all_reduce_coalesced,
    all_to_all,
    all_to_all_single,
    barrier,
    batch_isend_irecv,
    broadcast,
    gather,
    irecv,
    isend,
    monitored_barrier,
    recv,
    reduce,
    reduce_scatter,
    reduce_scatter_single,
    reduce_scatter_tensor,
    scatter,
    send,
    supports_complex,
)
from mindtorch.distributed._debug import DebugLevel, get_debug_level
from mindtorch.distributed._gloo import ProcessGroupGloo
from mindtorch.distributed._groups import (
    STORE_BASED_BARRIER_PREFIX,
    _abort_process_group,
    _find_or_create_pg_by_ranks_and_tag,
    _new_group_with_tag,
    _store_based_barrier,
    destroy_process_group,
    init_process_group,
    new_group,
    new_subgroups,
    new_subgroups_by_enumeration,
    split_group,
)
from mindtorch.distributed._objects import (
    _object_to_tensor,
    _tensor_to_object,
    all_gather_object,
    broadcast_object_list,
    gather_object,
    recv_object_list,
    scatter_object_list,
    send_object_list,
)
from mindtorch.distributed._options import (
    AllgatherOptions,
    AllreduceCoalescedOptions,
    AllreduceOptions,
    AllToAllOptions,
    BarrierOptions,
    BroadcastOptions,
    GatherOptions,
    ReduceOp,
    ReduceOptions,
    ReduceScatterOptions,
    ScatterOptions,
    _make_nccl_premul_sum,
)
from mindtorch.distributed._process_group import ProcessGroup
from mindtorch.distributed._stores import DistStoreError, PrefixStore, Store
from mindtorch.distributed._work import Work, _create_work_from_future
from mindtorch.distributed._world import (
    GroupMember,
    GroupName,
    _canonicalize_group_rank,
    _check_valid_timeout,
    _device_capability,
    _find_pg_by_ranks_and_tag,
    _get_default_group,
    _get_default_store,
    _get_default_timeout,
    _get_global_rank,
    _get_group_size,
    _get_group_size_by_name,
    _get_group_tag,
    _get_object_coll_device,
    _get_pg_default_device,
    _get_process_group_name,
    _get_process_group_store,
    _get_process_group_uid,
    _group_or_default_group,
    _pg_backend_config,
    _pg_group_ranks,
    _pg_map,
    _pg_names,
    _pg_to_tag,
    _rank_not_in_group,
    _resolve_group_name_by_ranks_and_tag,
    _resolve_process_group,
    _set_pg_timeout,
    _tags_to_pg,
    _update_default_pg,
    _warn_not_in_group,
    _World,
    current_world,
    get_backend,
    get_backend_config,
    get_global_rank,
    get_group_rank,
    get_node_local_rank,
    get_pg_count,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    group,
    is_initialized,
    is_torchelastic_launched,
    use_world,
)
from mindtorch.distributed.constants import default_pg_nccl_timeout, default_pg_timeout
from mindtorch.distributed.rendezvous import register_rendezvous_handler, rendezvous

__all__ = [
    "AllToAllOptions", "AllreduceCoalescedOptions", "AllreduceOptions", "Backend", "BackendConfig", "BarrierOptions",
    "BroadcastOptions", "DebugLevel", "GatherOptions", "GroupMember", "GroupName", "P2POp", "PrefixStore",
    "ProcessGroup", "ProcessGroupGloo", "ReduceOp", "ReduceOptions", "ReduceScatterOptions", "ScatterOptions",
    "Store", "Work", "all_gather", "all_gather_coalesced", "all_gather_into_tensor", "all_gather_object",
    "all_gather_single", "all_reduce", "all_reduce_coalesced", "all_to_all", "all_to_all_single", "barrier",
    "batch_isend_irecv", "broadcast", "broadcast_object_list", "default_pg_timeout", "destroy_process_group",
    "gather", "gather_object", "get_backend", "get_backend_config", "get_debug_level",
    "get_default_backend_for_device", "get_global_rank", "get_group_rank", "get_node_local_rank", "get_pg_count",
    "get_process_group_ranks", "get_rank", "get_world_size", "group", "init_process_group", "irecv",
    "is_backend_available", "is_gloo_available", "is_initialized", "is_mpi_available", "is_nccl_available",
    "is_torchelastic_launched", "is_ucc_available", "is_xccl_available", "isend", "monitored_barrier", "new_group",
    "new_subgroups", "new_subgroups_by_enumeration", "recv", "recv_object_list", "reduce", "reduce_op",
    "reduce_scatter", "reduce_scatter_single", "reduce_scatter_tensor", "scatter", "scatter_object_list", "send",
    "send_object_list", "split_group", "supports_complex"]



class _Module(ModuleType):
    @property
    def _world(self) -> Any:
        """The records of all groups. A program may replace them, such as by those of each thread."""
        return current_world()

    @_world.setter
    def _world(self, world: Any) -> None:
        use_world(world)


sys.modules[__name__].__class__ = _Module
reduce_op = ReduceOp
__getattr__ = module_getattr(__name__)
