from libc.float cimport FLT_EPSILON, FLT_MAX
from libc.stdint cimport INT64_MAX

from mindtorch._core._gen.calls cimport op_fill__Scalar
from mindtorch._core._gen.calls cimport op__foreach_add_List, op__foreach_sub_Scalar
from mindtorch._core._gen.calls cimport op_sub_Scalar
from mindtorch._core.device cimport copy_data
from mindtorch._core.dispatch cimport ONE, opmath
from mindtorch._core.dtype cimport KIND
from mindtorch._core.scalar cimport (
    COMPLEX_KIND, FLOAT_KIND, INT_KIND, SCALAR_TYPES, BFloat16, Bool, Byte, Char, Double, Float, Half, Int, Long, Short)
from mindtorch._core.tensor cimport empty_tensor, make_view
from mindtorch._core.infer cimport same
from mindtorch._core.lists cimport whole
from mindtorch._npu.launch cimport acl_dtype, make_contiguous


cdef const Shape *axes(Shape *all_of_them, const Shape *dim, TensorBase self) noexcept:
    cdef int i
    if dim.ndim:
        return dim
    all_of_them.ndim = self.ndim
    for i in range(self.ndim):
        all_of_them.sizes[i] = i
    return all_of_them


cdef aclDataType dtype_of(TensorBase tensor) noexcept:
    return acl_dtype(tensor.dtype)


cdef const Shape *sizes_of(Shape *storage, TensorBase tensor) except NULL:
    same(storage, tensor)
    return storage


cdef int rounding(object rounding_mode) except -1:
    return {None: 0, "trunc": 1, "floor": 2}[rounding_mode]


cdef list decayed(list grads, list tensors, double weight_decay, bint maximize):
    cdef Scalar alpha
    if weight_decay == 0:
        return grads
    # What the operator negates has the decay with the other sign.
    number(&alpha, -weight_decay if maximize else weight_decay)
    return list(op__foreach_add_List(grads, tensors, &alpha))


cdef list steps_before(list state_steps):
    cdef TensorBase together = whole(state_steps)
    cdef Py_ssize_t i
    if together is None:
        return list(op__foreach_sub_Scalar(state_steps, &ONE))
    together = op_sub_Scalar(together, &ONE, &ONE, None)
    return [make_view(together, 0, NULL, NULL, i) for i in range(together.numel)]


cdef int reduction(object reduce) except -1:
    return {"add": 1, "sum": 1, "multiply": 2, "prod": 2, "amax": 3, "amin": 4, "mean": 5}[reduce]


cdef list index_list(list indices, TensorBase self):
    cdef Shape shape
    shape.ndim = 1
    shape.sizes[0] = 0
    absent = empty_tensor(&shape, Long, self.device_type, self.device_index)
    return [absent if index is None else index for index in indices]


cdef double or_zero(const double *value) noexcept:
    return 0 if value == NULL else value[0]


cdef double or_negative(const double *value) noexcept:
    return -1 if value == NULL else value[0]


cdef double or_epsilon(const double *value) noexcept:
    return FLT_EPSILON if value == NULL else value[0]


cdef double or_highest(const double *value, TensorBase tensor) noexcept:
    if value != NULL:
        return value[0]
    if tensor.dtype == Half:
        return 65504
    return 2.0 ** 128 - 2.0 ** 120 if tensor.dtype == BFloat16 else FLT_MAX


cdef double or_lowest(const double *value, TensorBase tensor) noexcept:
    return -or_highest(NULL, tensor) if value == NULL else value[0]


cdef TensorBase cast_to(TensorBase tensor, ScalarType dtype):
    cdef Shape shape
    cdef TensorBase made
    same(&shape, tensor)
    made = empty_tensor(&shape, dtype, tensor.device_type, tensor.device_index)
    copy_data(made, tensor, True)
    return made


cdef TensorBase cast(TensorBase tensor, TensorBase out):
    return tensor if tensor.dtype == out.dtype else cast_to(tensor, out.dtype)


cdef TensorBase computed(TensorBase tensor, ScalarType dtype):
    dtype = opmath(dtype)
    return tensor if tensor.dtype == dtype else cast_to(tensor, dtype)


