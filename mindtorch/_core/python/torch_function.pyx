"""__torch_function__: classes of arguments, and modes, may replace a call of an operator by a handler. And profiles.

Every public function that takes tensors is an OverridableFunction: those of operators (operator_function.pyx) derive
from it, and `overridable` wraps all others once, when a module or class publishes them. A call tests one flag,
`observing`, and runs the function. A profile sets the flag while it records operators; the first class or mode with a
handler activates the protocol, which sets it for good. With the flag set, a call opens a range of the profile, and
looks up the classes of its arguments. While the protocol is not active, a call with an argument that is no tensor
fails, and only then are the classes of its arguments looked up.
"""
import inspect
import sys
import threading
from importlib import import_module
from operator import attrgetter
from types import BuiltinFunctionType, FunctionType

from cpython.object cimport PyObject, PyTypeObject

from mindtorch._core import hooks

cimport mindtorch._core.python.profiling as profiling
cimport mindtorch._core.tensor.tensor as tensor_module
from mindtorch._core.tensor.tensor cimport TensorBase, is_sparse


cdef extern from *:
    """
    static _Thread_local unsigned int mindtorch_torch_function_state;
    static _Thread_local unsigned int mindtorch_torch_function_modes;

    /* Has Python call objects of the type by the function pointer at `offset` in them. */
    static void mindtorch_set_vectorcall(PyTypeObject *type, Py_ssize_t offset, int is_method)
    {
        type->tp_vectorcall_offset = offset;
        type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL | (is_method ? Py_TPFLAGS_METHOD_DESCRIPTOR : 0);
        PyType_Modified(type);
    }
    """
    void mindtorch_set_vectorcall(PyTypeObject *type, Py_ssize_t offset, bint is_method)
    unsigned int mindtorch_torch_function_state              # a TorchFunctionState
    unsigned int mindtorch_torch_function_modes       # the number of modes on the stack

# Casts to the first type call a function that returns an object as one that returns NULL after an error, ...
ctypedef PyObject *(*NoexceptCall)(PyObject *, PyObject *const *, size_t, PyObject *) noexcept
# ... and casts to the second do the reverse.
ctypedef object (*RaisingCall)(PyObject *, PyObject *const *, size_t, PyObject *)
# Casts to this call a function that returns -1 after an error.
ctypedef int (*NoexceptCheck)(PyObject *, PyObject *const *, size_t, PyObject *) noexcept

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
    void Py_XDECREF(PyObject *value)
    void PyErr_Fetch(PyObject **kind, PyObject **value, PyObject **trace) noexcept
    void PyErr_Restore(PyObject *kind, PyObject *value, PyObject *trace) noexcept

cdef enum:
    MAX_NESTING = 4                      # how deep nested lists of arguments are searched

cdef enum:
    MOST_SEEN_TYPES = 200       # of one function: classes that are made over and over must not pile up

cdef enum TorchFunctionState:
    ENABLED = 0
    SUBCLASSES_DISABLED = 1          # DisableTorchFunctionSubclass: handlers of modes alone
    ALL_DISABLED = 2                # DisableTorchFunction

active = observing = False
cdef object TORCH_FUNCTION = "__torch_function__"
cdef object THREAD = threading.local()          # .modes: the stack of modes
cdef dict WRAPPED_FUNCTIONS = {}    # function -> the WrappedFunction that `overridable` has made of it

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


cdef bint contains_sparse(PyObject *const *values, Py_ssize_t count, int levels) noexcept:
    """Whether a value, or an element of nested lists, is a sparse tensor."""
    cdef Py_ssize_t i
    for i in range(count):
        if isinstance(<object>values[i], TensorBase):
            if is_sparse(<TensorBase>values[i]):
                return True
        elif levels and (PyList_Check(values[i]) or PyTuple_Check(values[i])):
            if contains_sparse(PySequence_Fast_ITEMS(values[i]), PySequence_Fast_GET_SIZE(values[i]), levels - 1):
                return True
    return False


cdef bint array_is_overridden(PyObject *const *values, Py_ssize_t count) noexcept:
    """Whether a handler or, for sparse tensors, a sparse kernel runs in place of the function."""
    return array_has_torch_function(values, count) or (
        tensor_module.sparse_seen and contains_sparse(values, count, MAX_NESTING))


