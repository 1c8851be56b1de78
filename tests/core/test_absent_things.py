"""What torch says of devices and tools that it was built without, and mindtorch has not: beside torch 2.13."""
import importlib
import pickle

import pytest
import torch
import torch._dynamo
import torch._subclasses.fake_tensor
import torch.ao.quantization
import torch.fx.experimental.proxy_tensor
import torch.jit.annotations
import torch.onnx
import torch.utils.model_zoo
from oracle import check, expressions, outcome

import mindtorch
import mindtorch._subclasses.fake_tensor
import mindtorch.ao.quantization
import mindtorch.fx.experimental.proxy_tensor
import mindtorch.jit.annotations

CUDA = """
torch.cuda.CUDAGraph() | torch.cuda.Event(enable_timing=True) | torch.cuda.Stream(device="cuda:0")
torch.cuda.MemPool()
torch.cuda.stream(None).__enter__() | torch.cuda.StreamContext(None).__exit__(None, None, None) | torch.cuda.graph(3)
isinstance(torch.cuda.graph(None, stream=3), torch.cuda.graph) | torch.cuda.graph(None, stream=3).__enter__()
torch.cuda.graph_pool_handle() | torch.cuda.is_current_stream_capturing() | torch.cuda.get_gencode_flags()
torch.cuda.make_graphed_callables(abs, (a,)) | torch.cuda.set_rng_state_all([]) | torch.cuda.set_rng_state(a)
torch.cuda.memory_stats_as_nested_dict() | torch.cuda.host_memory_stats()
torch.cuda.host_memory_stats_as_nested_dict()
torch.cuda.device_of(a).idx | torch.cuda.device_of(a).__enter__() | torch.cuda.current_solver_handle()
torch.cuda._initialized | torch.cuda._lazy_init()
torch.cuda.FloatTensor(2) | isinstance(a, torch.cuda.FloatTensor) | torch.cuda.ByteTensor() | torch.cuda._is_compiled()
torch.cuda.nvtx.range_push("a") | torch.cuda.nvtx.range_pop() | torch.cuda.nvtx.range("a").__enter__()
torch.cuda.nvtx.mark("a") | torch.cuda.random.get_rng_state_all() | torch.cuda.random.initial_seed()
torch.cuda.memory.memory_stats() | torch.cuda.memory.MemPool() | torch.cuda.graphs.CUDAGraph is torch.cuda.CUDAGraph
torch.cuda.streams.Stream is torch.cuda.Stream
torch.autograd.profiler.emit_nvtx().__enter__() | torch.autograd.profiler.emit_nvtx(False).__enter__()
torch.autograd.profiler.emit_nvtx(enabled=False).__exit__(None, None, None)
"""
XPU = """
torch.xpu.is_available() | torch.xpu.device_count() | torch.xpu.is_initialized() | torch.xpu.is_bf16_supported()
torch.xpu.current_device() | torch.xpu.current_stream() | torch.xpu.synchronize() | torch.xpu.empty_cache()
torch.xpu.get_device_name() | torch.xpu.get_device_capability() | torch.xpu.get_device_properties(0) | torch.xpu.init()
torch.xpu.mem_get_info() | torch.xpu.memory_allocated() | torch.xpu.max_memory_reserved() | torch.xpu.memory_stats()
torch.xpu.manual_seed(1) | torch.xpu.manual_seed_all(1) | torch.xpu.get_rng_state() | torch.xpu.set_rng_state(a)
torch.xpu.get_rng_state_all() | torch.xpu.set_rng_state_all([]) | torch.xpu.random.get_rng_state_all()
torch.xpu.initial_seed() | torch.xpu.set_device(0) | torch.xpu.Stream() | torch.xpu.Event() | torch.xpu.XPUGraph()
torch.xpu.MemPool() | torch.xpu.stream(None).__enter__() | torch.xpu.device(0).__enter__() | torch.xpu.device(-1).idx
torch.xpu.device_of(a).__enter__() | torch.xpu.graph_pool_handle() | torch.xpu.is_current_stream_capturing()
torch.xpu.default_generators | torch.xpu.get_arch_list() | torch.xpu.get_gencode_flags() | torch.xpu.memory_snapshot()
torch.xpu.can_device_access_peer(0, 1) | torch.xpu.get_stream_from_external(3) | torch.xpu._is_compiled()
torch.xpu.set_per_process_memory_fraction(0.5) | torch.xpu.get_per_process_memory_fraction()
"""
DEVICES = """
torch.device("xla") | torch.device("xla:1") | torch.device("hpu", 0).type | torch.device("mtia") == torch.device("mtia")
torch.device("vulkan") | torch.device("ve") | torch.device("cpu", None) | torch.device(type="ipu", index=None)
torch.device("cpu:0", None) | torch.device("ve1") | torch.get_device_module("xla") | torch.get_device_module("meta")
"""
MPS = """
torch.mps.is_available() | torch.mps.device_count() | torch.mps.manual_seed(1) | torch.mps.seed()
torch.mps.synchronize()
torch.mps.empty_cache() | torch.mps.get_rng_state() | torch.mps.set_rng_state(a) | torch.mps.recommended_max_memory()
torch.mps.set_per_process_memory_fraction(0.5) | torch.mps.current_allocated_memory() | torch.mps.compile_shader("a")
torch.mps.driver_allocated_memory()
"""
MTIA = """
torch.mtia.is_available() | torch.mtia.device_count() | torch.mtia.is_initialized() | torch.mtia.init()
torch.mtia.synchronize() | torch.mtia.current_device() | torch.mtia.current_stream() | torch.mtia.default_stream()
torch.mtia.memory_stats() | torch.mtia.memory_allocated() | torch.mtia.max_memory_allocated() | torch.mtia.snapshot()
torch.mtia.get_device_capability() | torch.mtia.get_device_properties() | torch.mtia.empty_cache()
torch.mtia.set_device(0) | torch.mtia.stream(None) | torch.mtia.set_rng_state(a) | torch.mtia.get_rng_state()
torch.mtia.set_rng_state_all([]) | torch.mtia.get_rng_state_all() | torch.mtia.manual_seed(0) | torch.mtia.seed()
torch.mtia.manual_seed_all(0) | torch.mtia.seed_all() | torch.mtia.initial_seed() | torch.mtia.is_bf16_supported()
torch.mtia.graph_pool_handle() | torch.mtia.record_memory_history() | torch.mtia.reset_peak_memory_stats()
torch.mtia.attach_out_of_memory_observer(print)
"""
TOOLS = """
torch._dynamo.allow_in_graph(f) is f | torch._dynamo.assume_constant_result(f) is f | torch._dynamo.is_compiling()
torch._dynamo.forbid_in_graph(f) is f | torch._dynamo.graph_break()
torch._dynamo.disable(abs)(-3) | torch._dynamo.mark_static_address(a) | torch._dynamo.mark_static_address(3)
torch._dynamo.reset() | isinstance(torch.nn.ReLU(), torch._dynamo.OptimizedModule)
torch._dynamo.eval_frame.OptimizedModule is torch._dynamo.OptimizedModule
isinstance(torch.nn.ReLU(), torch.jit.ScriptModule) | isinstance(f, torch.jit.ScriptFunction)
isinstance(torch.jit.ScriptModule(), torch.nn.Module) | torch.jit.ScriptFunction()
torch.autograd.forward_ad.unpack_dual(a).tangent | torch.autograd.forward_ad.unpack_dual(a).primal is a
issubclass(torch.jit.TracerWarning, Warning)
isinstance(a, torch.TensorType) | isinstance(torch.nn.ReLU(), torch.nn.parallel.DistributedDataParallel)
torch._subclasses.fake_tensor.is_fake(a) | torch.fx.experimental.proxy_tensor.get_proxy_mode()
torch._assert_async(a[0] == a[0]) | torch._assert_async(a[0] != a[0]) | torch._assert_async(a[0] != a[0], "no")
torch._assert_async(3) | torch._assert_async(a[0], 3) | torch._assert_async(a) | torch._assert_async(a[:0])
torch.jit._script_if_tracing(f)(-3) | torch.jit.annotations.BroadcastingList2[int]
torch.onnx.is_in_onnx_export() | torch.onnx.register_custom_op_symbolic("x", len, 11)
torch.onnx.register_custom_op_symbolic("a::b", len, 11) | torch.onnx.unregister_custom_op_symbolic("a::b", 11)
torch.onnx.register_custom_op_symbolic("3::b", len, 11) | torch.onnx.register_custom_op_symbolic("a::3", len, 11)
torch.onnx.symbolic_helper.parse_args("v", "i")(lambda g, x, i: i)._arg_descriptors
torch.ao.quantization.QuantStub() | torch.ao.quantization.DeQuantStub()(a) | torch.ao.quantization.QuantStub(3).qconfig
torch._C._nn._parse_to("cpu") | torch._C._nn._parse_to(torch.float16) | torch._C._nn._parse_to("cpu", torch.half, True)
torch._C._nn._parse_to(torch.ones(1)) | torch._C._nn._parse_to() | torch._C._nn._parse_to("cpu", copy=True)
torch._C._nn._parse_to(device="cpu", dtype=torch.double, memory_format=torch.channels_last)
torch._C._nn._parse_to(non_blocking=True) | torch._C._nn._parse_to(None) | torch._C._nn._parse_to(device=None)
torch._C._nn.avg_pool2d(torch.ones(1, 4, 4), 2) | torch._C._nn.avg_pool3d(torch.ones(1, 4, 4, 4), (2, 2, 2), (1, 1, 1))
torch._C._nn.max_pool2d_with_indices(torch.ones(1, 4, 4), (2, 2))[0] | torch._C._nn.hardtanh(a)
torch._C._nn.no_such_thing | isinstance(a.untyped_storage(), torch._C.StorageBase)
torch._C._autograd._saved_tensors_hooks_is_enabled() | torch.device("not a real device") | torch.device("foo-bar")
torch._C._log_api_usage_once("a") | torch._C._get_tracing_state() | torch._C._are_functorch_transforms_active()
torch.torch is torch | torch.hub.HASH_REGEX | torch.hub._get_torch_home()
"""
LAYOUTS = """
[torch.sparse_coo, torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc, torch.jagged, torch._mkldnn]
a.layout == torch.sparse_coo | a.layout is torch.strided | torch.sparse_csr in {torch.sparse_csr: 1} | a.is_sparse_csr
isinstance(torch.sparse_coo, torch.layout) | torch.ones(2, layout=3) | torch.zeros(2, layout=torch.strided)
torch.signal.windows.hann(3, layout=torch.sparse_coo) | copy.copy(torch.sparse_coo) is torch.sparse_coo
"""
# They make tensors that are not strided with torch; here they are refused.
REFUSED = """
torch.zeros(2, layout=torch.jagged) | torch.ones(2, layout=torch.sparse_csr)
torch.full((2,), 1., layout=torch.sparse_coo) | torch.zeros_like(a, layout=torch.sparse_coo)
a.new_zeros(2, layout=torch.jagged) | torch.empty(2, layout=torch._mkldnn)
torch.arange(2, layout=torch.sparse_coo) | torch.rand(2, layout=torch.sparse_coo)
torch.rand_like(a, layout=torch.sparse_coo)
torch.randint(3, (2,), layout=torch.sparse_coo) | torch.randperm(3, layout=torch.sparse_coo)
torch.tril_indices(2, 2, layout=torch.sparse_coo)
torch.linspace(0, 1, 3, layout=torch.sparse_coo) | torch.logspace(0, 1, 3, layout=torch.sparse_coo)
"""


