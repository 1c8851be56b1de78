"""Classifies handwritten digits with a small ReLU network, in torch style: `python examples/digits.py --device npu`.

The weights (64-128-64-10) were trained with torch; the 360 images of 8 x 8 pixels were never shown to the network. The
data file also holds the logits that torch computed for them, so the program can tell whether it got the same. It exits
with 1 where it did not.
"""
import argparse
import statistics
import sys
import time
from pathlib import Path

import numpy as np

import mindtorch as torch

DATA = Path(__file__).parent / "data" / "digits_mlp.npz"
EXPECTED_CORRECT = 351
TOLERANCE = 1e-4


def load(device):
    """The network's layers, the images and the labels as tensors on `device`; torch's logits as an array."""
    with np.load(DATA) as data:
        layers = [tuple(torch.from_numpy(data[f"layer{i}.{name}"]).to(device) for name in ("weight", "bias"))
                  for i in range(3)]
        images = torch.from_numpy(data["test_images"]).to(device)
        labels = torch.from_numpy(data["test_labels"]).to(device)
        return layers, images, labels, data["expected_logits"]


def forward(layers, images):
    """Logits of shape (images, 10)."""
    x = images                                         # (N, 64)
    for weight, bias in layers[:-1]:
        x = (torch.matmul(x, weight.t()) + bias).relu()
    weight, bias = layers[-1]
    return torch.addmm(bias, x, weight.t())


def seconds(device, run, rounds=20):
    """The median time of run(), until the device has ended it."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        if device == "npu":
            torch.npu.synchronize()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def report_device(device):
    """Which device did the work, and how much of its memory the program needed."""
    if device == "cpu":
        print("device:                   cpu (NumPy)")
        return
    print(f"device:                   {torch.npu.get_device_name()}")
    print(f"toolkit:                  {torch.npu.toolkit()}")
    print(f"peak device memory:       {torch.npu.max_memory_allocated() / 1024:.0f} KiB allocated,"
          f" {torch.npu.max_memory_reserved() / 1024:.0f} KiB reserved")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=["npu", "cpu"], default="npu")
    device = parser.parse_args().device

    layers, images, labels, expected = load(device)
    logits = forward(layers, images)
    correct = int((logits.argmax(dim=1) == labels).sum().item())
    milliseconds = 1e3 * seconds(device, lambda: forward(layers, images))
    probabilities = torch.softmax(logits, dim=1).amax(dim=1)
    difference = float(np.abs(logits.cpu().numpy() - expected).max())

    print(f"correct:                  {correct} of {len(labels)} ({correct / len(labels):.1%}),"
          f" mean confidence {probabilities.mean().item():.3f}")
    print(f"largest logit difference: {difference:.1e} from torch's")
    print(f"time:                     {milliseconds:.2f} ms for {len(labels)} images")
    report_device(device)
    if correct != EXPECTED_CORRECT or not difference < TOLERANCE:
        sys.exit(f"expected {EXPECTED_CORRECT} correct and a logit difference below {TOLERANCE:g}")


if __name__ == "__main__":
    main()
