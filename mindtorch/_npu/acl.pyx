# cython: always_allow_keywords=False
"""CANN's functions: lookup in the libraries, exceptions for their statuses, the queues of launches that some of them
wait for, and the runtime under pyACL's names."""
import os

from libc.stdint cimport int32_t, int64_t, intptr_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memset
from posix.dlfcn cimport dlsym

from mindtorch._core.errors import OutOfMemoryError

from mindtorch._core.tensor.dtype cimport DTYPES
from mindtorch._npu.cann cimport (
    ACL_DEVICE_INFO_AI_CORE_NUM, ACL_DEVICE_INFO_L2_SIZE, ACL_DEVICE_INFO_VECTOR_CORE_NUM,
    ACL_ERROR_RT_MEMORY_ALLOCATION, ACL_HOST_REGISTER_MAPPED, ACL_RT_DEV_RES_CUBE_CORE,
    ACL_RT_DEV_RES_VECTOR_CORE, ACL_STREAM_FAST_LAUNCH, ACL_STREAM_FAST_SYNC, aclDeviceInfo, aclSysParamOpt,
    aclrtContext, aclrtDevResLimitType, aclrtHostRegisterType, aclrtMemMallocPolicy, aclrtMemUceInfo,
    aclrtStream, aclrtUtilizationInfo, aclrtUuid,
)


# --- symbols ---------------------------------------------------------------------------------------------------------
# The loader calls `load_functions` once, which looks up the functions of CannApi. A function of ACLNN is looked up when
# its operator runs for the first time.


cdef extern from "mindtorch/cann_tables.h" nogil:
    const char *mindtorch_acl_names[]
    const char *mindtorch_nnopbase_names[]
    const char *mindtorch_optional_names[]

    ctypedef struct StatusText:
        int status
        const char *name
        const char *meaning

    StatusText mindtorch_statuses[]


cdef enum:
    FAILED_LAUNCH = -10001           # what functions return when a launch has failed before: queued_launch.h

cdef list OPERATOR_LIBRARIES = []        # handles of the libraries with ACLNN's functions
cdef object LEFT_OUT = frozenset()       # names of functions that this build of mindtorch does not call


cdef void *find_symbol(list handles, const char *name) except? NULL:
    cdef void *address
    for handle in handles:
        address = dlsym(<void *><size_t>handle, name)
        if address != NULL:
            return address
    return NULL


cdef void **find_symbols(void **member, const char **names, list handles, list missing) except NULL:
    cdef const char **name = names
    while name[0] != NULL:
        member[0] = find_symbol(handles, name[0])
        if member[0] == NULL:
            missing.append(name[0].decode())
        member += 1
        name += 1
    return member


def load_functions(list runtime, list operators, left_out=frozenset()):
    """Fill CannApi from `runtime`, a list of dlopen handles. Return the names of required functions that are missing.

    If any is missing, nothing is kept. `operators` are the handles of the libraries with ACLNN's functions,
    of which those named in `left_out` count as missing.
    """
    global OPERATOR_LIBRARIES, LEFT_OUT
    cdef list missing = []
    cdef void **member = find_symbols(<void **>&api, <const char **>mindtorch_acl_names, runtime, missing)
    member = find_symbols(member, <const char **>mindtorch_nnopbase_names, runtime, missing)
    find_symbols(member, <const char **>mindtorch_optional_names, runtime, [])
    OPERATOR_LIBRARIES, LEFT_OUT = operators, left_out
    if missing:
        memset(&api, 0, sizeof(api))
        OPERATOR_LIBRARIES = []
    else:
        mindtorch_order_calls(&api)
    return missing


cdef int find_function(AclnnFunction *found, str name) except -1:
    cdef list libraries = [] if name in LEFT_OUT else OPERATOR_LIBRARIES
    found.phase1 = find_symbol(libraries, f"{name}GetWorkspaceSize".encode())
    found.phase2 = find_symbol(libraries, name.encode())
    if found.phase1 == NULL or found.phase2 == NULL:
        found.phase1 = found.phase2 = NULL
    return 0


