"""Nothing broken is silent: for each mutilated toolkit, what is_available, an operator and the doctor say."""
import json
import os
import platform
import shutil
import struct
import subprocess
import sys

import pytest

from mindtorch._npu import elf, toolkit
from mindtorch.npu import doctor

pytestmark = pytest.mark.one_mode

OTHER, NUMBER = ("aarch64", 183) if platform.machine() == "x86_64" else ("x86_64", 62)
ASK = """
import contextlib, io, json, sys, warnings
import mindtorch as torch
from mindtorch.npu import doctor
def ask(question):
    try:
        return str(question())
    except RuntimeError as error:
        return f"{type(error).__name__}: {error}"
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    available = [ask(torch.npu.is_available) for _ in range(2)]
used = ask(lambda: torch.ones(2, device="npu"))
with contextlib.redirect_stdout(io.StringIO()) as out:
    status = doctor.main(["--json"])
json.dump({"available": available, "warnings": [str(w.message) for w in caught], "used": used, "status": status,
           "doctor": json.loads(out.getvalue())}, sys.stdout)
"""


def ask(**variables):
    """The answers of a process whose environment names no toolkit but for `variables`."""
    kept = {name: value for name, value in os.environ.items()
            if name not in (*toolkit.VARIABLES, "MINDTORCH_NPU", "LD_LIBRARY_PATH")}
    done = subprocess.run([sys.executable, "-c", ASK], env=kept | variables, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def compiled(path, source):
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-x", "c", "-", "-o", str(path)], input=source,
                   text=True, check=True)


def library(root, name="libopapi.so"):
    return root / "lib64" / name


