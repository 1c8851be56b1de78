"""docs/names.md: which of torch's public names mindtorch has.

`python tests/names/name_coverage.py` writes the page from torch_names.txt, the names of torch 2.13, and from what
mindtorch offers; with `--torch` it asks the installed torch for its names first and writes that file.
"""
import pkgutil
import re
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from textwrap import fill
from types import ModuleType

NAMES = Path(__file__).with_name("torch_names.txt")
PAGE = Path(__file__).parents[2] / "docs" / "names.md"

# The share of names that must be there, in per cent. These namespaces come first on the page.
REQUIRED = {
    "torch.nn": 99, "torch.nn.functional": 97, "torch.optim": 100, "torch.Tensor": 94, "torch": 0, "torch.linalg": 0,
    "torch.fft": 0, "torch.special": 100, "torch.nn.init": 0, "torch.nn.utils": 0, "torch.nn.utils.rnn": 0,
    "torch.nn.utils.parametrize": 0, "torch.nn.utils.parametrizations": 0, "torch.optim.lr_scheduler": 0,
    "torch.autograd": 0, "torch.autograd.functional": 0, "torch.amp": 0, "torch.utils.data": 0,
    "torch.serialization": 0, "torch.accelerator": 0, "torch.signal.windows": 0, "torch.masked": 0, "torch.testing": 0,
    "torch.distributions": 0, "torch.func": 0, "torch.library": 0}

# What is absent, by reason: modules, names of other modules, and expressions for names.
ABSENT = tomllib.loads(Path(__file__).with_name("absent.toml").read_text(encoding="utf-8"))
_DISTRIBUTED = "torch.distributed"      # test_refused_names.py looks at all its modules: each public name is there

_RULE = """# Names

Which of the public names of torch {version} mindtorch has. Written by `python tests/names/name_coverage.py`; a test
keeps this page current, and the names equal to those of torch.

What counts: the names in a module's `__all__`, where it has one; else the functions and classes that torch defines in
that module or below it, and its operators bound from C++; of `torch.Tensor` all attributes. Names that begin with an
underscore, modules, and what a file merely imports do not count. `torch.__all__` lists whatever `torch._C` holds: of
those, the classes of TorchScript's compiler and of the runtime are left out. A name that torch has for other kinds of
tensors or devices (`Tensor.indices`, `Tensor.cuda`) is present where, of a strided tensor in a build without them, it
says what torch says: an error of the same type. Of the other modules of torch.distributed each public name works or
refuses; a test looks at all of them.
"""


def belongs(owner, name, value):
    """Whether a name that a module holds is its own, not something it imported or took from torch._C in bulk."""
    home = getattr(value, "__module__", None) or ""
    if isinstance(value, ModuleType) or name.startswith("_"):
        return False
    if owner.__name__ == "torch":
        return not any(type(part).__name__ == "pybind11_type" for part in (value, type(value))) and home != "torch.jit"
    if hasattr(owner, "__all__"):
        return True
    within = home == owner.__name__ or home.startswith(f"{owner.__name__}.")
    operator = (home == "torch" or home.startswith("torch._C._")) and not isinstance(value, type)
    return callable(value) and (within or operator)


def found(library, place):
    """The module or class of `library` that torch calls `place`; None where there is none."""
    if place == "torch.Tensor":
        return import_module(library).Tensor
    try:
        return import_module(library + place.removeprefix("torch"))
    except ModuleNotFoundError:
        return None


def public(owner):
    """The public names of one of torch's modules, or of a class."""
    if isinstance(owner, type):
        return sorted(name for name in dir(owner) if not name.startswith("_"))
    held = vars(owner).get("m", owner)          # the module itself, where torch puts one of its switches in its place
    return sorted({name for name in getattr(owner, "__all__", dir(held))
                   if belongs(owner, name, getattr(owner, name, None))})


def is_absent(place):
    """Whether a module of torch is one of absent.toml, or below one. torch.testing itself is there."""
    return place not in REQUIRED and any(place == name or place.startswith(f"{name}.")
                                         for names in ABSENT["modules"].values() for name in names.split())


