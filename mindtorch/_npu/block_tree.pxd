"""Free blocks ordered by (size, address): a treap whose links lie in the blocks, so that nothing here allocates."""
from libc.stdint cimport uint32_t

from mindtorch._npu.records cimport Block


cdef inline bint tree_less(const Block *a, const Block *b) noexcept nogil:
    if a.size != b.size:
        return a.size < b.size
    return a.address < b.address


# The smallest block of at least `size` bytes; among equals the one with the lowest address.
cdef inline Block *tree_best_fit(Block *root, size_t size) noexcept nogil:
    cdef Block *best = NULL
    while root != NULL:
        if root.size >= size:
            best = root
            root = root.left
        else:
            root = root.right
    return best


# The block after `block`, which need not be in the tree.
cdef inline Block *tree_next(Block *root, const Block *block) noexcept nogil:
    cdef Block *best = NULL
    while root != NULL:
        if tree_less(block, root):
            best = root
            root = root.left
        else:
            root = root.right
    return best


cdef inline void tree_insert(Block **root, Block *block) noexcept nogil:
    cdef Block **left = &block.left
    cdef Block **right = &block.right
    cdef Block *node
    while root[0] != NULL and root[0].priority >= block.priority:
        root = &root[0].left if tree_less(block, root[0]) else &root[0].right
    # `block` takes the place of the subtree here, which is split into what is smaller and what is larger.
    node = root[0]
    root[0] = block
    while node != NULL:
        if tree_less(node, block):
            left[0] = node
            left = &node.right
            node = node.right
        else:
            right[0] = node
            right = &node.left
            node = node.left
    left[0] = NULL
    right[0] = NULL


cdef inline void tree_remove(Block **root, Block *block) noexcept nogil:
    cdef Block *left = block.left
    cdef Block *right = block.right
    while root[0] != block:
        root = &root[0].left if tree_less(block, root[0]) else &root[0].right
    # Its two subtrees are merged in its place, the higher priority on top.
    while left != NULL and right != NULL:
        if left.priority >= right.priority:
            root[0] = left
            root = &left.right
            left = left.right
        else:
            root[0] = right
            root = &right.left
            right = right.left
    root[0] = left if left != NULL else right


cdef inline uint32_t next_priority(uint32_t *state) noexcept nogil:
    state[0] ^= state[0] << 13
    state[0] ^= state[0] >> 17
    state[0] ^= state[0] << 5
    return state[0]
