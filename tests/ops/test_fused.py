"""The fused optimizers beside torch's: several steps with every option, errors, and launches on the NPU."""
import itertools

import numpy
import pytest
import torch

import mindtorch
from mindtorch import sim

SHAPES = ((3, 4), (5,), (2, 1, 3), ())
ADAM = {"lr": 0.01, "beta1": 0.9, "beta2": 0.98, "weight_decay": 0.0, "eps": 1e-6, "amsgrad": False, "maximize": False}
SGD = {"weight_decay": 0.0, "momentum": 0.0, "lr": 0.05, "dampening": 0.0, "nesterov": False, "maximize": False}
# A scalar that no call before had: CANN's cache of executors, where it is on, spares the first phase of all others.
NEW_NUMBERS = itertools.count(1.5)
ADAGRAD = {"lr": 0.1, "lr_decay": 0.0, "weight_decay": 0.0, "eps": 1e-8, "maximize": False}


def options(base, **choices):
    """Every combination of the choices over `base`."""
    for values in itertools.product(*choices.values()):
        yield base | dict(zip(choices, values, strict=True))


CASES = [(name, kind) for name in ("_fused_adam_", "_fused_adamw_")
         for kind in options(ADAM, weight_decay=(0.0, 0.1), amsgrad=(False, True), maximize=(False, True))]
CASES += [("_fused_sgd_", kind) for kind in options(SGD, weight_decay=(0.0, 0.1), momentum=(0.0, 0.9),
                                                     dampening=(0.0, 0.5), maximize=(False, True))]
CASES += [("_fused_sgd_", SGD | {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1})]
CASES += [("_fused_adagrad_", kind) for kind in options(ADAGRAD, lr_decay=(0.0, 0.1), weight_decay=(0.0, 0.1),
                                                         maximize=(False, True))]


def state_of(lib, name, kind, dtype, device):
    """Parameters and state lists, by their names."""
    generator = numpy.random.default_rng(0)
    dtype = getattr(lib, dtype)

    def values(made):
        return [lib.tensor(made(shape).tolist(), dtype=dtype, device=device) for shape in SHAPES]

    def zeros():
        return values(numpy.zeros)
    state = {"self": values(lambda shape: generator.uniform(-1, 1, shape))}
    steps = [lib.tensor(0.0, device=device) for _ in SHAPES]
    if "adam" in name:
        state |= {"exp_avgs": zeros(), "exp_avg_sqs": zeros(), "max_exp_avg_sqs": zeros() if kind["amsgrad"] else [],
                  "state_steps": steps}
    elif "sgd" in name:
        state |= {"momentum_buffer_list": zeros() if kind["momentum"] else []}
    else:
        state |= {"state_sums": zeros(), "state_steps": steps}
    return state


def run(lib, name, kind, dtype, device, steps=3, **more):
    """The lists after some steps with the same gradients."""
    state = state_of(lib, name, kind, dtype, device)
    generator = numpy.random.default_rng(1)
    for step in range(steps):
        grads = [lib.tensor(generator.uniform(-1, 1, shape).tolist(), dtype=getattr(lib, dtype), device=device)
                 for shape in SHAPES]
        for counter in state.get("state_steps", ()):
            counter.add_(1)
        first = {"is_first_step": step == 0} if "sgd" in name else {}
        assert getattr(lib, name)(**state, grads=grads, **kind, **first, **more) is None
    return {**state, "grads": grads}


def assert_same(ours, theirs, tolerance):
    for name, expected in theirs.items():
        for a, b in zip(ours[name], expected, strict=True):
            assert str(a.dtype).removeprefix("torch.") == str(b.dtype).removeprefix("torch.")
            numpy.testing.assert_allclose(a.cpu().double().numpy(), b.double().numpy(), rtol=tolerance,
                                          atol=tolerance, err_msg=name)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize(("name", "kind"), CASES)
def test_steps(device, name, kind, dtype):
    if dtype == "float64" and device == "npu" and name != "_fused_adagrad_":
        with pytest.raises((NotImplementedError, RuntimeError)):
            run(mindtorch, name, kind, dtype, device)
        return
    # The rate of Adagrad decays by steps that are float32.
    tolerance = {"float32": 1e-5, "float64": 1e-7 if "adagrad" in name else 1e-12, "bfloat16": 3e-2}[dtype]
    assert_same(run(mindtorch, name, kind, dtype, device), run(torch, name, kind, dtype, "cpu"), tolerance)


@pytest.mark.parametrize(("name", "kind"), [("_fused_adam_", ADAM), ("_fused_adamw_", ADAM), ("_fused_sgd_", SGD),
                                        ("_fused_adagrad_", ADAGRAD)])
