"""The names of torch.npu: all are there, and those that cannot do their work say why."""
import ctypes
import mmap

import npu_names
import pytest

import mindtorch as torch
from mindtorch import _torch_npu
from mindtorch._npu import acl
from mindtorch.npu._unavailable import REASONS


def test_all_names_are_there():
    assert len(npu_names.NAMES) == 144
    assert {*npu_names.NAMES} <= {*torch.npu.__all__}
    assert len(torch.npu.__all__) == len({*torch.npu.__all__})
    for name in torch.npu.__all__:
        getattr(torch.npu, name)


def test_the_operators_are_torch_npus():
    others = {"npu", "Format", "get_npu_format"}
    assert {*_torch_npu.__all__} - others <= {*npu_names.OPERATORS}
    for name in _torch_npu.__all__:
        getattr(_torch_npu, name)


def test_the_page_is_current():
    assert npu_names.PAGE.read_text(encoding="utf-8") == npu_names.page(), "run python tests/npu/npu_names.py"


@pytest.mark.parametrize("name", REASONS)
def test_what_is_not_available_says_why(name):
    assert name in npu_names.NAMES
    found = getattr(torch.npu, name)
    for use in (found, lambda: found(1, two=2), lambda: found.anything):
        with pytest.raises(RuntimeError) as raised:
            use()
        assert str(raised.value) == f"torch.npu.{name} is not available: {REASONS[name]}"


def test_a_name_that_there_is_not():
    with pytest.raises(AttributeError, match="has no attribute 'nvtx'"):
        torch.npu.nvtx      # noqa: B018 - reading it is the test


# --- options ---------------------------------------------------------------------------------------------------------

def test_permissions():
    for place, name, default in ((torch.npu.matmul, "allow_hf32", False), (torch.npu.conv, "allow_hf32", True),
                                 (torch.npu.config, "allow_internal_format", False)):
        assert getattr(place, name) is default
        setattr(place, name, not default)
        assert getattr(place, name) is not default
        setattr(place, name, default)
        with pytest.raises(TypeError, match="must be bool, not int"):
            setattr(place, name, 1)
        with pytest.raises(AttributeError, match="there is no other to set"):
            place.other = True


def test_a_flag_that_chips_no_longer_keep():
    with pytest.warns(UserWarning, match="only the first Ascend 910"):
        assert torch.npu.clear_npu_overflow_flag() is None


@pytest.mark.parametrize(("setter", "getter", "only", "got"), [
    ("set_compile_mode", "is_jit_compile_false", False, True),
    ("set_mm_bmm_format_nd", "get_mm_bmm_format_nd", True, True),
    ("use_compatible_impl", "are_compatible_impl_enabled", False, False)])
def test_options_with_one_choice(setter, getter, only, got):
    getattr(torch.npu, setter)(only)
    assert getattr(torch.npu, getter)() is got
    with pytest.raises(RuntimeError, match="is not available"):
        getattr(torch.npu, setter)(not only)
    with pytest.raises(TypeError, match="must be bool, not str"):
        getattr(torch.npu, setter)("yes")


@pytest.mark.usefixtures("queue_mode")
def test_the_task_queue_is_a_number():
    for mode in (2, "1", 0):
        torch.npu.set_task_queue_enable(mode)
        assert torch.npu.get_task_queue_enable() == int(mode)
    for wrong in (3, -1):
        with pytest.raises(RuntimeError, match=f"mode must be 0, 1, or 2, but got {wrong}"):
            torch.npu.set_task_queue_enable(wrong)


@pytest.mark.parametrize(("environment", "mode"), [
    ({"TASK_QUEUE_ENABLE": "2"}, 2), ({"TASK_QUEUE_ENABLE": "2", "ASCEND_LAUNCH_BLOCKING": "1"}, 0),
    ({"TASK_QUEUE_ENABLE": "1", "ACL_LAUNCH_BLOCKING": "1"}, 0), ({"TASK_QUEUE_ENABLE": "many"}, 0),
    ({"TASK_QUEUE_ENABLE": ""}, 2)])
def test_the_task_queue_of_the_environment(environment, mode, monkeypatch):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert acl.read_queue_mode() == mode


