"""The functions and methods of operators (torch.add, Tensor.add), and Python's operators (a + b).

A call of a function goes through `vectorcall_overridable` (torch_function.pyx), which tests for a running profile and
for __torch_function__. `bind` matches arguments to parameters, `call_matching_overload` takes the first overload whose
tests hold, `convert_argument` makes C values, and run_operator.pyx runs the operator. The specifications are data, in
_core/_gen/functions.py.
"""
import types

from cpython.object cimport Py_EQ, PyObject_RichCompareBool
from cpython.ref cimport PyObject, Py_INCREF

from mindtorch import return_types
from mindtorch._core import hooks, once
from mindtorch._core.once import warn_once
from mindtorch._core.python.specification import make_signature, read_parameters

from mindtorch._core.operators.operator cimport (
    BOOL, BOOL_LIST, DTYPE, FLOAT, GENERATOR, INT, INT_LIST, MAX_ARGUMENTS, OPTIONAL_FLOAT, OPTIONAL_INT,
    OPTIONAL_SCALAR, OPTIONAL_TENSOR, SCALAR, SCALAR_LIST, STRING, TENSOR, TENSOR_LIST, Argument, Operator,
    find_operator, gives_floats, inferred_scalar_tensor, make_return_type as as_named, optional_scalar,
    promoted_scalar_tensor, promoted_scalar_tensor_on_host, require_outs, set_default_argument, single_double,
    unpack_scalars, wrap_number, wrapped_scalar_tensor,
)
from mindtorch._core.operators.run_operator cimport ARGUMENT_TYPES, load_operator, run, run_inplace
from mindtorch._core.python.conversion cimport (
    as_int, is_int, is_scalar_list, optional_float, optional_tensor, parse_bools, parse_optional_int,
    parse_optional_ints, parse_varargs, raise_no_overload, raise_wrong_type, require_bool,
    require_dtype, require_float, require_int, require_scalar, require_scalars, require_tensor, require_tensors,
    sizes_argument,
)
cimport mindtorch._core.python.profiling as profiling
cimport mindtorch._core.python.torch_function as torch_function
from mindtorch._core.python.torch_function cimport OverridableFunction, Vectorcall, set_vectorcall_slot
from mindtorch._core.tensor.dtype cimport FLOAT_KIND, INT_KIND, Scalar, Undefined, is_scalar, scalar_from_python
from mindtorch._core.tensor.generator cimport require_generator
from mindtorch._core.tensor.tensor cimport SLOT_IADD, TENSOR_SLOTS, Shape, TensorBase, is_tensor

cdef extern from "Python.h":
    Py_ssize_t PyVectorcall_NARGS(size_t nargsf) noexcept
    Py_ssize_t PyTuple_GET_SIZE(PyObject *value) noexcept
    PyObject *PyList_GET_ITEM(PyObject *value, Py_ssize_t index) noexcept
    void Py_DECREF(PyObject *value) noexcept
    PyObject *PyTuple_GET_ITEM(PyObject *value, Py_ssize_t index) noexcept
    object PyMethod_New(object function, object self)

cdef enum:
    MAX_SHAPES = 8
    NO_TEST = 255           # the overload lacks the parameter, which must be None, ...
    ABSENT = 254            # ... or must not be given: its default is NotImplemented, ...
    UNSET = 253             # ... or must be False, its default
    GIVEN = 252             # the overload requires the parameter, which may be None

# Casts to this type call a function that returns an object as one that returns NULL after an error, ...
ctypedef PyObject *(*ConvertAndRun)(OperatorFunction, Overload, PyObject **, CallBuffers *) noexcept
# ... and the other way round.
ctypedef object (*CallOverload)(OperatorFunction, Overload, PyObject **)

cdef struct CallBuffers:        # the memory that the arguments of one call point to
    Scalar numbers[MAX_PARAMETERS]
    Shape shapes[MAX_SHAPES]
    double reals[MAX_PARAMETERS]
    int shape_count
    PyObject *owned[MAX_PARAMETERS + 1]     # references that the call drops at its end
    int owned_count

cdef dict SECOND_CONVERSIONS = {
    "promoted_scalar": PROMOTED_SCALAR, "promoted_host_scalar": PROMOTED_HOST_SCALAR,
    "inferred_scalar": INFERRED_SCALAR, "single_number": SINGLE_NUMBER, "packed_scalars": PACKED_SCALARS}
cdef object REQUIRED = Ellipsis
cdef dict TEST_TYPES = {**ARGUMENT_TYPES, "": NO_TEST, "absent": ABSENT, "False": UNSET,
                        "given": GIVEN}


# --- specifications --------------------------------------------------------------------------------------------------
# The first call of a function reads its specification into C arrays.

