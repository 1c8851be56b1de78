"""The fuzzer itself: it repeats a seed, finds what is wrong, and shrinks it."""
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import run
import torch
from programs import Comparison, Statement, Writer, shrink, source
from run import ROOT, Report
from worker import allowed, fuzz_hostile

import mindtorch

pytestmark = pytest.mark.one_mode


def program(*texts):
    return [Statement(text, text.partition("(")[0].rpartition(".")[2]) for text in texts]


def test_a_seed_is_a_program():
    first, second = ([statement.text for statement in Writer(7).write(12)] for _ in range(2))
    assert first == second
    assert len(first) >= 12


def test_a_wrong_operator_is_found_and_shrunk(device, monkeypatch):
    monkeypatch.setattr(mindtorch, "sigmoid", lambda x: x.tanh())
    long = program("a = torch.ones(2, 3, device=device)", "b = a.t()", "c = b + 1", "d = torch.sigmoid(b)", "e = d + c")
    found = Comparison(long, device).run()
    assert (found.device, found.kind, found.program[-1].text) == (device, "values", long[3].text)
    found = shrink(found, lambda *_: None)
    assert [statement.text for statement in found.program] == [long[0].text, long[1].text, long[3].text]
    assert "d = torch.sigmoid(b)\n    return d" in source(found)


WRONG = {
    "dtype": lambda a: a.double(), "shape": lambda a: a[:1], "stride": lambda a: a.t().contiguous().t(),
    "requires_grad": lambda a: a.detach().requires_grad_(), "values": lambda a: a + 1e-4, "result": lambda a: None,
    "storage_offset": lambda a: mindtorch.cat([a, a])[2:],
}


@pytest.mark.parametrize("kind", WRONG)
def test_kinds_of_differences(kind, monkeypatch):
    monkeypatch.setattr(mindtorch, "abs", WRONG[kind])
    assert Comparison(program("a = torch.ones(2, 3)", "b = torch.abs(a)"), "cpu").run().kind == kind


def test_a_program_goes_on_after_a_difference_with_a_reason(monkeypatch):
    monkeypatch.setattr(mindtorch, "abs", WRONG["stride"])
    monkeypatch.setattr(mindtorch, "square", WRONG["values"])
    texts = program("v1 = torch.ones(2, 3)", "v2 = torch.abs(v1)", "v3 = v2 + 1", "v4 = torch.square(v1)")
    comparison = Comparison(texts, "cpu", lambda device, statement, kind, *_: "order" if kind == "stride" else None)
    found = comparison.run()
    assert (found.kind, found.program[-1].text) == ("values", texts[3].text)
    assert comparison.reasons == ["order"]


def test_a_reason_is_looked_for_before_its_variables_are_forgotten(monkeypatch):
    """The target and the result of a write differ for one reason, which asks for the operands of both."""
    monkeypatch.setattr(mindtorch.Tensor, "addmm_", lambda self, *_: self.add_(1))
    texts = program("v1 = torch.ones(2, 2) * 3", "v2 = v1.addmm_(v1, v1)")
    comparison = Comparison(texts, "cpu", lambda device, statement, kind, words, before, names:
                            "shared" if kind == "values" and "v1" in names else None)
    assert comparison.run() is None
    assert comparison.reasons == ["shared", "shared"]


def test_values_behind_an_expanded_tensor_are_made_equal(monkeypatch):
    """What torch writes to and mindtorch refuses has torch's values afterwards."""
    texts = program("v1 = torch.ones(3, 1).expand(3, 4)", "v1[torch.tensor([True, False, True])] = 2", "v2 = v1 + 1")
    assert Comparison(texts, "cpu", lambda *_: "refused").run() is None


