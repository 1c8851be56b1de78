"""torch.nn.functional: functions without state. Shapes and errors are those of torch's functions of the same names."""
from mindtorch._core._gen import namespace as _ops
from mindtorch._core.tensor import TensorBase
from mindtorch.nn._functional_activation import (  # noqa: F401 - the namespace has them
    celu,
    elu,
    gelu,
    glu,
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    leaky_relu,
    log_softmax,
    logsigmoid,
    mish,
    prelu,
    relu,
    relu6,
    relu_,
    rrelu,
    selu,
    sigmoid,
    silu,
    softmax,
    softmin,
    softplus,
    softshrink,
    softsign,
    tanh,
    tanhshrink,
    threshold,
)
from mindtorch.nn._functional_attention import *  # noqa: F403
from mindtorch.nn._functional_conv import *  # noqa: F403
from mindtorch.nn._functional_loss import (  # noqa: F401
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cosine_embedding_loss,
    cross_entropy,
    gaussian_nll_loss,
    hinge_embedding_loss,
    huber_loss,
    kl_div,
    l1_loss,
    margin_ranking_loss,
    mse_loss,
    multi_margin_loss,
    multilabel_soft_margin_loss,
    nll_loss,
    poisson_nll_loss,
    smooth_l1_loss,
    soft_margin_loss,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from mindtorch.nn._functional_norm import (  # noqa: F401
    alpha_dropout,
    batch_norm,
    cosine_similarity,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    embedding,
    feature_alpha_dropout,
    group_norm,
    instance_norm,
    layer_norm,
    local_response_norm,
    normalize,
    one_hot,
    pairwise_distance,
    rms_norm,
)
from mindtorch.nn._functional_pool import *  # noqa: F403
from mindtorch.nn._functional_unpool import *  # noqa: F403
from mindtorch.nn._functional_vision import *  # noqa: F403

_addmm, _matmul = _ops.FUNCTIONS["addmm"], _ops.FUNCTIONS["matmul"]


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
