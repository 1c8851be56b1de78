"""Calls that differ in one part of what phase 1 reads, and calls that do not, for test_executor_cache.py.

DIFFERENT and ALIKE: title -> two functions, which launch one operator each and differ in what the title says. The file
is run in a process of its own. It prints for each title how many calls CANN's cache did not know when the first ran for
the third time, then the second twice, then the first.
"""
import json
from concurrent.futures import ThreadPoolExecutor

import mindtorch as torch
import mindtorch._torch_npu as torch_npu
from mindtorch import npu
from mindtorch._npu import launch

functional = torch.nn.functional


def zeros(*sizes, **options):
    return torch.zeros(sizes, **{"device": "npu", **options})


a, b, c, square, image = zeros(4), zeros(4), zeros(4), zeros(4, 4), zeros(1, 2, 6, 6)
halves, columns = a.half(), square.t()
eights, other_eights, twelves = zeros(8), zeros(8), zeros(12)
weight, like_square, three = zeros(4), zeros(4, 4), zeros(3, 4)
zeros_on_0, zeros_on_1, with_gradient = zeros(7), zeros(7, device="npu:1"), zeros(4).requires_grad_()
query, mean = zeros(1, 2, 2, 16, dtype=torch.float16), zeros(4, 1)


def attention(layout):
    return torch_npu.npu_fusion_attention(query, query, query, 2, layout)


def norm_gradients(wanted):
    return torch.ops.aten.native_layer_norm_backward(square, square, [4], mean, mean, weight, weight, wanted)


def at_level(level):
    def call():
        npu.set_deterministic_level(level)
        try:
            return a + b
        finally:
            npu.set_deterministic_level(0)
    return call


def with_device_limit(cores):
    def call():
        npu.set_device_limit(0, cores, cores)
        return a + b
    return call


def with_stream_limit(cores):
    stream = npu.Stream()

    def call():
        if cores:
            npu.set_stream_limit(stream, cores, cores)
        with npu.stream(stream):
            result = a + b
        if cores:
            npu.reset_stream_limit(stream)
        return result
    return call


DIFFERENT = {
    "operator": (lambda: a + b, lambda: a - b),
    "in place": (lambda: a + b, lambda: a.add_(b)),
    "dtype": (lambda: torch.add(a, b, out=c), lambda: torch.add(halves, halves, out=halves)),
    "size": (lambda: torch.neg(eights[:4], out=c), lambda: torch.neg(eights[:3], out=c[:3])),
    "dimensions": (lambda: torch.neg(a, out=c), lambda: torch.neg(a[None], out=c[None])),
    "strides": (lambda: torch.abs(square, out=like_square), lambda: torch.abs(columns, out=like_square)),
    "strides of one element": (lambda: torch.abs(eights.as_strided((1,), (1,)), out=c[:1]),
                               lambda: torch.abs(eights.as_strided((1,), (3,)), out=c[:1])),
    "offset": (lambda: torch.sin(eights[:4], out=c), lambda: torch.sin(eights[1:5], out=c)),
    "storage": (lambda: torch.cos(eights[:4], out=c), lambda: torch.cos(twelves[:4], out=c)),
    "whole storage": (lambda: torch.exp(a, out=c), lambda: torch.exp(eights[:4], out=c)),
    "operands that share memory": (lambda: torch.mul(a, b, out=c), lambda: torch.mul(a, a, out=c)),
    "a result that shares memory": (lambda: torch.div(a, b, out=c), lambda: torch.div(a, b, out=b)),
    "which share memory": (lambda: torch.maximum(a, b, out=a), lambda: torch.maximum(a, b, out=b)),
    "shared memory in lists": (lambda: torch.stack([a, b, a], out=three), lambda: torch.stack([a, b, b], out=three)),
    "scalar": (lambda: torch.add(a, b, alpha=2), lambda: torch.add(a, b, alpha=3)),
    "kind of a scalar": (lambda: torch.full((4,), 1, dtype=torch.float32, device="npu"),
                         lambda: torch.full((4,), 1.0, device="npu")),
    "absent scalar": (lambda: torch.clamp(a, 0, 1), lambda: torch.clamp(a, 0)),
    "other absent scalar": (lambda: torch.clamp(a, 1), lambda: torch.clamp(a, None, 1)),
    "integer": (lambda: torch.softmax(square, 0), lambda: torch.softmax(square, 1)),
    "bool": (lambda: torch.sort(a, descending=False), lambda: torch.sort(a, descending=True)),
    "integers": (lambda: square.sum(0), lambda: square.sum(1)),
    "number of integers": (lambda: torch.roll(square, (1,), (0,)), lambda: torch.roll(square, (1, 1), (0, 1))),
    "bools": (lambda: norm_gradients([True, True, True]), lambda: norm_gradients([True, True, False])),
    "number": (lambda: functional.layer_norm(square, (4,), eps=1e-5),
               lambda: functional.layer_norm(square, (4,), eps=1e-3)),
    "absent tensor": (lambda: functional.layer_norm(square, (4,), weight),
                      lambda: functional.layer_norm(square, (4,), None, weight)),
    "length of a list": (lambda: torch.cat([a, b]), lambda: torch.cat([a, b, a])),
    "order in a list": (lambda: torch.cat([a, square[0]]), lambda: torch.cat([square[0], a])),
    "scalars": (lambda: torch._foreach_mul_([a, b], [2.0, 3.0]), lambda: torch._foreach_mul_([a, b], [2.0, 4.0])),
    "text": (lambda: attention("BNSD"), lambda: attention("BSND")),
    "determinism": (at_level(0), at_level(1)),
    "limit of a device": (with_device_limit(2), with_device_limit(3)),
    "limit of a stream": (with_stream_limit(0), with_stream_limit(4)),
    "device": (zeros_on_1.neg_, zeros_on_0.neg_),
}


def on_a_stream():
    with npu.stream(npu.Stream()):
        return torch.erf(a)


def in_a_graph():
    with npu.graph(npu.NPUGraph()):
        return torch.erf(a)


def in_a_thread():
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(torch.erf, a).result()


ALIKE = {
    "memory": (lambda: torch.erf(a), lambda: torch.erf(b)),
    "memory of a view": (lambda: torch.erf(eights[:4]), lambda: torch.erf(other_eights[:4])),
    "stream": (lambda: torch.erf(a), on_a_stream),
    "capture": (lambda: torch.erf(a), in_a_graph),
    "thread": (lambda: torch.erf(a), in_a_thread),
    "gradients": (lambda: torch.erf(a), lambda: torch.erf(with_gradient)),
    "settings that were there before": (at_level(0), at_level(0)),
}


def misses(function):
    before = launch.executor_cache_stats()["misses"]
    function()
    npu.synchronize()                   # CANN keeps a call when its phase 2 has run
    return launch.executor_cache_stats()["misses"] - before


def main():
    counts = {}
    for title, (first, second) in {**DIFFERENT, **ALIKE}.items():
        npu.set_device_limit(0, 20, 20)
        misses(first), misses(first)
        counts[title] = misses(first), misses(second), misses(second), misses(first)
    print(json.dumps([counts, list(DIFFERENT)]))


if __name__ == "__main__":
    main()
