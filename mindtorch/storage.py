"""torch.storage: the bytes below tensors."""
from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING, Any

import numpy

import mindtorch
from mindtorch._core.python.conversion import from_numpy
from mindtorch._core.tensor.attributes import StorageBase

if TYPE_CHECKING:
    from typing import Self

    from mindtorch import dtype
    from mindtorch.types import Device

__all__ = ["TypedStorage", "UntypedStorage"]      # noqa: F822 - the first comes when it is asked for


def _load_from_bytes(b: bytes) -> Any:
    """What pickles of storages call, of torch and of mindtorch."""
    return mindtorch.load(io.BytesIO(b), weights_only=False)


def mapped_bytes(filename: Any, shared: Any, nbytes: Any) -> Any:
    """The first `nbytes` of a file, mapped: an array of bytes.

    Writes go to the file where `shared`, which is made, and grows, as needed; else they stay in memory.
    """
    name = os.fspath(filename)
    mode = "read-write" if shared else "read-only"
    try:
        descriptor = os.open(name, os.O_RDWR | os.O_CREAT if shared else os.O_RDONLY, 0o600)
    except OSError as error:
        raise RuntimeError(f"unable to open file <{name}> in {mode} mode: {error.strerror} ({error.errno})") from error
    with os.fdopen(descriptor, "r+b" if shared else "rb") as file:
        size = os.fstat(descriptor).st_size
        if size < nbytes and not shared:
            raise RuntimeError(f"file <{name}> size <{size}> is smaller than the required mapping size <{nbytes}>")
        if size < nbytes:
            os.truncate(descriptor, nbytes)
        if nbytes == 0:                     # nothing can be mapped
            return numpy.empty(0, numpy.uint8)
        return numpy.memmap(file, numpy.uint8, "r+" if shared else "c", shape=nbytes)


