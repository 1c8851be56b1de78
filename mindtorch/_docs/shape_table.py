"""The shapes of layers: reads `shapes.txt`, and makes of it what help() says."""
import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

_TENSOR = re.compile(r"(?:(\w+) )?\(((?:[^()]|\([^()]*\))*)\)( int64 [<=] [^,]+)?(?:, |$)")
_EQUATION = re.compile(r"(\w+) = (.+?)(?: for each (.+))?")


@dataclass(frozen=True)
class Declared:
    """A tensor of a line: `target (N, *) int64 < C`."""
    name: str
    sizes: tuple
    kind: str


@dataclass(frozen=True)
class Way:
    """A line with an arrow: one way to call the layer."""
    inputs: tuple
    outputs: tuple
    condition: str


@dataclass
class Shapes:
    """The lines of a layer; `equations`: name -> (expression, the dimensions it is for, the place among them)."""
    lines: list = field(default_factory=list)
    ways: list = field(default_factory=list)
    equations: dict = field(default_factory=dict)
    operators: list = field(default_factory=list)


def _split(sizes):
    """The sizes between commas that stand in no brackets."""
    return tuple(one.strip() for one in re.split(r",(?![^(\[]*[)\]])", sizes) if one)


def _tensors(text):
    return tuple(Declared(name, _split(sizes), kind.strip()) for name, sizes, kind in _TENSOR.findall(text))


def _read_line(shapes, line):
    shapes.lines.append(line)
    line = re.sub(r"\n +", " ", line)
    if " -> " in line:
        inputs, _, rest = line.partition(" -> ")
        outputs, _, condition = rest.partition(" if ")
        shapes.ways.append(Way(_tensors(inputs), _tensors(outputs), condition))
        return
    name, expression, dims = _EQUATION.fullmatch(line).groups()
    if dims is None:
        shapes.equations[name] = expression, (), None
        return
    dims = dims.split(", ")
    for place, dim in enumerate(dims):
        shapes.equations[name.replace(dims[0], dim)] = expression, dims, place


@cache
def _sections():
    """(meaning of the symbols, layer -> Shapes); an operator may have several lines."""
    symbols, operators, found, names = {}, [], {}, []
    text = (Path(__file__).parent / "shapes.txt").read_text(encoding="utf-8")
    for line in re.split(r"\n(?! {8})", text.rstrip()):        # a line goes on in one that is indented further
        if line.startswith("#"):
            continue
        if not line.startswith(" "):
            names = line.split(", ")
            found |= {name: Shapes() for name in names if name not in ("symbols", "operators")}
        elif names == ["symbols"]:
            symbol, _, meaning = line.strip().partition(": ")
            symbols[symbol] = meaning
        elif names == ["operators"]:
            operators.append(line.strip().split(": "))
        else:
            for name in names:
                _read_line(found[name], line.strip())
    for operator, layers in operators:
        for name in layers.split(", "):
            found[name].operators.append(operator)
    return symbols, found


def shapes():
    """The shapes of each layer by its name."""
    return _sections()[1]


def describe_shapes(name):
    """The paragraph of a layer's help."""
    symbols, found = _sections()
    entry = found[name]
    text = " ".join(line.partition(" if ")[0] if " -> " in line else line for line in entry.lines)
    used = [symbol for symbol in symbols if symbol not in entry.equations
            and re.search(r"(?<=[(, ])\*(?=[,)])" if symbol == "*" else rf"\b{symbol}\b", text)]
    legend = ", ".join(f"{symbol} {symbols[symbol]}" for symbol in used)
    return "\n".join(["Shapes:", *(f"    {line}" for line in entry.lines), *([f"    {legend}"] if legend else [])])
