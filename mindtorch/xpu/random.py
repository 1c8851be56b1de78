# ruff: noqa: F822 - the names of __all__ come from torch.xpu, below
"""torch.xpu.random: the generators of no devices."""
from mindtorch import xpu

__all__ = ["get_rng_state", "get_rng_state_all", "initial_seed", "manual_seed", "manual_seed_all", "seed", "seed_all",
           "set_rng_state", "set_rng_state_all"]
globals().update({name: getattr(xpu, name) for name in __all__})
