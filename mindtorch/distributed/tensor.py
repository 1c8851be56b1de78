"""torch.distributed.tensor: for programs that ask whether a tensor lies on several devices. None does."""
from mindtorch._compat.absent_device import abstract_class
from mindtorch._refusals.modules import refused_names

__path__ = []       # modules below it come from the table of refusals

__all__ = ["DTensor"]

DTensor = abstract_class(
    "torch.distributed.tensor", "DTensor", "mindtorch has no distributed tensors: a tensor lies on one device")

__getattr__ = refused_names(__name__)
