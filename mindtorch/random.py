"""torch.random: seeds and states of the default generators."""
from __future__ import annotations

import contextlib
import warnings
from typing import TYPE_CHECKING, Any

from mindtorch._core.tensor.generator import default_generator, seed_npus
from mindtorch._core.tensor.tensor import device as _device

if TYPE_CHECKING:
    from mindtorch import Generator, Tensor

__all__ = ["fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state", "thread_safe_generator"]


def manual_seed(seed: Any) -> Any:
    """Seed the default generators of the CPU and of all NPUs; returns the CPU's.

    `seed` is an int from -2**63 to 2**64 - 1; negative ones count from 2**64. ValueError beyond.

    Arguments:
        seed: the seed, an int

    Example:
        >>> _ = torch.manual_seed(7)
        >>> first = torch.rand(2)
        >>> _ = torch.manual_seed(7)
        >>> torch.equal(first, torch.rand(2))
        True
    """
    seed = int(seed)
    generator = default_generator.manual_seed(seed)
    seed_npus(seed)
    return generator


def seed() -> int:
    """Seed all default generators with a non-deterministic number; returns it.

    Example:
        >>> number = torch.seed()
        >>> number == torch.initial_seed()
        True
    """
    chosen = default_generator.seed()
    seed_npus(chosen)
    return chosen


def initial_seed() -> int:
    """The seed that the CPU's default generator started from.

    Example:
        >>> _ = torch.manual_seed(7)
        >>> torch.initial_seed()
        7
    """
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the CPU's default generator, as a uint8 tensor.

    Example:
        >>> state = torch.get_rng_state()
        >>> first = torch.rand(2)
        >>> torch.set_rng_state(state)
        >>> torch.equal(first, torch.rand(2))
        True
    """
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Go on from what `get_rng_state` gave.

    Arguments:
        new_state: a uint8 tensor, as get_rng_state returns it

    Example:
        >>> state = torch.get_rng_state()
        >>> first = torch.rand(2)
        >>> torch.set_rng_state(state)
        >>> torch.equal(first, torch.rand(2))
        True
    """
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(devices: Any = None, enabled: bool = True, _caller: str = "fork_rng", _devices_kw: str = "devices",
             device_type: str = "npu") -> Generator:
    """Inside the `with`, random numbers are drawn that leave no trace: the states are put back at its end.

    `devices` are the NPUs that take part beside the CPU: all by default, with a warning where they are several.

    Arguments:
        devices: the indexes of the NPUs whose generators are restored; None means all
        enabled: whether it has an effect
        device_type: the type of the devices

    Example:
        >>> with torch.random.fork_rng(devices=[]):
        ...     first = torch.rand(2)
        >>> torch.equal(first, torch.rand(2))
        True
    """
    if not enabled:
        yield
        return
    if _device(device_type).type == "cpu":
        devices = []
    from mindtorch import npu
    if devices is None:
        devices = list(range(npu.device_count())) if npu.is_initialized() else []
        if len(devices) > 1:
            warnings.warn(
                f"{device_type.upper()} reports that you have {len(devices)} available devices, and you have used "
                f"{_caller} without explicitly specifying which devices are being used. All of them are saved and "
                f"restored; name them with the keyword argument `{_devices_kw}` to silence this warning.",
                stacklevel=3)
    state, states = get_rng_state(), [npu.get_rng_state(d) for d in devices]
    try:
        yield
    finally:
        set_rng_state(state)
        for where, saved in zip(devices, states, strict=True):
            npu.set_rng_state(saved, where)


def thread_safe_generator() -> Generator | None:
    """The generator for random functions in a transform of data: None, the default one.

    torch 2.13 has another for each thread of a DataLoader that loads in threads. Here workers are processes.

    Example:
        >>> torch.randint(0, 10, (2,), generator=torch.random.thread_safe_generator()).shape
        torch.Size([2])
    """
    return None
