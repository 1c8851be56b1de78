"""Sequences of several lengths, padded and packed, and recurrent layers over them, beside torch's."""
import numpy as np
import pytest
import torch as oracle

import mindtorch

LENGTHS = [[4, 3, 3, 1], [1, 4, 2, 4]]
MODELS = ["LSTM(3, 5, 2, bidirectional=True)", "GRU(3, 5)", "RNN(3, 5, 2)", "LSTM(3, 5, proj_size=2)"]


def values(*shape):
    return np.random.default_rng(2).standard_normal(shape, dtype=np.float32)


def arrays(value):
    if value is None:
        return []
    if isinstance(value, (tuple, list)):
        return [one for part in value for one in arrays(part)]
    return [value.detach().cpu().numpy()]


def assert_same(ours, theirs):
    ours, theirs = arrays(ours), arrays(theirs)
    assert len(ours) == len(theirs)
    for found, expected in zip(ours, theirs, strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("lengths", LENGTHS)
def test_packing_and_padding(lengths, batch_first, device):
    def run(library, device):
        rnn = library.nn.utils.rnn
        x = library.tensor(values(*((4, 5, 3) if batch_first else (5, 4, 3))), device=device, requires_grad=True)
        packed = rnn.pack_padded_sequence(x, library.tensor(lengths), batch_first, lengths == LENGTHS[0])
        padded = rnn.pad_packed_sequence(packed, batch_first, -1.0, 6)
        (padded[0] ** 2).sum().backward()
        return packed, padded, x.grad, rnn.unpack_sequence(packed)
    assert_same(run(mindtorch, device), run(oracle, "cpu"))


@pytest.mark.parametrize("side", ["left", "right"])
def test_lists_of_sequences(side, device):
    def run(library, device):
        rnn = library.nn.utils.rnn
        parts = [library.tensor(values(length, 2), device=device) for length in (2, 4, 1)]
        packed = rnn.pack_sequence(parts, enforce_sorted=False)
        return (packed, rnn.pad_sequence(parts, True, 0.5, side), rnn.pad_sequence(parts, padding_side=side),
                rnn.unpad_sequence(rnn.pad_sequence(parts), library.tensor([2, 4, 1])), rnn.unpack_sequence(packed),
                packed.to(library.float64).data)
    assert_same(run(mindtorch, device), run(oracle, "cpu"))


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("model", MODELS)
def test_recurrent_layers_over_packed_sequences(model, lengths, given, device):
    def run(library, device):
        library.manual_seed(3)
        module = eval(f"nn.{model}", {"nn": library.nn}).to(device)
        layers = module.num_layers * (2 if module.bidirectional else 1)
        sizes = [module.proj_size or 5, *([5] if model.startswith("LSTM") else [])]
        states = tuple(library.tensor(values(layers, 4, size), device=device) for size in sizes)
        x = library.tensor(values(5, 4, 3), device=device, requires_grad=True)
        packed = library.nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=False)
        states = states if len(states) > 1 else states[0]
        output, last = module(packed, states) if given else module(packed)
        (output.data ** 2).sum().backward()
        return output, last, x.grad, [parameter.grad for parameter in module.parameters()]
    assert_same(run(mindtorch, device), run(oracle, "cpu"))


ERRORS = [
    "pack_padded_sequence(x, [1, 3])", "pack_padded_sequence(x, [3, 0])", "pack_padded_sequence(x, [3])",
    "pad_packed_sequence(pack_padded_sequence(x, [3, 1]), total_length=2)", "pad_sequence([])", "pad_sequence(3)",
    "pack_padded_sequence(x[:, :0], [])",
    "pad_sequence([x], padding_side='x')", "PackedSequence(x)", "pack_sequence([x[:1], x])",
]


@pytest.mark.parametrize("call", ERRORS)
def test_refusals_are_torchs(call):
    def refusal(library):
        with pytest.raises(Exception) as caught:    # noqa: PT011 - the other library says which
            eval(call, {**vars(library.nn.utils.rnn), "x": library.ones(3, 2, 1)})
        return caught.type, str(caught.value)
    assert refusal(mindtorch) == refusal(oracle)


@pytest.mark.parametrize("name", ["double", "float", "half", "long", "int", "short", "char", "byte", "cpu"])
def test_casts(name, device):
    def cast(library, place):
        x = library.tensor([[1.0, 2.0], [3.0, 4.0]], device=place)
        packed = library.nn.utils.rnn.pack_padded_sequence(x, [1, 2], enforce_sorted=False)
        made = getattr(packed, name)()
        return str(made.data.dtype), made.data.tolist(), made.batch_sizes.tolist(), made.is_cuda, made.is_pinned()
    assert cast(mindtorch, device) == cast(oracle, "cpu")


def test_sizes_and_lengths_stay_on_the_cpu_whatever_the_default_device():
    with mindtorch.device("npu"):
        packed = mindtorch.nn.utils.rnn.pack_padded_sequence(mindtorch.ones(3, 2), [3, 1])
        padded, lengths = mindtorch.nn.utils.rnn.pad_packed_sequence(packed)
    places = [one.device.type for one in (packed.data, packed.batch_sizes, padded, lengths)]
    assert places == ["npu", "cpu", "npu", "cpu"]
    assert lengths.tolist() == [3, 1]
