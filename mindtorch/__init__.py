"""mindtorch: the torch namespace on Huawei Ascend NPUs. `import mindtorch as torch`."""
# ruff: noqa: F401 - what is imported here is what the namespace consists of
import math as _math
from importlib import import_module as _import_module
from sys import modules as _modules

from mindtorch import _refusals, return_types
from mindtorch._compat import MODULES as _PRIVATE_MODULES
from mindtorch._core._gen import namespace as _generated
from mindtorch._core.autograd.node import (
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
    is_grad_enabled,
    is_inference_mode_enabled,
    set_anomaly_enabled,
)
from mindtorch._core.errors import AcceleratorError, OutOfMemoryError
from mindtorch._core.formats import (
    _mkldnn,
    channels_last,
    channels_last_3d,
    contiguous_format,
    jagged,
    layout,
    memory_format,
    preserve_format,
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
)
from mindtorch._core.operators import composites as _core_composites
from mindtorch._core.operators.autocast import (
    autocast_decrement_nesting,
    autocast_increment_nesting,
    clear_autocast_cache,
    get_autocast_dtype,
    is_autocast_cache_enabled,
    is_autocast_enabled,
    set_autocast_cache_enabled,
    set_autocast_dtype,
    set_autocast_enabled,
)
from mindtorch._core.python import torch_function as _torch_function
from mindtorch._core.tensor import attributes as _attributes
from mindtorch._core.tensor import copy_cast as _copy_cast
from mindtorch._core.tensor import factories as _factories
from mindtorch._core.tensor import indexing as _indexing
from mindtorch._core.tensor import views as _views
from mindtorch._core.tensor.dtype import _can_cast as can_cast
from mindtorch._core.tensor.dtype import _promote_types as promote_types
from mindtorch._core.tensor.dtype import (
    bfloat16,
    complex64,
    complex128,
    dtype,
    float8_e4m3fn,
    float8_e4m3fnuz,
    float8_e5m2,
    float8_e5m2fnuz,
    float8_e8m0fnu,
    float16,
    float32,
    float64,
    get_default_dtype,
    int8,
    int16,
    int32,
    int64,
    set_default_dtype,
    uint8,
    uint16,
    uint32,
    uint64,
)
from mindtorch._core.tensor.dtype import bool as bool
from mindtorch._core.tensor.factories import (
    arange,
    empty,
    empty_like,
    full,
    full_like,
    linspace,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from mindtorch._core.tensor.generator import Generator, default_generator
from mindtorch._core.tensor.tensor import Size, device, get_default_device, set_default_device
from mindtorch._ops.composite import namespace as _composites
from mindtorch._submodules import install_finder as _install_finder
from mindtorch._submodules import module_getattr as _module_getattr
from mindtorch._tensor import Tensor
from mindtorch._tensor import attach_methods as _attach_methods
from mindtorch._tensor import methods as _methods
from mindtorch._tensor.factories import (
    as_tensor,
    asarray,
    from_file,
    from_numpy,
    frombuffer,
    is_storage,
    scalar_tensor,
    tensor,
)
from mindtorch._tensor.printing import set_printoptions
from mindtorch._tensor.type_info import finfo, iinfo, typename
from mindtorch.autograd.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from mindtorch.random import get_rng_state, initial_seed, manual_seed, seed, set_rng_state
from mindtorch.storage import UntypedStorage
from mindtorch.version import __version__

is_inference = Tensor.is_inference
as_tensor, asarray, frombuffer, scalar_tensor, tensor = (
    _torch_function.published(_torch_function.overridable(_value, modes_only=True), __name__, _value.__name__, "torch")
    for _value in (as_tensor, asarray, frombuffer, scalar_tensor, tensor))
torch = _modules[__name__]
e, inf, nan, newaxis, pi = _math.e, _math.inf, _math.nan, None, _math.pi

# Other names of dtypes.
half, float, double = float16, float32, float64
short, int, long = int16, int32, int64
cfloat, cdouble = complex64, complex128

_OPERATOR_TABLES = (_attributes, _views, _indexing, _copy_cast, _factories, _generated,
                    _core_composites, _composites, _methods)
# Functions whose __module__ is torch.functional.
_OF_FUNCTIONAL = ("atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes", "broadcast_tensors",
                  "cartesian_prod", "cdist", "chain_matmul", "einsum", "lu", "meshgrid", "norm", "split", "stft",
                  "tensordot", "unique", "unique_consecutive", "unravel_index")
_HOMES = dict.fromkeys(_OF_FUNCTIONAL, "torch.functional") | dict.fromkeys(("pca_lowrank", "svd_lowrank"),
                                                                           "torch._lowrank")
_HOMES["lobpcg"] = "torch._lobpcg"
for _module in _OPERATOR_TABLES:
    globals().update({_name: _torch_function.published(_value, __name__, _name, _HOMES.get(_name, "torch"))
        for _name, _value in _module.FUNCTIONS.items()})
for _module in (_indexing, _generated, _core_composites, _composites, _refusals):
    _attach_methods(_module.METHODS)

_LAZY = ("npu", "amp", "nn", "sim", "_C", "autograd", "utils", "linalg", "fft", "signal", "special", "masked",
         "testing", "optim", "serialization", "compiler", "jit", "func", "accelerator", "backends", "cpu", "cuda",
         "distributed", "distributions", "functional", "futures", "hub", "library", "multiprocessing", "overrides",
         "types", "__config__", "xpu", "mps", "_dynamo", "onnx", "ao", "profiler", "fx", "mtia",
         "__future__", "_VF", "_utils", "storage", "quasirandom", "sparse")
_LAZY_NAMES = {"save": "serialization", "load": "serialization", "from_dlpack": "utils.dlpack",
               "alias_torch": "_alias", "compile": "compiler", "autocast": "amp", "GradScaler": "amp", "_assert": "jit",
               "_assert_async": "jit", "ScriptFunction": "jit", "ScriptMethod": "jit", "ScriptModule": "jit",
               "TensorType": "jit",
               "PyTorchFileReader": "_serialization.zip_archive", "Future": "futures",
               "Stream": "_compat.streams", "Event": "_compat.streams", "vmap": "func", "ops": "_library.overloads",
               "classes": "_library.classes"}
_FUNCTIONS_OF_NETWORKS = (
    "alpha_dropout", "alpha_dropout_", "binary_cross_entropy_with_logits", "conv_tbc", "cosine_embedding_loss",
    "cosine_similarity", "dropout", "dropout_", "feature_alpha_dropout", "feature_alpha_dropout_", "feature_dropout",
    "feature_dropout_", "hinge_embedding_loss", "instance_norm", "kl_div", "margin_ranking_loss", "pairwise_distance",
    "poisson_nll_loss", "triplet_margin_loss")
_LAZY_NAMES |= dict.fromkeys(("cond", "while_loop"), "_functorch.control_flow")
_LAZY_NAMES |= dict.fromkeys(_FUNCTIONS_OF_NETWORKS, "_ops.composite.nn_functional")
_LAZY_NAMES |= dict.fromkeys((
    "get_autocast_cpu_dtype", "get_autocast_gpu_dtype", "is_autocast_cpu_enabled", "set_autocast_cpu_dtype",
    "set_autocast_cpu_enabled", "set_autocast_gpu_dtype"), "amp._old_names")
_LAZY_NAMES |= dict.fromkeys((
    "BFloat16Tensor", "BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor",
    "IntTensor", "LongTensor", "ShortTensor", "set_default_tensor_type"), "_compat.legacy_types")
_LAZY_NAMES |= dict.fromkeys((
    "BFloat16Storage", "BoolStorage", "ByteStorage", "CharStorage", "ComplexDoubleStorage", "ComplexFloatStorage",
    "DoubleStorage", "FloatStorage", "HalfStorage", "IntStorage", "LongStorage", "ShortStorage", "Storage",
    "TypedStorage", "_storage_classes"), "_compat.legacy_types")
_LAZY_NAMES |= dict.fromkeys((
    "sparse_bsc_tensor", "sparse_bsr_tensor", "sparse_compressed_tensor", "sparse_coo_tensor", "sparse_csc_tensor",
    "sparse_csr_tensor", "_validate_compressed_sparse_indices", "_validate_sparse_bsc_tensor_args",
    "_validate_sparse_bsr_tensor_args",
    "_validate_sparse_compressed_tensor_args", "_validate_sparse_coo_tensor_args", "_validate_sparse_csc_tensor_args",
    "_validate_sparse_csr_tensor_args"), "_sparse.constructors")
_LAZY_NAMES |= dict.fromkeys((
    "_convert_indices_from_coo_to_csr", "_convert_indices_from_csr_to_coo", "ccol_indices_copy", "col_indices_copy",
    "crow_indices_copy", "dsmm", "hsmm", "hspmm", "indices_copy", "resize_as_sparse_", "row_indices_copy", "saddmm",
    "smm", "spmm", "sspaddmm", "values_copy"), "_sparse.functions")
_LAZY_NAMES |= dict.fromkeys((
    "SymBool", "SymFloat", "SymInt", "sym_float", "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not", "sym_sqrt",
    "sym_sum"), "_compat.symbolic")
_LAZY_NAMES |= dict.fromkeys((
    "_assert_tensor_metadata", "_check", "_check_index", "_check_is_size", "_check_not_implemented",
    "_check_tensor_all", "_check_tensor_all_with", "_check_type", "_check_value", "_check_with"), "_compat.checks")
_LAZY_NAMES |= dict.fromkeys((
    "Tag", "chalf", "complex32", "float4_e2m1fn_x2", "qint8", "qint32", "quint2x4", "quint4x2", "quint8",
    "int1", "int2", "int3", "int4", "int5", "int6", "int7", "uint1", "uint2", "uint3", "uint4", "uint5", "uint6",
    "uint7"), "_compat.absent_dtypes")
_LAZY_NAMES |= {"StorageBase": "storage", "_disable_dynamo": "compiler", "_shape_as_tensor": "_utils",
                "_fused_sdp_choice": "nn._functional_attention"}
_LAZY_NAMES |= dict.fromkeys((
    "are_deterministic_algorithms_enabled", "get_deterministic_debug_mode", "get_device_module",
    "get_float32_matmul_precision", "get_num_interop_threads", "get_num_threads",
    "is_deterministic_algorithms_warn_only_enabled", "is_warn_always_enabled", "set_deterministic_debug_mode",
    "set_float32_matmul_precision", "set_flush_denormal", "set_num_interop_threads", "set_num_threads",
    "set_warn_always", "use_deterministic_algorithms", "has_lapack", "has_mkl", "has_openmp", "has_spectral",
    "init_num_threads"), "_compat.settings")
_LAZY_NAMES |= {"FatalError": "_compat.checks", "thread_safe_generator": "random"}


def is_tensor(obj):
    """Whether `obj` is a Tensor.

    Arguments:
        obj: any object

    Example:
        >>> torch.is_tensor(torch.ones(2)), torch.is_tensor([1.0])
        (True, False)
    """
    return isinstance(obj, Tensor)


_install_finder(_PRIVATE_MODULES)
_refused = _module_getattr(__name__)


def __getattr__(name):
    if name in _LAZY or name in _PRIVATE_MODULES:
        return _import_module(f"mindtorch.{_PRIVATE_MODULES.get(name, name)}")
    if name in _LAZY_NAMES:
        return getattr(_import_module(f"mindtorch.{_LAZY_NAMES[name]}"), name)
    if name in _refusals.FUNCTIONS:
        return _torch_function.overridable(_refusals.FUNCTIONS[name])
    try:
        return _refused(name)
    except AttributeError:
        pass
    if _modules.get("torch") is _modules[__name__]:
        raise AttributeError(f"module 'torch' has no attribute '{name}': mindtorch does not have it")
    raise AttributeError(f"module 'mindtorch' has no attribute '{name}'")


# What `from torch import *` takes, as in torch: no modules.
__all__ = sorted(_name for _name in {*globals(), *_LAZY_NAMES, *_refusals.FUNCTIONS}     # noqa: PLE0605
                 if not _name.startswith("_") and not isinstance(globals().get(_name), type(_modules[__name__])))


def __dir__():
    return sorted({*globals(), *_LAZY, *_LAZY_NAMES, *_refusals.FUNCTIONS})
