"""`python -m bench.replay`: how much memory the allocator reserves for a training run, and how much of that is in use.

Some steps of examples/train_gpt.py are recorded, with null kernels: the GPT as it is, and one that is larger. Fresh
processes take and give back the same blocks in the same order: mindtorch, and torch_npu's allocator on the same
simulator where `make test-clients` has installed that, with several settings of PYTORCH_NPU_ALLOC_CONF each. Where
both are there they also take and give back at random, with little memory.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path

from bench import client
from bench.gpt import example
from bench.pairs import MIB
from bench.rungs import ROOT

RUNS = {"GPT as it is": "",
        "GPT of 6 layers of width 384": "--layers 6 --width 384 --heads 6 --context 256 --batch-size 64"}
SETTINGS = "", "expandable_segments:True", "max_split_size_mb:64", "roundup_power2_divisions:4"
STEPS = 3
SHORT = "per_process_memory_fraction:0.06"      # not enough for all that is taken at random
RANDOM_SETTINGS = ("", SHORT, f"max_split_size_mb:32,{SHORT}", f"garbage_collection_threshold:0.8,{SHORT}",
                   f"expandable_segments:True,{SHORT}")
LIMIT = 1.15            # reserved / allocated, both at their peaks


def record(arguments):
    """The allocations and frees of a run: the bytes of a new block, or ~n to free the n-th one."""
    module = example("train_gpt")
    torch = module.torch
    torch.npu.init()
    torch.npu.memory._record_memory_history(context=None)
    training = module.Training(module.arguments(["--device", "npu", *arguments.split()]))
    for _ in range(STEPS):
        training.step()
    events, = torch.npu.memory._snapshot()["device_traces"]
    torch.npu.memory._record_memory_history(None)
    trace, taken, number = [], 0, {}
    for event in events:
        if event["action"] == "alloc":
            number[event["addr"]] = taken
            taken += 1
            trace.append(event["size"])
        elif event["action"] == "free_completed" and event["addr"] in number:
            trace.append(~number.pop(event["addr"]))
    return trace


def random_trace(count=6000, most=400):
    """Blocks of 512 bytes to 128 MiB, as many small ones as large ones; at most so many at a time."""
    draw, trace, live, taken = random.Random(0), [], [], 0
    for _ in range(count):
        if live and (draw.random() < 0.48 or len(live) > most):
            trace.append(~live.pop(draw.randrange(len(live))))
        else:
            trace.append(int(512 * (128 * MIB / 512) ** draw.random()))
            live.append(taken)
            taken += 1
    return trace


def replay(library, path):
    """torch.npu.memory_stats() after the same in this process, which does nothing else."""
    torch = import_module("mindtorch" if library == "mindtorch" else "torch")
    import_module(library)
    torch.npu.init()
    take, give = torch.npu.caching_allocator_alloc, torch.npu.caching_allocator_delete
    blocks = []
    for entry in json.loads(Path(path).read_text(encoding="utf-8")):
        if entry < 0:
            give(blocks[~entry])
            continue
        try:
            blocks.append(take(entry))
        except torch.OutOfMemoryError:
            blocks.append(0)             # giving that back is nothing
    return torch.npu.memory_stats()


def fresh(library, python, path, settings):
    """The result of `replay` in a process of its own."""
    script = "replay.py", "--replay", library, path
    command = [python, "-m", "bench.replay", *script[1:]] if library == "mindtorch" else client.command(python, *script)
    shown = subprocess.run(command, check=True, cwd=ROOT, env=client.environment(PYTORCH_NPU_ALLOC_CONF=settings),
                           stdout=subprocess.PIPE, text=True).stdout
    return client.receive(shown.splitlines())


def compare(pythons, title, trace, all_settings):
    """Prints a line for each library and setting, and the counters in which two libraries differ."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".json") as file:
        json.dump(trace, file)
        file.flush()
        for settings in all_settings:
            all_stats = [fresh(library, python, file.name, settings) for library, python in pythons.items()]
            print(f"{title}, {settings or 'no settings'}")
            for library, stats in zip(pythons, all_stats, strict=True):
                allocated, reserved = (stats[f"{kind}_bytes.all.peak"] for kind in ("allocated", "reserved"))
                print(f"    {library:12}{allocated / MIB:8.0f} MiB{reserved / MIB:8.0f} MiB{reserved / allocated:8.3f}"
                      + f", above {LIMIT}" * (reserved > LIMIT * allocated and title in RUNS))
            if len(all_stats) > 1:
                differing = [key for key in all_stats[0] if all_stats[0][key] != all_stats[1].get(key)]
                print(f"    of {len(all_stats[0])} counters differ:", ", ".join(differing) or "none")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--settings", nargs="+", default=SETTINGS, help="of PYTORCH_NPU_ALLOC_CONF")
    parser.add_argument("--clients", type=Path, default=client.PYTHON, help="interpreter that has torch_npu")
    parser.add_argument("--replay", nargs=2, metavar=("LIBRARY", "TRACE"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.replay:
        client.say(replay(*args.replay))
        return
    os.environ.update(MINDTORCH_NPU="sim", MINDTORCH_SIM_KERNELS="null")
    pythons = {"mindtorch": sys.executable}
    if args.clients.exists():
        pythons["torch_npu"] = args.clients
    print(f"\n{'':16}{'allocated':>12}{'reserved':>12}   reserved / allocated, at their peaks")
    for title, arguments in RUNS.items():
        compare(pythons, title, record(arguments), args.settings)
    if "torch_npu" in pythons:
        compare(pythons, "at random", random_trace(), RANDOM_SETTINGS)
    else:
        print(client.LEFT_OUT)


if __name__ == "__main__":
    main()
