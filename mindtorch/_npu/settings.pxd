"""What PYTORCH_NPU_ALLOC_CONF chooses, as the allocator reads it. Sizes are bytes."""


cdef enum:
    DIVISION_CLASSES = 16                # sizes from 1 MiB to 32 GiB by powers of two, and all below or above

cdef struct AllocatorSettings:
    size_t tail                          # bytes past the end of what was asked for that a block has besides
    size_t max_split_size                # blocks of so many bytes are not split, and serve only such requests
    size_t max_non_split_rounding        # how much larger than the request such a block may be
    size_t large_segment                 # of requests too large for the small pool that need no segment of their own
    size_t segment_unit                  # segments of their own are multiples of it: pages of 2 MiB or 1 GiB
    double collect_at                    # share of the memory limit at which old blocks are given back; 0: never
    bint expandable                      # segments grow: addresses are reserved, memory is mapped as needed
    size_t base_alignment                # of large blocks in such segments; 0: none
    bint divided                         # requests are rounded up to a part of a power of two
    size_t divisions[DIVISION_CLASSES]   # into how many parts, by the request's size; 0 and 1: no rounding
    bint lazy_reclaim                    # events are looked at only when no block was found, or many wait
    bint refuse                          # no waiting and freeing before an out-of-memory error

cdef AllocatorSettings settings
