"""What the ranks of test_hccl.py do: on NPUs with mindtorch's hccl, on the CPU with torch's gloo.

Each case returns plain values. The CPU's ranks are the reference, so every case is one that gloo has, too.
"""
import logging.handlers
import queue
import signal
import threading
import time
from datetime import timedelta

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def run_all(torch, rank, size, device):
    results = {}
    for name, function in CASES.items():
        value = function(torch, torch.distributed, rank, size, torch.device(device))
        results[name] = [each.tolist() if hasattr(each, "tolist") else each for each in value]
    return results


@case
def all_reduce(torch, dist, rank, size, device):
    results = []
    for dtype in (torch.int8, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.uint8,
                  torch.bool):
        for op in (dist.ReduceOp.SUM, dist.ReduceOp.MIN, dist.ReduceOp.MAX):
            tensor = torch.tensor([rank + 1, 3 - rank, 0, rank], device=device).to(dtype)
            dist.all_reduce(tensor, op)
            results.append(tensor.to(torch.float32))
    return results


@case
def all_reduce_of_many_elements(torch, dist, rank, size, device):
    tensor = torch.arange(300001, device=device) * (rank + 1)
    work = dist.all_reduce(tensor, async_op=True)
    work.wait()
    return [(tensor == 3 * torch.arange(300001, device=device)).all(), tensor[-3:].tolist(), work.is_completed()]


@case
def work_of_two_collectives(torch, dist, rank, size, device):
    """The second waits for the first, which waits for what the current stream had before."""
    tensor = torch.ones(1000, device=device)
    for _ in range(10):
        tensor = tensor + rank
    first = dist.all_reduce(tensor, async_op=True)
    if device.type == "cpu":
        first.wait()                # gloo gives two works on one tensor to two threads, which take them in any order
    second = dist.all_reduce(tensor, dist.ReduceOp.MAX, async_op=True)
    first.wait()
    second.wait()
    dist.all_reduce(tensor)
    return [tensor[:3], second.result()[0][:2]]


@case
def broadcast_and_reduce(torch, dist, rank, size, device):
    sent, reduced = (torch.full((3,), rank + 1., device=device) for _ in range(2))
    dist.broadcast(sent, 1)
    dist.reduce(reduced, 1)
    return [sent, reduced if rank == 1 else "not the root"]


@case
def all_gather(torch, dist, rank, size, device):
    tensor = torch.arange(6., device=device).view(2, 3) + rank
    places = [torch.empty(2, 3, device=device) for _ in range(size)]
    dist.all_gather(places, tensor)
    joined = torch.empty(2 * size, 3, device=device)
    dist.all_gather_into_tensor(joined, tensor)
    return [*places, joined]


@case
def reduce_scatter(torch, dist, rank, size, device):
    pieces = [torch.arange(4., device=device) + i * (rank + 1) for i in range(size)]
    output, single = torch.empty(4, device=device), torch.empty(4, device=device)
    dist.reduce_scatter(output, pieces)
    dist.reduce_scatter_tensor(single, torch.cat(pieces))
    return [output, single]


@case
def gather_and_scatter(torch, dist, rank, size, device):
    tensor = torch.arange(3, device=device) + rank
    places = [torch.empty_like(tensor) for _ in range(size)] if rank == 0 else None
    dist.gather(tensor, places, dst=0)
    received = torch.empty_like(tensor)
    dist.scatter(received, [tensor * i for i in range(size)] if rank == 1 else None, src=1)
    return [*(places or []), received]


@case
def all_to_all(torch, dist, rank, size, device):
    tensor = torch.arange(2 * size, device=device, dtype=torch.float32) + 10 * rank
    even = torch.empty_like(tensor)
    dist.all_to_all_single(even, tensor)
    rows = [rank + 1] * size
    uneven = torch.empty(sum(other + 1 for other in range(size)), 2, device=device)
    dist.all_to_all_single(uneven, torch.full((sum(rows), 2), float(rank), device=device),
                           [other + 1 for other in range(size)], rows)
    return [even, uneven]


@case
def sends(torch, dist, rank, size, device):
    tensor, received = torch.full((5,), float(rank), device=device), torch.empty(5, device=device)
    if rank == 0:
        dist.send(tensor, 1)
        dist.recv(received, 1)
    else:
        dist.recv(received, 0)
        dist.isend(tensor, 0).wait()
    both = torch.empty(5, device=device)
    transfers = [dist.P2POp(dist.isend, tensor + 7, 1 - rank), dist.P2POp(dist.irecv, both, 1 - rank)]
    for work in dist.batch_isend_irecv(transfers):
        work.wait()
    return [received, both]


