"""The file format of torch before release 1.6: a sequence of pickles, then the bytes of the storages.

1. The pickles are a magic number, the format version, properties of the machine, the object, and the keys of its
   storages. So tensors are rebuilt before their bytes are read.
2. For each key follow the number of elements, 8 bytes, and the elements, in little-endian order.
"""
import io
import pickle
import pickletools
import struct
import sys

import numpy

import mindtorch
from mindtorch._serialization import weights_only_unpickler as restricted
from mindtorch._utils import StorageType, loaded_storage

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001
CHUNK = 1 << 20


def write(file, pickled, storages, protocol):
    """`pickled`, the object; `storages`, (key, dtype, bytes) of each."""
    facts = {"protocol_version": PROTOCOL_VERSION, "little_endian": sys.byteorder == "little",
             "type_sizes": {"short": 2, "int": 4, "long": 4}}
    for head in (MAGIC_NUMBER, PROTOCOL_VERSION, facts):
        pickle.dump(head, file, protocol)
    file.write(pickled)
    pickle.dump([key for key, _, _ in storages], file, protocol)
    for _, dtype, content in storages:
        file.write(struct.pack("<q", content.nbytes // dtype.itemsize))
        file.write(content)


def read(file, restore, unpickle):
    """The object. `unpickle(data, persistent_load)` reads its pickle, `restore` moves storages to their devices."""
    if _header(file) != MAGIC_NUMBER:
        raise RuntimeError("Invalid magic number; corrupt file?")
    version = _header(file)
    if version != PROTOCOL_VERSION:
        raise RuntimeError(f"Invalid protocol version: {version if type(version) is int else type(version)}")
    _header(file)
    data = _next_pickle(file)
    storages = _UnreadStorages(restore, _bytes_left(file))
    made = unpickle(data, storages.load)
    storages.fill(file, _header(file))
    return made


def _next_pickle(file):
    """Reads the bytes of one pickle."""
    start = file.tell()
    try:
        for _ in pickletools.genops(file):
            pass
    except (ValueError, OverflowError, MemoryError) as error:
        raise pickle.UnpicklingError("the file is neither a zip archive of torch.save nor pickles, as torch wrote "
                                     f"before release 1.6: {error}") from error
    end = file.tell()
    file.seek(start)
    return file.read(end - start)


def _header(file):
    """A pickle of numbers and texts."""
    return restricted.Unpickler(_next_pickle(file), _no_storage).load()


def _no_storage(saved_id):
    raise pickle.UnpicklingError("a storage where none belongs")


def _bytes_left(file):
    here = file.tell()
    end = file.seek(0, io.SEEK_END)
    file.seek(here)
    return end - here


class _UnreadStorages:
    """Storages of the pickle whose bytes follow later in the file."""

    def __init__(self, restore, limit):
        self.restore = restore
        self.limit = limit          # bytes that all of them can have together
        self.made = {}              # key -> (dtype, the bytes on the CPU, the bytes where the caller wants them)

    def load(self, saved_id):
        """A storage."""
        if isinstance(saved_id, tuple) and len(saved_id) == 4 and saved_id[0] == "module":
            return saved_id[1]      # a class with its source, which torch compared
        if not isinstance(saved_id, tuple) or len(saved_id) != 6 or saved_id[0] != "storage":
            raise pickle.UnpicklingError("Unknown typename for persistent_load, expected 'storage' and its description")
        _, kind, key, location, count, view = saved_id
        if not isinstance(kind, StorageType) or not isinstance(key, str) or not isinstance(location, str):
            raise pickle.UnpicklingError(f"a storage is described by {', '.join(str(type(part)) for part in saved_id)}")
        if view is not None:
            raise RuntimeError("storages within storages, which torch wrote before release 0.4, are not read")
        if key not in self.made:
            self.made[key] = self._make(kind.dtype, count, location)
        dtype, _, moved = self.made[key]
        if dtype != kind.dtype:
            raise RuntimeError(f"storage {key} is said to hold {dtype} and {kind.dtype}")
        return loaded_storage(moved.view(dtype))

    def _make(self, dtype, count, location):
        nbytes = count * dtype.itemsize if type(count) is int and count >= 0 else -1
        if not 0 <= nbytes <= self.limit:
            raise RuntimeError(f"the file has {self.limit} bytes for storages, but the pickle says {count} elements of "
                               f"{dtype}")
        self.limit -= nbytes
        content = mindtorch.empty(nbytes, dtype=mindtorch.uint8)
        return dtype, content, self.restore(content, location)

    def fill(self, file, keys):
        """Reads the bytes of all storages."""
        if type(keys) is not list or not all(type(key) is str for key in keys) or set(keys) != set(self.made):
            raise RuntimeError("the storages of the file are not those of its pickle")
        for key in keys:
            dtype, content, moved = self.made[key]
            head = file.read(8)
            if len(head) != 8 or struct.unpack("<q", head)[0] * dtype.itemsize != content.numel():
                raise RuntimeError(f"storage {key} has another size in the file than in its pickle")
            _read_into(content.numpy(), file, dtype)
            if moved is not content:
                moved.copy_(content)


def _read_into(array, file, dtype):
    for start in range(0, len(array), CHUNK):
        wanted = min(CHUNK, len(array) - start)
        part = file.read(wanted)
        if len(part) != wanted:
            raise RuntimeError("unexpected EOF. The file might be corrupted.")
        array[start:start + wanted] = numpy.frombuffer(part, numpy.uint8)
    unit = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
    if sys.byteorder == "big" and unit > 1:
        array.view(f"u{unit}").byteswap(inplace=True)
