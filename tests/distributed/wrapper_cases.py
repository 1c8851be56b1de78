"""What the ranks of test_fully_sharded_data_parallel.py do. FullyShardedDataParallel trains as fully_shard does, which
test_sharding.py compares with torch."""
import functools
import importlib

import fsdp_cases
from collective_cases import plain
from fsdp_cases import network
from sharding_cases import Names


def wrapped(n, model=None, **options):
    """The network of fsdp_cases, whose two blocks are wrapped on their own."""
    model = network(n) if model is None else model
    block = type(model[1])
    options = {"auto_wrap_policy": policies(n).ModuleWrapPolicy({block}), "device_id": n.torch.device(n.device),
               "use_orig_params": True, **options}
    return n.fsdp.FullyShardedDataParallel(model, **options)


def policies(n):
    return importlib.import_module(f"{n.fsdp.__name__}.wrap")


def train(n, net, kind="AdamW", steps=3, micro=1, clip=None, **options):
    """Losses, norms and whole parameters of training, each rank with half of the joint batch."""
    optimizer = getattr(n.torch.optim, kind)(net.parameters(), lr=0.05, **options)
    x, out = n.numbers(steps, micro, 2 * n.size, 3), []
    for step in range(steps):
        for part in range(micro):
            with net.no_sync() if part < micro - 1 else functools.partial(n.torch.enable_grad)():
                loss = net(x[step, part, n.rank::n.size]).float().pow(2).mean()
                loss.backward()
            out.append(loss.item())
        if clip:
            out.append(net.clip_grad_norm_(clip).item())
        optimizer.step()
        optimizer.zero_grad()
    return [*out, *(value.cpu() for value in net.state_dict().values())]


def what_is_wrapped(torch, rank, size):
    """The names of what each kind of policy wraps; and by hand."""
    n = Names(torch, rank, size, "cpu")
    wrap, found = policies(n), []

    def note(**options):
        net = wrapped(n, **options)
        found.append([name.replace("_fsdp_wrapped_module", "*") for name, module in net.named_modules()
                      if module in net.fsdp_modules(net)])

    note(auto_wrap_policy=None)
    note(auto_wrap_policy=functools.partial(wrap.size_based_auto_wrap_policy, min_num_params=30))
    note(auto_wrap_policy=functools.partial(wrap.transformer_auto_wrap_policy, transformer_layer_cls={n.nn.Linear}))
    note(auto_wrap_policy=functools.partial(wrap.lambda_auto_wrap_policy, lambda_fn=lambda each: hasattr(each, "up")))
    note(auto_wrap_policy=wrap.CustomPolicy(lambda each: {"forward_prefetch": True} if hasattr(each, "up") else False))
    with wrap.enable_wrap(wrapper_cls=n.fsdp.FullyShardedDataParallel, device_id=n.torch.device("cpu"),
                          use_orig_params=True):
        inner = type(wrap.wrap(n.nn.Linear(2, 2))).__name__
    return [*found, inner, type(wrap.wrap(n.nn.Linear(2, 2))).__name__]


def training(torch, rank, size, device):
    """For each way to train, by both interfaces: losses, norms and whole parameters."""
    if device == "npu":
        torch.npu.set_device(rank % torch.npu.device_count())
    n = Names(torch, rank, size, device)
    strategy, half = n.fsdp.ShardingStrategy, torch.bfloat16
    pairs = {"as it is": ({}, {}, {}),
             "kept": ({"sharding_strategy": strategy.SHARD_GRAD_OP}, {"reshard_after_forward": False}, {}),
             "whole": ({"sharding_strategy": strategy.NO_SHARD}, {}, {}),
             "accumulated": ({}, {}, {"micro": 2}), "clipped": ({}, {}, {"clip": 0.1}),
             "mixed": ({"mixed_precision": n.fsdp.MixedPrecision(half, torch.float32, cast_forward_inputs=True)},
                       {"mp_policy": n.fsdp.MixedPrecisionPolicy(half, torch.float32)}, {})}
    return {name: [plain(train(n, wrapped(n, **ours), **options)),
                   plain(fsdp_cases.train(n, fsdp_cases.sharded(n, **theirs), **options))]
            for name, (ours, theirs, options) in pairs.items()}