def test_what_cann_is_told(tmp_path):
    for level in (1, 2, 3, 0):
        torch.npu.set_deterministic_level(level)
    with pytest.raises(RuntimeError, match="supports the levels 0, 1, 2 and 3, but got 4"):
        torch.npu.set_deterministic_level(4)
    torch.npu.set_op_timeout_ms(60_000)
    settings = tmp_path / "dump.json"
    settings.write_text("{}")
    with pytest.raises(RuntimeError, match="aclmdlSetDump failed"):
        torch.npu.set_dump(settings)
    torch.npu.init_dump()
    torch.npu.set_dump(settings)
    torch.npu.finalize_dump()
    a = torch.ones(3, device="npu", requires_grad=True)
    for toggle in (torch.npu.enable_deterministic_with_backward, torch.npu.disable_deterministic_with_backward):
        a.grad = None
        (toggle(a * 2) * 3).sum().backward()
        assert a.grad.tolist() == [6, 6, 6]
    torch.npu.set_deterministic_level(0)


def compile_option(number):
    library = ctypes.CDLL(f"{torch.npu.toolkit().root}/lib64/libacl_op_compiler.so")
    value = ctypes.create_string_buffer(100)
    assert library.aclGetCompileopt(number, value, len(value)) == 0
    return value.value.decode()


def test_options_of_the_operator_compiler():
    torch.npu.set_option({"ACL_OP_DEBUG_LEVEL": 3, "ACL_PRECISION_MODE": "must_keep_origin_dtype",
                          "MM_BMM_ND_ENABLE": "enable"})
    assert (compile_option(5), compile_option(0)) == ("3", "must_keep_origin_dtype")
    for option, error, message in (
            ({"ACL_OP_DEBUG_LEVEL": "1", "ACL_PRECISION_MODE": "5"}, ValueError, "value of ACL_PRECISION_MODE should"),
            ({"ACL_OP_DEBUG_LEVEL": "1", "unknown": "1"}, ValueError, "invalid npu option name: unknown"),
            ({"MM_BMM_ND_ENABLE": "disable"}, RuntimeError, "is not available"), ("x", TypeError, "must be a dict")):
        with pytest.raises(error, match=message):
            torch.npu.set_option(option)
    assert compile_option(5) == "3"
    torch.npu.set_option({"ACL_OP_DEBUG_LEVEL": "0"})


def test_what_needs_no_chip():
    assert torch.npu.is_current_stream_capturing() is False
    first, second = torch.npu.graph_pool_handle(), torch.npu.graph_pool_handle()
    assert first[0] == second[0] == 0
    assert first != second
    assert torch.npu.CubeMathType.USE_HF32 == 3
    with pytest.warns(UserWarning, match="blas"):
        assert torch.npu.current_blas_handle() is None


def test_memory_of_the_programs_own_can_be_pinned():
    pages = mmap.mmap(-1, 8192)
    address = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    runtime = torch.npu.npurt()
    assert runtime.npuHostRegister(address, 8192) == 0
    assert runtime.npuHostUnregister(address) == 0
    assert runtime.npuHostUnregister(address) != 0


# --- types -----------------------------------------------------------------------------------------------------------

TYPES = {"Bool": torch.bool, "Byte": torch.uint8, "Char": torch.int8, "Short": torch.int16, "Int": torch.int32,
         "Long": torch.int64, "Half": torch.float16, "BFloat16": torch.bfloat16, "Float": torch.float32,
         "Double": torch.float64}


@pytest.mark.parametrize("name", TYPES)
def test_types_of_tensors(name):
    kind = getattr(torch.npu, f"{name}Tensor")
    made = kind([0, 1, 1])
    assert made.dtype is kind.dtype is TYPES[name]
    assert made.is_npu
    assert made.tolist() == [0, 1, 1]
    assert isinstance(made, kind)
    assert not isinstance(made.cpu(), kind)
    assert not isinstance(made, getattr(torch, f"{name}Tensor"))
    assert kind(2, 3).shape == (2, 3)
    with pytest.raises(RuntimeError, match="legacy constructor expects device type: npu"):
        kind([0], device="cpu")


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated:UserWarning")
def test_types_of_storages(name):
    kind = getattr(torch.npu, f"{name}Storage")
    storage = kind([0, 1, 1])
    assert storage.device == torch.device("npu:0")
    assert storage.tolist() == [0, 1, 1]
    assert isinstance(storage, kind)
    assert not isinstance(storage.cpu(), kind)
    assert isinstance(storage.cpu(), getattr(torch, f"{name}Storage"))
    assert kind(5).size() == 5
