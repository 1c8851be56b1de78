"""torch.save and torch.load: torch's zip files, written and read, and those from before release 1.6.

1. A file is a zip archive of stored (never compressed) records: `data.pkl`, and the bytes of each storage as
   `data/<key>`. Record contents begin at multiples of 64 bytes, so that a mapped file can be used as it is.
2. The pickle names torch's modules, so either package reads the other's files.
3. With weights_only=True an interpreter of its own reads the pickle (_weights_only_unpickler): nothing is imported,
   only listed globals are called.
"""
from __future__ import annotations

import io
import mmap as mmap_module
import os
import pickle
import pickletools
import sys
import threading
import types
import warnings
from collections import OrderedDict
from collections.abc import Callable
from enum import Enum
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy

import mindtorch
from mindtorch._core import formats
from mindtorch._core.tensor.torch_dispatch import DisableModes, is_wrapper
from mindtorch._serialization import legacy_format, locations, zip_archive
from mindtorch._serialization import weights_only_unpickler as restricted
from mindtorch._serialization.locations import default_restore_location, location_tag, register_package
from mindtorch._submodules import module_getattr as _module_getattr
from mindtorch._utils import (
    STORAGE_TYPES,
    UNTYPED_STORAGE,
    StorageType,
    _rebuild_from_type_v2,
    _rebuild_meta_tensor_no_storage,
    _rebuild_parameter,
    _rebuild_parameter_with_state,
    _rebuild_sparse_tensor,
    _rebuild_tensor_v2,
    _rebuild_tensor_v3,
    loaded_storage,
    marks_of,
    meta_arguments,
    sparse_arguments,
    storage_bytes,
    tensor_state,
)
from mindtorch.nn.parameter import Parameter
from mindtorch.storage import UntypedStorage

if TYPE_CHECKING:
    from mindtorch.nn.modules.module import Module
    from mindtorch.types import FileLike

__all__ = [
    "LoadEndianness", "SourceChangeWarning", "add_safe_globals", "clear_safe_globals", "default_restore_location",
    "get_crc32_options",
    "get_default_load_endianness", "get_default_mmap_options", "get_safe_globals", "get_unsafe_globals_in_checkpoint",
    "load", "location_tag", "normalize_storage_type", "register_package", "safe_globals", "save", "set_crc32_options",
    "set_default_load_endianness", "set_default_mmap_options", "skip_data", "storage_to_tensor_type",
]

MAP_LOCATION = Callable[[UntypedStorage, str], UntypedStorage] | mindtorch.device | str | dict[str, str] | None
_get_layout = formats._get_layout         # files name it as of this module
DEFAULT_PROTOCOL = 2
HELP = "Check the documentation of torch.load to learn more about types accepted by default with weights_only."
UNSAFE = ("Re-running `torch.load` with `weights_only` set to `False` will likely succeed, but it can result in "
          "arbitrary code execution. Do it only if you got the file from a trusted source.")
_STORAGE_TYPE_OF = {kind.dtype: kind for kind in STORAGE_TYPES.values()}


# --- options ----------------------------------------------------------------------------------------------------------

class _Mode(threading.local):
    """How this thread saves and loads beyond what its calls say."""

    skips_data = False
    mmap_flags = mmap_module.MAP_PRIVATE
    endianness = None


_mode = _Mode()


class SourceChangeWarning(Warning):
    """torch's warning of classes that are not what they were when a file was written, for filters that name it.

    Example:
        >>> issubclass(torch.serialization.SourceChangeWarning, Warning)
        True
    """


class LoadEndianness(Enum):
    """The byte order of files that do not tell theirs.

    Example:
        >>> torch.serialization.LoadEndianness.LITTLE.name
        'LITTLE'
    """

    NATIVE = 1
    LITTLE = 2
    BIG = 3


def get_default_load_endianness() -> LoadEndianness | None:
    """The byte order that torch.load takes for that of files without a mark; None: little-endian.

    Example:
        >>> print(torch.serialization.get_default_load_endianness())
        None
    """
    return _mode.endianness


def set_default_load_endianness(endianness: Any) -> None:
    """Sets that byte order, a LoadEndianness or None.

    Arguments:
        endianness: a LoadEndianness; None means that of the machine

    Example:
        >>> torch.serialization.set_default_load_endianness(torch.serialization.LoadEndianness.LITTLE)
        >>> torch.serialization.get_default_load_endianness().name
        'LITTLE'
        >>> torch.serialization.set_default_load_endianness(None)
    """
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    _mode.endianness = endianness