def states(torch, rank, size, checkpointed):
    """A state goes into the plain model and back, that of an optimizer, too: then both nets train alike. With
    `checkpointed` the wrapped modules have another wrapper inside, which computes activations again."""
    n = Names(torch, rank, size, "cpu")
    fsdp, kinds = n.fsdp.FullyShardedDataParallel, n.fsdp.StateDictType
    models = [network(n) for _ in range(3)]
    for model in models[:2] if checkpointed else ():
        recompute = importlib.import_module("mindtorch.distributed.algorithms._checkpoint.checkpoint_wrapper")
        recompute.apply_activation_checkpointing(
            model, auto_wrap_policy=policies(n).ModuleWrapPolicy({type(model[1])}))
        assert type(model[1]) is recompute.CheckpointWrapper
    net, other, plain_net = wrapped(n, models[0]), wrapped(n, models[1]), models[2]
    with torch.no_grad():
        for each in plain_net.parameters():
            each.add_(rank)
    synced = wrapped(n, plain_net, sync_module_states=True).state_dict()
    alike = all(value.equal(each) for value, each in zip(synced.values(), network(n).state_dict().values(),
                                                         strict=True))
    optimizers = [torch.optim.AdamW(each.parameters(), lr=0.1) for each in (net, other)]
    net(n.numbers(2, 3)).sum().backward()
    optimizers[0].step()
    state, moments = net.state_dict(), fsdp.optim_state_dict(net, optimizers[0])
    other.load_state_dict(state)
    optimizers[1].load_state_dict(fsdp.optim_state_dict_to_load(other, optimizers[1], moments))
    loaded = network(n)
    loaded.load_state_dict(state)
    for each, optimizer in zip((net, other), optimizers, strict=True):
        optimizer.zero_grad()
        each(n.numbers(2, 3)).pow(2).sum().backward()
        optimizer.step()
    equal = all(value.equal(each) for value, each in zip(net.state_dict().values(), other.state_dict().values(),
                                                         strict=True))
    with fsdp.state_dict_type(net, kinds.FULL_STATE_DICT, n.fsdp.FullStateDictConfig(True, True),
                              n.fsdp.FullOptimStateDictConfig(True, True)):
        counts = [len(net.state_dict()), len(fsdp.optim_state_dict(net, optimizers[0]).get("state", ()))]
    with fsdp.state_dict_type(net, kinds.SHARDED_STATE_DICT):
        parts = net.state_dict()
        parts = [type(parts["0.weight"]).__name__, str(other.load_state_dict(parts))]
    names = list(state) == list(network(n).state_dict()) and set(moments["state"]) == set(state)
    return [alike, equal, names, counts, parts, fsdp.get_state_dict_type(net).state_dict_type.name]


def summoned(torch, rank, size):
    """Whole parameters within a block: names, values, and what is written back."""
    n = Names(torch, rank, size, "cpu")
    net, fsdp, plain = wrapped(n), n.fsdp.FullyShardedDataParallel, network(n)
    with fsdp.summon_full_params(net):
        found = [(name, each.tolist()) for name, each in net.named_parameters()]
        equal = found == [(name, each.tolist()) for name, each in plain.named_parameters()]
        with torch.no_grad():
            for each in net.parameters():
                each.mul_(2)
    net.apply(lambda each: each.bias.data.fill_(1) if isinstance(each, n.nn.LayerNorm) else None)
    with fsdp.summon_full_params(net, writeback=False), torch.no_grad():
        net.module[0].weight.fill_(9)
    state = net.state_dict()
    return [equal, [name for name, value in plain.state_dict().items() if not state[name].equal(2 * value)],
            state["1.norm.bias"].tolist()]