def test_scale_and_rate_as_tensors(device, name, kind):
    for infinite in (0.0, 1.0):
        results = []
        for lib, place in ((torch, "cpu"), (mindtorch, device)):
            more = {"grad_scale": lib.tensor(4.0, device=place), "found_inf": lib.tensor(infinite, device=place)}
            results.append(run(lib, name, kind | {"lr": lib.tensor(0.01)}, "float32", place, **more))
        assert_same(results[1], results[0], 1e-5)


# How three counters may lie in a tensor of their values, or of more.
COUNTERS = {
    "apart": lambda lib, values: [value.clone() for value in values],
    "together": lambda lib, values: list(values.unbind()),
    "reversed": lambda lib, values: list(values.flip(0).unbind())[::-1],
    "with others": lambda lib, values: list(lib.cat([values, values]).unbind())[:3],
    "every second": lambda lib, values: list(lib.stack([values, values], 1)[:, 1].unbind()),
    "the same": lambda lib, values: [values[0], values[0], values[0]],
    "as a view": lambda lib, values: list(lib.cat([values, values])[3:].unbind()),
    "of one element": lambda lib, values: [value.reshape(1) for value in values],
}


@pytest.mark.parametrize("layout", COUNTERS)
def test_layouts_of_counters(device, layout):
    results = []
    for lib, place in ((torch, "cpu"), (mindtorch, device)):
        params = [lib.ones(2, device=place) for _ in range(3)]
        lists = [[lib.full_like(param, value) for param in params] for value in (0.5, 0.25, 0.125)]
        steps = COUNTERS[layout](lib, lib.tensor([1.0, 2.0, 3.0], device=place))
        lib._fused_adamw_(params, *lists, [], steps, **ADAM)
        results.append({"params": params, "steps": steps})
    assert_same(results[1], results[0], 1e-6)


def bad_calls(lib, device):
    def ones(count=1, dtype="float32"):
        return [lib.ones(2, dtype=getattr(lib, dtype), device=device) for _ in range(count)]

    def steps():
        return [lib.tensor(1.0, device=device)]
    plain = SGD | {"is_first_step": True}
    return {
        "rates": lambda: lib._fused_adam_(ones(), ones(), ones(), ones(), [], steps(),
                                          **ADAM | {"lr": lib.tensor([0.1, 0.2])}),
        "nothing": lambda: lib._fused_adam_([], [], [], [], [], [], **ADAM),
        "grads": lambda: lib._fused_adam_(ones(), [], ones(), ones(), [], steps(), **ADAM),
        "steps": lambda: lib._fused_adamw_(ones(), ones(), ones(), ones(), [], [], **ADAM),
        "no maxima": lambda: lib._fused_adam_(ones(), ones(), ones(), ones(), [], steps(), **ADAM | {"amsgrad": True}),
        "more moments": lambda: lib._fused_adam_(ones(), ones(), ones(2), ones(), [], steps(), **ADAM),
        "dtypes": lambda: lib._fused_adam_(ones(1, "bfloat16"), ones(), ones(), ones(), [], steps(), **ADAM),
        "integers": lambda: lib._fused_sgd_(ones(1, "int32"), ones(1, "int32"), [], **plain),
        "momenta": lambda: lib._fused_sgd_(ones(), ones(), ones(), **plain),
        "no momenta": lambda: lib._fused_sgd_(ones(), ones(), [], **plain | {"momentum": 0.9}),
        "adagrad nothing": lambda: lib._fused_adagrad_([], [], [], [], **ADAGRAD),
        "adagrad sums": lambda: lib._fused_adagrad_(ones(), ones(), [], steps(), **ADAGRAD),
        "adagrad integers": lambda: lib._fused_adagrad_(
            ones(1, "int32"), ones(1, "int32"), ones(), steps(), **ADAGRAD),
    }


@pytest.mark.parametrize("name", bad_calls(torch, "cpu"))
def test_errors(device, name):
    with pytest.raises((RuntimeError, NotImplementedError)) as theirs:
        bad_calls(torch, "cpu")[name]()
    with pytest.raises(theirs.type) as ours:
        bad_calls(mindtorch, device)[name]()
    start = str(theirs.value).split("  (")[0].split(".  ")[0]
    assert ours.type is theirs.type
    assert str(ours.value).startswith(start)


def test_shapes_are_compared(device):
    """torch reads beyond the gradient here."""
    made = [mindtorch.ones(3, device=device)], [mindtorch.ones(2, device=device)]
    with pytest.raises(RuntimeError, match="shape"):
        mindtorch._fused_sgd_(*made, [], **SGD, is_first_step=True)


