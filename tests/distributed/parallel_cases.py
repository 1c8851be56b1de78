"""parallelize_module: cases of sharding_cases.py. Each returns plain values."""
import contextlib
import importlib
import math

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def llama(n):
    """A Llama over tokens, as plain as it gets; attention counts its heads from the width that it is given."""
    nn, F = n.nn, n.F

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.wq, self.wk, self.wv, self.wo = (nn.Linear(8, 8, bias=False) for _ in range(4))

        def forward(self, x):
            q, k, v = (each(x).unflatten(-1, (-1, 2)).transpose(1, 2) for each in (self.wq, self.wk, self.wv))
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.wo(mixed.transpose(1, 2).flatten(2))

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention_norm, self.ffn_norm, self.attention = nn.RMSNorm(8), nn.RMSNorm(8), Attention()
            self.feed_forward = nn.ModuleDict({"w1": nn.Linear(8, 12, bias=False), "w3": nn.Linear(8, 12),
                                               "w2": nn.Linear(12, 8)})

        def forward(self, x):
            x = x + self.attention(self.attention_norm(x))
            y, ffn = self.ffn_norm(x), self.feed_forward
            return x + ffn["w2"](F.silu(ffn["w1"](y)) * ffn["w3"](y))

    class Llama(nn.Module):
        def __init__(self):
            super().__init__()
            self.tok_embeddings, self.layers = nn.Embedding(16, 8), nn.Sequential(Block(), Block())
            self.norm, self.output = nn.RMSNorm(8), nn.Linear(8, 16, bias=False)

        def forward(self, tokens):
            return self.output(self.norm(self.layers(self.tok_embeddings(tokens))))

    net = Llama()
    with n.torch.no_grad():
        for number, parameter in enumerate(net.parameters()):
            parameter.copy_(n.numbers(*parameter.shape).cpu() * 0.5 + number * 0.02)
    return net.to(n.device)


def train(n, net, clip=None, context=contextlib.nullcontext):
    """Losses of steps, then the parameters. The loss and its backward are within the context."""
    optimizer = n.torch.optim.AdamW(net.parameters(), lr=0.02)
    tokens = n.torch.arange(12, device=n.device).view(2, 6) % 7
    out = []
    for _ in range(3):
        logits = net(tokens)
        with context():
            loss = n.F.cross_entropy(logits.flatten(0, 1), (tokens.flatten() * 5 + 1) % 16)
            loss.backward()
        out.append(loss.item())
        if clip:
            out.append(n.nn.utils.clip_grad_norm_(net.parameters(), clip).full_tensor().item())
        optimizer.step()
        optimizer.zero_grad()
    return [*out, *(value.full_tensor().cpu() if hasattr(value, "full_tensor") else value.detach().cpu()
                    for value in net.parameters())]


def plan(n, sequence, sharded_logits=False):
    """The plan for the model above, with activations between layers whole, or cut along the sequence."""
    p = importlib.import_module(f"{n.torch.__name__}.distributed.tensor.parallel")
    between = n.Shard(1) if sequence else n.Replicate()
    whole = dict.fromkeys(("layers.*.attention.wq", "layers.*.attention.wk", "layers.*.attention.wv",
                           "layers.*.feed_forward.w1", "layers.*.feed_forward.w3"), None)
    styles = {name: p.ColwiseParallel(input_layouts=between) for name in whole}
    styles |= {name: p.RowwiseParallel(output_layouts=between, use_local_output=not sequence)
               for name in ("layers.*.attention.wo", "layers.*.feed_forward.w2")}
    styles["tok_embeddings"] = p.RowwiseParallel(input_layouts=n.Replicate(), output_layouts=between,
                                                 use_local_output=not sequence)
    styles["output"] = p.ColwiseParallel(
        input_layouts=between, output_layouts=n.Shard(-1) if sharded_logits else n.Replicate(),
        use_local_output=not sharded_logits)
    if sequence:
        styles |= {name: p.SequenceParallel() for name in ("norm", "layers.*.attention_norm", "layers.*.ffn_norm")}
    return lambda net: p.parallelize_module(net, n.mesh, styles)


@case
def tensor_parallel_llama(n):
    return train(n, plan(n, sequence=False)(llama(n)))


@case
def sequence_parallel_llama(n):
    return train(n, plan(n, sequence=True)(llama(n)))


@case
def loss_of_cut_classes(n):
    """Every form of cross_entropy, each with the gradients of the logits. torch's are wrong in four dimensions, where
    it has plain logits here.
    """
    loss_parallel = importlib.import_module(f"{n.torch.__name__}.distributed.tensor.parallel").loss_parallel
    out, weight = [], n.numbers(6).abs() + 0.1
    for shape in ((6,), (4, 6), (2, 6, 3), (2, 6, 2, 2)):
        count, classes = math.prod(shape) // 6, 0 if len(shape) == 1 else 1
        target = n.torch.arange(count, device=n.device).reshape(shape[:classes] + shape[classes + 1:]) % 6
        cut = n.torch.__name__ == "mindtorch" or len(shape) < 4
        for options in ({}, {"reduction": "sum"}, {"reduction": "none"}, {"weight": weight}, {"ignore_index": 2},
                        {"weight": weight, "ignore_index": 1, "reduction": "sum"}):
            logits = n.numbers(*shape)
            logits = (n.distribute(logits, n.mesh, [n.Shard(classes)]) if cut else logits).requires_grad_()
            with loss_parallel() if cut else contextlib.nullcontext():
                loss = n.F.cross_entropy(logits, target, **options)
                loss.sum().backward()
            out += [each.full_tensor() if cut else each for each in (loss, logits.grad)]
    return out


@case
def prepared_inputs_and_outputs(n):
    p = importlib.import_module(f"{n.torch.__name__}.distributed.tensor.parallel")
    seen = []

    class Watch(n.nn.Module):
        def forward(self, x):
            seen.append([str(x.placements), x.to_local().cpu().tolist()])
            return x * 2

    style = p.PrepareModuleInputOutput(
        input_layouts=n.Shard(0), desired_input_layouts=n.Replicate(), output_layouts=n.Replicate(),
        desired_output_layouts=n.Shard(1))
    out = p.parallelize_module(Watch(), n.mesh, style)(n.numbers(2, 4) + n.rank)
    return [seen, out.cpu()]