def has_function(str name):
    """Whether the toolkit in use has both phases of a function of ACLNN."""
    cdef AclnnFunction found
    find_function(&found, name)
    return found.phase1 != NULL


cdef int require_function(void *function, str name) except -1:
    if function == NULL:
        raise RuntimeError(f"the CANN toolkit in use has no {name}: install a newer release")
    return 0


# --- errors ----------------------------------------------------------------------------------------------------------
# CANN's functions return a status. Here it becomes a Python exception.


# Whether the host waits for the stream after each launch. ACL and torch_npu have a variable each.
LAUNCH_BLOCKING = "1" in (os.environ.get("ACL_LAUNCH_BLOCKING"), os.environ.get("ASCEND_LAUNCH_BLOCKING"))

# Advice for some statuses, which follows the meaning in the message.
FAULT = ("an operator failed on the device" + (
    "" if LAUNCH_BLOCKING else ", perhaps one called long before: with ACL_LAUNCH_BLOCKING=1 its own call raises")
    + ". The device stays unusable: restart the process")
REMEDIES = {
    361001: FAULT, 507011: FAULT, 507014: FAULT, 507015: FAULT, 507016: FAULT, 507017: FAULT, 507018: FAULT,
    507034: FAULT, 507035: FAULT,
    561003: "the toolkit has no kernel for these arguments: is the ops package of this chip installed?",
    561107: "ASCEND_OPP_PATH should name the opp folder of the toolkit",
    507899: "the driver failed: compare its version with the toolkit's",
    507033: "the device could not be opened: `npu-smi info` shows its state",
}


cdef const StatusText *find_status_text(int status) noexcept:
    cdef const StatusText *text = mindtorch_statuses
    while text.name != NULL:
        if text.status == status:
            return text
        text += 1
    return NULL


def driver_message():
    """CANN's last error message on this thread, or "". Reading the message clears it."""
    if api.aclGetRecentErrMsg == NULL:
        return ""
    cdef const char *message = api.aclGetRecentErrMsg()
    return "" if message == NULL else message.decode("utf-8", "replace").strip()


def status_message(str function, int status, str message=None):
    """The message of the exception for a call of `function` that returned `status`; `message` is the driver's."""
    cdef const StatusText *known = find_status_text(status)
    text = f"NPU error: {function} failed with code {status}"
    if known != NULL:
        text += f" ({known.name.decode()}: {known.meaning.decode()})"
    message = driver_message() if message is None else message
    if message:
        text += f"\n{message}"
    if status in REMEDIES:
        text += f"\n{REMEDIES[status]}"
    return text


cdef bint failed_with(int status, int expected, const char *function) except -1:
    if status != expected:
        check(status, function)
        return False
    api.aclGetRecentErrMsg()           # it would show up in the next exception
    return True


def check_status(int status, str function):
    """Raise the exception for `status`, unless it is success."""
    if status == FAILED_LAUNCH:
        failure = take_failure()
        if failure is not None:          # else another thread has raised it
            raise failure
    elif status != 0:
        kind = OutOfMemoryError if status == ACL_ERROR_RT_MEMORY_ALLOCATION else RuntimeError
        raise kind(status_message(function, status))


cdef int raise_status(int status, const char *function) except -1 with gil:
    check_status(status, function.decode())
    return -1