def test_launches():
    state = state_of(mindtorch, "_fused_adamw_", ADAM, "float32", "npu")
    grads = [tensor.clone() for tensor in state["self"]]
    with sim.counting() as counts:
        mindtorch._fused_adamw_(**state, grads=grads, **ADAM)
    assert counts["aclnnApplyAdamWV2"] == len(SHAPES)
    assert counts["aclnnForeachSubScalarV2"] == 1
    with sim.counting() as counts:
        mindtorch._fused_sgd_(state["self"], grads, [], **SGD, is_first_step=True)
    assert counts["aclnnFusedSgd"] == 1


def test_versions_are_counted(device):
    state = state_of(mindtorch, "_fused_adam_", ADAM, "float32", device)
    grads = [tensor.clone() for tensor in state["self"]]
    before = state["self"][0]._version, state["exp_avgs"][0]._version
    mindtorch._fused_adam_(**state, grads=grads, **ADAM)
    assert (state["self"][0]._version, state["exp_avgs"][0]._version) == (before[0] + 1, before[1] + 1)


def test_steps_may_lie_on_the_host():
    results = []
    for place in ("cpu", "npu"):
        state = state_of(mindtorch, "_fused_adamw_", ADAM, "float32", "npu")
        state["state_steps"] = [mindtorch.tensor(3.0, device=place) for _ in SHAPES]
        grads = [tensor.clone() for tensor in state["self"]]
        mindtorch._fused_adamw_(**state, grads=grads, **ADAM)
        results.append(state["self"])
    assert all((a == b).all() for a, b in zip(*results, strict=True))


def test_gradients_on_another_device():
    made = [mindtorch.ones(3, device="npu")], [mindtorch.ones(3)]
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        mindtorch._fused_sgd_(*made, [], **SGD, is_first_step=True)


@pytest.mark.parametrize("function", ["aclnnApplyAdamWV2", "aclnnApplyAdamWV2GetWorkspaceSize", "aclCreateTensor",
                                      "aclnnForeachSubScalarV2"])
@pytest.mark.usefixtures("queue_mode")
def test_faults_leave_nothing_behind(function):
    state = state_of(mindtorch, "_fused_adamw_", ADAM, "float32", "npu")
    grads = [tensor.clone() for tensor in state["self"]]
    new = ADAM | {"lr": next(NEW_NUMBERS)}
    with sim.fault(function, 2 if function == "aclCreateTensor" else 1), pytest.raises(RuntimeError, match=function):
        (mindtorch._fused_adamw_(**state, grads=grads, **new), mindtorch.npu.synchronize())
    mindtorch._fused_adamw_(**state, grads=grads, **ADAM)


def refused(lib, name, dtype, device):
    """The error of a step with such tensors, or None."""
    def tensors():
        return [lib.ones(3, device=device).to(getattr(lib, dtype))]
    steps = [lib.tensor(1.0, device=device)]
    calls = {
        "_fused_adam_": lambda: lib._fused_adam_(tensors(), tensors(), tensors(), tensors(), [], steps, **ADAM),
        "_fused_adamw_": lambda: lib._fused_adamw_(tensors(), tensors(), tensors(), tensors(), [], steps, **ADAM),
        "_fused_sgd_": lambda: lib._fused_sgd_(tensors(), tensors(), [], **SGD, is_first_step=False),
        "_fused_adagrad_": lambda: lib._fused_adagrad_(tensors(), tensors(), tensors(), steps, **ADAGRAD),
        "_amp_foreach_non_finite_check_and_unscale_": lambda: lib._amp_foreach_non_finite_check_and_unscale_(
            tensors(), lib.zeros(1, device=device), lib.ones(1, device=device))}
    try:
        calls[name]()
    except NotImplementedError as error:
        return str(error)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int64", "bool", "complex64", "uint16", "uint32",
                                   "uint64", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz",
                                   "float8_e8m0fnu"])
@pytest.mark.parametrize("name", ["_fused_adam_", "_fused_adamw_", "_fused_sgd_", "_fused_adagrad_",
                                  "_amp_foreach_non_finite_check_and_unscale_"])
def test_dtypes(name, dtype):
    """What torch does not step in is refused in its words, complex numbers and floats of 8 bits too."""
    assert refused(mindtorch, name, dtype, "cpu") == refused(torch, name, dtype, "cpu")


@pytest.mark.parametrize("dtype", ["complex64", "int64"])
@pytest.mark.parametrize("name", ["_fused_adam_", "_fused_sgd_", "_fused_adagrad_"])
def test_dtypes_on_the_npu(name, dtype):
    assert "not implemented for" in refused(mindtorch, name, dtype, "npu")
