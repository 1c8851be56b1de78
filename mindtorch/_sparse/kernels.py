"""The sparse kernels of functions and methods: arithmetic, shapes, copies, and access to indices and values."""
import functools
import inspect
import operator

from mindtorch import (
    can_cast,
    is_grad_enabled,
    preserve_format,
    result_type,
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
)
from mindtorch._core.tensor.attributes import increment_version
from mindtorch._core.tensor.tensor import sparse_storage
from mindtorch._ops.composite.common import wrap_dim
from mindtorch._ops.operators import ops
from mindtorch._sparse import constructors, products, reductions, tensors
from mindtorch._sparse.tensors import (
    BLOCKED,
    BY_ROWS,
    COMPRESSED,
    LAYOUT_NAMES,
    coalesce,
    coordinates,
    count,
    flatten,
    from_dense,
    gather,
    indices_of,
    is_sparse,
    make,
    refuse,
    require_coo,
    rows_of,
    sparse_dims,
    stacked,
    to_blocks,
    to_coo,
    to_dense,
    to_layout,
    values_of,
    with_values,
)
from mindtorch.autograd.function import Function

KERNELS = {}            # name of a function or method -> what it does where an argument is sparse


def _kernel(function):
    KERNELS[function.__name__] = function
    return function


def _kernel_named(name):
    def enter(function):
        KERNELS[name] = function
        return function
    return enter


KERNELS |= {name: getattr(products, name) for name in (
    "addmm", "addmm_", "addmv", "bmm", "hspmm", "matmul", "mm", "mv", "smm", "sspaddmm")}
KERNELS |= {"spmm": products.mm, "dsmm": products.mm, "hsmm": products.mm, "saddmm": products.addmm,
            "__matmul__": products.matmul, "__rmatmul__": lambda a, b: products.matmul(b, a)}
KERNELS |= {name: getattr(reductions, name) for name in ("any", "norm")}
KERNELS["_sparse_sum"] = reductions.sum


class _SumOfAll(Function):
    """Its gradient is that of all elements, of those that the tensor does not hold as well: torch's sparse.sum alone
    leaves them out."""

    @staticmethod
    def forward(ctx, sparse, dtype):
        ctx.shape, ctx.dtype = sparse.shape, sparse.dtype
        return values_of(sparse).sum(dtype=dtype)

    @staticmethod
    def backward(ctx, grad):
        return grad.to(ctx.dtype).expand(ctx.shape).clone(), None


@_kernel_named("sum")
def _sum(input, dim=None, keepdim=False, *, dtype=None, out=None):
    """The sum over dimensions."""
    if input.requires_grad and not keepdim and len(reductions.wrapped_dims(dim, input.dim())) == input.dim():
        return _SumOfAll.apply(input, dtype)
    return reductions.sum(input, dim, keepdim, dtype=dtype, out=out)


# --- writing to a sparse tensor ---------------------------------------------------------------------------------------

def _write(self, result):
    """Give the tensor the elements of another: what in-place functions do."""
    if self.requires_grad and is_grad_enabled():
        if self.is_leaf:
            raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
        raise NotImplementedError("in-place functions of sparse tensors are not recorded: call the function that "
                                  "returns a new tensor")
    if tuple(result.shape) != tuple(self.shape):
        raise RuntimeError(f"output with shape {list(self.shape)} doesn't match the broadcast shape "
                           f"{list(result.shape)}")
    _check_cast(result.dtype, self.dtype)
    target, source = sparse_storage(self), sparse_storage(to_layout(result.detach(), self.layout))
    target.values = source.values.to(target.values.dtype)
    target.indices, target.coalesced = source.indices, source.coalesced
    increment_version(self)
    return self


def _check_cast(source, target):
    if not can_cast(source, target):
        raise RuntimeError(f"result type {_type_name(source)} can't be cast to the desired output type "
                           f"{_type_name(target)}")


def _type_name(dtype):
    return {"float32": "Float", "float64": "Double", "int64": "Long", "int32": "Int"}.get(dtype.name, dtype.name)


def _inplace(function):
    def run(self, *args, **kwargs):
        result = function(self, *args, **kwargs)
        if is_sparse(self):
            return _write(self, result)
        _check_cast(result.dtype, self.dtype)
        return self.copy_(to_dense(result))
    return run


# --- elementwise, by values -------------------------------------------------------------------------------------------

