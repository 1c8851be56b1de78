"""`python -m bench.cpu [rounds]`: the CPU device beside torch's, one thread each, in one process.

Training steps of a GPT (examples/train_gpt.py) and of ResNet-18 (a batch of 8 images of 32 x 32), the forward pass of
EfficientNet-b0 (one image of 224 x 224), and operators on 16 elements. Libraries alternate, and the best time of each
is taken: CPU time of the calling thread; for the simulated NPU, whose stream has its own thread, wall time.
"""
# ruff: noqa: E402 - BLAS libraries look at the number of threads when they are loaded, so it is set before that
import os
import sys

for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[threads] = "1"
os.environ.setdefault("MINDTORCH_NPU", "sim")

import time
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise

from bench import gpt

ROUNDS = 8
CALLS = 2000            # of an operator in one timed loop
ELEMENTS = 16

# The printed name, and the largest allowed ratio to torch's time.
LIMITS = {"GPT step": 1.1, "ResNet-18 step": 1.3, "EfficientNet-b0 forward": 2.0,
          "a + b": 1.5, "relu": 1.5, "sum": 1.5, "zeros": 1.5, "softmax": 1.5}


def resnet(lib, device):
    """A training step of ResNet-18 with the stem for small images."""
    nn, functional = lib.nn, lib.nn.functional

    class Block(nn.Module):
        def __init__(self, inputs, outputs, stride):
            super().__init__()
            self.first = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
            self.first_norm = nn.BatchNorm2d(outputs)
            self.second = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
            self.second_norm = nn.BatchNorm2d(outputs)
            self.skip = nn.Identity() if inputs == outputs else nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

        def forward(self, x):
            y = functional.relu(self.first_norm(self.first(x)))
            return functional.relu(self.second_norm(self.second(y)) + self.skip(x))

    lib.manual_seed(0)
    widths = (64, 64, 128, 256, 512)
    blocks = [Block(inputs if first else outputs, outputs, 1 + (first and inputs != outputs))
              for inputs, outputs in pairwise(widths) for first in (True, False)]
    model = nn.Sequential(nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
                          *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10)).to(device)
    optimizer = lib.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    images, labels = lib.randn(8, 3, 32, 32).to(device), lib.arange(8).to(device)

    def step():
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        return loss.item()
    return step


# EfficientNet-b0: expansion, width, blocks, stride and size of the kernel of each stage.
STAGES = ((1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3), (6, 112, 3, 1, 5), (6, 192, 4, 2, 5),
          (6, 320, 1, 1, 3))


def efficientnet(lib, device):
    """The forward pass of EfficientNet-b0."""
    nn, functional = lib.nn, lib.nn.functional

    def convolution(inputs, outputs, size, stride=1, groups=1):
        return [nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False),
                nn.BatchNorm2d(outputs, eps=1e-3)]

    class Excitation(nn.Module):
        def __init__(self, width, squeezed):
            super().__init__()
            self.squeeze, self.expand = nn.Conv2d(width, squeezed, 1), nn.Conv2d(squeezed, width, 1)

        def forward(self, x):
            pooled = functional.adaptive_avg_pool2d(x, 1)
            return x * lib.sigmoid(self.expand(functional.silu(self.squeeze(pooled))))

    class Block(nn.Module):
        def __init__(self, inputs, outputs, size, stride, expansion):
            super().__init__()
            width = inputs * expansion
            wider = [*convolution(inputs, width, 1), nn.SiLU()] if expansion > 1 else []
            self.layers = nn.Sequential(*wider, *convolution(width, width, size, stride, width), nn.SiLU(),
                                        Excitation(width, inputs // 4), *convolution(width, outputs, 1))
            self.adds = stride == 1 and inputs == outputs

        def forward(self, x):
            return self.layers(x) + x if self.adds else self.layers(x)

    lib.manual_seed(0)
    layers, width = [*convolution(3, 32, 3, 2), nn.SiLU()], 32
    for expansion, outputs, count, stride, size in STAGES:
        for first in (True, *(False,) * (count - 1)):
            layers.append(Block(width, outputs, size, stride if first else 1, expansion))
            width = outputs
    model = nn.Sequential(*layers, *convolution(width, 1280, 1), nn.SiLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                          nn.Linear(1280, 1000)).to(device).eval()
    image = lib.randn(1, 3, 224, 224).to(device)

    def forward():
        with lib.no_grad():
            return model(image).sum().item()
    return forward


def operators(lib):
    """{name: a call on 16 elements}."""
    a, b = lib.randn(ELEMENTS), lib.randn(ELEMENTS)
    return {"a + b": lambda: a + b, "relu": a.relu, "sum": a.sum, "zeros": lambda: lib.zeros(ELEMENTS),
            "softmax": lambda: lib.softmax(a, 0)}


def best_times(calls, rounds, count=1):
    """{(library, device): seconds of the fastest of the rounds}; the first call of each is not counted."""
    times = {key: [] for key in calls}
    for call in calls.values():
        call()
    for _ in range(rounds):
        for key, call in calls.items():
            clock = time.perf_counter if key[1] == "npu" else time.thread_time
            start = clock()
            for _ in range(count):
                call()
            times[key].append((clock() - start) / count)
    return {key: min(values) for key, values in times.items()}


def show(title, times, unit, scale):
    """A line of times and their ratios to torch's; returns whether the CPU device is within the limit."""
    cells = [f"{scale * seconds:10.2f} {unit}" for seconds in times.values()]
    theirs = times.get(("torch", "cpu"))
    ratio = times["mindtorch", "cpu"] / theirs if theirs else 0
    print(f"{title:26}" + "".join(f"{cell:>16}" for cell in cells)
          + (f"{ratio:8.2f} x torch, at most {LIMITS[title]}" if theirs else ""))
    return ratio <= LIMITS[title]


def main(rounds=ROUNDS):
    subjects = [("mindtorch", "cpu"), ("mindtorch", "npu"), *([("torch", "cpu")] if find_spec("torch") else [])]
    libraries = {name: import_module(name) for name, _ in subjects}
    for library in libraries.values():
        library.set_num_threads(1)
    print(f"\n{'':26}" + "".join(f"{f'{name} {device}':>16}" for name, device in subjects))
    programs = {"GPT step": lambda lib, device: gpt.training(lib, device).step,
                "ResNet-18 step": lambda lib, device: resnet(libraries[lib], device),
                "EfficientNet-b0 forward": lambda lib, device: efficientnet(libraries[lib], device)}
    within = [show(title, best_times({pair: make(*pair) for pair in subjects}, rounds), "ms", 1e3)
              for title, make in programs.items()]
    hosts = [pair for pair in subjects if pair[1] == "cpu"]
    calls = {pair: operators(libraries[pair[0]]) for pair in hosts}
    print(f"\non {ELEMENTS} elements{'':12}" + "".join(f"{f'{name} {device}':>16}" for name, device in hosts))
    within += [show(title, best_times({pair: calls[pair][title] for pair in hosts}, rounds, CALLS), "us", 1e6)
               for title in calls[hosts[0]]]
    print(f"\n{within.count(False)} of {len(within)} above their limit" if "torch" in libraries else "")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
