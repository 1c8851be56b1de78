"""What the functions of torch_npu that are written in Python ask first."""
from mindtorch._core.tensor.tensor import TensorBase
from mindtorch._ops.composite.common import scalar_type


def on_npu(name, *tensors):
    """TypeError for what is no tensor, NotImplementedError for tensors of the CPU; None is left out."""
    for tensor in tensors:
        if tensor is None:
            continue
        if not isinstance(tensor, TensorBase):
            raise TypeError(f"{name}(): an argument must be Tensor, not {type(tensor).__name__}")
        if tensor.device.type != "npu":
            raise NotImplementedError(f"Could not run '{name}' on {tensor.device.type} (dtype "
                                      f"{scalar_type(tensor.dtype)}): there is no kernel for it on that device")
