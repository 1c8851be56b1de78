"""What the build compiles again: what is older than its sources, or than what they use of CANN's headers."""
import hashlib
import os
import re
from functools import cache
from pathlib import Path

# CANN's headers, written by hand. A source uses a part of each: it need not be compiled again for a change of the rest.
DECLARATIONS = tuple(os.path.join("include", folder, "") for folder in ("acl", "aclnn", "hccl"))
_INCLUDED = re.compile(r'#[ \t]*include[ \t]*"([^"]+)"')
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_]\w*")
_PASTED = re.compile(r"(\w+)(?=\s*##)|##\s*(\w+)")
_MACRO = re.compile(r"#\s*define\s+(\w+)")
_FUNCTION_POINTER = re.compile(r"typedef\b[^()]*\(\s*\*\s*(\w+)\s*\)")
_FUNCTION = re.compile(r"[^(]*?(\w+)\s*\(")
_LAST_NAME = re.compile(r"(\w+)\s*(?:\[[^;]*)?;$")
_KEYWORDS = {"typedef", "struct", "union", "enum", "extern", "static", "inline", "const", "unsigned", "void", "char",
             "int"}


def up_to_date(target, *sources):
    """Whether `target` is up to date with every one of `sources`."""
    return os.path.exists(target) and all(os.path.getmtime(s) <= os.path.getmtime(target) for s in sources)


@cache
def headers_in(path, folders):
    """The project's files that a C or C++ file includes: as it names them, beside it or in one of the folders."""
    text = Path(path).read_text(encoding="utf-8", errors="replace")
    found = set()
    for name in _INCLUDED.findall(text):
        places = (os.path.normpath(os.path.join(folder, name)) for folder in (os.path.dirname(path), *folders))
        found.update(next(([place] for place in places if os.path.exists(place)), []))
    return frozenset(found)


def headers_of(source, folders):
    """The same with what those include, in turn."""
    found, waiting = set(), [str(source)]
    while waiting:
        for header in headers_in(waiting.pop(), tuple(folders)) - found:
            found.add(header)
            waiting.append(header)
    return sorted(found)


@cache
def declarations(header: str) -> tuple:
    """The declarations in the text of a header, and its directives, in order."""
    found, lines, depth = [], [], 0
    for line in map(str.strip, _COMMENT.sub(" ", header).replace("\\\n", " ").splitlines()):
        if line.startswith("#"):
            found.append(" ".join(line.split()))
        if not line or line.startswith("#") or (not lines and line in ('extern "C" {', "}")):
            continue
        lines.append(line)
        depth += line.count("{") - line.count("}")
        if depth == 0 and line.endswith((";", "}")):
            found.append(" ".join(" ".join(lines).split()))
            lines = []
    return (*found, *lines)


@cache
def declared_names(declaration: str) -> frozenset:
    head, _, rest = declaration.partition("{")
    body, _, tail = rest.rpartition("}")
    if rest and "(" not in head:
        names = set(_NAME.findall(f"{head} {tail} {body if 'enum' in head else ''}"))
    else:
        found = (_MACRO.match(declaration) or _FUNCTION_POINTER.match(declaration) or _FUNCTION.match(declaration) or
                 _LAST_NAME.search(declaration))
        names = {found[1]} if found else set(_NAME.findall(declaration))
    return frozenset(names - _KEYWORDS)


@cache
def named_in(source: str) -> tuple:
    """The names in the text of a source, and the parts of names that its macros paste together."""
    pastes = "\n".join(line for line in source.splitlines() if "##" in line)
    parts = {part for parts in _PASTED.findall(pastes) for part in parts if part}
    return frozenset(_NAME.findall(source)), frozenset(parts)


def used_declarations(headers: list, sources: list) -> list:
    """Those of the headers that the sources use, and all directives but macros that nobody names.

    Names are read as text, with those that the kept declarations name in turn. Where a macro pastes names together,
    every name counts that begins or ends with a part of it.
    """
    names = set().union(*(named_in(source)[0] for source in sources))
    pasted = tuple(set().union(*(named_in(source)[1] for source in sources)))
    every = [declaration for header in headers for declaration in declarations(header)]
    kept = {place for place, declaration in enumerate(every)
            if declaration.startswith("#") and not _MACRO.match(declaration)}
    left = {place: declared_names(declaration) for place, declaration in enumerate(every) if place not in kept}
    while used := [place for place, declared in left.items() if not names.isdisjoint(declared)
                   or any(name.startswith(pasted) or name.endswith(pasted) for name in declared)]:
        kept.update(used)
        names.update(name for place in used for name in _NAME.findall(every[place]))
        left = {place: declared for place, declared in left.items() if place not in kept}
    return [every[place] for place in sorted(kept)]


def read_text(path):
    return path.read_text(encoding="utf-8")


class Stamp:
    """What a target was compiled of, in a file, for when headers of DECLARATIONS have become newer than the target."""

    def __init__(self, path, target, sources, headers):
        self.path, self.target = Path(path), target
        self.cann = sorted(header for header in headers if header.startswith(DECLARATIONS))
        self.own = [*sources, *(header for header in headers if not header.startswith(DECLARATIONS))]

    def digest(self, read=read_text):
        own, cann = ([read(Path(path)) for path in paths] for paths in (self.own, self.cann))
        return hashlib.sha256("\n".join([*own, *used_declarations(cann, own)]).encode()).hexdigest()

    def write(self):
        if self.cann:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(self.digest(), encoding="utf-8")

    def up_to_date(self):
        if not up_to_date(self.target, *self.own):
            return False
        if not self.cann:
            return True
        if self.path.exists():
            if up_to_date(self.path, *self.cann):
                return True
            if self.path.read_text(encoding="utf-8") != self.digest():
                return False
            self.path.touch()
        elif up_to_date(self.target, *self.cann):
            self.write()
        return self.path.exists()
