"""Finding and loading CANN: which toolkit is taken, and what is said about one that cannot be."""
import os
import platform
import shutil
import struct
import subprocess
import sys

import pytest

from mindtorch._npu import toolkit

pytestmark = pytest.mark.one_mode

MACHINE = platform.machine()
OTHER = "aarch64" if MACHINE == "x86_64" else "x86_64"
LOAD = ("from mindtorch._npu import acl_loader\n"
        "try:\n    acl_loader.ensure_acl()\n    print(acl_loader.toolkit())\n"
        "except RuntimeError as error:\n    print('RuntimeError:', error)\n")


def run(code=LOAD, **variables):
    """Runs `code` in a process of its own whose environment names no toolkit but for `variables`."""
    kept = {name: value for name, value in os.environ.items()
            if name not in (*toolkit.VARIABLES, "MINDTORCH_NPU", "LD_LIBRARY_PATH")}
    return subprocess.run([sys.executable, "-c", code], env=kept | variables, capture_output=True, text=True,
                          check=True)


def library(path, source="", *options):
    """A shared library compiled from C."""
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-x", "c", "-", "-o", str(path),
                    f"-Wl,-soname,{path.name}", *options], input=source, text=True, check=True)
    return path


def elf_header(number):
    return b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + struct.pack("<HH", 3, number) + bytes(44)


