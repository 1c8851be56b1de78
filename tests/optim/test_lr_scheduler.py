"""Every schedule of learning rates beside torch's: the rates of thirty steps, state dictionaries, errors."""
import copy
import warnings

import pytest
import torch
from optim_problems import Problem, assert_close, plain

import mindtorch


def composed(name, *parts, **options):
    """A schedule of several, the parts being (name, options)."""
    def make(lib, optimizer):
        module = lib.optim.lr_scheduler
        inner = [getattr(module, part)(optimizer, **more) for part, more in parts]
        if name == "ChainedScheduler":
            return module.ChainedScheduler(inner, **options)
        return module.SequentialLR(optimizer, inner, **options)
    return make


def single(name, **options):
    return lambda lib, optimizer: getattr(lib.optim.lr_scheduler, name)(optimizer, **options)


CASES = {
    "lambda": single("LambdaLR", lr_lambda=lambda epoch: 0.9**epoch),
    "lambdas": single("LambdaLR", lr_lambda=[lambda epoch: 0.9**epoch, lambda epoch: 1 / (1 + epoch)]),
    "multiplicative": single("MultiplicativeLR", lr_lambda=lambda epoch: 0.95),
    "step": single("StepLR", step_size=4, gamma=0.5),
    "milestones": single("MultiStepLR", milestones=[3, 3, 11, 20], gamma=0.5),
    "constant": single("ConstantLR", factor=0.5, total_iters=6),
    "linear": single("LinearLR", start_factor=0.2, end_factor=0.9, total_iters=9),
    "exponential": single("ExponentialLR", gamma=0.9),
    "polynomial": single("PolynomialLR", total_iters=12, power=2.0),
    "cosine": single("CosineAnnealingLR", T_max=7, eta_min=0.01),
    "restarts": single("CosineAnnealingWarmRestarts", T_0=4, T_mult=2, eta_min=0.01),
    "equal restarts": single("CosineAnnealingWarmRestarts", T_0=5),
    "triangular": single("CyclicLR", base_lr=0.01, max_lr=[0.1, 0.2], step_size_up=4, step_size_down=3),
    "triangular2": single("CyclicLR", base_lr=0.01, max_lr=0.1, step_size_up=4, mode="triangular2"),
    "range": single("CyclicLR", base_lr=0.01, max_lr=0.1, step_size_up=4, mode="exp_range", gamma=0.9,
                    cycle_momentum=False),
    "own scale": single("CyclicLR", base_lr=0.01, max_lr=0.1, step_size_up=4, scale_fn=lambda x: 0.5**x,
                        scale_mode="iterations"),
    "one cycle": single("OneCycleLR", max_lr=0.5, total_steps=40),
    "three phases": single("OneCycleLR", max_lr=[0.5, 0.3], epochs=4, steps_per_epoch=8, three_phase=True,
                           anneal_strategy="linear"),
    "chained": composed("ChainedScheduler", ("ConstantLR", {"factor": 0.1, "total_iters": 3}),
                        ("ExponentialLR", {"gamma": 0.9})),
    "sequential": composed("SequentialLR", ("LinearLR", {"total_iters": 4}), ("CosineAnnealingLR", {"T_max": 9}),
                           ("ExponentialLR", {"gamma": 0.9}), milestones=[5, 15]),
}


def groups(lib, name, rate=0.1):
    a, b, _ = Problem(lib, "cpu").params
    return getattr(lib.optim, name)([{"params": [a]}, {"params": [b], "lr": rate * 2}], lr=rate)


def rates(optimizer, scheduler, steps):
    rows = []
    for _ in range(steps):
        optimizer.step()
        scheduler.step()
        rows.append([scheduler.get_last_lr(), *[[group["lr"], group.get("momentum"), group.get("betas")]
                                                for group in optimizer.param_groups]])
    return plain(rows)


def comparable(state):
    """A state dictionary without what no two libraries share: bound functions; the order of names is free."""
    if isinstance(state, dict):
        return {str(key): comparable(state[key]) for key in sorted(state, key=str) if key != "_scale_fn_ref"}
    return [comparable(item) for item in state] if isinstance(state, list | tuple) else state


