"""__torch_function__ and profiles: what may happen before the function that a program calls runs.

Every public function that takes tensors is an OverridableFunction: those of operators (operator_function.pyx) derive
from it, and `overridable` wraps all others once, when they are published. A call tests one flag, `watching`, and goes
on to the function's own code. The flag is set while a profile records operators, and for good when the protocol of
__torch_function__ becomes active: the first time that the program uses a class or mode with a handler. Then the call
makes a range in the profile, and looks for handlers among its arguments. A class that is no tensor is found after an
error: only then are the arguments of a call looked at while the protocol is not active.
"""
import inspect
import sys
import threading
from types import FunctionType

from cpython.object cimport PyObject, PyTypeObject

cimport mindtorch._core.python.profiling as profiling
cimport mindtorch._core.tensor.tensor as tensor_module
from mindtorch._core.tensor.tensor cimport TensorBase


cdef extern from *:
    """
    static _Thread_local unsigned int mindtorch_unasked;
    static _Thread_local unsigned int mindtorch_function_modes;

    /* Objects of the type are called by the function that they hold at `offset`. */
    static void mindtorch_call_by_vector(PyTypeObject *type, Py_ssize_t offset, int is_method)
    {
        type->tp_vectorcall_offset = offset;
        type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL | (is_method ? Py_TPFLAGS_METHOD_DESCRIPTOR : 0);
        PyType_Modified(type);
    }
    """
    void mindtorch_call_by_vector(PyTypeObject *type, Py_ssize_t offset, bint is_method)
    unsigned int mindtorch_unasked              # of State
    unsigned int mindtorch_function_modes       # how many modes are in force

# A function that returns an object, seen from C: NULL after an error; and the other way round.
ctypedef PyObject *(*Returning)(PyObject *, PyObject *const *, size_t, PyObject *) noexcept
ctypedef object (*Raising)(PyObject *, PyObject *const *, size_t, PyObject *)

cdef extern from "Python.h":
    Vectorcall PyVectorcall_Function(PyObject *function) noexcept
    PyObject *PyObject_Vectorcall(PyObject *, PyObject *const *, size_t, PyObject *) noexcept
    object PyVectorcall_Call(object function, object args, object kwargs)
    object PyMethod_New(object function, object self)
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

cdef enum:
    LEVELS = 4                      # of lists within lists that are looked into

cdef enum State:
    ALL_ASKED = 0
    SUBCLASSES_UNASKED = 1          # DisableTorchFunctionSubclass: modes alone
    NOBODY_ASKED = 2                # DisableTorchFunction

active = watching = False
cdef object NAME = "__torch_function__"
cdef object THREAD = threading.local()          # .modes: the stack
cdef dict WRAPPED = {}              # function -> the WrappedFunction that `overridable` has made of it

# Slots of OPERATORS -> the methods that handlers get: operands in order, and reflected.
OPERATOR_METHODS = {
    "add": ("add", "add"), "sub": ("sub", "__rsub__"), "mul": ("mul", "mul"), "truediv": ("div", "__rtruediv__"),
    "floordiv": ("__floordiv__", "__rfloordiv__"), "mod": ("remainder", "__rmod__"),
    "matmul": ("matmul", "__rmatmul__"), "pow": ("__pow__", "__rpow__"), "and_": ("__and__", "bitwise_and"),
    "or_": ("__or__", "bitwise_or"), "xor": ("__xor__", "bitwise_xor"), "lshift": ("__lshift__", "__rlshift__"),
    "rshift": ("__rshift__", "__rrshift__"), "lt": ("lt", "gt"), "le": ("le", "ge"), "gt": ("gt", "lt"),
    "ge": ("ge", "le"), "eq": ("__eq__", "__eq__"), "ne": ("ne", "ne"), "neg": ("neg",), "abs": ("abs",),
    "invert": ("__invert__",), "iadd": ("add_",), "isub": ("sub_",), "imul": ("mul_",), "itruediv": ("div_",),
    "ipow": ("__ipow__",), "ifloordiv": ("floor_divide_",), "imod": ("remainder_",), "iand": ("__iand__",),
    "ior": ("__ior__",), "ixor": ("__ixor__",), "ilshift": ("__ilshift__",), "irshift": ("__irshift__",),
    "getitem": ("__getitem__",), "setitem": ("__setitem__",)}


