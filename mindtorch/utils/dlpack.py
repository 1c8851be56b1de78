"""torch.utils.dlpack: tensors of other libraries, and for them, without a copy. In host memory, through NumPy."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from mindtorch._core.python.conversion import from_numpy
from mindtorch._core.tensor.tensor import TensorBase

if TYPE_CHECKING:
    from mindtorch import Tensor

__all__ = ["from_dlpack", "to_dlpack"]


class _Capsule:
    """A bare DLPack capsule as an object of the protocol; which device it is on is for NumPy to find out."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> Any:
        return 1, 0


class _Writable:
    """The memory of an array that NumPy marks read-only because a bare capsule cannot say whether it is."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.__array_interface__ = {**array.__array_interface__, "data": (array.ctypes.data, False)}


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """The tensor of another library (or a DLPack capsule), sharing its memory. BufferError where NumPy cannot."""
    if isinstance(ext_tensor, TensorBase):
        return _of_own(ext_tensor, device, copy)
    is_bare = not hasattr(ext_tensor, "__dlpack__")
    if is_bare:
        if type(ext_tensor).__name__ != "PyCapsule":
            raise RuntimeError("from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed "
                               "only once, so you might have already constructed a tensor from it once.")
        ext_tensor = _Capsule(ext_tensor)
    array = numpy.from_dlpack(ext_tensor, copy=copy)
    return _on_device(from_numpy(numpy.asarray(_Writable(array)) if is_bare else array), device, copy)


def _of_own(tensor: Any, device: Any, copy: bool | None) -> Any:
    """The same for a tensor of ours, which takes neither NumPy's dtypes nor host memory."""
    if tensor.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    return _on_device(tensor.clone() if copy else tensor.detach(), device, copy)


def _on_device(made: Any, device: Any, copy: bool | None) -> Any:
    if device is None:
        return made
    moved = made.to(device)
    if copy is False and moved is not made:
        raise ValueError(f"cannot move a tensor from {made.device.type} to {device} without copying")
    return moved


def to_dlpack(tensor: Any) -> Any:
    """A DLPack capsule that shares the tensor's memory; it can be consumed once."""
    return tensor.__dlpack__()
