"""Tables of numbers that formulas use: brought to the device once, and kept there until empty_cache.

A table is kept only while one stream orders all work: it was written in the order of the stream that was current. Where
a process uses several, or the stream's work is captured, each use brings the table anew.
"""
from mindtorch._core.device cimport BACKENDS, DEVICE_TYPES
from mindtorch._core.scalar cimport SCALAR_TYPES, Double
from mindtorch._core.tensor cimport make_alias

cdef list TABLES = []           # all there are
cdef dict KNOWN = {}            # (make, *key) -> Table, of those that were made for `constant`


cdef class Table:
    """The numbers of make(*key), which depend on nothing else."""

    def __init__(self, make, *key):
        self.make, self.key, self.kept = make, key, {}
        TABLES.append(self)

    cpdef TensorBase on(self, TensorBase like):
        """A tensor of them in the dtype and on the device of `like`; read only."""
        cdef int device = like.device_type
        cdef bint alone = not BACKENDS[device].streams
        if alone and BACKENDS[device].capturing != NULL:
            alone = not BACKENDS[device].capturing(like.device_index)
        if not alone:
            return self.made(like)
        cdef int place = <int>like.dtype + SCALAR_TYPES * (device + DEVICE_TYPES * like.device_index)
        found = self.kept.get(place)
        if found is None:
            found = self.kept[place] = self.made(like)
        return found

    cdef TensorBase made(self, TensorBase like):
        return make_alias(like).new_tensor(self.make(*self.key))         # `like` itself may have no methods


cdef TensorBase numbers(tuple pair, TensorBase like):
    return (<Table?>pair[1 if like.dtype == Double else 0]).on(like)


def constant(TensorBase like, make, *key):
    """The same of a key that is not known beforehand."""
    cdef tuple place = (make, *key)
    table = KNOWN.get(place)
    if table is None:
        table = KNOWN[place] = Table(make, *key)
    return table.on(like)


def forget():
    """Gives the memory of all tables back."""
    cdef Table table
    for table in TABLES:
        table.kept.clear()
