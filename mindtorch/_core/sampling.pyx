"""What the random ops refuse."""
from libc.math cimport INFINITY, isnan
from libc.stdint cimport INT64_MIN

from mindtorch._core.device cimport CPU
from mindtorch._core.dtype cimport KIND, code_name, default_dtype
from mindtorch._core.infer cimport check_overlap, same
from mindtorch._core.scalar cimport (
    COMPLEX_KIND, FLOAT_KIND, BFloat16, Bool, Byte, Char, ComplexDouble, Double, Float, Half, Int, Long, ScalarType,
    Short, UInt16, UInt32, UInt64)
from mindtorch._core.views cimport expand_to


cdef dict C_NAMES = {"Long": "long int", "Int": "int", "Short": "short int", "Char": "signed char",
                     "Byte": "unsigned char", "Bool": "bool"}


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
    check_chances(p)
    if KIND[<int>self.dtype] == COMPLEX_KIND:
        not_implemented("bernoulli_tensor_cpu_self_", self.dtype)
    return check_overlap(self)


cdef int check_chances(TensorBase p) except -1:
    if KIND[<int>p.dtype] != FLOAT_KIND:
        not_implemented("bernoulli_tensor_cpu_p_", p.dtype)
    return 0


cdef tuple range_of(ScalarType dtype):
    """C name, least and largest value of what random_ may write."""
    return {
        <int>Bool: ("bool", 0, 1), <int>Byte: ("unsigned char", 0, 255), <int>Char: ("signed char", -128, 127),
        <int>Short: ("short int", -2 ** 15, 2 ** 15 - 1), <int>Int: ("int", -2 ** 31, 2 ** 31 - 1),
        <int>Long: ("long int", -2 ** 63, 2 ** 63 - 1), <int>UInt16: ("short unsigned int", 0, 2 ** 16 - 1),
        <int>UInt32: ("unsigned int", 0, 2 ** 32 - 1), <int>UInt64: ("long unsigned int", 0, 2 ** 63 - 1),
        <int>Half: ("c10::Half", -65504, 65504),
    }.get(<int>dtype, ("float", -2 ** 63, 2 ** 63 - 1))


cdef int check_random(TensorBase self, int64_t low, const Shape *high) except -1:
    if KIND[<int>self.dtype] == COMPLEX_KIND:
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    if not high.ndim and low == INT64_MIN:
        if self.numel and self.dtype not in (Long, Float, Double, BFloat16):
            not_implemented("random_full_64_bits_range_kernel_cpu", self.dtype)
        return check_overlap(self)
    name, least, most = range_of(self.dtype)
    if high.ndim and low >= high.sizes[0]:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high.sizes[0]}")
    if not least <= low <= most:
        raise RuntimeError(f"from is out of bounds for {name}")
    if high.ndim and not least <= high.sizes[0] - 1 <= most:
        raise RuntimeError(f"to - 1 is out of bounds for {name}")
    return check_overlap(self)


cdef int check_whole_range(TensorBase self) except -1:
    if KIND[<int>self.dtype] == COMPLEX_KIND and self.numel:
        not_implemented("random_kernel_cpu", self.dtype)
    return check_overlap(self)


cdef int check_exponential(TensorBase self, double rate) except -1:
    if self.numel == 0:
        return 0
    if not rate > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={rate:g}")
    if KIND[<int>self.dtype] != FLOAT_KIND:
        raise RuntimeError("Exponential distribution is a continuous probability distribution. dtype must be a "
                           f"floating point but you specified {code_name(self.dtype)}")
    return check_overlap(self)


cdef int check_geometric(TensorBase self, double p) except -1:
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    if KIND[<int>self.dtype] == COMPLEX_KIND or self.dtype == Bool:
        not_implemented("geometric_cpu", self.dtype)
    return check_overlap(self)


cdef int check_cauchy(TensorBase self, double sigma) except -1:
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    if KIND[<int>self.dtype] != FLOAT_KIND:
        raise RuntimeError("Cauchy distribution is a continuous probability distribution. dtype must be a floating "
                           f"point but you specified {C_NAMES.get(code_name(self.dtype), code_name(self.dtype))}")
    return check_overlap(self)


cdef int check_rates(TensorBase self) except -1:
    if KIND[<int>self.dtype] != FLOAT_KIND:
        not_implemented("poisson_cpu", self.dtype)
    return 0


cdef int check_binomial(TensorBase count, TensorBase prob) except -1:
    cdef TensorBase operand
    for operand, name in ((count, "count"), (prob, "prob")):
        if KIND[<int>operand.dtype] != FLOAT_KIND:
            raise ValueError(f"binomial only supports floating-point dtypes for {name}, got: "
                             f"{code_name(operand.dtype)}")
    if count.dtype != prob.dtype:
        raise RuntimeError(f"Found dtype {code_name(prob.dtype)} but expected {code_name(count.dtype)}")
    if count.dtype in (Half, BFloat16):
        not_implemented("binomial_cpu", count.dtype)
    return 0


cdef int check_log_normal(TensorBase self, double std) except -1:
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    if KIND[<int>self.dtype] != FLOAT_KIND:
        not_implemented("log_normal_cpu", self.dtype)
    return check_overlap(self)


cdef int check_multinomial(TensorBase self, int64_t count, bint replacement) except -1:
    if not 0 < self.ndim <= 2:
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if KIND[<int>self.dtype] != FLOAT_KIND:
        raise RuntimeError("multinomial only supports floating-point dtypes for input, got: "
                           f"{code_name(self.dtype)}")
    if count <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and count > self.sizes[self.ndim - 1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    if self.sizes[self.ndim - 1] > 1 << 24:     # what float32 counts without gaps
        raise RuntimeError("number of categories cannot exceed 2^24")
    return 0


cdef int check_rrelu(TensorBase self, const Scalar *lower, const Scalar *upper) except -1:
    for name, bound in (("lower", lower.real), ("upper", upper.real)):
        if not -INFINITY < bound < INFINITY:
            raise RuntimeError(f"rrelu: {name} bound must be finite, got {bound:g}")
    if lower.real > upper.real:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if KIND[<int>self.dtype] != FLOAT_KIND or (self.dtype == Half and self.device_type == CPU):
        not_implemented("rrelu_with_noise_out_cpu", self.dtype)
    return 0


cdef int check_dropout(TensorBase input, double p) except -1:
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p:g}")
    if KIND[<int>input.dtype] == COMPLEX_KIND:
        not_implemented("bernoulli_scalar_cpu_", input.dtype)
    if KIND[<int>input.dtype] != FLOAT_KIND:
        raise RuntimeError(f"result type {code_name(default_dtype())} can't be cast to the desired output type "
                           f"{code_name(input.dtype)}")
    return 0


cdef enum:
    MASK_BITS = 128         # an operator's mask of bits has a multiple of as many


cdef int dropout_mask(Shape *shape, TensorBase input) except -1:
    shape.ndim = 1
    shape.sizes[0] = (input.numel + MASK_BITS - 1) // MASK_BITS * (MASK_BITS // 8)
    return 0


cdef int multinomial(Shape *shape, TensorBase self, int64_t count) except -1:
    shape.ndim = self.ndim
    shape.sizes[0] = self.sizes[0]
    shape.sizes[self.ndim - 1] = count
    return 0