cdef Overload read_overload(tuple spec, OperatorFunction function):
    cdef Overload overload = Overload.__new__(Overload)
    cdef Conversion *conversion
    cdef int i
    _, key, tests, conversions, defaults = spec
    overload.op = find_operator(key)
    if not overload.op.loaded:
        load_operator(overload.op)
    overload.default_objects = []
    tested = {parameter for parameter, _ in tests}
    for i, (parameter, kind) in enumerate(tests):
        overload.tests[i] = parameter
        overload.test_types[i] = <int>TEST_TYPES[kind]
    overload.test_count = len(tests)
    overload.like_parameter = -1
    for i, (parameter, kind, argument, *second) in enumerate(conversions):
        conversion = &overload.conversions[i]
        conversion.parameter, conversion.argument = parameter, argument
        conversion.type = <ArgumentType><int>ARGUMENT_TYPES[kind]
        conversion.takes_int = kind.startswith("int[n]")
        conversion.takes_none = kind.endswith("?")
        conversion.tested = parameter in tested
        conversion.position = 0 if parameter >= function.positional_count else parameter + 1 - function.is_method
        conversion.second = <SecondConversion><int>SECOND_CONVERSIONS[second[0]] if second else NO_SECOND
        # None is the default of a list that may have another name ("axis"); the operator needs one all the same.
        if conversion.second == NO_SECOND and (conversion.type != INT_LIST or conversion.takes_none):
            read_default(conversion, function.defaults[parameter])
        if conversion.type == TENSOR and overload.like_parameter < 0 and function.names[parameter] != "condition":
            overload.like_parameter = parameter
    overload.conversion_count = len(conversions)
    for i, (argument, value) in enumerate(defaults.items()):
        overload.default_arguments[i] = argument
        overload.default_objects.append(
            set_default_argument(&overload.defaults[i], overload.op.argument_types[argument], value))
    overload.default_count = len(defaults)
    return overload


cdef int read_default(Conversion *conversion, object value) except -1:
    """Convert a parameter's default once for all calls."""
    cdef bint known
    if value is REQUIRED or value is NotImplemented:
        return 0
    if value is None:
        known = conversion.type in (OPTIONAL_TENSOR, OPTIONAL_SCALAR, OPTIONAL_INT, OPTIONAL_FLOAT, INT_LIST, DTYPE,
                                    GENERATOR)
    else:
        known = conversion.type in (BOOL, INT, FLOAT, SCALAR)
    if known:
        set_default_argument(&conversion.default_argument, conversion.type, value)
        conversion.default_value = <PyObject *>value
    return 0


cdef int load_function(OperatorFunction function) except -1:
    with once.first_use_lock:
        if function.specification is not None:
            read_specification(function)
    return 0


cdef int read_specification(OperatorFunction function) except -1:
    cdef int i
    cdef dict spec = function.specification
    function.names, function.defaults, function.aliases, function.positional_count, function.encoded_names = (
        read_parameters(spec["parameters"]))
    function.parameter_count = len(function.names)
    function.encoded = function.name.encode()
    function.out_count = spec.get("out_count", 0)
    function.is_method, function.is_inplace = spec.get("method", False), spec.get("inplace", False)
    function.accepts_number_self, function.varargs = spec.get("accepts_number_self", False), spec.get("varargs", False)
    function.return_type = getattr(return_types, function.name) if spec.get("return_type") else None
    function.signatures = spec.get("signatures")
    function.older, function.is_alias = spec.get("older"), spec.get("alias", False)
    function.encoded_name_pointer = function.encoded
    for i in range(function.parameter_count):
        function.name_pointers[i] = <PyObject *>function.names[i]
        function.default_pointers[i] = NULL if function.defaults[i] is REQUIRED else <PyObject *>function.defaults[i]
        function.encoded_name_pointers[i] = <bytes>function.encoded_names[i]
        if function.default_pointers[i] == NULL:
            function.required_count = i + 1
    function.default_pointers[function.parameter_count] = <PyObject *>None
    function.overloads = [read_overload(overload, function) for overload in spec["overloads"]]
    function.overload_count = len(function.overloads)
    function.single_overload = function.overloads[0] if function.overload_count == 1 else None
    function.specification = None
    return 0


# --- binding: arguments to parameters --------------------------------------------------------------------------------

cdef int find_parameter(OperatorFunction function, PyObject *name) except -2:
    """The index of the parameter with that name; parameter_count for out=; -1 where there is none."""
    cdef int i
    for i in range(function.parameter_count):
        if function.name_pointers[i] == name:
            return i
    text = <object>name
    for i in range(function.parameter_count):
        if PyObject_RichCompareBool(<object>function.name_pointers[i], text, Py_EQ):
            return i
    if function.out_count and text == "out":
        return function.parameter_count
    return function.aliases.get(text, -1)


cdef int bind(OperatorFunction function, PyObject **bound, PyObject *const *values, Py_ssize_t nargs,
              PyObject *names) except -1:
    """Set `bound` to the value of each parameter, and of out= behind them. TypeError as torch raises it."""
    cdef Py_ssize_t i
    cdef int parameter
    cdef int count = function.parameter_count + 1       # with out=
    cdef bint complete = names == NULL and nargs >= function.required_count
    if nargs > function.positional_count:
        bind_older(function, bound, values, nargs, names)
    else:
        for i in range(nargs):
            bound[i] = values[i]
        for i in range(nargs, count):
            bound[i] = function.default_pointers[i] if complete else NULL
        if complete:
            return 0
    if names != NULL:
        for i in range(PyTuple_GET_SIZE(names)):
            parameter = find_parameter(function, PyTuple_GET_ITEM(names, i))
            if parameter < 0 or bound[parameter] != NULL:
                raise_wrong_keyword(function, bound, values, nargs, names, <object>PyTuple_GET_ITEM(names, i),
                                    parameter)
            bound[parameter] = values[nargs + i]
    for i in range(count):
        if bound[i] == NULL:
            if function.default_pointers[i] == NULL:
                raise_missing_arguments(function, bound, values, nargs, names)
            bound[i] = function.default_pointers[i]
    return 0