def test_a_gradient_keeps_the_extremum_that_it_has_saved(device):
    """torch's value stands in the result, and not where the gradient looks for the sum that equals it."""
    texts = program("v1 = torch.tensor([[1.0, 2.0], [3.0, 4.0]], device=device).requires_grad_()",
                    "v2 = torch.linalg.norm(v1, 1)")
    comparison = Comparison(texts, device)
    assert comparison.run() is None
    comparison.theirs["v2"].data.mul_(1 + torch.finfo(torch.float32).eps)
    assert comparison.synchronise(refused=False)
    assert comparison.ours["v2"].item() == comparison.theirs["v2"].item() > 6
    comparison.ours["v2"].backward()
    assert comparison.ours["v1"].grad.tolist() == [[0, 1], [0, 1]]


def test_errors_are_compared(monkeypatch):
    wrong = program("a = torch.ones(2, 3)", "b = torch.abs(a, 1)")
    assert Comparison(wrong, "cpu").run() is None

    def refuse(*_):
        raise ValueError

    monkeypatch.setattr(mindtorch, "abs", refuse)
    assert Comparison(wrong, "cpu").run().kind == "error"


def test_views_that_a_write_has_made_invalid_are_compared(device):
    texts = program("a = torch.ones(4, device=device, requires_grad=True) * 1", "b = a.split(1)[3]",
                    "a[:2].mul_(2)", "c = b.detach() + 1", "b.add_(1)")
    assert Comparison(texts, device).run() is None


def test_a_wrong_gradient_is_no_rounding():
    """Within four times torch's own distance from float64 a gradient may differ, and no further."""
    texts = program("a = torch.tensor([1.0001, 1.0002], requires_grad=True)", "b = ((a - 1) ** 0.5).sum()",
                    "b.backward()")
    texts[0] = Statement(texts[0].text, "literal", "a")
    one = Comparison(texts, "cpu")
    assert one.run() is None
    right = one.theirs["a"].grad
    own = (right - torch.tensor(one.exact("a.grad", 2))).abs().max()
    assert one.unequal(right, right + 2 * own, "a.grad", 2) == ""
    assert one.unequal(right, right * 1.01, "a.grad", 2) != ""


def test_the_bound_is_that_of_the_operator():
    """A sum of large numbers that cancel may differ by more than its own last place."""
    texts = program("a = torch.tensor([1e4, 1.0, -1e4, 0.001])", "b = a.sum()")
    texts[0] = Statement(texts[0].text, "literal", "a")
    assert Comparison(texts, "cpu").run() is None
    one = Comparison(texts, "cpu")
    one.run()
    assert one.unequal(torch.tensor(1.001), torch.tensor(1.0012), "b", 1) == ""
    assert one.unequal(torch.tensor(1.001), torch.tensor(1.3), "b", 1) != ""


def test_a_reason_has_to_fit():
    statement = Statement("v2 = v1.grad", "grad")
    assert allowed("cpu", statement, "stride", "") is not None
    assert allowed("cpu", statement, "values", "") is None


@pytest.mark.parametrize(("operator", "text", "words", "values"), [
    ("argsort", "v2 = v1.argsort()", "torch np.int64(1)", ([1.0, 1.0], [1.0, 2.0])),
    ("bucketize", "v2 = torch.bucketize(1, v1)", "", ([2.0, 1.0], [1.0, 2.0])),
    ("signbit", "v2 = torch.signbit(v1)", "", ([float("nan")], [1.0])),
    ("to", "v2 = v1.to(torch.int64)", "torch np.int64(1)", ([float("nan")], [1.0])),
    ("to", "v2 = v1.to(torch.int64)", "torch np.int64(1)", ([1e10], [1.0])),
    ("addmm_", "v1.addmm_(v1, v1)", "", ([1.0], None)),
    ("pow", "v2 = v1.pow(0.5)", "torch np.float64(nan), here np.float64(inf)", ([float("-inf")], [1.0])),
    ("autograd.functional.jacobian", "v2 = torch.autograd.functional.jacobian(lambda x: x.sort(-1)[0], v1)", "",
     ([1.0, 1.0], [1.0, 2.0])),
])
def test_a_reason_asks_for_what_makes_it_true(operator, text, words, values):
    statement = Statement(text, operator)
    found = [allowed("cpu", statement, "values", words, (), {} if each is None else {"v1": torch.tensor(each)})
             for each in values]
    assert found[0] is not None
    assert found[1] is None
    assert allowed("cpu", statement, "values", words) is None