def get_default_mmap_options() -> int | None:
    """What mmap=True maps with: mmap.MAP_PRIVATE, or MAP_SHARED, with which changes of tensors go to the file.

    The checksums of a file that was changed so hold no longer: torch.load refuses it but with mmap=True.

    Example:
        >>> import mmap
        >>> torch.serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
        True
    """
    return _mode.mmap_flags


class set_default_mmap_options:
    """Sets what mmap=True maps with; as a context manager, for its block.

    Arguments:
        flags: mmap.MAP_PRIVATE or mmap.MAP_SHARED

    Example:
        >>> import mmap
        >>> with torch.serialization.set_default_mmap_options(mmap.MAP_SHARED):
        ...     print(torch.serialization.get_default_mmap_options() == mmap.MAP_SHARED)
        True
    """

    def __init__(self, flags: int) -> None:
        if flags not in (mmap_module.MAP_PRIVATE, mmap_module.MAP_SHARED):
            raise ValueError("Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE or "
                             f"mmap.MAP_SHARED, but got {flags}")
        self.before, _mode.mmap_flags = _mode.mmap_flags, flags

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: Any) -> None:
        _mode.mmap_flags = self.before


class skip_data:
    """Context manager: torch.save leaves the bytes of storages zero, torch.load leaves tensors uninitialised.

    Arguments:
        materialize_fake_tensors: whether fake tensors are written as if they had elements

    Example:
        >>> import io
        >>> file = io.BytesIO()
        >>> with torch.serialization.skip_data():
        ...     torch.save(torch.ones(1000), file)
        >>> _ = file.seek(0)
        >>> torch.load(file).shape
        torch.Size([1000])
    """

    def __init__(self, materialize_fake_tensors: bool = False) -> None:
        self.materialize_fake_tensors = materialize_fake_tensors        # there are none of these here

    def __enter__(self) -> None:
        self.before, _mode.skips_data = _mode.skips_data, True

    def __exit__(self, *_: Any) -> None:
        _mode.skips_data = self.before


# --- what weights_only may name ---------------------------------------------------------------------------------------

def add_safe_globals(safe_globals: list[Callable | tuple[Callable, str]]) -> None:
    """Classes and functions (or pairs of one and its full name) that files may name with weights_only=True.

    Arguments:
        safe_globals: classes and functions, or pairs of one and its name

    Example:
        >>> class Options:
        ...     pass
        >>> torch.serialization.add_safe_globals([Options])
        >>> Options in torch.serialization.get_safe_globals()
        True
    """
    restricted.user_globals.extend(entry for entry in safe_globals if entry not in restricted.user_globals)


def get_safe_globals() -> list[Callable | tuple[Callable, str]]:
    """The list that add_safe_globals has built.

    Example:
        >>> isinstance(torch.serialization.get_safe_globals(), list)
        True
    """
    return list(restricted.user_globals)


def clear_safe_globals() -> None:
    """Empties that list.

    Example:
        >>> torch.serialization.clear_safe_globals()
        >>> torch.serialization.get_safe_globals()
        []
    """
    restricted.user_globals.clear()


class safe_globals:
    """Context manager: those globals are allowed within it, besides the list of add_safe_globals.

    Arguments:
        safe_globals: classes and functions, or pairs of one and its name

    Example:
        >>> class Options:
        ...     pass
        >>> with torch.serialization.safe_globals([Options]):
        ...     print(Options in torch.serialization.get_safe_globals())
        True
    """

    def __init__(self, safe_globals: Any) -> None:
        self.globals = safe_globals

    def __enter__(self) -> None:
        self.before = get_safe_globals()
        add_safe_globals(self.globals)

    def __exit__(self, *_: Any) -> None:
        restricted.user_globals[:] = self.before