def torch_modules():
    """The public modules of torch that have names, without those that are absent here."""
    import torch
    for module in pkgutil.walk_packages(torch.__path__, "torch.", onerror=lambda name: None):
        private = any(part.startswith("_") or part in ("examples", "tests") for part in module.name.split("."))
        known = module.name in REQUIRED or is_absent(module.name) or module.name.startswith(_DISTRIBUTED)
        if not private and not known:
            yield module.name


def torch_names():
    """Text of torch_names.txt, from the torch that is installed."""
    import torch
    parts = [torch.__version__.split("+")[0]]
    names = {place: public(found("torch", place)) for place in (*REQUIRED, *sorted(torch_modules()))}
    parts += [f"[{place}]\n" + _wrapped(found_there) for place, found_there in names.items() if found_there]
    return "\n".join(parts) + "\n"


def _wrapped(names):
    return fill(" ".join(names), 116, break_long_words=False, break_on_hyphens=False)


def read_names():
    """Torch's version, and its public names: place -> names."""
    version, *parts = NAMES.read_text(encoding="utf-8").split("[")
    return version.strip(), {place: text.split() for place, text in (part.split("]") for part in parts)}


def missing(place, names):
    """The names that are not there, or there to say why they refuse."""
    owner = found("mindtorch", place)
    return [name for name in names if not hasattr(owner, name) or refuses(place, name)]


def refuses(place, name):
    return hasattr(getattr(found("mindtorch", place), name, None), "refuses")


def subject(place, name):
    """What a missing name is about; "" if nothing says why it is missing. A name that is absent needs a reason."""
    by_name = next((subject for subject, pattern in ABSENT["patterns"].items() if re.search(pattern, name)), "")
    by_place = next((reason for reason, places in ABSENT["names"].items()
                     if place in places.split() or f"{place}.{name}" in places.split()), "")
    return by_place or by_name


def share(place, names):
    """Names present, in per cent."""
    return 100 * (1 - len(missing(place, names)) / len(names))


def page():
    """Text of docs/names.md."""
    version, places = read_names()
    lines = [_RULE.format(version=version), "| namespace | names | present | |", "|---|---|---|---|"]
    for place, names in places.items():
        present = len(names) - len(missing(place, names))
        if place in REQUIRED:
            lines.append(f"| `{place}` | {len(names)} | {present} | {share(place, names):.1f} % |")
    others = {place: names for place, names in places.items() if place not in REQUIRED}
    count, lacking = sum(map(len, others.values())), sum(len(missing(*each)) for each in others.items())
    lines.append(f"| {len(others)} modules more | {count} | {count - lacking} | {100 * (1 - lacking / count):.1f} % |")
    for title, chosen in (("There, and refusing when they are called", True), ("Missing", False)):
        lines += ["", f"## {title}"]
        for place, names in places.items():
            shown = [name for name in missing(place, names) if refuses(place, name) is chosen]
            if shown:
                lines += ["", f"**{place}**", "", *_by_subject(place, shown)]
    lines += ["", "## Packages and modules that are absent, with all below them", ""]
    for reason, names in ABSENT["modules"].items():
        listed = ", ".join(f"`{name}`" for name in names.split())
        lines.append(fill(f"- {listed}: {reason}.", 118, subsequent_indent="  ", break_on_hyphens=False,
                          break_long_words=False))
    return "\n".join(lines) + "\n"


def _by_subject(place, names):
    groups = {}
    for name in names:
        groups.setdefault(subject(place, name), []).append(f"`{name}`")
    for about in dict.fromkeys(("", *ABSENT["patterns"], *ABSENT["names"])):
        if about in groups:
            head = f"{about}: " if about else ""
            yield fill(f"- {head}{', '.join(groups[about])}", 118, subsequent_indent="  ", break_on_hyphens=False)


def main(arguments):
    if arguments == ["--torch"]:
        NAMES.write_text(torch_names(), encoding="utf-8")
    elif arguments:
        raise SystemExit("usage: python tests/names/name_coverage.py [--torch]")
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
