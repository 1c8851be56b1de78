"""Parametrized modules, weights with a norm, calls with other parameters: each told beside torch."""
import copy
import operator
import pickle
import warnings

import pytest
import torch as oracle
from compare_with_torch import check
from test_layers_nn import assert_same, flat, states

import mindtorch

CHECKED = ["parametrize", "parametrizations", "prune", "stateless", "rnn", "weight_norm", "spectral_norm", "fusion",
           "memory_format", "init", "clip_grad", "convert_parameters"]


@pytest.mark.parametrize("name", ["", *CHECKED])
def test_no_name_is_missing(name):
    path = ".".join(["nn.utils", *([name] if name else [])])
    ours, theirs = (__import__(f"{library}.{path}", fromlist=["*"]) for library in ("mindtorch", "torch"))
    ours, theirs = ((module.__globals__ if callable(module) else vars(module)) for module in (ours, theirs))
    public = theirs.get("__all__") or [key for key, value in theirs.items() if not key.startswith("_")
                                       and getattr(value, "__module__", "") == f"torch.{path}"]
    private = {"PackedSequence_", "bind", "ConvT", "LinearT", "T_module"}       # names for torch's annotations
    assert {key for key in public if key not in private and key not in ours} == set()


# --- parametrize -----------------------------------------------------------------------------------------------------

def parts(t):
    """Parametrizations to try, as classes of modules of the library."""
    class Symmetric(t.nn.Module):
        def forward(self, X):
            return X.triu() + X.triu(1).mT

        def right_inverse(self, A):
            return A.triu()

    class Double(t.nn.Module):
        def forward(self, X):
            return X * 2

    class Sum(t.nn.Module):
        def forward(self, a, b):
            return a + b

        def right_inverse(self, X):
            return X / 2, X / 2

    class Any(t.nn.Module):
        def __init__(self, forward=lambda *x: x[0], first=None, second=None):
            super().__init__()
            self.calls = [first, second or first]
            self.function = forward

        def forward(self, *x):
            return self.function(*x)

        def right_inverse(self, x):
            how = self.calls.pop(0) if len(self.calls) > 1 else self.calls[0]
            if how is None:
                raise NotImplementedError
            return how(x)
    return Symmetric, Double, Sum, Any


def linear(t, d, *args):
    t.manual_seed(4)
    return t.nn.Linear(*(args or (3, 3))).to(d)


def description(module):
    """What is to be seen of a module."""
    return [str(module), type(module).__name__, list(module.state_dict()),
            [name for name, _ in module.named_parameters()], [name for name, _ in module.named_buffers()],
            module.state_dict()]


def one_after_the_other(t, d):
    P = t.nn.utils.parametrize
    Symmetric, Double, Sum, _ = parts(t)
    module = linear(t, d).eval()
    own = module.weight
    found = [P.register_parametrization(module, "weight", Symmetric()) is module, description(module), module.weight,
             module.parametrizations.weight.original is own, module.parametrizations.weight[0].training]
    module.weight = t.ones(3, 3, device=d)
    found += [module.weight, own]
    P.register_parametrization(module, "weight", Double())
    P.register_parametrization(module, "bias", Sum())
    found += [description(module), module.weight, module.bias, P.is_parametrized(module),
              P.is_parametrized(module, "bias"),
              P.is_parametrized(module, "foo"), P.type_before_parametrizations(module).__name__]
    module(t.ones(2, 3, device=d)).sum().backward()
    found += [own.grad, module.parametrizations.bias.original1.grad]
    copied = copy.deepcopy(module)
    found += [description(copied), copied.weight, copied.parametrizations.weight.original is own]
    P.remove_parametrizations(module, "weight")
    found += [description(module), module.weight is own]
    P.remove_parametrizations(module, "bias")
    found += [description(module), type(module) is t.nn.Linear, P.is_parametrized(module), module.bias]
    P.register_parametrization(module, "weight", Double())
    P.remove_parametrizations(module, "weight", leave_parametrized=False)
    return [*found, description(module)]


def of_a_buffer(t, d):
    module = t.nn.utils.parametrize.register_parametrization(t.nn.BatchNorm1d(3).to(d), "running_var", parts(t)[1]())
    return description(module), module.running_var


def cached(t, d):
    P = t.nn.utils.parametrize
    calls = []
    module = P.register_parametrization(linear(t, d), "weight", parts(t)[3](lambda x: calls.append(1) or x * 2))
    calls.clear()
    module(module(t.ones(2, 3, device=d)))
    found = [len(calls)]
    with P.cached():
        found += [module.weight is module.weight]
        with P.cached():
            module(module(t.ones(2, 3, device=d)))
        found += [module.weight is module.weight, len(calls), P._cache_enabled]
    return [*found, module.weight is module.weight, P._cache, P._cache_enabled]


