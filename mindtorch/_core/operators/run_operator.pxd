"""One function runs every operator: what differs between them is in their rows (_core/_gen/rows.py)."""
from mindtorch._core.operators.operator cimport Argument, Operator


cdef dict ARGUMENT_TYPES          # the types of schemas: "Tensor" -> TENSOR

# Fills the Operator's fields from its row, which find_operator does not read.
cdef int load_operator(Operator op) except -1

# `arguments`: those of the schema, then for each result the tensor given as out=, or None. Returns the result, or a
# tuple of several; of operators on lists, a tuple of tensors; of operators that write to `self`, that.
cdef object run(Operator op, Argument *arguments)
# The in-place form: self is the first argument; returns self.
cdef object run_inplace(Operator op, Argument *arguments)