cdef int raise_no_matching_overload(OperatorFunction function, PyObject *const *values, Py_ssize_t nargs,
                                    PyObject *names) except -1:
    """Raise torch's TypeError for a call that no overload matches."""
    cdef Py_ssize_t i, keyword_count = 0 if names == NULL else PyTuple_GET_SIZE(names)
    positional = tuple([<object>values[i] for i in range(function.is_method, nargs)])
    keywords = {<object>PyTuple_GET_ITEM(names, i): <object>values[nargs + i] for i in range(keyword_count)}
    return raise_no_overload(function.encoded, positional, keywords, function.signatures)


cdef int bind_older(OperatorFunction function, PyObject **bound, PyObject *const *values, Py_ssize_t nargs,
                    PyObject *names) except -1:
    """Bind values in an order that torch once had, numbers among the first: addmm(beta, input, mat1, mat2)."""
    cdef Py_ssize_t i
    cdef int parameter
    for i in range(function.parameter_count + 1):
        bound[i] = NULL
    order = None if function.older is None else function.older.get(nargs)
    if order is None:
        return raise_too_many_arguments(function, bound, values, nargs, names)
    if function.is_alias and isinstance(<object>values[nargs - 1], TensorBase):      # subtract has it for numbers alone
        return raise_too_many_arguments(function, bound, values, nargs, names)
    for i, parameter in enumerate(order):
        if parameter >= function.positional_count and isinstance(<object>values[i], TensorBase):
            return raise_too_many_arguments(function, bound, values, nargs, names)
    for i, parameter in enumerate(order):
        bound[parameter] = values[i]
    shown = ", ".join([function.names[parameter] for parameter in order[function.is_method:]])
    warn_once("older", f"This overload of {function.name} is deprecated:\n\t{function.name}({shown})\nGive numbers by "
              "keyword.")
    return 0


cdef int raise_too_many_arguments(OperatorFunction function, PyObject **bound, PyObject *const *values,
                                  Py_ssize_t nargs,
                                  PyObject *names) except -1:
    if function.signatures is not None:
        raise_no_matching_overload(function, values, nargs, names)
    count = function.positional_count - function.is_method
    if count == 0:
        raise TypeError(f"{function.name}() takes no arguments ({nargs - function.is_method} given)")
    raise TypeError(f"{function.name}() takes {count} positional argument{'' if count == 1 else 's'} but "
                    f"{nargs - function.is_method} were given")


cdef int raise_missing_arguments(OperatorFunction function, PyObject **bound, PyObject *const *values, Py_ssize_t nargs,
                                 PyObject *names) except -1:
    if function.signatures is not None:
        raise_no_matching_overload(function, values, nargs, names)
    absent = [f'"{name}"' for i, (name, default) in enumerate(zip(function.names, function.defaults))
              if default is REQUIRED and bound[i] == NULL]
    raise TypeError(f"{function.name}() missing {len(absent)} required positional "
                    f"argument{'s' if len(absent) == 1 else ''}: {', '.join(absent)}")


cdef int count_overloads(OperatorFunction function, Py_ssize_t given) except -1:
    """How many overloads take as many arguments: of a single one torch says what is wrong with the call."""
    cdef int count = 0
    for signature in function.signatures.splitlines():
        parameters = [parameter for parameter in signature.strip(" *()").split(", ") if parameter not in ("", "*")]
        required = [parameter for parameter in parameters if " = " not in parameter]
        count += len(required) <= given - function.is_method <= len(parameters)
    return count


cdef int raise_wrong_keyword(OperatorFunction function, PyObject **bound, PyObject *const *values, Py_ssize_t nargs,
                             PyObject *names, object name, int parameter) except -1:
    if parameter >= 0:
        raise TypeError(f"{function.name}() got multiple values for argument '{name}'")
    if function.signatures is not None and count_overloads(function, nargs + PyTuple_GET_SIZE(names)) != 1:
        raise_no_matching_overload(function, values, nargs, names)
    for i in range(function.parameter_count):
        if bound[i] == NULL and function.defaults[i] is REQUIRED and function.names[i] not in <object>names:
            raise_missing_arguments(function, bound, values, nargs, names)
    raise TypeError(f"{function.name}() got an unexpected keyword argument '{name}'")


# --- overloads: which one matches ------------------------------------------------------------------------------------

cdef bint matches_type(PyObject *given, unsigned char type) except -1:
    cdef object value
    if type == TENSOR:
        return is_tensor(given)
    if type == NO_TEST:
        return given == <PyObject *>None
    if type == ABSENT:
        return given == <PyObject *>NotImplemented
    if type == GIVEN:
        return given != <PyObject *>NotImplemented
    if type == UNSET:
        return <object>given is False
    if type == OPTIONAL_TENSOR:
        return given == <PyObject *>None or is_tensor(given)
    value = <object>given
    if type == SCALAR:
        return is_scalar(value)
    if type == OPTIONAL_SCALAR:
        return value is None or is_scalar(value)
    if type == INT:
        return is_int(value)
    if type == OPTIONAL_INT:
        return value is None or is_int(value)
    if type == SCALAR_LIST:
        return is_scalar_list(value)
    if type == TENSOR_LIST:
        return isinstance(value, (list, tuple))
    return value is not None


cdef bint matches_overload(PyObject *candidate, PyObject **bound) except -1:
    cdef Overload overload = <Overload>candidate
    cdef int i
    for i in range(overload.test_count):
        if not matches_type(bound[overload.tests[i]], overload.test_types[i]):
            return False
    return True


# --- conversions: parameters to the operator's arguments -------------------------------------------------------------

