"""The modes of autograd: whether operators are recorded, whether tensors are made for inference, what nodes note down.

Those of grad and inference are of the calling thread; anomaly mode is of the process, as torch's.
"""
import threading

cimport mindtorch._core.tensor as tensor_module

cdef extern from *:
    """
    static _Thread_local int mindtorch_grad_disabled;
    static _Thread_local int mindtorch_inference;
    """
    int mindtorch_grad_disabled
    int mindtorch_inference


saved_hooks_active = 0
anomaly_mode = 0
THREAD = threading.local()                 # .saved_hooks: a stack of (pack, unpack)


cdef bint grad_enabled() noexcept:
    return not mindtorch_grad_disabled


cdef int set_grad_enabled(bint enabled) noexcept:
    cdef int before = not mindtorch_grad_disabled
    global mindtorch_grad_disabled
    mindtorch_grad_disabled = not enabled
    return before


cdef bint inference_enabled() noexcept:
    return mindtorch_inference


def is_grad_enabled():
    """Whether operators are recorded, in this thread."""
    return bool(grad_enabled())


def _set_grad_enabled(bint enabled):
    """Set the mode of this thread; gives the mode before."""
    return bool(set_grad_enabled(enabled))


def is_inference_mode_enabled():
    """Whether this thread is in inference_mode."""
    return bool(mindtorch_inference)


def _set_inference_mode(bint enabled):
    """Set the mode of this thread; gives the mode before."""
    global mindtorch_inference
    before = bool(mindtorch_inference)
    if enabled != before:
        tensor_module.inference_threads += 1 if enabled else -1
    mindtorch_inference = enabled
    return before


def is_anomaly_enabled():
    """Whether nodes remember where they were made."""
    return anomaly_mode > 0


def is_anomaly_check_nan_enabled():
    """Whether backward looks for NaN in what every node gives."""
    return anomaly_mode == 2


def set_anomaly_enabled(bint enabled, bint check_nan=True):
    """Switch anomaly detection for the process; `autograd.set_detect_anomaly` is the context manager."""
    global anomaly_mode
    anomaly_mode = (2 if check_nan else 1) if enabled else 0


def push_saved_tensors_hooks(pack, unpack):
    """What this thread saves from now on goes through `pack`, and through `unpack` when backward wants it."""
    global saved_hooks_active
    if not hasattr(THREAD, "saved_hooks"):
        THREAD.saved_hooks = []
    THREAD.saved_hooks.append((pack, unpack))
    saved_hooks_active += 1


cdef tuple saved_hooks():
    stack = getattr(THREAD, "saved_hooks", None)
    return stack[len(stack) - 1] if stack else None


def thread_modes():
    """The modes of this thread, and its saved_tensors_hooks, for restore_thread_modes."""
    return is_grad_enabled(), is_inference_mode_enabled(), tuple(getattr(THREAD, "saved_hooks", ()))


def restore_thread_modes(tuple modes):
    """Leave all contexts that were entered since `thread_modes()`, and enter again what was left."""
    global saved_hooks_active
    grad, inference, hooks = modes
    set_grad_enabled(grad)
    _set_inference_mode(inference)
    stack = THREAD.__dict__.setdefault("saved_hooks", [])
    saved_hooks_active += len(hooks) - len(stack)
    stack[:] = hooks


def pop_saved_tensors_hooks():
    """Undo the last push of this thread."""
    global saved_hooks_active
    THREAD.saved_hooks.pop()
    saved_hooks_active -= 1
