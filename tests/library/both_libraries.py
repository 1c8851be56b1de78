"""Runs a scenario with torch and with mindtorch, for tests that compare the results."""
import re

import torch

import mindtorch
import mindtorch.library

SIDES = {"torch": torch, "mindtorch": mindtorch}


def said(function, *args, **kwargs):
    """The outcome of a call: its value, or its error's type and message without addresses and places."""
    try:
        return plain(function(*args, **kwargs))
    except Exception as error:      # noqa: BLE001 - whatever it is, it is compared
        message = re.sub(r"mindtorch", "torch", str(error))
        return type(error).__name__, message


def plain(value):
    """A result in terms that both sides share."""
    if isinstance(value, (torch.Tensor, mindtorch.Tensor)):
        return str(value.dtype).rpartition(".")[2], value.requires_grad, value.tolist()
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [plain(item) for item in value]
    return value if isinstance(value, (bool, int, float, str, type(None))) else re.sub("mindtorch", "torch", str(value))


def both(scenario, *args):
    """What `scenario(lib, *args)` returns with torch and with mindtorch."""
    return [scenario(lib, *args) for lib in SIDES.values()]
