"""Regions of autocast: their state, what they cast, the cache of parameters, gradients; beside torch's on the CPU."""
import threading
import warnings

import pytest
import torch

import mindtorch
import mindtorch.utils.checkpoint

torch.set_warn_always(True)         # so that no outcome depends on what ran before
LIBRARIES = (torch, mindtorch)
# Both have the names; where a device is meant it is "cpu", which torch has without a driver.
EXPRESSIONS = """
lib.is_autocast_enabled("cpu") | lib.is_autocast_enabled() | lib.is_autocast_enabled(1) | lib.get_autocast_dtype("cpu")
lib.is_autocast_enabled(device_type="cpu") | lib.get_autocast_dtype("cuda") | lib.is_autocast_enabled("cpu:0")
lib.set_autocast_enabled("cpu", 1) | lib.set_autocast_enabled(1) | lib.set_autocast_enabled("cpu", enabled=False)
lib.set_autocast_dtype("cpu", 1) | lib.set_autocast_cache_enabled(1) | lib.is_autocast_cache_enabled()
lib.autocast_increment_nesting() | lib.autocast_decrement_nesting() | lib.clear_autocast_cache()
lib.amp.is_autocast_available("cpu") | lib.amp.is_autocast_available(1) | lib.autocast(1) | lib.autocast()
vars(lib.autocast("cpu"))["fast_dtype"] | vars(lib.autocast("cpu", lib.float16))["fast_dtype"]
lib.autocast("cpu", lib.float64)._enabled | lib.autocast("cpu", lib.float32)._enabled | lib.autocast("cuda")._enabled
lib.autocast("cpu", lib.int8, enabled=False)._enabled | lib.autocast("cpu:0").device
lib.autocast("cpu", dtype="x").__enter__()
lib.is_autocast_cpu_enabled() | lib.set_autocast_cpu_enabled(False) | lib.set_autocast_cpu_enabled(1)
lib.get_autocast_cpu_dtype() | lib.set_autocast_cpu_dtype(lib.bfloat16) | lib.set_autocast_cpu_dtype(1)
lib.get_autocast_gpu_dtype() | lib.set_autocast_gpu_dtype(lib.float16)
lib.cpu.amp.autocast(False)._enabled | lib.cuda.amp.autocast()._enabled | lib.cuda.amp.autocast(False).fast_dtype
lib.cpu.amp.GradScaler(8.0).get_scale() | lib.cuda.amp.GradScaler().is_enabled() | lib.cuda.amp.common.__name__[-6:]
lib.cuda.amp.custom_fwd(lambda c: c).__name__ | lib.cuda.amp.custom_bwd(lambda c: c).__name__
lib.cuda.amp.custom_fwd(cast_inputs=lib.float32).keywords | lib.cpu.amp.autocast_mode.autocast().fast_dtype
lib.cuda.amp.common.amp_definitely_not_available()
lib.amp.custom_fwd(lambda c: c, device_type=1) | lib.amp.custom_bwd(lambda c: c, device_type=1) | lib.amp.custom_fwd()
lib.autocast("cpu", enabled=1).device | lib.autocast("cuda", enabled=False)._enabled
"""


