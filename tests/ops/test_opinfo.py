"""PyTorch's op database, on both devices. What does not pass stands in opinfo_<device>.txt, a line each.

An op that does worse than its list says fails here, and so does one that does better: it leaves the list, which
`python tests/ops/test_opinfo.py` writes anew.
"""
import sys
import warnings
from functools import cache
from pathlib import Path

import pytest
from opinfo import function_of, infos, run, samples_of

pytestmark = pytest.mark.one_mode

HERE = Path(__file__).parent
# From best to worst.
KINDS = ("passes", "wrong", "error", "missing")
# Where torch's result is wrong, or another is as good; on another machine it may happen to be near enough.
NOTES = {
    "as_strided_scatter": "torch's derivative of the input is not 0 where src has been written",
    "linalg.eig": "LAPACK finds the eigenvalues in another order",
    "linalg.eigvals": "LAPACK finds the eigenvalues in another order",
}


def group_of(name):
    """torch.linalg, torch.nn.functional, ...: what stands before the last dot."""
    return name.partition(":")[0].rpartition(".")[0] or "torch"


GROUPS = sorted({group_of(name) for name in infos()})


@cache
def listed(device):
    """What is known not to pass: name -> (kind, what is known of it)."""
    lines = (HERE / f"opinfo_{device}.txt").read_text(encoding="utf-8").splitlines()
    entries = [line.split(maxsplit=2) for line in lines if line and not line.startswith("#")]
    return {name: (kind, *rest) for name, kind, *rest in entries}


def outcome(name, device):
    """(kind, in words); kind is "" where torch itself runs no sample here."""
    info = infos()[name]
    if function_of(info) is None:
        found = "missing", ""
    else:
        try:
            found = ("passes", "") if run(info, device) else ("error", "no sample of it is carried over")
        except AssertionError as error:
            found = "wrong", " ".join(str(error).split())
        except Exception as error:      # noqa: BLE001 - whatever is raised is the outcome
            found = "error", f"{type(error).__name__}: {' '.join(str(error).split())}"
    if found[0] == "passes":
        return found
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return found if next(samples_of(info), None) is not None else ("", "")


@pytest.mark.parametrize("group", GROUPS)
def test_ops(group, device):
    changed = []
    for name in infos():
        if group_of(name) != group:
            continue
        kind, words = outcome(name, device)
        known = listed(device).get(name, ("passes",))[0]
        if kind in ("", known) or (kind == "passes" and name in NOTES):
            continue
        better = KINDS.index(kind) < KINDS.index(known)
        changed.append(f"{name} is {kind}, {'and is listed as' if better else 'and was'} {known}. {words}"[:500])
    assert not changed, "\n".join(changed)


def test_lists_name_ops_of_the_database(device):
    assert set(listed(device)) <= set(infos())


def write(device):
    found = {name: outcome(name, device) for name in infos()}
    passing = sum(kind == "passes" for kind, _ in found.values())
    counted = sum(kind != "" for kind, _ in found.values())
    text = (f"# {passing} of {counted} ops of PyTorch's database pass on {device}. These do not:\n"
            f"# Torch itself runs no sample of {len(found) - counted} more: they are for CUDA, or for 8-bit floats.\n"
            "# missing: no function of that name; error: it raises; wrong: another result than torch's.\n"
            "# Written by tests/ops/test_opinfo.py.\n")
    for name, (kind, words) in sorted(found.items()):
        if kind not in ("passes", ""):
            text += f"{name} {kind} {NOTES.get(name, _brief(words))}".rstrip() + "\n"
    (HERE / f"opinfo_{device}.txt").write_text(text, encoding="utf-8")
    print(f"{device}: {passing} of {counted} pass")


def _brief(words):
    """Without the path of a toolkit and without figures, which are another machine's."""
    return words.partition(" by CANN")[0].partition(" Mismatch")[0][:110]


if __name__ == "__main__":
    for chosen in sys.argv[1:] or ("cpu", "npu"):
        write(chosen)
