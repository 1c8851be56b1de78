"""torch._subclasses: tensors that have shapes and no elements, and their mode."""
from mindtorch._subclasses.fake_tensor import (
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    UnsupportedFakeTensorException,
)
from mindtorch._subclasses.fake_utils import CrossRefFakeMode

__all__ = ["CrossRefFakeMode", "DynamicOutputShapeException", "FakeTensor", "FakeTensorMode",
           "UnsupportedFakeTensorException"]
