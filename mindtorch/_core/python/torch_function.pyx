"""__torch_function__: classes of arguments, and modes, may replace a call of an operator by a handler.

Until a program uses such a class or mode, the functions of operators (operator_function.pyx), Python's operators and
indexing pay one test of the flag `active`. A call with an argument that is no tensor fails, and only then are the
classes of its arguments looked up. `watch` gives other compiled functions an entry that does the same. The first class
or mode with a handler activates the protocol: from then on every call looks up the classes first, and functions
without an entry get one, those in Python and properties too (mindtorch/_tensor/function_overrides.py).
"""
import threading

from cpython.object cimport PyObject, PyTypeObject

from mindtorch._core.python.operator_function cimport OperatorFunction
cimport mindtorch._core.tensor.tensor as tensor_module
from mindtorch._core.tensor.tensor cimport TensorBase


cdef extern from *:
    """
    static _Thread_local unsigned int mindtorch_unasked;
    static _Thread_local unsigned int mindtorch_function_modes;
    """
    unsigned int mindtorch_unasked              # a State
    unsigned int mindtorch_function_modes       # the number of modes on the stack

ctypedef PyObject *(*Vectorcall)(PyObject *, PyObject *const *, size_t, PyObject *) noexcept
ctypedef PyObject *(*WithArray)(PyObject *, PyObject *const *, Py_ssize_t, PyObject *) noexcept
ctypedef object (*WithTuple)(PyObject *, PyObject *, PyObject *)

cdef extern from "Python.h":
    ctypedef struct Definition "PyMethodDef":
        void *ml_meth
        int ml_flags
    ctypedef struct Compiled "PyCFunctionObject":
        Definition *m_ml
        PyObject *m_self
        Vectorcall vectorcall
    ctypedef struct TypeLayout "PyTypeObject":
        Py_ssize_t tp_vectorcall_offset
    int METH_FASTCALL, METH_VARARGS, METH_KEYWORDS
    Py_ssize_t PyVectorcall_NARGS(size_t nargsf) noexcept
    PyObject *_PyType_Lookup(PyTypeObject *kind, object name) noexcept
    PyTypeObject *Py_TYPE(PyObject *value) noexcept
    PyTypeObject PyLong_Type, PyFloat_Type, PyBool_Type, PyUnicode_Type
    PyObject *Py_None
    bint PyList_Check(PyObject *value) noexcept
    bint PyTuple_Check(PyObject *value) noexcept
    Py_ssize_t PySequence_Fast_GET_SIZE(PyObject *value) noexcept
    PyObject **PySequence_Fast_ITEMS(PyObject *value) noexcept
    Py_ssize_t PyTuple_GET_SIZE(PyObject *value) noexcept
    PyObject *PyErr_Occurred() noexcept
    void PyErr_Clear() noexcept
    void PyErr_Fetch(PyObject **kind, PyObject **value, PyObject **trace) noexcept
    void PyErr_Restore(PyObject *kind, PyObject *value, PyObject *trace) noexcept

cdef extern from "stddef.h":
    Py_ssize_t offset_of_vectorcall "offsetof(PyCFunctionObject, vectorcall)"

cdef enum:
    LEVELS = 4                      # how deep nested lists of arguments are searched

cdef enum State:
    ALL_ASKED = 0
    SUBCLASSES_UNASKED = 1          # DisableTorchFunctionSubclass: handlers of modes alone
    NOBODY_ASKED = 2                # DisableTorchFunction

active = False
installing = False
# The lock for changes of function objects, here and in autograd/_profiled_functions.py.
CHANGING = threading.RLock()
cdef object NAME = "__torch_function__"
cdef object THREAD = threading.local()          # .modes: the stack of modes
cdef dict PUBLIC = {}               # function -> the function that handlers get, where that is another
cdef dict UNPACKING = {}            # function -> what makes the arguments that handlers of classes get
cdef dict OPERATORS_ASKED = {}      # slot of OPERATORS -> (function, function for swapped operands) that handlers get


def _disabled_torch_function_impl(function, types, args=(), kwargs=None):
    """The __torch_function__ of classes without a handler: calls the function, with handlers of classes disabled."""
    cdef unsigned int before = mindtorch_unasked
    set_state(max(before, SUBCLASSES_UNASKED))
    try:
        return function(*args, **(kwargs or {}))
    finally:
        set_state(before)


cdef object DISABLED = _disabled_torch_function_impl


