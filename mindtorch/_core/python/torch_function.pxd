"""__torch_function__: who is asked before an operator runs. See torch_function.pyx."""
from cpython.ref cimport PyObject


cdef bint active                                       # whether anybody may want to be asked: see activate()
cdef bint watching                                     # whether that is so, or a profile records operators
cdef bint operands_ask(object a, object b) except -1   # whether an operator of Python has to ask
# What the operator `name` of OPERATORS gives once its operands, or a mode, were asked; NotImplemented where all pass.
cdef object ask_for_operator(str name, tuple operands)
cdef object ask_for_index(str name, tuple operands)    # the same of indexing: TypeError where all pass
# Where an operand is neither tensor nor number: whether it is of a class with __torch_function__, which is now known.
cdef bint discover(object a, object b) except -1

ctypedef PyObject *(*Vectorcall)(PyObject *function, PyObject *const *values, size_t nargsf, PyObject *names) noexcept

cdef class OverridableFunction:
    cdef Vectorcall vectorcall          # the entry, for all the same one
    cdef Vectorcall own                 # what runs where no handler overrides it
    cdef PyObject *target               # the function that `own` is called with
    cdef public str _profiled_name      # "aten::add", in profiles; None: not recorded
    cdef public object _public          # what handlers get; None: this object
    cdef object _unpack                 # what makes the arguments that handlers of classes get; None: nothing
    cdef bint _modes_only
    cdef object __weakref__

cdef class WrappedFunction(OverridableFunction):
    cdef readonly object __wrapped__

# Has objects of a class derived from OverridableFunction called by their entry, as methods where they bind.
cdef int call_by_vector(type kind, bint is_method) except -1

# Nobody is asked in this thread, or all are; both give the state that was, for restore().
cdef unsigned int hush() noexcept
cdef unsigned int wake() noexcept
cdef void restore(unsigned int state) noexcept