@case
def objects_and_barriers(torch, dist, rank, size, device):
    dist.barrier()
    found = [None] * size
    dist.all_gather_object(found, {"rank": rank})
    objects = [rank, "x" * rank]
    dist.broadcast_object_list(objects, 1)
    return [found, objects]


@case
def groups(torch, dist, rank, size, device):
    alone = [dist.new_group([other]) for other in range(size)]
    tensor = torch.full((2,), rank + 1., device=device)
    dist.all_reduce(tensor, group=alone[rank])
    together = dist.new_group([0, 1])
    dist.all_reduce(tensor, group=together)
    dist.destroy_process_group(together)
    return [tensor]


def only_hccl(torch, rank, size):
    """What gloo does not have."""
    dist, device = torch.distributed, torch.device("npu", 0)

    def filled(value, *shape, dtype=torch.float32):
        return torch.full(shape, value, dtype=dtype, device=device)

    results = {}
    tensor = filled(rank + 1, 3)
    dist.all_reduce(tensor, dist.ReduceOp.AVG)
    results["avg"] = tensor.tolist()
    tensor = filled(2 * rank + 1, 3, dtype=torch.int32)
    dist.all_reduce(tensor, dist.ReduceOp.AVG)
    results["avg of integers"] = tensor.tolist()
    tensor = filled(rank + 1, 3)
    dist.all_reduce(tensor, dist._make_nccl_premul_sum(0.5))
    results["premul_sum"] = tensor.tolist()
    places = [filled(0, 1), filled(0, 4)]
    dist.all_gather(places, filled(rank + 1, 1 if rank == 0 else 4))
    results["all_gather of other sizes"] = [place.tolist() for place in places]
    output = filled(0, rank + 1)
    dist.reduce_scatter(output, [filled(1, 1), filled(2, 2)])
    results["reduce_scatter of other sizes"] = output.tolist()
    received = [filled(0, 1), filled(0, 2)]
    dist.all_to_all(received, [filled(rank, rank + 1), filled(rank, rank + 1)])
    results["all_to_all"] = [each.tolist() for each in received]
    tensors = [filled(rank, 2), filled(10 * rank, 3)]
    with dist._coalescing_manager(device=device, async_ops=True) as manager:
        for each in tensors:
            dist.all_reduce(each)
    manager.wait()
    results["coalesced"] = [each.tolist() for each in tensors]
    tensor = filled(1, 4)
    tensor = dist.all_reduce(tensor, async_op=True).get_future().then(lambda done: done.value()[0] * 10).wait()
    results["future"] = tensor.tolist()
    results["captured"] = captured(torch, dist, rank, filled)
    net = dist.fsdp.fully_shard(torch.nn.Linear(2, 2))      # parameters on the CPU move to the devices of the group
    results["fully_shard"] = [net.weight.device_mesh.device_type, net.weight.to_local().device.type]
    errors = {"band": lambda: dist.all_reduce(filled(1, 2, dtype=torch.int32), dist.ReduceOp.BAND),
              "cpu": lambda: dist.all_reduce(torch.ones(2)),
              "strides": lambda: dist.all_gather_into_tensor(filled(0, 2, 4).t(), filled(0, 4)),
              "type": lambda: dist.all_reduce(filled(1, 2, dtype=torch.float64))}
    for name, call in errors.items():
        try:
            call()
        except (RuntimeError, ValueError) as error:
            results[name] = f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return results


def captured(torch, dist, rank, filled):
    """A graph with collectives, replayed with other values; and the first collective of a group in a capture."""
    values, graph, fresh = filled(rank, 2), torch.npu.NPUGraph(), dist.new_group()
    with torch.npu.graph(graph):
        doubled = values * 2
        dist.all_reduce(doubled)
        work = dist.all_reduce(doubled, dist.ReduceOp.AVG, async_op=True)
        work.wait()
        result = doubled + 1
    out = []
    for value in (rank + 1, 10 * rank + 10):
        values.fill_(value)
        graph.replay()
        out.append(result.tolist())
    graph.reset()
    try:
        with torch.npu.graph(graph):
            dist.all_reduce(values, group=fresh)
    except RuntimeError as error:
        out.append(str(error))
    dist.all_reduce(values)
    return [*out, values.tolist()]


def time_out(torch, rank, size, folder):
    """Rank 1 does not come to the second all_reduce."""
    dist = torch.distributed
    dist.init_process_group("hccl", f"file://{folder}/store", rank=rank, world_size=size)
    group = dist.new_group(timeout=timedelta(seconds=3))
    tensor = torch.ones(2, device="npu")
    dist.all_reduce(tensor, group=group)
    torch.npu.synchronize()
    if rank == 1:
        return "away"
    dist.all_reduce(tensor, group=group)
    try:
        torch.npu.synchronize()
    except RuntimeError as error:
        return str(error)
    return "no error"


