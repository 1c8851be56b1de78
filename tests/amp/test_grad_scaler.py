"""GradScaler beside torch's: scales and parameters over steps with infinities, states, errors, fused optimizers."""
import copy
import pickle
import warnings

import pytest
import torch

import mindtorch

# The gradient of every step; scaled, all stay finite but those that are not.
GRADIENTS = [1.0, 2.0, float("inf"), -1.0, 3.0, float("nan"), float("-inf"), 0.5, 0.25, 1.0, 4.0, 1.0]
OPTIMIZERS = {
    "SGD": {"lr": 0.1, "momentum": 0.9}, "Adam": {"lr": 0.1}, "AdamW": {"lr": 0.1, "foreach": True},
    "fused SGD": {"lr": 0.1, "momentum": 0.9, "fused": True}, "fused Adam": {"lr": 0.1, "fused": True},
    "fused AdamW": {"lr": 0.1, "fused": True}, "fused Adagrad": {"lr": 0.1, "fused": True},
}


def scaler_of(lib, device, **options):
    return lib.amp.GradScaler(device, **{"init_scale": 1024.0, "growth_interval": 3, **options})


def optimizer_of(lib, name, params):
    return getattr(lib.optim, name.removeprefix("fused "))(params, **OPTIMIZERS[name])


def run(lib, device, name, unscale=False, dtype="float32"):
    """(scale, tracker, parameter) after every step."""
    param = lib.tensor([1.0, 2.0, 3.0], dtype=getattr(lib, dtype), device=device).requires_grad_()
    other = lib.tensor([[0.5]], device=device).requires_grad_()
    optimizer, scaler, history = optimizer_of(lib, name, [param, other]), scaler_of(lib, device), []
    for gradient in GRADIENTS:
        optimizer.zero_grad()
        loss = (param * gradient).sum() + other.sum()
        scaler.scale(loss).backward()
        if unscale:
            scaler.unscale_(optimizer)
            lib.nn.utils.clip_grad_norm_([param, other], 1.0)
        result = scaler.step(optimizer)
        scaler.update()
        history.append((result, scaler.get_scale(), scaler._get_growth_tracker(), param.tolist(), other.item()))
    return history


def assert_same(ours, theirs, within=1e-6):
    for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        assert one[:3] == other[:3], f"step {number}"
        assert one[3] == pytest.approx(other[3], rel=1e-5, abs=within), f"step {number}"
        assert one[4] == pytest.approx(other[4], rel=1e-5, abs=within), f"step {number}"


@pytest.mark.parametrize("unscale", [False, True])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_beside_torch(device, name, unscale):
    assert_same(run(mindtorch, device, name, unscale), run(torch, "cpu", name, unscale))


def test_gradients_of_bfloat16_and_float64(device):
    for dtype, within in (("bfloat16", 2e-2), ("float64", 1e-6)):
        assert_same(run(mindtorch, device, "SGD", dtype=dtype), run(torch, "cpu", "SGD", dtype=dtype), within)


