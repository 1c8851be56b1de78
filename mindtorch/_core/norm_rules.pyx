from mindtorch._core.infer cimport like
from mindtorch._core.scalar cimport BFloat16, Float, Half
from mindtorch._core.tensor cimport shape_text


# --- shapes and dtypes -----------------------------------------------------------------------------------------------

cdef int statistics_of(Shape *shape, TensorBase input, const Shape *normalized_shape) except -1:
    cdef int i
    like(shape, input)
    for i in range(max(input.ndim - normalized_shape.ndim, 0), input.ndim):
        shape.sizes[i] = 1
    return 0


cdef ScalarType parameter_dtype(TensorBase input, TensorBase weight, TensorBase bias) noexcept:
    return weight.dtype if weight is not None else bias.dtype if bias is not None else input.dtype


# --- checks ----------------------------------------------------------------------------------------------------------

cdef bint has_shape(TensorBase tensor, const Shape *shape) noexcept:
    """Whether `shape` is that of the tensor's last dimensions."""
    cdef int i, leading = tensor.ndim - shape.ndim
    if leading < 0:
        return False
    for i in range(shape.ndim):
        if tensor.sizes[leading + i] != shape.sizes[i]:
            return False
    return True


cdef int check_normalized(TensorBase input, const Shape *normalized_shape, TensorBase weight,
                          TensorBase bias) except -1:
    if normalized_shape.ndim == 0:
        raise RuntimeError("Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
                           "element, but got normalized_shape = []")
    check_shape(weight, normalized_shape, "weight")
    check_shape(bias, normalized_shape, "bias")
    if not has_shape(input, normalized_shape):
        text = shape_text(normalized_shape.ndim, normalized_shape.sizes)
        raise RuntimeError(f"Given normalized_shape={text}, expected input with shape [*, {text[1:]}, but got input of "
                           f"size{shape_text(input.ndim, input.sizes)}")
    return 0


cdef int check_shape(TensorBase parameter, const Shape *shape, str name) except -1:
    if parameter is None or (parameter.ndim == shape.ndim and has_shape(parameter, shape)):
        return 0
    raise RuntimeError(f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
                       f"{shape_text(parameter.ndim, parameter.sizes)} and normalized_shape = "
                       f"{shape_text(shape.ndim, shape.sizes)}")


cdef int check_parameters(TensorBase input, TensorBase weight, TensorBase bias) except -1:
    cdef ScalarType dtype = input.dtype
    if (weight is None or weight.dtype == dtype) and (bias is None or bias.dtype == dtype):
        return 0
    if (weight is not None and weight.dtype != Float) or (bias is not None and bias.dtype != Float):
        raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")
    if dtype != Half and dtype != BFloat16:
        raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")
    return 0
