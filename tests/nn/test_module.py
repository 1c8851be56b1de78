"""torch.nn.Module, Parameter and Buffer: every scenario runs in torch and here, and must tell the same scenario."""
import copy
import pickle

import pytest
import torch
from compare_with_torch import check

import mindtorch


def linear(t):
    """A small layer written by a user, for torch or for mindtorch."""

    class Linear(t.nn.Module):
        def __init__(self, inputs, outputs):
            super().__init__()
            self.weight = t.nn.Parameter(t.arange(inputs * outputs, dtype=t.float32).reshape(outputs, inputs) / 8)
            self.bias = t.nn.Parameter(t.zeros(outputs))
            self.register_buffer("calls", t.tensor(0))
            self.register_buffer("scratch", t.ones(2), persistent=False)
            self.outputs = outputs

        def forward(self, x, scale=1):
            return (x @ self.weight.t() + self.bias) * scale

        def extra_repr(self):
            return f"outputs={self.outputs}"

    return Linear


def net(t, device="cpu"):
    """Two layers of which one is tied under a second name."""
    layer = linear(t)

    class Net(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = layer(3, 4), layer(4, 2)
            self.again = self.first
            self.nothing = None
            self.register_parameter("absent", None)

        def forward(self, x):
            return self.second(self.first(x) * 2)

    return Net().to(device)


# --- what a module registers -----------------------------------------------------------------------------------------

def names(t, d):
    n = net(t, d)
    return ([k for k, _ in n.named_parameters()], [k for k, _ in n.named_parameters("p", remove_duplicate=False)],
            [k for k, _ in n.named_buffers(recurse=False)], [k for k, _ in n.named_buffers("x")],
            [k for k, _ in n.named_modules()], [k for k, _ in n.named_modules(prefix="m", remove_duplicate=False)],
            [k for k, _ in n.named_children()], len(list(n.modules())), len(list(n.parameters(recurse=False))),
            len(list(n.buffers())), repr(n), "absent" in dir(n), "first" in dir(n), hasattr(n, "other"))


def assigned(t, d):
    n = net(t, d)
    n.first = None
    n.scratch = t.nn.Buffer(t.ones(2), persistent=False)
    n.kept = t.nn.Buffer(t.ones(2))
    n.kept = t.zeros(1)
    n.second.weight = None
    n.plain = 3
    n.plain = t.nn.Parameter(t.ones(1))
    del n.again
    return list(n.state_dict()), "plain" in n.__dict__, n.first, [k for k, _ in n.named_buffers()], repr(n)


def assigning(name, value):
    return lambda t, d: setattr(net(t, d), name, value(t))


def registering(method, *arguments):
    return lambda t, d: getattr(net(t, d), method)(*[a(t) if callable(a) else a for a in arguments])


def before_init(value):
    def scenario(t, d):
        class Early(t.nn.Module):
            def __init__(self):
                self.x = value(t)
        return Early()
    return scenario


def missing_forward(t, d):
    class Nothing(t.nn.Module):
        pass
    return Nothing()(1)


REGISTERED = {
    "names": names, "assigned": assigned, "missing forward": missing_forward,
    "no attribute": lambda t, d: net(t, d).other, "delete unknown": lambda t, d: delattr(net(t, d), "other"),
    "tensor as parameter": lambda t, d: setattr(net(t, d).first, "weight", t.ones(1)),
    "number as module": assigning("first", lambda t: 1),
    "number as buffer": lambda t, d: setattr(net(t, d).first, "calls", 1),
    "parameter too early": before_init(lambda t: t.nn.Parameter(t.ones(1))),
    "module too early": before_init(lambda t: t.nn.Module()), "arguments": lambda t, d: t.nn.Module(1),
    "keywords": lambda t, d: t.nn.Module(a=1),
    "dotted buffer": registering("register_buffer", "a.b", None),
    "empty buffer": registering("register_buffer", "", None),
    "number named buffer": registering("register_buffer", 1, None),
    "buffer of a number": registering("register_buffer", "a", 5),
    "buffer over an attribute": registering("register_buffer", "first", None),
    "dotted parameter": registering("register_parameter", "a.b", None),
    "empty parameter": registering("register_parameter", "", None),
    "tensor registered as parameter": registering("register_parameter", "a", lambda t: t.ones(1)),
    "parameter over a method": registering("register_parameter", "forward", None),
    "not a module": registering("add_module", "a", 1), "dotted module": registering("add_module", "a.b", None),
    "empty module": registering("register_module", "", None), "module over": registering("add_module", "absent", None),
    "get_submodule": lambda t, d: repr(net(t, d).get_submodule("first")),
    "get_submodule of itself": lambda t, d: repr(net(t, d).get_submodule("")),
    "get_submodule unknown": lambda t, d: net(t, d).get_submodule("first.x"),
    "get_submodule of a parameter": lambda t, d: net(t, d).get_submodule("first.weight"),
    "get_parameter": lambda t, d: net(t, d).get_parameter("first.bias"),
    "get_parameter unknown": lambda t, d: net(t, d).get_parameter("first.x"),
    "get_parameter of a buffer": lambda t, d: net(t, d).get_parameter("first.calls"),
    "get_buffer": lambda t, d: net(t, d).get_buffer("first.calls"),
    "get_buffer of a parameter": lambda t, d: net(t, d).get_buffer("first.weight"),
    "set_submodule": lambda t, d: (n := net(t, d)).set_submodule("first.deep", t.nn.Module()) or repr(n),
    "set_submodule unnamed": lambda t, d: net(t, d).set_submodule("", t.nn.Module()),
    "set_submodule strict": lambda t, d: net(t, d).set_submodule("first.deep", t.nn.Module(), strict=True),
    "set_submodule over a parameter": lambda t, d: net(t, d).set_submodule("first.weight", t.nn.Module()),
}


@pytest.mark.parametrize("scenario", REGISTERED.values(), ids=list(REGISTERED))
def test_registering(scenario, device):
    check(scenario, device)


# --- state_dict ------------------------------------------------------------------------------------------------------

def loading(change, **options):
    def scenario(t, d):
        n = net(t, d)
        state = net(t, d).double().state_dict()
        change(t, state)
        keys = n.load_state_dict(state, **options)
        return repr(keys), keys.missing_keys, keys.unexpected_keys, dict(n.state_dict())
    return scenario


def state_with_hooks(t, d):
    n, log = net(t, d), []
    handle = n.register_state_dict_pre_hook(lambda m, prefix, keep: log.append(("pre", prefix, keep)))
    n._register_state_dict_hook(lambda m, state, prefix, local: dict(state, more=1))
    n.second.register_state_dict_post_hook(lambda m, state, prefix, local: log.append(("post", prefix, dict(local))))
    keys = list(n.state_dict(prefix="net.", keep_vars=True))
    handle.remove()
    n.first.register_load_state_dict_pre_hook(lambda m, state, prefix, *rest: log.append((type(m).__name__, prefix)))
    n.first._register_load_state_dict_pre_hook(lambda state, *rest: state.pop("first.bias", None))
    n.register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.clear())
    found = n.load_state_dict(n.state_dict())
    return keys, log, found.missing_keys, repr(found)


