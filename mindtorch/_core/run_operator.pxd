"""Running an operator by its row: device, dtypes, checks, shapes, results, kernel, history."""
from mindtorch._core.operator cimport Argument, Operator, Rule, Rules
from mindtorch._core.scalar cimport ScalarType, Undefined
from mindtorch._core.tensor cimport Shape, TensorBase


cdef dict TYPES          # the types of schemas: "Tensor" -> TENSOR

# Fills the Operator's fields from its row; find_operator gives one whose row has not been read yet.
cdef int load(Operator op) except -1

# `arguments`: those of the schema, then for each result the tensor given as out=, or None. Gives the result, or a tuple
# of several; of operators on lists, a tuple of tensors. An operator that writes to `self` gives that.
cdef object run(Operator op, Argument *arguments)
# The in-place form: self is the first argument, and what is given back.
cdef object run_inplace(Operator op, Argument *arguments)

# What a rule gives; `dtypes` are those of the results.
cdef int evaluate(const Rule *rule, Argument *arguments, const ScalarType *dtypes, Shape *shape) except? -1
cdef int check_all(const Rules *checks, Argument *arguments, const ScalarType *dtypes) except -1
# The dtype that the operator's first result would have, after its checks.
cdef ScalarType result_dtype(Operator op, Argument *arguments) except? Undefined
