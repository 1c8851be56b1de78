"""Profiles that meet generators, errors, interrupts and child processes on the way: the next profile works."""
import gc
import os
import subprocess
import sys

import pytest

import mindtorch
from mindtorch import profiler
from mindtorch.autograd.profiler import profile, record_function


def works():
    """Whether a profile records, now."""
    with profile() as recorded:
        mindtorch.relu(mindtorch.ones(2))
    assert [event.name for event in recorded.function_events] == ["aten::ones", "aten::relu"]


class AddsItself:
    """No number and no tensor: the tensor's operator gives NotImplemented."""

    def __radd__(self, other):
        return "added"

    __rmul__ = __radd__


def test_operators_that_pass_the_other_operand_the_turn():
    x = mindtorch.ones(2)
    with profile(with_flops=True) as recorded:
        assert (x + AddsItself(), x * AddsItself()) == ("added", "added")
    assert [event.flops for event in recorded.function_events if event.name in ("aten::add", "aten::mul")] == [None] * 2


def test_answers_that_are_no_tensors():
    class Odd(mindtorch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            return "odd"

    x = mindtorch.ones(2, 2)
    with Odd(), profile(with_flops=True):
        assert (mindtorch.mm(x, x), mindtorch.add(x, x)) == ("odd", "odd")
    works()


def test_ranges_that_end_in_another_order_than_they_began():
    """As those of two generators in turn do."""
    def steps(name):
        with record_function(name):
            mindtorch.ones(1)
            yield
            mindtorch.ones(2)

    with profile() as recorded:
        first, second = steps("first"), steps("second")
        next(first), next(second)
        assert (next(first, None), next(second, None)) == (None, None)
        mindtorch.zeros(3)
    events = recorded.function_events
    for event in events:
        if event.cpu_parent is not None:
            assert event.time_range.start <= event.cpu_parent.time_range.end, event.name
    zeros = next(event for event in events if event.name == "aten::zeros")
    assert zeros.cpu_parent is None


def test_a_range_that_a_generator_leaves_open():
    def endless():
        with record_function("open"):
            yield

    with profile() as recorded:
        one = endless()
        next(one)
    del one                                     # the range ends after the profile
    assert [event.name for event in recorded.function_events] == ["open"]
    works()


def test_a_first_beginning_that_is_interrupted():
    """While functions get their names, which happens once in a process."""
    code = """
import mindtorch, pytest
from mindtorch.autograd import _profiled_functions as functions
from mindtorch.autograd.profiler import profile
named = functions._operator_names
def stop():
    raise KeyboardInterrupt
functions._operator_names = stop
with pytest.raises(KeyboardInterrupt), profile():
    pass
functions._operator_names = named
with profile() as recorded:
    mindtorch.nn.functional.dropout(mindtorch.relu(mindtorch.ones(2)))
assert [e.name for e in recorded.function_events][:3] == ["aten::ones", "aten::relu", "aten::dropout"]
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr


def test_memory_that_cannot_be_asked_at_the_end(monkeypatch):
    answers = [0, 0]                            # for the beginning of a range

    def bytes_or_fail():
        if not answers:
            raise RuntimeError("the device has failed")
        return answers.pop()

    from mindtorch import _backend
    monkeypatch.setattr(_backend, "allocated_bytes", bytes_or_fail)
    recorded = profiler.profile(profile_memory=True)
    recorded.start()
    opened = [record_function("a"), record_function("b")]
    for one in opened:
        one.__enter__()
    with pytest.raises(RuntimeError, match="the device has failed"):
        recorded.stop()
    works()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes do not fork here")
def test_a_child_process_that_leaves_the_profile_of_its_parent():
    with profile() as recorded:
        mindtorch.ones(1)
        child = os.fork()
        if not child:
            status = 1
            try:
                recorded.__exit__(None, None, None)
                works()
                status = 0
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        mindtorch.zeros(1)
    assert [event.name for event in recorded.function_events] == ["aten::ones", "aten::zeros"]


def test_nothing_is_kept():
    works()

    def ranges():
        gc.collect()
        return sum(type(one).__name__ == "Range" for one in gc.get_objects())

    before = ranges()
    for _ in range(3):
        works()
    assert ranges() == before
