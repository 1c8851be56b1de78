"""__torch_dispatch__: the test for handlers, and their calls. See torch_dispatch.pyx."""
from mindtorch._core.tensor.tensor cimport TensorBase


cdef bint active                                    # whether the process has seen a class or mode with a handler
cdef bint has_modes() noexcept                      # whether modes of this thread are in force
# Whether a mode, or the class of the tensor, has a handler. None is no tensor.
cdef bint dispatches(TensorBase tensor) noexcept
# What the handlers return for an operator of aten ("add.Tensor"); kwargs may be None.
cdef object call(str overload, tuple args, dict kwargs)
# The view that the handlers return for self and other arguments of the operator; `view` where there are none.
cdef TensorBase view_of(TensorBase view, TensorBase self, str overload, tuple args)
cdef list views_of(list views, TensorBase self, str overload, tuple args)
# make_alias; for a tensor with handlers what they return for detach.
cdef TensorBase alias_of(TensorBase tensor)
cdef int bump_version_unless(TensorBase tensor, unsigned int before) except -1   # a handler may have counted it
