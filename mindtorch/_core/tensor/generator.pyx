"""torch.Generator and the default generators.

CPU: a Mersenne Twister. NPU: a seed and an offset, which are arguments of every call. The device computes the numbers
of them by Philox, so it has no state that streams could share. A graph would repeat the arguments that it was captured
with: its operators read seed and offset from tensors, which every replay fills with those of the generator.
"""
import numpy as np
import secrets

from cpython.buffer cimport PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from libc.math cimport INFINITY, M_PI as PI, ceil, cos, exp, fabs, floor, isnan, lgamma, log, log1p, pow, sin, sqrt
from libc.stdint cimport int32_t, int64_t, intptr_t, uint32_t, uint64_t, uintptr_t

from mindtorch._core.python.conversion import from_numpy
from mindtorch._core.tensor.dtype import uint8
from mindtorch._core.tensor.twister_state import pack_twister_state, unpack_twister_state

from mindtorch._core.python.conversion cimport raise_wrong_type
from mindtorch._core.tensor.tensor cimport BACKENDS, CPU, META, NPU, TensorBase, device, make_device, resolve_device


# --- the numbers of the CPU's generator ------------------------------------------------------------------------------
# A stream of 32-bit Mersenne Twister words.

cdef enum:
    WORDS = 624             # of the state
    MIDDLE = 397

cdef double STEP = 2.0 ** -53, HIGH_STEP = 2.0 ** -21
cdef uint32_t SIGN = 0x80000000

# The functions that draw hold the GIL, which keeps other threads from the state.
cdef struct Twister:        # NumPy's state of an MT19937, at its `ctypes.state_address`
    uint32_t key[WORDS]
    int used                # the number of words of the key that have been drawn


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


cdef void draw_words(Twister *twister, uint32_t *target, Py_ssize_t count) noexcept:
    """Writes the next `count` words, in runs of what is left of the key: loops that the compiler vectorises."""
    cdef const uint32_t *key
    cdef Py_ssize_t i, run
    while count:
        if twister.used == WORDS:
            refill_state(twister)
        key = twister.key + twister.used
        run = min(count, <Py_ssize_t>(WORDS - twister.used))
        for i in range(run):
            target[i] = temper(key[i])
        twister.used += <int>run
        target += run
        count -= run


cdef inline double double_of(uint32_t high, uint32_t low) noexcept:
    """In [0, 1), of the low 53 bits. The sum is exact. Signed halves, for SSE2 converts no others."""
    return <int32_t>(high & 0x1fffff) * HIGH_STEP + (<int32_t>(low ^ SIGN) + 2.0 ** 31) * STEP


cdef inline double draw_double(Twister *twister) noexcept:
    cdef uint32_t words[2]
    draw_words(twister, words, 2)
    return double_of(words[0], words[1])


include "distributions.pxi"


cdef void *address_of(array) except NULL:
    """The address of the elements of an array, which the caller keeps alive."""
    cdef Py_buffer buffer
    PyObject_GetBuffer(array, &buffer, PyBUF_WRITABLE)
    PyBuffer_Release(&buffer)
    return buffer.buf


