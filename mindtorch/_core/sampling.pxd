"""Checks and shapes of the random ops, named by rows as those of dispatch.pxd are. A check raises torch's error."""
from libc.stdint cimport int64_t

from mindtorch._core.scalar cimport Scalar, ScalarType
from mindtorch._core.tensor cimport Shape, TensorBase


cdef int check_uniform(TensorBase self, double low, double high) except -1
cdef int check_normal(TensorBase self, double std) except -1
cdef int check_probability(TensorBase self, double p) except -1            # bernoulli_
cdef int check_chances(TensorBase p) except -1
cdef int check_probabilities(TensorBase self, TensorBase p) except -1      # bernoulli_ with a tensor
cdef int check_random(TensorBase self, int64_t low, const Shape *high) except -1     # no `high`: the dtype's largest
cdef int check_whole_range(TensorBase self) except -1
cdef int check_exponential(TensorBase self, double rate) except -1
cdef int check_geometric(TensorBase self, double p) except -1
cdef int check_cauchy(TensorBase self, double sigma) except -1
cdef int check_log_normal(TensorBase self, double std) except -1
cdef int check_multinomial(TensorBase self, int64_t count, bint replacement) except -1
cdef int check_rates(TensorBase self) except -1                             # poisson
cdef int check_binomial(TensorBase count, TensorBase prob) except -1
cdef int not_implemented(str name, ScalarType dtype) except -1             # always raises
cdef int check_rrelu(TensorBase self, const Scalar *lower, const Scalar *upper) except -1
cdef int check_dropout(TensorBase input, double p) except -1

cdef int dropout_mask(Shape *shape, TensorBase input) except -1             # bytes of eight elements each
cdef int multinomial(Shape *shape, TensorBase self, int64_t count) except -1