def get_unsafe_globals_in_checkpoint(f: FileLike) -> list[str]:
    """Full names of the globals in a file that weights_only=True would refuse.

    Arguments:
        f: a path, or an open file

    Example:
        >>> import io
        >>> file = io.BytesIO()
        >>> torch.save(nn.Linear(1, 1), file)
        >>> _ = file.seek(0)
        >>> len(torch.serialization.get_unsafe_globals_in_checkpoint(file)) > 0
        True
    """
    with _opened(f, "rb") as file:
        if file.read(4) != zip_archive.BEGINNING:
            raise ValueError("Expected input to be a checkpoint returned by torch.save")
        data = zip_archive.Reader(file).read("data.pkl").tobytes()
    found, strings = [], []
    try:
        for code, argument, _ in pickletools.genops(data):
            if code.name == "GLOBAL":
                found.append(".".join(restricted.plain_name(*argument.split(" ", 1))))
            elif code.name == "STACK_GLOBAL":
                found.append(".".join(strings[-2:]))
            elif isinstance(argument, str):
                strings.append(argument)
    except ValueError as error:
        raise pickle.UnpicklingError(f"the pickle is malformed: {error}") from error
    allowed = {**restricted.default_globals(), **restricted.listed_globals()}
    return list(dict.fromkeys(name for name in found if name not in allowed))


# --- saving -----------------------------------------------------------------------------------------------------------

class _StorageReference:
    """Stands in a pickle for the bytes of a record."""

    def __init__(self, kind: Any, key: Any, location: Any, count: Any) -> None:
        self.id = ("storage", kind, key, location, count)


class _TorchNames:
    """Mixed into a Python Pickler: writes tensors as torch does, and mindtorch's globals under torch's names."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.storages = {}          # identity -> (the storage's reference, its bytes, dtype of its tensors)
        self.end_of_id = ()         # what the format adds to a reference

    def persistent_id(self, obj: Any) -> Any:
        if type(obj) is UntypedStorage:
            obj = self.reference(obj._as_tensor(), UNTYPED_STORAGE)
        elif hasattr(type(obj), "_untyped_storage"):            # a TypedStorage
            obj = self.reference(obj._elements())
        return obj.id + self.end_of_id if type(obj) is _StorageReference else None

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, mindtorch.Tensor):
            return self.reduce_tensor(obj)
        if isinstance(obj, (type, types.FunctionType)):
            return obj.__qualname__
        if isinstance(obj, StorageType):
            return obj.__name__
        return NotImplemented

    def save_global(self, obj: Any, name: str | None = None) -> None:
        name = name or obj.__qualname__
        module = getattr(obj, "__module__", None) or pickle.whichmodule(obj, name)
        if module.partition(".")[0] != "mindtorch":
            super().save_global(obj, name)
            return
        is_public = isinstance(obj, StorageType) or getattr(mindtorch, name, None) is obj
        module = "torch" if is_public else restricted.full_name(module, name)[:-len(name) - 1]
        module = "torch.storage" if obj is UNTYPED_STORAGE else module
        self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
        self.memoize(obj)

    def reduce_tensor(self, tensor: Any) -> Any:
        if _is_parameter(tensor):
            args = (tensor.data, tensor.requires_grad, OrderedDict())
            state = vars(tensor)
            return (_rebuild_parameter_with_state, (*args, state)) if state else (_rebuild_parameter, args)
        if is_wrapper(tensor):
            rebuild, args, state = tensor.__reduce_ex__(2)
            return _rebuild_from_type_v2, (rebuild, type(tensor), args, state or {})
        if tensor.is_meta:
            rebuild, args = _rebuild_meta_tensor_no_storage, meta_arguments(tensor)
        elif tensor.layout is not mindtorch.strided:
            rebuild, args = _rebuild_sparse_tensor, sparse_arguments(tensor)
        else:
            rebuild = _rebuild_tensor_v2
            args = (self.reference(tensor), tensor.storage_offset(), tuple(tensor.size()), tensor.stride(),
                    tensor.requires_grad, OrderedDict())
            if tensor.dtype not in _STORAGE_TYPE_OF:
                rebuild, args = _rebuild_tensor_v3, (*args, tensor.dtype)
            marks = marks_of(tensor)
            args = (*args, marks) if marks else args
        if vars(tensor) or type(tensor) is not mindtorch.Tensor:
            return _rebuild_from_type_v2, (rebuild, type(tensor), args, tensor_state(tensor))
        return rebuild, args

    def reference(self, tensor: Any, kind: Any = None) -> Any:
        """The reference to the tensor's storage; one record serves all tensors that share it."""
        identity = tensor.untyped_storage()._cdata
        kind = kind or _STORAGE_TYPE_OF.get(tensor.dtype, UNTYPED_STORAGE)
        if identity not in self.storages:
            count = tensor.untyped_storage().nbytes() // kind.dtype.itemsize
            reference = _StorageReference(kind, str(len(self.storages)), location_tag(tensor), count)
            self.storages[identity] = reference, storage_bytes(tensor), kind.dtype
        reference, _, dtype = self.storages[identity]
        if dtype != kind.dtype:
            raise RuntimeError("Cannot save multiple tensors or storages that view the same data as different types")
        return reference


