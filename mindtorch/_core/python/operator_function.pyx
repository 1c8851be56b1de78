"""Functions and methods of operators, and Python's operators, as Python sees them."""
import inspect

from cpython.object cimport PyTypeObject
from cpython.ref cimport PyObject, Py_INCREF

from mindtorch import return_types

from mindtorch._core.operators.operator cimport (
    BOOL, BOOL_LIST, DTYPE, FLOAT, GENERATOR, INT, INT_LIST, MAX_ARGUMENTS, OPTIONAL_FLOAT, OPTIONAL_INT,
    OPTIONAL_SCALAR, OPTIONAL_TENSOR, SCALAR, SCALAR_LIST, TENSOR, TENSOR_LIST, Argument, Operator, as_operand,
    default_argument, find_operator, named as as_named, number_beside, number_like, number_to_read, optional_scalar,
    several_outs, wrapped_number,
)
from mindtorch._core.operators.run_operator cimport TYPES, load_operator, run, run_inplace
from mindtorch._core.python.conversion cimport (
    as_int, is_int, is_scalar_list, no_combination, optional_float, optional_tensor, parse_bools, parse_optional_int,
    parse_optional_ints, parse_varargs, require_bool, require_dtype, require_float, require_int, require_scalar,
    require_scalars, require_tensor, require_tensors, sizes_argument,
)
cimport mindtorch._core.python.profiling as profiling
cimport mindtorch._core.python.torch_function as torch_function
from mindtorch._core.python.torch_function cimport OverridableFunction, Vectorcall, call_by_vector
cimport mindtorch._core.rules.array as array_rules
from mindtorch._core.tensor.dtype cimport Scalar, Undefined, is_scalar, scalar_from
from mindtorch._core.tensor.generator cimport require_generator
from mindtorch._core.tensor.tensor cimport OPERATORS, TensorBase


# --- functions and methods -------------------------------------------------------------------------------------------
# What torch.add and Tensor.add are: one class, and data (_core/_gen/functions.py).
#
# A call goes: entered by vectorcall; `bind` finds the parameters; the first overload whose tests hold converts its
# arguments; run_operator.pyx does the rest. __torch_function__ and profiles are a test at the entry: torch_function.pyx.


cdef extern from "Python.h":
    Py_ssize_t PyVectorcall_NARGS(size_t nargsf) noexcept
    Py_ssize_t PyTuple_GET_SIZE(PyObject *value) noexcept
    PyObject *PyList_GET_ITEM(PyObject *value, Py_ssize_t index) noexcept
    void Py_DECREF(PyObject *value) noexcept
    PyObject *PyTuple_GET_ITEM(PyObject *value, Py_ssize_t index) noexcept
    object PyMethod_New(object function, object self)

cdef enum:
    MAX_SHAPES = 8
    NO_TEST = 255           # an overload that lacks the parameter: it must be None

# A function that returns an object, seen from C: NULL after an error.
ctypedef PyObject *(*WithStorage)(PyObject *, PyObject *, PyObject **, Storage *) noexcept
ctypedef object (*Finished)(OperatorFunction, Overload, PyObject **)       # and the other way round

cdef struct Storage:        # what arguments point to, for one call
    Scalar numbers[MAX_PARAMETERS]
    Shape shapes[MAX_SHAPES]
    double reals[MAX_PARAMETERS]
    int shape_count
    PyObject *owned[MAX_PARAMETERS + 1]     # references that the call gives back at its end
    int owned_count

cdef dict BECOME = {"number_like": NUMBER_LIKE, "number_to_read": NUMBER_TO_READ, "number_beside": NUMBER_BESIDE,
                    "only_number": ONLY_NUMBER, "packed": PACKED}
cdef object REQUIRED = Ellipsis


# --- reading specifications ------------------------------------------------------------------------------------------

cdef Overload read_overload(tuple spec, OperatorFunction function):
    cdef Overload overload = Overload.__new__(Overload)
    cdef Conversion *conversion
    cdef int i
    _, key, tests, conversions, defaults = spec
    overload.op = find_operator(key)
    if not overload.op.loaded:
        load_operator(overload.op)
    overload.kept = []
    tested = {parameter for parameter, _ in tests}
    for i, (parameter, kind) in enumerate(tests):
        overload.tests[i] = parameter
        overload.test_types[i] = <int>TYPES[kind] if kind else NO_TEST
    overload.test_count = len(tests)
    overload.beside = -1
    for i, (parameter, kind, place, *become) in enumerate(conversions):
        conversion = &overload.conversions[i]
        conversion.parameter, conversion.place = parameter, place
        conversion.type = <ArgumentType><int>TYPES[kind]
        conversion.tested = parameter in tested
        conversion.position = 0 if parameter >= function.positional else parameter + 1 - function.method
        conversion.become = <Become><int>BECOME[become[0]] if become else ITSELF
        if conversion.type == TENSOR and overload.beside < 0 and function.names[parameter] != "condition":
            overload.beside = parameter
    overload.conversion_count = len(conversions)
    for i, (place, value) in enumerate(defaults.items()):
        overload.default_places[i] = place
        overload.kept.append(default_argument(&overload.defaults[i], overload.op.types[place], value))
    overload.default_count = len(defaults)
    return overload


