"""What a profile records: nested ranges of host time, in the thread that started it.

Functions of operators, Python's operators and indexing test one flag, `records_operators`, where they are entered.
Other functions are entered in another way for the time of a recording, and nothing asks there. A Cython function has
the address of its C function in the object itself (vectorcall), so that every reference to it is meant. A function
written in Python gets other code, by autograd/_profiled_functions.py. Backward looks once, when it begins; a launch has
one flag for all that is unusual about it.
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

    /* Cython's functions begin as those of C do; that is where their type says vectorcall is. */
    static inline int mindtorch_begins_as_c_function(PyObject *function)
    {
        return PyType_HasFeature(Py_TYPE(function), Py_TPFLAGS_HAVE_VECTORCALL)
            && Py_TYPE(function)->tp_vectorcall_offset == offsetof(PyCFunctionObject, vectorcall);
    }

    /* For functions with * and **, which have no vectorcall of their own. */
    static inline PyObject *mindtorch_call(PyObject *function, PyObject *arguments, PyObject *keywords)
    {
        PyCFunctionObject *begin = (PyCFunctionObject *)function;
        PyCFunctionWithKeywords own = (PyCFunctionWithKeywords)(void (*)(void))begin->m_ml->ml_meth;
        return own(begin->m_self, arguments, keywords);
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


# --- entries of functions --------------------------------------------------------------------------------------------

cdef class Entry:
    """A function of an operator, and how it is called in a range of its own."""
    cdef readonly object function
    cdef readonly str name
    cdef vectorcallfunc own            # NULL for one with * and **

    def __init__(self, function, str name):
        self.function = function
        self.name = name
        self.own = PyVectorcall_Function(<PyObject *>function)

    def __call__(self, *args, **kwargs):
        """What Python code is redirected to."""
        cdef Range opened = begin(self.name, FUNCTION, "cpu_op")
        if opened is None:
            return self.function(*args, **kwargs)
        note_shapes(opened, [*args, *kwargs.values()])
        try:
            return self.function(*args, **kwargs)
        finally:
            end(opened)


cdef dict ENTRIES = {}                 # function -> Entry; kept, since a call may be under way when a recording ends


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
    """What a Cython function is entered by while a recording runs."""
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
    """Tell the functions that a recording enters by `profiled`: {function: name of the operator}."""
    for function, name in names.items():
        if isinstance(function, OperatorFunction):
            (<OperatorFunction>function).profiled_name = name
            continue
        if not mindtorch_begins_as_c_function(<PyObject *>function):
            raise TypeError(f"{function} is not a function of Cython's")
        ENTRIES[function] = Entry(function, name)


def enter_profiled(bint on):
    """Have all functions of add_entries entered by `profiled`, or by themselves again."""
    cdef vectorcallfunc now
    global records_operators
    records_operators = on
    for function, entry in ENTRIES.items():
        now = PyVectorcall_Function(<PyObject *>function)
        if on and now != <vectorcallfunc>profiled:
            (<Entry>entry).own = now            # not before: __torch_function__ may have given it another
        address_in(<PyObject *>function)[0] = <vectorcallfunc>profiled if on else (<Entry>entry).own


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
