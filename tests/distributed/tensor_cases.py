"""DTensor: cases of sharding_cases.py. Each returns plain values."""
import importlib

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def both(tensor):
    """A DTensor: this rank's part, the whole, the placements."""
    return [tensor.to_local().tolist(), tensor.full_tensor().tolist(), str(tensor.placements), list(tensor.shape)]


@case
def placements_have_names(n):
    return [[repr(p), str(p), p.is_shard(), p.is_replicate(), p.is_partial()]
            for p in (n.Shard(0), n.Shard(1), n.Replicate(), n.Partial(), n.Partial("avg"))]


@case
def parts_of_uneven_lengths(n):
    return [both(n.distribute(n.numbers(*shape), n.mesh, [n.Shard(dim)]))
            for shape in ((4, 2), (5, 3), (1, 3)) for dim in (0, 1)]


@case
def every_redistribution(n):
    places = [n.Replicate(), n.Shard(0), n.Shard(1)]
    x = n.numbers(5, 3)
    out = [both(n.distribute(x, n.mesh, [a]).redistribute(placements=[b])) for a in places for b in places]
    partial = n.api.DTensor.from_local(x + n.rank, n.mesh, [n.Partial()])
    return [*out, *(both(partial.redistribute(placements=[b])) for b in places)]


@case
def gradients_of_redistributions(n):
    out = []
    for place in (n.Replicate(), n.Shard(0)):
        x = n.distribute(n.numbers(4, 2), n.mesh, [n.Shard(1)]).requires_grad_()
        (x.redistribute(placements=[place]).to_local() * (n.rank + 1)).sum().backward()
        out.append(both(x.grad))
    for place in (n.Replicate(), n.Shard(0), n.Partial()):
        local = n.numbers(2, 2).requires_grad_()
        whole = n.api.DTensor.from_local(local, n.mesh, [place]).full_tensor()
        (whole * whole).sum().backward()
        out.append(local.grad)
    return out


@case
def elementwise_operators(n):
    x, y = (n.distribute(n.numbers(5, 3), n.mesh, [n.Shard(0)]) for _ in range(2))
    row = n.distribute(n.numbers(3), n.mesh, [n.Replicate()])
    values = [x + y, x * 2, x * row, x.exp(), n.F.gelu(x), x > 0, -x, x / 3, x.to(n.torch.float64),
              n.torch.where(x > 0, x, y), n.torch.zeros_like(x)]
    return [both(value) for value in values]


@case
def reductions(n):
    x = n.distribute(n.numbers(4, 3), n.mesh, [n.Shard(0)])
    values = [x.sum(), x.mean(), x.sum(0), x.sum(1), x.mean(1, keepdim=True), x.amax(0), x.amin(1), x.max(), x.norm(),
              n.torch.linalg.vector_norm(x, float("inf")), x.softmax(1), x.softmax(0), x.argmax(1), x.var(0)]
    return [value.full_tensor() for value in values]


@case
def products(n):
    out, places = [], [n.Replicate(), n.Shard(0), n.Shard(1)]
    for a in places:
        for b in places:
            x, w = n.distribute(n.numbers(4, 6), n.mesh, [a]), n.distribute(n.numbers(2, 6), n.mesh, [b])
            bias = n.distribute(n.numbers(2), n.mesh, [n.Shard(0)])
            x.requires_grad_(), w.requires_grad_(), bias.requires_grad_()
            y = n.F.linear(x, w, bias)
            y.full_tensor().pow(2).sum().backward()
            out += [each.full_tensor() for each in (y, x.grad, w.grad, bias.grad)]
    batch = n.distribute(n.numbers(2, 3, 4), n.mesh, [n.Shard(0)])
    return [*out, (batch @ batch.transpose(1, 2)).full_tensor()]


