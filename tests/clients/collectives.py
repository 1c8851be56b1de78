"""torch_npu's own torch.distributed between two processes: its engine "hccl", DistributedDataParallel, fully_shard.

    python tests/clients/run.py --toolkit TOOLKIT_ROOT tests/clients/collectives.py
"""
import os
import socket
import subprocess
import sys

SIZE = 2


def equal(got, expected, what):
    got = got.cpu().tolist() if hasattr(got, "cpu") else got
    assert got == expected, f"{what}: {got}, expected {expected}"


def collectives(torch, dist, rank):
    device = torch.device("npu", 0)
    tensor = torch.full((4,), rank + 1.0, device=device)
    dist.all_reduce(tensor)
    equal(tensor, [3.0] * 4, "all_reduce")
    work = dist.all_reduce(tensor, op=dist.ReduceOp.MAX, async_op=True)
    work.wait()
    equal(tensor, [3.0] * 4, "async all_reduce")
    average = torch.full((2,), rank + 1.0, device=device)
    dist.all_reduce(average, op=dist.ReduceOp.AVG)
    equal(average, [1.5] * 2, "average")
    sent = torch.full((3,), float(rank), device=device)
    dist.broadcast(sent, 1)
    equal(sent, [1.0] * 3, "broadcast")
    pieces = [torch.empty(3, device=device) for _ in range(SIZE)]
    dist.all_gather(pieces, sent + rank)
    equal(torch.stack(pieces), [[1.0] * 3, [2.0] * 3], "all_gather")
    joined = torch.empty(6, device=device)
    dist.all_gather_into_tensor(joined, sent + rank)
    equal(joined, [1.0] * 3 + [2.0] * 3, "all_gather_into_tensor")
    part = torch.empty(2, device=device)
    dist.reduce_scatter_tensor(part, torch.arange(4.0, device=device))
    equal(part, [[0.0, 2.0], [4.0, 6.0]][rank], "reduce_scatter_tensor")
    swapped = torch.empty(4, device=device)
    dist.all_to_all_single(swapped, torch.arange(4.0, device=device) + 10 * rank)
    equal(swapped, [[0.0, 1.0, 10.0, 11.0], [2.0, 3.0, 12.0, 13.0]][rank], "all_to_all_single")
    dist.barrier()
    if rank == 0:
        dist.send(sent + 5, 1)
    else:
        dist.recv(sent, 0)
        equal(sent, [6.0] * 3, "recv")
    other = torch.empty(3, device=device)
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, pieces[rank], 1 - rank),
                                        dist.P2POp(dist.irecv, other, 1 - rank)]):
        work.wait()
    equal(other, [2.0 - rank] * 3, "batch_isend_irecv")
    found = [None] * SIZE
    dist.all_gather_object(found, {"rank": rank})
    equal(found, [{"rank": 0}, {"rank": 1}], "all_gather_object")


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


def training(torch, dist, rank):
    """The mean loss of two ranks is that of one process on the CPU with the joint batch."""
    device = torch.device("npu", 0)
    joint = [torch.cat(parts) for parts in zip(batch(torch, 0), batch(torch, 1), strict=True)]
    expected = train(torch, model(torch, "cpu"), *joint)
    wrapped = torch.nn.parallel.DistributedDataParallel(model(torch, device), device_ids=[0])
    losses = train(torch, wrapped, *(part.to(device) for part in batch(torch, rank)))
    check_losses(torch, dist, losses, expected, "DistributedDataParallel")
    from torch.distributed.fsdp import fully_shard
    sharded = model(torch, device)
    for layer in (sharded[0], sharded[2], sharded):
        fully_shard(layer)
    losses = train(torch, sharded, *(part.to(device) for part in batch(torch, rank)))
    check_losses(torch, dist, losses, expected, "fully_shard")


def check_losses(torch, dist, losses, expected, what):
    mean = losses.to("npu")
    dist.all_reduce(mean)
    torch.testing.assert_close(mean.cpu() / SIZE, expected, rtol=1e-4, atol=1e-5, msg=lambda text: f"{what}: {text}")


def run_rank(rank, port):
    import torch
    import torch.distributed as dist
    import torch_npu  # noqa: F401
    torch.npu.set_device(0)
    dist.init_process_group("hccl", f"tcp://127.0.0.1:{port}", rank=rank, world_size=SIZE)
    collectives(torch, dist, rank)
    training(torch, dist, rank)
    dist.destroy_process_group()


def main():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    ranks = [subprocess.Popen([sys.executable, __file__, str(rank), port], env={**os.environ, "OMP_NUM_THREADS": "1"})
             for rank in range(SIZE)]
    codes = [rank.wait() for rank in ranks]
    assert codes == [0] * SIZE, f"the ranks ended with {codes}"
    print("collectives, DistributedDataParallel and fully_shard of torch_npu agree between two processes")


if __name__ == "__main__":
    run_rank(int(sys.argv[1]), sys.argv[2]) if len(sys.argv) > 1 else main()
