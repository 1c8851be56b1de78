"""The few private names that code written for torch reaches through `torch._C`."""
from __future__ import annotations

from importlib import import_module
from sys import modules
from types import ModuleType
from typing import Any
from weakref import ref

from mindtorch import _VF as _VariableFunctions
from mindtorch import _backend
from mindtorch._compat import settings as _settings
from mindtorch._compat.absent_dtypes import Tag  # noqa: F401 - torch._C has it too
from mindtorch._core.autograd.engine import current_graph_task_id as _current_graph_task_id
from mindtorch._core.autograd.engine import current_node as _current_autograd_node
from mindtorch._core.autograd.engine import execution_order, keeps_graph
from mindtorch._core.autograd.engine import will_execute_node as _will_engine_execute_node
from mindtorch._core.autograd.node import (
    AccumulateGrad,
    SavedTensor,
    is_grad_enabled,  # noqa: F401 - torch._C has it too
)
from mindtorch._core.errors import LinAlgError as _LinAlgError  # noqa: F401 - torch._C has it too
from mindtorch._core.python.torch_function import (
    DisableTorchFunction,
    DisableTorchFunctionSubclass,
    _disabled_torch_function_impl,
)
from mindtorch._core.python.torch_function import current_modes as _function_modes
from mindtorch._core.python.torch_function import is_all_disabled as _is_torch_function_all_disabled
from mindtorch._core.python.torch_function import is_enabled as _is_torch_function_enabled
from mindtorch._core.python.torch_function import pop_mode as _pop_torch_function_stack
from mindtorch._core.python.torch_function import push_mode as _push_on_torch_function_stack
from mindtorch._core.tensor.attributes import StorageBase  # noqa: F401 - torch._C has it too
from mindtorch._core.tensor.dtype import dtype  # noqa: F401 - torch._C has it too
from mindtorch._core.tensor.generator import Generator  # noqa: F401 - torch._C has it too
from mindtorch._core.tensor.tensor import Size, TensorBase
from mindtorch._core.tensor.tensor import TensorBase as _TensorBase
from mindtorch._core.tensor.tensor import device as _device
from mindtorch._core.tensor.tensor import get_default_device as _default_device
from mindtorch._core.tensor.torch_dispatch import DisableTorchDispatch as _DisableTorchDispatch
from mindtorch._core.tensor.torch_dispatch import _disabled_torch_dispatch_impl
from mindtorch._core.tensor.torch_dispatch import current_modes as _dispatch_modes
from mindtorch._core.tensor.torch_dispatch import pop_mode as _pop_torch_dispatch_stack
from mindtorch._core.tensor.torch_dispatch import push_mode as _push_on_torch_dispatch_stack
from mindtorch._core.tensor.views import set_bits_of as _set_bits_of
from mindtorch._library import registry as _registry
from mindtorch._library.keys import parse_key as _parse_key
from mindtorch._library.schema import infer_type as _jit_try_infer_type
from mindtorch._submodules import module_getattr
from mindtorch.autograd.forward_ad import _is_fwd_grad_enabled
from mindtorch.autograd.forward_ad import _switch_fwd_grad as _set_fwd_grad_enabled
from mindtorch.autograd.function import DelayedError, UndefinedGrad
from mindtorch.autograd.grad_mode import is_multithreading_enabled

_get_deterministic_fill_uninitialized_memory = _settings.get_fill_uninitialized_memory
_set_deterministic_fill_uninitialized_memory = _settings.set_fill_uninitialized_memory
__path__ = []       # modules below it come from the table of refusals

__all__ = ["DisableTorchFunction", "DisableTorchFunctionSubclass", "Size", "TensorBase", "_DisableTorchDispatch",
           "_TensorBase", "_TensorMeta", "_VariableFunctions", "_WeakTensorRef", "_current_autograd_node",
           "_current_graph_task_execution_order", "_current_graph_task_id", "_disabled_torch_dispatch_impl",
           "_disabled_torch_function_impl", "_is_fwd_grad_enabled", "_is_torch_function_all_disabled",
           "_is_torch_function_enabled", "_jit_try_infer_type",
           "_nn", "_pop_torch_dispatch_stack", "_pop_torch_function_stack",
           "_push_on_torch_dispatch_stack", "_push_on_torch_function_stack", "_set_fwd_grad_enabled",
           "_will_engine_execute_node"]

_TensorMeta = type(TensorBase)          # the class that torch gives its Tensor


def _len_torch_function_stack():
    """The number of active modes."""
    return len(_function_modes())


def _is_torch_function_mode_enabled():
    """Whether a mode is active."""
    return bool(_function_modes())


def _len_torch_dispatch_stack():
    """The number of active modes of __torch_dispatch__."""
    return len(_dispatch_modes())


def _get_dispatch_stack_at(place):
    """The mode of __torch_dispatch__ at a place of the stack, 0 being the outermost."""
    return _dispatch_modes()[place]


