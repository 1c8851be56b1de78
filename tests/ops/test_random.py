"""Random ops: on the CPU the numbers of torch for the same seed; on the NPU the right distribution, told by the seed.

torch's own float32 loops approximate logarithm and sine to an ulp or two, so normal numbers agree to that.
"""
import math
import warnings

import pytest
import torch
from samples import DTYPES
from test_ops import check

import mindtorch
from mindtorch._ops.codegen.rows import Table

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


def of_tensor(name, *args):
    def call(lib, shape, dtype, device, layout=None, **options):
        return getattr(lib, name)(probabilities(lib, shape, dtype, device), *args, **options)
    return call


def chosen(*args):
    def call(lib, shape, dtype, device, layout=None, **options):
        weights = probabilities(lib, shape, "float32", device) + 0.125
        return lib.multinomial(weights.to(getattr(lib, dtype)), *args, **options)
    return call


def counted(name, *scales):
    """Of rates, or of counts and probabilities: numbers up to `scales`, of which the last makes probabilities."""
    def call(lib, shape, dtype, device, layout=None, **options):
        operands = [probabilities(lib, shape, "float32", device) * scale for scale in scales]
        if name == "binomial":
            operands[0] = operands[0].floor()
        return getattr(lib, name)(*(operand.to(getattr(lib, dtype)) for operand in operands), **options)
    return call


def equal_counts(name, *values):
    def call(lib, shape, dtype, device, layout=None, **options):
        return getattr(lib, name)(*(lib.full(shape, float(value), device=device).to(getattr(lib, dtype))
                                    for value in values), **options)
    return call


def dropped(p):
    """What the mask of dropout leaves of a tensor of ones."""
    def call(lib, shape, dtype, device, layout=None, **options):
        ones = (layout or plain)(lib, shape, getattr(lib, dtype), device).fill_(1)
        return lib.nn.functional.dropout(ones, p, **options)
    return call


def leaking(inplace):
    """rrelu of numbers of both signs."""
    def call(lib, shape, dtype, device, layout=None, **options):
        numbers = (probabilities(lib, shape, "float32", device) - 0.5).to(getattr(lib, dtype))
        return lib.nn.functional.rrelu(numbers, 0.1, 0.7, True, inplace, **options)
    return call


def permutation(lib, shape, dtype, device, layout=None, **options):
    return lib.randperm(math.prod(shape), dtype=getattr(lib, dtype), device=device, **options)


def plain(lib, shape, dtype, device):
    return lib.zeros(shape, dtype=dtype, device=device)


