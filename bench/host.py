"""`python -m bench.host [PROFILE ...]`: what programs cost on modelled hosts (MINDTORCH_SIM_COST), with null kernels.

In each profile mindtorch and the published torch_npu wheel run the same programs on the same simulator, whose cache of
operators is on as it is on CANN, with each TASK_QUEUE_ENABLE, mindtorch without that cache, too. The processes take
turns, and the least is shown: us the caller waits, us until the device is done, us that the driver's calls take by the
model (the floor: no program that makes these calls is faster), and how many launches of a call missed CANN's cache and
how many hit it. Then mindtorch's times as parts of torch_npu's, both at their defaults and at their best, and the end
as a multiple of the floor. The profile `none` is a driver that costs nothing; every phase 1 counts as a miss there.
`--html FILE` also writes a page.

A run of all profiles takes about ten minutes on two idle cores; `--seconds` says how long each program is repeated.
"""
import argparse
import subprocess
import sys
from html import escape
from pathlib import Path

from bench import client
from bench.rungs import ROOT

PROFILES = "none", "low", "medium", "high"
TURNS = 2
SECONDS = 0.4
OURS = {**{f"mindtorch, queue {setting}": {"TASK_QUEUE_ENABLE": setting} for setting in "012"},
        "mindtorch, no cache": {"MINDTORCH_EXECUTOR_CACHE": "0", "TASK_QUEUE_ENABLE": "2"}}
QUEUES = {f"torch_npu, queue {setting}": {"TASK_QUEUE_ENABLE": setting} for setting in "012"}
DEFAULTS = "mindtorch, queue 2", "torch_npu, queue 1"
MODEL = {"MINDTORCH_SIM_KERNELS": "null", "MINDTORCH_SIM_OP_CACHE": "1"}
FIGURES = "waits", "ends", "driver", "misses", "hits"
RATIOS = "waits", "ends"
COMPARED = "default waits", "default ends", "best waits", "best ends", "ends / floor"
HEAD = "".join(f"{name:>{width}}" for name, width in zip(FIGURES, (9, 9, 9, 8, 7), strict=True))
STYLE = ("body { font: 15px sans-serif } table { border-collapse: collapse } th { border-bottom: 1px solid } "
         "td, th { padding: 2px 10px; text-align: right } td:first-child { text-align: left }")


def run(name, profile, seconds):
    """The output of bench/host_rung.py in a process of its own."""
    library = name.partition(",")[0]
    settings = {**MODEL, **(OURS | QUEUES)[name], "MINDTORCH_SIM_COST": "" if profile == "none" else profile}
    if library == "mindtorch":
        command = [sys.executable, "-m", "bench.host_rung", library, str(seconds)]
    else:
        command = client.command(client.PYTHON, "host_rung.py", library, str(seconds))
    shown = subprocess.run(command, check=True, cwd=ROOT, env=client.environment(**settings), stdout=subprocess.PIPE,
                           text=True)
    return client.receive(shown.stdout.splitlines())


def least(turns):
    """The fastest of several turns, for each program."""
    return {title: min((turn[title] for turn in turns), key=lambda figures: figures["ends"]) for title in turns[0]}


def lines_of(results):
    """(program, who ran it, its figures) for each line of a table."""
    for title in next(iter(results.values())):
        for name, figures in results.items():
            if title in figures:
                yield title, name, figures[title]


def compare(results):
    """{program: the figures of COMPARED} of both libraries' results, and without torch_npu's only the last."""
    def ratio(title, what, ours, theirs):
        values = [min((results[name][title][what] for name in names if title in results.get(name, ())), default=None)
                  for names in (ours, theirs)]
        return None if None in values else values[0] / values[1]

    compared = {}
    for title in next(iter(results.values())):
        ours = [results[name][title] for name in OURS]
        first = min(ours, key=lambda figures: figures["ends"])
        compared[title] = [ratio(title, what, [DEFAULTS[0]], [DEFAULTS[1]]) for what in RATIOS]
        compared[title] += [ratio(title, what, OURS, QUEUES) for what in RATIOS]
        compared[title].append(first["ends"] / first["driver"] if first["driver"] else None)
    return compared


def cells_of(ratios):
    return ["" if ratio is None else f"{ratio:.2f}" for ratio in ratios]


def print_table(profile, results):
    print(f"\n{profile} host; us for a call of the program")
    print(f"{'':22}{'':22}{HEAD}")
    for title, name, line in lines_of(results):
        print(f"{title:22}{name:22}{line['waits']:9.1f}{line['ends']:9.1f}{line['driver']:9.1f}"
              f"{line['misses']:8.0f}{line['hits']:7.0f}")
    print(f"\n{profile} host; mindtorch / torch_npu\n{'':22}" + "".join(f"{head:>15}" for head in COMPARED))
    for title, ratios in compare(results).items():
        print(f"{title:22}" + "".join(f"{cell:>15}" for cell in cells_of(ratios)), flush=True)


def html_row(cells, kind="td"):
    return "<tr>" + "".join(f"<{kind}>{escape(cell)}</{kind}>" for cell in cells) + "</tr>"


def page(tables):
    """An HTML page of {profile: results}."""
    parts = [f"<!doctype html><title>bench.host</title><style>{STYLE}</style>", f"<p>{escape(__doc__)}</p>"]
    for profile, results in tables.items():
        parts.append(f"<h2>{escape(profile)} host; mindtorch / torch_npu</h2><table>{html_row(('', *COMPARED), 'th')}")
        parts += [html_row([title, *cells_of(ratios)]) for title, ratios in compare(results).items()]
        parts.append(f"</table><h2>{escape(profile)} host; us for a call of the program</h2><table>")
        shown = None
        for title, name, line in lines_of(results):
            if title != shown:
                shown = title
                parts.append(html_row((title, *FIGURES), "th"))
            parts.append(html_row([name, *(f"{line[what]:.1f}" for what in FIGURES)]))
        parts.append("</table>")
    return "\n".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("profiles", nargs="*", default=PROFILES, help="none, and names or files of MINDTORCH_SIM_COST")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long a process repeats each program")
    parser.add_argument("--turns", type=int, default=TURNS, help="processes of each library")
    parser.add_argument("--html", type=Path, help="file for a page of the tables")
    args = parser.parse_args()
    names = [*OURS, *(QUEUES if client.PYTHON.exists() else ())]
    tables = {}
    for profile in args.profiles:
        turns = [{name: run(name, profile, args.seconds) for name in names} for _ in range(args.turns)]
        tables[profile] = {name: least([turn[name] for turn in turns]) for name in names}
        print_table(profile, tables[profile])
    if args.html:
        args.html.write_text(page(tables))
    if not client.PYTHON.exists():
        print(client.LEFT_OUT)


if __name__ == "__main__":
    main()