@pytest.mark.parametrize("expression", [*expressions(CUDA), *expressions(XPU), *expressions(DEVICES), *expressions(MPS),
                                        *expressions(MTIA), *expressions(TOOLS), *expressions(LAYOUTS)])
def test_as_torch(expression):
    check(f"(lambda f: {expression})(lambda x: -x)" if "(f)" in expression else expression)


@pytest.mark.parametrize("expression", expressions(REFUSED))
def test_other_layouts_are_refused(expression, device):
    kind, error, words = outcome(mindtorch, expression, device)
    assert (kind, error) == ("error", "NotImplementedError")
    assert "mindtorch has strided tensors only" in words


def test_layouts_can_be_pickled():
    assert pickle.loads(pickle.dumps(mindtorch.sparse_bsc)) is mindtorch.sparse_bsc


def test_interfaces_stay_as_they_are():
    assert mindtorch.jit.interface(int) is int
    with pytest.raises(RuntimeError, match="interface must be applied to a class"):
        mindtorch.jit.interface(3)


def test_the_downloads_folder_of_the_environment(monkeypatch):
    for name, value in (("XDG_CACHE_HOME", "/cache"), ("TORCH_HOME", "~/there")):
        monkeypatch.setenv(name, value)
        assert mindtorch.hub._get_torch_home() == torch.hub._get_torch_home()


@pytest.mark.parametrize("lib", [mindtorch, torch])
def test_ranges_for_cuda_are_entered_once(lib):
    ranges = lib.autograd.profiler.emit_nvtx(record_shapes=True)
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"), ranges:
        pass
    with pytest.raises(RuntimeError, match="NVTX annotation context manager is not reentrant"), ranges:
        pass


def test_second_names():
    assert set(mindtorch.functional.__all__) == set(torch.functional.__all__)
    assert all(getattr(mindtorch.functional, name) is getattr(mindtorch, name) for name in torch.functional.__all__)
    assert mindtorch.Future is mindtorch.futures.Future
    assert issubclass(mindtorch.ScriptModule, mindtorch.nn.Module)
    assert not isinstance(mindtorch.relu, mindtorch.ScriptMethod)
    assert mindtorch.ScriptFunction is mindtorch.jit.ScriptFunction


def test_modules_of_the_C_library_are_imported_as_they_are():
    assert importlib.import_module("mindtorch._C._autograd") is mindtorch._C._autograd
    assert mindtorch._C._autograd.SavedTensor.__name__ == "SavedTensor"
