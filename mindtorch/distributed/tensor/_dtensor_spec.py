"""torch.distributed.tensor._dtensor_spec: shape and placements of a DTensor."""
from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from mindtorch import Size, dtype
    from mindtorch.distributed.device_mesh import DeviceMesh
    from mindtorch.distributed.tensor.placement_types import Placement

__all__ = ["DTensorSpec", "TensorMeta"]


class TensorMeta(NamedTuple):
    """Shape, strides and dtype of the whole tensor."""

    shape: Size
    stride: tuple[int, ...]
    dtype: dtype


class DTensorSpec(NamedTuple):
    """Where the parts of a tensor lie: a placement for each dimension of the mesh."""

    mesh: DeviceMesh
    placements: tuple[Placement, ...]
    tensor_meta: TensorMeta

    @property
    def shape(self) -> Size:
        """The shape of the whole tensor."""
        return self.tensor_meta.shape

    @property
    def ndim(self) -> int:
        """The number of dimensions of the tensor."""
        return len(self.tensor_meta.shape)
