"""torch.utils.data.sampler: in which order samples are taken."""
from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import TYPE_CHECKING, Generic, TypeVar

import mindtorch

if TYPE_CHECKING:
    from mindtorch import Generator, Tensor

__all__ = [
    "BatchSampler", "RandomSampler", "Sampler", "SequentialSampler", "SubsetRandomSampler", "WeightedRandomSampler",
]

_T_co = TypeVar("_T_co", covariant=True)
_DRAW_BLOCK_SIZE = 32          # torch draws with replacement in blocks of this many; the numbers depend on it


class Sampler(Generic[_T_co]):
    """Base class of objects that yield keys of a data set, or lists of them. Subclasses define `__iter__`.

    Example:
        >>> class Backwards(torch.utils.data.Sampler):
        ...     def __init__(self, data):
        ...         self.data = data
        ...     def __iter__(self):
        ...         return iter(reversed(range(len(self.data))))
        >>> list(Backwards("abc"))
        [2, 1, 0]
    """

    def __iter__(self) -> Iterator[_T_co]:
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """0, 1, 2 ...

    Example:
        >>> list(torch.utils.data.SequentialSampler("abc"))
        [0, 1, 2]
    """

    data_source: Sized

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
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
    """Keys in random order: permutations of all, or with `replacement` independent draws.

    Arguments:
        num_samples: the number of samples; None means as many as the dataset has

    Example:
        >>> sorted(torch.utils.data.RandomSampler(range(4)))
        [0, 1, 2, 3]
    """

    data_source: Sized
    replacement: bool

    def __init__(self, data_source: Sized, replacement: bool = False, num_samples: int | None = None,
                 generator: Generator | None = None) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        _require_flag("replacement", replacement, TypeError)
        _require_count("num_samples", self.num_samples)

    @property
    def num_samples(self) -> int:
        """How many keys one pass yields; by default the data set's length at that time."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        generator = self.generator
        if generator is None:
            generator = mindtorch.Generator()
            generator.manual_seed(int(mindtorch.empty((), dtype=mindtorch.int64).random_().item()))
        n, wanted = len(self.data_source), self.num_samples
        if self.replacement:
            for _ in range(wanted // _DRAW_BLOCK_SIZE):
                yield from self._draws_(n, _DRAW_BLOCK_SIZE, generator)
            yield from self._draws_(n, wanted % _DRAW_BLOCK_SIZE, generator)
        else:
            for _ in range(wanted // n):
                yield from _permutation(n, generator)
            yield from _permutation(n, generator)[:wanted % n]

    @staticmethod
    def _draws_(n, count, generator):
        return mindtorch.randint(n, (count,), dtype=mindtorch.int64, generator=generator).tolist()

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given keys in random order.

    Example:
        >>> sorted(torch.utils.data.SubsetRandomSampler([2, 5]))
        [2, 5]
    """

    indices: Sequence[int]

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for index in _permutation(len(self.indices), self.generator):       # drawn with the first key, as by the others
            yield self.indices[index]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Keys 0 to len(weights) - 1, each as likely as its weight.

    Arguments:
        weights: the weight of each sample

    Example:
        >>> list(torch.utils.data.WeightedRandomSampler([0.0, 1.0], 3))
        [1, 1, 1]
    """

    weights: Tensor
    num_samples: int
    replacement: bool

    def __init__(self, weights: Sequence[float], num_samples: int, replacement: bool = True,
                 generator: Generator | None = None) -> None:
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

    def __iter__(self) -> Iterator[int]:
        drawn = mindtorch.multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator)
        yield from drawn.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list]):
    """Lists of `batch_size` keys of another sampler; with `drop_last` no shorter one at the end.

    Arguments:
        sampler: a Sampler, or an iterable, of indices

    Example:
        >>> list(torch.utils.data.BatchSampler(range(5), batch_size=2, drop_last=False))
        [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Sampler[int] | Iterable[int], batch_size: int, drop_last: bool) -> None:
        _require_count("batch_size", batch_size)
        _require_flag("drop_last", drop_last)
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        keys = iter(self.sampler)
        least = self.batch_size if self.drop_last else 1
        while len(batch := list(itertools.islice(keys, self.batch_size))) >= least:
            yield batch

    def __len__(self) -> int:
        count = len(self.sampler)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
