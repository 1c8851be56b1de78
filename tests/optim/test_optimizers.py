"""Every optimizer, with its options and in its forms, beside torch's for some steps."""
import copy
import importlib

import pytest
import torch
from optim_problems import Problem, assert_close, plain

import mindtorch
from mindtorch import sim

# Optimizer -> the options that it is run with.
OPTIONS = {
    "SGD": [{"lr": 0.1}, {"lr": 0.1, "momentum": 0.9}, {"momentum": 0.9, "dampening": 0.5, "weight_decay": 0.1},
            {"momentum": 0.8, "nesterov": True, "weight_decay": 0.1}],
    "Adam": [{}, {"lr": 0.1, "betas": (0.8, 0.95), "eps": 1e-6, "weight_decay": 0.1}, {"amsgrad": True},
             {"decoupled_weight_decay": True, "weight_decay": 0.1}],
    "AdamW": [{}, {"lr": 0.1, "amsgrad": True, "weight_decay": 0.1}],
    "RMSprop": [{}, {"momentum": 0.9, "weight_decay": 0.1}, {"centered": True, "alpha": 0.9, "momentum": 0.5}],
    "Adagrad": [{}, {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.5}],
    "Adadelta": [{}, {"lr": 0.5, "rho": 0.8, "weight_decay": 0.1}],
    "Adamax": [{}, {"lr": 0.1, "betas": (0.8, 0.95), "weight_decay": 0.1}],
    "NAdam": [{}, {"lr": 0.1, "weight_decay": 0.1}, {"decoupled_weight_decay": True, "weight_decay": 0.1}],
    "RAdam": [{}, {"lr": 0.1, "weight_decay": 0.1}, {"lr": 0.1, "betas": (0.5, 0.6)},
              {"decoupled_weight_decay": True, "weight_decay": 0.1}],
    "Rprop": [{}, {"lr": 0.1, "etas": (0.4, 1.5), "step_sizes": (0.05, 0.12)}],
    "ASGD": [{}, {"lr": 0.1, "lambd": 0.01, "t0": 1, "weight_decay": 0.1}],
    "Adafactor": [{}, {"lr": 0.1, "weight_decay": 0.1, "eps": (1e-4, 1e-2), "d": 2.0}],
}
FORMS = {"single": {"foreach": False}, "foreach": {"foreach": True}, "fused": {"fused": True}, "default": {}}
FUSED = ("SGD", "Adam", "AdamW", "Adagrad")
RECORDED = [name for name in OPTIONS if name != "Adafactor"]       # have `differentiable`
CAPTURABLE = ("Adam", "AdamW", "Adadelta", "Adamax", "RMSprop", "NAdam", "RAdam", "Rprop", "ASGD")
CASES = [(name, {**options, **more}, form) for name, rows in OPTIONS.items() for options in rows for form in FORMS
         for more in ({}, {"maximize": True}) if form != "fused" or name in FUSED]


def steps(lib, device, name, options, dtype="float32", count=4):
    problem = Problem(lib, device, dtype)
    optimizer = getattr(lib.optim, name)(problem.params, **options)
    problem.run(optimizer, count)
    return plain(problem.params), plain(optimizer.state_dict())


@pytest.mark.parametrize(("name", "options", "form"), CASES)
def test_steps(both, name, options, form):
    theirs, ours = (steps(*place, name, options | FORMS[form]) for place in both)
    assert_close(ours[0], theirs[0])
    assert_close(ours[1], theirs[1])


# torch compares complex numbers by parts in one form, and refuses them in the other.
TOLERANCES = {"float64": 1e-6, "bfloat16": 5e-2, "complex64": 1e-4}
DTYPE_CASES = [(name, options, dtype, form) for dtype in TOLERANCES for name, rows in OPTIONS.items()
               for options in rows for form in ("single", "foreach")
               if dtype != "complex64" or (name in RECORDED and not (options.get("amsgrad") and form == "foreach"))]