def extra_state(t, d):
    class Extra(t.nn.Module):
        value = 3

        def get_extra_state(self):
            return {"value": self.value}

        def set_extra_state(self, state):
            self.value = state["value"]
    outer = t.nn.Module()
    outer.inner = Extra()
    state = outer.state_dict()
    state[f"inner.{t.nn.modules.module._EXTRA_STATE_KEY_SUFFIX}"] = {"value": 7}
    outer.load_state_dict(state)
    return dict(state), outer.inner.value, outer.load_state_dict({})


def metadata(t, d):
    state = net(t, d).state_dict()
    return dict(state._metadata), list(state), [v.requires_grad for v in state.values()]


STATE = {
    "all keys": loading(lambda t, s: None), "assign": loading(lambda t, s: None, assign=True),
    "missing": loading(lambda t, s: s.pop("first.bias")), "unexpected": loading(lambda t, s: s.update(a=1)),
    "both, not strict": loading(lambda t, s: (s.pop("first.bias"), s.update(a=1)), strict=False),
    "deep unexpected": loading(lambda t, s: s.update({"first.x.y": 1, "first.z": 2, "q.r": 3})),
    "wrong size": loading(lambda t, s: s.update({"first.bias": t.ones(7), "second.weight": t.ones(1)})),
    "no tensor": loading(lambda t, s: s.update({"first.bias": 3})),
    "scalar of one element": loading(lambda t, s: s.update({"first.calls": t.tensor([5])})),
    "not a dictionary": lambda t, d: net(t, d).load_state_dict([1]), "hooks": state_with_hooks, "extra": extra_state,
    "positional": lambda t, d: list(net(t, d).state_dict({}, "p.")), "metadata": metadata,
}


