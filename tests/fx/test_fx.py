"""torch.fx beside torch: the source and graph of traced functions and modules, and what changed graphs compute."""
import copy
import dataclasses
import enum
import importlib
import math
import operator
import pickle
from typing import Any, List, NamedTuple  # noqa: UP035 - List is what code says for list[...], as torch's does

import pytest
import torch
import torch.fx

import mindtorch
import mindtorch.fx
import mindtorch.nn.functional

LIBRARIES = (mindtorch, torch)


def root_of(x):
    return math.sqrt(x)


def doubled(x):
    return x * 2


mindtorch.fx.wrap("doubled")
torch.fx.wrap("doubled")


def network(lib, flag=True):
    nn = lib.nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.features = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU())
            self.scale = nn.Parameter(lib.tensor([2.0, 3.0]))
            self.register_buffer("shift", lib.ones(2))
            self.head = nn.Linear(2, 3)

        def forward(self, x, y=None, *, k=2):
            x = nn.functional.relu(self.features(x))
            x = lib.add(x, 1, alpha=k).mean((2, 3)) * self.scale - self.shift
            a, _ = x.shape
            x = lib.cat([x.view(a, -1)[:, 0:1], x[:, 1:]], dim=1)
            return {"out": self.head(x), "pair": (x.T, -x if flag else x)}
    net = Net()
    with lib.no_grad():
        for i, parameter in enumerate(net.parameters()):
            parameter.copy_(lib.arange(parameter.numel()).reshape(parameter.shape) / 10 - i)
    return net


