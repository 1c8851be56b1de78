"""docs/names.md: which of torch's public names mindtorch has.

`python tests/names/name_coverage.py` writes the page from torch_names.txt, the names of torch 2.13, and from what
mindtorch offers; with `--torch` it asks the installed torch for its names first and writes that file.
"""
import re
import sys
from importlib import import_module
from pathlib import Path
from textwrap import fill
from types import ModuleType

NAMES = Path(__file__).with_name("torch_names.txt")
PAGE = Path(__file__).parents[2] / "docs" / "names.md"

# The namespaces counted, and the share of names that must be there, in per cent.
REQUIRED = {
    "torch.nn": 99, "torch.nn.functional": 97, "torch.optim": 100, "torch.Tensor": 94, "torch": 0, "torch.linalg": 0,
    "torch.fft": 0, "torch.special": 100, "torch.nn.init": 0, "torch.nn.utils": 0, "torch.nn.utils.rnn": 0,
    "torch.nn.utils.parametrize": 0, "torch.nn.utils.parametrizations": 0, "torch.optim.lr_scheduler": 0,
    "torch.autograd": 0, "torch.autograd.functional": 0, "torch.amp": 0, "torch.utils.data": 0,
    "torch.serialization": 0, "torch.accelerator": 0, "torch.signal.windows": 0, "torch.masked": 0, "torch.testing": 0,
    "torch.distributions": 0, "torch.func": 0, "torch.library": 0}

_RULE = """# Names

Which of the public names of torch {version} mindtorch has. Written by `python tests/names/name_coverage.py`; a test
keeps this page current, and the names equal to those of torch.

What counts: the names in a module's `__all__`, where it has one; else the functions and classes that torch defines in
that module or below it, and its operators bound from C++; of `torch.Tensor` all attributes. Names that begin with an
underscore, modules, and what a file merely imports do not count. `torch.__all__` lists whatever `torch._C` holds: of
those, the classes of TorchScript's compiler and of the runtime are left out. A name that torch has for other kinds of
tensors or devices (`Tensor.indices`, `Tensor.cuda`) is present where, of a strided tensor in a build without them, it
says what torch says: an error of the same type.
"""

# What a missing name is about, by the first pattern found in it. A name that is absent needs one, as its reason.
_SUBJECTS = {
    "quantized tensors": "quant|qparams|fbgemm|q_per_channel|q_scale|q_zero|qscheme|int_repr|^q?u?int[0-9]+x[0-9]"
                         "|^qu?int|fused_moving_avg",
    "sparse tensors": "sparse|coalesce|ccol_ind|crow_ind|col_ind|row_ind|^(ds|hs|s|sp|hsp|ssp)?a?d?d?mm$|^h?spmm$"
                      "|^indices|^values|slice_inverse|_sparse",
    "libraries of other devices": "cudnn|miopen|mkldnn|_gpu_|_ipu_|_xla_|vulkan|^validate_"
                                  "|^(is_)?(cuda|ipu|xpu|mtia|maia|xla)$",
    "dtypes that mindtorch lacks": "^float[48]|^(u?int[1-7]|uint16|uint32|uint64|bits?[0-9x]*|complex32|chalf)$",
    "tracing, TorchScript and symbolic shapes": "^sym_|^Sym|[Ss]cript|parse_|import_ir|unify_type|merge_type|^fork$"
                                                "|^wait$|^DisableTorch",
    "what torch's module merely imports": "^(Tensor|mkdtemp)$",
    "old constructors and storages": "^(Bool|Byte|Char|Double|Float|Int|Long|Short|Typed|Untyped)(Tensor|Storage)$",
}


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
    return sorted({name for name in getattr(owner, "__all__", None) or dir(owner)
                   if belongs(owner, name, getattr(owner, name, None))})


def torch_names():
    """Text of torch_names.txt, from the torch that is installed."""
    import torch
    parts = [torch.__version__.split("+")[0]]
    parts += [f"[{place}]\n" + _wrapped(public(found("torch", place))) for place in REQUIRED]
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


def subject(name):
    """What a missing name is about; "" if nothing says why it is missing."""
    return next((subject for subject, pattern in _SUBJECTS.items() if re.search(pattern, name)), "")


def share(place, names):
    """Names present, in per cent."""
    return 100 * (1 - len(missing(place, names)) / len(names))


def page():
    """Text of docs/names.md."""
    version, places = read_names()
    lines = [_RULE.format(version=version), "| namespace | names | present | |", "|---|---|---|---|"]
    for place, names in places.items():
        present = len(names) - len(missing(place, names))
        lines.append(f"| `{place}` | {len(names)} | {present} | {share(place, names):.1f} % |")
    for title, chosen in (("There, and refusing when they are called", True), ("Missing", False)):
        lines += ["", f"## {title}"]
        for place, names in places.items():
            shown = [name for name in missing(place, names) if refuses(place, name) is chosen]
            if shown:
                lines += ["", f"**{place}**", "", *_by_subject(shown)]
    return "\n".join(lines) + "\n"


def _by_subject(names):
    groups = {}
    for name in names:
        groups.setdefault(subject(name), []).append(f"`{name}`")
    for about in ("", *_SUBJECTS):
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