def transferred(t, d, which, target):
    P = t.nn.utils.parametrize
    source = P.register_parametrization(linear(t, d), "weight", parts(t)[which]())
    made = P.transfer_parametrizations_and_params(source, target)
    return description(made), made is target, all(map(
        operator.is_, source.parametrizations.weight.parameters(), made.parametrizations.weight.parameters()))


def registered(t, d, *made, value=None, name="weight", **how):
    """Registers parametrizations of a weight; then assigns a value to it."""
    module = linear(t, d)
    for each in made:
        t.nn.utils.parametrize.register_parametrization(module, name, each, **how)
    if value is not None:
        module.weight = value
    return description(module)


def wrong(t, d, stage, function):
    """A module whose forward or right_inverse gives something else than it should."""
    Symmetric, _, _, Any = parts(t)
    ones = t.ones(3, 3, device=d)
    if stage == "forward":
        return registered(t, d, Any(function))
    if stage == "second forward":
        return registered(t, d, Symmetric(), Any(function))
    if stage == "inverse":
        return registered(t, d, Any(first=function))
    if stage == "second inverse":
        return registered(t, d, Symmetric(), Any(first=function))
    if stage == "value":
        return registered(t, d, Any(first=lambda x: x, second=function), value=ones)
    return registered(t, d, Any(first=lambda x: (x, x), second=function), value=ones)


RESULTS = {"number": lambda x: 3, "float64": lambda x: x.double(), "flat": lambda x: x.flatten(), "list": lambda x: [x],
           "mixed": lambda x: [x, 3], "two": lambda x: (x, x.double()), "itself": lambda x: x}
SCENARIOS = {
    "one after the other": one_after_the_other, "of a buffer": of_a_buffer, "cached": cached,
    "transferred": lambda t, d: transferred(t, d, 0, linear(t, d)),
    "transferred, several": lambda t, d: transferred(t, d, 2, linear(t, d)),
    "transferred to what has none": lambda t, d: transferred(t, d, 0, t.nn.ReLU()),
    "transferred from none": lambda t, d: description(
        t.nn.utils.parametrize.transfer_parametrizations_and_params(linear(t, d), linear(t, d))),
    "unsafe": lambda t, d: registered(t, d, t.nn.Flatten(0), unsafe=True),
    "no inverse": lambda t, d: registered(t, d, parts(t)[1](), value=t.ones(3, 3)),
    "a parameter as value": lambda t, d: registered(t, d, parts(t)[0](), value=t.nn.Parameter(t.ones(3, 3))),
    "no tensor": lambda t, d: registered(t, d, parts(t)[0](), name="foo"),
    "none": lambda t, d: t.nn.utils.parametrize.ParametrizationList([], t.ones(3)),
    "removed where none is": lambda t, d: t.nn.utils.parametrize.remove_parametrizations(linear(t, d), "weight"),
    "pickled": lambda t, d: pickle.dumps(t.nn.utils.parametrize.register_parametrization(
        linear(t, d), "weight", parts(t)[0]())),
    "several, left unparametrized": lambda t, d: t.nn.utils.parametrize.remove_parametrizations(
        t.nn.utils.parametrize.register_parametrization(linear(t, d), "weight", parts(t)[2]()), "weight", False),
    "state of another": lambda t, d: linear(t, d).load_state_dict(t.nn.utils.parametrize.register_parametrization(
        linear(t, d), "weight", parts(t)[0]()).state_dict()),
    **{f"{stage} gives {name}": lambda t, d, stage=stage, function=function: wrong(t, d, stage, function)
       for stage in ("forward", "second forward", "inverse", "second inverse", "value", "values")
       for name, function in RESULTS.items()},
}


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_parametrization(scenario):
    check(scenario, "cpu")


@pytest.mark.parametrize("scenario", ["one after the other", "of a buffer", "transferred, several"])
def test_parametrization_on_the_npu(scenario):
    check(SCENARIOS[scenario], "npu")


def test_the_copy_of_a_module_keeps_its_class():
    """torch takes the property from the class that a module and its copy share."""
    P = mindtorch.nn.utils.parametrize
    module = P.register_parametrization(mindtorch.nn.Linear(3, 3), "weight", parts(mindtorch)[1]())
    copied = copy.deepcopy(module)
    P.remove_parametrizations(module, "weight")
    assert copied.weight.equal(module.weight)


# --- weights with a norm ---------------------------------------------------------------------------------------------