LAYOUTS = {
    "transposed": lambda lib, shape, dtype, device: lib.zeros((7, 5, 3), dtype=dtype, device=device).permute(2, 0, 1),
    "strided": lambda lib, shape, dtype, device: lib.zeros((40, 2), dtype=dtype, device=device)[:, 1],
    "offset": lambda lib, shape, dtype, device: lib.zeros(50, dtype=dtype, device=device)[3:],
}
ANY = (None, None)
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
    "random_bernoulli_of": [(of_tensor("bernoulli"), (0.5, 0.5)), (of_tensor("bernoulli", 0.2), (0.2, 0.4))],
    "random_integers": [(written("random_", 0, 7), (3, 2)), (written("random_", 2), (0.5, 0.5)),
                        (written("random_", 5, None), ANY),
                        (written("random_", **{"from": -3, "to": 97}), (46.5, 28.87)),
                        (written("random_", -9, 2 ** 28), ANY)],
    "random_whole_range": [(written("random_"), ANY)],
    "random_exponential": [(written("exponential_"), (1, 1)), (written("exponential_", lambd=4), (0.25, 0.25))],
    "random_geometric": [(written("geometric_", 0.3), (1 / 0.3, 0.7 ** 0.5 / 0.3))],
    "random_cauchy": [(written("cauchy_"), ANY), (written("cauchy_", 1, 2), ANY)],
    "random_log_normal": [(written("log_normal_", 0, 0.25), (1.0317, 0.262)), (written("log_normal_"), ANY)],
    "random_multinomial": [(chosen(1), ANY), (chosen(2), ANY), (chosen(7, True), ANY), (chosen(1, True), ANY)],
    "random_poisson": [(counted("poisson", 8), ANY), (counted("poisson", 300), ANY),
                       (equal_counts("poisson", 3), (3, 3 ** 0.5)), (equal_counts("poisson", 50), (50, 50 ** 0.5)),
                       (equal_counts("poisson", 30000), (30000, 30000 ** 0.5))],
    "random_binomial": [(counted("binomial", 40, 1), ANY), (counted("binomial", 900, 0.9), ANY),
                        (equal_counts("binomial", 9, 0.25), (2.25, 1.299)),
                        (equal_counts("binomial", 200, 0.7), (140, 42 ** 0.5)),
                        (equal_counts("binomial", 30000, 0.5), (15000, 7500 ** 0.5))],
    "random_gamma": [(counted("_standard_gamma", 8), ANY), (counted("_standard_gamma", 0.9), ANY),
                     (equal_counts("_standard_gamma", 0.81), (0.81, 0.9)),
                     (equal_counts("_standard_gamma", 9), (9, 3))],
    "random_dirichlet": [(counted("_sample_dirichlet", 8), ANY), (equal_counts("_sample_dirichlet", 1.5), ANY)],
    "random_dropout_mask": [(dropped(0.25), (1, 3 ** -0.5)), (dropped(0.9), (1, 3))],
    "random_rrelu": [(leaking(False), ANY), (leaking(True), ANY)],
    "random_permutation": [(permutation, ANY)],
}
CALLS = {f"{key} {number}": (row, call, moments) for key, row in ROWS.items()
         for number, (call, moments) in enumerate(CASES[row.samples])}


def outcome(call, lib, *args, **kwargs):
    lib.manual_seed(SEED)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")     # torch warns of integers that a floating dtype does not hold
            return tuple(call(lib, *args, **kwargs) for _ in range(3))
    except Exception as error:      # noqa: BLE001 - any refusal is an outcome
        return error


def check_equal(ours, theirs, where, dtype):
    if isinstance(theirs, Exception) or isinstance(ours, Exception):
        return check(ours, theirs, where, False, dtype)
    for one, other in zip(ours, theirs, strict=True):
        check(one, other, where, False, dtype)
    state, expected = mindtorch.get_rng_state().numpy(), torch.get_rng_state().numpy()
    assert (state[:24] == expected[:24]).all(), where
    # The kept half of a pair may be an ulp off.
    assert (state[24:5016] == expected[24:5016]).all(), where
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


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [0.1, 0.7, 1.0, 2.5, 100.0])
def test_gamma_has_torchs_bits(shape, dtype):
    made = []
    for lib in (mindtorch, torch):
        lib.manual_seed(7)
        made.append(lib._standard_gamma(lib.full((1000,), shape, dtype=getattr(lib, dtype))).numpy())
    # All but where torch's compiler has fused a product and a sum, on other processors than x86.
    assert (made[0] == made[1]).mean() > 0.95


@pytest.mark.parametrize("function", ["bernoulli", "poisson"])
def test_values_of_torch_for_views(function):
    """What says how likely a number is may be a view of any kind: the result is contiguous, in the order of a loop."""
    for view in (lambda t: t[0].expand(3, 4), lambda t: t.t(), lambda t: t[:, ::2]):
        made = []
        for lib in (mindtorch, torch):
            chances = view(lib.tensor([[0.1, 0.5, 0.9, 1.0], [0.8, 0.7, 0.3, 0.2]]))
            lib.manual_seed(2)
            made.append(getattr(lib, function)(chances))
        assert made[0].tolist() == made[1].tolist()
        assert made[0].stride() == made[1].stride()


@pytest.mark.parametrize("dtype", ["int64", "int32", "bool", "float16", "bfloat16", "float32", "float64", "complex64"])
def test_the_whole_range_of_int64(dtype):
    call = written("random_", -2 ** 63, None)
    check_equal(*(outcome(call, lib, (50,), dtype, "cpu") for lib in (mindtorch, torch)), dtype, dtype)


