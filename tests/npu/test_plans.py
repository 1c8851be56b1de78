"""Formulas that launch again what an equal call has launched: what is launched, and that nothing but time changes.

Most run in a process of their own: where several streams are in use, plans with tables of numbers are over.
"""
import pytest
from process import COUNT_AT_EXIT, run

BEGIN = """
import math
import mindtorch as torch
from mindtorch import sim

def x_of(*numbers):
    return torch.tensor(numbers, device="npu")

def sinc(x):                # four launches without a table
    return torch.special.spherical_bessel_j0(x)

def expected(x):
    return [math.sin(v) / v for v in x.tolist()]

def close(ours, theirs):
    assert torch.allclose(ours.cpu(), torch.tensor(theirs, dtype=ours.dtype), rtol=1e-4, atol=1e-6), (ours, theirs)

def launches(function, *args):
    "How many operators a call launches, and how many of them it asks phase 1 for."
    with sim.counting() as counts:
        result = function(*args)
    operators = [name for name in counts if name.startswith("aclnn") and not name.endswith("GetWorkspaceSize")]
    return sum(counts[name] for name in operators), sum(counts[f"{name}GetWorkspaceSize"] for name in operators)

def warm(function, *args):
    for _ in range(4):
        function(*args)
"""


def alone(code, **environment):
    return run(BEGIN + code, **environment)


def test_from_the_third_call_on():
    alone("""
x = x_of(1.0, 2.0, 3.0)
assert [launches(sinc, x) for _ in range(4)] == [(4, 4), (4, 4), (4, 0), (4, 0)]
for step in range(5):                       # other elements, in other memory
    y = x + step
    assert launches(sinc, y) == (4, 0)
    close(sinc(y), expected(y))
""")


def test_what_a_call_depends_on():
    """Shape, strides, offset, dtype, and which operands are the same: each is recorded by itself."""
    alone("""
x = torch.arange(1.0, 13.0, device="npu").reshape(3, 4)
for y in (x, x.t(), x[1:], x[:, 1:3], x.double(), x.double().t(), x[0], x[0, 0]):
    assert launches(sinc, y) == (launches(sinc, y)[0],) * 2, y
    for _ in range(3):
        close(sinc(y), torch.special.spherical_bessel_j0(y.cpu().double()).to(y.dtype).tolist())
    assert launches(sinc, y)[1] == 0, y
out = x.clone()
for _ in range(4):
    out.copy_(x)
    assert torch.special.spherical_bessel_j0(out, out=out) is out
    close(out.flatten(), expected(x.flatten()))
""")


def test_numbers_are_of_the_key():
    alone("""
x = x_of(2.0, 3.0)
warm(torch.special.zeta, x, 2.5)
assert launches(torch.special.zeta, x, 2.5)[1] == 0
for q in (1.0, 2.0, 3.0):
    for _ in range(4):
        ours = torch.special.zeta(x, q)
        close(ours, torch.special.zeta(x.cpu(), q).tolist())
""")


def test_what_is_read_decides():
    """Which terms zeta takes is read from its operand: a part is launched again only where it is the right one."""
    alone("""
s = x_of(2.0, 3.0, 4.0)
operands = [x_of(1.5, 2.0, 3.0), x_of(-1.5, -40.25, 3.0), x_of(-200.5, 1.0, 0.0), x_of(5.0, float("inf"), 1.0)]
for _ in range(6):
    for q in operands:
        ours, theirs = torch.special.zeta(s, q).tolist(), torch.special.zeta(s.cpu().double(), q.cpu()).tolist()
        for a, b in zip(ours, theirs):
            assert a == b or math.isnan(a) and math.isnan(b) or abs(a - b) < 1e-4 * abs(b), (q, ours, theirs)
assert launches(torch.special.zeta, s, operands[0])[1] == 0
degrees = [torch.tensor(n, device="npu") for n in ([1, 2, 3], [0, -1, 4], [2, 2, 2], [5, 0, 1])]
for _ in range(6):
    for n in degrees:
        x = torch.rand(3, device="npu")
        close(torch.special.hermite_polynomial_he(x, n),
              torch.special.hermite_polynomial_he(x.cpu(), n.cpu()).tolist())
""")


