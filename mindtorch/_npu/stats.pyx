"""Counters of the caching allocator, under torch's names."""

KINDS = ("allocation", "segment", "active", "inactive_split", "allocated_bytes", "reserved_bytes", "active_bytes",
         "inactive_split_bytes", "requested_bytes")
POOL_NAMES = ("all", "small_pool", "large_pool")
METRICS = ("current", "peak", "allocated", "freed")
# Counts of blocks and segments at least max_split_size long; no block is while that size is unlimited.
OVERSIZE = ("oversize_allocations", "oversize_segments")
SCALARS = ("num_alloc_retries", "num_ooms", "num_sync_all_streams", "num_device_alloc", "num_device_free")


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

    def __getitem__(self, str key):
        return self.counter(key)[0]

    def __setitem__(self, str key, int64_t value):
        self.counter(key)[0] = value

    def nested(self):
        """torch.npu.memory_stats_as_nested_dict(): the keys in the order of torch_npu."""
        result = {"num_alloc_retries": self.num_alloc_retries, "num_ooms": self.num_ooms, "max_split_size": -1,
                  "num_sync_all_streams": self.num_sync_all_streams, "num_device_alloc": self.num_device_alloc,
                  "num_device_free": self.num_device_free, "num_oom_rejections": 0}
        for kind in KINDS:
            result[kind] = {pool: {metric: self[f"{kind}.{pool}.{metric}"] for metric in METRICS}
                            for pool in POOL_NAMES}
        for kind in OVERSIZE:
            result[kind] = dict.fromkeys(METRICS, 0)
        return result

    def reset_peak(self):
        cdef int kind, pool
        for kind in range(STAT_KINDS):
            for pool in range(POOLS):
                self.table[kind][pool].peak = self.table[kind][pool].current

    def reset_accumulated(self):
        cdef int kind, pool
        for kind in range(STAT_KINDS):
            for pool in range(POOLS):
                self.table[kind][pool].allocated = 0
                self.table[kind][pool].freed = 0
        for name in SCALARS:
            setattr(self, name, 0)
