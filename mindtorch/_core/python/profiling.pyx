"""Profiles: nested ranges of host time, in the thread that started the profile.

While a profile records operators, calls of public functions (torch_function.pyx), Python's operators and indexing open
ranges. Backward tests once for each graph whether a profile runs. A launch tests one flag for all that may follow it.
"""
import sys

from libc.stdint cimport int64_t

from mindtorch._core.tensor.tensor cimport TensorBase


cdef extern from *:
    """
    #include <stddef.h>
    #include <time.h>

    static inline int64_t mindtorch_nanoseconds(void)
    {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    }
    """
    int64_t mindtorch_nanoseconds() noexcept nogil

cdef extern from "Python.h":
    unsigned long PyThread_get_thread_ident()


cdef list RANGES = None             # the ranges of the running profile, in order of their start; None without one
cdef unsigned long PROFILED_THREAD = 0          # the thread of the profile
cdef Range INNERMOST = None              # the innermost open range
cdef bint RECORD_SHAPES = False
cdef bint WITH_STACK = False
cdef object ALLOCATED_BYTES = None              # () -> bytes allocated for tensors on the NPUs
cdef object COUNT_FLOPS = None               # (name, shapes, result) -> floating point operations


# --- ranges ----------------------------------------------------------------------------------------------------------

cdef class Range:
    """One call; the times are those of `monotonic_ns`."""


cdef bint is_thread_profiled() noexcept:
    return RANGES is not None and PyThread_get_thread_ident() == PROFILED_THREAD


cdef int64_t clock() noexcept nogil:
    return mindtorch_nanoseconds()


cdef Range append_range(str name, RecordScope scope, str category):
    cdef Range made = Range.__new__(Range)
    made.name = name
    made.scope = scope
    made.category = category
    made.sequence_nr = -1
    made.ranges = RANGES
    made.parent = INNERMOST
    RANGES.append(made)
    return made


cdef int add_finished_range(str name, str category, int64_t began, object device_time) except -1:
    cdef Range made
    if is_thread_profiled():
        made = append_range(name, FUNCTION, category)
        made.start_ns, made.end_ns = began, clock()
        made.device_time = device_time
    return 0


cdef Range open_range(str name, RecordScope scope, str category):
    global INNERMOST
    cdef Range opened
    if not is_thread_profiled():
        return None
    opened = append_range(name, scope, category)
    if WITH_STACK:
        opened.stack = python_stack()
    if ALLOCATED_BYTES is not None:
        opened.memory_delta = -<int64_t>ALLOCATED_BYTES()
    INNERMOST = opened
    opened.start_ns = clock()
    return opened


cdef bint is_innermost_in(Range outer):
    """Whether the innermost range lies in `outer`. A generator may close a range before those inside it."""
    cdef Range inner = INNERMOST
    while inner is not None and inner is not outer:
        inner = inner.parent
    return inner is outer


cdef int close_range(Range opened) except -1:
    global INNERMOST
    if opened is None or opened.end_ns or opened.ranges is not RANGES:
        return 0                       # the range, or its profile, has ended before
    opened.end_ns = clock()
    if is_innermost_in(opened):
        INNERMOST = opened.parent
    if ALLOCATED_BYTES is not None:
        opened.memory_delta += <int64_t>ALLOCATED_BYTES()
    return 0


cdef list python_stack():
    found = []
    frame = sys._getframe()
    while frame is not None:
        code = frame.f_code
        found.append(f"{code.co_filename}({frame.f_lineno}): {code.co_name}")
        frame = frame.f_back
    return found


def begin_user_range(str name):
    """Open a range of record_function in the calling thread; None where no profile records the thread."""
    return open_range(name, USER_SCOPE, "user_annotation")


def end_user_range(Range opened or None):
    """Close a range of begin_user_range, or None."""
    close_range(opened)


cdef int set_shapes(Range opened, list arguments) except -1:
    if RECORD_SHAPES and opened is not None:
        opened.shapes = [shape_of(argument) for argument in arguments]
    return 0


cdef int set_flops(Range opened, object result) except -1:
    """The result may also be NotImplemented, or what a mode returned: those have no flops."""
    if COUNT_FLOPS is not None and isinstance(result, TensorBase):
        opened.flops = COUNT_FLOPS(opened.name, opened.shapes, result)
    return 0


cdef list shape_of(object value):
    return list(value.shape) if isinstance(value, TensorBase) else []


# --- indexing, and functions of two operands -------------------------------------------------------------------------

cdef object profiled_binary(object (*function)(object, object), str name, object a, object b):
    cdef Range opened = open_range(name, FUNCTION, "cpu_op")
    if opened is None:
        return function(a, b)
    set_shapes(opened, [a, b])
    try:
        result = function(a, b)
    finally:
        close_range(opened)
    set_flops(opened, result)
    return result


cdef bint has_tensor(object index):
    return isinstance(index, (TensorBase, list)) or (
        isinstance(index, tuple) and any([isinstance(one, (TensorBase, list)) for one in index]))


cdef str index_name(object index):
    """The name of the last of the operators that torch calls for the index: it calls several for a tuple."""
    if has_tensor(index):
        return "aten::index"
    if isinstance(index, tuple):
        index = index[len(index) - 1] if index else Ellipsis
    if index is None:
        return "aten::unsqueeze"
    return "aten::slice" if isinstance(index, slice) else "aten::alias" if index is Ellipsis else "aten::select"


cdef str assignment_name(object index, object value):
    if has_tensor(index):
        return "aten::index_put_"
    return "aten::copy_" if isinstance(value, TensorBase) else "aten::fill_"


# --- start and stop --------------------------------------------------------------------------------------------------

def start(bint shapes, bint stacks, memory, flops):
    """Start a profile of the calling thread; returns its list of ranges. RuntimeError where a profile runs."""
    global RANGES, PROFILED_THREAD, INNERMOST, RECORD_SHAPES, WITH_STACK, ALLOCATED_BYTES, COUNT_FLOPS
    if RANGES is not None:
        raise RuntimeError("a profile is running already: there can be one at a time")
    RECORD_SHAPES, WITH_STACK, ALLOCATED_BYTES, COUNT_FLOPS = shapes or flops is not None, stacks, memory, flops
    PROFILED_THREAD = PyThread_get_thread_ident()
    INNERMOST = None
    RANGES = []
    return RANGES


def stop():
    """Stop the profile and close its open ranges."""
    global RANGES, INNERMOST, ALLOCATED_BYTES, COUNT_FLOPS
    cdef Range opened = INNERMOST
    try:
        while opened is not None:
            after = opened.parent
            close_range(opened)
            opened = after
    finally:
        RANGES = INNERMOST = ALLOCATED_BYTES = COUNT_FLOPS = None


def monotonic_ns():
    """The clock of the ranges, in nanoseconds."""
    return clock()
