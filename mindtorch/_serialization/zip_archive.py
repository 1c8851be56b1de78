"""The zip archives of torch.save: records that begin at multiples of 64 bytes. torch.PyTorchFileReader reads them."""
import hashlib
import io
import os
import struct
import zipfile

import numpy

import mindtorch

BEGINNING = b"PK\x03\x04"
ALIGNMENT = 64
CHUNK = 1 << 20
LOCAL_HEADER = 30               # bytes of a record's header before its name and extra field
ZIP64_EXTRA = 20                # bytes that zipfile puts before our extra field in the header of a large record
LARGE = 1 << 30
FAILED = ("PytorchStreamReader failed reading zip archive: {}. The file is corrupted: it was not saved or transferred "
          "completely, or changed afterwards.")


class Writer:
    """Writes the records of one archive below the folder `name`."""

    def __init__(self, file, name):
        self.zip = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED)
        self.name = name
        self.digest = hashlib.sha1(usedforsecurity=False)

    def write(self, record, data):
        """One record; `data` is bytes-like."""
        data = memoryview(data).cast("B")
        info = zipfile.ZipInfo(f"{self.name}/{record}")
        large = len(data) >= LARGE
        start = self.zip.fp.tell() + LOCAL_HEADER + len(info.filename.encode()) + ZIP64_EXTRA * large
        padding = -(start + 4) % ALIGNMENT
        info.extra = b"FB" + struct.pack("<H", padding) + b"Z" * padding
        with self.zip.open(info, "w", force_zip64=large) as file:
            file.write(data)
        self.digest.update(f"{record} {info.CRC}".encode())

    def close(self):
        """Writes the closing records and the directory."""
        self.write("version", b"3\n")
        self.write(".data/serialization_id", f"{int(self.digest.hexdigest(), 16) % 10 ** 40:040d}".encode())
        self.zip.close()


class _Seekable:
    """A file that has `seek`, but not the method `seekable` which zipfile asks."""

    def __init__(self, file):
        self._file = file

    def __getattr__(self, name):
        return getattr(self._file, name)

    def seekable(self):
        return True


class Reader:
    """Reads the records of an archive from a seekable file; where `mapped` is the file's bytes, from these."""

    def __init__(self, file, mapped=None):
        self.file = file
        self.mapped = mapped
        try:
            self.zip = zipfile.ZipFile(file if hasattr(file, "seekable") else _Seekable(file))
        except (zipfile.BadZipFile, ValueError, OSError, struct.error, NotImplementedError) as error:
            raise RuntimeError(FAILED.format(error)) from error
        self.size = file.seek(0, io.SEEK_END)
        pickles = [name for name in self.zip.namelist() if name.endswith("/data.pkl") and name.count("/") == 1]
        if len(pickles) != 1:
            raise RuntimeError("PytorchStreamReader failed locating file data.pkl: file not found")
        self.name = pickles[0].partition("/")[0]

    def __contains__(self, record):
        return f"{self.name}/{record}" in self.zip.NameToInfo

    def read(self, record):
        """The bytes of a record as a writable array."""
        info = self._info(record)
        data = numpy.empty(info.file_size, numpy.uint8)
        try:
            with self.zip.open(info) as file:
                self._fill(data, file)
        except (zipfile.BadZipFile, EOFError, OSError, ValueError, struct.error, NotImplementedError,
                RuntimeError) as error:
            raise RuntimeError(FAILED.format(f"record {record}: {error}")) from error
        return data

    def size_of(self, record):
        """How many bytes a record has."""
        return self._info(record).file_size

    def map(self, record):
        """The bytes of a record within the mapped file."""
        info = self._info(record)
        header = self.mapped[info.header_offset:info.header_offset + LOCAL_HEADER].tobytes()
        if len(header) != LOCAL_HEADER or header[:4] != BEGINNING:
            raise RuntimeError(FAILED.format(f"record {record} has no header"))
        name_length, extra_length = struct.unpack("<HH", header[26:30])
        start = info.header_offset + LOCAL_HEADER + name_length + extra_length
        data = self.mapped[start:start + info.file_size]
        if len(data) != info.file_size:
            raise RuntimeError(FAILED.format(f"record {record} goes beyond the end of the file"))
        return data if start % 16 == 0 else data.copy()

    def _info(self, record):
        try:
            info = self.zip.getinfo(f"{self.name}/{record}")
        except KeyError:
            raise RuntimeError(f"PytorchStreamReader failed locating file {record}: file not found") from None
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1:
            raise RuntimeError(FAILED.format(f"record {record} is compressed or encrypted"))
        if not info.file_size == info.compress_size <= self.size:
            raise RuntimeError(FAILED.format(f"record {record} claims {info.file_size} bytes in a file of {self.size}"))
        if getattr(info, "CRC", None) == 0:
            del info.CRC                # absent after torch.serialization.set_crc32_options(False) and skip_data
        return info

    @staticmethod
    def _fill(data, file):
        filled = 0
        while filled < len(data):
            part = file.read(min(CHUNK, len(data) - filled))
            if not part:
                raise EOFError("it ends early")
            data[filled:filled + len(part)] = numpy.frombuffer(part, numpy.uint8)
            filled += len(part)
        if file.read(1):
            raise EOFError("it is longer than the directory says")


class PyTorchFileReader:
    """Reads from a path, or from a seekable file of bytes. RuntimeError where that is no archive of torch.save.

    Arguments:
        file: a path, or a file that is open for reading

    Example:
        >>> import io
        >>> file = io.BytesIO()
        >>> torch.save({"w": torch.ones(2)}, file)
        >>> torch.PyTorchFileReader(file).has_record("data.pkl")
        True
    """

    _opened = None

    def __init__(self, file):
        if isinstance(file, (str, os.PathLike)):
            try:
                file = self._opened = open(file, "rb")      # noqa: SIM115 - as long as this may read from it
            except OSError as error:
                raise RuntimeError(f"open file failed because of errno {error.errno} on fopen: {error.strerror}, "
                                   f"file path: {file}") from error
        self._reader = Reader(file)

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
        """The file's hash of its contents; "" if the file has none."""
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
