"""Tables of numbers that formulas multiply by: brought to the device once, and kept there until empty_cache.

A table is kept only while one stream orders all work: it was written in the order of the stream that was current. Where
a process uses several, or the stream's work is captured, each use brings the table anew.
"""
from mindtorch._core.device cimport BACKENDS
from mindtorch._core.tensor cimport TensorBase

cdef dict KEPT = {}


def constant(TensorBase like, make, *key):
    """The numbers of make(*key), which depend on nothing else, in the dtype and on the device of `like`; read only."""
    cdef bint alone = not BACKENDS[like.device_type].streams
    if alone and BACKENDS[like.device_type].capturing != NULL:
        alone = not BACKENDS[like.device_type].capturing(like.device_index)
    if not alone:
        return like.new_tensor(make(*key))
    cdef tuple place = (make, key, <int>like.dtype, like.device_type, like.device_index)
    found = KEPT.get(place)
    if found is None:
        found = KEPT[place] = like.new_tensor(make(*key))
    return found


def forget():
    KEPT.clear()