_UNARY = (
    "abs", "absolute", "angle", "arcsin", "arcsinh", "arctan", "arctanh", "asin", "asinh", "atan", "atanh", "ceil",
    "conj_physical", "deg2rad", "erf", "erfinv", "expm1", "fix", "float_power", "floor", "frac", "isinf",
    "isnan", "isneginf", "isposinf", "log1p", "nan_to_num", "neg", "negative", "positive", "rad2deg", "relu", "round",
    "sgn", "sign", "signbit", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc")
_LINEAR = {"neg", "negative", "positive", "conj_physical"}      # need no coalesced values


def _by_values(name):
    def run(input, *args, out=None, **kwargs):
        sparse = coalesce(input) if input.layout is sparse_coo and name not in _LINEAR else input
        return with_values(sparse, getattr(values_of(sparse), name)(*args, **kwargs))
    run.__name__ = name
    return run


for _name in _UNARY:
    KERNELS[_name] = _by_values(_name)
    KERNELS[f"{_name}_"] = _inplace(KERNELS[_name])
KERNELS |= {"__abs__": KERNELS["abs"], "__neg__": KERNELS["neg"], "conj": KERNELS["conj_physical"],
            "is_conj": lambda self: False, "is_neg": lambda self: False,
            "resolve_conj": lambda self: self, "resolve_neg": lambda self: self}


@_kernel_named("__pow__")
@_kernel_named("pow")
def _pow(self, exponent, *, out=None):
    if is_sparse(exponent):
        refuse("pow.Tensor_Tensor", exponent)
    if exponent == 0:
        raise NotImplementedError("pow of sparse tensors to the power 0 is dense: call to_dense() first")
    sparse = coalesce(self) if self.layout is sparse_coo else self
    return with_values(sparse, values_of(sparse) ** exponent)


def _is_number(value):
    return not hasattr(value, "layout") or (value.dim() == 0 and not is_sparse(value))


def _check_sizes(name, a, b):
    if tuple(a.shape) != tuple(b.shape):
        raise RuntimeError(f"{name}: expected sizes of 'self' and 'other' to match, but {list(a.shape)} != "
                           f"{list(b.shape)}")


def _add(a, b, alpha):
    if not is_sparse(a):
        if _is_number(a):
            raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
        return _dense_plus_sparse(a, b, alpha)
    if not is_sparse(b):
        if a.layout is sparse_coo or _is_number(b):
            raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
        return _dense_plus_sparse(b if alpha == 1 else b * alpha, a, 1)
    _check_sizes("add", a, b)
    if a.layout is not sparse_coo:
        return to_layout(_add(to_coo(a), to_coo(b), alpha), a.layout)
    b = to_coo(b)
    if sparse_dims(a) != sparse_dims(b):
        raise RuntimeError("add: expected 'self' and 'other' to have same number of sparse dimensions, but "
                           f"{sparse_dims(a)} != {sparse_dims(b)}")
    left, right = values_of(a), values_of(b)
    kind = result_type(left, right)
    right = right.to(kind) if alpha == 1 else right.to(kind) * alpha
    same = tensors._same_memory(indices_of(a), indices_of(b))
    if same:
        return with_values(a, left.to(kind) + right)
    both = make(sparse_coo, (ops.cat([indices_of(a)[0], indices_of(b)[0]], 1),), ops.cat([left.to(kind), right]),
                a.shape)
    both = coalesce(both)
    sparse_storage(both).coalesced = bool(a.is_coalesced() and b.is_coalesced())        # what torch says of it
    return both


def _dense_plus_sparse(dense, sparse, alpha):
    kind = result_type(dense, values_of(sparse))
    return _add_to_dense(dense.to(kind).clone(), sparse, alpha)


def _add_to_dense(dense, sparse, alpha):
    """dense += alpha * sparse, in place."""
    indices, values = coordinates(sparse)
    _check_cast(result_type(dense, values), dense.dtype)
    values = values.to(dense.dtype) if alpha == 1 else values.to(dense.dtype) * alpha
    if tuple(dense.shape) != tuple(sparse.shape):
        raise RuntimeError(f"add: expected 'self' and 'other' to have same size, but self has size "
                           f"{list(dense.shape)} while other has size {list(sparse.shape)} (FYI: dense-sparse addition "
                           "does not currently support broadcasting)")
    if indices.shape[0] == 1:
        return dense.index_add_(0, indices[0], values)
    return dense.index_put_(tuple(indices.unbind(0)), values, accumulate=True)


@_kernel
def add(input, other, *, alpha=1, out=None):
    """input + alpha * other."""
    return _add(input, other, alpha)


@_kernel
def add_(input, other, *, alpha=1):
    """input += alpha * other."""
    if is_sparse(input):
        return _write(input, _add(input, other, alpha))
    return _add_to_dense(input, other, alpha)


@_kernel
def sub(input, other, *, alpha=1, out=None):
    """input - alpha * other."""
    return _add(input, other, -alpha)


@_kernel
def sub_(input, other, *, alpha=1):
    """input -= alpha * other."""
    return add_(input, other, alpha=-alpha)


@_kernel_named("rsub")
@_kernel_named("__rsub__")
def _rsub(self, other):
    return _add(other, self, -1)


KERNELS |= {"subtract": sub, "subtract_": sub_}


@_kernel_named("multiply")
@_kernel
def mul(input, other, *, out=None):
    """The product: at the indices of a sparse factor, at those that both have where both are sparse."""
    if not is_sparse(input):
        input, other = other, input
    if _is_number(other):
        return with_values(input, values_of(input) * other)
    if is_sparse(other):
        for factor, number in ((input, other), (other, input)):
            if number.dim() == 0:
                return mul(factor, number.to_dense())
        return _intersection(input, other)
    if other.dim() > input.dim():
        input = _repeated(coalesce(to_coo(input)), other.shape[:other.dim() - input.dim()])
    indices, values = coordinates(input)
    if input.layout in BLOCKED:
        return to_layout(mul(to_coo(input), other), input.layout, values_of(input).shape[-2:])
    values = values * gather(other.expand(input.shape), indices)
    return with_values(input, values.reshape(values_of(input).shape))


def _repeated(sparse, sizes):
    """The coalesced tensor once for each place of new first dimensions, of these sizes."""
    indices, values = coordinates(sparse)
    nnz, places = indices.shape[1], ops.ones(tuple(sizes), device=indices.device).nonzero().t()
    indices = ops.cat([places.repeat_interleave(nnz, 1), indices.repeat(1, places.shape[1])])
    values = values.repeat(places.shape[1], *(1,) * (values.dim() - 1))
    return make(sparse_coo, (indices,), values, (*sizes, *sparse.shape), True)


def _intersection(a, b):
    """The product of two sparse tensors, of which the dense dimensions alone are expanded."""
    if a.layout is not sparse_coo:
        return to_layout(_intersection(to_coo(a), to_coo(b)), a.layout)
    a, b = coalesce(a), coalesce(to_coo(b))
    count = sparse_dims(a)
    sizes = a.shape[:count]
    if (a.dim(), count, sizes) != (b.dim(), sparse_dims(b), b.shape[:count]):
        raise RuntimeError("sparse_binary_op_intersection_cpu(): expects sparse inputs with equal dimensionality, "
                           "number of sparse dimensions, and shape of sparse dimensions")
    if a.shape == b.shape and tensors._same_memory(indices_of(a), indices_of(b)):
        return with_values(a, values_of(a) * values_of(b))
    there, here = _common(flatten(indices_of(a)[0], sizes), flatten(indices_of(b)[0], sizes))
    values = values_of(a).index_select(0, here) * values_of(b).index_select(0, there)
    return make(sparse_coo, (indices_of(a)[0].index_select(1, here),), values, (*sizes, *values.shape[1:]), True)


def _common(first, second):
    """(places in `second`, places in `first`) of the numbers in both; each has them in order, and once."""
    if not second.shape[0]:
        none = second.new_zeros((0,))
        return none, none
    places = ops.searchsorted(second, first).clamp(max=second.shape[0] - 1)
    here = (second.index_select(0, places) == first).nonzero().reshape(-1)
    return places.index_select(0, here), here


@_kernel_named("__truediv__")
@_kernel_named("divide")
@_kernel_named("true_divide")
@_kernel
def div(input, other, *, rounding_mode=None, out=None):
    """The quotient of the values by a number."""
    if is_sparse(other) or not _is_number(other):
        shape = list(getattr(other, "shape", ()))
        raise RuntimeError(f"Sparse division requires a scalar or zero-dim dense tensor divisor (got shape {shape} for "
                           "divisor)")
    sparse = coalesce(input) if rounding_mode and input.layout is sparse_coo else input
    return with_values(sparse, values_of(sparse).div(other, rounding_mode=rounding_mode))


@_kernel_named("__floordiv__")
@_kernel
def floor_divide(input, other, *, out=None):
    """The quotient of the values by a number, rounded down."""
    return div(input, other, rounding_mode="floor")


for _name in ("mul", "multiply", "div", "divide", "true_divide", "floor_divide", "pow"):
    KERNELS[f"{_name}_"] = _inplace(KERNELS[_name])


@_kernel
def zero_(self):
    """Remove all elements."""
    return _write(self, _empty_like(self))


def _empty_like(input, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None,
                pin_memory=False):
    layout, dtype, device = layout or input.layout, dtype or input.dtype, device or input.device
    if memory_format is not None and layout is sparse_coo:
        raise RuntimeError("memory format option is only supported by strided tensors")
    if layout is strided:
        return ops.zeros(tuple(input.shape), dtype=dtype, device=device, requires_grad=requires_grad)
    if layout is input.layout and layout is not sparse_coo:
        first, plain = indices_of(input)
        none, values = plain.narrow(-1, 0, 0), values_of(input.detach()).narrow(plain.dim() - 1, 0, 0)
        made = make(layout, (ops.zeros_like(first, device=device), none.to(device)), values.to(device, dtype),
                    input.shape)
    elif layout is sparse_coo:
        first = sparse_dims(input) + tensors.batch_dims(input)
        made = make(layout, (ops.zeros((first, 0), dtype=indices_of(input)[0].dtype, device=device),),
                    ops.zeros((0, *input.shape[first:]), dtype=dtype, device=device), input.shape)
    elif input.layout in COMPRESSED:
        made = constructors.with_dims(0, input.dim() - tensors.batch_dims(input) - 2, input.shape,
                                      tensors.blocksize_of(input) if layout in BLOCKED else (),
                                      indices_of(input)[0].dtype, dtype=dtype, layout=layout, device=device)
    else:
        made = constructors.empty(input.shape, layout, dtype, device)
    return made.requires_grad_(requires_grad)


def _require_layout_of(input, layout):
    """RuntimeError for compressed tensors and a layout that is not theirs."""
    if layout is not None and layout is not input.layout and input.layout in COMPRESSED:
        raise RuntimeError(f"empty_like with different sparse layout is not supported (self is "
                           f"{LAYOUT_NAMES[input.layout]} but you requested {LAYOUT_NAMES.get(layout, layout)})")


@_kernel
def zeros_like(input, *, layout=None, **options):
    """A tensor of the same size without elements, of any sparse layout."""
    _require_layout_of(input, layout if layout is strided else None)
    return _empty_like(input, layout=layout, **options)


@_kernel
def empty_like(input, *, layout=None, **options):
    """A tensor of the same size without elements."""
    _require_layout_of(input, layout)
    return _empty_like(input, layout=layout, **options)


@_kernel
def randn_like(input, *, dtype=None, layout=None, device=None, requires_grad=False, generator=None, **options):
    """Normal numbers at the indices of a compressed tensor, or in a dense one of its size."""
    dtype, device = dtype or input.dtype, device or input.device
    _require_layout_of(input, layout)
    if layout is strided:
        return ops.randn(tuple(input.shape), dtype=dtype, device=device, requires_grad=requires_grad,
                         generator=generator)
    if sparse_coo in (input.layout, layout):
        raise NotImplementedError("Could not run 'aten::normal_' with arguments from the 'SparseCPU' backend. The "
                                  "operator has no form for tensors of layout torch.sparse_coo: call to_dense() first.")
    place = input.detach().to(device)
    numbers = ops.randn_like(values_of(place), dtype=dtype, generator=generator)
    return with_values(place, numbers).requires_grad_(requires_grad)


# --- copies -----------------------------------------------------------------------------------------------------------

@_kernel
def clone(input, *, memory_format=preserve_format):
    """A copy of indices and values."""
    parts = sparse_storage(input)
    indices = tuple(index.clone() for index in parts.indices)
    return make(parts.layout, indices, values_of(input).clone(), input.shape, parts.coalesced)


@_kernel
def copy_(self, other, non_blocking=False):
    """Take over the elements of another sparse tensor."""
    if not is_sparse(self) or not is_sparse(other):
        raise RuntimeError("copy_() between dense and sparse Tensors is not implemented! Found self type = "
                           f"{self.type()} and src type = {other.type()}")
    return _write(self, to(other, device=self.device, dtype=self.dtype, copy=True))


def _cast(name):
    def run(self, *args, **kwargs):
        args = [values_of(arg.detach()) if is_sparse(arg) else arg for arg in args]
        kwargs = {key: values_of(arg.detach()) if is_sparse(arg) else arg for key, arg in kwargs.items()}
        if not is_sparse(self):
            return getattr(self, name)(*args, **kwargs)
        before, parts = values_of(self), sparse_storage(self)
        values = getattr(before, name)(*args, **kwargs)
        if values is before:
            return self
        indices = tuple(index.to(values.device) for index in parts.indices)
        indices = tuple(index.clone() for index in indices) if kwargs.get("copy") else indices
        return make(parts.layout, indices, values, self.shape, parts.coalesced)
    run.__name__ = name
    return run


for _name in ("to", "cpu", "npu", "type_as", "float", "double", "half", "bfloat16", "int", "long", "short", "char",
              "byte", "bool", "cfloat", "cdouble"):
    KERNELS[_name] = _cast(_name)
to = KERNELS["to"]


@_kernel_named("type")
def _type(self, dtype=None, non_blocking=False):
    if dtype is None:
        first, _, last = values_of(self.detach()).type().rpartition(".")
        return f"{first}.sparse.{last}"
    return _cast("type")(self, dtype, non_blocking)


@_kernel_named("T")
@_kernel
def t(input):
    """The transpose of a matrix."""
    if sparse_dims(input) > 2 or (input.layout is sparse_coo and input.dim() > sparse_dims(input)):
        raise RuntimeError("t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got "
                           f"{sparse_dims(input)} sparse and {input.dim() - sparse_dims(input)} dense dimensions")
    return transpose(input, 0, 1) if input.dim() == 2 else input


def _adjoint(self):
    return KERNELS["conj"](transpose(self, -2, -1))


KERNELS |= {"mT": lambda self: transpose(self, -2, -1), "H": _adjoint, "mH": _adjoint, "adjoint": _adjoint,
            "real": lambda self: with_values(self, values_of(self).real),
            "imag": lambda self: with_values(self, values_of(self).imag)}


# --- shapes -----------------------------------------------------------------------------------------------------------

_TRANSPOSED = {sparse_csr: sparse_csc, sparse_csc: sparse_csr, sparse_bsr: sparse_bsc, sparse_bsc: sparse_bsr}


@_kernel_named("swapaxes")
@_kernel_named("swapdims")
@_kernel
def transpose(input, dim0, dim1):
    """The two dimensions swapped."""
    dim0, dim1 = wrap_dim(dim0, input.dim()), wrap_dim(dim1, input.dim())
    order = list(range(input.dim()))
    order[dim0], order[dim1] = order[dim1], order[dim0]
    if input.layout is sparse_coo:
        first = sparse_dims(input)
        if dim0 != dim1 and max(dim0, dim1) >= first > min(dim0, dim1):
            raise RuntimeError(f"sparse transpose: transposed dimensions must be sparse Got sparse_dim: {first}, d0: "
                               f"{dim0}, d1: {dim1}")
        return permute(input, order)
    batch = indices_of(input)[0].dim() - 1
    size, values = [input.shape[each] for each in order], values_of(input)
    if dim0 == dim1:
        return with_values(input, values)
    if max(dim0, dim1) < batch:
        return make(input.layout, tuple(each.transpose(dim0, dim1) for each in indices_of(input)),
                    values.transpose(dim0, dim1), size)
    if {dim0, dim1} != {batch, batch + 1}:
        kinds = ["Batch" if each < batch else "Sparse" if each < batch + 2 else "Dense" for each in (dim0, dim1)]
        if kinds[0] == kinds[1]:
            refuse("transpose", input)
        raise RuntimeError("transpose(): can only transpose dimensions of the same type (Batch, Sparse, Dense), got "
                           f"{dim0}({kinds[0]}) and {dim1}({kinds[1]})")
    if input.layout in BLOCKED:
        values = values.transpose(batch + 1, batch + 2)
    return make(_TRANSPOSED[input.layout], indices_of(input), values, size)


@_kernel
def permute(input, *dims):
    """The dimensions in another order: sparse ones among themselves, and dense ones."""
    dims = dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims
    order, first = [wrap_dim(each, input.dim()) for each in dims], sparse_dims(input)
    if sorted(order) != list(range(input.dim())):
        raise RuntimeError("permute(sparse_coo): number of dimensions in the tensor input does not match the length of "
                           f"the desired ordering of dimensions i.e. input.dim() = {input.dim()} is not equal to "
                           f"len(dims) = {len(order)}")
    if input.layout is not sparse_coo or any_mixed(order, first):
        refuse("permute", input)
    values, indices = values_of(input), indices_of(input)[0]
    if order[first:] != list(range(first, input.dim())):
        values = values.permute(0, *[each - first + 1 for each in order[first:]])
    kept = order[:first] == list(range(first))
    return make(sparse_coo, (indices if kept else rows_of(indices, order[:first]),), values,
                [input.shape[each] for each in order], kept and bool(input.is_coalesced()))


def any_mixed(order, first):
    """Whether a sparse dimension would become a dense one."""
    return sorted(order[:first]) != list(range(first))


@_kernel
def unsqueeze(input, dim):
    """The tensor with one more dimension, of size 1."""
    require_coo("unsqueeze", input)
    dim, first = wrap_dim(dim, input.dim() + 1), sparse_dims(input)
    indices, values, size = indices_of(input)[0], values_of(input), list(input.shape)
    size.insert(dim, 1)
    if dim > first:
        return make(sparse_coo, (indices,), values.unsqueeze(dim - first + 1), size)
    rows = list(indices.unbind(0))
    rows.insert(dim, ops.zeros((indices.shape[1],), dtype=indices.dtype, device=indices.device))
    return make(sparse_coo, (stacked(rows, indices),), values, size)


def _kept(input, keep, rows, size, coalesced):
    places = keep.nonzero().reshape(-1)
    indices = stacked([row.index_select(0, places) for row in rows], places)
    return make(sparse_coo, (indices,), values_of(input).index_select(0, places), size, coalesced)


@_kernel
def select(input, dim, index):
    """The part at one index of a dimension, without that dimension; dense where no sparse dimension is left."""
    compressed, dim, batch = input.layout is not sparse_coo, wrap_dim(dim, input.dim()), tensors.batch_dims(input)
    if not -input.shape[dim] <= index < input.shape[dim]:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(input.shape)} at dimension "
                         f"{dim}")
    if batch and batch <= dim < batch + 2:
        raise RuntimeError("select(): selecting sparse dimensions is not supported for batched sparse compressed "
                           "tensors")
    if dim < batch:
        indices = tuple(each.select(dim, index) for each in indices_of(input))
        return make(input.layout, indices, values_of(input).select(dim, index),
                    input.shape[:dim] + input.shape[dim + 1:])
    input = to_coo(input)
    index, first, size = index % input.shape[dim], sparse_dims(input), list(input.shape)
    del size[dim]
    if dim >= first:
        values = values_of(input).select(dim - first + 1, index)
        return make(sparse_coo, indices_of(input), values, size, compressed)
    rows = list(indices_of(input)[0].unbind(0))
    keep = rows.pop(dim) == index
    if not rows:
        return values_of(input).index_select(0, keep.nonzero().reshape(-1)).sum(0).to(input.dtype)
    return _kept(input, keep, rows, size, compressed)