def outcome(call):
    """The result, or what was raised; with the warnings."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            value = call()
        except Exception as error:      # noqa: BLE001 - the error is what is compared
            return type(error).__name__, str(error)
    return str(value), [(w.category, str(w.message)) for w in warned]


# s is a scaler that has scaled, n one that has not, d one that is disabled, o an optimizer whose parameter has a
# gradient, h one of float16, e one without any; each expression sees new ones.
CALLS = """
lib.amp.GradScaler() and 1 | lib.amp.GradScaler("cpu", growth_factor=1.0)
lib.amp.GradScaler("cpu", backoff_factor=1.0) | n.get_scale() | n.state_dict() | n.update() | n.step(o)
n.unscale_(o) | n.scale(1) | n.scale([]) | n.is_enabled() | s.scale([t, 1]) | s.scale((t, [t])) | s.scale(t.half())
list(s.scale(iter([t]))) | s.scale({}.keys()).__class__.__name__ | s.step(o) | (s.step(o), s.step(o))
(s.unscale_(o), s.unscale_(o)) | (s.step(o), s.unscale_(o)) | s.update()
(s.unscale_(o), s.step(o), s.update(), s.state_dict()) | s.unscale_(h) | s.step(h) | s.step(e)
(s.unscale_(e), s.step(e)) | s.step(o, closure=lambda: 1) | (s.update(2.0), s.get_scale())
(s.update(t), s.get_scale()) | s.update("x") | s.update(lib.ones(2)) | s.update(lib.ones(()).requires_grad_())
s.load_state_dict({}) | s.load_state_dict({"scale": 1})
(s.load_state_dict({**s.state_dict(), "scale": 7.0, "_growth_tracker": 2}), s.get_scale(), s._get_growth_tracker())
(s.set_growth_factor(0.5), s.set_backoff_factor(3), s.set_growth_interval(9), s.state_dict()) | s.get_growth_factor()
s.get_backoff_factor() | s.get_growth_interval() | s._get_growth_tracker() | d.get_scale() | d.scale(3)
d.unscale_(o) | d.step(o) | d.update() | d.state_dict() | d.load_state_dict({}) | d.is_enabled()
d._get_growth_tracker() | d.get_growth_factor() | (s.unscale_(o), pickle.dumps(s))
pickle.loads(pickle.dumps(s)).state_dict() | d.__getstate__() | copy.deepcopy(s).get_scale()
pickle.loads(pickle.dumps(d)).is_enabled() | (s.step(o), s.update(), s.update())
"""


def scope(lib):
    def optimizer(dtype, gradient):
        param = lib.ones(2, dtype=dtype, requires_grad=True)
        param.grad = lib.ones(2, dtype=dtype) if gradient else None
        return lib.optim.SGD([param], lr=0.1)
    scaler = scaler_of(lib, "cpu")
    scaler.scale(lib.ones(1))
    return {"lib": lib, "copy": copy, "pickle": pickle, "n": scaler_of(lib, "cpu"), "s": scaler, "t": lib.tensor(1.5),
            "d": lib.amp.GradScaler("cpu", enabled=False), "o": optimizer(lib.float32, True),
            "h": optimizer(lib.float16, True), "e": optimizer(lib.float32, False)}


@pytest.mark.parametrize("expression", [e.strip() for line in CALLS.strip().splitlines() for e in line.split(" | ")])
def test_calls_and_errors(expression):
    theirs, ours = (outcome(lambda lib=lib: eval(expression, scope(lib))) for lib in (torch, mindtorch))
    assert ours == theirs


def test_a_loaded_state_goes_on(device):
    whole = run(mindtorch, device, "SGD")
    scaler, half = scaler_of(mindtorch, device, init_scale=2.0), scaler_of(mindtorch, device)
    for step, gradient in enumerate(GRADIENTS):
        if step == 4:
            scaler.load_state_dict(half.state_dict())
        current = half if step < 4 else scaler
        param = mindtorch.ones(1, device=device, requires_grad=True)
        optimizer = mindtorch.optim.SGD([param], lr=0.1)
        current.scale((param * gradient).sum()).backward()
        current.step(optimizer)
        current.update()
        assert current.get_scale() == whole[step][1]


def test_several_optimizers(device):
    params = [mindtorch.ones(2, device=device, requires_grad=True) for _ in range(2)]
    optimizers = [mindtorch.optim.SGD([param], lr=1.0) for param in params]
    scaler = scaler_of(mindtorch, device)
    scaler.scale(params[0].sum() + params[1].sum() * float("inf")).backward()
    for optimizer in optimizers:
        scaler.step(optimizer)
    scaler.update()
    assert [param.tolist() for param in params] == [[0, 0], [1, 1]]
    assert scaler.get_scale() == 512


def test_parameters_of_both_devices():
    params = [mindtorch.ones(2, device=device, requires_grad=True) for device in ("cpu", "npu")]
    optimizer, scaler = mindtorch.optim.SGD(params, lr=1.0), scaler_of(mindtorch, "npu")
    for losses, expected in (([1.0, 1.0], [0, 0]), ([float("nan"), 1.0], [0, 0])):
        optimizer.zero_grad()
        scaled = scaler.scale([param.sum() * factor for param, factor in zip(params, losses, strict=True)])
        for loss in scaled:
            loss.backward()
        scaler.step(optimizer)
        scaler.update()
        assert [param.tolist() for param in params] == [expected] * 2


def test_strided_gradients(device):
    param = mindtorch.ones(3, 4, device=device).t().requires_grad_()
    param.grad = mindtorch.full((3, 4), 2.0, device=device).t()
    optimizer, scaler = mindtorch.optim.SGD([param], lr=0.1), scaler_of(mindtorch, device)
    scaler.scale(mindtorch.ones(1, device=device))
    scaler.unscale_(optimizer)
    assert param.grad.tolist() == [[2 / 1024] * 3] * 4


LISTS = """
[w], two, one | [w], one, two | [w], one.double(), one | [w], one, one.double() | w, one, one | [n], one, one
[w.half(), w], one, one | [w.double()], zero, one | [w, w * float("inf")], zero, one | [w[:0]], zero, one
"""


@pytest.mark.parametrize("arguments", [e.strip() for line in LISTS.strip().splitlines() for e in line.split(" | ")])
def test_the_operator_on_lists(device, arguments):
    seen = []
    for lib, d in ((torch, "cpu"), (mindtorch, device)):
        names = {"w": lib.tensor([1.0, 2.0], device=d), "one": lib.full((1,), 2.0, device=d)}
        names |= {"zero": lib.zeros(1, device=d), "two": lib.zeros(2, device=d), "n": lib.ones(2, device=d).long()}
        given = eval(f"({arguments},)", names)

        def call(lib=lib, given=given):
            lib._amp_foreach_non_finite_check_and_unscale_(*given)
            return [t.tolist() for t in given[0]], given[1].tolist()
        seen.append(outcome(call))
    assert seen[1] == seen[0]


def test_what_the_operator_writes_lies_with_the_gradients():
    gradient, one = mindtorch.ones(2, device="npu"), mindtorch.ones(1)
    for found_inf, inv_scale in ((one, one.to("npu")), (one.to("npu"), one)):
        with pytest.raises(RuntimeError, match="same device, but found at least two devices, npu:0 and cpu!"):
            mindtorch._amp_foreach_non_finite_check_and_unscale_([gradient], found_inf, inv_scale)
    assert gradient.tolist() == [1, 1]


def test_the_npus_own_names():
    scaler = mindtorch.npu.amp.GradScaler(init_scale=8.0, growth_interval=1, dynamic=False)
    param = mindtorch.ones(2, device="npu", requires_grad=True)
    optimizer = mindtorch.optim.SGD([param], lr=1.0)
    for factor, expected in ((1.0, [0, 0]), (float("inf"), [0, 0])):
        optimizer.zero_grad()
        scaler.scale(param.sum() * factor).backward()
        scaler.step(optimizer)
        scaler.update()
        assert param.tolist() == expected
        assert scaler.get_scale() == 8
    with mindtorch.npu.amp.autocast():
        assert mindtorch.npu.is_autocast_enabled()
        assert param.reshape(1, 2).mm(param.reshape(2, 1)).dtype is mindtorch.float16
    assert mindtorch.bfloat16 in mindtorch.npu.get_amp_supported_dtype()
