"""Functions and methods of operators: objects that bind Python's arguments by a specification and run an operator."""
from cpython.ref cimport PyObject

from mindtorch._core.python.torch_function cimport OverridableFunction
from mindtorch._core.operators.operator cimport MAX_ARGUMENTS, Argument, ArgumentType, Operator


cdef enum:
    MAX_PARAMETERS = 24

cdef enum SecondConversion:               # a second conversion, of a number to a tensor or the other way round
    NO_SECOND, PROMOTED_SCALAR, PROMOTED_HOST_SCALAR, INFERRED_SCALAR, SINGLE_NUMBER, PACKED_SCALARS

cdef struct Conversion:
    int parameter               # of the function
    ArgumentType type
    bint takes_int              # a list of ints, for which a number may stand
    bint takes_none             # a list of ints with a default, for which None may stand
    bint tested                 # the overload's tests have checked the type
    int position                # as the caller counts; 0: keyword only
    int argument                # the operator's argument
    SecondConversion second
    PyObject *default_value     # the parameter's default, for which the argument is `default_argument`; or NULL
    Argument default_argument

cdef class Overload:
    cdef Operator op
    cdef int tests[MAX_PARAMETERS]              # parameters whose types decide whether the overload matches
    cdef unsigned char test_types[MAX_PARAMETERS]
    cdef int test_count
    cdef Conversion conversions[MAX_PARAMETERS]
    cdef int conversion_count
    cdef int like_parameter                     # the tensor parameter whose dtype and device numbers take
    cdef int default_arguments[MAX_ARGUMENTS]   # arguments of the operator that the overload has no parameter for
    cdef Argument defaults[MAX_ARGUMENTS]
    cdef int default_count
    cdef list default_objects                   # keeps alive what `defaults` point to

cdef class OperatorFunction(OverridableFunction):
    cdef readonly str name
    cdef str module, table
    cdef dict specification                     # None after the first call has read it
    cdef tuple names                            # of the parameters
    cdef tuple defaults                         # Ellipsis: required
    cdef PyObject *name_pointers[MAX_PARAMETERS]      # borrowed from `names`
    cdef PyObject *default_pointers[MAX_PARAMETERS + 1]   # borrowed from `defaults`, and out='s None; NULL: required
    cdef bytes encoded                          # the name, for messages
    cdef const char *encoded_name_pointer               # points into `encoded`
    cdef list encoded_names                     # of the parameters, for messages
    cdef const char *encoded_name_pointers[MAX_PARAMETERS]     # point into `encoded_names`
    cdef dict aliases                          # other names -> parameter
    cdef int parameter_count, positional_count                  # parameters without out=; positional ones
    cdef int required_count                       # the parameters up to the last one without a default
    cdef int out_count                            # the number of tensors in out=; 0: the function has no out=
    cdef bint is_method, is_inplace, is_alias
    cdef bint accepts_number_self                     # self may be a number
    cdef bint varargs                           # a list of ints may be passed as several arguments: x.flip(0, 1)
    cdef type return_type                             # the class of return_types that the result has
    cdef dict older                             # number of values by position -> their parameters, in an older order
    cdef str signatures                           # the signatures, in torch's message where no overload matches
    cdef list overloads
    cdef int overload_count
    cdef Overload single_overload                          # the overload where there is one
