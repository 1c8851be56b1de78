"""Reads pickles of tensors and containers, and rejects every global that is not allowed.

It interprets the opcodes itself, because Python's Unpickler would let a file call and change any object that it can
name, also an allowed one.
"""
import _compat_pickle
import struct
from collections import Counter, OrderedDict
from functools import cache
from pickle import UnpicklingError, decode_long
from types import FunctionType

import mindtorch
from mindtorch import _utils
from mindtorch._core import formats

# Rejected even if the user allows them.
BLOCKED_MODULES = {"os", "posix", "nt", "sys", "subprocess", "importlib", "runpy", "ctypes"}
MALFORMED = (ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, RecursionError, TypeError, ValueError,
             struct.error)

# Classes in torch's files besides dense tensors.
_OTHER_KINDS = {
    "torch._utils._rebuild_qtensor": "quantized tensors", "torch._utils._rebuild_nested_tensor": "nested tensors"}
_OTHER_DTYPES = {"torch.complex32", "torch.float4_e2m1fn_x2"}

_TAKE_TENSORS = (_utils._rebuild_tensor, _utils._rebuild_tensor_v2, _utils._rebuild_tensor_v3,
                 _utils._rebuild_parameter, _utils._rebuild_parameter_with_state,
                 _utils._rebuild_meta_tensor_no_storage, _utils._rebuild_sparse_tensor)
MOST_NESTED = 1000      # items that the tuples of a key may have, each counted wherever it occurs

user_globals = []


def _bytearray(*args):
    if args and isinstance(args[0], int):
        raise UnpicklingError("bytearray of a number is not loaded: the file does not hold its bytes")
    return bytearray(*args)


def _encode(text, encoding="latin1"):
    """bytes, as protocol 2 writes them."""
    if type(text) is not str:
        raise UnpicklingError(f"_codecs.encode takes a text, not {type(text)}")
    if encoding not in ("latin1", "latin-1"):
        raise UnpicklingError(f"_codecs.encode is known for latin1 only, not for {encoding!r}")
    return text.encode("latin1")


@cache
def default_globals():
    """The names that every file may use: full name -> object."""
    names = {f"torch.{name}": kind for name, kind in _utils.STORAGE_TYPES.items()}
    names.update({str(dtype): dtype for dtype in vars(mindtorch).values() if isinstance(dtype, mindtorch.dtype)})
    names.update({f"torch._utils.{function.__name__}": function for function in _TAKE_TENSORS})
    names.update({
        "torch._utils._rebuild_wrapper_subclass": _utils._rebuild_wrapper_subclass,
        "torch.strided": mindtorch.strided, "torch.Tensor": mindtorch.Tensor,
        "torch._tensor._rebuild_from_type_v2": _utils._rebuild_from_type_v2,
        "torch.serialization._get_layout": formats._get_layout,
        "torch.storage.UntypedStorage": _utils.UNTYPED_STORAGE, "torch.Size": mindtorch.Size,
        "torch.device": mindtorch.device, "collections.OrderedDict": OrderedDict, "collections.Counter": Counter,
        "builtins.set": set, "builtins.complex": complex, "builtins.bytearray": _bytearray, "_codecs.encode": _encode})
    return names


def full_name(module, name):
    """A global's name as files write it: under torch where it is mindtorch's."""
    if module.partition(".")[0] == "mindtorch":
        module = "torch" + module[len("mindtorch"):]
    return f"{module}.{name}"


def listed_globals():
    """The names that add_safe_globals was given: full name -> object."""
    names = {}
    for entry in user_globals:
        if isinstance(entry, tuple):
            names[entry[1]] = entry[0]
        else:
            names[full_name(entry.__module__, entry.__qualname__)] = entry
    return names


def refuse_kind(full):
    """NotImplementedError for a global that stands for a kind of tensor which mindtorch does not have."""
    kind = f"tensors of {full}" if full in _OTHER_DTYPES else _OTHER_KINDS.get(full)
    if kind is not None:
        raise NotImplementedError(f"The file holds {kind}, which mindtorch does not have ({full}).")


def plain_name(module, name):
    """(module, name) under the names of Python 3: protocol 2 writes those of Python 2."""
    module, name = _compat_pickle.NAME_MAPPING.get((module, name), (module, name))
    return _compat_pickle.IMPORT_MAPPING.get(module, module), name


def checked_keys(keys):
    """The keys of a dict, or items of a set. UnpicklingError where one is nested too far.

    Python's hash of a tuple is a recursion in C without a limit, and takes an item anew wherever it occurs; so does a
    comparison.
    """
    for key in keys:
        waiting, count = [key], 0
        while waiting:
            item = waiting.pop()
            if isinstance(item, (tuple, frozenset)):
                count += len(item)
                if count > MOST_NESTED:
                    raise UnpicklingError(f"a key has more than {MOST_NESTED} items")
                waiting.extend(item)
    return keys


