"""The states of the default generators: the CPU's, and those of NPUs in use."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import mindtorch

__all__ = ["random_states", "refused_randomness", "restore"]


def random_states() -> list[mindtorch.Tensor]:
    """The states, the CPU's first."""
    npu = mindtorch.npu
    return [mindtorch.get_rng_state(), *(npu.get_rng_state_all() if npu.is_initialized() else [])]


def restore(states: list[mindtorch.Tensor]) -> None:
    """Set the generators to these states."""
    mindtorch.set_rng_state(states[0])
    if states[1:]:
        mindtorch.npu.set_rng_state_all(states[1:])


@contextmanager
def refused_randomness() -> Iterator[None]:
    """RuntimeError, and the states as before, where random operators run inside."""
    before = random_states()
    yield
    if any(not mindtorch.equal(one, other) for one, other in zip(before, random_states(), strict=True)):
        restore(before)
        raise RuntimeError("vmap: called random operation while in randomness error mode. Please either use the "
                           "'same' or 'different' randomness flags on vmap or perform the randomness operation out "
                           "of vmap")
