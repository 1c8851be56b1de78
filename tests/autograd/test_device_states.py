"""torch.utils.checkpoint's states of the generators of devices."""
import mindtorch as torch
from mindtorch.utils.checkpoint import get_device_states, set_device_states


def test_states_of_the_devices_of_tensors(device):
    x = torch.ones(3, device=device)
    devices, states = get_device_states(3, {"a": [x]}, x)
    assert devices == ([] if device == "cpu" else [0])
    if device != "cpu":
        first = torch.rand_like(x)
        set_device_states(devices, states)
        assert torch.rand_like(x).tolist() == first.tolist()
