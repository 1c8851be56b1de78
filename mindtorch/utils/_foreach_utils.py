"""torch.utils._foreach_utils: lists of tensors in groups that `_foreach_` operators take at once."""
from mindtorch import Tensor
from mindtorch.autograd import no_grad

__all__ = []


def _get_foreach_kernels_supported_devices():
    """The types of devices, beside the CPU, that have `_foreach_` operators."""
    return ["npu"]


def _get_fused_kernels_supported_devices():
    """The types of devices that have fused optimizer operators."""
    return ["cpu", "npu"]


def _device_has_foreach_support(device):
    return device.type in ("cpu", *_get_foreach_kernels_supported_devices())


def _has_foreach_support(tensors, device):
    """Whether no tensor is of a subclass, and the device has the operators."""
    return _device_has_foreach_support(device) and all(t is None or type(t) is Tensor for t in tensors)


@no_grad()
def _group_tensors_by_device_and_dtype(tensorlistlist, with_indices=False):
    """{(device, dtype) of tensors of the first list: (the lists' elements at their places, the places)}.

    Other lists may hold None. Without `with_indices` there are no places.
    """
    groups = {}
    for place, tensor in enumerate(tensorlistlist[0]):
        lists, places = groups.setdefault((tensor.device, tensor.dtype), ([[] for _ in tensorlistlist], []))
        for part, whole in zip(lists, tensorlistlist, strict=True):
            if whole:
                part.append(whole[place])
        if with_indices:
            places.append(place)
    return groups
