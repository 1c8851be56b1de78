"""The queue of launches of each device (TASK_QUEUE_ENABLE); include/mindtorch/launch_queue.h says how it works."""
import os

from libc.stdint cimport uint64_t
from libc.stdlib cimport free

from mindtorch._npu import acl

from mindtorch._core.tensor.dtype cimport DTYPES
from mindtorch._npu.acl cimport api
from mindtorch._npu.cann cimport CannApi, aclrtContext


cdef extern from "mindtorch/thread_state.h" nogil:
    enum:
        MAX_DEVICES "MINDTORCH_MAX_DEVICES"

cdef extern from "mindtorch/launch_queue.h" nogil:
    ctypedef struct RefusedHandle:
        void *handle
        int kind

    LaunchQueue *mindtorch_find_queue(int device) noexcept
    QueuedLaunch *mindtorch_next_launch(LaunchQueue *queue) noexcept
    void mindtorch_add_launch(LaunchQueue *queue) noexcept
    void mindtorch_wait_for_place(LaunchQueue *queue) noexcept
    void mindtorch_drain(LaunchQueue *queue) noexcept
    bint mindtorch_has_launches(LaunchQueue *queue) noexcept
    LaunchQueue *mindtorch_start_queue(int device, aclrtContext context, int (*destroy)(void *, int) noexcept,
                                       QueuedPhase1 phase1) noexcept
    void mindtorch_stop_queue(int device) noexcept
    void mindtorch_forget_queues() noexcept
    RefusedHandle *mindtorch_take_refused() noexcept
    bint mindtorch_take_failure(int *status, char *message, size_t room, QueuedLaunch *launch) noexcept
    bint mindtorch_find_known(const uint64_t *text, int words, uint64_t *workspace_size) noexcept
    void mindtorch_add_known(const uint64_t *text, int words, uint64_t workspace_size) noexcept
    uint64_t mindtorch_missed
    void mindtorch_order_calls(CannApi *functions) noexcept


def order_calls():
    """Called when CANN has been loaded."""
    mindtorch_order_calls(&api)


# --- modes -----------------------------------------------------------------------------------------------------------


def read_mode():
    """The mode of the environment."""
    chosen = os.environ.get("TASK_QUEUE_ENABLE", "0")
    blocking = "1" in (os.environ.get("ASCEND_LAUNCH_BLOCKING"), os.environ.get("ACL_LAUNCH_BLOCKING"))
    return int(chosen) if chosen in ("0", "1", "2") and not blocking else 0


def set_mode(int chosen):
    """0: the thread that calls an operator launches it; 1 and 2: see QueueMode."""
    global mode, in_use
    mode = chosen
    in_use = in_use or chosen != 0


def get_mode():
    return mode


set_mode(read_mode())


# --- queues ----------------------------------------------------------------------------------------------------------


cdef LaunchQueue *find_queue(int device) noexcept nogil:
    return mindtorch_find_queue(device)


cdef LaunchQueue *start_queue(int device, aclrtContext context, int (*destroy)(void *, int) noexcept nogil,
                              QueuedPhase1 phase1) except NULL:
    cdef LaunchQueue *queue = mindtorch_start_queue(device, context, destroy, phase1)
    if queue == NULL:
        raise MemoryError("no memory for the queue of launches, or too many threads")
    return queue


cdef QueuedLaunch *next_launch(LaunchQueue *queue) noexcept:
    cdef QueuedLaunch *launch = mindtorch_next_launch(queue)
    while launch == NULL:
        with nogil:
            mindtorch_wait_for_place(queue)
        launch = mindtorch_next_launch(queue)
    return launch


cdef void add_launch(LaunchQueue *queue) noexcept:
    mindtorch_add_launch(queue)


cdef bint find_known(const uint64_t *text, int words, uint64_t *workspace_size) noexcept:
    return mindtorch_find_known(text, words, workspace_size)


cdef void add_known(const uint64_t *text, int words, uint64_t workspace_size) noexcept:
    mindtorch_add_known(text, words, workspace_size)


cdef uint64_t missed_look_ups() noexcept:
    return mindtorch_missed


cdef bint has_launches(int device) noexcept nogil:
    return mindtorch_has_launches(mindtorch_find_queue(device))


cdef void drain(int device) noexcept nogil:
    mindtorch_drain(mindtorch_find_queue(device))


def stop_queues():
    """At exit: make what was added, and end the threads."""
    global mode, in_use
    cdef int device
    mode = in_use = 0
    with nogil:
        for device in range(MAX_DEVICES):
            mindtorch_stop_queue(device)


cdef void forget_queues() noexcept:
    global mode, in_use
    mode = in_use = 0
    mindtorch_forget_queues()


cdef void *take_refused(int *kind) noexcept nogil:
    cdef RefusedHandle *entry = mindtorch_take_refused()
    cdef void *handle
    if entry == NULL:
        return NULL
    handle = entry.handle
    kind[0] = entry.kind
    free(entry)
    return handle


cdef object describe_tensors(const QueuedLaunch *launch):
    """The dtypes and sizes of the tensors in the launch's key, or ""."""
    cdef const uint64_t *word
    cdef list tensors = []
    cdef int i, j
    for i in range(launch.tensors if launch.words != 0 else 0):
        word = &launch.text[launch.places[i]]
        sizes = [word[j + 1] for j in range(<int>(word[0] >> 8 & 255))]
        tensors.append(f"{DTYPES[<int>(word[0] >> 16 & 65535)]} {sizes}")
    return ", ".join(tensors)


def take_failure():
    """The exception of the first launch that has failed since the last call of this function; None: none has."""
    cdef char message[4096]
    cdef QueuedLaunch launch
    cdef int status = 0
    if not mindtorch_take_failure(&status, message, sizeof(message), &launch):
        return None
    return acl.launch_error(launch.name.decode(), status, message.decode("utf-8", "replace").strip(),
                            describe_tensors(&launch), "" if launch.line == NULL else launch.line.decode())


acl.take_failure = take_failure
