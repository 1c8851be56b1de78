"""Products and distances of rows that networks compare things by."""
from mindtorch._core._gen.namespace import ATEN as _ATEN
from mindtorch._core._gen.namespace import FUNCTIONS as _OPS
from mindtorch._core.autocast import casting
from mindtorch._ops.composite import _require_tensors

_matmul, _where = _OPS["matmul"], _OPS["where"]


@casting("bilinear")
def bilinear(input1, input2, weight, bias=None):
    """input1 @ weight[k] @ input2 + bias[k] for each k: (..., n), (..., m) and (o, n, m) give (..., o)."""
    _require_tensors("bilinear", input1=input1, input2=input2, weight=weight)
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


@casting("pdist")
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
    """softmax, with zeros for lines that are -inf everywhere."""
    masked = (input == float("-inf")).all(dim, True)
    # A softmax of such a line would be NaN, and so would be the gradient behind it.
    result = _OPS["softmax"](_where(masked, 0.0, input), dim, dtype=dtype)
    return _where(masked, 0.0, result)


FUNCTIONS = {"bilinear": bilinear, "pdist": pdist, "_safe_softmax": _safe_softmax}
METHODS = {}