@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
@pytest.mark.parametrize("case", CASES)
def test_rates(case, optimizer):
    results = []
    for lib in (torch, mindtorch):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)        # composed ones step before the optimizer
            ours = groups(lib, optimizer)
            scheduler = CASES[case](lib, ours)
            results.append((rates(ours, scheduler, 30), comparable(plain(scheduler.state_dict()))))
    assert_close(results[1], results[0], 1e-12)


@pytest.mark.parametrize("case", CASES)
def test_state_dict_round_trip(case):
    results = []
    for lib in (torch, mindtorch):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            first = groups(lib, "SGD")
            scheduler = CASES[case](lib, first)
            rates(first, scheduler, 7)
            second = groups(lib, "SGD", 0.7)
            other = CASES[case](lib, second)
            other.load_state_dict(copy.deepcopy(scheduler.state_dict()))
            second.load_state_dict(copy.deepcopy(first.state_dict()))
            results.append(rates(second, other, 12))
    assert_close(results[1], results[0], 1e-12)


@pytest.mark.parametrize("options", [{}, {"mode": "max", "threshold_mode": "abs", "threshold": 0.1},
                                     {"patience": 2, "cooldown": 2, "factor": 0.5, "min_lr": [0.05, 0.01]},
                                     {"mode": "max", "patience": 1}, {"patience": 0, "threshold_mode": "abs"}])
def test_plateau(options):
    metrics = [1.0, 0.9, 0.95, 0.95, 0.94, 0.8, 0.8, 0.8, 0.81, 0.8, 0.9, 1.2, 1.3, 1.3, 1.3, 1.29] * 2
    results = []
    for lib in (torch, mindtorch):
        optimizer = groups(lib, "SGD")
        scheduler = lib.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **options)
        rows = []
        for index, metric in enumerate(metrics):
            if index == 10:
                state = copy.deepcopy(scheduler.state_dict())
                scheduler = lib.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
                scheduler.load_state_dict(state)
            scheduler.step(lib.tensor(metric))
            rows.append((scheduler.get_last_lr(), scheduler.num_bad_epochs, scheduler.in_cooldown))
        results.append((rows, comparable(plain(scheduler.state_dict()))))
    assert_close(plain(results[1]), plain(results[0]), 1e-6)


@pytest.mark.parametrize("case", ["step", "milestones", "constant", "linear", "exponential", "polynomial", "cosine",
                                  "restarts", "equal restarts", "lambda"])
def test_epochs_that_are_named(case):
    results = []
    for lib in (torch, mindtorch):
        optimizer = groups(lib, "SGD")
        scheduler = CASES[case](lib, optimizer)
        optimizer.step()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for epoch in (3, 9, 1, 14):
                scheduler.step(epoch)
                results.append(scheduler.get_last_lr())
        results.append([str(warning.message) for warning in caught])
    half = len(results) // 2
    assert_close(results[half:], results[:half], 1e-12)


def test_tensor_rates_stay_the_same_tensor():
    results = []
    for lib in (torch, mindtorch):
        rate = lib.tensor(0.5)
        optimizer = lib.optim.SGD(Problem(lib, "cpu").params, lr=rate)
        scheduler = lib.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
        for _ in range(3):
            optimizer.step()
            scheduler.step()
        assert optimizer.param_groups[0]["lr"] is rate
        results.append(plain([rate, scheduler.base_lrs]))
    assert_close(results[1], results[0])