@pytest.mark.parametrize(("name", "options", "dtype", "form"), DTYPE_CASES)
def test_dtypes(both, name, options, dtype, form):
    theirs = steps(*both[0], name, options | FORMS[form], dtype)
    assert_close(steps(*both[1], name, options | FORMS[form], dtype), theirs, TOLERANCES[dtype])


@pytest.mark.parametrize(("name", "kind", "message"), [
    ("Adam", NotImplementedError, r"^aclnnApplyAdamWV2: argument varRef of dtype torch\.float64 is not supported"),
    ("AdamW", NotImplementedError, r"^aclnnApplyAdamWV2: argument varRef of dtype torch\.float64 is not supported"),
    ("SGD", RuntimeError, "aclnnFusedSgd: paramsRef has data type DOUBLE")])
def test_fused_float64_on_the_device_is_refused(name, kind, message):
    """The operators of CANN take float32, float16 and bfloat16; nothing runs elsewhere instead."""
    with pytest.raises(kind, match=message):
        steps(mindtorch, "npu", name, {"fused": True}, "float64")


@pytest.mark.parametrize("name", [name for name in OPTIONS if name in CAPTURABLE])
def test_capturable_on_the_device(name):
    for options in OPTIONS[name]:
        expected = steps(torch, "cpu", name, options)
        for form in ("single", "foreach"):
            ours = steps(mindtorch, "npu", name, options | {"capturable": True} | FORMS[form])
            assert_close(ours[0], expected[0], 1e-4)
            assert_close(ours[1]["state"], expected[1]["state"], 1e-4)


@pytest.mark.parametrize("name", [name for name in OPTIONS if name in CAPTURABLE])
def test_capturable_on_the_host_is_refused(name):
    for form in ("single", "foreach"):
        messages = []
        for lib in (torch, mindtorch):
            with pytest.raises(AssertionError) as refused:
                steps(lib, "cpu", name, {"capturable": True} | FORMS[form])
            messages.append(str(refused.value).split(" on supported")[0].replace(",", ""))
        assert messages[0] == messages[1]


@pytest.mark.parametrize(("name", "form"), [(name, form) for name in OPTIONS for form in FORMS
                                            if form != "fused" or name in FUSED])
def test_state_dict_round_trip(both, name, form):
    options = OPTIONS[name][-1] | FORMS[form]
    results = []
    for lib, device in both:
        first = Problem(lib, device)
        optimizer = getattr(lib.optim, name)(first.params, **options)
        first.run(optimizer, 3)
        other = Problem(lib, device)
        for param, trained in zip(other.params, first.params, strict=True):
            param.data.copy_(trained.data)
        fresh = getattr(lib.optim, name)(other.params, lr=0.5)
        fresh.load_state_dict(copy.deepcopy(optimizer.state_dict()))
        other.generator = first.generator
        other.run(fresh, 3)
        results.append((plain(other.params), plain(fresh.state_dict())))
    assert_close(results[1], results[0])


@pytest.mark.parametrize("form", ["single", "foreach", "fused"])
def test_counters_are_one_tensor(device, form):
    """However a parameter joined: from the start, later, or with a loaded state."""
    problem = Problem(mindtorch, device)
    optimizer = mindtorch.optim.AdamW(problem.params, **FORMS[form])

    def counters():
        return [optimizer.state[param]["step"] for param in problem.params]
    for skipped, numbers in ((), [1, 1, 1]), ((1,), [2, 1, 2]), ((), [3, 2, 3]):
        problem.gradients(skipped)
        optimizer.step()
        assert [step.item() for step in counters()] == numbers
    for again in (False, True):
        if again:
            optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
            problem.gradients()
            optimizer.step()
        assert all(step._base is counters()[0]._base is not None and step.shape == () for step in counters())
        assert [step.item() for step in counters()] == [3 + again, 2 + again, 3 + again]


@pytest.mark.parametrize("name", OPTIONS)
def test_pickle(device, name):
    problem = Problem(mindtorch, "cpu")
    optimizer = getattr(mindtorch.optim, name)(problem.params, **OPTIONS[name][-1])
    problem.run(optimizer, 2)
    other = copy.deepcopy(optimizer)
    assert_close(plain(other.state_dict()), plain(optimizer.state_dict()))
    assert repr(other) == repr(optimizer)


