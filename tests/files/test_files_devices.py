"""Where loaded tensors go: devices of the file and map_location."""
import io

import pytest
import torch

import mindtorch


def saved_on(device):
    file = io.BytesIO()
    whole = mindtorch.arange(6.0, device=device)
    mindtorch.save({"whole": whole, "part": whole.reshape(2, 3).t()[1:]}, file)
    file.seek(0)
    return file


@pytest.mark.parametrize(("map_location", "expected"), [
    (None, None), ("cpu", "cpu"), ("npu", "npu:0"), ("npu:0", "npu:0"), (mindtorch.device("cpu"), "cpu"),
    (mindtorch.device("npu", 0), "npu:0"), ({"npu:0": "cpu"}, "cpu"), ({"cpu": "npu:0"}, "npu:0"), ({}, None),
    (lambda storage, location: storage, "cpu"), (lambda storage, location: None, None),
    (lambda storage, location: storage.npu(), "npu:0")])
def test_map_location(device, map_location, expected):
    saved = "npu:0" if device == "npu" else "cpu"
    if isinstance(map_location, dict) and saved not in map_location:
        expected = saved
    read = mindtorch.load(saved_on(device), map_location=map_location)
    assert str(read["whole"].device) == str(read["part"].device) == (expected or saved)
    assert read["part"].tolist() == [[1, 4], [2, 5]]
    read["whole"].zero_()
    assert read["part"].tolist() == [[0, 0], [0, 0]]


def test_torch_reads_tensors_of_an_npu_with_map_location():
    assert torch.load(saved_on("npu"), map_location="cpu")["part"].tolist() == [[1, 4], [2, 5]]


@pytest.mark.parametrize(("map_location", "error", "text"), [
    ("cuda:0", RuntimeError, "Attempting to deserialize object on a CUDA device but torch.cuda.is_available"),
    ("npu:99", RuntimeError, "NPU device 99 but torch.npu.device_count"),
    ("npu:x", RuntimeError, "don't know how to restore"), ("nowhere", RuntimeError, "don't know how to restore"),
    (3, TypeError, "map_location")])
def test_places_that_are_not_there(map_location, error, text):
    with pytest.raises(error, match=text):
        mindtorch.load(saved_on("cpu"), map_location=map_location)