@pytest.mark.parametrize("p", ["float16", "bfloat16", "float64", "int64"])
def test_probabilities_of_any_dtype(p):
    call = CASES["random_bernoulli_tensor"][0][0]
    ours, theirs = (outcome(call, lib, (50,), "float32", "cpu", p=p) for lib in (mindtorch, torch))
    check_equal(ours, theirs, f"bernoulli_ of {p}", "float32")


@pytest.mark.parametrize("name", CALLS)
def test_distribution(name, device):
    row, call, (mean, deviation) = CALLS[name]
    numbers = outcome(call, mindtorch, (2000,), "float32", device)
    if device == "npu" and row.npu.startswith("none"):
        assert isinstance(numbers, NotImplementedError)
        return
    assert isinstance(numbers, tuple), numbers
    values = torch.tensor(numbers[0].tolist(), dtype=torch.float64)
    if mean is not None:
        assert abs(values.mean() - mean) < 5 * deviation / 2000 ** 0.5 + 1e-6
        assert abs(values.std() - deviation) < 0.1 * deviation + 1e-6
    if deviation != 0 and values.numel() > 100:
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


@pytest.mark.parametrize(("dtype", "bounds", "what"), [
    ("float16", (-4096, 5), "from"), ("float16", (0, 5000), "to - 1"), ("bfloat16", (-300, 0), "from"),
    ("float32", (0, 2**25), "to - 1"), ("float64", (0, 2**54), "to - 1"), ("float32", (0, 2**24), None)])
def test_bounds_that_a_dtype_does_not_hold_are_warned_of(dtype, bounds, what):
    told = []
    for lib in (torch, mindtorch):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            lib.empty(3, dtype=getattr(lib, dtype)).random_(*bounds)
        told.append([str(warning.message).partition(".")[0] for warning in caught])
    assert told[1] == told[0]
    assert [message.partition(" is")[0] for message in told[1]] == ([] if what is None else [what])


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
    "random_ of reversed bounds": lambda x, g: x.random_(5, 2),
    "random_ of nothing": lambda x, g: x.random_(0),
    "random_ beyond uint8": lambda x, g: x.byte().random_(0, 300),
    "random_ below int8": lambda x, g: x.to(x.byte().dtype).random_(-1, 3),
    "random_ of expanded": lambda x, g: x[:1].expand(4).random_(),
    "exponential_ of 0": lambda x, g: x.exponential_(0),
    "exponential_ of ints": lambda x, g: x.long().exponential_(),
    "exponential_ of expanded": lambda x, g: x[:1].expand(4).exponential_(),
    "multinomial of too many": lambda x, g: x.multinomial(5),
    "multinomial of none": lambda x, g: x.multinomial(0),
    "multinomial of ints": lambda x, g: x.long().multinomial(1),
    "multinomial of three dimensions": lambda x, g: x.reshape(3, 1, 1).multinomial(1),
    "a leaf": lambda x, g: x.requires_grad_().uniform_(),
}