cdef int read(OperatorFunction function) except -1:
    """Read the specification, at the first call."""
    cdef int i
    cdef dict spec = function.specification
    parameters = spec["parameters"]
    function.count = len(parameters)
    function.positional = sum([not keyword_only for _, _, keyword_only, _ in parameters])
    function.names = tuple([name for name, _, _, _ in parameters])
    function.defaults = tuple([default for _, default, _, _ in parameters])
    function.synonyms = {synonym: i for i, (_, _, _, synonyms) in enumerate(parameters) for synonym in synonyms}
    function.encoded = function.name.encode()
    function.encoded_names = [name.rstrip("_").encode() for name in function.names]
    function.results = spec.get("results", 0)
    function.method, function.inplace = spec.get("method", False), spec.get("inplace", False)
    function.takes_numbers, function.of_many = spec.get("takes_numbers", False), spec.get("of_many", False)
    function.named = getattr(return_types, function.name) if spec.get("named") else None
    function.expected = spec.get("expected")
    function.encoded_name = function.encoded
    for i in range(function.count):
        function.name_at[i] = <PyObject *>function.names[i]
        function.default_at[i] = NULL if function.defaults[i] is REQUIRED else <PyObject *>function.defaults[i]
        function.encoded_at[i] = <bytes>function.encoded_names[i]
    function.overloads = [read_overload(overload, function) for overload in spec["overloads"]]
    function.overload_count = len(function.overloads)
    function.only = function.overloads[0] if function.overload_count == 1 else None
    function.specification = None
    return 0


# --- binding ---------------------------------------------------------------------------------------------------------

cdef int find_parameter(OperatorFunction function, PyObject *name) except -2:
    """The parameter of that name; `count` for out=; -1 where there is none."""
    cdef int i
    for i in range(function.count):
        if function.name_at[i] == name:
            return i
    text = <object>name
    for i in range(function.count):
        if function.names[i] == text:
            return i
    if function.results and text == "out":
        return function.count
    return function.synonyms.get(text, -1)


cdef int bind(OperatorFunction function, PyObject **bound, PyObject *const *values, Py_ssize_t given,
              PyObject *names) except -1:
    """`bound`: for each parameter its value; the last is out=. TypeError where they do not fit."""
    cdef Py_ssize_t i, named = 0 if names == NULL else PyTuple_GET_SIZE(names)
    cdef int place
    if given > function.positional:
        for i in range(function.count):
            bound[i] = NULL
        too_many(function, bound, values, given, names)
    for i in range(given):
        bound[i] = values[i]
    for i in range(given, function.count + 1):
        bound[i] = NULL
    for i in range(named):
        place = find_parameter(function, PyTuple_GET_ITEM(names, i))
        if place < 0 or bound[place] != NULL:
            wrong_keyword(function, bound, values, given, names, <object>PyTuple_GET_ITEM(names, i), place)
        bound[place] = values[given + i]
    for i in range(function.count):
        if bound[i] == NULL:
            if function.default_at[i] == NULL:
                missing(function, bound, values, given, names)
            bound[i] = function.default_at[i]
    if bound[function.count] == NULL:
        bound[function.count] = <PyObject *>None
    return 0


cdef int refuse(OperatorFunction function, PyObject *const *values, Py_ssize_t given, PyObject *names) except -1:
    """What torch says where no overload fits."""
    cdef Py_ssize_t i, named = 0 if names == NULL else PyTuple_GET_SIZE(names)
    positional = tuple([<object>values[i] for i in range(function.method, given)])
    keywords = {<object>PyTuple_GET_ITEM(names, i): <object>values[given + i] for i in range(named)}
    return no_combination(function.encoded, positional, keywords, function.expected)


cdef int too_many(OperatorFunction function, PyObject **bound, PyObject *const *values, Py_ssize_t given,
                  PyObject *names) except -1:
    if function.expected is not None:
        refuse(function, values, given, names)
    count = function.positional - function.method
    if count == 0:
        raise TypeError(f"{function.name}() takes no arguments ({given - function.method} given)")
    raise TypeError(f"{function.name}() takes {count} positional argument{'' if count == 1 else 's'} but "
                    f"{given - function.method} were given")


cdef int missing(OperatorFunction function, PyObject **bound, PyObject *const *values, Py_ssize_t given,
                 PyObject *names) except -1:
    if function.expected is not None:
        refuse(function, values, given, names)
    absent = [f'"{name}"' for i, (name, default) in enumerate(zip(function.names, function.defaults))
              if default is REQUIRED and bound[i] == NULL]
    raise TypeError(f"{function.name}() missing {len(absent)} required positional "
                    f"argument{'s' if len(absent) == 1 else ''}: {', '.join(absent)}")


