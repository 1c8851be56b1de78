"""Random numbers of NPUs: their default generators. A state is 16 bytes: the seed, then the offset."""
from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from mindtorch._core.tensor.generator import get_default_npu_generator, seed_npus
from mindtorch._tensor.docstrings import complete as _complete_docstrings
from mindtorch.npu.device import _existing_devices, _get_device_index, current_device, device_count, is_initialized

if TYPE_CHECKING:
    from mindtorch import Tensor, device

__all__ = ["get_rng_state", "get_rng_state_all", "initial_seed", "manual_seed", "manual_seed_all", "seed", "seed_all",
           "set_rng_state", "set_rng_state_all"]


def _generator(device):
    """The default generator of a device, which is started: only then it is known to exist."""
    index = _get_device_index(device, optional=True)
    if not 0 <= index < _existing_devices():
        raise AssertionError("Invalid device id")
    return get_default_npu_generator(index)


def get_rng_state(device: int | str | device = "npu") -> Tensor:
    """The state of a device's default generator, as a uint8 tensor on the CPU.

    Example:
        >>> state = torch.npu.get_rng_state()
        >>> x = torch.rand(2, device="npu")
        >>> torch.npu.set_rng_state(state)
        >>> torch.equal(torch.rand(2, device="npu"), x)
        True
    """
    return _generator(device).get_state()


def set_rng_state(new_state: Tensor, device: int | str | device = "npu") -> None:
    """Set the state of a device's default generator: what `get_rng_state` returned, or the 8 bytes of a seed.

    Arguments:
        new_state: a uint8 tensor, as get_rng_state returns it

    Example:
        >>> torch.npu.manual_seed(7)
        >>> state = torch.npu.get_rng_state()
        >>> x = torch.randn(2, device="npu")
        >>> torch.npu.set_rng_state(state)
        >>> torch.equal(torch.randn(2, device="npu"), x)
        True
    """
    _generator(device).set_state(new_state)


def get_rng_state_all() -> list[Tensor]:
    """The states of all devices.

    Example:
        >>> len(torch.npu.get_rng_state_all()) == torch.npu.device_count()
        True
    """
    return [get_rng_state(i) for i in range(device_count())]


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Set the states of the first devices.

    Arguments:
        new_states: a uint8 tensor for each NPU, as get_rng_state_all returns them

    Example:
        >>> states = torch.npu.get_rng_state_all()
        >>> torch.npu.set_rng_state_all(states)
    """
    for index, state in enumerate(new_states):
        set_rng_state(state, index)


def manual_seed(seed: int) -> None:
    """Seed the current device's default generator. Does not start the device.

    Example:
        >>> torch.npu.manual_seed(7)
        >>> x = torch.rand(2, device="npu")
        >>> torch.npu.manual_seed(7)
        >>> torch.equal(torch.rand(2, device="npu"), x)
        True
    """
    get_default_npu_generator(current_device() if is_initialized() else 0).manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Seed the default generators of all devices. Does not start them.

    Example:
        >>> torch.npu.manual_seed_all(7)
        >>> torch.npu.initial_seed()
        7
    """
    seed_npus(int(seed))


def seed() -> None:
    """Seed the current device's default generator with a non-deterministic number.

    Example:
        >>> torch.npu.seed()
        >>> first = torch.npu.initial_seed()
        >>> torch.npu.seed()
        >>> torch.npu.initial_seed() == first
        False
    """
    get_default_npu_generator(current_device() if is_initialized() else 0).seed()


def seed_all() -> None:
    """Seed the generators of all devices with one non-deterministic number.

    Example:
        >>> torch.npu.seed_all()
    """
    seed_npus(get_default_npu_generator(0).seed())


def initial_seed() -> int:
    """The initial seed of the current device's generator.

    Example:
        >>> torch.npu.manual_seed(7)
        >>> torch.npu.initial_seed()
        7
    """
    return _generator("npu").initial_seed()


def _get_generator(device):
    """The default generator of a device."""
    return _generator(device)


def _get_rng_state_offset(device="npu"):
    """The offset of the device's default generator: how many numbers were drawn since it was seeded."""
    return _generator(device).get_offset()


def _set_rng_state_offset(offset, device="npu"):
    """Set the offset of the device's default generator, a multiple of 4. The seed stays."""
    _generator(device).set_offset(offset)


def _default_generators():
    """The default generators of all devices; none before the first use of a device."""
    return tuple(get_default_npu_generator(index) for index in range(device_count())) if is_initialized() else ()


_complete_docstrings(globals(), "npu")
