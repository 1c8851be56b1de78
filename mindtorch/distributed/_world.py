"""The process groups of this process: which there are, their ranks, and what they are asked."""
from __future__ import annotations

import os
import warnings
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NewType

from mindtorch import device
from mindtorch.distributed._process_group import ProcessGroup
from mindtorch.distributed.constants import default_pg_nccl_timeout, default_pg_timeout

if TYPE_CHECKING:
    from mindtorch.distributed._stores import Store

__all__ = ["GroupMember", "GroupName", "get_backend", "get_backend_config", "get_global_rank", "get_group_rank",
           "get_node_local_rank", "get_pg_count", "get_process_group_ranks", "get_rank", "get_world_size", "group",
           "is_initialized", "is_torchelastic_launched"]

GroupName = NewType("GroupName", str)


class _World:
    """The records of all groups. A group's key is the object that new_group returned."""

    def __init__(self) -> None:
        self.default_pg: ProcessGroup | None = None
        self.pg_map: dict[ProcessGroup, tuple[str, Store]] = {}
        self.pg_names: dict[ProcessGroup, str] = {}
        self.pg_group_ranks: dict[ProcessGroup, dict[int, int]] = {}
        self.pg_backend_config: dict[ProcessGroup, str] = {}
        self.pg_to_tag: dict[ProcessGroup, str] = {}
        self.tags_to_pg: dict[str, list[ProcessGroup]] = {}
        self.pg_coalesce_state: dict[ProcessGroup, list[Any]] = {}
        self.group_count = 0

    def forget(self, pg: ProcessGroup) -> None:
        """Remove a group from the records."""
        for record in (self.pg_map, self.pg_names, self.pg_group_ranks, self.pg_backend_config,
                       self.pg_coalesce_state):
            record.pop(pg, None)
        tag = self.pg_to_tag.pop(pg, None)
        for groups in (self.tags_to_pg.get(tag, []), self.tags_to_pg.get("", [])):
            if pg in groups:
                groups.remove(pg)

    @property
    def pg_config_info(self) -> list[dict[str, Any]]:
        """A line for each group, as programs print it."""
        return [{"pg_name": name, "pg_desc": pg.group_desc, "backend_config": self.pg_backend_config[pg],
                 "pg_size": len(self.pg_group_ranks[pg]), "group_count": self.group_count,
                 "ranks": list(self.pg_group_ranks[pg])} for pg, name in self.pg_names.items()]


