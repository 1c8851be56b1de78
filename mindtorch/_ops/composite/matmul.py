"""Products of tensors, written with matrix products: einsum, tensordot, kron and the like."""
import string
from math import prod

from mindtorch._core._gen.namespace import ATEN as _ATEN
from mindtorch._core._gen.namespace import FUNCTIONS as _OPS
from mindtorch._core.operators.autocast import with_autocast_policy, without_autocast
from mindtorch._core.python.conversion import parse_int_list
from mindtorch._core.python.torch_function import overridable
from mindtorch._core.rules.infer import resize_output
from mindtorch._core.tensor.attributes import drop_base
from mindtorch._core.tensor.dtype import int8, int32, uint8
from mindtorch._core.tensor.factories import empty
from mindtorch._core.tensor.tensor import TensorBase
from mindtorch._core.tensor.views import conj as _conj
from mindtorch._ops.composite.common import (
    _require_tensors,
    c_type,
    require_list,
    with_out,
    wrap_dim,
    written,
)

_bmm, _dot, _matmul, _outer = _OPS["bmm"], _OPS["dot"], _OPS["matmul"], _OPS["outer"]


def inner(input, other, *, out=None):
    """Sums of products along the last dimensions; a number times a tensor where one is 0-d."""
    _require_tensors("inner", input=input, other=other)
    if input.dim() == 0 or other.dim() == 0:
        return _OPS["mul"](input, other, out=out)
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(f"inner() the last dimension must match on both input tensors but got shapes "
                           f"{list(input.shape)} and {list(other.shape)}")
    return tensordot(input, other, dims=([-1], [-1]), out=out)


@with_out(same_dtype=True)
def vdot(input, other):
    """The dot product, with the conjugate of `input`."""
    _require_tensors("vdot", input=input, other=other)
    return _dot(_conj(input), other)


@with_out
def kron(input, other):
    """The Kronecker product: every element of `input` times the whole of `other`."""
    _require_tensors("kron", input=input, other=other)
    count = max(input.dim(), other.dim())
    outer = (1,) * (count - input.dim()) + tuple(input.shape)
    block = (1,) * (count - other.dim()) + tuple(other.shape)
    left = input.reshape([n for size in outer for n in (size, 1)])
    right = other.reshape([n for size in block for n in (1, size)])
    return drop_base((left * right).reshape([a * b for a, b in zip(outer, block, strict=True)]))


_EXACT_PRODUCTS = 512       # products of 8-bit integers whose sum float32 holds exactly: 512 * 255 * 128 < 2 ** 24


def _int_mm(input, mat2, *, out=None):
    """The product of matrices of int8, or of uint8 and int8, in int32.

    Computed in float32, by slices that are exact there: BLAS and the NPU multiply no integers of 8 bits.
    """
    _require_tensors("_int_mm", input=input, mat2=mat2)
    _check_int_mm(input, mat2)
    rows, columns = input.shape[0], mat2.shape[1]
    result = empty((rows, columns), dtype=int32, device=input.device).zero_() if out is None else out
    if out is not None:
        if out.dtype is not int32:
            raise RuntimeError(f"int_mm_out_cpu: Expected result dtype to be of type kInt but got {c_type(out.dtype)}")
        for dim, size in enumerate((rows, columns)):
            if out.dim() <= dim or out.shape[dim] != size:
                raise RuntimeError(f"int_mm_out_cpu: Expected result.size({dim}) to be {size} but got "
                                   f"{out.shape[dim] if dim < out.dim() else 'none'}")
        out.zero_()
    left, right = input.float(), mat2.float()
    for start in range(0, left.shape[1], _EXACT_PRODUCTS):
        end = min(start + _EXACT_PRODUCTS, left.shape[1])
        result += _matmul(left[:, start:end], right[start:end]).to(int32)
    return result


