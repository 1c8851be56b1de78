"""Indexing: `a[1]`, `a[1:, ..., None]`, `a[mask]`, `a[0] = b`."""
import numpy
import warnings

from cpython.bool cimport PyBool_Check
from cpython.complex cimport PyComplex_Check
from cpython.float cimport PyFloat_Check
from cpython.list cimport PyList_Check
from cpython.long cimport PyLong_Check, PyLong_CheckExact
from cpython.object cimport Py_NE, PyObject_RichCompareBool
from cpython.slice cimport PySlice_AdjustIndices, PySlice_Check, PySlice_Unpack
from cpython.tuple cimport PyTuple_Check
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from mindtorch._core import hooks
from mindtorch._core.tensor.factories import tensor_from_data

from mindtorch._core._gen.calls cimport (
    op_index_Tensor, op_masked_fill__Scalar, op_index_put, op_index_put_, op_masked_select, op_nonzero,
)
from mindtorch._core.autograd.node cimport may_require_grad, requires_grad
from mindtorch._core.autograd.history cimport (
    record__basic_index, record_select_int, should_record, should_record_inplace, should_record_view,
)
from mindtorch._core.operators.operator cimport write_back_out
from mindtorch._core.python.conversion cimport (
    as_int, check_scalar_overflow, optional_tensor, read_scalar, require_bool, require_tensor, type_name,
)
cimport mindtorch._core.python.profiling as profiling
cimport mindtorch._core.python.torch_function as torch_function
from mindtorch._core.python.torch_function cimport handle_index, operands_are_overridden
from mindtorch._core.rules.infer cimport (
    check_no_internal_overlap, check_no_overlap, check_no_partial_overlap, is_same_memory, output_or_temporary,
    same_shape,
)
from mindtorch._core.rules.rules cimport check_index_put, check_masked_fill
from mindtorch._core.tensor.copy_cast cimport copy_tensor_, legacy_type_name
from mindtorch._core.tensor.dtype cimport (
    COMPLEX_KIND, DTYPES, INT_KIND, KIND, Bool, Byte, Char, Int, Long, Scalar, Short, is_scalar, scalar_from_python,
)
from mindtorch._core.tensor.tensor cimport (
    CPU, MAX_DIMS, META, TENSOR_SLOTS, Shape, TensorBase, bump_version, copy_data, device_of, has_same_shape, has_shape,
    make_view, reported_device_type, shape_text,
)
cimport mindtorch._core.tensor.torch_dispatch as torch_dispatch
from mindtorch._core.tensor.views cimport alias_with_history, expand_to, select_dim, slice_dim


# --- with tensors, masks and lists -----------------------------------------------------------------------------------
# `a[1, mask, :, [0, 2]]` is split: ints, slices, None and Ellipsis make a view; the rest are index tensors, one or None
# for each dimension of the view. Masks become the indices of their true elements, for which the host waits, since they
# decide the shape of the result. The operators are the rows index.Tensor and index_put.


# --- reading an index ------------------------------------------------------------------------------------------------

cdef TensorBase to_index_tensor(TensorBase self, object part):
    """A tensor, list or array as an index tensor: a mask, or integers."""
    cdef TensorBase index
    if isinstance(part, TensorBase):
        return <TensorBase>part
    if PyBool_Check(part):
        return tensor_from_data([part], None, device_of(self), False, "tensor")
    index = tensor_from_data(part, None, None, False, "tensor")
    if index.dtype != Bool and index.dtype != Byte:
        index = index.to(dtype=DTYPES[<int>Long])
    return index.to(device_of(self))


cdef bint is_mask(TensorBase index) noexcept:
    return index.dtype == Bool or index.dtype == Byte


cdef bint is_integer_scalar(TensorBase index) noexcept:
    """Whether it is a 0-d integer tensor, which counts as an int; but under vmap each sample has another."""
    return index.ndim == 0 and index.dtype in (Char, Short, Int, Long) and not has_samples(index)


cdef inline bint has_samples(TensorBase index) noexcept:
    """Whether it is a BatchedTensor of vmap."""
    return torch_dispatch.active and type(index) is hooks.BatchedTensor


