"""Files in the format safetensors, with the functions of the package's module safetensors.torch, which needs torch.

A file is the length of a header in 8 bytes, the header in JSON (dtype, shape and place of each tensor), the elements.
"""
from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import numpy

import mindtorch as torch

if TYPE_CHECKING:
    from mindtorch import Tensor
    from mindtorch.types import Device

__all__ = ["load", "load_file", "save", "save_file"]

_DTYPES = {"BOOL": torch.bool, "U8": torch.uint8, "I8": torch.int8, "U16": torch.uint16, "I16": torch.int16,
           "U32": torch.uint32, "I32": torch.int32, "U64": torch.uint64, "I64": torch.int64,
           "F8_E4M3": torch.float8_e4m3fn, "F8_E5M2": torch.float8_e5m2, "F8_E8M0": torch.float8_e8m0fnu,
           "BF16": torch.bfloat16, "F16": torch.float16, "F32": torch.float32, "F64": torch.float64,
           "C64": torch.complex64}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}


def _serialized(tensors, metadata):
    """The header, and the elements of the tensors as they follow it: the widest dtypes first, so all are aligned."""
    header, parts, end = {"__metadata__": metadata} if metadata is not None else {}, [], 0
    for name, tensor in sorted(tensors.items(), key=lambda item: (-item[1].element_size(), item[0])):
        if tensor.dtype not in _NAMES:
            raise ValueError(f"safetensors has no dtype for {name}: {tensor.dtype}")
        part = tensor.detach().cpu().reshape(-1).view(torch.uint8).numpy()
        header[name] = {"dtype": _NAMES[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [end, end + part.nbytes]}
        parts.append(part)
        end += part.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return [len(text).to_bytes(8, "little"), text, *parts]


def save(tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """A file with the tensors as bytes. Tensors that share memory are written whole, each.

    Arguments:
        tensors: the tensors by name
        metadata: texts by name; None means none

    Example:
        >>> data = torch.utils.safetensors.save({"weight": torch.ones(2)}, metadata={"format": "pt"})
        >>> type(data), len(data)
        (<class 'bytes'>, 112)
    """
    return b"".join(_serialized(tensors, metadata))


def save_file(tensors: dict[str, Tensor], filename: str | os.PathLike[str],
              metadata: dict[str, str] | None = None) -> None:
    """Write the tensors to a file, with the texts of `metadata`. ValueError for a dtype that the format lacks.

    Arguments:
        tensors: the tensors by name
        filename: the path of the file
        metadata: texts by name; None means none

    Example:
        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = os.path.join(folder, "model.safetensors")
        ...     torch.utils.safetensors.save_file({"weight": torch.ones(2)}, file)
        ...     os.path.getsize(file)
        80
    """
    parts = _serialized(tensors, metadata)
    with open(filename, "wb") as file:
        file.writelines(parts)


def _tensors(data, device):
    length = int.from_bytes(data[:8].tobytes(), "little")
    if data.size < 8 or length > data.size - 8:
        raise ValueError("not a file of safetensors: its header is longer than the file")
    header = json.loads(data[8:8 + length].tobytes())
    header.pop("__metadata__", None)
    elements, found = data[8 + length:], {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        dtype = _DTYPES[entry["dtype"]]
        if not 0 <= begin <= end <= elements.size or end - begin != dtype.itemsize * int(numpy.prod(entry["shape"])):
            raise ValueError(f"a damaged file of safetensors: {name} has the bytes {begin} to {end} of "
                             f"{elements.size}, for the shape {entry['shape']}")
        tensor = torch.empty(entry["shape"], dtype=dtype)
        tensor.reshape(-1).view(torch.uint8).numpy()[:] = elements[begin:end]
        found[name] = tensor.to(device)
    return found


def load(data: bytes) -> dict[str, Tensor]:
    """The tensors of a file that has been read. ValueError where it is damaged.

    Arguments:
        data: the bytes

    Example:
        >>> data = torch.utils.safetensors.save({"weight": torch.ones(2)})
        >>> torch.utils.safetensors.load(data)
        {'weight': tensor([1., 1.])}
    """
    return _tensors(numpy.frombuffer(data, numpy.uint8), "cpu")


def load_file(filename: str | os.PathLike[str], device: Device = "cpu") -> dict[str, Tensor]:
    """The tensors of a file, on a device. ValueError where it is damaged.

    Arguments:
        filename: the path of the file
        device: where the tensors come to

    Example:
        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = os.path.join(folder, "model.safetensors")
        ...     torch.utils.safetensors.save_file({"weight": torch.ones(2)}, file)
        ...     torch.utils.safetensors.load_file(file, device="npu")
        {'weight': tensor([1., 1.], device='npu:0')}
    """
    return _tensors(numpy.memmap(filename, numpy.uint8, "r"), device)
