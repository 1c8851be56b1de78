"""Functions and methods of operators, and Python's operators, as Python sees them."""
from cpython.ref cimport PyObject

from mindtorch._core.tensor.tensor cimport Shape
from mindtorch._core.tensor.dtype cimport Scalar
from mindtorch._core.python.torch_function cimport OverridableFunction
from mindtorch._core.operators.operator cimport MAX_ARGUMENTS, Argument, ArgumentType, Operator


# --- functions and methods -------------------------------------------------------------------------------------------
# Python's functions and methods of operators: objects that bind arguments by a specification and run the operator.


cdef enum:
    MAX_PARAMETERS = 24

cdef enum Become:               # what an argument becomes beyond its own type
    ITSELF, NUMBER_LIKE, NUMBER_TO_READ, NUMBER_BESIDE, ONLY_NUMBER, PACKED

cdef struct Conversion:
    int parameter               # of the function
    ArgumentType type
    bint tested                 # the overload's tests have seen the type
    int position                # as the caller counts; 0: by keyword
    int place                   # the operator's argument
    Become become

cdef class Overload:
    cdef Operator op
    cdef int tests[MAX_PARAMETERS]              # parameters that decide whether the overload is meant
    cdef unsigned char test_types[MAX_PARAMETERS]
    cdef int test_count
    cdef Conversion conversions[MAX_PARAMETERS]
    cdef int conversion_count
    cdef int beside                             # the parameter that a number's tensor is like
    cdef int default_places[MAX_ARGUMENTS]      # of arguments that the overload does not have
    cdef Argument defaults[MAX_ARGUMENTS]
    cdef int default_count
    cdef list kept                              # what defaults point to

cdef class OperatorFunction(OverridableFunction):
    cdef readonly str name
    cdef str module, table
    cdef dict specification                     # None once it has been read
    cdef tuple names                            # of the parameters
    cdef tuple defaults                         # Ellipsis: required
    cdef PyObject *name_at[MAX_PARAMETERS]      # the same once more, without reference counts
    cdef PyObject *default_at[MAX_PARAMETERS]   # NULL: required
    cdef const char *encoded_at[MAX_PARAMETERS]     # names for messages
    cdef const char *encoded_name
    cdef dict synonyms                          # other names -> parameter
    cdef list encoded_names                     # for messages
    cdef bytes encoded
    cdef int count, positional                  # parameters without out=; those that may be given by position
    cdef int results                            # how many tensors out= is; 0: there is no out=
    cdef bint method, inplace, takes_numbers, of_many
    cdef type named                             # of return_types
    cdef str expected                           # the overloads as torch lists them
    cdef list overloads
    cdef int overload_count
    cdef Overload only                          # where there is one
