"""From a status of CANN to a Python exception."""
from mindtorch._core.errors import OutOfMemoryError

from mindtorch._npu.cann.acl_base_rt cimport ACL_ERROR_RT_MEMORY_ALLOCATION
from mindtorch._npu.cann.error_table cimport StatusText, mindtorch_statuses
from mindtorch._npu.symbols cimport api

# What to do about a status, where there is more to say than what it means.
REMEDIES = {
    561003: "the toolkit has no kernel for these arguments: is the ops package of this chip installed?",
    561107: "ASCEND_OPP_PATH should name the opp folder of the toolkit",
    507899: "the driver failed: compare its version with the toolkit's",
    507033: "the device could not be opened: `npu-smi info` shows its state",
}


cdef const StatusText *find_status(int status) noexcept:
    cdef const StatusText *text = mindtorch_statuses
    while text.name != NULL:
        if text.status == status:
            return text
        text += 1
    return NULL


def driver_message():
    """What CANN last said on this thread, or ""; reading it clears it."""
    if api.aclGetRecentErrMsg == NULL:
        return ""
    cdef const char *message = api.aclGetRecentErrMsg()
    return "" if message == NULL else message.decode("utf-8", "replace").strip()


def describe(str function, int status):
    """The text of the exception for a call of `function` that returned `status`."""
    cdef const StatusText *known = find_status(status)
    text = f"NPU error: {function} failed with code {status}"
    if known != NULL:
        text += f" ({known.name.decode()}: {known.meaning.decode()})"
    message = driver_message()
    if message:
        text += f"\n{message}"
    if status in REMEDIES:
        text += f"\n{REMEDIES[status]}"
    return text


def check_status(int status, str function):
    """Raises what `status` stands for unless it is success. For cold paths written in Python."""
    if status != 0:
        kind = OutOfMemoryError if status == ACL_ERROR_RT_MEMORY_ALLOCATION else RuntimeError
        raise kind(describe(function, status))


cdef int raise_status(int status, const char *function) except -1 with gil:
    check_status(status, function.decode())
    return -1
