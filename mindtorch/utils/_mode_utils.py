"""torch.utils._mode_utils: calls without the handlers of __torch_dispatch__."""
from mindtorch._core.tensor.torch_dispatch import DisableTorchDispatch as no_dispatch

__all__ = ["all_same_mode", "no_dispatch"]


def all_same_mode(modes):
    """Whether the modes are one object."""
    return all(mode is modes[0] for mode in modes)
