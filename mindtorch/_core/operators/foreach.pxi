# Lists of tensors: conditions of `fused_if`, helpers of run_foreach, and checks.
from cpython.object cimport PyObject_RichCompareBool, Py_NE

from mindtorch._core.autograd.node cimport AutogradMeta, grad_enabled, may_require_grad
from mindtorch._core.python.conversion cimport read_scalar
from mindtorch._core.rules.infer cimport (
    common_device, common_device_index, inplace_output, raise_device_mismatch, same_shape,
)
from mindtorch._core.tensor.dtype cimport (
    COMPLEX_KIND, FLOAT_KIND, BFloat16, Float, Int, Scalar, ScalarType, dtype_name, is_float8, scalar_from_python,
)
from mindtorch._core.tensor.tensor cimport (
    CPU, Shape, bump_version, device_of, empty_tensor, has_same_shape, shape_text, reported_device_index,
    reported_device_type,
)


cdef Py_ssize_t checked_length(list tensors) except -1:
    if not tensors:
        raise RuntimeError("Tensor list must have at least one tensor.")
    return len(tensors)


cdef int check_same_length(list tensors, list others) except -1:
    if len(others) != len(tensors):
        checked_length(others)
        raise RuntimeError(f"Tensor lists must have the same number of tensors, got {len(tensors)} and {len(others)}")
    return 0


cdef int check_scalar_count(list tensors, tuple numbers) except -1:
    if len(numbers) != len(tensors):
        raise RuntimeError("Tensor list must have same number of elements as scalar list.")
    return 0


cdef inline bint has_autograd_effect(TensorBase tensor, bint recording) noexcept:
    """Whether the operator on one tensor has to run: its history may be recorded, or the write be refused."""
    return may_require_grad(tensor) and (recording or (
        tensor.autograd is not None and (<AutogradMeta>tensor.autograd).is_inference))


cdef bint is_fast_route_list(list tensors, unsigned int dtypes) noexcept:
    cdef TensorBase first = <TensorBase>tensors[0]
    cdef TensorBase tensor
    cdef bint recording
    cdef Py_ssize_t i
    if not (dtypes >> <int>first.dtype) & 1:
        return False
    recording = grad_enabled()
    for i in range(len(tensors)):
        tensor = <TensorBase>tensors[i]
        if (tensor.dtype != first.dtype or tensor.device_type != first.device_type
                or tensor.device_index != first.device_index or not tensor.contiguous or not tensor.numel
                or has_autograd_effect(tensor, recording)):
            return False
    return True


cdef bint matches_fast_route_list(list tensors, list others) noexcept:
    cdef TensorBase tensor, other
    cdef bint recording = grad_enabled()
    cdef Py_ssize_t i
    for i in range(len(tensors)):
        tensor = <TensorBase>tensors[i]
        other = <TensorBase>others[i]
        if (other.dtype != tensor.dtype or other.device_type != tensor.device_type
                or other.device_index != tensor.device_index or not other.contiguous
                or not has_same_shape(other, tensor) or has_autograd_effect(other, recording)):
            return False
    return True


cdef list empty_like_list(list tensors):
    cdef list made = []
    cdef TensorBase tensor
    cdef Shape shape
    cdef Py_ssize_t i
    for i in range(len(tensors)):
        tensor = <TensorBase>tensors[i]
        same_shape(&shape, tensor)
        made.append(empty_tensor(&shape, tensor.dtype, tensor.device_type, tensor.device_index))
    return made


cdef int bump_versions(list tensors) except -1:
    cdef Py_ssize_t i
    for i in range(len(tensors)):
        bump_version(<TensorBase>tensors[i])
    return 0


cdef int write_inplace_result(TensorBase self, TensorBase result) except -1:
    cdef Shape shape
    same_shape(&shape, result)
    inplace_output(self, &shape, result.dtype)       # raises where the result does not fit
    (<object>self).copy_(result)
    return 0


cdef int highest_kind_scalar(tuple numbers, Scalar *number) except -1:
    cdef Scalar other
    scalar_from_python(numbers[0], number)
    for value in numbers[1:]:
        scalar_from_python(value, &other)
        if other.kind > number.kind:
            number[0] = other
    return 0


cdef bint all_equal(tuple numbers) except -1:
    first = numbers[0]
    for number in numbers:
        if type(number) is not type(first) or PyObject_RichCompareBool(number, first, Py_NE):
            return False
    return True


cdef tuple unpack_scalars(TensorBase scalars, list tensors):
    if scalars.device_type != CPU:
        raise RuntimeError(f"Expected scalars to be on CPU, got {device_of(scalars)} instead.")
    if scalars.ndim != 1:
        raise RuntimeError(f"Expected packed scalar Tensor to be of dimension 1. Got {scalars.ndim} instead.")
    if not scalars.contiguous:
        raise RuntimeError("Expected scalars to be contiguous.")
    if scalars.numel != len(tensors):
        raise RuntimeError(f"Expected length of scalars to match input of length {len(tensors)} but got "
                           f"{scalars.numel} instead.")
    return tuple(scalars.tolist())


cdef double single_double(TensorBase tensor) except? -1.0:
    cdef Scalar number
    read_scalar(tensor, &number)
    if number.kind > FLOAT_KIND:
        raise RuntimeError("value cannot be converted to type double without overflow")
    return number.real


