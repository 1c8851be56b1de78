"""make_fx beside torch's: the operators of a function, with what its graph computes; torch.cond and its like."""
import importlib

import pytest
import torch
import torch._higher_order_ops

import mindtorch
import mindtorch.fx.experimental.proxy_tensor
from mindtorch._functorch import control_flow

LIBRARIES = (mindtorch, torch)


def make_fx(lib):
    return importlib.import_module(f"{lib.__name__}.fx.experimental.proxy_tensor").make_fx


def written(x):
    y = x.clone()
    y.add_(1)
    return y.t(), {"largest": y.max(0)[0]}


FUNCTIONS = {
    "operators": lambda lib: lambda x, y: lib.sin(x) * y,
    "views": lambda lib: lambda x, y: x.transpose(0, 1).reshape(2, 3)[0] + y.sum(),
    "writes": lambda lib: lambda x, y: written(x),
    "several": lambda lib: lambda x, y: x.split(1)[1],
    "constant": lambda lib: lambda x, y: (x + 1, 3),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_graphs(name):
    def run(lib):
        function = FUNCTIONS[name](lib)
        x, y = lib.arange(6.0).reshape(3, 2), lib.ones(3, 2)
        made = make_fx(lib)(function)(x, y)
        with lib.no_grad():
            for found, expected in zip(lib.utils._pytree.tree_leaves(made(2 * x, y)),
                                       lib.utils._pytree.tree_leaves(function(2 * x, y)), strict=True):
                assert found == expected if isinstance(found, int) else lib.equal(found, expected)
        return [(node.op, node.name, str(node.target)) for node in made.graph.nodes]
    ours, theirs = map(run, LIBRARIES)
    assert ours == theirs


def test_derivatives():
    x = mindtorch.tensor([0.5, 1.0])
    for function in (mindtorch.func.grad(lambda x: (x.sin() ** 2).sum()),
                     lambda x: mindtorch.func.jvp(mindtorch.tanh, (x,), (x,))[1]):
        made = make_fx(mindtorch)(function)(x)
        assert mindtorch.allclose(made(x + 1), function(x + 1))
        assert all(node.op != "get_attr" for node in made.graph.nodes)


def test_attributes_of_the_module():
    line, shift = mindtorch.nn.Linear(2, 2), mindtorch.ones(2)
    made = make_fx(mindtorch)(lambda x: line(x) + shift)(mindtorch.ones(3, 2))
    x = mindtorch.rand(3, 2)
    assert mindtorch.equal(made(x), line(x) + shift)
    assert {name for name, _ in made.named_parameters()} == {"_param_constant0", "_param_constant1"}
    assert made._tensor_constant0 is shift


def test_decompositions():
    aten = mindtorch.ops.aten
    table = {aten.silu.default: lambda x: x * mindtorch.sigmoid(x)}
    made = make_fx(mindtorch)(mindtorch.nn.functional.silu, table)(mindtorch.ones(2))
    assert [node.target for node in made.graph.nodes if node.op == "call_function"] == [
        aten.sigmoid.default, aten.mul.Tensor]


def test_what_is_refused():
    with pytest.raises(NotImplementedError, match="symbolic sizes"):
        make_fx(mindtorch)(mindtorch.sin, tracing_mode="symbolic")
    with pytest.raises(AssertionError, match="tracing_mode must be"):
        make_fx(mindtorch)(mindtorch.sin, tracing_mode="other")


@pytest.mark.parametrize("lib", [torch, mindtorch])
def test_containers_of_arguments(lib):
    def run(parts, named, number):
        return lib.cat(parts) * named["a"][0] + number

    made = make_fx(lib)(run)([lib.ones(2), lib.ones(3)], {"a": (lib.ones(5) * 2, "text")}, 3)
    given = [lib.zeros(2), lib.ones(3)], {"a": (lib.ones(5) * 4, "text")}, 3
    assert made(*given).tolist() == run(*given).tolist() == [3, 3, 7, 7, 7]


def test_cond():
    x = mindtorch.ones(2)
    assert mindtorch.cond(True, mindtorch.sin, mindtorch.cos, (x,)).equal(x.sin())
    assert mindtorch.cond(x.sum() > 3, mindtorch.sin, mindtorch.cos, [x]).equal(x.cos())
    for arguments, message in (((1, mindtorch.sin, mindtorch.cos, (x,)), "bool or tensor"),
                               ((x, mindtorch.sin, mindtorch.cos, (x,)), "single-element tensor"),
                               ((True, 1, mindtorch.cos, (x,)), "callable"),
                               ((True, mindtorch.sin, mindtorch.cos, (1,)), "tensor leaves")):
        with pytest.raises(RuntimeError, match=message) as ours:
            mindtorch.cond(*arguments)
        assert message in str(ours.value)


def test_loops():
    found = mindtorch.while_loop(lambda n, x: n < 3, lambda n, x: (n + 1, x * 2),
                                 (mindtorch.tensor(0), mindtorch.ones(1)))
    assert [each.item() for each in found] == [3, 8]
    x = mindtorch.arange(6.0).reshape(3, 2)
    mapped = control_flow.map(lambda pair, y: {"a": pair[0] + y, "b": pair[1].sum()}, (x, x), mindtorch.ones(2))
    assert mapped["a"].equal(x + 1)
    assert mapped["b"].equal(x.sum(1))
    for wrong in ((lambda: mindtorch.while_loop(1, mindtorch.sin, (x,))), (lambda: mindtorch.while_loop(
            mindtorch.sin, 1, (x,))), (lambda: mindtorch.while_loop(mindtorch.sin, mindtorch.sin, x)),
            (lambda: control_flow.map(mindtorch.sin, (x, x[:2]))), (lambda: control_flow.map(mindtorch.sin, ()))):
        with pytest.raises(RuntimeError, match=r"Expect|Mapped|Leading"):
            wrong()


def test_operators_of_torch_ops_are_traced():
    def run(lib):
        aten = lib.ops.aten
        traced = lib.fx.symbolic_trace(lambda x: aten.add.Tensor(aten.sin(x), aten.relu.default(x)))
        x = lib.ones(2)
        assert lib.equal(traced(x), lib.sin(x) + 1)
        with pytest.raises((RuntimeError, TypeError)):
            aten.sin.default("x")
        return [(node.op, node.name, str(node.target)) for node in traced.graph.nodes], traced.code
    ours, theirs = map(run, LIBRARIES)
    assert ours == theirs


@pytest.mark.parametrize("lib", LIBRARIES)
def test_the_mode_is_known_while_it_traces(lib):
    module = importlib.import_module(f"{lib.__name__}.fx.experimental.proxy_tensor")
    seen = []

    def function(x):
        seen.append(module.get_proxy_mode())
        return x + 1
    module.make_fx(function)(lib.ones(2))
    assert seen[-1] is not None
    assert module.get_proxy_mode() is None


def test_a_number_that_is_written_to():
    """torch.tensor(3) in a traced function is a constant, which each call of the graph must find unchanged."""
    def run(lib):
        def function(x):
            y = lib.tensor(3)
            y.add_(1)
            return x + y
        module = importlib.import_module(f"{lib.__name__}.fx.experimental.proxy_tensor").make_fx(function)(lib.zeros(2))
        return [module(lib.zeros(2)).tolist() for _ in range(3)], [
            str(node.target) for node in module.graph.nodes if node.op == "call_function"]
    assert run(mindtorch) == run(torch)
