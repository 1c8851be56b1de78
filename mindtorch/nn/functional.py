"""torch.nn.functional: functions without state. Shapes and errors are those of torch's functions of the same names."""
from mindtorch._core.operators.composites import linear  # noqa: F401
from mindtorch._ops.composite.matmul import bilinear, pdist  # noqa: F401
from mindtorch.nn._functional_activation import (  # noqa: F401 - the namespace has them
    celu,
    celu_,
    elu,
    elu_,
    gelu,
    glu,
    gumbel_softmax,
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    hardtanh_,
    leaky_relu,
    leaky_relu_,
    log_softmax,
    logsigmoid,
    mish,
    prelu,
    relu,
    relu6,
    relu_,
    rrelu,
    rrelu_,
    selu,
    selu_,
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
    threshold_,
)
from mindtorch.nn._functional_attention import *  # noqa: F403
from mindtorch.nn._functional_conv import *  # noqa: F403
from mindtorch.nn._functional_embedding import *  # noqa: F403
from mindtorch.nn._functional_fractional import *  # noqa: F403
from mindtorch.nn._functional_grouped import *  # noqa: F403
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
from mindtorch.nn._functional_multi_head import *  # noqa: F403
from mindtorch.nn._functional_norm import (  # noqa: F401
    alpha_dropout,
    batch_norm,
    cosine_similarity,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    feature_alpha_dropout,
    group_norm,
    instance_norm,
    layer_norm,
    local_response_norm,
    normalize,
    pairwise_distance,
    rms_norm,
)
from mindtorch.nn._functional_paths import *  # noqa: F403
from mindtorch.nn._functional_pool import *  # noqa: F403
from mindtorch.nn._functional_unpool import *  # noqa: F403
from mindtorch.nn._functional_vision import *  # noqa: F403