def _described(named):
    """The name of a class or function; of other objects only the class, since a file could make their text huge."""
    return str(named) if isinstance(named, (type, FunctionType)) else f"an object of {type(named)}"


def _check_call(function, args):
    """UnpicklingError for arguments with which an allowed function would not terminate."""
    if any(isinstance(arg, mindtorch.Tensor) for arg in args) and function not in _TAKE_TENSORS:
        raise UnpicklingError(f"{_described(function)} is called with a tensor")
    if function not in (set, OrderedDict, Counter):
        return
    for content in args:
        if type(content) not in (list, tuple, dict, set, frozenset):
            raise UnpicklingError(f"{function.__name__} is made of a {type(content)}")
        pairs = function is OrderedDict and type(content) is not dict
        if pairs and not all(type(pair) in (list, tuple) and len(pair) == 2 for pair in content):
            raise UnpicklingError("OrderedDict is made of items that are no pairs")
        checked_keys([key for key, _ in content] if pairs else content)


OPCODES = {}


def _opcode(code):
    def add(method):
        OPCODES[code] = method
        return method
    return add


class Unpickler:
    """Reads one pickle from `data` (bytes). `persistent_load(id)` gives the storages."""

    def __init__(self, data, persistent_load):
        self.data = data
        self.position = 0
        self.persistent_load = persistent_load
        self.stack = []
        self.marks = []
        self.memo = {}
        self.own = listed_globals()
        self.allowed = {**self.own, **default_globals()}

    def load(self):
        """The object. UnpicklingError for disallowed globals and malformed pickles."""
        try:
            while True:
                code = self.read(1)
                if code == b".":
                    return self.stack.pop()
                if code not in OPCODES:
                    raise UnpicklingError(f"Unsupported operand {code[0]}")
                OPCODES[code](self)
        except MALFORMED as error:
            raise UnpicklingError(f"the pickle is malformed at byte {self.position}: {error!r}") from error

    def read(self, size):
        """The next bytes of the pickle."""
        start, self.position = self.position, self.position + size
        if size < 0 or self.position > len(self.data):
            raise EOFError("Ran out of input")
        return self.data[start:self.position]

    def line(self):
        """The rest of the line, without its end."""
        return self.read(self.data.index(b"\n", self.position) + 1 - self.position)[:-1].decode()

    def number(self, form):
        """The next number, in the form of `struct`."""
        return struct.unpack(form, self.read(struct.calcsize(form)))[0]

    def items(self):
        """Takes what lies above the last mark off the stack."""
        mark = self.marks.pop()
        items = self.stack[mark:]
        if len(self.stack) < mark:
            raise IndexError("the stack has fewer objects than the mark says")
        del self.stack[mark:]
        return items

    def top(self, *kinds):
        """The object on the stack, which must be one of those classes exactly."""
        if type(self.stack[-1]) not in kinds:
            raise UnpicklingError(f"items are added to {type(self.stack[-1])}, not to one of {kinds}")
        return self.stack[-1]

    def find_global(self, module, name):
        module, name = plain_name(module, name)
        full = f"{module}.{name}"
        if module.partition(".")[0] in BLOCKED_MODULES:
            raise UnpicklingError(f"Trying to load unsupported GLOBAL {full} whose module {module} is blocked.")
        if full in self.allowed:
            return self.allowed[full]
        refuse_kind(full)
        raise UnpicklingError(
            f"Unsupported global: GLOBAL {full} was not an allowed global by default. Please use "
            f"`torch.serialization.add_safe_globals([{full}])` or the `torch.serialization.safe_globals([{full}])` "
            "context manager to allowlist this global if you trust this class/function.")

    def is_listed(self, obj, names):
        return any(obj is known for known in names.values())


# --- constants: opcode -> what it pushes ------------------------------------------------------------------------------

_CONSTANTS = {
    b"N": lambda u: None, b"\x88": lambda u: True, b"\x89": lambda u: False, b")": lambda u: (), b"]": lambda u: [],
    b"}": lambda u: {}, b"\x8f": lambda u: set(), b"K": lambda u: u.number("<B"), b"M": lambda u: u.number("<H"),
    b"J": lambda u: u.number("<i"), b"G": lambda u: u.number(">d"),
    b"\x8a": lambda u: decode_long(u.read(u.number("<B"))), b"\x8b": lambda u: decode_long(u.read(u.number("<i"))),
    b"X": lambda u: str(u.read(u.number("<I")), "utf-8", "surrogatepass"),
    b"\x8c": lambda u: str(u.read(u.number("<B")), "utf-8", "surrogatepass"),
    b"\x8d": lambda u: str(u.read(u.number("<Q")), "utf-8", "surrogatepass"),
    b"U": lambda u: u.read(u.number("<B")).decode("latin1"), b"T": lambda u: u.read(u.number("<i")).decode("latin1"),
    b"C": lambda u: u.read(u.number("<B")), b"B": lambda u: u.read(u.number("<I")),
    b"\x8e": lambda u: u.read(u.number("<Q")), b"h": lambda u: u.memo[u.number("<B")],
    b"j": lambda u: u.memo[u.number("<I")], b"t": lambda u: tuple(u.items()), b"l": lambda u: u.items(),
    b"\x91": lambda u: frozenset(checked_keys(u.items())), b"c": lambda u: u.find_global(u.line(), u.line()),
}


