"""The view functions as Python sees them: argument reading around views.pyx.

One function serves as `torch.f` and as `Tensor.f`. Where the two differ in signature, the method's name ends in
`_method`. FUNCTIONS and METHODS at the end list what is published under which name.
"""
import warnings

from libc.stdint cimport INT64_MAX, int64_t

from mindtorch._core._gen.view_grad cimport record_unfold
from mindtorch._core.arguments cimport (
    no_combination, parse_ints, parse_varargs, require_int, require_tensor, sizes_argument, wrong_type)
from mindtorch._core.autograd cimport requires_grad, tracked
from mindtorch._core.dtype cimport ITEMSIZE, KIND, dtype
from mindtorch._core.infer cimport wrap_dim
from mindtorch._core.recording cimport adopt_history, record_strided, recording_inplace, recording_view
from mindtorch._core.scalar cimport COMPLEX_KIND, INT_KIND
from mindtorch._core.tensor cimport MAX_DIMS, Shape, TensorBase, make_view, set_geometry, shape_text
from mindtorch._core.views cimport (
    diagonal_of, expand_to, flatten_dims, move_dims, narrow_dim, parts_of, permute_dims, reshape_to, select_dim,
    split_by_sizes, split_evenly, squeeze_dims, transpose_dims, transpose_matrix, unbind_dim, unflatten_dim,
    unsqueeze_dim, view_dtype, view_shape, whole_of)

from mindtorch._core.autocast import casting


cdef TensorBase shape_like(TensorBase self, TensorBase other, TensorBase (*f)(TensorBase, Shape *)):
    cdef Shape shape
    cdef int i
    shape.ndim = other.ndim
    for i in range(other.ndim):
        shape.sizes[i] = other.sizes[i]
    return f(self, &shape)


VIEW_FORMS = " * (torch.dtype dtype)\n * (tuple of ints size)\n"


def view_method(TensorBase self, *args, **kwargs):
    """The same elements in another shape (one size may be -1), or the same bytes in another dtype. Never copies."""
    cdef Shape shape
    if len(args) == 1 and isinstance(args[0], dtype):
        return view_dtype(self, (<dtype>args[0]).code)
    if kwargs:
        if not args and len(kwargs) == 1 and isinstance(kwargs.get("dtype"), dtype):
            return view_dtype(self, (<dtype>kwargs["dtype"]).code)
        args = sizes_argument(args, kwargs, "view", "size")
    if not args or (len(args) == 1 and not isinstance(args[0], (int, tuple, list, TensorBase))
                    and not hasattr(args[0], "__index__")):
        no_combination(b"view", args, kwargs, VIEW_FORMS)
    parse_varargs(args, &shape, b"view", b"size")
    return view_shape(self, &shape)


def reshape(input, shape):
    """The elements in another shape (one size may be -1): a view where that is possible, else a copy."""
    cdef TensorBase self = require_tensor(input, b"reshape", b"input", 1)
    cdef Shape parsed
    parse_ints(shape, &parsed, b"reshape", b"shape", 2)
    return reshape_to(self, &parsed)


def reshape_method(TensorBase self, *args, **kwargs):
    """The elements in another shape (one size may be -1): a view where that is possible, else a copy."""
    cdef Shape shape
    parse_varargs(sizes_argument(args, kwargs, "reshape", "shape"), &shape, b"reshape", b"shape")
    return reshape_to(self, &shape)


def view_as(TensorBase self, other):
    """The same elements in the shape of `other`, as a view."""
    return shape_like(self, require_tensor(other, b"view_as", b"other", 1), view_shape)


def reshape_as(TensorBase self, other):
    """The elements in the shape of `other`: a view where that is possible, else a copy."""
    return shape_like(self, require_tensor(other, b"reshape_as", b"other", 1), reshape_to)


def flatten(input, start_dim=0, end_dim=-1):
    """Dimensions start_dim..end_dim merged into one; copies only where no view can do it."""
    cdef TensorBase self = require_tensor(input, b"flatten", b"input", 1)
    return flatten_dims(self, require_int(start_dim, b"flatten", b"start_dim", 1),
                        require_int(end_dim, b"flatten", b"end_dim", 2))


def ravel(input):
    """All elements in one dimension; copies only where no view can do it."""
    cdef TensorBase self = require_tensor(input, b"ravel", b"input", 1)
    cdef Shape shape
    shape.ndim = 1
    shape.sizes[0] = -1 if self.numel else 0
    return reshape_to(self, &shape)