ON_CPU = {
    "geometric_ of 0": lambda lib, x: x.geometric_(0),
    "geometric_ of 1": lambda lib, x: x.geometric_(1),
    "cauchy_ of 0": lambda lib, x: x.cauchy_(0, 0),
    "cauchy_ of ints": lambda lib, x: x.long().cauchy_(),
    "log_normal_ of 0": lambda lib, x: x.log_normal_(0, 0),
    "log_normal_ of ints": lambda lib, x: x.long().log_normal_(),
    "multinomial of zeros": lambda lib, x: lib.zeros(3).multinomial(1),
    "multinomial of zeros, replaced": lambda lib, x: lib.zeros(3).multinomial(2, True),
    "multinomial of a negative": lambda lib, x: (-x).multinomial(2, True),
    "multinomial of infinity": lambda lib, x: lib.tensor([float("inf"), 0, 1]).multinomial(2, True),
    "multinomial of nan": lambda lib, x: lib.tensor([float("nan"), 0, 1]).multinomial(2),
    "poisson of a negative": lambda lib, x: lib.poisson(-x),
    "poisson of ints": lambda lib, x: lib.poisson(x.long()),
    "binomial of int counts": lambda lib, x: lib.binomial(x.long(), x),
    "binomial of int probabilities": lambda lib, x: lib.binomial(x, x.long()),
    "binomial of two dtypes": lambda lib, x: lib.binomial(x.double(), x),
    "rand of ints": lambda lib, x: lib.rand(2, dtype=lib.int64),
    "rand of a negative size": lambda lib, x: lib.rand(-1),
    "rand of text": lambda lib, x: lib.rand("a"),
    "randn of ints": lambda lib, x: lib.randn(2, dtype=lib.int64),
    "randint of nothing": lambda lib, x: lib.randint(5, 5, (2,)),
    "randint beyond uint8": lambda lib, x: lib.randint(0, 300, (2,), dtype=lib.uint8),
    "randint of a float": lambda lib, x: lib.randint(2.5, (2,)),
    "randint of no size": lambda lib, x: lib.randint(3, 5),
    "randperm of a negative": lambda lib, x: lib.randperm(-1),
    "randperm of a float": lambda lib, x: lib.randperm(2.5),
    "randperm of bools": lambda lib, x: lib.randperm(3, dtype=lib.bool),
    "randperm beyond uint8": lambda lib, x: lib.randperm(300, dtype=lib.uint8),
    "normal of a negative": lambda lib, x: lib.normal(x, -1.0),
    "normal of negatives": lambda lib, x: lib.normal(0.0, -x),
    "normal of other shapes": lambda lib, x: lib.normal(x, x[:2]),
    "normal of ints": lambda lib, x: lib.normal(x.long(), 1),
}


@pytest.mark.parametrize("name", ON_CPU)
def test_refusals_on_cpu(name):
    found = []
    for lib in (torch, mindtorch):
        with pytest.raises(Exception) as caught:        # noqa: PT011 - torch says which
            ON_CPU[name](lib, lib.full((3,), 0.5))
        found.append((type(caught.value), str(caught.value)))
    assert found[1] == found[0]


# Functions that make tensors, and torch.normal.
MADE = {
    "rand": lambda lib, where: lib.rand(3, 7, **where),
    "rand of a size": lambda lib, where: lib.rand((40,), dtype=lib.float64, **where),
    "rand into out": lambda lib, where: lib.rand(2, 3, out=lib.empty(0, **where)),
    "randn": lambda lib, where: lib.randn(3, 7, **where),
    "randn of a size": lambda lib, where: lib.randn(size=(2, 3), **where),
    "rand_like": lambda lib, where: lib.rand_like(lib.zeros(2, 3, **where)),
    "rand_like of another dtype": lambda lib, where: lib.rand_like(lib.zeros(2, 3, **where), dtype=lib.float16),
    "randn_like": lambda lib, where: lib.randn_like(lib.zeros(20, 3, **where)),
    "randint": lambda lib, where: lib.randint(9, (2, 3), **where),
    "randint of bounds": lambda lib, where: lib.randint(-3, 9, (2, 3), **where),
    "randint by name": lambda lib, where: lib.randint(low=-3, high=9, size=(2, 3), dtype=lib.float32, **where),
    "randint by one name": lambda lib, where: lib.randint(high=9, size=(2, 3), **where),
    "randint into out": lambda lib, where: lib.randint(3, 9, (4,), out=lib.empty(4, dtype=lib.int32, **where)),
    "randint_like": lambda lib, where: lib.randint_like(lib.zeros(2, 3, **where), 9),
    "randint_like of bounds": lambda lib, where: lib.randint_like(lib.zeros(2, 3, **where), 3, 9),
    "randint_like by name": lambda lib, where: lib.randint_like(lib.zeros(2, 3, **where), low=3, high=9),
    "randperm": lambda lib, where: lib.randperm(30, **where),
    "randperm of floats": lambda lib, where: lib.randperm(30, dtype=lib.float32, **where),
    "randperm into out": lambda lib, where: lib.randperm(30, out=lib.empty(0, dtype=lib.int32, **where)),
    "randperm of 1": lambda lib, where: lib.randperm(1, **where),
    "randperm of 0": lambda lib, where: lib.randperm(0, **where),
    "normal of tensors": lambda lib, where: lib.normal(lib.zeros(3, 1, **where), lib.ones(5, **where)),
    "normal of means": lambda lib, where: lib.normal(lib.ones(20, **where), 3.0),
    "normal of means alone": lambda lib, where: lib.normal(lib.ones(20, **where)),
    "normal of deviations": lambda lib, where: lib.normal(1.0, lib.ones(20, **where)),
    "normal of a size": lambda lib, where: lib.normal(1.0, 2.0, (3, 4), **where),
    "normal into out": lambda lib, where: lib.normal(lib.ones(20, **where), 3.0, out=lib.empty(20, **where)),
}