cdef int wrong_keyword(OperatorFunction function, PyObject **bound, PyObject *const *values, Py_ssize_t given,
                       PyObject *names, object name, int place) except -1:
    if place >= 0:
        raise TypeError(f"{function.name}() got multiple values for argument '{name}'")
    if function.expected is not None:
        refuse(function, values, given, names)
    for i in range(function.count):
        if bound[i] == NULL and function.defaults[i] is REQUIRED and function.names[i] not in <object>names:
            missing(function, bound, values, given, names)
    raise TypeError(f"{function.name}() got an unexpected keyword argument '{name}'")


# --- choosing --------------------------------------------------------------------------------------------------------

cdef bint fits(object value, unsigned char type) except -1:
    if type == TENSOR:
        return isinstance(value, TensorBase)
    if type == SCALAR:
        return is_scalar(value)
    if type == NO_TEST:
        return value is None
    if type == OPTIONAL_TENSOR:
        return value is None or isinstance(value, TensorBase)
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


cdef bint matches(PyObject *candidate, PyObject **bound) except -1:
    cdef Overload overload = <Overload>candidate
    cdef int i
    for i in range(overload.test_count):
        if not fits(<object>bound[overload.tests[i]], overload.test_types[i]):
            return False
    return True


# --- converting ------------------------------------------------------------------------------------------------------

cdef Shape *shape_in(Storage *storage) except NULL:
    if storage.shape_count == MAX_SHAPES:
        raise RuntimeError(f"an operator takes at most {MAX_SHAPES} lists of ints")
    storage.shape_count += 1
    return &storage.shapes[storage.shape_count - 1]


cdef int own(Storage *storage, object value, Argument *argument) except -1:
    """Have the argument borrow a new object, which lives as long as the call."""
    Py_INCREF(value)
    storage.owned[storage.owned_count] = <PyObject *>value
    storage.owned_count += 1
    argument.object = <PyObject *>value
    return 0


cdef int convert(OperatorFunction function, Conversion *conversion, PyObject *given, Argument *argument,
                 Storage *storage) except -1:
    cdef const char *name = function.encoded_at[conversion.parameter]
    cdef const char *where = function.encoded_name
    cdef object value
    cdef int position = conversion.position
    cdef ArgumentType type = conversion.type
    cdef Shape *shape
    if type == TENSOR:
        if not conversion.tested and not isinstance(<object>given, TensorBase):
            require_tensor(<object>given, where, name, position)
        argument.object = given
        return 0
    value = <object>given
    if type == SCALAR:
        argument.scalar = &storage.numbers[conversion.parameter]
        if conversion.tested:
            scalar_from(value, &storage.numbers[conversion.parameter])
        else:
            require_scalar(value, &storage.numbers[conversion.parameter], where, name, position)
    elif type == INT:
        argument.integer = as_int(value) if conversion.tested else require_int(value, where, name, position)
    elif type == BOOL:
        argument.integer = require_bool(value, where, name, position)
    elif type == INT_LIST or type == OPTIONAL_INT or type == BOOL_LIST:
        shape = shape_in(storage)
        if type == INT_LIST:
            parse_optional_ints(value, shape, where, name, position)
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
        own(storage, value, argument)
    return 0


cdef int become(OperatorFunction function, Overload overload, Conversion *conversion, PyObject **bound,
                Argument *argument, Storage *storage) except -1:
    """A number where the operator takes a tensor, or the other way round."""
    cdef TensorBase tensor
    if conversion.become == ONLY_NUMBER:
        argument.real = array_rules.only_number(<TensorBase>argument.object)
        return 0
    if conversion.become == PACKED:
        return own(storage, array_rules.packed(<TensorBase>argument.object, require_tensors(
            <object>bound[0], function.encoded, <bytes>function.encoded_names[0], 1)), argument)
    if conversion.become == NUMBER_BESIDE:
        tensor = number_beside(argument.scalar, require_tensor(<object>bound[0], function.encoded, b"condition", 1))
    elif conversion.become == NUMBER_TO_READ:
        tensor = number_to_read(argument.scalar, <TensorBase>bound[overload.beside])
    else:
        tensor = number_like(argument.scalar, <TensorBase>bound[overload.beside])
    return own(storage, tensor, argument)


cdef PyObject *call_overload(OperatorFunction function, Overload overload, PyObject **bound) noexcept:
    """A new reference to the result; NULL after an error."""
    cdef Storage storage
    cdef PyObject *result
    storage.shape_count = storage.owned_count = 0
    result = (<WithStorage>convert_and_run)(<PyObject *>function, <PyObject *>overload, bound, &storage)
    while storage.owned_count:
        storage.owned_count -= 1
        Py_DECREF(storage.owned[storage.owned_count])
    return result


