"""Free blocks ordered by (size, address): a treap whose links lie in the blocks, so that nothing here allocates.

The first block is known, and blocks know their parents. So taking the first and putting it back, which is what a
training step mostly does, costs the same however many blocks there are.
"""
from libc.stdint cimport uint32_t

from mindtorch._npu.records cimport Block, BlockTree


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


# Where the tree points to a block: in the block's parent, or in the tree itself.
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
    # `block` takes the place of the subtree here, which is split into what is smaller and what is larger.
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
    if tree.first == block:              # it has nothing on its left
        tree.first = parent if right == NULL else right
        while right != NULL and tree.first.left != NULL:
            tree.first = tree.first.left
    # Its two subtrees are merged in its place, the higher priority on top.
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