cdef bint operands_are_overridden(object a, object b) except -1:
    cdef PyObject *values[2]
    values[0], values[1] = <PyObject *>a, <PyObject *>b
    return array_is_overridden(values, 2)


def has_torch_function(tuple args, dict kwargs or None):
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
    cdef Py_ssize_t index
    for value in values:
        kind = type(value)
        if type_has_handler(Py_TYPE(<PyObject *>value)) or (tensors and kind is tensor_module.TENSOR_CLASS):
            if any([type(known) is kind for known in found]):
                continue
            index = 0
            while index < len(found) and not issubclass(kind, type(found[index])):
                index += 1
            found.insert(index, value)
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


def handle_python_function(function, tuple relevant, tuple args, dict kwargs or None):
    """Call the handlers for a function that is written in Python. TypeError where all return NotImplemented."""
    answer, found, mode = call_handlers(function, relevant, args, kwargs, True)
    if answer is not NotImplemented:
        return answer
    raise TypeError(f"no implementation found for '{qualified_name(function)}' on types that implement "
                    "__torch_function__: "
                    f"{[type(value) for value in found]}" + ("" if mode is None else f" nor in mode {mode}"))


cdef object qualified_name(object function):
    return hooks.resolve_name(function) or f"{function.__module__}.{function.__name__}"


cdef object handle_compiled_function(object public, object unpack, tuple relevant, tuple args, dict kwargs):
    # In torch, a function with `unpack` calls itself with other arguments before the handlers of classes see the call.
    if unpack is not None and not has_enabled_mode():
        args = unpack(args)
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


cdef bint only_sparse(tuple operands) except -1:
    return not array_has_torch_function(PySequence_Fast_ITEMS(<PyObject *>operands), len(operands))


cdef object handle_index(str name, tuple operands):
    if only_sparse(operands):
        return hooks.find_sparse_kernel(OPERATOR_METHODS[name][0])(*operands)
    method = getattr(tensor_module.TENSOR_CLASS, OPERATOR_METHODS[name][0])
    return handle_compiled_function(method, None, operands, operands, {})


cdef object handle_operator(str name, tuple operands):
    method, *reflected = OPERATOR_METHODS[name]
    if not isinstance(operands[0], TensorBase):
        method, operands = reflected[0], operands[::-1]
    if only_sparse(operands):
        return hooks.find_sparse_kernel(method)(*operands)
    return call_handlers(getattr(tensor_module.TENSOR_CLASS, method), operands, operands, None, False)[0]


# --- overridable functions --------------------------------------------------------------------------------------------

cdef tuple positional_tuple(PyObject *const *values, Py_ssize_t count):
    return tuple([<object>values[i] for i in range(count)])


cdef dict keyword_dict(PyObject *const *values, PyObject *names):
    cdef dict kwargs = {}
    cdef Py_ssize_t i
    if names != NULL:
        for i in range(PyTuple_GET_SIZE(names)):
            kwargs[(<tuple>names)[i]] = <object>values[i]
    return kwargs


cdef inline Py_ssize_t total_count(size_t nargsf, PyObject *names) noexcept:
    return PyVectorcall_NARGS(nargsf) + (0 if names == NULL else PyTuple_GET_SIZE(names))


cdef bint call_has_torch_function(PyObject *callable, PyObject *const *values, size_t nargsf, PyObject *names) noexcept:
    """Whether a mode, or the class of an argument that counts, has a handler, or an argument is sparse."""
    if (<OverridableFunction>callable)._modes_only:
        return has_enabled_mode()
    return array_is_overridden(values, total_count(nargsf, names))


