"""Composites in Cython, because training steps call them; _ops/composite has the others.

Two functions stand here because they need operators: `sum_to`, which the engine calls, and `copy_with_bits`, which
copies of conjugates and negatives reach by TENSOR_SLOTS.
"""
from libc.stdint cimport int64_t, uint32_t

from mindtorch._core.python.torch_function import overridable

from mindtorch._core._gen.calls cimport (
    op_add__Tensor, op_repeat_interleave_Tensor, op_repeat_interleave_self_Tensor, op_sum_dim_IntList,
    op__fused_rms_norm, op_addmm, op_conj_physical, op_matmul, op_native_batch_norm, op_native_group_norm,
    op_native_layer_norm, op_neg, op_repeat_interleave_self_int,
)
cimport mindtorch._core.operators.autocast as autocast
from mindtorch._core.autograd.node cimport grad_enabled
from mindtorch._core.operators.operator cimport ONE, check_addmm_factors
from mindtorch._core.python.conversion cimport (
    as_int, is_int, optional_float, optional_tensor, parse_list, parse_optional_int, parse_varargs,
    raise_no_overload, require_bool, require_float, require_int, require_tensor, strip_defaults,
)
from mindtorch._core.rules.infer cimport wrap_dim
from mindtorch._core.tensor.dtype cimport COMPLEX_KIND, FLOAT_KIND, KIND, Bool, Long
from mindtorch._core.tensor.tensor cimport (
    CONJUGATED, NEGATED, TENSOR_SLOTS, Shape, TensorBase, copy_data, empty_like_tensor, has_same_shape, make_alias,
    set_version, shape_text, version_of,
)
from mindtorch._core.tensor.views cimport reshape_to, transpose_matrix


cdef TensorBase sum_to(TensorBase self, int ndim, const int64_t *sizes):
    cdef Shape dims, shape
    cdef int i, leading = self.ndim - ndim
    cdef bint inner = False            # whether a dimension is summed that the result has, with size 1
    cdef TensorBase total = self
    dims.ndim = 0
    for i in range(self.ndim):
        if i < leading or sizes[i - leading] != self.sizes[i]:
            inner = inner or i >= leading
            dims.sizes[dims.ndim] = i
            dims.ndim += 1
    if dims.ndim:
        total = op_sum_dim_IntList(self, &dims, inner, Long if KIND[<int>self.dtype] < FLOAT_KIND else self.dtype, None)
    if not (inner and leading):
        return total
    shape.ndim = ndim
    for i in range(ndim):
        shape.sizes[i] = sizes[i]
    return reshape_to(total, &shape)


def sum_to_size(TensorBase self, *size):
    """The tensor summed over the dimensions in which it is larger than `size`, which must broadcast to its shape."""
    cdef Shape wanted
    cdef int i, leading
    parse_varargs(size, &wanted, b"sum_to_size", b"size")
    leading = self.ndim - wanted.ndim
    for i in range(wanted.ndim):
        if leading < 0 or (wanted.sizes[i] != 1 and wanted.sizes[i] != self.sizes[leading + i]):
            raise RuntimeError(f"size {{{shape_text(wanted.ndim, wanted.sizes)}}} is not expandable to size "
                               f"{{{shape_text(self.ndim, self.sizes)}}}.")
    return sum_to(self, wanted.ndim, wanted.sizes) if wanted.ndim else self.sum()


@overridable
def linear(input, weight, bias=None):
    """input @ weight.T + bias: (..., n) and (m, n) give (..., m); a weight of shape (n,) gives (...)."""
    cdef TensorBase x = require_tensor(input, b"linear", b"input", 1)
    cdef TensorBase w = require_tensor(weight, b"linear", b"weight", 2)
    cdef TensorBase b = optional_tensor(bias, b"linear", b"bias", 3)
    cdef TensorBase product
    if autocast.enabled_threads:
        x, w, b = autocast.cast_by_name("linear", (x, w, b))
    if x.ndim == 0 or w.ndim == 0:
        raise RuntimeError(f"both arguments to linear need to be at least 1D, but they are {x.ndim}D and {w.ndim}D")
    w = transpose_matrix(w)
    if b is not None and x.ndim == 2:
        return op_addmm(b, x, w, &ONE, &ONE, None)
    if b is not None:
        check_addmm_factors(x, w)
        if x.ndim > 2 and w.ndim == 2 and b.ndim == 1 and x.contiguous and x.sizes[x.ndim - 1] == w.sizes[0]:
            return flatten_nd_linear(x, w, b)
    product = op_matmul(x, w, None)
    return product if b is None else op_add__Tensor(product, b, &ONE)