def _disabled_torch_function_impl(function, types, args=(), kwargs=None):
    """The __torch_function__ of classes that do not want to be asked: the function, and nobody is asked meanwhile."""
    cdef unsigned int before = mindtorch_unasked
    set_state(max(before, SUBCLASSES_UNASKED))
    try:
        return function(*args, **(kwargs or {}))
    finally:
        set_state(before)


cdef object DISABLED = _disabled_torch_function_impl


# --- whether somebody has to be asked --------------------------------------------------------------------------------

cdef inline bint kind_asks(PyTypeObject *kind) noexcept:
    cdef PyObject *found
    if (kind == <PyTypeObject *>tensor_module.TENSOR_CLASS or kind == &PyLong_Type or kind == &PyFloat_Type or
            kind == Py_TYPE(Py_None) or kind == &PyBool_Type or kind == &PyUnicode_Type):
        return False
    found = _PyType_Lookup(kind, NAME)
    return found != NULL and found != <PyObject *>DISABLED and found != Py_None


def class_asks(kind):
    """Whether the class has a __torch_function__ of its own that wants to be asked."""
    return bool(kind_asks(<PyTypeObject *>kind))


cdef bint value_asks(PyObject *value, int levels) noexcept:
    """Of a list or tuple: whether an element asks; `levels` deep at most, for a list may hold itself."""
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
    """Whether the protocol is active, and a mode or one of the arguments has to be asked."""
    cdef tuple named
    if not active:
        return False
    if array_asks(PySequence_Fast_ITEMS(<PyObject *>args), len(args)):
        return True
    named = tuple(kwargs.values())
    return bool(named) and array_asks(PySequence_Fast_ITEMS(<PyObject *>named), len(named))


# --- asking ----------------------------------------------------------------------------------------------------------

cdef int gather(list found, object values, bint tensors, int levels) except -1:
    """Arguments of distinct classes that ask, subclasses before their bases; with `tensors`, plain ones as well."""
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
    """(What was answered, who was asked among the relevant arguments, the mode that was asked)."""
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
    """What the first of the relevant arguments, or the mode, answers to a function that is written in Python.

    TypeError where all return NotImplemented.
    """
    answer, found, mode = asked(function, relevant, args, kwargs, True)
    if answer is not NotImplemented:
        return answer
    raise TypeError(f"no implementation found for '{name_of(function)}' on types that implement __torch_function__: "
                    f"{[type(value) for value in found]}" + ("" if mode is None else f" nor in mode {mode}"))


cdef object name_of(object function):
    from mindtorch._core import hooks
    return hooks.resolve_name(function) or f"{function.__module__}.{function.__name__}"


cdef object ask_for_compiled(object public, object unpack, tuple args, dict kwargs):
    # Where torch's function calls itself with other arguments, handlers of classes get those.
    if unpack is not None and not modes_ask():
        args = unpack(args)
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
    return ask_for_compiled(getattr(tensor_module.TENSOR_CLASS, OPERATOR_METHODS[name][0]), None, operands, {})


cdef object ask_for_operator(str name, tuple operands):
    method, *reflected = OPERATOR_METHODS[name]
    if not isinstance(operands[0], TensorBase):
        method, operands = reflected[0], operands[::-1]
    return asked(getattr(tensor_module.TENSOR_CLASS, method), operands, operands, None, False)[0]


# --- functions -------------------------------------------------------------------------------------------------------

cdef tuple positional(PyObject *const *values, Py_ssize_t count):
    return tuple([<object>values[i] for i in range(count)])


cdef dict named(PyObject *const *values, PyObject *names):
    cdef dict kwargs = {}
    cdef Py_ssize_t i
    if names != NULL:
        for i in range(PyTuple_GET_SIZE(names)):
            kwargs[(<tuple>names)[i]] = <object>values[i]
    return kwargs


cdef inline Py_ssize_t count_of(size_t nargsf, PyObject *names) noexcept:
    return PyVectorcall_NARGS(nargsf) + (0 if names == NULL else PyTuple_GET_SIZE(names))


cdef bint call_asks(PyObject *callable, PyObject *const *values, size_t nargsf, PyObject *names) noexcept:
    """Whether the call has to go to a handler."""
    if (<OverridableFunction>callable)._modes_only:
        return modes_ask()
    return array_asks(values, count_of(nargsf, names))