def _push(make):
    def push(unpickler):
        unpickler.stack.append(make(unpickler))
    return push


OPCODES.update({code: _push(make) for code, make in _CONSTANTS.items()})


# --- the others -------------------------------------------------------------------------------------------------------

@_opcode(b"\x80")
def _protocol(u):
    version = u.number("<B")
    if not 2 <= version <= 5:
        raise UnpicklingError(f"Unsupported pickle protocol {version}")


@_opcode(b"\x95")
def _frame(u):
    if u.number("<Q") > len(u.data) - u.position:
        raise EOFError("Ran out of input")


@_opcode(b"(")
def _mark(u):
    u.marks.append(len(u.stack))


@_opcode(b"q")
def _put(u):
    u.memo[u.number("<B")] = u.stack[-1]


@_opcode(b"r")
def _long_put(u):
    u.memo[u.number("<I")] = u.stack[-1]


@_opcode(b"\x94")
def _memoize(u):
    u.memo[len(u.memo)] = u.stack[-1]


@_opcode(b"\x93")
def _stack_global(u):
    name, module = u.stack.pop(), u.stack.pop()
    if type(name) is not str or type(module) is not str:
        raise UnpicklingError("STACK_GLOBAL requires str")
    u.stack.append(u.find_global(module, name))


@_opcode(b"\x85")
def _tuple1(u):
    u.stack[-1:] = [(u.stack[-1],)]


@_opcode(b"\x86")
def _tuple2(u):
    u.stack[-2:] = [(u.stack[-2], u.stack[-1])]


@_opcode(b"\x87")
def _tuple3(u):
    u.stack[-3:] = [(u.stack[-3], u.stack[-2], u.stack[-1])]


@_opcode(b"a")
def _append(u):
    item = u.stack.pop()
    u.top(list).append(item)


@_opcode(b"e")
def _appends(u):
    items = u.items()
    u.top(list).extend(items)


@_opcode(b"s")
def _set_item(u):
    value, key = u.stack.pop(), u.stack.pop()
    checked_keys([key])
    u.top(dict, OrderedDict, Counter)[key] = value


@_opcode(b"u")
def _set_items(u):
    items = u.items()
    u.top(dict, OrderedDict, Counter).update(zip(checked_keys(items[::2]), items[1::2], strict=True))


@_opcode(b"\x90")
def _add_items(u):
    items = u.items()
    u.top(set).update(checked_keys(items))


@_opcode(b"Q")
def _persistent_id(u):
    u.stack.append(u.persistent_load(u.stack.pop()))


@_opcode(b"R")
def _reduce(u):
    args, function = u.stack.pop(), u.stack[-1]
    if not u.is_listed(function, u.allowed) or function is mindtorch.Tensor:
        raise UnpicklingError(f"Trying to call reduce for unrecognized function, {_described(function)}")
    if type(args) is not tuple:
        raise UnpicklingError("the arguments of a call are no tuple")
    if not u.is_listed(function, u.own):
        _check_call(function, args)
    u.stack[-1] = function(*args)


@_opcode(b"\x81")
def _new_object(u):
    args, cls = u.stack.pop(), u.stack.pop()
    if cls is OrderedDict or cls is set or (isinstance(cls, type) and u.is_listed(cls, u.own)):
        u.stack.append(cls.__new__(cls, *args))
        return
    raise UnpicklingError(f"Trying to create new object for unrecognized class, {_described(cls)}")


@_opcode(b"b")
def _build(u):
    state, made = u.stack.pop(), u.stack[-1]
    if type(made) is OrderedDict or isinstance(made, mindtorch.Tensor):
        _utils.set_attributes(made, state)
        return
    if not u.is_listed(type(made), u.own):
        raise UnpicklingError("Can only build Tensor, Parameter, OrderedDict or types allowlisted via "
                              f"`add_safe_globals`, but got {type(made)}")
    if hasattr(made, "__setstate__"):
        made.__setstate__(state)
        return
    attributes, slots = state if type(state) is tuple and len(state) == 2 else (state, None)
    for name, value in {**(attributes or {}), **(slots or {})}.items():
        setattr(made, name, value)
