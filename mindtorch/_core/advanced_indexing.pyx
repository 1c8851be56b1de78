"""Indexing with tensors, masks and lists, as torch does it.

`a[1, mask, :, [0, 2]]` is split: ints, slices, None and Ellipsis make a view; what is left are tensors, one for each
dimension of the view or None. Masks turn into the positions of what is true in them, which waits for the device, as the
shape of the result depends on it. The rows index.Tensor and index_put then do the work.
"""
import warnings

import numpy

from cpython.bool cimport PyBool_Check
from cpython.list cimport PyList_Check
from cpython.slice cimport PySlice_Check
from cpython.tuple cimport PyTuple_Check

from mindtorch._core._gen.calls cimport (
    op_index_put, op_index_put_, op_index_Tensor, op_masked_fill__Scalar, op_masked_select, op_nonzero)
from mindtorch._core.arguments cimport optional_tensor, require_bool, require_tensor, type_label
from mindtorch._core.device cimport CPU, device_of
from mindtorch._core.dispatch cimport finish
from mindtorch._core.infer cimport output, same
from mindtorch._core.moves cimport type_string
from mindtorch._core.scalar cimport Bool, Byte, Char, Int, Long, Scalar, Short, is_scalar, scalar_from
from mindtorch._core.tensor cimport Shape, TensorBase, shape_text
from mindtorch._core.values cimport check_fits
from mindtorch._core.nested import tensor_from

cdef type NUMPY_ARRAY = numpy.ndarray


# --- reading an index ------------------------------------------------------------------------------------------------

cdef TensorBase index_tensor(TensorBase self, object part):
    """A tensor, list or array as an index tensor: a mask, or integers."""
    cdef TensorBase index
    if isinstance(part, TensorBase):
        return <TensorBase>part
    if PyBool_Check(part):
        return tensor_from([part], None, device_of(self), False, "tensor")
    index = tensor_from(part, None, None, False, "tensor")
    if index.dtype != Bool and index.dtype != Byte:
        index = index.to(dtype=numpy_long())
    return index.to(device_of(self))


cdef object numpy_long():
    from mindtorch._core.dtype import int64
    return int64


cdef bint is_mask(TensorBase index) noexcept:
    return index.dtype == Bool or index.dtype == Byte


cdef bint is_number(TensorBase index) noexcept:
    """A 0-d integer tensor counts as an int."""
    return index.ndim == 0 and index.dtype in (Char, Short, Int, Long)


cdef bint picks_rows(TensorBase index) noexcept:
    return index.ndim > 0 and (index.dtype == Long or index.dtype == Int)


cdef int check_dtype(TensorBase index) except -1:
    if index.dtype == Byte:
        warnings.warn("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.",
                      UserWarning, stacklevel=2)
    elif index.dtype not in (Bool, Int, Long):
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    return 0


cdef tuple split_index(TensorBase self, tuple parts, list indices):
    cdef list basic = [], read = []
    cdef TensorBase index
    cdef int specified = 0, dims
    for part in parts:
        if PyList_Check(part) or PyTuple_Check(part) or PyBool_Check(part) or isinstance(
                part, (TensorBase, NUMPY_ARRAY, range)):
            index = index_tensor(self, part)
            if PyBool_Check(part):
                specified -= 1
            specified += index.ndim if is_mask(index) else 1
            part = index
        elif part is not None and part is not Ellipsis:
            specified += 1
        read.append(part)
    if specified > self.ndim:
        raise IndexError(f"too many indices for tensor of dimension {self.ndim}")
    for part, given in zip(read, parts):
        if isinstance(part, TensorBase) and not is_number(<TensorBase>part):
            index = <TensorBase>part
            check_dtype(index)
            dims = index.ndim if is_mask(index) else 1
            if PyBool_Check(given) or (dims == 0):
                basic.append(None)                      # True and False make a dimension of their own
                indices.append(index if index.ndim else index.unsqueeze(0))
                continue
            basic.extend([slice(None)] * dims)
            indices.append(index)
            indices.extend([None] * (dims - 1) if not is_mask(index) else [])
            continue
        basic.append(part)
        if part is Ellipsis:
            indices.extend([None] * (self.ndim - specified))
            specified = self.ndim                       # a second Ellipsis stands for no dimension
        elif part is None or PySlice_Check(part):
            indices.append(None)
    return tuple(basic)


