"""Profiles that meet other threads, generators, errors and __torch_function__ on the way: nothing is left changed."""
import gc
import os
import subprocess
import sys
import textwrap

import pytest

import mindtorch
from mindtorch import profiler
from mindtorch.autograd import _profiled_functions as profiled_functions
from mindtorch.autograd.profiler import profile, record_function


def codes():
    """What Python functions of operators run, by name."""
    return {name: value.__code__ for name, value in vars(mindtorch.nn.functional).items() if hasattr(value, "__code__")}


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


@pytest.mark.parametrize("after", [0, 3, 40])
def test_a_beginning_that_is_interrupted(after, monkeypatch):
    """Ctrl-C while the entries change: all are as before, and the next profile works."""
    works()
    before = codes()
    take, count = profiled_functions._PythonFunction.enter_profiled, []

    def interrupted(self, on):
        count.append(on)
        if on and len(count) > after:
            raise KeyboardInterrupt
        take(self, on)

    with monkeypatch.context() as patched:
        patched.setattr(profiled_functions._PythonFunction, "enter_profiled", interrupted)
        with pytest.raises(KeyboardInterrupt), profile():
            pass
    assert codes() == before
    works()


def test_a_first_beginning_that_is_interrupted():
    """While functions are prepared, which happens once in a process."""
    ran("""
        import mindtorch, pytest
        from mindtorch._core.python import profiling
        from mindtorch.autograd import _profiled_functions as functions
        from mindtorch.autograd.profiler import profile
        named, take = functions._named, functions._PythonFunction._take
        def stop(*args):
            raise KeyboardInterrupt
        before = {name: v.__code__ for name, v in vars(mindtorch.nn.functional).items() if hasattr(v, "__code__")}
        for owner, name in ((functions, "_named"), (functions._PythonFunction, "_take")):
            own = getattr(owner, name)
            setattr(owner, name, stop)
            with pytest.raises(KeyboardInterrupt):
                with profile():
                    pass
            setattr(owner, name, own)
        assert before == {n: v.__code__ for n, v in vars(mindtorch.nn.functional).items() if hasattr(v, "__code__")}
        with profile() as recorded:
            mindtorch.nn.functional.dropout(mindtorch.relu(mindtorch.ones(2)))
        assert [e.name for e in recorded.function_events][:3] == ["aten::ones", "aten::relu", "aten::dropout"]
    """)


def test_memory_that_cannot_be_asked_at_the_end(monkeypatch):
    answers = [0, 0]                            # for the beginning of a range

    def bytes_or_fail():
        if not answers:
            raise RuntimeError("the device has failed")
        return answers.pop()

    from mindtorch import _backend
    before = codes()
    monkeypatch.setattr(_backend, "allocated_bytes", bytes_or_fail)
    recorded = profiler.profile(profile_memory=True)
    recorded.start()
    opened = [record_function("a"), record_function("b")]
    for one in opened:
        one.__enter__()
    with pytest.raises(RuntimeError, match="the device has failed"):
        recorded.stop()
    assert codes() == before
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


def ran(code):
    """In a process of its own, where nobody has asked for anything yet."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False,
                          timeout=120)
    assert done.returncode == 0, done.stderr


# The first thread becomes slow when it has put half of the entries in; then the second one begins.
RACE = """
import threading, time
import mindtorch
from mindtorch._tensor import function_overrides
from mindtorch.autograd.profiler import profile
from mindtorch.nn import functional

halfway, errors, exchanged, exchange = threading.Event(), [], [], function_overrides._replace_code

def slow(*args, **kwargs):
    exchanged.append(args)
    if len(exchanged) == 30:
        halfway.set()
        time.sleep(0.3)
    return exchange(*args, **kwargs)

function_overrides._replace_code = slow

def use():
    class Mine(mindtorch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            return "asked"
    x = mindtorch.ones(2).as_subclass(Mine)
    for function in (functional.softplus, functional.gelu, functional.dropout, functional.normalize, mindtorch.relu,
                     mindtorch.special.expit, mindtorch.fft.fft, mindtorch.Tensor.sum, mindtorch.Tensor.unflatten):
        assert function(x) == "asked", function
    assert (x + 1, x[0], 2 - x, mindtorch.stack([x]), x.T) == ("asked",) * 5

def caught(function):
    try:
        function()
    except BaseException as error:
        errors.append(repr(error))

def together(second):
    threads = [threading.Thread(target=caught, args=(use,)), threading.Thread(target=caught, args=(second,))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors
    use()
"""


def test_threads_that_make_the_protocol_active_together():
    """The second waits until the first has put the entries in, rather than going through those that are missing."""
    ran(RACE + """
def second():
    halfway.wait()
    use()
together(second)
""")


def test_a_profile_that_begins_while_the_protocol_becomes_active():
    """Both change the same functions: those of the protocol stay, those of the profile go."""
    ran(RACE + """
def second():
    halfway.wait()
    with profile() as recorded:
        functional.dropout(mindtorch.ones(2))
        time.sleep(0.5)             # the first would go on meanwhile, if it could
    assert "aten::dropout" in [event.name for event in recorded.function_events]
together(second)
""")


def test_a_protocol_that_becomes_active_while_a_profile_runs():
    ran(RACE + """
def second():
    with profile():
        halfway.wait()
        use()
together(second)
with profile() as recorded:
    functional.dropout(mindtorch.ones(2))
assert "aten::dropout" in [event.name for event in recorded.function_events]
""")


def test_an_interrupted_activation_is_tried_again():
    ran("""
        import mindtorch
        from mindtorch._tensor import function_overrides
        from mindtorch.nn import functional
        class Mine:
            @classmethod
            def __torch_function__(cls, function, types, args=(), kwargs=None):
                return "asked"
        count, own = [], function_overrides._replace_code
        def interrupted(*args, **kwargs):
            count.append(args)
            if len(count) == 20:
                raise KeyboardInterrupt
            return own(*args, **kwargs)
        function_overrides._replace_code = interrupted
        try:
            mindtorch.relu(Mine())
        except KeyboardInterrupt:
            pass
        else:
            raise AssertionError("was not interrupted")
        assert mindtorch.relu(mindtorch.ones(2)).tolist() == [1, 1]
        for function in (mindtorch.relu, functional.softplus, functional.normalize, mindtorch.fft.fft, mindtorch.add):
            assert function(Mine()) == "asked", function
        assert functional.normalize(mindtorch.ones(2), dim=0).tolist()
        asked_of = []
        class Watching(mindtorch.overrides.TorchFunctionMode):
            def __torch_function__(self, function, types, args=(), kwargs=None):
                asked_of.append(function)
                return function(*args, **(kwargs or {}))
        with Watching():
            mindtorch.tensor([1.0])
        assert asked_of == [mindtorch.tensor], asked_of
    """)
