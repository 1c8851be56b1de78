"""What ranks do in test_group_faults.py: groups that time out, lose a rank, or do not agree."""
import functools
import json
import os
import pkgutil
import signal
import time
from datetime import timedelta
from pathlib import Path

LONG, SHORT = timedelta(seconds=60), timedelta(seconds=1)


def error_of(call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except (ValueError, TypeError, RuntimeError) as error:
        return [type(error).__name__, str(error)]
    return None


def named_segments():
    """The files of shared memory that this process has mapped and that still have a name."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return [line for line in maps if "/dev/shm/" in line and "(deleted)" not in line]


def mismatches(torch, rank, size):
    """With TORCH_DISTRIBUTED_DEBUG=DETAIL."""
    dist = torch.distributed
    tensor = torch.ones(2)
    dist.all_reduce(tensor)
    outputs = [torch.zeros(1) for _ in range(size)]
    dist.all_gather(outputs, torch.tensor([float(rank)]))
    results = [tensor.tolist(), [output.item() for output in outputs],
               error_of(dist.all_reduce, torch.ones(rank + 1)),
               error_of(dist.all_reduce if rank else dist.barrier, *([tensor] if rank else [])),
               error_of(dist.broadcast, tensor, rank),
               error_of(dist.all_reduce, tensor.to(torch.float64 if rank else torch.float32)),
               error_of(dist.all_reduce, tensor, dist.ReduceOp.MAX if rank else dist.ReduceOp.SUM)]
    dist.barrier()
    group = dist.new_group(timeout=SHORT)
    if rank == 0:
        results.append(error_of(dist.all_reduce, tensor, group=group))
    dist.destroy_process_group(group)
    dist.barrier()
    return results


def time_outs(torch, rank, size):
    """Rank 1 comes to none of these."""
    dist = torch.distributed
    group = dist.new_group(timeout=SHORT)
    results = None
    if rank == 0:
        future = dist.all_reduce(torch.ones(1), group=group, async_op=True).get_future()
        results = [error_of(dist.all_reduce, torch.ones(1), group=group), error_of(future.wait),
                   error_of(dist.recv, torch.ones(1), 1, group),
                   error_of(dist.all_reduce(torch.ones(1), async_op=True).wait, SHORT),
                   error_of(dist.monitored_barrier, timeout=SHORT),
                   error_of(dist.monitored_barrier, timeout=SHORT, wait_all_ranks=True)]
    dist.distributed_c10d._get_default_store().barrier("end", size, LONG)
    return results


def lost(torch, rank, size, folder, engine, cases):
    """Each two ranks are a job of two. In the case (step, how, lost), `lost` is the rank that ends at this step:

    start is before it joins, joining before it has all that it needs to start the engine, collective before one of
    them, end before the group is destroyed. The other goes on: returns its error and the shared memory with a name.
    """
    number, rank = divmod(rank, 2)
    step, how, lost_rank = cases[number]
    end_at = trap(engine, how, step if rank == lost_rank else None)
    if engine == "hccl" and step in ("start", "joining"):
        os.environ["MINDTORCH_SIM_HCCL_TIMEOUT_SCALE"] = "0.01"
    ready = torch.distributed.FileStore(f"{folder}/ready{number}", 2)
    ready.barrier("ready", 2, LONG)
    end_at("start")
    # The rank that ends has time to come to its step.
    timeout = timedelta(seconds=2) if step in ("start", "joining") and rank != lost_rank else LONG
    error = error_of(train, torch, engine, f"file://{folder}/store{number}", rank, timeout, end_at)
    return error, named_segments()


def trap(engine, how, step):
    """end_at(step), which ends this process there; "joining" comes by itself."""
    def end_at(name):
        if name != step:
            return
        if how == "exception":
            raise KeyError("as it is meant")
        if how == "exit":
            os._exit(3)
        if how == "agent":
            os.kill(os.getppid(), signal.SIGKILL)
        else:
            os.kill(os.getpid(), getattr(signal, how))
        time.sleep(60)

    joining = functools.partial(end_at, "joining")
    if engine == "hccl":
        call_before("mindtorch._npu.communicator:Communicator", joining)
    elif how == "exception":        # which ends the process in the main thread only
        call_before("mindtorch.distributed._pmi:environment", joining)
    else:
        call_before("mindtorch.distributed._pmi:_Responder.get", joining)
    return end_at


def launched(torch, rank, size, folder, engine, cases):
    """Each rank is torchrun of a job of two, for one of the cases. Returns its report on the rank that has failed.

    At the step `named` MPI has started in all ranks, and what it has made in /dev/shm still has its names.
    """
    from mindtorch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from mindtorch.distributed.launcher import LaunchConfig, elastic_launch
    config = LaunchConfig(1, 1, 2, run_id=str(rank), rdzv_endpoint="localhost:0", start_method="fork", max_restarts=0,
                          shutdown_timeout=60)
    try:
        elastic_launch(config, worker)(folder, engine, rank, *cases[rank])
    except ChildFailedError as error:
        return str(error)


def worker(folder, engine, number, step, how, lost_rank):
    """Writes its number and, as MPI starts, the name of the note for torchrun's guard."""
    import mindtorch
    from mindtorch.distributed import _shared_files
    rank = int(os.environ["RANK"])
    signal.signal(signal.SIGTERM, signal.SIG_DFL)       # it is forked, with torchrun's handler
    Path(folder, f"pid.{number}.{rank}").write_text(str(os.getpid()), encoding="utf-8")
    store = mindtorch.distributed.FileStore(f"{folder}/store{number}", 2)
    store.barrier("ready", 2, LONG)
    end_at = trap(engine, how, step if rank == lost_rank else None)

    def named():
        Path(folder, f"note.{number}.{rank}").write_text(str(_shared_files._note), encoding="utf-8")
        if step == "named":
            store.barrier("named", 2, LONG)
            end_at("named")
            time.sleep(60)

    if engine == "mpi":
        call_before("mindtorch.distributed._shared_files:remove_named", named)
    end_at("start")
    train(mindtorch, engine, "env://", rank, LONG, end_at)


def killed_together(torch, rank, size, folder):
    """All ranks are killed when MPI has mapped its shared memory; rank 0 writes what that is called."""
    def end():
        Path(folder, f"mapped{rank}").write_text(json.dumps(named_segments()), encoding="utf-8")
        torch.distributed.FileStore(f"{folder}/end", size).barrier("end", size, LONG)
        os.kill(os.getpid(), signal.SIGKILL)

    call_before("mindtorch.distributed._shared_files:remove_named", end)
    torch.distributed.init_process_group("mpi", f"file://{folder}/store", rank=rank, world_size=size)


def train(torch, engine, address, rank, timeout, end_at):
    dist, device = torch.distributed, "cpu" if engine == "mpi" else "npu"
    dist.init_process_group(engine, address, rank=rank, world_size=2, timeout=timeout)
    group = dist.new_group(timeout=timedelta(seconds=4))
    for _ in range(2):
        tensor = torch.ones(5, device=device)
        dist.all_reduce(tensor, group=group)
        tensor.tolist()
        end_at("collective")
    end_at("end")
    dist.destroy_process_group()


def call_before(name, function):
    """Let `function` run at each call of what this process has under the name."""
    owner, _, attribute = name.replace(":", ".").rpartition(".")
    owner = pkgutil.resolve_name(owner)
    called = getattr(owner, attribute)
    setattr(owner, attribute, lambda *args: function() or called(*args))


def one_rank(torch, rank, size):
    dist = torch.distributed
    tensor, outputs = torch.ones(2), [torch.zeros(2)]
    dist.all_reduce(tensor)
    dist.all_gather(outputs, tensor + 1)
    dist.barrier()
    first = dist.get_world_size(), tensor.tolist(), outputs[0].tolist(), dist.get_backend(), dist.get_backend_config()
    dist.destroy_process_group()
    again = dist.is_initialized()
    dist.init_process_group("mpi", store=dist.HashStore(), rank=0, world_size=1)
    premultiplied, halved = torch.ones(2), torch.ones(2)
    dist.all_reduce(premultiplied, dist._make_nccl_premul_sum(3.0))
    dist.all_reduce(halved, dist.ReduceOp.AVG)
    return first, again, premultiplied.tolist(), halved.tolist(), named_segments()


def rank_of_launcher(torch, rank, size):
    """Started by mpiexec, without torch's variables."""
    dist = torch.distributed
    dist.init_process_group("mpi")
    tensor, every = torch.ones(2), [None] * dist.get_world_size()
    dist.all_reduce(tensor)
    dist.all_gather_object(every, dist.get_rank())
    dist.destroy_process_group()
    return tensor.tolist(), every, named_segments()


def joined_again(torch, rank, size, folder):
    """Groups are destroyed and made again; two threads use two groups in opposite order."""
    import threading
    dist, sums = torch.distributed, []
    for round in range(2):
        dist.init_process_group("mpi", f"file://{folder}/store{round}", rank=rank, world_size=size)
        groups = [dist.new_group() for _ in range(2)]

        def reduce(group, value):
            tensor = torch.tensor([float(value + rank)])
            dist.all_reduce(tensor, group=group)
            sums.append(tensor.item())

        threads = [threading.Thread(target=reduce, args=(group, 10 * place)) for place, group in enumerate(groups)]
        for thread in threads[::-1] if rank else threads:
            thread.start()
            time.sleep(0.05)
        for thread in threads:
            thread.join()
        dist.destroy_process_group()
    return sorted(sums)


def by_the_name_of_gloo(torch, rank, size, folder):
    """A group that a program makes of the class of gloo, without init_process_group."""
    dist = torch.distributed
    options = dist.ProcessGroupGloo._Options()
    options._timeout, options._devices = 20.0, [dist.ProcessGroupGloo.create_device(interface="lo")]
    group = dist.ProcessGroupGloo(dist.FileStore(f"{folder}/store", size), rank, size, options)
    x = torch.tensor([rank + 1.0])
    future = group.allreduce([x]).get_future()
    future.wait()
    group.barrier().wait()
    return [future.value()[0].item(), group.rank(), group.size(), isinstance(group, dist.ProcessGroup)]