@pytest.mark.parametrize("scenario", STATE.values(), ids=list(STATE))
def test_state(scenario, device):
    check(scenario, device)


# --- hooks -----------------------------------------------------------------------------------------------------------

def run(t, d, n, log):
    x = t.ones(2, 3, device=d, requires_grad=True)
    y = n(x)
    y.sum().backward()
    return log, y, x.grad, n.first.weight.grad


def forward_hooks(t, d):
    n, log = net(t, d), []
    n.first.register_forward_pre_hook(lambda m, a: log.append("pre") or (a[0] * 2,))
    n.first.register_forward_pre_hook(lambda m, a, k: (a, {"scale": 3}), with_kwargs=True)
    n.first.register_forward_pre_hook(lambda m, a: log.append("first"), prepend=True)
    n.first.register_forward_hook(lambda m, a, k, out: log.append(k) or out + 1, with_kwargs=True)
    n.first.register_forward_hook(lambda m, a, out: log.append(len(a)), prepend=True)
    n.register_forward_hook(lambda m, a, out: log.append("gone")).remove()
    return run(t, d, n, log)


def bad_pre_hook(t, d):
    n = net(t, d)
    n.register_forward_pre_hook(lambda m, a, k: 3, with_kwargs=True)
    return n(1)


def always_called(t, d):
    n, log = net(t, d), []
    n.first.register_forward_hook(lambda m, a, k, out: log.append(("always", out)), always_call=True, with_kwargs=True)
    n.first.register_forward_hook(lambda m, a, out: 1 / 0, always_call=True)
    n.first.register_forward_hook(lambda m, a, out: log.append("never"))
    try:
        n.first("not a tensor")
    except TypeError:
        log.append("raised")
    return log


def full_backward(t, d):
    n, log = net(t, d), []
    n.second.register_full_backward_hook(lambda m, gi, go: log.append(("second", gi, go)) or (gi[0] * 2,))
    n.first.register_full_backward_hook(lambda m, gi, go: log.append(("first", gi, go)))
    n.first.register_full_backward_hook(lambda m, gi, go: log.append("earlier"), prepend=True)
    n.second.register_full_backward_pre_hook(lambda m, go: log.append("pre") or (go[0] * 3,))
    return run(t, d, n, log)


def backward_without_inputs(t, d):
    n, log = net(t, d), []
    n.register_full_backward_hook(lambda m, gi, go: log.append((gi, go)))
    n(t.ones(2, 3, device=d)).sum().backward()
    return log


def wrong_count(kind):
    def scenario(t, d):
        n = net(t, d)
        getattr(n, f"register_full_backward_{kind}")(lambda *arguments: (1, 2, 3))
        return run(t, d, n, [])
    return scenario


def plain_backward(t, d):
    n, log = net(t, d), []
    n.register_backward_hook(lambda m, gi, go: log.append(go))
    return run(t, d, n, log)


def both_kinds(t, d):
    n = net(t, d)
    n.register_backward_hook(print)
    return n.register_full_backward_hook(print)


def tuples(t, d):
    class Two(t.nn.Module):
        def forward(self, x, factor, y):
            return x * factor, y + x, "word"
    log, two = [], Two()
    two.register_full_backward_hook(lambda m, gi, go: log.append((gi, go)))
    x, y = t.ones(2, device=d, requires_grad=True), t.ones(2, device=d)
    first, second, _ = two(x, 3, y)
    (first * second).sum().backward()
    return log, x.grad


def everywhere(t, d):
    module, log = t.nn.modules.module, []
    handles = [module.register_module_forward_pre_hook(lambda m, a: log.append("pre " + type(m).__name__)),
               module.register_module_forward_hook(lambda m, a, out: log.append("post")),
               module.register_module_full_backward_pre_hook(lambda m, go: log.append("back")),
               module.register_module_full_backward_hook(lambda m, gi, go: log.append(gi)),
               module.register_module_parameter_registration_hook(lambda m, k, p: log.append(k)),
               module.register_module_buffer_registration_hook(lambda m, k, p: log.append(k)),
               module.register_module_module_registration_hook(lambda m, k, p: log.append(k))]
    try:
        return run(t, d, net(t, d), log)
    finally:
        for handle in handles:
            handle.remove()