@case
def views(n):
    x = n.distribute(n.numbers(4, 6), n.mesh, [n.Shard(0)])
    y = n.distribute(n.numbers(4, 6), n.mesh, [n.Shard(1)])
    values = [f(each) for each in (x, y) for f in (
        lambda t: t.view(2, 2, 6), lambda t: t.view(24), lambda t: t.view(4, 2, 3), lambda t: t.t(),
        lambda t: t.unsqueeze(1), lambda t: t[:, 1], lambda t: t[1], lambda t: t[:, 1:3], lambda t: t.reshape(6, 4),
        lambda t: n.torch.cat([t, t], 1), lambda t: n.torch.stack([t, t]), lambda t: t.chunk(2, 1)[1],
        lambda t: t.unsqueeze(0).expand(2, 4, 6), lambda t: t.flatten(), lambda t: t.permute(1, 0))]
    return [[value.full_tensor(), list(value.shape)] for value in values]


@case
def layers(n):
    """A layer of each kind with parameters cut along each dimension: results and gradients."""
    out, places = [], [n.Replicate(), n.Shard(0), n.Shard(1)]
    tokens = n.torch.tensor([[0, 3, 2], [1, 0, 5]], device=n.device)
    for place in places:
        weight = n.distribute(n.numbers(6, 4), n.mesh, [place]).requires_grad_()
        y = n.F.embedding(n.distribute(tokens, n.mesh, [n.Replicate()]), weight).full_tensor()
        y.pow(2).sum().backward()
        out += [y, weight.grad.full_tensor()]
    for place in [*places, n.Shard(2)]:
        x = n.distribute(n.numbers(2, 4, 6), n.mesh, [place]).requires_grad_()
        weight, bias = (n.distribute(n.numbers(6), n.mesh, [n.Replicate()]).requires_grad_() for _ in range(2))
        y = n.F.layer_norm(x, (6,), weight, bias)
        y.full_tensor().pow(2).sum().backward()
        out += [each.full_tensor() for each in (y, x.grad, weight.grad, bias.grad)]
    return out


@case
def attention(n):
    """torch has none for the CPU: there the tensors are whole."""
    heads = [(n.numbers(2, 4, 3, 5) * k).requires_grad_() for k in (1, 2, 3)]
    ours = n.torch.__name__ == "mindtorch"
    parts = [n.distribute(head.detach(), n.mesh, [n.Shard(1)]).requires_grad_() for head in heads] if ours else heads
    y = n.F.scaled_dot_product_attention(*parts, is_causal=True)
    if ours:
        assert y.placements == (n.Shard(1),)
    whole = y.full_tensor() if ours else y
    whole.pow(2).sum().backward()
    return [whole, *(each.grad.full_tensor() if ours else each.grad for each in parts)]


@case
def writes(n):
    """In-place operators keep the placements; random ones give the numbers of one rank."""
    x = n.distribute(n.numbers(5, 3), n.mesh, [n.Shard(0)])
    y = n.distribute(n.numbers(5, 3), n.mesh, [n.Replicate()])
    with n.torch.no_grad():
        x.add_(y).mul_(2).addcdiv_(x, x.abs() + 1, value=-0.5)
        y.copy_(x)
    return [both(x), both(y), x.equal(x)]


@case
def optimizers(n):
    """Each step changes parts as it changes the whole."""
    out = []
    for kind, options in (("AdamW", {}), ("AdamW", {"foreach": True}), ("AdamW", {"fused": True}),
                          ("SGD", {"momentum": 0.9})):
        values = [n.nn.Parameter(n.distribute(n.numbers(5, 3), n.mesh, [place])) for place in (n.Shard(0), n.Shard(1))]
        optimizer = getattr(n.torch.optim, kind)(values, lr=0.1, **options)
        for _ in range(2):
            loss = sum(value.pow(2).sum() for value in values)
            loss.backward()
            norm = n.nn.utils.clip_grad_norm_(values, 1.0)
            optimizer.step()
            optimizer.zero_grad()
        out += [loss.full_tensor(), norm.full_tensor(), *(both(value.detach()) for value in values)]
    return out


@case
def factories(n):
    values = [n.api.zeros(5, 3, device_mesh=n.mesh, placements=[n.Shard(0)]),
              n.api.ones((4, 2), device_mesh=n.mesh, placements=[n.Shard(1)]),
              n.api.full((3,), 2.5, device_mesh=n.mesh)]
    return [both(value) for value in values] + [
        list(f(4, 3, device_mesh=n.mesh, placements=[n.Shard(0)]).to_local().shape)
        for f in (n.api.empty, n.api.zeros)]