cdef Shape *new_shape(CallBuffers *storage) except NULL:
    if storage.shape_count == MAX_SHAPES:
        raise RuntimeError(f"an operator takes at most {MAX_SHAPES} lists of ints")
    storage.shape_count += 1
    return &storage.shapes[storage.shape_count - 1]


cdef int keep_alive(CallBuffers *storage, object value, Argument *argument) except -1:
    """Set the argument to a new object, which `storage` keeps alive for the call."""
    Py_INCREF(value)
    storage.owned[storage.owned_count] = <PyObject *>value
    storage.owned_count += 1
    argument.object = <PyObject *>value
    return 0


cdef int convert_argument(OperatorFunction function, const Conversion *conversion, PyObject *given, Argument *argument,
                          CallBuffers *storage) except -1:
    cdef const char *name = function.encoded_name_pointers[conversion.parameter]
    cdef const char *where = function.encoded_name_pointer
    cdef object value
    cdef int position = conversion.position
    cdef ArgumentType type = conversion.type
    cdef Shape *shape
    if type == TENSOR:
        if not conversion.tested and not is_tensor(given):
            require_tensor(<object>given, where, name, position)
        argument.object = given
        return 0
    value = <object>given
    if type == SCALAR:
        argument.scalar = &storage.numbers[conversion.parameter]
        if conversion.tested:
            scalar_from_python(value, &storage.numbers[conversion.parameter])
        else:
            require_scalar(value, &storage.numbers[conversion.parameter], where, name, position)
    elif type == INT:
        argument.integer = as_int(value) if conversion.tested else require_int(value, where, name, position)
    elif type == BOOL:
        argument.integer = require_bool(value, where, name, position)
    elif type == INT_LIST or type == OPTIONAL_INT or type == BOOL_LIST:
        shape = new_shape(storage)
        if type == INT_LIST:
            if value is None and not conversion.takes_none:
                raise_wrong_type(value, where, name, position, "tuple of ints")
            parse_optional_ints(value, conversion.takes_int, shape, where, name, position)
        elif type == OPTIONAL_INT:
            parse_optional_int(value, shape, where, name, position)
        else:
            parse_bools(value, shape, where, name, position)
        argument.ints = shape
    elif type == OPTIONAL_TENSOR:
        if not conversion.tested:
            optional_tensor(value, where, name, position)
        argument.object = <PyObject *>value
    elif type == FLOAT:
        argument.real = require_float(value, where, name, position)
    elif type == OPTIONAL_FLOAT:
        argument.optional_real = optional_float(value, &storage.reals[conversion.parameter], where, name, position)
    elif type == OPTIONAL_SCALAR:
        argument.scalar = optional_scalar(value, &storage.numbers[conversion.parameter], where, name, position)
    elif type == DTYPE:
        argument.integer = require_dtype(value, Undefined, where, name, position)
    else:
        if type == TENSOR_LIST:
            value = require_tensors(value, where, name, position)
        elif type == SCALAR_LIST:
            value = tuple(value) if conversion.tested else require_scalars(value, where, name, position)
        elif type == GENERATOR:
            value = require_generator(value, where, name)
        elif type == STRING and not isinstance(value, (str, bytes)) and not (
                value is None and function.defaults[conversion.parameter] is None):
            raise_wrong_type(value, where, name, position, "str")
        keep_alive(storage, value, argument)
    return 0


cdef int convert_again(OperatorFunction function, Overload overload, const Conversion *conversion, PyObject **bound,
                       Argument *argument, CallBuffers *storage) except -1:
    """Convert a number where the operator takes a tensor, or a tensor where it takes a number."""
    cdef TensorBase tensor
    cdef Scalar fraction
    if conversion.second == SINGLE_NUMBER:
        argument.real = single_double(<TensorBase>argument.object)
        return 0
    if conversion.second == PACKED_SCALARS:
        return keep_alive(storage, unpack_scalars(<TensorBase>argument.object, require_tensors(
            <object>bound[0], function.encoded, <bytes>function.encoded_names[0], 1)), argument)
    if argument.scalar.kind == INT_KIND and conversion.second != INFERRED_SCALAR and gives_floats(overload.op):
        fraction.kind, fraction.real = FLOAT_KIND, argument.scalar.real
        argument.scalar = &fraction
    if conversion.second == INFERRED_SCALAR:
        tensor = inferred_scalar_tensor(argument.scalar, require_tensor(<object>bound[0], function.encoded,
                                                                        b"condition", 1))
    elif conversion.second == PROMOTED_HOST_SCALAR:
        tensor = promoted_scalar_tensor_on_host(argument.scalar, <TensorBase>bound[overload.like_parameter])
    else:
        tensor = promoted_scalar_tensor(argument.scalar, <TensorBase>bound[overload.like_parameter])
    return keep_alive(storage, tensor, argument)


cdef PyObject *call_overload(OperatorFunction function, Overload overload, PyObject **bound) noexcept:
    """A new reference to the result; NULL after an error."""
    cdef CallBuffers storage
    cdef PyObject *result
    storage.shape_count = storage.owned_count = 0
    result = (<ConvertAndRun>convert_and_run)(function, overload, bound, &storage)
    while storage.owned_count:
        storage.owned_count -= 1
        Py_DECREF(storage.owned[storage.owned_count])
    return result