HOOKS = {
    "forward": forward_hooks, "bad pre-hook": bad_pre_hook, "always called": always_called, "full": full_backward,
    "full without inputs": backward_without_inputs, "wrong count": wrong_count("hook"), "tuples": tuples,
    "wrong count before": wrong_count("pre_hook"), "plain": plain_backward, "both kinds": both_kinds,
    "everywhere": everywhere,
}


@pytest.mark.parametrize("scenario", HOOKS.values(), ids=list(HOOKS))
def test_hooks(scenario, device):
    check(scenario, device)


# --- changing all of it ----------------------------------------------------------------------------------------------

def changed(change):
    def scenario(t, d):
        n = net(t, d)
        n(t.ones(1, 3, device=d)).sum().backward()
        weight, grad = n.first.weight, n.first.weight.grad
        change(t, n)
        if d == "npu":
            t.npu.synchronize()         # copies to the host that nobody waits for are only under way
        return (n.first.weight is weight, n.first.weight.grad is grad, n.again.weight is weight, dict(n.state_dict()),
                weight.grad, [m.training for m in n.modules()], [p.requires_grad for p in n.parameters()])
    return scenario


CHANGED = {
    "double": lambda t, n: n.double(), "half": lambda t, n: n.half(), "bfloat16": lambda t, n: n.bfloat16(),
    "float": lambda t, n: n.double().float(), "type": lambda t, n: n.type(t.float64), "cpu": lambda t, n: n.cpu(),
    "to dtype": lambda t, n: n.to(t.float64), "to a tensor": lambda t, n: n.to(t.ones(1, dtype=t.float64)),
    "to device": lambda t, n: n.to("cpu"), "to both": lambda t, n: n.to(t.device("cpu"), t.float16, True),
    "to keywords": lambda t, n: n.to(device="cpu", dtype=t.float64, non_blocking=True),
    "to nothing": lambda t, n: n.to(), "to python's float": lambda t, n: n.to(float),
    "to int": lambda t, n: n.to(t.int32), "to complex": lambda t, n: n.to(t.complex64),
    "to format": lambda t, n: n.to(memory_format=t.channels_last), "copy": lambda t, n: n.to("cpu", copy=True),
    "eval": lambda t, n: n.eval(), "train": lambda t, n: n.eval().train(), "bad mode": lambda t, n: n.train(1),
    "frozen": lambda t, n: n.requires_grad_(False), "zero_grad": lambda t, n: n.zero_grad(),
    "zeros": lambda t, n: n.zero_grad(set_to_none=False),
    "apply": lambda t, n: n.apply(lambda m: setattr(m, "training", m is n)),
}


@pytest.mark.parametrize("change", CHANGED.values(), ids=list(CHANGED))
def test_changing(change, device):
    check(changed(change), device)


def test_moving_keeps_parameters_and_their_gradients():
    n = net(mindtorch)
    n(mindtorch.ones(1, 3)).sum().backward()
    weight, grad = n.first.weight, n.first.weight.grad.tolist()
    assert n.npu() is n
    assert weight is n.first.weight
    assert (weight.device.type, weight.grad.device.type, n.second.calls.device.type) == ("npu",) * 3
    assert weight.grad.tolist() == grad
    assert n.to_empty(device="cpu").first.weight.device.type == "cpu"


def test_parameters_from_meta_and_to_it_are_new_as_in_torch():
    found = []
    for t in (torch, mindtorch):
        layers = t.nn.Sequential(t.nn.Linear(2, 2, device="meta"), t.nn.Linear(2, 2, device="meta"))
        layers[1].weight = layers[0].weight
        before = list(layers.parameters())
        layers.half()
        kept = [a is b for a, b in zip(layers.parameters(), before, strict=True)]
        layers.to_empty(device="cpu")
        after = list(layers.parameters())
        n = t.nn.Linear(2, 2)
        n(t.ones(1, 2)).sum().backward()
        weight, grad = n.weight, n.weight.grad
        n.to("meta")
        found.append((kept, len(after), [a is b for a in after for b in before], [str(a.device) for a in after],
                      n.weight is weight, n.weight.grad is grad, str(n.weight.grad.device), weight.grad is grad,
                      n.weight.requires_grad, type(n.weight) is t.nn.Parameter))
    assert found[0] == found[1]


