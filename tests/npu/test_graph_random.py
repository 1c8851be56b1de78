"""Random numbers of graphs: each replay draws those that the same work would draw next, and moves the generator on."""
import pytest
from process import run

import mindtorch as torch
from mindtorch import nn, npu, sim


@pytest.fixture(autouse=True, scope="module")
def _capture_stream():
    """The stream that all graphs have in common stays for the life of the process."""
    npu.graph(npu.NPUGraph())


@pytest.fixture(autouse=True)
def state_kept():
    state = npu.get_rng_state()
    yield
    npu.set_rng_state(state)


def chances(*shape):
    return torch.full(shape, 0.4, device="npu")


def filled(name, *args, dtype=torch.float32):
    return lambda generator: getattr(torch.empty(40, device="npu", dtype=dtype), name)(*args, generator=generator)


DRAWS = {
    "uniform_": filled("uniform_", -1, 3), "uniform_ half": filled("uniform_", dtype=torch.float16),
    "uniform_ double": filled("uniform_", dtype=torch.float64),
    "normal_": filled("normal_", 1, 2), "bernoulli_": filled("bernoulli_", 0.3),
    "bernoulli_ of integers": filled("bernoulli_", 0.3, dtype=torch.int32),
    "bernoulli_ of a tensor": lambda g: torch.empty(40, device="npu").bernoulli_(chances(40), generator=g),
    "bernoulli": lambda g: torch.bernoulli(chances(3, 5), generator=g),
    "random_": filled("random_", dtype=torch.int64), "random_ to": filled("random_", 100, dtype=torch.int32),
    "random_ from to": filled("random_", -5, 5), "exponential_": filled("exponential_", 3),
    "geometric_": filled("geometric_", 0.3), "cauchy_": filled("cauchy_"), "log_normal_": filled("log_normal_"),
    "multinomial": lambda g: torch.multinomial(chances(4, 30), 3, generator=g),
    "rand": lambda g: torch.rand(7, 3, device="npu", generator=g),
    "randint": lambda g: torch.randint(100, (40,), device="npu", generator=g),
    "randn_like": lambda g: torch.randn_like(chances(2, 30)),
    "normal": lambda g: torch.normal(chances(40), 2.0, generator=g),
    "dropout": lambda g: nn.functional.dropout(chances(50), 0.3),
    "dropout2d": lambda g: nn.functional.dropout2d(chances(3, 20, 1, 1), 0.5),
    "alpha_dropout": lambda g: nn.functional.alpha_dropout(chances(50), 0.5, training=True),
    "rrelu": lambda g: nn.functional.rrelu(-chances(50), training=True),
    "attention": lambda g: nn.functional.scaled_dot_product_attention(*[chances(1, 2, 8, 4)] * 3, dropout_p=0.5),
}


def twice(draw, generator=None):
    return [draw(generator) for _ in range(2)]


def lists(tensors):
    return [tensor.tolist() for tensor in tensors]


@pytest.mark.parametrize("name", DRAWS)
def test_a_replay_draws_what_the_work_would(name):
    draw = DRAWS[name]
    npu.manual_seed(2 ** 63 + 11)
    draw(None)                                        # the generator stands somewhere
    state = npu.get_rng_state()
    expected, after = [], []
    for _ in range(3):
        expected.append(lists(twice(draw)))
        after.append(npu._get_rng_state_offset())
    assert expected[0] != expected[1]
    npu.set_rng_state(state)
    graph = npu.NPUGraph()
    with npu.graph(graph):
        made = twice(draw)
    assert npu.get_rng_state().equal(state)           # a capture draws nothing
    for numbers, offset in zip(expected, after, strict=True):
        graph.replay()
        assert lists(made) == numbers
        assert npu._get_rng_state_offset() == offset


def test_replays_and_other_work_take_turns():
    """Graphs and operators draw from one generator, which may be seeded anew or set back between them."""
    def scenario(first, second):
        npu.manual_seed(5)
        found = [first(), torch.rand(4, device="npu").tolist(), second(), first()]
        state = npu.get_rng_state()
        npu.manual_seed(6)
        found += [second(), first()]
        npu.set_rng_state(state)
        return [*found, second()]

    def captured(call):
        graph = npu.NPUGraph()
        with npu.graph(graph):
            out = call()

        def replay():
            graph.replay()
            return out.tolist()
        return replay
    calls = [lambda: torch.randn(10, device="npu"), lambda: nn.functional.dropout(chances(30))]
    expected = scenario(*(lambda call=call: call().tolist() for call in calls))
    assert scenario(*map(captured, calls)) == expected