cdef object ask(PyObject *callable, PyObject *const *values, size_t nargsf, PyObject *names):
    """Call the handlers of a call."""
    cdef OverridableFunction function = <OverridableFunction>callable
    cdef Py_ssize_t count = PyVectorcall_NARGS(nargsf)
    cdef tuple args = positional(values, count)
    cdef dict kwargs = named(values + count, names)
    public = function if function._public is None else function._public
    if not isinstance(<object>function.target, FunctionType):
        return ask_for_compiled(public, function._unpack, args, kwargs)
    relevant = () if function._modes_only else (*args, *kwargs.values())
    return ask_among(public, relevant, *with_defaults(<object>function.target, args, kwargs))


cdef tuple with_defaults(object function, tuple args, dict kwargs):
    """(args, kwargs) as torch passes those of Python functions: parameters with a default by keyword, given or not."""
    bound = inspect.signature(function).bind(*args, **kwargs)
    parameters = bound.signature.parameters
    if any([parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters.values()]):
        return args, kwargs
    bound.apply_defaults()
    given, by_name = [], {}
    for name, value in bound.arguments.items():
        parameter = parameters[name]
        if parameter.kind is parameter.VAR_KEYWORD:
            by_name.update(value)
        elif parameter.default is parameter.empty and parameter.kind is not parameter.KEYWORD_ONLY:
            given.append(value)
        else:
            by_name[name] = value
    return tuple(given), by_name


cdef PyObject *ask_after_error(PyObject *callable, PyObject *const *values, size_t nargsf, PyObject *names) noexcept:
    """Call the handlers if the call has failed because of an argument with one. If not, the error stays set."""
    cdef PyObject *kind
    cdef PyObject *value
    cdef PyObject *trace
    PyErr_Fetch(&kind, &value, &trace)          # a lookup in a class would clear it
    cdef bint asks = call_asks(callable, values, nargsf, names)
    PyErr_Restore(kind, value, trace)
    if not asks:
        return NULL
    PyErr_Clear()
    activate()
    return (<Returning>ask)(callable, values, nargsf, names)


cdef PyObject *enter(PyObject *callable, PyObject *const *values, size_t nargsf, PyObject *names) noexcept:
    """What vectorcall calls for every OverridableFunction."""
    cdef bint known = active        # else a function that this one calls may find out, but this one is to be overridden
    cdef PyObject *result
    if watching:
        result = (<Returning>enter_watched)(callable, values, nargsf, names)
    else:
        result = (<OverridableFunction>callable).own((<OverridableFunction>callable).target, values, nargsf, names)
    if result == NULL and not known:
        return ask_after_error(callable, values, nargsf, names)
    return result


cdef object enter_watched(PyObject *callable, PyObject *const *values, size_t nargsf, PyObject *names):
    """The same while a profile records operators, or the protocol is active."""
    cdef OverridableFunction function = <OverridableFunction>callable
    cdef profiling.Range opened = None
    if profiling.records_operators and function._profiled_name is not None:
        opened = profiling.begin(function._profiled_name, profiling.FUNCTION, "cpu_op")
        if opened is not None:
            profiling.note_shapes(opened, list(positional(values, count_of(nargsf, names))))
    try:
        if active and call_asks(callable, values, nargsf, names):
            result = ask(callable, values, nargsf, names)
        else:
            result = (<Raising>function.own)(function.target, values, nargsf, names)
    finally:
        profiling.end(opened)
    if opened is not None:
        profiling.note_flops(opened, result)
    return result


cdef class OverridableFunction:
    """A function that handlers of __torch_function__ override and that profiles record."""

    def __cinit__(self):
        self.vectorcall = enter
        self.own, self.target = PyObject_Vectorcall, <PyObject *>None       # not callable until both are set

    def __call__(self, *args, **kwargs):
        return PyVectorcall_Call(self, args, kwargs)


