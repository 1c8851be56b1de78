"""CANN's cache of executors, by keys of ours: which calls are alike, results and faults with it, its statistics."""
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from process import run

HERE = Path(__file__).parent
KEPT = {"MINDTORCH_SIM_OP_CACHE": "1"}


def test_a_call_that_differs_in_one_part_is_another_call():
    code = (HERE / "kept_calls.py").read_text()
    misses, different = json.loads(run(code, MINDTORCH_SIM_DEVICES="2", **KEPT).stdout)
    assert misses == {title: [0, int(title in different), 0, 0] for title in misses}


def test_attributes_of_operators_are_kept():
    code = """
import mindtorch as torch
a = torch.tensor([1.0, 1.5, float("nan")], device="npu")
for number in (2.0, 3.0, 4.0):
    lists = [torch.ones(2, device="npu"), torch.ones(3, device="npu")]
    torch._foreach_mul_(lists, torch.tensor(number, device="npu"))
    print(lists, torch.linspace(0, 5, 6, device="npu"), torch.isclose(a, a + 0.25, rtol=0.2), a.nan_to_num(7),
          a.logit(0.25), torch.quantile(a[:2], 0.5), a.cumsum(0), torch.nn.functional.gelu(a, approximate="tanh"))
"""
    assert run(code, **KEPT).stdout == run(code).stdout


# A program by a seed: operators over views of a few tensors, of which some die; streams, graphs, other memory.
RANDOM_PROGRAM = """
import random
import mindtorch as torch
from mindtorch import npu

chance = random.Random(SEED)
tensors = [torch.randn(4, 6, generator=torch.Generator().manual_seed(i)).to("npu") for i in range(6)]
side, graphs, launched = npu.Stream(), [], 0


def view(tensor):
    way = chance.randrange(7)
    if way == 1 and tensor.dim() == 2:
        return tensor.t()
    if way == 2 and tensor.size(0) > 1:
        return tensor[1:]
    if way == 3 and tensor.dim() == 2 and tensor.size(1) > 2:
        return tensor[:, ::2]
    if way == 4:
        return tensor[None].expand(2, *tensor.shape)[1]
    return tensor.reshape(-1) if way == 5 else tensor


def like(tensor):
    fitting = [view for other in tensors for view in (other, other.t()) if view.shape == tensor.shape]
    return chance.choice(fitting) if fitting else tensor.neg()


def step():
    one = view(chance.choice(tensors))
    other = like(one)
    number = chance.choice([0, 1, 2, 0.5])
    way = chance.randrange(12)
    if way == 0:
        return one + other
    if way == 1:
        return torch.add(one, other, alpha=number)
    if way == 2:
        one.mul_(0.5).add_(other, alpha=0.25)
        return one
    if way == 3:
        dim = chance.randrange(one.dim())
        return torch.cat([one, other, one], dim).narrow(dim, 1, one.size(dim))
    if way == 4:
        return one.softmax(chance.randrange(one.dim())) + one.sum() * 1e-3
    if way == 5:
        return torch.maximum(one, other, out=torch.empty_like(one))
    if way == 6:
        one.copy_(other.half() if number else other)
        return one
    if way == 7:
        torch._foreach_mul_([one, other], [0.5, 0.25])
        return other
    if way == 8:
        return torch.where(one > other, one, other).clamp(-5, None if number else 5)
    if way == 9:
        return one @ other.t() @ other if one.dim() == 2 else one * number
    if way == 10:
        return torch.stack([one, other]).mean(0) if number else torch.stack([one, other], -1).amax(-1)
    return torch.layer_norm(one, one.shape[-1:], eps=chance.choice([1e-5, 1e-3]))


for number in range(150):
    way = chance.randrange(12)
    if way == 0 and not graphs:
        npu.synchronize()
        graph = npu.NPUGraph()
        with npu.graph(graph):
            kept = tensors[0] * 0.5 + tensors[1].t().t()
        graphs.append((graph, kept))
    elif way == 1 and graphs:
        graphs[0][0].replay()
        made = graphs[0][1] + 1
        tensors[chance.randrange(2, 6)] = made
    elif way == 2:
        side.wait_stream(npu.current_stream())
        with npu.stream(side):
            made = step().clone()
        npu.current_stream().wait_stream(side)
        made.record_stream(npu.current_stream())
        tensors[chance.randrange(2, 6)] = made
    elif way == 3:
        npu.empty_cache()
    elif way == 4:
        npu.set_deterministic_level(chance.randrange(2))
    else:
        made = step()
        if made.numel() <= 60 and made.dim() <= 3 and bool(made.isfinite().all()):
            tensors[chance.randrange(2, 6)] = made
for tensor in tensors:
    print(tensor.tolist())
"""