cpdef TensorBase common_base(list tensors):
    cdef TensorBase base = (<TensorBase?>tensors[0]).base
    cdef TensorBase tensor
    cdef Py_ssize_t i
    if base is None or base.ndim != 1 or base.numel != len(tensors) or not base.contiguous:
        return None
    for i in range(base.numel):
        tensor = <TensorBase?>tensors[i]
        if (tensor.base is not base or tensor.ndim or tensor.dtype != base.dtype
                or tensor.offset != base.offset + i):
            return None
    return base


cdef int check_not_empty_list(list tensors, str op) except -1:
    if not tensors:
        raise NotImplementedError(
            "There were no tensor arguments to this function (e.g., you passed an empty list of Tensors), but no "
            f"fallback function is registered for schema aten::{op}.")
    return 0


cdef int raise_expected(str condition) except -1:
    raise RuntimeError(f"Expected {condition} to be true, but got false.  (Could this error message be improved?  If "
                       "so, please report an enhancement request to PyTorch.)")


cdef int check_list_length(list tensors, list others, str name) except -1:
    """Both lists must have the same length."""
    if len(others) != len(tensors):
        raise_expected(f"{name}.size() == n_tensors")
    return 0


cdef int check_matching_list(list tensors, list others, str name) except -1:
    """Both lists must have the same length, and their pairs one device, dtype and shape."""
    cdef TensorBase tensor, other
    cdef Py_ssize_t i
    check_list_length(tensors, others, name)
    for i in range(len(tensors)):
        tensor = <TensorBase>tensors[i]
        other = <TensorBase>others[i]
        if (common_device(tensor, other) != other.device_type
                or common_device_index(tensor, other) != other.device_index):
            raise_device_mismatch(device_of(tensor), device_of(other))
        if other.dtype != tensor.dtype:
            raise RuntimeError(f"expected scalar type {dtype_name(tensor.dtype)} but found {dtype_name(other.dtype)}")
        if not has_same_shape(other, tensor):
            raise RuntimeError(f"{name}[{i}] has the shape {shape_text(other.ndim, other.sizes)}, its parameter "
                               f"{shape_text(tensor.ndim, tensor.sizes)}")
    return 0


cdef int check_matching_list_if(bint wanted, list tensors, list others, str name) except -1:
    """As check_matching_list where `wanted`; otherwise `others` must be empty."""
    if wanted:
        return check_matching_list(tensors, others, name)
    return raise_expected(f"{name}.empty()") if others else 0


cdef int check_momentum(double momentum, list tensors, list others, str name) except -1:
    """As check_matching_list where the momentum is not 0; otherwise `others` must be empty."""
    return check_matching_list_if(momentum != 0, tensors, others, name)


cdef int check_all_float(list tensors, str op) except -1:
    """All tensors must be of floats, and not of 8 bits."""
    cdef TensorBase tensor
    for tensor in tensors:
        check_kernel_float(tensor.dtype, op)
        if is_float8(tensor.dtype):
            raise_not_implemented(op, tensor.dtype)
    return 0


cdef int check_one_element(TensorBase tensor, ScalarType dtype, str name, str kind) except -1:
    if tensor.numel != 1:
        raise RuntimeError(f"{name} must be a 1-element tensor.")
    if tensor.dtype != dtype:
        raise RuntimeError(f"{name} must be {kind} tensor.")
    return 0


cdef int check_one_float(TensorBase tensor, str name) except -1:
    """The tensor must have one element, a float32."""
    return check_one_element(tensor, Float, name, "a float")


cdef int check_one_int(TensorBase tensor, str name) except -1:
    """The tensor must have one element, an int32."""
    return check_one_element(tensor, Int, name, "an int")


cdef int check_on_device(list tensors, TensorBase other) except -1:
    """All tensors of the list must be on the device of the other."""
    cdef TensorBase tensor
    for one in tensors:
        tensor = <TensorBase>one
        if reported_device_type(tensor) != reported_device_type(other) or (
                reported_device_index(tensor) != reported_device_index(other)):
            raise_device_mismatch(device_of(tensor), device_of(other))
    return 0


cdef int check_scalar_tensor(TensorBase other) except -1:
    """The tensor must be 0-d."""
    if other.ndim:
        raise RuntimeError(f"scalar tensor expected to be 0 dim but it has {other.ndim} dimensions and {other.numel} "
                           "elements.")
    return 0


cdef int check_no_empty_tensor(list tensors) except -1:
    """No tensor of the list may be empty."""
    cdef Py_ssize_t i
    for i in range(len(tensors)):
        if not (<TensorBase>tensors[i]).numel:
            raise RuntimeError("_foreach_max cannot compute the maximum of an empty tensor; max over zero elements is "
                               "undefined.")
    return 0


cdef bint may_use_device_scalar(list tensors, TensorBase other) noexcept:
    """Whether the number is on the tensors' device, in their dtype, which is not bfloat16."""
    cdef TensorBase first = <TensorBase>tensors[0]
    # CANN documents the number in the dtype of the tensors, and no bfloat16 number.
    return (other.dtype == first.dtype != BFloat16 and other.device_type == first.device_type
            and other.device_index == first.device_index and not has_autograd_effect(other, grad_enabled()))


cdef bint may_norm(const Scalar *ord) noexcept:
    """Whether it is the first or the second norm, which aclnnForeachNorm computes."""
    return ord.kind != COMPLEX_KIND and (ord.real == 1 or ord.real == 2)


cdef bint may_step(list grads, TensorBase grad_scale, TensorBase found_inf) except -1:
    """Divides the gradients by the scale; False, and no change, where found_inf is set."""
    if found_inf is not None and found_inf.item():
        return False
    if grad_scale is not None:
        for grad in grads:
            grad.div_(grad_scale)
    return True