def _is_parameter(tensor):
    return type(tensor) is not mindtorch.Tensor and isinstance(tensor, Parameter)


def _pickler(file, protocol=DEFAULT_PROTOCOL, pickle_module=pickle):
    # The C Pickler looks globals up in their modules: it cannot write the names of a package that is not there.
    base = getattr(pickle_module, "_Pickler", pickle_module.Pickler)
    return type("TorchPickler", (_TorchNames, base), {})(file, protocol=protocol)


def save(obj: object, f: FileLike, pickle_module: Any = pickle, pickle_protocol: int = DEFAULT_PROTOCOL,
         _use_new_zipfile_serialization: bool = True, _disable_byteorder_record: bool = False) -> None:
    """Writes `obj` with its tensors to a path or file object, so that torch.load of either package reads it.

    Tensors that share a storage still share it when they are loaded. RuntimeError for tensors that see one storage as
    different dtypes.

    Arguments:
        obj: the object
        f: a path, or an open file
        pickle_module: the module that writes pickles
        pickle_protocol: the version of the pickle format

    Example:
        >>> import io
        >>> file = io.BytesIO()
        >>> torch.save({"w": torch.ones(2), "step": 3}, file)
        >>> _ = file.seek(0)
        >>> torch.load(file)
        {'w': tensor([1., 1.]), 'step': 3}
    """
    if _mode.skips_data and not _use_new_zipfile_serialization:
        raise RuntimeError("Cannot use skip_data=True with _use_new_zipfile_serialization=False")
    buffer = io.BytesIO()
    pickler = _pickler(buffer, pickle_protocol, pickle_module)
    pickler.end_of_id = () if _use_new_zipfile_serialization else (None,)
    pickler.dump(obj)
    contents = [(reference.id[2], dtype, content) for reference, content, dtype in pickler.storages.values()]
    with _opened(f, "wb") as file:
        if not _use_new_zipfile_serialization:
            legacy_format.write(file, buffer.getbuffer(), [(key, dtype, content.cpu().numpy()) for key, dtype, content
                                                    in contents], pickle_protocol)
            return
        name = os.path.splitext(os.path.basename(os.fspath(f)))[0] if _is_path(f) else ""
        writer = zip_archive.Writer(file, name or "archive")
        writer.write("data.pkl", buffer.getbuffer())
        writer.write(".format_version", b"1")
        writer.write(".storage_alignment", str(zip_archive.ALIGNMENT).encode())
        if not _disable_byteorder_record:
            writer.write("byteorder", sys.byteorder.encode())
        for key, _, content in contents:
            writer.write(f"data/{key}", numpy.zeros(content.numel(), numpy.uint8) if _mode.skips_data
                         else content.cpu().numpy())
        writer.close()


# --- files ------------------------------------------------------------------------------------------------------------

def _is_path(f):
    return isinstance(f, (str, os.PathLike))


class _Borrowed:
    """A file of the caller, which stays open."""

    def __init__(self, file: Any) -> None:
        self.file = file

    def __enter__(self) -> Any:
        return self.file

    def __exit__(self, *_: Any) -> None:
        pass


def _opened(f, mode):
    if _is_path(f):
        parent = os.path.dirname(os.fspath(f))
        if mode == "wb" and parent and not os.path.isdir(parent):
            raise RuntimeError(f"Parent directory {parent} does not exist.")
        return open(f, mode)
    if mode == "wb" and not hasattr(f, "write"):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
    for name in ("seek", "tell", "read") if mode == "rb" else ():
        if not hasattr(f, name):
            raise AttributeError(f"'{type(f).__name__}' object has no attribute '{name}'. You can only torch.load "
                                 "from a file that is seekable. Please pre-load the data into a buffer like "
                                 "io.BytesIO and try to load from it instead.")
    return _Borrowed(f)


# --- loading ----------------------------------------------------------------------------------------------------------

