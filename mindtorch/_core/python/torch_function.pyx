"""__torch_function__: classes of arguments, and modes, may replace a call of an operator by a handler.

Until a program uses such a class or mode, the functions of operators (operator_function.pyx), Python's operators and
indexing pay one test of the flag `active`. A call with an argument that is no tensor fails, and only then are the
classes of its arguments looked up. `install_fastcall_entry` gives other compiled functions an entry that does the same.
The first class or mode with a handler activates the protocol: from then on every call looks up the classes first, and
functions without an entry get one, those in Python and properties too (mindtorch/_tensor/function_overrides.py).
"""
import threading

from cpython.object cimport PyObject, PyTypeObject

from mindtorch._core.python.operator_function cimport OperatorFunction
cimport mindtorch._core.tensor.tensor as tensor_module
from mindtorch._core.tensor.tensor cimport TensorBase


cdef extern from *:
    """
    static _Thread_local unsigned int mindtorch_torch_function_state;
    static _Thread_local unsigned int mindtorch_torch_function_modes;
    """
    unsigned int mindtorch_torch_function_state              # a TorchFunctionState
    unsigned int mindtorch_torch_function_modes       # the number of modes on the stack

ctypedef PyObject *(*Vectorcall)(PyObject *, PyObject *const *, size_t, PyObject *) noexcept
ctypedef PyObject *(*FastCall)(PyObject *, PyObject *const *, Py_ssize_t, PyObject *) noexcept
ctypedef object (*VarargsCall)(PyObject *, PyObject *, PyObject *)

cdef extern from "Python.h":
    ctypedef struct MethodDef "PyMethodDef":
        void *ml_meth
        int ml_flags
    ctypedef struct CFunctionObject "PyCFunctionObject":
        MethodDef *m_ml
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
    MAX_NESTING = 4                      # how deep nested lists of arguments are searched

cdef enum TorchFunctionState:
    ENABLED = 0
    SUBCLASSES_DISABLED = 1          # DisableTorchFunctionSubclass: handlers of modes alone
    ALL_DISABLED = 2                # DisableTorchFunction

active = False
installing = False
# The lock for changes of function objects, here and in autograd/_profiled_functions.py.
PATCH_LOCK = threading.RLock()
cdef object TORCH_FUNCTION = "__torch_function__"
cdef object THREAD = threading.local()          # .modes: the stack of modes
cdef dict PUBLIC_FUNCTIONS = {}               # function -> the function that handlers get, where that is another
cdef dict UNPACKERS = {}            # function -> what makes the arguments that handlers of classes get
cdef dict OPERATOR_FUNCTIONS = {}  # slot of OPERATORS -> (function, function for swapped operands) that handlers get


def _disabled_torch_function_impl(function, types, args=(), kwargs=None):
    """The __torch_function__ of classes without a handler: calls the function, with handlers of classes disabled."""
    cdef unsigned int before = mindtorch_torch_function_state
    set_state(max(before, SUBCLASSES_DISABLED))
    try:
        return function(*args, **(kwargs or {}))
    finally:
        set_state(before)


cdef object DISABLED = _disabled_torch_function_impl


# --- tests for handlers ----------------------------------------------------------------------------------------------

cdef inline bint type_has_handler(PyTypeObject *kind) noexcept:
    cdef PyObject *found
    if (kind == <PyTypeObject *>tensor_module.TENSOR_CLASS or kind == &PyLong_Type or kind == &PyFloat_Type or
            kind == Py_TYPE(Py_None) or kind == &PyBool_Type or kind == &PyUnicode_Type):
        return False
    found = _PyType_Lookup(kind, TORCH_FUNCTION)
    return found != NULL and found != <PyObject *>DISABLED and found != Py_None


def class_has_handler(kind):
    """Whether the class has a handler."""
    return bool(type_has_handler(<PyTypeObject *>kind))


cdef bint value_has_handler(PyObject *value, int levels) noexcept:
    """Whether the class of the value, or of an element of nested lists, has a handler. A list may contain itself:
    `levels` bounds the depth.
    """
    if type_has_handler(Py_TYPE(value)):
        return True
    if levels and (PyList_Check(value) or PyTuple_Check(value)):
        return any_has_handler(PySequence_Fast_ITEMS(value), PySequence_Fast_GET_SIZE(value), levels - 1)
    return False


