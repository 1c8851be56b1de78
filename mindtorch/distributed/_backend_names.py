"""The names of engines: the device types of each, and the function that makes it."""
from __future__ import annotations

import importlib.util
import logging
import warnings
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import mindtorch
from mindtorch.distributed._process_group import BackendType

__all__ = ["Backend", "BackendConfig", "get_default_backend_for_device", "is_backend_available", "is_gloo_available",
           "is_mpi_available", "is_nccl_available", "is_ucc_available", "is_xccl_available"]

_log = logging.getLogger(__name__)


class Backend(str):
    """The name of an engine, in lower case.

    Arguments:
        name: the name of a backend

    Example:
        >>> dist.Backend("MPI")
        'mpi'
        >>> dist.Backend("GLOO") == dist.Backend.GLOO
        True
    """

    __slots__ = ()

    UNDEFINED, GLOO, NCCL, UCC, MPI, XCCL, FAKE, HCCL = (
        "undefined", "gloo", "nccl", "ucc", "mpi", "xccl", "fake", "hccl")

    _BackendPlugin = namedtuple("_BackendPlugin", ["creator_fn", "extended_api"])
    _plugins: dict[str, Any] = {}
    backend_list = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE, HCCL]
    default_device_backend_map: dict[str, str] = {"cpu": MPI, "npu": HCCL}
    backend_capability: dict[str, list[str]] = {MPI: ["cpu"], HCCL: ["npu"], FAKE: ["cpu", "npu"]}
    backend_type_map: dict[str, BackendType] = {
        UNDEFINED: BackendType.UNDEFINED, GLOO: BackendType.GLOO, NCCL: BackendType.NCCL, XCCL: BackendType.XCCL,
        UCC: BackendType.UCC, MPI: BackendType.MPI, FAKE: BackendType.CUSTOM, HCCL: BackendType.CUSTOM}

    def __new__(cls, name: str) -> str:
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return name.lower()

    @classmethod
    def register_backend(cls, name: str, func: Callable[..., Any], extended_api: bool = False,
                         devices: str | list[str] | None = None) -> None:
        """Let `func(store, rank, world_size, timeout)` make the engine `name`, or with `extended_api`
        `func(options, pg_options)`, for tensors of these device types."""
        own = name.lower()
        if not hasattr(Backend, name.upper()):
            setattr(Backend, name.upper(), own)
        if own not in Backend.backend_list:
            Backend.backend_list.append(own)
        if devices is None:
            warnings.warn(f"Device capability of {name} unspecified, assuming `cpu` and `npu`. Please specify it via "
                          "the `devices` argument of `register_backend`.", stacklevel=2)
            capable = ["cpu", "npu"]
        else:
            capable = [devices] if isinstance(devices, str) else devices
            for kind in capable:
                if Backend.default_device_backend_map.get(kind, "fake") == "fake":
                    Backend.default_device_backend_map[kind] = own
        Backend.backend_type_map[own] = BackendType.CUSTOM
        Backend.backend_capability[own] = capable
        Backend._plugins[name.upper()] = Backend._BackendPlugin(func, extended_api)


# Engines of other libraries, and the engine that is used in place of each.
_SUBSTITUTES = {Backend.GLOO: Backend.MPI, Backend.NCCL: Backend.HCCL}
_warned = set()


def _resolve_engine(name):
    """The engine for a name that a program gives. The first use of a substitute is logged."""
    found = _SUBSTITUTES.get(name, name) if name.upper() not in Backend._plugins else name
    if found != name and name not in _warned:
        _warned.add(name)
        _log.warning("torch.distributed: backend %r is not part of mindtorch, %r takes its place", name, found)
    return found