cdef bint is_row_index(TensorBase index) noexcept:
    """Whether a whole index may consist of this tensor of integers."""
    return index.ndim > 0 and (index.dtype == Long or index.dtype == Int)


cdef int check_index_dtype(TensorBase index) except -1:
    if index.dtype == Byte:
        warnings.warn("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.",
                      UserWarning, stacklevel=2)
    elif index.dtype not in (Bool, Int, Long):
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    return 0


cdef tuple split_index(TensorBase self, tuple parts, list indices):
    """The basic index of `parts`, which makes a view. `indices` gets an index tensor or None for each of its dims."""
    cdef list basic = [], read = []
    cdef TensorBase index
    cdef int specified = 0, dims
    for part in parts:
        if PyList_Check(part) or PyTuple_Check(part) or PyBool_Check(part) or isinstance(
                part, (TensorBase, NUMPY_ARRAY, range)):
            index = to_index_tensor(self, part)
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
        if isinstance(part, TensorBase) and not is_integer_scalar(<TensorBase>part):
            index = <TensorBase>part
            check_index_dtype(index)
            dims = index.ndim if is_mask(index) else 1
            if PyBool_Check(given) or (dims == 0):
                basic.append(None)                      # True and False make a dimension of their own
                if PyBool_Check(given):                 # no mask: nothing has to be counted
                    index = self.new_zeros(1 if given else 0, dtype=DTYPES[<int>Long])
                elif index.dtype == Byte:               # a number, true or false, without the checks of a mask of bytes
                    index = index.to(DTYPES[<int>Bool])
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


cdef list mask_to_indices(TensorBase mask, bint written):
    """The indices of the true elements, a tensor for each dimension. On meta they are unknown and not written."""
    if written and reported_device_type(mask) == META:
        return [mask.new_empty(0, dtype=DTYPES[<int>Long])] * mask.ndim
    return list(nonzero(mask).unbind(1))


cdef TensorBase on_device_of(TensorBase index, TensorBase view):
    return index if reported_device_type(index) == reported_device_type(view) else index.to(device_of(view))


cdef list expand_masks(TensorBase view, list indices, bint written):
    """Index tensors on the device of the view, masks replaced by positions; handlers get the masks, as in torch."""
    cdef list result = []
    cdef TensorBase index
    cdef int i, at
    cdef bint keeps_masks = torch_dispatch.active and torch_dispatch.dispatches(view)
    for given in indices:
        if given is None:
            result.append(None)
            continue
        index = <TensorBase>given
        check_index_dtype(index)
        if reported_device_type(index) != CPU and device_of(index) != device_of(view):
            raise RuntimeError("indices should be either on cpu or on the same device as the indexed tensor "
                               f"({device_of(view)})")
        if keeps_masks or not is_mask(index):
            result.append(on_device_of(index, view))
            continue
        at = len(result)
        for i in range(index.ndim):
            if at + i >= view.ndim or index.sizes[i] != view.sizes[at + i]:
                raise IndexError(
                    f"The shape of the mask {shape_text(index.ndim, index.sizes)} at index {i} does not match the "
                    f"shape of the indexed tensor {shape_text(view.ndim, view.sizes)} at index {at + i}")
        result.extend([on_device_of(positions, view) for positions in mask_to_indices(index, written)])
    if len(result) > view.ndim:
        raise IndexError(f"too many indices for tensor of dimension {view.ndim} (got {len(result)})")
    while result and result[len(result) - 1] is None:
        result.pop()
    return result


# --- reading and writing ---------------------------------------------------------------------------------------------

cdef object index_view(TensorBase view, list indices):
    return op_index_Tensor(view, expand_masks(view, indices, False), None)


cdef bint has_empty_index(list indices):
    for index in indices:
        if index is not None and (<TensorBase>index).numel == 0:
            return True
    return False


cdef TensorBase single_mask(TensorBase view, list indices):
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
            return None                                 # `expand_masks` says what is wrong
    return mask.reshape([*mask.shape] + [1] * (view.ndim - at - mask.ndim))


