"""fully_shard: cases of sharding_cases.py. Each returns plain values."""
import copy
import importlib

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def network(n):
    """The network that cases train: layers of uneven widths."""
    class Block(n.nn.Module):
        def __init__(self, width):
            super().__init__()
            self.norm, self.up, self.down = n.nn.LayerNorm(width), n.nn.Linear(width, 6), n.nn.Linear(6, width)

        def forward(self, x):
            return x + self.down(self.up(self.norm(x)).tanh())

    n.torch.manual_seed(0)
    net = n.nn.Sequential(n.nn.Linear(3, 5), Block(5), Block(5), n.nn.Linear(5, 1))
    with n.torch.no_grad():
        for number, parameter in enumerate(net.parameters()):
            parameter.copy_(n.numbers(*parameter.shape).cpu() * 0.3 + number * 0.01)
    return net.to(n.device)


def sharded(n, **options):
    net = network(n)
    for block in (net[1], net[2]):
        n.fsdp.fully_shard(block, mesh=n.mesh, **options)
    return n.fsdp.fully_shard(net, mesh=n.mesh, **options)


def train(n, net, kind="AdamW", steps=3, clip=None, micro=1, **options):
    """Losses, norms and parameters of training, each rank with half of the joint batch."""
    optimizer = getattr(n.torch.optim, kind)(net.parameters(), lr=0.05, **options)
    x, out = n.numbers(steps, micro, 2 * n.size, 3), []
    for step in range(steps):
        for part in range(micro):
            if hasattr(net, "set_requires_gradient_sync"):
                net.set_requires_gradient_sync(part == micro - 1)
            loss = net(x[step, part, n.rank::n.size]).float().pow(2).mean()
            loss.backward()
            out.append(loss.item())
        if clip:
            out.append(n.nn.utils.clip_grad_norm_(net.parameters(), clip).full_tensor().item())
        optimizer.step()
        optimizer.zero_grad()
    return [*out, *(value.full_tensor().cpu() for value in net.state_dict().values())]


@case
def training(n):
    return train(n, sharded(n))


@case
def parameters(n):
    """What is sharded, how, and when."""
    net = sharded(n)
    out = [[name, str(value.placements), list(value.to_local().shape)] for name, value in net.named_parameters()]
    out += [type(net).__name__, type(net[1]).__name__, isinstance(net[1], n.nn.Module)]
    kinds = []
    net[1].register_forward_hook(lambda *_: kinds.append(type(net[2].up.weight).__name__))
    loss = net(n.numbers(2, 3)).sum()
    kinds += [type(net[part].weight if part in (0, 3) else net[part].up.weight).__name__ for part in range(4)]
    loss.backward()
    kinds += [type(value).__name__ for value in net.parameters()]
    net[1].unshard()
    kinds.append(type(net[1].up.weight).__name__)
    net[1].reshard()
    return [*out, *kinds, *(value.grad.full_tensor().cpu() for value in net.parameters())]


@case
def clipping(n):
    return train(n, sharded(n), clip=0.1)


@case
def accumulation(n):
    return train(n, sharded(n), micro=2)


@case
def kept_after_forward(n):
    return train(n, sharded(n, reshard_after_forward=False), "SGD", momentum=0.9)


@case
def prefetched(n):
    """Each block gathers for the next one in the forward, and for the one before in the backward."""
    net = sharded(n)
    net[1].set_modules_to_forward_prefetch([net[2]])
    net[2].set_modules_to_backward_prefetch([net[1]])
    return train(n, net)


@case
def mixed_precision(n):
    policy = n.fsdp.MixedPrecisionPolicy(param_dtype=n.torch.bfloat16, reduce_dtype=n.torch.float32)
    net = sharded(n, mp_policy=policy)
    return [str(net(n.numbers(2, 3)).dtype).rpartition(".")[2], train(n, net, "SGD")]