def unflatten(input, dim, sizes):
    """Dimension `dim` divided into `sizes`, of which one may be -1."""
    cdef TensorBase self = require_tensor(input, b"unflatten", b"input", 1)
    cdef Shape parts
    parse_ints(sizes, &parts, b"unflatten", b"sizes", 2)
    return unflatten_dim(self, require_int(dim, b"unflatten", b"dim", 1), &parts)


# --- order of dimensions ---------------------------------------------------------------------------------------------

def transpose(input, dim0, dim1):
    """Two dimensions exchanged."""
    cdef TensorBase self = require_tensor(input, b"transpose", b"input", 1)
    return transpose_dims(self, require_int(dim0, b"transpose", b"dim0", 1),
                          require_int(dim1, b"transpose", b"dim1", 2))


def swapaxes(input, axis0, axis1):
    """NumPy's name for transpose."""
    return transpose(input, axis0, axis1)


def swapdims(input, dim0, dim1):
    """Another name for transpose."""
    return transpose(input, dim0, dim1)


def t(input):
    """The transpose of a matrix; tensors of fewer dimensions as they are."""
    return transpose_matrix(require_tensor(input, b"t", b"input", 1))


def adjoint(input):
    """The last two dimensions exchanged, complex numbers conjugated."""
    return adjoint_as(require_tensor(input, b"adjoint", b"input", 1), "adjoint()", "adjoint()")


cdef TensorBase adjoint_as(TensorBase self, str name, str name_without_dims):
    if self.ndim == 0:
        warnings.warn(f"{name_without_dims} is deprecated on 0-D tensors. Consider using x.conj().", UserWarning,
                      stacklevel=2)
    elif self.ndim == 1:
        raise RuntimeError(f"tensor.{name} is only supported on matrices or batches of matrices. Got 1-D tensor.")
    else:
        self = transpose_dims(self, -2, -1)
    if KIND[<int>self.dtype] != COMPLEX_KIND:
        return self
    from mindtorch._core.composites import conj
    return conj(self)


def permute(input, dims):
    """The dimensions in the order `dims`."""
    cdef TensorBase self = require_tensor(input, b"permute", b"input", 1)
    cdef Shape order
    parse_ints(dims, &order, b"permute", b"dims", 2)
    return permute_dims(self, &order)


def permute_method(TensorBase self, *args, **kwargs):
    """The dimensions in the order given."""
    cdef Shape order
    parse_varargs(sizes_argument(args, kwargs, "permute", "dims"), &order, b"permute", b"dims")
    return permute_dims(self, &order)


MOVEDIM_FORMS = " * (int source, int destination)\n * (tuple of ints source, tuple of ints destination)\n"


def movedim(input, source, destination):
    """Dimension(s) `source` moved to the place(s) `destination`; the others keep their order."""
    cdef TensorBase self = require_tensor(input, b"movedim", b"input", 1)
    cdef Shape origin, target
    if isinstance(source, (tuple, list)) != isinstance(destination, (tuple, list)) or isinstance(source, str):
        no_combination(b"movedim", (source, destination), {}, MOVEDIM_FORMS)
    parse_ints(source, &origin, b"movedim", b"source", 1)
    parse_ints(destination, &target, b"movedim", b"destination", 2)
    return move_dims(self, &origin, &target)


# --- dimensions of size 1, expansion ---------------------------------------------------------------------------------

def squeeze(input, dim=None):
    """Without the dimensions of size 1: all of them, or those among `dim`."""
    cdef TensorBase self = require_tensor(input, b"squeeze", b"input", 1)
    cdef Shape dims
    cdef int i
    if dim is None:
        dims.ndim = self.ndim
        for i in range(self.ndim):
            dims.sizes[i] = i
    else:
        if isinstance(dim, str):
            no_combination(b"squeeze", (dim,), {}, " * ()\n * (int dim)\n * (tuple of ints dim)\n")
        parse_ints(dim, &dims, b"squeeze", b"dim", 1)
    return squeeze_dims(self, &dims)


def unsqueeze(input, dim):
    """With a new dimension of size 1 at `dim`."""
    return unsqueeze_dim(require_tensor(input, b"unsqueeze", b"input", 1), require_int(dim, b"unsqueeze", b"dim", 1))


def expand_method(TensorBase self, *args, **kwargs):
    """Dimensions of size 1 repeated to the sizes given (-1: as it is), new ones in front; no memory is used."""
    cdef Shape shape
    kwargs.pop("implicit", None)
    parse_varargs(sizes_argument(args, kwargs, "expand", "size"), &shape, b"expand", b"size")
    return expand_to(self, &shape)