cdef int index_put_view(TensorBase view, list indices, object value) except -1:
    cdef Scalar number
    cdef TensorBase values, mask
    if is_scalar(value):
        scalar_from_python(value, &number)
        mask = single_mask(view, indices)
        if mask is not None:                            # waits for nothing
            check_scalar_overflow(&number, view.dtype)
            op_masked_fill__Scalar(view, mask.to(device_of(view)), &number)
            return 0
        check_scalar_overflow(&number, view.dtype)
        values = view.new_full((), value)
    elif isinstance(value, TensorBase):
        values = <TensorBase>value
        if values.ndim == 0 and reported_device_type(values) == CPU and reported_device_type(view) != CPU:
            values = values.to(device_of(view))
        values = without_leading_ones(values)
    else:
        raise TypeError(f"can't assign a {type_name(value)} to a {legacy_type_name(view)}")
    index_put_impl(view, indices, values, False)
    return 0


cdef TensorBase cast_of_fill(TensorBase self, list indices, TensorBase values, bint accumulate):
    """The values, in self's dtype where they fill and fit it: one value that goes where a mask is true is a fill in
    torch, and so takes any dtype, but a mask of bools alone.
    """
    cdef Scalar number
    cdef list given = [index for index in indices if index is not None]
    if accumulate or values.numel != 1 or len(given) != 1 or not is_mask(<TensorBase>given[0]):
        return values
    if (<TensorBase>given[0]).dtype != Bool:
        expand_masks(self, indices, True)               # refuses the shape first
        check_masked_fill(Byte)
    if values.dtype == self.dtype:
        return values
    if reported_device_type(values) != META:                    # whose elements nobody knows
        read_scalar(values, &number)
        check_scalar_overflow(&number, self.dtype)
    return values.type_as(self)


cdef TensorBase index_put_impl(TensorBase self, list indices, TensorBase values, bint accumulate):
    should_record_inplace(self, requires_grad(self) or requires_grad(values))       # refuses a leaf, before all else
    values = cast_of_fill(self, indices, values, accumulate)
    indices = expand_masks(self, indices, True)
    if not has_empty_index(indices):
        return op_index_put_(self, indices, values, accumulate)
    if reported_device_type(self) != META:         # there the number of true elements is unknown
        check_index_put(self, indices, values)
    if not values.requires_grad:                # else a sum counts as the write
        bump_version(self)
    return with_zero_gradient(self, values)


cdef TensorBase with_zero_gradient(TensorBase result, TensorBase values):
    """The result of a write of no elements. The values have a gradient nevertheless, of zeros."""
    return result.add_(values.reshape(-1).narrow(0, 0, 0).sum()) if values.requires_grad else result


# --- functions -------------------------------------------------------------------------------------------------------

cdef list require_indices(object indices):
    cdef list found = []
    if not PyTuple_Check(indices) and not PyList_Check(indices):
        raise TypeError(f"index_put(): argument 'indices' (position 1) must be tuple of Tensors, not "
                        f"{type_name(indices)}")
    for index in indices:
        if index is not None and not isinstance(index, TensorBase):
            raise TypeError(f"index_put(): argument 'indices' (position 1) must be tuple of Tensors, not "
                            f"{type_name(indices)}")
        found.append(index)
    return found


def index_put(input, indices, values, accumulate=False):
    """A copy of the tensor with `values` where the index tensors point; added up there with `accumulate`."""
    cdef TensorBase self = require_tensor(input, b"index_put", b"input", 1)
    cdef TensorBase source = require_tensor(values, b"index_put", b"values", 2)
    cdef list found = require_indices(indices)
    cdef bint adding = require_bool(accumulate, b"index_put", b"accumulate", 3)
    source = cast_of_fill(self, found, source, adding)
    found = expand_masks(self, found, True)
    if not has_empty_index(found):
        return op_index_put(self, found, source, adding, None)
    check_index_put(self, found, source)
    return with_zero_gradient(self.clone(), source)


def index_put_(TensorBase input, indices, values, accumulate=False):
    """`values` written where the index tensors point; added up there with `accumulate`."""
    return index_put_impl(input, require_indices(indices), require_tensor(values, b"index_put_", b"values", 2),
                          require_bool(accumulate, b"index_put_", b"accumulate", 3))