cdef object handle_torch_function(PyObject *callable, PyObject *const *values, size_t nargsf, PyObject *names):
    """Call the handlers of a call; where there are none, but sparse tensors, the sparse kernel."""
    cdef OverridableFunction function = <OverridableFunction>callable
    cdef Py_ssize_t count = PyVectorcall_NARGS(nargsf)
    cdef tuple args = positional_tuple(values, count)
    cdef dict kwargs = keyword_dict(values + count, names)
    if not array_has_torch_function(values, total_count(nargsf, names)) and not function._modes_only:
        kernel = hooks.find_sparse_kernel(function)
        if kernel is None:
            return (<RaisingCall>function.implementation)(function.target, values, nargsf, names)
        return kernel(*args, **kwargs)
    public = function if function._public is None else function._public
    relevant = () if function._modes_only else (*args, *kwargs.values())
    if isinstance(<object>function.target, FunctionType):
        from mindtorch._library.arguments import is_written_in_python, with_defaults
        if is_written_in_python(function):
            return handle_python_function(public, relevant, *with_defaults(<object>function.target, args, kwargs))
    return handle_compiled_function(public, function._unpack, relevant, args, kwargs)


cdef object type_of_argument(PyObject *value):
    """The type of an argument, as far as torch's parser asks: of a tensor whether it may stand for a number, of a list
    what is in it."""
    if isinstance(<object>value, TensorBase):
        return (<TensorBase><object>value).ndim == 0
    if (PyList_Check(value) or PyTuple_Check(value)) and PySequence_Fast_GET_SIZE(value):
        return type(<object>value), type((<object>value)[0])
    return type(<object>value)


cdef int check_types(PyObject *callable, PyObject *const *values, size_t nargsf, PyObject *names) except -1:
    """TypeError where torch's parser, which comes before all else, refuses the types of a call of a function in Python.

    Types that have been seen are not looked at again.
    """
    cdef OverridableFunction function = <OverridableFunction>callable
    cdef Py_ssize_t i, count = PyVectorcall_NARGS(nargsf)
    cdef list types = []
    for i in range(total_count(nargsf, names)):
        types.append(type_of_argument(values[i]))
    if names != NULL:
        types.append(<object>names)
    key = (count, *types)
    if key in function._seen_types:
        return 0
    raise_wrong_arguments(callable, values, nargsf, names)
    if len(function._seen_types) >= MOST_SEEN_TYPES:
        function._seen_types.clear()
    function._seen_types.add(key)
    return 0


cdef bint may_have_wrong_arguments(PyObject *callable, PyObject *kind) noexcept:
    """Whether a call that failed with such an error is one of a function in Python, whose types torch's parser checks.
    """
    return isinstance(<object>callable, WrappedFunction) and issubclass(<object>kind, Exception) and not issubclass(
        <object>kind, TypeError)


cdef object raise_wrong_arguments(PyObject *callable, PyObject *const *values, size_t nargsf, PyObject *names):
    """Raise the TypeError of a function in Python that has failed, if its arguments have types that torch refuses."""
    cdef Py_ssize_t count = PyVectorcall_NARGS(nargsf)
    from mindtorch._library.arguments import wrong_arguments
    error = wrong_arguments(<object>callable, positional_tuple(values, count), keyword_dict(values + count, names))
    if error is not None:
        raise error
    return True


cdef PyObject *handle_torch_function_after_error(PyObject *callable, PyObject *const *values, size_t nargsf,
                                                 PyObject *names, bint was_active) noexcept:
    """Call the handlers if the call has failed because of an argument with one. If not, an error stays set.

    Where the protocol was active before the call, they have been called.
    """
    cdef PyObject *kind
    cdef PyObject *value
    cdef PyObject *trace
    cdef PyObject *checked
    PyErr_Fetch(&kind, &value, &trace)          # a lookup in a class would clear it
    cdef bint found = call_has_torch_function(callable, values, nargsf, names)
    if not found and may_have_wrong_arguments(callable, kind):
        checked = (<NoexceptCall>raise_wrong_arguments)(callable, values, nargsf, names)
        if checked == NULL:
            Py_XDECREF(kind)
            Py_XDECREF(value)
            Py_XDECREF(trace)
            return NULL
        Py_XDECREF(checked)
    PyErr_Restore(kind, value, trace)
    if was_active or not found:
        return NULL
    PyErr_Clear()
    activate()
    return (<NoexceptCall>handle_torch_function)(callable, values, nargsf, names)