cdef object convert_and_run(PyObject *callable, PyObject *chosen, PyObject **bound, Storage *storage):
    cdef OperatorFunction function = <OperatorFunction>callable
    cdef Overload overload = <Overload>chosen
    cdef Argument arguments[MAX_ARGUMENTS]
    cdef Operator op = overload.op
    cdef Conversion *conversion
    cdef PyObject *out
    cdef int i
    for i in range(overload.conversion_count):
        conversion = &overload.conversions[i]
        convert(function, conversion, bound[conversion.parameter], &arguments[conversion.place], storage)
        if conversion.become != ITSELF:
            become(function, overload, conversion, bound, &arguments[conversion.place], storage)
    for i in range(overload.default_count):
        arguments[overload.default_places[i]] = overload.defaults[i]
    if function.inplace:
        if not op.of_lists:
            return run_inplace(op, arguments)
        run_inplace(op, arguments)
        return <object>bound[0] if op.each is not None else None        # the very list that was given
    out = bound[function.count]
    if op.results == 1 and not op.of_lists:
        if out != <PyObject *>None:
            optional_tensor(<object>out, function.encoded_name, b"out")
        arguments[op.count].object = out
        return run(op, arguments)
    if out != <PyObject *>None:
        outs = several_outs(<object>out, op.results, function.encoded, function.count)
        own(storage, outs, &arguments[op.count])
        for i in range(op.results):
            arguments[op.count + i].object = <PyObject *>(<tuple>outs)[i]
    else:
        for i in range(op.results):
            arguments[op.count + i].object = <PyObject *>None
    results = run(op, arguments)
    return results if function.named is None or op.results < 2 else as_named(function.named, results)


# --- entries ---------------------------------------------------------------------------------------------------------

cdef object invoke(PyObject *callable, PyObject *const *values, Py_ssize_t given, PyObject *names):
    """The call itself."""
    cdef OperatorFunction function = <OperatorFunction>callable
    cdef PyObject *bound[MAX_PARAMETERS + 1]
    if function.specification is not None:
        read(function)
    if function.of_many:
        return invoke_of_many(function, values, given, names)
    bind(function, bound, values, given, names)
    if function.takes_numbers and not isinstance(<object>bound[0], TensorBase):
        return invoke_on_number(function, bound, values, given, names)
    return choose(function, bound, values, given, names)


cdef object invoke_on_number(OperatorFunction function, PyObject **bound, PyObject *const *values, Py_ssize_t given,
                             PyObject *names):
    """The same with a number as the first operand, which becomes a tensor beside the other."""
    operand = as_operand(<object>bound[0], <object>bound[1])
    bound[0] = <PyObject *>operand
    return choose(function, bound, values, given, names)


cdef object choose(OperatorFunction function, PyObject **bound, PyObject *const *values, Py_ssize_t given,
                   PyObject *names):
    """Call the first overload that the arguments fit."""
    cdef PyObject *overload
    cdef int i
    if function.overload_count == 1:
        return (<Finished>call_overload)(function, function.only, bound)
    for i in range(function.overload_count):
        overload = PyList_GET_ITEM(<PyObject *>function.overloads, i)
        if matches(overload, bound):
            return (<Finished>call_overload)(function, <Overload>overload, bound)
    if function.expected is not None:
        refuse(function, values, given, names)
    require_tensors_of(function, bound)
    return refuse(function, values, given, names)


cdef int require_tensors_of(OperatorFunction function, PyObject **bound) except -1:
    """Of the one overload that torch shows, the first argument that ought to be a tensor."""
    cdef Overload shown = <Overload>function.overloads[0]
    cdef Conversion *conversion
    cdef int i
    for i in range(shown.conversion_count):
        conversion = &shown.conversions[i]
        if conversion.type == TENSOR:
            require_tensor(<object>bound[conversion.parameter], function.encoded,
                           <bytes>function.encoded_names[conversion.parameter], conversion.position)
    return 0


cdef object invoke_of_many(OperatorFunction function, PyObject *const *values, Py_ssize_t given, PyObject *names):
    """A method of one list of ints, which may come as several arguments: x.flip(0, 1)."""
    cdef Argument arguments[3]
    cdef Overload overload = <Overload>function.overloads[0]
    cdef Py_ssize_t i
    cdef Shape sizes
    cdef dict keywords = {}
    if names != NULL:
        for i in range(PyTuple_GET_SIZE(names)):
            keywords[<object>PyTuple_GET_ITEM(names, i)] = <object>values[given + i]
    self = require_tensor(<object>values[0] if given else None, function.encoded, b"self", 0)
    args = tuple([<object>values[i] for i in range(1, given)])
    parse_varargs(sizes_argument(args, keywords, function.name, function.names[1]), &sizes, function.encoded,
                  <bytes>function.encoded_names[1])
    arguments[0].object, arguments[1].ints = <PyObject *>self, &sizes
    arguments[2].object = <PyObject *>None
    return run(overload.op, arguments)


cdef object run_function(PyObject *function, PyObject *const *values, size_t nargsf, PyObject *names):
    return invoke(function, values, PyVectorcall_NARGS(nargsf), names)


# --- the objects -----------------------------------------------------------------------------------------------------