@_kernel
def select_copy(input, dim, index, *, out=None):
    """select, of a compressed tensor."""
    if input.layout is sparse_coo:
        refuse("select_copy", input)
    return select(input, dim, index)


@_kernel
def unbind(input, dim=0):
    """The parts at all places of a dimension."""
    return tuple(select(input, dim, index) for index in range(input.shape[wrap_dim(dim, input.dim())]))


@_kernel
def narrow_copy(input, dim, start, length):
    """The part from `start` on of a dimension."""
    if not 0 <= dim < input.dim():
        raise RuntimeError(f"Dimension {dim} out of range. Expecting 0 <= dim < {input.dim()}.")
    input = to_coo(input)
    size = list(input.shape)
    if not 0 <= start <= start + length <= size[dim]:
        raise RuntimeError(f"Invalid range to narrow. range(start, start+length) must be a subset of range(0, "
                           f"{size[dim]}).")
    size[dim], first = length, sparse_dims(input)
    if dim >= first:
        values = values_of(input).narrow(dim - first + 1, start, length)
        return make(sparse_coo, indices_of(input), values, size)
    rows = list(indices_of(input)[0].unbind(0))
    keep = (rows[dim] >= start) & (rows[dim] < start + length)
    rows[dim] = rows[dim] - start
    return _kept(input, keep, rows, size, bool(input.is_coalesced()))