cdef PyObject *vectorcall_overridable(PyObject *callable, PyObject *const *values, size_t nargsf,
                                      PyObject *names) noexcept:
    """What vectorcall calls for every OverridableFunction."""
    cdef bint was_active = active       # a function that this one calls may activate the protocol, and then fail
    cdef PyObject *result
    if observing:
        result = (<NoexceptCall>vectorcall_observed)(callable, values, nargsf, names)
    elif (<OverridableFunction>callable)._seen_types is not None and (<NoexceptCheck>check_types)(
            callable, values, nargsf, names) < 0:
        result = NULL
    else:
        result = (<OverridableFunction>callable).implementation((<OverridableFunction>callable).target, values, nargsf,
                                                                names)
    if result == NULL:
        return handle_torch_function_after_error(callable, values, nargsf, names, was_active)
    return result


cdef object vectorcall_observed(PyObject *callable, PyObject *const *values, size_t nargsf, PyObject *names):
    """`vectorcall_overridable` while a profile records operators or the protocol is active."""
    cdef OverridableFunction function = <OverridableFunction>callable
    cdef profiling.Range opened = None
    if profiling.records_operators and function._profiled_name is not None:
        opened = profiling.open_range(function._profiled_name, profiling.FUNCTION, "cpu_op")
        if opened is not None:
            profiling.set_shapes(opened, list(positional_tuple(values, total_count(nargsf, names))))
    try:
        if active and call_has_torch_function(callable, values, nargsf, names):
            result = handle_torch_function(callable, values, nargsf, names)
        else:
            if function._seen_types is not None:
                check_types(callable, values, nargsf, names)
            result = (<RaisingCall>function.implementation)(function.target, values, nargsf, names)
    finally:
        profiling.close_range(opened)
    if opened is not None:
        profiling.set_flops(opened, result)
    return result


cdef class OverridableFunction:
    """A function that handlers of __torch_function__ override and that profiles record."""

    def __cinit__(self):
        self.vectorcall = vectorcall_overridable
        self.implementation, self.target = PyObject_Vectorcall, <PyObject *>None       # not callable until both are set

    def __call__(self, *args, **kwargs):
        return PyVectorcall_Call(self, args, kwargs)


cdef class WrappedFunction(OverridableFunction):
    """An OverridableFunction that calls another function; for the rest it is like that one."""

    def __get__(self, instance, owner):
        # A class may have a builtin as an attribute (conv = torch.conv2d), which is not a method there.
        return self if instance is None or self._builtin else PyMethod_New(self, instance)

    def __getattr__(self, name):
        return getattr(self.__wrapped__, name)

    def __repr__(self):
        return repr(self.__wrapped__)

    def __reduce__(self):
        return self.__qualname__ if self._location is None else (find_published, self._location)

    @property
    def __class__(self):
        # For isinstance. What torch has in C++ is a builtin: inspect.isbuiltin is true of it, of others isfunction.
        return BuiltinFunctionType if self._builtin else type(self.__wrapped__)

    @property
    def __module__(self):
        return self._module or self.__wrapped__.__module__

    @property
    def __name__(self):
        return self._name or self.__wrapped__.__name__

    @property
    def __doc__(self):
        return hooks.describe and hooks.describe(self) or self.__wrapped__.__doc__    # None while torch is imported


cdef int set_vectorcall_slot(type kind, bint is_method) except -1:
    cdef OverridableFunction one = OverridableFunction.__new__(OverridableFunction)
    mindtorch_set_vectorcall(<PyTypeObject *>kind, <char *>&one.vectorcall - <char *><PyObject *>one, is_method)
    return 0


set_vectorcall_slot(OverridableFunction, False)
set_vectorcall_slot(WrappedFunction, True)