WRONG = {
    "optimizer": lambda lib, _: lib.optim.lr_scheduler.StepLR(3, 1),
    "resumed": lambda lib, optimizer: lib.optim.lr_scheduler.StepLR(optimizer, 1, last_epoch=2),
    "lambdas": lambda lib, optimizer: lib.optim.lr_scheduler.LambdaLR(optimizer, [abs]),
    "no function": lambda lib, optimizer: lib.optim.lr_scheduler.MultiplicativeLR(optimizer, 3),
    "constant": single("ConstantLR", factor=2.0), "start": single("LinearLR", start_factor=0.0),
    "end": single("LinearLR", end_factor=2.0), "T_0": single("CosineAnnealingWarmRestarts", T_0=0),
    "T_mult": single("CosineAnnealingWarmRestarts", T_0=1, T_mult=0.5),
    "eta_min": single("CosineAnnealingWarmRestarts", T_0=1, eta_min="a"),
    "cyclic mode": single("CyclicLR", base_lr=0.1, max_lr=1.0, mode="x"),
    "cyclic lengths": single("CyclicLR", base_lr=[0.1], max_lr=1.0),
    "no steps": single("OneCycleLR", max_lr=1.0), "bad steps": single("OneCycleLR", max_lr=1.0, total_steps=-1),
    "bad epochs": single("OneCycleLR", max_lr=1.0, epochs=0, steps_per_epoch=1),
    "part": single("OneCycleLR", max_lr=1.0, total_steps=5, pct_start=2.0),
    "strategy": single("OneCycleLR", max_lr=1.0, total_steps=5, anneal_strategy="x"),
    "factor": single("ReduceLROnPlateau", factor=1.0), "mode": single("ReduceLROnPlateau", mode="x"),
    "threshold mode": single("ReduceLROnPlateau", threshold_mode="x"),
    "min_lr": single("ReduceLROnPlateau", min_lr=[1.0]),
    "empty chain": lambda lib, _: lib.optim.lr_scheduler.ChainedScheduler([]),
    "empty sequence": composed("SequentialLR", milestones=[]),
    "plateau in a sequence": composed("SequentialLR", ("ReduceLROnPlateau", {}), milestones=[]),
    "milestones": composed("SequentialLR", ("ExponentialLR", {"gamma": 0.5}), milestones=[1]),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_arguments(wrong):
    errors = []
    for lib in (torch, mindtorch):
        with pytest.raises(Exception) as caught:      # noqa: PT011 - compared
            WRONG[wrong](lib, groups(lib, "SGD"))
        errors.append((caught.type, str(caught.value)))
    assert errors[0] == errors[1]


def test_order_of_steps_is_warned_of():
    messages = []
    for lib in (torch, mindtorch):
        scheduler = lib.optim.lr_scheduler.StepLR(groups(lib, "SGD"), 3)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            scheduler.step()
            scheduler.get_lr()
        messages.append([str(warning.message) for warning in caught])
    assert messages[0] == messages[1]
    assert len(messages[0]) == 2


def test_too_many_steps_of_one_cycle():
    for lib in (torch, mindtorch):
        optimizer = groups(lib, "SGD")
        scheduler = lib.optim.lr_scheduler.OneCycleLR(optimizer, 1.0, total_steps=3)
        rates(optimizer, scheduler, 3)
        with pytest.raises(ValueError, match="Tried to step 4 times"):
            scheduler.step()


@pytest.mark.filterwarnings("ignore:To get the last learning rate")
@pytest.mark.parametrize("lib", [torch, mindtorch])
def test_a_state_of_one_cycle_from_before_torch_2(lib):
    """Such a state_dict has the annealing function in place of its name."""
    def made():
        return lib.optim.lr_scheduler.OneCycleLR(groups(lib, "SGD"), max_lr=2, total_steps=9, anneal_strategy="linear")
    old = made().state_dict()
    del old["_anneal_func_type"]
    old["anneal_func"] = lib.optim.lr_scheduler.OneCycleLR._annealing_cos
    scheduler = made()
    scheduler.load_state_dict(old)
    del scheduler._anneal_func_type
    assert scheduler.get_lr() == pytest.approx([0.08, 0.08])
    assert scheduler.anneal_func(2, 0, 0.25) == pytest.approx(1.7071067)


@pytest.mark.parametrize("mode", ["triangular", "triangular2", "exp_range"])
def test_the_scale_of_cycles(mode):
    cycles = [lib.optim.lr_scheduler.CyclicLR(groups(lib, "SGD"), 0.1, 1.0, mode=mode, gamma=0.5, cycle_momentum=False)
              for lib in (torch, mindtorch)]
    theirs, ours = ([cycle._scale_fn_ref(3), cycle.scale_fn(4), "_scale_fn_ref" in cycle.state_dict()]
                    for cycle in cycles)
    assert ours == theirs
