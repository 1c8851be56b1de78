"""One function runs every operator: what differs between them is in their rows (_core/_gen/rows.py)."""
from mindtorch._core.operators.operator cimport Argument, Operator, Rule, Rules
from mindtorch._core.tensor.dtype cimport ScalarType, Undefined
from mindtorch._core.tensor.tensor cimport Shape, TensorBase


# --- operators -------------------------------------------------------------------------------------------------------
# Running an operator by its row: device, dtypes, checks, shapes, results, kernel, history.


cdef dict ARGUMENT_TYPES          # the types of schemas: "Tensor" -> TENSOR

# Fills the Operator's fields from its row; find_operator gives one whose row has not been read yet.
cdef int load_operator(Operator op) except -1

# `arguments`: those of the schema, then for each result the tensor given as out=, or None. Gives the result, or a tuple
# of several; of operators on lists, a tuple of tensors. An operator that writes to `self` gives that.
cdef object run(Operator op, Argument *arguments)
# The in-place form: self is the first argument, and what is given back.
cdef object run_inplace(Operator op, Argument *arguments)

# What a rule gives; `dtypes` are those of the results.
cdef int evaluate_rule(const Rule *rule, Argument *arguments, const ScalarType *dtypes, Shape *shape) except? -1
cdef int run_checks(const Rules *checks, Argument *arguments, const ScalarType *dtypes) except -1
# The dtype that the operator's first result would have, after its checks.
cdef ScalarType result_dtype(Operator op, Argument *arguments) except? Undefined


# --- operators on lists of tensors -----------------------------------------------------------------------------------
# Operators on lists of tensors: _foreach_* and _fused_*.


# Reads what rows of such operators say beyond the others (load).
cdef int load_foreach(Operator op, dict row) except -1
# `arguments` as of run_operator.run. Where a device has a kernel for lists, and all tensors are alike (one dtype, one
# device, contiguous, nothing to record), and the operator on one tensor would give their dtype, the kernel takes the
# whole list. Otherwise the operator on one tensor runs for each: that is also what autograd records.
cdef object run_foreach(Operator op, Argument *arguments, bint inplace)
