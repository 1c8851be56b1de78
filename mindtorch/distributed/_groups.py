"""How process groups are made and destroyed."""
from __future__ import annotations

import hashlib
import itertools
import os
import warnings
from collections.abc import Sequence
from datetime import timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch.distributed._backend import DistributedBackendOptions
from mindtorch.distributed._backend_names import Backend, BackendConfig
from mindtorch.distributed._debug import DebugLevel, get_debug_level
from mindtorch.distributed._process_group import ProcessGroup
from mindtorch.distributed._stores import DistStoreError, PrefixStore
from mindtorch.distributed._world import (
    GroupMember,
    _check_valid_timeout,
    _find_pg_by_ranks_and_tag,
    _get_default_group,
    _get_default_timeout,
    _group_or_default_group,
    _world,
    get_process_group_ranks,
    get_rank,
    get_world_size,
)
from mindtorch.distributed.rendezvous import rendezvous

if TYPE_CHECKING:
    from mindtorch import device
    from mindtorch.distributed._stores import Store

__all__ = ["destroy_process_group", "init_process_group", "new_group", "new_subgroups", "new_subgroups_by_enumeration",
           "split_group"]

STORE_BASED_BARRIER_PREFIX = "store_based_barrier_key"
# Engine -> the module whose create_backend(options, pg_options) makes it.
_ENGINES = {Backend.MPI: "_mpi", Backend.HCCL: "_hccl", Backend.FAKE: "_fake"}


def init_process_group(backend: str | None = None, init_method: str | None = None, timeout: timedelta | None = None,
                       world_size: int = -1, rank: int = -1, store: Store | None = None, group_name: str = "",
                       pg_options: Any | None = None, device_id: device | int | None = None,
                       _ranks: list[int] | None = None) -> None:
    """Make the group of all ranks, which find each other by `init_method` ("env://" unless it is said) or `store`.

    `backend` is an engine, or one for each device type: "cpu:mpi,npu:hccl"; None is that of this machine's device.
    Under mpiexec "mpi" needs neither rank nor world size.

    Arguments:
        init_method: the address where ranks find each other, such as "env://", "tcp://host:port" or "file:///path"
        store: a Store that all ranks share, in place of init_method
        group_name: the name of the group; "" numbers it

    Example:
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> dist.get_rank(), dist.get_world_size()
        (0, 1)
        >>> dist.destroy_process_group()
    """
    if _world.default_pg is not None:
        raise ValueError("trying to initialize the default process group twice!")
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    if store is not None and world_size <= 0:
        raise AssertionError("world_size must be positive if using store")
    if store is not None and rank < 0:
        raise AssertionError("rank must be non-negative if using store")
    names = BackendConfig(Backend(Backend.UNDEFINED if backend is None else backend))
    engines = names.get_device_backend_map()
    timeout = _get_default_timeout(next(iter(engines.values()), "")) if timeout is None else timeout
    _check_valid_timeout(timeout)
    if store is None and init_method is None and rank == world_size == -1 and engines.get("cpu") == Backend.MPI:
        store, rank, world_size = _world_of_mpiexec(timeout)
    if store is None and set(engines.values()) == {Backend.FAKE}:
        if rank >= world_size:
            raise RuntimeError(f"Cannot init process group where rank ({rank}) >= world_size ({world_size})")
        from mindtorch.distributed._fake import FakeStore
        store = FakeStore()
    if store is None:
        store, rank, world_size = next(rendezvous(init_method or "env://", rank, world_size, timeout=timeout))
        store.set_timeout(timeout)
        store = PrefixStore("default_pg", store)
    bound = None if device_id is None else _bound_device(device_id)
    _start_engines(names, store, rank, world_size, timeout)
    pg = _new_process_group(world_size, rank, list(range(world_size)) if _ranks is None else _ranks, names, store,
                            group_name or _next_name(), pg_options, timeout, bound, "default_pg", "")
    _world.default_pg = pg


def _world_of_mpiexec(timeout):
    """The store, rank and size of a job that mpiexec has started without torch's variables; else None, -1, -1."""
    if "RANK" in os.environ or "WORLD_SIZE" in os.environ:
        return None, -1, -1
    from mindtorch.distributed import _mpi
    return _mpi.world_of_launcher(timeout)


def _start_engines(names, store, rank, size, timeout):
    """Starts MPI with all ranks of the job, before the first group that uses it is made."""
    if Backend.MPI in names.get_device_backend_map().values():
        from mindtorch.distributed import _mpi
        _mpi.start(store, rank, size, timeout)


