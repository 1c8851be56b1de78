"""torch.multiprocessing: functions run in several processes at once, and how they fail."""
import os
import pickle
import select
import signal
import subprocess
import sys
import time

import pytest

import mindtorch as torch
import mindtorch.multiprocessing as mp


def write_square(index, folder, number):
    (folder / str(index)).write_text(str((torch.tensor(number) + index).pow(2).item()), encoding="utf-8")


def fail_in_one(index):
    if index == 1:
        raise KeyError("this one")
    time.sleep(60)


def leave(index, how):
    if how == "exit":
        raise SystemExit(7)
    os.kill(os.getpid(), signal.SIGKILL)


def square(x):
    return x ** 2


def test_each_process_does_its_part(tmp_path):
    assert mp.spawn(write_square, args=(tmp_path, 3), nprocs=2) is None
    assert [(tmp_path / str(index)).read_text() for index in range(2)] == ["9", "16"]


def test_without_waiting(tmp_path):
    started = mp.start_processes(write_square, args=(tmp_path, 3), nprocs=2, join=False, start_method="fork")
    assert [process.pid for process in started.processes] == started.pids()
    while not started.join(timeout=0.1):
        pass
    assert started.join()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0", "1"]


def test_one_that_raises_ends_the_others():
    with pytest.raises(mp.ProcessRaisedException, match=r"-- Process 1 terminated with the following error:") as caught:
        mp.start_processes(fail_in_one, nprocs=2, start_method="fork")
    assert "KeyError: 'this one'" in str(caught.value)
    assert caught.value.error_index == 1
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.error_pid) == (str(caught.value), caught.value.error_pid)


@pytest.mark.parametrize(("how", "text", "code", "name"), [
    ("exit", "process 0 terminated with exit code 7", 7, None),
    ("kill", "process 0 terminated with signal SIGKILL", -signal.SIGKILL, "SIGKILL")])
def test_one_that_leaves(how, text, code, name):
    with pytest.raises(mp.ProcessExitedException, match=text) as caught:
        mp.start_processes(leave, args=(how,), start_method="fork")
    again = pickle.loads(pickle.dumps(caught.value))
    for error in (caught.value, again):
        assert (error.exit_code, error.signal_name) == (code, name)


def test_none_is_left_when_the_parent_is_killed():
    parent = subprocess.Popen([sys.executable, "-c", """if True:
        import os, signal
        import mindtorch.multiprocessing as mp
        def wait(index):
            os.write(1, b"%d\\n" % os.getpid())
            signal.pause()
        mp.start_processes(wait, nprocs=2, start_method="fork")"""], stdout=subprocess.PIPE)
    with parent.stdout as reports:
        descriptors = [os.pidfd_open(int(reports.readline())) for _ in range(2)]
        parent.kill()
        parent.wait()
    for descriptor in descriptors:
        assert select.select([descriptor], [], [], 60)[0]
        os.close(descriptor)


def test_pythons_own_names():
    with mp.get_context("fork").Pool(1) as pool:
        assert pool.apply(square, (torch.tensor([1, 3]),)).tolist() == [1, 9]
    assert mp.get_sharing_strategy() in mp.get_all_sharing_strategies()
    mp.set_sharing_strategy("file_system")
    assert mp.get_sharing_strategy() == "file_system"
    mp.set_sharing_strategy("file_descriptor")
    with pytest.raises(AssertionError, match="invalid sharing strategy 'x'"):
        mp.set_sharing_strategy("x")
