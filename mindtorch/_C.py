"""The few private names that code written for torch reaches through `torch._C`."""
from mindtorch import _backend
from mindtorch._core.device import get_default_device as _default_device
from mindtorch._core.tensor import Size, TensorBase
from mindtorch._core.tensor import TensorBase as _TensorBase

__all__ = ["Size", "TensorBase", "_TensorBase"]


def _npu_aclnn_available():
    """Whether the toolkit in use can run operators."""
    return _backend.npu_available()


def _npu_aclnn_symbols_ok():
    """Whether the toolkit in use has every operator that mindtorch calls."""
    return not _backend.missing_operators()


def _get_default_device():
    return _default_device().type
