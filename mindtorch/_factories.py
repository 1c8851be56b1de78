"""Tensors from Python data and NumPy arrays: torch.tensor, as_tensor, asarray, from_numpy, scalar_tensor."""
import warnings

import numpy

from mindtorch._core.nested import tensor_from
from mindtorch._core.tensor import TensorBase
from mindtorch._core.values import from_numpy

__all__ = ["as_tensor", "asarray", "from_numpy", "scalar_tensor", "tensor"]


def tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """A new tensor from numbers, nested sequences of them, an array or another tensor; it never shares memory.

    Without `dtype` Python floats make the default dtype, ints int64, bools bool, complex numbers the default complex
    dtype; mixed data are promoted. TypeError, ValueError or RuntimeError as torch for data that make no tensor.
    """
    if isinstance(data, TensorBase):
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
            UserWarning, stacklevel=2)
    made = tensor_from(data, dtype, device, pin_memory, "tensor")
    if requires_grad and not (made.is_floating_point() or made.is_complex()):
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return made.requires_grad_() if requires_grad else made


def as_tensor(data, dtype=None, device=None):
    """`data` as a tensor, sharing its memory where dtype and device allow it."""
    if isinstance(data, TensorBase):
        return data.to(device=device, dtype=dtype)
    if isinstance(data, numpy.ndarray):
        return from_numpy(data).to(device=device, dtype=dtype)
    return tensor_from(data, dtype, device, False, "as_tensor")


def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=False):
    """`obj` as a tensor. copy=None: shared where possible; True: never shared; False: ValueError if it cannot be."""
    made = _shared_or_copied(obj, dtype, device, copy)
    return made.detach().requires_grad_() if requires_grad else made


def _shared_or_copied(obj, dtype, device, copy):
    if isinstance(obj, (TensorBase, numpy.ndarray)):
        source = obj if isinstance(obj, TensorBase) else from_numpy(obj)
        result = source.to(device=device, dtype=dtype)
        if copy is False and result is not source:
            raise ValueError("can't alias tensor with a different device or dtype.")
        return result.clone() if copy and result is source else result
    if copy is False:
        raise ValueError("can't alias arbitrary sequence into a tensor.")
    return tensor_from(obj, dtype, device, False, "asarray")


def scalar_tensor(s, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """A 0-d tensor of the default dtype (unless another is given)."""
    from mindtorch import get_default_dtype
    return tensor(s, dtype=dtype or get_default_dtype(), device=device, requires_grad=requires_grad,
                  pin_memory=pin_memory)
