"""torch.utils.data.sampler: in which order samples are taken."""
import itertools
from typing import Generic, TypeVar

import mindtorch

__all__ = [
    "BatchSampler", "RandomSampler", "Sampler", "SequentialSampler", "SubsetRandomSampler", "WeightedRandomSampler",
]

_T_co = TypeVar("_T_co", covariant=True)
_DRAWN_AT_ONCE = 32          # torch draws with replacement in blocks of this many; the numbers depend on it


class Sampler(Generic[_T_co]):
    """What yields keys of a data set, or lists of them. Subclasses define `__iter__`."""

    def __iter__(self):
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """0, 1, 2 ..."""

    def __init__(self, data_source):
        self.data_source = data_source

    def __iter__(self):
        return iter(range(len(self.data_source)))

    def __len__(self):
        return len(self.data_source)


def _require_count(name, count):
    if not isinstance(count, int) or isinstance(count, bool) or count <= 0:
        raise ValueError(f"{name} should be a positive integer value, but got {name}={count}")


def _require_flag(name, flag, error=ValueError):
    if not isinstance(flag, bool):
        raise error(f"{name} should be a boolean value, but got {name}={flag}")


def _permutation(n, generator):
    return mindtorch.randperm(n, generator=generator).tolist()


class RandomSampler(Sampler[int]):
    """Keys in random order: permutations of all, or with `replacement` independent draws."""

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        _require_flag("replacement", replacement, TypeError)
        _require_count("num_samples", self.num_samples)

    @property
    def num_samples(self):
        """How many keys one pass yields; by default the data set's length at that time."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self):
        generator = self.generator
        if generator is None:
            generator = mindtorch.Generator()
            generator.manual_seed(int(mindtorch.empty((), dtype=mindtorch.int64).random_().item()))
        n, wanted = len(self.data_source), self.num_samples
        if self.replacement:
            for _ in range(wanted // _DRAWN_AT_ONCE):
                yield from self._draws(n, _DRAWN_AT_ONCE, generator)
            yield from self._draws(n, wanted % _DRAWN_AT_ONCE, generator)
        else:
            for _ in range(wanted // n):
                yield from _permutation(n, generator)
            yield from _permutation(n, generator)[:wanted % n]

    @staticmethod
    def _draws(n, count, generator):
        return mindtorch.randint(n, (count,), dtype=mindtorch.int64, generator=generator).tolist()

    def __len__(self):
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given keys in random order."""

    def __init__(self, indices, generator=None):
        self.indices = indices
        self.generator = generator

    def __iter__(self):
        return map(self.indices.__getitem__, _permutation(len(self.indices), self.generator))

    def __len__(self):
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Keys 0 to len(weights) - 1, each as likely as its weight."""

    def __init__(self, weights, num_samples, replacement=True, generator=None):
        _require_count("num_samples", num_samples)
        _require_flag("replacement", replacement)
        weights = mindtorch.as_tensor(weights, dtype=mindtorch.double)
        if weights.dim() != 1:
            raise ValueError("weights should be a 1d sequence but given "
                             f"weights have shape {tuple(weights.shape)}")
        self.weights = weights
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self):
        drawn = mindtorch.multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator)
        yield from drawn.tolist()

    def __len__(self):
        return self.num_samples


class BatchSampler(Sampler[list]):
    """Lists of `batch_size` keys of another sampler; with `drop_last` no shorter one at the end."""

    def __init__(self, sampler, batch_size, drop_last):
        _require_count("batch_size", batch_size)
        _require_flag("drop_last", drop_last)
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self):
        keys = iter(self.sampler)
        least = self.batch_size if self.drop_last else 1
        while len(batch := list(itertools.islice(keys, self.batch_size))) >= least:
            yield batch

    def __len__(self):
        count = len(self.sampler)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