def _bound_device(device_id):
    place = mindtorch.device("npu", device_id) if isinstance(device_id, int) else mindtorch.device(device_id)
    if place.type != "npu":
        raise ValueError(f"device_id {device_id} does not match the current compilation's accelerator support: npu. "
                         "Please use a different compiled version that supports your accelerator.")
    if place.index is None:
        raise ValueError("Please use a device_id with index.")
    return place


def _next_name():
    _world.group_count += 1
    return str(_world.group_count - 1)


def _new_process_group(size, rank, ranks, names, store, name, pg_options, timeout, bound, description, tag):
    """The group `name` of these global ranks, with an engine for each device type, and its records."""
    if name in _world.pg_names.values():
        raise ValueError("The specified group name has already been created, please use a different group name")
    engines = names.get_device_backend_map()
    prefixed = PrefixStore(f"{name}/", store)
    pg, made = ProcessGroup(prefixed, rank, size), {}
    pg.bound_device_id = bound
    for kind, engine in engines.items():
        if engine not in made:
            options = DistributedBackendOptions(PrefixStore(f"{kind}/", prefixed), rank, size, timeout, name, ranks)
            made[engine] = _new_backend(engine, options, pg_options)
        if isinstance(made[engine], ProcessGroup):      # a group that a plugin has written in Python
            pg = made[engine]
            break
        pg._register_backend(mindtorch.device(kind), Backend.backend_type_map[engine], made[engine])
    else:
        pg._set_default_backend(Backend.backend_type_map[next(iter(engines.values()))])
        if bound is not None and bound.type in engines:
            pg._get_backend(bound).eager_connect_single_device(bound)
    pg._set_group_name(name)
    pg._set_group_desc(description)
    _world.pg_map[pg] = (next(iter(engines.values())) if len(set(engines.values())) == 1 else repr(names), prefixed)
    _world.pg_names[pg] = name
    _world.pg_group_ranks[pg] = {global_rank: place for place, global_rank in enumerate(ranks)}
    _world.pg_backend_config[pg] = repr(names)
    own_tag = f"user:{tag}" if tag else f"ptd:{name}"
    _world.pg_to_tag[pg] = own_tag
    for known in ("", own_tag):
        _world.tags_to_pg.setdefault(known, []).append(pg)
    return pg


def _new_backend(engine, options, pg_options):
    """An engine of a group."""
    if engine in _ENGINES:
        backend = import_module(f"mindtorch.distributed.{_ENGINES[engine]}").create_backend(options, pg_options)
    elif engine.upper() in Backend._plugins:
        plugin = Backend._plugins[engine.upper()]
        if plugin.extended_api:
            backend = plugin.creator_fn(options, pg_options)
        else:
            backend = plugin.creator_fn(options.store, options.group_rank, options.group_size, options.timeout)
    else:
        raise RuntimeError(f"Distributed package doesn't have {engine.upper()} built in")
    if get_debug_level() is DebugLevel.DETAIL and not isinstance(backend, ProcessGroup) and engine != Backend.FAKE:
        from mindtorch.distributed._checked_backend import CheckedBackend
        backend = CheckedBackend(backend, options)
    return backend


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """Release a group; without argument, all of them, after which init_process_group may be called again.

    Example:
        >>> dist.destroy_process_group()
        >>> dist.is_initialized()
        False
    """
    if group is GroupMember.NON_GROUP_MEMBER:
        return
    pg = _world.default_pg if group is None else group
    if pg is None:
        raise AssertionError("Process group cannot be None")
    if pg not in _world.pg_map:
        raise ValueError("Invalid process group specified")
    if _world.pg_coalesce_state:
        warnings.warn("Some coalesced collectives haven't been launched when ProcessGroup is destroyed. They will be "
                      "cleaned.", stacklevel=2)
    everything = pg is _world.default_pg
    for each in sorted(_world.pg_map, key=lambda known: int(known.group_name) if known.group_name.isdigit() else 0,
                       reverse=True) if everything else [pg]:
        each.shutdown()
        _world.forget(each)
    if everything:
        _world.default_pg, _world.group_count = None, 0


def _abort_process_group(group=None):
    """Release a group whose collectives may hang; without argument, all of them."""
    for pg in list(_world.pg_map) if group is None or group is _world.default_pg else [group]:
        pg.abort()
        _world.forget(pg)
    if not _world.pg_map:
        _world.default_pg, _world.group_count = None, 0


