# Rules of random numbers.
import warnings

from libc.math cimport INFINITY, isnan
from libc.stdint cimport INT64_MIN, int64_t

from mindtorch._core.operators.operator cimport check_kernel_float, raise_not_implemented
from mindtorch._core.rules.infer cimport check_no_internal_overlap, same_shape
from mindtorch._core.tensor.dtype cimport (
    COMPLEX_KIND, FLOAT_KIND, KIND, BFloat16, Bool, Byte, Char, ComplexDouble, Double, Float, Half, Int, Long, Scalar,
    ScalarType, Short, UInt16, UInt32, UInt64, default_dtype, dtype_name,
)
from mindtorch._core.tensor.tensor cimport CPU, Shape
from mindtorch._core.tensor.views cimport expand_to


cdef dict CPP_NAMES = {"Long": "long int", "Int": "int", "Short": "short int", "Char": "signed char",
                       "Byte": "unsigned char", "Bool": "bool"}


cdef double finfo_max(ScalarType dtype) noexcept:
    if dtype == Half:
        return 65504.0
    if dtype == BFloat16:
        return 3.3895313892515355e38
    return 1.7976931348623157e308 if dtype in (Double, ComplexDouble) else 3.4028234663852886e38


cdef int check_uniform(TensorBase self, double low, double high) except -1:
    """The bounds must be in order and fit the dtype; refuses bool and integers."""
    if KIND[<int>self.dtype] < FLOAT_KIND:
        raise_not_implemented("check_uniform_bounds", self.dtype)
    cdef double most = finfo_max(self.dtype)
    name = {"Half": "c10::Half", "BFloat16": "c10::BFloat16", "Double": "double", "ComplexDouble": "double"}.get(
        dtype_name(self.dtype), "float")
    if not -most <= low <= most:
        raise RuntimeError(f"from is out of bounds for {name}")
    if not -most <= high <= most:
        raise RuntimeError(f"to is out of bounds for {name}")
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    if high - low > most:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{dtype_name(self.dtype)}>::max(), but found to={high:g} "
            f"and from={low:g} which result in to-from to exceed the limit")
    return check_no_internal_overlap(self)


cdef int check_normal(TensorBase self, double std) except -1:
    """`std` must not be negative; refuses elements that are bools or integers."""
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    if self.numel and KIND[<int>self.dtype] < FLOAT_KIND:
        raise_not_implemented("normal_kernel_cpu", self.dtype)
    return check_no_internal_overlap(self)


cdef int check_bernoulli(TensorBase self, double p) except -1:
    """`p` must be in [0, 1]; refuses complex numbers, and memory that overlaps itself."""
    if isnan(p) or not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    if self.numel and KIND[<int>self.dtype] == COMPLEX_KIND:
        raise_not_implemented("bernoulli_scalar_cpu_", self.dtype)
    return check_no_internal_overlap(self)


cdef int check_bernoulli_tensor(TensorBase self, TensorBase p) except -1:
    """`p` must be of floats and expand to `self`; refuses what check_bernoulli refuses."""
    cdef Shape shape
    same_shape(&shape, self)
    expand_to(p, &shape)
    check_bernoulli_dtype(p.dtype)
    if KIND[<int>self.dtype] == COMPLEX_KIND:
        raise_not_implemented("bernoulli_tensor_cpu_self_", self.dtype)
    return check_no_internal_overlap(self)


cdef int check_bernoulli_dtype(ScalarType dtype) except -1:
    """The probabilities must be floats."""
    return check_kernel_float(dtype, "bernoulli_tensor_cpu_p_")


cdef tuple random_limits(ScalarType dtype):
    """C name, least and largest value of what random_ may write."""
    return {
        <int>Bool: ("bool", 0, 1), <int>Byte: ("unsigned char", 0, 255), <int>Char: ("signed char", -128, 127),
        <int>Short: ("short int", -2 ** 15, 2 ** 15 - 1), <int>Int: ("int", -2 ** 31, 2 ** 31 - 1),
        <int>Long: ("long int", -2 ** 63, 2 ** 63 - 1), <int>UInt16: ("short unsigned int", 0, 2 ** 16 - 1),
        <int>UInt32: ("unsigned int", 0, 2 ** 32 - 1), <int>UInt64: ("long unsigned int", 0, 2 ** 63 - 1),
        <int>Half: ("c10::Half", -65504, 65504),
    }.get(<int>dtype, ("float", -2 ** 63, 2 ** 63 - 1))


cdef int check_random(TensorBase self, int64_t low, const Shape *high) except -1:
    """The bounds must be in order and fit the dtype; warns where a float does not hold every integer."""
    if KIND[<int>self.dtype] == COMPLEX_KIND:
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    if not high.ndim and low == INT64_MIN:
        if self.numel and self.dtype not in (Long, Float, Double, BFloat16):
            raise_not_implemented("random_full_64_bits_range_kernel_cpu", self.dtype)
        return check_no_internal_overlap(self)
    name, least, most = random_limits(self.dtype)
    if high.ndim and low >= high.sizes[0]:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high.sizes[0]}")
    if not least <= low <= most:
        raise RuntimeError(f"from is out of bounds for {name}")
    if high.ndim and not least <= high.sizes[0] - 1 <= most:
        raise RuntimeError(f"to - 1 is out of bounds for {name}")
    for what, bound in (("from", low), ("to - 1", high.sizes[0] - 1 if high.ndim else 0)):
        warn_inexact_bound(self.dtype, what, bound)
    return check_no_internal_overlap(self)


