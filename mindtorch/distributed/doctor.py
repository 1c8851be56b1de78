"""python -m mindtorch.distributed.doctor: whether ranks reach each other, and how fast.

Alone it starts two ranks on this machine, or one for each NPU; under torchrun it is one of the ranks, on as many
machines as torchrun has. It says for each pair of ranks and for each collective how long a message takes and how many
bytes pass in a second. The status is 1 where a rank is missing, an operation fails or a result is wrong.
"""
from __future__ import annotations

import argparse
import contextlib
import json
import os
import socket
import sys
import time
from datetime import timedelta
from itertools import combinations
from typing import Any

import mindtorch
from mindtorch import distributed as dist
from mindtorch.distributed import run

__all__ = ["main"]

SIZES = [4, 4096, 65536, 1 << 20, 1 << 24]
MAX_PAIRED_RANKS = 8    # up to this number of ranks every pair is measured, beyond it only neighbouring ranks


def get_parser() -> argparse.ArgumentParser:
    """The parser of the command's arguments."""
    parser = argparse.ArgumentParser("python -m mindtorch.distributed.doctor",
                                     description="Says whether ranks reach each other, and how fast.")
    add = parser.add_argument
    add("--nproc-per-node", type=int, help="number of ranks to start here; 2, or one for each NPU")
    add("--device", choices=["cpu", "npu"], help="where the tensors are; npu where there is one")
    add("--sizes", type=int, nargs="+", default=SIZES, metavar="BYTES", help="sizes of the messages")
    add("--timeout", type=float, default=30, help="seconds after which a rank or an operation counts as lost")
    add("--json", action="store_true", help="print the findings as JSON")
    add("--plot", metavar="FILE", help="draw the bandwidths into a file, with matplotlib")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """The command. Returns 1 where there is a problem."""
    arguments = sys.argv[1:] if arguments is None else arguments
    args = get_parser().parse_args(arguments)
    args.device = args.device or ("npu" if mindtorch.npu.is_available() else "cpu")
    if "RANK" in os.environ and "WORLD_SIZE" in os.environ:
        return _Rank(args).run()
    count = args.nproc_per_node or (mindtorch.npu.device_count() if args.device == "npu" else 2)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    run.main(["--standalone", "--nproc-per-node", str(count), "-m", "mindtorch.distributed.doctor", *arguments])
    return 0        # where a rank fails, run.main ends the program