FUNCTIONS = {
    "operators": lambda lib: lambda x: ((x == 1) & (x != 2) | (x < 3), 1 - x, 2 ** x, 1 // x, ~x, x @ x, -x % 3),
    "functions": lambda lib: lambda x: lib.nn.functional.dropout(lib.nn.functional.softmax(x, dim=-1), 0.1, False),
    "constants": lambda lib: lambda x: lib.ones(2) + lib.where(x > 0, x, lib.zeros(2)),
    "types": lambda lib: lambda x: x.to(lib.float64, memory_format=lib.channels_last).to(lib.device("cpu")),
    "arguments": lambda lib: lambda x, *a, **k: x + a[0] + k["z"], "defaults": lambda lib: lambda x, n=3: x + n,
    "attributes": lambda lib: lambda x: x.foo(1).bar, "wrapped": lambda lib: lambda x: doubled(x) + 1,
    "a module of functions": lambda lib: root_of, "unpacked": lambda lib: lambda x: operator.sub(*unpacked(x)),
    "condition": lambda lib: lambda x: x if x.sum() > 0 else -x, "loop": lambda lib: lambda x: [i + 1 for i in x],
    "length": lambda lib: lambda x: len(x) + 1, "contained": lambda lib: lambda x: 1 in x,
    "int": lambda lib: lambda x: int(x) + 1,
    "assignment": lambda lib: lambda x: x.__setitem__, "slices": lambda lib: lambda x: x[..., None, 1:, x],
}


def unpacked(x):
    a, b = x
    return a, b


def same(text):
    return str(text).replace("mindtorch", "torch")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_source_of_functions(name):
    found = []
    for lib in LIBRARIES:
        try:
            traced = lib.fx.symbolic_trace(FUNCTIONS[name](lib))
        except (ValueError, TypeError, RuntimeError) as error:
            found.append((type(error).__name__, str(error)))
        else:
            traced.graph.lint()
            found.append((traced.code, same(traced.graph)))
    assert found[0] == found[1]


def test_annotations_that_were_not_evaluated():
    """torch names a string's annotation by what is no name in the code; ours keeps the string, and both run."""
    for lib in LIBRARIES:
        def annotated(x: "Tensor", y: "list[int] | None" = None) -> "Tensor":       # noqa: F821
            return x + 1
        traced = lib.fx.symbolic_trace(annotated)
        assert [node.type for node in traced.graph.nodes] == ["Tensor", "list[int] | None", None, "Tensor"]
        assert traced(lib.ones(2)).tolist() == [2, 2]
    traced = mindtorch.fx.symbolic_trace(annotated)
    assert "def forward(self, x : 'Tensor', y : 'list[int] | None' = None) -> 'Tensor':" in traced.code


def test_annotations_and_specialised_arguments():
    found = []
    for lib in LIBRARIES:
        def annotated(x, n: int = 3) -> float:
            return x + n

        def chosen(x, flag=False, other=None):
            return x + 1 if flag else x - 1
        specialised = lib.fx.symbolic_trace(chosen, concrete_args={"flag": True})
        traced = [lib.fx.symbolic_trace(annotated), specialised]
        found.append([(module.code, str(module.graph)) for module in traced])
        assert specialised(lib.ones(1), True).tolist() == [2]
        with pytest.raises(AssertionError, match="flag has been specialized to have value True but got another value"):
            specialised(lib.ones(1), False)
    assert found[0] == found[1]


def test_modules(device):
    found = []
    for lib, place in ((mindtorch, device), (torch, "cpu")):
        net = network(lib).to(place)
        traced = lib.fx.symbolic_trace(net)
        traced.graph.lint()
        image = lib.arange(50.0, device=place).reshape(2, 1, 5, 5) / 50
        results = [made(image) for made in (net, traced, copy.deepcopy(traced), pickle.loads(pickle.dumps(
            traced if place == "cpu" else copy.deepcopy(traced))), copy.copy(traced))]
        assert len({str(result) for result in results}) == 1
        assert str(lib.fx.Interpreter(traced).run(image)) == str(results[0])
        assert str(lib.fx.Transformer(traced).transform()(image)) == str(results[0])
        found.append((traced.code, str(traced.graph), str(traced), list(traced.state_dict()), type(traced).__name__,
                      [(n.op, n.name, [user.name for user in n.users], list(n.meta)) for n in traced.graph.nodes],
                      [[round(number, 4) for number in row] for row in results[0]["out"].tolist()]))
    assert found[0] == found[1]


def test_graphs_by_hand():
    found = []
    for lib in LIBRARIES:
        graph = lib.fx.Graph()
        x = graph.placeholder("x")
        added = graph.call_function(lib.add, (x, 1))
        written = graph.call_function(operator.iadd, (added, 2))
        unused = graph.call_method("relu", (written,))
        graph.output((written, [written]))
        texts = [graph.python_code("self").src, str(graph)]
        with graph.inserting_before(written):
            between = graph.call_function(lib.mul, (added, 3))
        with graph.inserting_after(x):
            first = graph.call_function(lib.neg, (x,))
        written.replace_input_with(added, between)
        added.args = (first, 5)
        assert graph.eliminate_dead_code()
        module = lib.fx.GraphModule({}, graph, "ByHand")
        assert unused not in list(graph.nodes)
        texts += [module.code, str(module), str(module(lib.ones(2))), [node.name for node in reversed(graph.nodes)]]
        between.replace_all_uses_with(first)
        graph.erase_node(between)
        module.recompile()
        texts += [module.code, str(module(lib.ones(2))[0]), len(graph.nodes),
                  graph.output_node().all_input_nodes[0].name]
        found.append(texts)
    assert found[0] == found[1]


MISTAKES = {
    "still used": lambda lib, graph, x, y: graph.erase_node(y),
    "op": lambda lib, graph, x, y: graph.create_node("bad", "x"),
    "order": lambda lib, graph, x, y: (y.append(x), graph.lint()),
    "elsewhere": lambda lib, graph, x, y: lib.fx.Graph().inserting_before(x),
    "mutation": lambda lib, graph, x, y: setattr(y, "args", ([1],)) or y.args[0].append(1),
    "not at the top": lambda lib, graph, x, y: lib.fx.wrap("doubled"), "wrap": lambda lib, graph, x, y: lib.fx.wrap(3),
    "argument": lambda lib, graph, x, y: lib.fx.Proxy(x) + object(),
    "root": lambda lib, graph, x, y: lib.fx.GraphModule(3, graph),
    "no such module": lambda lib, graph, x, y: (graph.call_module("no"), lib.fx.GraphModule({}, graph)),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name):
    found = []
    for lib in LIBRARIES:
        graph = lib.fx.Graph()
        x = graph.placeholder("x")
        y = graph.call_function(lib.add, (x, 1))
        graph.output(y)
        with pytest.raises((RuntimeError, AssertionError, TypeError, NotImplementedError)) as caught:
            MISTAKES[name](lib, graph, x, y)
        found.append((caught.type, str(caught.value)))
    assert found[0] == found[1]


def sine_and_one(lib):
    return lambda x: lib.sin(x) + 1


def test_transformers_change_calls():
    for lib in LIBRARIES:
        class Sines(lib.fx.Transformer):
            def call_function(self, target, args, kwargs, lib=lib):
                return super().call_function(lib.cos if target is lib.sin else target, args, kwargs)
        traced = lib.fx.symbolic_trace(sine_and_one(lib))
        assert Sines(traced).transform()(lib.zeros(1)).tolist() == [2]
        proxy = lib.fx.Proxy(next(iter(traced.graph.nodes)))
        with traced.graph.inserting_before(traced.graph.output_node()):
            traced.graph.output_node().args = ((proxy * 3).node,)
        traced.recompile()
        assert traced(lib.ones(1)).tolist() == [3]


class Shaped(mindtorch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = mindtorch.nn.Linear(2, 3)

    def forward(self, x):
        a, b = self.linear(x).relu().split(1)
        return a + b, x.shape[0]


def test_shape_prop():
    """On the meta device as with elements."""
    from mindtorch.fx.passes.shape_prop import ShapeProp
    found = []
    for device in ("cpu", "meta"):
        graph = mindtorch.fx.symbolic_trace(Shaped()).to(device)
        assert ShapeProp(graph).propagate(mindtorch.ones(2, 2, device=device))[1] == 2
        found.append({node.name: (node.meta.get("tensor_meta"), node.meta["type"]) for node in graph.graph.nodes})
    assert found[0] == found[1]
    add = found[0]["add"][0]
    assert add.shape == (1, 3)
    assert add.stride == (3, 1)
    assert add.requires_grad
    assert add.dtype is mindtorch.float32
    assert add.memory_format is mindtorch.contiguous_format
    assert not add.is_quantized
    assert add.qparams == {}
    assert [each.shape for each in found[0]["split"][0]] == [(1, 3), (1, 3)]
    assert found[0]["split"][1] is tuple
    assert found[0]["getitem_2"] == (None, int)
    graph = mindtorch.fx.symbolic_trace(lambda x: x.reshape(5, 5))
    with pytest.raises(RuntimeError, match="ShapeProp error for: node=%reshape"):
        ShapeProp(graph).propagate(mindtorch.ones(2, 2))


def test_annotations_that_are_strings():
    """Those of a module with `from __future__ import annotations`, such as the one of Sequential."""
    def function(x: "NoSuchName", y: "int" = 1) -> "list[NoSuchName]":  # noqa: F821
        return x + y

    assert mindtorch.fx.symbolic_trace(function)(mindtorch.ones(2)).tolist() == [2, 2]
    layers = mindtorch.fx.symbolic_trace(mindtorch.nn.Sequential(mindtorch.nn.ReLU()))
    assert layers(mindtorch.tensor([-1.0, 2.0])).tolist() == [0, 2]


class Colour(enum.Enum):
    RED = 1


class Pair(NamedTuple):
    first: int
    second: int


def test_annotations_and_enums_of_any_module_in_code():
    def function(x: mindtorch.Tensor, pair: Pair, names: list[str], more: dict[str, "Pair"] | None = None,
                 colour: Colour = Colour.RED, rest: tuple[int, ...] = (1,)) -> list[mindtorch.Tensor]:
        return [x + 1]                              # (a default of a parameter is written into the code)
    module = mindtorch.fx.symbolic_trace(function)
    assert module(mindtorch.zeros(1), Pair(1, 2), [])[0].item() == 1
    hints = module.forward.__annotations__
    assert hints["pair"] is Pair
    assert hints["names"] == List[str]            # noqa: UP006
    assert " = Colour.RED" in module.code


@pytest.mark.parametrize("number", ["inf", "-inf", "nan"])
def test_numbers_that_are_names_in_code(number):
    def run(lib):
        def function(x):
            return x.masked_fill(x > 1, float(number))
        return repr(lib.fx.symbolic_trace(function)(lib.arange(3.0)))
    assert run(mindtorch) == run(torch)


def test_a_function_with_a_self_of_its_own():
    def run(lib):
        def function(self, x):
            return self + x
        traced = lib.fx.symbolic_trace(function)
        return [node.target for node in traced.graph.find_nodes(op="placeholder")], "forward(self, x)" in traced.code
    assert run(mindtorch) == run(torch)


def test_a_named_tuple_that_is_local():
    def run(lib):
        class Local(NamedTuple):
            a: int

        def function(x: Local) -> Local:
            return x
        return lib.fx.symbolic_trace(function)(Local(3))
    assert run(mindtorch) == run(torch)


def test_dataclasses_and_modules_as_values():
    def run(lib):
        @dataclasses.dataclass
        class Result:
            total: Any
            twice: Any

        class Net(lib.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = lib.nn.ReLU()

            def forward(self, x):
                return Result(total=x.sum(), twice=apply(self.layer, x))

            def other(self, x):
                return x - 1
        net, tracer = Net(), lib.fx.Tracer()
        result = lib.fx.GraphModule(net, tracer.trace(net))(lib.tensor([1.0, -1.0]))
        tracer.traced_func_name = "other"
        other = lib.fx.GraphModule(net, tracer.trace(net))(lib.ones(1)).item()
        tracer.traced_func_name = "absent"
        with pytest.raises(AssertionError, match="doesn't exist in"):
            tracer.trace(net)
        return result.total.item(), result.twice.tolist(), other
    assert run(mindtorch) == run(torch)


def apply(module, x):
    return module(x) * 2


mindtorch.fx.wrap("apply")
torch.fx.wrap("apply")


def test_copies_of_tracers_and_proxies():
    for lib in (mindtorch, torch):
        graph = lib.fx.Graph()
        proxy = lib.fx.Proxy(graph.placeholder("x"))
        copied = copy.deepcopy(proxy)
        assert type(copied) is lib.fx.Proxy
        assert copied.node.name == "x"
        assert len(graph.nodes) == 1
        tracer = lib.fx.Tracer()
        tracer.trace(lib.nn.ReLU())
        assert type(copy.deepcopy(tracer)) is lib.fx.Tracer


def test_no_self():
    for lib in (mindtorch, torch):
        class Net(lib.nn.Module):
            def forward(*args):
                return args[1]
        with pytest.raises(RuntimeError, match="cannot be part of"):
            lib.fx.symbolic_trace(Net())


def test_an_error_names_its_line(capsys):
    module = mindtorch.fx.symbolic_trace(lambda x: mindtorch.mm(x, x) + 1)
    with pytest.raises(RuntimeError):
        module(mindtorch.ones(2, 3))
    said = capsys.readouterr().err
    assert "Call using an FX-traced Module, line" in said
    assert "mm = torch.mm(x, x);  x = None\n\n~~~~~~ <--- HERE" in said
    with pytest.raises(ValueError, match="mine"):
        mindtorch.fx.symbolic_trace(fails)(1)
    assert "Call using" not in capsys.readouterr().err


@mindtorch.fx.wrap
def fails(x):
    raise ValueError("mine")


def test_rewritten_functions_record_calls_of_wrapped_ones():
    def run(lib):
        rewriter = importlib.import_module(f"{lib.__name__}.fx.experimental.rewriter")

        def function(x):
            assert x.dim() == 1, "one"
            return doubled(x)
        tracer = rewriter.RewritingTracer()
        graph = tracer.trace(function)
        return [node.name for node in graph.nodes if node.op == "call_function"], lib.fx.GraphModule(
            tracer.root, graph)(lib.ones(2)).tolist()
    assert run(mindtorch) == run(torch)


def test_types_with_sizes():
    def run(lib):
        types = importlib.import_module(f"{lib.__name__}.fx.tensor_type")
        dyn, kind = types.Dyn, types.TensorType
        pool = [dyn, int, 3, kind((1, dyn)), kind[1, 2], kind([1, 2]), kind[3], kind((1, 2, 3)), kind(())]

        def function(x: kind((1, dyn)), y: dyn) -> dyn:
            return x + y
        traced = lib.fx.symbolic_trace(function)
        assert [node.type for node in traced.graph.nodes if node.op == "placeholder"] == [kind((1, dyn)), dyn]
        assert traced(1, 2) == 3
        return (list(map(repr, pool)), [[a == b for a in pool] for b in pool],
                [[types.is_consistent(a, b) for a in pool] for b in pool],
                [[types.is_more_precise(a, b) for a in pool] for b in pool])
    assert run(mindtorch) == run(torch)
