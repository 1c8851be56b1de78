"""torch.distributed.checkpoint.staging: copies of a state dict, which async_save writes while training goes on."""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from mindtorch import Tensor

__all__ = ["AsyncStager", "BlockingAsyncStager", "DefaultStager", "StagingOptions"]


class AsyncStager(ABC):
    """Copies a state dict; `stage` returns the copy, or a Future of it.

    Example:
        >>> issubclass(dist.checkpoint.staging.DefaultStager, dist.checkpoint.staging.AsyncStager)
        True
    """

    _synchronize_after_execute = True

    @property
    def should_synchronize_after_execute(self) -> bool:
        """Whether async_save calls synchronize_staging."""
        return self._synchronize_after_execute

    @abstractmethod
    def stage(self, state_dict: dict[str, Any]) -> dict[str, Any] | Future[dict[str, Any]]:
        """A copy that does not follow later changes of the state."""

    def synchronize_staging(self) -> None:  # noqa: B027 - a stager that copies at once has nothing to wait for
        """Wait until the copy is made."""

    def close(self) -> None:  # noqa: B027 - nor to give back
        """Release what the stager holds."""


def _copied(value, place=None):
    """A copy on the CPU; the tensors of `place`, a former copy, are written to where they fit."""
    if isinstance(value, Tensor):
        if isinstance(place, Tensor) and (place.shape, place.dtype) == (value.shape, value.dtype):
            return place.copy_(value.detach())
        return value.detach().to("cpu", copy=True)
    if isinstance(value, Mapping):
        former = place if isinstance(place, Mapping) else {}
        return {key: _copied(each, former.get(key)) for key, each in value.items()}
    if type(value) in (list, tuple):
        former = place if isinstance(place, type(value)) and len(place) == len(value) else [None] * len(value)
        return type(value)(_copied(each, old) for each, old in zip(value, former, strict=True))
    return deepcopy(value)


class BlockingAsyncStager(AsyncStager):
    """Copies to the CPU before it returns; with `cache_staged_state_dict` into the memory of the last copy.

    Arguments:
        cache_staged_state_dict: whether the memory of the copy is kept for the next checkpoint
        type_check: not read

    Example:
        >>> weight = torch.ones(2)
        >>> copy = dist.checkpoint.staging.BlockingAsyncStager().stage({"weight": weight})
        >>> _ = weight.zero_()
        >>> copy["weight"]
        tensor([1., 1.])
    """

    _synchronize_after_execute = False

    def __init__(self, cache_staged_state_dict: bool = False, type_check: bool = False) -> None:
        self.cache_staged_state_dict, self.state_dict_cache = cache_staged_state_dict, None

    def stage(self, state_dict: dict[str, Any]) -> dict[str, Any]:
        copy = _copied(state_dict, self.state_dict_cache)
        self.state_dict_cache = copy if self.cache_staged_state_dict else None
        return copy


@dataclass
class StagingOptions:
    """With `use_async_staging` a thread makes the copy. The others change nothing here.

    Arguments:
        use_pinned_memory: whether the copy lies in pinned memory
        use_shared_memory: whether the copy lies in memory that other processes can open
        use_async_staging: whether a thread makes the copy
        use_non_blocking_copy: whether copies from the device are not waited for one by one

    Example:
        >>> options = dist.checkpoint.staging.StagingOptions(use_async_staging=False)
        >>> stager = dist.checkpoint.staging.DefaultStager(options)
        >>> stager.stage({"weight": torch.ones(2)})["weight"]
        tensor([1., 1.])
    """

    use_pinned_memory: bool = True
    use_shared_memory: bool = True
    use_async_staging: bool = True
    use_non_blocking_copy: bool = True


class DefaultStager(AsyncStager):
    """Copies to the CPU, in a thread if the options say so.

    Arguments:
        config: a StagingOptions

    Example:
        >>> stager = dist.checkpoint.staging.DefaultStager()
        >>> stager.stage({"weight": torch.ones(2)}).result()["weight"]
        tensor([1., 1.])
        >>> stager.close()
    """

    def __init__(self, config: StagingOptions | None = None) -> None:
        self._threads = ThreadPoolExecutor(1) if (config or StagingOptions()).use_async_staging else None
        self._last: Future[dict[str, Any]] | None = None

    def stage(self, state_dict: dict[str, Any]) -> dict[str, Any] | Future[dict[str, Any]]:
        if self._threads is None:
            return _copied(state_dict)
        self._last = self._threads.submit(_copied, state_dict)
        return self._last

    def synchronize_staging(self) -> None:
        if self._last is not None:
            self._last.result()

    def close(self) -> None:
        if self._threads is not None:
            self._threads.shutdown()
