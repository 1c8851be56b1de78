"""interpolate(antialias=True) beside torch's, on both devices."""
import pytest
from test_functional_networks import agree, numbers, refused_alike


def resized(**options):
    return lambda lib, functional, image: functional.interpolate(image, antialias=True, **options)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("options", [
    {"size": 4}, {"size": (12, 3)}, {"size": (1, 20)}, {"size": (7, 9)}, {"scale_factor": 0.4},
    {"scale_factor": (0.6, 1.7)}, {"scale_factor": 0.3, "recompute_scale_factor": True},
    {"size": (3, 5), "align_corners": True}, {"size": (1, 12), "align_corners": True}], ids=str)
def test_sizes(options, mode, device):
    agree(resized(mode=mode, **options), [numbers(2, 3, 7, 9)], device)


def test_lanczos(device):
    agree(resized(mode="lanczos", size=(4, 13)), [numbers(1, 2, 7, 9)], device)


@pytest.mark.parametrize(("shape", "options"), [
    ((2, 3, 7), {"size": 4, "mode": "linear"}), ((2, 3, 7, 9), {"size": 4, "mode": "nearest"}),
    ((2, 3, 0, 9), {"size": 4, "mode": "bilinear"}), ((2, 3, 7, 9), {"size": (0, 2), "mode": "bicubic"})], ids=str)
def test_refusals(shape, options, device):
    refused_alike(resized(**options), [numbers(*shape)], device)
