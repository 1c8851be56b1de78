"""Tensors from Python data, arrays, buffers and files: torch.tensor, as_tensor, asarray, from_numpy, frombuffer, ..."""
import warnings

import numpy

from mindtorch._core.formats import require_strided
from mindtorch._core.python.conversion import from_numpy
from mindtorch._core.tensor import torch_dispatch
from mindtorch._core.tensor.attributes import StorageBase
from mindtorch._core.tensor.dtype import dtype as dtype_class
from mindtorch._core.tensor.dtype import get_default_dtype, int64
from mindtorch._core.tensor.factories import tensor_from_data
from mindtorch._core.tensor.tensor import TensorBase
from mindtorch.storage import mapped_bytes

__all__ = ["as_tensor", "asarray", "from_file", "from_numpy", "frombuffer", "is_storage", "scalar_tensor", "tensor"]


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
    if getattr(data, "_untyped_storage", None) is not None and dtype not in (None, data.dtype):
        from mindtorch._ops.composite.common import scalar_type
        raise RuntimeError(f"Expected a Storage of type {scalar_type(dtype)} or an UntypedStorage, but got "
                           f"{scalar_type(data.dtype)}")
    if _is_exchanged(data):
        data = _from_dlpack(data)
    if torch_dispatch.is_dispatched():          # modes see the tensor, not how it comes about
        with torch_dispatch.DisableModes():
            made = tensor_from_data(data, dtype, device, pin_memory, "tensor")
    else:
        made = tensor_from_data(data, dtype, device, pin_memory, "tensor")
    if requires_grad and not (made.is_floating_point() or made.is_complex()):
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    if torch_dispatch.is_dispatched():
        made = torch_dispatch.lift_fresh(made)
    return made.requires_grad_() if requires_grad else made


def as_tensor(data, dtype=None, device=None):
    """`data` as a tensor, sharing its memory where dtype and device allow it."""
    if isinstance(data, TensorBase):
        return data.to(device=device, dtype=dtype)
    if isinstance(data, numpy.ndarray):
        return from_numpy(data).to(device=device, dtype=dtype)
    if _is_exchanged(data):
        return _from_dlpack(data).to(device=device, dtype=dtype)
    return tensor_from_data(data, dtype, device, False, "as_tensor")


def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=None):
    """`obj` as a tensor. copy=None: shared where possible; True: never shared; False: ValueError if it cannot be.

    Without `requires_grad` the result has the history of `obj`; with False it has none.
    """
    made = _shared_or_copied(obj, dtype, device, copy)
    if requires_grad is None or made.requires_grad == requires_grad:
        return made
    return made.requires_grad_() if requires_grad else made.detach()


def _is_exchanged(obj):
    """Whether `obj` is of another library that hands its memory over by DLPack."""
    return type(obj) not in (list, tuple, int, float) and hasattr(type(obj), "__dlpack__") and not isinstance(
        obj, (TensorBase, numpy.ndarray))


def _from_dlpack(obj):
    from mindtorch.utils.dlpack import from_dlpack
    return from_dlpack(obj)


def _shared_or_copied(obj, dtype, device, copy):
    if _is_exchanged(obj) or type(obj).__name__ == "PyCapsule":
        obj = _from_dlpack(obj)
    if isinstance(obj, (TensorBase, numpy.ndarray)):
        source = obj if isinstance(obj, TensorBase) else from_numpy(obj)
        result = source.to(device=device, dtype=dtype)
        if copy is False and result.device != source.device:
            raise ValueError(f"can't alias tensor from device '{source.device}' to '{result.device}'.")
        if copy is False and result is not source:
            from mindtorch._ops.composite.common import scalar_type
            raise ValueError(f"can't alias tensor with dtype '{scalar_type(source.dtype)}' into dtype "
                             f"'{scalar_type(result.dtype)}'.")
        return result.clone() if copy and result is source else result
    if isinstance(obj, StorageBase):
        return _shared_or_copied(obj._as_tensor().view(dtype or int64), None, device, copy)
    if _has_buffer(obj):
        return _shared_or_copied(frombuffer(obj, dtype=dtype or get_default_dtype()), None, device, copy)
    if copy is False and isinstance(obj, numpy.generic):
        raise RuntimeError("can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray. ")
    if copy is False:
        raise ValueError("can't alias arbitrary sequence into a tensor.")
    return tensor_from_data(obj, dtype, device, False, "asarray")


