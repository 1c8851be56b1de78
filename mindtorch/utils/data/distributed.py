"""torch.utils.data.distributed: each of several processes takes its own share of a data set."""
import itertools

import mindtorch
from mindtorch.utils.data.sampler import Sampler

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler):
    """The keys of process `rank` among `num_replicas`: every num_replicas-th, of the same permutation in all of them.

    The shares are equally long: keys are repeated from the beginning, or with `drop_last` left out at the end. Call
    `set_epoch` before each pass, or every pass has the same order.
    """

    def __init__(self, dataset, num_replicas=None, rank=None, shuffle=True, seed=0, drop_last=False):
        if num_replicas is None or rank is None:
            raise RuntimeError("Requires distributed package to be available")
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

    def __iter__(self):
        indices = range(len(self.dataset))
        if self.shuffle:
            generator = mindtorch.Generator()
            generator.manual_seed(self.seed + self.epoch)
            indices = mindtorch.randperm(len(self.dataset), generator=generator).tolist()
        return itertools.islice(itertools.cycle(indices), self.rank, self.total_size, self.num_replicas)

    def __len__(self):
        return self.num_samples

    def set_epoch(self, epoch):
        """With `shuffle`, choose the permutation of the next pass."""
        self.epoch = epoch
