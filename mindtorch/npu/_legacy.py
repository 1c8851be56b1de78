"""torch.npu.FloatTensor, torch.npu.FloatStorage and the like: a dtype on an NPU as a class."""
from mindtorch._compat.legacy_types import storage_types, tensor_types

_TYPES = tensor_types("mindtorch.npu", "npu")
_TYPES |= {made.__name__: made for made in storage_types("mindtorch.npu", "npu").values()
           if not made.__name__.startswith("Complex")}
globals().update(_TYPES)
