"""The settings of the allocator, filled in from what alloc_config.py has parsed and from the device."""
from mindtorch._npu.alloc_config import AllocConfig, from_environment
from mindtorch._npu.toolkit import version_key

cdef enum:
    KIB = 1024
    MIB = 1024 * 1024
    TAIL = 32                            # the hardware moves 32-byte blocks and may touch so much past the end

cdef size_t UNLIMITED = <size_t>-1

current = None                           # the AllocConfig in force


def apply(config):
    """Puts an AllocConfig in force. Blocks that exist stay as they are."""
    global current
    cdef int number
    settings.max_split_size = UNLIMITED if config.max_split_size_mb is None else config.max_split_size_mb * MIB
    settings.max_non_split_rounding = config.max_non_split_rounding_mb * MIB
    settings.segment_unit = (1024 if config.page_size == "1g" else 2) * MIB
    settings.large_segment = config.large_segment_size_mb * MIB
    if config.page_size == "1g":
        settings.large_segment += -settings.large_segment % settings.segment_unit
    settings.collect_at = config.garbage_collection_threshold
    settings.base_alignment = config.base_addr_aligned_kb * KIB
    settings.expandable = config.expandable_segments
    settings.lazy_reclaim = config.multi_stream_lazy_reclaim
    settings.refuse = config.throw_on_npumalloc_oom
    settings.divided = False
    for number in range(DIVISION_CLASSES):
        settings.divisions[number] = config.roundup_power2_divisions[number]
        settings.divided |= settings.divisions[number] > 1
    current = config


def use_device(soc_name, cann_version):
    """Says which device the memory is of: an Ascend 950 needs no tail from CANN 9.1 on."""
    without = (soc_name or "").startswith("Ascend950") and version_key(cann_version) >= [9, 1]
    settings.tail = 0 if without else TAIL


use_device(None, "")
apply(from_environment() or AllocConfig())