@pytest.mark.parametrize("name", OPTIONS)
def test_signature_and_repr(both, name):
    texts = [repr(getattr(lib.optim, name)(Problem(lib, device).params)) for lib, device in both]
    assert texts[0] == texts[1]


WRONG = {
    "rate": {"lr": -1.0}, "rate not a number": {"lr": float("nan")}, "decay": {"weight_decay": -0.1},
    "eps": {"eps": -1.0}, "beta1": {"betas": (1.0, 0.9)}, "beta2": {"betas": (0.9, -1.0)}, "momentum": {"momentum": -1},
    "nesterov": {"nesterov": True}, "mixed": {"betas": (0.9, "tensor")}, "large rate": {"lr": "vector"},
    "listed rate": {"lr": "tensor", "foreach": True}, "fused and foreach": {"fused": True, "foreach": True},
    "fused and differentiable": {"fused": True, "differentiable": True}, "unknown": {"nothing": 1},
    "rho": {"rho": 2.0}, "alpha": {"alpha": -1.0}, "etas": {"etas": (1.0, 2.0)}, "lr_decay": {"lr_decay": -1.0},
    "d": {"d": 0.5}, "beta2_decay": {"beta2_decay": 1.0}, "eps1": {"eps": (-1.0, 0.1)}, "eps2": {"eps": (None, -1.0)},
    "initial": {"initial_accumulator_value": -1.0}, "momentum_decay": {"momentum_decay": -1.0},
}


def outcome(lib, device, call):
    """The exception's type and message, (None, None) without one."""
    try:
        call(lib, device)
    except Exception as error:      # noqa: BLE001 - compared
        return type(error), str(error)
    return None, None


def built(name, options):
    def call(lib, device):
        values = {"tensor": lib.tensor(0.5), "vector": lib.ones(2)}

        def real(value):
            if isinstance(value, tuple):
                return tuple(map(real, value))
            return values[value] if isinstance(value, str) else value
        getattr(lib.optim, name)(Problem(lib, device).params, **{key: real(value) for key, value in options.items()})
    return call


# Where others take one eps, a pair compares with no number, and the wording is Python's.
@pytest.mark.parametrize(("name", "wrong"), [(name, wrong) for name in OPTIONS for wrong in WRONG
                                             if name == "Adafactor" or wrong not in ("eps1", "eps2")])
def test_wrong_options(both, name, wrong):
    (their_type, theirs), (our_type, ours) = (outcome(*place, built(name, WRONG[wrong])) for place in both)
    assert our_type is their_type
    assert ours == theirs


def lone(lib, device):
    return lib.ones(2, device=device, requires_grad=True)


def twice(lib, device):
    param = lone(lib, device)
    lib.optim.SGD([{"params": [param]}, {"params": [param]}])


def named_and_not(lib, device):
    lib.optim.SGD([("a", lone(lib, device)), lone(lib, device)])


def group_without_names(lib, device):
    lib.optim.SGD([("a", lone(lib, device))]).add_param_group({"params": [lone(lib, device)]})


def wrong_hook(lib, device):
    optimizer = lib.optim.SGD([lone(lib, device)])
    optimizer.register_step_pre_hook(lambda *_: 3)
    optimizer.step()


def other_groups(lib, device):
    optimizer = lib.optim.SGD([lone(lib, device)])
    optimizer.load_state_dict({"state": {}, "param_groups": []})


def other_sizes(lib, device):
    optimizer = lib.optim.SGD([lone(lib, device)])
    optimizer.load_state_dict({"state": {}, "param_groups": [{"params": [0, 1]}]})


def required(lib, device):
    module = importlib.import_module(f"{lib.__name__}.optim.optimizer")
    module.Optimizer([lone(lib, device)], {"lr": module.required})


