"""The CPU generator's stream: 32-bit Mersenne Twister words, and the state in the form that torch saves."""
from contextlib import contextmanager

import numpy as np

from libc.stdint cimport int64_t, uint32_t, uint64_t, uintptr_t

_BLOCK_SIZE = 256        # doubles drawn at once for `singly`

# torch's record: the seed, MT19937 as a legacy layout has it, and the half of a Box-Muller pair not yet handed out.
_STATE_FORMAT = np.dtype([
    ("seed", "u8"), ("left", "i4"), ("seeded", "i4"), ("next", "u8"), ("key", "u8", 624), ("normal_x", "f8"),
    ("normal", "f8"), ("normal_rho", "f8"), ("has_normal", "i4"), ("_", "i4"), ("float_normal", "f4"), ("__", "i4")])

cdef enum:
    WORDS = 624             # of the state
    MIDDLE = 397

cdef double STEP = 2.0 ** -53

# The functions that draw hold the GIL, which keeps other threads from the state.
cdef struct Twister:        # NumPy's state of an MT19937, at its `ctypes.state_address`
    uint32_t key[WORDS]
    int used                # so many words of the key have been drawn


cdef inline uint32_t twist(uint32_t word, uint32_t next, uint32_t middle) noexcept:
    cdef uint32_t mixed = (word & <uint32_t>0x80000000) | (next & <uint32_t>0x7fffffff)
    return middle ^ (mixed >> 1) ^ (-(mixed & 1) & <uint32_t>0x9908b0df)


cdef void refill_state(Twister *twister) noexcept:
    cdef uint32_t *key = twister.key
    cdef int i
    for i in range(WORDS - MIDDLE):
        key[i] = twist(key[i], key[i + 1], key[i + MIDDLE])
    for i in range(WORDS - MIDDLE, WORDS - 1):
        key[i] = twist(key[i], key[i + 1], key[i + MIDDLE - WORDS])
    key[WORDS - 1] = twist(key[WORDS - 1], key[0], key[MIDDLE - 1])
    twister.used = 0


cdef inline uint32_t temper(uint32_t word) noexcept:
    word ^= word >> 11
    word ^= (word << 7) & <uint32_t>0x9d2c5680
    word ^= (word << 15) & <uint32_t>0xefc60000
    return word ^ (word >> 18)


cdef inline uint32_t next_word(Twister *twister) noexcept:
    if twister.used == WORDS:
        refill_state(twister)
    twister.used += 1
    return temper(twister.key[twister.used - 1])


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
        self._state = self._bits.ctypes.state_address

    def uint32s(self, count):
        """The next `count` 32-bit words."""
        cdef Twister *twister = <Twister *><uintptr_t>self._state
        cdef uint32_t[::1] words = np.empty(count, np.uint32)
        cdef Py_ssize_t i
        for i in range(words.shape[0]):
            words[i] = next_word(twister)
        return words.base

    def uint64s(self, count):
        """64-bit words of two 32-bit ones, the first of them on top."""
        cdef Twister *twister = <Twister *><uintptr_t>self._state
        cdef uint64_t[::1] words = np.empty(count, np.uint64)
        cdef uint64_t high
        cdef Py_ssize_t i
        for i in range(words.shape[0]):
            high = next_word(twister)
            words[i] = high << 32 | next_word(twister)
        return words.base

    def floats(self, count):
        """float32 in [0, 1), each of the low 24 bits of a word."""
        return (self.uint32s(count) & np.uint32(0xFFFFFF)).astype(np.float32) * np.float32(2.0 ** -24)

    def doubles(self, count):
        """float64 in [0, 1), each of the low 53 bits of two words."""
        cdef Twister *twister = <Twister *><uintptr_t>self._state
        cdef double[::1] numbers = np.empty(count, np.float64)
        cdef int64_t high
        cdef Py_ssize_t i
        for i in range(numbers.shape[0]):
            high = next_word(twister) & 0x1fffff
            numbers[i] = <double>(high << 32 | next_word(twister)) * STEP
        return numbers.base

    @contextmanager
    def doubles_one_by_one(self):
        """Gives a function that deals doubles one by one, in Python's floats."""
        block, states = [], []                  # states: those before each block was drawn

        def deal():
            if not block:
                states.append(self._bits.state["state"])
                block.extend(self.doubles(_BLOCK_SIZE)[::-1].tolist())
            return block.pop()
        yield deal
        if states:                  # what was not dealt goes back
            self._restore(states.pop())
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
