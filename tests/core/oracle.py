"""One expression, evaluated with torch and with mindtorch: the outcomes must be equal, values and errors alike."""
import copy
import operator
import pickle
import re

import numpy as np
import torch

import mindtorch

torch.set_warn_always(True)         # so that an outcome does not depend on which test ran before


def names(lib, device):
    """What an expression may use. The tensors are new each time, because expressions may write to them."""
    def assigned(target, index, value):
        target = target.clone()
        target[index] = value
        return target

    def sent(tensor):
        return tensor.to(device)

    return {
        "torch": lib, "np": np, "operator": operator, "copy": copy, "pickle": pickle, "assigned": assigned,
        "a": sent(lib.arange(6, dtype=lib.float32).reshape(2, 3)),
        "i": sent(lib.arange(6).reshape(2, 3)),
        "c": sent(lib.arange(24).reshape(2, 3, 4)),
        "z": sent(lib.tensor(5)),
        "e": sent(lib.empty(0, 3)),
        "u": sent(lib.tensor([0, 1, 44, 128, 255], dtype=lib.uint8)),
        "s": sent(lib.tensor([-128, -1, 0, 44, 127], dtype=lib.int8)),
        "w": sent(lib.tensor([1, 2, 3], dtype=lib.int32)),
        "h": sent(lib.tensor([1.5, 2.0], dtype=lib.float16)),
        "m": sent(lib.tensor([True, False, True])),
        "dev": device, "F": lib.nn.functional,
    }


def expressions(table):
    """The expressions of a table: lines of them, separated by " | "."""
    return [expression.strip() for line in table.strip().splitlines() for expression in line.split(" | ")]


def plain(value):
    """A value that both libraries' results can be reduced to."""
    if isinstance(value, (torch.Tensor, mindtorch.Tensor)):
        return ("tensor", str(value.dtype), tuple(value.shape), value.stride(), value.storage_offset(),
                repr(value.tolist()))
    if isinstance(value, (torch.Size, mindtorch.Size)):
        return ("Size", tuple(value))
    if isinstance(value, (tuple, list)):
        return type(value).__name__, [plain(item) for item in value]
    return repr(value)


def outcome(lib, expression, device="cpu"):
    """("value", plain value), or ("error", exception type, message)."""
    scope = names(lib, device if lib is mindtorch else "cpu")
    try:
        return "value", plain(eval(expression, scope))
    except Exception as error:  # noqa: BLE001 - any exception is an outcome
        # torch appends where in its C++ code a message comes from, and which arguments do not fit which overload.
        message = re.sub(r"( \(Triggered internally at|\nException raised from).*", "", str(error), flags=re.DOTALL)
        message = re.sub(r"\n      didn't match because[^\n]*", "", message)
        return "error", type(error).__name__, message.replace("torch.npu.", "torch.")


def check(expression, device="cpu"):
    assert outcome(mindtorch, expression, device) == outcome(torch, expression)
