"""`python -m bench.memory [--output PNG] [options of examples/train_gpt.py]`: draws the memory of a training run.

Trains the GPT on the NPU for some steps and asks the allocator after each forward of a module, before each backward and
after each step. The lines are what is allocated and what is reserved, and what the peak of the one allows the other.
"""
import argparse
import os
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from bench.gpt import example
from bench.pairs import MIB
from bench.replay import LIMIT
from bench.rungs import BUILD

ALLOCATED, RESERVED, QUIET = "#2a78d6", "#b3541e", "#6b6b6b"


def train(options, steps):
    """The run, [(time in steps, bytes allocated, bytes reserved)] and the two peaks."""
    module = example("train_gpt")
    torch = module.torch
    training = module.Training(module.arguments(["--device", "npu", *options]))
    torch.npu.reset_peak_memory_stats()
    step, samples = [], []

    def sample(*_):
        step.append((torch.npu.memory_allocated(), torch.npu.memory_reserved()))

    def sample_both_ways(layer, inputs, output):
        sample()
        if output.requires_grad:
            output.register_hook(sample)

    handle = torch.nn.modules.module.register_module_forward_hook(sample_both_ways)
    for number in range(steps):
        training.step()
        sample()
        samples += [(number + index / len(step), *sizes) for index, sizes in enumerate(step, 1)]
        step.clear()
    handle.remove()
    return training.args, samples, (torch.npu.max_memory_allocated(), torch.npu.max_memory_reserved())


def draw(args, samples, peaks, path):
    import matplotlib
    matplotlib.use("Agg")       # a file, no window
    from matplotlib import pyplot

    times, allocated, reserved = zip(*samples, strict=True)
    most, limit = peaks[0] / MIB, LIMIT * peaks[0] / MIB
    figure, axes = pyplot.subplots(figsize=(9, 5), layout="constrained")
    axes.step(times, [size / MIB for size in reserved], where="post", color=RESERVED, linewidth=2,
              label=f"reserved: at most {peaks[1] / MIB:.0f} MiB")
    axes.plot(times, [size / MIB for size in allocated], color=ALLOCATED, linewidth=1.5,
              label=f"allocated: at most {most:.0f} MiB")
    axes.axhline(limit, color=QUIET, linewidth=1, linestyle="--", label=f"{LIMIT} x that: {limit:.0f} MiB")
    axes.axhline(most, color=ALLOCATED, linewidth=1, linestyle=":")
    axes.set(title=f"Device memory while a GPT learns: {args.layers} layers of width {args.width}, "
                   f"{args.batch_size} pieces of {args.context} characters",
             xlabel="steps done", ylabel="MiB", xlim=(0, times[-1]), ylim=(0, 1.25 * max(peaks[1] / MIB, limit)))
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="upper center", ncols=3, frameon=False)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=BUILD / "memory.png", help="a PNG")
    parser.add_argument("--steps", type=int, default=6)
    args, options = parser.parse_known_args()
    args.output.parent.mkdir(exist_ok=True)
    run, samples, peaks = train(options, args.steps)
    draw(run, samples, peaks, args.output)
    allocated, reserved = peaks
    print(f"\ntraining a GPT of {run.layers} layers of width {run.width}: {allocated / MIB:.0f} MiB allocated, "
          f"{reserved / MIB:.0f} MiB reserved, ratio {reserved / allocated:.3f}\n{args.output}")


if __name__ == "__main__":
    main()
