"""autocast: the state of the calling thread, and what it does to the arguments of an operator.

A generated function, or one with the decorator `casting`, asks `threads` first: one load where autocast is off in every
thread. The policies are those of _ops/autocast.toml.
"""
import functools

from mindtorch._core._gen.autocast_policies import POLICIES as _POLICIES

from mindtorch._core.autograd.node cimport AutogradMeta, inference_enabled, set_grad_enabled
from mindtorch._core.python.conversion cimport require_bool, require_dtype, wrong_type
from mindtorch._core.tensor.copy_cast cimport convert
from mindtorch._core.tensor.dtype cimport (
    DTYPES, FLOAT_KIND, KIND, Double, Float, ScalarType, Undefined, dtype as dtype_class,
)
from mindtorch._core.tensor.tensor cimport CPU, NPU, device


cdef extern from *:
    """
    static _Thread_local unsigned int mindtorch_autocast_devices;
    static _Thread_local int mindtorch_autocast_dtypes[6] = {15, 5, 5, 5, 5, 5};
    static _Thread_local int mindtorch_autocast_uncached;
    static _Thread_local int mindtorch_autocast_nesting;
    """
    unsigned int mindtorch_autocast_devices        # a bit for each that autocast is on for
    int mindtorch_autocast_dtypes[6]               # ScalarType: bfloat16 on the CPU, else float16
    int mindtorch_autocast_uncached
    int mindtorch_autocast_nesting

threads = 0
cdef dict CACHE = {}        # (id of a parameter, dtype) -> (the parameter, its cast), until the outermost region ends

REFUSAL = ("torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
           "Many models use a sigmoid layer right before the binary cross entropy layer.\n"
           "In this case, combine the two layers using torch.nn.functional.binary_cross_entropy_with_logits\n"
           "or torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits are\n"
           "safe to autocast.")


cdef void resume(unsigned int devices) noexcept:
    global threads, mindtorch_autocast_devices
    threads += <int>(devices != 0) - <int>(mindtorch_autocast_devices != 0)
    mindtorch_autocast_devices = devices


cdef unsigned int suspend() noexcept:
    cdef unsigned int before
    if not threads:
        return 0
    before = mindtorch_autocast_devices
    resume(0)
    return before


# --- what happens to arguments ---------------------------------------------------------------------------------------

cdef unsigned int devices_of(object arguments) noexcept:
    """A bit for each device that some tensor lies on."""
    cdef unsigned int found = 0
    for argument in arguments:
        if isinstance(argument, TensorBase):
            found |= 1u << (<TensorBase>argument).device_type
        elif isinstance(argument, (list, tuple)):
            found |= devices_of(argument)
    return found


cdef int device_for(object arguments) noexcept:
    """The device whose policy holds, an accelerator before the CPU; -1 where autocast is off for all there are."""
    cdef unsigned int devices = mindtorch_autocast_devices
    if devices:
        devices &= devices_of(arguments)
    return NPU if devices & (1u << NPU) else CPU if devices & (1u << CPU) else -1


cdef inline bint eligible(TensorBase tensor, int device_type) noexcept:
    return (tensor.device_type == device_type and KIND[<int>tensor.dtype] == FLOAT_KIND
            and tensor.dtype != Double)


cdef ScalarType widest(object arguments, ScalarType lowest, int device_type) except *:
    """float32 where that is among them, else the dtype of the region; RuntimeError for the other half."""
    cdef ScalarType found = lowest, given
    for argument in arguments:
        if isinstance(argument, (list, tuple)):
            found = widest(argument, found, device_type)
        elif isinstance(argument, TensorBase) and eligible(<TensorBase>argument, device_type):
            given = (<TensorBase>argument).dtype
            if given == Float or found == Float:
                found = Float
            elif given != found:
                raise RuntimeError("Unexpected floating ScalarType in at::autocast::prioritize")
    return found


cdef bint is_parameter(TensorBase tensor):
    """Whether the cast will be wanted again: of a leaf that learns."""
    cdef AutogradMeta meta = tensor.autograd
    return (meta is not None and meta.requires_grad and meta.grad_fn is None and tensor.base is None
            and tensor.dtype == Float and not mindtorch_autocast_uncached and not inference_enabled())