def expand_as(TensorBase self, other):
    """Expanded to the shape of `other`."""
    cdef Shape shape
    cdef TensorBase like = require_tensor(other, b"expand_as", b"other", 1)
    cdef int i
    shape.ndim = like.ndim
    for i in range(like.ndim):
        shape.sizes[i] = like.sizes[i]
    return expand_to(self, &shape)


def broadcast_to(input, size):
    """Expanded to `size`."""
    cdef TensorBase self = require_tensor(input, b"broadcast_to", b"input", 1)
    cdef Shape shape
    parse_ints(size, &shape, b"broadcast_to", b"size", 2)
    return expand_to(self, &shape)


# --- parts -----------------------------------------------------------------------------------------------------------

def select(input, dim, index):
    """The slice at `index` of dimension `dim`, which goes away."""
    cdef TensorBase self = require_tensor(input, b"select", b"input", 1)
    return select_dim(self, require_int(dim, b"select", b"dim", 1), require_int(index, b"select", b"index", 2))


cdef int require_index(TensorBase start) except -1:
    if start.ndim != 0 or KIND[<int>start.dtype] != INT_KIND:
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    return 0


def narrow(input, dim, start, length):
    """`length` slices of dimension `dim`, from `start` on."""
    cdef TensorBase self = require_tensor(input, b"narrow", b"input", 1)
    if isinstance(start, TensorBase):
        require_index(<TensorBase>start)
    return narrow_dim(self, require_int(dim, b"narrow", b"dim", 1), require_int(start, b"narrow", b"start", 2),
                      require_int(length, b"narrow", b"length", 3))


def unbind(input, dim=0):
    """All slices along `dim`, as a tuple."""
    return unbind_dim(require_tensor(input, b"unbind", b"input", 1), require_int(dim, b"unbind", b"dim", 1))


def split(tensor, split_size_or_sections, dim=0):
    """Parts of `split_size_or_sections` slices each (the last may be smaller), or of the sizes listed there."""
    return split_method(require_tensor(tensor, b"split", b"tensor", 1), split_size_or_sections, dim)


def split_method(TensorBase self, split_size, dim=0):
    """Parts of `split_size` slices each (the last may be smaller), or of the sizes listed there."""
    cdef Shape parts
    cdef int64_t along = require_int(dim, b"split", b"dim", 2)
    if isinstance(split_size, (list, tuple)):
        parse_ints(split_size, &parts, b"split_with_sizes", b"split_sizes", 2)
        return split_by_sizes(self, &parts, along)
    if isinstance(split_size, str):
        wrong_type(split_size, b"split_with_sizes", b"split_sizes", 2, "tuple of ints")
    return split_evenly(self, require_int(split_size, b"split", b"split_size", 1), along)


def split_with_sizes(input, split_sizes, dim=0):
    """Parts of the sizes listed."""
    cdef TensorBase self = require_tensor(input, b"split_with_sizes", b"input", 1)
    cdef Shape parts
    parse_ints(split_sizes, &parts, b"split_with_sizes", b"split_sizes", 1)
    return split_by_sizes(self, &parts, require_int(dim, b"split_with_sizes", b"dim", 2))