def cut_off(root):
    whole = library(root).read_bytes()
    library(root).write_bytes(whole[:len(whole) // 2])


def version_file(root, version):
    (root / "share/info/runtime/version.info").write_text(f"Version={version}\n")


# What is done to a copy of the simulated toolkit, and what is then said.
MUTILATED = {
    "no libopapi": (lambda root: library(root).unlink(), "libopapi.so is neither in"),
    "no runtime": (lambda root: library(root, "libascendcl.so").unlink(), "libascendcl.so or libacl_rt.so is not"),
    "empty": (lambda root: (shutil.rmtree(root), root.mkdir()), "no lib64 folder at all"),
    "cut off": (cut_off, "libopapi.so of CANN 8.5.0 at * is damaged: it has"),
    "no bytes": (lambda root: library(root).write_bytes(b""), "is no shared library (0 bytes)"),
    "text": (lambda root: library(root, "libnnopbase.so").write_text("text " * 20), "is no shared library (100"),
    "other processor": (lambda root: library(root).write_bytes(
        b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + struct.pack("<HH", 3, NUMBER) + bytes(44)), f"is for {OTHER}, and"),
    "other library": (lambda root: compiled(library(root, "libascendcl.so"), "int unrelated;"), "needs the symbol"),
    "too old": (lambda root: version_file(root, "5.1.RC2"), "CANN 5.1.RC2 at * is too old for mindtorch"),
}


def contains(text, expected):
    """Whether the parts of `expected` between stars stand in the text in this order."""
    for part in expected.split("*"):
        _, found, text = text.partition(part)
        if not found:
            return False
    return True


def problems(answers):
    return [finding for finding in answers["doctor"]["findings"] if finding["state"] == "problem"]


@pytest.mark.parametrize("case", MUTILATED)
def test_a_mutilated_toolkit(case, tmp_path):
    mutilate, expected = MUTILATED[case]
    shutil.copytree(toolkit.SIMULATOR, tmp_path / "cann", symlinks=True)
    mutilate(tmp_path / "cann")
    answers = ask(ASCEND_HOME_PATH=str(tmp_path / "cann"))
    assert answers["available"] == ["False", "False"]
    warning, = answers["warnings"]
    assert warning.startswith("torch.npu.is_available() is False: ")
    assert contains(warning, expected)
    assert contains(answers["used"], "RuntimeError: *" + expected)
    found = problems(answers)
    assert answers["status"] == 1
    assert found
    assert all(finding["remedy"] for finding in found)
    if "damaged" not in expected and "shared" not in expected and "is for" not in expected:
        assert any(contains(finding["value"], expected) for finding in found)


def test_an_intact_toolkit(tmp_path):
    shutil.copytree(toolkit.SIMULATOR, tmp_path / "cann", symlinks=True)
    answers = ask(ASCEND_HOME_PATH=str(tmp_path / "cann"), MINDTORCH_SIM_DEVICES="2")
    assert (answers["available"], answers["warnings"], answers["status"]) == (["True", "True"], [], 0)
    devices = [finding for finding in answers["doctor"]["findings"] if finding["section"] == "devices"]
    assert [finding["name"] for finding in devices] == ["npu:0", "npu:1"]
    assert all(finding["value"].endswith("operators work") for finding in devices)


@pytest.mark.parametrize("level", ["above", "above a version", "below", "two below"])
def test_a_root_one_level_off_is_told_where_the_toolkit_is(level, tmp_path):
    root = tmp_path / "Ascend" / ("cann-8.5.0" if level == "above a version" else "cann")
    shutil.copytree(toolkit.SIMULATOR, root, symlinks=True)
    (root / "lib64" / "plugin").mkdir()
    named = {"below": root / "lib64", "two below": root / "lib64" / "plugin"}.get(level, root.parent)
    answers = ask(MINDTORCH_CANN_HOME=str(named))
    assert f"{named} is used as the CANN toolkit because MINDTORCH_CANN_HOME names it, but the toolkit is at {root}. " \
        "Correct the variable" in answers["used"]


@pytest.mark.parametrize(("variable", "value", "expected"), [
    ("MINDTORCH_NPU", "foo", "MINDTORCH_NPU=foo is not known: use one of auto, cann, sim, off"),
    ("MINDTORCH_SIM_SOC", "H100", "MINDTORCH_SIM_SOC=H100 is not the name of an Ascend processor such as Ascend910B1"),
    ("MINDTORCH_SIM_MEMORY", "lots", "MINDTORCH_SIM_MEMORY=lots is not a size such as 32GiB"),
    ("MINDTORCH_SIM_DEVICES", "many", "MINDTORCH_SIM_DEVICES=many is not a number from 0 to 16"),
    ("MINDTORCH_SIM_KERNELS", "fast", "MINDTORCH_SIM_KERNELS=fast is not null"),
    ("MINDTORCH_SIM_COST", "lwo", "MINDTORCH_SIM_COST=lwo is not low, medium, high or a file that can be read"),
])
def test_an_unknown_value_is_an_error(variable, value, expected):
    answers = ask(**{"MINDTORCH_NPU": "sim", variable: value})
    assert expected in answers["used"]
    assert expected in (answers["warnings"] or answers["available"])[0]
    problem, = problems(answers)
    assert value in problem["value"]
    assert problem["remedy"]
    assert expected not in problem["remedy"]


def test_switched_off_is_said_without_a_warning():
    answers = ask(MINDTORCH_NPU="off")
    assert (problems(answers), answers["status"]) == ([], 0)
    assert {finding["name"] for finding in answers["doctor"]["findings"] if finding["state"] == "note"} == {
        "MINDTORCH_NPU"}
    assert (answers["available"], answers["warnings"]) == (["False", "False"], [])
    assert "switched off by MINDTORCH_NPU=off" in answers["used"]


def test_a_toolkit_that_is_asked_for_and_missing():
    answers = ask(MINDTORCH_NPU="cann")
    assert "MINDTORCH_NPU=cann asks for it" in answers["warnings"][0]
    assert problems(answers)[0]["remedy"].startswith("Install the CANN toolkit or name its folder")


# What the doctor sees besides

def states(findings):
    return {finding.name: finding.state for finding in findings}


@pytest.fixture
def environment(monkeypatch, tmp_path):
    for name in list(os.environ):
        if name.startswith(("MINDTORCH_", "ASCEND_", "ACL_", "PYTORCH_", "LD_LIBRARY_PATH", "TASK_QUEUE_ENABLE")):
            monkeypatch.delenv(name)
    monkeypatch.setattr(toolkit, "PREFIXES", (str(tmp_path / "opt"),))
    monkeypatch.setattr(toolkit, "DEVICE_NODES", str(tmp_path / "dev" / "davinci*"))
    monkeypatch.setattr(toolkit, "DRIVER", str(tmp_path / "driver"))
    return tmp_path


@pytest.mark.parametrize(("variable", "value", "state"), [
    ("ASCEND_OPP_PATH", "/nowhere/opp", "problem"),
    ("ASCEND_RT_VISIBLE_DEVICES", "all", "problem"),
    ("ASCEND_RT_VISIBLE_DEVICES", "0,1", "ok"),
    ("PYTORCH_NPU_ALLOC_CONF", "expandable_segments:perhaps", "problem"),
    ("ASCEND_LAUNCH_BLOCKING", "1", "note"),
    ("MINDTORCH_NPU", "off", "note"),
])
def test_settings(environment, monkeypatch, variable, value, state):
    monkeypatch.setenv(variable, value)
    assert states(doctor._settings())[variable] == state


def test_two_toolkits_that_contradict(environment, monkeypatch):
    (environment / "other").mkdir()
    (environment / "other" / "libascendcl.so").touch()
    monkeypatch.setenv("ASCEND_HOME_PATH", str(environment / "one"))
    monkeypatch.setenv("ASCEND_TOOLKIT_HOME", str(environment / "two"))
    monkeypatch.setenv("LD_LIBRARY_PATH", str(environment / "other"))
    assert states(doctor._settings()) == {"ASCEND_HOME_PATH": "ok", "ASCEND_TOOLKIT_HOME": "note",
                                          "LD_LIBRARY_PATH": "note"}


def test_a_device_without_a_driver(environment):
    (environment / "dev").mkdir()
    (environment / "dev" / "davinci0").touch()
    found = states(doctor._machine())
    assert (found["devices"], found["driver"], found["firmware"]) == ("ok", "problem", "problem")
    for name in ("driver", "firmware"):
        (environment / "driver" / name).mkdir(parents=True)
        (environment / "driver" / name / "version.info").write_text("Version=25.2.0\n")
    assert [finding.value for finding in doctor._machine()][1:] == ["25.2.0", "25.2.0"]


def test_a_device_that_the_user_may_not_open(environment, monkeypatch):
    (environment / "dev").mkdir()
    node = environment / "dev" / "davinci0"
    node.touch()
    monkeypatch.setattr(os, "access", lambda path, mode: path != str(node))
    permission, = (finding for finding in doctor._machine() if finding.name == "permission")
    assert (permission.value, permission.state) == (f"this user may not open {node}", "problem")


def test_the_simulator_on_a_machine_with_ascend(environment, monkeypatch):
    (environment / "dev").mkdir()
    (environment / "dev" / "davinci0").touch()
    monkeypatch.setenv("MINDTORCH_NPU", "sim")
    assert states(doctor._settings()) == {"MINDTORCH_NPU": "note"}


def test_a_wheel_for_an_older_release_and_a_toolkit_without_hccl(tmp_path, monkeypatch):
    shutil.copytree(toolkit.SIMULATOR, tmp_path / "cann", symlinks=True)
    for name in ("libhccl.so", "libhcomm.so"):
        library(tmp_path / "cann", name).unlink()
    monkeypatch.setattr(doctor.version, "cann", "8.0.0")
    found = list(doctor._toolkit(toolkit.Toolkit(tmp_path / "cann", "8.5.0")))
    assert {name: state for name, state in states(found).items() if state != "ok"} == {"fit": "note", "HCCL": "note"}
    assert "also calls what CANN 8.5.0 has added" in found[1].remedy


WORKS = {"name": "Ascend910B1", "free": 2**30, "total": 2**31, "error": None}


@pytest.mark.parametrize(("answer", "expected"), [
    ({"missing": [], "devices": [WORKS]}, {"loaded": "ok", "npu:0": "ok"}),
    ({"missing": ["aclnnAdd"], "devices": [WORKS]}, {"loaded": "ok", "operators": "note", "npu:0": "ok"}),
    ({"missing": [], "devices": []}, {"loaded": "ok", "count": "problem"}),
    ({"missing": [], "devices": [WORKS, {"error": "507015"}]}, {"loaded": "ok", "npu:0": "ok", "npu:1": "problem"}),
    ({"error": "No symbol. Install CANN again"}, {"start": "problem"})])
def test_what_the_probe_of_a_toolkit_answers(answer, expected):
    found = list(doctor._findings_of_probe({"toolkit": "CANN 8.5.0", **answer}))
    assert states(found) == expected
    assert all(bool(finding.remedy) == (finding.state != "ok") for finding in found)


def test_a_device_that_hangs(monkeypatch):
    def hang(*arguments, timeout, **options):
        raise subprocess.TimeoutExpired(arguments, timeout)

    monkeypatch.setattr(subprocess, "run", hang)
    finding, = doctor._probed(toolkit.Toolkit(toolkit.SIMULATOR, "8.5.0"))
    assert (finding.name, finding.value, finding.state) == ("start", "no answer within 120 s", "problem")


def test_a_library_that_ends_its_process(tmp_path):
    shutil.copytree(toolkit.SIMULATOR, tmp_path / "cann", symlinks=True)
    library(tmp_path / "cann").unlink()
    compiled(library(tmp_path / "cann"),
             "#include <stdlib.h>\n__attribute__((constructor)) void start(void) { abort(); }")
    done = subprocess.run([sys.executable, "-m", "mindtorch", "doctor"], capture_output=True, text=True, check=False,
                          env={**os.environ, "MINDTORCH_NPU": "cann", "MINDTORCH_CANN_HOME": str(tmp_path / "cann")})
    assert done.returncode == 1
    assert "the process ended by SIGABRT" in done.stdout
    assert "1 problem found." in done.stdout


def test_the_report_of_a_machine_that_is_fine():
    done = subprocess.run([sys.executable, "-m", "mindtorch", "doctor"], capture_output=True, text=True, check=False,
                          env={**os.environ, "MINDTORCH_NPU": "sim"})
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("No problem was found.\n")


def test_collect_env_has_the_findings():
    done = subprocess.run([sys.executable, "-m", "mindtorch", "-m", "torch.utils.collect_env"], capture_output=True,
                          text=True, check=True, env={**os.environ, "MINDTORCH_NPU": "sim"})
    for text in ("PyTorch version: 2.13.0", "numpy==", "Is CUDA available: False", "(simulated)", "No problem was"):
        assert text in done.stdout


def test_what_a_library_needs():
    assert "libnnopbase.so" in elf.read_needed(toolkit.find_library(toolkit.SIMULATOR, "libopapi.so"))
