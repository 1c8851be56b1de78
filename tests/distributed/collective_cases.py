"""What the ranks of test_collectives.py do, with torch and with mindtorch. Each case returns plain values."""
import importlib
from datetime import timedelta

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def plain(value):
    """Tensors as lists; errors as their type."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, complex):
        return [value.real, value.imag]
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value


def run_all(torch, rank, size):
    results = {}
    for name, function in CASES.items():
        try:
            results[name] = plain(function(torch, torch.distributed, rank, size))
        except (ValueError, TypeError, RuntimeError) as error:
            results[name] = f"{type(error).__name__}: {error}"
    return results


def error_of(call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except (ValueError, TypeError, RuntimeError) as error:
        return type(error).__name__, str(error).replace("mindtorch.", "torch.")
    return None


def reduced(torch, dist, rank, dtype, op):
    """all_reduce of values that each dtype has."""
    tensor = torch.tensor([rank + 1, 2 * rank + 1, 3, 0]).to(dtype)
    try:
        dist.all_reduce(tensor, op)
    except (ValueError, RuntimeError) as error:
        return type(error).__name__
    return tensor.to(torch.complex64) if tensor.is_complex() else tensor.to(torch.float64)


@case
def all_reduce_by_dtype(torch, dist, rank, size):
    dtypes = (torch.bool, torch.uint8, torch.int8, torch.int32, torch.int64, torch.float16, torch.bfloat16,
              torch.float32, torch.float64, torch.complex64, torch.complex128)
    ops = ("SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR")
    return [[str(dtype).rpartition(".")[2], op, plain(reduced(torch, dist, rank, dtype, getattr(dist.ReduceOp, op)))]
            for dtype in dtypes for op in ops if op != "AVG" or dtype not in dtypes[1:5]]


@case
def averages_of_integers(torch, dist, rank, size):
    """Of NCCL and HCCL: gloo has none, and lightning asks for them of every backend that is not named "gloo"."""
    tensor = torch.tensor([3, -3, 8]) * (rank + 1)
    if torch.__name__ == "torch":
        dist.all_reduce(tensor)
        return tensor.div_(size, rounding_mode="trunc")
    dist.all_reduce(tensor, dist.ReduceOp.AVG)
    return tensor


@case
def all_reduce_of_a_transposed(torch, dist, rank, size):
    tensor = (torch.arange(6.).reshape(2, 3) + rank).t()
    dist.all_reduce(tensor)
    return tensor


@case
def all_reduce_async(torch, dist, rank, size):
    tensor = torch.full((3,), float(rank + 1))
    work = dist.all_reduce(tensor, async_op=True)
    waited = work.wait()
    return waited, work.is_completed(), tensor, work.get_future().wait(), work._get_op_type()


@case
def all_reduce_large(torch, dist, rank, size):
    tensor = torch.arange(300_000, dtype=torch.float32) % 7 + rank
    half = tensor.to(torch.bfloat16)
    dist.all_reduce(tensor)
    dist.all_reduce(half)
    return tensor.sum(), half.float().sum()


@case
def all_reduce_leaf(torch, dist, rank, size):
    tensor = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        dist.all_reduce(tensor)
    return tensor, tensor.requires_grad


@case
def broadcast(torch, dist, rank, size):
    results = []
    for source in range(size):
        tensor, scalar = torch.arange(3) + 10 * rank, torch.tensor(rank + 0.5)
        dist.broadcast(tensor, source)
        dist.broadcast(scalar, group_src=source)
        results += [tensor, scalar]
    return results


@case
def reduce_to_one(torch, dist, rank, size):
    tensor = torch.tensor([1., rank])
    dist.reduce(tensor, dst=size - 1)
    return tensor if rank == size - 1 else None


@case
def all_gather(torch, dist, rank, size):
    outputs = [torch.zeros(2, 3) for _ in range(size)]
    dist.all_gather(outputs, torch.arange(6.).reshape(3, 2).t() + rank)
    places = [torch.zeros(3, 2).t() for _ in range(size)]
    dist.all_gather(places, torch.arange(6.).reshape(2, 3) + rank)
    parts = [torch.zeros(2, dtype=torch.complex64) for _ in range(size)]
    dist.all_gather(parts, torch.tensor([rank + 1j, 2]))
    return outputs, places, [torch.view_as_real(part) for part in parts]


@case
def all_gather_into_one(torch, dist, rank, size):
    output = torch.empty(2 * size, 2)
    dist.all_gather_into_tensor(output, torch.full((2, 2), float(rank)))
    return output


@case
def all_gather_coalesced(torch, dist, rank, size):
    outputs = [[torch.zeros(2), torch.zeros(1)] for _ in range(size)]
    dist.all_gather_coalesced(outputs, [torch.full((2,), float(rank)), torch.tensor([rank + 10.])])
    return outputs


@case
def reduce_scatter(torch, dist, rank, size):
    output, single = torch.zeros(2), torch.zeros(1, 2)
    dist.reduce_scatter(output, [torch.tensor([place, rank + 1.]) for place in range(size)])
    dist.reduce_scatter_tensor(single, torch.arange(2. * size).reshape(size, 2) + rank)
    return output, single


@case
def gather(torch, dist, rank, size):
    outputs = [torch.zeros(2) for _ in range(size)] if rank == size - 1 else None
    dist.gather(torch.tensor([rank, 5.]), outputs, dst=size - 1)
    return outputs


@case
def scatter(torch, dist, rank, size):
    output = torch.zeros(2)
    dist.scatter(output, [torch.tensor([place, 7.]) for place in range(size)] if rank == 1 else None, src=1)
    return output


@case
def all_to_all_single(torch, dist, rank, size):
    even, uneven = torch.zeros(2 * size), torch.zeros(sum(range(size)) + size * rank, 2)
    dist.all_to_all_single(even, torch.arange(2. * size) + 10 * rank)
    sent = [rank + place for place in range(size)]
    dist.all_to_all_single(uneven, torch.full((sum(sent), 2), float(rank)), sent, sent)
    return even, uneven


@case
def send_and_receive(torch, dist, rank, size):
    tensor = torch.full((3,), float(rank))
    if rank == 0:
        dist.send(tensor, 1, tag=5)
        source = dist.recv(tensor, 1)
    elif rank == 1:
        source = dist.recv(tensor, tag=5)
        dist.send(tensor + 1, 0)
    else:
        source = None
    return source, tensor


@case
def batch_of_sends(torch, dist, rank, size):
    got = torch.zeros(2)
    operations = [dist.P2POp(dist.isend, torch.full((2,), float(rank)), (rank + 1) % size),
                  dist.P2POp(dist.irecv, got, (rank - 1) % size)]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    return got


@case
def objects(torch, dist, rank, size):
    everything, gathered = [None] * size, [None] * size if rank == 0 else None
    dist.all_gather_object(everything, {"rank": rank, "text": "x" * rank})
    dist.gather_object(["of", rank], gathered, dst=0)
    listed = ["a", {"b": 1}, 3] if rank == 1 else [None] * 3
    dist.broadcast_object_list(listed, src=1)
    scattered = [None]
    dist.scatter_object_list(scattered, [f"for {place}" for place in range(size)] if rank == 0 else None, src=0)
    return everything, gathered, listed, scattered


@case
def object_lists_between_two(torch, dist, rank, size):
    listed = ["from zero", {"n": 0}] if rank == 0 else [None, None]
    if rank == 0:
        dist.send_object_list(listed, 1)
    return [dist.recv_object_list(listed, 0), listed] if rank == 1 else None


@case
def groups(torch, dist, rank, size):
    last = dist.new_group([size - 1])
    pair = dist.new_group([1, 0], timeout=timedelta(seconds=60))
    swapped = dist.new_group([1, 0], sort_ranks=False)
    results = [dist.get_rank(last), dist.get_world_size(last), dist.get_rank(pair)]
    if rank < 2:
        tensor = torch.tensor([rank + 1.])
        dist.all_reduce(tensor, group=pair)
        outputs = [torch.zeros(1), torch.zeros(1)]
        dist.all_gather(outputs, torch.tensor([float(rank)]), group=swapped)
        source = torch.tensor([float(rank)])
        dist.broadcast(source, src=1, group=swapped)
        results += [tensor, outputs, source, dist.get_process_group_ranks(swapped), dist.get_rank(swapped),
                    dist.get_group_rank(swapped, 1), dist.get_global_rank(swapped, 1), pair.size(), pair.rank()]
        dist.destroy_process_group(pair)
    return results


@case
def subgroups(torch, dist, rank, size):
    own, every = dist.new_subgroups(group_size=1)
    by_list, _ = dist.new_subgroups_by_enumeration([[rank] for rank in range(size)])
    return dist.get_process_group_ranks(own), len(every), dist.get_process_group_ranks(by_list)


@case
def coalesced(torch, dist, rank, size):
    tensors = [torch.full((2,), rank + 1.), torch.full((1,), rank + 5.)]
    with dist.distributed_c10d._coalescing_manager():
        for tensor in tensors:
            dist.all_reduce(tensor)
    with dist.distributed_c10d._coalescing_manager(async_ops=True) as manager:
        for tensor in tensors:
            dist.all_reduce(tensor)
    manager.wait()
    return tensors


@case
def group_methods(torch, dist, rank, size):
    pg, tensor = dist.group.WORLD, torch.tensor([rank + 1.])
    pg.allreduce(tensor).wait()
    pg.allreduce([tensor], dist.ReduceOp.MAX).wait()
    pg.broadcast(tensor, 0).wait()
    pg.barrier().wait()
    outputs = [torch.zeros(1) for _ in range(size)]
    pg.allgather(outputs, tensor).wait()
    future = pg.allreduce([tensor]).get_future()
    doubled = future.then(lambda done: done.value()[0] * 2).wait()
    return tensor, outputs, doubled, pg.rank(), pg.size(), pg.group_name, pg.group_desc


@case
def queries(torch, dist, rank, size):
    return (dist.is_available(), dist.is_initialized(), dist.get_rank(), dist.get_world_size(),
            dist.get_process_group_ranks(None), dist.get_process_group_ranks(dist.group.WORLD),
            dist.get_global_rank(dist.group.WORLD, 1), dist.is_torchelastic_launched(), dist.get_node_local_rank(3))


@case
def barriers(torch, dist, rank, size):
    dist.barrier()
    dist.barrier(device_ids=[0])        # of an accelerator, if the group has one
    work = dist.barrier(async_op=True)
    work.wait()
    dist.monitored_barrier(timeout=timedelta(seconds=60))
    return work.is_completed()


@case
def wrong_arguments(torch, dist, rank, size):
    one = torch.ones(1)
    calls = [
        (dist.all_reduce, [one]), (dist.all_gather, one, one), (dist.all_gather, [1], one),
        (dist.all_gather, [one.int()], one), (dist.broadcast, one), (dist.broadcast, one, 0, None, False, 0),
        (dist.send, one, rank), (dist.init_process_group, "gloo"),
        (dist.gather, one, [one] if rank else None), (dist.scatter, one, [one] if rank else None),
        (dist.new_group, [0, size]), (dist.new_group, [0, 0]), (dist.new_group, None, 5.0),
        (dist.P2POp, dist.send, one, 0), (dist.batch_isend_irecv, [1]),
        (dist.all_reduce, torch.ones(1, dtype=torch.complex64), dist.ReduceOp.MAX),
        (dist.scatter_object_list, []), (dist.new_subgroups, size + 1), (dist.new_subgroups, 0),
        (dist.new_subgroups_by_enumeration, []), (dist.Backend, 3)]
    return [error_of(*call) for call in calls]


@case
def wrong_roots_reductions_and_timeouts(torch, dist, rank, size):
    one = torch.ones(1)
    errors = [error_of(*call) for call in [
        (dist.broadcast, one, 9), (dist.reduce, one, 9), (dist.gather, one, None, 9), (dist.scatter, one, None, 9),
        (dist.monitored_barrier, None, 3)]]
    return [(kind, text.replace("Gloo", "MPI")) for kind, text in errors], error_of(dist.all_reduce, one, "sum")[0]


@case
def functional_collectives(torch, dist, rank, size):
    functional = importlib.import_module(f"{torch.__name__}.distributed._functional_collectives")
    tensor, group = torch.arange(float(size ** 2)).reshape(size, size) + rank, dist.group.WORLD
    mesh = dist.init_device_mesh("cpu", (size,))
    results = [functional.all_reduce(tensor, "sum", group), functional.all_reduce(tensor, "max", mesh),
               functional.all_reduce(tensor, "avg", (mesh, 0)), functional.all_gather_tensor(tensor, 0, group),
               functional.all_gather_tensor(tensor, 1, group),
               functional.reduce_scatter_tensor(tensor, "sum", 0, group),
               functional.reduce_scatter_tensor(tensor, "sum", 1, group), functional.broadcast(tensor, 1, group),
               functional.all_to_all_single(tensor, None, None, group),
               functional.permute_tensor(tensor[0], [(place + 1) % size for place in range(size)], group),
               *functional.all_reduce_coalesced([tensor, tensor + 1], "sum", group),
               *functional.all_gather_into_tensor_coalesced([tensor, tensor + 1], group),
               *functional.reduce_scatter_tensor_coalesced([tensor, tensor + 1], "sum", [0, 0], group)]
    return [functional.wait_tensor(each) for each in results], tensor


def gradient(tensor, function):
    """Of the sum of squares of the results, which differ from rank to rank."""
    tensor = tensor.clone().requires_grad_()
    results = function(tensor)
    results = results if isinstance(results, (list, tuple)) else [results]
    sum((each ** 2).sum() * (place + 1) for place, each in enumerate(results)).backward()
    return [*(each.detach() for each in results), tensor.grad]


@case
def gradients_of_functional_collectives(torch, dist, rank, size):
    functional = importlib.import_module(f"{torch.__name__}.distributed._functional_collectives")
    tensor, group = torch.arange(2. * size).reshape(size, 2) + rank, dist.group.WORLD
    return [gradient(tensor, lambda x: functional.wait_tensor(functional.all_gather_tensor_autograd(x, 0, group))),
            gradient(tensor, lambda x: functional.wait_tensor(
                functional.reduce_scatter_tensor_autograd(x, "sum", 0, group))),
            gradient(tensor, lambda x: functional.wait_tensor(
                functional.all_to_all_single_autograd(x, [1] * size, [1] * size, group)))]


@case
def gradients_of_collectives(torch, dist, rank, size):
    nn = importlib.import_module(f"{torch.__name__}.distributed.nn")
    tensor = torch.arange(2. * size).reshape(size, 2) + rank
    return [gradient(tensor, function) for function in [
        nn.all_reduce, nn.all_gather, lambda x: nn.broadcast(x, 1),
        lambda x: nn.reduce_scatter(torch.zeros(2), list(x.unbind())),
        lambda x: nn.all_to_all([torch.zeros(2) for _ in range(size)], list(x.unbind())),
        lambda x: nn.all_to_all_single(torch.zeros(size, 2), x), lambda x: nn.scatter(list(x.unbind()), src=0)]]


@case
def states_of_a_module(torch, dist, rank, size):
    tensors = [torch.full((3,), float(rank)), torch.tensor([rank]), torch.full((2, 2), rank + 1.)]
    dist._broadcast_coalesced(dist.group.WORLD, tensors, 16, 1)
    alike = dist._verify_params_across_processes(dist.group.WORLD, tensors, None)
    different = error_of(dist._verify_params_across_processes, dist.group.WORLD, [torch.zeros(rank + 1)], None)
    return tensors, alike, different[0]
