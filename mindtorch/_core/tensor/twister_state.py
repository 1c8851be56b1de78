"""The state of the CPU's generator in the form that torch saves."""
from __future__ import annotations

from typing import Any

import numpy as np

_WORDS = 624        # of the state of an MT19937
# The seed, the state of MT19937, and the half of a Box-Muller pair that was not returned yet.
_FORMAT = np.dtype([
    ("seed", "u8"), ("left", "i4"), ("seeded", "i4"), ("next", "u8"), ("key", "u8", _WORDS), ("normal_x", "f8"),
    ("normal", "f8"), ("normal_rho", "f8"), ("has_normal", "i4"), ("_", "i4"), ("float_normal", "f4"), ("__", "i4")])


def pack_twister_state(seed: int, twister: dict[str, Any], normal: float | None) -> Any:
    """The bytes of a seed, of NumPy's state of an MT19937, and of a sample for the next call."""
    used = twister["pos"]
    record = np.zeros((), _FORMAT)
    record["seed"], record["seeded"], record["key"] = seed, 1, twister["key"]
    record["left"], record["next"] = (1, 0) if used == _WORDS else (_WORDS + 1 - used, used)
    if normal is not None:
        record["normal"], record["has_normal"] = normal, 1
    return np.frombuffer(record.tobytes(), np.uint8).copy()


def unpack_twister_state(state: Any) -> tuple[int, dict[str, Any], float | None]:
    """What pack_twister_state was given; RuntimeError for an array of another size, or one that holds no state."""
    if len(state) != _FORMAT.itemsize:
        raise RuntimeError(f"Expected a CPUGeneratorImplState of size {_FORMAT.itemsize} but found the input RNG "
                           f"state size to be {len(state)}")
    record = np.frombuffer(state.tobytes(), _FORMAT)[0]
    left = int(record["left"])
    used = _WORDS if left == 1 else _WORDS + 1 - left
    if not 0 <= used <= _WORDS:
        raise RuntimeError("Invalid mt19937 state")
    normal = float(record["normal"]) if record["has_normal"] else None
    return int(record["seed"]), {"key": record["key"].astype(np.uint32), "pos": used}, normal
