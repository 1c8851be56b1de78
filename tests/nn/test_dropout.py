"""Dropout of elements: torch's bits on the CPU, and everywhere no more kept for backward than a bit an element."""
import warnings

import numpy as np
import pytest
import torch

import mindtorch

VIEWS = {
    "contiguous": lambda t: t, "transposed": lambda t: t.t(), "strided": lambda t: t[:, ::2],
    "rows expanded": lambda t: t[0].expand(9, 35), "columns expanded": lambda t: t[:, :1].expand(9, 35),
    "0-d": lambda t: t[0, 0], "empty": lambda t: t[:0],
}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("view", VIEWS)
def test_values_of_torch(view, dtype):
    numbers = np.random.default_rng(3).normal(size=(9, 35)).tolist()
    for p in (0.05, 0.3, 0.7, 0.9, 1.0):
        made = []
        for lib in (torch, mindtorch):
            operand = VIEWS[view](lib.tensor(numbers).to(getattr(lib, dtype)))
            lib.manual_seed(7)
            made.append([lib.nn.functional.dropout(operand, p) for _ in range(2)])
        for theirs, ours in zip(*made, strict=True):
            assert ours.tolist() == theirs.tolist()
            assert ours.stride() == theirs.stride()


@pytest.mark.parametrize("p", [0.3, 1.0])
def test_in_place(p, device):
    made = {}
    for inplace in (False, True):
        leaf = mindtorch.full((40, 5), 2.0, device=device, requires_grad=True)
        operand = leaf * 1
        mindtorch.manual_seed(5)
        result = mindtorch.nn.functional.dropout(operand, p, inplace=inplace)
        assert (result is operand) == inplace
        result.sum().backward()
        made[inplace] = result.tolist(), leaf.grad.tolist()
    assert made[True] == made[False]


def test_what_backward_keeps():
    """A byte for eight elements, beside the result."""
    x = mindtorch.ones(1 << 20, device="npu", requires_grad=True)
    before = mindtorch.npu.memory_allocated()
    result = mindtorch.nn.functional.dropout(x, 0.5)
    kept = mindtorch.npu.memory_allocated() - before - result.nbytes
    assert 0 <= kept - x.numel() // 8 <= 4 * 512      # blocks are rounded up
    assert result.grad_fn.next_functions[0][0] is not None


def test_first_and_second_gradients():
    x = mindtorch.rand(3, 50, dtype=mindtorch.float64, requires_grad=True)

    def call(x):
        mindtorch.manual_seed(4)
        return mindtorch.nn.functional.dropout(x, 0.4)
    assert mindtorch.autograd.gradcheck(call, x)
    assert mindtorch.autograd.gradgradcheck(call, x)


def test_a_seed_decides(device):
    made = []
    for seed in (1, 1, 2):
        mindtorch.manual_seed(seed)
        made.append([mindtorch.nn.functional.dropout(mindtorch.ones(300, device=device), 0.5).tolist()
                     for _ in range(2)])
    assert made[0] == made[1] != made[2]
    assert made[0][0] != made[0][1]


@pytest.mark.parametrize("call", [
    lambda lib: lib.nn.functional.dropout(lib.arange(5)), lambda lib: lib.nn.functional.dropout(lib.ones(5), -0.1),
    lambda lib: lib.nn.functional.dropout(lib.ones(5), 1.5),
    lambda lib: lib.nn.functional.dropout(lib.ones(5), float("nan")), lambda lib: lib.dropout(lib.ones(5), 2.0, True),
    lambda lib: lib.nn.functional.dropout(lib.ones(5, dtype=lib.complex64)),
], ids=["integers", "negative", "above 1", "nan", "the torch function", "complex"])
def test_refused(call):
    with pytest.raises((RuntimeError, ValueError, NotImplementedError)) as expected:
        call(torch)
    with pytest.raises(type(expected.value)) as found:
        call(mindtorch)
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize("name", ["dropout2d", "dropout3d"])
def test_inputs_of_other_dimensions_are_warned_of(name):
    told = []
    for lib in (torch, mindtorch):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for shape in ((1, 2), (1, 2, 3), (1, 2, 3, 4), (1, 2, 3, 4, 5), (1, 1, 1, 1, 1, 2)):
                getattr(lib.nn.functional, name)(lib.ones(shape), 0.5)
        told.append([str(warning.message)[:110] for warning in caught])
    assert told[1] == told[0]


def test_feature_dropout_takes_all_shapes():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for shape in ((2, 3), (2, 3, 4), (1, 1, 1, 1, 1, 2)):
            assert mindtorch.feature_dropout(mindtorch.ones(shape), 0.5, True).shape == shape


@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.parametrize(("name", "shape"), [("dropout1d", (40, 3)), ("dropout3d", (40, 2, 3, 2))])
def test_channels_of_one_sample(name, shape, inplace, device):
    """They are zeroed as those of a batch of one."""
    function, x = getattr(mindtorch.nn.functional, name), mindtorch.ones(shape, device=device)
    mindtorch.manual_seed(5)
    batch = function(x.unsqueeze(0), 0.5)
    mindtorch.manual_seed(5)
    sample = function(x, 0.5, inplace=inplace)
    assert sample.shape == shape
    assert sample.tolist() == batch[0].tolist()
    assert set(sample.flatten(1).mean(1).tolist()) == {0.0, 2.0}


@pytest.mark.parametrize("randomness", ["different", "same"])
@pytest.mark.parametrize("name", ["dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"])
def test_dropout_under_vmap_draws_the_numbers_of_torch(name, randomness):
    def dropped(lib):
        lib.manual_seed(3)
        x = lib.ones(2, 4, 8, *[2] * int(name[-2]) if name[-1] == "d" else ())
        function = getattr(lib.nn.functional, name)
        return lib.vmap(lambda sample: function(sample, 0.5, True), randomness=randomness)(x).tolist()

    np.testing.assert_allclose(dropped(mindtorch), dropped(torch), 1e-6)


@pytest.mark.parametrize("name", ["dropout", "dropout2d", "alpha_dropout", "feature_alpha_dropout"])
def test_all_of_a_mask_dropped_is_a_mask(name, device):
    for in_place in (False, True):
        x = mindtorch.ones(2, 3, 4, 5, dtype=mindtorch.bool, device=device)
        dropped = getattr(mindtorch.nn.functional, name)(x, 1.0, True, in_place)
        assert (dropped.dtype, dropped.any().item()) == (mindtorch.bool, False)
