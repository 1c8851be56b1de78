# ruff: noqa: F822 - the names of __all__ come from torch.cuda, below
"""torch.cuda.random: the generators of no devices."""
from mindtorch import cuda

__all__ = ["get_rng_state", "get_rng_state_all", "initial_seed", "manual_seed", "manual_seed_all", "seed", "seed_all",
           "set_rng_state", "set_rng_state_all"]
globals().update({name: getattr(cuda, name) for name in __all__})
