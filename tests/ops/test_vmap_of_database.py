"""torch.vmap over PyTorch's op database: a batch of two samples beside a call for each."""
import random
import warnings

import numpy
import pytest
import torch
from opinfo import RANDOM, NotCarriedOver, array_of, carried_over, flattened, function_of, infos

import mindtorch

# Some for each rule; `python tests/ops/test_vmap_of_database.py` runs all.
NAMES = [
    "add", "where", "clamp", "lerp", "masked_fill", "index_put", "nn.functional.mse_loss",
    "nn.functional.binary_cross_entropy_with_logits", "nn.functional.prelu", "sum", "mean", "amax", "aminmax",
    "std", "argmax", "max:reduction_no_dim", "median", "logsumexp", "linalg.vector_norm", "permute", "squeeze",
    "unsqueeze", "expand", "reshape", "as_strided", "diagonal", "unfold", "unbind", "split", "repeat", "t", "tril",
    "cat", "stack", "roll", "flip", "cumsum", "sort", "topk", "softmax", "gather", "scatter_add", "index_select",
    "index_add", "take_along_dim", "nn.functional.pad:constant", "mm", "bmm", "mv", "addmm", "addmv", "baddbmm",
    "matmul", "outer", "einsum", "nn.functional.linear", "nn.functional.embedding", "nn.functional.conv2d",
    "nn.functional.conv_transpose1d", "nn.functional.max_pool2d", "nn.functional.avg_pool2d",
    "nn.functional.interpolate:bilinear", "nn.functional.grid_sample", "nn.functional.layer_norm",
    "nn.functional.group_norm", "nn.functional.batch_norm:without_cudnn", "nn.functional.instance_norm",
    "nn.functional.nll_loss", "nn.functional.cross_entropy", "nn.functional.gelu", "linalg.inv", "linalg.solve",
    "linalg.qr", "linalg.det", "cdist", "fft.rfft", "new_zeros", "zeros_like", "searchsorted", "trace",
    "block_diag", "diagonal_scatter", "select_scatter", "slice_scatter", "index_reduce:mean", "istft",
    "linspace:tensor_overload", "logspace:tensor_overload", "matrix_exp", "nn.functional.embedding_bag", "histogram",
    "nn.functional.ctc_loss", "_segment_reduce:lengths", "argwhere", "nonzero_static",
]
# What torch refuses as well: sections and positive variances are read as elements.
REFUSED = ["tensor_split", "nn.functional.gaussian_nll_loss"]
# The elements decide the shape, or torch gives the batch itself another one; or tensors are sparse.
WITHOUT_SHAPE = [
    "masked_select", "nonzero", "argwhere", "unique", "unique_consecutive", "resize_", "resize_as_", "to_sparse",
]


def sample_of(info):
    dtype = next((d for d in (torch.float32, torch.int64, torch.bool, torch.complex64)
                  if d in info.supported_dtypes("cpu")), None)
    for seed in (random.seed, torch.manual_seed, numpy.random.seed):
        seed(0)
    return None if dtype is None else next(iter(info.sample_inputs("cpu", dtype)), None)


def replaced(value, tensors):
    """The arguments with the next of `tensors` in place of each tensor."""
    if isinstance(value, mindtorch.Tensor):
        return next(tensors)
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(replaced(item, tensors) for item in value)
    return {key: replaced(item, tensors) for key, item in value.items()} if isinstance(value, dict) else value


def outcome(info, device):
    """What is wrong; "" where nothing is, or nothing can be compared."""
    function, sample = function_of(info), sample_of(info)
    if function is None or sample is None:
        return ""
    try:
        given = carried_over((sample.input, tuple(sample.args), sample.kwargs), device)
    except NotCarriedOver:
        return ""
    one = [each for each in flattened([given[0], given[1], given[2]]) if isinstance(each, mindtorch.Tensor)]
    other = [each * 0.9 if each.is_floating_point() or each.is_complex() else each for each in one]

    def call(*tensors):
        first, args, kwargs = replaced(given, iter(tensors))
        return tuple(flattened(function(first, *args, **kwargs)))
    try:
        expected = [call(*(each.clone() for each in tensors)) for tensors in (one, other)]
    except (RuntimeError, NotImplementedError):          # the device has no such operator
        return ""
    if not one or not all(isinstance(each, mindtorch.Tensor) for each in expected[0]):
        return ""
    try:
        found = mindtorch.vmap(call)(*(mindtorch.stack(pair) for pair in zip(one, other, strict=True)))
        for batch, *singles in zip(found, *expected, strict=True):
            assert batch.dtype is singles[0].dtype
            for row, single in zip(array_of(batch), map(array_of, singles), strict=True):
                numpy.testing.assert_allclose(row, single, rtol=2e-4, atol=2e-4, equal_nan=True)
    except Exception as error:      # noqa: BLE001 - whatever is raised is the outcome
        return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    return ""


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_is_its_samples(name, device):
    assert outcome(infos()[name], device) == ""


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for name, info in infos().items():
        if name not in REFUSED + WITHOUT_SHAPE and not any(word in name for word in RANDOM):
            for device in ("cpu", "npu"):
                print(*filter(None, [f"{name} {device}", outcome(info, device)]))
