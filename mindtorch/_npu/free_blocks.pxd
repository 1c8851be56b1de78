"""The free blocks of a pool, in one tree for each size class."""
from libc.stdint cimport uint32_t, uint64_t

from mindtorch._npu.structs cimport FREE_CLASSES, FREE_WORDS, Block, BlockTree, FreeBlocks


# --- trees of blocks -------------------------------------------------------------------------------------------------
# A treap of blocks ordered by (size, address). Its links are fields of Block, so nothing here allocates memory.
#
# The tree has a pointer to its first block, and blocks have pointers to their parents. So removing the first block and
# inserting it again takes constant time. A training step mostly cuts a piece from the first block, and gives it back:
# `resize_free` does that without a change of the tree, unless the rest is of another size class.


cdef inline bint tree_less(const Block *a, const Block *b) noexcept nogil:
    if a.size != b.size:
        return a.size < b.size
    return a.address < b.address


# The smallest block of at least `size` bytes; among equals the one with the lowest address.
cdef inline Block *tree_best_fit(BlockTree *tree, size_t size) noexcept nogil:
    cdef Block *best = NULL
    cdef Block *node = tree.root
    if tree.first == NULL or tree.first.size >= size:
        return tree.first
    while node != NULL:
        if node.size >= size:
            best = node
            node = node.left
        else:
            node = node.right
    return best


# The block after `block`, which need not be in the tree.
cdef inline Block *tree_next(BlockTree *tree, const Block *block) noexcept nogil:
    cdef Block *best = NULL
    cdef Block *node = tree.root
    while node != NULL:
        if tree_less(block, node):
            best = node
            node = node.left
        else:
            node = node.right
    return best


# The pointer of the tree to a block: in the block's parent, or the root.
cdef inline Block **tree_link(BlockTree *tree, Block *block) noexcept nogil:
    if block.parent == NULL:
        return &tree.root
    return &block.parent.left if block.parent.left == block else &block.parent.right


cdef inline void tree_insert_first(BlockTree *tree, Block *block) noexcept nogil:
    cdef Block *above = tree.first
    cdef Block *below = NULL
    while above != NULL and above.priority < block.priority:
        below = above
        above = above.parent
    block.left = NULL
    block.right = below
    block.parent = above
    if below != NULL:
        below.parent = block
    if above != NULL:
        above.left = block
    else:
        tree.root = block
    tree.first = block


cdef inline void tree_insert(BlockTree *tree, Block *block) noexcept nogil:
    cdef Block **link = &tree.root
    cdef Block **left = &block.left
    cdef Block **right = &block.right
    cdef Block *left_parent = block
    cdef Block *right_parent = block
    cdef Block *parent = NULL
    cdef Block *node
    if tree.first == NULL or tree_less(block, tree.first):
        tree_insert_first(tree, block)
        return
    while link[0] != NULL and link[0].priority >= block.priority:
        parent = link[0]
        link = &parent.left if tree_less(block, parent) else &parent.right
    # `block` replaces this subtree, which is split: smaller blocks go to its left, larger ones to its right.
    node = link[0]
    link[0] = block
    block.parent = parent
    while node != NULL:
        if tree_less(node, block):
            left[0] = node
            node.parent = left_parent
            left_parent = node
            left = &node.right
            node = node.right
        else:
            right[0] = node
            node.parent = right_parent
            right_parent = node
            right = &node.left
            node = node.left
    left[0] = NULL
    right[0] = NULL


cdef inline void tree_remove(BlockTree *tree, Block *block) noexcept nogil:
    cdef Block **link = tree_link(tree, block)
    cdef Block *parent = block.parent
    cdef Block *left = block.left
    cdef Block *right = block.right
    if tree.first == block:              # it has no left subtree
        tree.first = parent if right == NULL else right
        while right != NULL and tree.first.left != NULL:
            tree.first = tree.first.left
    # Its two subtrees are merged in its place, with the higher priority on top.
    while left != NULL and right != NULL:
        if left.priority >= right.priority:
            link[0] = left
            left.parent = parent
            parent = left
            link = &left.right
            left = left.right
        else:
            link[0] = right
            right.parent = parent
            parent = right
            link = &right.left
            right = right.left
    link[0] = left if left != NULL else right
    if link[0] != NULL:
        link[0].parent = parent


cdef inline uint32_t next_priority(uint32_t *state) noexcept nogil:
    state[0] ^= state[0] << 13
    state[0] ^= state[0] >> 17
    state[0] ^= state[0] << 5
    return state[0]


# --- by size ---------------------------------------------------------------------------------------------------------
# The free blocks of a pool: one tree for each class of sizes, and a bit for each tree that is not empty.
#
# Up to 16 KiB each size is a class. Above, the range between two powers of two has 32 classes. So the trees stay low,
# and a search costs the same however many blocks of other sizes there are.


cdef extern from * nogil:
    int lowest_bit "__builtin_ctzll"(unsigned long long value)       # gcc and clang
    int leading_zeros "__builtin_clzll"(unsigned long long value)

cdef enum:
    UNIT_BITS = 9                    # blocks are multiples of 512 bytes
    PART_BITS = 5                    # 32 classes between two powers of two


cdef inline int size_class(size_t size) noexcept nogil:
    cdef uint64_t units = size >> UNIT_BITS
    cdef int above
    if units < 1 << PART_BITS:
        return <int>units
    above = 63 - PART_BITS - leading_zeros(units)        # powers of two above the exact classes
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


# Give a free block, of its pool's trees, another start and size.
cdef inline void resize_free(FreeBlocks *blocks, Block *block, char *address, size_t size) noexcept nogil:
    cdef bint stays = blocks.trees[size_class(size)].first == block      # the smallest of its tree remains that
    if size > block.size and (block.right != NULL or block.parent != NULL and block.parent.size <= size):
        stays = False
    if not stays:
        remove_free(blocks, block)
    block.address = address
    block.size = size
    if not stays:
        insert_free(blocks, block)


cdef inline Block *first_free(FreeBlocks *blocks, int number) noexcept nogil:
    """The smallest block of class `number` or above; NULL if there is none."""
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
