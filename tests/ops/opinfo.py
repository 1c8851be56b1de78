"""PyTorch's own op database on mindtorch: samples and wrong calls carried over, results compared.

torch.testing._internal's OpInfos bring sample inputs and inputs that must be refused; torch itself is the reference.
"""
import functools
import random
import warnings
from types import FunctionType

import numpy
import torch
from torch.testing._internal import common_utils
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo import core

import mindtorch

# For each list of samples torch walks the stack, half a second under pytest, in search of a unittest.TestCase.
common_utils.extract_test_fn = core.extract_test_fn = lambda: None

SAMPLES = 6
# Whose values are theirs alone: shape and dtype are compared.
RANDOM = ("rand", "bernoulli", "normal", "multinomial", "dropout", "uniform", "exponential", "cauchy", "geometric",
          "rrelu", "empty", "fractional_max_pool", "svd_lowrank", "pca_lowrank", "multi_head_attention_forward")


# Compared in float64: torch's derivative in float32 is off by some percent, as its own in float64 tells.
INEXACT = ("matrix_exp", "nn.functional.ctc_loss")


class NotCarriedOver(Exception):
    """An argument that mindtorch has no counterpart of: a sparse tensor, a dtype."""


@functools.cache
def infos():
    """Name, with its variant -> OpInfo."""
    return {info.name + (f":{info.variant_test_name}" if info.variant_test_name else ""): info for info in op_db}


def _seeded(function, *args, **kwargs):
    mindtorch.manual_seed(42)
    return function(*args, **kwargs)