# --- tests for handlers ----------------------------------------------------------------------------------------------

cdef inline bint kind_asks(PyTypeObject *kind) noexcept:
    cdef PyObject *found
    if (kind == <PyTypeObject *>tensor_module.TENSOR_CLASS or kind == &PyLong_Type or kind == &PyFloat_Type or
            kind == Py_TYPE(Py_None) or kind == &PyBool_Type or kind == &PyUnicode_Type):
        return False
    found = _PyType_Lookup(kind, NAME)
    return found != NULL and found != <PyObject *>DISABLED and found != Py_None


def class_asks(kind):
    """Whether the class has a handler."""
    return bool(kind_asks(<PyTypeObject *>kind))


cdef bint value_asks(PyObject *value, int levels) noexcept:
    """Whether the class of the value, or of an element of nested lists, has a handler. A list may contain itself:
    `levels` bounds the depth.
    """
    if kind_asks(Py_TYPE(value)):
        return True
    if levels and (PyList_Check(value) or PyTuple_Check(value)):
        return some_ask(PySequence_Fast_ITEMS(value), PySequence_Fast_GET_SIZE(value), levels - 1)
    return False


cdef bint some_ask(PyObject *const *values, Py_ssize_t count, int levels) noexcept:
    cdef Py_ssize_t i
    for i in range(count):
        if value_asks(values[i], levels):
            return True
    return False


cdef inline bint modes_ask() noexcept:
    return mindtorch_function_modes != 0 and mindtorch_unasked != NOBODY_ASKED


cdef bint array_asks(PyObject *const *values, Py_ssize_t count) noexcept:
    if modes_ask():
        return True
    return not mindtorch_unasked and some_ask(values, count, LEVELS)


cdef bint operands_ask(object a, object b) except -1:
    cdef PyObject *values[2]
    values[0], values[1] = <PyObject *>a, <PyObject *>b
    return array_asks(values, 2)


def asks(tuple args, dict kwargs):
    """Whether the protocol is active, and a mode or the class of an argument has a handler."""
    cdef tuple values
    if not active:
        return False
    if array_asks(PySequence_Fast_ITEMS(<PyObject *>args), len(args)):
        return True
    values = tuple(kwargs.values())
    return bool(values) and array_asks(PySequence_Fast_ITEMS(<PyObject *>values), len(values))


# --- calls of handlers -----------------------------------------------------------------------------------------------

cdef int gather(list found, object values, bint tensors, int levels) except -1:
    """Append to `found` an argument of each class with a handler, subclasses before their bases. With `tensors`,
    torch.Tensor counts as such a class.
    """
    cdef Py_ssize_t place
    for value in values:
        kind = type(value)
        if kind_asks(Py_TYPE(<PyObject *>value)) or (tensors and kind is tensor_module.TENSOR_CLASS):
            if any([type(known) is kind for known in found]):
                continue
            place = 0
            while place < len(found) and not issubclass(kind, type(found[place])):
                place += 1
            found.insert(place, value)
        elif levels and isinstance(value, (list, tuple)):
            gather(found, value, tensors, levels - 1)
    return 0


cdef object call_handler(object handler, object function, tuple types, tuple args, dict kwargs):
    if kwargs is None:
        return handler(function, types, args)
    return handler(function, types, args, kwargs)


cdef tuple asked(object function, tuple relevant, tuple args, dict kwargs, bint tensors):
    """Call the handler of the mode, then those of the relevant arguments, until one returns a result.

    Returns (the result or NotImplemented, the arguments with handlers, the mode).
    """
    cdef list found = []
    cdef object mode = None, answer
    if not mindtorch_unasked:
        gather(found, relevant, tensors, LEVELS)
    types = tuple([type(value) for value in found])
    if modes_ask():
        mode = pop_mode()
        try:
            answer = call_handler(mode.__torch_function__, function, types, args, kwargs)
        finally:
            push_mode(mode)
        if answer is not NotImplemented:
            return answer, found, mode
    for value in found:
        answer = call_handler(value.__torch_function__, function, types, args, kwargs)
        if answer is not NotImplemented:
            return answer, found, mode
    return NotImplemented, found, mode


def ask_among(function, tuple relevant, tuple args, dict kwargs):
    """Call the handlers for a function that is written in Python. TypeError where all return NotImplemented."""
    function = PUBLIC.get(function, function)
    answer, found, mode = asked(function, relevant, args, kwargs, True)
    if answer is not NotImplemented:
        return answer
    raise TypeError(f"no implementation found for '{name_of(function)}' on types that implement __torch_function__: "
                    f"{[type(value) for value in found]}" + ("" if mode is None else f" nor in mode {mode}"))