cdef class OperatorFunction(OverridableFunction):
    """A function of one operator, or of several with one name."""

    def __init__(self, str name, dict specification, str table):
        self.name, self.specification, self.table = name, specification, table
        self.module = "torch" if table == "FUNCTIONS" else "torch._ops"
        self.own, self.target = <Vectorcall>run_function, <PyObject *>self

    def __repr__(self):
        return f"<operator function {self.name}>"

    def __reduce__(self):
        return function_of, (self.table, self.name)

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
        keys = self._keys()
        return f"{self.name}{self.__signature__}. Schemas: {'; '.join(keys)}."

    def _keys(self):
        """The keys of the overloads."""
        return [spec[0] for spec in specification_of(self)["overloads"]]

    @property
    def __signature__(self):
        spec = specification_of(self)
        parameter = inspect.Parameter
        if spec.get("of_many"):
            return inspect.Signature([parameter("self", parameter.POSITIONAL_OR_KEYWORD),
                                      parameter("args", parameter.VAR_POSITIONAL),
                                      parameter("kwargs", parameter.VAR_KEYWORD)])
        made = [parameter(name, parameter.KEYWORD_ONLY if keyword_only else parameter.POSITIONAL_OR_KEYWORD,
                          default=parameter.empty if default is REQUIRED else default)
                for name, default, keyword_only, _ in spec["parameters"]]
        if spec.get("results"):
            made.append(parameter("out", parameter.KEYWORD_ONLY, default=None))
        made += [parameter(synonym, parameter.KEYWORD_ONLY, default=None)
                 for _, _, _, synonyms in spec["parameters"] for synonym in synonyms]
        return inspect.Signature(made)


cdef class OperatorMethod(OperatorFunction):
    """A method of Tensor."""

    def __get__(self, instance, owner):
        return self if instance is None else PyMethod_New(self, instance)

    @property
    def __qualname__(self):
        return f"Tensor.{self.name}"


call_by_vector(OperatorFunction, False)
call_by_vector(OperatorMethod, True)


cdef dict specification_of(OperatorFunction function):
    from mindtorch._core._gen import functions
    found = getattr(functions, function.table)[function.name]
    return found


def function_of(str table, str name):
    """The function of that name in a table of mindtorch._core._gen.namespace: what pickles refer to."""
    from mindtorch._core._gen import namespace
    return getattr(namespace, table)[name]


def make_functions(dict specifications, str table):
    """{name: function} of a table of _gen/functions.py, in which a name may stand for another."""
    kind = OperatorMethod if table == "METHODS" else OperatorFunction
    made = {name: kind(name, spec, table) for name, spec in specifications.items() if isinstance(spec, dict)}
    return {name: made[name if isinstance(spec, dict) else spec] for name, spec in specifications.items()}


# --- Python's operators ----------------------------------------------------------------------------------------------
# Python's operators: what `a + b` runs, in OPERATORS of tensor.pxd.
#
# Each sees the operands in Python's order; either may be the tensor. What is no tensor and no number gets
# NotImplemented, so that the other operand's type can answer.


cdef enum Reverse:              # what a number on the left does
    REFUSED                     # torch's tensors answer through the other operator: 1 < x is x > 1
    SWAPPED                     # the operator for (tensor, number) takes them
    IN_ORDER                    # the operator for (number, tensor)
    WRAPPED                     # it becomes a tensor
    RECIPROCAL                  # number / tensor is number * (1 / tensor)

cdef class Call:
    """An operator, and its arguments beyond the two operands."""
    cdef Operator op
    cdef int first, second                      # the places of the operands
    cdef bint first_wrapped, second_wrapped     # whether a number becomes a tensor there
    cdef int rest_count
    cdef int rest_places[MAX_ARGUMENTS]
    cdef Argument rest[MAX_ARGUMENTS]
    cdef list kept                              # what they point to

cdef class NumberOperator:
    cdef str slot                               # of OPERATORS
    cdef str event                              # the name in profiles
    cdef Call of_tensors, with_number, of_number
    cdef Reverse reverse

