"""The index of a device from an int, a string or a torch.device."""
from mindtorch._core.tensor.tensor import device as torch_device


def get_device_index(device, optional=False, allow_cpu=False):
    """The index of `device`: an int, a string, a torch.device, or None for the current device where `optional`.

    -1 stands for the CPU where `allow_cpu`. ValueError for a device of another kind or without an index.
    """
    if isinstance(device, int):
        return device
    if isinstance(device, str):
        device = torch_device(device)
    if isinstance(device, torch_device):
        if device.type == "cpu" and allow_cpu:
            return -1
        if device.type != "npu":
            raise ValueError(f"Expected a npu{' or cpu' if allow_cpu else ''} device, but got: {device}")
        if device.index is not None:
            return device.index
    if not optional:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")
    from mindtorch._npu.streams import current_device  # here, since `streams` imports this module
    return current_device()
