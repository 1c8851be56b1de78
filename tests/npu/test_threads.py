"""Many threads at once: each with its own stream, all on one device, all on one stream."""
import threading

import pytest
from threads import in_threads

import mindtorch as torch

THREADS = 8


def compute(number, rounds=60):
    total = torch.full((50, 50), float(number), device="npu")
    for step in range(rounds):
        scratch = torch.ones((50 + step, 50), device="npu") * number
        total = total + scratch[step:]
    product = total @ torch.ones((50, 1), device="npu")       # takes a workspace
    expected = number * (rounds + 1)
    assert total.to("cpu").numpy().min() == total.to("cpu").numpy().max() == expected
    assert product[7, 0].item() == 50 * expected


def test_each_thread_on_its_own_stream():
    def work(number):
        with torch.npu.stream(torch.npu.Stream()):
            compute(number)
    in_threads(work)


def test_all_threads_on_the_default_stream():
    in_threads(compute)


def test_threads_hand_tensors_over():
    results = [None] * THREADS
    in_threads(lambda number: results.__setitem__(number, torch.full((100,), float(number), device="npu") + 1))
    torch.npu.synchronize()
    assert sum(results[1:], results[0])[0].item() == sum(range(1, THREADS + 1))


def test_workspaces_grow_under_concurrent_use():
    def work(number):
        for size in (10, 300, 20, 700):
            a = torch.ones((size, size), device="npu")
            assert (a @ a)[0, 0].item() == size
            assert a.sum().item() == size * size
    in_threads(work)


def test_caches_are_emptied_while_others_compute():
    done = threading.Event()

    def work(number):
        if number == 0:
            while not done.is_set():
                torch.npu.empty_cache()
        else:
            try:
                compute(number, rounds=30)
            finally:
                if number == 1:
                    done.set()
    in_threads(work, 4)


def test_pinned_copies_from_many_threads():
    def work(number):
        for _ in range(20):
            source = torch.npu.pin_memory(torch.full((5000,), float(number)))
            there = source.to("npu", non_blocking=True)
            del source
            assert there.to("cpu").numpy().tolist() == [float(number)] * 5000
    in_threads(work)


def test_an_error_in_one_thread_leaves_the_others_alone():
    def work(number):
        if number % 2:
            with pytest.raises(RuntimeError):
                torch.ones((2, 3), device="npu") @ torch.ones((2, 3), device="npu")
        compute(number, rounds=10)
    in_threads(work)
