"""DistributedDataParallel, its hooks and join, and SyncBatchNorm: two processes, beside torch on gloo."""
import concurrent.futures
import json
import sys

import numpy as np
import pytest

from mindtorch.distributed.launcher import LaunchConfig, elastic_launch

# Trains a network in each way and writes losses and parameters of the rank to a file.
SCRIPT = """
import contextlib, copy, pickle, sys
import numpy
which, folder, device = sys.argv[1:4]
if which == "torch":
    import torch
else:
    import mindtorch as torch
import importlib
package = "torch" if which == "torch" else "mindtorch"
dist = importlib.import_module(package + ".distributed")
hooks = importlib.import_module(package + ".distributed.algorithms.ddp_comm_hooks")
default = importlib.import_module(package + ".distributed.algorithms.ddp_comm_hooks.default_hooks")
dist.init_process_group("gloo" if which == "torch" else dist.get_default_backend_for_device(device))
rank, size = dist.get_rank(), dist.get_world_size()
nn = torch.nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.second = nn.Linear(4, 300), nn.BatchNorm1d(300), nn.Linear(300, 3)
        self.last = nn.Linear(3, 3)

    def forward(self, x, whole=True):
        x = self.second(self.norm(self.first(x)).tanh())
        return self.last(x) if whole else x

class Words(Net):
    # It has a sparse gradient, of other rows on each rank.
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(50, 4, sparse=True)

    def forward(self, x, whole=True):
        return super().forward(x + self.words((x.abs() * 40).long()).sum(-2), whole)

def half(state, bucket):
    work = dist.all_reduce(bucket.buffer() * 0.5, async_op=True)
    return work.get_future().then(lambda done: done.value()[0])

def train(mode, hook=None, state=None, skip=False, accumulate=False, join=False, sync=False, copied=None,
          kind=Net, momentum=0.9, **settings):
    torch.manual_seed(0)
    net = kind()
    if sync:
        net = nn.SyncBatchNorm.convert_sync_batchnorm(net)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.add_(rank)        # the values of rank 0 count
    net.to(device)
    ddp = nn.parallel.DistributedDataParallel(net, **settings)
    if hook is not None:
        ddp.register_comm_hook(state, hook)
    if copied is not None:
        ddp = copied(ddp)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=1e-3, momentum=momentum)
    x, losses = torch.arange(192).reshape(6, 8, 4).float().sin().to(device), []
    with ddp.join() if join else contextlib.nullcontext():
        for step in range(4 if join and rank == 1 else 6):
            whole = not (skip and (step % 3 == 0 or (step % 3 == 1 and rank == 1)))
            quiet = accumulate and step % 2 == 0
            with ddp.no_sync() if quiet else contextlib.nullcontext():
                loss = ddp(x[step, rank::size], whole).pow(2).sum()
                loss.backward()
            losses.append(loss.item())
            if not quiet:
                optimizer.step()
                optimizer.zero_grad()
    values = {name: value.cpu().numpy() for name, value in ddp.state_dict().items()}
    numpy.savez(f"{folder}/{which}_{device}_{mode}_{rank}.npz", losses=losses, **values)

train("plain")
train("view", gradient_as_bucket_view=True)
train("small", bucket_cap_mb=0.001)
train("unused", skip=True, find_unused_parameters=True)
train("static", static_graph=True)
train("no_sync", accumulate=True)
train("join", join=True)
train("copied", copied=copy.deepcopy)
train("pickled", copied=lambda ddp: pickle.loads(pickle.dumps(ddp)), bucket_cap_mb=0.001)
train("sparse", kind=Words, momentum=0, skip=True, find_unused_parameters=True)
train("sparse_join", kind=Words, momentum=0, join=True)
train("hook", hook=half)
train("fp16", hook=default.fp16_compress_hook)
train("wrapper", hook=default.fp16_compress_wrapper(default.allreduce_hook))
if which == "ours":
    train("bf16", hook=default.bf16_compress_hook)
    train("sync", sync=True)
    from mindtorch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as power
    state = power.PowerSGDState(None, 4, 2, min_compression_rate=0.1)
    train("power", hook=power.powerSGD_hook, state=state)
    assert state.q_memory_dict
    # What a user has done wrong is said.
    net = Net().to(device)
    ddp = nn.parallel.DistributedDataParallel(net)
    assert ddp._get_ddp_logging_data()["world_size"] == 2
    for expected in (None, "Parameters which did not receive grad for rank %d: last.weight, last.bias" % rank):
        try:
            ddp(torch.ones(2, 4, device=device), False).sum().backward()
        except RuntimeError as error:
            assert expected and expected in str(error), error
        else:
            assert expected is None
    try:
        pickle.dumps(nn.parallel.DistributedDataParallel(net, process_group=dist.new_group([0, 1])))
    except RuntimeError as error:
        assert "only supported when using DDP with the default process group" in str(error), error
    else:
        raise AssertionError("a module of a group of its own was pickled")
    try:
        nn.parallel.DistributedDataParallel(nn.Linear(2, 2, bias=rank == 0).to(device))
    except RuntimeError as error:
        assert "same model across all ranks, but Rank %d has %d params" % (rank, 2 - rank) in str(error), error
    else:
        raise AssertionError("unequal models were taken")
dist.barrier()
dist.destroy_process_group()
"""
MODES = ["plain", "view", "small", "unused", "static", "no_sync", "join", "copied", "pickled", "sparse",
         "sparse_join", "hook", "fp16", "wrapper"]


