"""torch.distributed on the engine "hccl" between two and four processes, with torch_npu or with mindtorch.

Started by compare.py, with each of them. Prints a line of JSON for each rank: what its collectives and its training
with DistributedDataParallel and fully_shard have given.
"""
import importlib
import json
import multiprocessing
import os
import sys
import tempfile
from pathlib import Path

SIZES = 2, 4


def collectives(torch, dist, rank, size):
    device = torch.device("npu", 0)
    results = {}

    def filled(count, value):
        return torch.full((count,), float(value), device=device)

    def keep(name, tensor):
        results[name] = tensor.cpu().tolist()

    for name, op in (("sum", dist.ReduceOp.SUM), ("max", dist.ReduceOp.MAX), ("avg", dist.ReduceOp.AVG)):
        tensor = torch.arange(4.0, device=device) * (rank + 1)
        dist.all_reduce(tensor, op=op)
        keep(f"all_reduce {name}", tensor)
    tensor = filled(4, rank + 1)
    dist.all_reduce(tensor, async_op=True).wait()
    keep("all_reduce async", tensor + 1)
    tensor = filled(3, rank)
    dist.broadcast(tensor, size - 1)
    keep("broadcast", tensor)
    dist.reduce(tensor, 1)
    if rank == 1:
        keep("reduce", tensor)
    pieces = [torch.empty(3, device=device) for _ in range(size)]
    dist.all_gather(pieces, filled(3, rank))
    keep("all_gather", torch.stack(pieces))
    joined = torch.empty(3 * size, device=device)
    dist.all_gather_into_tensor(joined, filled(3, rank))
    keep("all_gather_into_tensor", joined)
    part = torch.empty(2, device=device)
    dist.reduce_scatter_tensor(part, torch.arange(2.0 * size, device=device) + rank)
    keep("reduce_scatter_tensor", part)
    swapped = torch.empty(2 * size, device=device)
    dist.all_to_all_single(swapped, torch.arange(2.0 * size, device=device) + 10 * rank)
    keep("all_to_all_single", swapped)
    dist.barrier()
    peer, received = rank ^ 1, torch.empty(3, device=device)
    if rank < peer:
        dist.send(filled(3, rank + 5), peer)
    else:
        dist.recv(received, peer)
        keep("recv", received)
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, filled(3, rank), peer),
                                        dist.P2POp(dist.irecv, received, peer)]):
        work.wait()
    keep("batch_isend_irecv", received)
    found = [None] * size
    dist.all_gather_object(found, {"rank": rank})
    results["all_gather_object"] = [each["rank"] for each in found]
    halves = dist.new_group(list(range(0, size, 2)))
    if rank % 2 == 0:
        tensor = filled(2, rank + 1)
        dist.all_reduce(tensor, group=halves)
        keep("all_reduce of a group", tensor)
    return results


def model(torch, device):
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4)).to(device)


def batch(torch, rank):
    torch.manual_seed(10 + rank)
    return torch.randn(6, 8), torch.randn(6, 4)


def train(torch, net, inputs, targets, steps=3):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = ((net(inputs) - targets) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach().cpu())
    return torch.stack(losses)


def training(torch, dist, rank, size):
    """The losses of this rank. Their means over the ranks are the losses of one process with the joint batch."""
    device = torch.device("npu", 0)
    joint = [torch.cat(parts) for parts in zip(*(batch(torch, each) for each in range(size)), strict=True)]
    expected = train(torch, model(torch, "cpu"), *joint)
    own = [part.to(device) for part in batch(torch, rank)]
    replicated = torch.nn.parallel.DistributedDataParallel(model(torch, device), device_ids=[0])
    sharded = model(torch, device)
    for layer in (sharded[0], sharded[2], sharded):
        dist.fsdp.fully_shard(layer)
    results = {}
    for name, net in (("DistributedDataParallel", replicated), ("fully_shard", sharded)):
        losses = train(torch, net, *own)
        results[name] = losses.tolist()
        mean = losses.to(device)
        dist.all_reduce(mean)
        torch.testing.assert_close(mean.cpu() / size, expected, rtol=1e-4, atol=1e-5)
    return results


def run_rank(torch, rank, size, folder):
    dist = torch.distributed
    torch.npu.set_device(0)
    dist.init_process_group("hccl", f"file://{folder}/store", rank=rank, world_size=size)
    results = {**collectives(torch, dist, rank, size), **training(torch, dist, rank, size)}
    dist.destroy_process_group()
    Path(folder, f"{rank}.json").write_text(json.dumps(results), encoding="utf-8")


def main(library):
    os.environ.update(OMP_NUM_THREADS="1", HCCL_IF_IP="127.0.0.1")
    if library == "mindtorch":
        import mindtorch as torch
    else:
        import torch
        import torch_npu  # noqa: F401 - adds the device and the engine
    importlib.import_module(f"{torch.__name__}.distributed.fsdp")
    forked = multiprocessing.get_context("fork")
    for size in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            ranks = [forked.Process(target=run_rank, args=(torch, rank, size, folder)) for rank in range(size)]
            for rank in ranks:
                rank.start()
            for rank in ranks:
                rank.join()
            codes = [rank.exitcode for rank in ranks]
            assert codes == [0] * size, f"the ranks ended with {codes}"
            for rank in range(size):
                results = json.loads(Path(folder, f"{rank}.json").read_text(encoding="utf-8"))
                print(json.dumps(["answer", [size, rank, results]]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
