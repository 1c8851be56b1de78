"""Indexing: `a[1]`, `a[1:, ..., None]`, `a[0] = b`. A basic read is a view; a write is a copy or a fill into the view.

The index is applied to a geometry on the stack, from left to right, so that a read makes one tensor however many
parts the index has. An index with tensors among its parts goes on to advanced_indexing.pyx.
"""
import warnings

from cpython.bool cimport PyBool_Check
from cpython.complex cimport PyComplex_Check
from cpython.float cimport PyFloat_Check
from cpython.list cimport PyList_Check
from cpython.long cimport PyLong_Check, PyLong_CheckExact
from cpython.slice cimport PySlice_AdjustIndices, PySlice_Check, PySlice_Unpack
from cpython.tuple cimport PyTuple_Check
from libc.stdint cimport int64_t
from libc.string cimport memcpy

import numpy

cimport mindtorch._core.profiling as profiling
cimport mindtorch._core.torch_function as torch_function
from mindtorch._core.advanced_indexing cimport picks_rows, read_indexed, split_index, write_indexed
from mindtorch._core.arguments cimport as_int, type_label
from mindtorch._core._gen.records cimport record__basic_index, record_select_int
from mindtorch._core.autograd cimport tracked
from mindtorch._core.device cimport copy_data
from mindtorch._core.dtype cimport KIND
from mindtorch._core.infer cimport check_overlap, check_partial_overlap
from mindtorch._core.moves cimport copy_into, type_string
from mindtorch._core.recording cimport recording_view
from mindtorch._core.scalar cimport INT_KIND, Byte, Scalar, scalar_from
from mindtorch._core.tensor cimport (
    MAX_DIMS, OPERATORS, Shape, TensorBase, count_version, make_view)
from mindtorch._core.torch_function cimport ask_for_index, operands_ask
from mindtorch._core.values cimport check_fits, read_scalar
from mindtorch._core.views cimport expand_to


cdef enum:
    ADVANCED = 2

cdef object WHOLE = slice(None)
NO_TUPLE = ("Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in pytorch "
            "2.9; use x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted as tensor index, "
            "x[torch.tensor(seq)], which will result either in an error or a different result")
cdef type NUMPY_INTEGER = numpy.integer
cdef type NUMPY_ARRAY = numpy.ndarray


cdef struct Selection:                     # what remains of the tensor, and how far the index has come
    int64_t sizes[2 * MAX_DIMS]
    int64_t strides[2 * MAX_DIMS]
    int64_t offset
    int ndim                               # dimensions of the result so far
    int dim                                # next dimension of the tensor


cdef int out_of_bounds(int64_t index, int dim, int64_t size) except -1:
    raise IndexError(f"index {index} is out of bounds for dimension {dim} with size {size}")


cdef inline int take_index(Selection *selection, TensorBase self, int64_t index) except -1:
    cdef int64_t size = self.sizes[selection.dim]
    if index >= size or index < -size:
        # torch counts dimensions of the result so far, which those that an int took away have left.
        return out_of_bounds(index, selection.dim, size)
    selection.offset += (index + size if index < 0 else index) * self.strides[selection.dim]
    selection.dim += 1
    return 0


cdef int take_slice(Selection *selection, TensorBase self, object part) except -1:
    cdef Py_ssize_t start, stop, step
    PySlice_Unpack(part, &start, &stop, &step)
    if step < 0:
        raise ValueError("step must be greater than zero")
    selection.sizes[selection.ndim] = PySlice_AdjustIndices(self.sizes[selection.dim], &start, &stop, step)
    selection.strides[selection.ndim] = self.strides[selection.dim] * step
    # torch's start is never beyond the end, so an empty slice keeps its place in the storage.
    selection.offset += start * self.strides[selection.dim]
    selection.ndim += 1
    selection.dim += 1
    return 0


cdef inline void keep_dims(Selection *selection, TensorBase self, int count) noexcept:
    memcpy(selection.sizes + selection.ndim, self.sizes + selection.dim, count * sizeof(int64_t))
    memcpy(selection.strides + selection.ndim, self.strides + selection.dim, count * sizeof(int64_t))
    selection.ndim += count
    selection.dim += count


