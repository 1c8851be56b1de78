"""torch.nn.functional: functions without state. Shapes and errors are those of torch's functions of the same names."""
import warnings

from mindtorch._core._gen import namespace as _ops
from mindtorch._core.tensor import TensorBase

_relu, _relu_in_place = _ops.FUNCTIONS["relu"], _ops.FUNCTIONS["relu_"]
_addmm, _matmul = _ops.FUNCTIONS["addmm"], _ops.FUNCTIONS["matmul"]
_softmax, _log_softmax = _ops.FUNCTIONS["softmax"], _ops.FUNCTIONS["log_softmax"]
sigmoid, tanh = _ops.FUNCTIONS["sigmoid"], _ops.FUNCTIONS["tanh"]


def relu(input, inplace=False):
    """max(input, 0), in `input` itself with `inplace`."""
    return _relu_in_place(input) if inplace else _relu(input)


def linear(input, weight, bias=None):
    """input @ weight.T + bias: (..., n) and (m, n) give (..., m); a weight of shape (n,) gives (...)."""
    for position, (name, value) in enumerate((("input", input), ("weight", weight), ("bias", bias)), 1):
        if not isinstance(value, TensorBase) and (name != "bias" or value is not None):
            raise TypeError(f"linear(): argument '{name}' (position {position}) must be Tensor, "
                            f"not {type(value).__name__}")
    if input.dim() == 0 or weight.dim() == 0:
        raise RuntimeError(f"both arguments to linear need to be at least 1D, but they are {input.dim()}D and "
                           f"{weight.dim()}D")
    turned = weight.t()
    if bias is not None and input.dim() == 2:
        return _addmm(bias, input, turned)
    product = _matmul(input, turned)
    return product if bias is None else product.add_(bias)


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """exp(input), normalised to the sum 1 along `dim`."""
    return _softmax(input, _implied_dim(input) if dim is None else dim, dtype=dtype)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """The logarithm of softmax, exact where softmax itself would be 0."""
    return _log_softmax(input, _implied_dim(input) if dim is None else dim, dtype=dtype)


def _implied_dim(input):
    """What torch takes, with a warning, when no dim is given."""
    warnings.warn("Implicit dimension choice for softmax has been deprecated. Change the call to include dim=X as an "
                  "argument.", stacklevel=3)
    return 0 if input.dim() in (0, 1, 3) else 1