cdef object name_of(object function):
    from mindtorch._core import hooks
    return hooks.resolve_name(function) or f"{function.__module__}.{function.__name__}"


cdef object ask_for_compiled(object function, tuple args, dict kwargs):
    public = PUBLIC.get(function, function)
    unpacked = UNPACKING.get(function)
    # In torch, this function calls itself with other arguments before the handlers of classes see the call.
    if unpacked is not None and not modes_ask():
        args = unpacked(args)
    relevant = (*args, *kwargs.values())
    answer, found, mode = asked(public, relevant, args, kwargs or None, False)
    if answer is not NotImplemented:
        return answer
    who = [] if mode is None else [f"  - mode object {mode}"]
    who += [f"  - tensor subclass {type(value)}" for value in found]
    raise TypeError(f"Multiple dispatch failed for '{name_of(public)}'; all __torch_function__ handlers returned "
                    "NotImplemented:\n\n" + "\n".join(who) +
                    "\n\nFor more information, try re-running with TORCH_LOGS=not_implemented")


cdef object ask_for_index(str name, tuple operands):
    return ask_for_compiled(OPERATORS_ASKED[name][0], operands, {})


cdef object ask_for_operator(str name, tuple operands):
    function, swapped = OPERATORS_ASKED[name]
    if not isinstance(operands[0], TensorBase):
        function, operands = swapped, operands[::-1]
    return asked(function, operands, operands, None, False)[0]


# --- entries of compiled functions -----------------------------------------------------------------------------------

cdef tuple positional(PyObject *const *values, Py_ssize_t count):
    return tuple([<object>values[i] for i in range(count)])


cdef dict named(PyObject *const *values, PyObject *names):
    cdef dict kwargs = {}
    cdef Py_ssize_t i
    if names != NULL:
        for i in range(PyTuple_GET_SIZE(names)):
            kwargs[(<tuple>names)[i]] = <object>values[i]
    return kwargs


cdef object ask_entry(PyObject *function, PyObject *const *values, Py_ssize_t count, PyObject *names):
    return ask_for_compiled(<object>function, positional(values, count), named(values + count, names))


cdef object ask_late(PyObject *function, PyObject *const *values, Py_ssize_t count, PyObject *names):
    PyErr_Clear()
    activate()
    return ask_entry(function, values, count, names)


cdef inline Py_ssize_t count_of(Py_ssize_t count, PyObject *names) noexcept:
    return count if names == NULL else count + PyTuple_GET_SIZE(names)


cdef bint array_asked(PyObject *const *values, Py_ssize_t count) noexcept:
    """array_asks after an error, which stays set: the lookup in a class would clear it."""
    cdef PyObject *kind
    cdef PyObject *value
    cdef PyObject *trace
    PyErr_Fetch(&kind, &value, &trace)
    cdef bint asks = array_asks(values, count)
    PyErr_Restore(kind, value, trace)
    return asks


cdef PyObject *enter_with_array(PyObject *function, PyObject *const *values, size_t nargsf, PyObject *names) noexcept:
    cdef Py_ssize_t count = PyVectorcall_NARGS(nargsf)
    cdef PyObject *result
    if active and array_asks(values, count_of(count, names)):
        return (<WithArray>ask_entry)(function, values, count, names)
    result = (<WithArray>(<Compiled *>function).m_ml.ml_meth)((<Compiled *>function).m_self, values, count, names)
    if result == NULL and not active and array_asked(values, count_of(count, names)):
        return (<WithArray>ask_late)(function, values, count, names)
    return result


cdef object call_with_tuple(PyObject *function, PyObject *const *values, Py_ssize_t count, PyObject *names):
    cdef Compiled *compiled = <Compiled *>function
    cdef tuple args = positional(values, count)
    cdef dict kwargs = named(values + count, names)
    cdef PyObject *given = <PyObject *>kwargs if names != NULL else NULL
    return (<WithTuple>compiled.m_ml.ml_meth)(compiled.m_self, <PyObject *>args, given)


cdef PyObject *enter_with_tuple(PyObject *function, PyObject *const *values, size_t nargsf, PyObject *names) noexcept:
    cdef Py_ssize_t count = PyVectorcall_NARGS(nargsf)
    if array_asks(values, count_of(count, names)):
        return (<WithArray>ask_entry)(function, values, count, names)
    return (<WithArray>call_with_tuple)(function, values, count, names)