def _check_int_mm(input, mat2):
    for name, tensor in (("self", input), ("mat2", mat2)):
        if tensor.dim() != 2:
            raise RuntimeError(f"int_mm_out_cpu: Expected {name} to be of dimension 2 but got {tensor.dim()}")
    if input.shape[1] != mat2.shape[0]:
        raise RuntimeError(f"int_mm_out_cpu: self.size(1) needs to match mat2.size(0) but got {input.shape[1]} and "
                           f"{mat2.shape[0]}")
    if input.dtype not in (int8, uint8):
        raise RuntimeError("int_mm_out_cpu: Expected self dtype to be int8 or uint8 but got "
                           f"{c_type(input.dtype)}")
    if mat2.dtype is not int8:
        raise RuntimeError(f"int_mm_out_cpu: Expected mat2 dtype to be of type int8 but got {c_type(mat2.dtype)}")


@with_autocast_policy("tensordot")
def tensordot(a, b, dims=2, out=None):
    """Sums over the last `dims` dimensions of `a` and the first of `b`, or over the pairs that two lists name."""
    if isinstance(dims, int) and dims < 0:
        raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
    _require_tensors("tensordot", a=a, b=b)
    of_a, of_b = _contracted(a, b, dims)
    if a.dtype is not b.dtype:
        raise RuntimeError("both inputs should have same dtype")
    for i, (x, y) in enumerate(zip(of_a, of_b, strict=True)):
        of_a[i], of_b[i] = wrap_dim(x, a.dim()), wrap_dim(y, b.dim())
        size, other = (each.shape[d] if each.dim() else 1 for each, d in ((a, x), (b, y)))
        # A dimension of size 1 broadcasts.
        if size == 1 and other != 1:
            b = b.sum(y, keepdim=True, dtype=b.dtype)
        elif other == 1 and size != 1:
            a = a.sum(x, keepdim=True, dtype=a.dtype)
        elif size != other:
            raise RuntimeError(f"contracted dimensions need to match, but first has size {size} in dim {x} and "
                               f"second has size {other} in dim {y}")
    free_a = [d for d in range(a.dim()) if d not in of_a]
    free_b = [d for d in range(b.dim()) if d not in of_b]
    inner_size = prod(a.shape[d] for d in of_a)
    shape = [a.shape[d] for d in free_a] + [b.shape[d] for d in free_b]
    left = a.permute(free_a + of_a).reshape(prod(a.shape[d] for d in free_a), inner_size)
    right = b.permute(of_b + free_b).reshape(inner_size, prod(b.shape[d] for d in free_b))
    # As in torch, a single sum of products is no matrix product, which autocast would give another dtype.
    product = _OPS["mm"](left, right) if prod(shape) != 1 else _dot(left.reshape(-1), right.reshape(-1))
    result = product.reshape(shape)
    return result if out is None else written("tensordot", result, out, same_dtype=True)


def _contracted(a, b, dims):
    """The dimensions of both that are summed over."""
    if isinstance(dims, TensorBase):
        if dims.numel() > 1 and dims.shape[0] != 2:
            raise AssertionError(f"dims tensor must have size 2 in first dimension, got {dims.shape[0]}")
        dims = dims.tolist() if dims.numel() > 1 else int(dims.item())
    if not isinstance(dims, (int, list, tuple)):
        raise RuntimeError("tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] "
                           f"containing two lists, but got dims={dims}")
    if isinstance(dims, int):
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        return list(range(a.dim() - dims, a.dim())), list(range(dims))
    one, other = dims
    for position, name, each in ((3, "dims_self", one), (4, "dims_other", other)):
        parse_int_list(each, "tensordot", name, position)
    if len(one) != len(other):
        raise RuntimeError("both dimension lists should have same length")
    return list(one), list(other)


@with_autocast_policy("chain_matmul")
def chain_matmul(*matrices, out=None):
    """The product of 2-D matrices, in the order of fewest multiplications."""
    require_list(matrices)
    if any(m.dim() != 2 for m in matrices):
        wrong = next(m for m in matrices if m.dim() != 2)
        raise RuntimeError(f"Tensor dimension is {wrong.dim()}, expected 2 instead.")
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    result = multiply_chain(matrices)
    if out is not None and len(matrices) > 1 and out.dtype is not result.dtype:
        raise RuntimeError(f"multi_dot(): expected out tensor to have dtype {c_type(result.dtype)} but got "
                           f"{c_type(out.dtype)}")
    return result if out is None else resize_output(out, result).copy_(result)


