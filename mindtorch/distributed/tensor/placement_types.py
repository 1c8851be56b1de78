"""torch.distributed.tensor.placement_types: what each rank of a mesh dimension has of a tensor."""
from __future__ import annotations

from dataclasses import dataclass, field

from mindtorch._submodules import module_getattr

__all__ = ["Partial", "Placement", "Replicate", "Shard"]


class Placement:
    """What the ranks along one dimension of a mesh have of a tensor: Shard, Replicate or Partial.

    Example:
        >>> isinstance(dist.tensor.Shard(0), dist.tensor.Placement), dist.tensor.Shard(1).is_shard(dim=1)
        (True, True)
    """

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether each rank has a part (of that dimension)."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """Whether each rank has the whole tensor."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether the ranks' tensors are still to be reduced (by that operation)."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


@dataclass(frozen=True)
class Shard(Placement):
    """Each rank has a part along `dim`, as torch.chunk cuts it: the last parts may be smaller, or empty.

    Arguments:
        dim: the dimension that is cut

    Example:
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> x = dist.tensor.distribute_tensor(torch.ones(4, 2), mesh, [dist.tensor.Shard(0)])
        >>> x.shape, x.to_local().shape         # of one rank
        (torch.Size([4, 2]), torch.Size([4, 2]))
    """

    dim: int

    def __str__(self) -> str:
        return f"S({self.dim})"

    @staticmethod
    def local_shard_size_and_offset(curr_local_size: int, num_chunks: int, rank: int) -> tuple[int, int]:
        """The length of a rank's part of a dimension, and where it begins."""
        chunk = -(-curr_local_size // num_chunks)
        begin = min(chunk * rank, curr_local_size)
        return min(chunk, curr_local_size - begin), begin


@dataclass(frozen=True, repr=False)
class _StridedShard(Placement):
    """A part along `dim` of what the plain Shards of other mesh dimensions leave of it, as fully_shard cuts parameters
    that tensor parallel has cut already. `split_factor`: into how many parts these have cut it.
    """

    dim: int
    split_factor: int = field(kw_only=True, default=1)

    def __repr__(self) -> str:
        return f"_StridedShard(dim={self.dim}, sf={self.split_factor})"

    def __str__(self) -> str:
        return f"_S({self.dim}, {self.split_factor})"


@dataclass(frozen=True)
class Replicate(Placement):
    """Each rank has the whole tensor.

    Example:
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> dist.tensor.distribute_tensor(torch.ones(2), mesh, [dist.tensor.Replicate()]).placements
        (Replicate(),)
    """

    def __str__(self) -> str:
        return "R"


@dataclass(frozen=True)
class Partial(Placement):
    """The tensor is the sum, avg, product, min or max of the ranks' tensors, or the norm `norm_2.0` of their norms.

    Arguments:
        reduce_op: how the parts are combined, such as "sum"

    Example:
        >>> DTensor, Partial, Replicate = (getattr(dist.tensor, n) for n in ("DTensor", "Partial", "Replicate"))
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> x = DTensor.from_local(torch.ones(2), mesh, [Partial()])
        >>> x.redistribute(placements=[Replicate()]).to_local()      # of one rank
        tensor([1., 1.])
    """

    reduce_op: str = "sum"

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"

    def __str__(self) -> str:
        return f"P({self.reduce_op})"


__getattr__ = module_getattr(__name__)
