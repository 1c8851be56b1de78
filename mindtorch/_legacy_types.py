"""torch.FloatTensor and the like: a dtype and a device as a class. Their instances are tensors of that dtype."""
import importlib
import warnings

from mindtorch import _tensor_methods
from mindtorch._core import dtype as _dtypes
from mindtorch._core.device import device as _device
from mindtorch._core.device import set_default_device
from mindtorch._core.dtype import set_default_dtype
from mindtorch._core.factories import empty
from mindtorch._core.formats import strided
from mindtorch._core.tensor import Size, TensorBase
from mindtorch._ops.composite.common import scalar_type

_DTYPES = {"Bool": _dtypes.bool, "Byte": _dtypes.uint8, "Char": _dtypes.int8, "Short": _dtypes.int16,
           "Int": _dtypes.int32, "Long": _dtypes.int64, "Half": _dtypes.float16, "BFloat16": _dtypes.bfloat16,
           "Float": _dtypes.float32, "Double": _dtypes.float64}
__all__ = [f"{name}Tensor" for name in _DTYPES] + ["set_default_tensor_type"]


class tensortype(type):
    """The class of these classes."""

    is_sparse = is_cuda = False
    layout = strided

    def __instancecheck__(cls, instance):
        return (isinstance(instance, TensorBase) and instance.device.type == cls.place
                and instance.dtype is cls.dtype)

    def __call__(cls, *args, device=None, size=None):
        """FloatTensor(2, 3) is uninitialised, FloatTensor([2, 3]) holds those numbers, FloatTensor(t) is t."""
        device = cls.place if device is None else _device(device)
        if _device(device).type != cls.place:
            raise RuntimeError(f"legacy constructor expects device type: {cls.place} but device type: "
                               f"{_device(device).type} was passed")
        return _tensor_methods.new(empty(0, dtype=cls.dtype), *(args if size is None else (Size(size),)),
                                   device=device)


def tensor_types(module, place):
    """FloatTensor and the like of a module, for one type of device, by name."""
    return {f"{name}Tensor": tensortype(f"{name}Tensor", (), {
        "__module__": module, "__doc__": f"Tensors of {dtype} on {place}.", "dtype": dtype, "place": place})
        for name, dtype in _DTYPES.items()}


globals().update(tensor_types("mindtorch", "cpu"))


def set_default_tensor_type(t, /):
    """Deprecated: the dtype of a legacy type, or of its name, becomes the default, and the CPU the default device."""
    if isinstance(t, str):
        module, _, name = t.rpartition(".")
        if module in ("torch", "mindtorch") and name in globals():
            t = globals()[name]
        elif module == "torch.cuda":
            raise TypeError(f"type {t} not available. Torch not compiled with CUDA enabled.")
        else:
            t = getattr(importlib.import_module(module or name), name, None)
    if not isinstance(t, tensortype):
        raise TypeError("invalid type object: only floating-point types are supported as the default type")
    if scalar_type(t.dtype) not in ("Half", "BFloat16", "Float", "Double"):
        raise TypeError("only floating-point types are supported as the default type")
    warnings.warn("torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use "
                  "torch.set_default_dtype() and torch.set_default_device() as alternatives.", UserWarning,
                  stacklevel=2)
    set_default_dtype(t.dtype)
    set_default_device("cpu")
