"""Pruning, and the smaller utilities of torch.nn.utils, beside torch's."""
import pickle

import pytest
import torch.nn.utils.prune  # noqa: F401 - it is there only once it has been imported
from compare_with_torch import check

import mindtorch.nn.utils.prune

PRUNED = [
    "P.identity(l, 'weight')", "P.l1_unstructured(l, 'weight', 0.5)", "P.l1_unstructured(l, 'weight', 5)",
    "P.l1_unstructured(l, 'weight', 0)", "P.l1_unstructured(l, 'weight', 1.0)", "P.l1_unstructured(l, 'bias', 0.3)",
    "P.random_unstructured(l, 'weight', 5)", "P.random_unstructured(l, 'weight', 12)",
    "P.ln_structured(l, 'weight', 1, 2, 0)", "P.ln_structured(l, 'weight', 0.5, 1, dim=-1)",
    "P.ln_structured(l, 'weight', 0.5, float('inf'), dim=1)", "P.ln_structured(l, 'weight', 0.5, 'fro', dim=1)",
    "P.ln_structured(l, 'weight', 0, 2, 0)", "P.random_structured(l, 'weight', 0.5, dim=1)",
    "P.custom_from_mask(l, 'weight', t.tensor([[1, 0, 0, 1]] * 3, device=d))",
    "P.l1_unstructured(l, 'weight', 2, importance_scores=t.arange(12.0, device=d).view(3, 4))",
    "P.l1_unstructured(P.l1_unstructured(l, 'weight', 0.5), 'weight', 0.5)",
    "P.random_structured(P.l1_unstructured(P.ln_structured(P.ln_structured(l, 'weight', 1, 2, 1), 'weight', 1, 2, 0), "
    "'weight', 2), 'weight', 0.5, 1)",
    "P.custom_from_mask(P.l1_unstructured(l, 'weight', 3), 'weight', t.eye(3, 4, device=d))",
    "P.global_unstructured([(l, 'weight'), (l, 'bias')], P.L1Unstructured, amount=0.5) or l",
    "P.global_unstructured([(P.l1_unstructured(l, 'weight', 2), 'weight'), (l, 'bias')], P.L1Unstructured, "
    "{(l, 'weight'): -t.ones(3, 4, device=d)}, amount=3) or l",
]
REFUSED = [
    *[f"P.l1_unstructured(l, 'weight', {amount})" for amount in ("1.5", "-1", "13", "'a'")],
    "P.l1_unstructured(l, 'foo', 1)", "P.ln_structured(l, 'weight', 4, 2, 0)", "P.ln_structured(l, 'weight', 1, 2, 5)",
    "P.ln_structured(l, 'bias', 1, 2, 0)", "P.random_structured(l, 'weight', 1, -3)",
    "P.custom_from_mask(l, 'weight', t.ones(2, 2))", "P.l1_unstructured(l, 'weight', 1, importance_scores=t.ones(2))",
    "P.remove(l, 'weight')", "P.global_unstructured(3, P.L1Unstructured, amount=1)",
    "P.global_unstructured([(l, 'weight')], P.LnStructured, amount=1, n=2)",
    "P.global_unstructured([(l, 'weight')], P.L1Unstructured, importance_scores=3, amount=1)",
    "P.global_unstructured([], P.L1Unstructured, amount=2)", "P.PruningContainer().add_pruning_method(3)",
    "P.PruningContainer(3)", "P.BasePruningMethod()", "P.L1Unstructured(0.5).prune(t.ones(3), None, t.ones(2))",
]
GIVEN = [
    "P._compute_nparams_toprune(0.4, 17)", "P._compute_nparams_toprune(3, 17)", "P._validate_pruning_amount(0.4, 0)",
    "P._validate_pruning_amount_init(20)",
    "P.is_pruned(l)", "P.is_pruned(t.nn.Sequential(P.identity(l, 'weight')))",
    "P.L1Unstructured(0.5).prune(t.tensor([1.0, -3, 2, 0.5]), t.tensor([1.0, 0, 1, 1]))",
    "P.LnStructured(1, 2, 0).prune(t.arange(6.0).view(3, 2), t.tensor([[1.0, 1], [0, 0], [1, 1]]))",
    "sorted(P.RandomStructured(3).__dict__.items())",
]


def layer(t, d):
    t.manual_seed(8)
    return t.nn.Linear(4, 3).to(d)


def description(module):
    hooks = list(module._forward_pre_hooks.values())
    return [str(module), list(module.state_dict()), module.state_dict(), type(module.weight).__name__,
            [(type(hook).__name__, hook._tensor_name, len(hook) if hasattr(hook, "__len__") else 0) for hook in hooks]]


def pruned(t, d, call):
    P = t.nn.utils.prune
    module = layer(t, d)
    module = eval(call, {"t": t, "l": module, "d": d, "P": P})
    found = description(module)
    names = [hook._tensor_name for hook in module._forward_pre_hooks.values()]
    module(t.ones(2, 4, device=d)).sum().backward()
    found += [getattr(module, f"{name}_orig").grad for name in names]
    for name in names:
        P.remove(module, name)
    return [*found, description(module), P.is_pruned(module)]