cdef object convert_and_run(OperatorFunction function, Overload overload, PyObject **bound, CallBuffers *storage):
    cdef Argument arguments[MAX_ARGUMENTS]
    cdef Operator op = overload.op
    cdef const Conversion *conversion
    cdef PyObject *out
    cdef int i
    for i in range(overload.conversion_count):
        conversion = &overload.conversions[i]
        if bound[conversion.parameter] == conversion.default_value:
            arguments[conversion.argument] = conversion.default_argument
            continue
        convert_argument(function, conversion, bound[conversion.parameter], &arguments[conversion.argument], storage)
        if conversion.second != NO_SECOND:
            convert_again(function, overload, conversion, bound, &arguments[conversion.argument], storage)
    for i in range(overload.default_count):
        arguments[overload.default_arguments[i]] = overload.defaults[i]
    if function.is_inplace:
        if not op.is_foreach:
            return run_inplace(op, arguments)
        run_inplace(op, arguments)
        return <object>bound[0] if op.single is not None else None        # the caller's list
    out = bound[function.parameter_count]
    if op.result_count == 1 and not op.is_foreach:
        if out != <PyObject *>None:
            optional_tensor(<object>out, function.encoded_name_pointer, b"out")
        arguments[op.argument_count].object = out
        return run(op, arguments)
    if out != <PyObject *>None:
        outs = require_outs(<object>out, op.result_count, function.encoded, function.parameter_count)
        keep_alive(storage, outs, &arguments[op.argument_count])
        for i in range(op.result_count):
            arguments[op.argument_count + i].object = <PyObject *>(<tuple>outs)[i]
    else:
        for i in range(op.result_count):
            arguments[op.argument_count + i].object = <PyObject *>None
    results = run(op, arguments)
    return results if function.return_type is None or op.result_count < 2 else as_named(function.return_type, results)


# --- calls -----------------------------------------------------------------------------------------------------------

cdef object invoke(OperatorFunction function, PyObject *const *values, Py_ssize_t nargs, PyObject *names):
    """Call the function, after `vectorcall_overridable` has tested for profiles and __torch_function__."""
    cdef PyObject *bound[MAX_PARAMETERS + 1]
    if function.specification is not None:
        load_function(function)
    if function.varargs:
        return invoke_varargs(function, values, nargs, names)
    bind(function, bound, values, nargs, names)
    if function.accepts_number_self and not is_tensor(bound[0]):
        return invoke_with_scalar_self(function, bound, values, nargs, names)
    return call_matching_overload(function, bound, values, nargs, names)


cdef object invoke_with_scalar_self(OperatorFunction function, PyObject **bound, PyObject *const *values,
                                    Py_ssize_t nargs,
                                    PyObject *names):
    """`invoke` with a number as the first operand: it becomes a 0-d tensor."""
    cdef int i
    number = <object>bound[0]
    operand = wrap_number(number, <object>bound[1])
    bound[0] = <PyObject *>operand
    for i in range(function.overload_count if type(number) is int else 0):
        if matches_overload(PyList_GET_ITEM(<PyObject *>function.overloads, i), bound):
            if gives_floats((<Overload>function.overloads[i]).op):
                operand = wrap_number(float(number), <object>bound[1])
                bound[0] = <PyObject *>operand
            break
    return call_matching_overload(function, bound, values, nargs, names)


cdef inline object call_matching_overload(OperatorFunction function, PyObject **bound, PyObject *const *values,
                                          Py_ssize_t nargs, PyObject *names):
    """Call the first overload that matches the arguments."""
    cdef PyObject *overload
    cdef int i
    if function.overload_count == 1:
        return (<CallOverload>call_overload)(function, function.single_overload, bound)
    for i in range(function.overload_count):
        overload = PyList_GET_ITEM(<PyObject *>function.overloads, i)
        if matches_overload(overload, bound):
            return (<CallOverload>call_overload)(function, <Overload>overload, bound)
    if function.signatures is None:
        require_tensor_arguments(function, bound)
    return raise_no_matching_overload(function, values, nargs, names)


cdef int require_tensor_arguments(OperatorFunction function, PyObject **bound) except -1:
    """Raise torch's TypeError for the first argument of the first overload that must be a tensor."""
    cdef Overload shown = <Overload>function.overloads[0]
    cdef Conversion *conversion
    cdef int i
    for i in range(shown.conversion_count):
        conversion = &shown.conversions[i]
        if conversion.type == TENSOR:
            require_tensor(<object>bound[conversion.parameter], function.encoded,
                           <bytes>function.encoded_names[conversion.parameter], conversion.position)
    return 0


cdef object invoke_varargs(OperatorFunction function, PyObject *const *values, Py_ssize_t nargs, PyObject *names):
    """Call a method with one list of ints, which may be given as several arguments: x.flip(0, 1)."""
    cdef Argument arguments[3]
    cdef Overload overload = <Overload>function.overloads[0]
    cdef Py_ssize_t i
    cdef Shape sizes
    cdef dict keywords = {}
    if names != NULL:
        for i in range(PyTuple_GET_SIZE(names)):
            keywords[<object>PyTuple_GET_ITEM(names, i)] = <object>values[nargs + i]
    self = require_tensor(<object>values[0] if nargs else None, function.encoded, b"self", 0)
    args = tuple([<object>values[i] for i in range(1, nargs)])
    parse_varargs(sizes_argument(args, keywords, function.name, function.names[1]), &sizes, function.encoded,
                  <bytes>function.encoded_names[1])
    arguments[0].object, arguments[1].ints = <PyObject *>self, &sizes
    arguments[2].object = <PyObject *>None
    return run(overload.op, arguments)


cdef object run_function(PyObject *function, PyObject *const *values, size_t nargsf, PyObject *names):
    return invoke(<OperatorFunction>function, values, PyVectorcall_NARGS(nargsf), names)