@case
def replicas(n):
    """A mesh of two dimensions: here all ranks are replicas."""
    n.mesh, before = n.init_mesh(n.device, (n.size, 1), mesh_dim_names=("replicate", "shard")), n.mesh
    try:
        return train(n, sharded(n))
    finally:
        n.mesh = before


@case
def other_dimension(n):
    def place(parameter):
        return n.Shard(1 if parameter.dim() == 2 and parameter.shape[1] % 2 == 0 else 0)

    return train(n, sharded(n, shard_placement_fn=place))


@case
def on_meta_first(n):
    """Sharded without memory, then given some."""
    with n.torch.device("meta"):
        net = n.nn.Sequential(n.nn.Linear(3, 5), n.nn.Linear(5, 1))
    n.fsdp.fully_shard(net, mesh=n.mesh)
    net.to_empty(device=n.device)
    with n.torch.no_grad():
        for parameter in net.parameters():
            parameter.fill_(0.1)
    return train(n, net)


@case
def state_dicts(n):
    """What one net has learnt another loads."""
    net, other = sharded(n), sharded(n)
    train(n, net)
    other.load_state_dict(net.state_dict())
    x = n.numbers(2, 3)
    return [other(x).detach().cpu(), bool((net(x) == other(x)).all())]


@case
def unused_and_frozen(n):
    net = network(n)
    net[1].up.weight.requires_grad_(False)
    net.spare = n.nn.Linear(2, 2, device=n.device)
    net.forward = lambda x: net[3](net[1](net[1](net[0](x))))
    for part in (net[1], net[2], net):
        n.fsdp.fully_shard(part, mesh=n.mesh)
    loss = net(n.numbers(2, 3)).sum()
    loss.backward()
    return [None if value.grad is None else value.grad.full_tensor().cpu() for value in net.parameters()]


@case
def recomputed(n):
    """With activation checkpoints the forward of a block runs again in the backward."""
    checkpoint = importlib.import_module(f"{n.torch.__name__}.utils.checkpoint").checkpoint
    net = network(n)
    for block in (net[1], net[2]):
        inner = block.forward
        block.forward = lambda x, inner=inner: checkpoint(inner, x, use_reentrant=False)
        n.fsdp.fully_shard(block, mesh=n.mesh)
    n.fsdp.fully_shard(net, mesh=n.mesh)
    return train(n, net)


@case
def scaled_losses(n):
    """An infinite gradient in one rank's shard has all ranks leave out the step."""
    net = sharded(n)
    scaler = n.torch.amp.GradScaler(n.device, init_scale=4.0)
    optimizer = n.torch.optim.SGD(net.parameters(), lr=0.1)
    out = []
    for step in range(3):
        scaler.scale(net(n.numbers(2, 3)).pow(2).mean()).backward()
        if step == 1 and n.rank == 1:
            net[0].weight.grad.to_local()[0, 0] = float("inf")
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        out += [scaler.get_scale(), net[0].weight.full_tensor().cpu()]
    return out


@case
def offloaded(n):
    """Shards and the optimizer's state in host memory."""
    net = sharded(n, offload_policy=n.fsdp.CPUOffloadPolicy(pin_memory=False))
    optimizer = n.torch.optim.AdamW(net.parameters(), lr=0.05)
    out = [str(net[1].up.weight.device)]
    for _ in range(2):
        loss = net(n.numbers(2, 3) + n.rank).pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        out.append(loss.item())
    return out


@case
def a_scaler_of_all_ranks(n):
    """One rank has found an infinity: all leave the step out. The gradients are no DTensors."""
    scalers = importlib.import_module(f"{n.torch.__name__}.distributed.fsdp.sharded_grad_scaler")
    scaler = scalers.ShardedGradScaler(n.device, init_scale=8.0)
    layer = n.nn.Linear(2, 2).to(n.device)
    with n.torch.no_grad():
        layer.weight.copy_(n.numbers(2, 2))
        layer.bias.zero_()
    optimizer, out = n.torch.optim.SGD(layer.parameters(), lr=0.1), []
    for step in range(2):
        scaler.scale(layer(n.numbers(3, 2)).sum()).backward()
        if n.rank == step == 1:
            layer.weight.grad[0, 0] = float("inf")
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        out += [scaler.get_scale(), layer.weight.detach().cpu()]
    return out