cdef list positions_in(TensorBase mask):
    """The indices of what is true, one tensor a dimension."""
    return list(nonzero(mask).unbind(1))


cdef list resolved(TensorBase view, list indices):
    """Index tensors on the view's device, masks replaced by positions."""
    cdef list result = []
    cdef TensorBase index
    cdef int i, at
    for given in indices:
        if given is None:
            result.append(None)
            continue
        index = <TensorBase>given
        check_dtype(index)
        if index.device_type != view.device_type or index.device_index != view.device_index:
            if index.device_type != CPU:
                raise RuntimeError("indices should be either on cpu or on the same device as the indexed tensor "
                                   f"({device_of(view)})")
            index = index.to(device_of(view))
        if not is_mask(index):
            result.append(index)
            continue
        at = len(result)
        for i in range(index.ndim):
            if at + i >= view.ndim or index.sizes[i] != view.sizes[at + i]:
                raise IndexError(
                    f"The shape of the mask {shape_text(index.ndim, index.sizes)} at index {i} does not match the "
                    f"shape of the indexed tensor {shape_text(view.ndim, view.sizes)} at index {at + i}")
        result.extend(positions_in(index))
    if len(result) > view.ndim:
        raise IndexError(f"too many indices for tensor of dimension {view.ndim} (got {len(result)})")
    while result and result[len(result) - 1] is None:
        result.pop()
    return result


# --- reading and writing ---------------------------------------------------------------------------------------------

cdef object read_indexed(TensorBase view, list indices):
    return op_index_Tensor(view, resolved(view, indices), None)


cdef bint picks_nothing(list indices):
    for index in indices:
        if index is not None and (<TensorBase>index).numel == 0:
            return True
    return False


cdef TensorBase only_mask(TensorBase view, list indices):
    """The mask where that is the only index, shaped to stand beside the view; else None."""
    cdef TensorBase mask = None
    cdef int i, at = 0
    for i, index in enumerate(indices):
        if index is None:
            continue
        if mask is not None or not is_mask(<TensorBase>index):
            return None
        mask = <TensorBase>index
        at = i
    if mask is None or mask.dtype != Bool or at + mask.ndim > view.ndim:
        return None
    for i in range(mask.ndim):
        if mask.sizes[i] != view.sizes[at + i]:
            return None                                 # `resolved` says what is wrong
    return mask.reshape([*mask.shape] + [1] * (view.ndim - at - mask.ndim))


cdef int write_indexed(TensorBase view, list indices, object value) except -1:
    cdef Scalar number
    cdef TensorBase values, mask
    cdef int leading = 0
    if is_scalar(value):
        scalar_from(value, &number)
        mask = only_mask(view, indices)
        if mask is not None:                            # waits for nothing
            check_fits(&number, view.dtype)
            op_masked_fill__Scalar(view, mask.to(device_of(view)), &number)
            return 0
        check_fits(&number, view.dtype)
        values = view.new_full((), value)
    elif isinstance(value, TensorBase):
        values = <TensorBase>value
        if values.ndim == 0 and values.device_type == CPU and view.device_type != CPU:
            values = values.to(device_of(view))
        while leading < values.ndim and values.sizes[leading] == 1:
            leading += 1                                # torch drops leading dimensions of size 1
        if leading:
            values = values.reshape([values.sizes[i] for i in range(leading, values.ndim)])
    else:
        raise TypeError(f"can't assign a {type_label(value)} to a {type_string(view)}")
    put(view, indices, values, False)
    return 0