# --- queues of launches ----------------------------------------------------------------------------------------------
# A thread of each device makes the launches that others put into its queue: include/mindtorch/launch_queue.h. Functions
# of `api` whose effect depends on the order of a stream's work wait for the queues.


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
    void *mindtorch_copy_key(const uint64_t *text, int words, void **storages, const unsigned short *offsets,
                             int tensors) noexcept
    void mindtorch_set_long_key(QueuedLaunch *launch, void *block, int words, int tensors) noexcept
    void mindtorch_shorten_key(QueuedLaunch *launch, const uint64_t *text, int words, void **storages,
                               const unsigned short *offsets, int tensors) noexcept
    void mindtorch_wait_for_slot(LaunchQueue *queue) noexcept
    void mindtorch_drain(LaunchQueue *queue) noexcept
    bint mindtorch_has_launches(LaunchQueue *queue) noexcept
    LaunchQueue *mindtorch_start_queue(int device, aclrtContext context, const QueuedFunctions *functions) noexcept
    void mindtorch_stop_queue(int device) noexcept
    void mindtorch_forget_queues() noexcept
    void mindtorch_refuse(void *handle, int kind) noexcept
    RefusedHandle *mindtorch_take_refused() noexcept
    bint mindtorch_take_failure(int *status, char *message, size_t room, QueuedLaunch *launch) noexcept
    bint mindtorch_find_known(const uint64_t *text, int words, uint64_t *workspace_size) noexcept
    void mindtorch_add_known(const uint64_t *text, int words, uint64_t workspace_size) noexcept
    uint64_t mindtorch_missed
    void mindtorch_order_calls(CannApi *functions) noexcept
    void mindtorch_keep_executors(uint64_t limit, int (*destroy)(void *handle, int kind) noexcept nogil) noexcept
    uint64_t mindtorch_count_kept() noexcept
    KeptExecutor *mindtorch_find_kept(const uint64_t *text, int words, bint take) noexcept
    uint64_t mindtorch_workspace_of_kept(const KeptExecutor *kept) noexcept
    KeptExecutor *mindtorch_make_repeatable(aclOpExecutor *executor, int words, int tensors, int count) noexcept
    void mindtorch_keep(KeptExecutor *kept, const uint64_t *text, uint64_t workspace_size, void **handles,
                        const unsigned char *kinds, const TensorLocation *locations, bint taken) noexcept
    int mindtorch_launch_kept(KeptExecutor *kept, bint taken, void **storages, QueuedPhase2 phase2, void *workspace,
                              uint64_t workspace_size, aclrtStream stream) noexcept
    void mindtorch_release_kept(KeptExecutor *kept, bint taken) noexcept
    void mindtorch_drop_kept() noexcept


DEFAULT_QUEUE_MODE = "2"             # docs/guide/performance.md has the figures


def read_queue_mode():
    """The mode of the environment."""
    chosen = os.environ.get("TASK_QUEUE_ENABLE") or DEFAULT_QUEUE_MODE
    blocking = "1" in (os.environ.get("ASCEND_LAUNCH_BLOCKING"), os.environ.get("ACL_LAUNCH_BLOCKING"))
    return int(chosen) if chosen in ("0", "1", "2") and not blocking else 0


def set_queue_mode(int chosen):
    """0: the thread that calls an operator launches it; 1 and 2: see QueueMode."""
    global queue_mode, queues_in_use
    queue_mode = chosen
    queues_in_use = queues_in_use or chosen != 0


def get_queue_mode():
    return queue_mode


set_queue_mode(read_queue_mode())


cdef LaunchQueue *find_queue(int device) noexcept nogil:
    return mindtorch_find_queue(device)


cdef LaunchQueue *start_queue(int device, aclrtContext context, const QueuedFunctions *functions) except NULL:
    cdef LaunchQueue *queue = mindtorch_start_queue(device, context, functions)
    if queue == NULL:
        raise MemoryError("no memory for the queue of launches, or too many threads")
    return queue


cdef QueuedLaunch *next_launch(LaunchQueue *queue) noexcept:
    cdef QueuedLaunch *launch = mindtorch_next_launch(queue)
    while launch == NULL:
        with nogil:
            mindtorch_wait_for_slot(queue)
        launch = mindtorch_next_launch(queue)
    return launch


cdef void *copy_long_key(const uint64_t *text, int words, void **storages, const unsigned short *offsets,
                         int tensors) except NULL:
    cdef void *block = mindtorch_copy_key(text, words, storages, offsets, tensors)
    if block == NULL:
        raise MemoryError()
    return block


cdef void set_key(QueuedLaunch *launch, void *long_key, const uint64_t *text, int words, void **storages,
                  const unsigned short *offsets, int tensors) noexcept:
    if long_key != NULL:
        mindtorch_set_long_key(launch, long_key, words, tensors)
    else:
        mindtorch_shorten_key(launch, text, words, storages, offsets, tensors)


