from mindtorch._core.autograd cimport AutogradMeta, tracked
from mindtorch._core.device cimport CPU, device_of
from mindtorch._core.dispatch cimport check_float_kernel
from mindtorch._core.dtype cimport code_name, is_float8
from mindtorch._core.infer cimport common_device, common_index, inplace_output, same
from mindtorch._core.modes cimport grad_enabled
from mindtorch._core.scalar cimport BFloat16, COMPLEX_KIND, FLOAT_KIND, Float, Int, ScalarType, scalar_from
from mindtorch._core.tensor cimport Shape, count_version, empty_tensor, shape_text
from mindtorch._core.values cimport read_scalar


cdef Py_ssize_t length(list tensors) except -1:
    if not tensors:
        raise RuntimeError("Tensor list must have at least one tensor.")
    return len(tensors)


cdef int check_length(list tensors, list others) except -1:
    if len(others) != len(tensors):
        length(others)
        raise RuntimeError(f"Tensor lists must have the same number of tensors, got {len(tensors)} and {len(others)}")
    return 0


cdef int check_count(list tensors, tuple numbers) except -1:
    if len(numbers) != len(tensors):
        raise RuntimeError("Tensor list must have same number of elements as scalar list.")
    return 0


cdef inline bint recorded(TensorBase tensor, bint recording) noexcept:
    """Whether the op on one tensor has to look at it: it may join the graph, or refuse to be written."""
    return tracked(tensor) and (recording or (
        tensor.autograd is not None and (<AutogradMeta>tensor.autograd).is_inference))


cdef bint alike(list tensors, unsigned int dtypes) noexcept:
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
                or recorded(tensor, recording)):
            return False
    return True


cdef inline bint same_sizes(TensorBase a, TensorBase b) noexcept:
    cdef int i
    if a.ndim != b.ndim:
        return False
    for i in range(a.ndim):
        if a.sizes[i] != b.sizes[i]:
            return False
    return True


cdef bint beside(list tensors, list others) noexcept:
    cdef TensorBase tensor, other
    cdef bint recording = grad_enabled()
    cdef Py_ssize_t i
    for i in range(len(tensors)):
        tensor = <TensorBase>tensors[i]
        other = <TensorBase>others[i]
        if (other.dtype != tensor.dtype or other.device_type != tensor.device_type
                or other.device_index != tensor.device_index or not other.contiguous
                or not same_sizes(other, tensor) or recorded(other, recording)):
            return False
    return True


cdef list outputs(list tensors):
    cdef list made = []
    cdef TensorBase tensor
    cdef Shape shape
    cdef Py_ssize_t i
    for i in range(len(tensors)):
        tensor = <TensorBase>tensors[i]
        same(&shape, tensor)
        made.append(empty_tensor(&shape, tensor.dtype, tensor.device_type, tensor.device_index))
    return made


cdef int count_versions(list tensors) except -1:
    cdef Py_ssize_t i
    for i in range(len(tensors)):
        count_version(<TensorBase>tensors[i])
    return 0


cdef int write(TensorBase self, TensorBase result) except -1:
    cdef Shape shape
    same(&shape, result)
    inplace_output(self, &shape, result.dtype)       # raises where the result does not fit
    (<object>self).copy_(result)
    return 0


cdef int widest(tuple numbers, Scalar *number) except -1:
    cdef Scalar other
    scalar_from(numbers[0], number)
    for value in numbers[1:]:
        scalar_from(value, &other)
        if other.kind > number.kind:
            number[0] = other
    return 0


cdef bint uniform(tuple numbers) except -1:
    first = numbers[0]
    for number in numbers:
        if type(number) is not type(first) or number != first:
            return False
    return True


cdef tuple packed(TensorBase scalars, list tensors):
    if scalars.device_type != CPU:
        raise RuntimeError(f"Expected scalars to be on CPU, got {device_of(scalars)} instead.")
    if scalars.ndim != 1:
        raise RuntimeError(f"Expected packed scalar Tensor to be of dimension 1. Got {scalars.ndim} instead.")
    if scalars.numel != len(tensors):
        raise RuntimeError(f"Expected length of scalars to match input of length {len(tensors)} but got "
                           f"{scalars.numel} instead.")
    return tuple(scalars.tolist())


cdef double only_number(TensorBase tensor) except? -1.0:
    cdef Scalar number
    read_scalar(tensor, &number)
    if number.kind > FLOAT_KIND:
        raise RuntimeError("value cannot be converted to type double without overflow")
    return number.real


cpdef TensorBase whole(list tensors):
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