def nonzero(input, *, out=None, as_tuple=False):
    """The indices of all elements that are not 0, a row each; with `as_tuple` one tensor a dimension. Waits for the
    device."""
    cdef TensorBase self = require_tensor(input, b"nonzero", b"input", 1)
    cdef TensorBase given = optional_tensor(out, b"nonzero", b"out")
    cdef TensorBase found
    if require_bool(as_tuple, b"nonzero", b"as_tuple"):
        if given is not None:
            raise RuntimeError("nonzero does not support the out kwarg when as_tuple is True")
        return (nonzero(self.unsqueeze(0) if self.ndim == 0 else self)).unbind(1)
    if given is not None and given.dtype != Long:
        raise RuntimeError("nonzero: Expected out tensor to have scalar type Long but got scalar type"
                           f"{str(given.dtype)}")
    if KIND[<int>self.dtype] == COMPLEX_KIND:       # which aclnnNonzero does not take
        self = self != 0
    # For a 0-d tensor: (1, 0) or (0, 0).
    found = op_nonzero(self, None) if self.ndim else op_nonzero(self.reshape(1), None).narrow(1, 0, 0)
    found.base = None
    return found if given is None else write_dynamic_out(given, found)


cdef TensorBase write_dynamic_out(TensorBase out, TensorBase found):
    """Write to `out` the result of an operator whose elements decide its shape."""
    cdef Shape shape
    check_no_internal_overlap(out)
    same_shape(&shape, found)
    output_or_temporary(out, &shape, found.dtype, found.device_type, found.device_index)        # for its checks
    return write_back_out(found, out)


def masked_select(input, mask, *, out=None):
    """The elements where `mask` is true, in one line. Waits for the device."""
    cdef TensorBase self = require_tensor(input, b"masked_select", b"input", 1)
    cdef TensorBase chosen = require_tensor(mask, b"masked_select", b"mask", 2)
    cdef TensorBase given = optional_tensor(out, b"masked_select", b"out")
    if given is None:
        return op_masked_select(self, chosen, None)
    if given.dtype != self.dtype:
        raise RuntimeError("masked_select(): self and result must have the same scalar type")
    if requires_grad(self) or requires_grad(given):
        should_record(given, "masked_select")           # refuses out=
    check_no_overlap(given, self)
    check_no_overlap(given, chosen)
    return write_dynamic_out(given, op_masked_select(self, chosen, None))


FUNCTIONS = {"index_put": index_put, "index_put_": index_put_, "masked_select": masked_select, "nonzero": nonzero}
METHODS = dict(FUNCTIONS)


# --- basic indexing --------------------------------------------------------------------------------------------------
# `a[1]`, `a[1:, ..., None]`, `a[0] = b`: a read is a view; a write is a copy or a fill into the view. The index is
# applied from left to right to a geometry on the stack, so that a read makes one tensor, however many parts it has.


cdef enum:
    ADVANCED = 2

cdef object FULL_SLICE = slice(None)
NON_TUPLE_WARNING = ("Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in "
                     "pytorch "
                     "2.9; use x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted as tensor "
                     "index, "
                     "x[torch.tensor(seq)], which will result either in an error or a different result")
cdef type NUMPY_INTEGER = numpy.integer
cdef type NUMPY_ARRAY = numpy.ndarray


cdef struct ViewGeometry:                     # what remains of the tensor, and how far the index has come
    int64_t sizes[2 * MAX_DIMS]
    int64_t strides[2 * MAX_DIMS]
    int64_t offset
    int ndim                               # dimensions of the result so far
    int dim                                # next dimension of the tensor


cdef int raise_out_of_bounds(int64_t index, int dim, int64_t size) except -1:
    raise IndexError(f"index {index} is out of bounds for dimension {dim} with size {size}")


cdef inline int apply_int(ViewGeometry *selection, TensorBase self, int64_t index) except -1:
    cdef int64_t size = self.sizes[selection.dim]
    if index >= size or index < -size:
        return raise_out_of_bounds(index, selection.dim, size)
    selection.offset += (index + size if index < 0 else index) * self.strides[selection.dim]
    selection.dim += 1
    return 0


