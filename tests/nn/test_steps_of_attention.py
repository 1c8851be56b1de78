"""Torch's private steps of attention, which programs with an attention of their own import."""
import pytest
import torch
from torch.nn.modules import transformer as torch_transformer

import mindtorch
from mindtorch.nn.modules import transformer

F = "lib.nn.functional"
CALLS = {
    "one input": f"{F}._in_projection_packed(x, x, x, w, b)",
    "keys that are the values": f"{F}._in_projection_packed(x, y, y, w)",
    "three inputs": f"{F}._in_projection_packed(x, y, y.clone(), w, b)",
    "three weights": f"{F}._in_projection(x, y, y, w[:6], w[6:12], w[12:], b[:6], None, b[12:])",
    "a mask of bools": f"{F}._canonical_mask(mask, 'mask', None, '', lib.float64)",
    "a mask of floats": f"{F}._canonical_mask(mask.float(), 'mask', lib.bool, 'other', lib.float64, False)",
    "no mask": f"{F}._canonical_mask(None, 'mask', None, '', lib.float64)",
    "no dtype": f"{F}._none_or_dtype(None)",
    "whether batched": f"{F}._mha_shape_check(x, y, y, None, None, 2), {F}._mha_shape_check(x[0], y[0], y[0], None, "
                       "None, 2)",
    "causal": "[t._detect_is_causal_mask(*each) for each in ((causal,), (None,), (causal, None, 4), (None, True), "
              "(causal, False), (causal + 1,), (causal.expand(2, 3, 3),))]",
    "lengths": "t._get_seq_len(x, True), t._get_seq_len(x, False), t._get_seq_len(x[0], True)",
    "copies": "len(t._get_clones(lib.nn.Linear(1, 1), 3))"}
REFUSED = {
    "a weight of another size": f"{F}._in_projection(x, y, y, w, w[6:12], w[12:])",
    "a bias of another size": f"{F}._in_projection(x, y, y, w[:6], w[6:12], w[12:], b)",
    "a mask of integers": f"{F}._canonical_mask(mask.int(), 'mask', None, '', lib.float64)",
    "a padding mask of another size": f"{F}._check_key_padding_mask(mask, 3, 1)",
    "no tensor": f"{F}._none_or_dtype(3)"}


def call(lib, t, text):
    lib.manual_seed(0)
    names = {"lib": lib, "t": t, "x": lib.randn(4, 2, 6), "y": lib.randn(5, 2, 6), "w": lib.randn(18, 6),
             "b": lib.randn(18), "mask": lib.tensor([[True, False]]),
             "causal": t._generate_square_subsequent_mask(3)}
    return eval(text, names)


def described(value):
    if isinstance(value, (list, tuple)):
        return [described(each) for each in value]
    return value.stride() if hasattr(value, "stride") else value


@pytest.mark.parametrize("name", CALLS)
def test_results(name):
    ours, theirs = call(mindtorch, transformer, CALLS[name]), call(torch, torch_transformer, CALLS[name])
    assert described(ours) == described(theirs)
    for one, other in zip(ours, theirs, strict=True) if isinstance(theirs, tuple) else ():
        if isinstance(other, torch.Tensor):
            assert one.flatten().tolist() == pytest.approx(other.flatten().tolist(), abs=1e-5)


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    with pytest.raises((AssertionError, RuntimeError)) as theirs:
        call(torch, torch_transformer, REFUSED[name])
    with pytest.raises(theirs.type) as ours:
        call(mindtorch, transformer, REFUSED[name])
    assert str(ours.value) == str(theirs.value)
