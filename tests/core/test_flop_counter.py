"""torch.utils.flop_counter beside torch's."""
import pytest
import torch
import torch.utils.flop_counter

import mindtorch
import mindtorch.utils.flop_counter

# Expressions of x (2, 3, 8), y (8, 4), u (8) and nn: with what they compute backward.
CALLS = [
    "x @ y", "x @ x.mT", "x[0] @ y", "u @ y", "x @ u", "x[0].mm(y)", "x.bmm(x.mT)", "torch.addmm(x[0, :, :4], x[0], y)",
    "torch.baddbmm(x[:, :, :3], x, x.mT)", "torch.matmul(x[0], x.mT)", "nn.functional.linear(x, y.mT)",
    "nn.Linear(8, 3)(x)", "nn.Linear(8, 3, bias=False)(x[0])", "nn.Sequential(nn.Linear(8, 4), nn.Linear(4, 2))(x)",
    "nn.Conv1d(3, 4, 3)(x)", "nn.Conv1d(3, 6, 3, groups=3, padding=1)(x)", "nn.ConvTranspose1d(3, 4, 3, stride=2)(x)",
    "nn.Conv2d(1, 4, 3, padding='same')(x[:, None])", "nn.Conv2d(1, 2, 2)(x[0][None])", "torch.tanh(x).sum(0)",
    "nn.Conv1d(3, 4, 3, padding=1, padding_mode='circular')(x)", "torch.einsum('abc,adc->abd', x, x)",
    "torch.einsum('abc,cd->d', x, y)", "torch.einsum('...c,cd,de->...e', x, y, y.mT)",
    "torch.einsum('ab,ab->ab', y, y)", "torch.tensordot(x, x, ([0, 2], [0, 2]))", "torch.tensordot(x, y, 1)",
    "torch.inner(x, x)", "nn.MultiheadAttention(8, 2, batch_first=True)(x, x, x)[0]",
    "nn.GRUCell(8, 4)(x[0])", "nn.LSTMCell(8, 4)(x[0])[0]", "nn.functional.scaled_dot_product_attention(x, x, x)",
]


def counted(lib, call, device, backward=True):
    counter = lib.utils.flop_counter.FlopCounterMode(display=False)
    values = [lib.ones(shape, requires_grad=True, device=device) for shape in ((2, 3, 8), (8, 4), (8,))]
    lib.set_default_device(device)
    try:
        with counter:
            result = eval(call, {"torch": lib, "nn": lib.nn, **dict(zip("xyu", values, strict=True))})
            if backward:
                result.sum().backward()
    finally:
        lib.set_default_device(None)
    found = {place: {str(op): count for op, count in counts.items()}
             for place, counts in counter.get_flop_counts().items()}
    return counter.get_total_flops(), found


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("call", CALLS)
def test_counts(call, backward, device):
    (total, found), (expected, places) = (counted(lib, call, device if lib is mindtorch else "cpu", backward)
                                          for lib in (mindtorch, torch))
    assert total == expected
    if "einsum" not in call and "x, x, x" not in call and "x[0], x.mT" not in call:
        assert found == places          # there torch has another product do it, where it can


def test_attention_of_a_layer(device):
    """It is counted as the two products that it is, as torch does of a GPU; torch's kernel for CPUs has no formula."""
    call = "nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)(x)"
    attention = torch.utils.flop_counter.sdpa_flop_count((2, 2, 3, 4), (2, 2, 3, 4), (2, 2, 3, 4))
    assert counted(mindtorch, call, device)[0] == counted(torch, call, "cpu")[0] + 3 * attention


def shared(lib):
    """A model that has one layer twice, of which a layer is used by itself before."""
    class Model(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = lib.nn.Linear(2, 2)
            self.both = lib.nn.Sequential(self.layer, lib.nn.Linear(2, 2))

        def forward(self, x):
            return self.both(self.layer(x))
    model, x = Model(), lib.ones(2, 2)
    counter = lib.utils.flop_counter.FlopCounterMode(
        display=False, custom_mapping={lib.ops.aten.relu: lambda a, out_shape=None, **kwargs: a[0] * out_shape[1]})
    with counter:
        model.both[1](x)
        model(x)
        x @ x
        x.relu()
    first = {place: {str(op): count for op, count in counts.items()}
             for place, counts in counter.get_flop_counts().items()}
    with counter:
        model(x)
    return first, counter.get_total_flops()


def test_names_of_modules():
    ours, theirs = shared(mindtorch), shared(torch)
    assert ours == theirs


def test_a_registered_formula():
    register, mode = mindtorch.utils.flop_counter.register_flop_formula, mindtorch.utils.flop_counter.FlopCounterMode
    register(mindtorch.ops.aten.erf)(lambda shape, out_shape=None: 5 * shape[0])
    register([mindtorch.ops.aten.erfc], get_raw=True)(lambda x, out_val=None: int(x.sum() + out_val.shape[0]))
    try:
        with mode(display=False) as counter:
            mindtorch.ones(3).erf()
            mindtorch.erfc(mindtorch.ones(4))
        assert counter.get_flop_counts() == {"Global": {mindtorch.ops.aten.erf: 15, mindtorch.ops.aten.erfc: 8}}
    finally:
        for name in ("erf", "erfc"):
            del mindtorch.utils.flop_counter._REGISTERED[name]
    with pytest.raises(ValueError, match="expected each target to be OpOverloadPacket"):
        register(abs)(len)


def test_the_table_is_printed(capsys):
    with mindtorch.utils.flop_counter.FlopCounterMode():
        mindtorch.ones(20, 20) @ mindtorch.ones(20, 20)
    printed = capsys.readouterr().out.splitlines()
    assert [line.split() for line in printed] == [
        ["Module", "FLOP", "%", "Total"], ["-" * 10, "-" * 7, "-" * 7], ["Global", "16.000K", "100.00%"],
        ["-", "aten.mm", "16.000K", "100.00%"]]