def _set_conj(tensor, on):
    """Have a tensor show the conjugates of what its memory holds, or what it holds."""
    _set_bits_of(tensor, conjugated=on)


def _set_neg(tensor, on):
    """Have a tensor show the negatives of what its memory holds, or what it holds."""
    _set_bits_of(tensor, negated=on)


def _dispatch_has_kernel_for_dispatch_key(name, key):
    """Whether a kernel of the operator "ns::name.overload" is registered for exactly that key."""
    return _registry.find(name).kernel(_parse_key(key)) is not None


def _npu_aclnn_available():
    """Whether the toolkit in use can run operators."""
    return _backend.npu_available()


def _npu_aclnn_symbols_ok():
    """Whether the toolkit in use has every operator that mindtorch calls."""
    return not _backend.missing_operators()


def _storage_address(tensor):
    """A number that is equal for tensors of one storage and differs for tensors of different storages."""
    return tensor.untyped_storage()._cdata


_storage_id = _storage_address


def _get_default_device():
    return _default_device().type


def _get_accelerator(check=None):
    """The device type of the accelerator: "npu"."""
    return _device("npu")


def _is_alias_of(first, second):
    """Whether two tensors share a storage."""
    return _storage_address(first) == _storage_address(second)


def _storage_Use_Count(cdata):
    """Refused: storages do not count their users."""
    raise NotImplementedError("torch._C._storage_Use_Count: mindtorch does not count the users of a storage.")


def _jit_set_profiling_executor(on=False):
    """False: there is no TorchScript to set anything for."""
    return False


_jit_set_profiling_mode = _jit_set_texpr_fuser_enabled = _jit_set_nvfuser_enabled = _jit_set_profiling_executor
_jit_override_can_fuse_on_cpu = _jit_override_can_fuse_on_gpu = _jit_set_profiling_executor
_jit_set_nvfuser_guard_mode = _jit_set_profiling_executor
_jit_can_fuse_on_cpu = _jit_can_fuse_on_gpu = _is_tracing = _get_cudnn_enabled = lambda: False
_has_cuda, _has_xpu, _GLIBCXX_USE_CXX11_ABI = False, False, True


def _get_graph_executor_optimize(optimize=True):
    """True: whether TorchScript optimizes its graphs, of which there are none."""
    return True


_emit_hooks = None, None


def _jit_set_emit_hooks(of_modules, of_functions):
    """Keeps what a TorchScript compiler would call for each module and function. Nothing is compiled here."""
    global _emit_hooks
    _emit_hooks = of_modules, of_functions


def _jit_get_emit_hooks():
    """The two hooks."""
    return _emit_hooks


def _jit_clear_class_registry():
    """Forgets the classes that TorchScript has compiled, of which there are none."""


def _log_api_usage_once(event):
    """Does nothing: there are no usage observers."""


def _get_privateuse1_backend_name():
    """ "npu": torch_npu's name for the device type PrivateUse1."""
    return "npu"


def _get_tracing_state():
    """None: nothing is ever traced."""


def _are_functorch_transforms_active():
    """False: torch.func does not wrap tensors."""
    return False


def _current_graph_task_execution_order():
    """The nodes of the running backward, in the order in which they run."""
    if is_multithreading_enabled():
        raise RuntimeError("_current_graph_task_execution_order expects the current backward to be executed with "
                           "multithreading disabled, e.g. by running: with torch.autograd.set_multithreading_enabled("
                           "False): ...")
    return execution_order()


class _WeakTensorRef:
    """A weak reference to a tensor."""

    def __init__(self, tensor):
        self._reference = ref(tensor)

    def expired(self):
        """Whether the tensor is gone."""
        return self._reference() is None


def _nn_function(name):
    aten = import_module("mindtorch").ops.aten      # its operators take 3 for the int[2] of an image
    found = None if name.startswith("__") else getattr(aten, name, None) or getattr(
        import_module("mindtorch.nn.functional"), name, None)
    if found is None:
        raise AttributeError(f"module 'torch._C._nn' has no attribute '{name}'")
    return found


def _parse_to(*args, **kwargs):
    """(device, dtype, non_blocking, memory_format) that a call of Module.to with these arguments means."""
    return import_module("mindtorch.nn.modules.module")._parse_to(args, kwargs)


def _saved_tensors_hooks_is_enabled():
    """Whether hooks of saved tensors may be set."""
    return import_module("mindtorch.autograd.graph").saved_tensors_hooks_is_enabled()


def _native_functions(name, public, prefix):
    """torch._C._linalg and its like: the functions of a public module, under the names of their operators."""
    def find(attribute):
        if attribute.startswith(prefix) and not attribute.startswith("__"):
            found = getattr(import_module(public), attribute.removeprefix(prefix), None)
            if found is not None:
                return found
        raise AttributeError(f"module 'torch._C.{name}' has no attribute '{attribute}'")
    made = ModuleType(f"mindtorch._C.{name}")
    made.__getattr__ = find
    return made