cdef TensorBase flatten_nd_linear(TensorBase x, TensorBase w, TensorBase b):
    """x @ w + b with the leading dimensions of x flattened, so that addmm adds the bias."""
    cdef Shape rows, shape
    cdef int i
    rows.ndim, shape.ndim = 2, x.ndim
    rows.sizes[0], rows.sizes[1] = 1, w.sizes[0]
    for i in range(x.ndim - 1):
        rows.sizes[0] *= x.sizes[i]
        shape.sizes[i] = x.sizes[i]
    shape.sizes[x.ndim - 1] = w.sizes[1]
    return reshape_to(op_addmm(b, reshape_to(x, &rows), w, &ONE, &ONE, None), &shape)


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05, cudnn_enable=True):
    """Mean 0 and variance 1 over the last dimensions, which are `normalized_shape`, then times weight plus bias.

    autocast has the same policy for it and for native_layer_norm, which casts.
    """
    cdef TensorBase x = require_tensor(input, b"layer_norm", b"input", 1)
    cdef TensorBase w = optional_tensor(weight, b"layer_norm", b"weight", 3)
    cdef TensorBase b = optional_tensor(bias, b"layer_norm", b"bias", 4)
    cdef Shape shape
    parse_list(normalized_shape, &shape, b"layer_norm", b"normalized_shape", 2)
    require_bool(cudnn_enable, b"layer_norm", b"cudnn_enable", 6)
    return op_native_layer_norm(x, &shape, w, b, require_float(eps, b"layer_norm", b"eps", 5), None, None, None)[0]


def rms_norm(input, normalized_shape, weight=None, eps=None):
    """A mean square of 1 over the last dimensions, which are `normalized_shape`, then times weight."""
    cdef TensorBase x = require_tensor(input, b"rms_norm", b"input", 1)
    cdef TensorBase w = optional_tensor(weight, b"rms_norm", b"weight", 3)
    cdef Shape shape
    cdef double epsilon
    parse_list(normalized_shape, &shape, b"rms_norm", b"normalized_shape", 2)
    return op__fused_rms_norm(x, &shape, w, optional_float(eps, &epsilon, b"rms_norm", b"eps", 4), None, None)[0]


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-05, cudnn_enabled=True):
    """Mean 0 and variance 1 over each group of channels of a sample, then times weight plus bias."""
    cdef TensorBase x = require_tensor(input, b"group_norm", b"input", 1)
    cdef int64_t groups = require_int(num_groups, b"group_norm", b"num_groups", 2)
    cdef TensorBase w = optional_tensor(weight, b"group_norm", b"weight", 3)
    cdef TensorBase b = optional_tensor(bias, b"group_norm", b"bias", 4)
    cdef double epsilon = require_float(eps, b"group_norm", b"eps", 5)
    cdef int64_t size = 1
    cdef int i
    require_bool(cudnn_enabled, b"group_norm", b"cudnn_enabled", 6)
    wrap_dim(1, x.ndim)
    if autocast.enabled_threads:
        x, w, b = autocast.cast_by_name("group_norm", (x, w, b))
    for i in range(2, x.ndim):
        size *= x.sizes[i]
    return op_native_group_norm(x, w, b, x.sizes[0], x.sizes[1], size, groups, epsilon, None, None, None)[0]


def batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled):
    """Mean 0 and variance 1 for each channel: over the batch in training, by the running statistics otherwise."""
    cdef TensorBase x = require_tensor(input, b"batch_norm", b"input", 1)
    cdef TensorBase w = optional_tensor(weight, b"batch_norm", b"weight", 2)
    cdef TensorBase b = optional_tensor(bias, b"batch_norm", b"bias", 3)
    cdef TensorBase mean = optional_tensor(running_mean, b"batch_norm", b"running_mean", 4)
    cdef TensorBase variance = optional_tensor(running_var, b"batch_norm", b"running_var", 5)
    cdef bint train = require_bool(training, b"batch_norm", b"training", 6)
    cdef double factor = require_float(momentum, b"batch_norm", b"momentum", 7)
    cdef double epsilon = require_float(eps, b"batch_norm", b"eps", 8)
    require_bool(cudnn_enabled, b"batch_norm", b"cudnn_enabled", 9)
    if not train and (mean is None or variance is None):
        missing = "running_mean" if mean is None else "running_var"
        raise RuntimeError(f"{missing} must be defined in evaluation mode")
    if x.numel == 0:        # torch's result depends on the parameters, whose gradients are then zeros
        result = x.clone()
        if w is not None:
            result = result * w[0]
        return result if b is None else result + b[0]
    return op_native_batch_norm(x, w, b, mean, variance, train, factor, epsilon, None, None, None)[0]


