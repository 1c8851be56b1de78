"""Options of torch_npu that a program may set, and which of them mindtorch uses."""
from __future__ import annotations

import ctypes
import enum
import warnings
from typing import Any

from mindtorch import npu
from mindtorch.npu._acl_calls import acl, check, launch
from mindtorch.npu.device import _lazy_init


class CubeMathType(enum.IntEnum):
    """Values of the argument cubeMathType of ACLNN's matrix products. mindtorch passes KEEP_DTYPE.

    Example:
        >>> torch.npu.CubeMathType.KEEP_DTYPE.value
        0
    """

    KEEP_DTYPE = 0
    ALLOW_FP32_DOWN_PRECISION = 1
    USE_FP16 = 2
    USE_HF32 = 3
    FORCE_GRP_ACC_FOR_FP32 = 4


class _Permissions:
    """Flags that a program may set. mindtorch keeps them and ignores them."""

    def __init__(self, **permissions: Any) -> None:
        self.__dict__.update(permissions)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.__dict__:
            raise AttributeError(f"there is no {name} to set, only {', '.join(self.__dict__)}")
        if not isinstance(value, bool):
            raise TypeError(f"{name} must be bool, not {type(value).__name__}")
        self.__dict__[name] = value


matmul = _Permissions(allow_hf32=False)                  # mindtorch computes float32 in full precision
conv = _Permissions(allow_hf32=True)
config = _Permissions(allow_internal_format=False)       # tensors never have the chip's internal formats