# --- parameters ------------------------------------------------------------------------------------------------------

def parameters(t, d):
    data = t.ones(2, device=d)
    p = t.nn.Parameter(data)
    with t.no_grad():
        p.add_(1)
    b = t.nn.Buffer(data, persistent=False)
    made = p * 2
    made.sum().backward()
    return (data, p, repr(p.cpu().detach()), isinstance(p, t.Tensor), isinstance(p, t.nn.Parameter),
            type(b) is t.Tensor, isinstance(b, t.nn.Buffer), b.persistent, isinstance(data, t.nn.Parameter),
            type(made) is t.Tensor, type(p.data) is t.Tensor, type(p.detach()) is t.Tensor, p.is_leaf,
            p.grad, t.nn.Parameter().shape[0],
            t.nn.Parameter(made, False).is_leaf, type(copy.deepcopy(p)) is t.nn.Parameter, copy.deepcopy(p).grad,
            repr(t.nn.Parameter(t.ones(2))), 1 + p, 2 ** p, p == 1, t.typename(p.cpu()), t.typename(3))


PARAMETERS = {
    "parameter": parameters, "of integers": lambda t, d: t.nn.Parameter(t.arange(3, device=d)),
    "of integers, frozen": lambda t, d: t.nn.Parameter(t.arange(3, device=d), requires_grad=False),
    "of a list": lambda t, d: t.nn.Parameter([1.0]),
    "not a leaf": lambda t, d: net(t, d).register_parameter("a", grown(t)),
}


def grown(t):
    p = t.nn.Parameter(t.ones(1))
    made = t.ones(1, requires_grad=True) * 2
    p = made
    p._is_param = True
    return p


@pytest.mark.parametrize("scenario", PARAMETERS.values(), ids=list(PARAMETERS))
def test_parameters(scenario, device):
    check(scenario, device)


class Tied(mindtorch.nn.Module):
    """At module level, so that pickle finds it."""

    def __init__(self):
        super().__init__()
        self.a = mindtorch.nn.Parameter(mindtorch.tensor([1.0, 2.0]))
        self.b = self.a
        self.register_buffer("c", mindtorch.tensor(3), persistent=False)
        self.register_forward_hook(print)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))], ids=["deepcopy", "pickle"])
def test_copies_keep_ties(copied, device):
    original = Tied().to(device)
    original.a.note = "weight"
    made = copied(original)
    assert made.a is made.b
    assert made.a is not original.a
    assert type(made.a) is mindtorch.nn.Parameter
    assert (made.a.tolist(), made.a.requires_grad, made.a.device.type) == ([1.0, 2.0], True, device)
    assert copied(original.a).tolist() == [1.0, 2.0]
    assert (made.c.item(), list(made.state_dict()), len(made._forward_hooks)) == (3, ["a", "b"], 1)


def test_a_copied_buffer_is_a_buffer():
    module = mindtorch.nn.Module()
    module.held = mindtorch.nn.Buffer(mindtorch.ones(2), persistent=False)
    made = copy.deepcopy(module)
    assert isinstance(made.held, mindtorch.nn.Buffer)
    assert (made.held.persistent, made.held.tolist(), list(made.state_dict())) == (False, [1.0, 1.0], [])


def test_an_old_pickle_lacks_hooks():
    made = Tied.__new__(Tied)
    made.__setstate__({"training": True, "_parameters": {}, "_buffers": {}, "_modules": {}})
    made.forward = lambda: 3
    made._backward_hooks = mindtorch.nn.Module()._backward_hooks
    assert made() == 3
    assert made.state_dict() == {}


def test_hooks_of_all_modules_have_the_names_of_torch():
    ours, theirs = (lib.nn.modules.module for lib in (mindtorch, torch))
    assert {name for name in dir(type(ours)) if name.startswith("_global_")} == {
        name for name in dir(theirs) if name.startswith("_global_")}
    ours.register_module_forward_hook(lambda module, args, result: result + 1)
    assert len(ours._global_forward_hooks) == 1
    assert mindtorch.nn.Identity()(1) == 2
    ours._global_forward_hooks = type(ours._global_forward_hooks)()
    assert mindtorch.nn.Identity()(1) == 1