def result(lib, expression):
    """The value and the warnings of an expression, or its error."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            value = eval(expression, {"lib": lib})
        except Exception as error:      # noqa: BLE001 - the error is what is compared
            return type(error).__name__, str(error)
    return str(value), [(w.category, str(w.message).partition(" (Triggered")[0]) for w in warned]


@pytest.mark.quick
@pytest.mark.parametrize("expression", [e.strip() for line in EXPRESSIONS.strip().splitlines()
                                        for e in line.split(" | ")])
def test_names_and_errors(expression):
    theirs, ours = (result(lib, expression) for lib in LIBRARIES)
    assert ours == theirs


def state(lib, device):
    lib.autocast_increment_nesting()
    return (lib.is_autocast_enabled(device), str(lib.get_autocast_dtype(device)), lib.is_autocast_cache_enabled(),
            lib.autocast_decrement_nesting())


def nested(lib, device):
    """The state, and what is cast, at each stage of regions in each other."""
    a = lib.ones(2, 2, device=device)
    seen = []

    def record_state():
        seen.append((*state(lib, device), str((a @ a).dtype), str((a + a).dtype)))
    record_state()
    with lib.autocast(device, dtype=lib.bfloat16):
        record_state()
        with lib.autocast(device, enabled=False):
            record_state()
            with lib.autocast(device, dtype=lib.float16, cache_enabled=False) as inner:
                record_state()
                assert isinstance(inner, lib.autocast)
            record_state()
        record_state()
    record_state()
    return seen


@pytest.mark.quick
def test_regions_nest(device):
    theirs, ours = nested(torch, "cpu"), nested(mindtorch, device)
    if device == "npu":         # whose dtype outside is another
        theirs = [(on, "torch.float16" if not depth else dtype, cache, depth, product, total)
                  for on, dtype, cache, depth, product, total in theirs]
    assert ours == theirs


def test_a_region_may_be_entered_again(device):
    region = mindtorch.autocast(device)
    with region, region:
        assert mindtorch.is_autocast_enabled(device)
    assert not mindtorch.is_autocast_enabled(device)

    @region
    def depth(n):
        assert mindtorch.is_autocast_enabled(device)
        return depth(n - 1) if n else mindtorch.ones(1, 1, device=device).mm(mindtorch.ones(1, 1, device=device)).dtype
    assert depth(3) is mindtorch.get_autocast_dtype(device)
    assert depth.__name__ == "depth"
    assert not mindtorch.is_autocast_enabled(device)


def test_the_state_comes_back_after_an_error(device):
    before = state(mindtorch, device)
    with pytest.raises(ZeroDivisionError), mindtorch.autocast(device, dtype=mindtorch.bfloat16, cache_enabled=False):
        raise ZeroDivisionError
    assert state(mindtorch, device) == before


def test_devices_have_their_own_regions():
    on_cpu, on_npu = mindtorch.ones(2, 2), mindtorch.ones(2, 2, device="npu")
    with mindtorch.autocast("npu"):
        assert (on_cpu @ on_cpu).dtype is mindtorch.float32
        assert (on_npu @ on_npu).dtype is mindtorch.float16
        with mindtorch.autocast("cpu"):
            assert (on_cpu @ on_cpu).dtype is mindtorch.bfloat16
            assert (on_npu @ on_npu).dtype is mindtorch.float16


def test_a_thread_begins_outside(device):
    seen, opened, looked = {}, threading.Event(), threading.Event()
    a = mindtorch.ones(2, 2, device=device)

    def other():
        seen["before"] = (a @ a).dtype
        with mindtorch.autocast(device, dtype=mindtorch.float16):
            opened.set()
            looked.wait(30)
            seen["inside"] = (a @ a).dtype
    with mindtorch.autocast(device, dtype=mindtorch.bfloat16):
        thread = threading.Thread(target=other)
        thread.start()
        assert opened.wait(30)
        seen["here"] = (a @ a).dtype
    seen["outside"] = (a @ a).dtype
    looked.set()
    thread.join()
    assert seen == {"before": mindtorch.float32, "inside": mindtorch.float16, "here": mindtorch.bfloat16,
                    "outside": mindtorch.float32}


# --- what is cast ----------------------------------------------------------------------------------------------------

# Where torch's CPU refuses or gives: a (float32), b (bfloat16), h (float16), d (float64), n (int64), w (a parameter).
CALLS = """
lib.stack([b, a]) | lib.stack([h, b]) | lib.stack([h, h]) | lib.stack([b, b]) | lib.stack([d, b]) | lib.stack([n, b])
lib.stack([b, h, a]) | lib.stack([a, h]) | lib.cat([n, n]) | lib.stack([h, a, b]) | lib.cat([a, a], out=o) | d @ d
h @ a | n @ n | lib.mm(a, a, out=o) | lib.addmm(a, a, a) | a.clone().addmm_(a, a) | lib.prod(h)
lib.prod(h, dtype=lib.float16) | lib.nn.functional.binary_cross_entropy(a * 0.5, a) | lib.einsum("ij,jk->ik", a, a)
lib.nn.functional.linear(a, a, a[0]) | lib.nn.functional.mse_loss(b, b) | lib.view_as_complex(h) | lib.matmul(d, a)
lib.nn.functional.mse_loss(input=b, target=b) | lib.baddbmm(input=a[None], batch1=b[None], batch2=h[None])
lib.nn.functional.cross_entropy(b, n[0]) | lib.bmm(a[None], a[None]) | lib.mv(a, a[0]) | lib.dot(a[0], a[0])
lib.roll(a, 1) | lib.roll(b, 1) | lib.roll(h, 1) | lib.roll(d, (1, 1), (0, 1)) | lib.roll(n, 1)
"""


def scope(lib):
    a = lib.tensor([[0.5, 1.0], [0.25, 0.75]])
    return {"lib": lib, "a": a, "b": a.to(lib.bfloat16), "h": a.to(lib.float16), "d": a.to(lib.float64),
            "n": lib.tensor([[0, 1], [1, 0]]), "o": lib.empty(0)}


def cast_result(lib, expression):
    names = scope(lib)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with lib.autocast("cpu"):
            try:
                value = eval(expression, names)
            except Exception as error:      # noqa: BLE001 - the error is what is compared
                return type(error).__name__, str(error)
    return str(value.dtype), value.to(lib.complex64 if value.is_complex() else lib.float64).tolist()


@pytest.mark.parametrize("expression", [e.strip() for line in CALLS.strip().splitlines() for e in line.split(" | ")])
def test_calls_beside_torch(expression):
    theirs, ours = (cast_result(lib, expression) for lib in LIBRARIES)
    if theirs[0] == "RuntimeError" and "same dtype" in theirs[1]:
        assert ours[0] == "RuntimeError"
    else:
        assert ours[0] == theirs[0]
        if ours[0].endswith("Error"):
            assert ours == theirs
        else:
            assert ours[1] == pytest.approx(theirs[1], rel=1e-2) if isinstance(ours[1], float) else True


def test_binary_cross_entropy_is_refused_on_the_npu():
    a = mindtorch.ones(2, device="npu")
    with mindtorch.autocast("npu"):
        with pytest.raises(RuntimeError, match="unsafe to autocast"):
            mindtorch.nn.functional.binary_cross_entropy(a, a)
        mindtorch.nn.functional.binary_cross_entropy_with_logits(a, a)
    mindtorch.nn.functional.binary_cross_entropy(a, a)


# --- gradients and the cache -----------------------------------------------------------------------------------------

def trained(lib, device, dtype):
    """Gradients, in the parameters' dtype, of a small model in a region; and the dtypes of results."""
    weights = [lib.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.5]], device=device).requires_grad_() for _ in range(2)]
    x = lib.tensor([[1.0, 2.0, -0.5]], device=device)
    with lib.autocast(device, dtype=getattr(lib, dtype)):
        y = lib.nn.functional.linear(x, weights[0]).relu() @ weights[1]
        loss = lib.nn.functional.mse_loss(y, x) + weights[0].mm(weights[1].t()).sum()
    loss.backward()
    return [w.grad for w in weights], str(y.dtype), str(loss.dtype)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_gradients_beside_torch(device, dtype):
    (theirs, *their_types), (ours, *our_types) = (trained(lib, d, dtype) for lib, d in ((torch, "cpu"),
                                                                                        (mindtorch, device)))
    assert our_types == their_types
    for one, other in zip(ours, theirs, strict=True):
        assert one.dtype is mindtorch.float32
        torch.testing.assert_close(torch.tensor(one.tolist()), other, rtol=2e-2, atol=2e-2)