BAD_PARAMS = {
    "tensor": lambda lib, _: lib.optim.SGD(lib.ones(2)),
    "nothing": lambda lib, device: lib.optim.SGD([]),
    "number": lambda lib, device: lib.optim.SGD([3]),
    "class": lambda lib, device: lib.optim.SGD([dict]),
    "set": lambda lib, device: lib.optim.SGD([{"params": {lone(lib, device)}}]),
    "non-leaf": lambda lib, device: lib.optim.SGD([lone(lib, device) * 2]),
    "no params": lambda lib, device: lib.optim.SGD([{"lr": 1}]),
    "group": lambda lib, device: lib.optim.SGD([lone(lib, device)]).add_param_group([lone(lib, device)]),
    "twice": twice, "named and not": named_and_not, "without names": group_without_names,
    "other groups": other_groups, "other sizes": other_sizes, "required": required,
    "base step": lambda lib, device: lib.optim.Optimizer([lone(lib, device)], {}).step(),
}


@pytest.mark.parametrize("name", BAD_PARAMS)
def test_bad_params(both, name):
    theirs, ours = (outcome(*place, BAD_PARAMS[name]) for place in both)
    assert theirs[0] is not None
    assert ours == theirs


def test_wrong_hook(both):
    theirs, ours = (outcome(*place, wrong_hook) for place in both)
    assert ours[0] is theirs[0] is RuntimeError
    assert "must return None or a tuple of (new_args, new_kwargs), but got 3." in ours[1]


def test_duplicates_warn(both):
    for lib, device in both:
        param = lone(lib, device)
        with pytest.warns(UserWarning, match="optimizer contains a parameter group with duplicate parameters; in fut"):
            lib.optim.SGD([param, param])


def test_groups_and_names(both):
    results = []
    for lib, device in both:
        problem = Problem(lib, device)
        a, b, c = problem.params
        optimizer = lib.optim.SGD([{"params": [("a", a)], "lr": 0.5}, {"params": [("b", b)], "momentum": 0.9}], lr=0.1)
        optimizer.add_param_group({"params": [("c", c)], "weight_decay": 0.3})
        problem.run(optimizer, 3)
        results.append((plain(problem.params), plain(optimizer.state_dict()), repr(optimizer)))
    assert_close(results[1], results[0])


@pytest.mark.parametrize("foreach", [False, True])
def test_zero_grad(both, foreach):
    for lib, device in both:
        problem = Problem(lib, device)
        optimizer = lib.optim.SGD(problem.params, foreach=foreach)
        problem.gradients(skipped=(1,))
        optimizer.zero_grad(set_to_none=False)
        assert [None if p.grad is None else float(p.grad.abs().sum()) for p in problem.params] == [0, None, 0]
        problem.gradients()
        optimizer.zero_grad()
        assert [p.grad for p in problem.params] == [None] * 3


def test_closure_is_recorded(both):
    for lib, device in both:
        param = lone(lib, device)
        optimizer = lib.optim.SGD([param], lr=0.5)

        def closure():
            optimizer.zero_grad()               # noqa: B023 - called in this turn
            loss = (param * param).sum()        # noqa: B023 - called in this turn
            loss.backward()
            return loss
        loss = optimizer.step(closure)
        assert loss.item() == 2
        assert param.tolist() == [0, 0]
        assert lib.is_grad_enabled()


def test_step_hooks(both):
    traces = []
    for lib, device in both:
        trace = []
        optimizer = lib.optim.SGD([lone(lib, device)])
        place = importlib.import_module(f"{lib.__name__}.optim.optimizer")

        def note(text, answer=None):
            def hook(_, args, kwargs):
                trace.append((text, len(args), dict(kwargs)))       # noqa: B023 - called in this turn
                return answer
            return hook
        handles = [place.register_optimizer_step_pre_hook(note("global before")),
                   place.register_optimizer_step_post_hook(note("global after")),
                   optimizer.register_step_pre_hook(note("before", ((optimizer,), {"closure": None}))),
                   optimizer.register_step_post_hook(note("after"))]
        optimizer.step()
        for handle in handles:
            handle.remove()
        optimizer.step()
        traces.append(trace)
    assert traces[0] == traces[1]