def run(*arguments):
    config = LaunchConfig(1, 1, 2, max_restarts=0, rdzv_endpoint="localhost:0")
    elastic_launch(config, sys.executable)("-c", *arguments)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A function of (which, mode, rank, device): losses and parameters."""
    folder = tmp_path_factory.mktemp("results")
    with pytest.MonkeyPatch.context() as patch, concurrent.futures.ThreadPoolExecutor() as pool:
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.setenv("TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "1")
        runs = [pool.submit(run, SCRIPT, which, str(folder), device)
                for which, device in (("ours", "cpu"), ("ours", "npu"), ("torch", "cpu"))]
        for each in runs:
            each.result()
    return lambda which, mode, rank, device="cpu": dict(np.load(folder / f"{which}_{device}_{mode}_{rank}.npz"))


def largest_difference(ours, theirs, leave_out=()):
    assert ours.keys() == theirs.keys()
    return max(np.abs(ours[name] - theirs[name]).max() for name in ours if name not in leave_out)


@pytest.mark.parametrize("mode", MODES)
def test_training_gives_what_torch_gives(results, mode, device):
    tolerance = {"fp16": 1e-4, "wrapper": 1e-4}.get(mode, 3e-6)
    for rank in (0, 1):
        assert largest_difference(results("ours", mode, rank, device), results("torch", mode, rank)) < tolerance


@pytest.mark.parametrize(("mode", "tolerance"), [("bf16", 1e-3), ("power", 1e-4)])
def test_hooks_that_torch_has_for_other_devices(results, mode, tolerance, device):
    """PowerSGD of full rank is exact."""
    for rank in (0, 1):
        assert largest_difference(results("ours", mode, rank, device), results("ours", "plain", rank)) < tolerance


def test_sync_batch_norm_is_batch_norm_of_the_joint_batch(results, device):
    import torch
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 300), torch.nn.BatchNorm1d(300), torch.nn.Tanh(),
                              torch.nn.Linear(300, 3), torch.nn.Linear(3, 3))
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9)
    x, losses = torch.arange(192).reshape(6, 8, 4).float().sin(), []
    for step in range(6):
        loss = net(x[step]).pow(2).sum() / 2        # the mean of two ranks' sums
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    ours = [results("ours", "sync", rank, device) for rank in (0, 1)]
    np.testing.assert_allclose((ours[0]["losses"] + ours[1]["losses"]) / 2, losses, rtol=1e-5)
    for name, place in (("first.weight", "0.weight"), ("norm.running_var", "1.running_var"), ("norm.bias", "1.bias")):
        np.testing.assert_allclose(ours[0][f"module.{name}"], net.state_dict()[place].numpy(), rtol=1e-4, atol=1e-6)


TRAIN = """
import json, os, sys
sys.path.insert(0, "examples")
import train_gpt
training = train_gpt.main(sys.argv[1:])
if int(os.environ.get("RANK", 0)) == 0:
    with open(os.environ["LOSSES"], "w") as file:
        json.dump(training.losses, file)
"""


def test_the_gpt_of_two_processes_learns_as_that_of_one(tmp_path, monkeypatch, device):
    losses = []
    for count, *options in ((1,), (2,), (2, "--fsdp")):
        path = tmp_path / str(len(losses))
        monkeypatch.setenv("LOSSES", str(path))
        monkeypatch.setenv("OMP_NUM_THREADS", "1")
        config = LaunchConfig(1, 1, count, max_restarts=0, rdzv_endpoint="localhost:0")
        elastic_launch(config, sys.executable)(
            "-c", TRAIN, "--device", device, "--steps", "3", "--layers", "1", "--width", "16", "--heads", "2",
            "--context", "16", "--batch-size", "4", "--dropout", "0", "--sample", "1", *options)
        losses.append(json.loads(path.read_text(encoding="utf-8")))
    assert len(losses[0]) == 3
    np.testing.assert_allclose(losses[1:], losses[:1] * 2, rtol=1e-5)
