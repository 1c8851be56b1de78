"""`python -m bench.scale`: predicts a training step on 1 to 4,096 NPUs from one machine.

A process of one rank trains a GPT with DistributedDataParallel or fully_shard on the modelled host and device
(MINDTORCH_SIM_COST), without arithmetic. Its collectives run through HCCL and take the modelled device the time that
they would take between so many ranks (MINDTORCH_SIM_HCCL_RANKS), on streams of their own. So what overlaps is what the
program lets overlap. A line has the ms of a step, its ratio to one rank's, and its share of calculation, in percent.

Each rank has a batch of its own (weak scaling). Assumed, beside what runtime/cost.cpp says of its figures: all ranks
arrive at once, no two messages share a link, and each rank of fully_shard steps for all parameters, not for its share.
`--plot FILE` draws the lines.
"""
import argparse
import json
import os
import subprocess
import sys
import time

RANKS = 1, 8, 16, 64, 256, 1024, 4096
MODES = "ddp", "fsdp"
STEPS = 8


def step(mode, layers, width, batch):
    """The seconds of a step in this process, the least of several."""
    import mindtorch as torch
    from examples.train_gpt import GPT
    from mindtorch import sim
    from mindtorch.distributed.fsdp import fully_shard
    torch.distributed.init_process_group("hccl", store=torch.distributed.HashStore(), rank=0, world_size=1)
    model = GPT(layers=layers, width=width, heads=width // 64, context=128, dropout=0.0).to("npu")
    if mode == "fsdp":
        for block in model.blocks:
            fully_shard(block)
        fully_shard(model)
    else:
        model = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters())
    tokens = torch.zeros(batch, 128, dtype=torch.int64, device="npu")
    times = []
    with sim.run_kernels(False):    # not before: DistributedDataParallel reads what its collectives have gathered
        for _ in range(STEPS):
            torch.npu.synchronize()
            begun = time.perf_counter()
            loss = torch.nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            torch.npu.synchronize()
            times.append(time.perf_counter() - begun)
    torch.distributed.destroy_process_group()
    return min(times[1:])


def predicted(mode, ranks, given):
    """The seconds of a step, of a process in which communicators cost what those of so many ranks do."""
    variables = {**os.environ, "MINDTORCH_NPU": "sim", "HCCL_IF_IP": "127.0.0.1",
                 "MINDTORCH_SIM_COST": given.profile, "MINDTORCH_SIM_HCCL_RANKS": str(ranks)}
    command = [sys.executable, "-m", "bench.scale", "--step", mode, "--layers", str(given.layers), "--width",
               str(given.width), "--batch", str(given.batch)]
    shown = subprocess.run(command, env=variables, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(shown.stdout.splitlines()[-1])


def draw(results, file):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    for mode, seconds in results.items():
        pyplot.plot(list(seconds), [each * 1e3 for each in seconds.values()], "o-", label=mode)
    pyplot.xscale("log", base=2)
    pyplot.xlabel("NPUs")
    pyplot.ylabel("ms of a step")
    pyplot.ylim(bottom=0)
    pyplot.legend()
    pyplot.savefig(file)


def main():
    parser = argparse.ArgumentParser(prog="bench.scale")
    parser.add_argument("--ranks", type=int, nargs="+", default=RANKS)
    parser.add_argument("--profile", default="medium", help="of MINDTORCH_SIM_COST")
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--batch", type=int, default=64, help="sequences of 128 tokens of a rank")
    parser.add_argument("--plot", metavar="FILE")
    parser.add_argument("--step", choices=MODES, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.step:
        print(json.dumps(step(given.step, given.layers, given.width, given.batch)))
        return
    results = {}
    print(f"GPT of {given.layers} layers, width {given.width}, {given.batch} x 128 tokens a rank; {given.profile} host")
    for mode in MODES:
        results[mode] = {}
        for ranks in given.ranks:
            seconds = results[mode][ranks] = predicted(mode, ranks, given)
            ratio = seconds / next(iter(results[mode].values()))
            print(f"{mode:5} {ranks:5} NPUs {seconds * 1e3:9.2f} ms {ratio:7.2f} {100 / ratio:5.0f} %", flush=True)
    if given.plot:
        draw(results, given.plot)


if __name__ == "__main__":
    main()
