"""Layers whose shapes follow from their first input, beside torch's."""
import copy
import inspect
import pickle
import warnings

import pytest
import torch as oracle
from compare_with_torch import check
from test_layers_nn import assert_same, made, ran, states

import mindtorch

SHAPES = {"1d": "a(2, 4, 10)", "2d": "a(2, 4, 6, 7)", "3d": "a(2, 4, 4, 5, 6)"}
NAMES = ["LazyLinear", *[f"Lazy{kind}{dims}" for kind in ("Conv", "ConvTranspose", "BatchNorm", "InstanceNorm")
                         for dims in SHAPES]]
LAYERS = [("LazyLinear(3)", "a(4, 6)"), ("LazyLinear(3, bias=False)", "a(6)")]
LAYERS += [(f"Lazy{name}3d({arguments})", SHAPES["3d"]) for name, arguments in (
    ("Conv", "6, 3"), ("ConvTranspose", "6, 3"), ("BatchNorm", ""), ("InstanceNorm", ""))]
LAYERS += [(f"Lazy{name}{dims}({arguments})", SHAPES[dims]) for dims in ("1d", "2d") for name, arguments in (
    ("Conv", "6, 3"), ("Conv", "6, 3, 2, 1, 1, 2, False"), ("Conv", "2, 3, padding='same'"),
    ("Conv", "4, 3, padding=1, padding_mode='circular'"), ("ConvTranspose", "6, 3"),
    ("ConvTranspose", "6, 3, 2, 1, 1, 2, bias=False"), ("BatchNorm", ""), ("BatchNorm", "1e-3, None, False"),
    ("BatchNorm", "track_running_stats=False, bias=False"), ("InstanceNorm", ""),
    ("InstanceNorm", "affine=False, track_running_stats=False"))]
LAYERS += [("LazyConv2d(6, 3)", "a(4, 6, 7)"), ("LazyConvTranspose1d(6, 3)", "a(4, 10)"),
           ("Sequential(t.nn.LazyLinear(5), t.nn.ReLU(), t.nn.LazyLinear(2))", "a(4, 6)")]


@pytest.mark.parametrize(("layer", "inputs"), LAYERS)
def test_layer_takes_its_shapes_from_the_first_input(layer, inputs, device):
    ours, theirs = made(mindtorch, layer).to(device), made(oracle, layer)
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for training in (True, False):
        found, expected = [ran(library, module.train(training), inputs, where) for library, module, where in (
            (mindtorch, ours, device), (oracle, theirs, "cpu"))]
        assert repr(ours) == repr(theirs)
        if training and device == "npu":        # a seed gives other numbers there: these were the shapes
            ours.load_state_dict({name: mindtorch.tensor(value) for name, value in states(theirs).items()})
            continue
        assert_same(found, expected)
        expected = states(theirs)
        assert_same([states(ours)[name] for name in expected], list(expected.values()))


@pytest.mark.parametrize("name", NAMES)
def test_signatures(name):
    ours, theirs = getattr(mindtorch.nn, name), getattr(oracle.nn, name)
    assert ours.cls_to_become is getattr(mindtorch.nn, name.removeprefix("Lazy"))
    for method in ("__init__", "initialize_parameters"):
        pair = [[(p.name, p.kind, p.default) for p in inspect.signature(getattr(each, method)).parameters.values()]
                for each in (ours, theirs)]
        assert pair[0] == pair[1]


# --- scenarios, told by both libraries -------------------------------------------------------------------------------

def place(t, shape, device):
    return t.ones(shape, device=device)


def before_and_after(t, device):
    module = t.nn.LazyLinear(3).to(device)
    told = [str(module), str(module.weight), repr(module.bias), module.has_uninitialized_params(), module.in_features,
            str(module.state_dict()), len(module._forward_pre_hooks), len(module._load_state_dict_pre_hooks)]
    module(place(t, (2, 4), device))
    return [*told, str(module), type(module) is t.nn.Linear, type(module.weight) is t.nn.Parameter,
            len(module._forward_pre_hooks), len(module._load_state_dict_pre_hooks), sorted(module.__dict__)]


