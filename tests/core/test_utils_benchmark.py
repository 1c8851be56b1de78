"""torch.utils.benchmark: of the same times both libraries say the same; a Timer waits for the device."""
import random

import pytest
import torch.utils.benchmark as theirs

import mindtorch as torch
import mindtorch.utils.benchmark as ours
from mindtorch import sim

TRIM, WARN = "trim_significant_figures", "highlight_warnings"
SETTINGS = [(), (TRIM,), (WARN,), (TRIM, WARN)]


def drawn(seed):
    """Measurements as plain values: (executions, times, description of the task)."""
    draw = random.Random(seed)
    environments = draw.choice([[None], ["E", "FFF"]])
    measured = []
    for _ in range(draw.randint(1, 6)):
        # float32 has seven digits, and torch computes in it
        spread, base = draw.choice([1.0001, 1.01, 1.3, 3]), 10 ** draw.uniform(-5, -4)
        times = [base * draw.uniform(1, spread) for _ in range(draw.choice([1, 2, 3, 4, 5, 8, 20]))]
        measured.append((draw.choice([1, 10]), times, {
            "stmt": draw.choice(["x + 1", "y", "a\nb"]), "setup": draw.choice(["pass", "z = 1", "c\nd"]),
            "label": draw.choice([None, "L", "label"]), "sub_label": draw.choice([None, "S", "longer"]),
            "description": draw.choice(["D", "EEE"]), "env": draw.choice(environments),
            "num_threads": draw.choice([1, 1, 4])}))
    return measured


def measurements(library, measured):
    return [library.Measurement(number, list(times), library.TaskSpec(**task)) for number, times, task in measured]


@pytest.mark.parametrize("seed", range(25))
def test_measurements_and_tables(seed):
    both = [measurements(library, drawn(seed)) for library in (ours, theirs)]
    for mine, other in zip(*both, strict=True):
        assert repr(mine).split("\n")[1:] == repr(other).split("\n")[1:]
        for name in ("mean", "median", "iqr"):
            assert getattr(mine, name) == pytest.approx(getattr(other, name))
        for name in ("significant_figures", "has_warnings", "title", "as_row_name", "env", "label"):
            assert getattr(mine, name) == getattr(other, name), name
    for settings in SETTINGS:
        tables = [library.Compare(measured) for library, measured in zip((ours, theirs), both, strict=True)]
        for table in tables:
            for setting in settings:
                getattr(table, setting)()
        assert str(tables[0]) == str(tables[1])


@pytest.mark.parametrize("value", [2e-9, 2.5e-7, 3e-5, 0.1, 12.0])
def test_units_and_digits(value):
    assert ours.select_unit(value) == theirs.select_unit(value)
    assert ours.unit_to_english("us") == theirs.unit_to_english("us")
    assert ours.trim_sigfig(value, 2) == pytest.approx(theirs.trim_sigfig(value, 2), rel=1e-6)


def test_a_timer_runs_setup_and_statement():
    calls = []
    before = torch.get_num_threads()
    timer = ours.Timer("calls.append(y)", "y = torch.get_num_threads()", globals={"calls": calls}, num_threads=2)
    measured = timer.timeit(100)
    assert (measured.number_per_run, len(measured.times), calls) == (100, 1, [2] * 102)
    assert torch.get_num_threads() == before
    assert len(timer.blocked_autorange(min_run_time=0.001).times) >= 1
    assert timer.adaptive_autorange(min_run_time=0.001, max_run_time=0.01).median > 0


def test_a_timer_waits_for_the_device():
    x = torch.ones(4, device="npu")
    torch.npu.synchronize()
    with sim.counting() as calls:
        ours.Timer("x + x", globals={"x": x}).timeit(10)
    assert calls["aclrtSynchronizeDevice"] >= 2


@pytest.mark.parametrize("settings", [{"rowwise": False}, {"rowwise": True}])
def test_colors_mark_the_fastest(settings):
    def measured(sub_label, description, time):
        return ours.Measurement(1, [time], ours.TaskSpec("x", "pass", "", "L", sub_label, description))
    table = ours.Compare([measured("a", "one", 1e-6), measured("a", "two", 9e-6), measured("b", "one", 8e-6)])
    table.colorize(**settings)
    fastest, *_ = [line for line in str(table).splitlines() if line.strip().startswith("a")]
    assert fastest.index("\033[92m") < fastest.index("1.0")


@pytest.mark.parametrize(("arguments", "error"), [
    ({"stmt": print}, ValueError), ({"language": "c++"}, NotImplementedError), ({"global_setup": "x"}, ValueError)])
def test_what_a_timer_refuses(arguments, error):
    with pytest.raises(error):
        ours.Timer(**arguments)
