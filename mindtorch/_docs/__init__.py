"""The text of `help(torch.add)`: the reference of the functions of torch, the methods of Tensor and the layers of nn.

A text file per namespace holds the entries: names at the left margin, below them what the function does, what is
special about its arguments, and an example. `parameters.txt` says what parameters of one name mean everywhere. The rest
comes from the function itself: its signature, and for a row's operator devices, dtypes and gradients.

The docstring of a layer, or of an optimizer, describes only what is special about its parameters; `layers.txt` and
`optimizers.txt` describe the others.
"""
import inspect
import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from mindtorch._docs.shape_table import describe_shapes, shapes

__all__ = ["FOLDER", "NAMESPACES", "constructor_parameters", "describe", "describe_class", "describe_function",
           "describe_shapes", "entries", "find_entry", "meaning", "parameters", "public_functions", "read_entries",
           "shapes"]

FOLDER = Path(__file__).parent
NAMESPACES = {"torch": "", "tensor": "Tensor.", "linalg": "linalg.", "fft": "fft.", "special": "special.",
              "functional": "nn.functional."}
_PARAMETER = re.compile(r"(\*{0,2}\w+): (.+)")


@dataclass
class Entry:
    """One function's part of a file; of several where they are the same."""
    names: list
    text: list = field(default_factory=list)
    parameters: dict = field(default_factory=dict)
    example: list = field(default_factory=list)


def read_entries(text):
    """The entries of a file."""
    entries = []
    for line in text.splitlines():
        if line and not line.startswith((" ", "#")):
            entry = Entry(line.split(", "))
            entries.append(entry)
            continue
        body = line.removeprefix("    ")
        parameter = _PARAMETER.fullmatch(body)
        if not body or body.startswith("#"):
            continue
        if entry.example or body.startswith(">>>"):
            entry.example.append(body)
        elif parameter:
            entry.parameters[parameter[1]] = parameter[2]
        else:
            entry.text.append(body)
    return entries


@cache
def entries():
    """Every entry by the name that follows `torch.`: "add", "Tensor.view", "linalg.inv". One may have several."""
    found = {}
    for namespace, prefix in NAMESPACES.items():
        for entry in read_entries((FOLDER / f"{namespace}.txt").read_text(encoding="utf-8")):
            found |= {prefix + name: entry for name in entry.names}
    alike = {}                          # what functions run -> their names
    for name, function in public_functions():
        alike.setdefault((_alias_key(function), name.endswith("_")), []).append(name)
    for names in alike.values():
        entry = next((found[name] for name in names if name in found), None)
        if entry is not None:
            found |= dict.fromkeys(names, entry) | {name: found[name] for name in names if name in found}
    return found


def _alias_key(function):
    """A key that is equal for aliases, and for a method and the function of its name."""
    return tuple(function._keys()) if hasattr(function, "_keys") else function.__wrapped__


@cache
def parameters(file="parameters"):
    """The meanings of parameters by name: name -> text; "distributed.nn" also has those of "distributed"."""
    lines = (FOLDER / f"{file}.txt").read_text(encoding="utf-8").splitlines()
    around = file.rpartition(".")[0]
    known = parameters(around) if (FOLDER / f"{around}.txt").exists() else {}
    return known | dict(line.split(": ", 1) for line in lines if line and not line.startswith("#"))


def public_functions():
    """(name after `torch.`, function) of all functions and methods that the reference is about."""
    import mindtorch as torch
    from mindtorch._core.python.torch_function import OverridableFunction
    spaces = {"": torch, "linalg.": torch.linalg, "fft.": torch.fft, "special.": torch.special,
              "nn.functional.": torch.nn.functional, "Tensor.": torch.Tensor}
    for prefix, space in spaces.items():
        for name in dir(space):
            # Of the class as it stands there; of a module also what is made when it is asked for.
            function = inspect.getattr_static(space, name, None) if inspect.isclass(space) else getattr(space, name)
            if not name.startswith("_") and OverridableFunction in type(function).__mro__:
                yield prefix + name, function


def find_entry(name):
    """The entry of a function: its own, that of the function of the same name in torch, or that of the plain form of an
    in-place form. And whether it is the latter.
    """
    known = entries()
    plain = name.removesuffix("_")
    for candidate in (name, name.rpartition(".")[2], plain, plain.rpartition(".")[2]):
        if candidate in known:
            return known[candidate], candidate.endswith("_") != name.endswith("_")
    return None, False