def new_group(ranks: Sequence[int] | None = None, timeout: timedelta | None = None, backend: str | None = None,
              pg_options: Any = None, use_local_synchronization: bool = False, group_desc: str | None = None,
              device_id: device | None = None, sort_ranks: bool = True) -> Any:
    """A group of these global ranks. Every rank of the job calls it, in the same order of calls, unless
    `use_local_synchronization`; a rank that is not in the group gets GroupMember.NON_GROUP_MEMBER.

    Arguments:
        ranks: the global ranks of the group; None means all
        use_local_synchronization: whether only the members of the group have to make this call
        sort_ranks: whether ranks within the group follow the global ranks, not the order of the list

    Example:
        >>> first = dist.new_group([0])
        >>> x = torch.ones(2)
        >>> if dist.get_rank() == 0:
        ...     dist.all_reduce(x, group=first)
        >>> x
        tensor([1., 1.])
    """
    return _new_group_with_tag(ranks, timeout, backend, pg_options, "", use_local_synchronization, group_desc,
                               device_id, sort_ranks)


def _new_group_with_tag(ranks=None, timeout=None, backend=None, backend_options=None, pg_tag="",
                        use_local_synchronization=False, group_desc=None, device_id=None, sort_ranks=True):
    default = _get_default_group()
    store = _world.pg_map[default][1]
    names = BackendConfig(Backend(backend)) if backend else _ConfigOf(default)
    if timeout is None:
        timeout = _get_default_timeout(next(iter(names.get_device_backend_map().values())))
    _check_valid_timeout(timeout)
    size = default.size()
    ranks = list(range(size)) if ranks is None else sorted(ranks) if sort_ranks else list(ranks)
    if len(set(ranks)) != len(ranks):
        raise ValueError(f"ranks list must not contain duplicate entries, got {ranks}")
    if len(ranks) > size:
        raise ValueError("the new group's world size should be less or equal to the world size set by "
                         "init_process_group")
    for rank in ranks:
        if not 0 <= rank < size:
            raise ValueError(f"Rank {rank} is out of range. Valid ranks are 0 to {size - 1} (world_size={size})")
    known = _find_pg_by_ranks_and_tag(pg_tag, ranks) if pg_tag else None
    if known is not None:
        return known
    if not use_local_synchronization:
        _start_engines(names, store.underlying_store, default.rank(), size, timeout)
    name = _name_of(ranks) if use_local_synchronization else _next_name()
    if default.rank() not in ranks:
        return GroupMember.NON_GROUP_MEMBER
    bound = default.bound_device_id if device_id is None else _bound_device(device_id)
    return _new_process_group(len(ranks), ranks.index(default.rank()), ranks, names, store.underlying_store, name,
                              backend_options, timeout, bound, group_desc or "undefined", pg_tag)


class _ConfigOf(BackendConfig):
    """The engines of a group, for another one."""

    def __init__(self, pg: ProcessGroup) -> None:
        self.device_backend_map = dict(pair.split(":") for pair in _world.pg_backend_config[pg].split(","))


def _name_of(ranks):
    """A new name that the group's ranks find without the others: the ranks, and a number if they had a group before."""
    name = hashlib.sha1("_".join(map(str, ranks)).encode(), usedforsecurity=False).hexdigest()
    used = set(_world.pg_names.values())
    return next(known for known in itertools.chain([name], (f"{name}_{n}" for n in itertools.count(1)))
                if known not in used)


def new_subgroups(group_size: int | None = None, group: ProcessGroup | None = None, timeout: timedelta | None = None,
                  backend: str | None = None, pg_options: Any = None, group_desc: str | None = None) -> Any:
    """Groups of `group_size` consecutive ranks, as many as there are NPUs by default: (the own one, all).

    Arguments:
        group_size: the number of ranks in a group

    Example:
        >>> own, every = dist.new_subgroups(group_size=1)
        >>> own.size(), len(every)      # of one rank
        (1, 1)
    """
    if group_size is None:
        if not mindtorch.npu.is_available():
            raise ValueError("Default group size only takes effect when NPUs are available. If your subgroup uses a "
                             "backend that does not depend on them, please pass in 'group_size' correctly.")
        group_size = mindtorch.npu.device_count()
    if group_size <= 0:
        raise ValueError(f"The arg 'group_size' ({group_size}) must be positive")
    size = get_world_size(group)
    if size < group_size:
        raise ValueError(f"The arg 'group_size' ({group_size}) must not exceed the world size ({size})")
    if size % group_size:
        raise ValueError(f"The world size ({size}) must be divisible by 'group_size={group_size!r}'")
    ranks = get_process_group_ranks(_group_or_default_group(group))
    return new_subgroups_by_enumeration([ranks[start:start + group_size] for start in range(0, size, group_size)],
                                        timeout, backend, pg_options, group_desc)