# slot -> rows for (tensor, tensor), (tensor, number), and a number on the left.
cdef dict BINARY = {
    "add": ("add.Tensor", "add.Scalar", "add.Scalar", SWAPPED),
    "sub": ("sub.Tensor", "sub.Scalar", "rsub.Scalar", SWAPPED),
    "mul": ("mul.Tensor", "mul.Scalar", "mul.Scalar", SWAPPED),
    "truediv": ("div.Tensor", "div.Scalar", "mul.Scalar", RECIPROCAL),
    "floordiv": ("floor_divide", "floor_divide.Scalar", "floor_divide", WRAPPED),
    "mod": ("remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor", IN_ORDER),
    "matmul": ("matmul", None, None, REFUSED),
    "pow": ("pow.Tensor_Tensor", "pow.Tensor_Scalar", "pow.Scalar", IN_ORDER),
    "and_": ("bitwise_and.Tensor", "bitwise_and.Scalar", "bitwise_and.Scalar", SWAPPED),
    "or_": ("bitwise_or.Tensor", "bitwise_or.Scalar", "bitwise_or.Scalar", SWAPPED),
    "xor": ("bitwise_xor.Tensor", "bitwise_xor.Scalar", "bitwise_xor.Scalar", SWAPPED),
    "lshift": ("bitwise_left_shift.Tensor", "bitwise_left_shift.Tensor_Scalar", "bitwise_left_shift.Scalar_Tensor",
               IN_ORDER),
    "rshift": ("bitwise_right_shift.Tensor", "bitwise_right_shift.Tensor_Scalar", "bitwise_right_shift.Scalar_Tensor",
               IN_ORDER),
    "lt": ("lt.Tensor", "lt.Scalar", None, REFUSED), "le": ("le.Tensor", "le.Scalar", None, REFUSED),
    "eq": ("eq.Tensor", "eq.Scalar", None, REFUSED), "ne": ("ne.Tensor", "ne.Scalar", None, REFUSED),
    "gt": ("gt.Tensor", "gt.Scalar", None, REFUSED), "ge": ("ge.Tensor", "ge.Scalar", None, REFUSED),
    "iadd": ("add.Tensor", "add.Scalar", None, REFUSED), "isub": ("sub.Tensor", "sub.Scalar", None, REFUSED),
    "imul": ("mul.Tensor", "mul.Scalar", None, REFUSED), "itruediv": ("div.Tensor", "div.Scalar", None, REFUSED),
    "ipow": ("pow.Tensor_Tensor", "pow.Tensor_Scalar", None, REFUSED),
    "ifloordiv": ("floor_divide", "floor_divide.Scalar", None, REFUSED),
    "imod": ("remainder.Tensor", "remainder.Scalar", None, REFUSED),
    "iand": ("bitwise_and.Tensor", "bitwise_and.Scalar", None, REFUSED),
    "ior": ("bitwise_or.Tensor", "bitwise_or.Scalar", None, REFUSED),
    "ixor": ("bitwise_xor.Tensor", "bitwise_xor.Scalar", None, REFUSED),
    "ilshift": ("bitwise_left_shift.Tensor", "bitwise_left_shift.Tensor_Scalar", None, REFUSED),
    "irshift": ("bitwise_right_shift.Tensor", "bitwise_right_shift.Tensor_Scalar", None, REFUSED),
    "neg": ("neg", None, None, REFUSED), "abs": ("abs", None, None, REFUSED),
    "invert": ("bitwise_not", None, None, REFUSED)}
# What profiles call them where that is not the row's name.
cdef dict EVENTS = {
    "and_": "__and__", "or_": "__or__", "xor": "__xor__", "lshift": "__lshift__", "rshift": "__rshift__",
    "iand": "__iand__", "ior": "__ior__", "ixor": "__ixor__", "ilshift": "__ilshift__", "irshift": "__irshift__"}
cdef set UNARY = {"neg", "abs", "invert"}
cdef tuple INPLACE = ("iadd", "isub", "imul", "itruediv", "ipow", "ifloordiv", "imod", "iand", "ior", "ixor", "ilshift",
                      "irshift")
cdef Operator RECIPROCAL_OF = find_operator("reciprocal")


# --- reading the tables ----------------------------------------------------------------------------------------------

cdef dict overloads_by_row():
    """Row -> its overload, and the parameters of the function, as in _gen/functions.py."""
    from mindtorch._core._gen import functions
    found = {}
    for table in (functions.METHODS, functions.ATEN, functions.FUNCTIONS):
        for spec in table.values():
            if isinstance(spec, dict):
                found |= {overload[0]: (overload, spec["parameters"]) for overload in spec["overloads"]}
    return found


cdef Call read_call(dict overloads, str key):
    cdef Call call
    cdef int i
    if key is None:
        return None
    (_, target, _, conversions, defaults), parameters = overloads[key]
    call = Call.__new__(Call)
    call.op, call.kept = find_operator(target), []
    load_operator(call.op)
    first, *others = conversions
    call.first, call.first_wrapped = first[2], len(first) > 3
    call.second = -1
    rest = dict(defaults)
    if others:
        second = others.pop(0)
        call.second, call.second_wrapped = second[2], len(second) > 3
    for parameter, _, place, *_ in others:
        rest[place] = parameters[parameter][1]
    for i, (place, value) in enumerate(rest.items()):
        call.rest_places[i] = place
        call.kept.append(default_argument(&call.rest[i], call.op.types[place], value))
    call.rest_count = len(rest)
    return call


cdef list read_all():
    overloads = overloads_by_row()
    found = []
    cdef NumberOperator made
    for slot in SLOTS:
        tensors, number, left, reverse = BINARY[slot]
        made = NumberOperator.__new__(NumberOperator)
        made.slot, made.reverse = slot, <Reverse><int>reverse
        name = tensors.partition(".")[0] + "_" * (slot in INPLACE)
        made.event = f"aten::{EVENTS.get(slot, name)}"
        made.of_tensors, made.with_number = read_call(overloads, tensors), read_call(overloads, number)
        made.of_number = read_call(overloads, left)
        found.append(made)
    return found


# --- running ---------------------------------------------------------------------------------------------------------

