"""torch.PyTorchFileReader: the records of a file of torch.save, for programs that read it piece by piece."""
import os

import mindtorch
from mindtorch import _checkpoint_archive as archive

__all__ = ["PyTorchFileReader"]


class PyTorchFileReader:
    """Reads from a path, or from a seekable file of bytes. RuntimeError where that is no archive of torch.save."""

    _opened = None

    def __init__(self, file):
        if isinstance(file, (str, os.PathLike)):
            try:
                file = self._opened = open(file, "rb")      # noqa: SIM115 - as long as this may read from it
            except OSError as error:
                raise RuntimeError(f"open file failed because of errno {error.errno} on fopen: {error.strerror}, "
                                   f"file path: {file}") from error
        self._reader = archive.Reader(file)

    def __del__(self):
        if self._opened is not None:
            self._opened.close()

    def get_all_records(self):
        """The names of all records, in the order of the directory."""
        beginning = self._reader.name + "/"
        return [name.removeprefix(beginning) for name in self._reader.zip.namelist()]

    def has_record(self, name):
        """Whether there is such a record."""
        return name in self._reader

    def get_record(self, name):
        """The bytes of a record; RuntimeError where there is none."""
        return self._reader.read(name).tobytes()

    def get_record_size(self, name):
        """How many bytes a record has."""
        return self._reader.size_of(name)

    def serialization_id(self):
        """What tells the contents of the file from those of others; "" where it is not said."""
        name = ".data/serialization_id"
        return self.get_record(name).decode() if self.has_record(name) else ""

    def get_storage_from_record(self, name, numel, dtype):
        """An empty tensor over a storage with the record's bytes, in memory of its own.

        `numel` elements of `dtype`, or bytes where that is a class of storages, must be what the record has.
        """
        dtype = dtype if isinstance(dtype, mindtorch.dtype) else mindtorch.uint8
        data = self._reader.read(name)
        if data.size != numel * dtype.itemsize:
            raise RuntimeError(f"record {name} has {data.size} bytes, not {numel} elements of {dtype}")
        storage = mindtorch.from_numpy(data).untyped_storage()
        return mindtorch.empty(0, dtype=dtype).set_(storage, 0, (0,))