def _only(name, value, allowed, reason):
    """Checks an option that has only one valid value: TypeError for a non-bool, RuntimeError for the other value."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be bool, not {type(value).__name__}")
    if value is not allowed:
        raise RuntimeError(f"torch.npu.{name}({value}) is not available: {reason}")


def set_compile_mode(jit_compile: bool = False) -> None:
    """Accepts False only: ACLNN's operators are precompiled.

    Arguments:
        jit_compile: False

    Example:
        >>> torch.npu.set_compile_mode(jit_compile=False)
    """
    _only("set_compile_mode", jit_compile, False, "ACLNN's operators are precompiled")


# Options of CANN's operator compiler that torch_npu knows: their number, and the values of those that have a list.
_COMPILE_OPTIONS = {
    "ACL_PRECISION_MODE": (0, ("allow_fp32_to_fp16", "must_keep_origin_dtype")),
    "ACL_AICORE_NUM": (1, tuple(str(cores) for cores in range(1, 33))),
    "ACL_OP_SELECT_IMPL_MODE": (3, ("high_performance", "high_precision")),
    "ACL_OPTYPELIST_FOR_IMPLMODE": (4, None),
    "ACL_OP_DEBUG_LEVEL": (5, ("0", "1", "2", "3", "4")),
    "ACL_DEBUG_DIR": (6, None),
    "ACL_OP_COMPILER_CACHE_MODE": (7, ("disable", "enable", "force")),
    "ACL_OP_COMPILER_CACHE_DIR": (8, None),
    "ACL_OP_DEBUG_OPTION": (16, None),
}


def set_option(option: Any) -> None:
    """Sets options of CANN's operator compiler by aclSetCompileopt. ACLNN's operators are precompiled and ignore them.

    ValueError for an unknown option or value; then no option is set.

    Arguments:
        option: a dict of options and their values

    Example:
        >>> torch.npu.set_option({"ACL_OP_DEBUG_LEVEL": "0"})
    """
    if not isinstance(option, dict):
        raise TypeError(f"npu option must be a dict, not {type(option).__name__}")
    option = {name: str(value) for name, value in option.items()}
    matrices = option.pop("MM_BMM_ND_ENABLE", None)
    for name, value in option.items():
        if name not in _COMPILE_OPTIONS:
            raise ValueError(f"invalid npu option name: {name}")
        allowed = _COMPILE_OPTIONS[name][1]
        if allowed is not None and value not in allowed:
            raise ValueError(f"value of {name} should be in {list(allowed)}, but got {value}")
    if matrices is not None:
        set_mm_bmm_format_nd(matrices != "disable")
    for name, value in option.items():
        check(_op_compiler().aclSetCompileopt(_COMPILE_OPTIONS[name][0], value.encode()), "aclSetCompileopt")


def _op_compiler():
    from mindtorch._npu import toolkit
    _acl()
    root = npu.toolkit().root
    path = toolkit.find_library(root, "libacl_op_compiler.so")
    if path is None:
        raise RuntimeError(f"the CANN toolkit at {root} has no libacl_op_compiler.so")
    return ctypes.CDLL(str(path))


def is_jit_compile_false() -> Any:
    """True: see set_compile_mode.

    Example:
        >>> torch.npu.is_jit_compile_false()
        True
    """
    return True


def set_mm_bmm_format_nd(is_nd: bool = True) -> None:
    """Accepts True only: matrices are stored row by row (format ND).

    Arguments:
        is_nd: True

    Example:
        >>> torch.npu.set_mm_bmm_format_nd(True)
    """
    _only("set_mm_bmm_format_nd", is_nd, True, "tensors never have the chip's internal formats")


def get_mm_bmm_format_nd() -> Any:
    """True: see set_mm_bmm_format_nd.

    Example:
        >>> torch.npu.get_mm_bmm_format_nd()
        True
    """
    return True


def use_compatible_impl(is_enable: Any) -> None:
    """Accepts False only: each operator has one implementation.

    Arguments:
        is_enable: False

    Example:
        >>> torch.npu.use_compatible_impl(False)
    """
    _only("use_compatible_impl", is_enable, False, "there is one implementation of each operator")


def are_compatible_impl_enabled() -> Any:
    """False: see use_compatible_impl.

    Example:
        >>> torch.npu.are_compatible_impl_enabled()
        False
    """
    return False


def clear_npu_overflow_flag() -> None:
    """Warns and does nothing: only the first Ascend 910 has an overflow flag.

    Example:
        >>> torch.npu.clear_npu_overflow_flag()
    """
    warnings.warn("clear_npu_overflow_flag does nothing: only the first Ascend 910 has an overflow flag", stacklevel=2)


def set_task_queue_enable(mode: Any) -> None:
    """0: the thread that calls an operator launches it. 1, 2: another thread does, later, in the same order.

    Arguments:
        mode: 0, 1 or 2

    Example:
        >>> mode = torch.npu.get_task_queue_enable()
        >>> torch.npu.set_task_queue_enable(0)
        >>> torch.npu.get_task_queue_enable()
        0
        >>> torch.npu.set_task_queue_enable(mode)
    """
    mode = int(mode)
    if mode not in (0, 1, 2):
        raise RuntimeError(f"mode must be 0, 1, or 2, but got {mode}")
    acl().set_queue_mode(mode)


def get_task_queue_enable() -> Any:
    """The value of set_task_queue_enable; at first that of the environment variable TASK_QUEUE_ENABLE, or 2.

    Example:
        >>> torch.npu.get_task_queue_enable() in (0, 1, 2)
        True
    """
    return acl().get_queue_mode()


def current_blas_handle() -> None:
    """Warns and returns None: CANN has no BLAS handle.

    Example:
        >>> print(torch.npu.current_blas_handle())
        None
    """
    warnings.warn("NPU does not use blas handle.", UserWarning, stacklevel=2)


# --- what CANN does --------------------------------------------------------------------------------------------------

def _acl():
    _lazy_init()
    return acl()


def set_deterministic_level(level: Any) -> None:
    """0: operators may sum in any order. 1, 2, 3: the same inputs give bitwise the same results.

    Arguments:
        level: the level, 0 to 3

    Example:
        >>> torch.npu.set_deterministic_level(1)
        >>> total = torch.ones(1000, device="npu").sum()
        >>> torch.npu.set_deterministic_level(0)
    """
    if level not in (0, 1, 2, 3):
        raise RuntimeError(f"set_deterministic_level supports the levels 0, 1, 2 and 3, but got {level}")
    deterministic = 0                                    # ACL_OPT_DETERMINISTIC
    check(_acl().rt.set_ctx_sys_param_opt(deterministic, int(level > 0)), "aclrtCtxSetSysParamOpt")
    launch().note_setting(("deterministic", npu.current_device()), level > 0)


def _toggled(tensor, forward, backward):
    from mindtorch.autograd import Function

    class Toggle(Function):
        @staticmethod
        def forward(ctx, operand):
            set_deterministic_level(forward)
            return operand.view_as(operand)

        @staticmethod
        def backward(ctx, grad):
            set_deterministic_level(backward)
            return grad
    return Toggle.apply(tensor)


def enable_deterministic_with_backward(tensor: Any) -> Any:
    """Returns `tensor` and makes later operators deterministic, until backward reaches this tensor.

    Arguments:
        tensor: the tensor

    Example:
        >>> x = torch.ones(2, device="npu", requires_grad=True)
        >>> y = torch.npu.disable_deterministic_with_backward(torch.npu.enable_deterministic_with_backward(x) * 2)
        >>> y.sum().backward()
    """
    return _toggled(tensor, 1, 0)


def disable_deterministic_with_backward(tensor: Any) -> Any:
    """Returns `tensor` and lets later operators be non-deterministic, until backward reaches this tensor.

    Arguments:
        tensor: the tensor

    Example:
        >>> x = torch.ones(2, device="npu", requires_grad=True)
        >>> y = torch.npu.disable_deterministic_with_backward(torch.npu.enable_deterministic_with_backward(x) * 2)
        >>> y.sum().backward()
    """
    return _toggled(tensor, 0, 1)


def executor_cache_stats() -> dict[str, int]:
    """How many launches found the executor of an earlier call, and how many did not that may be kept from then on.

    {"hits": ..., "misses": ..., "size": ..., "limit": ...}, of all threads and devices since the start. At most `size`
    executors are kept now and `limit` ever (ACLNN_CACHE_LIMIT): by CANN, or by mindtorch where the toolkit lacks the
    hooks of CANN's cache. mindtorch's own, torch_npu has no such function.

    Example:
        >>> sorted(torch.npu.executor_cache_stats())
        ['hits', 'limit', 'misses', 'size']
    """
    return launch().executor_cache_stats()


def set_op_timeout_ms(timeout: Any) -> None:
    """Sets the execution timeout of an operator in milliseconds. A longer run is a device fault.

    Arguments:
        timeout: the milliseconds

    Example:
        >>> torch.npu.set_op_timeout_ms(60_000)
    """
    check(_acl().rt.set_op_execute_time_out_with_ms(timeout), "aclrtSetOpExecuteTimeOutWithMs")


def init_dump() -> None:
    """Starts dumping inputs and outputs of operators: aclmdlInitDump.

    Example:
        >>> torch.npu.init_dump()
        >>> torch.npu.finalize_dump()
    """
    check(_acl().mdl.init_dump(), "aclmdlInitDump")


def set_dump(cfg_file: Any) -> None:
    """Sets what is dumped, by a JSON file: aclmdlSetDump.

    Arguments:
        cfg_file: the path of the JSON file

    Example:
        >>> import json, tempfile
        >>> settings = tempfile.NamedTemporaryFile("w", suffix=".json")
        >>> json.dump({}, settings.file)
        >>> settings.flush()
        >>> torch.npu.init_dump()
        >>> torch.npu.set_dump(settings.name)
        >>> torch.npu.finalize_dump()
        >>> settings.close()
    """
    check(_acl().mdl.set_dump(cfg_file), "aclmdlSetDump")


def finalize_dump() -> None:
    """Stops dumping: aclmdlFinalizeDump.

    Example:
        >>> torch.npu.init_dump()
        >>> torch.npu.finalize_dump()
    """
    check(_acl().mdl.finalize_dump(), "aclmdlFinalizeDump")


class _Npurt:
    """Calls of the runtime by their names in torch_npu; addresses are ints, statuses are returned."""

    @staticmethod
    def npuHostRegister(pointer: Any, size: Any) -> Any:
        """Page-locks memory that the program allocated: aclrtHostRegister."""
        return _acl().rt.host_register(pointer, size)[1]

    @staticmethod
    def npuHostUnregister(pointer: Any) -> Any:
        """Undoes npuHostRegister."""
        return _acl().rt.host_unregister(pointer)

    @staticmethod
    def npuStreamCreate(pointer: Any) -> Any:
        """Writes the handle of a new stream of the current device to `pointer`."""
        handle, status = _acl().rt.create_stream()
        if status == 0:
            ctypes.c_void_p.from_address(pointer).value = handle
        return status

    @staticmethod
    def npuStreamDestroy(handle: Any) -> Any:
        """Destroys a stream of npuStreamCreate."""
        return _acl().rt.destroy_stream(handle)


def npurt() -> Any:
    """Raw calls of the runtime: npuHostRegister, npuHostUnregister, npuStreamCreate, npuStreamDestroy.

    Example:
        >>> x = torch.ones(1000)
        >>> torch.npu.npurt().npuHostRegister(x.data_ptr(), x.nbytes)
        107008
        >>> torch.npu.npurt().npuHostUnregister(x.data_ptr())
        507911
    """
    _lazy_init()
    return _Npurt
