"""autocast: its state in the calling thread, and the casts of an operator's arguments.

An operator, or a function with the decorator `with_autocast_policy`, tests the counter `enabled_threads` first. That is
all it pays where autocast is off in every thread. _ops/rows/autocast.toml says which operators have which policy.
"""
import functools

from mindtorch._core._gen.autocast_policies import POLICIES as _POLICIES

from mindtorch._core.autograd.node cimport AutogradMeta, inference_enabled, set_grad_enabled
from mindtorch._core.python.conversion cimport raise_wrong_type, require_bool, require_dtype
from mindtorch._core.tensor.copy_cast cimport to_copy
from mindtorch._core.tensor.dtype cimport (
    DTYPES, FLOAT_KIND, KIND, Double, Float, ScalarType, Undefined, dtype as dtype_class,
)
from mindtorch._core.tensor.tensor cimport CPU, NPU, device, reported_device_index, reported_device_type


cdef extern from *:
    """
    static _Thread_local unsigned int mindtorch_autocast_devices;
    static _Thread_local int mindtorch_autocast_dtypes[6] = {15, 5, 5, 5, 5, 5};
    static _Thread_local int mindtorch_autocast_cache_disabled;
    static _Thread_local int mindtorch_autocast_nesting;
    """
    unsigned int mindtorch_autocast_devices        # the device types for which autocast is on, as bits
    int mindtorch_autocast_dtypes[6]               # ScalarType: bfloat16 on the CPU, else float16
    int mindtorch_autocast_cache_disabled
    int mindtorch_autocast_nesting

enabled_threads = 0
cdef dict CACHE = {}        # (id of a parameter, dtype) -> (the parameter, its cast), until the outermost region ends

BINARY_CROSS_ENTROPY_ERROR = ("torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
                              "Many models use a sigmoid layer right before the binary cross entropy layer.\n"
                              "In this case, combine the two layers using "
                              "torch.nn.functional.binary_cross_entropy_with_logits\n"
                              "or torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits are\n"
                              "safe to autocast.")


cdef void set_enabled_devices(unsigned int devices) noexcept:
    global enabled_threads, mindtorch_autocast_devices
    enabled_threads += <int>(devices != 0) - <int>(mindtorch_autocast_devices != 0)
    mindtorch_autocast_devices = devices


cdef unsigned int disable() noexcept:
    cdef unsigned int before
    if not enabled_threads:
        return 0
    before = mindtorch_autocast_devices
    set_enabled_devices(0)
    return before


# --- casts of arguments ----------------------------------------------------------------------------------------------

cdef unsigned int devices_among(object arguments) noexcept:
    """The device types of the tensors, as bits: of wrappers (fake tensors) those that they report."""
    cdef unsigned int found = 0
    for argument in arguments:
        if isinstance(argument, TensorBase):
            found |= 1u << reported_device_type(<TensorBase>argument)
        elif isinstance(argument, (list, tuple)):
            found |= devices_among(argument)
    return found


cdef int select_device(object arguments) noexcept:
    """The device type whose policy applies, the NPU before the CPU; -1 where autocast is off for both."""
    cdef unsigned int devices = mindtorch_autocast_devices
    if devices:
        devices &= devices_among(arguments)
    return NPU if devices & (1u << NPU) else CPU if devices & (1u << CPU) else -1


cdef inline bint is_eligible(TensorBase tensor, int device_type) noexcept:
    return (reported_device_type(tensor) == device_type and KIND[<int>tensor.dtype] == FLOAT_KIND
            and tensor.dtype != Double)


cdef ScalarType prioritize(object arguments, ScalarType lowest, int device_type) except *:
    """float32 where an argument has it, else `lowest`. RuntimeError where an argument has the other 16-bit dtype."""
    cdef ScalarType found = lowest, given
    for argument in arguments:
        if isinstance(argument, (list, tuple)):
            found = prioritize(argument, found, device_type)
        elif isinstance(argument, TensorBase) and is_eligible(<TensorBase>argument, device_type):
            given = (<TensorBase>argument).dtype
            if given == Float or found == Float:
                found = Float
            elif given != found:
                raise RuntimeError("Unexpected floating ScalarType in at::autocast::prioritize")
    return found


cdef bint is_cacheable(TensorBase tensor):
    """Whether to cache the cast: that of a leaf which requires a gradient."""
    cdef AutogradMeta meta = tensor.autograd
    return (meta is not None and meta.requires_grad and meta.grad_fn is None and tensor.base is None
            and tensor.dtype == Float and not mindtorch_autocast_cache_disabled and not inference_enabled())