cdef inline object finish_call(Call call, Argument *arguments, bint inplace):
    cdef int i
    for i in range(call.rest_count):
        arguments[call.rest_places[i]] = call.rest[i]
    arguments[call.op.count].object = <PyObject *>None
    return run_inplace(call.op, arguments) if inplace else run(call.op, arguments)


cdef inline object call_tensors(Call call, object a, object b, bint inplace):
    cdef Argument arguments[MAX_ARGUMENTS]
    arguments[call.first].object, arguments[call.second].object = <PyObject *>a, <PyObject *>b
    return finish_call(call, arguments, inplace)


cdef object call_with_number(Call call, object tensor, Scalar *number, bint inplace):
    cdef Argument arguments[MAX_ARGUMENTS]
    cdef TensorBase wrapped
    arguments[call.first].object = <PyObject *>tensor
    if call.second_wrapped:
        wrapped = wrapped_number(number, <TensorBase>tensor)
        arguments[call.second].object = <PyObject *>wrapped
    else:
        arguments[call.second].scalar = number
    return finish_call(call, arguments, inplace)


cdef object call_of_number(Call call, Scalar *number, object tensor):
    cdef Argument arguments[MAX_ARGUMENTS]
    cdef TensorBase wrapped
    arguments[call.second].object = <PyObject *>tensor
    if call.first_wrapped:
        wrapped = wrapped_number(number, <TensorBase>tensor)
        arguments[call.first].object = <PyObject *>wrapped
    else:
        arguments[call.first].scalar = number
    return finish_call(call, arguments, False)


cdef object number_on_the_left(NumberOperator spec, Scalar *number, object b):
    cdef Argument arguments[2]
    if spec.reverse == SWAPPED:
        return call_with_number(spec.of_number, b, number, False)
    if spec.reverse == IN_ORDER:
        return call_of_number(spec.of_number, number, b)
    if spec.reverse == WRAPPED:
        return call_tensors(spec.of_number, wrapped_number(number, <TensorBase>b), b, False)
    arguments[0].object, arguments[1].object = <PyObject *>b, <PyObject *>None
    return call_with_number(spec.of_number, run(RECIPROCAL_OF, arguments), number, False)


cdef object compute(NumberOperator spec, object a, object b, bint inplace):
    cdef Scalar number
    if isinstance(a, TensorBase):
        if isinstance(b, TensorBase):
            return call_tensors(spec.of_tensors, a, b, inplace)
        if spec.with_number is not None and is_scalar(b):
            scalar_from(b, &number)
            return call_with_number(spec.with_number, a, &number, inplace)
    elif spec.reverse != REFUSED and is_scalar(a):
        scalar_from(a, &number)
        return number_on_the_left(spec, &number, b)
    if torch_function.discover(a, b):
        return torch_function.ask_for_operator(spec.slot, (a, b))
    return NotImplemented


cdef inline object binary(int slot, object a, object b, bint inplace=False):
    if torch_function.watching:
        return watched(<NumberOperator>SPECIFICATIONS[slot], a, b, inplace)
    return compute(<NumberOperator>SPECIFICATIONS[slot], a, b, inplace)


cdef object watched(NumberOperator spec, object a, object b, bint inplace):
    """The same where a profile runs, or operands may have to be asked."""
    cdef profiling.Range opened = None
    cdef object result
    if profiling.records_operators:
        reflected = spec.slot == "sub" and not isinstance(a, TensorBase)
        opened = profiling.begin("aten::rsub" if reflected else spec.event, profiling.FUNCTION, "cpu_op")
        if opened is not None:
            profiling.note_shapes(opened, [a, b])
    try:
        if torch_function.active and torch_function.operands_ask(a, b):
            result = torch_function.ask_for_operator(spec.slot, (a, b))
        else:
            result = compute(spec, a, b, inplace)
    finally:
        profiling.end(opened)
    if opened is not None:
        profiling.note_flops(opened, result)
    return result


cdef object unary(int slot, object a):
    cdef NumberOperator spec = <NumberOperator>SPECIFICATIONS[slot]
    cdef profiling.Range opened = None
    cdef Argument arguments[2]
    if torch_function.active and torch_function.operands_ask(a, a):
        return torch_function.ask_for_operator(spec.slot, (a,))
    if profiling.records_operators:
        opened = profiling.begin(spec.event, profiling.FUNCTION, "cpu_op")
        if opened is not None:
            profiling.note_shapes(opened, [a])
    arguments[0].object, arguments[1].object = <PyObject *>a, <PyObject *>None
    try:
        return run(spec.of_tensors.op, arguments)
    finally:
        profiling.end(opened)


# --- the slots -------------------------------------------------------------------------------------------------------