cdef TensorBase put(TensorBase self, list indices, TensorBase values, bint accumulate):
    indices = resolved(self, indices)
    return untouched(self, values) if picks_nothing(indices) else op_index_put_(self, indices, values, accumulate)


cdef TensorBase untouched(TensorBase result, TensorBase values):
    """What nothing was written to: the values get a gradient all the same, of zeros."""
    return result.add_(values.reshape(-1).narrow(0, 0, 0).sum()) if values.requires_grad else result


# --- functions -------------------------------------------------------------------------------------------------------

cdef list require_indices(object indices):
    cdef list found = []
    if not PyTuple_Check(indices) and not PyList_Check(indices):
        raise TypeError(f"index_put(): argument 'indices' (position 1) must be tuple of Tensors, not "
                        f"{type_label(indices)}")
    for index in indices:
        if index is not None and not isinstance(index, TensorBase):
            raise TypeError(f"index_put(): argument 'indices' (position 1) must be tuple of Tensors, not "
                            f"{type_label(indices)}")
        found.append(index)
    return found


def index_put(input, indices, values, accumulate=False):
    """A copy of the tensor with `values` where the index tensors point; added up there with `accumulate`."""
    cdef TensorBase self = require_tensor(input, b"index_put", b"input", 1)
    cdef TensorBase source = require_tensor(values, b"index_put", b"values", 2)
    cdef list found = resolved(self, require_indices(indices))
    cdef bint adding = require_bool(accumulate, b"index_put", b"accumulate", 3)
    return untouched(self.clone(), source) if picks_nothing(found) else op_index_put(self, found, source, adding, None)


def index_put_(TensorBase self, indices, values, accumulate=False):
    """`values` written where the index tensors point; added up there with `accumulate`."""
    return put(self, require_indices(indices), require_tensor(values, b"index_put_", b"values", 2),
               require_bool(accumulate, b"index_put_", b"accumulate", 3))


def nonzero(input, *, out=None, as_tuple=False):
    """The indices of all elements that are not 0, a row each; with `as_tuple` one tensor a dimension. Waits for the
    device."""
    cdef TensorBase self = require_tensor(input, b"nonzero", b"input", 1)
    cdef TensorBase given = optional_tensor(out, b"nonzero", b"out")
    cdef TensorBase found
    if as_tuple:
        return (nonzero(self.unsqueeze(0) if self.ndim == 0 else self)).unbind(1)
    if given is not None and given.dtype != Long:
        raise RuntimeError("nonzero: Expected out tensor to have scalar type Long but got scalar type"
                           f"{str(given.dtype)}")
    # No operator tells how many positions without numbers there are.
    found = op_nonzero(self, None) if self.ndim else op_nonzero(self.reshape(1), None).narrow(1, 0, 0)
    return found if given is None else moved_to(given, found)


cdef TensorBase moved_to(TensorBase out, TensorBase found):
    """What an operator that decides the shape of its result has found, in `out`."""
    cdef Shape shape
    same(&shape, found)
    output(out, &shape, found.dtype, found.device_type, found.device_index)         # checks what can be written to it
    return finish(found, out)


def masked_select(input, mask, *, out=None):
    """The elements where `mask` is true, in one line. Waits for the device."""
    cdef TensorBase self = require_tensor(input, b"masked_select", b"input", 1)
    cdef TensorBase chosen = require_tensor(mask, b"masked_select", b"mask", 2)
    cdef TensorBase given = optional_tensor(out, b"masked_select", b"out")
    if given is None:
        return op_masked_select(self, chosen, None)
    if given.dtype != self.dtype:
        raise RuntimeError("masked_select(): self and result must have the same scalar type")
    return moved_to(given, op_masked_select(self, chosen, None))


FUNCTIONS = {"index_put": index_put, "index_put_": index_put_, "masked_select": masked_select, "nonzero": nonzero}
METHODS = {"index_put": index_put, "index_put_": index_put_, "masked_select": masked_select, "nonzero": nonzero}