@case
def summed_and_hooked(n):
    """Averages as divided sums, and a hook that changes what has been reduced."""
    net, seen = sharded(n), []

    def halve(gradients):
        seen.append(gradients.numel())
        gradients.mul_(0.5)

    net.set_force_sum_reduction_for_comms(True)
    for part in (net, net[1], net[2]):
        part.set_all_reduce_hook(halve)
    return [train(n, net, "SGD"), seen]


@case
def unused_on_other_ranks(n):
    """Each rank uses a layer of its own; those that it leaves out take part in the reduction as zeros."""
    class Choice(n.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = n.nn.ModuleList(n.nn.Linear(3, 2) for _ in range(n.size))

        def forward(self, x):
            return self.layers[n.rank](x)

    n.torch.manual_seed(0)
    net = Choice()
    with n.torch.no_grad():
        for parameter in net.parameters():
            parameter.copy_(n.numbers(*parameter.shape).cpu())
    net = n.fsdp.fully_shard(net.to(n.device), mesh=n.mesh)
    net.set_reduce_scatter_unused_params(True)
    net(n.numbers(2, 3) * (n.rank + 1)).sum().backward()
    return [value.grad.full_tensor().cpu() for value in net.parameters()]


@case
def begun_again(n):
    """A forward that an exception ends is forgotten."""
    net = sharded(n)

    def fails(*_):
        raise ZeroDivisionError

    hook = net[2].up.register_forward_hook(fails)
    try:
        net(n.numbers(2, 3))
    except ZeroDivisionError:
        hook.remove()
    net.reset_iter_state()
    return train(n, net, "SGD")


@case
def part_of_the_ranks(n):
    """Between forward and backward the parameters stay shared out among fewer ranks: here among all, or one has all."""
    return [train(n, sharded(n, reshard_after_forward=ranks), "SGD") for ranks in (1, n.size)]


@case
def refused(n):
    """What fully_shard does not take, and what a module with shards does not do."""
    def error(function):
        try:
            function()
        except (AssertionError, RuntimeError, ValueError) as raised:
            return f"{type(raised).__name__}: {str(raised).splitlines()[0]}"
        return None

    net, made = sharded(n), n.nn.Linear(2, 2)
    made.scale = n.nn.Parameter(n.torch.tensor(1.0))
    with n.torch.device("meta"):
        empty = n.fsdp.fully_shard(n.nn.Sequential(n.nn.Linear(3, 2)), mesh=n.mesh)
    plain = n.init_mesh(n.device, (n.size, 1))
    return [error(lambda: n.fsdp.fully_shard(net, mesh=n.mesh)), error(lambda: copy.deepcopy(net)),
            error(lambda: n.fsdp.fully_shard(n.nn.Sequential(made), mesh=n.mesh)),
            error(lambda: n.fsdp.fully_shard(n.nn.Linear(2, 2), mesh=plain)),
            error(lambda: n.fsdp.fully_shard(n.nn.Linear(2, 2), mesh=n.mesh, reshard_after_forward=3)),
            error(lambda: n.fsdp.fully_shard(n.nn.Linear(2, 2), mesh=n.mesh, shard_placement_fn=lambda _: n.Shard(1))),
            error(lambda: empty(n.numbers(1, 3))), n.fsdp.fully_shard.state(net) is not None,
            n.fsdp.fully_shard.state(made)]


@case
def replaced_before_the_first_forward(n):
    """A shard that was computed anew, on the mesh of a model without data."""
    with n.torch.device("meta"):
        net = n.nn.Sequential(n.nn.Linear(3, 4, bias=False), n.nn.Linear(4, 1))
        for part in (net[0], net):
            n.fsdp.fully_shard(part, mesh=n.init_mesh(n.device, (n.size,)))
    net[1].to_empty(device=n.device)
    whole = n.numbers(4, 3)
    net[0].weight = n.nn.Parameter(n.api.distribute_tensor(whole, n.mesh, [n.Shard(0)]))
    with n.torch.no_grad():
        for parameter in net[1].parameters():
            parameter.fill_(0.1)
    return train(n, net, "SGD")


@case
def several_modules_of_which_one_runs(n):
    """One group of two layers, the first of which no forward uses."""
    net = network(n)
    n.fsdp.fully_shard([net[1].norm, net[1].up], mesh=n.mesh)
    n.fsdp.fully_shard([net[2].up, net[2].down], mesh=n.mesh)
    net[1].forward = lambda x: x + net[1].down(net[1].up(x).tanh())
    net = n.fsdp.fully_shard(net, mesh=n.mesh)
    out = []
    for _ in range(2):
        loss = net(n.numbers(2, 3)).pow(2).mean()
        loss.backward()
        out += [loss.item(), *(None if value.grad is None else value.grad.full_tensor().cpu()
                               for value in net.parameters())]
    return out


@case
def hooks_on_shards(n):
    """An optimizer's step as soon as a shard has its gradient."""
    net, names = sharded(n), []
    for name, parameter in net.named_parameters():
        def step(shard, name=name):
            names.append(name)
            shard.add_(shard.grad, alpha=-0.1)
            shard.grad = None
        parameter.register_post_accumulate_grad_hook(step)
    for _ in range(2):
        net(n.numbers(2, 3)).pow(2).mean().backward()
    return [sorted(names), [value.full_tensor().detach().cpu() for value in net.parameters()]]


@case
def gradients_add_up_in_the_dtype_of_the_reduction(n):
    """Four backwards in bfloat16 of which the last reduces in float32."""
    policy = n.fsdp.MixedPrecisionPolicy(param_dtype=n.torch.bfloat16, reduce_dtype=n.torch.float32)
    net = n.fsdp.fully_shard(n.nn.Linear(4, 1, bias=False).to(n.device), mesh=n.mesh, mp_policy=policy)
    x = n.torch.tensor([[256.0, 1, 1, 1]], device=n.device)
    for part in range(4):
        net.set_requires_gradient_sync(part == 3)
        net(x.roll(part % 2, 1)).sum().backward()
    return net.weight.grad.full_tensor().cpu()


@case
def more_parameters_than_dimensions(n):
    """A group of a hundred parameters."""
    n.torch.manual_seed(0)
    net = n.nn.Sequential(*(n.nn.Linear(2, 2) for _ in range(50)))
    with n.torch.no_grad():
        for parameter in net.parameters():
            parameter.copy_(n.numbers(*parameter.shape).cpu() * 0.5)
    net = n.fsdp.fully_shard(net.to(n.device), mesh=n.mesh)
    net(n.numbers(2, 2)).sum().backward()
    return [value.grad.full_tensor().cpu() for value in net.parameters()]


@case
def counted_by_module(n):
    """A count of collectives by module, where layers lie in a list."""
    debug = importlib.import_module(f"{n.torch.__name__}.distributed.tensor.debug")

    class Stack(n.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = n.nn.ModuleList(n.nn.Linear(2, 2) for _ in range(2))

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

    net, out = Stack().to(n.device), []
    for part in (*net.layers, net):
        n.fsdp.fully_shard(part, mesh=n.mesh)
    with debug.CommDebugMode() as mode:
        net(n.numbers(2, 2)).sum().backward()
    out += sorted([str(each), count] for each, count in mode.get_comm_counts().items())
    for order in (1.0, 2.0, 3.0):               # the norms of all gradients are reduced together
        with debug.CommDebugMode() as mode:
            norm = n.nn.utils.clip_grad_norm_(net.parameters(), 0.1, norm_type=order)
        out.append([mode.get_total_counts(), norm.full_tensor().item()])
    return out