def overridable(function, bint modes_only=False, unpack=None):
    """The OverridableFunction of a function: the same object for each call, which also replaces it in its module.

    modes_only: handlers of classes are not called. unpack: handlers of classes get the arguments unpack(args).
    """
    cdef WrappedFunction made
    if isinstance(function, OverridableFunction):
        return function
    if function in WRAPPED_FUNCTIONS:
        return WRAPPED_FUNCTIONS[function]
    made = WrappedFunction.__new__(WrappedFunction)
    made.__wrapped__, made.target = function, <PyObject *>function
    made.implementation = PyVectorcall_Function(made.target)
    if made.implementation == NULL:                    # a Cython function with * or **
        made.implementation = PyObject_Vectorcall
    made._modes_only, made._unpack = modes_only, unpack
    WRAPPED_FUNCTIONS[function] = made
    module = sys.modules.get(function.__module__)
    if getattr(module, function.__qualname__, None) is function:
        setattr(module, function.__qualname__, made)
    return made


cdef object own_object(function):
    """overridable(function) as another object, since handlers tell torch.sum from Tensor.sum."""
    cdef WrappedFunction made, shared
    value = overridable(function)
    if not isinstance(value, WrappedFunction):
        return value
    shared, made = <WrappedFunction>value, WrappedFunction.__new__(WrappedFunction)
    made.__wrapped__, made.target, made.implementation = shared.__wrapped__, shared.target, shared.implementation
    made._modes_only, made._unpack = shared._modes_only, shared._unpack
    return made


def overridable_method(function, str name):
    """The function as the method `name` of Tensor."""
    cdef WrappedFunction made
    value = own_object(function)
    if not isinstance(value, WrappedFunction):
        return value
    made = <WrappedFunction>value
    made._location, made._name, made._is_method = ("mindtorch", f"Tensor.{name}"), name, True
    made._seen_types = set() if isinstance(inspect.unwrap(function), FunctionType) else None
    return made


class TensorProperty(property):
    """A property of Tensor with an overridable getter and setter."""

    def __set_name__(self, owner, name):
        self.__qualname__ = f"TensorBase.{name}"    # as torch's attributes in C++ call themselves


def refuse_deletion(tensor):
    raise RuntimeError("the attributes of a tensor cannot be deleted")


def overridable_property(value):
    """A property with an overridable getter and setter."""
    made = TensorProperty(own_object(value.fget), None if value.fset is None else own_object(value.fset),
                          value.fdel or refuse_deletion, doc=value.__doc__)
    made.fget._public = made.__get__        # what handlers get
    if made.fset is not None:
        made.fset._public = made.__set__
    return made


def publish(dict namespace, but=(), str module or None=None, str prefix="", bint in_python=False):
    """Make the functions of a module overridable: those of __all__, or those whose names begin without underscore.

    Where `module` is given, they say that they are of that module of torch, and their names begin with `prefix`.
    in_python: torch has them in Python, though that module has functions of C++.
    """
    for name in namespace.get("__all__") or [name for name in namespace if name[0] != "_"]:
        if name not in but and callable(namespace[name]) and not isinstance(namespace[name], type):
            namespace[name] = published(namespace[name], namespace["__name__"], name, module, prefix, in_python)


def published(function, str home, str name, str module or None, str prefix="", bint in_python=False):
    """overridable(function), named as torch names it: the first module in which it is published counts."""
    made = overridable(function)
    if module is not None and type(made) is WrappedFunction:
        set_names(made, home, name, module, prefix, in_python)
    return made


cdef int set_names(WrappedFunction function, str home, str name, str module, str prefix, bint in_python) except -1:
    if function._location is None:
        function._location, function._module, function._name = (home, name), module, prefix + name
        function._builtin = not in_python and (module == "torch" or module.startswith("torch._C"))
        if function._builtin and isinstance(inspect.unwrap(function.__wrapped__), FunctionType):
            function._seen_types = set()
    return 0


def find_published(str home, str name):
    """The function that pickles describe by the module of mindtorch and its name there."""
    return attrgetter(name)(import_module(home))


def record_operators(bint on):
    """Have overridable functions open ranges in the running profile, or no longer."""
    global observing
    profiling.records_operators = on
    observing = on or active


# --- activation ------------------------------------------------------------------------------------------------------

def activate():
    """Have every call look up the classes of its arguments first, for the rest of the process."""
    global active, observing
    active = observing = True


def is_active():
    """Whether the protocol is active in this process."""
    return bool(active)


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
        set_state(max(<unsigned int>self._before, <unsigned int>self._state))

    def __exit__(self, *exception):
        set_state(<int>self._before)


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
