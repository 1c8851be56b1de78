"""Blocks taken and given back without the GIL, as fast as a thread can, beside a model of which memory is whose."""
from libc.stdint cimport uint32_t
from libc.stdlib cimport calloc

from mindtorch._npu.allocator cimport NpuAllocator, allocator_of
from mindtorch._npu.lock cimport SpinLock, acquire, release
from mindtorch._npu.structs cimport Block, StreamSlot
from mindtorch._npu.streams cimport Stream


cdef enum:
    HELD = 200                       # blocks of one thread
    UNIT = 512
    SLOTS = 4194304                  # of the model: a hash table of the units of memory that somebody has

cdef struct Unit:
    char *address
    bint taken

cdef Unit *MODEL = <Unit *>calloc(SLOTS, sizeof(Unit))
cdef SpinLock MODEL_LOCK


cdef Unit *find(char *address) noexcept nogil:
    cdef size_t number = <size_t>address // UNIT * <size_t>2654435761 % <size_t>SLOTS
    while MODEL[number].address != NULL and MODEL[number].address != address:
        number = (number + 1) % <size_t>SLOTS
    MODEL[number].address = address
    return MODEL + number


cdef bint mark(Block *block, bint taken) noexcept nogil:
    """Notes that every unit of a block is taken, or is not any more; False where it was so already."""
    cdef size_t offset = 0
    cdef bint changed = True
    cdef Unit *unit
    acquire(&MODEL_LOCK)
    while offset < block.size:
        unit = find(block.address + offset)
        changed = changed and unit.taken != taken
        unit.taken = taken
        offset += UNIT
    release(&MODEL_LOCK)
    return changed


cdef uint32_t draw(uint32_t *state) noexcept nogil:
    state[0] ^= state[0] << 13
    state[0] ^= state[0] >> 17
    state[0] ^= state[0] << 5
    return state[0]


def hammer(list streams, uint32_t seed, long operations):
    """Takes and gives back blocks on four streams; returns (blocks taken, bytes of them). All are given back."""
    cdef NpuAllocator allocator = allocator_of(0)
    cdef StreamSlot *slots[4]
    cdef Block *held[HELD]
    cdef Block *block
    cdef long count = 0
    cdef long taken = 0
    cdef long long nbytes = 0
    cdef bint right = True
    cdef long number
    for number in range(4):
        slots[number] = (<Stream>streams[number]).slot
    with nogil:
        while right and (operations > 0 or count > 0):
            operations -= 1
            if operations > 0 and count < HELD and (count == 0 or draw(&seed) % 2 == 0):
                block = allocator.allocate(1 + draw(&seed) % (300000 if draw(&seed) % 8 == 0 else 6000),
                                           slots[draw(&seed) % 4])
                right = mark(block, True)
                taken += 1
                nbytes += block.size
                held[count] = block
                count += 1
            else:
                number = draw(&seed) % count
                block = held[number]
                count -= 1
                held[number] = held[count]
                right = mark(block, False)
                allocator.deallocate(block)
    if not right:
        raise AssertionError("two have the same memory")
    return taken, nbytes
