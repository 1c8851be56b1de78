"""The collectives of torch.distributed on Python objects: pickled, they travel as tensors of bytes."""
from __future__ import annotations

import io
import pickle
from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch.distributed import _collectives as collectives
from mindtorch.distributed._world import (
    _canonicalize_group_rank,
    _check_not_self_rank,
    _get_object_coll_device,
    _group_or_default_group,
    _rank_not_in_group,
    _warn_not_in_group,
    get_global_rank,
)

if TYPE_CHECKING:
    from mindtorch import Tensor, device
    from mindtorch.distributed._process_group import ProcessGroup

__all__ = ["all_gather_object", "broadcast_object_list", "gather_object", "recv_object_list", "scatter_object_list",
           "send_object_list"]

_pickler, _unpickler = pickle.Pickler, pickle.Unpickler


def _object_to_tensor(obj, device, group=None):
    """The pickled object as bytes, in memory that can grow, and their number."""
    file = io.BytesIO()
    _pickler(file).dump(obj)
    data = mindtorch.frombuffer(bytearray(file.getbuffer()), dtype=mindtorch.uint8)
    return data.to(device, copy=True), mindtorch.tensor([data.numel()], dtype=mindtorch.int64, device=device)


def _tensor_to_object(tensor: Tensor, tensor_size: Any, group: Any = None) -> Any:
    data = tensor.cpu().numpy()[:int(tensor_size)].tobytes()
    return _unpickler(io.BytesIO(data)).load()


def _place(pg, device):
    return mindtorch.device(_get_object_coll_device(pg) if device is None else device)


def _pickled_list(objects, place):
    """The bytes of all objects behind each other, and the number of bytes of each."""
    parts, sizes = zip(*(_object_to_tensor(each, place) for each in objects), strict=True)
    return mindtorch.cat(parts), mindtorch.cat(sizes)


def _unpickle_list(data, sizes, objects):
    """Replaces the objects of a list by those that the bytes hold."""
    for place, part in enumerate(data.cpu().split(sizes.tolist())):
        objects[place] = _tensor_to_object(part, part.numel())


def _gathered_sizes(pg, size, place):
    """How many bytes each rank has, and the most."""
    sizes = mindtorch.zeros(pg.size(), dtype=mindtorch.int64, device=place)
    collectives.all_gather_single(sizes, size, group=pg)
    counts = sizes.tolist()
    return counts, max(counts)


def all_gather_object(object_list: list[Any], obj: Any, group: ProcessGroup | None = None) -> None:
    """Write the object of each rank to its place in every rank's list.

    Example:
        >>> names = [None] * dist.get_world_size()
        >>> dist.all_gather_object(names, f"rank {dist.get_rank()}")
        >>> names                       # of one rank
        ['rank 0']
    """
    if _rank_not_in_group(group):
        _warn_not_in_group("all_gather_object")
        return
    pg = _group_or_default_group(group)
    place = _place(pg, None)
    data, size = _object_to_tensor(obj, place)
    counts, most = _gathered_sizes(pg, size, place)
    data.resize_(most)
    everything = mindtorch.empty(most * pg.size(), dtype=mindtorch.uint8, device=place)
    collectives.all_gather_single(everything, data, group=pg)
    for rank, part in enumerate(everything.cpu().split(most)):
        object_list[rank] = _tensor_to_object(part, counts[rank])


def gather_object(obj: Any, object_gather_list: list[Any] | None = None, dst: int | None = None,
                  group: ProcessGroup | None = None, group_dst: int | None = None) -> None:
    """Write the object of each rank to its place in the list of rank `dst`, 0 unless it is said.

    Arguments:
        object_gather_list: the list that the objects are written to, on the rank that receives

    Example:
        >>> names = [None] * dist.get_world_size() if dist.get_rank() == 0 else None
        >>> dist.gather_object(f"rank {dist.get_rank()}", names, dst=0)
        >>> names                       # of one rank
        ['rank 0']
    """
    pg = _group_or_default_group(group)
    if _rank_not_in_group(pg):
        _warn_not_in_group("gather_object")
        return
    root = collectives._root(pg, dst, group_dst)
    is_root = pg.rank() == root
    if is_root and not object_gather_list:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    if not is_root and object_gather_list:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    place = _place(pg, None)
    data, size = _object_to_tensor(obj, place)
    counts, most = _gathered_sizes(pg, size, place)
    data.resize_(most)
    parts = [mindtorch.empty(most, dtype=mindtorch.uint8, device=place) for _ in counts] if is_root else None
    collectives.gather(data, parts, group=pg, group_dst=root)
    if is_root:
        for rank, part in enumerate(parts):
            object_gather_list[rank] = _tensor_to_object(part, counts[rank])