@pytest.fixture
def nothing_installed(monkeypatch, tmp_path):
    for name in (*toolkit.VARIABLES, "MINDTORCH_NPU"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(toolkit, "PREFIXES", (str(tmp_path / "opt"),))
    monkeypatch.setattr(toolkit, "DEVICE_NODES", str(tmp_path / "dev" / "davinci*"))
    return tmp_path


def make_root(root, version=None, folder="lib64"):
    (root / folder).mkdir(parents=True)
    (root / folder / "libascendcl.so").touch()
    if version:
        info = root / "share" / "info" / "runtime"
        info.mkdir(parents=True)
        (info / "version.info").write_text(f"Version={version}\n")
    return root


# Which toolkit is taken

def test_simulator_where_there_is_no_trace_of_ascend(nothing_installed):
    assert toolkit.find().root == toolkit.SIMULATOR


def test_a_device_without_a_toolkit_is_an_error(nothing_installed):
    (nothing_installed / "dev").mkdir()
    (nothing_installed / "dev" / "davinci0").touch()
    with pytest.raises(RuntimeError, match=r"no CANN toolkit was found, but there is an Ascend device .*davinci0"):
        toolkit.find()


def test_mode_cann_never_takes_the_simulator(nothing_installed, monkeypatch):
    monkeypatch.setenv("MINDTORCH_NPU", "cann")
    with pytest.raises(RuntimeError, match="MINDTORCH_NPU=cann asks for it"):
        toolkit.find()


def test_mode_sim_passes_an_installed_toolkit_over(nothing_installed, monkeypatch):
    make_root(nothing_installed / "opt" / "cann")
    monkeypatch.setenv("MINDTORCH_NPU", "sim")
    assert toolkit.find().root == toolkit.SIMULATOR


def test_mode_off_and_unknown_modes(nothing_installed, monkeypatch):
    monkeypatch.setenv("MINDTORCH_NPU", "off")
    with pytest.raises(RuntimeError, match="switched off by MINDTORCH_NPU=off"):
        toolkit.find()
    monkeypatch.setenv("MINDTORCH_NPU", "gpu")
    with pytest.raises(RuntimeError, match="MINDTORCH_NPU=gpu is not known: use one of auto, cann, sim, off"):
        toolkit.find()


@pytest.mark.parametrize("first", toolkit.VARIABLES)
def test_order_of_the_variables(nothing_installed, monkeypatch, first):
    for variable in toolkit.VARIABLES[toolkit.VARIABLES.index(first):]:
        monkeypatch.setenv(variable, str(make_root(nothing_installed / variable)))
    assert toolkit.find().root == nothing_installed / first


def test_a_named_toolkit_that_is_missing_is_an_error(nothing_installed, monkeypatch):
    make_root(nothing_installed / "opt" / "cann")
    monkeypatch.setenv("ASCEND_HOME_PATH", str(nothing_installed / "gone"))
    with pytest.raises(RuntimeError, match="gone is used as the CANN toolkit because ASCEND_HOME_PATH names it, but"):
        toolkit.find()


@pytest.mark.parametrize("place", ["cann", "cann-9.0.0", "ascend-toolkit/latest", "nnae/latest", "nnrt/latest"])
def test_standard_places_of_both_layouts(nothing_installed, place):
    root = make_root(nothing_installed / "opt" / place)
    assert toolkit.find().root == root


def test_the_newest_of_several_versions_is_taken(nothing_installed):
    for version in ("8.5.0", "9.10.0", "9.2.0"):
        make_root(nothing_installed / "opt" / f"cann-{version}")
    assert toolkit.find().root.name == "cann-9.10.0"


def test_libraries_of_this_processor(nothing_installed, monkeypatch):
    root = make_root(nothing_installed / "a", folder=f"{MACHINE}-linux/lib64")
    monkeypatch.setenv("ASCEND_HOME_PATH", str(root))
    assert toolkit.find().root == root
    root = make_root(nothing_installed / "b", folder=f"{OTHER}-linux/lib64")
    monkeypatch.setenv("ASCEND_HOME_PATH", str(root))
    with pytest.raises(RuntimeError, match=f"it is for {OTHER}-linux and this machine is {MACHINE}"):
        toolkit.find()


def test_half_a_toolkit_names_what_is_missing(nothing_installed, monkeypatch):
    root = make_root(nothing_installed / "half", version="8.5.0")
    (root / "lib64" / "libascendcl.so").unlink()
    monkeypatch.setenv("ASCEND_HOME_PATH", str(root))
    with pytest.raises(RuntimeError, match=r"libascendcl.so or libacl_rt.so is not there .*\(version 8.5.0\)"):
        toolkit.find()


# Versions

@pytest.mark.parametrize(("file", "text"), [
    ("share/info/runtime/version.info", "Version=8.5.0\n"),
    (f"{MACHINE}-linux/ascend_toolkit_install.info", "package_name=Ascend-cann-toolkit\nversion=8.5.0\n"),
    ("runtime/version.info", "Version=8.5.0\nrequired_driver_ascendhal_version=[7.0]\n"),
    ("compiler/version.info", "Version=[8.5.0]\n"),
])
def test_version_in_both_layouts(tmp_path, file, text):
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert toolkit.read_version(tmp_path) == "8.5.0"


def test_version_from_the_folder_name(tmp_path):
    root = tmp_path / "cann-9.0.0.beta1"
    root.mkdir()
    assert toolkit.read_version(root) == "9.0.0.beta1"
    link = tmp_path / "latest"
    link.symlink_to(root)
    assert toolkit.read_version(link) == "9.0.0.beta1"
    assert toolkit.read_version(tmp_path / "nowhere") == "unknown"


# Loading, each in a process of its own

def test_simulator_is_announced_once_on_stderr():
    done = run(LOAD + LOAD, MINDTORCH_NPU="sim")
    assert done.stderr.count("simulated on the CPU") == 1
    assert done.stdout.splitlines()[0].endswith(f"(simulated) at {toolkit.SIMULATOR}")


@pytest.mark.parametrize(("file", "message"), [
    ("/nowhere/blas.so", "/nowhere/blas.so: cannot open shared object file: No such file or directory: install the "
     "Python package scipy-openblas32, or name the file in MINDTORCH_SIM_BLAS"),
    (None, "2.0"),
])
def test_the_simulator_has_its_blas_from_the_package_unless_another_is_named(file, message):
    code = ("import mindtorch as torch\na = torch.ones(2, 2, device='npu')\n"
            "try:\n    print((a @ a)[0, 0].item())\nexcept RuntimeError as error:\n    print(error)\n")
    done = run(code, MINDTORCH_NPU="sim", **({} if file is None else {"MINDTORCH_SIM_BLAS": file}))
    assert message in done.stdout


def test_a_simulated_toolkit_is_recognised_wherever_it_lies(tmp_path):
    shutil.copytree(toolkit.SIMULATOR, tmp_path / "copy", symlinks=True)
    done = run(ASCEND_HOME_PATH=str(tmp_path / "copy"))
    assert done.stdout.strip().endswith(f"(simulated) at {tmp_path / 'copy'}")


def test_missing_library(tmp_path):
    library(tmp_path / "lib64" / "libascendcl.so")
    done = run(ASCEND_HOME_PATH=str(tmp_path))
    assert "is incomplete: libnnopbase.so is neither in" in done.stdout
    assert "Install the toolkit again" in done.stdout


def test_missing_driver_names_the_remedy(tmp_path):
    hal = library(tmp_path / "driver" / "libascend_hal.so", "int halGet(void) { return 0; }")
    library(tmp_path / "lib64" / "libascendcl.so", "int halGet(void); int aclInit(void) { return halGet(); }",
            "-Wl,--no-as-needed", f"-L{hal.parent}", "-lascend_hal")
    done = run(ASCEND_HOME_PATH=str(tmp_path))
    assert "libascend_hal.so is neither in" in done.stdout
    assert "install the driver" in done.stdout


def test_dependencies_are_found_without_ld_library_path(tmp_path):
    """libascendcl.so needs a library that lies in another folder of the toolkit and that the loader cannot find."""
    for name in ("libnnopbase.so", "libopapi.so"):
        library(tmp_path / "runtime" / "lib64" / name)
    extra = library(tmp_path / "compiler" / "lib64" / "libextra.so", "int extra(void) { return 0; }")
    library(tmp_path / "lib64" / "libascendcl.so", "int extra(void); int call_extra(void) { return extra(); }",
            "-Wl,--no-as-needed", f"-L{extra.parent}", "-lextra")
    done = run(ASCEND_HOME_PATH=str(tmp_path))
    assert "lacks aclInit" in done.stdout            # all libraries are loaded; these ones hold no functions


def test_missing_symbols_are_named(tmp_path):
    shutil.copytree(toolkit.SIMULATOR, tmp_path / "old", symlinks=True)
    library(tmp_path / "old" / "lib64" / "libascendcl.so", "int aclInit(const char *path) { return path != 0; }")
    for name in ("libnnopbase.so", "libopapi.so"):
        library(tmp_path / "old" / "lib64" / name)
    done = run(ASCEND_HOME_PATH=str(tmp_path / "old"))
    assert "lacks aclFinalize, aclGetRecentErrMsg" in done.stdout
    assert "CANN 8.5.0" in done.stdout
    assert "Install CANN 8.0.RC1 or newer" in done.stdout


def test_an_operator_that_the_toolkit_lacks_raises_when_it_is_called(tmp_path):
    shutil.copytree(toolkit.SIMULATOR, tmp_path / "older", symlinks=True)
    operators = tmp_path / "older" / "lib64" / "libopapi.so"
    operators.write_bytes(operators.read_bytes().replace(b"\0aclnnGer\0", b"\0aclnnNot\0"))
    code = ("import mindtorch\nx = mindtorch.tensor([-1.0, 2.0], device='npu')\nprint((x + x).tolist())\n"
            "try:\n    x.outer(x)\nexcept NotImplementedError as error:\n    print(error)\nprint(x.relu().tolist())")
    done = run(code, MINDTORCH_CANN_HOME=str(tmp_path / "older"))
    sums, error, relu = done.stdout.splitlines()
    assert sums == "[-2.0, 4.0]"
    assert error.startswith("aclnnGer is not in CANN 8.5.0")
    assert "it came with CANN 8.1.RC1" in error
    assert relu == "[0.0, 2.0]"


def test_a_toolkit_without_hccl_computes_and_has_no_collectives(tmp_path):
    shutil.copytree(toolkit.SIMULATOR, tmp_path / "part", ignore=shutil.ignore_patterns("libhccl.so", "libhcomm.so"))
    code = ("import mindtorch as torch, mindtorch.distributed as dist\nprint(torch.ones(1, device='npu').item())\n"
            "try:\n    dist.init_process_group('hccl', store=dist.HashStore(), rank=0, world_size=1)\n"
            "except RuntimeError as error:\n    print(error)")
    one, error = run(code, MINDTORCH_CANN_HOME=str(tmp_path / "part")).stdout.splitlines()
    assert one == "1.0"
    assert "libhccl.so is neither in" in error
    assert error.endswith("Communication between devices needs it: install CANN's package hccl")


def test_a_formula_stands_in_for_an_operator_that_the_toolkit_lacks(tmp_path):
    code = ("import mindtorch\nmindtorch.manual_seed(1)\n"
            "cell, x = mindtorch.nn.LSTMCell(3, 2).npu(), mindtorch.ones(4, 3, device='npu', requires_grad=True)\n"
            "hidden, state = cell(x)\nfar = mindtorch.cdist(x, 2 * x, p=3.0)\n"
            "(hidden.sum() + state.sum() + far.sum()).backward()\n"
            "print([[round(v, 4) for v in row] for row in x.grad.tolist()])")
    whole = run(code, MINDTORCH_NPU="sim").stdout
    shutil.copytree(toolkit.SIMULATOR, tmp_path / "older", symlinks=True)
    operators = tmp_path / "older" / "lib64" / "libopapi.so"
    content = operators.read_bytes()
    for name in (b"aclnnThnnFusedLstmCell", b"aclnnThnnFusedLstmCellBackward", b"aclnnCdist", b"aclnnCdistBackward"):
        content = content.replace(b"\0%s\0" % name, b"\0%s\0" % (name[:-2] + b"XX"))
    operators.write_bytes(content)
    assert run(code, MINDTORCH_CANN_HOME=str(tmp_path / "older")).stdout == whole != ""


def test_functions_that_little_depends_on_may_be_missing(tmp_path):
    shutil.copytree(toolkit.SIMULATOR, tmp_path / "older", symlinks=True)
    runtime = tmp_path / "older" / "lib64" / "libascendcl.so"
    content = runtime.read_bytes()
    for name in (b"aclrtLaunchHostFunc", b"aclrtDeviceGetUuid", b"aclrtIpcGetEventHandle"):
        content = content.replace(b"\0%s\0" % name, b"\0%s\0" % (name[:-2] + b"XX"))
    runtime.write_bytes(content)
    code = ("import mindtorch\nprint(mindtorch.ones(2, device='npu').tolist())\n"
            "print(mindtorch.npu.get_device_properties().uuid)\n"
            "for use in (lambda: mindtorch.npu._sleep(1), mindtorch.npu.Event(interprocess=True).ipc_handle):\n"
            "    try:\n        use()\n    except RuntimeError as error:\n        print(error)")
    ones, uuid, *errors = run(code, MINDTORCH_CANN_HOME=str(tmp_path / "older")).stdout.splitlines()
    assert (ones, uuid) == ("[1.0, 1.0]", "None")
    assert [error.split(":")[0] for error in errors] == [
        f"the CANN toolkit in use has no {name}" for name in ("aclrtLaunchHostFunc", "aclrtIpcGetEventHandle")]


def test_undefined_symbol_means_versions_that_do_not_match(tmp_path):
    library(tmp_path / "lib64" / "libascendcl.so", "int rtFromTheFuture(void);\n"
            "int (*pointer)(void) = rtFromTheFuture;")
    done = run(ASCEND_HOME_PATH=str(tmp_path))
    assert "needs the symbol rtFromTheFuture" in done.stdout
    assert "of the same release" in done.stdout


def test_wrong_processor(tmp_path):
    (tmp_path / "lib64").mkdir()
    (tmp_path / "lib64" / "libascendcl.so").write_bytes(elf_header(183 if OTHER == "aarch64" else 62))
    done = run(ASCEND_HOME_PATH=str(tmp_path))
    assert f"is for {OTHER}, and this machine is {MACHINE}" in done.stdout


ASK = """
import mindtorch as torch
def ask():
    print(torch.npu.is_available(), torch.npu.device_count(), torch.accelerator.is_available(), flush=True)
"""
WITHOUT_ASCEND = """
from mindtorch._npu import toolkit
toolkit.PREFIXES, toolkit.DEVICE_NODES = (), ""
"""


def test_without_ascend_there_is_an_npu_when_one_is_asked_for():
    done = run(WITHOUT_ASCEND + ASK + "ask(); torch.ones(2, device='npu'); ask()")
    assert done.stdout.splitlines() == ["False 0 False", "True 1 True"]
    assert run(ASK + "ask()", MINDTORCH_NPU="sim").stdout.splitlines() == ["True 1 True"]


def test_asking_for_devices_opens_no_library():
    opened = "print('libascendcl' in open('/proc/self/maps').read())"
    done = run(WITHOUT_ASCEND + ASK + f"ask(); {opened}")
    assert (done.stdout.splitlines(), done.stderr) == (["False 0 False", "False"], "")


def test_an_op_on_a_broken_toolkit_says_what_is_wrong(tmp_path):
    code = "import mindtorch\ntry:\n    mindtorch.ones(2, device='npu')\nexcept RuntimeError as e:\n    print(e)"
    assert "is used as the CANN toolkit because ASCEND_HOME_PATH names it" in run(
        code, ASCEND_HOME_PATH=str(tmp_path)).stdout


def test_cann_is_looked_for_once(nothing_installed, monkeypatch):
    """Whether the NPU is there programs ask for each step."""
    searches = []
    monkeypatch.setattr(toolkit, "installed", lambda: searches.append(1))
    assert toolkit.is_requested() is toolkit.is_requested() is False
    assert len(searches) == 1