cdef int copy_with_bits(TensorBase dst, TensorBase src, bint non_blocking) except -1:
    """copy_data where a tensor has bits: copies between tensors without, and computes conjugates or negatives."""
    cdef TensorBase target = without_bits(dst), value = without_bits(src)
    cdef int bits = dst.bits ^ src.bits
    if KIND[<int>dst.dtype] != COMPLEX_KIND or KIND[<int>src.dtype] != COMPLEX_KIND:
        bits &= NEGATED
    if bits and src.dtype == Bool:              # which has no negative
        value = empty_like_tensor(src, dst.dtype, src.device_type, src.device_index)
        copy_data(value, without_bits(src), False)
    cdef bint directly = (dst.dtype == src.dtype and dst.device_type == src.device_type
                          and dst.device_index == src.device_index and has_same_shape(dst, src))
    cdef uint32_t version = version_of(target)             # the caller counts the write
    if bits & CONJUGATED:
        value = op_conj_physical(value, target if directly and bits == CONJUGATED else None)
    if bits & NEGATED:
        value = op_neg(value, target if directly else None)
    set_version(target, version)
    return 0 if bits and directly else copy_data(target, value, non_blocking)


cdef TensorBase without_bits(TensorBase tensor):
    """What the memory holds."""
    cdef TensorBase alias = make_alias(tensor)
    alias.bits = 0
    return alias


TENSOR_SLOTS.copy_with_bits = copy_with_bits


cdef str REPEAT_INTERLEAVE_SIGNATURES = (
    " * (Tensor input, Tensor repeats, int dim = None, *, int output_size = None)\n"
    " * (Tensor repeats, *, int output_size = None)\n"
    " * (Tensor input, int repeats, int dim = None, *, int output_size = None)\n")
cdef str REPEAT_INTERLEAVE_METHOD_SIGNATURES = (
    " * (Tensor repeats, int dim = None, *, int output_size = None)\n"
    " * (int repeats, int dim = None, *, int output_size = None)\n")


def repeat_interleave(input=None, repeats=None, dim=None, *, output_size=None):
    """Each slice of `dim` repeated as often as `repeats` says; without `dim`, each element of the tensor.

    repeat_interleave(repeats) repeats each index as often as its element says. The length of the result is the sum of a
    tensor of repeats, for which this waits for the device, unless output_size gives it.
    """
    cdef Shape axis, length
    parse_optional_int(dim, &axis, b"repeat_interleave", b"dim", 3)
    parse_optional_int(output_size, &length, b"repeat_interleave", b"output_size")
    if isinstance(input, TensorBase):
        if isinstance(repeats, TensorBase):
            if (<TensorBase>input).requires_grad and grad_enabled():
                repeats = repeats.clone()       # for backward: the caller may write to the numbers
            return op_repeat_interleave_self_Tensor(<TensorBase>input, <TensorBase>repeats, &axis, &length, None)
        if is_int(repeats):
            return op_repeat_interleave_self_int(<TensorBase>input, as_int(repeats), &axis, &length, None)
    if (input is None) != (repeats is None) and dim is None:
        counts = repeats if input is None else input
        return op_repeat_interleave_Tensor(
            require_tensor(counts, b"repeat_interleave", b"repeats", 1), &length, None)
    return raise_no_overload(b"repeat_interleave", strip_defaults((input, repeats, dim), (None, None, None)), {},
                             REPEAT_INTERLEAVE_SIGNATURES)


def repeat_interleave_method(TensorBase self, repeats=None, dim=None, *, output_size=None):
    """Each slice of `dim` repeated as often as `repeats` says; without `dim`, each element of the tensor."""
    if not isinstance(repeats, TensorBase) and not is_int(repeats):
        raise_no_overload(b"repeat_interleave", strip_defaults((repeats, dim), (None, None)), {},
                          REPEAT_INTERLEAVE_METHOD_SIGNATURES)
    return repeat_interleave(self, repeats, dim, output_size=output_size)


FUNCTIONS = {"layer_norm": layer_norm, "rms_norm": rms_norm, "group_norm": group_norm, "batch_norm": batch_norm,
             "repeat_interleave": repeat_interleave}
METHODS = {"repeat_interleave": repeat_interleave_method, "sum_to_size": sum_to_size}