def casts(lib, device, region, times=3):
    """How many different nodes cast the weight, over some products in a region; the first is not recorded."""
    weight = lib.ones(2, 2, device=device, requires_grad=True)
    with region:
        with lib.no_grad():
            assert lib.mm(weight, weight).grad_fn is None
        nodes = [lib.mm(weight, weight).grad_fn for _ in range(times)]
    return len({id(node.next_functions[place][0]) for node in nodes for place in (0, 1)})


def test_a_parameter_is_cast_once_a_region(device):
    for lib, d in ((torch, "cpu"), (mindtorch, device)):
        assert casts(lib, d, lib.autocast(d)) == 1
        assert casts(lib, d, lib.autocast(d, cache_enabled=False)) == 6


def test_the_cache_ends_with_the_outermost_region(device):
    weight = mindtorch.ones(2, 2, device=device, requires_grad=True)
    with mindtorch.autocast(device):
        with mindtorch.autocast(device):
            first = weight.mm(weight)
        assert weight.mm(weight).sum().item() == 8
        with mindtorch.no_grad():
            weight.fill_(2)
        assert weight.mm(weight).sum().item() == 8           # what was cast before, as in torch
        mindtorch.clear_autocast_cache()
        assert weight.mm(weight).sum().item() == 32
        with mindtorch.no_grad():
            weight.fill_(1)
    with mindtorch.autocast(device):
        assert weight.mm(weight).sum().item() == 8
    assert first.dtype is mindtorch.get_autocast_dtype(device)


def test_what_no_grad_casts_serves_what_is_recorded(device):
    weight = mindtorch.ones(2, 2, device=device, requires_grad=True)
    with mindtorch.autocast(device):
        with mindtorch.no_grad():
            assert not weight.mm(weight).requires_grad
        assert weight.mm(weight).requires_grad
        with mindtorch.inference_mode():
            assert weight.mm(weight).is_inference()
        weight.mm(weight).sum().backward()
    assert weight.grad.tolist() == [[4, 4], [4, 4]]


