"""Options of torch_npu that a program may set: what they permit, and what of it mindtorch makes use of."""
import ctypes
import enum
import os
import warnings

from mindtorch import npu
from mindtorch.npu._calls import check
from mindtorch.npu.device import _lazy_init


def _task_queue_of_environment():
    mode = os.environ.get("TASK_QUEUE_ENABLE", "0")
    return int(mode) if mode in ("0", "1", "2") and os.environ.get("ASCEND_LAUNCH_BLOCKING") != "1" else 0


_chosen = {"task queue": _task_queue_of_environment()}


class CubeMathType(enum.IntEnum):
    """How ACLNN's matrix products may compute, as their argument cubeMathType says it. mindtorch passes the first."""

    KEEP_DTYPE = 0
    ALLOW_FP32_DOWN_PRECISION = 1
    USE_FP16 = 2
    USE_HF32 = 3
    FORCE_GRP_ACC_FOR_FP32 = 4


class _Permissions:
    """Truth values by name: what a program allows. Nothing obliges mindtorch to make use of it."""

    def __init__(self, **permissions):
        self.__dict__.update(permissions)

    def __setattr__(self, name, value):
        if name not in self.__dict__:
            raise AttributeError(f"there is no {name} to set, only {', '.join(self.__dict__)}")
        if not isinstance(value, bool):
            raise TypeError(f"{name} must be bool, not {type(value).__name__}")
        self.__dict__[name] = value


matmul = _Permissions(allow_hf32=False)                  # mindtorch computes float32 in full precision
conv = _Permissions(allow_hf32=True)
config = _Permissions(allow_internal_format=False)       # its tensors are never in formats of the chip's own


def _only(name, value, allowed, reason):
    """For options with one choice: TypeError for what is no bool, RuntimeError for the other choice."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be bool, not {type(value).__name__}")
    if value is not allowed:
        raise RuntimeError(f"torch.npu.{name}({value}) is not available: {reason}")


def set_compile_mode(jit_compile=False):
    """False is the only mode: ACLNN's operators are compiled beforehand."""
    _only("set_compile_mode", jit_compile, False, "ACLNN's operators are compiled beforehand")


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


def set_option(option):
    """Sets options of CANN's operator compiler, by name: aclSetCompileopt. ACLNN's operators are compiled beforehand.

    ValueError for an option or value that there is not; then none is set.
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


def is_jit_compile_false():
    """True: see set_compile_mode."""
    return True


def set_mm_bmm_format_nd(is_nd=True):
    """True is the only choice: matrices lie in rows."""
    _only("set_mm_bmm_format_nd", is_nd, True, "tensors are never in formats of the chip's own")


def get_mm_bmm_format_nd():
    """True: see set_mm_bmm_format_nd."""
    return True


def use_compatible_impl(is_enable):
    """False is the only choice: operators are those of ACLNN."""
    _only("use_compatible_impl", is_enable, False, "there is one implementation of each operator")


def are_compatible_impl_enabled():
    """False: see use_compatible_impl."""
    return False


def clear_npu_overflow_flag():
    """Warns, and changes nothing: only the first Ascend 910 keeps a flag of overflows."""
    warnings.warn("clear_npu_overflow_flag changes nothing: only the first Ascend 910 keeps such a flag", stacklevel=2)


def set_task_queue_enable(mode):
    """0, 1 or 2; kept and given back, without effect: the thread that calls an operator launches it itself."""
    mode = int(mode)
    if mode not in (0, 1, 2):
        raise RuntimeError(f"mode must be 0, 1, or 2, but got {mode}")
    _chosen["task queue"] = mode


def get_task_queue_enable():
    """What set_task_queue_enable has been told last, TASK_QUEUE_ENABLE of the environment at first; else 0."""
    return _chosen["task queue"]


def current_blas_handle():
    """None, with a warning: CANN has no handle for matrix products."""
    warnings.warn("NPU does not use blas handle.", UserWarning, stacklevel=2)


# --- what CANN does --------------------------------------------------------------------------------------------------

def _acl():
    from mindtorch._npu import acl
    _lazy_init()
    return acl


def set_deterministic_level(level):
    """0: operators may add in any order; 1, 2 and 3: they give the same bits for the same operands each time."""
    if level not in (0, 1, 2, 3):
        raise RuntimeError(f"set_deterministic_level supports the levels 0, 1, 2 and 3, but got {level}")
    deterministic = 0                                    # ACL_OPT_DETERMINISTIC
    check(_acl().rt.set_ctx_sys_param_opt(deterministic, int(level > 0)), "aclrtCtxSetSysParamOpt")


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


def enable_deterministic_with_backward(tensor):
    """`tensor`, from whose making on operators are deterministic; in backward, up to its gradient."""
    return _toggled(tensor, 1, 0)


def disable_deterministic_with_backward(tensor):
    """`tensor`, from whose making on operators need not be deterministic; in backward, up to its gradient."""
    return _toggled(tensor, 0, 1)


def set_op_timeout_ms(timeout):
    """An operator that runs for longer than `timeout` milliseconds is a fault of the device."""
    check(_acl().rt.set_op_execute_time_out_with_ms(timeout), "aclrtSetOpExecuteTimeOutWithMs")


def init_dump():
    """Begins with dumps of what operators read and write: aclmdlInitDump."""
    check(_acl().mdl.init_dump(), "aclmdlInitDump")


def set_dump(cfg_file):
    """Says in a file of JSON what is dumped: aclmdlSetDump."""
    check(_acl().mdl.set_dump(cfg_file), "aclmdlSetDump")


def finalize_dump():
    """Ends the dumps: aclmdlFinalizeDump."""
    check(_acl().mdl.finalize_dump(), "aclmdlFinalizeDump")


class _Npurt:
    """Calls of the runtime by their names in torch_npu; addresses are ints, statuses are returned."""

    @staticmethod
    def npuHostRegister(pointer, size):
        """Pins memory of the program's own: aclrtHostRegister."""
        return _acl().rt.host_register(pointer, size)[1]

    @staticmethod
    def npuHostUnregister(pointer):
        """Ends npuHostRegister."""
        return _acl().rt.host_unregister(pointer)

    @staticmethod
    def npuStreamCreate(pointer):
        """Writes the handle of a new stream of the current device to `pointer`."""
        handle, status = _acl().rt.create_stream()
        if status == 0:
            ctypes.c_void_p.from_address(pointer).value = handle
        return status

    @staticmethod
    def npuStreamDestroy(handle):
        """Destroys a stream of npuStreamCreate."""
        return _acl().rt.destroy_stream(handle)


def npurt():
    """Raw calls of the runtime: npuHostRegister, npuHostUnregister, npuStreamCreate, npuStreamDestroy."""
    _lazy_init()
    return _Npurt