# --- the objects -----------------------------------------------------------------------------------------------------

cdef class OperatorFunction(OverridableFunction):
    """A function of one operator, or of several with one name."""

    def __init__(self, str name, dict specification, str table):
        self.name, self.specification, self.table = name, specification, table
        family = name.partition("_")[0]
        self.module = ("torch" if table == "FUNCTIONS" else
                       f"torch._C._{family}" if family in ("fft", "linalg", "special") else "torch._ops")
        self.implementation, self.target = <Vectorcall>run_function, <PyObject *>self

    def __repr__(self):
        return f"<operator function {self.name}>"

    def __reduce__(self):
        return find_function, (self.table, self.name)

    @property
    def __class__(self):
        return types.BuiltinFunctionType        # for isinstance: inspect.isbuiltin is true of torch.add

    @property
    def __name__(self):
        return self.name

    @property
    def __qualname__(self):
        return self.name

    @property
    def __module__(self):
        return self.module

    @property
    def __doc__(self):
        return describe(self)

    def _keys(self):
        """The keys of the overloads."""
        return [spec[0] for spec in specification_of(self)["overloads"]]

    @property
    def __signature__(self):
        return make_signature(specification_of(self))


cdef class OperatorMethod(OperatorFunction):
    """A method of Tensor."""

    def __get__(self, instance, owner):
        return self if instance is None else PyMethod_New(self, instance)

    @property
    def __class__(self):
        return types.MethodDescriptorType       # inspect.ismethoddescriptor is true of torch.Tensor.add

    @property
    def __qualname__(self):
        return f"Tensor.{self.name}"

    @property
    def __doc__(self):              # a class does not inherit this one
        return describe(self)


set_vectorcall_slot(OperatorFunction, False)
set_vectorcall_slot(OperatorMethod, True)


cdef object describe(OperatorFunction function):
    return hooks.describe(function, function._keys()) or f"{function.name}{function.__signature__}"


cdef dict specification_of(OperatorFunction function):
    from mindtorch._core._gen import functions
    table = getattr(functions, function.table)
    found = table[function.name]
    return table[found] if isinstance(found, str) else found            # an alias has the name of its function


def find_function(str table, str name):
    """The function of that name in a table of mindtorch._core._gen.namespace. Pickles of functions call this."""
    from mindtorch._core._gen import namespace
    return getattr(namespace, table)[name]


def make_functions(dict specifications, str table):
    """{name: function} of a table of _gen/functions.py, in which the entry of an alias is the other name.

    An alias is a function of its own name, which errors, profiles and handlers give.
    """
    kind = OperatorMethod if table == "METHODS" else OperatorFunction
    return {name: kind(name, spec if isinstance(spec, dict) else specifications[spec] | {"alias": True}, table)
            for name, spec in specifications.items()}


# --- Python's operators ----------------------------------------------------------------------------------------------
# The C functions of TENSOR_SLOTS in tensor.pxd, which the slots of TensorBase call: `a + b` calls `binary`.
#
# Each gets the operands in Python's order; either may be the tensor. It returns NotImplemented where the other is
# neither tensor nor number, so that Python tries the other operand's class.


cdef enum ReflectedForm:              # what happens to a number on the left
    NOT_IMPLEMENTED                     # NotImplemented: Python evaluates 1 < x as x > 1
    SWAPPED_OPERANDS                     # the operator for (tensor, number), with swapped operands
    SCALAR_TENSOR                    # the operator for (number, tensor)
    WRAPPED_SCALAR                     # the operator for two tensors; the number becomes one
    RECIPROCAL                  # number / tensor is number * (1 / tensor)

cdef class OperandCall:
    """An operator for two operands, and its other arguments."""
    cdef Operator op
    cdef int first, second                      # the arguments that are the operands
    cdef bint wraps_first, wraps_second     # whether a number there becomes a tensor
    cdef int constant_count
    cdef int constant_arguments[MAX_ARGUMENTS]
    cdef Argument constants[MAX_ARGUMENTS]
    cdef list constant_objects                              # keeps alive what `constants` point to

cdef class PythonOperator:
    cdef str slot                               # its name in SLOTS
    cdef str profiled_name                              # its name in profiles
    cdef OperandCall tensor_tensor, tensor_scalar, scalar_tensor
    cdef ReflectedForm reflected

