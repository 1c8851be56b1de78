"""What the ranks of test_distributed_data_parallel.py train, with torch and with mindtorch."""
import contextlib
import copy
import importlib
import pickle
import sys

import numpy as np
from collective_cases import error_of


def networks(nn):
    """A network, and one that has a sparse gradient, too, of other rows on each rank."""
    global Net, Words          # pickles name classes of the module

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.norm, self.second = nn.Linear(4, 300), nn.BatchNorm1d(300), nn.Linear(300, 3)
            self.last = nn.Linear(3, 3)

        def forward(self, x, whole=True):
            x = self.second(self.norm(self.first(x)).tanh())
            return self.last(x) if whole else x

    class Words(Net):
        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(50, 4, sparse=True)

        def forward(self, x, whole=True):
            return super().forward(x + self.words((x.abs() * 40).long()).sum(-2), whole)

    return Net, Words


def no_hook(state, bucket):
    raise AssertionError("the bucket of delayed parameters has no hook")


class Training:
    """Trains a network in each way and writes losses and parameters of the rank to a file."""

    def __init__(self, torch, rank, size, folder, device):
        self.torch, self.dist, self.rank, self.size = torch, torch.distributed, rank, size
        self.folder, self.device = folder, device
        self.plain, self.sparse = networks(torch.nn)

    def train(self, mode, hook=None, state=None, skip=False, accumulate=False, join=False, sync=False, copied=None,
              kind=None, momentum=0.9, in_place=False, averager=None, by_name=None, delayed=(), **settings):
        torch, rank = self.torch, self.rank
        torch.manual_seed(0)
        net = (kind or self.plain)()
        if sync:
            net = torch.nn.SyncBatchNorm.convert_sync_batchnorm(net)
        with torch.no_grad():
            for parameter in net.parameters():
                parameter.add_(rank)        # the values of rank 0 count
        net.to(self.device)
        wrap = importlib.import_module(f"{torch.__name__}.distributed._composable.replicate").replicate if in_place \
            else torch.nn.parallel.DistributedDataParallel
        named = dict(net.named_parameters())
        if delayed:         # until the gradient of the first one
            settings.update(delay_all_reduce_named_params=[(name, named[name]) for name in delayed],
                            param_to_hook_all_reduce=next(net.parameters()))
        ddp = wrap(net, **settings)
        if hook is not None:
            ddp.register_comm_hook(state, hook)
        if by_name is not None:
            hooks = importlib.import_module(f"{torch.__name__}.distributed.algorithms.ddp_comm_hooks")
            hooks.register_ddp_comm_hook(hooks.DDPCommHookType[by_name], ddp)
        if copied is not None:
            ddp = copied(ddp)
        optimizer = torch.optim.SGD(ddp.parameters(), lr=1e-3, momentum=momentum)
        if averager is not None:
            module = importlib.import_module(f"{torch.__name__}.distributed.optim")
            optimizer = module.PostLocalSGDOptimizer(optimizer, averager)
            again = module.PostLocalSGDOptimizer(torch.optim.SGD(ddp.parameters(), lr=9), copy.copy(averager))
            again.load_state_dict(optimizer.state_dict())
            assert again.state_dict()["step"] == 0
            assert again.optim.param_groups[0]["lr"] == 1e-3
        x, losses = torch.arange(192).reshape(6, 8, 4).float().sin().to(self.device), []
        with ddp.join() if join else contextlib.nullcontext():
            for step in range(4 if join and rank == 1 else 6):
                whole = not (skip == "always" or (skip and (step % 3 == 0 or (step % 3 == 1 and rank == 1))))
                quiet = accumulate and step % 2 == 0
                if in_place:
                    ddp.set_requires_gradient_sync(not quiet)
                with ddp.no_sync() if quiet and not in_place else contextlib.nullcontext():
                    loss = ddp(x[step, rank::self.size], whole).pow(2).sum()
                    loss.backward()
                losses.append(loss.item())
                if not quiet:
                    optimizer.step()
                    optimizer.zero_grad()
        values = {name: value.cpu().numpy() for name, value in ddp.state_dict().items()}
        np.savez(f"{self.folder}/{torch.__name__}_{self.device}_{mode}_{rank}.npz", losses=losses, **values)

    def half(self, state, bucket):
        work = self.dist.all_reduce(bucket.buffer() * 0.5, async_op=True)
        return work.get_future().then(lambda done: done.value()[0])

    def check_moved_arguments(self):
        """With device_ids, tensors of arguments move there, those without a dimension too."""
        torch = self.torch

        class Scaled(torch.nn.Linear):
            def forward(self, x, *, scales):
                assert all(each.device == x.device for each in scales.values())
                return super().forward(x) * scales["of all"]

        ddp = torch.nn.parallel.DistributedDataParallel(Scaled(4, 2).to("npu"), device_ids=[self.rank])
        found = ddp(torch.ones(1, 4), scales={"of all": torch.tensor(2.0)})
        assert torch.equal(found, torch.nn.functional.linear(torch.ones(1, 4, device="npu"), ddp.module.weight,
                                                             ddp.module.bias) * 2)

    def check_errors(self):
        """What a user has done wrong is said."""
        torch, rank = self.torch, self.rank
        net = self.plain().to(self.device)
        ddp = torch.nn.parallel.DistributedDataParallel(net)
        assert ddp._get_ddp_logging_data()["world_size"] == 2

        def step():
            ddp(torch.ones(2, 4, device=self.device), False).sum().backward()

        assert error_of(step) is None
        assert f"Parameters which did not receive grad for rank {rank}: last.weight, last.bias" in error_of(step)[1]
        own = torch.nn.parallel.DistributedDataParallel(net, process_group=self.dist.new_group([0, 1]))
        assert "only supported when using DDP with the default process group" in error_of(pickle.dumps, own)[1]
        unequal = torch.nn.Linear(2, 2, bias=rank == 0).to(self.device)
        error = error_of(torch.nn.parallel.DistributedDataParallel, net, delay_all_reduce_named_params=[])
        assert error == ("ValueError", "delay_all_reduce_named_params and param_to_hook_all_reduce need to be set at "
                         "the same time.")
        other = torch.nn.Parameter(torch.ones(1, device=self.device))
        error = error_of(torch.nn.parallel.DistributedDataParallel, net, delay_all_reduce_named_params=[],
                         param_to_hook_all_reduce=other)[1]
        assert "param_to_hook_all_reduce is none of the parameters" in error
        error = error_of(torch.nn.parallel.DistributedDataParallel, unequal)[1]
        assert f"same model across all ranks, but Rank {rank} has {2 - rank} params" in error


    def check_mixed_precision(self, reduce_dtype, **settings):
        """Three steps, the first two as one, give exactly what the same does that is written out."""
        torch, nn, low = self.torch, self.torch.nn, self.torch.bfloat16
        precision = nn.parallel.distributed._MixedPrecision(low, reduce_dtype, low)
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3)).to(self.device)
        net.register_buffer("scale", torch.ones(3, device=self.device))
        other = copy.deepcopy(net)
        ddp = nn.parallel.DistributedDataParallel(net, mixed_precision=precision, **settings)
        seen = []
        net[2].register_forward_hook(lambda module, args, out: seen.append([module.weight.dtype, args[0].dtype]))
        optimizers = [torch.optim.SGD(each.parameters(), lr=0.1) for each in (net, other)]
        x = torch.arange(48, device=self.device).reshape(3, 4, 4).float().sin() + self.rank
        assert net.scale.dtype is low
        for step in range(3):
            with ddp.no_sync() if step == 0 else contextlib.nullcontext():
                loss = ddp(x[step]).float().pow(2).sum()
                assert {each.dtype for each in net.parameters()} == {low}
                loss.backward()
            lower = {name: each.detach().to(low).requires_grad_() for name, each in other.named_parameters()}
            torch.func.functional_call(other, lower, x[step].to(low)).float().pow(2).sum().backward()
            for name, each in other.named_parameters():
                gradient = lower[name].grad.float()
                each.grad = gradient if each.grad is None else each.grad + gradient
                if step:
                    mean = each.grad.to(reduce_dtype or low) / self.size
                    self.dist.all_reduce(mean)
                    each.grad = mean.float()
            for ours, theirs in zip(net.parameters(), other.parameters(), strict=True):
                assert ours.dtype is ours.grad.dtype is torch.float32
                assert torch.equal(ours.grad, theirs.grad)
            if step:
                for optimizer in optimizers:
                    optimizer.step()
                    optimizer.zero_grad()
        with torch.no_grad():
            assert ddp(x[0]).dtype is low
        assert seen == [[low, low]] * 4
        assert all(torch.equal(ours, theirs) for ours, theirs in zip(net.parameters(), other.parameters(), strict=True))
        copied = copy.deepcopy(ddp)         # its parameters are lowered, not those of the original
        copied(x[0]).float().sum().backward()
        assert {each.grad.dtype for each in copied.parameters()} == {torch.float32}
        assert all(each.grad is None for each in net.parameters())