_fft = _native_functions("_fft", "mindtorch.fft", "fft_")
_linalg = _native_functions("_linalg", "mindtorch.linalg", "linalg_")
_special = _native_functions("_special", "mindtorch.special", "special_")
_nn = ModuleType("mindtorch._C._nn")
_nn.__getattr__, _nn._parse_to = _nn_function, _parse_to
_functions = ModuleType("mindtorch._C._functions")
vars(_functions).update(AccumulateGrad=AccumulateGrad, DelayedError=DelayedError, UndefinedGrad=UndefinedGrad)
_autograd = ModuleType("mindtorch._C._autograd")
_autograd.SavedTensor, _autograd._get_current_graph_task_keep_graph = SavedTensor, keeps_graph
_autograd._saved_tensors_hooks_is_enabled = _saved_tensors_hooks_is_enabled
_autograd.__getattr__ = module_getattr(_autograd.__name__)
modules.update({module.__name__: module for module in (_autograd, _fft, _functions, _linalg, _nn, _special)})


def __getattr__(name: str) -> Any:
    """Names that stand elsewhere, imported lazily."""
    if name == "_distributed_c10d":
        return import_module("mindtorch.distributed._c10d")
    if name in _OF_TORCH:
        return getattr(import_module("mindtorch"), name)
    if name not in _ELSEWHERE:
        return _refused(name)
    module, _, attribute = _ELSEWHERE[name].rpartition(".")
    return getattr(import_module(f"mindtorch.{module}" if module else "mindtorch"), attribute)


_refused = module_getattr(__name__)
# torch copies them from torch._C.
_OF_TORCH = frozenset([
    "AcceleratorError", "Event", "FatalError", "Future", "OutOfMemoryError", "PyTorchFileReader", "Stream",
    "autocast_decrement_nesting", "autocast_increment_nesting", "clear_autocast_cache", "default_generator",
    "device", "finfo", "get_autocast_cpu_dtype", "get_autocast_dtype", "get_autocast_gpu_dtype",
    "get_default_dtype", "get_num_interop_threads", "get_num_threads", "has_lapack", "has_mkl", "has_openmp",
    "has_spectral", "iinfo", "init_num_threads", "is_anomaly_check_nan_enabled", "is_anomaly_enabled",
    "is_autocast_cache_enabled", "is_autocast_cpu_enabled", "is_autocast_enabled", "is_inference_mode_enabled",
    "layout", "memory_format", "qscheme", "set_anomaly_enabled", "set_autocast_cache_enabled",
    "set_autocast_cpu_dtype", "set_autocast_cpu_enabled", "set_autocast_dtype", "set_autocast_enabled",
    "set_autocast_gpu_dtype", "set_flush_denormal", "set_num_interop_threads", "set_num_threads"])
_ELSEWHERE = {
    "Argument": "_library.schema.Argument", "FunctionSchema": "_library.schema.FunctionSchema",
    "parse_schema": "_library.schema.parse_schema",
    "DispatchKey": "_library.keys.DispatchKey", "DispatchKeySet": "_library.keys.DispatchKeySet",
    "_AutoDispatchBelowAutograd": "_library.keys.AutoDispatchBelowAutograd",
    "_ExcludeDispatchKeyGuard": "_library.keys.ExcludeDispatchKeyGuard",
    "_dispatch_tls_local_exclude_set": "_library.keys.dispatch_tls_local_exclude_set",
    "_DistBackendError": "distributed._stores.DistBackendError", "_DistError": "distributed._stores.DistError",
    "_DistNetworkError": "distributed._stores.DistNetworkError",
    "_DistStoreError": "distributed._stores.DistStoreError",
    "_SDPBackend": "nn.attention.SDPBackend",
    "_debug_only_are_vmap_fallback_warnings_enabled": "func._batching_rules.are_loops_warned_of",
    "_debug_only_display_vmap_fallback_warnings": "func._batching_rules.warn_of_loops",
    "_get_cpu_capability": "backends.cpu.get_cpu_capability",
    "_get_cudnn_sdp_enabled": "backends.cuda.cudnn_sdp_enabled",
    "_get_deterministic_algorithms": "are_deterministic_algorithms_enabled",
    "_get_deterministic_algorithms_warn_only": "is_deterministic_algorithms_warn_only_enabled",
    "_get_flash_sdp_enabled": "backends.cuda.flash_sdp_enabled",
    "_get_float32_matmul_precision": "get_float32_matmul_precision",
    "_get_math_sdp_enabled": "backends.cuda.math_sdp_enabled",
    "_get_mem_efficient_sdp_enabled": "backends.cuda.mem_efficient_sdp_enabled",
    "_get_warnAlways": "is_warn_always_enabled",
    "_has_torch_function": "overrides.has_torch_function",
    "_infer_size": "functional.broadcast_shapes",
    "_is_autocast_available": "amp.autocast_mode.is_autocast_available",
    "_set_float32_matmul_precision": "set_float32_matmul_precision",
    "_set_warnAlways": "set_warn_always"}