cdef int store(TensorBase out, object result) except -1:
    if result is not out:
        copy_data(out, result, True)
    return 0


cdef int store_all(list outs, object results) except -1:
    cdef tuple found = tuple(results)
    cdef Py_ssize_t i
    if len(found) != len(outs):
        raise ValueError(f"a decomposition has given {len(found)} results for {len(outs)} outputs")
    for i in range(len(outs)):
        store(outs[i], found[i])
    return 0


cdef list cast_list(list tensors, TensorBase out):
    cdef TensorBase tensor
    return [cast(tensor, out) for tensor in tensors]


cdef list cat_list(list tensors, TensorBase out):
    cdef TensorBase tensor
    return [cast(tensor, out) for tensor in tensors if tensor.ndim != 1 or tensor.numel != 0]


cdef TensorBase flat(TensorBase tensor, const Shape *dim):
    if dim.ndim:
        return tensor
    if not tensor.contiguous:
        tensor = make_contiguous(tensor)
    return make_view(tensor, 1, &tensor.numel, NULL, tensor.offset)


cdef TensorBase as_row(TensorBase tensor):
    if not tensor.contiguous:
        tensor = make_contiguous(tensor)
    return make_view(tensor, 1, &tensor.numel, NULL, tensor.offset)


cdef TensorBase as_line(TensorBase tensor):
    cdef int64_t sizes[2]
    cdef int64_t strides[2]
    sizes[0], sizes[1] = 1, tensor.sizes[0]
    strides[0], strides[1] = tensor.sizes[0], tensor.strides[0]
    return make_view(tensor, 2, sizes, strides, tensor.offset)


cdef TensorBase ones_of(TensorBase like, const Shape *shape):
    return op_fill__Scalar(empty_tensor(shape, like.dtype, like.device_type, like.device_index), &ONE)


cdef int64_t first(const Shape *dim) noexcept:
    return dim.sizes[0] if dim.ndim else 0


cdef bint kept(bint keepdim, const Shape *dim) noexcept:
    return keepdim or dim.ndim == 0


cdef const Scalar *number(Scalar *storage, double value) noexcept:
    storage.kind = FLOAT_KIND
    storage.real = value
    return storage


cdef enum:
    STEPS = 10          # what a call may use of the generator's counter, as torch_npu reckons


cdef int64_t seed_of(Generator generator) noexcept:
    return <int64_t>generator.seed_value


cdef int64_t next_offset(Generator generator) noexcept:
    return generator.advance(STEPS)


cdef TensorBase seed_tensor(Generator generator):
    return generator.seed_tensor


cdef TensorBase offset_tensor(Generator generator):
    return generator.offset_tensor


cdef TensorBase expanded(TensorBase tensor, TensorBase out):
    cdef Shape strides
    cdef int i, j
    for i in range(out.ndim):
        j = i - (out.ndim - tensor.ndim)
        strides.sizes[i] = 0 if j < 0 or tensor.sizes[j] != out.sizes[i] else tensor.strides[j]
    return make_view(tensor, out.ndim, out.sizes, strides.sizes, tensor.offset)


cdef TensorBase in_batch(TensorBase matrices, TensorBase other):
    cdef Shape sizes, strides
    cdef int i, j
    for i in range(other.ndim):
        j = i - (other.ndim - matrices.ndim)
        sizes.sizes[i] = matrices.sizes[j] if i >= other.ndim - 2 else other.sizes[i]
        strides.sizes[i] = 0 if j < 0 or matrices.sizes[j] != sizes.sizes[i] else matrices.strides[j]
    return make_view(matrices, other.ndim, sizes.sizes, strides.sizes, matrices.offset)


cdef int qr_mode(object mode) except -1:
    return {"reduced": 0, "complete": 1, "r": 2}[mode]


cdef TensorBase adjoint(TensorBase tensor):
    cdef Shape shape
    cdef Shape strides
    cdef int i
    if tensor.ndim < 2:
        return tensor
    if KIND[<int>tensor.dtype] == COMPLEX_KIND:
        raise NotImplementedError("complex matrices have no kernel on npu that gives the adjoint of a factor")
    same(&shape, tensor)
    for i in range(tensor.ndim):
        strides.sizes[i] = tensor.strides[i]
    i = tensor.ndim - 2
    shape.sizes[i], shape.sizes[i + 1] = shape.sizes[i + 1], shape.sizes[i]
    strides.sizes[i], strides.sizes[i + 1] = strides.sizes[i + 1], strides.sizes[i]
    return make_view(tensor, shape.ndim, shape.sizes, strides.sizes, tensor.offset)