class _Memory:
    """Memory as NumPy is told of it: writable, whatever its owner says."""

    def __init__(self, view):
        array = numpy.frombuffer(view, numpy.uint8)
        self.owner = array
        self.__array_interface__ = {**array.__array_interface__, "data": (array.ctypes.data, False)}


def _has_buffer(obj):
    if isinstance(obj, numpy.generic):
        return False
    try:
        memoryview(obj).release()
    except TypeError:
        return False
    return True


def frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False):
    """A tensor of one dimension on the memory of `buffer`: `count` elements (negative: all) from byte `offset` on.

    ValueError for what has no buffer, and where the elements do not fit.
    """
    if not isinstance(dtype, dtype_class):
        raise TypeError(f"frombuffer(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")
    if not _has_buffer(buffer):
        raise ValueError("object does not implement Python buffer protocol.")
    view, size = memoryview(buffer), dtype.itemsize
    if not view.c_contiguous:
        raise RuntimeError("could not retrieve buffer from object")
    if view.nbytes == 0 or count == 0:
        raise ValueError(f"both buffer length ({view.nbytes}) and count ({count}) must not be 0")
    if not 0 <= offset < view.nbytes:
        raise ValueError(f"offset ({offset} bytes) must be non-negative and no greater than buffer length "
                         f"({view.nbytes} bytes) minus 1")
    rest = view.nbytes - offset
    if count < 0 and rest % size:
        raise ValueError(f"buffer length ({rest} bytes) after offset ({offset} bytes) must be a multiple of element "
                         f"size ({size})")
    if count * size > rest:
        raise ValueError(f"requested buffer length ({count} * {size} bytes) after offset ({offset} bytes) must not be "
                         f"greater than actual buffer length ({view.nbytes} bytes)")
    if view.readonly:
        warnings.warn("The given buffer is not writable, and PyTorch does not support non-writable tensors. Writing to "
                      "the tensor would write to memory that others take for constant: copy the buffer first.",
                      UserWarning, stacklevel=2)
    if requires_grad and not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    data = numpy.asarray(_Memory(view))[offset:offset + (rest if count < 0 else count * size)]
    made = from_numpy(data).view(dtype)
    return made.requires_grad_() if requires_grad else made


def from_file(filename, shared=False, size=0, *, dtype=None, layout=None, device=None, pin_memory=False,
              requires_grad=False):
    """A tensor of the first `size` elements of a file, which is mapped; writes go to the file where `shared`.

    Arguments:
        filename: the path of the file
        shared: whether writes reach the file
        size: the number of elements
        dtype: the dtype of the elements
        layout: torch.strided
        device: the CPU
        pin_memory: False
        requires_grad: whether autograd records operators on the result

    Example:
        >>> import tempfile
        >>> file = tempfile.NamedTemporaryFile()
        >>> _ = file.write(bytes([1, 2, 3])), file.flush()
        >>> torch.from_file(file.name, size=3, dtype=torch.uint8)
        tensor([1, 2, 3], dtype=torch.uint8)
    """
    if device is not None and str(device) != "cpu":
        raise NotImplementedError(f"from_file maps files into host memory, not to device {device}")
    dtype = dtype or get_default_dtype()
    data = mapped_bytes(filename, bool(shared), size * dtype.itemsize)
    made = from_numpy(data).view(dtype) if size else tensor_from_data([], dtype, None, False, "from_file")
    made = made.pin_memory() if pin_memory else made
    return made.requires_grad_() if requires_grad else made


def is_storage(obj, /):
    """Whether `obj` is a storage.

    Arguments:
        obj: any object

    Example:
        >>> torch.is_storage(torch.ones(2).untyped_storage()), torch.is_storage(torch.ones(2))
        (True, False)
    """
    from mindtorch.storage import TypedStorage
    return isinstance(obj, (StorageBase, TypedStorage))


def scalar_tensor(s, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """A 0-d tensor of the default dtype (unless another is given)."""
    if layout is not None:
        require_strided(layout, "scalar_tensor")
    return tensor(s, dtype=dtype or get_default_dtype(), device=device, requires_grad=requires_grad,
                  pin_memory=pin_memory)
