"""Functions of two tensors over all pairs of dtypes, 0-d tensors, vectors and numbers: torch's dtype, values, refusals.

The fuzzer meets such a pair by chance; here each is met.
"""
import itertools
import warnings

import numpy
import pytest
import torch

import mindtorch

DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64",
          "complex128")
NUMBERS = (True, 2, -1, 1.5, 1 + 2j)
OPERANDS = [*itertools.product(DTYPES, (0, 1)), *NUMBERS]
VALUES = ([1, 2, 3], [2, 1, 1])
FUNCTIONS = [
    "add", "sub", "mul", "div", "true_divide", "floor_divide", "remainder", "fmod", "pow", "float_power", "atan2",
    "hypot", "copysign", "maximum", "fmin", "logaddexp", "eq", "lt", "ge", "logical_and", "bitwise_and",
    "bitwise_or", "bitwise_left_shift", "bitwise_right_shift", "gcd", "heaviside", "xlogy", "rsub", "isclose",
    "dot", "vdot", "inner", "outer", "kron", "addr", "lerp", "addcmul", "where", "isin", "bucketize",
    "special.xlog1py", "special.xlogy", "special.zeta", "linalg.vecdot", "nn.functional.huber_loss",
    "nn.functional.mse_loss", "masked_fill", "clamp_min", "cat",
]
NPU_FUNCTIONS = {"add", "div", "lerp", "addr", "xlogy", "maximum", "isin", "where"}
# How a function of more than two operands is called; and one whose operands are elsewhere.
CALLS = {
    "addr": lambda lib, a, b: lib.addr(a, b, b),
    "lerp": lambda lib, a, b: lib.lerp(a, a, b),
    "addcmul": lambda lib, a, b: lib.addcmul(a, b, b),
    "where": lambda lib, a, b: lib.where(lib.ones(3, dtype=lib.bool, device=a.device if isinstance(a, lib.Tensor)
                                                  else b.device), a, b),
    "masked_fill": lambda lib, a, b: a.masked_fill(a == 1, b),
    "cat": lambda lib, a, b: lib.cat([a, b]),
}
TENSORS_ONLY = {"lerp": (0,), "addr": (0, 1), "addcmul": (0, 1), "masked_fill": (0,), "cat": (0, 1),
                "nn.functional.mse_loss": (0, 1), "nn.functional.huber_loss": (0, 1)}


def operand(lib, device, described, which):
    if not isinstance(described, tuple):
        return described
    dtype, dims = described
    return lib.tensor(VALUES[which] if dims else VALUES[which][1], dtype=getattr(lib, dtype)).to(device)


def called(lib, device, name, one, other):
    function = CALLS.get(name)
    if function is None:
        function = lib
        for part in name.split("."):
            function = getattr(function, part)
    operands = [operand(lib, device, described, which) for which, described in enumerate((one, other))]
    try:
        result = function(lib, *operands) if name in CALLS else function(*operands)
    except Exception as error:      # noqa: BLE001 - whatever is raised is compared
        return error, None
    return str(result.dtype).rpartition(".")[2], numpy.array(result.detach().cpu().tolist())


def differs(theirs, ours, device):
    (expected, values), (given, found) = theirs, ours
    if isinstance(given, NotImplementedError) and (device == "npu" or isinstance(expected, RuntimeError)):
        return False                            # ACLNN does not document the dtype
    if isinstance(expected, Exception) or isinstance(given, Exception):
        lacks = isinstance(expected, RuntimeError) and "not implemented for" in str(expected)
        return not lacks and type(expected) is not type(given)
    if expected == "complex32":                 # which does not exist here
        return False
    eps = {"float16": 1e-3, "bfloat16": 8e-3, "float32": 1e-6, "complex64": 1e-6}.get(expected, 1e-14)
    return given != expected or not numpy.allclose(found, values, rtol=8 * eps, atol=8 * eps, equal_nan=True)


def pairs(name):
    only = TENSORS_ONLY.get(name, ())
    for one, other in itertools.product(OPERANDS, OPERANDS):
        if (isinstance(one, tuple) or (0 not in only and isinstance(other, tuple))) and (
                isinstance(other, tuple) or 1 not in only) and (name, other) != ("lerp", 1 + 2j):
            yield one, other            # torch's lerp takes that number beside float32, and not beside float64


# The rules of dtypes know no device: some functions show that the NPU's calls follow them.
@pytest.mark.parametrize(("device", "name"), [*(("cpu", name) for name in FUNCTIONS),
                                              *(("npu", name) for name in sorted(NPU_FUNCTIONS))])
def test_dtypes_and_values(name, device):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [f"{one}, {other}: torch {theirs}, here {ours}" for one, other in pairs(name)
                 if differs(theirs := called(torch, "cpu", name, one, other),
                            ours := called(mindtorch, device, name, one, other), device)]
    assert not found, f"{len(found)} pairs differ:\n" + "\n".join(found[:8])
