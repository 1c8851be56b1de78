"""The free blocks of a pool by size: one tree for each class of sizes, and a bit for each tree that is not empty.

A class is one size up to 16 KiB, and a 32nd of the range between two powers of two above: trees stay low, and how many
blocks there are of other sizes costs nothing.
"""
from libc.stdint cimport uint64_t

from mindtorch._npu.block_tree cimport tree_best_fit, tree_insert, tree_next, tree_remove
from mindtorch._npu.records cimport FREE_CLASSES, FREE_WORDS, Block, FreeBlocks

cdef extern from * nogil:
    int lowest_bit "__builtin_ctzll"(unsigned long long value)       # gcc and clang
    int leading_zeros "__builtin_clzll"(unsigned long long value)

cdef enum:
    UNIT_BITS = 9                    # blocks are multiples of 512 bytes
    PART_BITS = 5


cdef inline int size_class(size_t size) noexcept nogil:
    cdef uint64_t units = size >> UNIT_BITS
    cdef int above
    if units < 1 << PART_BITS:
        return <int>units
    above = 63 - PART_BITS - leading_zeros(units)        # octaves above the exact classes
    if above >= (FREE_CLASSES >> PART_BITS) - 1:
        return FREE_CLASSES - 1
    return (above << PART_BITS) + <int>(units >> above)


cdef inline void insert_free(FreeBlocks *blocks, Block *block) noexcept nogil:
    cdef int number = size_class(block.size)
    tree_insert(&blocks.trees[number], block)
    blocks.filled[number >> 6] |= <uint64_t>1 << (number & 63)


cdef inline void remove_free(FreeBlocks *blocks, Block *block) noexcept nogil:
    cdef int number = size_class(block.size)
    tree_remove(&blocks.trees[number], block)
    if blocks.trees[number].root == NULL:
        blocks.filled[number >> 6] &= ~(<uint64_t>1 << (number & 63))


cdef inline Block *first_free(FreeBlocks *blocks, int number) noexcept nogil:
    """The smallest block of class `number` or above; NULL where there is none."""
    cdef int word = number >> 6
    cdef uint64_t bits
    if number >= FREE_CLASSES:
        return NULL
    bits = blocks.filled[word] >> (number & 63) << (number & 63)
    while bits == 0:
        word += 1
        if word == FREE_WORDS:
            return NULL
        bits = blocks.filled[word]
    return blocks.trees[(word << 6) + lowest_bit(bits)].first


# The smallest block of at least `size` bytes; among equals the one with the lowest address.
cdef inline Block *best_fit(FreeBlocks *blocks, size_t size) noexcept nogil:
    cdef int number = size_class(size)
    cdef Block *block = tree_best_fit(&blocks.trees[number], size)
    return block if block != NULL else first_free(blocks, number + 1)


# The block after `block` in that order.
cdef inline Block *next_free(FreeBlocks *blocks, const Block *block) noexcept nogil:
    cdef int number = size_class(block.size)
    cdef Block *following = tree_next(&blocks.trees[number], block)
    return following if following != NULL else first_free(blocks, number + 1)