def square_function(lib, device, **options):
    class Square(lib.autograd.Function):
        @staticmethod
        @lib.amp.custom_fwd(device_type=device, **options)
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.seen = [str(x.dtype), lib.is_autocast_enabled(device)]
            Square.last = ctx
            return x @ x

        @staticmethod
        @lib.amp.custom_bwd(device_type=device)
        def backward(ctx, grad):
            x, = ctx.saved_tensors
            ctx.seen += [str(grad.dtype), lib.is_autocast_enabled(device), str(lib.get_autocast_dtype(device))]
            return grad @ x.t() + x.t() @ grad
    return Square


@pytest.mark.parametrize("options", [{}, {"cast_inputs": "float32"}, {"cast_inputs": "bfloat16"}])
@pytest.mark.parametrize("inside", [True, False])
def test_custom_functions(device, options, inside):
    seen = []
    for lib, d in ((torch, "cpu"), (mindtorch, device)):
        function = square_function(lib, d, **{key: getattr(lib, value) for key, value in options.items()})
        x = lib.ones(2, 2, device=d, requires_grad=True)
        with lib.autocast(d, dtype=lib.bfloat16, enabled=inside):
            result = function.apply(x)
        result.float().sum().backward()
        seen.append((str(result.dtype), function.last.seen, str(x.grad.dtype), x.grad.tolist()))
        function.last = None
    assert str(seen[0][1][:4]) == str(seen[1][1][:4])
    assert (seen[0][0], *seen[0][2:]) == (seen[1][0], *seen[1][2:])


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_checkpoints_run_again_in_the_same_state(device, use_reentrant):
    seen, x = [], mindtorch.ones(2, 2, device=device, requires_grad=True)

    def function(a):
        seen.append(state(mindtorch, device)[:3])
        return a @ a
    with mindtorch.autocast(device, dtype=mindtorch.bfloat16, cache_enabled=False):
        y = mindtorch.utils.checkpoint.checkpoint(function, x, use_reentrant=use_reentrant)
    y.sum().backward()
    assert seen == [(True, "torch.bfloat16", False)] * 2
    assert y.dtype is mindtorch.bfloat16
    assert x.grad.tolist() == [[4, 4], [4, 4]]
    assert not mindtorch.is_autocast_enabled(device)


def test_backward_inside_a_region(device):
    a = mindtorch.tensor([[0.5, 1.0], [0.25, 0.75]], device=device, requires_grad=True)
    grads = []
    for inside in (False, True):
        a.grad = None
        with mindtorch.autocast(device):
            loss = (a @ a).softmax(-1).log().sum() + a.exp().mul(a).cumsum(0).pow(2).norm() + a.prod()
            if inside:
                loss.backward()
        if not inside:
            loss.backward()
        grads.append(a.grad.reshape(-1).tolist())
        assert a.grad.dtype is mindtorch.float32
    assert grads[0] == pytest.approx(grads[1], rel=2e-2)


MODELS = {
    "convolutions": lambda nn: nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(),
                                             nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16, 5)),
    "attention": lambda nn: nn.TransformerEncoderLayer(12, 3, 24, dropout=0.0, batch_first=True),
    "norms": lambda nn: nn.Sequential(nn.Linear(4, 6), nn.LayerNorm(6), nn.GELU(), nn.Linear(6, 6), nn.Softmax(-1)),
}
INPUTS = {"convolutions": (2, 3, 4, 4), "attention": (2, 5, 12), "norms": (3, 4)}


def step(lib, device, name):
    """The dtype of a model's result in a region, and its gradients' size."""
    lib.manual_seed(0)
    model, x = MODELS[name](lib.nn), lib.arange(0.0, 1.0, 1 / torch.Size(INPUTS[name]).numel())
    model, x = model.to(device), x[:torch.Size(INPUTS[name]).numel()].reshape(INPUTS[name]).to(device)
    with lib.autocast(device, dtype=lib.bfloat16):
        y = model(x)
        loss = (y.float() ** 2).mean()
    loss.backward()
    return str(y.dtype), loss.item(), [p.grad.abs().sum().item() for p in model.parameters()]


@pytest.mark.parametrize("name", MODELS)
def test_models_beside_torch(name):
    theirs, ours = step(torch, "cpu", name), step(mindtorch, "cpu", name)
    assert ours[0] == theirs[0]
    assert ours[1] == pytest.approx(theirs[1], rel=2e-2)
    assert ours[2] == pytest.approx(theirs[2], rel=0.1, abs=1e-2)


@pytest.mark.parametrize("name", MODELS)
def test_models_on_the_npu(name):
    ours, cpu = step(mindtorch, "npu", name), step(mindtorch, "cpu", name)
    assert ours[1] == pytest.approx(cpu[1], rel=2e-2)
    assert ours[2] == pytest.approx(cpu[2], rel=0.1, abs=1e-2)
