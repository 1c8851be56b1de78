"""Errors of device memory that the chip could not correct."""
from mindtorch import npu
from mindtorch.npu.device import _lazy_init, _valid_index

NONE, OUTSIDE, UNUSED, IN_USE = range(4)


def check_uce_in_memory(device_id):
    """Where the device has memory errors that it could not correct, as a number.

    0: nowhere. 1: outside this process's cached memory. 2: in memory that nobody used, which has gone back to the
    driver: the step can be repeated. 3: in memory in use: what it held has to be loaded again.
    """
    from mindtorch._npu import acl
    from mindtorch._npu.errors import check_status
    index = _valid_index(device_id)
    _lazy_init()
    errors, status = acl.rt.get_mem_uce_info(index)
    check_status(status, "aclrtGetMemUceInfo")
    if not errors:
        return NONE
    if not _cached(index, errors):
        return OUTSIDE
    npu.empty_cache()
    return IN_USE if _cached(index, errors) else UNUSED


def _cached(index, errors):
    """Whether the allocator's segments reach into one of the ranges of addresses."""
    segments = npu._get_allocator(index).snapshot()
    return any(segment["address"] < address + nbytes and address < segment["address"] + segment["total_size"]
               for segment in segments for address, nbytes in errors)
