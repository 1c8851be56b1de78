"""The index of a device from an int, a string or a torch.device."""
from mindtorch._core.tensor.tensor import device as torch_device


def get_device_index(device, current=None, allow_cpu=False):
    """The index of `device`: an int, a string, a torch.device, or None.

    Without an index it is what the function `current` returns; ValueError where there is no such function, and for a
    device of another kind. -1 stands for the CPU where `allow_cpu`.
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
    if current is None:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")
    return current()