# slot -> the rows for (tensor, tensor) and (tensor, number), the row for a number on the left and how it is used.
cdef dict OPERATOR_ROWS = {
    "add": ("add.Tensor", "add.Scalar", "add.Scalar", SWAPPED_OPERANDS),
    "sub": ("sub.Tensor", "sub.Scalar", "rsub.Scalar", SWAPPED_OPERANDS),
    "mul": ("mul.Tensor", "mul.Scalar", "mul.Scalar", SWAPPED_OPERANDS),
    "truediv": ("div.Tensor", "div.Scalar", "mul.Scalar", RECIPROCAL),
    "floordiv": ("floor_divide", "floor_divide.Scalar", "floor_divide", WRAPPED_SCALAR),
    "mod": ("remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor", SCALAR_TENSOR),
    "matmul": ("matmul", None, None, NOT_IMPLEMENTED),
    "pow": ("pow.Tensor_Tensor", "pow.Tensor_Scalar", "pow.Scalar", SCALAR_TENSOR),
    "and_": ("bitwise_and.Tensor", "bitwise_and.Scalar", "bitwise_and.Scalar", SWAPPED_OPERANDS),
    "or_": ("bitwise_or.Tensor", "bitwise_or.Scalar", "bitwise_or.Scalar", SWAPPED_OPERANDS),
    "xor": ("bitwise_xor.Tensor", "bitwise_xor.Scalar", "bitwise_xor.Scalar", SWAPPED_OPERANDS),
    "lshift": ("bitwise_left_shift.Tensor", "bitwise_left_shift.Tensor_Scalar", "bitwise_left_shift.Scalar_Tensor",
               SCALAR_TENSOR),
    "rshift": ("bitwise_right_shift.Tensor", "bitwise_right_shift.Tensor_Scalar", "bitwise_right_shift.Scalar_Tensor",
               SCALAR_TENSOR),
    "lt": ("lt.Tensor", "lt.Scalar", None, NOT_IMPLEMENTED), "le": ("le.Tensor", "le.Scalar", None, NOT_IMPLEMENTED),
    "eq": ("eq.Tensor", "eq.Scalar", None, NOT_IMPLEMENTED), "ne": ("ne.Tensor", "ne.Scalar", None, NOT_IMPLEMENTED),
    "gt": ("gt.Tensor", "gt.Scalar", None, NOT_IMPLEMENTED), "ge": ("ge.Tensor", "ge.Scalar", None, NOT_IMPLEMENTED),
    "iadd": ("add.Tensor", "add.Scalar", None, NOT_IMPLEMENTED), "isub": ("sub.Tensor", "sub.Scalar", None,
                                                                          NOT_IMPLEMENTED),
    "imul": ("mul.Tensor", "mul.Scalar", None, NOT_IMPLEMENTED), "itruediv": ("div.Tensor", "div.Scalar", None,
                                                                              NOT_IMPLEMENTED),
    "ipow": ("pow.Tensor_Tensor", "pow.Tensor_Scalar", None, NOT_IMPLEMENTED),
    "ifloordiv": ("floor_divide", "floor_divide.Scalar", None, NOT_IMPLEMENTED),
    "imod": ("remainder.Tensor", "remainder.Scalar", None, NOT_IMPLEMENTED),
    "iand": ("bitwise_and.Tensor", "bitwise_and.Scalar", None, NOT_IMPLEMENTED),
    "ior": ("bitwise_or.Tensor", "bitwise_or.Scalar", None, NOT_IMPLEMENTED),
    "ixor": ("bitwise_xor.Tensor", "bitwise_xor.Scalar", None, NOT_IMPLEMENTED),
    "ilshift": ("bitwise_left_shift.Tensor", "bitwise_left_shift.Tensor_Scalar", None, NOT_IMPLEMENTED),
    "irshift": ("bitwise_right_shift.Tensor", "bitwise_right_shift.Tensor_Scalar", None, NOT_IMPLEMENTED),
    "neg": ("neg", None, None, NOT_IMPLEMENTED), "abs": ("abs", None, None, NOT_IMPLEMENTED),
    "invert": ("bitwise_not", None, None, NOT_IMPLEMENTED)}
# The names in profiles that differ from the row's.
cdef dict PROFILED_NAMES = {
    "and_": "__and__", "or_": "__or__", "xor": "__xor__", "lshift": "__lshift__", "rshift": "__rshift__",
    "iand": "__iand__", "ior": "__ior__", "ixor": "__ixor__", "ilshift": "__ilshift__", "irshift": "__irshift__"}
cdef Operator RECIPROCAL_OPERATOR = find_operator("reciprocal")


cdef dict overloads_by_row():
    """Row -> (its overload, the parameters of the function), of _gen/functions.py."""
    from mindtorch._core._gen import functions
    found = {}
    for table in (functions.METHODS, functions.ATEN, functions.FUNCTIONS):
        for spec in table.values():
            if isinstance(spec, dict):
                found |= {overload[0]: (overload, spec["parameters"]) for overload in spec["overloads"]}
    return found


cdef OperandCall read_call(dict overloads, str key):
    cdef OperandCall call
    cdef int i
    if key is None:
        return None
    (_, target, _, conversions, defaults), parameters = overloads[key]
    call = OperandCall.__new__(OperandCall)
    call.op, call.constant_objects = find_operator(target), []
    load_operator(call.op)
    first, *others = conversions
    call.first, call.wraps_first = first[2], len(first) > 3
    call.second = -1
    rest = dict(defaults)
    if others:
        second = others.pop(0)
        call.second, call.wraps_second = second[2], len(second) > 3
    for parameter, _, argument, *_ in others:
        rest[argument] = parameters[parameter][1]
    for i, (argument, value) in enumerate(rest.items()):
        call.constant_arguments[i] = argument
        call.constant_objects.append(set_default_argument(&call.constants[i], call.op.argument_types[argument], value))
    call.constant_count = len(rest)
    return call


cdef list read_python_operators():
    overloads = overloads_by_row()
    found = []
    cdef PythonOperator made
    for i, slot in enumerate(SLOTS):
        tensors, number, left, reverse = OPERATOR_ROWS[slot]
        made = PythonOperator.__new__(PythonOperator)
        made.slot, made.reflected = slot, <ReflectedForm><int>reverse
        name = tensors.partition(".")[0] + "_" * (i >= SLOT_IADD)
        made.profiled_name = f"aten::{PROFILED_NAMES.get(slot, name)}"
        made.tensor_tensor, made.tensor_scalar = read_call(overloads, tensors), read_call(overloads, number)
        made.scalar_tensor = read_call(overloads, left)
        found.append(made)
    return found