@cache
def _names():
    """id(function) -> its name; the first where it has several."""
    names = {}
    for name, function in public_functions():
        names.setdefault(id(function), name)
    return names


def describe(function, overloads=()):
    """The docstring of a public function; None of others. `overloads`: the keys of the operator's schemas."""
    name = _names().get(id(function))
    entry, is_inplace = find_entry(name) if name else (None, False)
    if entry is None:
        return None
    signature = inspect.signature(function)
    paragraphs = [f"{name.rpartition('.')[2]}{signature}", "\n".join(entry.text)]
    if is_inplace:
        paragraphs.append("This form writes the result to the tensor itself, which keeps its shape and dtype, and "
                          "returns it.")
    paragraphs.append("\n".join(["Arguments:", *_arguments(signature, entry)]))
    paragraphs += _support(overloads)
    if entry.example:
        paragraphs.append("\n".join(["Example:", *("    " + line for line in entry.example)]))
    return "\n\n".join(paragraphs) + "\n"


def describe_class(described, docstring, file):
    """The docstring, in which all parameters of the constructor are described: by itself, or by that file."""
    text, special, example = _parts(docstring)
    taken = constructor_parameters(described)
    sections = [text, _described_arguments(taken, special, file)]
    if file == "layers" and described.__name__ in shapes():
        sections.append(describe_shapes(described.__name__))
        operators = shapes()[described.__name__].operators
        sections += (_support(operators, with_shape=False) if operators else
                     ["Devices and dtypes: all; no elements are computed."])
    return "\n\n".join(filter(None, [*sections, example]))


def describe_function(function, docstring, file):
    """The docstring, in which all parameters of the function are described: by itself, or by that file."""
    text, special, example = _parts(docstring)
    taken = [str(one).partition("=")[0].partition(":")[0] for one in inspect.signature(function).parameters.values()]
    arguments = _described_arguments(taken, special, file)
    return "\n\n".join(filter(None, [text, arguments, example]))


def _parts(docstring):
    """The text, the parameters that it describes itself, and the example."""
    text, heading, example = inspect.cleandoc(docstring).partition("Example:\n")
    text, _, own = text.partition("Arguments:\n")
    return text.strip(), dict(line.strip().split(": ", 1) for line in own.splitlines() if line), heading + example


def _described_arguments(taken, special, file):
    """The section of arguments, `*args` with its stars; empty if there are none."""
    meanings = parameters(file) | special
    lines = [f"    {name}: {meanings.get(name) or meanings[name.lstrip('*')]}"
             for name in dict.fromkeys([*taken, *special]) if name in meanings or name.lstrip("*") in meanings]
    return "\n".join(["Arguments:", *lines]) if lines else ""


def constructor_parameters(described):
    """The names of what a constructor takes, also of what it passes on to that of its base."""
    names = {}
    for base in described.__mro__:
        if "__init__" in vars(base):
            found = inspect.signature(base.__init__).parameters.values()
            names |= dict.fromkeys(one.name for one in found if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD))
            if all(one.kind is not one.VAR_KEYWORD for one in found):
                break
    return list(names)[1:]


def meaning(parameter, entry):
    """The meaning of a function's parameter; None if no entry has it."""
    name = str(parameter).partition("=")[0].partition(":")[0]
    return entry.parameters.get(name) or entry.parameters.get(name.lstrip("*")) or parameters().get(name)


def _arguments(signature, entry):
    for parameter in signature.parameters.values():
        yield f"    {str(parameter).partition('=')[0].partition(':')[0]}: {meaning(parameter, entry)}"


def _support(overloads, with_shape=True):
    """Devices, dtypes, gradients and shapes, by the rows."""
    if not overloads:
        return ["Devices and dtypes: those for which the operators that it calls have kernels."]
    from mindtorch._core._gen.support import SUPPORT
    lines = []
    for key in overloads:
        npu, dtypes, gradients, shape = SUPPORT.get(key, ("", "", "", ""))
        if npu:
            lines.append(f"    {key}: {npu}" + (f" for {dtypes}" if dtypes else "") +
                         (f"; gradients of {gradients}" if gradients else "") +
                         (f"; the shape is that of {shape}" if shape and with_shape else ""))
    return ["\n".join(["Devices and dtypes: cpu, meta, and npu by", *lines])] if lines else []