class _Rank:
    """What one rank does and finds; rank 0 reports what all have found."""

    def __init__(self, args: Any) -> None:
        self.args, self.timeout = args, timedelta(seconds=args.timeout)
        self.rank, self.size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        self.name = f"rank {self.rank} on {socket.gethostname()}"
        self.address = os.environ.get("MASTER_ADDR", "127.0.0.1"), int(os.environ.get("MASTER_PORT", "29500"))
        self.report: dict[str, Any] = {"world_size": self.size, "device": args.device, "ranks": [], "pairs": [],
                                       "collectives": [], "problems": []}

    def run(self) -> int:
        is_host = self.rank == 0 and os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True"
        try:
            store = dist.TCPStore(*self.address, self.size, is_host, self.timeout, wait_for_workers=False)
        except dist.DistError as error:
            self.report["problems"] = [f"{self.name} finds no store at {':'.join(map(str, self.address))}: {error}"]
            return _print(self.report, self.args)
        self.store = dist.PrefixStore(f"doctor/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}", store)
        self.problems = self._missing() or self._run_checks()
        self.store.set(f"problems/{self.rank}", json.dumps(self.problems))
        return self._end()

    def _missing(self):
        """A message for each rank that does not come to the store."""
        self.store.set(f"here/{self.rank}", socket.gethostname())
        deadline = time.monotonic() + self.args.timeout
        problems = []
        for other in range(self.size):
            try:
                self.store.wait([f"here/{other}"], timedelta(seconds=max(deadline - time.monotonic(), 0.01)))
                self.report["ranks"].append({"rank": other, "host": self.store.get(f"here/{other}").decode()})
            except dist.DistError:
                problems.append(f"rank {other} has not come to the store at {':'.join(map(str, self.address))} within "
                                f"{self.args.timeout:g} s")
        return problems

    def _run_checks(self):
        """Runs all steps; returns messages of what failed or was wrong."""
        self.step, self.wrong = "start", []
        try:
            if self.args.device == "npu":
                mindtorch.npu.set_device(int(os.environ.get("LOCAL_RANK", self.rank)) % mindtorch.npu.device_count())
            dist.init_process_group(store=dist.PrefixStore("group", self.store), rank=self.rank, world_size=self.size,
                                    timeout=self.timeout)
            self._pairs()
            for size in self.args.sizes:
                for name in COLLECTIVES:
                    self._collective(name, size)
            dist.destroy_process_group()
        except (RuntimeError, ValueError, ImportError) as error:
            return [*self.wrong, f"{self.name}: {self.step}: {error}"]
        return self.wrong

    def _pairs(self):
        """Messages there and back, in one pair after the other."""
        pairs = list(combinations(range(self.size), 2))
        if self.size > MAX_PAIRED_RANKS:
            pairs = [(rank, rank + 1) for rank in range(self.size - 1)]
        found = {}
        for pair in pairs:
            self.step = f"messages between the ranks {pair[0]} and {pair[1]}"
            if self.rank in pair:
                found[pair] = [self._there_and_back(pair, size) for size in (4, 1 << 20)]
            dist.barrier()
        everything: list[Any] = [None] * self.size
        dist.all_gather_object(everything, found)
        for first, second in pairs:
            latency, large = everything[first][first, second]
            self.report["pairs"].append({"ranks": [first, second], "time_us": round(latency * 1e6, 2),
                                         "bandwidth_GB_s": round((1 << 20) / large / 1e9, 3)})

    def _there_and_back(self, pair, size):
        """Seconds that a message takes in one direction."""
        tensor = self._tensor(size)
        turn = [dist.send, dist.recv] if self.rank == pair[0] else [dist.recv, dist.send]
        (other,) = {*pair} - {self.rank}

        def once():
            for move in turn:
                move(tensor, other)

        return self._seconds(once, size) / 2

    def _tensor(self, size):
        return mindtorch.full((max(size // 4, 1),), self.rank + 1.0, device=self.args.device)

    def _seconds(self, function, size):
        """What a call takes: the least mean of three rounds."""
        function()
        count, best = 100 if size <= 65536 else 4, float("inf")
        for _ in range(3):
            self._synchronize()
            start = time.perf_counter()
            for _ in range(count):
                function()
            self._synchronize()
            best = min(best, (time.perf_counter() - start) / count)
        return best

    def _synchronize(self):
        if self.args.device == "npu":
            mindtorch.npu.synchronize()

    def _collective(self, name, size):
        self.step = f"{name} of {size} bytes"
        size = max(size // 4 // self.size, 1) * 4 * self.size       # each rank has a part of it
        prepare, share = COLLECTIVES[name]
        call, result, expected = prepare(self, size)
        call()
        if (result() != expected).any():
            self.wrong.append(f"{self.name}: {self.step} gives a wrong result")
        slowest = mindtorch.tensor([self._seconds(call, size)], device=self.args.device)
        dist.all_reduce(slowest, dist.ReduceOp.MAX)
        seconds = float(slowest)
        self.report["collectives"].append({
            "collective": name, "bytes": size, "time_us": round(seconds * 1e6, 2),
            "bandwidth_GB_s": round(size / seconds / 1e9, 4),
            "bus_bandwidth_GB_s": round(size / seconds / 1e9 * share(self.size), 4)})

    def _end(self):
        """Rank 0 reports the problems of all; the others wait for it, as it may have the store."""
        if self.rank:
            with contextlib.suppress(dist.DistError):       # rank 0 has ended, with its status
                self.store.wait(["reported"], 2 * self.timeout)
            return 0
        # After a failure here the others have failed as well, or will not.
        deadline = time.monotonic() + (1 if self.problems else self.args.timeout)
        for other in [each["rank"] for each in self.report["ranks"]]:
            try:
                self.store.wait([f"problems/{other}"], timedelta(seconds=max(deadline - time.monotonic(), 0.01)))
                self.report["problems"] += json.loads(self.store.get(f"problems/{other}"))
            except dist.DistError:
                self.report["problems"].append(f"rank {other} has not reported")
        self.report["problems"] = list(dict.fromkeys(self.report["problems"]))
        status = _print(self.report, self.args)
        self.store.set("reported", "")
        return status


# --- the collectives: (rank, bytes) -> (call, result, what it should be); which share of the bytes a link carries -----

def _all_reduce(rank, size):
    tensor = rank._tensor(size)     # the largest, which stays so when it is reduced again
    return lambda: dist.all_reduce(tensor, dist.ReduceOp.MAX), lambda: tensor, rank.size


def _broadcast(rank, size):
    tensor = rank._tensor(size)
    return lambda: dist.broadcast(tensor, 0), lambda: tensor, 1


def _all_gather(rank, size):
    part, out = rank._tensor(size // rank.size), rank._tensor(size)
    return lambda: dist.all_gather_into_tensor(out, part), lambda: out, _of_all_ranks(rank, size)


def _reduce_scatter(rank, size):
    tensor, out = rank._tensor(size), rank._tensor(size // rank.size)
    return lambda: dist.reduce_scatter_tensor(out, tensor), lambda: out, rank.size * (rank.size + 1) / 2


def _all_to_all(rank, size):
    tensor, out = rank._tensor(size), rank._tensor(size)
    return lambda: dist.all_to_all_single(out, tensor), lambda: out, _of_all_ranks(rank, size)


def _of_all_ranks(rank, size):
    """A part of each rank, behind each other."""
    return mindtorch.arange(1.0, rank.size + 1, device=rank.args.device).repeat_interleave(size // 4 // rank.size)


COLLECTIVES = {
    "all_reduce": (_all_reduce, lambda ranks: 2 * (ranks - 1) / ranks),
    "broadcast": (_broadcast, lambda ranks: 1),
    "all_gather_into_tensor": (_all_gather, lambda ranks: (ranks - 1) / ranks),
    "reduce_scatter_tensor": (_reduce_scatter, lambda ranks: (ranks - 1) / ranks),
    "all_to_all_single": (_all_to_all, lambda ranks: (ranks - 1) / ranks)}


# --- the report -------------------------------------------------------------------------------------------------------

def _print(report, args):
    """Prints the report; 1 where there is a problem."""
    print(json.dumps(report, indent=1) if args.json else "\n".join(_report_lines(report)), flush=True)
    if args.plot and report["collectives"]:
        _plot(report, args.plot)
    return 1 if report["problems"] else 0


def _report_lines(report):
    yield f"{report['world_size']} ranks, tensors on {report['device']}"
    yield from (f"  rank {each['rank']} on {each['host']}" for each in report["ranks"])
    if report["pairs"]:
        yield f"\n{'ranks':>12} {'4 bytes us':>12} {'1 MiB GB/s':>12}"
    for each in report["pairs"]:
        pair = " - ".join(map(str, each["ranks"]))
        yield f"{pair:>12} {each['time_us']:>12.1f} {each['bandwidth_GB_s']:>12.2f}"
    if report["collectives"]:
        yield f"\n{'collective':<24} {'bytes':>10} {'us':>10} {'GB/s':>8} {'bus GB/s':>9}"
    for each in report["collectives"]:
        yield (f"{each['collective']:<24} {each['bytes']:>10} {each['time_us']:>10.1f} {each['bandwidth_GB_s']:>8.3f} "
               f"{each['bus_bandwidth_GB_s']:>9.3f}")
    yield ""
    yield from (f"problem: {problem}" for problem in report["problems"])
    yield "" if report["problems"] else "all ranks reach each other"


def _plot(report, file):
    from matplotlib.figure import Figure
    axes = (figure := Figure()).subplots()
    for name in COLLECTIVES:
        rows = [each for each in report["collectives"] if each["collective"] == name]
        axes.loglog([each["bytes"] for each in rows], [each["bandwidth_GB_s"] for each in rows], marker="o", label=name)
    axes.set(xlabel="bytes", ylabel="GB/s", title=f"{report['world_size']} ranks on {report['device']}")
    axes.legend()
    figure.savefig(file)


if __name__ == "__main__":
    sys.exit(main())