cdef void new_dim(Selection *selection, TensorBase self) noexcept:
    cdef int dim = selection.dim
    selection.sizes[selection.ndim] = 1
    selection.strides[selection.ndim] = self.sizes[dim] * self.strides[dim] if dim < self.ndim else 1
    selection.ndim += 1


cdef int take_part(Selection *selection, TensorBase self, object part, int specified) except -1:
    cdef Scalar number
    if part is None:
        if selection.ndim >= MAX_DIMS:
            raise IndexError(f"the result would have more than {MAX_DIMS} dimensions")
        new_dim(selection, self)
        return 0
    if part is Ellipsis:
        keep_dims(selection, self, self.ndim - specified)
        return 0
    if PySlice_Check(part):
        return take_slice(selection, self, part)
    if isinstance(part, TensorBase):
        read_scalar(<TensorBase>part, &number)
        return take_index(selection, self, number.integer)
    return take_index(selection, self, as_int(part))


cdef int check_part(object part) except -1:
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
        if tensor.ndim == 0 and KIND[<int>tensor.dtype] == INT_KIND and tensor.dtype != Byte:
            return 1
        return ADVANCED
    if PyBool_Check(part) or PyList_Check(part) or PyTuple_Check(part) or isinstance(part, (NUMPY_ARRAY, range)):
        return ADVANCED
    if PyLong_Check(part) or hasattr(part, "__index__"):
        return 1
    if isinstance(part, str):
        raise TypeError("new(): invalid data type 'str'")
    raise IndexError("only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
                     f"(got {type_label(part)})")


cdef int apply_index(Selection *selection, TensorBase self, tuple parts) except -1:
    """ADVANCED, and nothing done, where a part is no basic index."""
    cdef int specified = 0, used
    cdef bint skipped = False
    selection.offset = self.offset
    selection.ndim = 0
    selection.dim = 0
    for part in parts:
        used = check_part(part)
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
        take_part(selection, self, part, specified)
    keep_dims(selection, self, self.ndim - selection.dim)
    if selection.ndim > MAX_DIMS:
        raise IndexError(f"the result would have more than {MAX_DIMS} dimensions")
    return 0


cdef inline tuple parts_of(object index):
    return index if PyTuple_Check(index) else as_parts(index)


cdef tuple as_parts(object index):
    """A list of what is no number stands for a tuple."""
    if PyList_Check(index) and len(index) < 32:
        for part in index:
            if part is None or part is Ellipsis or PySlice_Check(part) or isinstance(
                    part, (TensorBase, list, tuple, range, NUMPY_ARRAY, str)):
                warnings.warn(NO_TUPLE, UserWarning, stacklevel=1)
                return tuple(index)
    return (index,)


cdef TensorBase indexed(TensorBase self, object index):
    """The view that a basic index shows; None for an index with tensors."""
    cdef Selection selection
    if PyLong_CheckExact(index) and self.ndim > 0:
        # The commonest index needs no copy of the geometry: what remains is the tail of it.
        selection.offset = self.offset
        selection.dim = 0
        take_index(&selection, self, as_int(index))
        return make_view(self, self.ndim - 1, self.sizes + 1, self.strides + 1, selection.offset)
    if apply_index(&selection, self, parts_of(index)) == ADVANCED:
        return None
    return make_view(self, selection.ndim, selection.sizes, selection.strides, selection.offset)


cdef TensorBase recorded(TensorBase self, object index):
    """A view that an index shows, with its history."""
    cdef TensorBase view = indexed(self, index)
    if view is None:
        return None
    if tracked(self) and recording_view(self, (view,)):
        if PyLong_CheckExact(index):
            record_select_int(self, 0, index, view)
        else:
            record__basic_index(self, index, view)
    return view


cdef object get_item(object self, object index):
    cdef TensorBase view = recorded(<TensorBase>self, index)
    return read_advanced(<TensorBase>self, index) if view is None else view


