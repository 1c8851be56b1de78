"""CANN's functions: lookup in the libraries, exceptions for their statuses, the queues of launches that some of them
wait for, and the runtime under pyACL's names."""
from libc.stdint cimport uint64_t

from mindtorch._npu.cann cimport CannApi, aclOpExecutor, aclnnStatus, aclrtContext, aclrtStream


# --- symbols ---------------------------------------------------------------------------------------------------------
# Runtime functions are called through `api`. Functions of ACLNN are looked up by name.


cdef CannApi api            # the loader fills it; optional functions may stay NULL; some wait for queues of launches

cdef struct AclnnFunction:  # both NULL where the toolkit lacks the operator
    void *phase1            # ...GetWorkspaceSize
    void *phase2

cdef int find_function(AclnnFunction *found, str name) except -1

# The pointers to the functions of these names (the last is NULL) in the libraries; `missing` gets the names of others.
# Returns the address behind the last pointer.
cdef void **find_symbols(void **member, const char **names, list handles, list missing) except NULL

# Raises if `function` is NULL: the toolkit lacks an optional function.
cdef int require_function(void *function, str name) except -1


# --- errors ----------------------------------------------------------------------------------------------------------
# Checking a status costs one comparison; `raise_status` handles failures.


cdef inline int check(int status, const char *function) except -1 nogil:
    if status == 0:
        return 0
    return raise_status(status, function)

# Whether a call failed with the status that its caller handles, whose message is dropped. Raises for other failures.
cdef bint failed_with(int status, int expected, const char *function) except -1

# Always raises. The thread whose call failed calls this before its next call, because CANN keeps one message a thread.
cdef int raise_status(int status, const char *function) except -1 with gil


# --- queues of launches ----------------------------------------------------------------------------------------------
# TASK_QUEUE_ENABLE; include/mindtorch/launch_queue.h says how a queue works.


ctypedef aclnnStatus (*QueuedPhase2)(void *, uint64_t, aclOpExecutor *, aclrtStream) noexcept nogil

cdef extern from "mindtorch/queued_launch.h" nogil:
    enum:
        MAX_QUEUED_WORDS "MINDTORCH_QUEUE_WORDS"
        MAX_QUEUED_TENSORS "MINDTORCH_QUEUE_TENSORS"

    ctypedef struct LaunchQueue:
        pass

    ctypedef struct KeptExecutor:
        pass

    ctypedef struct TensorLocation:
        void *handle
        int index
        int element

    ctypedef struct QueuedLaunch:
        QueuedPhase2 phase2
        void *workspace
        uint64_t workspace_size
        aclOpExecutor *executor
        KeptExecutor *kept_executor
        aclrtStream stream
        const char *name
        const char *line
        bint may_be_kept
        bint in_phase1
        int count
        void **handles
        unsigned char *kinds
        int words
        int tensors
        uint64_t *text
        void **storages
        void *long_key
        uint64_t *own_text
        unsigned short *own_offsets

    ctypedef struct QueuedFunctions:
        int (*phase1)(QueuedLaunch *launch) noexcept nogil
        int (*destroy)(void *handle, int kind) noexcept nogil
        bint (*may_launch)(int device) noexcept nogil

cdef enum QueueMode:
    NO_QUEUE = 0
    QUEUE_PHASE2 = 1             # the caller runs phase 1 or finds an executor, the queue's thread runs phase 2
    QUEUE_ALL = 2                # the queue's thread runs both phases of known calls

cdef int queue_mode              # torch.npu.set_task_queue_enable
cdef bint queues_in_use          # launches may be in a queue, also while the mode is 0 again

# The queue of a device.
cdef LaunchQueue *find_queue(int device) noexcept nogil      # NULL: it was not started
cdef LaunchQueue *start_queue(int device, aclrtContext context, const QueuedFunctions *functions) except NULL

# The slot of the next launch. Releases the GIL while the queue is full.
cdef QueuedLaunch *next_launch(LaunchQueue *queue) noexcept
# Copy a key to the launch. `long_key` is what `copy_long_key` has returned, NULL: only the first tensors of a key for
# which the launch has no room are copied, which messages of errors name.
cdef void set_key(QueuedLaunch *launch, void *long_key, const uint64_t *text, int words, void **storages,
                  const unsigned short *offsets, int tensors) noexcept
cdef void *copy_long_key(const uint64_t *text, int words, void **storages, const unsigned short *offsets,
                         int tensors) except NULL
cdef void add_launch(LaunchQueue *queue) noexcept
cdef bint has_launches(int device) noexcept nogil            # which are not made yet
cdef void drain_queue(int device) noexcept nogil    # wait until the launches of the device are made; not with the GIL
cdef void forget_queues() noexcept                  # in the child of a fork
cdef void refuse(void *handle, int kind) noexcept nogil         # it could not be destroyed
cdef void *take_refused(int *kind) noexcept nogil   # an argument that could not be destroyed; NULL: there is none

# Calls that were made before, by their keys (launch.pxd), with the sizes of their workspaces.
cdef bint find_known_call(const uint64_t *text, int words, uint64_t *workspace_size) noexcept
cdef void add_known_call(const uint64_t *text, int words, uint64_t workspace_size) noexcept
cdef uint64_t missed_look_ups() noexcept            # by threads of queues, for executors


# --- executors -------------------------------------------------------------------------------------------------------
# Of toolkits without the hooks of CANN's cache; include/mindtorch/kept_executors.h says how they are kept.


cdef void keep_executors(uint64_t limit, int (*destroy)(void *handle, int kind) noexcept nogil) noexcept
cdef uint64_t count_kept() noexcept

# The executor of an equal call; NULL: there is none, or with `take` another launch has taken it.
cdef KeptExecutor *find_kept(const uint64_t *text, int words, bint take, uint64_t *workspace_size) noexcept
# A KeptExecutor for the executor of a call. NULL: CANN cannot repeat the executor, which is not kept then.
cdef KeptExecutor *make_repeatable(aclOpExecutor *executor, int words, int tensors, int count) noexcept nogil
# Put the executor and the arguments of its call into the table. The call is a user of it until `release_kept`.
cdef void keep_executor(KeptExecutor *kept, const uint64_t *text, uint64_t workspace_size, void **handles,
                        const unsigned char *kinds, const TensorLocation *locations, bint take) noexcept nogil
# Phase 2 with other addresses. Each launch that has found an executor releases it afterwards.
cdef int launch_kept(KeptExecutor *kept, bint taken, void **storages, QueuedPhase2 phase2, void *workspace,
                     uint64_t workspace_size, aclrtStream stream) noexcept nogil
cdef void release_kept(KeptExecutor *kept, bint taken) noexcept nogil
