"""`python -m bench.collectives`: collectives on the CPU between processes, beside torch's on gloo.

Each process is a rank of both libraries, which take turns; a rank begins when all have passed a barrier. A line has the
least and the median time of the slowest rank, and the ratio of the medians.

Then a training step of examples/train_gpt.py: alone, with DistributedDataParallel, and what MPI itself takes for the
same buckets. The step with DistributedDataParallel is to take at most 1.25 times the sum of the other two.

`python -m bench.collectives --host`: what the host pays for a collective on the NPU with null kernels, in nanoseconds
and beside `a + b`; `wait` is a call with async_op and its wait.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

SIZES = 4, 4 << 10, 256 << 10, 1 << 20, 16 << 20
OPERATIONS = {
    "all_reduce": lambda torch, tensor, outputs: torch.distributed.all_reduce(tensor),
    "broadcast": lambda torch, tensor, outputs: torch.distributed.broadcast(tensor, 0),
    "all_gather": lambda torch, tensor, outputs: torch.distributed.all_gather(outputs, tensor)}


def measured(torch, call, tensor, outputs, rounds):
    """The seconds of some calls in this rank, one after the other, each begun with the other ranks'."""
    times = []
    for _ in range(rounds):
        torch.distributed.barrier()
        begun = time.perf_counter()
        call(torch, tensor, outputs)
        times.append(time.perf_counter() - begun)
    return times


def rank(number, count, folder, rounds):
    import torch

    import mindtorch
    libraries = mindtorch, torch
    for library, backend in zip(libraries, ("mpi", "gloo"), strict=True):
        library.distributed.init_process_group(backend, f"file://{folder}/{backend}", rank=number, world_size=count)
    for name, call in OPERATIONS.items():
        for size in SIZES:
            times = {library: [] for library in libraries}
            calls = 200 if size < 1 << 20 else 4
            for _ in range(rounds + 1):
                for library in libraries:
                    tensor = library.ones(size // 4)
                    outputs = [library.zeros(size // 4) for _ in range(count)]
                    measured(library, call, tensor, outputs, 2)
                    times[library] += measured(library, call, tensor, outputs, calls)
            figures = []
            for library in libraries:
                every = [None] * count
                torch.distributed.all_gather_object(every, times[library])
                slowest = [max(each) * 1e6 for each in zip(*every, strict=True)]
                figures.append((min(slowest), statistics.median(slowest)))
            if number == 0:
                (least, ours), (torch_least, theirs) = figures
                print(f"{name:10} {size:10} bytes  mindtorch {least:9.1f} {ours:9.1f} us   torch {torch_least:9.1f} "
                      f"{theirs:9.1f} us   {ours / theirs:5.2f}", flush=True)
    step(mindtorch, number, rounds)
    for library in libraries:
        library.distributed.destroy_process_group()


def step(torch, number, rounds):
    """Prints the least seconds of the slowest rank; steps of all kinds take turns."""
    from mpi4py import MPI

    from bench.gpt import training
    from mindtorch.distributed import _mpi
    alone, shared = training("mindtorch", "cpu"), training("mindtorch", "cpu")
    shared.trained = torch.nn.parallel.DistributedDataParallel(shared.model)
    shared.step()
    buckets = [torch.ones_like(bucket.buffer()) for bucket in shared.trained.reducer.buckets]

    def reduce_buckets():
        """As MPI alone would: all requests at once, then it is called until they have ended."""
        requests = [_mpi._world.Iallreduce(MPI.IN_PLACE, [MPI.buffer.fromaddress(bucket.data_ptr(), bucket.nbytes),
                                                          bucket.numel(), MPI.FLOAT]) for bucket in buckets]
        while not MPI.Request.Testall(requests):
            os.sched_yield()

    kinds = {"alone": alone.step, "DistributedDataParallel": shared.step, "MPI's buckets": reduce_buckets}
    times = {name: [] for name in kinds}
    for _ in range(rounds + 1):
        for name, call in kinds.items():
            torch.distributed.barrier()
            begun = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - begun)
    least = {}
    for name, seconds in times.items():
        slowest = torch.tensor(seconds)
        torch.distributed.all_reduce(slowest, torch.distributed.ReduceOp.MAX)
        least[name] = slowest[1:].min().item()
    if number == 0:
        for name, seconds in least.items():
            print(f"step {name:24}{1e3 * seconds:9.2f} ms")
        ratio = least["DistributedDataParallel"] / (least["alone"] + least["MPI's buckets"])
        print(f"step with DistributedDataParallel, to the sum of the others {ratio:5.2f}", flush=True)


HOST_CALLS = {
    "a + b": lambda dist, a, b: a + b,
    "all_reduce": lambda dist, a, b: dist.all_reduce(a),
    "all_reduce, wait": lambda dist, a, b: dist.all_reduce(a, async_op=True).wait(),
    "broadcast": lambda dist, a, b: dist.broadcast(a, 0),
    "all_gather_into_tensor": lambda dist, a, b: dist.all_gather_into_tensor(b, a),
    "reduce_scatter_tensor": lambda dist, a, b: dist.reduce_scatter_tensor(b, a)}


def host(rounds):
    """Prints the least CPU time of the calling thread for each of HOST_CALLS, in a group of one rank."""
    os.environ.update(MINDTORCH_NPU="sim", MINDTORCH_SIM_KERNELS="null", TASK_QUEUE_ENABLE="0", HCCL_IF_IP="127.0.0.1")
    import mindtorch as torch
    dist, calls = torch.distributed, 200
    dist.init_process_group("hccl", store=dist.HashStore(), rank=0, world_size=1)
    a, b = torch.ones(4, device="npu"), torch.ones(4, device="npu")
    least = dict.fromkeys(HOST_CALLS, float("inf"))
    for _ in range(rounds + 1):
        for name, call in HOST_CALLS.items():
            begun = time.thread_time_ns()
            for _ in range(calls):
                call(dist, a, b)
            least[name] = min(least[name], (time.thread_time_ns() - begun) / calls)
            torch.npu.synchronize()
    for name, nanoseconds in least.items():
        print(f"{name:24}{nanoseconds:8.0f} ns {nanoseconds / least['a + b']:6.2f}")
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(prog="bench.collectives")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--host", action="store_true")
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.host:
        host(given.rounds)
        return 0
    if given.rank is not None:
        rank(given.rank, given.ranks, given.folder, given.rounds)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "bench.collectives", "--ranks", str(given.ranks), "--rounds",
                   str(given.rounds), "--folder", folder, "--rank"]
        variables = {**os.environ, "OMP_NUM_THREADS": "1", "MINDTORCH_NPU": "off"}
        ranks = [subprocess.Popen([*command, str(number)], env=variables) for number in range(given.ranks)]
        return max(abs(process.wait()) for process in ranks)


if __name__ == "__main__":
    sys.exit(main())