def new_subgroups_by_enumeration(ranks_per_subgroup_list: Sequence[Sequence[int]], timeout: timedelta | None = None,
                                 backend: str | None = None, pg_options: Any = None,
                                 group_desc: str | None = None) -> Any:
    """Groups of the ranks of each list: (the own one, all). A rank is in one of them at most.

    Arguments:
        ranks_per_subgroup_list: a list of global ranks for each group

    Example:
        >>> own, every = dist.new_subgroups_by_enumeration([[0]])
        >>> own.size(), len(every)
        (1, 1)
    """
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    taken: dict[int, Sequence[int]] = {}
    own, groups = None, []
    for ranks in ranks_per_subgroup_list:
        for rank in ranks:
            if rank in taken:
                raise ValueError(f"Rank {rank} has appeared in both subgroup {taken[rank]} and {ranks}")
            taken[rank] = ranks
        groups.append(new_group(ranks, timeout, backend, pg_options, group_desc=group_desc))
        if get_rank() in ranks:
            own = groups[-1]
    return own, groups


def split_group(parent_pg: ProcessGroup | None = None, split_ranks: Sequence[Sequence[int]] | None = None,
                timeout: timedelta | None = None, pg_options: Any = None, group_desc: str | None = None,
                backend: str | None = None) -> Any:
    """The group of the list that holds this rank. Lists are of ranks of `parent_pg`, whose ranks alone call it.

    Arguments:
        parent_pg: the group that is split; None means all ranks
        split_ranks: a list of ranks for each of the new groups

    Example:
        >>> own = dist.split_group(split_ranks=[[0]])       # with four ranks: [[0, 1], [2, 3]]
        >>> own.size()
        1
    """
    if not split_ranks:
        raise ValueError("split_ranks cannot be None or empty")
    parent = _group_or_default_group(parent_pg)
    if parent not in _world.pg_map:
        raise ValueError(f"Group {parent} is not registered")
    everyone = get_process_group_ranks(parent)
    for ranks in split_ranks:
        if not ranks:
            raise ValueError("the split group cannot be empty")
        if len(ranks) > len(everyone):
            raise ValueError("the split group's size should be less or equal to the world_size set by "
                             "init_process_group")
        if len(set(ranks)) != len(ranks):
            raise ValueError("the split group cannot have duplicate ranks")
        if parent.rank() in ranks:
            return new_group([everyone[rank] for rank in sorted(ranks)], timeout, backend, pg_options,
                             use_local_synchronization=True, group_desc=group_desc)
    return None


def _find_or_create_pg_by_ranks_and_tag(tag, ranks, stride):
    """The group with this tag of the `stride` ranks among which this process is."""
    if len(ranks) % stride:
        raise ValueError(f"Ranks length ({len(ranks)}) must be divisible by stride ({stride})")
    own = None
    for start in range(0, len(ranks), stride):
        if get_rank() in ranks[start:start + stride]:
            own = ranks[start:start + stride]
    if own is None:
        raise AssertionError("rankset doesn't include the current node")
    found = _find_pg_by_ranks_and_tag(tag, sorted(own))
    if found is not None:
        return found
    if tag == "":
        raise ValueError("Cannot automatically create PG with empty tag")
    return _new_group_with_tag(own, pg_tag=tag)


def _store_based_barrier(rank, store, group_name, rendezvous_count, timeout, logging_interval=timedelta(seconds=10)):
    """Wait until so many ranks have come, by the store alone."""
    key = f"{STORE_BASED_BARRIER_PREFIX}:{group_name}"
    try:
        store.barrier(key, rendezvous_count, timeout)
    except DistStoreError as error:
        raise DistStoreError(
            f"Timed out initializing process group in store based barrier on rank {rank}, for key: {key} "
            f"(world_size={rendezvous_count}, num_workers_joined={store.add(f'{key}/num_members', 0)}, "
            f"timeout={timeout} error={error})") from None
