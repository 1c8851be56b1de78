"""Passes over graphs beside torch: signatures of operators, calls in one form, submodules, equal calls."""
import importlib
import inspect

import pytest
import torch
import torch.fx.experimental.normalize
import torch.fx.passes.dialect.common.cse_pass
import torch.fx.passes.fake_tensor_prop
import torch.fx.passes.infra.partitioner
import torch.fx.passes.infra.pass_manager
import torch.fx.passes.operator_support
import torch.fx.passes.shape_prop
import torch.fx.passes.split_module
import torch.fx.passes.split_utils

import mindtorch
import mindtorch.fx

LIBRARIES = (mindtorch, torch)


def module(lib, name):
    return importlib.import_module(f"{lib.__name__}.fx.{name}")


def both(run):
    """What run(library) gives for both."""
    ours, theirs = map(run, LIBRARIES)
    assert ours == theirs
    return ours


def network(lib):
    class Net(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.shift = lib.nn.Parameter(lib.ones(3, 4))
            self.inner = lib.nn.Sequential(lib.nn.Linear(4, 5))

        def forward(self, x):
            z = self.inner[0](x + self.shift).clamp(min=0.0, max=1.0)
            w = self.inner[0](x - 1).clamp(min=0.0, max=1.0)
            return z + w
    return Net()


CALLS = {
    "alpha": lambda lib, x: (lib.add, (x, x), {"alpha": 2}, (lib.Tensor, lib.Tensor), {"alpha": int}),
    "number": lambda lib, x: (lib.sub, (x, 3), {}, (lib.Tensor, int), {}),
    "dim": lambda lib, x: (lib.softmax, (x, 1), {}, (lib.Tensor, int), {}),
    "list": lambda lib, x: (lib.sum, (x, [0, 1]), {}, (lib.Tensor, list[int]), {}),
    "linalg": lambda lib, x: (lib.linalg.det, (x,), {}, (lib.Tensor,), {}),
    "functional": lambda lib, x: (lib.nn.functional.dropout, (x,), {"p": 0.1}, None, None),
    "no such call": lambda lib, x: (lib.relu, (x, x, x), {}, (lib.Tensor,) * 3, {}),
}


@pytest.mark.parametrize("only_kwargs", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_normalize_function(name, only_kwargs):
    def run(lib):
        function, args, kwargs, *types = CALLS[name](lib, lib.ones(3, 3))
        found = module(lib, "operator_schemas").normalize_function(function, args, kwargs, *types, only_kwargs)
        return found and (len(found.args), [str(each) for each in found.args],
                          {key: str(each) for key, each in found.kwargs.items()})
    both(run)


def test_overloads_are_chosen_by_types():
    def run(lib):
        with pytest.raises(RuntimeError) as error:
            module(lib, "operator_schemas").normalize_function(lib.mul, (lib.ones(2), 3))
        return str(error.value).partition(" Available")[0].partition("to ")[0]
    both(run)


def test_signatures_say_types():
    signature, = [each for each in module(mindtorch, "operator_schemas").get_signature_for_torch_op(mindtorch.cat)
                  if "out" not in each.parameters and each.parameters["dim"].annotation is int]
    theirs = next(each for each in module(torch, "operator_schemas").get_signature_for_torch_op(torch.cat)
                  if "out" not in each.parameters and each.parameters["dim"].annotation is int)
    assert str(signature).replace("mindtorch", "torch") == str(theirs)
    assert module(mindtorch, "operator_schemas").get_signature_for_torch_op(len) is None


@pytest.mark.parametrize("value", [1, 2.5, True, "a", None, 1j, [1, 2], (1, 2.0), [(1, True)], [], [1, 2.0], object],
                         ids=str)
def test_types_of_values(value):
    ours, theirs = (lib._C._jit_try_infer_type(value) for lib in LIBRARIES)
    assert ours.success() == theirs.success()
    if ours.success():
        assert str(ours.type()) == theirs.type().annotation_str


def test_operators_are_builtin_functions():
    assert both(lambda lib: (inspect.isbuiltin(lib.add), inspect.isroutine(lib.Tensor.add),
                             inspect.ismethoddescriptor(lib.Tensor.add), inspect.isfunction(lib.add))
                ) == (True, True, True, False)


@pytest.mark.parametrize("order", [False, True])
def test_split_module(order):
    def run(lib):
        net, places, count = network(lib), {}, [0]
        traced = lib.fx.symbolic_trace(net)

        def three_each(node):
            count[0] += 1
            return (count[0] - 1) // 3
        split = module(lib, "passes.split_module").split_module(traced, net, three_each, places, order,
                                                                partition_affix="part")
        x = lib.ones(3, 4)
        assert lib.equal(split(x), traced(x))
        return ([(node.name, node.op, str(node.args)) for node in split.graph.nodes],
                [(name, [node.op for node in child.graph.nodes]) for name, child in split.named_children()], places)
    both(run)


def test_split_module_names_a_cycle():
    for lib in LIBRARIES:
        traced = lib.fx.symbolic_trace(lambda x: x.cos().sin().cos())
        with pytest.raises(RuntimeError, match="cycle exists between partitions!"):
            module(lib, "passes.split_module").split_module(traced, None, lambda node: node.target)


def test_split_by_tags():
    def run(lib):
        traced = lib.fx.symbolic_trace(network(lib))
        for node in traced.graph.nodes:
            node.tag = "second" if node.target == "clamp" or node.name == "add_1" else "first"
        split, names = module(lib, "passes.split_utils").split_by_tags(traced, ["first", "second"], True)
        x = lib.ones(3, 4)
        assert lib.equal(split(x), traced(x))
        return [(name, [node.op for node in child.graph.nodes]) for name, child in split.named_children()], names
    both(run)


def test_normalized_graphs():
    def run(lib):
        def function(x, y):
            return lib.add(x, y) + lib.nn.functional.relu(x) + lib.sum(x, 1)
        traced = lib.fx.symbolic_trace(function)
        module(lib, "passes.shape_prop").ShapeProp(traced).propagate(lib.ones(2, 2), lib.ones(2, 2))
        normalize = module(lib, "experimental.normalize")
        remapped = normalize.NormalizeOperators(traced).transform()
        return normalize.NormalizeArgs(traced).transform().code, [node.target.__name__ for node in remapped.graph.nodes
                                                                 if node.op == "call_function"]
    assert "input = x" in both(run)[0]


def test_equal_calls_run_once():
    def run(lib):
        def function(x):
            return x.sum(1) + x.sum(1) + x.cos() + x.cos() + lib.rand_like(x) + lib.rand_like(x)
        traced = lib.fx.symbolic_trace(function)
        passes = module(lib, "passes.dialect.common.cse_pass")
        first = passes.CSEPass({lib.rand_like})(traced)
        return first.modified, first.graph_module.code, passes.CSEPass({lib.rand_like})(first.graph_module).modified
    assert both(run)[2] is False


def test_pass_manager():
    def run(lib):
        infra, base = module(lib, "passes.infra.pass_manager"), module(lib, "passes.infra.pass_base")

        def exchange(old, new):
            def each(gm):
                found = [node for node in gm.graph.nodes if node.target is old]
                for node in found:
                    node.target = new
                return base.PassResult(gm, bool(found))
            each.__name__ = f"{old.__name__}_to_{new.__name__}"
            return each
        first, second = exchange(lib.sin, lib.cos), exchange(lib.cos, lib.tan)
        said = []
        manager = infra.PassManager([second, first], steps=1)
        manager.add_constraint(infra.this_before_that_pass_constraint(first, second))
        with pytest.raises(RuntimeError) as error:
            manager.validate_constraints()
        said.append(str(error.value).partition(" Expected")[0])
        done = manager(lib.fx.symbolic_trace(of_sine(lib)))
        said.append((done.modified, done.graph_module.code))
        with pytest.raises(Exception, match="the 'fails' pass") as error:
            infra.PassManager([first, infra.pass_result_wrapper(lambda gm: None), fails])(
                lib.fx.symbolic_trace(of_sine(lib)))
        said.append(str(error.value))
        with pytest.raises(TypeError, match="only take in one variable"):
            infra.PassManager().add_checks(lambda a, b: None)
        return said
    both(run)


def of_sine(lib):
    def function(x):
        return lib.sin(x)
    return function


def fails(gm):
    raise ValueError("wrong")


def half_constant(lib):
    """A module of which a part depends on no input."""
    class Net(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = lib.nn.Parameter(lib.tensor([[1.0, 2.0], [3.0, 4.0]]))
            self._FX_CONST_FOLDED_ATTRS = lib.nn.Parameter(lib.ones(2), requires_grad=False)
            self.layer = lib.nn.Linear(2, 2)

        def forward(self, x, unused=None):
            twice = self.a + self.a
            return {"first": x * twice, "second": self.layer(x) + self._FX_CONST_FOLDED_ATTRS,
                    "third": x - self.a.t() * 3, "plain": self.a}
    return Net()


@pytest.mark.filterwarnings("ignore:Attempted to insert a get_attr")           # torch's, of itself
@pytest.mark.parametrize("skipped", [False, True])
def test_what_depends_on_no_input_is_computed_once(skipped):
    def run(lib):
        const_fold = module(lib, "experimental.const_fold")
        net, x = half_constant(lib), lib.ones(2, 2)
        skip = (lambda node: node.op == "call_method" and node.target == "t") if skipped else None
        folded = const_fold.split_const_subgraphs(lib.fx.symbolic_trace(net), skip)
        before = folded.has_folding_been_run
        results, wanted = folded(x), net(x)
        for name, value in wanted.items():
            assert results[name].tolist() == value.tolist()
        net.a.data.zero_()                          # is not read again
        assert folded(x)["first"].tolist() == wanted["first"].tolist()
        held = getattr(folded, folded.fx_const_folded_attrs_name)
        return (before, folded.has_folding_been_run, folded.fx_const_folded_attrs_name,
                sorted(f"{node.op} {node.name}" for node in folded.graph.nodes if node.op != "get_attr"),
                sorted(node.target for node in folded.graph.nodes if node.op == "get_attr"),
                [each.requires_grad for each in (held if isinstance(held, lib.nn.ParameterList) else [held])],
                len(list(folded.const_subgraph_module.graph.nodes)))
    both(run)


def test_a_graph_without_constants_is_not_folded():
    def run(lib):
        const_fold = module(lib, "experimental.const_fold")
        folded = const_fold.split_const_subgraphs(lib.fx.symbolic_trace(lambda x: x.sin() + 1))
        return folded.const_subgraph_module, folded(lib.zeros(2)).tolist(), folded.code
    both(run)


def test_fake_tensors_of_a_graph():
    """Shapes without computing, also of a module that is not there as fake tensors."""
    def run(lib):
        fake = importlib.import_module(f"{lib.__name__}._subclasses.fake_tensor")
        fake_prop, shape_prop = module(lib, "passes.fake_tensor_prop"), module(lib, "passes.shape_prop")
        mode = fake.FakeTensorMode()
        with mode:
            net = network(lib)
        traced = lib.fx.symbolic_trace(net)
        result = fake_prop.FakeTensorProp(traced, mode).propagate(lib.ones(3, 4))
        assert isinstance(result, fake.FakeTensor)
        shapes = [tuple(node.meta["val"].shape) for node in traced.graph.nodes]
        with pytest.raises(AssertionError, match="Please convert all Tensors to FakeTensors first"):
            fake_prop.FakeTensorProp(lib.fx.symbolic_trace(network(lib))).propagate(lib.ones(3, 4))
        real = lib.fx.symbolic_trace(network(lib))
        found = shape_prop.ShapeProp(real, mode).propagate(lib.ones(3, 4))
        assert isinstance(found, fake.FakeTensor)
        assert not any(isinstance(each, fake.FakeTensor) for each in real.parameters())
        return shapes, [tuple(node.meta["tensor_meta"].shape) for node in real.graph.nodes]
    both(run)


# --- groups of nodes that a backend supports -----------------------------------------------------------------------

def branches(lib):
    """Two branches that join, with a call of sin between: adds before it cannot be in one group with those behind."""
    def forward(a, b):
        first = a + b
        left, right = first.sin() + 1, first + 2
        low, high = right.split(1, 0)
        return left + right, (low + high) * first
    return lib.fx.symbolic_trace(forward)


def supports(lib, *names):
    """Supports calls of those names; OperatorSupport supports inputs as well, which no submodule can have."""
    support = module(lib, "passes.operator_support")
    return support.chain(support.OperatorSupport(dict.fromkeys(names)),
                         support.create_op_support(lambda submodules, node: node.op.startswith("call_")))


ADDS = "_operator.add", "_operator.getitem", "split"


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("names", [ADDS, ADDS[:1], ("_operator.getitem",), ("sin", "_operator.mul"), ()])
def test_partitions(names, single):
    def run(lib):
        graph_module = branches(lib)
        partitioner = module(lib, "passes.infra.partitioner").CapabilityBasedPartitioner(
            graph_module, supports(lib, *names), allows_single_node_partition=single)
        found = [sorted(node.name for node in each.nodes) for each in partitioner.propose_partitions()]
        fused = partitioner.partition_and_fuse()
        a, b = lib.arange(2.), lib.ones(2)
        return found, [node.name for node in fused.graph.nodes], [t.tolist() for t in fused(a, b)]
    both(run)


@pytest.mark.parametrize("options", [{"skip_horizontal_fusion": True}, {"non_compute_ops": ["_operator.add"]},
                                     {"allowed_single_node_partition_ops": ["_operator.mul"]}])
def test_options_of_the_partitioner(options):
    def run(lib):
        support = supports(lib, "_operator.add", "_operator.mul", "sin")
        partitioner = module(lib, "passes.infra.partitioner").CapabilityBasedPartitioner(
            branches(lib), support, **options)
        partitions = partitioner.propose_partitions()
        found = [sorted(node.name for node in each.nodes) for each in partitions]
        partitioner.remove_bookend_non_compute_ops(partitions)
        return found, [sorted(node.name for node in each.nodes) for each in partitions]
    both(run)


def test_what_cannot_be_one_call():
    def run(lib):
        utils = module(lib, "passes.utils.fuser_utils")
        graph_module = branches(lib)
        nodes = {node.name: node for node in graph_module.graph.nodes}
        pair = [nodes["add"], nodes["add_1"]]           # sin is between them
        with pytest.raises(AssertionError) as error:
            utils.fuse_by_partitions(graph_module, [dict.fromkeys(pair)])
        fused, inputs, outputs = utils.fuse_as_graphmodule(
            graph_module, [nodes["add"], nodes["sin"]], "Fused", always_return_tuple=True)
        return (utils.validate_partition(pair), str(error.value), type(fused).__name__, list(map(str, inputs)),
                list(map(str, outputs)), [t.tolist() for t in fused(lib.ones(2), lib.ones(2))],
                list(map(str, utils.topo_sort(pair[::-1]))))
    both(run)


def test_support_by_dtype():
    def run(lib):
        support = module(lib, "passes.operator_support")
        graph_module = lib.fx.symbolic_trace(lambda x, y: lib.mul(x.sin(), other=y))
        module(lib, "passes.shape_prop").ShapeProp(graph_module).propagate(lib.ones(2), lib.ones(2, dtype=lib.float64))
        conditions = (
            support.OperatorSupport({"sin": (([lib.float32],), {}), "torch.mul": ((None,), {"other": [lib.float32]})}),
            support.OpSupports.decline_if_input_dtype(lib.float64), support.OpSupports.decline_if_node_in_names({"y"}))
        conditions += support.chain(*conditions), support.any_chain(*conditions)
        return [[each.is_node_supported({}, node) for node in graph_module.graph.nodes] for each in conditions]
    both(run)


def test_names_of_targets():
    def run(lib):
        tools = module(lib, "passes.tools_common")
        graph_module = lib.fx.symbolic_trace(lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.Flatten()))
        submodules = dict(graph_module.named_modules())
        found = [tools.get_node_target(submodules, node) for node in graph_module.graph.nodes
                 if node.op in tools.CALLABLE_NODE_OPS]
        with pytest.raises(AssertionError):
            tools.get_node_target(submodules, next(iter(graph_module.graph.nodes)))
        return found, tools.get_acc_ops_name("sin"), tools.get_acc_ops_name(lib.relu)
    both(run)


def test_stable_topological_sort():
    def run(lib):
        graph_module = branches(lib)
        nodes = {node.name: node for node in graph_module.graph.nodes}
        nodes["add_3"].append(nodes["add"])
        nodes["output"].append(nodes["sin"])
        module(lib, "passes.tools_common").stable_topological_sort(graph_module)
        graph_module.graph.lint()
        return [node.name for node in graph_module.graph.nodes]
    both(run)


def test_packets_are_traced_as_such():
    """An operator of torch.ops stands in a graph as it was called: without its overload, or with it."""
    def run(lib):
        calls = lib.fx.symbolic_trace(lambda x: lib.ops.aten.permute.default(lib.ops.aten.permute(x, [0]), [0]))
        return [str(node.target) for node in calls.graph.nodes]
    both(run)