def test_random_numbers_are_drawn_anew():
    alone("""
torch.manual_seed(3)
p = torch.full((50,), 0.5, device="npu")
def draw():
    return ([tuple(torch.binomial(p * 20, p).tolist()) for _ in range(6)]
            + [tuple(torch.poisson(p).tolist()) for _ in range(6)])
drawn = draw()
assert len(set(drawn)) == 12
torch.manual_seed(3)
assert draw() == drawn
""")


def test_what_is_kept_is_freed():
    """By empty_cache, by other kinds of calls, and at the end of the process."""
    out = run(COUNT_AT_EXIT + BEGIN + """
x = x_of(1.0, 2.0)
torch.npu.empty_cache()
before = sim.live_objects()
warm(sinc, x)
assert sim.live_objects()["executor"] == 4
torch.npu.empty_cache()
assert sim.live_objects() == before
for size in range(1, 60):
    y = torch.ones(size, device="npu")
    warm(sinc, y)
assert sim.live_objects()["executor"] <= 4 * 16
torch.npu.empty_cache()
warm(torch.special.bessel_y1, x)
torch.npu.empty_cache()
assert launches(torch.special.bessel_y1, x)[1] > 0
warm(torch.igamma, x, x)
warm(torch.special.zeta, x, 2.5)
""").stdout
    assert out.strip() == "left: {}"


def test_large_temporaries_are_not_kept():
    alone("""
x = torch.ones(100_000, device="npu")
for _ in range(5):
    launched, prepared = launches(torch.special.bessel_j0, x)
    assert launched == prepared
assert sim.live_objects().get("executor", 0) == 0
assert torch.npu.memory_allocated() < 3e6
""")


@pytest.mark.parametrize("function", ["aclSetTensorAddr", "aclnnSin", "aclnnInplaceDiv", "aclrtMalloc"])
def test_failures(function):
    """The exception names the function; the call after it is right, and so are those that follow."""
    alone(f"""
x = x_of(1.0, 2.0)
warm(sinc, x)
torch.npu.empty_cache()
warm(sinc, x)
y = torch.ones(3, device="npu") if "{function}" == "aclrtMalloc" else x_of(2.0, 3.0)
keep = [torch.empty(2, device="npu") for _ in range(3)]         # so that the result has other memory
if "{function}" == "aclrtMalloc":
    large = torch.ones(30_000_000, device="npu")
    try:
        with sim.fault("aclrtMalloc", times=100):
            torch.special.spherical_bessel_j0(large)
        raise SystemExit("no exception")
    except RuntimeError:
        pass
else:
    try:
        with sim.fault("{function}"):
            result = sinc(y)
        raise SystemExit("no exception")
    except RuntimeError as error:
        assert "{function}" in str(error), error
for step in range(5):
    z = x + step
    close(sinc(z), expected(z))
assert launches(sinc, x) == (4, 0)
torch.npu.empty_cache()
assert "executor" not in sim.live_objects()
""")


@pytest.mark.parametrize("function", ["aclnnSinGetWorkspaceSize", "aclnnSin", "aclCreateTensor"])
def test_failures_while_recording(function):
    alone(f"""
x = x_of(1.0, 2.0)
sinc(x)
try:
    with sim.fault("{function}"):
        sinc(x)
    raise SystemExit("no exception")
except RuntimeError as error:
    assert "{function}" in str(error), error
assert "executor" not in sim.live_objects() and "tensor" not in sim.live_objects()
close(sinc(x), expected(x))
assert launches(sinc, x) == (4, 0)
close(sinc(x), expected(x))
""")


def test_an_operator_that_is_not_repeatable():
    """A toolkit may refuse any: the formula is then launched as ever."""
    alone("""
x = x_of(1.0, 2.0)
with sim.fault("aclSetAclOpExecutorRepeatable", times=1000):
    assert [launches(sinc, x) for _ in range(5)] == [(4, 4)] * 5
close(sinc(x), expected(x))
assert "executor" not in sim.live_objects()
""")