cdef int warn_inexact_bound(ScalarType dtype, str what, int64_t bound) except -1:
    """Warn of a bound of random integers beyond which a float dtype does not hold every integer."""
    cdef int digits = {<int>Half: 11, <int>BFloat16: 8, <int>Float: 24, <int>Double: 53}.get(<int>dtype, 63)
    if digits < 63 and not -(<int64_t>1 << digits) <= bound <= <int64_t>1 << digits:
        warnings.warn(f"{what} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision limitations "
                      f"{dtype_name(dtype)} can support discrete uniform distribution only within this range.",
                      UserWarning, stacklevel=2)
    return 0


cdef int check_random_full_range(TensorBase self) except -1:
    """Refuses complex numbers, and memory that overlaps itself."""
    if KIND[<int>self.dtype] == COMPLEX_KIND and self.numel:
        raise_not_implemented("random_kernel_cpu", self.dtype)
    return check_no_internal_overlap(self)


cdef int check_exponential(TensorBase self, double rate) except -1:
    """`rate` must be positive, and the dtype a float, unless there are no elements."""
    if not rate > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={rate:g}")
    if self.numel == 0:
        return 0
    if KIND[<int>self.dtype] != FLOAT_KIND:
        raise RuntimeError("Exponential distribution is a continuous probability distribution. dtype must be a "
                           f"floating point but you specified {dtype_name(self.dtype)}")
    return check_no_internal_overlap(self)


cdef int check_geometric(TensorBase self, double p) except -1:
    """`p` must be in (0, 1); refuses bool and complex numbers."""
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    if self.numel and (KIND[<int>self.dtype] == COMPLEX_KIND or self.dtype == Bool):
        raise_not_implemented("geometric_cpu", self.dtype)
    return check_no_internal_overlap(self)


cdef int check_cauchy(TensorBase self, double sigma) except -1:
    """`sigma` must be positive, and the dtype a float."""
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    if KIND[<int>self.dtype] != FLOAT_KIND:
        raise RuntimeError("Cauchy distribution is a continuous probability distribution. dtype must be a floating "
                           f"point but you specified {CPP_NAMES.get(dtype_name(self.dtype), dtype_name(self.dtype))}")
    return check_no_internal_overlap(self)


cdef int check_poisson(ScalarType dtype) except -1:
    """The rates must be floats."""
    return check_kernel_float(dtype, "poisson_cpu")


cdef int check_binomial(TensorBase count, TensorBase prob) except -1:
    """`count` and `prob` must have one float dtype, of 32 or 64 bits."""
    cdef TensorBase operand
    for operand, name in ((count, "count"), (prob, "prob")):
        if KIND[<int>operand.dtype] != FLOAT_KIND:
            raise ValueError(f"binomial only supports floating-point dtypes for {name}, got: "
                             f"{dtype_name(operand.dtype)}")
    if count.dtype != prob.dtype:
        raise RuntimeError(f"Found dtype {dtype_name(prob.dtype)} but expected {dtype_name(count.dtype)}")
    if count.dtype in (Half, BFloat16):
        raise_not_implemented("binomial_cpu", count.dtype)
    return 0


cdef int check_log_normal(TensorBase self, double std) except -1:
    """`std` must be positive, and the dtype a float."""
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    if self.numel and KIND[<int>self.dtype] != FLOAT_KIND:
        raise_not_implemented("log_normal_cpu", self.dtype)
    return check_no_internal_overlap(self)


cdef int check_multinomial(TensorBase self, int64_t count, bint replacement) except -1:
    """Weights must be floats in 1 or 2 dimensions, and enough for `count` without replacement."""
    if not 0 < self.ndim <= 2:
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if KIND[<int>self.dtype] != FLOAT_KIND:
        raise RuntimeError("multinomial only supports floating-point dtypes for input, got: "
                           f"{dtype_name(self.dtype)}")
    if count <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and count > self.sizes[self.ndim - 1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    if self.sizes[self.ndim - 1] > 1 << 24:     # what float32 counts without gaps
        raise RuntimeError("number of categories cannot exceed 2^24")
    return 0


cdef int check_rrelu(TensorBase self, const Scalar *lower, const Scalar *upper) except -1:
    """The bounds must be finite and in order, and the dtype a float."""
    cdef double bound
    for name, bound in (("lower", lower.real), ("upper", upper.real)):
        if not -INFINITY < bound < INFINITY:
            raise RuntimeError(f"rrelu: {name} bound must be finite, got {bound:g}")
    if lower.real > upper.real:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if KIND[<int>self.dtype] != FLOAT_KIND or (self.dtype == Half and self.device_type == CPU):
        raise_not_implemented("rrelu_with_noise_out_cpu", self.dtype)
    return 0


cdef int check_dropout(TensorBase input, double p) except -1:
    """`p` must be in [0, 1], and the dtype a float."""
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p:g}")
    if KIND[<int>input.dtype] == COMPLEX_KIND:
        raise_not_implemented("bernoulli_scalar_cpu_", input.dtype)
    if KIND[<int>input.dtype] != FLOAT_KIND:
        raise RuntimeError(f"result type {dtype_name(default_dtype())} can't be cast to the desired output type "
                           f"{dtype_name(input.dtype)}")
    return 0


cdef enum:
    MASK_BITS = 128         # an operator's mask of bits has a multiple of as many


cdef int dropout_mask(Shape *shape, TensorBase input) except -1:
    """(n,) bytes, with a bit for each element, in multiples of 128 bits."""
    shape.ndim = 1
    shape.sizes[0] = (input.numel + MASK_BITS - 1) // MASK_BITS * (MASK_BITS // 8)
    return 0


cdef int multinomial(Shape *shape, TensorBase self, int64_t count) except -1:
    """That of the weights, with `count` as the last size."""
    shape.ndim = self.ndim
    shape.sizes[0] = self.sizes[0]
    shape.sizes[self.ndim - 1] = count
    return 0
