"""`python -m bench.host [PROFILE ...]`: what programs cost on modelled hosts (MINDTORCH_SIM_COST), with null kernels.

In each profile mindtorch and the published torch_npu wheel run the same programs on the same simulator, whose cache of
operators is on as it is on CANN: mindtorch as it is, without that cache, and with its queues of launches; torch_npu
with its three task queues. The processes take turns, and the least is shown: us the caller waits, us until the device
is done, us that the driver's calls take by the model (the floor: nobody who makes these calls is faster), and how many
launches a call has that CANN's cache did not know and did know. `--html FILE` also writes a page of it.
"""
import argparse
import subprocess
import sys
from html import escape
from pathlib import Path

from bench import client
from bench.rungs import ROOT

PROFILES = "cheap", "middle", "dear"
TURNS = 2
OURS = {"mindtorch": {}, "mindtorch, no cache": {"MINDTORCH_EXECUTOR_CACHE": "0"},
        **{f"mindtorch, queue {setting}": {"TASK_QUEUE_ENABLE": setting} for setting in "12"}}
QUEUES = {f"torch_npu, queue {setting}": {"TASK_QUEUE_ENABLE": setting} for setting in "012"}
MODEL = {"MINDTORCH_SIM_KERNELS": "null", "MINDTORCH_SIM_OP_CACHE": "1"}
FIGURES = "waits", "ends", "driver", "misses", "hits"
RATIOS = "waits", "ends"
HEAD = "".join(f"{name:>{width}}" for name, width in zip(FIGURES, (9, 9, 9, 8, 7), strict=True))
STYLE = ("body { font: 15px sans-serif } table { border-collapse: collapse } th { border-bottom: 1px solid } "
         "td, th { padding: 2px 10px; text-align: right } td:first-child { text-align: left }")


def run(name, profile):
    """The output of bench/host_rung.py in a process of its own."""
    library = name.partition(",")[0]
    settings = {**MODEL, **(OURS | QUEUES)[name], "MINDTORCH_SIM_COST": profile}
    if library == "mindtorch":
        command = [sys.executable, "-m", "bench.host_rung", library]
    else:
        command = client.command(client.PYTHON, "host_rung.py", library)
    shown = subprocess.run(command, check=True, cwd=ROOT, env=client.environment(**settings), stdout=subprocess.PIPE,
                           text=True)
    return client.receive(shown.stdout.splitlines())


def least(turns):
    """The fastest of several turns, for each program."""
    return {title: min((turn[title] for turn in turns), key=lambda figures: figures["ends"]) for title in turns[0]}


def lines_of(results):
    """(program, who ran it, its figures, {figure: its ratio to the best torch_npu's}) for each line of a table."""
    for title in next(iter(results.values())):
        peers = [results[queue][title] for queue in QUEUES if title in results.get(queue, ())]
        for name, figures in results.items():
            if title in figures:
                best = {what: min(peer[what] for peer in peers) for what in RATIOS if peers and name in OURS}
                line = figures[title]
                yield title, name, line, {what: line[what] / least for what, least in best.items()}


def print_table(profile, results):
    print(f"\n{profile} host; us for a call of the program")
    print(f"{'':22}{'':22}{HEAD}   of the best torch_npu: waits   ends")
    for title, name, line, ratios in lines_of(results):
        print(f"{title:22}{name:22}{line['waits']:9.1f}{line['ends']:9.1f}{line['driver']:9.1f}"
              f"{line['misses']:8.0f}{line['hits']:7.0f}{'':24}" + "".join(f"{ratios[what]:7.2f}" for what in ratios))


def page(tables):
    """An HTML page of {profile: results}."""
    parts = [f"<!doctype html><title>bench.host</title><style>{STYLE}</style>", f"<p>{escape(__doc__)}</p>"]
    for profile, results in tables.items():
        parts.append(f"<h2>{escape(profile)} host; us for a call of the program</h2><table>")
        shown = None
        for title, name, line, ratios in lines_of(results):
            if title != shown:
                shown = title
                heads = (title, *FIGURES, *(f"{what} / best torch_npu" for what in RATIOS))
                parts.append("<tr>" + "".join(f"<th>{escape(head)}</th>" for head in heads) + "</tr>")
            cells = [name, *(f"{line[what]:.1f}" for what in FIGURES), *(f"{ratio:.2f}" for ratio in ratios.values())]
            parts.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>")
        parts.append("</table>")
    return "\n".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("profiles", nargs="*", default=PROFILES, help="names or files of MINDTORCH_SIM_COST")
    parser.add_argument("--turns", type=int, default=TURNS, help="processes of each library")
    parser.add_argument("--html", type=Path, help="file for a page of the tables")
    args = parser.parse_args()
    names = [*OURS, *(QUEUES if client.PYTHON.exists() else ())]
    tables = {}
    for profile in args.profiles:
        turns = [{name: run(name, profile) for name in names} for _ in range(args.turns)]
        tables[profile] = {name: least([turn[name] for turn in turns]) for name in names}
        print_table(profile, tables[profile])
    if args.html:
        args.html.write_text(page(tables))
    if not client.PYTHON.exists():
        print(client.LEFT_OUT)


if __name__ == "__main__":
    main()