@_kernel
def index_select(input, dim, index, *, out=None):
    """The parts at the places that `index` names."""
    input, dim = to_coo(input), wrap_dim(dim, input.dim())
    if index.dim() > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    index, first, size = index.reshape(-1).long(), sparse_dims(input), list(input.shape)
    if index.numel() and not 0 <= (index % max(size[dim], 1) - index).abs().max().item() <= size[dim]:
        raise IndexError("index_select(): index out of range")
    index, length = index % max(size[dim], 1), size[dim]
    size[dim] = index.shape[0]
    if dim >= first:
        return make(sparse_coo, indices_of(input), values_of(input).index_select(dim - first + 1, index), size)
    input = coalesce(input)
    rows = list(indices_of(input)[0].unbind(0))
    places, new = products.pairs(rows[dim], index, length)
    rows = [new if each == dim else row.index_select(0, places) for each, row in enumerate(rows)]
    return make(sparse_coo, (stacked(rows, places),), values_of(input).index_select(0, places), size)


@_kernel_named("concat")
@_kernel_named("concatenate")
@_kernel
def cat(tensors, dim=0, *, out=None):
    """The tensors, concatenated."""
    for place, tensor in enumerate(tensors):
        if not is_sparse(tensor):
            raise RuntimeError(f"Concatenating sparse tensors, but a dense tensor was found at position {place}.")
    dim, first = wrap_dim(dim, tensors[0].dim()), sparse_dims(tensors[0])
    size, start, indices = list(tensors[0].shape), 0, []
    for place, tensor in enumerate(tensors):
        others = [list(each.shape[:dim]) + list(each.shape[dim + 1:]) for each in (tensors[0], tensor)]
        if others[0] != others[1]:
            raise RuntimeError(f"All tensors must have the same shape: {list(tensors[0].shape)} (except in the "
                               f"concatenating dimension), but found shape: {list(tensor.shape)} at position {place}")
    if dim >= first:
        return _cat_dense(tensors, dim, first)
    for tensor in tensors:
        rows = list(indices_of(tensor)[0].unbind(0))
        rows[dim] = rows[dim] + start
        indices.append(stacked(rows, rows[dim]))
        start += tensor.shape[dim]
    size[dim] = start
    return make(sparse_coo, (ops.cat(indices, 1),), ops.cat([values_of(tensor) for tensor in tensors]), size,
                dim == 0 and all(tensor.is_coalesced() for tensor in tensors))


