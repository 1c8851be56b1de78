"""What a profile records: nested ranges of host time, in the thread that started it.

While a profile records operators, calls of public functions (torch_function.pyx), Python's operators and indexing make
ranges. Backward looks once, when it begins; a launch has one flag for all that is unusual about it.
"""
import sys
import threading

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


cdef list RECORDING = None             # ranges in the order of their beginnings; None while nothing is recorded
cdef unsigned long THREAD = 0          # the thread that is recorded
cdef Range CURRENT = None              # the innermost range that is open
cdef bint SHAPES = False
cdef bint STACKS = False
cdef object MEMORY = None              # () -> bytes that tensors occupy on the NPUs
cdef object FLOPS = None               # (name, shapes, result) -> floating point operations


# --- ranges ----------------------------------------------------------------------------------------------------------

cdef class Range:
    """One call; the times are those of `now`."""


cdef bint recording_thread() noexcept:
    return RECORDING is not None and PyThread_get_thread_ident() == THREAD


cdef int64_t clock() noexcept nogil:
    return mindtorch_nanoseconds()


cdef Range added(str name, Scope scope, str category):
    cdef Range made = Range.__new__(Range)
    made.name = name
    made.scope = scope
    made.category = category
    made.sequence_nr = -1
    made.recording = RECORDING
    made.parent = CURRENT
    RECORDING.append(made)
    return made


cdef int note_call(str name, str category, int64_t began) except -1:
    cdef Range made
    if recording_thread():
        made = added(name, FUNCTION, category)
        made.start, made.end = began, clock()
    return 0


cdef Range begin(str name, Scope scope, str category):
    global CURRENT
    cdef Range opened
    if not recording_thread():
        return None
    opened = added(name, scope, category)
    if STACKS:
        opened.stack = frames()
    if MEMORY is not None:
        opened.memory = -<int64_t>MEMORY()
    CURRENT = opened
    opened.start = clock()
    return opened


cdef bint within(Range outer):
    """Whether the innermost range lies in `outer`: not where one around that has ended before it, as generators may."""
    cdef Range inner = CURRENT
    while inner is not None and inner is not outer:
        inner = inner.parent
    return inner is outer


cdef int end(Range opened) except -1:
    global CURRENT
    if opened is None or opened.end or opened.recording is not RECORDING:
        return 0                       # of a recording that is over, or over already
    opened.end = clock()
    if within(opened):
        CURRENT = opened.parent
    if MEMORY is not None:
        opened.memory += <int64_t>MEMORY()
    return 0


cdef list frames():
    found = []
    frame = sys._getframe()
    while frame is not None:
        code = frame.f_code
        found.append(f"{code.co_filename}({frame.f_lineno}): {code.co_name}")
        frame = frame.f_back
    return found


def begin_user_range(str name):
    """Open a range of a program's own in the calling thread; None where that is not recorded."""
    return begin(name, USER_SCOPE, "user_annotation")


def end_range(Range opened):
    """Close what begin_user_range gave."""
    end(opened)


cdef int note_shapes(Range opened, list arguments) except -1:
    if SHAPES and opened is not None:
        opened.shapes = [shape_of(argument) for argument in arguments]
    return 0


cdef int note_flops(Range opened, object result) except -1:
    """Not of NotImplemented, which Python asks the other operand after, nor of what a mode has answered."""
    if FLOPS is not None and isinstance(result, TensorBase):
        opened.flops = FLOPS(opened.name, opened.shapes, result)
    return 0


cdef list shape_of(object value):
    return list(value.shape) if isinstance(value, TensorBase) else []


# --- number operators ------------------------------------------------------------------------------------------------

cdef object profiled_binary(object (*own)(object, object), str name, object a, object b):
    cdef Range opened = begin(name, FUNCTION, "cpu_op")
    if opened is None:
        return own(a, b)
    note_shapes(opened, [a, b])
    try:
        result = own(a, b)
    finally:
        end(opened)
    note_flops(opened, result)
    return result


cdef bint has_tensor(object index):
    return isinstance(index, (TensorBase, list)) or (
        isinstance(index, tuple) and any([isinstance(one, (TensorBase, list)) for one in index]))


cdef str index_name(object index):
    """The operator of an index: one for the whole of it, the last where torch calls several."""
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


# --- recordings ------------------------------------------------------------------------------------------------------

def start(bint shapes, bint stacks, memory, flops):
    """Record the calling thread, into a list of ranges that is returned. RuntimeError where a recording runs."""
    global RECORDING, THREAD, CURRENT, SHAPES, STACKS, MEMORY, FLOPS
    if RECORDING is not None:
        raise RuntimeError("a profile is running already: there can be one at a time")
    SHAPES, STACKS, MEMORY, FLOPS = shapes or flops is not None, stacks, memory, flops
    THREAD = threading.get_ident()
    CURRENT = None
    RECORDING = []
    return RECORDING


def stop():
    """End the recording; ranges that are open end with it."""
    global RECORDING, CURRENT, MEMORY, FLOPS
    cdef Range opened = CURRENT
    try:
        while opened is not None:
            after = opened.parent
            end(opened)
            opened = after
    finally:
        RECORDING = CURRENT = MEMORY = FLOPS = None


def now():
    """The clock of the ranges, in nanoseconds."""
    return clock()
