"""A case is a function of the library and a maker of tensors; what it does with torch and mindtorch must agree."""
import re
import warnings

import numpy as np
import torch

import mindtorch

torch.set_warn_always(True)         # so that an outcome does not depend on which test ran before


class Maker:
    """Tensors with values that depend on shape and seed alone, in one library on one device."""

    def __init__(self, lib, device):
        self.lib, self.device = lib, device

    def __call__(self, *shape, seed=0, grad=True, dtype="float32"):
        values = np.random.default_rng([seed, *shape]).uniform(-2, 2, shape).astype(dtype)
        return self.lib.tensor(values, device=self.device, requires_grad=grad)

    def zeros(self, *shape):
        return self.lib.zeros(shape, device=self.device)

    def ones(self, *shape):
        return self.lib.ones(shape, device=self.device)


def plain(value):
    """What results of both libraries can be reduced to; tensors become dtype, shape, strides and an array."""
    if isinstance(value, (torch.Tensor, mindtorch.Tensor)):
        return str(value.dtype), tuple(value.shape), value.stride(), value.requires_grad, value.detach().cpu().numpy()
    if isinstance(value, (torch.dtype, mindtorch.dtype)):
        return str(value)
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


def first_sentence(error):
    """Class, and the message up to its first full stop, without addresses and names of libraries and devices."""
    text = re.split(r"\.(\s|$)", str(error).split("\n")[0])[0]
    text = re.sub(r"0x[0-9a-f]+", "0x", text).replace("mindtorch", "torch").replace("torch.npu", "torch")
    text = re.sub(r"'[^']*\.Tensor'|<class '[^']*'>", "class", text).replace("npu:0", "cpu").replace("npu", "cpu")
    return [type(error).__name__, text]


def outcome(case, lib, device):
    """What a case returned or raised, and what it warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = ["value", plain(case(lib, Maker(lib, device)))]
        except Exception as error:      # noqa: BLE001 - any refusal is an outcome
            found = ["error", *first_sentence(error)]
    return [*found, [first_sentence(warning.message) for warning in caught]]


def assert_same(ours, theirs, path="outcome"):
    """Compare what `plain` gave: arrays closely, everything else exactly."""
    if isinstance(theirs, np.ndarray):
        np.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=3e-5, err_msg=path)
    elif isinstance(theirs, (list, tuple)) and isinstance(ours, (list, tuple)):
        assert len(ours) == len(theirs), f"{path}: {ours}, torch: {theirs}"
        for index, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            assert_same(one, other, f"{path}[{index}]")
    elif isinstance(theirs, dict):
        assert_same(list(ours.items()), list(theirs.items()), path)
    elif isinstance(theirs, float):
        np.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=3e-5, err_msg=path)
    else:
        assert ours == theirs, f"{path}: {ours}, torch: {theirs}"


def compare(case, device):
    """The case with both libraries."""
    theirs = outcome(case, torch, "cpu")
    ours = outcome(case, mindtorch, device)
    if ours[0] != theirs[0]:
        raise AssertionError(f"{ours}, torch: {theirs}")
    assert_same(ours, theirs)


class Cases(dict):
    """Cases by name; use it as a decorator."""

    def __call__(self, function):
        assert function.__name__ not in self, f"two cases are called {function.__name__}"
        self[function.__name__] = function
        return function