def chunk(input, chunks, dim=0):
    """At most `chunks` parts of equal size; the last may be smaller."""
    cdef TensorBase self = require_tensor(input, b"chunk", b"input", 1)
    cdef int64_t count = require_int(chunks, b"chunk", b"chunks", 1)
    cdef int64_t along = require_int(dim, b"chunk", b"dim", 2)
    if self.ndim == 0:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if count <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {count}")
    size = size_of(self, along)
    if size == 0:
        return tuple([narrow_dim(self, along, 0, 0) for _ in range(count)])
    return split_evenly(self, (size + count - 1) // count, along)


cdef int64_t size_of(TensorBase self, int64_t dim) except -1:
    return self.sizes[wrap_dim(dim, self.ndim)]


def diagonal(input, offset=0, dim1=0, dim2=1):
    """The diagonal of the dimensions dim1 and dim2, as the last dimension."""
    cdef TensorBase self = require_tensor(input, b"diagonal", b"input", 1)
    return diagonal_of(self, require_int(offset, b"diagonal", b"offset", 1),
                       require_int(dim1, b"diagonal", b"dim1", 2), require_int(dim2, b"diagonal", b"dim2", 3))


def unfold(TensorBase self, dimension, size, step):
    """All windows of `size` slices of a dimension, `step` apart, as the last dimension of a view."""
    cdef int64_t sizes[MAX_DIMS + 1]
    cdef int64_t strides[MAX_DIMS + 1]
    cdef int64_t width = require_int(size, b"unfold", b"size", 2), apart = require_int(step, b"unfold", b"step", 3)
    cdef int64_t dim = wrap_dim(require_int(dimension, b"unfold", b"dimension", 1), self.ndim)
    cdef int64_t length = self.sizes[dim] if self.ndim else 1
    cdef TensorBase view
    cdef int i
    if width < 0:
        raise RuntimeError(f"size is {width} but must be >= 0")
    if width > length:
        raise RuntimeError(f"maximum size for tensor at dimension {dim} is {length} but size is {width}")
    if apart <= 0:
        raise RuntimeError(f"step is {apart} but must be > 0")
    if self.ndim == 0:
        return as_strided(self, (width,), (1,))
    for i in range(self.ndim):
        sizes[i] = self.sizes[i]
        strides[i] = self.strides[i]
    sizes[dim] = (length - width) // apart + 1
    strides[dim] *= apart
    sizes[self.ndim] = width
    strides[self.ndim] = self.strides[dim]
    view = make_view(self, self.ndim + 1, sizes, strides, self.offset)
    if tracked(self) and recording_view(self, (view,)):
        record_unfold(self, dim, width, apart, view)
    return view


cdef int check_reach(TensorBase self, const Shape *sizes, const Shape *strides, int64_t offset) except -1:
    """RuntimeError where a geometry leaves the storage. What remains is divided, for sums and products may overflow."""
    cdef int64_t room = <int64_t>self.storage.nbytes // ITEMSIZE[<int>self.dtype] - 1, count = 1, steps
    cdef int i
    for i in range(sizes.ndim):
        if sizes.sizes[i] == 0:
            return 0
    room = room - offset if room >= offset else -1
    for i in range(sizes.ndim):
        steps = sizes.sizes[i] - 1
        if room >= 0 and steps and strides.sizes[i]:
            room = room - steps * strides.sizes[i] if steps <= room // strides.sizes[i] else -1
        if count > INT64_MAX // sizes.sizes[i]:
            raise RuntimeError("numel: integer multiplication overflow")
        count *= sizes.sizes[i]
    if room < 0:
        beyond_storage(self, sizes, strides, offset)
    return 0


cdef int beyond_storage(TensorBase self, const Shape *sizes, const Shape *strides, int64_t offset) except -1:
    cdef int i
    wanted = <object>offset + 1         # in Python's integers, which do not overflow
    for i in range(sizes.ndim):
        wanted += (<object>sizes.sizes[i] - 1) * <object>strides.sizes[i]
    wanted *= ITEMSIZE[<int>self.dtype]
    shown = shape_text(sizes.ndim, sizes.sizes), shape_text(strides.ndim, strides.sizes)
    if wanted > INT64_MAX:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={shown[0]} and strides={shown[1]}")
    raise RuntimeError(
        f"setStorage: sizes {shown[0]}, strides {shown[1]}, storage offset {offset}, and itemsize "
        f"{ITEMSIZE[<int>self.dtype]} requiring a storage size of {wanted} are out of bounds for storage of size "
        f"{self.storage.nbytes}")


def as_strided(input, size, stride, storage_offset=None):
    """A view of the storage with any geometry that stays inside it."""
    cdef TensorBase self = require_tensor(input, b"as_strided", b"input", 1)
    cdef Shape sizes, strides
    cdef TensorBase view
    cdef int64_t offset = self.offset
    cdef int i
    parse_ints(size, &sizes, b"as_strided", b"size", 1)
    parse_ints(stride, &strides, b"as_strided", b"stride", 2)
    if storage_offset is not None:
        offset = require_int(storage_offset, b"as_strided", b"storage_offset", 3)
    if sizes.ndim != strides.ndim:
        raise RuntimeError("mismatch in length of strides and shape")
    for i in range(sizes.ndim):
        if strides.sizes[i] < 0:
            raise RuntimeError("as_strided: Negative strides are not supported at the moment, got strides: "
                               f"{shape_text(strides.ndim, strides.sizes)}")
        if sizes.sizes[i] < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {sizes.sizes[i]}: "
                               f"{shape_text(sizes.ndim, sizes.sizes)}")
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    check_reach(self, &sizes, &strides, offset)
    view = make_view(self, sizes.ndim, sizes.sizes, strides.sizes, offset)
    if tracked(self) and recording_view(self, (view,)):
        record_strided(view, self)
    return view


# --- in place: the tensor itself gets the geometry of the view -------------------------------------------------------

cdef TensorBase adopt(TensorBase self, TensorBase view):
    if tracked(self) and recording_inplace(self, requires_grad(self)):
        adopt_history(self, view)
    set_geometry(self, view.ndim, view.sizes, view.strides, view.offset)
    return self


