"""The CPU generator's stream: 32-bit Mersenne Twister words, and the state in the form that torch saves."""
from contextlib import contextmanager

import numpy as np

_BLOCK_SIZE = 256        # doubles drawn at once for `singly`

# torch's record: the seed, MT19937 as a legacy layout has it, and the half of a Box-Muller pair not yet handed out.
_STATE_FORMAT = np.dtype([
    ("seed", "u8"), ("left", "i4"), ("seeded", "i4"), ("next", "u8"), ("key", "u8", 624), ("normal_x", "f8"),
    ("normal", "f8"), ("normal_rho", "f8"), ("has_normal", "i4"), ("_", "i4"), ("float_normal", "f4"), ("__", "i4")])


class MersenneTwister:
    """Words and doubles as torch's CPU generator deals them; `normal` is a sample kept for the next call, or None."""

    def __init__(self, seed):
        self.seed = seed
        # NumPy's legacy seeding is the twister's own, of the low 32 bits.
        self._restore(np.random.RandomState(seed & 0xFFFFFFFF).get_state(legacy=False)["state"])
        self.normal = None

    def _restore(self, state):
        self._bits = np.random.MT19937()
        self._bits.state = {"bit_generator": "MT19937", "state": state}
        self._numbers = np.random.Generator(self._bits)

    def uint32s(self, count):
        """The next `count` 32-bit words."""
        return self._numbers.integers(0, 1 << 32, count, dtype=np.uint32)

    def uint64s(self, count):
        """64-bit words of two 32-bit ones, the first of them on top."""
        return self._numbers.integers(0, (1 << 64) - 1, count, dtype=np.uint64, endpoint=True)

    def floats(self, count):
        """float32 in [0, 1), each of the low 24 bits of a word."""
        return (self.uint32s(count) & np.uint32(0xFFFFFF)).astype(np.float32) * np.float32(2.0 ** -24)

    def doubles(self, count):
        """float64 in [0, 1), each of the low 53 bits of two words."""
        return (self.uint64s(count) & np.uint64((1 << 53) - 1)).astype(np.float64) * 2.0 ** -53

    @contextmanager
    def doubles_one_by_one(self):
        """Gives a function that deals doubles one by one, in Python's floats."""
        block, held = [], None

        def deal():
            nonlocal held
            if not block:
                held = self._bits.state["state"]
                block.extend(self.doubles(_BLOCK_SIZE)[::-1].tolist())
            return block.pop()
        yield deal
        if held is not None:        # what was not dealt goes back
            self._restore(held)
            self.doubles(_BLOCK_SIZE - len(block))

    def get_state(self):
        """The state as bytes that torch's CPU generator takes as well."""
        twister = self._bits.state["state"]
        used = int(twister["pos"])
        record = np.zeros((), _STATE_FORMAT)
        record["seed"], record["seeded"], record["key"] = self.seed, 1, twister["key"]
        record["left"], record["next"] = (1, 0) if used == 624 else (625 - used, used)
        if self.normal is not None:
            record["normal"], record["has_normal"] = self.normal, 1
        return np.frombuffer(record.tobytes(), np.uint8).copy()

    def set_state(self, state):
        """Go on from `state`, an array of bytes; RuntimeError for one of another size."""
        if state.size != _STATE_FORMAT.itemsize:
            raise RuntimeError(f"Expected a CPUGeneratorImplState of size {_STATE_FORMAT.itemsize} but found the "
                               "input RNG "
                               f"state size to be {state.size}")
        record = np.frombuffer(state.tobytes(), _STATE_FORMAT)[0]
        used = 624 if record["left"] == 1 else 625 - int(record["left"])
        if not 0 <= used <= 624:
            raise RuntimeError("Invalid mt19937 state")
        self.seed = int(record["seed"])
        self._restore({"key": record["key"].astype(np.uint32), "pos": used})
        self.normal = float(record["normal"]) if record["has_normal"] else None
