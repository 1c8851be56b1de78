"""torch.nn.functional: functions without state. Shapes and errors are those of torch's functions of the same names."""
from importlib import import_module as _import_module

from mindtorch._core.operators.composites import linear  # noqa: F401
from mindtorch._core.python.torch_function import publish as _publish
from mindtorch._core.python.torch_function import published as _published
from mindtorch._ops.composite.matmul import bilinear, pdist  # noqa: F401
from mindtorch._submodules import module_getattr as _module_getattr
from mindtorch.nn._functional_activation import *  # noqa: F403
from mindtorch.nn._functional_attention import *  # noqa: F403
from mindtorch.nn._functional_conv import *  # noqa: F403
from mindtorch.nn._functional_embedding import *  # noqa: F403
from mindtorch.nn._functional_fractional import *  # noqa: F403
from mindtorch.nn._functional_grouped import *  # noqa: F403
from mindtorch.nn._functional_loss import *  # noqa: F403
from mindtorch.nn._functional_multi_head import *  # noqa: F403
from mindtorch.nn._functional_norm import *  # noqa: F403
from mindtorch.nn._functional_paths import *  # noqa: F403
from mindtorch.nn._functional_pool import *  # noqa: F403
from mindtorch.nn._functional_unpool import *  # noqa: F403
from mindtorch.nn._functional_vision import *  # noqa: F403

# What torch has in C++, in the torch namespace or in torch._C._nn.
for _name in ("celu_", "leaky_relu_", "relu_", "rrelu_", "selu_", "threshold_", "conv_tbc", "cosine_similarity",
              "pairwise_distance"):
    globals()[_name] = _published(globals()[_name], __name__, _name, "torch")
for _name in ("avg_pool2d", "avg_pool3d", "elu_", "hardtanh_", "linear", "one_hot", "scaled_dot_product_attention"):
    globals()[_name] = _published(globals()[_name], __name__, _name, "torch._C._nn")
# The exceptions take no tensors, or call `interpolate`, which is overridable.
_publish(globals(), but=("_get_softmax_dim", "_verify_batch_size", "assert_int_or_pair", "upsample",
                         "upsample_bilinear", "upsample_nearest"), module="torch.nn.functional")


_refused = _module_getattr(__name__)


def __getattr__(name):
    if name == "grad":                      # the module, whose imports need this one
        return _import_module("mindtorch.nn.grad")
    # Names that programs take from here. To import mindtorch.overrides makes every call look for handlers.
    if name in ("handle_torch_function", "has_torch_function", "has_torch_function_unary",
                "has_torch_function_variadic"):
        from mindtorch import overrides
        return getattr(overrides, name)
    return _refused(name)
