"""Settings of the process and the modules of devices and libraries that are not there, beside torch 2.13."""
import pytest
import threadpoolctl
import torch as real_torch
from oracle import check, expressions

import mindtorch as torch


@pytest.fixture(autouse=True)
def _flags_can_be_set(monkeypatch):
    """torch's own test helpers, which other tests import, forbid that for the process."""
    from torch import backends
    monkeypatch.setitem(backends.flags_frozen.__globals__, "__allow_nonbracketed_mutation_flag", True)


# Sequences: what is set is set back.
SEQUENCES = [
    ["torch.use_deterministic_algorithms(True)", "torch.get_deterministic_debug_mode()",
     "torch.use_deterministic_algorithms(False)"],
    ["torch.set_deterministic_debug_mode('warn')", "torch.are_deterministic_algorithms_enabled()",
     "torch.is_deterministic_algorithms_warn_only_enabled()", "torch.set_deterministic_debug_mode(0)"],
    ["torch.set_deterministic_debug_mode(2)", "torch.get_deterministic_debug_mode()",
     "torch.set_deterministic_debug_mode('default')"],
    ["torch.set_float32_matmul_precision('high')", "torch.get_float32_matmul_precision()",
     "torch.backends.cuda.matmul.allow_tf32", "torch.set_float32_matmul_precision('highest')"],
    ["setattr(torch.backends.cuda.matmul, 'allow_tf32', True)", "torch.get_float32_matmul_precision()",
     "setattr(torch.backends.cuda.matmul, 'allow_tf32', False)", "torch.get_float32_matmul_precision()"],
    ["setattr(torch.backends.cudnn, 'benchmark', True)", "torch.backends.cudnn.benchmark",
     "torch.backends.cudnn.set_flags(_benchmark=False)[:5]", "torch.backends.cudnn.benchmark"],
    ["torch.backends.cuda.enable_flash_sdp(False)", "torch.backends.cuda.flash_sdp_enabled()",
     "torch.backends.cuda.enable_flash_sdp(True)"],
]

SETTINGS = """
torch.set_num_threads(0) | torch.set_num_threads(-1) | torch.set_num_threads(1.5) | torch.set_num_threads('a')
torch.set_num_threads(True) | torch.set_num_interop_threads(0) | torch.set_num_interop_threads(1.5)
torch.get_float32_matmul_precision() | torch.set_flush_denormal(3) | torch.set_warn_always(3)
torch.are_deterministic_algorithms_enabled() | torch.is_deterministic_algorithms_warn_only_enabled()
torch.get_deterministic_debug_mode() | torch.use_deterministic_algorithms(3) | torch.use_deterministic_algorithms(None)
torch.use_deterministic_algorithms(True, warn_only=1) | torch.set_deterministic_debug_mode('x')
torch.set_deterministic_debug_mode(5) | torch.set_deterministic_debug_mode(1.5)
torch.get_device_module('cpu').__name__[-4:] | torch.get_device_module().__name__[-4:] | torch.cpu.device_count()
torch.cpu.is_available() | torch.cpu.current_device() | torch.cpu.synchronize() | torch.cpu.is_initialized()
torch.cpu.set_device('cpu') | torch.cpu.stream(None).__enter__()
"""

BACKENDS = """
torch.backends.cudnn.is_available() | torch.backends.cudnn.version() | torch.backends.cudnn.enabled
torch.backends.cudnn.benchmark | torch.backends.cudnn.deterministic | torch.backends.cudnn.allow_tf32
torch.backends.cudnn.benchmark_limit | torch.backends.cudnn.is_acceptable(a) | torch.backends.cudnn.fp32_precision
setattr(torch.backends.cudnn, 'benchmark', 3) | torch.backends.cuda.is_built() | torch.backends.cuda.matmul.foo
torch.backends.cuda.matmul.allow_tf32 | torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction
torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction | setattr(torch.backends.cuda.matmul, 'foo', 1)
torch.backends.cuda.matmul.allow_fp16_accumulation
torch.backends.cuda.flash_sdp_enabled() | torch.backends.cuda.mem_efficient_sdp_enabled()
torch.backends.cuda.math_sdp_enabled() | torch.backends.cuda.cudnn_sdp_enabled()
torch.backends.mps.is_available() | torch.backends.mps.is_built() | torch.backends.mkldnn.enabled
torch.backends.mkldnn.deterministic | torch.backends.mkldnn.allow_tf32 | torch.backends.opt_einsum.enabled
torch.backends.opt_einsum.strategy | torch.backends.opt_einsum.is_available()
torch.backends.mha.get_fastpath_enabled() | torch.backends.mkldnn.is_acl_available()
torch.backends.miopen.immediate | torch.backends.miopen.set_flags(False)
"""