cdef int apply_slice(ViewGeometry *selection, TensorBase self, object part) except -1:
    cdef Py_ssize_t start, stop, step
    PySlice_Unpack(part, &start, &stop, &step)
    if step < 0:
        raise ValueError("step must be greater than zero")
    selection.sizes[selection.ndim] = PySlice_AdjustIndices(self.sizes[selection.dim], &start, &stop, step)
    selection.strides[selection.ndim] = self.strides[selection.dim] * step

    selection.offset += start * self.strides[selection.dim]
    selection.ndim += 1
    selection.dim += 1
    return 0


cdef inline void copy_dims(ViewGeometry *selection, TensorBase self, int count) noexcept:
    memcpy(selection.sizes + selection.ndim, self.sizes + selection.dim, count * sizeof(int64_t))
    memcpy(selection.strides + selection.ndim, self.strides + selection.dim, count * sizeof(int64_t))
    selection.ndim += count
    selection.dim += count


cdef void apply_none(ViewGeometry *selection, TensorBase self) noexcept:
    cdef int dim = selection.dim
    selection.sizes[selection.ndim] = 1
    selection.strides[selection.ndim] = self.sizes[dim] * self.strides[dim] if dim < self.ndim else 1
    selection.ndim += 1


cdef int apply_part(ViewGeometry *selection, TensorBase self, object part, int specified) except -1:
    cdef Scalar number
    if part is None:
        if selection.ndim >= MAX_DIMS:
            raise IndexError(f"the result would have more than {MAX_DIMS} dimensions")
        apply_none(selection, self)
        return 0
    if part is Ellipsis:
        copy_dims(selection, self, self.ndim - specified)
        return 0
    if PySlice_Check(part):
        return apply_slice(selection, self, part)
    if isinstance(part, TensorBase):
        read_scalar(<TensorBase>part, &number)
        return apply_int(selection, self, number.integer)
    return apply_int(selection, self, as_int(part))


cdef int count_indexed_dims(object part) except -1:
    """1 when the part uses up a dimension of the tensor, 0 when it does not, ADVANCED for what is no basic index."""
    cdef TensorBase tensor
    if part is None or part is Ellipsis:
        return 0
    if PySlice_Check(part) or PyLong_CheckExact(part) or isinstance(part, NUMPY_INTEGER):
        return 1
    if isinstance(part, TensorBase):
        tensor = <TensorBase>part
        if KIND[<int>tensor.dtype] > INT_KIND:
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        if is_integer_scalar(tensor):
            return 1
        return ADVANCED
    if PyBool_Check(part) or PyList_Check(part) or PyTuple_Check(part) or isinstance(part, (NUMPY_ARRAY, range)):
        return ADVANCED
    if PyLong_Check(part) or hasattr(part, "__index__"):
        return 1
    if isinstance(part, str):
        raise TypeError("new(): invalid data type 'str'")
    raise IndexError("only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
                     f"(got {type_name(part)})")


cdef int apply_basic_index(ViewGeometry *selection, TensorBase self, tuple parts) except -1:
    """ADVANCED, and nothing done, where a part is no basic index."""
    cdef int specified = 0, used
    cdef bint skipped = False
    selection.offset = self.offset
    selection.ndim = 0
    selection.dim = 0
    for part in parts:
        used = count_indexed_dims(part)
        if used == ADVANCED:
            return ADVANCED
        specified += used
    if specified > self.ndim:
        if self.ndim == 0 and len(parts) == 1 and not PySlice_Check(parts[0]):
            raise IndexError("invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in "
                             "C++ to convert a 0-dim tensor to a number")
        if self.ndim == 0 and len(parts) == 1:
            raise IndexError("slice() cannot be applied to a 0-dim tensor.")
        raise IndexError(f"too many indices for tensor of dimension {self.ndim}")
    for part in parts:
        if part is Ellipsis and skipped:
            continue                        # a second Ellipsis stands for no dimension, as in torch
        skipped = skipped or part is Ellipsis
        apply_part(selection, self, part, specified)
    copy_dims(selection, self, self.ndim - selection.dim)
    if selection.ndim > MAX_DIMS:
        raise IndexError(f"the result would have more than {MAX_DIMS} dimensions")
    return 0


cdef inline tuple index_to_tuple(object index):
    return index if PyTuple_Check(index) else treat_as_tuple(index)