def test_executors_that_cann_keeps():
    """Phase 1 gives executors again that cannot be repeated: what is recorded gets others, and leaves others none."""
    alone("""
x, y = x_of(1.0, 2.0), x_of(3.0, 4.0)
for _ in range(2):
    torch.abs(x), torch.sin(x), torch.clamp(x, 0, 1)            # the same launches as those of the formula
warm(sinc, x)
assert launches(sinc, y) == (4, 0)
close(sinc(y), expected(y))
warm(torch.special.i0e, x)
assert launches(torch.special.i0e, y)[1] == 0
torch.npu.empty_cache()
warm(sinc, x)
assert launches(sinc, y) == (4, 0)
assert launches(torch.abs, x) == (1, 1)
""", MINDTORCH_SIM_OP_CACHE="1")


def test_threads():
    """One plan for all: who finds it in use runs the formula."""
    alone("""
import threading
wrong = []
def work(number):
    for step in range(300):
        x = torch.full((3,), 1.0 + number + step / 100, device="npu")
        ours, theirs = sinc(x).tolist()[0], torch.special.bessel_y1(x).tolist()[0]
        v = x.tolist()[0]
        if abs(ours - math.sin(v) / v) > 1e-5 or abs(theirs - torch.special.bessel_y1(torch.tensor(v)).item()) > 1e-4:
            wrong.append((v, ours, theirs))
threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not wrong, wrong[:5]
""")


def test_streams():
    """Without tables plans go on; those with tables are over, since these are made anew in the order of each stream."""
    alone("""
x = x_of(1.0, 2.0)
warm(sinc, x)
warm(torch.special.bessel_j0, x)
assert launches(torch.special.bessel_j0, x)[1] == 0
with torch.npu.stream(torch.npu.Stream()):
    y = x_of(3.0, 4.0)
    assert launches(sinc, y)[1] == 0
    close(sinc(y), expected(y))
    assert launches(torch.special.bessel_j0, y)[1] > 0
    close(torch.special.bessel_j0(y), torch.special.bessel_j0(y.cpu()).tolist())
assert launches(torch.special.bessel_j0, x)[1] > 0
close(torch.special.bessel_j0(x), torch.special.bessel_j0(x.cpu()).tolist())
""")


def test_capture():
    alone("""
x = x_of(1.0, 2.0)
warm(sinc, x)
graph = torch.npu.NPUGraph()
with torch.npu.graph(graph):
    y = sinc(x)
for step in range(3):
    x.copy_(x_of(3.0 + step, 4.0 + step))
    graph.replay()
    close(y, expected(x))
""")


def test_who_wants_to_see_launches():
    alone("""
x = x_of(1.0, 2.0)
warm(sinc, x)
with torch.profiler.profile() as profile:
    sinc(x)
names = {event.name for event in profile.events()}
assert {"aclnnSin", "aclnnAbs", "aclnnClamp"} <= names, names
assert launches(sinc, x)[1] == 0
""")
    alone("""
x = x_of(1.0, 2.0)
assert [launches(sinc, x) for _ in range(4)] == [(4, 4)] * 4
""", ACL_LAUNCH_BLOCKING="1")


@pytest.mark.parametrize("change", ["torch.npu.set_deterministic_level(1)", "torch.npu.set_device_limit(0, 2, 2)"])
def test_other_kernels(change):
    """What phase 1 has found out before is not right any more."""
    alone(f"""
x = x_of(1.0, 2.0)
warm(sinc, x)
{change}
assert [launches(sinc, x) for _ in range(3)] == [(4, 4), (4, 4), (4, 0)]
""")


def test_derivatives():
    """Formulas of derivatives are other rows and record no history: gradients are as before."""
    alone("""
for step in range(6):
    x = x_of(1.0 + step, 2.5).requires_grad_()
    torch.special.i0e(x).sum().backward()
    z = x.detach().cpu().requires_grad_()
    torch.special.i0e(z).sum().backward()
    close(x.grad, z.grad.tolist())
""")