cdef void add_launch(LaunchQueue *queue) noexcept:
    mindtorch_add_launch(queue)


cdef bint has_launches(int device) noexcept nogil:
    return mindtorch_has_launches(mindtorch_find_queue(device))


cdef void drain_queue(int device) noexcept nogil:
    mindtorch_drain(mindtorch_find_queue(device))


def drain_queues():
    """Wait until the launches of all devices are made."""
    cdef int device
    with nogil:
        for device in range(MAX_DEVICES):
            drain_queue(device)


cdef bint find_known_call(const uint64_t *text, int words, uint64_t *workspace_size) noexcept:
    return mindtorch_find_known(text, words, workspace_size)


cdef void add_known_call(const uint64_t *text, int words, uint64_t workspace_size) noexcept:
    mindtorch_add_known(text, words, workspace_size)


cdef uint64_t missed_look_ups() noexcept:
    return mindtorch_missed


def stop_queues():
    """At exit: make what was added, and end the threads."""
    global queue_mode, queues_in_use
    cdef int device
    queue_mode = queues_in_use = 0
    with nogil:
        for device in range(MAX_DEVICES):
            mindtorch_stop_queue(device)


cdef void forget_queues() noexcept:
    global queue_mode, queues_in_use
    queue_mode = queues_in_use = 0
    mindtorch_forget_queues()


cdef void refuse(void *handle, int kind) noexcept nogil:
    mindtorch_refuse(handle, kind)


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
    for i in range(launch.tensors):
        word = &launch.own_text[launch.own_offsets[i]]
        sizes = [word[j + 1] for j in range(<int>(word[0] >> 8 & 255))]
        tensors.append(f"{DTYPES[<int>(word[0] >> 16 & 65535)]} {sizes}")
    if launch.words == MAX_QUEUED_WORDS or launch.tensors == MAX_QUEUED_TENSORS:
        tensors.append("...")                    # it may have more than there is room for
    return ", ".join(tensors)


def take_failure():
    """The exception of the first launch that has failed since the last call of this function; None: none has."""
    cdef char message[4096]
    cdef QueuedLaunch launch
    cdef int status = 0
    if not mindtorch_take_failure(&status, message, sizeof(message), &launch):
        return None
    function = launch.name.decode()
    failed = status_message(function + ("GetWorkspaceSize" if launch.in_phase1 else ""), status,
                            message.decode("utf-8", "replace").strip())
    tensors = describe_tensors(&launch)
    called = f" with the tensors {tensors}" if tensors else ""
    line = f" in {launch.line.decode()}" if launch.line != NULL else ""
    advice = "" if line else "With MINDTORCH_LAUNCH_LINES=1 this message names the line. "
    return RuntimeError(f"{failed}\n{function} was called{called} before{line}: the queue of launches ran it later.\n"
                        f"{advice}With ACL_LAUNCH_BLOCKING=1 or TASK_QUEUE_ENABLE=0 the call itself raises the error.")


# --- executors -------------------------------------------------------------------------------------------------------
# Of toolkits without the hooks of CANN's cache.


cdef void keep_executors(uint64_t limit, int (*destroy)(void *handle, int kind) noexcept nogil) noexcept:
    mindtorch_keep_executors(limit, destroy)


cdef uint64_t count_kept() noexcept:
    return mindtorch_count_kept()


cdef KeptExecutor *find_kept(const uint64_t *text, int words, bint take, uint64_t *workspace_size) noexcept:
    cdef KeptExecutor *kept = mindtorch_find_kept(text, words, take)
    if kept != NULL:
        workspace_size[0] = mindtorch_workspace_of_kept(kept)
    return kept


cdef KeptExecutor *make_repeatable(aclOpExecutor *executor, int words, int tensors, int count) noexcept nogil:
    return mindtorch_make_repeatable(executor, words, tensors, count)


