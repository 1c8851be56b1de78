"""Every wheel on every toolkit: a wheel for a release of CANN runs on that release and on newer ones, and calls what
both have. Wheels differ in `torch.version.cann` alone (tests/test_packaging.py builds one), which a child sets."""
import json
import os
import shutil
import subprocess
import sys

import pytest
from releases import LAYOUT_CHANGED, is_newer, lay_out

from mindtorch import version
from mindtorch._npu import toolkit
from mindtorch._ops.codegen import fit
from mindtorch._ops.codegen.aclnn import operators
from mindtorch.npu import doctor

pytestmark = pytest.mark.one_mode

# Functions that CANN gained on the way, and calls of each: of rows without a fallback.
CALLS = {
    "aclnnAdd": "x + x",
    "aclnnGer": "torch.outer(x, x)",
    "aclnnFastGelu": "torch.ops.npu.npu_fast_gelu(x)",
    "aclnnLeftShift": "torch.tensor([2], device='npu') << torch.tensor([1], device='npu')",
}
WHEELS = (None, *toolkit.RELEASES)
# A process for each toolkit and wheel, and one for all wheels that a toolkit is too old for.
PROGRAM = f"""
import json, os, sys
import mindtorch as torch
from mindtorch import version
from mindtorch._npu import aclnn_call      # once, with all that it needs, for the processes below
from mindtorch._npu._gen import calls, decompositions, thunks
torch.ones(2) + torch.ones(2)
def result(call):
    try:
        eval(call, {{"torch": torch, "x": torch.tensor([1.0, 2.0], device="npu")}}).cpu()
        return "ran"
    except (RuntimeError, NotImplementedError) as error:
        return str(error)
for root, *processes in json.loads(sys.argv[1]):
    for wheels in processes:
        if os.fork() == 0:
            for wheel in wheels:
                os.environ["MINDTORCH_CANN_HOME"], version.cann = root, wheel
                print(json.dumps([root, wheel, {{name: result(call) for name, call in {CALLS!r}.items()}}]), flush=True)
            sys.exit()
        os.wait()
"""
TOOLKITS = {(release, False): WHEELS for release in toolkit.RELEASES}
TOOLKITS |= {(release, True): (None, release) for release in toolkit.RELEASES if not is_newer(LAYOUT_CHANGED, release)}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    roots, work = {}, []
    for (release, split), wheels in TOOLKITS.items():
        root = str(lay_out(tmp_path_factory.mktemp("cann"), release, split))
        roots[root] = release, split
        newer = [wheel for wheel in wheels if wheel and is_newer(wheel, release)]
        work.append([root, newer, *([wheel] for wheel in wheels if wheel not in newer)])
    environment = {name: value for name, value in os.environ.items() if name not in toolkit.VARIABLES}
    done = subprocess.run([sys.executable, "-c", PROGRAM, json.dumps(work)], check=True, capture_output=True, text=True,
                          env={**environment, "MINDTORCH_NPU": "cann"})
    lines = map(json.loads, done.stdout.splitlines())
    return {(*roots[root], wheel): answers for root, wheel, answers in lines}


@pytest.mark.parametrize(("release", "split", "wheel"), [
    (*found, wheel) for found, wheels in TOOLKITS.items() for wheel in wheels])
def test_a_wheel_on_a_toolkit(results, release, split, wheel):
    answers = results[release, split, wheel]
    if wheel and is_newer(wheel, release):
        for answer in answers.values():
            assert answer.startswith(f"this mindtorch is built for CANN {wheel}, and CANN {release} at ")
            assert f"Install mindtorch=={version.mindtorch}+cann{release.lower()}, or" in answer
        return
    for name, answer in answers.items():
        since = operators()[name].since
        if is_newer(since, release):
            assert answer.startswith(f"{name} is not in CANN {release if not wheel else ''}")
        elif wheel and is_newer(since, wheel):
            assert answer == (f"{name} is not in CANN {wheel}, which this mindtorch is built for; it came with CANN "
                              f"{since}. Install mindtorch=={version.mindtorch}+cann{release.lower()}")
        else:
            assert answer == "ran"