def function_of(info):
    """The mindtorch function or method of that name; None where there is none.

    Where the database wraps torch's function in one of its own (`lambda tensors, equation: torch.einsum(...)`), it is
    that function with mindtorch in torch's place. An operator of torch.ops is the one of that name in mindtorch.ops.
    """
    if isinstance(info.op, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
        return functools.reduce(lambda found, name: getattr(found, name, None), str(info.op).split("."), mindtorch.ops)
    found, method = mindtorch, "." not in info.name and hasattr(mindtorch.Tensor, info.name)
    for part in info.name.split("."):
        found = getattr(found, part, None)
    if isinstance(info.op, FunctionType) and info.op.__module__.startswith("torch.testing."):
        if (found is not None or method or hasattr(mindtorch.Tensor, f"{info.name}_")
                or hasattr(mindtorch.ops.aten, info.name)):
            names = {**info.op.__globals__, "torch": mindtorch, "wrapper_set_seed": _seeded}
            return FunctionType(info.op.__code__, names, info.name, info.op.__defaults__, info.op.__closure__)
        return None
    if callable(found):
        return found
    return (lambda tensor, *args, **kwargs: getattr(tensor, info.name)(*args, **kwargs)) if method else None


def carried_over(value, device, leaves=None):
    """A torch value as mindtorch's; (torch tensor, its counterpart) of those that require gradients go to `leaves`.

    A tensor that is given twice is carried over once, if `leaves` is given.
    """
    if isinstance(value, torch.Tensor):
        return _tensor(value, device, leaves)
    if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
        counterpart = getattr(mindtorch, str(value).removeprefix("torch."), None)
        if counterpart is None:
            raise NotCarriedOver(value)
        return counterpart
    if isinstance(value, torch.nn.Module) and not list(value.parameters()):
        module = getattr(mindtorch.nn, type(value).__name__)()
        vars(module).update({name: getattr(value, name) for name in value.__constants__})
        return module
    if isinstance(value, torch.device):
        return device if value.type == "cpu" else str(value)
    if isinstance(value, torch.Size):
        return tuple(value)
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(carried_over(item, device, leaves) for item in value)
    if isinstance(value, dict):
        return {key: carried_over(item, device, leaves) for key, item in value.items()}
    if callable(value):
        raise NotCarriedOver(value)
    return value


def _tensor(value, device, leaves):
    for known, counterpart in leaves or ():
        if known is value:
            return counterpart
    dtype = getattr(mindtorch, str(value.dtype).removeprefix("torch."), None)
    if value.layout == torch.sparse_csr:
        parts = (value.crow_indices(), value.col_indices(), value.values().detach())
        tensor = mindtorch.sparse_csr_tensor(*(carried_over(part, device) for part in parts), size=tuple(value.shape))
        return _leaf(value, tensor, leaves)
    if value.layout != torch.strided or dtype is None or value.device.type != "cpu" or value.dim() > 64:
        raise NotCarriedOver(value)
    plain = value.detach().resolve_conj().resolve_neg()
    elements = plain.untyped_storage().nbytes() // plain.itemsize
    whole = plain.as_strided((elements,), (1,), 0)
    array = (whole.float() if value.dtype == torch.bfloat16 else whole).numpy()
    tensor = mindtorch.tensor(array, dtype=dtype, device=device)
    tensor = tensor.as_strided(tuple(plain.shape), plain.stride(), plain.storage_offset())
    return _leaf(value, tensor, leaves)


def _leaf(value, tensor, leaves):
    """The counterpart, which requires a gradient as the value does."""
    if value.requires_grad:
        tensor.requires_grad_()
        if leaves is not None and value.is_leaf:
            leaves.append((value, tensor))
    return tensor


def flattened(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from flattened(item)
    else:
        yield value


def array_of(tensor):
    tensor = tensor.detach()
    if str(tensor.layout) != "torch.strided":
        tensor = tensor.to_dense()
    tensor = tensor.resolve_conj().resolve_neg()
    if isinstance(tensor, torch.Tensor):
        return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy(force=True)
    return numpy.asarray((tensor.float() if tensor.dtype is mindtorch.bfloat16 else tensor).cpu().numpy())


def compare(theirs, ours, is_random, what):
    """AssertionError unless `ours` equals torch's result in structure, dtype, shape and value."""
    theirs, ours = list(flattened(theirs)), list(flattened(ours))
    assert len(theirs) == len(ours), f"{what}: {len(ours)} results, torch gives {len(theirs)}"
    for expected, given in zip(theirs, ours, strict=True):
        if isinstance(expected, torch.Tensor):
            assert isinstance(given, mindtorch.Tensor), f"{what}: {given!r} is no tensor"
            assert str(given.dtype) == str(expected.dtype), what
            assert tuple(given.shape) == tuple(expected.shape), what
            assert str(given.layout) == str(expected.layout), what
            if not is_random:
                tolerance = 2e-3 if expected.dtype.itemsize == 2 else 2e-4
                numpy.testing.assert_allclose(array_of(given), array_of(expected), rtol=tolerance, atol=tolerance,
                                              equal_nan=True, err_msg=what)
        elif isinstance(expected, (bool, int, float, complex)) and not is_random:
            assert given == expected or abs(given - expected) < 1e-4 or (given != given and expected != expected), what


def samples_of(info):
    """(sample, torch's result, whether gradients are compared) of an op; what torch itself refuses is left out.

    The sample's output_process_fn_grad takes from a result what is not open, as the signs of eigenvectors are.
    """
    dtypes = info.supported_dtypes("cpu")
    preferred = (torch.float32, torch.int64, torch.bool, torch.complex64, torch.float64)
    dtype = next((d for d in preferred[4 * (info.name in INEXACT):] if d in dtypes), None)
    if dtype is None:
        return
    differentiable = info.supports_autograd and dtype in info.supported_backward_dtypes("cpu") and \
        dtype.is_floating_point
    for seed in (random.seed, torch.manual_seed, numpy.random.seed):
        seed(0)
    for number, sample in enumerate(info.sample_inputs("cpu", dtype, requires_grad=differentiable)):
        if number == SAMPLES:
            return
        try:
            result = info.op(sample.input, *sample.args, **sample.kwargs)
        except Exception:      # noqa: BLE001 - a sample that torch refuses on this machine is none
            continue
        yield sample, sample.output_process_fn_grad(result), differentiable


def gradients(result, leaves):
    """Those of the sum of squares of all real results; None where nothing can be differentiated."""
    outputs = [o for o in flattened(result) if isinstance(o, (torch.Tensor, mindtorch.Tensor))
               and o.requires_grad and o.is_floating_point()]
    if not outputs:
        return None
    sum((o * o).sum() for o in outputs).backward()
    return [leaf.grad for leaf in leaves]


def run(info, device):
    """Compare an op on all its samples. Gives how many there were."""
    function, is_random, count = function_of(info), any(word in info.name for word in RANDOM), 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sample, expected, differentiable in samples_of(info):
            leaves = []
            try:
                arguments = carried_over([sample.input, *sample.args], device, leaves)
                keywords = carried_over(sample.kwargs, device, leaves)
            except NotCarriedOver:
                continue
            given = sample.output_process_fn_grad(function(*arguments, **keywords))
            if device == "npu":
                mindtorch.npu.synchronize()         # a copy to the host with non_blocking=True is only under way
            by_chance = is_random or sample.kwargs.get("dropout_p", 0) > 0
            compare(expected, given, by_chance, "result")
            if differentiable and not by_chance and leaves:
                _compare_gradients(expected, given, leaves)
            count += 1
    return count


def _compare_gradients(expected, given, leaves):
    for leaf, _ in leaves:
        leaf.grad = None        # samples may share their tensors
    try:
        theirs = gradients(expected, [leaf for leaf, _ in leaves])
    except RuntimeError:
        return          # torch has no derivative either
    if theirs is None:
        return
    ours = gradients(given, [leaf for _, leaf in leaves])
    assert ours is not None, "the result does not require grad"
    for wanted, found in zip(theirs, ours, strict=True):
        if wanted is not None:
            assert found is not None, "no gradient came back"
            compare(wanted, found, False, "gradient")
