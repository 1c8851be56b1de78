# Rules of padding.
from mindtorch._core.operators.operator cimport Argument, check_filled, raise_not_implemented
from mindtorch._core.rules.infer cimport is_channels_last, operand_order_strides, same_shape
from mindtorch._core.tensor.dtype cimport Bool, Scalar
from mindtorch._core.tensor.tensor cimport Shape


cdef int pad_shape(Shape *shape, TensorBase self, const Shape *padding) except -1:
    """The sizes with both paddings added. `padding` has pairs, from the last dimension on."""
    cdef int i, dim
    if padding.ndim % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {padding.ndim}")
    if padding.ndim > 2 * self.ndim:
        raise RuntimeError(
            "Length of pad should be no more than twice the number of dimensions of the input. Pad length is "
            f"{padding.ndim} while the input has {self.ndim} dimensions.")
    same_shape(shape, self)
    for i in range(padding.ndim // 2):
        dim = self.ndim - 1 - i
        shape.sizes[dim] += padding.sizes[2 * i] + padding.sizes[2 * i + 1]
        if shape.sizes[dim] < 0:
            raise RuntimeError(
                f"The input size {self.sizes[dim]}, plus negative padding {padding.sizes[2 * i]} and "
                f"{padding.sizes[2 * i + 1]}, resulted in a negative output size, which is invalid. Check dimension "
                f"{dim} of your input.")
    return 0


cdef int pad_strides(Shape *strides, TensorBase self, const Shape *padding) except -1:
    """Where nothing is added, those of a copy of what is left; else channels_last where self is."""
    cdef Shape shape
    cdef bint grows = False
    cdef int i
    for i in range(padding.ndim):
        grows = grows or padding.sizes[i] > 0
    strides.ndim = 0
    if not grows or is_channels_last(self):
        pad_shape(&shape, self, padding)
        operand_order_strides(&shape, self, None, None, strides.sizes)
        strides.ndim = shape.ndim
    return 0


cdef int check_constant_pad(TensorBase self, const Shape *padding, const Scalar *value) except -1:
    """Negative padding takes away at one end what is there before anything is added, which must fit the dtype."""
    cdef int i
    cdef bint grows = False
    for i in range(padding.ndim):
        if padding.sizes[i] < 0 and self.sizes[self.ndim - 1 - i // 2] + padding.sizes[i] < 0:
            raise RuntimeError("narrow(): length must be non-negative.")
        grows = grows or padding.sizes[i] > 0
    return check_filled(self, value) if grows else 0


cdef int check_pad(TensorBase self, const Shape *padding, bint reflect) except -1:
    """Refuses an empty image, and a reflection that is not smaller than the image."""
    cdef int dims = padding.ndim // 2, i, dim
    if self.dtype == Bool:
        raise_not_implemented(f"{'reflection' if reflect else 'replication'}_pad{dims}d", self.dtype)
    if self.ndim != dims + 1 and self.ndim != dims + 2:
        raise RuntimeError(f"Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with possibly 0 batch size and "
                           f"other non-zero dimensions for input, but got: {size_text(self)}")
    for i in range(dims):
        dim = self.ndim - 1 - i
        if self.sizes[dim] == 0 or self.sizes[self.ndim - dims - 1] == 0:
            raise RuntimeError(f"Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with possibly 0 batch size "
                               f"and other non-zero dimensions for input, but got: {size_text(self)}")
        if reflect and (padding.sizes[2 * i] >= self.sizes[dim] or padding.sizes[2 * i + 1] >= self.sizes[dim]):
            raise RuntimeError(
                "Argument #4: Padding size should be less than the corresponding input dimension, but got: padding "
                f"({padding.sizes[2 * i]}, {padding.sizes[2 * i + 1]}) at dimension {dim} of input {size_text(self)}")
        if self.sizes[dim] + padding.sizes[2 * i] + padding.sizes[2 * i + 1] < 1:
            raise RuntimeError(f"input ({sizes_by_side([self.sizes[dim]])}) is too small. Calculated output "
                               f"{sizes_by_side([self.sizes[dim] + padding.sizes[2 * i] + padding.sizes[2 * i + 1]])}")
    return 0