CUDA = """
torch.cuda.is_available() | torch.cuda.device_count() | torch.cuda.is_initialized() | torch.cuda.current_device()
torch.cuda.get_device_name() | torch.cuda.get_device_name(0) | torch.cuda.get_device_capability()
torch.cuda.get_device_properties(0) | torch.cuda.synchronize() | torch.cuda.empty_cache() | torch.cuda.manual_seed(1)
torch.cuda.manual_seed_all(1) | torch.cuda.memory_allocated() | torch.cuda.max_memory_allocated()
torch.cuda.memory_reserved() | torch.cuda.max_memory_reserved() | torch.cuda.mem_get_info() | torch.cuda.init()
torch.cuda.memory_stats() | torch.cuda.is_bf16_supported() | torch.cuda.get_arch_list() | torch.cuda.current_stream()
torch.cuda.get_rng_state() | torch.cuda.get_rng_state_all() | torch.cuda.is_tf32_supported() | torch.cuda.cudart()
torch.cuda.device(0).__enter__() | torch.cuda.device(-1).__enter__() | torch.cuda.default_stream()
torch.cuda.OutOfMemoryError is torch.OutOfMemoryError | torch.cuda.initial_seed() | torch.cuda.ipc_collect()
torch.version.cuda | torch.version.hip | torch.version.debug | torch.distributed.is_initialized()
"""

OLD_AND_NEW = """
torch.autograd.Variable(a, requires_grad=True).requires_grad | torch.autograd.Variable(a) | torch.autograd.Variable(3)
torch.autograd.Variable([1]) | isinstance(a, torch.autograd.Variable) | isinstance(3, torch.autograd.Variable)
torch.autograd.Variable(a, volatile=True) | torch.autograd.Variable() | torch.autograd.Variable(i, True)
torch.autograd.Variable((a * 1).requires_grad_()).requires_grad | torch.autograd.Variable(data=a).grad_fn
list(torch.nn.attention.SDPBackend.__members__.items()) | torch.nn.attention.SDPBackend(1)
torch._assert(False, 'x') | torch._assert(a.sum() > 0, 'x') | torch.nn.common_types._size_2_t
torch.nn.common_types._ratio_any_t | torch.nn.common_types._size_2_opt_t
"""


@pytest.mark.parametrize("expression", [*expressions(OLD_AND_NEW), *expressions(SETTINGS), *expressions(BACKENDS),
                                        *expressions(CUDA)])
def test_as_torch(expression):
    check(expression)


@pytest.mark.parametrize("steps", SEQUENCES, ids=lambda steps: steps[0])
def test_steps_as_torch(steps):
    check(f"[{', '.join(steps)}]")


def test_threads():
    """The number is the BLAS library's own."""
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        assert torch.get_num_threads() == 2
        blas = [info for info in threadpoolctl.threadpool_info() if "numpy" in info["filepath"]]
        assert [info["num_threads"] for info in blas] == [2] * len(blas)
    finally:
        torch.set_num_threads(before)


def test_threads_of_a_blas_that_cannot_be_told(monkeypatch):
    from mindtorch._cpu import threads
    monkeypatch.setattr(threads, "_functions", lambda: None)
    assert torch.get_num_threads() == 1
    with pytest.warns(UserWarning, match="set_num_threads has no effect"):
        torch.set_num_threads(2)


