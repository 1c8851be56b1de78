"""torch.distributed._tensor.placement_types: the older name of torch.distributed.tensor.placement_types."""
from mindtorch.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta
from mindtorch.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard

__all__ = ["DTensorSpec", "Partial", "Placement", "Replicate", "Shard", "TensorMeta"]
