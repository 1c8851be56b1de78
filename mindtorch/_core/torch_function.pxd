"""__torch_function__: who is asked before an operator runs. See torch_function.pyx."""

cdef bint active                                       # whether anybody may want to be asked: see activate()
cdef bint operands_ask(object a, object b) except -1   # whether an operator of Python has to ask
# What the operator `name` of OPERATORS gives once its operands, or a mode, were asked; NotImplemented where all pass.
cdef object ask_for_operator(str name, tuple operands)
cdef object ask_for_index(str name, tuple operands)    # the same of indexing: TypeError where all pass
# Where an operand is neither tensor nor number: whether it is of a class with __torch_function__, which is now known.
cdef bint discover(object a, object b) except -1

# Nobody is asked in this thread, or all are; both give the state that was, for restore().
cdef unsigned int hush() noexcept
cdef unsigned int wake() noexcept
cdef void restore(unsigned int state) noexcept