def test_generators_of_their_own():
    mine, other = torch.Generator("npu"), torch.Generator("npu")
    mine.manual_seed(3)
    expected = [torch.rand(5, device="npu", generator=mine).tolist() for _ in range(3)]
    mine.manual_seed(3)
    graph = npu.NPUGraph()
    for generator in (mine, mine, npu.default_generators[0]):
        graph.register_generator_state(generator)     # more than once is as good as once
    default = npu.get_rng_state()
    with npu.graph(graph):
        out = torch.rand(5, device="npu", generator=mine)
        with pytest.raises(RuntimeError, match="not in capture mode"):
            torch.rand(5, device="npu", generator=other)
    for numbers in expected:
        graph.replay()
        assert out.tolist() == numbers
    assert npu.get_rng_state().equal(default)
    assert other.get_offset() == 0
    with pytest.raises(RuntimeError, match="must be an NPU's"):
        graph.register_generator_state(torch.Generator())
    with pytest.raises(TypeError):
        graph.register_generator_state(3)


def test_a_generator_of_another_device():
    run("""
import mindtorch as torch
from mindtorch import npu
mine = torch.Generator("npu:1")
expected = [torch.rand(5, device="npu:0", generator=mine).tolist() for _ in range(2)]
mine.set_offset(0)
graph = npu.NPUGraph()
graph.register_generator_state(mine)
with npu.graph(graph):
    out = torch.rand(5, device="npu:0", generator=mine)
for numbers in expected:
    graph.replay()
    assert out.tolist() == numbers
""", MINDTORCH_SIM_DEVICES="2")


def test_generators_keep_their_states():
    npu.manual_seed(5)
    generator, graph = npu.default_generators[0], npu.NPUGraph()
    changes = [lambda: npu.manual_seed(6), npu.seed, lambda: npu.set_rng_state(npu.get_rng_state()),
               lambda: generator.set_offset(8), lambda: torch.manual_seed(4)]
    with npu.graph(graph):
        npu.manual_seed(5)                            # the same
        for change in changes:
            with pytest.raises(RuntimeError, match="capture"):
                change()
    graph.replay()
    assert (generator.initial_seed(), generator.get_offset()) == (5, 0)


def test_what_no_graph_can_draw():
    offset, graph = npu._get_rng_state_offset(), npu.NPUGraph()
    with npu.graph(graph), pytest.raises(RuntimeError, match="aclnnRandperm cannot be captured in a graph"):
        torch.randperm(9, device="npu")
    graph.replay()
    assert npu._get_rng_state_offset() == offset
    assert sorted(torch.randperm(9, device="npu").tolist()) == list(range(9))


def test_a_replay_that_fails_draws_nothing():
    graph = npu.NPUGraph()
    with npu.graph(graph):
        out = torch.rand(5, device="npu")
    state = npu.get_rng_state()
    with sim.fault("aclmdlRIExecuteAsync", 1, 500001), pytest.raises(RuntimeError, match="aclmdlRIExecuteAsync"):
        graph.replay()
    assert npu.get_rng_state().equal(state)
    graph.replay()
    npu.set_rng_state(state)
    assert out.equal(torch.rand(5, device="npu"))
    graph.reset()
    assert torch.rand(5, device="npu").numel() == 5


def test_replays_on_other_streams():
    npu.manual_seed(4)
    expected = [torch.rand(1000, device="npu").tolist() for _ in range(2)]
    npu.manual_seed(4)
    graph, stream = npu.NPUGraph(), npu.Stream()
    with npu.graph(graph):
        out = torch.rand(1000, device="npu")
    for numbers in expected:
        with npu.stream(stream):
            graph.replay()
        stream.synchronize()
        assert out.tolist() == numbers


def test_work_before_the_first_draw():
    """What it leaves behind is nobody's seed: operators use memory again that others of the graph have used."""
    x = torch.ones(64, device="npu")

    def work():
        return ((x + 1) * 2).exp() * 0 + nn.functional.dropout((x + 3) * 4, 0.5)
    npu.manual_seed(8)
    expected = [work().tolist() for _ in range(2)]
    npu.manual_seed(8)
    graph = npu.NPUGraph()
    with npu.graph(graph):
        out = work()
    for numbers in expected:
        graph.replay()
        assert out.tolist() == numbers


def test_training_with_dropout():
    """Forward and backward of a graph agree about what was dropped, in every step anew."""
    model = nn.Sequential(nn.Linear(6, 40), nn.Dropout(0.5)).npu()
    x = torch.ones(2, 6, device="npu")
    called = npu.make_graphed_callables(model, (x,))
    seen = []
    for _ in range(3):
        model.zero_grad()
        result = called(x)
        result.sum().backward()
        kept = (result != 0).float().sum(0) * 2
        assert torch.allclose(model[0].bias.grad, kept)
        seen.append(result.tolist())
    assert seen[0] != seen[1] != seen[2] != seen[0]