cdef tuple treat_as_tuple(object index):
    """The index as a tuple; a short list that holds other things than numbers counts as one."""
    if PyList_Check(index) and len(index) < 32:
        for part in index:
            if part is None or part is Ellipsis or PySlice_Check(part) or isinstance(
                    part, (TensorBase, list, tuple, range, NUMPY_ARRAY, str)):
                warnings.warn(NON_TUPLE_WARNING, UserWarning, stacklevel=1)
                return tuple(index)
    return (index,)


cdef TensorBase basic_view(TensorBase self, object index):
    """The view of a basic index; None for an index with tensors."""
    cdef ViewGeometry selection
    if PyLong_CheckExact(index) and self.ndim > 0:
        # The most common index needs no copy of the geometry: the view has the rest of it.
        selection.offset = self.offset
        selection.dim = 0
        apply_int(&selection, self, as_int(index))
        return make_view(self, self.ndim - 1, self.sizes + 1, self.strides + 1, selection.offset)
    if apply_basic_index(&selection, self, index_to_tuple(index)) == ADVANCED:
        return None
    return make_view(self, selection.ndim, selection.sizes, selection.strides, selection.offset)


cdef TensorBase recorded_basic_view(TensorBase self, object index):
    """`basic_view`, with its history."""
    cdef TensorBase view
    if torch_dispatch.active and torch_dispatch.dispatches(self):
        return dispatched_basic_view(self, index)
    view = basic_view(self, index)
    if view is None:
        return None
    if may_require_grad(self) and should_record_view(self):
        if PyLong_CheckExact(index):
            record_select_int(self, 0, index, view)
        else:
            record__basic_index(self, index, view)
    return view


cdef TensorBase dispatched_basic_view(TensorBase self, object index):
    """`basic_view` by an operator for each part of the index, which handlers compute."""
    cdef tuple parts = index_to_tuple(index)
    cdef TensorBase view = self
    cdef Py_ssize_t start, stop, step, length
    cdef int dim = 0
    if basic_view(self, index) is None:         # raises the errors of an index, too
        return None
    specified = sum([count_indexed_dims(part) for part in parts])
    for part in parts:
        if part is None:
            view = view.unsqueeze(dim)
            dim += 1
        elif part is Ellipsis:
            dim += self.ndim - specified
            specified = self.ndim               # a second Ellipsis stands for no dimension
        elif PySlice_Check(part):
            PySlice_Unpack(part, &start, &stop, &step)
            length = PySlice_AdjustIndices(view.sizes[dim], &start, &stop, step)
            if length != view.sizes[dim] or step != 1:
                view = slice_dim(view, dim, start, length, step)
            dim += 1
        else:
            view = select_dim(view, dim, as_int(part.item() if isinstance(part, TensorBase) else part))
    return alias_with_history(view) if view is self else view


cdef object getitem_impl(object self, object index):
    cdef TensorBase view = recorded_basic_view(<TensorBase>self, index)
    return getitem_advanced(<TensorBase>self, index) if view is None else view


cdef TensorBase split_view(TensorBase self, object index, list indices):
    """The view of the basic parts of an index; `indices` gets the index tensors."""
    if self.ndim and isinstance(index, TensorBase) and is_row_index(<TensorBase>index):
        indices.append(index)
        return self
    cdef tuple basic = split_index(self, index_to_tuple(index), indices)
    for part in basic:
        if not PySlice_Check(part) or PyObject_RichCompareBool(part, FULL_SLICE, Py_NE):
            return recorded_basic_view(self, basic)
    return self


cdef object getitem_advanced(TensorBase self, object index):
    cdef list indices = []
    cdef TensorBase view = split_view(self, index, indices)
    return index_view(view, indices)


cdef int setitem_advanced(TensorBase self, object index, object value) except -1:
    cdef list indices = []
    cdef TensorBase view = split_view(self, index, indices)
    return index_put_view(view, indices, value)