cdef int64_t ENDS[SCALAR_TYPES]       # by ScalarType; that of int64 is no int64, and its last number never comes
for dtype, end in ((Bool, 2), (Byte, 1 << 8), (Char, 1 << 7), (Short, 1 << 15), (Int, 1 << 31), (Long, (1 << 63) - 1),
                   (Half, (1 << 11) + 1), (BFloat16, (1 << 8) + 1), (Float, (1 << 24) + 1), (Double, (1 << 53) + 1)):
    ENDS[<int>dtype] = end


cdef int64_t count_of(TensorBase tensor) noexcept:
    return tensor.numel


cdef TensorBase inverse_for(TensorBase inverse, TensorBase self, bint return_counts):
    cdef Shape shape
    if not return_counts or inverse.numel == self.numel:
        return inverse
    same(&shape, self)
    return empty_tensor(&shape, Long, self.device_type, self.device_index)


cdef int64_t dim_or_none(const Shape *dim) noexcept:
    return dim.sizes[0] if dim.ndim else 1000       # no tensor has so many; torch_npu passes the same number


cdef int64_t size_along(TensorBase tensor, const Shape *dim) noexcept:
    cdef int64_t place = dim.sizes[0]
    return tensor.sizes[place + tensor.ndim if place < 0 else place]


cdef TensorBase slices_of(TensorBase source, TensorBase self, int64_t dim, TensorBase index):
    cdef Shape shape
    if source.ndim == self.ndim:
        return source
    same(&shape, self)
    if self.ndim:
        shape.sizes[dim] = index.numel
    return make_view(source, shape.ndim, shape.sizes, NULL, source.offset)


cdef int64_t heads_of(TensorBase query) noexcept:
    return query.sizes[1]


cdef TensorBase nothing(TensorBase tensor):
    cdef Shape shape
    shape.ndim = 1
    shape.sizes[0] = 0
    return empty_tensor(&shape, tensor.dtype, tensor.device_type, tensor.device_index)


cdef TensorBase written(TensorBase out, TensorBase like):
    cdef Shape shape
    if out is not None:
        return out
    same(&shape, like)
    return empty_tensor(&shape, like.dtype, like.device_type, like.device_index)


cdef int64_t rows_of(TensorBase matrix) noexcept:
    return matrix.sizes[0]


cdef int64_t columns_of(TensorBase matrix) noexcept:
    return matrix.sizes[1]


cdef int64_t end_of(const Shape *to) noexcept:
    return to.sizes[0] if to.ndim else INT64_MAX


cdef int64_t end_of_dtype(TensorBase self) noexcept:
    cdef int dtype = <int>self.dtype
    return ENDS[dtype]


cdef int64_t whole_correction(const Scalar *correction) except? -1:
    if correction == NULL:
        return 1
    if correction.real != <int64_t>correction.real:
        raise NotImplementedError(f"a correction of {correction.real} is not supported on npu: ACLNN takes integers")
    return <int64_t>correction.real


cdef const Scalar *dim_number(Scalar *storage, int64_t dim) noexcept:
    storage.kind = INT_KIND
    storage.integer = dim
    storage.real = <double>dim
    storage.imag = 0
    return storage


cdef bint to_the_right(bint right, object side) except -1:
    return right or side == "right"


cdef double real_of(const Scalar *value) noexcept:
    return value.real


cdef int rotary(object mode) except -1:
    return 0 if mode == "half" else 1


cdef dict ATTENTION_LAYOUTS = {"BNSD": b"BNSD", "BSND": b"BSND", "BSH": b"BSH", "SBH": b"SBH"}


cdef char *attention_layout(object layout) except NULL:
    cdef bytes name = ATTENTION_LAYOUTS[layout]     # which lives as long as the module
    return name


cdef int64_t or_all(const Shape *number) noexcept:
    return number.sizes[0] if number.ndim else 0
