"""The queue of launches of each device (TASK_QUEUE_ENABLE); include/mindtorch/launch_queue.h says how it works."""
from libc.stdint cimport uint64_t

from mindtorch._npu.cann cimport aclOpExecutor, aclnnStatus, aclrtContext, aclrtStream


ctypedef aclnnStatus (*QueuedPhase2)(void *, uint64_t, aclOpExecutor *, aclrtStream) noexcept nogil


cdef extern from "mindtorch/queued_launch.h" nogil:
    enum:
        MAX_QUEUED_WORDS "MINDTORCH_QUEUE_WORDS"
        MAX_QUEUED_TENSORS "MINDTORCH_QUEUE_HANDLES"

    ctypedef struct LaunchQueue:
        pass

    ctypedef struct QueuedLaunch:
        QueuedPhase2 phase2
        void *workspace
        uint64_t workspace_size
        aclOpExecutor *executor
        aclrtStream stream
        const char *name
        const char *line
        int count
        void **handles
        unsigned char *kinds
        int words
        int tensors
        uint64_t *text
        void **storages
        unsigned short *places

ctypedef int (*QueuedPhase1)(QueuedLaunch *launch) noexcept nogil

cdef enum QueueMode:
    NO_QUEUE = 0
    QUEUE_PHASE2 = 1             # the calling thread runs phase 1 or finds an executor, the queue's thread runs phase 2
    QUEUE_ALL = 2                # the queue's thread also finds executors, of calls that were found before

cdef int mode                    # torch.npu.set_task_queue_enable
cdef bint in_use                 # launches may be in a queue, also while the mode is 0 again
cdef void *take_refused(int *kind) noexcept nogil            # NULL: there is none

# The queue of a device. `destroy` destroys an argument of a launch.
cdef LaunchQueue *find_queue(int device) noexcept nogil      # NULL: it was not started
cdef LaunchQueue *start_queue(int device, aclrtContext context, int (*destroy)(void *, int) noexcept nogil,
                              QueuedPhase1 phase1) except NULL

# The place of the next launch. Releases the GIL while the queue is full.
cdef QueuedLaunch *next_launch(LaunchQueue *queue) noexcept
cdef void add_launch(LaunchQueue *queue) noexcept
cdef bint has_launches(int device) noexcept nogil        # which are not made yet
cdef void drain(int device) noexcept nogil   # wait until the launches of the device are made; not with the GIL
cdef void forget_queues() noexcept           # in the child of a fork

# Calls that were found, by their keys, with the sizes of their workspaces.
cdef bint find_known(const uint64_t *text, int words, uint64_t *workspace_size) noexcept
cdef void add_known(const uint64_t *text, int words, uint64_t workspace_size) noexcept
cdef uint64_t missed_look_ups() noexcept     # of queues
