"""Random ops: on the CPU the numbers of torch for the same seed; on the NPU the right distribution, told by the seed.

torch's own float32 loops approximate logarithm and sine to an ulp or two, so normal numbers agree to that.
"""
import math

import pytest
import torch
from samples import DTYPES
from test_ops import check

import mindtorch
from mindtorch._ops.generator.rows import Table

ROWS = {row.key: row for row in Table().rows if row.samples and row.schema.argument("generator")}
SIZES = ((), (0,), (1,), (2,), (15,), (16,), (17,), (31,), (3, 35), (1000,))
SEED = 2 ** 40 + 12345


def probabilities(lib, shape, dtype, device):
    count = math.prod(shape)
    values = [(i * 37 % 101) / 100 for i in range(count)]
    return lib.tensor(values).to(getattr(lib, dtype)).to(device).reshape(shape)


def written(name, *args, **kwargs):
    """A case that fills a tensor in place."""
    def call(lib, shape, dtype, device, layout=None, **options):
        made = (layout or plain)(lib, shape, getattr(lib, dtype), device)
        filled = getattr(made, name)(*args, **kwargs, **options)
        assert filled is made
        return filled
    return call


def written_by_tensor(name):
    def call(lib, shape, dtype, device, layout=None, p="float32", **options):
        made = (layout or plain)(lib, shape, getattr(lib, dtype), device)
        return getattr(made, name)(probabilities(lib, tuple(made.shape), p, device), **options)
    return call


def of_tensor(name):
    def call(lib, shape, dtype, device, layout=None, **options):
        return getattr(lib, name)(probabilities(lib, shape, dtype, device), **options)
    return call


def plain(lib, shape, dtype, device):
    return lib.zeros(shape, dtype=dtype, device=device)


LAYOUTS = {
    "transposed": lambda lib, shape, dtype, device: lib.zeros((7, 5, 3), dtype=dtype, device=device).permute(2, 0, 1),
    "strided": lambda lib, shape, dtype, device: lib.zeros((40, 2), dtype=dtype, device=device)[:, 1],
    "offset": lambda lib, shape, dtype, device: lib.zeros(50, dtype=dtype, device=device)[3:],
}
# By the rows' `samples`: calls, and the (mean, deviation) that 2000 numbers of each must show.
CASES = {
    "random_uniform": [(written("uniform_"), (0.5, 12 ** -0.5)),
                       (written("uniform_", -2.3, 5.1), (1.4, 7.4 / 12 ** 0.5)),
                       (written("uniform_", to=3), (1.5, 3 / 12 ** 0.5)),
                       (written("uniform_", 1, 1 + 2 ** -20), (1, 0))],
    "random_normal": [(written("normal_"), (0, 1)), (written("normal_", 3, std=0.7), (3, 0.7)),
                      (written("normal_", 1, 0), (1, 0))],
    "random_bernoulli": [(written("bernoulli_"), (0.5, 0.5)), (written("bernoulli_", 0.2), (0.2, 0.4)),
                         (written("bernoulli_", p=1), (1, 0)), (written("bernoulli_", 0), (0, 0))],
    "random_bernoulli_tensor": [(written_by_tensor("bernoulli_"), (0.5, 0.5))],
    "random_bernoulli_of": [(of_tensor("bernoulli"), (0.5, 0.5))],
}
CALLS = {f"{key} {number}": (row, call, moments) for key, row in ROWS.items()
         for number, (call, moments) in enumerate(CASES[row.samples])}


def outcome(call, lib, *args, **kwargs):
    lib.manual_seed(SEED)
    try:
        return tuple(call(lib, *args, **kwargs) for _ in range(3))
    except Exception as error:      # noqa: BLE001 - any refusal is an outcome
        return error


def check_equal(ours, theirs, where, dtype):
    if isinstance(theirs, Exception) or isinstance(ours, Exception):
        return check(ours, theirs, where, False, dtype)
    for one, other in zip(ours, theirs, strict=True):
        check(one, other, where, False, dtype)
    state, expected = mindtorch.get_rng_state().numpy(), torch.get_rng_state().numpy()
    used = slice(24, None) if theirs[0].numel() else slice(0)
    assert (state[:24] == expected[:24]).all(), where
    # The kept half of a pair may be an ulp off.
    assert (state[used][:4992] == expected[used][:4992]).all(), where
    assert state[5040] == expected[5040], where
    return None


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CALLS)
def test_values_of_torch(name, dtype):
    _, call, _ = CALLS[name]
    for shape in SIZES:
        args = (shape, dtype, "cpu")
        check_equal(outcome(call, mindtorch, *args), outcome(call, torch, *args), f"{name} {shape} {dtype}", dtype)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", [name for name, (row, _, _) in CALLS.items() if row.schema.inplace])
