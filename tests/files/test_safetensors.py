"""mindtorch.utils.safetensors beside safetensors.torch with torch: each reads what the other has written."""
import json

import pytest
import safetensors
import safetensors.torch
import torch

import mindtorch
from mindtorch.utils import safetensors as ours

DTYPES = ("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool", "complex64",
          "uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2")


def tensors(lib, device="cpu"):
    """Of each dtype, a number, an empty tensor, a view with strides."""
    made = {name: (lib.arange(12).reshape(3, 4) % 5).to(getattr(lib, name)) for name in DTYPES}
    made |= {"scalar": lib.tensor(3.5), "empty": lib.zeros(2, 0), "strided": lib.ones(3, 4)}
    return {name: tensor.to(device) for name, tensor in made.items()}


def bits(found):
    """name -> dtype, shape, bytes."""
    def read(tensor):
        byte = torch.uint8 if isinstance(tensor, torch.Tensor) else mindtorch.uint8
        return str(tensor.dtype), tuple(tensor.shape), tensor.cpu().reshape(-1).view(byte).tolist()
    return {name: read(tensor) for name, tensor in found.items()}


def test_torch_reads_what_is_written(tmp_path, device):
    ours.save_file({**tensors(mindtorch, device), "strided": mindtorch.ones(4, 3, device=device).t()},
                   tmp_path / "a.safetensors", {"format": "pt"})
    assert bits(safetensors.torch.load_file(tmp_path / "a.safetensors")) == bits(tensors(torch))
    with safetensors.safe_open(tmp_path / "a.safetensors", framework="pt") as file:
        assert file.metadata() == {"format": "pt"}


def test_what_torch_has_written_is_read(tmp_path, device):
    safetensors.torch.save_file(tensors(torch), tmp_path / "a.safetensors", {"format": "pt"})
    found = ours.load_file(tmp_path / "a.safetensors", device)
    assert {tensor.device.type for tensor in found.values()} == {device}
    assert bits(found) == bits(tensors(torch)) == bits(ours.load((tmp_path / "a.safetensors").read_bytes()))
    found["float32"].add_(1)              # the tensors are no part of the file


def test_bytes_are_those_of_the_package():
    assert bits(safetensors.torch.load(ours.save(tensors(mindtorch)))) == bits(tensors(torch))


def with_header(header, elements=b"\0" * 8):
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + elements


PLACES = [([2], [0, 16]), ([2], [-8, 0]), ([2], [8, 0]), ([3], [0, 8]), ([1], [0, 8]), ([-2], [0, 8])]


@pytest.mark.parametrize("data", [
    b"", b"\xff" * 8, b"\x10" + b"\0" * 7 + b"{}", with_header({})[:9] + b"x",
    *(with_header({"a": {"dtype": "F32", "shape": shape, "data_offsets": place}}) for shape, place in PLACES)])
def test_damaged_files_are_refused(data):
    with pytest.raises(ValueError, match=r"safetensors|Expecting"):
        ours.load(data)


def test_a_dtype_that_the_format_lacks_is_named():
    with pytest.raises(ValueError, match=r"no dtype for x: torch\.complex128"):
        ours.save({"x": mindtorch.ones(1, dtype=mindtorch.complex128)})