def multiply_chain(matrices):
    """The product of matrices that fit, in the order of fewest multiplications."""
    sizes = [matrices[0].shape[0], *(m.shape[1] for m in matrices)]
    best = {(i, i): (0, i) for i in range(len(matrices))}
    for length in range(1, len(matrices)):
        for first in range(len(matrices) - length):
            last = first + length
            best[first, last] = min(
                (best[first, cut][0] + best[cut + 1, last][0] + sizes[first] * sizes[cut + 1] * sizes[last + 1], cut)
                for cut in range(first, last))

    def product(first, last):
        if first == last:
            return matrices[first]
        cut = best[first, last][1]
        return _matmul(product(first, cut), product(cut + 1, last))
    return product(0, len(matrices) - 1)


# --- einsum ----------------------------------------------------------------------------------------------------------

# Every dimension of an operand has a label. The labels of an ellipsis are negative numbers, counted from the last
# dimension, so that they broadcast.

@with_autocast_policy("einsum")
def einsum(*args):
    """Sums of products, in Einstein's notation: `einsum("ij,jk->ik", a, b)`, or `einsum(a, [0, 1], b, [1, 2], [0, 2])`.
    """
    equation, operands = _read_arguments(args)
    inputs, output = _read_equation(equation, operands)
    sizes = _label_sizes(inputs, operands)
    if output is None:
        counts = [label for labels in inputs for label in labels]
        ellipsis = sorted({label for label in counts if isinstance(label, int)})
        once = [label for label in counts if isinstance(label, str) and counts.count(label) == 1]
        output = ellipsis + sorted(once, key=(string.ascii_uppercase + string.ascii_lowercase).index)
    terms = [_diagonals(tensor, labels) for tensor, labels in zip(operands, inputs, strict=True)]
    result, labels = terms[0]
    for i in range(1, len(terms)):
        kept = set(output).union(*(later for _, later in terms[i + 1:]))
        result, labels = _contract(result, labels, *terms[i], kept, sizes)
    result = _arranged(result, labels, output)
    return result if len(terms) == 1 else drop_base(result)


def _unpack_operands(args):
    """einsum(equation, [a, b]) as einsum(equation, a, b)."""
    return (args[0], *args[1]) if len(args) == 2 and isinstance(args[1], (list, tuple)) else args


einsum = overridable(einsum, unpack=_unpack_operands)


def _read_arguments(args):
    if not args:
        raise ValueError("einsum(): must specify the equation string and at least one operand, or at least one operand "
                         "and its subscripts list")
    if isinstance(args[0], str):
        equation, operands = args[0], args[1:]
        if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
            operands = operands[0]
    else:
        lists = [args[i + 1] for i in range(0, len(args) - 1, 2)]
        operands = args[:len(args) - len(args) % 2:2] if len(args) % 2 == 0 else args[:-1:2]
        equation = ",".join(_letters(labels) for labels in lists[:len(operands)])
        if len(args) % 2:
            equation += "->" + _letters(args[-1])
    if not operands:
        raise RuntimeError("einsum(): must provide at least one operand")
    for operand in operands:
        if not isinstance(operand, TensorBase):
            raise TypeError(f"einsum(): expected tensors as operands, but got {type(operand).__name__}")
    return equation, list(operands)


def _letters(labels):
    text = ""
    for label in labels:
        if label is Ellipsis:
            text += "..."
        elif isinstance(label, int) and 0 <= label < 52:
            text += (string.ascii_uppercase + string.ascii_lowercase)[label]
        else:
            raise ValueError("einsum(): subscripts in subscript list are not within the valid range [0, 52), got "
                             f"{label}")
    return text


