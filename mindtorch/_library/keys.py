"""Dispatch keys, under which kernels are registered and looked up.

The NPU is torch's PrivateUse1, as under torch_npu. A call goes through autocast and autograd down to the kernel of its
tensors' device; keys of other devices can be named, and their kernels are kept, but no tensor here leads to them.
"""
import threading
from enum import Enum

from mindtorch._core.operators.autocast import is_autocast_enabled
from mindtorch._core.tensor.tensor import device as Device

__all__ = ["AutoDispatchBelowAutograd", "DispatchKey", "DispatchKeySet", "ExcludeDispatchKeyGuard", "backend_of",
           "casting", "dispatch_tls_local_exclude_set", "excluded", "key_of_device", "parse_key"]

_BACKENDS = ("CPU", "CUDA", "HIP", "XLA", "MPS", "IPU", "XPU", "HPU", "VE", "Lazy", "MTIA", "MAIA", "PrivateUse1",
             "PrivateUse2", "PrivateUse3", "Meta")
_AUTOCAST = ("CPU", "MTIA", "MAIA", "XPU", "IPU", "HPU", "XLA", "MPS", "CUDA", "PrivateUse1")
# From the innermost to the outermost, then the names that stand for several.
_NAMES = ("Undefined", *_BACKENDS, "BackendSelect", "Python", "ADInplaceOrView", "AutogradOther",
          *(f"Autograd{name}" for name in _BACKENDS), *(f"Autocast{name}" for name in _AUTOCAST),
          "Autograd", "CompositeImplicitAutograd", "CompositeExplicitAutograd")

DispatchKey = Enum("DispatchKey", {name: place for place, name in enumerate(_NAMES)}, module="torch")
_DEVICES = {name.lower(): name for name in _BACKENDS} | {"npu": "PrivateUse1", "privateuseone": "PrivateUse1"}
_KNOWN_DEVICES = ("cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, mps, "
                  "meta, hpu, mtia, privateuseone")


class DispatchKeySet:
    """A set of keys: `|`, `&` and `-` of sets, `has` of a key."""

    def __init__(self, *keys):
        self._keys = frozenset(keys)

    def __or__(self, other):
        return DispatchKeySet(*(self._keys | other._keys))

    def __and__(self, other):
        return DispatchKeySet(*(self._keys & other._keys))

    def __sub__(self, other):
        return DispatchKeySet(*(self._keys - other._keys))

    def __eq__(self, other):
        return isinstance(other, DispatchKeySet) and self._keys == other._keys

    def __hash__(self):
        return hash(self._keys)

    def __repr__(self):
        return f"DispatchKeySet({', '.join(sorted((key.name for key in self._keys), key=_NAMES.index))})"

    def has(self, key):
        """Whether the key is in the set."""
        return key in self._keys

    def add(self, key):
        """The set with that key."""
        return DispatchKeySet(*self._keys, key)

    def remove(self, key):
        """The set without that key."""
        return DispatchKeySet(*(self._keys - {key}))

    @property
    def names(self):
        """The keys' names."""
        return frozenset(key.name for key in self._keys)


def parse_key(name):
    """The name of the key that `name` means; "NPU" and "AutogradNPU" are PrivateUse1's. RuntimeError for others."""
    name = name.name if isinstance(name, DispatchKey) else name
    own = name.replace("NPU", "PrivateUse1")
    if own not in DispatchKey.__members__:
        raise RuntimeError(f"could not parse dispatch key: {name}")
    return own


def key_of_device(kind):
    """The key of a type of device: "npu" -> "PrivateUse1"."""
    if kind not in _DEVICES:
        raise RuntimeError(f"Expected one of {_KNOWN_DEVICES} device type at start of device string: {kind}")
    return _DEVICES[kind]


class _State(threading.local):
    excluded = frozenset()


_state = _State()
_AUTOGRAD = frozenset(name for name in _NAMES if name.startswith(("Autograd", "ADInplace")))


def excluded():
    """The names of the keys that this thread excludes."""
    return _state.excluded


def dispatch_tls_local_exclude_set():
    """What `excluded` gives, as a set of keys."""
    return DispatchKeySet(*(DispatchKey[name] for name in _state.excluded))


class ExcludeDispatchKeyGuard:
    """Context manager: calls of operators skip the kernels of these keys."""

    def __init__(self, keys):
        self._names = keys.names if isinstance(keys, DispatchKeySet) else frozenset(keys)

    def __enter__(self):
        self._before = _state.excluded
        _state.excluded = self._before | self._names
        return self

    def __exit__(self, *error):
        _state.excluded = self._before


class AutoDispatchBelowAutograd(ExcludeDispatchKeyGuard):
    """Context manager: calls skip autograd kernels, which would otherwise recurse."""

    def __init__(self):
        super().__init__(_AUTOGRAD)


def casting(backend):
    """Whether autocast is on, in this thread, for the device of that key."""
    kind = {"CPU": "cpu", "PrivateUse1": "npu"}.get(backend)
    return kind is not None and is_autocast_enabled(kind)


def backend_of(tensors, others=()):
    """The key of the device that a call with those tensors runs on; "Undefined" without a tensor and a device."""
    kinds = {tensor.device.type for tensor in tensors} or {value.type for value in others if isinstance(value, Device)}
    for kind in ("npu", "meta", "cpu"):
        if kind in kinds:
            return _DEVICES[kind]
    return "Undefined"
