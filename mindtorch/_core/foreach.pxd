"""Operators on lists of tensors: _foreach_* and _fused_*."""
from mindtorch._core.operator cimport Argument, Operator


# Reads what rows of such operators say beyond the others (run_operator.load).
cdef int load(Operator op, dict row) except -1
# `arguments` as of run_operator.run. Where a device has a kernel for lists, and all tensors are alike (one dtype, one
# device, contiguous, nothing to record), and the operator on one tensor would give their dtype, the kernel takes the
# whole list. Otherwise the operator on one tensor runs for each: that is also what autograd records.
cdef object run_list(Operator op, Argument *arguments, bint inplace)
