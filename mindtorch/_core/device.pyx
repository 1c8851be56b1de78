"""torch.device, the default device, and the table of backends."""
import threading

from mindtorch._core.dtype cimport ITEMSIZE
from mindtorch._core.tensor cimport TensorBase, make_tensor


# The first DEVICE_TYPES have a backend. The others torch knows: programs ask whether a tensor is there.
cdef tuple NAMES = ("cpu", "npu", "cuda", "meta", "mps", "xpu")
cdef enum:
    MAX_INDEX = 2147483647

COMBINATIONS = " * (torch.device device)\n{hint} * (str type, int index = -1)\n"


cdef class device:
    """A kind of device and, where given, which one of them: `torch.device("npu:1")`, `torch.device("npu", 1)`."""

    def __init__(self, *args, **kwargs):
        if kwargs:
            args = merge_keywords(args, kwargs)
        if len(args) == 1:
            self.set_from(args[0])
        elif len(args) == 2:
            self.set_pair(args[0], args[1])
        else:
            no_combination(args, "")

    cdef int set_from(self, object value) except -1:
        if isinstance(value, device):
            self.type_code = (<device>value).type_code
            self.raw_index = (<device>value).raw_index
        elif isinstance(value, str):
            parse(value, &self.type_code, &self.raw_index)
        elif isinstance(value, bytes):
            parse(value.decode(), &self.type_code, &self.raw_index)
        elif isinstance(value, int) and not isinstance(value, bool):
            self.type_code = NPU
            self.raw_index = checked_index(value)
        else:
            hint = f"      didn't match because some of the arguments have invalid types: (!{type(value).__name__}!)\n"
            no_combination((value,), hint)
        return 0

    cdef int set_pair(self, object name, object index) except -1:
        if not isinstance(name, str):
            shown = "torch.device" if isinstance(name, device) else type(name).__name__
            raise TypeError(f"device(): argument 'type' (position 1) must be str, not {shown}")
        if not isinstance(index, int) or isinstance(index, bool):
            raise TypeError(f"device(): argument 'index' (position 2) must be int, not {type(index).__name__}")
        parse(name, &self.type_code, &self.raw_index)
        if self.raw_index >= 0:
            raise RuntimeError(f"type (string) must not include an index because index was passed explicitly: {name}")
        self.raw_index = checked_index(index)
        return 0

    @property
    def type(self):
        return NAMES[self.type_code]

    @property
    def index(self):
        return None if self.raw_index < 0 else self.raw_index

    def __repr__(self):
        if self.raw_index < 0:
            return f"device(type='{NAMES[self.type_code]}')"
        return f"device(type='{NAMES[self.type_code]}', index={self.raw_index})"

    def __str__(self):
        return NAMES[self.type_code] if self.raw_index < 0 else f"{NAMES[self.type_code]}:{self.raw_index}"

    def __eq__(self, other):
        if not isinstance(other, device):
            return NotImplemented
        return self.type_code == (<device>other).type_code and self.raw_index == (<device>other).raw_index

    def __hash__(self):
        return hash((self.type_code, self.raw_index))

    def __reduce__(self):
        return device, ((self.type,) if self.raw_index < 0 else (self.type, self.raw_index))

    def __enter__(self):
        """Inside the `with`, factory functions make their tensors on this device (in this thread)."""
        push_default(self)
        return self

    def __exit__(self, *exception):
        pop_default()


cdef tuple merge_keywords(tuple args, dict kwargs):
    if not args and len(kwargs) == 1 and "device" in kwargs:
        return (kwargs["device"],)
    names = ("type", "index")[len(args):]
    for name in kwargs:
        if name not in names:
            raise TypeError(f"device() got an unexpected keyword argument '{name}'")
    return args + tuple(kwargs[name] for name in names if name in kwargs)


cdef int no_combination(tuple args, str hint) except -1:
    shown = ", ".join(type(a).__name__ for a in args)
    raise TypeError(f"device() received an invalid combination of arguments - got ({shown}), but expected one of:\n"
                    + COMBINATIONS.format(hint=hint))


cdef int checked_index(object index) except -1:
    if index < 0:
        raise RuntimeError("Device index must not be negative")
    if index > MAX_INDEX:
        raise RuntimeError(f"Device index {index} is out of range")
    return index


cdef int parse(str text, int *type_code, int *index) except -1:
    """"npu" or "npu:1", written exactly so: no blanks, signs or leading zeros."""
    if not text:
        raise RuntimeError("Device string must not be empty")
    name, colon, digits = text.partition(":")
    if name not in NAMES:
        if name.startswith(NAMES) or name.strip() in NAMES:
            raise RuntimeError(f"Invalid device string: '{text}'")
        known = ", ".join(NAMES[:DEVICE_TYPES])
        raise RuntimeError(f"Expected one of {known} device type at start of device string: {name}")
    type_code[0] = NAMES.index(name)
    index[0] = -1
    if colon:
        if not (digits.isascii() and digits.isdigit()) or (digits[0] == "0" and digits != "0"):
            raise RuntimeError(f"Invalid device string: '{text}'")
        if int(digits) > MAX_INDEX:
            raise RuntimeError(f"Could not parse device index '{digits}' in device string '{text}'")
        index[0] = int(digits)
    return 0