cdef void keep_executor(KeptExecutor *kept, const uint64_t *text, uint64_t workspace_size, void **handles,
                        const unsigned char *kinds, const TensorLocation *locations, bint take) noexcept nogil:
    mindtorch_keep(kept, text, workspace_size, handles, kinds, locations, take)


cdef int launch_kept(KeptExecutor *kept, bint taken, void **storages, QueuedPhase2 phase2, void *workspace,
                     uint64_t workspace_size, aclrtStream stream) noexcept nogil:
    return mindtorch_launch_kept(kept, taken, storages, phase2, workspace, workspace_size, stream)


cdef void release_kept(KeptExecutor *kept, bint taken) noexcept nogil:
    mindtorch_release_kept(kept, taken)


def drop_kept_executors():
    """Destroy the executors that are kept, once the launches have ended that have found them."""
    with nogil:
        mindtorch_drop_kept()


# --- the runtime under pyACL's names ---------------------------------------------------------------------------------
# Python functions for code where speed does not matter (runtime.py). Names and conventions are pyACL's: handles are
# ints, results come first, the status comes last.
#
#     stream, ret = acl.rt.create_stream()
#
# These functions return the status and do not raise for it. They release the GIL for calls that may wait for the
# device. They work after acl_loader.ensure_acl().


CUBE_CORES = ACL_DEVICE_INFO_AI_CORE_NUM
VECTOR_CORES = ACL_DEVICE_INFO_VECTOR_CORE_NUM
L2_BYTES = ACL_DEVICE_INFO_L2_SIZE
CUBE_CORE_LIMIT = ACL_RT_DEV_RES_CUBE_CORE
VECTOR_CORE_LIMIT = ACL_RT_DEV_RES_VECTOR_CORE

cdef enum:
    MAX_MEMORY_ERRORS = 128          # that one call of get_mem_uce_info returns


def init(config=None):
    cdef bytes path
    cdef const char *raw = NULL
    cdef int ret
    if config is not None:
        path = str(config).encode()
        raw = path
    with nogil:
        ret = api.aclInit(raw)
    return ret


def finalize():
    cdef int ret
    with nogil:
        ret = api.aclFinalize()
    return ret


def get_soc_name():
    cdef const char *name = api.aclrtGetSocName()
    return None if name == NULL else name.decode()


def get_device_capability(uint32_t device_id, int device_info):
    cdef int64_t value = 0
    require_function(<void *>api.aclGetDeviceCapability, "aclGetDeviceCapability")
    cdef int ret = api.aclGetDeviceCapability(device_id, <aclDeviceInfo>device_info, &value)
    return value, ret


class mdl:
    """acl.mdl: dumps of the inputs and outputs of operators."""

    @staticmethod
    def init_dump():
        cdef int ret
        require_function(<void *>api.aclmdlInitDump, "aclmdlInitDump")
        with nogil:
            ret = api.aclmdlInitDump()
        return ret

    @staticmethod
    def set_dump(path):
        cdef bytes encoded = str(path).encode()
        cdef const char *raw = encoded
        cdef int ret
        require_function(<void *>api.aclmdlSetDump, "aclmdlSetDump")
        with nogil:
            ret = api.aclmdlSetDump(raw)
        return ret

    @staticmethod
    def finalize_dump():
        cdef int ret
        require_function(<void *>api.aclmdlFinalizeDump, "aclmdlFinalizeDump")
        with nogil:
            ret = api.aclmdlFinalizeDump()
        return ret