cdef TensorBase cast_tensor(TensorBase tensor, ScalarType goal, int device_type):
    cdef TensorBase result
    cdef bint recorded
    if tensor.dtype == goal or not eligible(tensor, device_type):
        return tensor
    if goal == Float or not is_parameter(tensor):
        return convert(tensor, goal, device_type, tensor.device_index, False, False)
    key = (id(tensor), <int>goal)
    found = CACHE.get(key)
    if found is not None:
        return (<tuple>found)[1]
    # Recorded even where nothing else is: what comes later in the region may be.
    recorded = set_grad_enabled(True)
    try:
        result = convert(tensor, goal, device_type, tensor.device_index, False, False)
    finally:
        set_grad_enabled(recorded)
    CACHE[key] = (tensor, result)
    return result


cdef object cast_argument(object argument, ScalarType goal, int device_type):
    if isinstance(argument, TensorBase):
        return cast_tensor(<TensorBase>argument, goal, device_type)
    if isinstance(argument, list):
        return [cast_argument(one, goal, device_type) for one in argument]
    if isinstance(argument, tuple):
        return tuple([cast_argument(one, goal, device_type) for one in argument])
    return argument


cdef tuple cast_for(int device_type, int policy, tuple arguments):
    cdef ScalarType goal = Float
    if policy == NOT_LISTED:
        return arguments
    if policy == BANNED:
        raise RuntimeError(REFUSAL)
    if policy == FP32_SET_OPT_DTYPE:          # the first decides; casting it gives the result that dtype
        return (cast_argument(arguments[0], Float, device_type), *arguments[1:])
    if policy == LOWER_PRECISION_FP:
        goal = <ScalarType>mindtorch_autocast_dtypes[device_type]
    elif policy == PROMOTE:
        goal = widest(arguments, <ScalarType>mindtorch_autocast_dtypes[device_type], device_type)
    return cast_argument(arguments, goal, device_type)


cdef tuple cast(int cpu, int npu, tuple arguments):
    cdef int device_type = device_for(arguments)
    if device_type < 0:
        return arguments
    return cast_for(device_type, npu if device_type == NPU else cpu, arguments)


cdef tuple cast_listed(str name, tuple arguments):
    """`cast` for a function that has no row: the policies of the list's `name`."""
    cpu, npu = _POLICIES[name]
    return cast(cpu, npu, arguments)


def casting(name):
    """Decorator of functions that are written with other operators: their arguments are cast as _ops/autocast.toml says
    of `name`, and inside nothing else is.
    """
    cpu, npu = _POLICIES[name]

    def decorate(function):
        @functools.wraps(function)
        def call(*args, **kwargs):
            if not threads or kwargs.get("out") is not None:
                return function(*args, **kwargs)
            return call_cast(function, cpu, npu, args, kwargs)
        DECORATED.add(name)
        return call
    return decorate


def without_autocast(function):
    """Decorator of functions that are kernels in torch, and operators here: those cast nothing."""
    @functools.wraps(function)
    def call(*args, **kwargs):
        cdef unsigned int before
        if not threads:
            return function(*args, **kwargs)
        before = suspend()
        try:
            return function(*args, **kwargs)
        finally:
            resume(before)
    return call


DECORATED = set()           # what has `casting`, for the test that nothing of the lists was forgotten


cdef object call_cast(object function, int cpu, int npu, tuple args, dict kwargs):
    cdef tuple values = (*args, *kwargs.values())
    cdef int device_type = device_for(values), policy
    cdef unsigned int before = mindtorch_autocast_devices
    if device_type < 0:
        return function(*args, **kwargs)
    policy = npu if device_type == NPU else cpu
    if policy == NOT_LISTED:
        return function(*args, **kwargs)
    if not (policy == FP32_SET_OPT_DTYPE and any([isinstance(value, dtype_class) for value in values])):
        values = cast_for(device_type, policy, values)
    resume(before & ~(1u << device_type))
    try:
        return function(*values[:len(args)], **dict(zip(kwargs, values[len(args):])))
    finally:
        resume(before)


# --- the state -------------------------------------------------------------------------------------------------------