cdef bint any_has_handler(PyObject *const *values, Py_ssize_t count, int levels) noexcept:
    cdef Py_ssize_t i
    for i in range(count):
        if value_has_handler(values[i], levels):
            return True
    return False


cdef inline bint has_enabled_mode() noexcept:
    return mindtorch_torch_function_modes != 0 and mindtorch_torch_function_state != ALL_DISABLED


cdef bint array_has_torch_function(PyObject *const *values, Py_ssize_t count) noexcept:
    if has_enabled_mode():
        return True
    return not mindtorch_torch_function_state and any_has_handler(values, count, MAX_NESTING)


cdef bint operands_have_torch_function(object a, object b) except -1:
    cdef PyObject *values[2]
    values[0], values[1] = <PyObject *>a, <PyObject *>b
    return array_has_torch_function(values, 2)


def has_torch_function(tuple args, dict kwargs):
    """Whether the protocol is active, and a mode or the class of an argument has a handler."""
    cdef tuple values
    if not active:
        return False
    if array_has_torch_function(PySequence_Fast_ITEMS(<PyObject *>args), len(args)):
        return True
    values = tuple(kwargs.values())
    return bool(values) and array_has_torch_function(PySequence_Fast_ITEMS(<PyObject *>values), len(values))


# --- calls of handlers -----------------------------------------------------------------------------------------------

cdef int collect_overloaded_args(list found, object values, bint tensors, int levels) except -1:
    """Append to `found` an argument of each class with a handler, subclasses before their bases. With `tensors`,
    torch.Tensor counts as such a class.
    """
    cdef Py_ssize_t place
    for value in values:
        kind = type(value)
        if type_has_handler(Py_TYPE(<PyObject *>value)) or (tensors and kind is tensor_module.TENSOR_CLASS):
            if any([type(known) is kind for known in found]):
                continue
            place = 0
            while place < len(found) and not issubclass(kind, type(found[place])):
                place += 1
            found.insert(place, value)
        elif levels and isinstance(value, (list, tuple)):
            collect_overloaded_args(found, value, tensors, levels - 1)
    return 0


cdef object call_handler(object handler, object function, tuple types, tuple args, dict kwargs):
    if kwargs is None:
        return handler(function, types, args)
    return handler(function, types, args, kwargs)


cdef tuple call_handlers(object function, tuple relevant, tuple args, dict kwargs, bint tensors):
    """Call the handler of the mode, then those of the relevant arguments, until one returns a result.

    Returns (the result or NotImplemented, the arguments with handlers, the mode).
    """
    cdef list found = []
    cdef object mode = None, answer
    if not mindtorch_torch_function_state:
        collect_overloaded_args(found, relevant, tensors, MAX_NESTING)
    types = tuple([type(value) for value in found])
    if has_enabled_mode():
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


def handle_python_function(function, tuple relevant, tuple args, dict kwargs):
    """Call the handlers for a function that is written in Python. TypeError where all return NotImplemented."""
    function = PUBLIC_FUNCTIONS.get(function, function)
    answer, found, mode = call_handlers(function, relevant, args, kwargs, True)
    if answer is not NotImplemented:
        return answer
    raise TypeError(f"no implementation found for '{qualified_name(function)}' on types that implement "
                    "__torch_function__: "
                    f"{[type(value) for value in found]}" + ("" if mode is None else f" nor in mode {mode}"))


cdef object qualified_name(object function):
    from mindtorch._core import hooks
    return hooks.resolve_name(function) or f"{function.__module__}.{function.__name__}"


cdef object handle_compiled_function(object function, tuple args, dict kwargs):
    public = PUBLIC_FUNCTIONS.get(function, function)
    unpacked = UNPACKERS.get(function)
    # In torch, this function calls itself with other arguments before the handlers of classes see the call.
    if unpacked is not None and not has_enabled_mode():
        args = unpacked(args)
    relevant = (*args, *kwargs.values())
    answer, found, mode = call_handlers(public, relevant, args, kwargs or None, False)
    if answer is not NotImplemented:
        return answer
    who = [] if mode is None else [f"  - mode object {mode}"]
    who += [f"  - tensor subclass {type(value)}" for value in found]
    raise TypeError(f"Multiple dispatch failed for '{qualified_name(public)}'; all __torch_function__ handlers "
                    "returned "
                    "NotImplemented:\n\n" + "\n".join(who) +
                    "\n\nFor more information, try re-running with TORCH_LOGS=not_implemented")


