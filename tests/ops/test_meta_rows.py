"""Every op row on the meta device: its rules give the shape, dtype and strides that the CPU's result has."""
from functools import partial

import pytest
from samples import SAMPLES, Make
from test_ops import TABLE, _empty_out, _with_out, forms, on_device, outcome

import mindtorch
from mindtorch.utils._pytree import tree_leaves

ROWS = {row.key: row for row in TABLE.rows if row.samples in SAMPLES and {"own", "npu"}.isdisjoint(row.variants)}
DYNAMIC = {key for key, row in ROWS.items() if any(out.dynamic_shape for out in row.outputs)}
# The host reads how long the result is.
READ = {"bincount", "one_hot", "repeat_interleave.Tensor", "repeat_interleave.self_Tensor"}


def described(result):
    if isinstance(result, mindtorch.Tensor):
        return tuple(result.shape), result.dtype, result.stride(), result.storage_offset()
    if isinstance(result, (tuple, list)):
        return [described(each) for each in result]
    return result


def cases(row, dtype):
    return SAMPLES[row.samples](Make(dtype, seed=row.key))


def check(row, call, layout, args, kwargs):
    """Whether there was something to compare."""
    real = outcome(call, mindtorch, "cpu", layout, args, kwargs)
    if isinstance(real, Exception):
        return False
    meta = outcome(call, mindtorch, "meta", layout, args, on_device(row, kwargs, "meta"))
    if row.key in DYNAMIC:
        assert isinstance(meta, NotImplementedError), (row.key, meta)
        assert str(meta).startswith(f"aten::{row.key}: attempted to run this operator with Meta tensors")
    elif row.key in READ and isinstance(meta, RuntimeError):
        assert str(meta) == "Tensor.item() cannot be called on meta tensors"
    else:
        assert described(meta) == described(real), (row.key, layout, args, kwargs)
    return True


@pytest.mark.parametrize("key", ROWS)
def test_forms(key):
    row, compared = ROWS[key], False
    for dtype in ("float32", "int64", "complex64"):
        for layout in ("contiguous", "transposed"):
            for args, kwargs in cases(row, dtype):
                for _, call in forms(row):
                    compared = check(row, call, layout, args, kwargs) or compared
    assert compared or not any(forms(row))


@pytest.mark.parametrize("key", [key for key, row in ROWS.items()
                                 if row.takes_out and not (row.handwritten or row.schema.inplace or row.factory)])
def test_out(key):
    row = ROWS[key]
    for args, kwargs in cases(row, "float32"):
        def call(lib, args, kwargs):
            return _with_out(row, _empty_out, lib, args, kwargs)
        check(row, call, "contiguous", args, kwargs)


def gradients(call, lib, args, kwargs):
    """The gradients of all operands that can have one."""
    leaves = [arg.requires_grad_() for arg in tree_leaves((args, kwargs))
              if isinstance(arg, lib.Tensor) and arg.is_floating_point()]
    results = [each for each in tree_leaves(call(lib, args, kwargs)) if getattr(each, "requires_grad", False)]
    return lib.autograd.grad(results, leaves, [lib.ones_like(each) for each in results], allow_unused=True)


@pytest.mark.parametrize("key", [key for key, row in ROWS.items() if row.grad and not row.schema.inplace])
def test_gradients(key):
    row = ROWS[key]
    for args, kwargs in cases(row, "float32"):
        for form, call in forms(row):
            if form != "in-place":
                check(row, partial(gradients, call), "contiguous", args, kwargs)