def loaded(t, device, lazy, full, shape, **how):
    """The parameters come from a state_dict; the class changes with the first call."""
    t.manual_seed(3)
    module, state = lazy().to(device), full().to(device).state_dict()
    told = [str(module.load_state_dict(state, **how)), str(module), module.has_uninitialized_params()]
    module.train(False)
    return [*told, module(place(t, shape, device)).shape, str(module), str(type(module).__name__)]


def refused(t, device, action):
    """What an action on a tensor without a shape raises."""
    return action(t.nn.UninitializedParameter(device=device), t)


def custom(t, device, complete):
    class Late(t.nn.modules.lazy.LazyModuleMixin, t.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = t.nn.UninitializedParameter(device=device)
            self.register_buffer("kept", t.nn.UninitializedBuffer(device=device, dtype=t.float64))

        def initialize_parameters(self, x, scale=1):
            self.weight.materialize((2,), dtype=t.float16)
            if complete:
                self.kept.materialize((3, scale))

        def forward(self, x, scale=1):
            return self.weight.shape, self.kept.shape, str(self.weight.dtype), str(self.kept.dtype)

    module = Late()
    found = module(1, scale=4)
    return found, isinstance(module.kept, t.nn.Buffer), type(module).__name__, type(module.kept) is t.Tensor


SCENARIOS = {
    "before and after": before_and_after,
    "linear": lambda t, d: loaded(t, d, lambda: t.nn.LazyLinear(3), lambda: t.nn.Linear(4, 3), (2, 4)),
    "linear, assigned": lambda t, d: loaded(t, d, lambda: t.nn.LazyLinear(3), lambda: t.nn.Linear(4, 3), (2, 4),
                                            assign=True),
    "linear of another width": lambda t, d: loaded(t, d, lambda: t.nn.LazyLinear(3), lambda: t.nn.Linear(4, 3), (5,)),
    "linear of other outputs": lambda t, d: loaded(t, d, lambda: t.nn.LazyLinear(7), lambda: t.nn.Linear(4, 3), (4,)),
    "convolution": lambda t, d: loaded(t, d, lambda: t.nn.LazyConv2d(3, 2), lambda: t.nn.Conv2d(4, 3, 2), (4, 5, 5)),
    "norm": lambda t, d: loaded(t, d, t.nn.LazyBatchNorm1d, lambda: t.nn.BatchNorm1d(4), (2, 4)),
    "norm without statistics": lambda t, d: loaded(t, d, t.nn.LazyInstanceNorm1d,
                                                   lambda: t.nn.InstanceNorm1d(4, affine=True), (2, 4, 3)),
    "nothing to load": lambda t, d: t.nn.LazyLinear(3).load_state_dict({}),
    "lazy from lazy": lambda t, d: str(t.nn.LazyLinear(3).load_state_dict(t.nn.LazyLinear(3).state_dict())),
    "full from lazy": lambda t, d: t.nn.Linear(4, 3).load_state_dict(t.nn.LazyLinear(3).state_dict()),
    "custom": lambda t, d: custom(t, d, True),
    "custom, incomplete": lambda t, d: custom(t, d, False),
    "custom without initialize_parameters": lambda t, d: type(
        "Late", (t.nn.modules.lazy.LazyModuleMixin, t.nn.Module), {})()(1),
    "a wrong base": lambda t, d: type("Late", (t.nn.modules.lazy.LazyModuleMixin,), {})(),
    "no input": lambda t, d: t.nn.LazyLinear(3)(),
    "input by name": lambda t, d: t.nn.LazyLinear(3)(input=t.ones(2, 3)).shape,
    "channels and groups": lambda t, d: t.nn.LazyConv1d(4, 3, groups=4)(t.ones(2, 6, 5)),
    "groups": lambda t, d: t.nn.LazyConv1d(4, 3, groups=0),
    "padding of a transpose": lambda t, d: t.nn.LazyConvTranspose1d(4, 3, padding_mode="reflect"),
    **{f"{name} of {dims} dimensions": lambda t, d, name=name, dims=dims: getattr(t.nn, name)(4, 3)(
        t.ones([2] * dims)) for name in NAMES if "Conv" in name for dims in (1, 6)},
    **{f"{name} of {dims} dimensions": lambda t, d, name=name, dims=dims: getattr(t.nn, name)()(t.ones([2] * dims))
       for name in NAMES if "Norm" in name for dims in (1, 6)},
    "class and dtype": lambda t, d: [
        (repr(one), str(one.dtype), one.requires_grad, isinstance(one, t.nn.Parameter), isinstance(one, t.nn.Buffer),
         t.nn.parameter.is_lazy(one), one.is_leaf, one.is_floating_point())
        for one in (t.nn.UninitializedParameter(dtype=t.float64), t.nn.UninitializedParameter(False),
                    t.nn.UninitializedBuffer(), t.nn.UninitializedBuffer(dtype=t.int32))],
    "integers need no gradient": lambda t, d: t.nn.UninitializedParameter(dtype=t.int32),
    "casts": lambda t, d: [(repr(one.running_mean), str(one.running_mean.dtype), str(one.weight.dtype))
                           for one in (t.nn.LazyBatchNorm1d().to(d).double(), t.nn.LazyBatchNorm1d().half())],
    "materialized": lambda t, d: [(one.shape, one.requires_grad, str(one.dtype), type(one).__name__) for one in (
        materialized(t.nn.UninitializedParameter(device=d), (2, 3)),
        materialized(t.nn.UninitializedParameter(False), (4,), dtype=t.float64),
        materialized(t.nn.UninitializedBuffer(persistent=False), ()))],
}
ACTIONS = ["p.shape", "p + 1", "1 - p", "p.numel()", "p.dim()", "p.detach()", "p.clone()", "p[0]", "p == p", "bool(p)",
           "p.view(-1)", "p.backward()", "p.requires_grad_(False)", "p.type()", "p.share_memory_()",
           "t.nn.init.ones_(p)", "t.nn.utils.parameters_to_vector([p])", "t.tensor([1.0]) * p"]


def materialized(one, *shape, **how):
    one.materialize(*shape, **how)
    return one


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_scenario(scenario, device):
    check(scenario, device)


@pytest.mark.parametrize("action", ACTIONS)
def test_tensors_without_a_shape_refuse_as_torch(action, device):
    said = []
    for t, where in ((mindtorch, device), (oracle, "cpu")):
        with pytest.raises((ValueError, RuntimeError)) as caught:
            eval(action, {"t": t, "p": t.nn.UninitializedParameter(device=where)})
        said.append((caught.type, str(caught.value).replace("mindtorch.", "torch.")))
    words = [text.split(" in <")[0] for _, text in said]        # the method's repr says how it is written
    assert (said[0][0], words[0]) == (said[1][0], words[1])


@pytest.mark.parametrize("again", [copy.deepcopy, lambda module: pickle.loads(pickle.dumps(module))])
@pytest.mark.parametrize("layer", ["LazyLinear(3)", "LazyConv1d(3, 2)", "LazyBatchNorm1d()"])
def test_copies_are_lazy_on_their_own(again, layer):
    first = made(mindtorch, layer)
    second = again(first)
    second(mindtorch.ones(2, 4, 5))
    assert type(second).__name__ == type(first).__name__.removeprefix("Lazy")
    assert not second._forward_pre_hooks
    assert not second._load_state_dict_pre_hooks
    assert first.has_uninitialized_params()
    first(mindtorch.ones(2, 7, 6))
    assert first.weight.shape != second.weight.shape


def test_sync_batch_norm(device):
    def scenario(t, d):
        m = t.nn.Sequential(t.nn.BatchNorm1d(3, momentum=None, bias=False),
                            t.nn.Sequential(t.nn.BatchNorm2d(3, affine=False)), t.nn.InstanceNorm1d(3),
                            t.nn.SyncBatchNorm(3), t.nn.LazyBatchNorm1d()).to(d).eval()
        m[0].qconfig = 3
        old = list(m)
        new = t.nn.SyncBatchNorm.convert_sync_batchnorm(m, process_group=7)
        return [new is m, str(new), new[0].weight is old[0].weight, new[0].qconfig, new[0].process_group,
                new[0].training, new[0].num_batches_tracked is old[0].num_batches_tracked, new[3] is old[3],
                new[0].running_mean is old[0].running_mean, list(new.state_dict())]
    check(scenario, device)


# --- layers that are no longer new ----------------------------------------------------------------------------------

LRN = [f"CrossMapLRN2d({arguments})" for arguments in ("1", "2", "3, 1.0", "4, 1.0, 0.5, 2", "5, 2.0", "9, 0.5")]
LOSSES = [("LinearCrossEntropyLoss(6, 5)", "a(4, 6), t.tensor([1, 0, 4, 2])"),
          ("LinearCrossEntropyLoss(6, 5)", "a(6), t.tensor(3)"),
          ("LinearCrossEntropyLoss(6, 5, bias=True, label_smoothing=0.1)", "a(4, 6), a(4, 5).softmax(1)"),
          ("LinearCrossEntropyLoss(6, 5, out_features=(2, 3), bias=True, reduction='sum', ignore_index=1)",
           "a(2, 6), t.tensor([[[1, 2, 3], [1, 0, 4]]] * 2)"),
          ("LinearCrossEntropyLoss(6, 5, weight=t.tensor([1., 2., 0., 1., 3.]), reduction='none')",
           "a(4, 6), t.tensor([1, 0, 4, 2])"),
          ("LinearCrossEntropyLoss(6, 5, options=t.nn.LinearCrossEntropyOptions(batch_chunk_size=2))",
           "a(4, 6), t.tensor([1, 0, 4, 2])")]
SYNC = [(f"SyncBatchNorm(4{arguments})", inputs) for arguments in ("", ", momentum=None, affine=False",
                                                                   ", track_running_stats=False, bias=False")
        for inputs in ("a(4, 4)", "a(2, 4, 6, 7)")]


@pytest.mark.parametrize("layer", LRN)
def test_cross_map_norm(layer, device):
    """Results are torch's; its gradients are not those of its results, ours are."""
    ours, theirs = made(mindtorch, layer), made(oracle, layer)
    assert repr(ours) == repr(theirs)
    x = oracle.randn(2, 6, 3, 2, dtype=oracle.float64)
    near = mindtorch.tensor(x.tolist(), dtype=mindtorch.float64, device=device, requires_grad=True)
    assert_same([ours(near).detach().cpu().numpy()], [theirs(x).numpy()])
    assert mindtorch.autograd.gradcheck(ours, near)


@pytest.mark.parametrize(("layer", "inputs"), [*LOSSES, *SYNC])
def test_layer_is_torchs(layer, inputs, device):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = made(mindtorch, layer).to(device), made(oracle, layer)
        assert repr(ours) == repr(theirs)
        assert list(ours.state_dict()) == list(theirs.state_dict())
        for training in (True, False):
            assert_same(ran(mindtorch, ours.train(training), inputs, device),
                        ran(oracle, theirs.train(training), inputs, "cpu"))


OPTIONS = ["chunking_method='x'", "chunking_method='aspect_ratio:0'", "chunking_method='auto:2'", "acc_policy='x'",
           "batch_chunk_size=0", "batch_chunk_size='a'", "acc_dtype=t.int32", "acc_dtype=3", "",
           "True, 4, 'aspect_ratio:3', 'compact', t.float64", "chunking_method=None"]
WRONG = [*[f"LinearCrossEntropyOptions({options})" for options in OPTIONS], "LinearCrossEntropyLoss(3, 4, bias=True)",
         "LinearCrossEntropyLoss(3, 4, label_smoothing=2)", "LinearCrossEntropyLoss(3, 4, out_features=5)",
         "LinearCrossEntropyLoss(3, 4)(t.ones(2, 2, 3), t.ones(2))",
         "LinearCrossEntropyLoss(3, 4)(t.ones(2, 5), t.tensor([1, 2]))", "CrossMapLRN2d(3)(t.ones(2, 3))",
         "SyncBatchNorm(3)(t.ones(3))", "SyncBatchNorm(0)(t.ones(2, 0))", "Container(a=t.nn.ReLU(), b=None)",
         "Container(a=3)", "factory_kwargs(None)", "factory_kwargs({'device': 'cpu'})",
         "factory_kwargs({'a': 1})", "factory_kwargs({'factory_kwargs': {'dtype': t.float64}, 'device': 'cpu'})",
         "factory_kwargs({'dtype': t.half, 'factory_kwargs': {'dtype': t.half}})"]


@pytest.mark.parametrize("call", WRONG)
def test_call(call):
    check(lambda t, d: str(eval(f"t.nn.{call}", {"t": t})), "cpu")
