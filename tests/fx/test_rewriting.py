"""Rewriting of graphs beside torch: patterns and replacements, traced assertions and types, switches of tracers."""
import importlib

import pytest
import torch
import torch.fx.experimental.rewriter
import torch.fx.passes.utils.matcher_utils

import mindtorch
import mindtorch.fx
import mindtorch.fx.experimental.rewriter

LIBRARIES = (mindtorch, torch)


def module(lib, name):
    return importlib.import_module(f"{lib.__name__}.fx.{name}")


def network(lib):
    class Net(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.line = lib.nn.Linear(3, 3)
            self.shift = lib.nn.Parameter(lib.ones(3))

        def forward(self, x):
            x = lib.relu(x) + lib.neg(x)
            y = self.line(x) + self.shift
            return lib.relu(y) + lib.neg(y), lib.sum(x, dim=1), lib.relu(x)
    return Net()


def both(run):
    """What run(library) gives for both, as text."""
    ours, theirs = map(run, LIBRARIES)
    assert ours == theirs
    return ours


def call(function):
    """The function as one that can be traced."""
    def run(x):
        return function(x)
    return run


PATTERNS = {
    "chained": lambda lib: (lambda x: lib.relu(x) + lib.neg(x), call(lib.abs)),
    "attribute": lambda lib: (lambda x, shift: x + shift, lambda x, shift: lib.sub(shift, x)),
    "literal": lambda lib: (lambda x, n: lib.sum(x, dim=n), lambda x, n: lib.mean(x, dim=n)),
    "none": lambda lib: (call(lib.cos), call(lib.sin)),
    "used outside": lambda lib: (lambda x: lib.sum(lib.relu(x) + lib.neg(x), dim=1), lambda x: x),
    "input": lambda lib: (call(lib.relu), lambda x: x),
    "several": lambda lib: (lambda x: (lib.relu(x), lib.neg(x)), lambda x: (lib.neg(x), lib.exp(x))),
}


@pytest.mark.parametrize("name", PATTERNS)
def test_replace_pattern(name):
    def run(lib):
        traced = lib.fx.symbolic_trace(network(lib))
        found = lib.fx.replace_pattern(traced, *PATTERNS[name](lib))
        traced.graph.lint()
        described = [(str(each.anchor), {str(a): str(b) for a, b in each.nodes_map.items()}) for each in found]
        return described, traced.code
    both(run)


def test_replace_pattern_by_modules():
    def run(lib):
        class Pattern(lib.nn.Module):
            def __init__(self):
                super().__init__()
                self.line = lib.nn.Linear(3, 3)

            def forward(self, x):
                return self.line(x)

        class Replacement(lib.nn.Module):
            def __init__(self):
                super().__init__()
                self.twice = lib.nn.Linear(3, 3)
                self.weight = lib.nn.Parameter(lib.zeros(3))

            def forward(self, x):
                return self.twice(self.twice(x)) * self.weight

        traced = lib.fx.symbolic_trace(network(lib))
        replacement = lib.fx.symbolic_trace(Replacement())
        assert len(lib.fx.replace_pattern(traced, Pattern(), replacement)) == 1
        result = traced(lib.ones(1, 3))[0]
        assert traced.twice is not replacement.twice
        return traced.code, sorted(name for name, _ in traced.named_modules()), result.detach().tolist()
    both(run)


def test_filters_and_callbacks():
    def run(lib):
        rewriter = module(lib, "subgraph_rewriter")
        traced = lib.fx.symbolic_trace(network(lib))

        def first_only(match, graph, pattern):
            return match.placeholder_nodes[0].op == "placeholder"

        def chosen(match, graph, pattern):
            return lib.fx.symbolic_trace(lambda x: lib.abs(lib.exp(x))).graph
        done = rewriter.replace_pattern_with_filters(
            traced, lambda x: lib.relu(x) + lib.neg(x), match_filters=[first_only], replacement_callback=chosen)
        with pytest.raises(AssertionError, match="Must provide either a replacement"):
            rewriter.replace_pattern_with_filters(traced, call(lib.relu))
        ignored = rewriter.replace_pattern_with_filters(
            traced, lambda x: lib.sum(x, dim=0), lambda x: lib.amax(x, dim=1), ignore_literals=True)
        return [[str(node) for node in each.replacements] for each in (*done, *ignored)], traced.code
    both(run)


def test_matches():
    def run(lib):
        matcher = module(lib, "passes.utils.matcher_utils").SubgraphMatcher
        graph = lib.fx.symbolic_trace(network(lib)).graph
        pattern = lib.fx.symbolic_trace(call(lib.relu)).graph
        with pytest.raises(ValueError, match="empty pattern"):
            matcher(lib.fx.Graph())
        plain = matcher(pattern).match(graph)
        inputs = matcher(pattern, match_placeholder=True).match(graph)
        whole = matcher(pattern, match_output=True).match(graph)
        return [[(str(each.placeholder_nodes), str(each.returning_nodes)) for each in found]
                for found in (plain, inputs, whole)]
    both(run)


def checked(x):
    assert x.sum() > 0, "positive"
    y: int = x * 2
    return y


def test_arguments_that_are_defaults():
    def run(lib):
        pool = lib.ops.aten.max_pool2d_with_indices.default
        found = []
        for pattern, function in ((lambda x: pool(x, [2, 2], stride=[2, 2]), lambda x: pool(x, [2, 2], [2, 2])),
                                  (lambda x, size: pool(x, size, [2, 2]), lambda x: pool(x, [2, 2], stride=[2, 2])),
                                  (lambda x: lib.nn.functional.relu(x, False), call(lib.nn.functional.relu)),
                                  (lambda x: lib.nn.functional.relu(x, True), call(lib.nn.functional.relu))):
            traced = lib.fx.symbolic_trace(function)
            found.append(len(lib.fx.replace_pattern(traced, pattern, pattern)))
        return found
    assert both(run) == [1, 1, 1, 0]


def test_rewritten_functions():
    factor = 3

    def closed(x, *, least=0):
        assert x.sum() > least
        return x * factor
    for function, text in ((checked, "positive"), (closed, None)):
        tracer = mindtorch.fx.experimental.rewriter.RewritingTracer()
        graph = tracer.trace(function)
        made = mindtorch.fx.GraphModule(tracer.root, graph)
        made.graph.eliminate_dead_code()
        made.recompile()
        x = mindtorch.ones(2)
        assert made(x, *([0] * (function is closed))).tolist() == function(x).tolist()
        with pytest.raises(AssertionError, match=text):
            made(-x, *([0] * (function is closed)))
    assert [node.type for node in mindtorch.fx.experimental.rewriter.RewritingTracer().trace(checked).nodes
            if node.name == "mul"] == [int]


def test_rewritten_modules():
    def run(lib):
        class Outer(lib.nn.Module):
            def __init__(self):
                super().__init__()
                self.line = lib.nn.Linear(2, 2)

            def forward(self, x):
                assert x.dim() == 2
                return self.line(x).shape
        tracer = module(lib, "experimental.rewriter").RewritingTracer()
        graph = tracer.trace(Outer())
        made = lib.fx.GraphModule(tracer.root, graph)
        with pytest.raises(AssertionError):
            made(lib.ones(2))
        return [(node.op, node.name) for node in graph.nodes], tuple(made(lib.ones(3, 2)))
    both(run)


def test_switches_of_tracers():
    def run(lib):
        class Strict(lib.fx.Tracer):
            check_mutable_operations = True
            record_stack_traces = True
            proxy_buffer_attributes = True

        class Net(lib.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("shift", lib.ones(2))

            def forward(self, x):
                return lib.sum(x) + self.shift

        with pytest.raises(RuntimeError, match="Tried to trace mutable operation aten::sigmoid"):
            Strict().trace(lambda x: lib.sigmoid(x, out=lib.ones(2)))
        graph = Strict().trace(Net())
        nodes = [node for node in graph.nodes if node.op == "call_function"]
        assert all("in forward" in node.stack_trace for node in nodes)
        return [node.name for node in graph.nodes]
    both(run)


def test_assertions_that_are_traced():
    names = {}                          # pytest rewrites the assertions of this file
    exec("def asserted(x):\n    assert x.sum() > 0\n    return x + 1\n", names)

    class Asserting(mindtorch.fx.Tracer):
        trace_asserts = True
    graph = Asserting().trace(names["asserted"])
    graph.eliminate_dead_code()
    made = mindtorch.fx.GraphModule({}, graph)
    assert made(mindtorch.ones(1)).item() == 2
    with pytest.raises(AssertionError):
        made(-mindtorch.ones(1))
    with pytest.raises(mindtorch.fx.proxy.TraceError, match="control flow"):
        Asserting().trace(lambda x: 1 if x else 2)


def test_classes_whose_constructor_is_recorded():
    def run(lib):
        class Pair(metaclass=lib.fx.ProxyableClassMeta):
            def __init__(self, left, right):
                self.left, self.right = left, right

        made = lib.fx.symbolic_trace(lambda x: Pair(x, x + 1).right * Pair(2, 3).left)
        assert made(lib.ones(2)).tolist() == [4.0, 4.0]
        return [node.op for node in made.graph.nodes]
    both(run)


def test_annotate():
    def run(lib):
        annotate = module(lib, "annotate").annotate
        assert annotate(3, int) == 3
        with pytest.raises(RuntimeError, match="already had a type"):
            lib.fx.symbolic_trace(lambda x: annotate(annotate(x + 1, int), int))
        graph = lib.fx.symbolic_trace(lambda x: annotate(x + 1, int)).graph
        return [node.type for node in graph.nodes]
    both(run)


@pytest.mark.parametrize("drawn", [True, False])
def test_nodes_that_write_or_draw_are_impure(drawn):
    """In-place operators, those that write to `out`, and random ones."""
    found = []
    for lib in (mindtorch, torch):
        aten, graph = lib.ops.aten, lib.fx.Graph()
        x = graph.placeholder("x")
        nodes = [graph.call_function(target, (x,)) for target in (
            aten.add_.Tensor, aten.add.out, aten.relu_.default, aten.relu_, aten.add.Tensor, aten.relu, lib.add,
            lib.rand, lib.randn_like, lib.bernoulli, aten.bernoulli.default)]
        found.append([node.is_impure(drawn) for node in nodes])
    assert found[0] == found[1]


def test_dead_code_keeps_writes():
    for lib in (mindtorch, torch):
        graph = lib.fx.Graph()
        x = graph.placeholder("x")
        graph.call_function(lib.ops.aten.mul_.Tensor, (x, 2))
        graph.call_function(lib.ops.aten.add.out, (x, x), {"out": x})
        graph.call_function(lib.ops.aten.add.Tensor, (x, 5))
        graph.output(x)
        graph.eliminate_dead_code()
        assert lib.fx.GraphModule({}, graph)(lib.ones(2)).tolist() == [4, 4]
        assert len(graph.nodes) == 4
