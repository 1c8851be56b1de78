"""Profiles: nested ranges of host time, in the thread that started the profile.

Functions of operators, Python's operators and indexing test one flag, `records_operators`, in each call. Other
functions test nothing: for the time of a profile, a Cython function gets another vectorcall pointer, and a function
written in Python other code (autograd/_profiled_functions.py). Both change the function object, so they affect every
reference to it. Backward tests once for each graph. A launch has one flag for profiles and for everything else that
may follow a launch.
"""
import sys
import threading

from cpython.ref cimport PyObject
from libc.stdint cimport int64_t

from mindtorch._core.python.operator_function cimport OperatorFunction
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
    typedef PyObject *const *mindtorch_arguments;

    /* Whether the object has the layout of PyCFunctionObject, as Cython's functions have. */
    static inline int mindtorch_begins_as_c_function(PyObject *function)
    {
        return PyType_HasFeature(Py_TYPE(function), Py_TPFLAGS_HAVE_VECTORCALL)
            && Py_TYPE(function)->tp_vectorcall_offset == offsetof(PyCFunctionObject, vectorcall);
    }

    /* Calls a function with * and **, which has no vectorcall pointer of its own. */
    static inline PyObject *mindtorch_call(PyObject *function, PyObject *arguments, PyObject *keywords)
    {
        PyCFunctionObject *compiled = (PyCFunctionObject *)function;
        PyCFunctionWithKeywords method = (PyCFunctionWithKeywords)(void (*)(void))compiled->m_ml->ml_meth;
        return method(compiled->m_self, arguments, keywords);
    }
    """
    bint mindtorch_begins_as_c_function(PyObject *function) noexcept
    object mindtorch_call(PyObject *function, PyObject *arguments, PyObject *keywords)
    int64_t mindtorch_nanoseconds() noexcept nogil
    ctypedef PyObject **mindtorch_arguments

cdef extern from "Python.h":
    ctypedef object (*vectorcallfunc)(
        PyObject *function, mindtorch_arguments arguments, size_t count, PyObject *names)
    ctypedef struct PyTypeObject:
        Py_ssize_t tp_vectorcall_offset
    PyTypeObject *Py_TYPE(PyObject *object)
    vectorcallfunc PyVectorcall_Function(PyObject *function)
    Py_ssize_t PyVectorcall_NARGS(size_t count)
    unsigned long PyThread_get_thread_ident()


cdef list RECORDING = None             # the ranges of the running profile, in order of their start; None without one
cdef unsigned long THREAD = 0          # the thread of the profile
cdef Range CURRENT = None              # the innermost open range
cdef bint SHAPES = False
cdef bint STACKS = False
cdef object MEMORY = None              # () -> bytes allocated for tensors on the NPUs
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
    """Whether the innermost range lies in `outer`. A generator may close a range before those inside it."""
    cdef Range inner = CURRENT
    while inner is not None and inner is not outer:
        inner = inner.parent
    return inner is outer


cdef int end(Range opened) except -1:
    global CURRENT
    if opened is None or opened.end or opened.recording is not RECORDING:
        return 0                       # the range, or its profile, has ended before
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
    """Open a range of record_function in the calling thread; None where no profile records the thread."""
    return begin(name, USER_SCOPE, "user_annotation")


def end_range(Range opened):
    """Close a range of begin_user_range, or None."""
    end(opened)


cdef int note_shapes(Range opened, list arguments) except -1:
    if SHAPES and opened is not None:
        opened.shapes = [shape_of(argument) for argument in arguments]
    return 0


cdef int note_flops(Range opened, object result) except -1:
    """The result may also be NotImplemented, or what a mode returned: those have no flops."""
    if FLOPS is not None and isinstance(result, TensorBase):
        opened.flops = FLOPS(opened.name, opened.shapes, result)
    return 0


cdef list shape_of(object value):
    return list(value.shape) if isinstance(value, TensorBase) else []


# --- functions of operators that are written by hand -----------------------------------------------------------------

cdef class Entry:
    """A function of an operator, which profiles call in a range."""
    cdef readonly object function
    cdef readonly str name
    cdef vectorcallfunc own            # the function's own entry; NULL where it has * and **

    def __init__(self, function, str name):
        self.function = function
        self.name = name
        self.own = PyVectorcall_Function(<PyObject *>function)

    def __call__(self, *args, **kwargs):
        """What the code of a function in Python calls while a profile runs."""
        cdef Range opened = begin(self.name, FUNCTION, "cpu_op")
        if opened is None:
            return self.function(*args, **kwargs)
        note_shapes(opened, [*args, *kwargs.values()])
        try:
            return self.function(*args, **kwargs)
        finally:
            end(opened)


cdef dict ENTRIES = {}                 # function -> Entry; never emptied: a call may outlast the profile


cdef vectorcallfunc *address_in(PyObject *function):
    return <vectorcallfunc *>(<char *>function + Py_TYPE(function).tp_vectorcall_offset)


cdef object call_own(Entry entry, PyObject *function, mindtorch_arguments arguments, size_t count, PyObject *names):
    cdef Py_ssize_t i, given = PyVectorcall_NARGS(count)
    cdef tuple positional
    cdef dict keywords = {}
    if entry.own != NULL:
        return entry.own(function, arguments, count, names)
    positional = tuple([<object>arguments[i] for i in range(given)])
    if names != NULL:
        for i, name in enumerate(<tuple>names):
            keywords[name] = <object>arguments[given + i]
    return mindtorch_call(function, <PyObject *>positional, <PyObject *>keywords)


cdef object profiled(PyObject *function, mindtorch_arguments arguments, size_t count, PyObject *names):
    """The vectorcall entry of a Cython function while a profile runs."""
    cdef Entry entry = <Entry>ENTRIES[<object>function]
    cdef Range opened = begin(entry.name, FUNCTION, "cpu_op")
    cdef Py_ssize_t i, given
    if opened is None:
        return call_own(entry, function, arguments, count, names)
    if SHAPES:
        given = PyVectorcall_NARGS(count) + (len(<tuple>names) if names != NULL else 0)
        note_shapes(opened, [<object>arguments[i] for i in range(given)])
    try:
        result = call_own(entry, function, arguments, count, names)
    finally:
        end(opened)
    note_flops(opened, result)
    return result


def add_entries(dict names):
    """Register functions that profiles record: {function: name of the operator}."""
    for function, name in names.items():
        if isinstance(function, OperatorFunction):
            (<OperatorFunction>function).profiled_name = name
            continue
        if not mindtorch_begins_as_c_function(<PyObject *>function):
            raise TypeError(f"{function} is not a function of Cython's")
        ENTRIES[function] = Entry(function, name)


def enter_profiled(bint on):
    """Give all functions of add_entries the entry `profiled`, or their own one again."""
    cdef vectorcallfunc now
    global records_operators
    records_operators = on
    for function, entry in ENTRIES.items():
        now = PyVectorcall_Function(<PyObject *>function)
        if on and now != <vectorcallfunc>profiled:
            (<Entry>entry).own = now            # read now: __torch_function__ may have changed it since add_entries
        address_in(<PyObject *>function)[0] = <vectorcallfunc>profiled if on else (<Entry>entry).own


# --- indexing, and functions of two operands -------------------------------------------------------------------------

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
    """One name for the whole index. torch calls several operators for a tuple: this is the last one."""
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
    global RECORDING, THREAD, CURRENT, SHAPES, STACKS, MEMORY, FLOPS
    if RECORDING is not None:
        raise RuntimeError("a profile is running already: there can be one at a time")
    SHAPES, STACKS, MEMORY, FLOPS = shapes or flops is not None, stacks, memory, flops
    THREAD = threading.get_ident()
    CURRENT = None
    RECORDING = []
    return RECORDING


def stop():
    """Stop the profile and close its open ranges."""
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