cdef int check_any(list tensors, str op) except -1:
    if not tensors:
        raise NotImplementedError(
            "There were no tensor arguments to this function (e.g., you passed an empty list of Tensors), but no "
            f"fallback function is registered for schema aten::{op}.")
    return 0


cdef int expected(str condition) except -1:
    raise RuntimeError(f"Expected {condition} to be true, but got false.  (Could this error message be improved?  If "
                       "so, please report an enhancement request to PyTorch.)")


cdef int check_as_many(list tensors, list others, str name) except -1:
    if len(others) != len(tensors):
        expected(f"{name}.size() == n_tensors")
    return 0


cdef int check_beside(list tensors, list others, str name) except -1:
    cdef TensorBase tensor, other
    cdef Py_ssize_t i
    check_as_many(tensors, others, name)
    for i in range(len(tensors)):
        tensor = <TensorBase>tensors[i]
        other = <TensorBase>others[i]
        if common_device(tensor, other) != other.device_type or common_index(tensor, other) != other.device_index:
            raise RuntimeError("Expected all tensors to be on the same device, but found at least two devices, "
                               f"{device_of(tensor)} and {device_of(other)}!")
        if other.dtype != tensor.dtype:
            raise RuntimeError(f"expected scalar type {code_name(tensor.dtype)} but found {code_name(other.dtype)}")
        if not same_sizes(other, tensor):
            raise RuntimeError(f"{name}[{i}] has the shape {shape_text(other.ndim, other.sizes)}, its parameter "
                               f"{shape_text(tensor.ndim, tensor.sizes)}")
    return 0


cdef int check_beside_if(bint wanted, list tensors, list others, str name) except -1:
    if wanted:
        return check_beside(tensors, others, name)
    return expected(f"{name}.empty()") if others else 0


cdef int check_momentum(double momentum, list tensors, list others, str name) except -1:
    return check_beside_if(momentum != 0, tensors, others, name)


cdef int check_all_float(list tensors, str op) except -1:
    cdef TensorBase tensor
    for tensor in tensors:
        check_float_kernel(tensor.dtype, op)
        if is_float8(tensor.dtype):
            raise NotImplementedError(f'"{op}" not implemented for \'{code_name(tensor.dtype)}\'')
    return 0


cdef int check_one(TensorBase tensor, ScalarType dtype, str name, str kind) except -1:
    if tensor.numel != 1:
        raise RuntimeError(f"{name} must be a 1-element tensor.")
    if tensor.dtype != dtype:
        raise RuntimeError(f"{name} must be {kind} tensor.")
    return 0


cdef int check_one_float(TensorBase tensor, str name) except -1:
    return check_one(tensor, Float, name, "a float")


cdef int check_one_int(TensorBase tensor, str name) except -1:
    return check_one(tensor, Int, name, "an int")


cdef int check_on_device(list tensors, TensorBase other) except -1:
    cdef TensorBase tensor
    for one in tensors:
        tensor = <TensorBase>one
        if tensor.device_type != other.device_type or tensor.device_index != other.device_index:
            raise RuntimeError("Expected all tensors to be on the same device, but found at least two devices, "
                               f"{device_of(tensor)} and {device_of(other)}!")
    return 0


cdef int check_scalar_tensor(TensorBase other) except -1:
    if other.ndim:
        raise RuntimeError(f"scalar tensor expected to be 0 dim but it has {other.ndim} dimensions and {other.numel} "
                           "elements.")
    return 0


cdef int check_all_filled(list tensors) except -1:
    cdef Py_ssize_t i
    for i in range(len(tensors)):
        if not (<TensorBase>tensors[i]).numel:
            raise RuntimeError("_foreach_max cannot compute the maximum of an empty tensor; max over zero elements is "
                               "undefined.")
    return 0


cdef bint may_share(list tensors, TensorBase other) noexcept:
    cdef TensorBase first = <TensorBase>tensors[0]
    # CANN documents the number in the dtype of the tensors, and no bfloat16 number.
    return (other.dtype == first.dtype != BFloat16 and other.device_type == first.device_type
            and other.device_index == first.device_index and not recorded(other, grad_enabled()))


cdef bint may_norm(const Scalar *ord) noexcept:
    return ord.kind != COMPLEX_KIND and (ord.real == 1 or ord.real == 2)


cdef bint may_step(list grads, TensorBase grad_scale, TensorBase found_inf) except -1:
    if found_inf is not None and found_inf.item():
        return False
    if grad_scale is not None:
        for grad in grads:
            grad.div_(grad_scale)
    return True
