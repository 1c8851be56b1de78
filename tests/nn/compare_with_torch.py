"""A scenario runs twice, with torch and with mindtorch: results, exceptions and warnings are compared."""
import warnings
from math import isclose, isnan

import torch

import mindtorch


def shown(value):
    """A value in a form that is the same in both libraries."""
    if isinstance(value, (torch.Tensor, mindtorch.Tensor)):
        return str(value.dtype), value.requires_grad, value.detach().cpu().tolist()
    if isinstance(value, (list, tuple)):
        return [shown(item) for item in value]
    if isinstance(value, dict):
        return {key: shown(item) for key, item in value.items()}
    return value


def outcome_and_warnings(scenario, t, device):
    """What the scenario gives, or the exception it raises; and the warnings on the way."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = shown(scenario(t, device))
        except Exception as error:      # noqa: BLE001 - whatever torch raises is compared
            result = type(error).__name__, str(error).replace("mindtorch.", "torch.")
    return result, [(w.category.__name__, str(w.message).split(" Please file an issue")[0]) for w in caught]


def agree(ours, theirs):
    """Equal, but for numbers that differ by an ulp of float32: torch deals random ones by fused instructions where the
    processor has them."""
    if isinstance(theirs, float):
        return isinstance(ours, float) and (ours == theirs or isclose(ours, theirs, rel_tol=2 ** -22, abs_tol=2 ** -24)
                                            or (isnan(ours) and isnan(theirs)))
    if isinstance(theirs, (list, tuple)):
        return type(ours) is type(theirs) and len(ours) == len(theirs) and all(map(agree, ours, theirs))
    if isinstance(theirs, dict):
        return isinstance(ours, dict) and list(ours) == list(theirs) and all(agree(ours[k], theirs[k]) for k in theirs)
    return ours == theirs


def check(scenario, device):
    """Asserts that the scenario has the same outcome in both libraries."""
    expected, found = outcome_and_warnings(scenario, torch, "cpu"), outcome_and_warnings(scenario, mindtorch, device)
    assert "module 'torch" not in str(expected[0]), f"torch does not know the names of the scenario: {expected[0]}"
    assert agree(found, expected), f"\nmindtorch: {found}\ntorch:     {expected}"