def mismatch(torch, rank, size, folder):
    dist = torch.distributed
    dist.init_process_group("hccl", f"file://{folder}/store", rank=rank, world_size=size)
    tensor = torch.ones(2 + rank, device="npu")
    work = dist.all_reduce(tensor, async_op=True)
    try:
        work.wait()
        torch.npu.synchronize()
    except RuntimeError as error:
        return [str(error), str(work.exception())]
    return "no error"


def after_a_barrier(torch, rank, size):
    """Whether the device is still at work when a collective behind a barrier has returned, and its result."""
    from mindtorch._npu.streams import sleep
    dist = torch.distributed
    dist.barrier()
    x = torch.ones(2, device="npu")
    dist.all_reduce(x)          # connects
    sleep(torch.npu.current_stream(), 500_000_000)
    dist.all_reduce(x)
    return [not torch.npu.current_stream().query(), x.tolist()]


def after_queued_launches(torch, rank, size):
    from mindtorch import sim
    tensor = torch.zeros(3, device="npu")
    (tensor + 1).tolist()
    torch.npu.set_task_queue_enable(1)
    sim.set_latency("aclnnAdds", 2_000_000)
    for _ in range(20):
        tensor = tensor + 1
    torch.distributed.all_reduce(tensor)
    return tensor.tolist()


def late_rank(torch, rank, size, folder, engine, device):
    """Rank 1 comes to the second all_reduce when the watchdog of rank 0 has said that it is behind."""
    dist = torch.distributed
    from mindtorch.distributed import _watchdog
    _watchdog.MAX_PAUSE = 0.1
    messages = queue.SimpleQueue()
    _watchdog._log.addHandler(logging.handlers.QueueHandler(messages))
    dist.init_process_group(engine, f"file://{folder}/store", rank=rank, world_size=size, timeout=timedelta(minutes=1))
    store, tensor = dist.distributed_c10d._get_default_store(), torch.ones(2, device=device)
    dist.all_reduce(tensor)
    tensor.tolist()
    if rank == 0:
        work = dist.all_reduce(tensor, async_op=True)
        text = messages.get().getMessage()
        store.set("said", text)
        work.wait()
    else:
        text = store.get("said").decode()
        dist.all_reduce(tensor)
    tensor.tolist()
    dist.destroy_process_group()
    return text, [thread.name for thread in threading.enumerate()]


def nobody_waits(torch, rank, size, folder):
    """Rank 1 does not come to the second all_reduce, and rank 0 does not look at its own."""
    dist = torch.distributed
    dist.init_process_group("hccl", f"file://{folder}/store", rank=rank, world_size=size, timeout=timedelta(seconds=3))
    tensor = torch.ones(2, device="npu")
    dist.all_reduce(tensor)
    torch.npu.synchronize()
    if rank == 0:
        dist.all_reduce(tensor)
        signal.pause()


def lost_rank(torch, rank, size, folder):
    """The simulator kills rank 1 at its second operation."""
    dist = torch.distributed
    dist.init_process_group("hccl", f"file://{folder}/store", rank=rank, world_size=size, timeout=timedelta(seconds=3))
    tensor = torch.ones(2, device="npu")
    dist.all_reduce(tensor)
    torch.npu.synchronize()
    dist.all_reduce(tensor)
    try:
        torch.npu.synchronize()
    except RuntimeError as error:
        return str(error)
    return "no error"


def refused_variable(torch, rank, size, folder):
    dist = torch.distributed
    dist.init_process_group("hccl", store=dist.HashStore(), rank=rank, world_size=size)
    try:
        dist.all_reduce(torch.ones(2, device="npu"))
    except RuntimeError as error:
        return str(error)
    return "no error"


def modelled_ranks(torch, rank, size, folder):
    """The seconds of an all_reduce, and of one in a graph."""
    dist = torch.distributed
    dist.init_process_group("hccl", store=dist.HashStore(), rank=rank, world_size=size)
    tensor, graph, seconds = torch.ones(1 << 20, device="npu"), torch.npu.NPUGraph(), []
    dist.all_reduce(tensor)
    with torch.npu.graph(graph):
        dist.all_reduce(tensor)
    for run in (lambda: dist.all_reduce(tensor), graph.replay):
        torch.npu.synchronize()
        begun = time.monotonic()
        run()
        torch.npu.synchronize()
        seconds.append(time.monotonic() - begun)
    graph.reset()
    return seconds