cdef TensorBase cached_cast(TensorBase tensor, ScalarType goal, int device_type):
    cdef TensorBase result
    cdef bint recorded
    if tensor.dtype == goal or not is_eligible(tensor, device_type):
        return tensor
    if goal == Float or not is_cacheable(tensor):
        return to_copy(tensor, goal, device_type, reported_device_index(tensor), False, False)
    key = (id(tensor), <int>goal)
    found = CACHE.get(key)
    if found is not None:
        return (<tuple>found)[1]
    # Recorded in no_grad mode too: later operators of the region may need the gradient of the cached cast.
    recorded = set_grad_enabled(True)
    try:
        result = to_copy(tensor, goal, device_type, reported_device_index(tensor), False, False)
    finally:
        set_grad_enabled(recorded)
    CACHE[key] = (tensor, result)
    return result


cdef object cast_argument(object argument, ScalarType goal, int device_type):
    if isinstance(argument, TensorBase):
        return cached_cast(<TensorBase>argument, goal, device_type)
    if isinstance(argument, list):
        return [cast_argument(one, goal, device_type) for one in argument]
    if isinstance(argument, tuple):
        return tuple([cast_argument(one, goal, device_type) for one in argument])
    return argument


cdef tuple apply_policy(int device_type, int policy, tuple arguments):
    cdef ScalarType goal = Float
    if policy == NOT_LISTED:
        return arguments
    if policy == BANNED:
        raise RuntimeError(BINARY_CROSS_ENTROPY_ERROR)
    if policy == FP32_SET_OPT_DTYPE:          # casting the first argument has the effect of dtype=torch.float32
        return (cast_argument(arguments[0], Float, device_type), *arguments[1:])
    if policy == LOWER_PRECISION_FP:
        goal = <ScalarType>mindtorch_autocast_dtypes[device_type]
    elif policy == PROMOTE:
        goal = prioritize(arguments, <ScalarType>mindtorch_autocast_dtypes[device_type], device_type)
    return cast_argument(arguments, goal, device_type)


cdef tuple cast_arguments(int cpu, int npu, tuple arguments):
    cdef int device_type = select_device(arguments)
    if device_type < 0:
        return arguments
    return apply_policy(device_type, npu if device_type == NPU else cpu, arguments)


cdef tuple cast_by_name(str name, tuple arguments):
    cpu, npu = _POLICIES[name]
    return cast_arguments(cpu, npu, arguments)


def with_autocast_policy(name):
    """Decorator of functions that call operators. Their arguments are cast by the policies of `name`, and the operators
    inside cast nothing.
    """
    cpu, npu = _POLICIES[name]

    def decorate(function):
        @functools.wraps(function)
        def call(*args, **kwargs):
            if not enabled_threads or kwargs.get("out") is not None:
                return function(*args, **kwargs)
            return call_with_casts(function, cpu, npu, args, kwargs)
        DECORATED_NAMES.add(name)
        return call
    return decorate


def without_autocast(function):
    """Decorator of functions that are kernels in torch and call operators here. Those operators cast nothing."""
    @functools.wraps(function)
    def call(*args, **kwargs):
        cdef unsigned int before
        if not enabled_threads:
            return function(*args, **kwargs)
        before = disable()
        try:
            return function(*args, **kwargs)
        finally:
            set_enabled_devices(before)
    return call


DECORATED_NAMES = set()           # names that `with_autocast_policy` was given; a test compares them with autocast.toml


cdef object call_with_casts(object function, int cpu, int npu, tuple args, dict kwargs):
    cdef tuple values = (*args, *kwargs.values())
    cdef int device_type = select_device(values), policy
    cdef unsigned int before = mindtorch_autocast_devices
    if device_type < 0:
        return function(*args, **kwargs)
    policy = npu if device_type == NPU else cpu
    if policy == NOT_LISTED:
        return function(*args, **kwargs)
    if not (policy == FP32_SET_OPT_DTYPE and any([isinstance(value, dtype_class) for value in values])):
        values = apply_policy(device_type, policy, values)
    set_enabled_devices(before & ~(1u << device_type))
    try:
        return function(*values[:len(args)], **dict(zip(kwargs, values[len(args):])))
    finally:
        set_enabled_devices(before)


# --- the state -------------------------------------------------------------------------------------------------------

cdef int device_slot(object device_type, str function) except -1:
    if not isinstance(device_type, str):
        raise_wrong_type(device_type, function.encode(), b"device_type", 1, "str")
    return (<device>device(device_type)).type_code


def is_autocast_enabled(device_type="cuda"):
    """Whether autocast is on for that type of device, in this thread.

    Arguments:
        device_type: the type of the device, such as "npu"; None means "cuda"

    Example:
        >>> with torch.autocast("npu"):
        ...     print(torch.is_autocast_enabled("npu"), torch.is_autocast_enabled("cpu"))
        True False
    """
    return bool(mindtorch_autocast_devices & (1u << device_slot(device_type, "is_autocast_enabled")))


