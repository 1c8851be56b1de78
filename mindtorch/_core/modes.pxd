"""The modes of autograd."""

cdef bint grad_enabled() noexcept
cdef int set_grad_enabled(bint enabled) noexcept      # gives the mode that was set before
cdef bint inference_enabled() noexcept

cdef int anomaly_mode                                 # 0 off, 1 tracebacks, 2 and a look for NaN
cdef int saved_hooks_active                           # how many saved_tensors_hooks are in force, in any thread
cdef tuple saved_hooks()                              # (pack, unpack) of this thread, or None