class _OtherWorld(_World):
    """Takes the place of the records: their names give those of another object."""

    def __getattribute__(self, name: str) -> Any:
        return getattr(_other, name) if name in _RECORDS else object.__getattribute__(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(_other, name, value)


_world = _World()
_RECORDS = frozenset(vars(_world))
_other = None


def current_world() -> Any:
    """The records of all groups, or what a program has put in their place."""
    return _world if _other is None else _other


def use_world(world: Any) -> None:
    """Let an object with the attributes of a _World be the records, such as one that differs between threads."""
    global _other
    own = world is _world
    _other = None if own else world
    object.__setattr__(_world, "__class__", _World if own else _OtherWorld)     # collectives pay nothing for this


# The names by which torch has some of these records.
_pg_map, _pg_names, _pg_group_ranks = _world.pg_map, _world.pg_names, _world.pg_group_ranks
_pg_backend_config, _tags_to_pg, _pg_to_tag = _world.pg_backend_config, _world.tags_to_pg, _world.pg_to_tag


class _WorldMeta(type):
    @property
    def WORLD(cls) -> ProcessGroup | None:
        return _world.default_pg

    @WORLD.setter
    def WORLD(cls, pg: ProcessGroup | None) -> None:
        _world.default_pg = pg


class group(metaclass=_WorldMeta):
    """`group.WORLD` is the group of all ranks.

    Example:
        >>> x = torch.ones(2)
        >>> dist.all_reduce(x, group=dist.group.WORLD)
    """


class GroupMember(metaclass=_WorldMeta):
    """`GroupMember.NON_GROUP_MEMBER` is what new_group returns to ranks that are not in the group.

    Example:
        >>> dist.get_rank(dist.GroupMember.NON_GROUP_MEMBER)
        -1
    """

    NON_GROUP_MEMBER = -100


def is_initialized() -> bool:
    """Whether init_process_group has been called.

    Example:
        >>> dist.is_initialized()
        True
    """
    return _world.default_pg is not None


def is_torchelastic_launched() -> bool:
    """Whether torchrun has started this process.

    Example:
        >>> dist.is_torchelastic_launched()
        False
    """
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def _get_default_group():
    if _world.default_pg is None:
        raise ValueError("Default process group has not been initialized, please make sure to call "
                         "init_process_group.")
    return _world.default_pg


def _get_default_store():
    return _world.pg_map[_get_default_group()][1]


def _update_default_pg(pg):
    _world.default_pg = pg


def _group_or_default_group(group=None):
    return _get_default_group() if group is None or group is _world.default_pg else group


def _rank_not_in_group(group: ProcessGroup | None) -> bool:
    return group is GroupMember.NON_GROUP_MEMBER


def _warn_not_in_group(op_name):
    rank = -1 if _world.default_pg is None else _world.default_pg.rank()
    warnings.warn(f"Running {op_name} on global rank {rank} which does not belong to the given group.", stacklevel=3)


def _registered_ranks(pg):
    try:
        return _world.pg_group_ranks[pg]
    except KeyError:
        raise ValueError(f"Group {pg} is not registered, please create group with torch.distributed.new_group "
                         "API") from None


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """The rank in `group` of a global rank. ValueError if the group has it not.

    Arguments:
        global_rank: the rank among all processes

    Example:
        >>> group = dist.new_group([0])
        >>> dist.get_group_rank(group, 0)
        0
    """
    if group is _world.default_pg:
        return global_rank
    ranks = _registered_ranks(group)
    if global_rank not in ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return ranks[global_rank]


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """The global rank of a rank in `group`. ValueError if there is none.

    Arguments:
        group_rank: the rank within the group

    Example:
        >>> group = dist.new_group([0])
        >>> dist.get_global_rank(group, 0)
        0
    """
    if group is _world.default_pg:
        return group_rank
    for global_rank, rank in _registered_ranks(group).items():
        if rank == group_rank:
            return global_rank
    raise ValueError(f"Group rank {group_rank} is not part of group {group}")


_get_global_rank = get_global_rank


def _canonicalize_group_rank(group, global_rank=None, group_rank=None, return_global=False):
    """The rank in the group, or with `return_global` the global one, of a peer that is given as either."""
    if group_rank is not None:
        if global_rank is not None:
            raise ValueError("Can't specify both group_rank and global_rank")
        return get_global_rank(group, group_rank) if return_global else group_rank
    if global_rank is None:
        raise ValueError("Must specify global_rank or group_rank")
    return global_rank if return_global else get_group_rank(group, global_rank)


def _check_not_self_rank(group, rank, rank_type):
    if group.rank() == rank:
        raise ValueError(f"Invalid {rank_type} rank: {rank_type} rank should not be the same as the rank of the "
                         "current process.")


def get_process_group_ranks(group: ProcessGroup | None) -> list[int]:
    """The global ranks of a group, in the order of their ranks there.

    Example:
        >>> dist.get_process_group_ranks(dist.new_group([0]))
        [0]
    """
    return list(_world.pg_group_ranks[group or _get_default_group()])


def get_rank(group: ProcessGroup | None = None) -> int:
    """The rank of this process in the group; -1 if it is not in it.

    Example:
        >>> dist.get_rank()
        0
    """
    if _rank_not_in_group(group):
        return -1
    default = _get_default_group()
    return default.rank() if group is None or group is default else get_group_rank(group, default.rank())


def _get_group_size(group):
    if group is None or group is _world.default_pg:
        return _get_default_group().size()
    return group.size()


def get_world_size(group: ProcessGroup | None = None) -> int:
    """How many ranks the group has; -1 if this process is not in it.

    Example:
        >>> dist.get_world_size()
        1
    """
    return -1 if _rank_not_in_group(group) else _get_group_size(group)


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """The rank among the processes of this host, which torchrun sets.

    Arguments:
        fallback_rank: what is returned where the variable LOCAL_RANK is not set

    Example:
        >>> dist.get_node_local_rank(fallback_rank=0)
        0
    """
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError("LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow "
                       "`get_node_local_rank` to work, assuming you are not running in a multi-device context and want "
                       "the code to run locally instead.")


def _registered(group):
    pg = group or _get_default_group()
    if _rank_not_in_group(pg):
        raise ValueError("Invalid process group specified")
    if pg not in _world.pg_map:
        raise ValueError(f"Process group {pg} is not initialized in the world group map. Please initialize the group "
                         "first.")
    return pg


def get_backend(group: ProcessGroup | None = None) -> str:
    """The name of the group's engine.

    Example:
        >>> dist.get_backend() in ("mpi", "hccl", "gloo", "nccl")
        True
    """
    return _world.pg_map[_registered(group)][0]


def get_backend_config(group: ProcessGroup | None = None) -> str:
    """The engine for each device type: "cpu:mpi,npu:hccl".

    Arguments:
        group: the process group; None means all ranks

    Example:
        >>> dist.get_backend_config().startswith("cpu:")
        True
    """
    return str(_world.pg_backend_config[_registered(group)])


def get_pg_count() -> int:
    """How many groups have been made.

    Example:
        >>> before = dist.get_pg_count()
        >>> group = dist.new_group([0])
        >>> dist.get_pg_count() - before
        1
    """
    return _world.group_count


def _get_process_group_name(pg: ProcessGroup) -> str:
    return _world.pg_names.get(pg, "None")


def _get_process_group_store(pg):
    return _world.pg_map[pg][1]


def _get_process_group_uid(pg):
    return pg._id()


def _get_group_tag(pg):
    return _world.pg_to_tag[pg].removeprefix("user:")


def _resolve_process_group(name):
    """The group of a name."""
    for pg, known in _world.pg_names.items():
        if known == name:
            return pg
    raise ValueError(f"Could not resolve the process group registered under the name {name}")


def _get_group_size_by_name(group_name):
    return (group_name if isinstance(group_name, ProcessGroup) else _resolve_process_group(group_name)).size()


def _find_pg_by_ranks_and_tag(tag, ranks):
    if tag and not tag.startswith(("user:", "ptd:")):
        tag = f"user:{tag}"
    return next((pg for pg in _world.tags_to_pg.get(tag, []) if get_process_group_ranks(pg) == list(ranks)), None)


def _resolve_group_name_by_ranks_and_tag(ranks, tag):
    pg = _find_pg_by_ranks_and_tag(tag, ranks)
    if pg is None:
        raise ValueError(f"there is no group of the ranks {ranks} with the tag {tag!r}")
    return pg.group_name


def _get_default_timeout(backend):
    """The time-out of an engine's groups where a program does not say."""
    return default_pg_nccl_timeout if backend in ("hccl", "nccl") else default_pg_timeout


def _check_valid_timeout(timeout):
    if not isinstance(timeout, timedelta):
        raise TypeError(f"Expected timeout argument to be of type datetime.timedelta, got {timeout}")


def _set_pg_timeout(timeout, group=None):
    """Let the collectives of a group take that long."""
    if _rank_not_in_group(group):
        raise ValueError("Invalid process group specified")
    _check_valid_timeout(timeout)
    (group or _get_default_group()).set_timeout(timeout)


def _device_capability(group=None):
    """The device types that a group serves."""
    return [kind.type for kind in _group_or_default_group(group)._device_types]


def _get_object_coll_device(group=None):
    """The device through which a group sends objects: the CPU where it can."""
    kinds = _device_capability(group)
    return "cpu" if "cpu" in kinds or not kinds else kinds[0]       # a group written in Python names none


def _get_pg_default_device(group=None):
    return device(_get_object_coll_device(group))
