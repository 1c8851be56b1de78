"""Checks of the random ops, named by rows as those of dispatch.pxd are: each raises torch's error or returns 0."""
from mindtorch._core.scalar cimport ScalarType
from mindtorch._core.tensor cimport TensorBase


cdef int check_own_elements(TensorBase self) except -1                     # each element gets a number of its own
cdef int check_uniform(TensorBase self, double low, double high) except -1
cdef int check_normal(TensorBase self, double std) except -1
cdef int check_probability(TensorBase self, double p) except -1            # bernoulli_
cdef int check_probabilities(TensorBase self, TensorBase p) except -1      # bernoulli_ with a tensor
