# Rules of layer, group and batch normalisation. Parameters may be None.
from libc.stdint cimport int64_t

from mindtorch._core.operators.operator cimport check_kernel_float
from mindtorch._core.rules.infer cimport like, vector_of_size, wrap_dim
from mindtorch._core.tensor.dtype cimport (
    COMPLEX_KIND, FLOAT_KIND, KIND, BFloat16, Float, Half, Scalar, ScalarType, dtype_name,
)
from mindtorch._core.tensor.tensor cimport CPU, Shape, shape_text


cdef int layer_norm_stats(Shape *shape, TensorBase input, const Shape *normalized_shape) except -1:
    """That of the input, with 1 in place of the normalized dimensions."""
    cdef int i
    like(shape, input)
    for i in range(max(input.ndim - normalized_shape.ndim, 0), input.ndim):
        shape.sizes[i] = 1
    return 0


cdef int batch_norm_stats(Shape *shape, TensorBase input, bint wanted) except -1:
    """(channels,), or (0,) where the result is not wanted."""
    return vector_of_size(shape, input.sizes[wrap_dim(1, input.ndim)] if wanted else 0)


cdef ScalarType norm_parameter_dtype(TensorBase input, TensorBase weight, TensorBase bias, TensorBase running) noexcept:
    """That of the first parameter that is not None, else the input's."""
    for parameter in (weight, bias, running):
        if parameter is not None:
            return (<TensorBase>parameter).dtype
    return input.dtype


cdef bint has_last_dims(TensorBase tensor, const Shape *shape) noexcept:
    """Whether `shape` is that of the tensor's last dimensions."""
    cdef int i, leading = tensor.ndim - shape.ndim
    if leading < 0:
        return False
    for i in range(shape.ndim):
        if tensor.sizes[leading + i] != shape.sizes[i]:
            return False
    return True


cdef int check_layer_norm(TensorBase input, const Shape *normalized_shape, TensorBase weight, TensorBase bias,
                          str text) except -1:
    """normalized_shape must be the last sizes of the input, and the shape of weight and bias."""
    if normalized_shape.ndim == 0:
        raise RuntimeError("Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
                           "element, but got normalized_shape = []")
    check_layer_norm_parameter(weight, normalized_shape, "weight")
    check_layer_norm_parameter(bias, normalized_shape, "bias")
    if not has_last_dims(input, normalized_shape):
        shape = shape_text(normalized_shape.ndim, normalized_shape.sizes)
        raise RuntimeError(f"Given normalized_shape={shape}, expected input with shape {text}{shape[1:]}, but got "
                           f"input of size{shape_text(input.ndim, input.sizes)}")
    return 0


cdef int check_layer_norm_parameter(TensorBase parameter, const Shape *shape, str name) except -1:
    if parameter is None or (parameter.ndim == shape.ndim and has_last_dims(parameter, shape)):
        return 0
    raise RuntimeError(f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
                       f"{shape_text(parameter.ndim, parameter.sizes)} and normalized_shape = "
                       f"{shape_text(shape.ndim, shape.sizes)}")


cdef inline bint has_dtype(TensorBase parameter, ScalarType dtype) noexcept:
    return parameter is None or parameter.dtype == dtype


cdef int check_norm_parameter_dtypes(TensorBase input, TensorBase weight, TensorBase bias, TensorBase running_mean,
                                     TensorBase running_var) except -1:
    """Parameters must have the input's dtype, or all be float32 beside a 16-bit input."""
    cdef ScalarType dtype = input.dtype
    if (has_dtype(weight, dtype) and has_dtype(bias, dtype) and has_dtype(running_mean, dtype)
            and has_dtype(running_var, dtype)):
        return 0
    parameters = [p for p in (weight, bias, running_mean, running_var) if p is not None]
    mixed = (<TensorBase>parameters[0]).dtype != dtype
    for parameter in parameters:
        if mixed and not has_dtype(<TensorBase>parameter, Float):
            raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")
        if not mixed and not has_dtype(<TensorBase>parameter, dtype):
            raise RuntimeError(f"expected scalar type {dtype_name(dtype)} but found "
                               f"{dtype_name((<TensorBase>parameter).dtype)}")
    if dtype != Half and dtype != BFloat16:
        raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")
    return 0


cdef int check_group_norm(TensorBase input, TensorBase weight, TensorBase bias, int64_t N, int64_t C, int64_t HxW,
                          int64_t group) except -1:
    """The groups must divide the channels; parameters must have a number for each channel."""
    if group <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {group}")
    if C % group:
        raise RuntimeError("Expected number of channels in input to be divisible by num_groups, but got input of shape "
                           f"{shape_text(input.ndim, input.sizes)} and num_groups={group}")
    for name, each in (("weight", weight), ("bias", bias)):
        vector = <TensorBase>each
        if vector is not None and (vector.ndim != 1 or vector.numel != C):
            raise RuntimeError(f"Expected {name} to be a vector of size equal to the number of channels in input, but "
                               f"got {name} of shape {shape_text(vector.ndim, vector.sizes)} and input of shape "
                               f"{shape_text(input.ndim, input.sizes)}")
    if input.numel != N * C * HxW:
        raise RuntimeError("Expected X.numel() == N * C * HxW to be true, but got false.")
    return 0


cdef int check_batch_norm(TensorBase input, TensorBase weight, TensorBase bias, TensorBase running_mean,
                          TensorBase running_var, bint training) except -1:
    """Parameters and running statistics must have a number for each channel; training needs elements."""
    cdef int64_t channels = input.sizes[wrap_dim(1, input.ndim)]
    check_kernel_float(input.dtype, "batch_norm")           # before the rest, though torch's kernel refuses it
    if (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")
    if not training and running_mean is None:
        raise RuntimeError("Expected running_mean to be defined when training=False")
    for name, each in (("running_mean", running_mean), ("running_var", running_var), ("weight", weight),
                       ("bias", bias)):
        vector = <TensorBase>each
        if vector is not None and vector.numel != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {vector.numel}")
        if vector is not None and vector.ndim != 1 and (vector is running_mean or vector is running_var):
            raise RuntimeError(f"TensorAccessor expected 1 dims but tensor has {vector.ndim}")
    if training and input.numel == 0:
        raise RuntimeError("input tensor must have at least one element, but got input_sizes = "
                           f"{shape_text(input.ndim, input.sizes)}")
    return 0


cdef int check_renorm(TensorBase self, const Scalar *p, int64_t dim, const Scalar *maxnorm) except -1:
    """`p` must be positive, maxnorm not negative; needs 2 dimensions, of floats or complex numbers."""
    if p.kind == COMPLEX_KIND or maxnorm.kind == COMPLEX_KIND:
        raise RuntimeError(f"renorm: {'p' if p.kind == COMPLEX_KIND else 'maxnorm'} must be real-valued")
    if (p.real if p.kind == FLOAT_KIND else p.integer) <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if (maxnorm.real if maxnorm.kind == FLOAT_KIND else maxnorm.integer) < 0:
        raise RuntimeError("renorm: expected maxnorm to be >= 0 but got "
                           f"{maxnorm.real if maxnorm.kind == FLOAT_KIND else maxnorm.integer:g}")
    if self.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {self.ndim} dimensions")
    wrap_dim(dim, self.ndim)
    if KIND[<int>self.dtype] < FLOAT_KIND:
        raise RuntimeError("linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
                           f"{dtype_name(self.dtype)}")
    return 0