cdef int assign_tensor(TensorBase target, TensorBase value) except -1:
    cdef Shape shape
    cdef int i, leading = 0
    cdef bint is_number = value.ndim == 0               # torch fills with it
    shape.ndim = target.ndim
    for i in range(target.ndim):
        shape.sizes[i] = target.sizes[i]
    # torch drops leading dimensions of size 1 of a value of another shape before it expands it.
    while not has_shape(value, &shape) and leading < value.ndim and value.sizes[leading] == 1:
        leading += 1
    if leading > 0:
        value = make_view(value, value.ndim - leading, value.sizes + leading, value.strides + leading, value.offset)
    value = expand_to(value, &shape)
    if not is_number and is_same_memory(target, value):
        return 0
    check_no_internal_overlap(target)
    check_no_partial_overlap(target, value)
    return copy_data(target, value, False)


cdef int setitem_recorded(TensorBase self, object index, object value) except -1:
    """An assignment that may have to be recorded: an in-place operator on the view."""
    cdef TensorBase values, target = self if index is Ellipsis else recorded_basic_view(self, index)
    if target is None:
        return setitem_advanced(self, index, value)
    if isinstance(value, TensorBase):
        values = <TensorBase>value
        copy_tensor_(target, values if has_same_shape(values, target) else without_leading_ones(values), False)
    else:
        check_no_internal_overlap(target)               # which fill_ does not mind
        target.fill_(value)
    return 0


cdef TensorBase without_leading_ones(TensorBase value):
    """torch drops leading dimensions of size 1 of a value before it expands it."""
    cdef int leading = 0
    while leading < value.ndim and value.sizes[leading] == 1:
        leading += 1
    return value.reshape([value.sizes[i] for i in range(leading, value.ndim)]) if leading else value


cdef int setitem_impl(object self, object index, object value) except -1:
    cdef TensorBase tensor = <TensorBase>self
    cdef TensorBase target
    cdef Scalar number
    index = None if index is True else index            # torch copies to all of `a`, without a mask
    if may_require_grad(tensor) or (isinstance(value, TensorBase) and may_require_grad(<TensorBase>value)):
        return setitem_recorded(tensor, index, value)
    if torch_dispatch.active and (torch_dispatch.dispatches(tensor) or (
            isinstance(value, TensorBase) and torch_dispatch.dispatches(<TensorBase>value))):
        return setitem_recorded(tensor, index, value)
    target = basic_view(tensor, index)
    if target is None:
        return setitem_advanced(tensor, index, value)
    if isinstance(value, TensorBase):
        assign_tensor(target, <TensorBase>value)
        bump_version(tensor)
        return 0
    check_no_internal_overlap(target)
    if PyFloat_Check(value) or PyLong_Check(value) or PyComplex_Check(value):
        scalar_from_python(value, &number)
        check_scalar_overflow(&number, target.dtype)
        if target.bits:
            target.fill_(value)
        else:
            TENSOR_SLOTS.fill(target, &number)
    else:
        raise TypeError(f"can't assign a {type_name(value)} to a {legacy_type_name(tensor)}")
    bump_version(tensor)
    return 0


TENSOR_SLOTS.getitem = getitem
TENSOR_SLOTS.setitem = setitem


# Called in their place while the __torch_function__ protocol is active.

cdef object getitem_overridable(object tensor, object index):
    if operands_are_overridden(tensor, index):
        return handle_index("getitem", (tensor, index))
    return getitem_impl(tensor, index)


cdef int setitem_overridable(object tensor, object index, object value) except -1:
    if operands_are_overridden(tensor, (index, value)):
        handle_index("setitem", (tensor, index, value))
        return 0
    return setitem_impl(tensor, index, value)


cdef object getitem(object tensor, object index):
    if profiling.records_operators:
        return profiling.profiled_binary(getitem_overridable, profiling.index_name(index), tensor, index)
    return getitem_overridable(tensor, index) if torch_function.active else getitem_impl(tensor, index)


cdef int setitem(object tensor, object index, object value) except -1:
    cdef profiling.Range opened = None
    if profiling.records_operators:
        opened = profiling.open_range(profiling.assignment_name(index, value), profiling.FUNCTION, "cpu_op")
    try:
        return setitem_overridable(tensor, index, value) if torch_function.active else setitem_impl(tensor, index,
                                                                                                    value)
    finally:
        profiling.close_range(opened)
