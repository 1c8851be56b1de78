"""Formulas that launch again what an equal call has launched. plans.pyx says how."""
cimport cython
from libc.stdint cimport int64_t

from mindtorch._core.scalar cimport Scalar
from mindtorch._core.tensor cimport Shape, TensorBase
from mindtorch._npu.plan cimport MEMORIES, Plan

cdef enum:
    KEY_WORDS = 128

cdef struct Key:                 # all that the launches of a call depend on
    bint unfit                   # they may depend on more, or must be seen
    int device
    int length                   # words of it
    int memories
    void *storages[MEMORIES]     # the operands', each once, borrowed: where they are is no part of the key
    int64_t words[KEY_WORDS]


@cython.final
cdef class Plans:                # of one formula
    cdef list kept
    cdef int oldest

cdef Plans plans_of(object key)                                     # None: there are too many

cdef int open_key(Key *key, TensorBase out) noexcept
# The arguments, one after the other, results included.
cdef int add_tensor(Key *key, TensorBase tensor) noexcept           # None, too
cdef int add_scalar(Key *key, const Scalar *number) noexcept        # NULL, too
cdef int add_ints(Key *key, const Shape *ints) noexcept
cdef int add_int(Key *key, int64_t number) noexcept
cdef int add_double(Key *key, double number) noexcept

# The plan of such a call. None: the formula runs as it is, and nothing is kept of it.
cdef Plan find_plan(Plans plans, Key *key)
cdef bint is_ready(Plan plan) noexcept
cdef int relaunch(Plan plan, const Key *key) except -1              # one that is ready
cdef int record_launches(Plan plan, const Key *key) except -1       # another one, until `plan.stop`
cdef int planned(object compute, tuple arguments, tuple operands) except -1     # compute(*arguments, *operands)
