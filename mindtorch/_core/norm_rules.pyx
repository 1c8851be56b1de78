from mindtorch._core.autograd cimport requires_grad
from mindtorch._core.dtype cimport KIND, code_name
from mindtorch._core.infer cimport like, wrap_dim
from mindtorch._core.scalar cimport COMPLEX_KIND, FLOAT_KIND, BFloat16, Float, Half
from mindtorch._core.tensor cimport shape_text


# --- shapes and dtypes -----------------------------------------------------------------------------------------------

cdef int statistics_of(Shape *shape, TensorBase input, const Shape *normalized_shape) except -1:
    cdef int i
    like(shape, input)
    for i in range(max(input.ndim - normalized_shape.ndim, 0), input.ndim):
        shape.sizes[i] = 1
    return 0


cdef int group_statistics(Shape *shape, int64_t samples, int64_t groups) except -1:
    shape.ndim = 2
    shape.sizes[0] = samples
    shape.sizes[1] = groups
    return 0


cdef int vector_of(Shape *shape, int64_t size) except -1:
    shape.ndim = 1
    shape.sizes[0] = size
    return 0


cdef int channels_of(Shape *shape, TensorBase input, bint wanted) except -1:
    return vector_of(shape, input.sizes[wrap_dim(1, input.ndim)] if wanted else 0)


cdef ScalarType parameter_dtype(TensorBase input, TensorBase weight, TensorBase bias, TensorBase running) noexcept:
    for parameter in (weight, bias, running):
        if parameter is not None:
            return (<TensorBase>parameter).dtype
    return input.dtype


# --- checks ----------------------------------------------------------------------------------------------------------

cdef bint ends_in(TensorBase tensor, const Shape *shape) noexcept:
    """Whether `shape` is that of the tensor's last dimensions."""
    cdef int i, leading = tensor.ndim - shape.ndim
    if leading < 0:
        return False
    for i in range(shape.ndim):
        if tensor.sizes[leading + i] != shape.sizes[i]:
            return False
    return True


cdef int check_normalized(TensorBase input, const Shape *normalized_shape, TensorBase weight, TensorBase bias,
                          str text) except -1:
    if normalized_shape.ndim == 0:
        raise RuntimeError("Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
                           "element, but got normalized_shape = []")
    check_shape(weight, normalized_shape, "weight")
    check_shape(bias, normalized_shape, "bias")
    if not ends_in(input, normalized_shape):
        shape = shape_text(normalized_shape.ndim, normalized_shape.sizes)
        raise RuntimeError(f"Given normalized_shape={shape}, expected input with shape {text}{shape[1:]}, but got "
                           f"input of size{shape_text(input.ndim, input.sizes)}")
    return 0


cdef int check_shape(TensorBase parameter, const Shape *shape, str name) except -1:
    if parameter is None or (parameter.ndim == shape.ndim and ends_in(parameter, shape)):
        return 0
    raise RuntimeError(f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
                       f"{shape_text(parameter.ndim, parameter.sizes)} and normalized_shape = "
                       f"{shape_text(shape.ndim, shape.sizes)}")


cdef inline bint has_dtype(TensorBase parameter, ScalarType dtype) noexcept:
    return parameter is None or parameter.dtype == dtype


cdef int check_parameters(TensorBase input, TensorBase weight, TensorBase bias, TensorBase running_mean,
                          TensorBase running_var) except -1:
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
            raise RuntimeError(f"expected scalar type {code_name(dtype)} but found "
                               f"{code_name((<TensorBase>parameter).dtype)}")
    if dtype != Half and dtype != BFloat16:
        raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")
    return 0


cdef int check_groups(TensorBase input, TensorBase weight, TensorBase bias, int64_t N, int64_t C, int64_t HxW,
                      int64_t group) except -1:
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


cdef int check_channels(TensorBase input, TensorBase weight, TensorBase bias, TensorBase running_mean,
                        TensorBase running_var, bint training) except -1:
    cdef int64_t channels = input.sizes[wrap_dim(1, input.ndim)]
    if (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")
    if not training and running_mean is None:
        raise RuntimeError("Expected running_mean to be defined when training=False")
    for name, each in (("running_mean", running_mean), ("running_var", running_var), ("weight", weight),
                       ("bias", bias)):
        vector = <TensorBase>each
        if vector is not None and vector.numel != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {vector.numel}")
    if training and input.numel == 0:
        raise RuntimeError("input tensor must have at least one element, but got input_sizes = "
                           f"{shape_text(input.ndim, input.sizes)}")
    return 0


cdef int check_constant(TensorBase tensor, str op, str name) except -1:
    if requires_grad(tensor):
        raise RuntimeError(f"The function '{op}' is not differentiable with respect to argument '{name}'. This input "
                           "cannot have requires_grad True.")
    return 0


cdef int check_renorm(TensorBase self, const Scalar *p, int64_t dim, const Scalar *maxnorm) except -1:
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
                           f"{code_name(self.dtype)}")
    return 0