@pytest.mark.parametrize(("found", "wheel"), [
    ("8.0.0", "8.0.0"), ("8.0.RC3", None), ("8.1.RC1", "8.1.RC1"), ("8.3.RC2", "8.3.RC1"), ("9.0.0.beta2", "8.5.0"),
    ("9.0.0-beta.2", "8.5.0"), ("9.0.0", "9.0.0"), ("9.2.0", "9.1.0"), ("unknown", None),
])
def test_the_wheel_for_a_toolkit(found, wheel):
    assert toolkit.release_for(found) == wheel


def test_versions_are_sorted_by_age():
    ages = ["unknown", "5.1.RC2", "8.0.RC1", "8.0.RC3", "8.0.0", "8.1.RC1", "8.3.RC1", "8.3.RC2", "8.5.0.alpha1",
            "8.5.0-beta.2", "8.5.0", "8.5.1", "9.0.0", "9.10.0"]
    keys = [toolkit.version_key(age) for age in ages]
    assert sorted(keys) == keys
    assert len(set(map(tuple, keys))) == len(ages)


def test_an_older_wheel_works_and_the_doctor_says_so(monkeypatch):
    monkeypatch.setattr(version, "cann", "8.1.RC1")
    found = {finding.name: finding for finding in doctor._toolkit(toolkit.Toolkit(toolkit.SIMULATOR, "9.0.0"))}
    assert (found["fit"].state, found["fit"].value) == (
        "note", "mindtorch is built for CANN 8.1.RC1, which works on newer toolkits")
    assert f"mindtorch=={version.mindtorch}+cann9.0.0" in found["fit"].remedy
    monkeypatch.setattr(version, "cann", "9.0.0")
    assert "fit" not in {finding.name for finding in doctor._toolkit(toolkit.Toolkit(toolkit.SIMULATOR, "9.0.0"))}


# The build compares the calls with declarations.

@pytest.mark.parametrize("release", toolkit.RELEASES)
def test_the_calls_fit_the_prototypes_of_each_release(release):
    assert fit.differences(release) == ""


def test_the_calls_are_compared_by_a_compiler_that_always_compiles(tmp_path, monkeypatch):
    """As zig does, which refuses -fsyntax-only for the -c that it adds."""
    compiler = tmp_path / "cc"
    compiler.write_text('#!/bin/sh\ncase " $* " in *" -fsyntax-only "*) echo "unused: -c" >&2; exit 1;; esac\n'
                        'exec cc "$@"\n', encoding="utf-8")
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    assert fit.differences("8.5.0") == ""


@pytest.mark.parametrize(("header", "old", "new", "said"), [
    ("aclnn_cumsum.h", "int64_t dim", "double dim", "aclnnCumsum"),
    ("aclnn_erf.h", "aclnnErfGetWorkspaceSize", "aclnnErfV2GetWorkspaceSize", "aclnnErfGetWorkspaceSize"),
])
def test_a_difference_from_the_headers_of_an_installed_toolkit_stops_the_build(
        tmp_path, monkeypatch, header, old, new, said):
    root = tmp_path / "cann-8.5.0"
    shutil.copytree(fit.INCLUDE, root / "include", ignore=shutil.ignore_patterns("mindtorch"))
    monkeypatch.setenv("MINDTORCH_CANN_HOME", str(root))
    fit.check("8.5.0")
    fit.check("9.0.0")                              # of which no toolkit is installed
    path = root / "include" / "aclnnop" / header
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(SystemExit, match=rf"do not fit CANN 8\.5\.0 as {root}/include declares it(?s:.)*{said}"):
        fit.check("8.5.0")
    fit.check("9.0.0")


def test_a_release_without_a_wheel_is_refused():
    with pytest.raises(SystemExit, match=r"MINDTORCH_CANN=7\.0 is not a release of CANN with a wheel of its own"):
        fit.check("7.0")
