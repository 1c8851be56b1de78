"""Pipelines: cases of sharding_cases.py for any number of ranks. Each returns plain values."""
import importlib

CASES, FOUR_RANKS = {}, {}


def case(function):
    CASES[function.__name__] = function
    return function


def names(n):
    return importlib.import_module(f"{n.torch.__name__}.distributed.pipelining")


def parts(n, count):
    """The parts of a model, with equal values on all ranks."""
    class Part(n.nn.Module):
        def __init__(self, number):
            super().__init__()
            self.up, self.down = n.nn.Linear(4, 6), n.nn.Linear(6, 4)
            with n.torch.no_grad():
                for place, parameter in enumerate(self.parameters()):
                    parameter.copy_(n.numbers(*parameter.shape).cpu() * 0.4 + 0.1 * number - 0.05 * place)

        def forward(self, x, scale=1.0):
            return x + self.down(self.up(x).tanh()) * scale

    return [Part(number).to(n.device) for number in range(count)]


def mean_square(output, target):
    return (output - target).pow(2).mean()


def train(n, kind, stages, microbatches=4, inputs=None, **options):
    """Losses, outputs and gradients of two steps; the batch is the same on all ranks."""
    several = kind.__name__ in ("ScheduleInterleaved1F1B", "ScheduleLoopedBFS")
    schedule = kind(stages if several else stages[0], microbatches, mean_square, **options)
    optimizer = n.torch.optim.SGD([value for stage in stages for value in stage.submod.parameters()], lr=0.1)
    x, y, out = n.numbers(8, 4), n.numbers(8, 4).flip(0), []
    for _ in range(2):
        losses = []
        of_last = {"target": y, "losses": losses} if stages[-1].is_last else {}
        result = schedule.step(*[x] if stages[0].is_first else [], **of_last, **inputs or {})
        gradients = [value.grad for stage in stages for value in stage.submod.parameters()]
        out += [losses, result, [each.full_tensor() if hasattr(each, "full_tensor") else each for each in gradients]]
        optimizer.step()
        optimizer.zero_grad()
    if not several:        # torch's list of these is not what it runs: it misnumbers the last rank's forwards
        return out
    order = [[str(action) for action in actions if action is not None] for actions in schedule.pipeline_order.values()]
    return [out, [[action for action in actions if "REDUCE_GRAD" not in action] for actions in order]]


def own_stages(n, each=1, **options):
    """This rank's stages, of `each` for every rank."""
    count = n.size * each
    return [names(n).PipelineStage(part, index, count, n.torch.device(n.device), **options)
            for index, part in enumerate(parts(n, count)) if index % n.size == n.rank]


@case
def schedules_of_one_stage(n):
    p = names(n)
    return [train(n, kind, own_stages(n), microbatches)
            for kind in (p.ScheduleGPipe, p.Schedule1F1B) for microbatches in (4, 8)]


@case
def schedules_of_several_stages(n):
    p = names(n)
    return [train(n, kind, own_stages(n, each=2)) for kind in (p.ScheduleInterleaved1F1B, p.ScheduleLoopedBFS)]


@case
def inputs_of_a_step(n):
    """Keyword arguments for each stage, some cut, gradients that are not scaled, evaluation."""
    p = names(n)
    stages = own_stages(n)
    out = train(n, p.Schedule1F1B, stages, inputs={"scale": n.numbers(8, 1)}, scale_grads=False)
    schedule = p.ScheduleGPipe(stages[0], 4, mean_square)
    losses = []
    options = {"target": n.numbers(8, 4), "losses": losses} if stages[0].is_last else {}
    x = n.numbers(8, 4)
    out += [schedule.eval(*[x] if stages[0].is_first else [], **options), losses]
    with n.torch.no_grad():
        forward = p._ScheduleForwardOnly(stages[0], 4)
        return [*out, forward.step(*[x] if stages[0].is_first else [])]