def _cat_dense(tensors, dim, first):
    """Values of each tensor between zeros, where the others have theirs."""
    total, start, values = sum(tensor.shape[dim] for tensor in tensors), 0, []
    for tensor in tensors:
        shape = list(values_of(tensor).shape)
        place = dim - first + 1
        shape[place] = start
        before = values_of(tensor).new_zeros(shape)
        shape[place] = total - start - tensor.shape[dim]
        values.append(ops.cat([before, values_of(tensor), values_of(tensor).new_zeros(shape)], place))
        start += tensor.shape[dim]
    size = list(tensors[0].shape)
    size[dim] = total
    return make(sparse_coo, (ops.cat([indices_of(tensor)[0] for tensor in tensors], 1),), ops.cat(values), size)


@_kernel
def stack(tensors, dim=0, *, out=None):
    """The tensors along a new dimension."""
    return cat([unsqueeze(tensor, dim) for tensor in tensors], dim)


def _element(self, dim, index):
    if not -self.shape[dim] <= index < self.shape[dim]:
        raise IndexError(f"index {index} is out of bounds for dimension {dim} with size {self.shape[dim]}")
    return select(self, dim, index) if is_sparse(self) else self.select(dim, index)


@_kernel
def __getitem__(self, index):
    """Numbers, ..., None and whole dimensions; torch has no more for sparse tensors."""
    index = index if isinstance(index, tuple) else (index,)
    given = sum(each is not None and each is not Ellipsis for each in index)
    dim = 0
    for each in index:
        if each is Ellipsis:
            dim += self.dim() - given
        elif each is None:
            self, dim = unsqueeze(self, dim), dim + 1
        elif isinstance(each, slice):
            if each.indices(self.shape[dim]) != (0, self.shape[dim], 1):
                refuse("as_strided", self)
            dim += 1
        elif hasattr(each, "layout") and each.dim():
            refuse("index.Tensor", self)
        else:
            self = _element(self, dim, operator.index(each))
        given -= each is not None and each is not Ellipsis
    return self


