"""Who may know whom: docs/design.md, section 2. Walks every import and cimport of the package."""
import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "mindtorch"
SUFFIXES = (".py", ".pyx", ".pxd")

# Folder or module of mindtorch -> what in mindtorch it may not name.
FORBIDDEN = {
    "_core": {"_npu", "_cpu", "_sim", "npu", "nn", "sim"},
    "_cpu": {"_npu", "_sim", "npu", "nn", "sim"},
    "_npu": {"_cpu", "_sim", "nn", "sim"},
    "_ops.codegen": {"_core", "_npu", "_cpu", "_sim", "npu", "nn", "sim"},
    "sim": {"_core", "_npu", "_cpu", "_ops", "npu", "nn"},
}
ALLOWED_TO_IMPORT_NPU = {"_backend", "_npu", "npu"}
CIMPORT = re.compile(r"^\s*(?:from\s+(?P<module>[\w.]+)\s+c?import\s+(?P<names>[^#]+)|c?import\s+(?P<plain>[^#]+))")


def module_name(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def absolute(path, level, module):
    """The full name of `from <level dots><module> import ...` written in `path`."""
    package = module_name(path).split(".") if path.stem == "__init__" else module_name(path).split(".")[:-1]
    base = package[:len(package) - level + 1] if level else []
    return ".".join([*base, *([module] if module else [])])


def python_imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = absolute(path, node.level, node.module)
            yield from (f"{base}.{alias.name}" for alias in node.names)


def cython_imports(path):
    text = re.sub(r"\(\s*([^()]*?)\s*\)", lambda m: " " + m[1].replace("\n", " "), path.read_text(encoding="utf-8"))
    for line in text.splitlines():
        found = CIMPORT.match(line)
        if not found:
            continue
        if found["module"]:
            dots = len(found["module"]) - len(found["module"].lstrip("."))
            base = absolute(path, dots, found["module"].lstrip(".")) if dots else found["module"]
            yield from (f"{base}.{name.split()[0]}" for name in found["names"].split(",") if name.strip())
        else:
            yield from (name.split()[0] for name in found["plain"].split(",") if name.strip())


def imports_of(path):
    """Full names that `path` imports or cimports, inside functions too."""
    return set(python_imports(path) if path.suffix == ".py" else cython_imports(path))


def sources():
    return [p for p in sorted(PACKAGE.rglob("*")) if p.suffix in SUFFIXES]


def inside(name, module):
    return name == module or name.startswith(module + ".")


@pytest.mark.quick
@pytest.mark.parametrize("layer", FORBIDDEN)
def test_a_layer_names_only_what_it_may_know(layer):
    wrong = [f"{path.relative_to(ROOT)} imports {name}"
             for path in sources() if inside(module_name(path), f"mindtorch.{layer}")
             for name in imports_of(path) for other in FORBIDDEN[layer] if inside(name, f"mindtorch.{other}")]
    assert not wrong, "\n".join(wrong)


@pytest.mark.quick
def test_one_door_leads_to_the_npu():
    wrong = [f"{path.relative_to(ROOT)} imports {name}"
             for path in sources() if path.relative_to(PACKAGE).with_suffix("").parts[0] not in ALLOWED_TO_IMPORT_NPU
             for name in imports_of(path) if inside(name, "mindtorch._npu")]
    assert not wrong, "\n".join(wrong)


@pytest.mark.quick
def test_c_declarations_stand_in_one_place():
    """CANN's headers are declared under _npu/cann only (and by the generator, for the operators that rows call)."""
    homes = (PACKAGE / "_npu" / "cann", PACKAGE / "_npu" / "_gen")
    declaration = re.compile(r'^cdef extern from "(acl|aclnn|aclnnop|mindtorch)/', re.MULTILINE)
    wrong = [str(path.relative_to(ROOT)) for path in sources()
             if path.suffix != ".py" and path.parent not in homes
             and declaration.search(path.read_text(encoding="utf-8"))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.quick
def test_declaration_files_hold_no_logic():
    names = {path.name for path in (PACKAGE / "_npu" / "cann").iterdir() if path.suffix in (".py", ".pyx")}
    assert names <= {"__init__.py"}


@pytest.mark.quick
def test_torch_is_never_imported_by_the_package():
    """torch is the oracle of the tests; the package stands without it."""
    wrong = [str(path.relative_to(ROOT)) for path in sources()
             if any(inside(name, "torch") or inside(name, "torch_npu") for name in imports_of(path))]
    assert not wrong, "\n".join(wrong)


def test_import_parser_sees_every_form(tmp_path, monkeypatch):
    """The rule above is only as good as its parser."""
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    folder = tmp_path / "mindtorch" / "_core"
    folder.mkdir(parents=True)
    source = folder / "x.pyx"
    source.write_text("from mindtorch._npu.launch cimport (\n    Call, launch)\n"
                      "    cimport mindtorch._npu.symbols as s\nfrom . cimport tensor\nfrom ..npu import streams\n")
    assert imports_of(source) == {"mindtorch._npu.launch.Call", "mindtorch._npu.launch.launch",
                                  "mindtorch._npu.symbols", "mindtorch._core.tensor", "mindtorch.npu.streams"}
