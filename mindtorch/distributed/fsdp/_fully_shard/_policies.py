"""How fully_shard casts, and where it keeps shards."""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mindtorch import dtype

__all__ = ["CPUOffloadPolicy", "MixedPrecisionPolicy", "OffloadPolicy"]


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """The dtypes of computing: of parameters, of the reduction of gradients, of results; None: as they are.

    Shards and their gradients keep the dtype of the parameters. `cast_forward_inputs`: also cast the inputs.

    Arguments:
        output_dtype: the dtype that results are cast to; None leaves it

    Example:
        >>> dtypes = dist.fsdp.MixedPrecisionPolicy(param_dtype=torch.bfloat16)
        >>> layer = torch.nn.Linear(2, 2)
        >>> layer = dist.fsdp.fully_shard(layer, mesh=dist.init_device_mesh("cpu", (1,)), mp_policy=dtypes)
        >>> layer(torch.ones(1, 2)).dtype
        torch.bfloat16
    """

    param_dtype: dtype | None = None
    reduce_dtype: dtype | None = None
    output_dtype: dtype | None = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """Shards lie on the device of the mesh.

    Example:
        >>> dist.fsdp.OffloadPolicy()
        OffloadPolicy()
    """


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Shards, their gradients and the optimizer's state lie in host memory, which is pinned.

    Arguments:
        pin_memory: whether they lie in pinned memory

    Example:
        >>> policy = dist.fsdp.CPUOffloadPolicy(pin_memory=False)
    """

    pin_memory: bool = True