def _no_reshape(self, *shape):
    raise RuntimeError("reshape is not implemented for sparse tensors")


def _no_expand(self, *shape):
    raise RuntimeError("expand is unsupported for Sparse tensors")


KERNELS |= {"reshape": _no_reshape, "flatten": _no_reshape, "expand": _no_expand, "broadcast_to": _no_expand}


# --- parts ------------------------------------------------------------------------------------------------------------

def _not_sparse(name, self):
    raise NotImplementedError(f"Could not run 'aten::{name}' with arguments from the '{self.device.type.upper()}' "
                              "backend.")


@_kernel_named("_indices")
def _indices(self):
    if self.layout is not sparse_coo:
        refuse("_indices", self) if is_sparse(self) else _not_sparse("_indices", self)
    return indices_of(self)[0]


@_kernel_named("_values")
def _values(self):
    return sparse_storage(self).values.detach() if is_sparse(self) else _not_sparse("_values", self)


@_kernel_named("_nnz")
def _nnz(self):
    if not is_sparse(self):
        _not_sparse("_nnz", self)
    return indices_of(self)[-1].shape[-1]


@_kernel_named("indices")
def indices(self):
    """The coordinates, of a coalesced tensor."""
    require_coo("indices", self)
    if not sparse_storage(self).coalesced:
        raise RuntimeError("Cannot get indices on an uncoalesced tensor, please call .coalesce() first")
    return indices_of(self)[0].detach()


@_kernel_named("values")
def values(self):
    """The values, of a coalesced or a compressed tensor."""
    if self.layout is sparse_coo and not sparse_storage(self).coalesced:
        raise RuntimeError("Cannot get values on an uncoalesced tensor, please call .coalesce() first")
    return values_of(self)


def _index_getter(name, place, layouts, wanted):
    def part(self):
        if self.layout not in layouts:
            raise RuntimeError(f"{name} expected sparse {wanted} compressed tensor layout but got "
                               f"{LAYOUT_NAMES[self.layout]}")
        return indices_of(self)[place].detach()
    return part


_COLUMNS = (sparse_csc, sparse_bsc)
KERNELS |= {"crow_indices": _index_getter("crow_indices", 0, BY_ROWS, "row"),
            "col_indices": _index_getter("col_indices", 1, BY_ROWS, "row"),
            "ccol_indices": _index_getter("ccol_indices", 0, _COLUMNS, "column"),
            "row_indices": _index_getter("row_indices", 1, _COLUMNS, "column")}