class rt:
    """acl.rt: devices, contexts, streams and memory."""

    @staticmethod
    def get_device_count():
        cdef uint32_t count = 0
        cdef int ret
        with nogil:
            ret = api.aclrtGetDeviceCount(&count)
        return count, ret

    @staticmethod
    def set_device(int device_id):
        cdef int ret
        with nogil:
            ret = api.aclrtSetDevice(device_id)
        return ret

    @staticmethod
    def reset_device(int device_id):
        cdef int ret
        with nogil:
            ret = api.aclrtResetDevice(device_id)
        return ret

    @staticmethod
    def synchronize_device():
        cdef int ret
        with nogil:
            ret = api.aclrtSynchronizeDevice()
        return ret

    @staticmethod
    def create_context(int device_id):
        cdef aclrtContext context = NULL
        cdef int ret
        with nogil:
            ret = api.aclrtCreateContext(&context, device_id)
        return <intptr_t>context, ret

    @staticmethod
    def set_context(intptr_t context):
        return api.aclrtSetCurrentContext(<aclrtContext>context)

    @staticmethod
    def destroy_context(intptr_t context):
        cdef int ret
        with nogil:
            ret = api.aclrtDestroyContext(<aclrtContext>context)
        return ret

    @staticmethod
    def create_stream():
        cdef aclrtStream stream = NULL
        cdef int ret
        with nogil:
            ret = api.aclrtCreateStreamWithConfig(&stream, 0, ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC)
        return <intptr_t>stream, ret

    @staticmethod
    def destroy_stream(intptr_t stream):
        cdef int ret
        with nogil:
            ret = api.aclrtDestroyStream(<aclrtStream>stream)
        return ret

    @staticmethod
    def synchronize_stream(intptr_t stream):
        cdef int ret
        with nogil:
            ret = api.aclrtSynchronizeStream(<aclrtStream>stream)
        return ret

    @staticmethod
    def malloc(size_t size, int policy):
        cdef void *pointer = NULL
        cdef int ret
        with nogil:
            ret = api.aclrtMalloc(&pointer, size, <aclrtMemMallocPolicy>policy)
        return <intptr_t>pointer, ret

    @staticmethod
    def free(intptr_t pointer):
        cdef int ret
        with nogil:
            ret = api.aclrtFree(<void *>pointer)
        return ret

    @staticmethod
    def device_can_access_peer(int device_id, int peer_device_id):
        cdef int32_t can = 0
        cdef int ret = api.aclrtDeviceCanAccessPeer(&can, device_id, peer_device_id)
        return can, ret

    @staticmethod
    def device_enable_peer_access(int peer_device_id, uint32_t flags=0):
        return api.aclrtDeviceEnablePeerAccess(peer_device_id, flags)

    @staticmethod
    def device_disable_peer_access(int peer_device_id):
        return api.aclrtDeviceDisablePeerAccess(peer_device_id)

    @staticmethod
    def get_device_utilization_rate(int device_id):
        """A dict of percentages; -1 for a unit that the chip does not measure."""
        cdef aclrtUtilizationInfo info
        cdef int ret
        require_function(<void *>api.aclrtGetDeviceUtilizationRate, "aclrtGetDeviceUtilizationRate")
        with nogil:
            ret = api.aclrtGetDeviceUtilizationRate(device_id, &info)
        return {"cube": info.cubeUtilization, "vector": info.vectorUtilization, "aicpu": info.aicpuUtilization,
                "memory": info.memoryUtilization}, ret

    @staticmethod
    def device_get_uuid(int device_id):
        """16 bytes; None if the toolkit has no such function."""
        cdef aclrtUuid uuid
        if api.aclrtDeviceGetUuid == NULL:
            return None, 0
        cdef int ret = api.aclrtDeviceGetUuid(device_id, &uuid)
        return uuid.bytes[:sizeof(uuid)], ret

    @staticmethod
    def get_mem_uce_info(int device_id):
        """[(address, bytes)] of memory errors that the device could not correct."""
        cdef aclrtMemUceInfo found[MAX_MEMORY_ERRORS]
        cdef size_t count = 0
        cdef int ret
        require_function(<void *>api.aclrtGetMemUceInfo, "aclrtGetMemUceInfo")
        with nogil:
            ret = api.aclrtGetMemUceInfo(device_id, found, MAX_MEMORY_ERRORS, &count)
        return [(<intptr_t>found[number].addr, found[number].len) for number in range(count)], ret

    @staticmethod
    def device_task_abort(int device_id, uint32_t timeout=0):
        """`timeout` is in milliseconds; 0 means no limit."""
        cdef int ret
        require_function(<void *>api.aclrtDeviceTaskAbort, "aclrtDeviceTaskAbort")
        with nogil:
            ret = api.aclrtDeviceTaskAbort(device_id, timeout)
        return ret

    @staticmethod
    def set_device_res_limit(int device_id, int kind, uint32_t value):
        cdef int ret
        require_function(<void *>api.aclrtSetDeviceResLimit, "aclrtSetDeviceResLimit")
        with nogil:
            ret = api.aclrtSetDeviceResLimit(device_id, <aclrtDevResLimitType>kind, value)
        return ret

    @staticmethod
    def get_device_res_limit(int device_id, int kind):
        cdef uint32_t value = 0
        require_function(<void *>api.aclrtGetDeviceResLimit, "aclrtGetDeviceResLimit")
        cdef int ret = api.aclrtGetDeviceResLimit(device_id, <aclrtDevResLimitType>kind, &value)
        return value, ret

    @staticmethod
    def set_stream_res_limit(intptr_t stream, int kind, uint32_t value):
        require_function(<void *>api.aclrtSetStreamResLimit, "aclrtSetStreamResLimit")
        return api.aclrtSetStreamResLimit(<aclrtStream>stream, <aclrtDevResLimitType>kind, value)

    @staticmethod
    def get_stream_res_limit(intptr_t stream, int kind):
        cdef uint32_t value = 0
        require_function(<void *>api.aclrtGetStreamResLimit, "aclrtGetStreamResLimit")
        cdef int ret = api.aclrtGetStreamResLimit(<aclrtStream>stream, <aclrtDevResLimitType>kind, &value)
        return value, ret

    @staticmethod
    def reset_stream_res_limit(intptr_t stream):
        require_function(<void *>api.aclrtResetStreamResLimit, "aclrtResetStreamResLimit")
        return api.aclrtResetStreamResLimit(<aclrtStream>stream)

    @staticmethod
    def use_stream_res_in_current_thread(intptr_t stream):
        require_function(<void *>api.aclrtUseStreamResInCurrentThread, "aclrtUseStreamResInCurrentThread")
        return api.aclrtUseStreamResInCurrentThread(<aclrtStream>stream)

    @staticmethod
    def unuse_stream_res_in_current_thread(intptr_t stream):
        require_function(<void *>api.aclrtUnuseStreamResInCurrentThread, "aclrtUnuseStreamResInCurrentThread")
        return api.aclrtUnuseStreamResInCurrentThread(<aclrtStream>stream)

    @staticmethod
    def get_res_in_current_thread(int kind):
        cdef uint32_t value = 0
        require_function(<void *>api.aclrtGetResInCurrentThread, "aclrtGetResInCurrentThread")
        cdef int ret = api.aclrtGetResInCurrentThread(<aclrtDevResLimitType>kind, &value)
        return value, ret

    @staticmethod
    def set_ctx_sys_param_opt(int option, int64_t value):
        cdef int ret
        require_function(<void *>api.aclrtCtxSetSysParamOpt, "aclrtCtxSetSysParamOpt")
        with nogil:
            ret = api.aclrtCtxSetSysParamOpt(<aclSysParamOpt>option, value)
        return ret

    @staticmethod
    def set_op_execute_time_out_with_ms(uint32_t timeout):
        cdef int ret
        require_function(<void *>api.aclrtSetOpExecuteTimeOutWithMs, "aclrtSetOpExecuteTimeOutWithMs")
        with nogil:
            ret = api.aclrtSetOpExecuteTimeOutWithMs(timeout)
        return ret

    @staticmethod
    def host_register(intptr_t address, size_t size, int kind=ACL_HOST_REGISTER_MAPPED):
        cdef void *on_device = NULL
        require_function(<void *>api.aclrtHostRegister, "aclrtHostRegister")
        cdef int ret = api.aclrtHostRegister(<void *>address, size, <aclrtHostRegisterType>kind, &on_device)
        return <intptr_t>on_device, ret

    @staticmethod
    def host_unregister(intptr_t address):
        require_function(<void *>api.aclrtHostUnregister, "aclrtHostUnregister")
        return api.aclrtHostUnregister(<void *>address)
