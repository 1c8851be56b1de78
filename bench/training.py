"""`python -m bench.training`: what a training step costs the host, beside torch on the CPU where that is installed.

First the parts of a step of a small network (4 x 64, 64 hidden, 10 classes), so that torch's figures are mostly host
cost as well; then whole steps as scripts write them (an MLP 16-32-4, a batch of 64) with optimizers in the form that
they take by themselves. mindtorch runs on the NPU with null kernels. Times are CPU times of the calling thread, which
makes the launches itself (TASK_QUEUE_ENABLE=0), medians over rounds that alternate.
"""
import gc
import os
import statistics
import sys
import time
from importlib import import_module
from importlib.util import find_spec

os.environ.update(MINDTORCH_NPU="sim", MINDTORCH_SIM_KERNELS="null", TASK_QUEUE_ENABLE="0")

ROUNDS = 60
COUNT = 20      # calls in one timed loop: their launches stay below the depth of a stream's queue
CHAIN = 10      # additions in a row
RATE = 0.1
LIMIT = 0.6     # of torch's whole step, what the host may pay for one


class Network:
    """A classifier of two layers and the batch it learns, in one library."""

    def __init__(self, lib, device):
        self.lib, self.functional = lib, lib.nn.functional
        lib.manual_seed(0)
        self.images = lib.randn(4, 64).to(device)
        self.labels = lib.tensor([1, 2, 3, 4]).to(device)
        shapes = (64, 64), (64,), (10, 64), (10,)
        self.parameters = [lib.randn(*shape).to(device).requires_grad_() for shape in shapes]
        self.a, self.b = lib.ones(4).to(device), lib.ones(4).to(device)
        self.leaf = lib.ones(4).to(device).requires_grad_()

    def loss(self):
        first, first_bias, second, second_bias = self.parameters
        hidden = self.functional.linear(self.images, first, first_bias).relu()
        return self.functional.cross_entropy(self.functional.linear(hidden, second, second_bias), self.labels)

    def inference(self):
        with self.lib.no_grad():
            self.loss()

    def gradients(self):
        for parameter in self.parameters:
            parameter.grad = None
        self.loss().backward()

    def update(self):
        with self.lib.no_grad():
            for parameter in self.parameters:
                parameter.sub_(RATE * parameter.grad)

    def step(self):
        self.gradients()
        self.update()

    def adds(self, start=None):
        result = self.a if start is None else start
        for _ in range(CHAIN):
            result = result + self.b
        return result

    def recorded_adds(self):
        return self.adds(self.leaf)

    def recorded_adds_and_back(self):
        self.leaf.grad = None
        self.recorded_adds().backward(self.b)


class Training:
    """An MLP and its optimizer, in one library."""

    def __init__(self, lib, device, name, options):
        lib.manual_seed(0)
        nn = lib.nn
        self.model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)).to(device)
        self.inputs = lib.randn(64, 16).to(device)
        self.labels = lib.arange(64).remainder(4).to(device)
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = getattr(lib.optim, name)(self.model.parameters(), **options)

    def step(self):
        self.optimizer.zero_grad()
        self.criterion(self.model(self.inputs), self.labels).backward()
        self.optimizer.step()

    def update(self):
        self.optimizer.step()


OPTIMIZERS = (("SGD", {"lr": RATE}), ("SGD", {"lr": RATE, "momentum": 0.9}), ("Adam", {}), ("AdamW", {}))

# What is printed, what is timed, which part of that is taken off, and by what the rest is divided.
LINES = (
    ("a + b", "adds", "", CHAIN),
    ("a + b, recorded", "recorded_adds", "", CHAIN),
    ("backward of a + b", "recorded_adds_and_back", "recorded_adds", CHAIN),
    ("forward and loss, no_grad", "inference", "", 1),
    ("forward and loss", "loss", "", 1),
    ("backward", "gradients", "loss", 1),
    ("SGD", "update", "", 1),
    ("training step", "step", "", 1),
)


def nanoseconds(run, synchronize):
    start = time.thread_time_ns()
    for _ in range(COUNT):
        run()
    end = time.thread_time_ns()
    synchronize()
    return (end - start) / COUNT


def libraries():
    """{name: (library, its device, how to wait for that)} of the libraries that there are."""
    found = {}
    for name, device in (("mindtorch", "npu"), ("torch", "cpu")):
        if find_spec(name):
            lib = import_module(name)
            found[name] = lib, device, lib.npu.synchronize if device == "npu" else lambda: None
            if name == "torch":
                lib.set_num_threads(1)
    return found


def measure(subjects, names, rounds):
    """{(library, name of a method): nanoseconds} of the subjects, {library: (an object, how to wait for it)}."""
    times = {(library, name): [] for name in names for library in subjects}
    for subject, _ in subjects.values():
        subject.step()
    gc.collect()
    gc.disable()
    for _ in range(rounds):
        for library, name in times:
            subject, synchronize = subjects[library]
            times[library, name].append(nanoseconds(getattr(subject, name), synchronize))
    gc.enable()
    return {key: statistics.median(values) for key, values in times.items()}


def print_line(title, figures, unit, wide):
    cells = [f"{figure:9.0f} {unit}" for figure in figures]
    cells += [f"{figures[0] / figures[1]:.2f}"] if len(figures) > 1 else []
    print(f"{title:28}" + "".join(f"{cell:>{width}}" for width, cell in zip(wide, cells, strict=True)))


def print_parts(found, rounds, wide):
    subjects = {library: (Network(lib, device), wait) for library, (lib, device, wait) in found.items()}
    names = dict.fromkeys(name for _, *pair, _ in LINES for name in pair if name)
    times = measure(subjects, names, rounds)
    for title, name, part, count in LINES:
        print_line(title, [(times[library, name] - (times[library, part] if part else 0)) / count for library in found],
                   "ns", wide)


def print_steps(found, rounds, wide):
    """Whole steps and their updates; returns the steps' ratios to torch's."""
    ratios = {}
    for name, options in OPTIMIZERS:
        title = name + ", momentum" * ("momentum" in options)
        subjects = {library: (Training(lib, device, name, options), wait)
                    for library, (lib, device, wait) in found.items()}
        times = measure(subjects, ("step", "update"), rounds)
        for method, part in (("step", ""), ("update", ", update alone")):
            print_line(title + part, [times[library, method] / 1000 for library in found], "us", wide)
        if len(found) > 1:
            ratios[title] = times["mindtorch", "step"] / times["torch", "step"]
    return ratios


def main(rounds=ROUNDS):
    found = libraries()
    heads = [*found, *(["mindtorch / torch"] if "torch" in found else [])]
    wide = [max(12, len(head) + 3) for head in heads]
    print("\nnull kernels" + "; torch on the CPU runs its kernels" * ("torch" in found))
    print(f"{'':28}" + "".join(f"{head:>{width}}" for width, head in zip(wide, heads, strict=True)))
    print_parts(found, rounds, wide)
    print("\nMLP 16-32-4, batch 64: whole steps, and their optimizer.step()")
    ratios = print_steps(found, rounds, wide)
    if ratios:
        print(f"{sum(ratio > LIMIT for ratio in ratios.values())} of {len(ratios)} steps above {LIMIT} x torch's")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