@_kernel_named("coalesce")
def _coalesce(self):
    require_coo("coalesce", self)
    return coalesce(self)


@_kernel
def is_coalesced(self):
    """Whether the coordinates are in order, each once."""
    require_coo("is_coalesced", self)
    return bool(sparse_storage(self).coalesced)


@_kernel_named("_coalesced_")
def _set_coalesced(self, coalesced):
    sparse_storage(self).coalesced = coalesced
    return self


@_kernel_named("_dimI")
@_kernel_named("sparse_dim")
def _sparse_dim(self):
    return sparse_dims(self)


@_kernel_named("_dimV")
@_kernel_named("dense_dim")
def _dense_dim(self):
    batch = 0 if self.layout is sparse_coo else indices_of(self)[0].dim() - 1
    return self.dim() - sparse_dims(self) - batch


@_kernel_named("to_dense")
@_kernel_named("_to_dense")
def _to_dense(self, dtype=None, *, masked_grad=None):
    if dtype is not None:
        raise RuntimeError("dtype argument is not supported by sparse_to_dense")
    return to_dense(self)


@_kernel
def sparse_mask(self, mask):
    """The elements at the indices of a sparse tensor."""
    if not is_sparse(mask):
        raise RuntimeError("sparse_mask expects a sparse mask")
    if tuple(self.shape) != tuple(mask.shape):
        raise RuntimeError(f"sparse_mask(): operands have incompatible sizes; self has size {list(self.shape)} but "
                           f"mask has size {list(mask.shape)}")
    found = tensors.values_at(self, mask.layout, indices_of(mask), sparse_storage(mask).values.shape)
    return with_values(mask.detach(), found)


def to_sparse(self, *args, layout=None, blocksize=None, dense_dim=None, sparse_dim=None):
    """The tensor with coordinates, or in the sparse layout that is given."""
    if args and isinstance(args[0], type(sparse_coo)):
        layout = args[0]
    elif args:
        sparse_dim = args[0]
    for name, value, types, wanted in (
            ("sparse_dim", sparse_dim, int, "int"), ("dense_dim", dense_dim, int, "int"),
            ("layout", layout, type(sparse_coo), "torch.layout"),
            ("blocksize", blocksize, (int, list, tuple), "tuple of ints")):
        if value is not None and (isinstance(value, bool) or not isinstance(value, types)):
            raise TypeError(f"to_sparse(): argument '{name}' must be {wanted}, not {type(value).__name__}")
    layout = layout or sparse_coo
    if layout is strided:
        return to_dense(self)
    blocksize = (blocksize, blocksize) if isinstance(blocksize, int) else blocksize
    blocksize = tuple(blocksize) if blocksize is not None else None
    if is_sparse(self):
        if self.layout is sparse_coo and sparse_dim not in (None, sparse_dims(self)):
            raise RuntimeError("to_sparse: conversion from Sparse to Sparse with sparse_dim argument "
                               "!=self.sparse_dim() is not supported")
        if tensors.batch_dims(self) and layout in COMPRESSED and layout is not self.layout:
            if (layout in BLOCKED) != (self.layout in BLOCKED):
                raise RuntimeError(f"sparse_compressed_to_sparse: conversion from {LAYOUT_NAMES[self.layout]} to "
                                   f"{LAYOUT_NAMES[layout]} for batched inputs is not supported")
            dense_dim = self.dim() - tensors.batch_dims(self) - 2
            blocksize = blocksize or tensors.blocksize_of(self)
            made = _batched(to_dense(self), layout, blocksize, dense_dim, tensors.batch_dims(self))
            return tensors.with_index_dtype(made, indices_of(self)[0].dtype)
        if self.layout in BLOCKED and layout in COMPRESSED and layout not in BLOCKED:
            name = LAYOUT_NAMES[layout]
            raise RuntimeError(f"sparse_compressed_to_sparse_{name[-3:].lower()}: expected SparseCsr or SparseCsc "
                               f"layout but got {LAYOUT_NAMES[self.layout]}")
        return to_layout(self, layout, blocksize)
    if layout in BLOCKED and blocksize is None:
        raise RuntimeError(f"to_sparse: {layout} needs a blocksize")
    if layout is sparse_coo:
        if blocksize is not None:
            raise RuntimeError("to_sparse for Strided to Sparse conversion does not use specified blocksize")
        return from_dense(self, self.dim() - (dense_dim or 0) if sparse_dim is None else sparse_dim)
    if dense_dim is not None and not 0 <= dense_dim <= max(self.dim() - 2, 0):
        raise RuntimeError(f"dense_to_{LAYOUT_NAMES[layout]}: dense_dim argument must be in "
                           f"[0,{max(self.dim() - 2, 0)}] range, but {dense_dim} is given")
    first = self.dim() - (dense_dim or 0)
    if first < 2:
        raise RuntimeError(f"to_sparse_{str(layout)[-3:]}: expected a tensor of two dimensions or more")
    if first > 2:
        return _batched(self, layout, blocksize, dense_dim, first - 2)
    if layout in BLOCKED:
        return to_blocks(self, blocksize, layout)
    return to_layout(from_dense(self, 2), layout)


