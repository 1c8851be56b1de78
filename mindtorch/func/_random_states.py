"""The states of the default generators: the CPU's, and those of NPUs in use."""
from __future__ import annotations

import mindtorch

__all__ = ["random_states", "restore"]


def random_states() -> list[mindtorch.Tensor]:
    """The states, the CPU's first."""
    npu = mindtorch.npu
    return [mindtorch.get_rng_state(), *(npu.get_rng_state_all() if npu.is_initialized() else [])]


def restore(states: list[mindtorch.Tensor]) -> None:
    """Set the generators to these states."""
    mindtorch.set_rng_state(states[0])
    if states[1:]:
        mindtorch.npu.set_rng_state_all(states[1:])