class BackendConfig:
    """The engine for each device type that a string such as "cpu:mpi,npu:hccl" names.

    Arguments:
        backend: the backend; or one for each device: "cpu:gloo,npu:hccl"

    Example:
        >>> dist.BackendConfig(dist.Backend("cpu:mpi,npu:hccl")).device_backend_map["npu"]
        'hccl'
    """

    def __init__(self, backend: str) -> None:
        self.device_backend_map: dict[str, str] = {}
        text = str(backend).lower()
        if text == Backend.UNDEFINED:
            kind = "npu" if mindtorch.npu.is_available() else "cpu"
            self.device_backend_map[kind] = Backend.default_device_backend_map[kind]
        elif text in Backend.backend_list:
            name = _resolve_engine(text)
            self.device_backend_map = dict.fromkeys(Backend.backend_capability.get(name, ["cpu"]), name)
        elif ":" in text:
            self._parse(text)
        else:
            warnings.warn(f"Device capability of {backend} unknown, assuming `cpu` and `npu`. You can specify it in "
                          "`device:backend` format in `init_process_group` call.", stacklevel=2)
            self.device_backend_map = dict.fromkeys(("cpu", "npu"), text)

    def _parse(self, text):
        usage = (f"The custom backend string argument is invalid: {text}.\n                Custom backend string is an "
                 "experimental feature where the backend string must be in the format:\n                "
                 '"<device_type1>:<backend1>,<device_type2>:<backend2>...". e.g. \'cpu:mpi,npu:hccl\'')
        for pair in text.split(","):
            kind, colon, name = pair.partition(":")
            if not colon or ":" in name:
                raise ValueError(f"Invalid device:backend pairing: {pair}. {usage}")
            kind = mindtorch.device(kind).type      # "cuda" in a program that is transferred to NPUs
            if kind in self.device_backend_map:
                raise ValueError(f"Duplicate device type {kind} in backend string: {name}. {usage}")
            self.device_backend_map[kind] = _resolve_engine(name)

    def __repr__(self) -> str:
        return ",".join(f"{kind}:{name}" for kind, name in self.device_backend_map.items())

    def get_device_backend_map(self) -> dict[str, str]:
        """Device type -> engine."""
        return self.device_backend_map


def get_default_backend_for_device(device: Any) -> str:
    """The engine that serves a device where a program names none.

    Arguments:
        device: a device, or its type

    Example:
        >>> dist.get_default_backend_for_device("npu")
        'hccl'
    """
    kind = device.type if isinstance(device, mindtorch.device) else mindtorch.device(device).type
    if kind not in Backend.default_device_backend_map:
        raise ValueError(f"Default backend not registered for device : {device}")
    return Backend.default_device_backend_map[kind]


def is_mpi_available() -> bool:
    """Whether the engine of the CPU is installed: the extra mindtorch[mpi].

    Example:
        >>> dist.is_mpi_available()
        True
    """
    return importlib.util.find_spec("mpi4py") is not None


def is_gloo_available() -> bool:
    """Whether a group with "gloo" can be made; the engine of the CPU serves it.

    Example:
        >>> dist.is_gloo_available()
        True
    """
    return is_mpi_available()


def is_nccl_available() -> bool:
    """Whether a group with "nccl" can be made; the engine of the NPUs serves it.

    Example:
        >>> dist.is_nccl_available() == torch.npu.is_available()
        True
    """
    return mindtorch.npu.is_available()


def is_ucc_available() -> bool:
    """False.

    Example:
        >>> dist.is_ucc_available()
        False
    """
    return False


def is_xccl_available() -> bool:
    """False.

    Example:
        >>> dist.is_xccl_available()
        False
    """
    return False


def is_backend_available(backend: str) -> bool:
    """Whether every engine is there that "mpi" or "cpu:mpi,npu:hccl" names.

    Example:
        >>> dist.is_backend_available("gloo")
        True
    """
    available = {"mpi": is_mpi_available, "gloo": is_gloo_available, "nccl": is_nccl_available,
                 "hccl": is_nccl_available, "ucc": is_ucc_available, "xccl": is_xccl_available}
    names = [pair.rpartition(":")[2] for pair in backend.lower().split(",")]
    return all(available[name]() if name in available else name in Backend.backend_list for name in names)