cdef class WrappedFunction(OverridableFunction):
    """An OverridableFunction that calls another function; for the rest it is like that one, and binds as a method."""

    def __get__(self, instance, owner):
        return self if instance is None else PyMethod_New(self, instance)

    def __getattr__(self, name):
        return getattr(self.__wrapped__, name)

    def __repr__(self):
        return repr(self.__wrapped__)

    def __reduce__(self):
        return self.__qualname__            # pickles find it in the module by its name

    @property
    def __class__(self):
        return type(self.__wrapped__)       # for isinstance, as proxies do: inspect.isfunction tells functions in Python

    @property
    def __module__(self):
        return self.__wrapped__.__module__

    @property
    def __doc__(self):
        return self.__wrapped__.__doc__


cdef int call_by_vector(type kind, bint is_method) except -1:
    cdef OverridableFunction one = OverridableFunction.__new__(OverridableFunction)
    mindtorch_call_by_vector(<PyTypeObject *>kind, <char *>&one.vectorcall - <char *><PyObject *>one, is_method)
    return 0


call_by_vector(OverridableFunction, False)
call_by_vector(WrappedFunction, True)


def overridable(function, bint modes_only=False, unpack=None):
    """The OverridableFunction of a function: the same object for each call, which also replaces it in its module.

    modes_only: classes of arguments are not looked at. unpack: handlers of classes get the arguments unpack(args).
    """
    cdef WrappedFunction made
    if isinstance(function, OverridableFunction):
        return function
    if function in WRAPPED:
        return WRAPPED[function]
    made = WrappedFunction.__new__(WrappedFunction)
    made.__wrapped__, made.target = function, <PyObject *>function
    made.own = PyVectorcall_Function(made.target)
    if made.own == NULL:                    # a Cython function with * or **
        made.own = PyObject_Vectorcall
    made._modes_only, made._unpack = modes_only, unpack
    WRAPPED[function] = made
    module = sys.modules.get(function.__module__)
    if getattr(module, function.__qualname__, None) is function:
        setattr(module, function.__qualname__, made)
    return made


def overridable_property(value):
    """The same of a property: its getter and its setter."""
    made = property(overridable(value.fget), None if value.fset is None else overridable(value.fset), doc=value.__doc__)
    made.fget._public = made.__get__        # what handlers get
    if made.fset is not None:
        made.fset._public = made.__set__
    return made


def publish(dict namespace, but=()):
    """Make the functions of a module overridable: those of __all__, or those whose names begin without underscore."""
    for name in namespace.get("__all__") or [name for name in namespace if name[0] != "_"]:
        if name not in but and callable(namespace[name]) and not isinstance(namespace[name], type):
            namespace[name] = overridable(namespace[name])


def record_operators(bint on):
    """Have overridable functions make ranges in the profile that runs, or make no more."""
    global watching
    profiling.records_operators = on
    watching = on or active


# --- making the protocol active --------------------------------------------------------------------------------------

def activate():
    """From now on arguments are looked at first. A process that has come here stays so."""
    global active, watching
    active = watching = True


def is_active():
    """Whether somebody may want to be asked in this process."""
    return bool(active)


cdef bint discover(object a, object b) except -1:
    if active or not (kind_asks(Py_TYPE(<PyObject *>a)) or kind_asks(Py_TYPE(<PyObject *>b))):
        return False
    activate()
    return True


# --- who is not asked, and modes -------------------------------------------------------------------------------------

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
    """Within it classes of arguments are not asked in this thread; modes are."""

    _state = SUBCLASSES_UNASKED

    def __enter__(self):
        self._before = mindtorch_unasked
        set_state(max(self._before, self._state))

    def __exit__(self, *exception):
        set_state(self._before)


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """Within it nobody is asked in this thread."""

    _state = NOBODY_ASKED


def is_enabled():
    """Whether classes of arguments are asked in this thread."""
    return mindtorch_unasked == ALL_ASKED


def is_all_disabled():
    """Whether nobody is asked in this thread, modes included."""
    return mindtorch_unasked == NOBODY_ASKED


cdef list modes():
    if not hasattr(THREAD, "modes"):
        THREAD.modes = []
    return THREAD.modes


def push_mode(mode):
    """Put a mode on the stack of this thread: it is asked from now on."""
    global mindtorch_function_modes
    activate()
    modes().append(mode)
    mindtorch_function_modes = len(modes())


def pop_mode():
    """Take the innermost mode off the stack of this thread."""
    global mindtorch_function_modes
    mode = modes().pop()
    mindtorch_function_modes = len(modes())
    return mode


def current_modes():
    """The modes in force in this thread, the innermost last."""
    return list(modes())