def train_all(torch, rank, size, folder, *devices):
    hooks = f"{torch.__name__}.distributed.algorithms.ddp_comm_hooks"
    default = importlib.import_module(f"{hooks}.default_hooks")
    for device in devices:
        training = Training(torch, rank, size, folder, device)
        train = training.train
        train("plain")
        train("view", gradient_as_bucket_view=True)
        train("small", bucket_cap_mb=0.001)
        train("sizes", bucket_cap_mb_list=[0.00001, 0.002])
        train("unused", skip=True, find_unused_parameters=True)
        train("never", skip="always", find_unused_parameters=True, skip_all_reduce_unused_params=True,
              bucket_cap_mb=0.00001)
        train("static", static_graph=True)
        train("no_sync", accumulate=True)
        train("in_place", accumulate=True, in_place=True)
        train("join", join=True)
        train("copied", copied=copy.deepcopy)
        train("pickled", copied=lambda ddp: pickle.loads(pickle.dumps(ddp)), bucket_cap_mb=0.001)
        train("sparse", kind=training.sparse, momentum=0, skip=True, find_unused_parameters=True)
        train("sparse_join", kind=training.sparse, momentum=0, join=True)
        train("hook", hook=training.half)
        train("fp16", hook=default.fp16_compress_hook)
        train("named", by_name="FP16_COMPRESS")
        train("no reduction", by_name="NOOP")
        local = importlib.import_module(f"{hooks}.post_localSGD_hook")
        averagers = importlib.import_module(f"{torch.__name__}.distributed.algorithms.model_averaging.averagers")
        alone = [torch.distributed.new_group([other]) for other in range(size)][rank]
        for mode, group, reduces in (("averaged", alone, True), ("averaged, not reduced", None, False)):
            state = local.PostLocalSGDState(None, group, 2, reduces)
            train(mode, hook=local.post_localSGD_hook, state=state,
                  averager=averagers.PeriodicModelAverager(2, warmup_steps=2))
        train("wrapper", hook=default.fp16_compress_wrapper(default.allreduce_hook))
        if torch.__name__ == "mindtorch":
            # torch does not wait for delayed parameters. Their bucket has no hook.
            train("delayed", delayed=("last.weight", "last.bias", "first.bias"), bucket_cap_mb=0.001)
            train("all delayed", delayed=list(dict(training.plain().named_parameters())), hook=no_hook)
            train("delayed, join", delayed=("norm.weight", "last.bias"), join=True)
            train("bf16", hook=default.bf16_compress_hook)
            train("sync", sync=True)
            power = importlib.import_module(f"{hooks}.powerSGD_hook")
            state = power.PowerSGDState(None, 4, 2, min_compression_rate=0.1)
            train("power", hook=power.powerSGD_hook, state=state)
            assert state.q_memory_dict
            state = power.PowerSGDState(None, 64, 2)
            train("batched power", hook=power.batched_powerSGD_hook, state=state)
            assert state.q_memory_dict
            training.check_errors()
            if device == "npu":
                training.check_moved_arguments()
            for reduce_dtype in (None, torch.float32, torch.bfloat16):
                training.check_mixed_precision(reduce_dtype)
            training.check_mixed_precision(torch.float32, gradient_as_bucket_view=True)


def gpt(torch, rank, size, device):
    """The losses of examples/train_gpt.py: alone, on two ranks of torchrun, and with --fsdp."""
    launcher = importlib.import_module(f"{torch.__name__}.distributed.launcher")
    losses = []
    for count, *options in ((1,), (2,), (2, "--fsdp")):
        config = launcher.LaunchConfig(1, 1, count, max_restarts=0, rdzv_endpoint="localhost:0", start_method="fork")
        launched = launcher.elastic_launch(config, gpt_losses)("--device", device, *options)
        losses.append(launched[0])
    return losses


def gpt_losses(*options):
    """What a rank of torchrun does."""
    sys.path.insert(0, "examples")
    import train_gpt
    return train_gpt.main(["--steps", "3", "--layers", "1", "--width", "16", "--heads", "2", "--context", "16",
                           "--batch-size", "4", "--dropout", "0", "--sample", "1", *options]).losses
