"""__torch_function__: the test for handlers, and their calls. See torch_function.pyx."""
from cpython.ref cimport PyObject


cdef bint active                                       # whether the process has seen a class or mode with a handler
# Whether a mode, or the class of an operand, has a handler.
cdef bint operands_have_torch_function(object a, object b) except -1
# Calls the handlers for an operator of OPERATORS; NotImplemented where all of them return that.
cdef object handle_operator(str name, tuple operands)
cdef object handle_index(str name, tuple operands)    # the same of indexing; TypeError instead of NotImplemented
# Where an operand is neither tensor nor number: activates the protocol if its class has a handler; whether it did.
cdef bint activate_for_operands(object a, object b) except -1

# For functions that vectorcall calls.
# Whether a mode, or the class of one of the values, has a handler.
cdef bint array_has_torch_function(PyObject *const *values, Py_ssize_t count) noexcept
# The same after an error, which stays set.
cdef bint array_has_torch_function_after_error(PyObject *const *values, Py_ssize_t count) noexcept
# Calls the handlers.
cdef object handle_torch_function(PyObject *function, PyObject *const *values, Py_ssize_t count, PyObject *names)
# Clears the error, activates the protocol and calls the handlers.
cdef object handle_torch_function_after_error(PyObject *function, PyObject *const *values, Py_ssize_t count,
                                              PyObject *names)

# Disable or enable the protocol in this thread; both return the state before, for restore().
cdef unsigned int disable_all() noexcept
cdef unsigned int enable_all() noexcept
cdef void restore_state(unsigned int state) noexcept