def squeeze_(TensorBase self, dim=None):
    return adopt(self, squeeze(self, dim))


def unsqueeze_(TensorBase self, dim):
    return adopt(self, unsqueeze(self, dim))


def transpose_(TensorBase self, dim0, dim1):
    return adopt(self, transpose(self, dim0, dim1))


def swapaxes_(TensorBase self, axis0, axis1):
    return adopt(self, transpose(self, axis0, axis1))


def swapdims_(TensorBase self, dim0, dim1):
    return adopt(self, transpose(self, dim0, dim1))


def t_(TensorBase self):
    return adopt(self, t(self))


def as_strided_(input, size, stride, storage_offset=None):
    """as_strided, in place: the tensor itself gets that geometry."""
    cdef TensorBase self = require_tensor(input, b"as_strided_", b"input", 1)
    return adopt(self, as_strided(self, size, stride, storage_offset))


# --- parts of complex numbers ----------------------------------------------------------------------------------------

def view_as_real(input):
    """A complex tensor as a real one, whose last dimension holds the real and the imaginary part."""
    return parts_of(require_tensor(input, b"view_as_real", b"input", 1))


@casting("view_as_complex")
def view_as_complex(input):
    """A real tensor whose last dimension has two elements as a complex one."""
    return whole_of(require_tensor(input, b"view_as_complex", b"input", 1))


def real(input):
    """The real parts, as a view; a real tensor itself."""
    cdef TensorBase self = require_tensor(input, b"real", b"input", 1)
    return select_dim(parts_of(self), -1, 0) if KIND[<int>self.dtype] == COMPLEX_KIND else self


def imag(input):
    """The imaginary parts, as a view."""
    cdef TensorBase self = require_tensor(input, b"imag", b"input", 1)
    if KIND[<int>self.dtype] != COMPLEX_KIND:
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return select_dim(parts_of(self), -1, 1)


# --- attributes that are views ---------------------------------------------------------------------------------------

def transposed(TensorBase self):
    """The dimensions in reverse order (torch's `T`)."""
    cdef Shape order
    cdef int i
    if self.ndim != 2:
        what = "on 0-D tensors. This function is the identity in these cases." if self.ndim == 0 else None
        warnings.warn(
            f"Tensor.T is deprecated {what}" if what else
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will "
            "throw an error in a future release. Consider `x.mT` to transpose batches of matrices or "
            "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor.",
            UserWarning, stacklevel=2)
    order.ndim = self.ndim
    for i in range(self.ndim):
        order.sizes[i] = self.ndim - 1 - i
    return permute_dims(self, &order)


def matrix_transposed(TensorBase self):
    """The last two dimensions exchanged (torch's `mT`)."""
    if self.ndim == 0:
        warnings.warn("Tensor.mT is deprecated on 0-D tensors. This function is the identity in these cases.",
                      UserWarning, stacklevel=2)
        return self
    if self.ndim == 1:
        raise RuntimeError("tensor.mT is only supported on matrices or batches of matrices. Got 1-D tensor.")
    return transpose_dims(self, -2, -1)


def conjugate_transposed(TensorBase self):
    """The transpose of a matrix, complex numbers conjugated (torch's `H`)."""
    if self.ndim not in (0, 2):
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {self.ndim}-D tensor."
                           + (" For batches of matrices, consider using tensor.mH" if self.ndim > 2 else ""))
    return adjoint_as(self, "H", "Tensor.H")


def matrix_adjoint(TensorBase self):
    """The last two dimensions exchanged, complex numbers conjugated (torch's `mH`)."""
    return adjoint_as(self, "mH", "Tensor.mH")


FUNCTIONS = {f.__name__: f for f in (
    reshape, flatten, ravel, unflatten, transpose, swapaxes, swapdims, t, adjoint, permute, movedim, squeeze,
    unsqueeze, broadcast_to, select, narrow, unbind, split, split_with_sizes, chunk, diagonal, as_strided)}
FUNCTIONS["moveaxis"] = movedim

METHODS = dict(
    FUNCTIONS, unfold=unfold, view=view_method, reshape=reshape_method, permute=permute_method, expand=expand_method,
    split=split_method, view_as=view_as, reshape_as=reshape_as, expand_as=expand_as, squeeze_=squeeze_,
    unsqueeze_=unsqueeze_, transpose_=transpose_, swapaxes_=swapaxes_, swapdims_=swapdims_, t_=t_,
    as_strided_=as_strided_)

FUNCTIONS |= {f.__name__: f for f in (view_as_real, view_as_complex, real, imag, as_strided_)}
