"""Compares the shapes of a module's tensors between ranks, and copies the values of one rank to all."""
from __future__ import annotations

from collections.abc import Container, Iterable
from typing import TYPE_CHECKING, Any

from mindtorch import cat, empty_like, no_grad
from mindtorch.distributed._objects import _object_to_tensor, _tensor_to_object
from mindtorch.distributed._options import AllgatherOptions, BroadcastOptions
from mindtorch.distributed._work import NO_TIMEOUT
from mindtorch.distributed._world import _get_object_coll_device

if TYPE_CHECKING:
    from mindtorch import Tensor
    from mindtorch.distributed._process_group import ProcessGroup

__all__ = ["_broadcast_coalesced", "_sync_module_states", "_sync_params_and_buffers",
           "_verify_param_shape_across_processes", "_verify_params_across_processes"]


def _buckets(tensors, size):
    """Lists of tensors of one dtype and device, of at most `size` bytes unless a single one has more."""
    open_buckets: dict[Any, list[Tensor]] = {}
    for tensor in tensors:
        bucket = open_buckets.setdefault((tensor.dtype, tensor.device), [])
        if bucket and sum(each.nbytes for each in bucket) + tensor.nbytes > size:
            yield list(bucket)
            bucket.clear()
        bucket.append(tensor)
    yield from filter(None, open_buckets.values())


def _broadcast(process_group, tensor, src):
    """The Work of a broadcast, called as torch does it, which a group that is written in Python relies on."""
    opts = BroadcastOptions()
    opts.rootRank = src
    return process_group.broadcast([tensor], opts)


@no_grad()
def _broadcast_coalesced(process_group: ProcessGroup, tensors: Iterable[Tensor], buffer_size: int,
                         src: int = 0) -> None:
    """Give all ranks the tensors of rank `src` of the group, by few large broadcasts."""
    started = []
    for bucket in _buckets((tensor.detach() for tensor in tensors), buffer_size):
        flat = cat([tensor.reshape(-1) for tensor in bucket])
        started.append((_broadcast(process_group, flat, src), flat, bucket))
    for work, flat, bucket in started:
        work.wait(NO_TIMEOUT)
        for tensor, part in zip(bucket, flat.split([each.numel() for each in bucket]), strict=True):
            tensor.copy_(part.view(tensor.shape))


def _gathered(process_group, tensor):
    every = [empty_like(tensor) for _ in range(process_group.size())]
    process_group.allgather([every], [tensor], AllgatherOptions()).wait(NO_TIMEOUT)
    return every


def _gathered_objects(process_group, own):
    """By allgather, as torch does it: a group that is written in Python need have no more."""
    data, size = _object_to_tensor(own, _get_object_coll_device(process_group))
    sizes = [each.item() for each in _gathered(process_group, size)]
    data.resize_(max(sizes))
    return [_tensor_to_object(each, size) for each, size in
            zip(_gathered(process_group, data), sizes, strict=True)]


def _verify_params_across_processes(process_group: ProcessGroup, params: list[Tensor], logger: Any = None) -> None:
    """RuntimeError where the ranks have not the same number of tensors, or not the same shapes."""
    own = [(list(tensor.shape), list(tensor.stride())) for tensor in params]
    every = _gathered_objects(process_group, own)
    rank = process_group.rank()
    for other, described in enumerate(every):
        if len(described) != len(own):
            raise RuntimeError(f"DDP expects same model across all ranks, but Rank {rank} has {len(own)} params, while "
                               f"rank {other} has inconsistent {len(described)} params.")
    for place, (shape, stride) in enumerate(own):
        theirs, their_stride = every[0][place]
        if shape != theirs:
            raise RuntimeError(f"[{rank}]: params[{place}] in this process with sizes {shape} appears not to match "
                               "sizes of the same param in process 0.")
        if stride != their_stride:
            raise RuntimeError(f"[{rank}]: params[{place}] in this process with strides {stride} appears not to match "
                               "strides of the same param in process 0.")


_verify_param_shape_across_processes = _verify_params_across_processes


def _sync_params_and_buffers(process_group: ProcessGroup, module_states: list[Tensor], broadcast_bucket_size: int,
                             src: int) -> None:
    if module_states:
        _broadcast_coalesced(process_group, module_states, broadcast_bucket_size, src)


def _sync_module_states(module: Any, process_group: ProcessGroup, broadcast_bucket_size: int, src: int,
                        params_and_buffers_to_ignore: Container[str], broadcast_buffers: bool = True) -> None:
    """Give all ranks the parameters, and the buffers, that a module has on rank `src` of the group."""
    named = [*module.named_parameters(), *(module.named_buffers() if broadcast_buffers else ())]
    states = [tensor.detach() for name, tensor in named if name not in params_and_buffers_to_ignore]
    _sync_params_and_buffers(process_group, states, broadcast_bucket_size, src)
