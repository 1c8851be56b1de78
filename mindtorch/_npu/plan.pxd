"""What one call of a formula launches, as executors that CANN runs again: how it is recorded. plans.pxd says when."""
cimport cython
from libc.stdint cimport uint8_t, uint64_t

from mindtorch._core.tensor cimport Storage, TensorBase
from mindtorch._npu.cann.acl_meta cimport aclTensor
from mindtorch._npu.cann.cann_api cimport aclnnStatus, aclOpExecutor, aclrtStream

cdef enum:
    MEMORIES = 12                # storages of a call's operands
    SCRATCH = MEMORIES           # the place of what the formula allocates by itself: one block, when it runs again

ctypedef aclnnStatus (*Phase2)(void *, uint64_t, aclOpExecutor *, aclrtStream) noexcept nogil

cdef struct Step:                # a launch
    aclOpExecutor *executor
    Phase2 phase2
    const char *name
    uint64_t workspace_size

cdef struct Patch:               # a tensor of a launch whose memory is another one in each call
    aclTensor *descriptor
    int step
    int index                    # among the tensors of the launch
    int place                    # of its storage: which of the operands', or SCRATCH
    size_t offset                # of its storage there

cdef struct Held:                # what a launch was given, which lives as long as its executor
    void *handle
    int kind

cdef enum State:
    SEEN                         # once: the next call is recorded
    RECORDING
    READY
    REFUSED                      # its launches depend on what no plan knows


@cython.final
cdef class Plan:
    cdef State state
    cdef int attempts
    cdef bint busy                            # a thread runs it, without the GIL
    cdef bytes key                            # what the launches depend on
    cdef int length                           # of the key, in words
    cdef Step *steps
    cdef Patch *patches
    cdef Held *held
    cdef int step_count, patch_count, held_count
    cdef char *addresses[MEMORIES + 1]        # what the executors have of each place
    cdef size_t scratch_size, workspace_size
    # Storages: of the operands and, in the order of their places in SCRATCH, the formula's own; both while recording
    # only. The third are those that were there before, as tables of numbers are: whose memory stays.
    cdef list operands, made, tables
    cdef int index                            # while recording: tensors that the launch has been told so far
    cdef uint64_t launch                      # the same: its name

    # In state RECORDING, until `stop`: what the calling thread launches.
    cdef int record(self, list operands) except -1
    cdef int stop(self, bint complete) noexcept               # the formula has returned, or raised
    cdef int clear(self) noexcept

cdef int recordings                          # threads that record now, in the process
# What a thread that records is asked to call; its ThreadState has the plan. `plan` is that, or one that has given up.
cdef int give_up() noexcept                                   # what is launched depends on what no plan knows
cdef int note_storage(Storage storage) except -1              # it has been allocated
cdef int note_launch(void *plan) noexcept                     # one begins
cdef int note_tensor(void *plan, aclTensor *descriptor, TensorBase tensor) except -1    # NULL and None: left out
# Phase 1 has made an executor. Whether the plan owns it from now on, and the handles with it.
cdef bint keep_step(void *plan, aclOpExecutor *executor, Phase2 phase2, const char *name, uint64_t workspace_size,
                    void **handles, const unsigned char *kinds, int count) noexcept
