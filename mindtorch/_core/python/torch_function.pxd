"""__torch_function__: the test for handlers, and their calls. See torch_function.pyx."""
from cpython.ref cimport PyObject


cdef bint active                                       # whether the process has seen a class or mode with a handler
cdef bint observing                                    # whether that is so, or a profile records operators
# Whether a mode, or the class of an operand, has a handler, or an operand is sparse.
cdef bint operands_are_overridden(object a, object b) except -1
# Calls the handlers for an operator of OPERATOR_METHODS; NotImplemented where all of them return that.
cdef object handle_operator(str name, tuple operands)
cdef object handle_index(str name, tuple operands)    # the same of indexing; TypeError instead of NotImplemented
# Activates the protocol if the class of an operand, which is neither tensor nor number, has a handler; whether it did.
cdef bint activate_for_operands(object a, object b) except -1

ctypedef PyObject *(*Vectorcall)(PyObject *function, PyObject *const *values, size_t nargsf, PyObject *names) noexcept

cdef class OverridableFunction:
    cdef Vectorcall vectorcall          # vectorcall_overridable
    cdef Vectorcall implementation      # what runs where no handler overrides it
    cdef PyObject *target               # the function that `implementation` is called with
    cdef public str _profiled_name      # "aten::add", in profiles; None: profiles do not record the function
    cdef public object _public          # the function that handlers get; None: this object
    cdef object _unpack                 # what makes the arguments that handlers of classes get; None: nothing
    cdef bint _modes_only
    cdef set _seen_types                # of arguments that fit (see check_types); None: they are not checked
    cdef object __weakref__

cdef class WrappedFunction(OverridableFunction):
    cdef readonly object __wrapped__
    cdef str _module, _name             # under which it is published; None: those of the wrapped function
    cdef bint _builtin                  # whether torch has it in C++
    cdef readonly bint _is_method       # of Tensor
    cdef tuple _location                   # (module of mindtorch, name) where pickles find it; None: by the name alone

# Has Python call objects of a class derived from OverridableFunction by `vectorcall`; is_method: they bind.
cdef int set_vectorcall_slot(type kind, bint is_method) except -1

# Disable or enable the protocol in this thread; both return the state before, for restore_state().
cdef unsigned int disable_all() noexcept
cdef unsigned int enable_all() noexcept
cdef void restore_state(unsigned int state) noexcept