cdef TensorBase basic_part(TensorBase self, object index, list indices):
    """The view that the basic parts of an index show; `indices` gets the others."""
    if self.ndim and isinstance(index, TensorBase) and picks_rows(<TensorBase>index):
        indices.append(index)
        return self
    cdef tuple basic = split_index(self, parts_of(index), indices)
    for part in basic:
        if not PySlice_Check(part) or part != WHOLE:
            return recorded(self, basic)
    return self


cdef object read_advanced(TensorBase self, object index):
    cdef list indices = []
    cdef TensorBase view = basic_part(self, index, indices)
    return read_indexed(view, indices)


cdef int write_advanced(TensorBase self, object index, object value) except -1:
    cdef list indices = []
    cdef TensorBase view = basic_part(self, index, indices)
    return write_indexed(view, indices, value)


cdef int assign_tensor(TensorBase target, TensorBase value) except -1:
    cdef Shape shape
    cdef int i, leading = 0
    shape.ndim = target.ndim
    for i in range(target.ndim):
        shape.sizes[i] = target.sizes[i]
    # torch drops leading dimensions of size 1 of the value before it expands it.
    while leading < value.ndim and value.sizes[leading] == 1:
        leading += 1
    if leading > 0:
        value = make_view(value, value.ndim - leading, value.sizes + leading, value.strides + leading, value.offset)
    value = expand_to(value, &shape)
    check_partial_overlap(target, value)
    return copy_data(target, value, False)


cdef int set_recorded(TensorBase self, object index, object value) except -1:
    """An assignment that may have to be recorded: an in-place operator on the view."""
    cdef TensorBase target = recorded(self, index)
    if target is None:
        return write_advanced(self, index, value)
    if isinstance(value, TensorBase):
        copy_into(target, without_leading_ones(<TensorBase>value), False)
    else:
        target.fill_(value)
    return 0


cdef TensorBase without_leading_ones(TensorBase value):
    """torch drops leading dimensions of size 1 of a value before it expands it."""
    cdef int leading = 0
    while leading < value.ndim and value.sizes[leading] == 1:
        leading += 1
    return value.reshape([value.sizes[i] for i in range(leading, value.ndim)]) if leading else value


cdef int set_item(object self, object index, object value) except -1:
    cdef TensorBase tensor = <TensorBase>self
    cdef TensorBase target
    cdef Scalar number
    if tracked(tensor) or (isinstance(value, TensorBase) and tracked(<TensorBase>value)):
        return set_recorded(tensor, index, value)
    target = indexed(tensor, index)
    if target is None:
        return write_advanced(tensor, index, value)
    check_overlap(target)
    if isinstance(value, TensorBase):
        assign_tensor(target, <TensorBase>value)
    elif PyFloat_Check(value) or PyLong_Check(value) or PyComplex_Check(value):
        scalar_from(value, &number)
        check_fits(&number, target.dtype)
        OPERATORS.fill(target, &number)
    else:
        raise TypeError(f"can't assign a {type_label(value)} to a {type_string(tensor)}")
    count_version(tensor)
    return 0


OPERATORS.getitem = getitem
OPERATORS.setitem = setitem


# What takes their place once there is a class or mode that has to be asked: see torch_function.pyx.

cdef object ask_getitem(object tensor, object index):
    if operands_ask(tensor, index):
        return ask_for_index("getitem", (tensor, index))
    return get_item(tensor, index)


cdef int ask_setitem(object tensor, object index, object value) except -1:
    if operands_ask(tensor, (index, value)):
        ask_for_index("setitem", (tensor, index, value))
        return 0
    return set_item(tensor, index, value)


cdef object getitem(object tensor, object index):
    if profiling.records_operators:
        return profiling.profiled_binary(ask_getitem, profiling.index_name(index), tensor, index)
    return ask_getitem(tensor, index) if torch_function.active else get_item(tensor, index)


cdef int setitem(object tensor, object index, object value) except -1:
    cdef profiling.Range opened = None
    if profiling.records_operators:
        opened = profiling.begin(profiling.assignment_name(index, value), profiling.FUNCTION, "cpu_op")
    try:
        return ask_setitem(tensor, index, value) if torch_function.active else set_item(tensor, index, value)
    finally:
        profiling.end(opened)
