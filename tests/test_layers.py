"""Who may know whom: docs/design.md, section 2. Walks every import and cimport of the package."""
import ast
import functools
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.one_mode

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "mindtorch"
SUFFIXES = (".py", ".pyx", ".pxd", ".pxi")

# From bottom to top. A module may import what stands in its own row or below. A name stands for a package or module of
# mindtorch and all inside it; the longest name that fits a module counts, "" is mindtorch/__init__.py.
LAYERS = (
    ("version", "torch_version", "return_types", "_sim", "sim", "_ops.codegen", "__future__", "_refusals"),
    ("_submodules",),
    # Of _core, module by module:
    ("_core", "_core._gen"),
    ("_core.tensor.dtype",),
    ("_core.tensor.tensor",),
    ("_core.tensor.torch_dispatch",),
    ("_core.autograd.node", "_core.rules.infer"),
    ("_core.python.conversion",),
    ("_core.tensor.generator", "_core.operators.operator", "_core.operators.foreach"),
    ("_core.autograd.history",),
    ("_core.tensor.attributes",),
    ("_core.tensor.copy_cast",),
    ("_core.operators.autocast",),
    ("_core.tensor.views",),
    ("_core.rules",),
    ("_core._gen.rules", "_core.operators.run_operator"),
    ("_core._gen.calls", "_core.python", "_core._gen.namespace"),
    ("_core.operators.composites", "_core.tensor.factories"),
    ("_core.tensor.indexing", "_core.autograd.engine", "_core.grad_mode"),
    ("_tensor.docstrings",),
    ("_ops", "_core._gen.backward", "fft", "signal", "linalg"),
    ("_cpu",),
    # Of _npu, module by module:
    ("_npu", "_npu._gen.calls", "_npu.alloc_config", "_npu.cann", "_npu.index", "_npu.lock",
     "_npu.toolkit"),
    ("_npu.acl", "_npu.hccl_api", "_npu.structs"),
    ("_npu.acl_loader", "_npu.free_blocks"),
    ("_npu.streams",),
    ("_npu.events_thread", "_npu.peers", "_npu.segments", "_npu.stream_context"),
    ("_npu.allocator", "_npu.host_memory"),
    ("_npu.memory_history",),
    ("_npu.oom_snapshot",),
    ("_npu.runtime",),
    ("_npu.availability", "_npu.communicator", "_npu.graph", "_npu.launch"),
    ("_npu.aclnn_call",),
    ("_npu._gen",),
    ("_backend",),
    ("", "_tensor", "_utils", "_compat", "amp", "autograd", "overrides", "random", "storage"),
    ("_sparse",),
    ("nn", "_library", "_serialization", "accelerator", "compiler", "hub", "npu", "serialization", "special", "utils",
     "_ops.composite.nn_functional", "_compat.streams"),
    ("_C", "_VF", "__config__", "__main__", "_alias", "_dynamo", "_subclasses", "_torch_npu", "ao", "backends", "cpu",
     "utils.collect_env", "utils.tensorboard",
     "cuda", "distributed", "distributions", "func", "functional", "futures", "fx", "jit", "library", "mps", "mtia",
     "masked", "multiprocessing", "onnx", "optim", "profiler", "quasirandom", "sparse", "testing", "types", "xpu",
     "_docs", "_functorch", "_stubs",
     "autograd.profiler", "autograd._profiled_functions", "autograd._profile", "nn.parallel.distributed",
     "_compat.vmap_internals"),
)
# What a function imports from above nevertheless: (who, what) -> why.
EXCEPTIONS = {
    ("_core.python.torch_function", "_library.arguments"): "a call that has failed is held against torch's schema",
    ("_core.tensor.tensor", "_core.python.conversion"): "`tensor == array` makes a tensor of the array",
    ("_core.autograd", "_ops.derivatives.view"): "the derivatives of the rows, found when a graph is recorded first",
    ("_npu.aclnn_call", "_npu._gen"): "the functions and decompositions of rows, found at the first use of a device",
    ("_npu.events_thread", "_npu.runtime"): "the thread ends when the runtime is closed",
    ("_npu.memory_history", "_npu.runtime"): "the history is that of the devices that have been started",
    ("_npu.streams", "_npu.runtime"): "the first use of a device starts it",
    ("_npu.streams", "_npu.stream_context"): "`with stream:` is `with torch.npu.stream(stream):`",
    ("_ops", "_library.overloads"): "torch._ops.OpOverload: torch has it in the module that is our package of rows",
    ("_ops", "_library.higher_order"): "torch._ops.HigherOrderOperator, for the same reason",
    ("_ops", "autograd"): "the derivative of pinv is an autograd.Function",
    ("_ops", "nn.functional"): "torch.stft pads, and torch.lstm drops out, as the functions of networks do",
    ("_tensor", "_docs"): "the docstring of a function or class, which help() asks for",
    ("_core.tensor.factories", "_sparse.constructors"): "zeros(layout=torch.sparse_coo)",
    ("_ops", "_sparse.tensors"): "the derivative of embedding may be sparse",
    ("_tensor", "_sparse.kernels"): "methods that only sparse tensors have",
    ("_utils", "_sparse.constructors"): "a file may hold a sparse tensor",
    ("autograd", "_sparse.tensors"): "gradcheck moves the values of a sparse tensor",
    ("_tensor", "utils.dlpack"): "a tensor may be made of what another library exports",
    ("_utils", "nn.parameter"): "a file may hold a Parameter",
    ("autograd", "func"): "autograd.functional differentiates a batch by vmap",
    ("compiler", "_dynamo.eval_frame"): "torch.compile makes an OptimizedModule of a module",
    ("nn.modules.batchnorm", "distributed"): "SyncBatchNorm adds the sums of all ranks",
    ("nn.parallel", "nn.parallel.distributed"): "DistributedDataParallel stands on distributed, which stands on nn",
    ("utils.data", "distributed"): "a DistributedSampler asks for the rank of this process",
    ("random", "npu"): "fork_rng saves the generators of the NPUs",
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


def statements(tree):
    """The statements that run when a module is imported: those of its functions do not."""
    for node in ast.iter_child_nodes(tree):
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield from statements(node)


class WithoutTypes(ast.NodeTransformer):
    """Leaves out `if TYPE_CHECKING:`, whose imports never run."""

    def visit_If(self, node):
        self.generic_visit(node)
        return node.orelse if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING" else node


def python_imports(path, inside_functions):
    tree = WithoutTypes().visit(ast.parse(path.read_text(encoding="utf-8")))
    for node in ast.walk(tree) if inside_functions else statements(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = absolute(path, node.level, node.module)
            yield from (f"{base}.{alias.name}" for alias in node.names)


def cython_imports(path, inside_functions):
    text = re.sub(r"\(\s*([^()]*?)\s*\)", lambda m: " " + m[1].replace("\n", " "), path.read_text(encoding="utf-8"))
    for line in text.splitlines():
        found = CIMPORT.match(line)
        if not found or (line[0] == " " and not inside_functions):
            continue
        if found["module"]:
            dots = len(found["module"]) - len(found["module"].lstrip("."))
            base = absolute(path, dots, found["module"].lstrip(".")) if dots else found["module"]
            yield from (f"{base}.{name.split()[0]}" for name in found["names"].split(",") if name.strip())
        else:
            yield from (name.split()[0] for name in found["plain"].split(",") if name.strip())


@functools.cache
def imports_of(path, inside_functions=True):
    """Full names that `path` imports or cimports."""
    return set((python_imports if path.suffix == ".py" else cython_imports)(path, inside_functions))


def sources():
    return [p for p in sorted(PACKAGE.rglob("*")) if p.suffix in SUFFIXES]


def inside(name, module):
    return name == module or name.startswith(module + ".")


def row_of(name):
    """The place in LAYERS of a module of mindtorch, from the bottom."""
    rows = {f"mindtorch.{known}".rstrip("."): number for number, row in enumerate(LAYERS) for known in row}
    package = name
    while package not in rows:
        package = package.rpartition(".")[0]
    return rows[package]


@functools.cache
def upward_imports():
    """(importing module, imported name, whether a function does it) of all imports from a higher row."""
    return [(module_name(path), name, name not in imports_of(path, inside_functions=False))
            for path in sources() for name in imports_of(path)
            if inside(name, "mindtorch") and row_of(name) > row_of(module_name(path))]


def excepted(module, name):
    return next((pair for pair in EXCEPTIONS
                 if inside(module, f"mindtorch.{pair[0]}") and inside(name, f"mindtorch.{pair[1]}")), None)


@pytest.mark.quick
def test_every_package_has_a_layer():
    known = {name.partition(".")[0] for row in LAYERS for name in row}
    found = {path.relative_to(PACKAGE).with_suffix("").parts[0] for path in sources()} - {"__init__"} | {""}
    assert found - known == set()
    assert {name for name in known - found if not (PACKAGE / name).is_dir()} == set()


@pytest.mark.quick
def test_nothing_imports_from_above():
    wrong = [f"{module} imports {name}" for module, name, lazily in upward_imports()
             if not (lazily and excepted(module, name))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.quick
def test_every_exception_is_needed():
    assert {excepted(module, name) for module, name, _ in upward_imports()} >= EXCEPTIONS.keys()


@pytest.mark.quick
def test_the_backends_do_not_know_each_other():
    wrong = [f"{module_name(path)} imports {name}" for path in sources() for name in imports_of(path)
             if inside(module_name(path), "mindtorch._npu") and inside(name, "mindtorch._cpu")]
    assert not wrong, "\n".join(wrong)


@pytest.mark.quick
def test_one_door_leads_to_the_npu():
    wrong = [f"{path.relative_to(ROOT)} imports {name}"
             for path in sources() if path.relative_to(PACKAGE).with_suffix("").parts[0] not in ALLOWED_TO_IMPORT_NPU
             for name in imports_of(path) if inside(name, "mindtorch._npu")]
    assert not wrong, "\n".join(wrong)


@pytest.mark.quick
def test_canns_headers_are_declared_in_one_file():
    """HCCL's in a file of their own; the generator declares the functions of operators that rows call."""
    declaration = re.compile(r'^cdef extern from "(acl|aclnn|aclnnop|hccl)/', re.MULTILINE)
    found = {str(path.relative_to(PACKAGE)) for path in sources()
             if path.suffix != ".py" and path.parent != PACKAGE / "_npu" / "_gen"
             and declaration.search(path.read_text(encoding="utf-8"))}
    assert found == {"_npu/cann.pxd", "_npu/hccl_api.pxd"}


@pytest.mark.quick
def test_pages_name_files_that_exist():
    """Files that the pages mention; what the build generates is left out."""
    files = {str(path.relative_to(ROOT)) for folder in ("mindtorch", "include", "tests", "bench", "examples", "docs")
             for path in (ROOT / folder).rglob("*") if path.is_file()}
    files |= {path.name for path in ROOT.iterdir()}
    for page in ("README.md", "CONTRIBUTING.md", "docs/design.md", "docs/kernels.md"):
        mentioned = re.findall(r"`([\w./]+\.(?:pyx|pxd|pxi|py|toml|cpp|h|md|txt|jsonl))`",
                               (ROOT / page).read_text(encoding="utf-8"))
        gone = [name for name in mentioned if "_gen/" not in name
                and not any(file == name or file.endswith(f"/{name}") for file in files)]
        assert not gone, f"{page} mentions {gone}"


@pytest.mark.quick
def test_pages_name_things_that_exist():
    """Functions, classes, variables, settings and columns that the pages mention are in the sources."""
    kinds = {".py", ".pyx", ".pxd", ".pxi", ".toml", ".cpp", ".h", ".c", ".txt", ".jsonl", ".sh"}
    files = [path for folder in ("mindtorch", "include", "tests", "bench", "examples")
             for path in (ROOT / folder).rglob("*")
             if path.suffix in kinds and "toolkit" not in path.parts and not path.with_suffix(".pyx").exists()]
    files += [*PACKAGE.rglob("*.pyx"), ROOT / "Makefile", ROOT / "setup.py", ROOT / "pyproject.toml"]
    known = {word for path in files if path.is_file()
             for word in re.findall(r"[A-Za-z_]\w{3,}", f"{path.name} {path.read_text(encoding='utf-8')}")}
    known |= {part for path in files for part in path.parts} | {"aclnnXGetWorkspaceSize", "PIP_EXTRA_INDEX_URL"}
    for page in ("README.md", "CONTRIBUTING.md", "docs/design.md", "docs/kernels.md"):
        mentioned = re.findall(r"`([^`\n]+)`", (ROOT / page).read_text(encoding="utf-8"))
        words = {word for text in mentioned for word in re.findall(r"[A-Za-z_]\w{3,}", text)} - known
        gone = {word for word in words if not any(word in each for each in known)}      # `_SLOW`: the end of a name
        assert not gone, f"{page} mentions {sorted(gone)}"


# Stops of design.md's table that their caller reaches by a pointer: what the caller's body has in place of the name.
BY_POINTER = {"binary": "TENSOR_SLOTS.binary", "run_call_or_inplace": "kernel.call",
              "mindtorch_make_launch": "add_launch"}


def bodies(name, file):
    """The bodies of the functions of this name in a source of the package."""
    text = (ROOT / file if file.startswith("include/") else PACKAGE / file).read_text(encoding="utf-8")
    start = rf"^[ \t]*(?:cdef |def |static )[^\n=]*\b{name.rpartition('.')[2]}\("
    return [text[found.end():].partition("\ncdef ")[0].partition("\ndef ")[0]
            for found in re.finditer(start, text, re.MULTILINE) if not text[:found.start()].endswith("extern ")]


@pytest.mark.quick
def test_the_way_of_an_addition_is_the_way_in_the_code():
    """design.md, section 3: a numbered stop is called by the one before it, any other one by some stop of the table."""
    page = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    table = page.partition("## 3. The way")[2].partition("| 7 |")[0]
    code, way = {}, []                                # stop -> its body; the numbered stops
    for number, cell in re.findall(r"^\| (\d|\D[^|]*) \| (`[^|]*) \|", table, re.MULTILINE):
        for word in re.findall(r"`([^`]+)`", cell):
            if "/" in word:
                file = word
                continue
            code[word, file] = "".join(bodies(word, file))
            assert code[word, file], f"there is no {word} in {file}"
            way += [(word, file)] * number.isdecimal()
    assert len(way) > 10
    for name, file in [*code][1:]:
        called = re.escape(BY_POINTER.get(name, name.rpartition(".")[2]))
        before = way[way.index((name, file)) - 1] if (name, file) in way else None
        body = code[before] if before else "".join(code.values())
        assert re.search(rf"\b{called}\(", body), f"{name} of {file} is not called by {before or 'any stop'}"


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
                      "    cimport mindtorch._npu.acl as s\nfrom . cimport tensor\nfrom ..npu import streams\n")
    assert imports_of(source) == {"mindtorch._npu.launch.Call", "mindtorch._npu.launch.launch",
                                  "mindtorch._npu.acl", "mindtorch._core.tensor", "mindtorch.npu.streams"}
