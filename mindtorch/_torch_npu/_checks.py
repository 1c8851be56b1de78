"""Argument checks of the torch_npu functions that are written in Python."""
from mindtorch._core.tensor.tensor import TensorBase
from mindtorch._ops.composite.common import scalar_type


def on_npu(name, *tensors):
    """TypeError for anything but tensors and None, NotImplementedError for CPU tensors."""
    for tensor in tensors:
        if tensor is None:
            continue
        if not isinstance(tensor, TensorBase):
            raise TypeError(f"{name}(): an argument must be Tensor, not {type(tensor).__name__}")
        if tensor.device.type != "npu":
            raise NotImplementedError(f"Could not run '{name}' on {tensor.device.type} (dtype "
                                      f"{scalar_type(tensor.dtype)}): there is no kernel for it on that device")


def leave_out(function, /, **values):
    """NotImplementedError for an argument that is given and that mindtorch lacks."""
    for name, value in values.items():
        if value is not None and value != "":
            raise NotImplementedError(f"{function}: {name} is not supported on npu: leave it out")


def only(function, /, **values):
    """NotImplementedError for an argument that is not the one value that mindtorch has: name=(given, the value)."""
    for name, (given, value) in values.items():
        if given != value:
            raise NotImplementedError(f"{function}: {name} {given} is not supported on npu: only {value} is")
