"""Operators that torch has under torch.ops.aten alone: elsewhere they are indexing, attributes or other functions."""
import builtins

import mindtorch
from mindtorch._core._gen.namespace import ATEN

_ALL = builtins.slice(None)


def alias(self):
    """A view of the whole tensor."""
    return self.view_as(self)


def _to_copy(self, *, dtype=None, layout=None, device=None, pin_memory=None, non_blocking=False, memory_format=None):
    """Tensor.to that always copies."""
    options = {} if memory_format is None else {"memory_format": memory_format}
    return self.to(dtype=dtype or self.dtype, device=device or self.device, non_blocking=non_blocking, copy=True,
                   **options)


def slice(self, dim=0, start=None, end=None, step=1):
    """self[start:end:step] along a dimension."""
    index = [Ellipsis] if dim < 0 else [_ALL] * dim
    behind = [_ALL] * (-1 - dim) if dim < 0 else []
    return self[(*index, builtins.slice(start, end, step), *behind)]


def lift_fresh(self):
    """A tensor that was made from numbers, as it is."""
    return self


def lift_fresh_copy(self):
    """A copy of a tensor that was made from numbers."""
    return self.clone()


def _local_scalar_dense(self):
    """The one element, as a number."""
    return self.item()


def sym_size(self, dim=None):
    """The sizes, or one of them."""
    return list(self.size()) if dim is None else self.size(dim)


def sym_stride(self, dim=None):
    """The strides, or one of them."""
    return list(self.stride()) if dim is None else self.stride(dim)


def sym_numel(self):
    """The number of elements."""
    return self.numel()


def sym_storage_offset(self):
    """The storage offset."""
    return self.storage_offset()


def _writing_out(function):
    """The function with out=, for operators whose out= forms torch has under torch.ops.aten alone."""
    def run(*args, out=None, **kwargs):
        result = function(*args, **kwargs)
        return result if out is None else out.resize_(result.shape).copy_(result)
    return run


@_writing_out
def index(self, indices):
    """self[indices]; None leaves a dimension whole."""
    return self[tuple(_ALL if given is None else given for given in indices)]


fill = _writing_out(mindtorch.fill)
repeat_interleave = _writing_out(mindtorch.repeat_interleave)


def copy(self, src, non_blocking=False):
    """`src` as a new tensor of the shape, dtype and device of self."""
    return mindtorch.empty_like(self).copy_(src, non_blocking=non_blocking)


def zero(self):
    """Zeros like self."""
    return mindtorch.zeros_like(self)


def _unsafe_view(self, size):
    """A view that the caller promises to be the only user of."""
    return self.view(size)


def _reshape_alias(self, size, stride):
    """A view with these sizes and strides."""
    return self.as_strided(size, stride)


def _reshape_alias_copy(self, size, stride):
    """A copy of the elements that lie so in memory."""
    return self.as_strided(size, stride).clone()


def _softmax(self, dim, half_to_float):
    """torch.softmax; half_to_float gives float32 of float16."""
    return mindtorch.softmax(self, dim, dtype=mindtorch.float32 if half_to_float else None)


def _log_softmax(self, dim, half_to_float):
    """torch.log_softmax; half_to_float gives float32 of float16."""
    return mindtorch.log_softmax(self, dim, dtype=mindtorch.float32 if half_to_float else None)


def _resizing(name):
    """The function of both overloads of an operator that resizes images: it takes a scale for each dimension, or, as
    the overload `vec`, a list of them."""
    operator, before = ATEN[name], 0 if "nearest" in name else 1        # align_corners stands before the scales

    def resize(input, output_size, *others, **named):
        scales = others[before:]
        if not ("scale_factors" in named or output_size is None or (scales and isinstance(scales[0], (list, tuple)))):
            return operator(input, output_size, *others, **named)
        factors = named.pop("scale_factors", scales[0] if scales else None)
        if (output_size is None) == (factors is None):
            raise RuntimeError("Must specify exactly one of output_size and scale_factors")
        if output_size is None:
            output_size = [int(size * factor) for size, factor in zip(input.shape[2:], factors, strict=True)]
        return operator(input, output_size, *others[:before], *(factors or ()), **named)
    return resize


for _name in (
        "upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "_upsample_nearest_exact1d",
        "_upsample_nearest_exact2d", "_upsample_nearest_exact3d", "upsample_linear1d", "upsample_bilinear2d",
        "upsample_trilinear3d", "upsample_bicubic2d", "_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa"):
    globals()[_name] = _resizing(_name)


def _pin_memory(self, device=None):
    """Tensor.pin_memory."""
    return self.pin_memory()


def _is_all_true(self):
    """Whether all elements are True, as a tensor."""
    return self.all()


def _fft_c2c(self, dim, normalization, forward):
    """A complex Fourier transform along dimensions."""
    return ATEN["_fft_c2c"](self, _wrapped(self, dim), normalization, forward) if dim else self.clone()


def _fft_r2c(self, dim, normalization, onesided):
    """The Fourier transform of real numbers along dimensions."""
    return ATEN["_fft_r2c"](self, _wrapped(self, dim), normalization, onesided)


def _fft_c2r(self, dim, normalization, last_dim_size):
    """The inverse of _fft_r2c, with last_dim_size elements along the last of the dimensions."""
    return ATEN["_fft_c2r"](self, _wrapped(self, dim), normalization, last_dim_size)


def _wrapped(self, dims):
    """Non-negative, distinct dimensions. IndexError or RuntimeError for invalid ones."""
    if not dims:
        raise RuntimeError("ArrayRef: attempted to access back() of empty list")
    for dim in dims:
        if not -self.dim() <= dim < self.dim():
            raise IndexError(f"Dimension out of range (expected to be in range of [{-self.dim()}, {self.dim() - 1}], "
                             f"but got {dim})")
    wrapped = [dim % self.dim() for dim in dims]
    if len(set(wrapped)) < len(wrapped):
        raise RuntimeError("FFT dims must be unique")
    return wrapped


def _sparse_compressed_tensor_with_dims(*args, **kwargs):
    """A compressed tensor with room for elements."""
    from mindtorch._sparse.constructors import with_dims
    return with_dims(*args, **kwargs)


def _sparse_addmm(self, mat1, mat2, *, beta=1, alpha=1):
    """addmm; torch has it for sparse matrices too."""
    return mindtorch.addmm(self, mat1, mat2, beta=beta, alpha=alpha)


def _of_cuda(name):
    def refuse(query, *args, **kwargs):
        raise NotImplementedError(f"Could not run 'aten::{name}' with arguments from the "
                                  f"'{query.device.type.upper()}' backend. It is CUDA's: call "
                                  "torch.nn.functional.scaled_dot_product_attention.")
    return refuse


_efficient_attention_forward = _of_cuda("_efficient_attention_forward")
_flash_attention_forward = _of_cuda("_flash_attention_forward")


def _sparse_mm_reduce_impl(self, other, reduce):
    """A product of a sparse matrix. NotImplementedError: no tensor here is one."""
    raise NotImplementedError("Could not run 'aten::_sparse_mm_reduce_impl' with arguments from the "
                              f"'{self.device.type.upper()}' backend. It is only available for sparse CSR tensors.")


def _assert_async(self, assert_msg="Expected Tensor with single nonzero value, but got zero"):
    """torch._assert_async."""
    mindtorch._assert_async(self, assert_msg)


def _assert_scalar(self, assert_msg):
    """RuntimeError where the number is zero."""
    if not self:
        raise RuntimeError(assert_msg)