@case
def several_tensors_between_stages(n):
    """Integers among them, and one that the next stage leaves unused."""
    class First(n.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = parts(n, 1)[0]

        def forward(self, x, tokens=None, unused=None):
            tokens = n.torch.arange(x.shape[0], device=n.device) if tokens is None else tokens
            return self.inner(x), tokens + 1, self.inner(x) * 2

    class Last(First):
        def forward(self, x, tokens, unused):
            return self.inner(x) * tokens.unsqueeze(1)

    module = Last() if n.rank == n.size - 1 else First()
    stage = names(n).PipelineStage(module, n.rank, n.size, n.torch.device(n.device))
    return train(n, names(n).ScheduleGPipe, [stage])


def cut_model(n):
    """A model with three cuts in its forward, a value that goes past one of them, and a decision within a layer."""
    p, zeros = names(n), n.torch.zeros(4, device=n.device)

    class Layer(n.nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, x):
            return self.inner(x) if x.sum() < 1e6 else x

    class Model(n.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = n.nn.ModuleList(Layer(part) for part in parts(n, 4))
            self.register_buffer("shift", n.numbers(4))

        def forward(self, x, scale=None, offset=zeros):
            kept = x * 2 + offset
            for place, layer in enumerate(self.layers):
                x = layer(x)
                if place < 3:
                    p.pipe_split()
                if place == 1:
                    x = x + kept
            return x + self.shift if scale is None else x * scale

    return Model().to(n.device)


@case
def models_cut_before_and_after_modules(n):
    p, x = names(n), n.numbers(8, 4)
    layers = n.nn.Sequential(*parts(n, 4)).to(n.device)
    pipe = p.pipeline(layers, (x,), split_spec={"1": p.SplitPoint.BEGINNING, "2": p.SplitPoint.END})
    stages = [pipe.get_stage_module(stage) for stage in range(pipe.num_stages)]
    return [list(pipe(x)), [[name for name, _ in stage.named_parameters()] for stage in stages], pipe.info().num_stages]


@case
def models_cut_in_their_forward(n):
    """The stages one after the other do what the whole does, with its gradients."""
    model, x = cut_model(n), n.numbers(8, 4)
    called, count = model, 4
    if n.torch.__name__ == "mindtorch":     # torch cannot export the decision, and its stages pass no gradients
        pipe = names(n).pipeline(model, (x,), {"offset": x})
        called, count = lambda x, offset: pipe(x, offset=offset)[0], pipe.num_stages
    result = called(x, offset=x)
    result.sum().backward()
    return [result, count, [[name, each.grad] for name, each in model.named_parameters()]]


@case
def training_a_cut_model(n):
    p = names(n)
    pipe = p.pipeline(n.nn.Sequential(*parts(n, n.size)).to(n.device), (n.numbers(2, 4),),
                      split_spec={str(place): p.SplitPoint.BEGINNING for place in range(1, n.size)})
    stage = pipe.build_stage(n.rank, n.torch.device(n.device))
    return train(n, p.Schedule1F1B, [stage])


@case
def microbatches(n):
    m = importlib.import_module(f"{n.torch.__name__}.distributed.pipelining.microbatch")
    x = n.numbers(4, 6)
    specs = {"mask": m.TensorChunkSpec(1), "flag": m._Replicate()}
    args, kwargs = m.split_args_kwargs_into_chunks((x, 3), {"mask": x.t(), "flag": True}, 2, kwargs_chunk_spec=specs)
    merged = m.merge_chunks([(x, 1.0), (x, 2.0)], (m.TensorChunkSpec(1), m.sum_reducer))
    return [[list(each) for each in args], [list(each.values()) for each in kwargs], list(merged),
            m.merge_chunks([x, x], None), str(m.TensorChunkSpec.from_tuple((0, 1))[1])]


@case
def errors_of_pipelines(n):
    p = names(n)
    schedules = importlib.import_module(f"{n.torch.__name__}.distributed.pipelining.schedules")
    stage, = own_stages(n)
    out = []
    for call in (lambda: p.PipelineStage(stage.submod, 9, 9, n.device), lambda: p.Schedule1F1B(stage, 1),
                 lambda: p.ScheduleInterleaved1F1B([stage], 2 * n.size + 1),
                 lambda: p._ScheduleForwardOnly(stage, 2).step(target=n.numbers(2)),
                 lambda: p.pipeline(stage.submod, (n.numbers(2, 4),), split_spec={}, split_policy=lambda graph: graph),
                 lambda: schedules.get_schedule_class("none"), lambda: schedules.get_schedule_class("gpipe").__name__):
        try:
            out.append(call())
        except (ValueError, RuntimeError) as error:
            out.append([type(error).__name__, None if "valid options" in str(error) else str(error)])
    return out


def with_data_parallel(n):
    """Two stages on two replicas each, by both kinds of data parallel."""
    p, out = names(n), []
    mesh = n.init_mesh(n.device, (2, 2), mesh_dim_names=("pp", "dp"))
    group, index = mesh.get_group("pp"), mesh.get_local_rank("pp")
    for kind in ("ddp", "fsdp"):
        part = parts(n, 2)[index]
        if kind == "ddp":
            part = n.nn.parallel.DistributedDataParallel(part, process_group=mesh.get_group("dp"))
        else:
            n.fsdp.fully_shard(part, mesh=mesh["dp"])
        stage = p.PipelineStage(part, index, 2, n.torch.device(n.device), group=group)
        out.append(train(n, p.Schedule1F1B, [stage]))
    return out


FOUR_RANKS["with_data_parallel"] = with_data_parallel