class UntypedStorage(StorageBase):
    """Bytes on a device: UntypedStorage(size, device=...), or of a sequence of numbers. Tensors share theirs.

    Arguments:
        data: the number of bytes, or a sequence of bytes
        device: the device; None means the CPU

    Example:
        >>> torch.tensor([1, 2], dtype=torch.uint8).untyped_storage().tolist()
        [1, 2]
        >>> torch.UntypedStorage(4).nbytes()
        4
    """

    is_cuda = is_sparse = is_hpu = False

    def __new__(cls, data: float = 0, *, device: Device = None) -> Self:
        if isinstance(data, int):
            return StorageBase.__new__(cls, mindtorch.empty(data, dtype=mindtorch.uint8, device=device))
        try:
            numbers = list(data)
        except TypeError:
            raise RuntimeError(f"torch.UntypedStorage(): Expected a sequence type, but got {type(data).__name__}"
                               ) from None
        return StorageBase.__new__(cls, mindtorch.tensor(numbers, dtype=mindtorch.uint8, device=device))

    @classmethod
    def of(cls, tensor: Any) -> Any:
        """The storage of a tensor."""
        return StorageBase.__new__(cls, tensor)

    @classmethod
    def from_file(cls, filename: Any, shared: bool = False, nbytes: float = 0) -> Any:
        """The first `nbytes` of a file, mapped; writes go to the file where `shared`. RuntimeError if it is too small.

        A file to be shared is made, and grows, as needed.
        """
        return cls.of(from_numpy(mapped_bytes(filename, shared, nbytes)))

    def elements(self, dtype: dtype) -> Any:
        """The bytes as a tensor of `dtype`, without those at the end that make no whole element."""
        return self._as_tensor()[:self.nbytes() // dtype.itemsize * dtype.itemsize].view(dtype)

    def size(self) -> Any:
        """Size in bytes."""
        return self.nbytes()

    def __sizeof__(self) -> int:
        return super().__sizeof__() + self.nbytes()

    def element_size(self) -> Any:
        """1: the elements are bytes."""
        return 1

    def is_pinned(self, device: Device = None) -> Any:
        """Whether the bytes are in page-locked host memory."""
        return self._as_tensor().is_pinned()

    def untyped(self) -> Any:
        """The storage itself."""
        return self

    def tolist(self) -> Any:
        """The bytes as numbers."""
        self._require_elements()
        return self._as_tensor().tolist()

    def __iter__(self) -> Any:
        return iter(self.tolist())

    def _window(self, index):
        start, stop, step = index.indices(self.nbytes())
        if step != 1:
            raise RuntimeError(f"Trying to slice with a step of {step}, but only a step of 1 is supported")
        return slice(start, max(start, stop))

    def _require_elements(self):
        if self.device.type == "meta":
            raise NotImplementedError("Not available for 'meta' device type")

    def _checked(self, index):
        self._require_elements()
        if not isinstance(index, int):
            raise TypeError(f"can't index a torch.UntypedStorage with {type(index).__name__}")
        if not -self.nbytes() <= index < self.nbytes():
            raise IndexError(f"index {index} out of range for storage of size {self.nbytes()}")
        return index

    def __getitem__(self, index: Any) -> Any:
        """A byte; or a storage of its own on the memory of a slice. A tensor of that, by `set_`, is for operators of an
        NPU only where it begins at a multiple of 32 bytes.
        """
        if not isinstance(index, slice):
            return self._as_tensor()[self._checked(index)].item()
        self._require_elements()
        window = self._window(index)
        return self.of(self._part(window.start, window.stop))

    def __setitem__(self, index: Any, value: Any) -> None:
        where = self._window(index) if isinstance(index, slice) else self._checked(index)
        self._as_tensor()[where] = value

    def copy_(self, source: Any, non_blocking: bool | None = None) -> Any:
        """Takes over the bytes of another storage of the same size."""
        self._as_tensor().copy_(source._as_tensor(), non_blocking=bool(non_blocking))
        return self

    def fill_(self, value: Any) -> Any:
        """Sets every byte."""
        self._as_tensor().fill_(value)
        return self

    def clone(self) -> Any:
        """A storage with the same bytes."""
        return self.of(self._as_tensor().clone())

    __copy__ = clone

    filename = None

    def type(self, dtype: dtype | None = None, non_blocking: bool = False) -> Any:
        """The name of the class; or the bytes as a storage of a class like torch.FloatStorage."""
        return "torch.storage.UntypedStorage" if dtype is None else dtype(wrap_storage=self)

    def is_shared(self) -> Any:
        """Whether other processes can see the bytes."""
        return self._as_tensor().is_shared()

    def share_memory_(self) -> Any:
        """Moves the bytes to memory that other processes can see."""
        self._as_tensor().share_memory_()
        return self

    def _share_fd_cpu_(self, *args: Any) -> Any:
        raise self._not_shared_by("_share_fd_")

    def _share_filename_cpu_(self, *args: Any) -> Any:
        raise self._not_shared_by("_share_filename_")

    def _not_shared_by(self, name):
        if not self.is_cpu:
            return RuntimeError(f"{name}: only available on CPU")
        return NotImplementedError(f"{name}: mindtorch.multiprocessing shares memory by handles of its own. Call "
                                   "share_memory_() and send the tensor.")

    def _write_file(self, file: Any, is_real_file: bool, save_size: bool, element_size: int) -> None:
        """Writes the bytes to a file, behind the number of elements where `save_size`."""
        content = self._as_tensor().cpu().numpy().tobytes()
        if save_size:
            file.write((self.nbytes() // element_size).to_bytes(8, "little"))
        file.write(content)

    def pin_memory(self, device: Device = "npu") -> Any:
        """A copy in page-locked host memory; the storage itself where it is there already."""
        tensor = self._as_tensor()
        pinned = tensor.pin_memory()
        return self if pinned is tensor else self.of(pinned)

    def byteswap(self, dtype: dtype) -> None:
        """Reverses the bytes of each element of that dtype in place; of a complex number, those of each part."""
        size = dtype.itemsize // (2 if dtype.is_complex else 1)
        rows = self._as_tensor().view(-1, size)
        rows.copy_(rows.flip(1))

    def __deepcopy__(self, memo: Any) -> Any:
        from mindtorch._utils import copied_storage
        return memo.setdefault(id(self), self.of(copied_storage(self, memo)))

    def to(self, *, device: Device, non_blocking: bool = False) -> Any:
        """The storage itself where it is on `device`, else a copy there."""
        tensor = self._as_tensor()
        moved = tensor.to(device, non_blocking=non_blocking)
        return self if moved is tensor else self.of(moved)

    def cpu(self) -> Any:
        """The storage itself where it is on the CPU, else a copy there."""
        return self.to(device="cpu")

    def npu(self, device: Device = None, non_blocking: bool = False) -> Any:
        """The storage itself where it is on that NPU, else a copy there."""
        return self.to(device="npu" if device is None else device, non_blocking=non_blocking)

    @property
    def is_cpu(self) -> Any:
        return self.device.type == "cpu"

    @property
    def is_npu(self) -> Any:
        return self.device.type == "npu"

    def get_device(self) -> Any:
        """The index of the device; -1 for the CPU."""
        return -1 if self.is_cpu else self.device.index

    def __repr__(self) -> str:
        lines = "..." if self.device.type == "meta" else " " + "\n ".join(str(byte) for byte in self.tolist())
        return f"{lines}\n[torch.storage.UntypedStorage(device={self.device}) of size {self.nbytes()}]"


_StorageBase = StorageBase


def __getattr__(name: str) -> Any:
    if name in ("TypedStorage", "_LegacyStorage", "_dtype_to_storage_type_map", "_storage_type_to_dtype_map"):
        from mindtorch._compat import legacy_types
        return getattr(legacy_types, name)
    raise AttributeError(f"module 'mindtorch.storage' has no attribute '{name}'")
