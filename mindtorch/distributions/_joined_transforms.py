"""Transforms that treat the parts of a tensor differently."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mindtorch
from mindtorch.distributions import constraints
from mindtorch.distributions._transform import Transform
from mindtorch.distributions.utils import sum_rightmost


class _Joined(Transform):
    """Applies several transforms, each to one section of a tensor along a dimension."""

    def __init__(self, tseq: Any, dim: Any, cache_size: Any) -> None:
        if not all(isinstance(each, Transform) for each in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        super().__init__(cache_size=cache_size)
        self.transforms = [each.with_cache(cache_size) for each in tseq] if cache_size else list(tseq)
        self.dim = dim

    @property
    def bijective(self) -> Any:
        return all(each.bijective for each in self.transforms)

    def _check_size_(self, value, size, what):
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for x with {value.dim()} dimensions")
        if value.size(self.dim) != size:
            raise AssertionError(f"x.size({self.dim}) = {value.size(self.dim)} must equal {what} {size}")

    def _of_parts_(self, transforms, value):
        return self._joined_([each(part) for each, part in zip(transforms, self._split_(value), strict=True)])

    def _call(self, x):
        return self._of_parts_(self.transforms, x)

    def _inverse(self, y):
        return self._of_parts_([each.inv for each in self.transforms], y)

    def _jacobians_(self, x, y):
        parts = zip(self.transforms, self._split_(x), self._split_(y), strict=True)
        return [(each, each.log_abs_det_jacobian(one, other)) for each, one, other in parts]


class CatTransform(_Joined):
    """Each transform of `lengths[i]` elements along `dim`, one unless told: of what torch.cat has joined.

    Arguments:
        lengths: how many elements belong to each; None means one

    Example:
        >>> transform = torch.distributions.CatTransform(
        ...     [torch.distributions.ExpTransform(), torch.distributions.identity_transform], lengths=[1, 2])
        >>> transform(torch.tensor([0.0, -1.0, 2.0]))
        tensor([ 1., -1.,  2.])
    """

    transforms: list[Transform]

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None,
                 cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})")

    @property
    def event_dim(self) -> int:
        return max(each.event_dim for each in self.transforms)

    @property
    def length(self) -> int:
        return sum(self.lengths)

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _split_(self, value):
        self._check_size_(value, self.length, "length")
        return value.split(self.lengths, self.dim)

    def _joined_(self, parts):
        return mindtorch.cat(parts, dim=self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        event_dim = self.event_dim
        found = [sum_rightmost(each, event_dim - transform.event_dim) if transform.event_dim < event_dim else each
                 for transform, each in self._jacobians_(x, y)]
        # Seen from the right, so that the dimensions of one value, which are gone, can be left out.
        dim = self.dim - (x.dim() if self.dim >= 0 else 0) + event_dim
        return mindtorch.cat(found, dim=dim) if dim < 0 else sum(found)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.cat([each.domain for each in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.cat([each.codomain for each in self.transforms], self.dim, self.lengths)


class StackTransform(_Joined):
    """Each transform of its slice along `dim`: of what torch.stack has joined.

    Example:
        >>> transform = torch.distributions.StackTransform(
        ...     [torch.distributions.ExpTransform(), torch.distributions.identity_transform])
        >>> transform(torch.zeros(2))
        tensor([1., 0.])
    """

    transforms: list[Transform]

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)

    def with_cache(self, cache_size: int = 1) -> Any:
        return self if self._cache_size == cache_size else StackTransform(self.transforms, self.dim, cache_size)

    def _split_(self, value):
        self._check_size_(value, len(self.transforms), "len(transforms)")
        return value.unbind(self.dim)

    def _joined_(self, parts):
        return mindtorch.stack(parts, dim=self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return self._joined_([each for _, each in self._jacobians_(x, y)])

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.stack([each.domain for each in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.stack([each.codomain for each in self.transforms], self.dim)