@case
def modules(n):
    n.torch.manual_seed(0)

    def cut(name, part, mesh):
        part.register_parameter("weight", n.nn.Parameter(n.distribute(part.weight, mesh, [n.Shard(0)])))

    module = n.api.distribute_module(n.nn.Linear(4, 2, device=n.device), n.mesh, cut)
    with n.torch.no_grad():
        module.weight.copy_(n.distribute(n.numbers(2, 4), n.mesh, [n.Replicate()]))
        module.bias.zero_()
    y = module(n.distribute(n.numbers(3, 4), n.mesh, [n.Replicate()]))
    return [y.full_tensor(), *(f"{key} {value.placements}" for key, value in module.state_dict().items())]


def error_of(call):
    try:
        call()
    except (ValueError, TypeError, RuntimeError, NotImplementedError, AssertionError) as error:
        return type(error).__name__
    return None


@case
def errors(n):
    x = n.distribute(n.numbers(4, 2), n.mesh, [n.Shard(0)])
    return [error_of(call) for call in (
        lambda: x + n.numbers(4, 2), lambda: x.redistribute(placements=[n.Partial()]),
        lambda: n.distribute(n.numbers(2), n.mesh, [n.Shard(0), n.Shard(0)]),
        lambda: n.api.DTensor.from_local(x, n.mesh, [n.Shard(0)]))]


@case
def functions_of_parts(n):
    """local_map: a product of parts whose sum is made by hand, gradients, redistributed inputs, what is refused."""
    experimental = importlib.import_module(f"{n.torch.__name__}.distributed.tensor.experimental")
    x = n.distribute(n.numbers(4, 2 * n.size), n.mesh, [n.Shard(1)]).requires_grad_()
    w = n.distribute(n.numbers(2 * n.size, 3), n.mesh, [n.Shard(0)])

    @experimental.local_map(out_placements=([n.Replicate()], None), in_placements=([n.Shard(1)], [n.Shard(0)], None),
                            redistribute_inputs=True)
    def product(x, w, count, scale=1):
        y = x @ w * scale
        n.torch.distributed.all_reduce(y)
        return y, count + 1

    y, count = product(x, w.redistribute(placements=[n.Replicate()]), 3, scale=2)
    partial = experimental.local_map(n.torch.mm, [n.Partial()])(x, w)
    partial.full_tensor().sum().backward()
    strict = experimental.local_map(n.torch.mm, [n.Partial()], ([n.Shard(0)], [n.Shard(0)]))
    with experimental.implicit_replication():
        mixed = (x * n.numbers(2 * n.size)).full_tensor()
    plain = product(n.numbers(1, 1), n.numbers(1, 1), 1)
    return [y.placements[0].is_replicate(), y.to_local(), count, partial.full_tensor(), x.grad.full_tensor(), mixed,
            error_of(lambda: strict(x, w)), error_of(lambda: experimental.local_map(lambda x: 5, [n.Shard(0)])(x)),
            type(plain[0]).__name__]


@case
def placements_of_the_program(n):
    """register_sharding: of an operator that DTensor has, and of one of the program."""
    experimental = importlib.import_module(f"{n.torch.__name__}.distributed.tensor.experimental")

    @experimental.register_sharding([n.torch.ops.aten.cumsum.default])
    def by_columns(x, dim):
        return [([n.Shard(1)], [n.Shard(1)])]

    @n.torch.library.custom_op("tensor_cases::centred", mutates_args=())
    def centred(x: n.torch.Tensor, dim: int) -> n.torch.Tensor:
        return x - x.mean(dim, keepdim=True)

    centred.register_fake(lambda x, dim: n.torch.empty_like(x))

    @experimental.register_sharding(n.torch.ops.tensor_cases.centred.default)
    def along_others(x, dim):
        return [([n.Shard(other)], [n.Shard(other), None]) for other in range(x.ndim) if other != dim]

    x = n.distribute(n.numbers(4, 6) * 3, n.mesh, [n.Shard(0)])
    small = n.distribute(n.numbers(1, 1), n.mesh, [n.Replicate()])
    return [both(x.cumsum(0)), both(centred(x, 1)), both(centred(x, 0)), error_of(lambda: small.cumsum(0))]