cdef inline object run_operand_call(OperandCall call, Argument *arguments, bint inplace):
    cdef int i
    for i in range(call.constant_count):
        arguments[call.constant_arguments[i]] = call.constants[i]
    arguments[call.op.argument_count].object = <PyObject *>None
    return run_inplace(call.op, arguments) if inplace else run(call.op, arguments)


cdef inline object call_tensors(OperandCall call, object a, object b, bint inplace):
    cdef Argument arguments[MAX_ARGUMENTS]
    arguments[call.first].object, arguments[call.second].object = <PyObject *>a, <PyObject *>b
    return run_operand_call(call, arguments, inplace)


cdef object call_tensor_scalar(OperandCall call, object tensor, Scalar *number, bint inplace):
    cdef Argument arguments[MAX_ARGUMENTS]
    cdef TensorBase wrapped
    arguments[call.first].object = <PyObject *>tensor
    if call.wraps_second:
        wrapped = wrapped_scalar_tensor(number, <TensorBase>tensor)
        arguments[call.second].object = <PyObject *>wrapped
    else:
        arguments[call.second].scalar = number
    return run_operand_call(call, arguments, inplace)


cdef object call_scalar_tensor(OperandCall call, Scalar *number, object tensor):
    cdef Argument arguments[MAX_ARGUMENTS]
    cdef TensorBase wrapped
    arguments[call.second].object = <PyObject *>tensor
    if call.wraps_first:
        wrapped = wrapped_scalar_tensor(number, <TensorBase>tensor)
        arguments[call.first].object = <PyObject *>wrapped
    else:
        arguments[call.first].scalar = number
    return run_operand_call(call, arguments, False)


cdef object call_reflected(PythonOperator spec, Scalar *number, object b):
    cdef Argument arguments[2]
    if spec.reflected == SWAPPED_OPERANDS:
        return call_tensor_scalar(spec.scalar_tensor, b, number, False)
    if spec.reflected == SCALAR_TENSOR:
        return call_scalar_tensor(spec.scalar_tensor, number, b)
    if spec.reflected == WRAPPED_SCALAR:
        return call_tensors(spec.scalar_tensor, wrapped_scalar_tensor(number, <TensorBase>b), b, False)
    arguments[0].object, arguments[1].object = <PyObject *>b, <PyObject *>None
    return call_tensor_scalar(spec.scalar_tensor, run(RECIPROCAL_OPERATOR, arguments), number, False)


cdef object apply_operator(PythonOperator spec, object a, object b, bint inplace):
    cdef Scalar number
    if is_tensor(<PyObject *>a):
        if is_tensor(<PyObject *>b):
            return call_tensors(spec.tensor_tensor, a, b, inplace)
        if spec.tensor_scalar is not None and is_scalar(b):
            scalar_from_python(b, &number)
            return call_tensor_scalar(spec.tensor_scalar, a, &number, inplace)
    elif spec.reflected != NOT_IMPLEMENTED and is_scalar(a):
        scalar_from_python(a, &number)
        return call_reflected(spec, &number, b)
    if torch_function.activate_for_operands(a, b):
        return torch_function.handle_operator(spec.slot, (a, b))
    return NotImplemented


cdef object binary(int slot, object a, object b):
    if torch_function.observing:
        return binary_observed(<PythonOperator>PYTHON_OPERATORS[slot], a, b, slot >= SLOT_IADD)
    return apply_operator(<PythonOperator>PYTHON_OPERATORS[slot], a, b, slot >= SLOT_IADD)


cdef object binary_observed(PythonOperator spec, object a, object b, bint inplace):
    """`binary` while a profile runs or __torch_function__ is active."""
    cdef profiling.Range opened = None
    cdef object result
    if profiling.records_operators:
        reflected = spec.slot == "sub" and not isinstance(a, TensorBase)
        opened = profiling.open_range("aten::rsub" if reflected else spec.profiled_name, profiling.FUNCTION, "cpu_op")
        if opened is not None:
            profiling.set_shapes(opened, [a, b])
    try:
        if torch_function.active and torch_function.operands_are_overridden(a, b):
            result = torch_function.handle_operator(spec.slot, (a, b))
        else:
            result = apply_operator(spec, a, b, inplace)
    finally:
        profiling.close_range(opened)
    if opened is not None:
        profiling.set_flops(opened, result)
    return result


cdef object unary(int slot, object a):
    cdef PythonOperator spec = <PythonOperator>PYTHON_OPERATORS[slot]
    cdef profiling.Range opened = None
    cdef Argument arguments[2]
    if torch_function.active and torch_function.operands_are_overridden(a, a):
        return torch_function.handle_operator(spec.slot, (a,))
    if profiling.records_operators:
        opened = profiling.open_range(spec.profiled_name, profiling.FUNCTION, "cpu_op")
        if opened is not None:
            profiling.set_shapes(opened, [a])
    arguments[0].object, arguments[1].object = <PyObject *>a, <PyObject *>None
    try:
        return run(spec.tensor_tensor.op, arguments)
    finally:
        profiling.close_range(opened)


cdef tuple SLOTS = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "matmul", "pow", "and_", "or_", "xor", "lshift",
    "rshift", "lt", "le", "eq", "ne", "gt", "ge", "neg", "abs", "invert", "iadd", "isub", "imul", "itruediv", "ipow",
    "ifloordiv", "imod", "iand", "ior", "ixor", "ilshift", "irshift")       # in the order of Slot
cdef list PYTHON_OPERATORS = read_python_operators()
TENSOR_SLOTS.binary, TENSOR_SLOTS.unary = binary, unary