def _read_equation(equation, operands):
    """The labels of each operand, and those of the result, or None where the equation does not give them."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        more = "more" if len(terms) < len(operands) else "fewer"
        raise RuntimeError(f"einsum(): {more} operands were provided than specified in the equation")
    inputs = [_labels(term, tensor.dim(), number) for number, (term, tensor) in
              enumerate(zip(terms, operands, strict=True))]
    if not arrow:
        return inputs, None
    width = max((sum(isinstance(label, int) for label in labels) for labels in inputs), default=0)
    head, dots, tail = right.partition("...")
    output = [*head, *(range(-width, 0) if dots else ()), *tail]
    known = {label for labels in inputs for label in labels}
    for label in output:
        if label not in known:
            raise RuntimeError(f"einsum(): output subscript {label} does not appear in the equation for any input "
                               "operand")
        if output.count(label) > 1:
            raise RuntimeError(f"einsum(): output subscript {label} appears more than once in the output")
    return inputs, output


def _labels(term, count, number):
    head, dots, tail = term.partition("...")
    for letter in head + tail:
        if letter not in string.ascii_letters:
            if letter == ".":
                raise RuntimeError(f"einsum(): found '.' for operand {number} that is not part of any ellipsis")
            raise RuntimeError(f"einsum(): invalid subscript given at index {term.index(letter)} in the equation "
                               "string, subscripts must be in [a-zA-Z]")
    width = count - len(head) - len(tail)
    if width < 0 or (width and not dots):
        relation, ending = ("is more than", "") if width < 0 else ("does not match", " and no ellipsis was given")
        raise RuntimeError(f"einsum(): the number of subscripts in the equation ({len(head) + len(tail)}) {relation} "
                           f"the number of dimensions ({count}) for operand {number}{ending}")
    return [*head, *range(-width, 0), *tail]


def _label_sizes(inputs, operands):
    sizes = {}
    for number, (labels, tensor) in enumerate(zip(inputs, operands, strict=True)):
        for label, size in zip(labels, tensor.shape, strict=True):
            if sizes.get(label, 1) == 1:
                sizes[label] = size
            elif size not in (1, sizes[label]):
                raise RuntimeError(
                    f"einsum(): subscript {label} has size {size} for operand {number} which does not broadcast with "
                    f"previously seen size {sizes[label]}")
    return sizes


def _diagonals(tensor, labels):
    """The tensor with each label once: a repeated one takes the diagonal."""
    labels = list(labels)
    for label in [one for one in dict.fromkeys(labels) if labels.count(one) > 1]:
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            if tensor.shape[first] != tensor.shape[second]:
                raise RuntimeError(f"einsum(): subscript {label} is repeated for operand but the sizes don't match, "
                                   f"{tensor.shape[second]} != {tensor.shape[first]}")
            tensor = tensor.diagonal(0, first, second)
            labels = [one for i, one in enumerate(labels) if i not in (first, second)] + [label]
    return tensor, labels


def _contract(a, of_a, b, of_b, kept, sizes):
    """The product of two operands, summed over the labels that nothing else needs: one batched matrix product."""
    a, of_a = _reduced(a, of_a, kept.union(of_b))
    b, of_b = _reduced(b, of_b, kept.union(of_a))
    shared = [label for label in of_a if label in of_b]
    for label in shared:        # a dimension of size 1 broadcasts, unless it is summed over with the other
        a = _expanded(a, of_a.index(label), sizes[label])
        b = _expanded(b, of_b.index(label), sizes[label])
    batch = [label for label in shared if label in kept]
    summed = [label for label in shared if label not in kept]
    only_a = [label for label in of_a if label not in shared]
    only_b = [label for label in of_b if label not in shared]
    size = dict(zip(of_a + of_b, (*a.shape, *b.shape), strict=True))
    if not summed:
        left = a.permute([of_a.index(label) for label in batch + only_a]).reshape(
            [size[label] for label in batch + only_a] + [1] * len(only_b))
        right = b.permute([of_b.index(label) for label in batch + only_b]).reshape(
            [size[label] for label in batch] + [1] * len(only_a) + [size[label] for label in only_b])
        return left * right, batch + only_a + only_b
    groups = [prod(size[label] for label in group) for group in (batch, only_a, summed, only_b)]
    left = a.permute([of_a.index(label) for label in batch + only_a + summed]).reshape(groups[0], groups[1], groups[2])
    right = b.permute([of_b.index(label) for label in batch + summed + only_b]).reshape(groups[0], groups[2], groups[3])
    result = _bmm(left, right).reshape([size[label] for label in batch + only_a + only_b])
    return result, batch + only_a + only_b


def _reduced(tensor, labels, needed):
    """The tensor summed over the labels that are not needed."""
    dims = [dim for dim, label in enumerate(labels) if label not in needed]
    if not dims:
        return tensor, labels
    return tensor.sum(dims), [label for label in labels if label in needed]


def _expanded(tensor, dim, size):
    if tensor.shape[dim] == size:
        return tensor
    shape = list(tensor.shape)
    shape[dim] = size
    return tensor.expand(shape)


def _arranged(tensor, labels, output):
    tensor, labels = _reduced(tensor, labels, set(output))
    return tensor.permute([labels.index(label) for label in output])


# --- bilinear, pdist, _safe_softmax ----------------------------------------------------------------------------------

_where = _OPS["where"]


@with_autocast_policy("bilinear")
@without_autocast
def bilinear(input1, input2, weight, bias=None):
    """input1 @ weight[k] @ input2 + bias[k] for each k: (..., n), (..., m) and (o, n, m) give (..., o)."""
    _require_tensors("bilinear", input1=input1, input2=input2, weight=weight)
    given = {"input1": input1, "input2": input2, "weight": weight} | ({} if bias is None else {"bias": bias})
    if len({tensor.dtype for tensor in given.values()}) > 1:
        raise RuntimeError("All tensors must have the same dtype, got " +
                           ", ".join(f"{name}: {c_type(tensor.dtype)}" for name, tensor in given.items()))
    if input1.dim() != input2.dim():
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {input1.dim()} and {input2.dim()}")
    for dim, (one, other) in enumerate(zip(input1.shape[:-1], input2.shape[:-1], strict=True)):
        if one != other:
            raise RuntimeError(f"bilinear(): input batch dimensions do not match at dim {dim}: got {one} and {other}")
    for name, input, size in (("input1", input1, weight.shape[1]), ("input2", input2, weight.shape[2])):
        if input.shape[-1] != size:
            raise RuntimeError(f"bilinear(): {name} size does not match weight size: got {input.shape[-1]} but "
                               f"expected {size}")
    if bias is not None and bias.shape[0] != weight.shape[0]:
        raise RuntimeError(f"bilinear(): bias size does not match weight size: got {bias.shape[0]} but expected "
                           f"{weight.shape[0]}")
    outputs, first, second = weight.shape
    left, right = input1.reshape(-1, first), input2.reshape(-1, second)
    through = _matmul(left, weight.permute(1, 0, 2).reshape(first, outputs * second))
    result = _matmul(through.reshape(-1, outputs, second), right.unsqueeze(2)).reshape(*input1.shape[:-1], outputs)
    return result if bias is None else result + bias


@with_autocast_policy("pdist")
def pdist(input, p=2.0):
    """The p-norm distances between the rows of a matrix, each pair once: 0-1, 0-2, ..., 1-2, ..."""
    _require_tensors("pdist", input=input)
    if input.dim() != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.dim()}D")
    if not input.is_floating_point():
        raise RuntimeError("pdist only supports floating-point dtypes")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    return _ATEN["_pdist_forward"](input.contiguous(), p)


def _safe_softmax(input, dim, dtype=None):
    """softmax, with zeros for rows that are -inf everywhere."""
    masked = (input == float("-inf")).all(dim, True)
    # The softmax of such a row is NaN, and so would be the gradients of what follows.
    result = _OPS["softmax"](input.masked_fill(masked, 0), dim, dtype=dtype)
    return _where(masked, 0.0, result)


FUNCTIONS = {"inner": inner, "vdot": vdot, "kron": kron, "tensordot": tensordot, "chain_matmul": chain_matmul,
             "einsum": einsum, "bilinear": bilinear, "pdist": pdist, "_safe_softmax": _safe_softmax,
             "_int_mm": _int_mm}
METHODS = {"inner": inner, "vdot": vdot, "kron": kron}