# With each mode of TASK_QUEUE_ENABLE, with and without CANN's cache.
@pytest.mark.parametrize(("seed", "settings"), [
    (0, KEPT), (1, {**KEPT, "ACLNN_CACHE_LIMIT": "40"}), (2, {"TASK_QUEUE_ENABLE": "1"}),
    (3, {**KEPT, "TASK_QUEUE_ENABLE": "1"}), (4, {**KEPT, "TASK_QUEUE_ENABLE": "2"}),
    (5, {**KEPT, "TASK_QUEUE_ENABLE": "2", "ACLNN_CACHE_LIMIT": "40"})])
def test_random_programs_give_the_same_results(seed, settings):
    settings = {"TASK_QUEUE_ENABLE": "0", "MINDTORCH_SIM_OP_CACHE": "0", **settings}
    program = f"SEED = {seed}\n{RANDOM_PROGRAM}print(npu.executor_cache_stats()['hits'] > 50)"
    expected = run(program, TASK_QUEUE_ENABLE="0", MINDTORCH_SIM_OP_CACHE="0").stdout.splitlines()
    hits = str(settings["MINDTORCH_SIM_OP_CACHE"] == "1")
    assert run(program, **settings).stdout.splitlines() == [*expected[:-1], hits]


# With room for one call nearly all calls are looked for in vain.
@pytest.mark.parametrize("limit", ["1", "10000"])
def test_any_call_may_fail(limit):
    command = [sys.executable, "-m", "pytest", "-q", HERE / "test_faults.py", "-k", "do_all or workspace_allocation"]
    done = subprocess.run(command, env={**os.environ, **KEPT, "ACLNN_CACHE_LIMIT": limit}, capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stdout


STATS = """
import mindtorch as torch
print(torch.npu.executor_cache_stats())
a = torch.ones(4, device="npu")
for _ in range(5):
    a + a
    torch.npu.synchronize()                         # CANN keeps a call when its phase 2 has run
    torch.rand(4, device="npu")                     # nobody keeps calls with numbers of the generator
    a.masked_select(a > 0)                          # nor those whose results have other shapes
print(torch.npu.executor_cache_stats())
"""


@pytest.mark.parametrize(("settings", "hits", "misses"), [
    (KEPT, 8, 3), ({**KEPT, "MINDTORCH_EXECUTOR_CACHE": "0"}, 0, 0), ({"MINDTORCH_SIM_OP_CACHE": "0"}, 0, 0)])
def test_statistics(settings, hits, misses):
    expected = [{"hits": 0, "misses": 0, "size": 0, "limit": 100},
                {"hits": hits, "misses": misses, "size": misses, "limit": 100}]
    assert run(STATS, ACLNN_CACHE_LIMIT="100", **settings).stdout.splitlines() == [str(line) for line in expected]


def test_an_unknown_setting_is_refused():
    code = """
import mindtorch as torch
try:
    torch.ones(1, device="npu")
except ValueError as error:
    print(error)
"""
    assert run(code, MINDTORCH_EXECUTOR_CACHE="on").stdout == "MINDTORCH_EXECUTOR_CACHE is 'on', expected 0 or 1\n"
