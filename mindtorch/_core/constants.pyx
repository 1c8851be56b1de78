"""Tables of numbers that decompositions use: copied to the device once, and kept there until empty_cache.

A table is kept only while one stream orders all work: it was written in the order of the stream that was current. Where
a process uses several, or the stream's work is captured, each use copies the table anew.
"""
from mindtorch._core.device cimport BACKENDS
from mindtorch._core.tensor cimport TensorBase

cdef dict KEPT = {}             # (make, key, dtype, device) -> Tensor


def constant(TensorBase like not None, make, *key):
    """The numbers of make(*key) in the dtype and on the device of `like`; read only."""
    cdef int device = like.device_type
    cdef bint alone = not BACKENDS[device].streams
    if alone and BACKENDS[device].capturing != NULL:
        alone = not BACKENDS[device].capturing(like.device_index)
    if not alone:
        return like.new_tensor(make(*key))
    place = make, key, like.dtype, device, like.device_index
    found = KEPT.get(place)
    if found is None:
        found = KEPT[place] = like.new_tensor(make(*key))
    return found


def forget():
    """Gives the memory of all tables back."""
    KEPT.clear()