def send_object_list(object_list: list[Any], dst: int | None = None, group: ProcessGroup | None = None,
                     device: device | None = None, group_dst: int | None = None, use_batch: bool = False) -> None:
    """Send the objects of a list to a rank that calls recv_object_list with one of the same length.

    Example:
        >>> if dist.get_world_size() > 1 and dist.get_rank() == 0:
        ...     dist.send_object_list(["hello"], dst=1)
    """
    pg = _group_or_default_group(group)
    if _rank_not_in_group(pg):
        _warn_not_in_group("send_object_list")
        return
    peer = _canonicalize_group_rank(pg, dst, group_dst)
    _check_not_self_rank(pg, peer, "destination")
    data, sizes = _pickled_list(object_list, _place(pg, device))
    for tensor in (sizes, data):
        _moved(collectives.isend, tensor, peer, pg, use_batch)


def _moved(op, tensor, peer, pg, use_batch):
    """Send or receive; the rank of the group that the message came from."""
    if use_batch:
        collectives.batch_isend_irecv([collectives.P2POp(op, tensor, group=pg, group_peer=peer)])[-1].wait()
        return peer
    work = op(tensor, None, pg, 0, peer)
    work.wait()
    return work._source_rank() if peer is None else peer


def recv_object_list(object_list: list[Any], src: int | None = None, group: ProcessGroup | None = None,
                     device: device | None = None, group_src: int | None = None, use_batch: bool = False) -> int:
    """Replace the objects of a list by those that a rank sends, any rank unless it is given. Its global rank.

    Example:
        >>> objects = [None]
        >>> if dist.get_world_size() > 1 and dist.get_rank() == 1:
        ...     print("from rank", dist.recv_object_list(objects, src=0))
    """
    pg = _group_or_default_group(group)
    if _rank_not_in_group(pg):
        _warn_not_in_group("recv_object_list")
        return -1
    place = _place(pg, device)
    peer = None if src is None and group_src is None else _canonicalize_group_rank(pg, src, group_src)
    sizes = mindtorch.empty(len(object_list), dtype=mindtorch.int64, device=place)
    peer = _moved(collectives.irecv, sizes, peer, pg, use_batch)
    data = mindtorch.empty(int(sizes.sum()), dtype=mindtorch.uint8, device=place)
    _moved(collectives.irecv, data, peer, pg, use_batch)
    _unpickle_list(data, sizes, object_list)
    return get_global_rank(pg, peer)


def broadcast_object_list(object_list: list[Any], src: int | None = None, group: ProcessGroup | None = None,
                          device: device | None = None, group_src: int | None = None) -> None:
    """Replace the objects of every rank's list by those of rank `src`, 0 unless it is said.

    Example:
        >>> settings = [{"lr": 0.1}] if dist.get_rank() == 0 else [None]
        >>> dist.broadcast_object_list(settings, src=0)
        >>> settings
        [{'lr': 0.1}]
    """
    pg = _group_or_default_group(group)
    if _rank_not_in_group(pg):
        _warn_not_in_group("broadcast_object_list")
        return
    root, place = collectives._root(pg, src, group_src), _place(pg, device)
    data, sizes = None, mindtorch.empty(len(object_list), dtype=mindtorch.int64, device=place)
    if pg.rank() == root:
        data, sizes = _pickled_list(object_list, place)
    collectives.broadcast(sizes, group=pg, group_src=root)
    if data is None:
        data = mindtorch.empty(int(sizes.sum()), dtype=mindtorch.uint8, device=place)
    collectives.broadcast(data, group=pg, group_src=root)
    if pg.rank() != root:
        _unpickle_list(data, sizes, object_list)


def scatter_object_list(scatter_object_output_list: list[Any], scatter_object_input_list: list[Any] | None = None,
                        src: int | None = None, group: ProcessGroup | None = None,
                        group_src: int | None = None) -> None:
    """Write to the first place of each rank's list the object that stands in its place in that of rank `src`.

    Arguments:
        scatter_object_output_list: a list whose first element becomes this rank's object
        scatter_object_input_list: an object for each rank, on the rank that sends

    Example:
        >>> own = [None]
        >>> objects = [f"for rank {rank}" for rank in range(dist.get_world_size())]
        >>> dist.scatter_object_list(own, objects if dist.get_rank() == 0 else None, src=0)
        >>> own                         # of rank 0
        ['for rank 0']
    """
    pg = _group_or_default_group(group)
    if _rank_not_in_group(pg):
        _warn_not_in_group("scatter_object_list")
        return
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    root, place = collectives._root(pg, src, group_src), _place(pg, None)
    parts = own_sizes = None
    most = mindtorch.zeros(1, dtype=mindtorch.int64, device=place)
    if pg.rank() == root:
        if scatter_object_input_list is None:
            raise ValueError("source rank must provide non-None scatter_object_input_list")
        parts, own_sizes = map(list, zip(*(_object_to_tensor(each, place) for each in scatter_object_input_list),
                                         strict=True))
        most = max(own_sizes, key=int)
        for part in parts:
            part.resize_(int(most))
    collectives.broadcast(most, group=pg, group_src=root)
    data = mindtorch.empty(int(most), dtype=mindtorch.uint8, device=place)
    collectives.scatter(data, parts, group=pg, group_src=root)
    size = mindtorch.zeros(1, dtype=mindtorch.int64, device=place)
    collectives.scatter(size, own_sizes, group=pg, group_src=root)
    scatter_object_output_list[0] = _tensor_to_object(data, size)