def test_state_dict_hooks(both):
    traces = []
    for lib, device in both:
        trace = []
        optimizer = lib.optim.SGD([lone(lib, device)])

        def note(text, answer=None):
            return lambda *args: trace.append((text, len(args))) or answer      # noqa: B023 - called in this turn
        optimizer.register_state_dict_pre_hook(note("second"))
        optimizer.register_state_dict_pre_hook(note("first"), prepend=True)
        other = {**optimizer.state_dict(), "more": 1}
        optimizer.register_state_dict_post_hook(note("changes", other))
        optimizer.register_load_state_dict_pre_hook(note("loads"))
        optimizer.register_load_state_dict_post_hook(note("loaded"))
        state = optimizer.state_dict()
        optimizer.load_state_dict(state)
        traces.append((trace, state))
    assert_close(traces[1], traces[0])


def test_own_optimizer(both):
    """A class that derives from Optimizer gets the hooks with its first instance."""
    for lib, device in both:
        class Own(lib.optim.Optimizer):
            def step(self, closure=None):
                return "stepped"
        optimizer = Own([lone(lib, device)], {})
        calls = []
        optimizer.register_step_post_hook(lambda *_: calls.append(1))       # noqa: B023 - called in this turn
        assert optimizer.step() == "stepped"
        assert calls == [1]


@pytest.mark.parametrize("name", RECORDED)
def test_differentiable(both, name):
    """The gradient of some steps with respect to start and slope; torch knows it of one step only with some options."""
    for options in OPTIONS[name]:
        lost = options.get("amsgrad") or options.get("centered") or name in ("Adamax", "Rprop")
        results = []
        for lib, device in both:
            start = lib.tensor([0.5, -0.3, 0.8], dtype=lib.float32, device=device, requires_grad=True)
            slope = lib.tensor([0.7, 0.2, -0.4], dtype=lib.float32, device=device, requires_grad=True)
            param = start.clone()
            optimizer = getattr(lib.optim, name)([param], **options, differentiable=True)
            for step in range(1 if lost else 3):
                param.grad = slope * (step + 1) + 0.1 * start
                optimizer.step()
            (param * param).sum().backward()
            results.append(plain([param, start.grad, slope.grad]))
        assert_close(results[1], results[0], 1e-4)


@pytest.mark.parametrize("options", OPTIONS["NAdam"])
def test_differentiable_states(both, options):
    """The product of the momenta of NAdam is part of the graph."""
    results = []
    for lib, device in both:
        param, slope, product = (lib.tensor(value, device=device, requires_grad=True) for value in ([0.3], [0.5], 0.7))
        updated = param.clone()
        updated.grad = slope
        optimizer = lib.optim.NAdam([updated], **options, differentiable=True)
        optimizer.state[updated].update(step=lib.tensor(10.0), mu_product=product.clone(),
                                        exp_avg=lib.full_like(updated, 0.2), exp_avg_sq=lib.full_like(updated, 0.3))
        optimizer.step()
        results.append(plain([updated, *lib.autograd.grad(updated.sum(), [param, slope, product])]))
    assert_close(results[1], results[0], 1e-4)


def test_rate_as_tensor(both):
    for name in OPTIONS:
        for form in ("single", "default"):
            theirs, ours = (steps(lib, device, name, {"lr": lib.tensor(0.05)} | FORMS[form]) for lib, device in both)
            assert_close(ours, theirs)


@pytest.mark.parametrize("form", ["foreach", "single"])
def test_complex_and_real_parameters_of_one_group(both, form):
    found = []
    for lib, device in both:
        params = [lib.ones(2, dtype=getattr(lib, dtype), device=device, requires_grad=True)
                  for dtype in ("complex64", "float32", "complex128")]
        optimizer = lib.optim.Adam(params, lr=0.1, foreach=form == "foreach")
        for step in range(2):
            for param in params:
                param.grad = (param * (step + 1) + 2).detach()
            optimizer.step()
        found.append([size for param in params for size in param.detach().cpu().abs().tolist()])
    assert found[0] == pytest.approx(found[1], rel=1e-5)


