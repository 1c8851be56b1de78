"""torch.distributed.optim.zero_redundancy_optimizer: each rank optimizes its share of the parameters."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindtorch
from mindtorch import Tensor
from mindtorch import distributed as dist
from mindtorch.distributed._module_states import _broadcast_coalesced
from mindtorch.distributed.algorithms.join import Join, Joinable, JoinHook
from mindtorch.optim import Optimizer
from mindtorch.utils._pytree import tree_map

__all__ = ["ZeroRedundancyOptimizer"]

_BUCKET_BYTES = 25 << 20


class _ZeROJoinHook(JoinHook):
    """The hook of a rank without inputs: it takes part in the broadcasts of each step."""

    def __init__(self, zero: ZeroRedundancyOptimizer) -> None:
        self.zero = zero

    def main_hook(self) -> None:
        self.zero.step()


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """An optimizer of `optimizer_class` for this rank's share of the parameters; its state is not held elsewhere.

    All ranks give the same parameters, with gradients that DistributedDataParallel has averaged. Each steps for its
    share and broadcasts it. `parameters_as_bucket_view`: the parameters of a rank are views of one tensor, which is
    broadcast at once. Further arguments are those of `optimizer_class`.

    Arguments:
        params: the parameters, or groups of them
        optimizer_class: the class of the optimizer
        process_group: the ranks that share the state; None means all
        parameters_as_bucket_view: whether parameters become views of one tensor for each rank
        overlap_with_ddp: whether steps run in the communication hook of DistributedDataParallel
        **defaults: the arguments of the optimizer

    Example:
        >>> model = torch.nn.Linear(2, 1)
        >>> optimizer = dist.optim.ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.01)
        >>> model(torch.ones(1, 2)).sum().backward()
        >>> optimizer.step()
    """

    def __init__(self, params: Any, optimizer_class: type[Optimizer], process_group: Any = None,
                 parameters_as_bucket_view: bool = False, overlap_with_ddp: bool = False, **defaults: Any) -> None:
        if overlap_with_ddp:
            raise NotImplementedError("ZeroRedundancyOptimizer(overlap_with_ddp=True): mindtorch steps after the "
                                      "backward. Leave overlap_with_ddp False")
        if isinstance(params, Tensor):
            raise TypeError(f"`params` argument should be an iterable of Tensors, but got {params.type()}")
        params = list(params)
        if not params:
            raise ValueError("ZeroRedundancyOptimizer got an empty parameter list")
        self.optim: Any = None          # none while the parent adds the first groups
        Optimizer.__init__(self, params, defaults)
        Joinable.__init__(self)
        self.process_group = dist.group.WORLD if process_group is None else process_group
        self.rank, self.world_size = dist.get_rank(self.process_group), dist.get_world_size(self.process_group)
        self.parameters_as_bucket_view = parameters_as_bucket_view
        self._check_same_type()
        self._default_device = self.param_groups[0]["params"][0].device
        self._all_state_dicts: list[dict[str, Any]] = []
        self._partition_parameters()
        self.optim = optimizer_class([{**group, "params": shares[self.rank]}
                                      for group, shares in zip(self.param_groups, self._partitions, strict=True)],
                                     **defaults)
        _copy_options(self.optim.param_groups, self.param_groups)

    def _check_same_type(self):
        parameters = [parameter for group in self.param_groups for parameter in group["params"]]
        sparse = next((each for each in parameters if each.is_sparse), None)
        if sparse is not None:
            raise ValueError("ZeroRedundancyOptimizer only supports using the same dense type for all parameters but "
                             f"got {sparse.type()}")
        types = dict.fromkeys(parameter.type() for parameter in parameters)
        if len(types) > 1:
            first, other = list(types)[:2]
            raise ValueError("ZeroRedundancyOptimizer only supports using the same dense type for all parameters but "
                             f"got both {first} and {other}")

    def _partition_parameters(self):
        """Makes `_partitions`: for each group the parameters of each rank. The largest go first, each to the rank with
        the fewest elements, so groups that are added later leave the shares of the former as they are."""
        sizes = [0] * self.world_size
        self._partitions: list[list[list[Tensor]]] = []
        for group in self.param_groups:
            shares: list[list[Tensor]] = [[] for _ in sizes]
            for parameter in sorted(group["params"], key=Tensor.numel, reverse=True):
                rank = sizes.index(min(sizes))
                shares[rank].append(parameter)
                sizes[rank] += parameter.numel()
            self._partitions.append(shares)
        self._buckets = [self._bucket(rank) for rank in range(self.world_size)]

    def _of_rank(self, rank):
        return [parameter for shares in self._partitions for parameter in shares[rank]]

    def _bucket(self, rank):
        """The tensors that a rank broadcasts: its parameters, or one of which they are views."""
        parameters = [parameter.data for parameter in self._of_rank(rank)]
        if not self.parameters_as_bucket_view or not parameters:
            return parameters
        bucket = mindtorch.cat([each.reshape(-1) for each in parameters])
        views = bucket.split([each.numel() for each in parameters])
        for parameter, view in zip(self._of_rank(rank), views, strict=True):
            parameter.data = view.view_as(parameter)
        return [bucket]

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group, in all ranks alike."""
        super().add_param_group(param_group)
        if self.optim is not None:
            self._check_same_type()
            self._partition_parameters()
            self.optim.add_param_group({**self.param_groups[-1], "params": self._partitions[-1][self.rank]})

    def step(self, closure: Callable[[], float] | None = None, **kwargs: Any) -> float | None:
        """Step for this rank's share, and give all ranks the parameters of all; the loss of `closure`."""
        Join.notify_join_context(self)
        _copy_options(self.param_groups, self.optim.param_groups)
        loss = self.optim.step(**kwargs) if closure is None else self.optim.step(closure=closure, **kwargs)
        _copy_options(self.optim.param_groups, self.param_groups)
        for rank, tensors in enumerate(self._buckets):
            if self.parameters_as_bucket_view:
                for bucket in tensors:
                    dist.broadcast(bucket, group=self.process_group, group_src=rank)
            else:
                _broadcast_coalesced(self.process_group, tensors, _BUCKET_BYTES, rank)
        return loss

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """The hook by which a rank without inputs takes part in the steps of the others, for Join."""
        return _ZeROJoinHook(self)

    @property
    def join_device(self) -> Any:
        """The device of the parameters."""
        return self._default_device

    @property
    def join_process_group(self) -> Any:
        """The group of the ranks."""
        return self.process_group

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Send the state of all ranks to rank `to`. Its state_dict() returns all of it then. All ranks call this."""
        _copy_options(self.param_groups, self.optim.param_groups)
        state = tree_map(lambda each: each.cpu() if isinstance(each, Tensor) else each, self.optim.state_dict())
        gathered: Any = [None] * self.world_size if self.rank == to else None
        dist.gather_object(state, gathered, group=self.process_group, group_dst=to)
        self._all_state_dicts = gathered or []

    def _numbers(self):
        """Parameter -> its number in the state of all."""
        parameters = [parameter for group in self.param_groups for parameter in group["params"]]
        return {parameter: number for number, parameter in enumerate(parameters)}

    def state_dict(self) -> dict[str, Any]:
        """The state of all ranks, as consolidate_state_dict has brought it here; that of a plain optimizer."""
        if not self._all_state_dicts:
            raise RuntimeError("Optimizer state has not been consolidated on this rank. Please call "
                               f"`consolidate_state_dict(to={self.rank})` on all ranks beforehand if you meant to save "
                               "the global state.")
        numbers, whole, state = self._numbers(), super().state_dict(), {}
        for rank, part in enumerate(self._all_state_dicts):
            order = [numbers[parameter] for parameter in self._of_rank(rank)]
            state.update({order[local]: each for local, each in part["state"].items()})
        return {**whole, "state": dict(sorted(state.items()))}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take this rank's share of a state of all."""
        numbers = self._numbers()
        places = {numbers[parameter]: place for place, parameter in enumerate(self._of_rank(self.rank))}
        local = self.optim.state_dict()
        self.optim.load_state_dict({
            "state": {places[number]: each for number, each in state_dict["state"].items() if number in places},
            "param_groups": [{**given, "params": group["params"]}
                             for given, group in zip(state_dict["param_groups"], local["param_groups"], strict=True)]})
        _copy_options(self.optim.param_groups, self.param_groups)


def _copy_options(source, target):
    """Gives groups the options of other groups."""
    for given, group in zip(source, target, strict=True):
        group.update({name: value for name, value in given.items() if name != "params"})
