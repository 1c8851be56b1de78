"""Four ranks in meshes of two and three dimensions: cases of sharding_cases.py. Each returns plain values."""
import importlib

import parallel_cases

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def mesh_of(n, **dims):
    return n.init_mesh(n.device, tuple(dims.values()), mesh_dim_names=tuple(dims))


def both_parallel(n, dp, tp, sharded_logits=False):
    """The Llama with its layers cut along `tp`, then sharded along `dp`."""
    n.mesh, before = tp, n.mesh
    net = parallel_cases.plan(n, sequence=True, sharded_logits=sharded_logits)(parallel_cases.llama(n))
    n.mesh = before
    for block in net.layers:
        n.fsdp.fully_shard(block, mesh=dp)
    return n.fsdp.fully_shard(net, mesh=dp)


@case
def fully_shard_with_tensor_parallel(n):
    """Placements and parts of parameters, then training with clipping and logits that are cut by classes."""
    mesh = mesh_of(n, dp=2, tp=2)
    loss_parallel = importlib.import_module(f"{n.torch.__name__}.distributed.tensor.parallel").loss_parallel
    net = both_parallel(n, mesh["dp"], mesh["tp"], sharded_logits=True)
    out = [[name, str(value.placements), list(value.shape), list(value.device_mesh.shape), value.to_local().tolist()]
           for name, value in net.named_parameters()]
    return [*out, *parallel_cases.train(n, net, clip=0.5, context=loss_parallel)]


@case
def replicas_of_both(n):
    mesh = mesh_of(n, replicate=2, shard=1, tp=2)
    return parallel_cases.train(n, both_parallel(n, mesh["replicate", "shard"], mesh["tp"]))


@case
def flattened_dimension(n):
    mesh = mesh_of(n, dp=2, cp=1, tp=2)
    flat = mesh["dp", "cp"]._flatten("dp_cp")
    net = both_parallel(n, flat, mesh["tp"])
    weight = net.layers[0].attention.wq.weight
    return [str(weight.device_mesh.mesh_dim_names), *parallel_cases.train(n, net)]


@case
def strided_shards(n):
    """Any placements to any others, with parts of uneven lengths."""
    mesh, strided = mesh_of(n, dp=2, tp=2), n.placement_types._StridedShard
    cut = (strided(0, split_factor=2), n.Shard(0))
    others = [(n.Replicate(), n.Replicate()), (n.Shard(0), n.Shard(0)), (n.Replicate(), n.Shard(0)),
              (n.Shard(1), n.Shard(0)), cut]
    out = [[repr(cut[0]), str(cut[0]), cut[0].is_shard(), cut[0] == strided(0, split_factor=2)]]
    for length in (8, 4):
        x = n.distribute(n.numbers(length, 2), mesh, [n.Replicate()] * 2)
        for a in others:
            for b in (others[0], cut):
                y = x.redistribute(placements=a).redistribute(placements=b)
                out += [y.to_local().cpu(), y.full_tensor().cpu()]
        y = x.redistribute(placements=cut)
        out += [str((y * y + x).placements), (y * y + x).full_tensor(), y.norm().full_tensor(), y.sum(1).full_tensor()]
    return out
