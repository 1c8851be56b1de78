"""DistributedDataParallel, its hooks and join, and SyncBatchNorm: two processes, beside torch on gloo."""
import concurrent.futures

import numpy as np
import pytest
from ranks import run_once, run_ranks

MODES = ["plain", "view", "small", "sizes", "unused", "never", "static", "no_sync", "join", "copied", "pickled",
         "sparse", "sparse_join", "hook", "fp16", "wrapper", "in_place", "named", "no reduction", "averaged",
         "averaged, not reduced"]
NPU = {"env": {"MINDTORCH_NPU": "sim", "MINDTORCH_SIM_DEVICES": "2"}}


def train_all(folder):
    def train(library, *devices, **options):
        ranks = folder / library
        ranks.mkdir()
        run_ranks("data_parallel_cases:train_all", 2, ranks, library, arguments=[str(folder), *devices], **options)

    with concurrent.futures.ThreadPoolExecutor() as pool:
        runs = [pool.submit(train, "torch", "cpu"),
                pool.submit(train, "mindtorch", "cpu", "npu", backend="cpu:mpi,npu:hccl", **NPU)]
        for each in runs:
            each.result()
    return str(folder)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A function of (library, mode, rank, device): losses and parameters."""
    folder = run_once(tmp_path_factory, "data_parallel", train_all)
    return lambda library, mode, rank, device="cpu": dict(np.load(f"{folder}/{library}_{device}_{mode}_{rank}.npz"))


def largest_difference(ours, theirs, leave_out=()):
    assert ours.keys() == theirs.keys()
    return max(np.abs(ours[name] - theirs[name]).max() for name in ours if name not in leave_out)


@pytest.mark.parametrize("mode", MODES)
def test_training_gives_what_torch_gives(results, mode, device):
    tolerance = {"fp16": 1e-4, "wrapper": 1e-4, "named": 1e-4}.get(mode, 3e-6)
    for rank in (0, 1):
        assert largest_difference(results("mindtorch", mode, rank, device), results("torch", mode, rank)) < tolerance


@pytest.mark.parametrize(("mode", "beside"), [("delayed", "plain"), ("all delayed", "plain"),
                                              ("delayed, join", "join")])
def test_parameters_in_a_bucket_of_their_own_learn_as_all(results, mode, beside, device):
    for rank in (0, 1):
        ours, theirs = results("mindtorch", mode, rank, device), results("torch", beside, rank)
        assert largest_difference(ours, theirs) < 3e-6


@pytest.mark.parametrize(("mode", "tolerance"), [("bf16", 1e-3), ("power", 1e-4), ("batched power", 1e-4)])
def test_hooks_that_torch_has_for_other_devices(results, mode, tolerance, device):
    """PowerSGD of full rank is exact."""
    for rank in (0, 1):
        ours, plain = results("mindtorch", mode, rank, device), results("mindtorch", "plain", rank)
        assert largest_difference(ours, plain) < tolerance


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
    ours = [results("mindtorch", "sync", rank, device) for rank in (0, 1)]
    np.testing.assert_allclose((ours[0]["losses"] + ours[1]["losses"]) / 2, losses, rtol=1e-5)
    for name, place in (("first.weight", "0.weight"), ("norm.running_var", "1.running_var"), ("norm.bias", "1.bias")):
        np.testing.assert_allclose(ours[0][f"module.{name}"], net.state_dict()[place].numpy(), rtol=1e-4, atol=1e-6)


def test_the_gpt_of_two_processes_learns_as_that_of_one(tmp_path, device):
    options = NPU if device == "npu" else {}
    (losses,) = run_ranks("data_parallel_cases:gpt", 1, tmp_path, backend="none", arguments=[device], **options)
    assert len(losses[0]) == 3
    np.testing.assert_allclose(losses[1:], losses[:1] * 2, rtol=1e-5)