def watch(functions):
    """Give compiled functions the entry that tests for handlers: after an error, or first while it is active."""
    cdef Compiled *compiled
    for function in functions:
        if (<TypeLayout *>Py_TYPE(<PyObject *>function)).tp_vectorcall_offset == offset_of_vectorcall:
            compiled = <Compiled *><PyObject *>function
            if compiled.m_ml.ml_flags == METH_FASTCALL | METH_KEYWORDS:
                compiled.vectorcall = enter_with_array


def install(function):
    """Give a compiled function an entry that tests for handlers first. False for one that is not compiled."""
    cdef Compiled *compiled
    if isinstance(function, OperatorFunction):      # it tests by itself
        return True
    if (<TypeLayout *>Py_TYPE(<PyObject *>function)).tp_vectorcall_offset != offset_of_vectorcall:
        return False
    watch((function,))
    compiled = <Compiled *><PyObject *>function
    if compiled.m_ml.ml_flags == METH_VARARGS | METH_KEYWORDS:
        compiled.vectorcall = enter_with_tuple
    return True


# --- activation ------------------------------------------------------------------------------------------------------

def activate():
    """Have every call look up the classes of its arguments first, for the rest of the process.

    Other threads wait until all functions have their entries. After an error the next call tries again.
    """
    global active, installing
    if active:
        return
    with CHANGING:
        if active or installing:
            return
        installing = True
        try:
            from mindtorch._core import hooks
            hooks.install_function_overrides()
            active = True
        finally:
            installing = False


def is_active():
    """Whether the protocol is active in this process."""
    return bool(active)


def unpacks(function, unpacked):
    """Handlers of classes get the arguments unpacked(args) for a call of the compiled `function` with args."""
    UNPACKING[function] = unpacked


def known_as(function, public):
    """Handlers get `public` for a call of `function`."""
    PUBLIC[function] = public


def ask_through(str slot, function, swapped):
    """Handlers get `function` for the operator `slot`, or `swapped` where only the right operand is a tensor."""
    OPERATORS_ASKED[slot] = function, swapped


cdef bint discover(object a, object b) except -1:
    if active or not (kind_asks(Py_TYPE(<PyObject *>a)) or kind_asks(Py_TYPE(<PyObject *>b))):
        return False
    activate()
    return True


# --- the state of the thread, and modes ------------------------------------------------------------------------------

cdef int set_state(unsigned int state) except -1:
    global mindtorch_unasked
    mindtorch_unasked = state
    return 0


cdef unsigned int hush() noexcept:
    global mindtorch_unasked
    cdef unsigned int before = mindtorch_unasked
    mindtorch_unasked = NOBODY_ASKED
    return before


cdef unsigned int wake() noexcept:
    global mindtorch_unasked
    cdef unsigned int before = mindtorch_unasked
    mindtorch_unasked = ALL_ASKED
    return before


cdef void restore(unsigned int state) noexcept:
    global mindtorch_unasked
    mindtorch_unasked = state


class DisableTorchFunctionSubclass:
    """A context that disables the handlers of classes in this thread, not those of modes."""

    _state = SUBCLASSES_UNASKED

    def __enter__(self):
        self._before = mindtorch_unasked
        set_state(max(self._before, self._state))

    def __exit__(self, *exception):
        set_state(self._before)


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """A context that disables all handlers in this thread."""

    _state = NOBODY_ASKED


def is_enabled():
    """Whether handlers of classes are enabled in this thread."""
    return mindtorch_unasked == ALL_ASKED


def is_all_disabled():
    """Whether all handlers are disabled in this thread, those of modes too."""
    return mindtorch_unasked == NOBODY_ASKED


cdef list modes():
    if not hasattr(THREAD, "modes"):
        THREAD.modes = []
    return THREAD.modes


def push_mode(mode):
    """Push a mode on the stack of this thread."""
    global mindtorch_function_modes
    activate()
    modes().append(mode)
    mindtorch_function_modes = len(modes())


def pop_mode():
    """Pop the innermost mode off the stack of this thread."""
    global mindtorch_function_modes
    mode = modes().pop()
    mindtorch_function_modes = len(modes())
    return mode


def current_modes():
    """The modes on the stack of this thread, the innermost last."""
    return list(modes())