def test_values_of_torch_in_strided_memory(name, layout):
    _, call, _ = CALLS[name]
    for dtype in ("float32", "float64"):
        options = {"layout": LAYOUTS[layout]}
        ours, theirs = (outcome(call, lib, (), dtype, "cpu", **options) for lib in (mindtorch, torch))
        check_equal(ours, theirs, f"{name} {layout} {dtype}", dtype)


@pytest.mark.parametrize("p", ["float16", "bfloat16", "float64", "int64"])
def test_probabilities_of_any_dtype(p):
    call = CASES["random_bernoulli_tensor"][0][0]
    ours, theirs = (outcome(call, lib, (50,), "float32", "cpu", p=p) for lib in (mindtorch, torch))
    check_equal(ours, theirs, f"bernoulli_ of {p}", "float32")


@pytest.mark.parametrize("name", CALLS)
def test_distribution(name, device):
    _, call, (mean, deviation) = CALLS[name]
    numbers = outcome(call, mindtorch, (2000,), "float32", device)
    assert isinstance(numbers, tuple), numbers
    values = torch.tensor(numbers[0].tolist(), dtype=torch.float64)
    assert abs(values.mean() - mean) < 5 * deviation / 2000 ** 0.5 + 1e-6
    assert abs(values.std() - deviation) < 0.1 * deviation + 1e-6
    if deviation:
        assert not mindtorch.equal(numbers[0], numbers[1]), "two calls deal the same numbers"
    again = outcome(call, mindtorch, (2000,), "float32", device)
    assert all(mindtorch.equal(one, other) for one, other in zip(numbers, again, strict=True))


def test_a_stream_of_an_npu_changes_nothing():
    mindtorch.manual_seed(3)
    expected = [mindtorch.empty(100, device="npu").normal_().tolist() for _ in range(2)]
    mindtorch.manual_seed(3)
    stream = mindtorch.npu.Stream()
    found = [mindtorch.empty(100, device="npu").normal_()]
    with mindtorch.npu.stream(stream):
        found.append(mindtorch.empty(100, device="npu").normal_())
    stream.synchronize()
    assert [f.tolist() for f in found] == expected


REFUSED = {
    "uniform_ of reversed bounds": lambda x, g: x.uniform_(2, 1),
    "uniform_ of nan": lambda x, g: x.uniform_(float("nan"), 1),
    "uniform_ of inf": lambda x, g: x.uniform_(0, float("inf")),
    "uniform_ of too much": lambda x, g: x.uniform_(-3e38, 3e38),
    "uniform_ of half": lambda x, g: x.half().uniform_(0, 1e6),
    "uniform_ of ints": lambda x, g: x.long().uniform_(),
    "uniform_ of text": lambda x, g: x.uniform_("a"),
    "uniform_ with a number": lambda x, g: x.uniform_(generator=3),
    "uniform_ of expanded": lambda x, g: x[:1].expand(4).uniform_(),
    "normal_ of a negative": lambda x, g: x.normal_(0, -1),
    "normal_ of ints": lambda x, g: x.long().normal_(),
    "normal_ of expanded": lambda x, g: x[:1].expand(4).normal_(),
    "bernoulli_ of 2": lambda x, g: x.bernoulli_(2),
    "bernoulli_ of nan": lambda x, g: x.bernoulli_(float("nan")),
    "bernoulli_ of expanded": lambda x, g: x[:1].expand(4).bernoulli_(),
    "bernoulli_ of other shapes": lambda x, g: x.bernoulli_(x[:2]),
    "a leaf": lambda x, g: x.requires_grad_().uniform_(),
}


def refusal(lib, call, device):
    x = lib.full((3,), 0.5).to(device)
    with pytest.raises(Exception) as caught:        # noqa: PT011 - torch says which
        call(x, lib.Generator())
    return caught.value


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name, device):
    theirs, ours = refusal(torch, REFUSED[name], "cpu"), refusal(mindtorch, REFUSED[name], device)
    assert type(ours) is type(theirs)
    assert str(ours) == str(theirs)


def test_probabilities_outside_their_range():
    with pytest.raises(RuntimeError, match="Expected p_in >= 0 && p_in <= 1 to be true"):
        mindtorch.zeros(3).bernoulli_(mindtorch.tensor([0.0, 2.0, 0.0]))


def test_a_generator_of_another_device(device):
    other = "cpu" if device == "npu" else "npu"
    with pytest.raises(RuntimeError, match=f"Expected a '{device}' device type for generator but found '{other}'"):
        mindtorch.empty(3, device=device).uniform_(generator=mindtorch.Generator(other))
