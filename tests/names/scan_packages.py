"""python tests/names/scan_packages.py [folder]: what published packages import of torch, and whether mindtorch has it.

Downloads the packages of packages.txt to the folder, unless they are there, and reads their sources without running
them. A package counts as working when mindtorch has every name of torch that its import needs: what the modules that
its __init__ reaches import or mention outside of functions, `try` blocks and conditions about versions. Names that
torch 2.13 lacks itself do not count.
"""
import argparse
import ast
import collections
import importlib
import subprocess
import sys
import tarfile
import warnings
import zipfile
from pathlib import Path

PACKAGES = Path(__file__).with_name("packages.txt")
CONDITIONS = ("TYPE_CHECKING", "vailable", "ersion", "HAS", "hasattr", "__main__")      # of code that may not run


def download(folder):
    """Fetches the packages that the folder lacks, without their dependencies."""
    folder.mkdir(parents=True, exist_ok=True)
    there = {path.name.split("-")[0].lower().replace("_", "-") for path in folder.iterdir()}
    for name in PACKAGES.read_text(encoding="utf-8").split():
        if name.lower().replace("_", "-") not in there:
            subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder), name],
                           check=False)


def sources(path):
    """{module: (source, whether it is a package)} of a wheel or source archive."""
    if path.suffix in (".whl", ".zip"):
        with zipfile.ZipFile(path) as archive:
            files = {name: archive.read(name) for name in archive.namelist() if name.endswith(".py")}
    else:
        with tarfile.open(path) as archive:
            files = {member.name.partition("/")[2].removeprefix("src/"): archive.extractfile(member).read()
                     for member in archive if member.isfile() and member.name.endswith(".py")}
    modules = {}
    for name, content in files.items():
        module = name[:-3].replace("/", ".")
        modules[module.removesuffix(".__init__")] = content, module.endswith(".__init__")
    return modules


class Imports(ast.NodeVisitor):
    """The names of torch that a module needs when it is imported, and the other modules that it imports."""

    def __init__(self, module, is_package):
        self.parent = module.split(".") if is_package else module.split(".")[:-1]
        self.torch, self.others = set(), set()

    def _add(self, name):
        (self.torch if name.split(".")[0] == "torch" else self.others).add(name)

    def visit_Import(self, node):
        for alias in node.names:
            self._add(alias.name)

    def visit_ImportFrom(self, node):
        base = self.parent[:len(self.parent) + 1 - node.level] if node.level else []
        module = ".".join([*base, *filter(None, [node.module])])
        self._add(module)
        for alias in node.names:
            if alias.name != "*":
                self._add(f"{module}.{alias.name}")

    def visit_FunctionDef(self, node):
        for part in (*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)):
            self.visit(part)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node):
        """Runs later."""

    visit_Try = visit_Lambda

    def visit_If(self, node):
        if not any(word in ast.unparse(node.test) for word in CONDITIONS):
            self.generic_visit(node)

    def visit_Attribute(self, node):
        names, place = [], node
        while isinstance(place, ast.Attribute):
            names.append(place.attr)
            place = place.value
        if isinstance(place, ast.Name) and place.id == "torch":
            self.torch.add(".".join(["torch", *reversed(names)]))
        else:
            self.generic_visit(node)


def needed(modules):
    """The names of torch that the import of a package needs."""
    waiting = [name for name, (_, is_package) in modules.items() if is_package and "." not in name]
    seen, names = set(), set()
    while waiting:
        module = waiting.pop()
        if module in seen or module not in modules:
            continue
        seen.add(module)
        imports = Imports(module, modules[module][1])
        try:
            imports.visit(ast.parse(modules[module][0]))
        except SyntaxError:
            continue
        names |= imports.torch
        for other in imports.others:
            parts = other.split(".")
            waiting += [".".join(parts[:count]) for count in range(1, len(parts) + 1)]
    return names


def has(root, name):
    """Whether torch, or mindtorch, has a name."""
    found, path = importlib.import_module(root), root
    for part in name.split(".")[1:]:
        path += f".{part}"
        try:
            found = getattr(found, part)
        except Exception:       # noqa: BLE001 - a module may raise anything when it is asked
            try:
                found = importlib.import_module(path)
            except ImportError:         # of a module whose name in its package is a function's, too
                above = sys.modules.get(path.rpartition(".")[0])
                if not hasattr(above, part):
                    return False
                found = getattr(above, part)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", nargs="?", default="build/packages", type=Path)
    folder = parser.parse_args().folder
    warnings.simplefilter("ignore")
    download(folder)
    missing, count = collections.defaultdict(list), 0
    for path in sorted(folder.iterdir()):
        package = path.name.split("-")[0].lower()
        names = needed(sources(path))
        count += 1
        lacking = sorted(name for name in names if not has("mindtorch", name) and has("torch", name))
        if lacking:
            missing[package] = lacking
    for package, names in missing.items():
        print(f"{package}: {', '.join(names)}")
    print(f"{count - len(missing)} of {count} packages find every name of torch that their import needs")


if __name__ == "__main__":
    main()