cdef device make_device(int type_code, int index):
    cdef device made = device.__new__(device)
    made.type_code = type_code
    made.raw_index = index
    return made


cdef device THE_CPU = make_device(CPU, -1)
cdef list NPUS = []


cdef device device_of(TensorBase tensor):
    if tensor.device_type == CPU:
        return THE_CPU
    while len(NPUS) <= tensor.device_index:
        NPUS.append(make_device(NPU, len(NPUS)))
    return <device>NPUS[tensor.device_index]


# --- the default device ----------------------------------------------------------------------------------------------

cdef device DEFAULT = THE_CPU
cdef int SCOPES = 0                   # `with device:` blocks open in any thread; 0 spares the look-up
THREAD = threading.local()


cdef int push_default(device chosen) except -1:
    global SCOPES
    THREAD.__dict__.setdefault("scopes", []).append(chosen)
    SCOPES += 1
    return 0


cdef int pop_default() except -1:
    global SCOPES
    THREAD.scopes.pop()
    SCOPES -= 1
    return 0


cdef device default_device():
    if SCOPES:
        scopes = getattr(THREAD, "scopes", None)
        if scopes:
            return <device>scopes[len(scopes) - 1]
    return DEFAULT


def set_default_device(device_or_none):
    """Set the device on which factory functions make tensors when none is given; None goes back to the CPU."""
    global DEFAULT
    DEFAULT = THE_CPU if device_or_none is None else device(device_or_none)


def get_default_device():
    """The device on which factory functions make tensors when none is given."""
    cdef int type_code, index
    resolve(None, &type_code, &index)
    return THE_CPU if type_code == CPU else make_device(type_code, index)


cdef dict NAMED = {}                   # what strings have been read as: `device="npu"` stands in many loops


cdef device named_device(str name):
    cdef device known = NAMED.get(name)
    if known is None:
        known = NAMED[name] = device(name)
    return known


cdef int resolve(object device_or_none, int *type_code, int *index) except -1:
    cdef device chosen
    if device_or_none is None:
        chosen = default_device()
    elif isinstance(device_or_none, device):
        chosen = <device>device_or_none
    elif isinstance(device_or_none, str):
        chosen = named_device(device_or_none)
    elif isinstance(device_or_none, int) and not isinstance(device_or_none, bool):
        chosen = device(device_or_none)
    else:
        raise TypeError(f"argument 'device' must be torch.device, not {type(device_or_none).__name__}")
    type_code[0] = chosen.type_code
    if chosen.type_code >= DEVICE_TYPES:
        no_such_device(chosen.type)
    if not BACKENDS[chosen.type_code].ready:
        require_backend(chosen.type_code)
    if chosen.type_code == CPU:
        index[0] = 0                  # there is one CPU, whatever index it is given
    else:
        index[0] = chosen.raw_index if chosen.raw_index >= 0 else BACKENDS[chosen.type_code].current_index()
    return 0


cdef int no_such_device(str name) except -1:
    if name in ("cuda", "xpu"):
        raise AssertionError(f"Torch not compiled with {name.upper()} enabled")
    known = " and ".join(NAMES[:DEVICE_TYPES])
    raise NotImplementedError(f"mindtorch has no tensors on device '{name}', only on {known}")


cdef int require_backend(int type_code) except -1:
    if BACKENDS[type_code].ready:
        return 0
    from mindtorch._core import hooks
    hooks.load_backend(NAMES[type_code])
    if not BACKENDS[type_code].ready:
        raise RuntimeError(f"the {NAMES[type_code]} backend has been loaded but has not registered itself")
    return 0


cdef int require_host(int type_code) except -1:
    if type_code != CPU:
        raise RuntimeError("Only dense CPU tensors can be pinned")
    return 0


cdef TensorBase pinned_like(TensorBase made):
    require_host(made.device_type)
    require_backend(NPU)
    return make_tensor(BACKENDS[<int>NPU].allocate_pinned(made.numel * ITEMSIZE[<int>made.dtype]), made.dtype,
                       made.ndim, made.sizes, made.strides, 0)


cdef int copy_data(TensorBase dst, TensorBase src, bint non_blocking) except -1:
    cdef int served_by = NPU if dst.device_type == NPU or src.device_type == NPU else CPU
    if not BACKENDS[served_by].ready:
        require_backend(served_by)
    return BACKENDS[served_by].copy(dst, src, non_blocking)
