"""torch.distributed.device_mesh: for programs that name the class. There is no mesh of devices."""
from mindtorch._compat.absent_device import abstract_class
from mindtorch._refusals.modules import refused_names

__all__ = ["DeviceMesh"]

DeviceMesh = abstract_class(
    "torch.distributed.device_mesh", "DeviceMesh", "mindtorch has no torch.distributed: a program runs on one device")

__getattr__ = refused_names(__name__)