class _Storages:
    """The storages of one file: `load` answers the persistent ids of its pickle."""

    def __init__(self, reader: Any, map_location: Any) -> None:
        self.reader = reader
        self.restore = locations.restorer(map_location)
        self.loaded = {}            # key -> tensor of bytes
        self.swapped = self._is_other_byteorder()

    def _is_other_byteorder(self):
        if "byteorder" not in self.reader:
            return _mode.endianness not in (None, LoadEndianness.NATIVE, LoadEndianness[sys.byteorder.upper()])
        order = self.reader.read("byteorder").tobytes()
        if order not in (b"little", b"big"):
            raise ValueError(f"Unknown endianness type: {order!r}")
        return order.decode() != sys.byteorder

    def load(self, saved_id: Any) -> Any:
        """A storage."""
        if not isinstance(saved_id, tuple) or len(saved_id) != 5 or saved_id[0] != "storage":
            raise pickle.UnpicklingError("Unknown typename for persistent_load, expected 'storage' and its description")
        _, kind, key, location, count = saved_id
        if not isinstance(kind, StorageType) or not isinstance(key, str) or not isinstance(location, str):
            raise pickle.UnpicklingError(f"a storage is described by {', '.join(str(type(part)) for part in saved_id)}")
        nbytes = count * kind.dtype.itemsize if type(count) is int and count >= 0 else -1
        with DisableModes():
            return self._loaded(kind, key, location, count, nbytes)

    def _loaded(self, kind, key, location, count, nbytes):
        if key not in self.loaded:
            self.loaded[key] = self._read(key, kind, location)
        storage = self.loaded[key]
        if not 0 <= nbytes <= storage.numel():
            raise RuntimeError(f"storage {key} has {storage.numel()} bytes in the file, but the pickle says {count} "
                               f"elements of {kind.dtype}")
        return loaded_storage(storage.as_strided((nbytes,), (1,), 0).view(kind.dtype))

    def _read(self, key, kind, location):
        record = f"data/{key}"
        if _mode.skips_data:
            return self.restore(mindtorch.empty(self.reader.size_of(record), dtype=mindtorch.uint8), location)
        data = self.reader.read(record) if self.reader.mapped is None else self.reader.map(record)
        unit = kind.dtype.itemsize // 2 if kind.dtype.is_complex else kind.dtype.itemsize
        if self.swapped and unit > 1:
            data = data[:len(data) // unit * unit].view(f"u{unit}").byteswap().view(numpy.uint8)
        return self.restore(mindtorch.from_numpy(data), location)


class _TrustingUnpickler(pickle.Unpickler):
    """Python's Unpickler, for files that the caller trusts: torch's names lead to mindtorch's."""

    def __init__(self, file: Any, persistent_load: Any, **options: Any) -> None:
        super().__init__(file, **options)
        self.load_storage = persistent_load

    def persistent_load(self, saved_id: Any) -> Any:
        return self.load_storage(saved_id)

    def find_class(self, module: Module, name: str) -> Any:
        known = restricted.default_globals().get(restricted.full_name(module, name))
        if known is not None and module.partition(".")[0] in ("torch", "mindtorch"):
            return known
        if module.partition(".")[0] != "torch":
            return super().find_class(module, name)
        restricted.refuse_kind(f"{module}.{name}")
        found = import_module("mindtorch" + module[len("torch"):])
        for part in name.split("."):
            found = getattr(found, part)
        return found


def load(f: FileLike, map_location: Any = None, pickle_module: Any = None, *, weights_only: bool | None = None,
         mmap: bool | None = None, **pickle_load_args: Any) -> Any:
    """What torch.save of either package wrote, from a path or a seekable file object.

    Storages go to the devices that they were saved from unless `map_location` says otherwise. weights_only (default
    True) loads tensors, containers and what add_safe_globals lists, and runs nothing; False unpickles all, for files
    that you trust. mmap=True maps the file instead of reading it: changes stay in memory.

    Arguments:
        f: a path, or an open file
        map_location: where tensors come to: a device, a dict of device names, or a function; None means where they were
        pickle_module: the module that reads pickles, if weights_only is False
        weights_only: whether tensors and plain containers alone are read, which is safe for files from elsewhere
        mmap: whether the file is mapped into memory, not read
        **pickle_load_args: options for the unpickler

    Example:
        >>> import io
        >>> file = io.BytesIO()
        >>> torch.save(torch.ones(2), file)
        >>> _ = file.seek(0)
        >>> torch.load(file, map_location="npu")
        tensor([1., 1.], device='npu:0')
    """
    weights_only = _weights_only_by_environment(weights_only)
    weights_only = pickle_module is None if weights_only is None else weights_only
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    if mmap and not _is_path(f):
        raise ValueError("f must be a file path in order to use the mmap argument")
    unpickle = _load_weights if weights_only else _full_unpickler(pickle_module, pickle_load_args)
    with _opened(f, "rb") as file:
        if not _is_zip(file):
            if mmap:
                path = f"{f}, " if isinstance(f, str) else ""
                raise RuntimeError(f"mmap can only be used with files saved with `torch.save({path}"
                                   "_use_new_zipfile_serialization=True), please torch.save your checkpoint with this "
                                   "option in order to use mmap.")
            return legacy_format.read(file, locations.restorer(map_location), unpickle)
        mode = "r+" if _mode.mmap_flags == mmap_module.MAP_SHARED else "c"
        reader = zip_archive.Reader(file, numpy.memmap(f, numpy.uint8, mode) if mmap else None)
        return unpickle(reader.read("data.pkl").tobytes(), _Storages(reader, map_location).load)


def _weights_only_by_environment(weights_only):
    """The argument; True with TORCH_FORCE_WEIGHTS_ONLY_LOAD, and not None with TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD."""
    force, refrain = (os.environ.get(f"TORCH_FORCE_{name}", "0").lower() in ("1", "y", "yes", "true")
                      for name in ("WEIGHTS_ONLY_LOAD", "NO_WEIGHTS_ONLY_LOAD"))
    if force and refrain:
        raise RuntimeError("Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` should "
                           "be set, but both were set.")
    if refrain and weights_only is None:
        warnings.warn("Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected, since the`weights_only` "
                      "argument was not explicitly passed to `torch.load`, forcing weights_only=False.", stacklevel=3)
    return True if force else False if refrain and weights_only is None else weights_only


def _is_zip(file):
    start = file.tell()
    head = file.read(4)
    file.seek(start)
    if not head:
        raise EOFError("Ran out of input")
    return head == zip_archive.BEGINNING


def _full_unpickler(pickle_module, options):
    """The function (pickle, persistent_load) -> object for files that the caller trusts."""
    kind = _TrustingUnpickler
    if pickle_module is not None:
        kind = type("TorchUnpickler", (_TrustingUnpickler, pickle_module.Unpickler), {})
    return lambda data, persistent_load: kind(io.BytesIO(data), persistent_load, **options).load()


def _load_weights(data, persistent_load):
    try:
        return restricted.Unpickler(data, persistent_load).load()
    except pickle.UnpicklingError as error:
        raise pickle.UnpicklingError(f"Weights only load failed. {UNSAFE}\n\nWeightsUnpickler error: {error}\n\n"
                                     f"{HELP}") from error


def get_crc32_options() -> bool:
    """Whether torch.save writes checksums: always.

    Example:
        >>> torch.serialization.get_crc32_options()
        True
    """
    return True


def set_crc32_options(compute_crc32: bool) -> None:
    """Have torch.save write checksums, as it always does; NotImplementedError for False.

    Files that torch has written without checksums are read all the same.

    Arguments:
        compute_crc32: True

    Example:
        >>> torch.serialization.set_crc32_options(True)
    """
    if not compute_crc32:
        raise NotImplementedError("torch.serialization.set_crc32_options: archives always have checksums here.")


def normalize_storage_type(storage_type: type) -> type:
    """The class of torch with the name of `storage_type`.

    Arguments:
        storage_type: a class of storages, or its name

    Example:
        >>> torch.serialization.normalize_storage_type(torch.FloatStorage) is torch.FloatStorage
        True
    """
    return getattr(mindtorch, storage_type.__name__)


def storage_to_tensor_type(storage: Any) -> type:
    """The tensor type beside the class of a storage, of that name; AttributeError where its module has none.

    Arguments:
        storage: the storage

    Example:
        >>> torch.serialization.storage_to_tensor_type(torch.ones(2).untyped_storage())
        Traceback (most recent call last):
        AttributeError: module 'mindtorch.storage' has no attribute 'UntypedTensor'
    """
    kind = type(storage)
    return getattr(sys.modules[kind.__module__], kind.__name__.replace("Storage", "Tensor"))


if not TYPE_CHECKING:        # a type checker would take any name for one of this module
    __getattr__ = _module_getattr(__name__)