def test_switches_for_a_block():
    cudnn, cuda = torch.backends.cudnn, torch.backends.cuda
    with cudnn.flags(enabled=False, deterministic=True), cuda.sdp_kernel(enable_math=False):
        assert (cudnn.enabled, cudnn.benchmark, cudnn.deterministic, cudnn.benchmark_limit) == (False, False, True, 10)
        assert (cuda.flash_sdp_enabled(), cuda.math_sdp_enabled()) == (True, False)
    assert (cudnn.enabled, cudnn.deterministic, cudnn.benchmark_limit) == (True, False, None)
    assert cuda.math_sdp_enabled()
    with torch.backends.mkldnn.flags(enabled=False), torch.backends.opt_einsum.flags(strategy="greedy"):
        assert (torch.backends.mkldnn.enabled, torch.backends.opt_einsum.strategy) == (False, "greedy")
    assert (torch.backends.mkldnn.enabled, torch.backends.opt_einsum.strategy) == (True, None)


FROZEN = ["torch.backends.flags_frozen()", "torch.backends.disable_global_flags()", "torch.backends.flags_frozen()",
          "setattr(torch.backends.cudnn, 'benchmark', True)", "setattr(torch.backends.mkldnn, 'enabled', 3)",
          "setattr(torch.backends.miopen, 'immediate', True)", "setattr(torch.backends, 'fp32_precision', 'ieee')",
          "torch.backends.miopen.set_flags(True)", "torch.backends.miopen.immediate",
          "torch.backends.miopen.set_flags(False)"]


@pytest.mark.parametrize("lib", [torch, real_torch])
def test_switches_can_be_frozen(lib, monkeypatch):
    """MONAI asks whether they are before it sets them."""
    from mindtorch.backends import _switches
    monkeypatch.setattr(_switches, "_frozen", False)
    told = []
    for expression in FROZEN:
        try:
            told.append(eval(expression, {"torch": lib}))
        except RuntimeError as error:
            told.append(str(error))
    refused = ("not allowed to set torch.backends{} flags after disable_global_flags; please use flags() context "
               "manager instead").format
    assert told == [False, None, True, *map(refused, (".cudnn", ".mkldnn", ".miopen", "")), (False,), True, (True,)]
    with lib.backends.flags(fp32_precision="ieee"), lib.backends.miopen.flags(immediate=True):
        assert (lib.backends.fp32_precision, lib.backends.miopen.immediate) == ("ieee", True)
        assert lib.backends.flags_frozen()
    assert (lib.backends.fp32_precision, lib.backends.miopen.immediate) == ("none", False)


def test_sdpa_kernel():
    cuda, attention = torch.backends.cuda, torch.nn.attention
    with attention.sdpa_kernel([attention.SDPBackend.MATH, attention.SDPBackend.FLASH_ATTENTION]):
        assert [cuda.math_sdp_enabled(), cuda.flash_sdp_enabled(), cuda.cudnn_sdp_enabled()] == [True, True, False]
    assert cuda.cudnn_sdp_enabled()


def test_config_tells_versions():
    shown = torch.__config__.show()
    assert torch.__version__ in shown
    assert "NumPy" in shown
    assert str(torch.get_num_threads()) in torch.__config__.parallel_info()


def test_compile_says_so_once(recwarn, monkeypatch):
    monkeypatch.setattr(torch.compiler, "_said", False)
    with pytest.warns(UserWarning, match="mindtorch has no compiler"):
        @torch.compile(mode="reduce-overhead")
        def double(x):
            return 2 * x
    model = torch.nn.Linear(1, 1)
    assert torch.compile(model, disable=True) is torch.compile(disable=True)(model) is model
    assert torch.compile(model, fullgraph=True)._orig_mod is model
    model.compile()
    assert double(2) == 4
    assert torch.compiler.disable(double) is torch.compiler.disable()(double) is double
    assert not torch.compiler.is_compiling()
    assert not recwarn.list