@pytest.mark.parametrize("call", PRUNED)
def test_pruned(call, device):
    if "random" in call and device == "npu":
        check(lambda t, d: int(pruned(t, d, call)[2]["weight_mask"].sum()), device)     # a seed gives others there
    else:
        check(lambda t, d: pruned(t, d, call), device)


@pytest.mark.parametrize("call", [*REFUSED, *GIVEN])
def test_pruning_answers(call):
    modules = {}

    def scenario(t, d):
        modules[t] = layer(t, d)
        return eval(call, {"t": t, "l": modules[t], "P": t.nn.utils.prune})
    check(scenario, "cpu")
    if call in REFUSED:
        assert list(modules[mindtorch]._parameters) == ["weight", "bias"]       # torch's are in another order


def test_a_method_of_ones_own(device):
    def scenario(t, d):
        class Second(t.nn.utils.prune.BasePruningMethod):
            PRUNING_TYPE = "unstructured"

            def compute_mask(self, x, default_mask):
                mask = default_mask.clone()
                mask.view(-1)[::2] = 0
                return mask
        module = layer(t, d)
        Second.apply(module, "weight")
        t.nn.utils.prune.l1_unstructured(module, "weight", 1)
        return description(module)
    check(scenario, device)


def test_pruned_modules_can_be_pickled():
    module = mindtorch.nn.utils.prune.l1_unstructured(layer(mindtorch, "cpu"), "weight", 4)
    x = mindtorch.ones(1, 4)
    with mindtorch.no_grad():
        expected = module(x)
        again = pickle.loads(pickle.dumps(module))
        again.weight = None
        assert again(x).equal(expected)


# --- the rest of nn.utils --------------------------------------------------------------------------------------------

def norm(t, d, size, dims):
    made = getattr(t.nn, f"BatchNorm{dims}d")(size).to(d)
    made.load_state_dict({name: t.arange(1.0, size + 1) if value.dim() else value
                          for name, value in made.state_dict().items()})
    return made.eval()


def fused(t, d, call):
    t.manual_seed(2)
    found = eval(f"t.nn.utils.{call}", {"t": t, "n": lambda size, dims: norm(t, d, size, dims), "d": d,
                                         "m": lambda name, *a, **k: getattr(t.nn, name)(*a, **k).to(d).eval()})
    found = [found.weight, found.bias, str(found)] if isinstance(found, t.nn.Module) else found
    return [shape(each) for each in found]


def shape(tensor):
    if isinstance(tensor, str):
        return tensor
    return type(tensor).__name__, tensor.requires_grad, str(tensor.dtype), [round(x, 4) for x in
                                                                            tensor.flatten().tolist()]


FUSED = ["fuse_conv_bn_eval(m('Conv2d', 2, 3, 2), n(3, 2))",
         "fuse_conv_bn_eval(m('Conv1d', 2, 3, 2, bias=False), n(3, 1))",
         "fuse_conv_bn_eval(m('ConvTranspose2d', 2, 3, 2), n(3, 2), transpose=True)",
         "fuse_linear_bn_eval(m('Linear', 2, 3), n(3, 1))", "fuse_linear_bn_eval(m('Linear', 2, 3), n(1, 1))",
         "fuse_conv_bn_weights(t.ones(2, 2, 1), None, *[t.ones(2)] * 2, 1e-5, None, None)",
         "fuse_linear_bn_weights(t.ones(3, 2), None, *[t.ones(3)] * 2, 1e-5, *[t.ones(3)] * 2)",
         "fuse_conv_bn_eval(t.nn.Conv2d(2, 3, 2), n(3, 2))", "fuse_linear_bn_eval(m('Linear', 2, 4), n(3, 1))",
         "fuse_conv_bn_eval(m('Conv2d', 2, 3, 2), m('BatchNorm2d', 3, track_running_stats=False))"]


@pytest.mark.parametrize("call", FUSED)
def test_fused(call, device):
    check(lambda t, d: fused(t, d, call), device)


def laid_out(t, d):
    utils = t.nn.utils
    module = t.nn.Sequential(t.nn.Conv2d(2, 3, 2), t.nn.ConvTranspose2d(2, 3, 2), t.nn.Conv3d(2, 3, 2),
                             t.nn.Linear(2, 3)).to(d)
    own = module[0].weight
    found = [utils.convert_conv2d_weight_memory_format(module, t.channels_last) is module, module[0].weight is own]
    found += [parameter.stride() for parameter in module.parameters()]
    utils.convert_conv3d_weight_memory_format(module, t.channels_last_3d)
    return [*found, *[parameter.stride() for parameter in module.parameters()]]


def skipped(t, d):
    t.manual_seed(1)
    before = t.get_rng_state()
    made = t.nn.utils.skip_init(t.nn.Linear, 2, 3, bias=False, device=d, dtype=t.float64)
    return str(made), str(made.weight.dtype), made.weight.device.type == d, before.equal(t.get_rng_state())


def consumed(t, d):
    state = t.nn.Sequential(t.nn.Linear(1, 1), t.nn.ReLU()).state_dict()
    t.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "0.")
    return list(state), dict(state._metadata)


@pytest.mark.parametrize("scenario", [
    laid_out, skipped, consumed, lambda t, d: t.nn.utils.skip_init(t.nn.ReLU), lambda t, d: t.nn.utils.skip_init(3)])
def test_utility(scenario, device):
    check(scenario, device)
