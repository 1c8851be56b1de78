"""`python -m bench.host [PROFILE ...]`: what programs cost on modelled hosts (MINDTORCH_SIM_COST), with null kernels.

In each profile mindtorch and the published torch_npu wheel, with its three task queues, run the same programs on the
same simulator, whose cache of operators is on as it is on CANN. The processes take turns, and the least is shown:
us the caller waits, us until the device is done, us that the driver's calls take by the model (nobody who makes these
calls is faster), and how many launches a call has that CANN's cache did not know and did know.
"""
import argparse
import subprocess
import sys

from bench import client
from bench.rungs import ROOT

PROFILES = "cheap", "middle", "dear"
TURNS = 2
QUEUES = {f"torch_npu, queue {setting}": {"TASK_QUEUE_ENABLE": setting} for setting in "012"}
MODEL = {"MINDTORCH_SIM_KERNELS": "null", "MINDTORCH_SIM_OP_CACHE": "1"}
HEAD = f"{'waits':>9}{'ends':>9}{'driver':>9}{'misses':>8}{'hits':>7}"


def run(name, profile):
    """What bench/host_rung.py says in a process of its own."""
    library = name.partition(",")[0]
    settings = {**MODEL, **QUEUES.get(name, {}), "MINDTORCH_SIM_COST": profile}
    if library == "mindtorch":
        command = [sys.executable, "-m", "bench.host_rung", library]
    else:
        command = client.command(client.PYTHON, "host_rung.py", library)
    shown = subprocess.run(command, check=True, cwd=ROOT, env=client.environment(**settings), stdout=subprocess.PIPE,
                           text=True)
    return client.hear(shown.stdout.splitlines())


def least(turns):
    """Of several turns the one that ended first, for each program."""
    return {title: min((turn[title] for turn in turns), key=lambda figures: figures["ends"]) for title in turns[0]}


def print_table(profile, results):
    print(f"\n{profile} host; us for a call of the program")
    print(f"{'':22}{'':22}{HEAD}   of the best torch_npu: waits   ends")
    for title in next(iter(results.values())):
        for name, figures in results.items():
            if title not in figures:
                continue
            line = figures[title]
            print(f"{title:22}{name:22}{line['waits']:9.1f}{line['ends']:9.1f}{line['driver']:9.1f}"
                  f"{line['misses']:8.0f}{line['hits']:7.0f}", end="")
            peers = [results[queue][title] for queue in QUEUES if title in results.get(queue, ())]
            if name == "mindtorch" and peers:
                print(f"{'':24}" + "".join(f"{line[what] / min(peer[what] for peer in peers):7.2f}"
                                           for what in ("waits", "ends")), end="")
            print()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("profiles", nargs="*", default=PROFILES, help="names or files of MINDTORCH_SIM_COST")
    parser.add_argument("--turns", type=int, default=TURNS, help="processes of each library")
    args = parser.parse_args()
    names = ["mindtorch", *(QUEUES if client.PYTHON.exists() else ())]
    for profile in args.profiles:
        turns = [{name: run(name, profile) for name in names} for _ in range(args.turns)]
        print_table(profile, {name: least([turn[name] for turn in turns]) for name in names})
    if not client.PYTHON.exists():
        print(client.LEFT_OUT)


if __name__ == "__main__":
    main()