@pytest.mark.parametrize(("call", "kind", "text"), [
    (lambda: torch.compile(3), AssertionError, "A callable function is expected, but <class 'int'> is provided."),
    (lambda: torch.compile(abs, mode="x"), RuntimeError, "Unrecognized mode=x, should be one of: default, lite"),
    (lambda: torch.compile(abs, mode="default", options={}), RuntimeError, "Either mode or options can be specified"),
])
def test_compile_refuses(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_script_says_so_once(recwarn, monkeypatch):
    def function(x):
        return x + 1
    monkeypatch.setattr("mindtorch.jit._said", False)
    module = torch.nn.Linear(1, 1)
    assert torch.jit.script(function) is function
    assert torch.jit.script(module) is module
    assert [str(each.message) for each in recwarn] == [
        "mindtorch has no TorchScript: torch.jit.script returns what it is given, unchanged."]


def test_jit_marks():
    def function():
        return 1
    jit = torch.jit
    marked = [jit.export(function), jit.unused(function), jit.ignore(function), jit.ignore(drop=True)(function),
              jit.script_if_tracing(function)]
    assert marked == [function] * 5
    assert (jit.is_scripting(), jit.is_tracing(), jit.annotate(int, 2)) == (False, False, 2)
    with pytest.raises(NotImplementedError, match=r"^torch\.jit\.freeze: mindtorch has no TorchScript"):
        jit.freeze(function)


def test_accelerator_is_the_npu():
    accelerator, npu = torch.accelerator, torch.npu
    x = torch.ones(1000, device=accelerator.current_accelerator())
    assert x.device == torch.device("npu", accelerator.current_device_index())
    assert (accelerator.is_available(), accelerator.device_count()) == (True, npu.device_count())
    assert accelerator.current_stream() == npu.current_stream() == accelerator.current_stream("npu:0")
    assert accelerator.memory_allocated() == npu.memory_allocated() == accelerator.memory_allocated("npu")
    assert accelerator.memory_stats(0) == npu.memory_stats(0)
    assert accelerator.get_memory_info()[1] == npu.mem_get_info()[1]
    with accelerator.device_index(0), accelerator.device_index(None):
        accelerator.set_stream(npu.default_stream())
        accelerator.synchronize(x.device)
    accelerator.set_device_index(x.device)
    for wrong, text in (("cuda:0", "cuda doesn't match the current accelerator npu."),
                        ("npu", "Expected a torch.device with a specified index or an integer, but got:npu")):
        with pytest.raises(ValueError, match=text):
            accelerator.set_device_index(wrong)


def test_default_devices():
    with torch.device("npu"):
        assert torch.get_device_module() is torch.npu
        assert torch.zeros(1).is_npu
        with torch.device("cpu"):
            assert torch.zeros(1).is_cpu
    assert torch.zeros(1).is_cpu


@pytest.mark.parametrize("name", ["float32", "complex64", "int16", "uint8", "bool"])
def test_undefined_elements_are_filled_where_determinism_is_asked_for(name, device):
    made = []
    for library, place in ((torch, device), (real_torch, "cpu")):
        dtype, fill = getattr(library, name), library.utils.deterministic
        zeros = library.zeros(2, 3, dtype=dtype, device=place)
        library.use_deterministic_algorithms(True)
        try:
            found = [library.empty(3, dtype=dtype, device=place), library.empty_like(zeros), zeros.resize_(2, 4),
                     library.empty_strided((2, 2), (1, 2), dtype=dtype, device=place),
                     library.empty(3, out=library.zeros(3, dtype=dtype, device=place)), zeros.new_empty(2)]
            fill.fill_uninitialized_memory = False
            assert library.empty(3).shape == (3,)
            with pytest.raises(RuntimeError, match="expected a bool, but got int"):
                fill.fill_uninitialized_memory = 1
        finally:
            fill.fill_uninitialized_memory = True
            library.use_deterministic_algorithms(False)
        made.append(repr([tensor.tolist() for tensor in found]))
    assert made[0] == made[1]


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_max_unpool_is_not_deterministic_to_torch(dims):
    """It is refused where deterministic operators were requested, or warns."""
    def told(library):
        functional = library.nn.functional
        pooled, indices = getattr(functional, f"max_pool{dims}d")(library.ones(*(1, 1, 4, 4, 4)[:dims + 2]), 2,
                                                                   return_indices=True)
        unpool = getattr(functional, f"max_unpool{dims}d")
        try:
            library.use_deterministic_algorithms(True)
            with pytest.raises(RuntimeError) as error:
                unpool(pooled, indices, 2)
            library.use_deterministic_algorithms(True, warn_only=True)
            with pytest.warns(UserWarning, match="deterministic") as warned:
                unpool(pooled, indices, 2)
        finally:
            library.use_deterministic_algorithms(False)
        return str(error.value), [str(each.message).partition(" (Triggered")[0] for each in warned]
    assert told(torch) == told(real_torch)