@pytest.mark.parametrize("name", MADE)
def test_made(name, device):
    results = []
    for lib, where in ((torch, {}), (mindtorch, {"device": device}), (mindtorch, {"device": device})):
        lib.manual_seed(SEED)
        results.append(MADE[name](lib, where))
    theirs, ours, again = results
    assert (tuple(ours.shape), str(ours.dtype), ours.device.type) == (tuple(theirs.shape), str(theirs.dtype), device)
    assert mindtorch.equal(ours, again)
    if device == "cpu":
        check(ours, theirs, name, False, str(theirs.dtype).removeprefix("torch."))
    if name.startswith("randperm"):
        assert sorted(ours.tolist()) == list(range(ours.numel()))


def test_requires_grad(device):
    for made in (mindtorch.rand(2, requires_grad=True, device=device), mindtorch.randn(2, requires_grad=True),
                 mindtorch.normal(0.0, 1.0, (2,), requires_grad=True)):
        assert made.requires_grad
        assert made.is_leaf
    x = mindtorch.ones(3, device=device, requires_grad=True)
    (x * 2).uniform_().sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.0]


def test_samples_without_replacement_differ(device):
    rows = mindtorch.multinomial(mindtorch.ones(200, 9, device=device), 9)
    assert all(sorted(row) == list(range(9)) for row in rows.tolist())
    weights = mindtorch.tensor([0.0, 3.0, 1.0, 0.0], device=device)
    found = mindtorch.multinomial(weights, 4000, True).tolist()
    assert set(found) == {1, 2}
    assert 2800 < found.count(1) < 3200


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


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_choices_by_weights_of_16_bits_round_as_torch(dtype):
    """Each step rounds to the dtype of the weights, so that some scores are equal; one choice is the first of them."""
    for seed in range(40):
        found = []
        for lib in (mindtorch, torch):
            lib.manual_seed(seed)
            found.append(lib.multinomial(lib.ones(40, dtype=getattr(lib, dtype)), 1).tolist())
            lib.manual_seed(seed)
            scores = lib.ones(40).to(getattr(lib, dtype)) / lib.ones(40).to(getattr(lib, dtype)).exponential_()
            lib.manual_seed(seed)
            chosen = lib.multinomial(lib.ones(40).to(getattr(lib, dtype)), 12)
            assert scores[chosen].tolist() == scores.sort(descending=True)[0][:12].tolist()
        assert found[0] == found[1]


@pytest.mark.parametrize("dtype", ["bool", "int8", "complex64"])
def test_no_numbers_are_drawn_in_any_dtype(dtype, device):
    for name, arguments in (("normal_", ()), ("log_normal_", ()), ("geometric_", (0.5,)), ("bernoulli_", ()),
                            ("exponential_", ()), ("random_", ())):
        x = mindtorch.ones(0, dtype=getattr(mindtorch, dtype), device=device)
        assert getattr(x, name)(*arguments).shape == (0,)
        getattr(torch.ones(0, dtype=getattr(torch, dtype)), name)(*arguments)