NORMS = [*[f"parametrizations.orthogonal(t.nn.Linear({sizes}), orthogonal_map={chosen!r}, use_trivialization={base})"
           for sizes in ("3, 3", "3, 4", "4, 3") for chosen in ("matrix_exp", "cayley", "householder")
           for base in (True, False)],
         "parametrizations.orthogonal(t.nn.Linear(4, 3))", "parametrizations.orthogonal(t.nn.Conv2d(2, 3, 3))",
         *[f"{kind}({layer}{dim})" for kind in ("parametrizations.weight_norm", "weight_norm") for layer, dim in (
             ("t.nn.Linear(3, 4)", ""), ("t.nn.Linear(3, 4)", ", dim=None"), ("t.nn.Conv2d(3, 4, 2)", ", dim=1"),
             ("t.nn.Linear(3, 4)", ", 'bias'"))],
         *[f"{kind}({layer})" for kind in ("parametrizations.spectral_norm", "spectral_norm") for layer in (
             "t.nn.Linear(3, 4)", "t.nn.ConvTranspose2d(3, 4, 2)", "t.nn.Conv2d(3, 4, 2), n_power_iterations=3, dim=1",
             "t.nn.Linear(3, 4), 'bias'")]]


def normed(t, made):
    t.manual_seed(5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(f"t.nn.utils.{made}", {"t": t})


def steps(t, module, shape, d):
    """Results, gradients and states of two steps of training and one of evaluation."""
    t.manual_seed(6)
    x = t.randn(shape).to(d)
    found = []
    for training in (True, True, False):
        result = module.train(training)(x)
        (result * result).sum().backward()
        found += [flat(result), *[flat(parameter.grad) for parameter in module.parameters()]]
        with t.no_grad():
            for parameter in module.parameters():
                parameter.sub_(0.01 * parameter.grad)
        module.zero_grad()
    return found


@pytest.mark.parametrize("made", NORMS)
def test_weight_with_a_norm(made, device):
    ours, theirs = normed(mindtorch, made), normed(oracle, made)
    assert (str(ours), list(ours.state_dict())) == (str(theirs), list(theirs.state_dict()))
    assert_same(list(states(ours).values()), list(states(theirs).values()))
    size = getattr(theirs, "in_features", None) or theirs.in_channels
    shape = (2, size) if hasattr(theirs, "in_features") else (2, size, 4, 4)
    assert_same(steps(mindtorch, ours.to(device), shape, device), steps(oracle, theirs, shape, "cpu"))
    assert_same(list(states(ours).values()), list(states(theirs).values()))


def assigned(t, d, made, value):
    module = normed(t, made)
    module.weight = value
    return [[round(number, 4) + 0.0 for number in row] for row in module.weight.tolist()]


def round_trip(t, d, kind):
    """Applied and taken away again; and what is left of it."""
    module = linear(t, d, 3, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        getattr(t.nn.utils, kind)(module)
        module(t.ones(2, 3, device=d))
    before = module.weight.detach().clone()
    getattr(t.nn.utils, f"remove_{kind}")(module)
    return [str(module), list(module.state_dict()), (module.weight - before).abs().max().item() < 1e-6,
            len(module._forward_pre_hooks), len(module._state_dict_hooks), isinstance(module.weight, t.nn.Parameter)]


def old_state(t, d):
    """A state of before u and v were both kept."""
    module = t.nn.utils.spectral_norm(linear(t, d, 3, 4))
    state = module.state_dict()
    meta = dict(state._metadata[""])
    del state._metadata, state["weight_v"]
    state["weight"] = state["weight_orig"] / 2
    return meta, str(t.nn.utils.spectral_norm(linear(t, d, 3, 4)).load_state_dict(state))


def assignable(t, made):
    """A value that such a weight can have."""
    orthonormal = t.eye(4)[[2, 0, 3, 1], :3]
    return orthonormal if "orthogonal" in made else orthonormal + 0.5


USES = {
    **{f"assign {made}": lambda t, d, made=made: assigned(t, d, made, assignable(t, made))
       for made in NORMS if "Linear(3, 4)" in made and "bias" not in made and "parametrizations" in made},
    **{f"{kind}, there and back": lambda t, d, kind=kind: round_trip(t, d, kind)
       for kind in ("weight_norm", "spectral_norm")},
    "old state of weight_norm": lambda t, d: str(t.nn.utils.parametrizations.weight_norm(linear(t, d)).load_state_dict(
        normed(t, "weight_norm(t.nn.Linear(3, 3))").state_dict())),
    "old state of spectral_norm": old_state,
    **{call: lambda t, d, call=call: str(eval(f"t.nn.utils.{call}", {"t": t})) for call in (
        "parametrizations.orthogonal(t.nn.Linear(3, 3), 'bias')", "parametrizations.orthogonal(t.nn.ReLU())",
        "parametrizations.orthogonal(t.nn.Linear(3, 3), orthogonal_map='x')",
        "parametrizations.orthogonal(t.nn.Linear(3, 3, dtype=t.complex64), orthogonal_map='householder')",
        "parametrizations.orthogonal(t.nn.Linear(3, 3)).parametrizations.weight.right_inverse(t.ones(2, 2))",
        "parametrizations.spectral_norm(t.nn.Linear(3, 3), n_power_iterations=0)",
        "parametrizations.spectral_norm(t.nn.Linear(3, 3), dim=5)", "parametrizations.spectral_norm(t.nn.ReLU())",
        "parametrizations.weight_norm(t.nn.Linear(3, 3), dim=5)",
        "parametrizations.weight_norm(t.nn.Linear(3, 3), 'a')", "weight_norm(t.nn.LazyLinear(3))",
        "weight_norm(t.nn.Linear(3, 3), 'foo')", "spectral_norm(t.nn.LazyLinear(3))",
        "spectral_norm(t.nn.Linear(3, 3), n_power_iterations=0)", "spectral_norm(t.nn.Linear(3, 3), 'foo')",
        "remove_weight_norm(t.nn.Linear(3, 3))", "remove_spectral_norm(t.nn.Linear(3, 3))")},
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_norm(use):
    check(use, "cpu")


# --- calls with other parameters -------------------------------------------------------------------------------------

class Shared:
    """A module with a tied parameter and a buffer that it replaces, of either library."""

    def __new__(cls, t):
        class Tied(t.nn.Module):
            def __init__(self):
                super().__init__()
                self.a = t.nn.Parameter(t.ones(()))
                self.b = self.a
                self.register_buffer("c", t.ones(()))

            def forward(self, x):
                self.c = self.c + 1
                return x + 10 * self.a + 100 * self.b + 1000 * self.c
        return Tied()


CALLS = [
    "call(l, {'weight': w}, x)", "call(l, {'weight': w, 'foo': w}, x)", "call(l, {'weight': w}, x, strict=True)",
    "call(l, {'weight': w, 'foo': w}, (x,), strict=True)", "call(l, ({'weight': w}, {'bias': w[:, 0]}), (x,))",
    "call(l, ({'weight': w}, {'weight': w}), (x,))", "call(l, [{'weight': w}, 3], x)", "call(l, 3, x)",
    "call(l, {'weight': w}, None, {'input': x})", "call(l, {'weight': 3}, x)", "call(l, {'weight.': w}, x)",
    "call(l, {'weight.a': w}, x)", "call(s, {'0.weight': w}, x)", "call(s, {'0.weight': w, '3.weight': w}, x)",
    "call(m, {'a': w[0, 0]}, one)", "call(m, {'b': w[0, 0]}, one)", "call(m, {'a': w[0, 0]}, one, tie_weights=False)",
    "call(m, {'a': one, 'b': w[0, 0]}, one)", "call(m, {'a': one, 'b': w[0, 0]}, one, tie_weights=False)",
    "call(m, {'a': one}, one, strict=True)", "call(m, {'a': one, 'c': one}, one, strict=True)",
    "t.nn.utils.stateless.functional_call(l, {'weight': w}, x)", "t.func.stack_module_state([])",
    "t.func.stack_module_state([l, s])", "t.func.stack_module_state([l, t.nn.Linear(2, 3).eval()])",
    "t.func.stack_module_state([l, t.nn.Linear(2, 3).requires_grad_(False)])", "t.func.stack_module_state([l, l])",
    "t.func.stack_module_state([t.nn.BatchNorm1d(2), t.nn.BatchNorm1d(2)])"]


def called(t, d, call):
    t.manual_seed(1)
    linear = t.nn.Linear(2, 3)
    names = {"t": t, "l": linear, "s": t.nn.Sequential(linear, t.nn.ReLU()), "m": Shared(t), "one": t.ones(()),
             "w": t.arange(6.0).reshape(3, 2), "x": t.ones(1, 2), "call": t.func.functional_call}
    own = dict(linear.named_parameters())
    found = eval(call, names)
    same = [own[name] is value for name, value in linear.named_parameters()]
    return found, same, names["m"].c, [name for name, _ in names["m"].named_parameters(remove_duplicate=False)]


@pytest.mark.parametrize("call", CALLS)
def test_functional_call(call):
    check(lambda t, d: called(t, d, call), "cpu")


def test_functional_call_writes_into_the_given_dictionary(device):
    found = []
    for t, where in ((mindtorch, device), (oracle, "cpu")):
        module = t.nn.BatchNorm1d(2).to(where)
        given = {name: value.detach().clone() for name, value in (*module.named_parameters(), *module.named_buffers())}
        given["weight"].requires_grad_()
        t.func.functional_call(module, given, t.arange(8.0, device=where).reshape(4, 2)).square().sum().backward()
        shared = Shared(t).to(where)
        buffers = {"c": t.ones((), device=where)}
        t.func.functional_call(shared, buffers, t.ones((), device=where))
        found.append([flat(given[name]) for name in sorted(given)] + [flat(given["weight"].grad), flat(buffers["c"]),
                     flat(shared.c), flat(module.running_mean)])
    assert_same(*found)