def test_a_reason_asks_for_the_text_of_a_call_that_gave_several_results():
    words = "v3[0]: torch np.float64(-0.0029093), here np.float64(-0.0029092); 1 of 1 differ, torch.float32"
    for function in ("gelu", "silu"):
        text = f"v2 = torch.func.jvp(lambda x: torch.nn.functional.{function}(x), (v1,), (v1,))"
        found = allowed("cpu", Statement("v3 = v2[0]", "func.jvp"), "values", words, [Statement(text, "func.jvp")])
        assert (found is not None) == (function == "gelu")


def test_a_reason_asks_for_the_factor_of_an_earlier_statement():
    before = [Statement("v2 = torch.logdet(v1)", "logdet")]
    backward, words = Statement("v2.sum().backward()", "backward"), "torch np.float32(nan), here np.float32(inf)"
    for matrix, fits in ((torch.ones(2, 2), True), (torch.eye(2), False)):
        assert (allowed("cpu", backward, "values", words, before, {"v1": matrix}) is not None) == fits


@pytest.mark.parametrize(("text", "operator", "words", "fitting", "other"), [
    ("v2 = v1.addr_(v1[0], v1[0])", "addr_", "torch: RuntimeError('some elements of the input tensor and the "
     "written-to tensor refer to a single memory location'), here: None", [[1.0, 2.0]], [[1.0, 2.0], [3.0, 4.0]]),
    ("v2 = torch.linalg.solve(v1, v1)", "linalg.solve", "torch: _LinAlgError('torch.linalg.solve: The solver failed "
     "because the input matrix is singular.'), here: None", [[1.0, 2.0], [2.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]]),
])
def test_a_reason_of_an_error_asks_for_what_makes_it_true(text, operator, words, fitting, other):
    found = [allowed("cpu", Statement(text, operator), "error", words, (), {"v1": torch.tensor(values)})
             for values in (fitting, other)]
    assert found[0] is not None
    assert found[1] is None


def test_operators_within_a_statement_may_be_inexact():
    """torch's result may be exact by luck, where one of several operators amplifies what another rounds."""
    texts = program("a = torch.tensor([3.23, 3.97])", "b = torch.vmap(torch.func.grad(lambda x: x.tanh()))(a)")
    texts[0] = Statement(texts[0].text, "literal", "a")
    one = Comparison(texts, "cpu")
    one.run()
    right = one.theirs["b"]
    assert one.unequal(right, right + 1.3e-7, "b", 1) == ""
    assert one.unequal(right, right + 1e-5, "b", 1) != ""


def test_what_a_transform_has_saved_may_be_inexact_in_backward():
    """1 less the square of a tanh near 1 amplifies what rounds the tanh, which no variable holds."""
    texts = program("a = torch.tensor([9.7344], dtype=torch.float64, requires_grad=True)",
                    "b = torch.func.grad_and_value(lambda x: x.tanh().sum())(a)[1]", "b.backward()")
    one = Comparison([texts[0], texts[1], Statement(texts[2].text, "backward")], "cpu")
    assert one.run() is None
    right = one.theirs["a"].grad
    assert one.unequal(right, right * (1 + 3e-9), "a.grad", 2) == ""
    assert one.unequal(right, right * (1 + 1e-3), "a.grad", 2) != ""


def test_a_reason_says_how_near():
    words = "v2[0]: torch np.float64({}), here np.float64(0.50892631102); 1 of 1 differ, torch.float64"
    for number, fits in ((0.5089263109, True), (0.508926, False)):
        found = allowed("cpu", Statement("v2 = v1.igamma(v1)", "igamma"), "values", words.format(number))
        assert (found is not None) == fits