def set_autocast_enabled(device_type, enabled=None):
    """Turn autocast on or off for a type of device, in this thread; with one argument, a bool, for "cuda".

    Arguments:
        device_type: the type of the device, such as "npu"
        enabled: whether it is on

    Example:
        >>> torch.set_autocast_enabled("cpu", True)
        >>> (torch.ones(2, 2) @ torch.ones(2, 2)).dtype
        torch.bfloat16
        >>> torch.set_autocast_enabled("cpu", False)
    """
    if enabled is None:
        require_bool(device_type, b"set_autocast_enabled", b"enabled", 1)
        device_type, enabled = "cuda", device_type
    cdef unsigned int bit = 1u << device_slot(device_type, "set_autocast_enabled")
    if not isinstance(enabled, bool):
        raise_wrong_type(enabled, b"set_autocast_enabled", b"enabled", 2, "bool")
    set_enabled_devices(mindtorch_autocast_devices | bit if enabled else mindtorch_autocast_devices & ~bit)


def get_autocast_dtype(device_type):
    """The dtype of autocast's lower precision: bfloat16 on the CPU, else float16, until set_autocast_dtype.

    Arguments:
        device_type: the type of the device, such as "npu"

    Example:
        >>> torch.get_autocast_dtype("cpu"), torch.get_autocast_dtype("npu")
        (torch.bfloat16, torch.float16)
    """
    return DTYPES[mindtorch_autocast_dtypes[device_slot(device_type, "get_autocast_dtype")]]


def set_autocast_dtype(device_type, dtype):
    """Set the dtype of autocast's lower precision for a type of device, in this thread.

    Arguments:
        device_type: the type of the device, such as "npu"
        dtype: the dtype that operators are cast to

    Example:
        >>> torch.set_autocast_dtype("npu", torch.bfloat16)
        >>> torch.get_autocast_dtype("npu")
        torch.bfloat16
        >>> torch.set_autocast_dtype("npu", torch.float16)
    """
    cdef int state = device_slot(device_type, "set_autocast_dtype")
    if dtype is None:
        raise_wrong_type(dtype, b"set_autocast_dtype", b"dtype", 2, "torch.dtype")
    mindtorch_autocast_dtypes[state] = require_dtype(dtype, Undefined, b"set_autocast_dtype", b"dtype", 2)


def is_autocast_cache_enabled():
    """Whether autocast casts a parameter once in a region, in this thread, rather than for each operator.

    Example:
        >>> torch.is_autocast_cache_enabled()
        True
    """
    return not mindtorch_autocast_cache_disabled


def set_autocast_cache_enabled(enabled):
    """Switch the cache of casts of parameters, for this thread.

    Arguments:
        enabled: whether casts are kept

    Example:
        >>> torch.set_autocast_cache_enabled(True)
    """
    global mindtorch_autocast_cache_disabled
    if not isinstance(enabled, bool):
        raise TypeError(f"enabled must be a bool (got {type(enabled).__name__})")
    mindtorch_autocast_cache_disabled = not enabled


def clear_autocast_cache():
    """Drop the cached casts of parameters. The outermost region does it at its end.

    Example:
        >>> torch.clear_autocast_cache()
    """
    CACHE.clear()


def autocast_increment_nesting():
    """Count a region that was entered in this thread; returns how many are open.

    Example:
        >>> torch.autocast_increment_nesting()
        1
        >>> torch.autocast_decrement_nesting()
        0
    """
    global mindtorch_autocast_nesting
    mindtorch_autocast_nesting += 1
    return mindtorch_autocast_nesting


def autocast_decrement_nesting():
    """Count a region that was left in this thread; returns how many are open.

    Example:
        >>> torch.autocast_increment_nesting()
        1
        >>> torch.autocast_decrement_nesting()
        0
    """
    global mindtorch_autocast_nesting
    mindtorch_autocast_nesting -= 1
    return mindtorch_autocast_nesting


def autocast_nesting():
    """How many regions are open in this thread."""
    return mindtorch_autocast_nesting


def reset_nesting(int nesting):
    """Reset the number of open regions of this thread to `nesting`, after code that entered regions and never left."""
    global mindtorch_autocast_nesting
    if mindtorch_autocast_nesting != nesting:
        mindtorch_autocast_nesting = nesting
        if nesting == 0:
            clear_autocast_cache()


def exchange_state(device_type, enabled, dtype, cache_enabled):
    """Set the state of a region for one type of device; returns the arguments that restore the state before."""
    before = (device_type, is_autocast_enabled(device_type), get_autocast_dtype(device_type),
              is_autocast_cache_enabled())
    set_autocast_dtype(device_type, dtype)
    set_autocast_enabled(device_type, bool(enabled))
    set_autocast_cache_enabled(bool(cache_enabled))
    return before


def get_state():
    """The state of this thread for all types of devices, without the number of open regions: for set_state."""
    return mindtorch_autocast_devices, tuple([mindtorch_autocast_dtypes[i] for i in range(3)]), \
        mindtorch_autocast_cache_disabled


def set_state(tuple state):
    """Restore a state of get_state, in any thread."""
    global mindtorch_autocast_cache_disabled
    devices, dtypes, mindtorch_autocast_cache_disabled = state
    set_enabled_devices(<int>devices)
    for i in range(3):
        mindtorch_autocast_dtypes[i] = dtypes[i]