@pytest.mark.parametrize("name", [name for name in OPTIONS if name in FUSED])
def test_fused_needs_floating_point(both, name):
    messages = []
    for lib, device in both:
        param, = Problem(lib, device, "complex64", shapes=((2,),)).params
        param.grad = param.detach()
        optimizer = getattr(lib.optim, name)([param], fused=True)
        with pytest.raises(RuntimeError) as refused:
            optimizer.step()
        messages.append(str(refused.value).split("devices:")[0])
    assert messages[0] == messages[1]


@pytest.mark.parametrize("form", ["foreach", "fused", "default"])
def test_devices_and_dtypes_mixed(form):
    """One group, parameters of several kinds: as many calls as kinds."""
    results = []
    for lib, places in ((torch, ("cpu", "cpu")), (mindtorch, ("npu", "cpu"))):
        problems = [Problem(lib, places[0]), Problem(lib, places[1]), Problem(lib, places[0], "bfloat16")]
        optimizer = lib.optim.AdamW([param for problem in problems for param in problem.params], **FORMS[form])
        for _ in range(2):
            for problem in problems:
                problem.gradients()
            optimizer.step()
        results.append([plain(problem.params) for problem in problems])
    assert_close(results[1], results[0], 1e-2)


def test_launches_of_a_default_step():
    """On the NPU a step takes few launches, however many parameters there are."""
    from mindtorch import sim
    counts = []
    for repeats in (1, 4):
        problem = Problem(mindtorch, "npu", shapes=((3, 4),) * 3 * repeats)
        optimizer = mindtorch.optim.AdamW(problem.params)
        problem.gradients()
        optimizer.step()
        with sim.counting() as calls:
            optimizer.step()
        counts.append(sum(calls.operators().values()))
    assert counts[0] == counts[1] < 12


@pytest.mark.parametrize("name", ["Adafactor", "Muon"])
def test_complex_is_refused(both, name):
    def step(lib, device):
        param, = Problem(lib, device, "complex64", shapes=((2, 3),)).params
        param.grad = param.detach()
        getattr(lib.optim, name)([param]).step()
    theirs, ours = (outcome(*place, step) for place in both)
    assert ours == theirs
    assert ours[0] is RuntimeError


@pytest.mark.parametrize("options", [{}, {"nesterov": False, "lr": 0.1}, {"adjust_lr_fn": "match_rms_adamw"},
                                     {"adjust_lr_fn": "original", "weight_decay": 0.5, "momentum": 0.5}])
def test_muon(both, options):
    """Its products are of bfloat16: they agree to two digits."""
    results = []
    for lib, device in both:
        problem = Problem(lib, device, shapes=((6, 4), (3, 5)))
        optimizer = lib.optim.Muon(problem.params, **options)
        problem.run(optimizer, 3)
        results.append((plain(problem.params), plain(optimizer.state_dict()), repr(optimizer)))
    assert_close(results[1][0], results[0][0], 3e-2)
    assert_close(results[1][1:], results[0][1:])


@pytest.mark.parametrize("options", [{"lr": -1}, {"momentum": -1}, {"weight_decay": -1}, {"adjust_lr_fn": "x"}, {}])
def test_wrong_muon(both, options):
    theirs, ours = (outcome(*place, built("Muon", options)) for place in both)
    assert theirs[0] is not None
    assert ours == theirs


@pytest.mark.parametrize("name", ["Adam", "AdamW", "Adamax"])
def test_corrections_of_capturable_steps_are_computed_for_all_parameters_at_once(name):
    params = [mindtorch.ones(3, device="npu", requires_grad=True) for _ in range(8)]
    optimizer = getattr(mindtorch.optim, name)(params, capturable=True, foreach=True)
    for param in params:
        param.grad = mindtorch.ones_like(param)
    optimizer.step()
    with sim.counting() as counts:
        optimizer.step()
        mindtorch.npu.synchronize()
    powers = [count for operator, count in counts.operators().items() if "Pow" in operator]
    assert 0 < sum(powers) <= 3
