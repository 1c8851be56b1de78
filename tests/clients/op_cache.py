"""A stranger's client finds executors in CANN's cache: what it calls for an operator that it has called before, and
right results when memory, layouts and scalars change, on each of its task queues. Prints 'ok' last."""
import os
import subprocess
import sys

import torch
import torch_npu  # noqa: F401 - it adds the device npu to torch
from launches import simulator

HOOKS = {"0": ("SetPTAHashKey", "PTAGetExecCache"), "1": ("SetPTAHashKey", "PTAGetExecCache"),
         "2": ("SetPTACacheHashKey", "PTAFindExecCache")}


def check_calls(queue):
    sim = simulator()
    x = torch.arange(4.0).npu()
    for _ in range(2):
        x + x
    torch.npu.synchronize()
    with sim.counting() as counts:
        x + x
        torch.npu.synchronize()
    called = {name: count for name, count in counts.items() if not name.startswith("aclrtSynchronize")}
    assert called == {"CanUsePTACache": 1, "InitPTACacheThreadLocal": 1, "AddTensorAddrToCachedList": 3, "aclnnAdd": 1,
                      "UnInitPTACacheThreadLocal": 1, **dict.fromkeys(HOOKS[queue], 1)}, called


def check_results():
    x = torch.arange(4.0).npu()
    views = x.repeat(6).view(4, 6)
    for number in range(30):
        operands = [views[:, number % 3:number % 3 + 3], views.t()[:3].t(), (x[:, None] + number).expand(4, 3)]
        one, other = operands[number % 2], operands[number % 3]
        a, b = one.cpu(), other.cpu()
        assert torch.equal((one + other).cpu(), a + b)
        assert torch.equal((one * number).cpu(), a * number)
        assert torch.equal(one.sum(1).cpu(), a.sum(1))
        assert torch.equal(torch.cat([one, other], number % 2).cpu(), torch.cat([a, b], number % 2))
        assert torch.equal(one.contiguous().add_(other, alpha=number % 4).cpu(), a + b * (number % 4))


def main():
    queue = os.environ.get("TASK_QUEUE_ENABLE")
    if queue is not None and os.environ.get("MINDTORCH_SIM_OP_CACHE") == "1":
        check_calls(queue)
        check_results()
        return
    for queue in HOOKS:
        settings = {**os.environ, "TASK_QUEUE_ENABLE": queue, "MINDTORCH_SIM_OP_CACHE": "1"}
        subprocess.run([sys.executable, __file__], check=True, env=settings)
    print("ok")


if __name__ == "__main__":
    main()
