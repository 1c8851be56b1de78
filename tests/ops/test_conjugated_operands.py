"""Operators of PyTorch's database on conjugate and negative views: as on tensors whose memory holds the elements."""
import warnings
from itertools import islice

import numpy
import pytest
import torch
from opinfo import RANDOM, NotCarriedOver, array_of, carried_over, flattened, function_of, infos

import mindtorch

SAMPLES = 2
SKIPPED = ("empty", "new_empty", "as_strided", "resize", "view_as_real")    # undefined elements, or refused


def turned(value, kind):
    """The value with tensors whose memory holds the conjugates, or negatives, of the same elements."""
    if isinstance(value, mindtorch.Tensor) and value.layout is mindtorch.strided:
        if kind == "conj" and value.is_complex():
            return value.detach().conj_physical().conj().requires_grad_(value.requires_grad)
        if kind == "neg" and (value.is_floating_point() or value.is_complex()):
            return value.detach().neg()._neg_view().requires_grad_(value.requires_grad)
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(turned(item, kind) for item in value)
    if isinstance(value, dict):
        return {key: turned(item, kind) for key, item in value.items()}
    return value


def samples(info, dtype, device):
    """(function, arguments, keywords) of mindtorch for samples of an op."""
    if dtype not in info.supported_dtypes("cpu") or function_of(info) is None:
        return
    torch.manual_seed(0)
    for sample in islice(info.sample_inputs("cpu", dtype), SAMPLES):
        try:
            yield carried_over([sample.input, *sample.args], device), carried_over(sample.kwargs, device)
        except NotCarriedOver:
            continue


def outcome(function, arguments, keywords):
    try:
        results = list(flattened(function(*arguments, **keywords)))
        mindtorch.npu.synchronize()         # a copy to the host with non_blocking=True is only under way
        return [array_of(result) if isinstance(result, mindtorch.Tensor) else result
                for result in results]
    except (RuntimeError, NotImplementedError, TypeError, ValueError) as error:
        return [type(error)]


def same(a, b):
    if isinstance(a, numpy.ndarray) and isinstance(b, numpy.ndarray):
        return a.shape == b.shape and numpy.allclose(a, b, rtol=1e-4, atol=1e-4, equal_nan=True)
    return type(a) is type(b) and (not isinstance(a, (int, float, complex)) or numpy.allclose(a, b, equal_nan=True))


@pytest.mark.parametrize(("kind", "dtype"), [("conj", torch.complex64), ("neg", torch.float32)])
def test_same_results(kind, dtype, device):
    different, checked = [], 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, info in infos().items():
            if any(word in info.name for word in RANDOM) or info.name.startswith(SKIPPED):
                continue
            for arguments, keywords in samples(info, dtype, device):
                bits = turned(arguments, kind), turned(keywords, kind)
                wanted = outcome(function_of(info), arguments, keywords)
                given = outcome(function_of(info), *bits)
                if len(wanted) != len(given) or not all(map(same, wanted, given)):
                    different.append((name, wanted, given))
                    continue
                inplace = getattr(mindtorch.Tensor, f"{info.name}_", None)
                if inplace is None or not isinstance(arguments[0], mindtorch.Tensor):
                    continue
                written = turned(arguments, kind)
                wanted = outcome(inplace, [arguments[0].clone(), *arguments[1:]], keywords)
                given = outcome(inplace, written, keywords)
                if not all(map(same, wanted + wanted * (type(wanted[0]) is not type),
                               given + [array_of(written[0])] * (type(wanted[0]) is not type))):
                    different.append((f"{name}_", wanted, given))
                checked += 1
    assert checked > 50
    assert not different, "\n".join(f"{name}: {a} {b}"[:400] for name, a, b in different)