def _batched(self, layout, blocksize, dense_dim, batch):
    shape = self.shape[:batch]
    each = [to_sparse(matrix, layout=layout, blocksize=blocksize, dense_dim=dense_dim)
            for matrix in self.reshape(count(shape), *self.shape[batch:]).unbind(0)]
    if len({_nnz(matrix) for matrix in each}) > 1:
        raise RuntimeError("Expect the same number of specified elements per batch.")
    parts = [ops.stack([indices_of(matrix)[place] for matrix in each]) for place in (0, 1)]
    stacked_values = ops.stack([values_of(matrix) for matrix in each])
    return make(layout, tuple(part.reshape(*shape, part.shape[-1]) for part in parts),
                stacked_values.reshape(*shape, *stacked_values.shape[1:]), self.shape)


def _to(layout):
    if layout in BLOCKED:       # the size of the blocks is a pair, or one number for both
        return lambda self, blocksize, dense_dim=None: to_sparse(self, layout=layout, blocksize=blocksize,
                                                                 dense_dim=dense_dim)
    return lambda self, dense_dim=None: to_sparse(self, layout=layout, dense_dim=dense_dim)


# Methods that make sparse tensors of dense ones; the same of sparse ones.
CONVERSIONS = {"to_sparse": to_sparse, "to_sparse_coo": _to(sparse_coo), "to_sparse_csr": _to(sparse_csr),
               "to_sparse_csc": _to(sparse_csc), "to_sparse_bsr": _to(sparse_bsr), "to_sparse_bsc": _to(sparse_bsc),
               "sparse_mask": sparse_mask}
for _name, _function in list(CONVERSIONS.items()):
    _function.__name__ = _name
    CONVERSIONS[f"_{_name}"] = _function
del CONVERSIONS["_sparse_mask"]
KERNELS |= CONVERSIONS


@_kernel_named("sparse_resize_")
def _resize(self, size, sparse_dim, dense_dim):
    from mindtorch._core.tensor.copy_cast import set_tensor
    parts = sparse_storage(self)
    values_shape = (parts.values.shape[0], *tuple(size)[sparse_dim:])
    if parts.indices[0].shape[1] and (sparse_dim != sparse_dims(self) or tuple(parts.values.shape) != values_shape):
        raise RuntimeError("changing the number of sparse or dense dimensions, or a dense size, of a tensor with "
                           "elements is not supported")
    if not parts.indices[0].shape[1]:
        made = make(sparse_coo, (parts.indices[0].new_zeros((sparse_dim, 0)),), parts.values.new_zeros(values_shape),
                    size, parts.coalesced)
    else:
        made = make(sparse_coo, parts.indices, parts.values, size, parts.coalesced)
    set_tensor(self, made)
    return self


@_kernel_named("sparse_resize_and_clear_")
def _resize_and_clear(self, size, sparse_dim, dense_dim):
    from mindtorch._core.tensor.copy_cast import set_tensor
    parts = sparse_storage(self)
    set_tensor(self, make(sparse_coo, (parts.indices[0].new_zeros((sparse_dim, 0)),),
                          parts.values.new_zeros((0, *tuple(size)[sparse_dim:])), size))
    return self


@_kernel_named("resize_as_sparse_")
def _resize_as(input, the_template):
    return _resize(input, the_template.shape, sparse_dims(the_template),
                   the_template.dim() - sparse_dims(the_template))


# --- what a sparse tensor has not -------------------------------------------------------------------------------------

def _raising(error, message):
    def refuse_it(self, *args, **kwargs):
        raise error(message)
    return refuse_it


_NO_STORAGE = _raising(NotImplementedError, "Cannot access storage of SparseTensorImpl")
_NO_POINTER = _raising(RuntimeError, "Cannot access data pointer of Tensor that doesn't have storage")
KERNELS |= {
    "storage": _NO_STORAGE, "untyped_storage": _NO_STORAGE, "share_memory_": _NO_STORAGE, "_typed_storage": _NO_STORAGE,
    "data_ptr": _NO_POINTER, "tolist": _NO_POINTER,
    "numpy": _raising(TypeError, "can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first."),
    "is_contiguous": lambda self, memory_format=None: False, "is_pinned": lambda self, device=None: False,
    "contiguous": _raising(RuntimeError, "unsupported memory format option Contiguous"),
    "nbytes": _raising(RuntimeError, "nbytes is not defined for sparse tensors.  If you want the size of the "
                       "constituent tensors, add the nbytes of the indices and values.  If you want the size of the  "
                       "equivalent dense tensor, multiply numel() by element_size()")}


@_kernel
def stride(self, dim=None):
    """Zeros of a COO tensor; RuntimeError of others."""
    if self.layout is not sparse_coo:
        raise RuntimeError("Sparse CSR tensors do not have strides")
    return (0,) * self.dim() if dim is None else 0


@_kernel
def item(self):
    """The only element."""
    if self.numel() != 1:
        raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
    return to_dense(self).item()


# --- out= -------------------------------------------------------------------------------------------------------------

def writing_out(kernel):
    """The kernel with an argument out=, which is given the result."""
    @functools.wraps(kernel)
    def run(*args, out=None, **kwargs):
        if out is None:
            return kernel(*args, **kwargs)
        if is_grad_enabled() and any(getattr(value, "requires_grad", False) for value in (*args, out)):
            raise RuntimeError(f"{kernel.__name__}(): functions with out=... arguments don't support automatic "
                               "differentiation, but one of the arguments requires grad.")
        result = kernel(*args, **kwargs)
        _check_cast(result.dtype, out.dtype)
        if is_sparse(out):
            return _write(out, result)
        result = to_dense(result) if is_sparse(result) else result
        return (out if out.shape == result.shape else out.resize_(result.shape)).copy_(result)
    return run


KERNELS |= {name: writing_out(kernel) for name, kernel in KERNELS.items()
            if "out" in inspect.signature(kernel).parameters}
