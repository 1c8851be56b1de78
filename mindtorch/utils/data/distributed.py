"""torch.utils.data.distributed: each of several processes takes its own share of a data set."""
from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch.utils.data.sampler import Sampler

if TYPE_CHECKING:
    from mindtorch.utils.data.dataset import Dataset

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler):
    """The keys of process `rank` among `num_replicas`: every num_replicas-th, of the same permutation in all of them.
    Without these numbers they are those of torch.distributed.

    The shares are equally long: keys are repeated from the beginning, or with `drop_last` left out at the end. Call
    `set_epoch` before each pass, or every pass has the same order.

    Arguments:
        num_replicas: the number of processes; None means the world size
        rank: the number of this process; None means its rank
        seed: the seed of the order, the same in all processes
        drop_last: whether the end is left out, in place of repeating some samples

    Example:
        >>> list(torch.utils.data.DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False))
        [1, 3, 0]
    """

    def __init__(self, dataset: Dataset, num_replicas: int | None = None, rank: int | None = None, shuffle: bool = True,
                 seed: int = 0, drop_last: bool = False) -> None:
        if num_replicas is None or rank is None:
            from mindtorch import distributed
            num_replicas = distributed.get_world_size() if num_replicas is None else num_replicas
            rank = distributed.get_rank() if rank is None else rank
        if rank >= num_replicas or rank < 0:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        self.num_samples = len(dataset) // num_replicas if drop_last else -(-len(dataset) // num_replicas)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Any:
        indices = range(len(self.dataset))
        if self.shuffle:
            generator = mindtorch.Generator()
            generator.manual_seed(self.seed + self.epoch)
            indices = mindtorch.randperm(len(self.dataset), generator=generator).tolist()
        return itertools.islice(itertools.cycle(indices), self.rank, self.total_size, self.num_replicas)

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """With `shuffle`, choose the permutation of the next pass."""
        self.epoch = epoch
