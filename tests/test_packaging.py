"""What a user installs: the wheel is complete and runs by itself; the public C declarations stand by themselves."""
import os
import re
import shlex
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from mindtorch import version

ROOT = Path(__file__).parent.parent
INCLUDE = ROOT / "include"

PROGRAM = """
import mindtorch as torch
x = torch.tensor([[1.0, -2.0], [3.0, 4.0]], device="npu")
y = (x @ x.t() + 1).relu().sum()
assert y.item() == 32.0, y
print(torch.npu.get_device_name(), torch.__file__)
"""


@pytest.fixture(autouse=True)
def _no_other_mindtorch(monkeypatch):
    """pip would take a source tree on PYTHONPATH for an installed package."""
    monkeypatch.delenv("PYTHONPATH", raising=False)


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A source archive, and the wheel for a release of CANN built from that archive: (archive, wheel). No network."""
    folder = tmp_path_factory.mktemp("dist")
    nowhere = {"PIP_NO_INDEX": "1", "http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT,
        env={**os.environ, **nowhere, "MINDTORCH_CANN": "8.1.RC1", "MINDTORCH_HOMEPAGE": HOMEPAGE})
    (archive,), (wheel,) = folder.glob("mindtorch-*.tar.gz"), folder.glob("mindtorch-*.whl")
    return archive, wheel


HOMEPAGE = "https://github.com/mindtorch/mindtorch"     # for the test alone
ADDRESSES = {"Source": HOMEPAGE, "Documentation": f"{HOMEPAGE}#readme", "Issues": f"{HOMEPAGE}/issues",
             "Changelog": f"{HOMEPAGE}/blob/main/CHANGELOG.md"}


def release_check(tag, *archives):
    return subprocess.run([sys.executable, ROOT / ".ci" / "check-release", tag, *archives], capture_output=True,
                          text=True, check=False)


@pytest.mark.slow
def test_what_is_built_may_be_released(built):
    done = release_check(f"v{version.mindtorch}", *built)
    assert (done.returncode, done.stdout) == (0, f"2 archives of v{version.mindtorch}: their metadata is complete\n")


@pytest.mark.parametrize(("tag", "addresses", "message"), [
    ("v0.2.0", ADDRESSES, "1 archives of v0.2.0: their metadata is complete"),
    ("v0.3.0", ADDRESSES, "the version is 0.2.0, the tag is v0.3.0"),
    ("v0.2.0", {}, "no address for Source, Documentation, Issues, Changelog: build with MINDTORCH_HOMEPAGE="),
    ("v0.2.0", {**ADDRESSES, "Issues": "TODO"}, "no address for Issues: "),
])
def test_no_release_without_the_projects_addresses(tmp_path, tag, addresses, message):
    wheel = tmp_path / "mindtorch-0.2.0+cann8.5.0-cp311-cp311-linux_x86_64.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        urls = "".join(f"Project-URL: {name}, {address}\n" for name, address in addresses.items())
        archive.writestr("mindtorch-0.2.0.dist-info/METADATA",
                         f"Metadata-Version: 2.4\nName: mindtorch\nVersion: 0.2.0+cann8.5.0\n{urls}\nText\n")
    done = release_check(tag, wheel)
    assert done.returncode == int("complete" not in message)
    assert message in done.stdout


def test_the_workflow_tells_the_build_where_the_project_lives():
    workflow = ROOT.joinpath(".github", "workflows", "release.yml").read_text(encoding="utf-8")
    assert 'MINDTORCH_HOMEPAGE: "https://github.com/${{ github.repository }}"' in workflow
    jobs = workflow.split("\n  publish:\n")
    assert ".ci/check-release" in jobs[0]
    assert jobs[1].count("needs: check\n") == 2


@pytest.mark.slow
def test_source_archive_holds_no_build_products(built):
    with tarfile.open(built[0]) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    assert {"LICENSE", "README.md", "Makefile", "include/acl/acl_rt.h", "mindtorch/_ops/aclnn_ops.jsonl"} <= names
    products = [name for name in names if "/_gen/" in name or name.endswith((".so", ".o", "/__init__.pyi"))
                or name.startswith("include/aclnnop/")
                or (name.startswith("mindtorch/") and name.endswith(".c"))]
    assert not products


PRODUCTS = ["docs/_build/index.html", "docs/reference/torch.md", "bench/build/launch.c", "include/aclnnop/aclnn_add.h",
            "mindtorch/_core/_gen/calls.pyx", "mindtorch/_npu/acl.c", "mindtorch/_npu/acl.so",
            "mindtorch/nn/__init__.pyi", "mindtorch/_sim/toolkit/include/acl/acl.h",
            "mindtorch/__pycache__/version.cpython-311.pyc"]


def test_source_archive_leaves_out_what_has_been_made_in_the_tree(tmp_path, monkeypatch):
    from setuptools.command.egg_info import FileList
    monkeypatch.chdir(tmp_path)
    for name in [*PRODUCTS, "docs/releasing.md", "mindtorch/version.py"]:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).touch()
    chosen = FileList()
    for line in ROOT.joinpath("MANIFEST.in").read_text(encoding="utf-8").splitlines():
        chosen.process_template_line(line)
    assert sorted(chosen.files) == ["docs/releasing.md", "mindtorch/version.py"]


@pytest.mark.slow
def test_wheel_holds_what_runs_and_nothing_else(built):
    with zipfile.ZipFile(built[1]) as archive:
        names = archive.namelist()
    for library in ("ascendcl", "nnopbase", "mindtorch_kernels", "opapi", "acl_op_compiler", "hccl", "hcomm"):
        assert f"mindtorch/_sim/toolkit/lib64/lib{library}.so" in names
    toolkit = "mindtorch/_sim/toolkit"
    assert any(name.startswith(f"{toolkit}/share/info/") for name in names)
    assert {f"{toolkit}/include/acl/acl.h", f"{toolkit}/include/aclnnop/aclnn_add.h",
            f"{toolkit}/lib64/pkgconfig/cann.pc", f"{toolkit}/lib64/cmake/CANN/CANNConfig.cmake"} <= set(names)
    for module in ROOT.joinpath("mindtorch").rglob("*.pyx"):
        path = module.relative_to(ROOT).with_suffix("")
        assert any(name.startswith(f"{path}.cpython-") for name in names), f"{path} is not in the wheel"
    for module in ROOT.joinpath("mindtorch").rglob("*.py"):
        if "_gen" not in module.parts:
            assert str(module.relative_to(ROOT)) in names
    assert {"mindtorch/py.typed", "mindtorch/__init__.pyi", "mindtorch/linalg/__init__.pyi",
            "mindtorch/nn/functional.pyi", "mindtorch/_npu/streams.pyi"} <= set(names)
    for text in ("LICENSE", "NOTICE"):
        assert any(name.endswith(f"licenses/{text}") for name in names)
    leftovers = [name for name in names if name.endswith((".c", ".cpp", ".o", ".pyx"))
                 or name.startswith(("tests/", "bench/", "examples/"))]
    assert not leftovers
    with zipfile.ZipFile(built[1]) as archive:
        libraries = sum(entry.file_size for entry in archive.infolist() if entry.filename.endswith(".so"))
    assert libraries < 14e6, f"{libraries / 1e6:.1f} MB"
    assert built[1].stat().st_size < 14e6


@pytest.mark.slow
def test_a_wheel_for_a_release_of_cann_says_so(built):
    assert built[1].name.startswith(f"mindtorch-{version.mindtorch}+cann8.1.rc1-cp3")
    with zipfile.ZipFile(built[1]) as archive:
        assert '\ncann = "8.1.RC1"' in archive.read("mindtorch/version.py").decode().replace("'", '"')
        (metadata,) = (archive.read(name).decode() for name in archive.namelist() if name.endswith("/METADATA"))
    assert f"\nVersion: {version.mindtorch}+cann8.1.rc1\n" in metadata
    assert "\nClassifier: Programming Language :: Python :: 3.11\n" in metadata
    addresses = {**ADDRESSES, "CANN documentation": "https://www.hiascend.com/document"}
    assert dict(re.findall(r"^Project-URL: (.+?), (.+)$", metadata, re.MULTILINE)) == addresses
    extras = re.findall(r"^Provides-Extra: (.+)$", metadata, re.MULTILINE)
    assert extras == ["mpi", "tensorboard", "scipy"]      # no developers'


@pytest.mark.slow
def test_wheel_runs_in_an_empty_environment(built, tmp_path):
    venv.create(tmp_path / "empty", with_pip=True)
    python = tmp_path / "empty" / "bin" / "python"
    run(python, "-m", "pip", "install", built[1])
    output = run(python, "-c", PROGRAM, cwd=tmp_path, env={"PATH": "/usr/bin:/bin", "MINDTORCH_NPU": "sim"})
    assert str(tmp_path) in output
    toolkit = Path(run(python, "-m", "mindtorch.sim", cwd=tmp_path).strip())
    assert not list(toolkit.rglob("*openblas*"))
    program = ROOT / "tests" / "sim" / "opapi" / "matmul.cpp"       # in C++, which no Python tells where the BLAS is
    run("c++", program, "-o", tmp_path / "matmul", "-std=c++17", f"-I{INCLUDE}", f"-I{ROOT / 'mindtorch' / '_sim'}",
        f"-L{toolkit / 'lib64'}", "-lopapi", "-lnnopbase", "-lascendcl", f"-Wl,-rpath,{toolkit / 'lib64'}", "-pthread")
    assert run(tmp_path / "matmul", env={}).splitlines()[-1:] == ["ok"]
    check_examples_in_c(toolkit / "lib64", tmp_path / "acl")
    installed = {line.partition("==")[0] for line in run(python, "-m", "pip", "freeze").splitlines()}
    assert "torch" not in installed


def check_examples_in_c(libraries, folder):
    """examples/acl by the pkg-config file and by the CMake configuration that a wheel has installed."""
    source, tools = ROOT / "examples" / "acl", Path(sys.executable).parent      # pkg-config and CMake may be from PyPI
    path = {"PATH": f"{tools}:{os.environ['PATH']}"}
    options = run("pkg-config", "--cflags", "--libs", "cann",
                  env={**path, "PKG_CONFIG_PATH": str(libraries / "pkgconfig")})
    assert str(ROOT) not in options
    folder.mkdir()
    run("cc", source / "add.c", "-o", folder / "add", *options.split())
    assert run(folder / "add", env={}) == "11 22 33 44\n"
    run("cmake", "-S", source, "-B", folder / "cmake", f"-DCANN_DIR={libraries / 'cmake' / 'CANN'}", env=path)
    run("cmake", "--build", folder / "cmake", env=path)
    assert run(folder / "cmake" / "streams", env={}) == "the sum of 4096 products is 262144\n"


@pytest.mark.parametrize(("variable", "compiler", "language", "standard"),
                         [("CC", "cc", "c", "c11"), ("CXX", "c++", "c++", "c++17")])
def test_declarations_compile_alone(variable, compiler, language, standard):
    """Each header by itself, as C and as C++, without a warning; those that are generated include the same one."""
    headers = {folder: sorted(str(path.relative_to(INCLUDE)) for path in INCLUDE.joinpath(folder).glob("*.h"))
               for folder in ("acl", "aclnn", "aclnnop")}
    assert len(headers["aclnnop"]) > 1000
    command = [*shlex.split(os.environ.get(variable, compiler)), f"-std={standard}", "-Wall", "-Wextra", "-Werror",
               "-fsyntax-only", f"-I{INCLUDE}", "-x", language, "-"]
    for included in [*([header] for header in headers["acl"] + headers["aclnn"]), headers["aclnnop"]]:
        text = "".join(f'#include "{header}"\n' for header in included)
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_api_structs_compile():
    """cann_api.h, which takes the types of its function pointers from the declarations (C only: it uses __typeof__)."""
    command = [*shlex.split(os.environ.get("CC", "cc")), "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
               f"-I{INCLUDE}", "-x", "c", "-"]
    text = '#include "mindtorch/cann_api.h"\nextern CannApi api;\n'
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_operators_have_the_signatures_through_which_they_are_called():
    """C compares what the generator has written for each signature with the declarations in include/aclnnop."""
    from mindtorch._ops.codegen import emit_npu, emit_thunks
    from mindtorch._ops.codegen.aclnn import operators
    from mindtorch._ops.codegen.rows import Table
    command = [*shlex.split(os.environ.get("CC", "cc")), "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
               f"-I{INCLUDE}", "-x", "c", "-"]
    handwritten = ("aclnnStatus (*copy)(aclTensor *, const aclTensor *, uint64_t *, aclOpExecutor **) = "
               "aclnnInplaceCopyGetWorkspaceSize;\n"
               "aclnnStatus (*cast)(const aclTensor *, aclDataType, aclTensor *, uint64_t *, aclOpExecutor **) = "
               "aclnnCastGetWorkspaceSize;\n")
    text = '#include "aclnnop/aclnn_copy.h"\n#include "aclnnop/aclnn_cast.h"\n'
    calls = emit_npu.Calls(Table())
    headers = {operators()[name].header for name in calls.operators}
    text += emit_thunks.assignments(calls, calls.operators, headers) + handwritten
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