class MersenneTwister:
    """The words and doubles of torch's CPU generator; `normal` is a sample for the next call, or None."""

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
        words = np.empty(count, np.uint32)
        draw_words(<Twister *><uintptr_t>self._state, <uint32_t *>address_of(words), words.size)
        return words

    def uint64s(self, count):
        """64-bit words, each of two 32-bit words, of which the first has the high bits."""
        pairs = self.uint32s(2 * count).reshape(-1, 2).astype(np.uint64)
        return pairs[:, 0] << np.uint64(32) | pairs[:, 1]

    def floats(self, count):
        """float32 in [0, 1), each of the low 24 bits of a word."""
        cdef Py_ssize_t i
        words = self.uint32s(count)
        numbers = np.empty(words.size, np.float32)
        cdef uint32_t *word = <uint32_t *>address_of(words)
        cdef float *target = <float *>address_of(numbers)
        for i in range(words.size):
            target[i] = <float><int32_t>(word[i] & 0xffffff) * <float>2.0 ** -24
        return numbers

    def doubles(self, count):
        """float64 in [0, 1), each of the low 53 bits of two words."""
        cdef Twister *twister = <Twister *><uintptr_t>self._state
        numbers = np.empty(count, np.float64)
        cdef double *target = <double *>address_of(numbers)
        cdef Py_ssize_t i, run, left = numbers.size
        cdef uint32_t words[WORDS]
        while left:
            run = min(left, <Py_ssize_t>(WORDS // 2))
            draw_words(twister, words, 2 * run)
            for i in range(run):
                target[i] = double_of(words[2 * i], words[2 * i + 1])
            target += run
            left -= run
        return numbers

    def permutation(self, count):
        """The numbers below `count` as int64, by Fisher and Yates: every position gets a random one of those left."""
        cdef Py_ssize_t i, size = count
        order = np.arange(count)
        words = self.uint32s(max(count - 1, 0))
        cdef int64_t *number = <int64_t *>address_of(order)
        cdef uint32_t *word = <uint32_t *>address_of(words)
        cdef int64_t first
        for i in range(size - 1):
            first = number[i]
            number[i] = number[i + word[i] % (size - i)]
            number[i + word[i] % (size - i)] = first
        return order

    def poisson(self, rates):
        """A Poisson number of each mean of `rates`, an array of float64."""
        cdef Twister *twister = <Twister *><uintptr_t>self._state
        cdef Py_ssize_t i, count = rates.size
        numbers = np.empty(count, np.float64)
        cdef double *rate = <double *>address_of(rates)
        cdef double *number = <double *>address_of(numbers)
        for i in range(count):
            number[i] = draw_poisson(twister, rate[i])
        return numbers

    def binomial(self, counts, probs):
        """How many trials succeed, of each count and probability of two arrays of float64."""
        cdef Twister *twister = <Twister *><uintptr_t>self._state
        cdef Py_ssize_t i, count = counts.size
        numbers = np.empty(count, np.float64)
        cdef double *trials = <double *>address_of(counts)
        cdef double *prob = <double *>address_of(probs)
        cdef double *number = <double *>address_of(numbers)
        for i in range(count):
            number[i] = draw_binomial(twister, trials[i], prob[i])
        return numbers

    def gamma(self, d, exponents):
        """Gamma numbers of two arrays of float64, of which draw_gamma says what they are."""
        cdef Twister *twister = <Twister *><uintptr_t>self._state
        cdef Py_ssize_t i, count = d.size
        numbers = np.empty(count, np.float64)
        cdef double *of_shape = <double *>address_of(d)
        cdef double *exponent = <double *>address_of(exponents)
        cdef double *number = <double *>address_of(numbers)
        cdef KeptNormal kept
        kept.present = self.normal is not None
        kept.value = self.normal if kept.present else 0
        for i in range(count):
            number[i] = draw_gamma(twister, &kept, of_shape[i], exponent[i])
        self.normal = kept.value if kept.present else None
        return numbers

    def get_state(self):
        """The state as bytes that torch's CPU generator takes as well."""
        return pack_twister_state(self.seed, self._bits.state["state"], self.normal)

    def set_state(self, state):
        """Go on from `state`, an array of bytes; RuntimeError for one of another size."""
        self.seed, twister, self.normal = unpack_twister_state(state)
        self._restore(twister)


# --- Generator -------------------------------------------------------------------------------------------------------

cdef enum:
    DEFAULT_SEED = 67280421310721        # of every Generator that a user makes
NPU_STATE_FORMAT = np.dtype([("seed", "<u8"), ("offset", "<i8")])
cdef object SEEDS = range(-2 ** 63, 2 ** 64)
EXPECTED_BYTES = "expected a torch.ByteTensor, but got "


cdef class Generator:
    """Generator(device="cpu"): a source of random numbers for operators on that kind of device.

    Example:
        >>> generator = torch.Generator().manual_seed(3)
        >>> first = torch.rand(2, generator=generator)
        >>> torch.equal(first, torch.rand(2, generator=generator.manual_seed(3)))
        True
    """

    def __init__(self, device="cpu"):
        if not isinstance(device, (torch_device, str)):
            raise_wrong_type(device, b"Generator", b"device", 1, "torch.device")
        resolve_device(device, &self.type_code, &self.index)
        if self.type_code == META:
            raise RuntimeError("META device type not an accelerator.")
        self.reseed(DEFAULT_SEED)

    cdef int reseed(self, uint64_t seed) except -1:
        if self.type_code == CPU:
            self.engine = MersenneTwister(int(seed))
        self.seed_value = seed
        self.offset = 0
        return 0

    cdef int64_t advance(self, int64_t steps):
        cdef int64_t before = self.offset
        self.offset += (steps + 3) // 4 * 4
        return before

    cdef Generator begin_capture(self, intptr_t capture):
        cdef Generator found = new_generator(self.type_code, self.index, self.seed_value)
        if self.capture_generators is None:
            self.capture_generators = {}
        self.capture_generators[capture] = found
        return found

    cdef int end_capture(self, intptr_t capture) except -1:
        del self.capture_generators[capture]
        return 0

    cdef Generator capture_generator(self, intptr_t capture):
        cdef Generator found
        if self.seed_tensor is not None:      # it is a capture generator: a decomposition was called with it
            return self
        found = None if self.capture_generators is None else self.capture_generators.get(capture)
        if found is None:
            raise RuntimeError("Attempt to increase offset for a NPU generator not in capture mode: before the "
                               "capture, NPUGraph.register_generator_state makes it known to the graph.")
        return found

    @property
    def device(self):
        """The device whose operators take this generator."""
        return make_device(self.type_code, self.index)

    def manual_seed(self, seed):
        """Start anew from `seed`, an int of 64 bits; negative ones count from 2**64. Returns the generator."""
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        bits = checked_seed(seed)
        if capture_of(self.type_code, self.index):
            if bits != self.seed_value:
                raise RuntimeError("NPUGeneratorImpl::set_current_seed can be called during stream capture only if new "
                                   "seed is the same as the original seed.")
            return self
        self.reseed(bits)
        return self

    def seed(self):
        """Seed with an unpredictable number, and return it."""
        require_no_capture(self.type_code, self.index, "Cannot call NPUGeneratorImpl::seed")
        seed = secrets.randbits(64)
        self.reseed(seed)
        return seed

    def initial_seed(self):
        """The last seed."""
        return int(self.engine.seed) if self.type_code == CPU else int(self.seed_value)

    def get_state(self):
        """The state as a uint8 tensor on the CPU: torch's own layout there, (seed, offset) for NPUs."""
        if self.type_code == CPU:
            return from_numpy(self.engine.get_state())
        state = np.array([(self.seed_value, self.offset)], NPU_STATE_FORMAT)
        return from_numpy(state.view(np.uint8))

    def set_state(self, new_state):
        """Set the state that `get_state` returned. An NPU's state may be the 8 bytes of a seed alone."""
        require_no_capture(self.type_code, self.index, "Cannot call NPUGeneratorImpl::set_state")
        state = state_bytes(new_state)
        if self.type_code == CPU:
            self.engine.set_state(state)
            return self
        if len(state) not in (8, 16):
            raise RuntimeError("RNG state is wrong size")
        seed = int(state[:8].view("<u8")[0])
        offset = int(state[8:].view("<i8")[0]) if len(state) == 16 else 0
        check_offset(offset)
        self.seed_value, self.offset = seed, offset
        return self

    def clone_state(self):
        """A new generator in the same state."""
        made = Generator(self.device)
        made.set_state(self.get_state())
        return made

    def get_offset(self):
        """The offset of the next numbers, on an NPU."""
        self.require_offset()
        return int(self.offset)

    def set_offset(self, offset):
        """Set the offset of the next numbers, a multiple of 4."""
        self.require_offset()
        check_offset(offset)
        require_no_capture(self.type_code, self.index, "Cannot call NPUGeneratorImpl::set_offset")
        self.offset = offset
        return self

    def require_offset(self):
        if self.type_code == CPU:
            raise RuntimeError("CPU Generator does not use offset")

    def __reduce__(self):
        return rebuild, (self.device, self.get_state())


cdef inline intptr_t capture_of(int type_code, int index) noexcept:
    return 0 if BACKENDS[type_code].capturing == NULL else BACKENDS[type_code].capturing(index)


cdef int require_no_capture(int type_code, int index, str what) except -1:
    if capture_of(type_code, index):
        raise RuntimeError(f"{what} during NPU graph capture.")
    return 0


torch_device = device


def rebuild(where, state):
    """A pickled generator."""
    return Generator(where).set_state(state)


cdef uint64_t checked_seed(object seed) except? 0:
    if int(seed) not in SEEDS:
        raise ValueError("Overflow when unpacking long long")
    return int(seed) % 2 ** 64


cdef int check_offset(object offset) except -1:
    if offset < 0 or offset % 4:
        raise RuntimeError("offset must be a multiple of 4")
    return 0


cdef object state_bytes(object state):
    if not isinstance(state, TensorBase):
        raise TypeError(EXPECTED_BYTES + type(state).__name__)
    if state.dtype is not uint8 or state.device.type != "cpu":
        raise TypeError("RNG state must be a torch.ByteTensor")
    return state.detach().contiguous().view(-1).numpy()


# --- default generators ----------------------------------------------------------------------------------------------

cdef Generator new_generator(int type_code, int index, object seed):
    cdef Generator made = Generator.__new__(Generator)
    made.type_code, made.index = type_code, index
    made.reseed(secrets.randbits(64) if seed is None else seed)
    return made


cdef Generator CPU_DEFAULT = new_generator(CPU, 0, None)
default_generator = CPU_DEFAULT
cdef list NPU_DEFAULTS = []            # by device; each is made at its first use
cdef object NPU_SEED = None            # the seed of those that are not made yet; None: a random one


cdef Generator default_npu_generator(int index):
    while len(NPU_DEFAULTS) <= index:
        NPU_DEFAULTS.append(new_generator(NPU, len(NPU_DEFAULTS), NPU_SEED))
    return <Generator>NPU_DEFAULTS[index]


def get_default_npu_generator(int index):
    """The default generator of an NPU. Neither needs nor starts the device."""
    return default_npu_generator(index)


def seed_npus(seed):
    """Seed the default generators of all NPUs, also of those not used so far."""
    global NPU_SEED
    NPU_SEED = checked_seed(seed)
    for generator in NPU_DEFAULTS:
        generator.manual_seed(seed)


cdef Generator generator_for(Generator given, int type_code, int index):
    cdef Generator source = given
    cdef intptr_t capture = capture_of(type_code, index)
    if given is None or type_code == META:        # operators on meta draw no numbers
        source = default_npu_generator(index) if type_code == NPU else CPU_DEFAULT
    elif given.type_code != type_code:
        raise RuntimeError(f"Expected a '{make_device(type_code, -1)}' device type for generator but found "
                           f"'{make_device(given.type_code, -1)}'")
    return source if capture == 0 else source.capture_generator(capture)


cdef Generator require_generator(object value, const char *function, const char *argument):
    if value is not None and not isinstance(value, Generator):
        raise_wrong_type(value, function, argument, 0, "torch.Generator")
    return <Generator>value