cdef object handle_index(str name, tuple operands):
    return handle_compiled_function(OPERATOR_FUNCTIONS[name][0], operands, {})


cdef object handle_operator(str name, tuple operands):
    function, swapped = OPERATOR_FUNCTIONS[name]
    if not isinstance(operands[0], TensorBase):
        function, operands = swapped, operands[::-1]
    return call_handlers(function, operands, operands, None, False)[0]


# --- entries of compiled functions -----------------------------------------------------------------------------------

cdef tuple positional_tuple(PyObject *const *values, Py_ssize_t count):
    return tuple([<object>values[i] for i in range(count)])


cdef dict keyword_dict(PyObject *const *values, PyObject *names):
    cdef dict kwargs = {}
    cdef Py_ssize_t i
    if names != NULL:
        for i in range(PyTuple_GET_SIZE(names)):
            kwargs[(<tuple>names)[i]] = <object>values[i]
    return kwargs


cdef object handle_torch_function(PyObject *function, PyObject *const *values, Py_ssize_t count, PyObject *names):
    return handle_compiled_function(<object>function, positional_tuple(values, count), keyword_dict(values + count,
                                                                                                    names))


cdef object handle_torch_function_after_error(PyObject *function, PyObject *const *values, Py_ssize_t count,
                                              PyObject *names):
    PyErr_Clear()
    activate()
    return handle_torch_function(function, values, count, names)


cdef inline Py_ssize_t total_count(Py_ssize_t count, PyObject *names) noexcept:
    return count if names == NULL else count + PyTuple_GET_SIZE(names)


cdef bint array_has_torch_function_after_error(PyObject *const *values, Py_ssize_t count) noexcept:
    """array_asks after an error, which stays set: the lookup in a class would clear it."""
    cdef PyObject *kind
    cdef PyObject *value
    cdef PyObject *trace
    PyErr_Fetch(&kind, &value, &trace)
    cdef bint has_torch_function = array_has_torch_function(values, count)
    PyErr_Restore(kind, value, trace)
    return has_torch_function


cdef PyObject *fastcall_entry(PyObject *function, PyObject *const *values, size_t nargsf, PyObject *names) noexcept:
    cdef Py_ssize_t count = PyVectorcall_NARGS(nargsf)
    cdef PyObject *result
    if active and array_has_torch_function(values, total_count(count, names)):
        return (<FastCall>handle_torch_function)(function, values, count, names)
    result = (<FastCall>(<CFunctionObject *>function).m_ml.ml_meth)((<CFunctionObject *>function).m_self, values, count,
                                                                    names)
    if result == NULL and not active and array_has_torch_function_after_error(values, total_count(count, names)):
        return (<FastCall>handle_torch_function_after_error)(function, values, count, names)
    return result


cdef object call_varargs_function(PyObject *function, PyObject *const *values, Py_ssize_t count, PyObject *names):
    cdef CFunctionObject *compiled = <CFunctionObject *>function
    cdef tuple args = positional_tuple(values, count)
    cdef dict kwargs = keyword_dict(values + count, names)
    cdef PyObject *given = <PyObject *>kwargs if names != NULL else NULL
    return (<VarargsCall>compiled.m_ml.ml_meth)(compiled.m_self, <PyObject *>args, given)


cdef PyObject *varargs_entry(PyObject *function, PyObject *const *values, size_t nargsf, PyObject *names) noexcept:
    cdef Py_ssize_t count = PyVectorcall_NARGS(nargsf)
    if array_has_torch_function(values, total_count(count, names)):
        return (<FastCall>handle_torch_function)(function, values, count, names)
    return (<FastCall>call_varargs_function)(function, values, count, names)