@pytest.mark.parametrize(("call", "torchs", "ours", "dtype", "fits"), [
    ("special.ndtr(v1)", 2.980232238769531e-07, 2.8665158424701076e-07, "float32", True),
    ("nn.functional.gelu(v1)", 0.0, -5.9195262025468764e-09, "float16", True),
    ("special.ndtr(v1)", 2.980232238769531e-07, 2.8665158424701076e-03, "float32", False),
    ("special.ndtr(v1)", 6.106226635438361e-16, 6.220960574271756e-16, "float64", True),
    ("special.ndtr(v1)", 2.9e-07, 2.8e-07, "float64", False),
    ("special.log_ndtr(v1)", 2.98e-07, 2.86e-07, "float32", False),
])
def test_what_is_lost_beside_1_is_small(call, torchs, ours, dtype, fits):
    words = f"v2[0]: torch np.float64({torchs}), here np.float64({ours}); 1 of 1 differ, torch.{dtype}"
    statement = Statement(f"v2 = torch.{call}", call.partition("(")[0])
    assert (allowed("cpu", statement, "values", words) is not None) == fits


def test_one_inexact_element_does_not_excuse_others():
    """A large element's error is allowed for its size: others have to be as exact for theirs."""
    texts = program("a = torch.tensor([1e-3, 2.0, 2.0])", "b = 1 / a")
    one = Comparison(texts, "cpu")
    assert one.run() is None
    right = one.theirs["b"]
    assert one.unequal(right, right + torch.tensor([1e-4, 0.0, 0.0]), "b", 1) == ""
    assert one.unequal(right, right + torch.tensor([0.0, 1e-4, 0.0]), "b", 1) != ""


@pytest.mark.parametrize("seed", range(5))
def test_hostile_calls_run(seed):
    steps = list(fuzz_hostile(seed))
    assert len(steps) == 4


@pytest.mark.parametrize(("signature", "statuses"), [
    (None, (0, 0)), (("cpu", "add", "values"), (1, 0)), (("npu", "live objects", "events"), (1, 1)),
    (("npu", "add", "fault"), (1, 1)),
])
def test_what_fails(signature, statuses, capsys):
    """Everything without a reason, or, where differences are tolerated, what no program may do."""
    report = Report()
    report.add("programs", {"program": []})
    if signature is not None:
        report.add("programs", {"signature": signature, "seed": 7, "source": ""})
    assert (report.close(5, tolerant=False), report.close(5, tolerant=True)) == statuses
    assert ("make fuzz SEED=5" in capsys.readouterr().out) == (signature is not None)


def test_calls_that_print_disturb_no_events():
    """Events are lines of JSON on the standard output, on which a call that is tried may print, too."""
    code = ("import os, worker; worker.take_output(); print('a call prints', flush=True); "
            "os.write(1, b'so does C\\n'); worker.emit(steps=1)")
    ran = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parent, capture_output=True, text=True,
                         env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True)
    assert json.loads(ran.stdout) == {"steps": 1}


class DyingWorker:
    """A worker whose process is found dead, of a fault of the device, before anybody has read what it said."""
    kind, current, left = "programs", None, 2

    def __init__(self, *_):
        self.process = self

    def poll(self):
        return run.DEVICE_FAULT

    def done(self):
        return self.left == 0

    def events(self):
        self.left -= 1
        yield {"program": [], "seed": 2 - self.left}

    def went_down(self):
        return None                 # it has been started anew


def test_a_worker_that_dies_between_two_looks_is_started_anew(monkeypatch, capsys):
    monkeypatch.setattr(run, "Worker", DyingWorker)
    monkeypatch.setattr(sys, "argv", ["run.py", "--kinds", "programs", "--seed", "1"])
    assert run.main() == 0
    assert "3 programs" in capsys.readouterr().out


def test_zeros_without_memory_are_no_output():
    """torch's gradient of sgn: its storage has no address, and nothing can be written to it."""
    writer = Writer(0)
    writer.names["v0"] = torch._efficientzerotensor((3,))
    assert all(writer.output("") != "v0" for _ in range(20))
