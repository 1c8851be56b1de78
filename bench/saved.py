"""`python -m bench.saved compare [OLD] [NEW]` and `report`: what `make bench-save` has saved, by pytest-benchmark.

compare   ends with status 1 where mindtorch's time over a peer's, in one run, has grown by more than --threshold:
          of the least times of the rounds, for times differ between machines and days, and what else runs only adds
          to the others. OLD and NEW are numbers of runs, by default the last two
report    writes one page, build/bench.html, with plots: each operator's rungs, and the ratios over the saved runs
"""
import argparse
import html
import json
import sys
from pathlib import Path

from bench.operators import STATEMENTS
from bench.report import RATIOS, RUNGS, times
from bench.rungs import ROOT

STORAGE = ROOT / ".benchmarks"
PAGE = ROOT / "build" / "bench.html"
COMPARED = [(rung, peer) for rung, peer in RATIOS if rung == "mindtorch"]
COLORS = ("#999999", "#56b4e9", "#d55e00", "#cc79a7", "#009e73", "#e69f00")


def runs(storage=STORAGE):
    """{number: what was saved}, the oldest first."""
    paths = sorted(storage.glob("*/*.json"), key=lambda path: path.name)
    return {path.name.split("_")[0]: json.loads(path.read_text(encoding="utf-8")) for path in paths}


def ratios(saved):
    """{(peer, op): mindtorch's time over the peer's}, of the least times."""
    least = times(saved, "min")
    return {(peer, op): least[rung, op] / least[peer, op] for rung, peer in COMPARED for op in STATEMENTS
            if (rung, op) in least and (peer, op) in least}


def compare(old, new, threshold):
    """Prints the ratios of two runs; returns those that have grown by more than the threshold."""
    before, after = ratios(old), ratios(new)
    both = sorted(before.keys() & after.keys())
    grown = [key for key in both if after[key] > before[key] * (1 + threshold)]
    for peer, op in both:
        mark = "  GROWN" if (peer, op) in grown else ""
        print(f"{op:16} mindtorch / {peer:10} {before[peer, op]:6.2f} {after[peer, op]:6.2f}{mark}")
    return grown


def bars(saved, op):
    """An SVG: the times of one operator, by rung."""
    medians = times(saved)
    shown = {rung: medians[rung, op] for rung in RUNGS if (rung, op) in medians}
    longest, lines = max(shown.values()), []
    for place, (rung, time) in enumerate(shown.items()):
        y, width = 24 * place, 360 * time / longest
        lines.append(f'<text x="100" y="{y + 15}" text-anchor="end">{rung}</text>'
                     f'<rect x="106" y="{y + 2}" width="{width:.0f}" height="18" fill="{COLORS[RUNGS.index(rung)]}"/>'
                     f'<text x="{112 + width:.0f}" y="{y + 15}">{time:.0f} ns</text>')
    return f'<svg width="560" height="{24 * len(shown)}">{"".join(lines)}</svg>'


def history(saved_runs, peer):
    """An SVG: mindtorch's times over a peer's in all runs, a line for each operator."""
    found = [ratios(saved) for saved in saved_runs]
    highest = max((run[key] for run in found for key in run if key[0] == peer), default=0)
    if not highest:
        return ""
    lines = []
    for place, op in enumerate(STATEMENTS):
        points = [(40 + 360 * at / max(len(found) - 1, 1), 180 - 160 * run[peer, op] / highest)
                  for at, run in enumerate(found) if (peer, op) in run]
        color = COLORS[place % len(COLORS)]
        line = " ".join(f"{x:.0f},{y:.0f}" for x, y in points)
        lines.append(f'<polyline points="{line}" fill="none" stroke="{color}"/>'
                     + "".join(f'<circle cx="{x:.0f}" cy="{y:.0f}" r="3" fill="{color}"/>' for x, y in points)
                     + (f'<text x="{points[-1][0] + 8:.0f}" y="{points[-1][1] + 4:.0f}">{html.escape(op)} '
                        f"{found[-1].get((peer, op), 0):.2f}</text>" if points else ""))
    return (f"<h2>mindtorch / {peer}, over the saved runs</h2><svg width='600' height='200'>"
            f"<line x1='40' y1='180' x2='400' y2='180' stroke='black'/>{''.join(lines)}</svg>")


def page(saved_runs):
    """The report of the last run, and of the ratios in all."""
    last = saved_runs[-1]
    machine = last["machine_info"]
    parts = [f"<h2>{html.escape(op)}</h2>{bars(last, op)}" for op in STATEMENTS
             if any((rung, op) in times(last) for rung in RUNGS)]
    parts += [history(saved_runs, peer) for _, peer in COMPARED]
    return ("<!doctype html><html lang='en'><meta charset='utf-8'><title>mindtorch: host cost</title>"
            "<style>body { font-family: sans-serif; max-width: 50em; margin: auto } svg { font-size: 13px }</style>"
            "<h1>mindtorch: host cost of an operator</h1>"
            f"<p>Four float32 values, {last['kernels']} kernels; medians, and ratios of the least times. "
            f"{html.escape(last['datetime'])}, "
            f"{html.escape(machine['cpu'].get('brand_raw', machine['machine']))}, Python "
            f"{machine['python_version']}.</p>{''.join(parts)}</html>\n")


def main(arguments=None):
    parser = argparse.ArgumentParser("python -m bench.saved", description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=("compare", "report"))
    parser.add_argument("runs", nargs="*", help="numbers of two runs")
    parser.add_argument("--threshold", type=float, default=0.25, help="how much a ratio may grow (0.25)")
    parser.add_argument("--storage", type=Path, default=STORAGE)
    parser.add_argument("--output", type=Path, default=PAGE)
    chosen = parser.parse_args(arguments)
    saved = runs(chosen.storage)
    if len(saved) < (2 if chosen.command == "compare" else 1):
        parser.error(f"{len(saved)} runs are saved in {chosen.storage}: `make bench-save` saves one")
    if chosen.command == "report":
        chosen.output.parent.mkdir(parents=True, exist_ok=True)
        chosen.output.write_text(page(list(saved.values())), encoding="utf-8")
        print(chosen.output)
        return 0
    old, new = chosen.runs or list(saved)[-2:]
    grown = compare(saved[old], saved[new], chosen.threshold)
    print(f"{len(grown)} ratios have grown by more than {chosen.threshold:.0%} from run {old} to {new}")
    return int(bool(grown))


if __name__ == "__main__":
    sys.exit(main())