def install_fastcall_entry(functions):
    """Give compiled functions the entry that tests for handlers: after an error, or first while it is active."""
    cdef CFunctionObject *compiled
    for function in functions:
        if (<TypeLayout *>Py_TYPE(<PyObject *>function)).tp_vectorcall_offset == offset_of_vectorcall:
            compiled = <CFunctionObject *><PyObject *>function
            if compiled.m_ml.ml_flags == METH_FASTCALL | METH_KEYWORDS:
                compiled.vectorcall = fastcall_entry


def install_entry(function):
    """Give a compiled function an entry that tests for handlers first. False for one that is not compiled."""
    cdef CFunctionObject *compiled
    if isinstance(function, OperatorFunction):      # it tests by itself
        return True
    if (<TypeLayout *>Py_TYPE(<PyObject *>function)).tp_vectorcall_offset != offset_of_vectorcall:
        return False
    install_fastcall_entry((function,))
    compiled = <CFunctionObject *><PyObject *>function
    if compiled.m_ml.ml_flags == METH_VARARGS | METH_KEYWORDS:
        compiled.vectorcall = varargs_entry
    return True


# --- activation ------------------------------------------------------------------------------------------------------

def activate():
    """Have every call look up the classes of its arguments first, for the rest of the process.

    Other threads wait until all functions have their entries. After an error the next call tries again.
    """
    global active, installing
    if active:
        return
    with PATCH_LOCK:
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


def register_unpacker(function, unpacked):
    """Handlers of classes get the arguments unpacked(args) for a call of the compiled `function` with args."""
    UNPACKERS[function] = unpacked


def register_public_function(function, public):
    """Handlers get `public` for a call of `function`."""
    PUBLIC_FUNCTIONS[function] = public


def register_operator_functions(str slot, function, swapped):
    """Handlers get `function` for the operator `slot`, or `swapped` where only the right operand is a tensor."""
    OPERATOR_FUNCTIONS[slot] = function, swapped


cdef bint activate_for_operands(object a, object b) except -1:
    if active or not (type_has_handler(Py_TYPE(<PyObject *>a)) or type_has_handler(Py_TYPE(<PyObject *>b))):
        return False
    activate()
    return True


# --- the state of the thread, and modes ------------------------------------------------------------------------------

cdef int set_state(unsigned int state) except -1:
    global mindtorch_torch_function_state
    mindtorch_torch_function_state = state
    return 0


cdef unsigned int disable_all() noexcept:
    global mindtorch_torch_function_state
    cdef unsigned int before = mindtorch_torch_function_state
    mindtorch_torch_function_state = ALL_DISABLED
    return before


cdef unsigned int enable_all() noexcept:
    global mindtorch_torch_function_state
    cdef unsigned int before = mindtorch_torch_function_state
    mindtorch_torch_function_state = ENABLED
    return before


cdef void restore_state(unsigned int state) noexcept:
    global mindtorch_torch_function_state
    mindtorch_torch_function_state = state


class DisableTorchFunctionSubclass:
    """A context that disables the handlers of classes in this thread, not those of modes."""

    _state = SUBCLASSES_DISABLED

    def __enter__(self):
        self._before = mindtorch_torch_function_state
        set_state(max(self._before, self._state))

    def __exit__(self, *exception):
        set_state(self._before)


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """A context that disables all handlers in this thread."""

    _state = ALL_DISABLED


def is_enabled():
    """Whether handlers of classes are enabled in this thread."""
    return mindtorch_torch_function_state == ENABLED


def is_all_disabled():
    """Whether all handlers are disabled in this thread, those of modes too."""
    return mindtorch_torch_function_state == ALL_DISABLED


cdef list modes():
    if not hasattr(THREAD, "modes"):
        THREAD.modes = []
    return THREAD.modes


def push_mode(mode):
    """Push a mode on the stack of this thread."""
    global mindtorch_torch_function_modes
    activate()
    modes().append(mode)
    mindtorch_torch_function_modes = len(modes())


def pop_mode():
    """Pop the innermost mode off the stack of this thread."""
    global mindtorch_torch_function_modes
    mode = modes().pop()
    mindtorch_torch_function_modes = len(modes())
    return mode


def current_modes():
    """The modes on the stack of this thread, the innermost last."""
    return list(modes())
