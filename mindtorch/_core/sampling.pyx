"""What the random ops refuse."""
from libc.math cimport isnan

from mindtorch._core.dtype cimport KIND, code_name
from mindtorch._core.infer cimport check_overlap, same
from mindtorch._core.scalar cimport COMPLEX_KIND, FLOAT_KIND, BFloat16, ComplexDouble, Double, Half
from mindtorch._core.tensor cimport Shape
from mindtorch._core.views cimport expand_to


cdef int check_own_elements(TensorBase self) except -1:
    return check_overlap(self)


cdef double largest(ScalarType dtype) noexcept:
    if dtype == Half:
        return 65504.0
    if dtype == BFloat16:
        return 3.3895313892515355e38
    return 1.7976931348623157e308 if dtype in (Double, ComplexDouble) else 3.4028234663852886e38


cdef int not_implemented(str name, ScalarType dtype) except -1:
    raise NotImplementedError(f"\"{name}\" not implemented for '{code_name(dtype)}'")


cdef int check_uniform(TensorBase self, double low, double high) except -1:
    if KIND[<int>self.dtype] < FLOAT_KIND:
        not_implemented("check_uniform_bounds", self.dtype)
    cdef double most = largest(self.dtype)
    name = {"Half": "c10::Half", "BFloat16": "c10::BFloat16", "Double": "double", "ComplexDouble": "double"}.get(
        code_name(self.dtype), "float")
    if not -most <= low <= most:
        raise RuntimeError(f"from is out of bounds for {name}")
    if not -most <= high <= most:
        raise RuntimeError(f"to is out of bounds for {name}")
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    if high - low > most:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{code_name(self.dtype)}>::max(), but found to={high:g} "
            f"and from={low:g} which result in to-from to exceed the limit")
    return check_overlap(self)


cdef int check_normal(TensorBase self, double std) except -1:
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    if KIND[<int>self.dtype] < FLOAT_KIND:
        not_implemented("normal_kernel_cpu", self.dtype)
    return check_overlap(self)


cdef int check_probability(TensorBase self, double p) except -1:
    if isnan(p) or not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    if KIND[<int>self.dtype] == COMPLEX_KIND:
        not_implemented("bernoulli_scalar_cpu_", self.dtype)
    return check_overlap(self)


cdef int check_probabilities(TensorBase self, TensorBase p) except -1:
    cdef Shape shape
    same(&shape, self)
    expand_to(p, &shape)
    if KIND[<int>p.dtype] != FLOAT_KIND:
        not_implemented("bernoulli_tensor_cpu_p_", p.dtype)
    if KIND[<int>self.dtype] == COMPLEX_KIND:
        not_implemented("bernoulli_tensor_cpu_self_", self.dtype)
    return check_overlap(self)