cdef enum Slot:
    SLOT_ADD, SLOT_SUB, SLOT_MUL, SLOT_TRUEDIV, SLOT_FLOORDIV, SLOT_MOD, SLOT_MATMUL, SLOT_POW, SLOT_AND,
    SLOT_OR, SLOT_XOR, SLOT_LSHIFT, SLOT_RSHIFT, SLOT_LT, SLOT_LE, SLOT_EQ, SLOT_NE, SLOT_GT, SLOT_GE,
    SLOT_IADD, SLOT_ISUB, SLOT_IMUL, SLOT_ITRUEDIV, SLOT_IPOW, SLOT_IFLOORDIV, SLOT_IMOD, SLOT_IAND, SLOT_IOR,
    SLOT_IXOR, SLOT_ILSHIFT, SLOT_IRSHIFT, SLOT_NEG, SLOT_ABS, SLOT_INVERT

cdef tuple SLOTS = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "matmul", "pow", "and_", "or_", "xor", "lshift",
    "rshift", "lt", "le", "eq", "ne", "gt", "ge", "iadd", "isub", "imul", "itruediv", "ipow", "ifloordiv",
    "imod", "iand", "ior", "ixor", "ilshift", "irshift", "neg", "abs", "invert")
cdef list SPECIFICATIONS = read_all()


cdef object add(object a, object b):
    return binary(SLOT_ADD, a, b)


cdef object sub(object a, object b):
    return binary(SLOT_SUB, a, b)


cdef object mul(object a, object b):
    return binary(SLOT_MUL, a, b)


cdef object truediv(object a, object b):
    return binary(SLOT_TRUEDIV, a, b)


cdef object floordiv(object a, object b):
    return binary(SLOT_FLOORDIV, a, b)


cdef object mod(object a, object b):
    return binary(SLOT_MOD, a, b)


cdef object matmul(object a, object b):
    return binary(SLOT_MATMUL, a, b)


cdef object pow(object a, object b):
    return binary(SLOT_POW, a, b)


cdef object and_(object a, object b):
    return binary(SLOT_AND, a, b)


cdef object or_(object a, object b):
    return binary(SLOT_OR, a, b)


cdef object xor(object a, object b):
    return binary(SLOT_XOR, a, b)


cdef object lshift(object a, object b):
    return binary(SLOT_LSHIFT, a, b)


cdef object rshift(object a, object b):
    return binary(SLOT_RSHIFT, a, b)


cdef object lt(object a, object b):
    return binary(SLOT_LT, a, b)


cdef object le(object a, object b):
    return binary(SLOT_LE, a, b)


cdef object eq(object a, object b):
    return binary(SLOT_EQ, a, b)


cdef object ne(object a, object b):
    return binary(SLOT_NE, a, b)


cdef object gt(object a, object b):
    return binary(SLOT_GT, a, b)


cdef object ge(object a, object b):
    return binary(SLOT_GE, a, b)


cdef object iadd(object a, object b):
    return binary(SLOT_IADD, a, b, True)


cdef object isub(object a, object b):
    return binary(SLOT_ISUB, a, b, True)


cdef object imul(object a, object b):
    return binary(SLOT_IMUL, a, b, True)


cdef object itruediv(object a, object b):
    return binary(SLOT_ITRUEDIV, a, b, True)


cdef object ipow(object a, object b):
    return binary(SLOT_IPOW, a, b, True)


cdef object ifloordiv(object a, object b):
    return binary(SLOT_IFLOORDIV, a, b, True)


cdef object imod(object a, object b):
    return binary(SLOT_IMOD, a, b, True)


cdef object iand(object a, object b):
    return binary(SLOT_IAND, a, b, True)


cdef object ior(object a, object b):
    return binary(SLOT_IOR, a, b, True)


cdef object ixor(object a, object b):
    return binary(SLOT_IXOR, a, b, True)


cdef object ilshift(object a, object b):
    return binary(SLOT_ILSHIFT, a, b, True)


cdef object irshift(object a, object b):
    return binary(SLOT_IRSHIFT, a, b, True)


cdef object neg(object a):
    return unary(SLOT_NEG, a)


cdef object abs(object a):
    return unary(SLOT_ABS, a)


cdef object invert(object a):
    return unary(SLOT_INVERT, a)


OPERATORS.add = add
OPERATORS.sub = sub
OPERATORS.mul = mul
OPERATORS.truediv = truediv
OPERATORS.floordiv = floordiv
OPERATORS.mod = mod
OPERATORS.matmul = matmul
OPERATORS.pow = pow
OPERATORS.and_ = and_
OPERATORS.or_ = or_
OPERATORS.xor = xor
OPERATORS.lshift = lshift
OPERATORS.rshift = rshift
OPERATORS.lt = lt
OPERATORS.le = le
OPERATORS.eq = eq
OPERATORS.ne = ne
OPERATORS.gt = gt
OPERATORS.ge = ge
OPERATORS.iadd = iadd
OPERATORS.isub = isub
OPERATORS.imul = imul
OPERATORS.itruediv = itruediv
OPERATORS.ipow = ipow
OPERATORS.ifloordiv = ifloordiv
OPERATORS.imod = imod
OPERATORS.iand = iand
OPERATORS.ior = ior
OPERATORS.ixor = ixor
OPERATORS.ilshift = ilshift
OPERATORS.irshift = irshift
OPERATORS.neg = neg
OPERATORS.abs = abs
OPERATORS.invert = invert
