"""The examples that train: they run as a user runs them, go on where they were interrupted, learn as under torch, and
hold no more memory after many steps than after some.
"""
import gc
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import mindtorch
from bench.gpt import EXAMPLES, example
from mindtorch import sim

pytestmark = pytest.mark.one_mode

TINY = ["--layers", "1", "--width", "16", "--context", "8", "--batch-size", "4", "--sample", "5"]
STEPS = 100

# What is trained: options of a short run in rounds, and of one with at least STEPS steps and no dropout.
SHORT = {"train_digits": ["--epochs", "2", "--batch-size", "256"],
         "train_gpt": [*TINY, "--steps", "6", "--save-every", "3", "--autocast", "float16"]}
LONG = {"train_digits": ["--dropout", "0", "--epochs", "5"],
        "train_gpt": ["--dropout", "0", "--steps", str(STEPS), "--layers", "2", "--width", "64", "--context", "32",
                      "--sample", "5"]}
examples = pytest.mark.parametrize("name", SHORT)


def run(*command):
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, check=True).stdout


@pytest.mark.quick
def test_digits_are_learnt(device, tmp_path):
    shown = run(EXAMPLES / "train_digits.py", "--device", device, "--epochs", "3", "--plot", tmp_path / "losses.png")
    assert float(re.search(r"([\d.]+)% of 360 unseen images", shown)[1]) > 90
    assert (tmp_path / "losses.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.quick
def test_gpt_writes(device, tmp_path):
    """The second program is written for torch, and `python -m mindtorch` runs it; nothing is left for it to learn."""
    options = ["--device", device, *SHORT["train_gpt"]]
    shown = run(EXAMPLES / "train_gpt.py", *options, "--checkpoint", tmp_path / "gpt.pt")
    assert shown.startswith("def ")
    assert len(shown) == len("def ") + 5 + len("\n")
    source = (EXAMPLES / "train_gpt.py").read_text(encoding="utf-8").replace("mindtorch", "torch")
    (tmp_path / "train_gpt.py").write_text(source, encoding="utf-8")
    assert run("-m", "mindtorch", tmp_path / "train_gpt.py", *options, "--resume", tmp_path / "gpt.pt") == shown


class Interrupted(Exception):
    pass


@examples
def test_a_resumed_run_is_the_uninterrupted_one(name, device, tmp_path, monkeypatch):
    """Losses and weights, to the bit, with dropout."""
    module = example(name)
    options = ["--device", device, *SHORT[name]]
    whole = module.main(options)

    save = module.Training.save

    def save_and_stop(training, path):
        save(training, path)
        raise Interrupted

    monkeypatch.setattr(module.Training, "save", save_and_stop)
    with pytest.raises(Interrupted):
        module.main([*options, "--checkpoint", str(tmp_path / "half.pt")])
    resumed = module.main([*options, "--resume", str(tmp_path / "half.pt")])
    assert len(whole.losses) > 2
    assert resumed.losses == whole.losses
    weights = resumed.model.state_dict()
    assert all(mindtorch.equal(weight, weights[key]) for key, weight in whole.model.state_dict().items())


@pytest.fixture(scope="module", params=LONG)
def in_torch(request, tmp_path_factory):
    """(example, torch's checkpoint of the first weights, torch's losses from there)."""
    module = example(request.param, "torch")
    start = str(tmp_path_factory.mktemp("torch") / "start.pt")
    options = ["--device", "cpu", *LONG[request.param]]
    module.Training(module.arguments(options)).save(start)
    return request.param, start, module.main([*options, "--resume", start]).losses


def test_losses_are_those_of_torch(in_torch, device):
    """From equal weights and batches, within 1e-3 of torch's, in each of the first 100 steps."""
    name, start, expected = in_torch
    losses = example(name).main(["--device", device, *LONG[name], "--resume", start]).losses
    assert len(losses) >= STEPS
    assert losses[:STEPS] == pytest.approx(expected[:STEPS], rel=1e-3)
    assert min(losses) < losses[0] / 1.3     # something was learnt


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_autocast_learns_as_in_torch(dtype, device, tmp_path):
    """As far as 16 bits say the same; the losses tell that autocast was on."""
    options = ["--steps", "30", "--layers", "1", "--width", "64", "--context", "32", "--dropout", "0", "--sample", "5"]
    start, under_torch = str(tmp_path / "start.pt"), example("train_gpt", "torch")
    given = under_torch.arguments(["--device", "cpu", *options, "--autocast", dtype])
    under_torch.Training(given).save(start)
    expected = under_torch.main(["--device", "cpu", *options, "--autocast", dtype, "--resume", start]).losses
    options = ["--device", device, *options, "--resume", start]
    losses = example("train_gpt").main([*options, "--autocast", dtype]).losses
    assert losses == pytest.approx(expected, rel=1e-3)
    assert losses != example("train_gpt").main(options).losses


def resources_in_use(device):
    """What the process holds: on the NPU tensors and segments in bytes, and objects by kind; else blocks of Python."""
    gc.collect()        # empties Python's lists of freed objects too
    if device == "cpu":
        return sys.getallocatedblocks()
    mindtorch.npu.synchronize()
    return mindtorch.npu.memory_allocated(), mindtorch.npu.memory_reserved(), sim.live_objects()


def test_memory_does_not_grow(device):
    """After 500 steps as after 50; a step makes no cycles that Python's collector would have to find."""
    module = example("train_gpt")
    training = module.Training(module.arguments(["--device", device, *TINY]))
    for _ in range(50):
        training.step()
    before = resources_in_use(device)
    gc.disable()
    try:
        for _ in range(450):
            training.step()
        cycles = gc.collect()
    finally:
        gc.enable()
    assert cycles < 100
    assert resources_in_use(device) == (pytest.approx(before, abs=100) if device == "cpu" else before)


@pytest.fixture(scope="module")
def shell(tmp_path_factory):
    """Runs a line of the shell in the root of the project, with the command torchrun that pip installs. Its stderr."""
    folder = tmp_path_factory.mktemp("bin")
    command = folder / "torchrun"
    command.write_text(f"#!{sys.executable}\nfrom mindtorch.distributed.run import main\nmain()\n", encoding="utf-8")
    command.chmod(0o755)
    path = os.pathsep.join([str(folder), str(Path(sys.executable).parent), os.environ["PATH"]])

    def run_line(line):
        done = subprocess.run(line, shell=True, capture_output=True, text=True, check=False, cwd=EXAMPLES.parent,
                              env={**os.environ, "PATH": path, "HCCL_IF_IP": "127.0.0.1"})
        assert done.returncode == 0, done.stderr
        return done.stderr
    return run_line


def test_torchrun_trains_in_two_processes_as_one_does(device, shell):
    """The commands of the README, on a smaller network: the losses that they show are those of one process."""
    options = f"--device {device} --dropout 0 --steps 4 {' '.join(TINY)}"
    shown = {command: dict.fromkeys(re.findall(r"loss=([\d.]+)", shell(f"{command} {options}"))) for command in (
        "python examples/train_gpt.py",
        "torchrun --standalone --nproc-per-node 2 examples/train_gpt.py",
        "torchrun --standalone --nproc-per-node 2 examples/train_gpt.py --fsdp")}
    one, *several = ([float(loss) for loss in losses] for losses in shown.values())
    assert len(set(one)) == 4
    for losses in several:
        assert losses == pytest.approx(one, abs=1.1e-4)
