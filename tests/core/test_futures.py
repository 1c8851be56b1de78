"""torch.futures beside torch's."""
import pickle
import threading

import pytest
import torch as reference

import mindtorch.futures


def outcome(function, *args):
    try:
        return function(*args)
    except Exception as error:      # noqa: BLE001 - whatever it is, it is compared
        return type(error).__name__, str(error).split("\n")[0].split(": incompatible")[0]


def results(lib):
    """A result, what follows from it, and what is refused."""
    future, seen = lib.Future(), []
    following = future.then(lambda done: done.value() + 1)
    future.add_done_callback(lambda done: seen.append(done.value()))
    before = future.done()
    outcomes = [outcome(future.set_result, 3), outcome(future.set_result, 4), future.wait(), future.value(),
                following.wait()]
    late = future.then(lambda done: done.value() * 2)
    return [before, future.done(), *outcomes, late.wait(), seen, lib.wait_all([future, following]),
            [done.wait() for done in lib.collect_all([late, future]).wait()], lib.collect_all([]).wait()]


def failures(lib):
    """Exceptions that are set, and those of callbacks."""
    future = lib.Future()
    following = future.then(lambda done: done.value())
    future.set_exception(ValueError("no"))
    good = lib.Future()
    good.set_result(1)
    failing = good.then(lambda done: 1 / 0)
    return [outcome(future.wait), outcome(future.value), outcome(following.wait), outcome(failing.wait),
            outcome(lib.wait_all, [good, future]), outcome(lib.collect_all([future, good]).wait),
            outcome(lib.Future().set_exception, 3), outcome(lambda: lib.Future(devices=["cpu"])), outcome(good.then, 3),
            outcome(lib.Future().value)[0]]


@pytest.mark.parametrize("scenario", [results, failures])
def test_futures_behave_as_torchs(scenario):
    assert scenario(mindtorch.futures) == scenario(reference.futures)


def test_wait_waits_for_another_thread():
    future = mindtorch.futures.Future()
    thread = threading.Timer(0.01, future.set_result, ["there"])
    thread.start()
    assert future.wait() == "there"
    thread.join()


def test_what_a_callback_raises_is_a_warning():
    future = mindtorch.futures.Future()
    future.add_done_callback(lambda done: 1 / 0)
    with pytest.warns(UserWarning, match="ZeroDivisionError"):
        future.set_result(2)
    assert future.wait() == 2


@pytest.mark.filterwarnings("ignore:`torch.jit")
def test_futures_of_jit():
    def run(lib):
        done = [lib.jit.wait(lib.jit.fork(lambda x, y=1: x + y, 2, y=3))]
        for call in (lambda: lib.jit.wait(None), lambda: lib.futures.wait_all([None]),
                     lambda: lib.futures.collect_all([lib.futures.Future(), None]),
                     lambda: pickle.dumps(lib.futures.Future())):
            with pytest.raises(RuntimeError) as error:
                call()
            done.append(str(error.value))
        with pytest.raises(ZeroDivisionError):
            lib.jit.fork(lambda: 1 // 0)
        return done
    assert run(mindtorch) == run(reference)