cdef int state_of(object device_type, str function) except -1:
    if not isinstance(device_type, str):
        wrong_type(device_type, function.encode(), b"device_type", 1, "str")
    return (<device>device(device_type)).type_code


def is_autocast_enabled(device_type="cuda"):
    """Whether autocast is on for that type of device, in this thread."""
    return bool(mindtorch_autocast_devices & (1u << state_of(device_type, "is_autocast_enabled")))


def set_autocast_enabled(device_type, enabled=None):
    """Turn autocast on or off for a type of device, in this thread; with one argument, a bool, for "cuda"."""
    if enabled is None:
        require_bool(device_type, b"set_autocast_enabled", b"enabled", 1)
        device_type, enabled = "cuda", device_type
    cdef unsigned int bit = 1u << state_of(device_type, "set_autocast_enabled")
    if not isinstance(enabled, bool):
        wrong_type(enabled, b"set_autocast_enabled", b"enabled", 2, "bool")
    resume(mindtorch_autocast_devices | bit if enabled else mindtorch_autocast_devices & ~bit)


def get_autocast_dtype(device_type):
    """The dtype that autocast gives what is fast in it: bfloat16 on the CPU, else float16, unless set otherwise."""
    return DTYPES[mindtorch_autocast_dtypes[state_of(device_type, "get_autocast_dtype")]]


def set_autocast_dtype(device_type, dtype):
    """Set that dtype for a type of device, in this thread."""
    cdef int state = state_of(device_type, "set_autocast_dtype")
    if dtype is None:
        wrong_type(dtype, b"set_autocast_dtype", b"dtype", 2, "torch.dtype")
    mindtorch_autocast_dtypes[state] = require_dtype(dtype, Undefined, b"set_autocast_dtype", b"dtype", 2)


def is_autocast_cache_enabled():
    """Whether a parameter is cast once a region, in this thread, rather than for each operator."""
    return not mindtorch_autocast_uncached


def set_autocast_cache_enabled(enabled):
    """Set that for this thread."""
    global mindtorch_autocast_uncached
    if not isinstance(enabled, bool):
        raise TypeError(f"enabled must be a bool (got {type(enabled).__name__})")
    mindtorch_autocast_uncached = not enabled


def clear_autocast_cache():
    """Forget the casts of parameters, which the outermost region does when it ends."""
    CACHE.clear()


def autocast_increment_nesting():
    """One more region is open in this thread; how many that makes."""
    global mindtorch_autocast_nesting
    mindtorch_autocast_nesting += 1
    return mindtorch_autocast_nesting


def autocast_decrement_nesting():
    """One region less is open in this thread; how many that leaves."""
    global mindtorch_autocast_nesting
    mindtorch_autocast_nesting -= 1
    return mindtorch_autocast_nesting


def autocast_nesting():
    """How many regions are open in this thread."""
    return mindtorch_autocast_nesting


def close_regions(int nesting):
    """Close the regions that were opened in this thread since `nesting` were open, and never left."""
    global mindtorch_autocast_nesting
    if mindtorch_autocast_nesting != nesting:
        mindtorch_autocast_nesting = nesting
        if nesting == 0:
            clear_autocast_cache()


def exchange(device_type, enabled, dtype, cache_enabled):
    """Set what a region sets, with set_autocast_enabled and its like; gives the arguments that undo it."""
    before = (device_type, is_autocast_enabled(device_type), get_autocast_dtype(device_type),
              is_autocast_cache_enabled())
    set_autocast_dtype(device_type, dtype)
    set_autocast_enabled(device_type, bool(enabled))
    set_autocast_cache_enabled(bool(cache_enabled))
    return before


def get_state():
    """All of it, for all types of devices, in this thread, but how many regions are open: for set_state."""
    return mindtorch_autocast_devices, tuple([mindtorch_autocast_dtypes[i] for i in range(3)]), \
        mindtorch_autocast_uncached


def set_state(tuple state):
    """Make the state what get_state gave, in any thread."""
    global mindtorch_autocast_uncached
    devices, dtypes, mindtorch_autocast_uncached = state
    resume(devices)
    for i in range(3):
        mindtorch_autocast_dtypes[i] = dtypes[i]
