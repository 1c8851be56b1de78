"""__torch_function__: who is asked before an operator runs. See torch_function.pyx."""
from cpython.ref cimport PyObject


cdef bint active                                       # whether anybody may want to be asked: see activate()
cdef bint operands_ask(object a, object b) except -1   # whether an operator of Python has to ask
# What the operator `name` of OPERATORS gives once its operands, or a mode, were asked; NotImplemented where all pass.
cdef object ask_for_operator(str name, tuple operands)
cdef object ask_for_index(str name, tuple operands)    # the same of indexing: TypeError where all pass
# Where an operand is neither tensor nor number: whether it is of a class with __torch_function__, which is now known.
cdef bint discover(object a, object b) except -1

# Of functions that are entered by vectorcall: whether one of the values, or a mode, has to be asked; the same after an
# error, which stays as it is; the answer; and the answer where the error was the first that was heard of it.
cdef bint array_asks(PyObject *const *values, Py_ssize_t count) noexcept
cdef bint array_asked(PyObject *const *values, Py_ssize_t count) noexcept
cdef object ask_entry(PyObject *function, PyObject *const *values, Py_ssize_t count, PyObject *names)
cdef object ask_late(PyObject *function, PyObject *const *values, Py_ssize_t count, PyObject *names)

# Nobody is asked in this thread, or all are; both give the state that was, for restore().
cdef unsigned int hush() noexcept
cdef unsigned int wake() noexcept
cdef void restore(unsigned int state) noexcept
