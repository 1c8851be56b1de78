"""Operators on lists of tensors: whether one kernel may take all of a list, and what else their functions share.

The names are those of op rows: together = ["may_norm(ord)"].
"""
from mindtorch._core.scalar cimport Scalar
from mindtorch._core.tensor cimport TensorBase


# Lengths, with torch's RuntimeErrors.
cdef Py_ssize_t length(list tensors) except -1
cdef int check_length(list tensors, list others) except -1
cdef int check_count(list tensors, tuple numbers) except -1

# Whether a kernel may take the list at once: one dtype (a bit of `dtypes`), one device, contiguous, nothing recorded.
cdef bint alike(list tensors, unsigned int dtypes) noexcept
cdef bint beside(list tensors, list others) noexcept        # others: as `tensors`, which are alike; shapes too

cdef list outputs(list tensors)                              # new tensors like these, which are alike
cdef int count_versions(list tensors) except -1
cdef int write(TensorBase self, TensorBase result) except -1     # in place of an in-place form that an op lacks
cdef int widest(tuple numbers, Scalar *number) except -1     # the one that decides about dtypes
cdef bint uniform(tuple numbers) except -1                   # all the same, in type as well
cdef tuple packed(TensorBase scalars, list tensors)          # the elements of a 1-d CPU tensor, one for each tensor
cdef double only_number(TensorBase tensor) except? -1.0      # of a tensor where an operator takes a number
cpdef TensorBase whole(list tensors)                         # a 1-d tensor that has them as elements, in order, or None

# Of the fused optimizers, which write to several lists.
cdef int check_any(list tensors, str op) except -1                     # NotImplementedError for an empty list
cdef int check_beside(list tensors, list others, str name) except -1   # as many, on the same device, of dtype and shape
cdef int check_beside_if(bint wanted, list tensors, list others, str name) except -1      # else `others` is empty
cdef int check_momentum(double momentum, list tensors, list others, str name) except -1
cdef int check_as_many(list tensors, list others, str name) except -1
cdef int check_all_float(list tensors, str op) except -1

# Of gradients that are scaled: RuntimeError unless the tensor has one element of that dtype; or lies where they all do.
cdef int check_one_float(TensorBase tensor, str name) except -1
cdef int check_one_int(TensorBase tensor, str name) except -1
cdef int check_on_device(list tensors, TensorBase other) except -1

cdef int check_scalar_tensor(TensorBase other) except -1
cdef int check_all_filled(list tensors) except -1
# Whether one number on the device may be an operand beside each of the tensors.
cdef bint may_share(list tensors, TensorBase other) noexcept
cdef bint may_norm(const Scalar *ord) noexcept               # aclnnForeachNorm knows the first and the second norm
# Divides the gradients by the scale. False, after a look at the device: some are not finite, nothing is to be done.
cdef bint may_step(list grads, TensorBase grad_scale, TensorBase found_inf) except -1
