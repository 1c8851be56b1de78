"""Counters of the caching allocator, under torch's names."""
from collections import OrderedDict

KINDS = ("allocation", "segment", "active", "inactive_split", "allocated_bytes", "reserved_bytes", "active_bytes",
         "inactive_split_bytes", "requested_bytes")
POOL_NAMES = ("all", "small_pool", "large_pool")
METRICS = ("current", "peak", "allocated", "freed")
SCALARS = ("num_alloc_retries", "num_ooms", "num_sync_all_streams", "num_device_alloc", "num_device_free",
           "num_oom_rejections")


cdef class MemoryStats:
    """A live view: stats["allocated_bytes.all.current"] reads the counter, an assignment sets it."""

    cdef int64_t *counter(self, str key) except NULL:
        cdef Stat *stat
        try:
            kind, pool, metric = key.split(".")
            stat = &self.table[<int>KINDS.index(kind)][<int>POOL_NAMES.index(pool)]
            return <int64_t *>stat + <int>METRICS.index(metric)
        except ValueError:
            raise KeyError(key) from None

    def __cinit__(self):
        self.max_split_size = -1

    def __getitem__(self, str key):
        return self.counter(key)[0]

    def __setitem__(self, str key, int64_t value):
        self.counter(key)[0] = value

    def nested(self):
        """torch.npu.memory_stats_as_nested_dict(): the keys in the order of torch_npu."""
        result = {"num_alloc_retries": self.num_alloc_retries, "num_ooms": self.num_ooms,
                  "max_split_size": self.max_split_size,
                  "num_sync_all_streams": self.num_sync_all_streams, "num_device_alloc": self.num_device_alloc,
                  "num_device_free": self.num_device_free, "num_oom_rejections": self.num_oom_rejections}
        for kind in KINDS:
            result[kind] = {pool: {metric: self[f"{kind}.{pool}.{metric}"] for metric in METRICS}
                            for pool in POOL_NAMES}
        result["oversize_allocations"] = metrics_of(&self.oversize_allocations)
        result["oversize_segments"] = metrics_of(&self.oversize_segments)
        return result

    def reset_peak(self):
        cdef int kind, pool
        for kind in range(STAT_KINDS):
            for pool in range(POOLS):
                self.table[kind][pool].peak = self.table[kind][pool].current
        self.oversize_allocations.peak = self.oversize_allocations.current
        self.oversize_segments.peak = self.oversize_segments.current

    def reset_accumulated(self):
        cdef int kind, pool
        for kind in range(STAT_KINDS):
            for pool in range(POOLS):
                self.table[kind][pool].allocated = 0
                self.table[kind][pool].freed = 0
        self.oversize_allocations.allocated = self.oversize_allocations.freed = 0
        self.oversize_segments.allocated = self.oversize_segments.freed = 0
        for name in SCALARS:
            setattr(self, name, 0)


cdef dict metrics_of(Stat *stat):
    return {"current": stat.current, "peak": stat.peak, "allocated": stat.allocated, "freed": stat.freed}


def flatten(nested):
    """{"a": {"b": 1}} as {"a.b": 1}, its keys sorted."""
    flat = {}

    def add(prefix, value):
        if isinstance(value, dict):
            for key, inner in value.items():
                add(f"{prefix}.{key}" if prefix else key, inner)
        else:
            flat[prefix] = value

    add("", nested)
    return OrderedDict(sorted(flat.items()))
