"""python -m mindtorch doctor: what mindtorch finds of CANN on this machine, what is wrong, and what to do about it.

    python -m mindtorch doctor           for people; ends with status 1 where something is wrong
    python -m mindtorch doctor --json    the same for programs

Nothing is loaded into the process itself: a child opens the libraries and runs an operator on each device, so a library
that crashes its process is a finding too.
"""
import argparse
import glob
import importlib.metadata
import json
import os
import platform
import signal
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from mindtorch import version
from mindtorch._npu import alloc_config, toolkit
from mindtorch._npu.acl_loader import wheel_for
from mindtorch._npu.elf import DamagedLibraryError, read_needed

__all__ = ["Finding", "examine", "main", "report"]

OK, NOTE, PROBLEM = "ok", "note", "problem"
PACKAGES = ("numpy", "scipy-openblas32", "scipy", "mpi4py")
DRIVER_NODES = ("/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc")
TIMEOUT = 120                    # seconds; the first operator of a device loads its kernels
# A child process prints the toolkit, its missing parts, and the result of a first operator on each device.
PROBE = """
import json, sys
from mindtorch.npu.doctor import probe
json.dump(probe(), sys.stdout)
"""


@dataclass(frozen=True)
class Finding:
    """One line of the report. `state` is "ok", "note" or "problem"; `remedy` says what to do about the latter two."""
    section: str
    name: str
    value: str
    state: str = OK
    remedy: str = ""


def examine():
    """All findings, in the order of the report."""
    findings = [*_software(), *_settings(), *_machine()]
    if (os.environ.get("MINDTORCH_NPU") or "auto") not in ("auto", "cann", "sim"):
        return findings                 # no toolkit is wanted, or nobody knows which: the settings say so
    try:
        found = toolkit.find()
    except RuntimeError as error:
        return [*findings, _of_error("toolkit", error)]
    findings += _toolkit(found)
    if not any(finding.state == PROBLEM for finding in findings):
        findings += _probed(found)
    return findings


def _of_error(name, error):
    """What an error message of ours says: what is wrong and, in its last sentence, what to do about it."""
    message, _, remedy = str(error).rpartition(". ")
    if not message:                     # one sentence, such as the simulator's about one of its variables
        message, remedy = remedy, "Correct what the message names, or unset it"
    return Finding("CANN", name, message, PROBLEM, remedy)


def _software():
    built = f"built for CANN {version.cann}, " if version.cann else ""
    yield Finding("software", "mindtorch", f"{version.mindtorch}, {built}stands for torch "
                  f"{version.__version__.split('+')[0]}")
    yield Finding("software", "Python", f"{platform.python_version()} at {sys.executable}")
    yield Finding("software", "system", f"{platform.platform()}, {os.cpu_count()} processors")
    for name in PACKAGES:
        try:
            yield Finding("software", name, importlib.metadata.version(name))
        except importlib.metadata.PackageNotFoundError:
            continue


def _settings():
    """The environment variables that mindtorch and CANN read, and where they contradict each other."""
    prefixes = ("MINDTORCH_", "ASCEND_", "ACL_", "ACLNN_", "HCCL_", "TASK_QUEUE_ENABLE", "STREAMS_PER_DEVICE",
                *alloc_config.VARIABLES)
    given = {name: value for name, value in sorted(os.environ.items()) if name.startswith(prefixes)}
    problems = dict(_problems(given))
    for name, value in given.items():
        state, remedy = problems.pop(name, (OK, ""))
        yield Finding("settings", name, value, state, remedy)
    for name, (state, remedy) in problems.items():
        yield Finding("settings", name, os.environ.get(name, ""), state, remedy)


def _problems(given):
    """(variable, (state, what to do)) of those that are wrong or surprising."""
    mode = given.get("MINDTORCH_NPU") or "auto"
    if mode not in toolkit.MODES:
        yield "MINDTORCH_NPU", (PROBLEM, f"Use one of {', '.join(toolkit.MODES)}")
    if mode == "off":
        yield "MINDTORCH_NPU", (NOTE, "The NPU is switched off; unset it to use one")
    if mode == "sim" and (any(toolkit.installed_roots()) or glob.glob(toolkit.DEVICE_NODES)):
        yield "MINDTORCH_NPU", (NOTE, "This machine has Ascend, but the simulator is used; unset it to use the device")
    named = [name for name in toolkit.VARIABLES if given.get(name)]
    for name in named[1:]:
        if Path(given[name]).resolve() != Path(given[named[0]]).resolve():
            yield name, (NOTE, f"{named[0]} names another toolkit, and wins; let both name one, or unset one")
    operators = given.get("ASCEND_OPP_PATH")
    if operators and not Path(operators).is_dir():
        yield "ASCEND_OPP_PATH", (PROBLEM, "There is no such folder; source the set_env.sh of the toolkit in use")
    try:
        alloc_config.from_environment()
    except (RuntimeError, ValueError) as error:
        name = next(name for name in alloc_config.VARIABLES if os.environ.get(name))
        yield name, (PROBLEM, f"{error}. Correct or unset it")
    devices = given.get("ASCEND_RT_VISIBLE_DEVICES")
    if devices is not None and not all(entry.strip().isdecimal() for entry in devices.split(",")):
        yield "ASCEND_RT_VISIBLE_DEVICES", (PROBLEM, "Write indices of devices, such as 0,1. With an empty or unknown "
                                            "value no device is visible")
    for name in ("ACL_LAUNCH_BLOCKING", "ASCEND_LAUNCH_BLOCKING"):
        if given.get(name) == "1":
            yield name, (NOTE, "The host waits for every operator: right for finding faults, else unset it")
    paths = [Path(folder) for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    other = [folder for folder in paths if (folder / "libascendcl.so").is_file()]
    root = named and Path(given[named[0]]).resolve()
    if root and other and root not in other[0].resolve().parents:
        yield "LD_LIBRARY_PATH", (NOTE, f"{other[0]} is of another toolkit than {named[0]}; other programs would load "
                                  "that one. Source the set_env.sh of one toolkit only")


def _machine():
    """Device nodes, driver and firmware."""
    nodes = sorted(glob.glob(toolkit.DEVICE_NODES))
    yield Finding("machine", "devices", ", ".join(nodes) or "none")
    root = toolkit.driver_root()
    for name in ("driver", "firmware"):
        found = toolkit.version_in(root / name / "version.info")
        if found or not nodes:
            yield Finding("machine", name, found or "none")
        else:
            yield Finding("machine", name, f"none at {root / name}", PROBLEM,
                          f"Install the Ascend {name}, or correct its path in {toolkit.DRIVER_INFO}")
    present = filter(os.path.exists, (*nodes, *DRIVER_NODES))
    closed = [node for node in present if not os.access(node, os.R_OK | os.W_OK)]
    if closed:
        yield Finding("machine", "permission", f"this user may not open {', '.join(closed)}", PROBLEM,
                      "Add the user to the group of these files (usually HwHiAiUser) and log in again")


def _toolkit(found):
    """The folders that were searched, and the files of the toolkit that was found."""
    searched = [name for name in toolkit.VARIABLES if os.environ.get(name)] or [*toolkit.PREFIXES]
    yield Finding("CANN", "searched", ", ".join(searched))
    release = toolkit.release_for(found.version)
    if version.cann and release and toolkit.version_key(version.cann) < toolkit.version_key(release):
        yield Finding("CANN", "fit", f"mindtorch is built for CANN {version.cann}, which works on newer toolkits", NOTE,
                      f"{wheel_for(found.version)} also calls what CANN {release} has added")
    yield Finding("CANN", "toolkit", str(found) if found.root != toolkit.SIMULATOR else f"none; simulated: {found}")
    for folder in toolkit.library_folders(found.root)[:1]:
        for path in sorted(folder.glob("lib*.so")):
            try:
                read_needed(path)
            except DamagedLibraryError as error:
                yield Finding("CANN", path.name, f"{path} {error}", PROBLEM, "Install the toolkit again")
    library = toolkit.find_library(found.root, "libhccl.so")
    yield Finding("CANN", "HCCL", str(library or "libhccl.so is not there"), OK if library else NOTE,
                  "" if library else "Communication between devices needs it: install CANN's package hccl")


def probe():
    """Loads CANN and runs an operator on each device. A dict for JSON; "error" stands for what did not work."""
    import mindtorch
    from mindtorch._npu import acl_loader, runtime
    try:
        acl_loader.ensure_acl()
        missing = acl_loader.missing_operators()
        count = runtime.device_count()
    except RuntimeError as error:
        return {"error": str(error)}
    return {"toolkit": str(acl_loader.toolkit()), "simulated": acl_loader.toolkit().simulated, "missing": missing,
            "devices": [_device(mindtorch, index) for index in range(count)]}


def _device(torch, index):
    try:
        name = torch.npu.get_device_name(index)
        free, total = torch.npu.mem_get_info(index)
        ones = torch.ones(4, 4, device=f"npu:{index}")
        result = (ones @ ones + ones).sum().item()
    except RuntimeError as error:
        return {"error": str(error)}
    error = None if result == 80 else f"ones(4, 4) @ ones(4, 4) + 1 adds up to {result} in place of 80"
    return {"name": name, "free": free, "total": total, "error": error}


def _probed(found):
    """The output of the child process, or its exit status."""
    paths = [str(Path(__file__).resolve().parents[2]), os.environ.get("PYTHONPATH")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    if found.root == toolkit.SIMULATOR:
        environment["MINDTORCH_NPU"] = "sim"
    try:
        child = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, timeout=TIMEOUT,
                               env=environment, check=False)
    except subprocess.TimeoutExpired:
        yield Finding("CANN", "start", f"no answer within {TIMEOUT} s", PROBLEM,
                      "A device hangs: `npu-smi info` shows its state; reset it or restart the machine")
        return
    if child.returncode != 0:
        end = f"by {signal.Signals(-child.returncode).name}" if child.returncode < 0 else child.stderr.strip()[-2000:]
        yield Finding("CANN", "start", f"the process ended {end}", PROBLEM,
                      "A library of the toolkit or the driver is damaged, or their versions do not match: install both "
                      "again, of one release")
        return
    yield from _findings_of_probe(json.loads(child.stdout))


def _findings_of_probe(answer):
    if "error" in answer:
        yield _of_error("start", answer["error"])
        return
    missing = answer["missing"]
    yield Finding("CANN", "loaded", answer["toolkit"])
    if missing:
        yield Finding("CANN", "operators", f"{len(missing)} that mindtorch calls are not in this toolkit: "
                      f"{', '.join(missing[:5])} ...", NOTE, "Functions that need them raise; a newer CANN has them")
    if not answer["devices"]:
        yield Finding("devices", "count", "0", PROBLEM, "No device is visible: check ASCEND_RT_VISIBLE_DEVICES and "
                      "`npu-smi info`; in a container, pass the devices on")
    for index, device in enumerate(answer["devices"]):
        if device["error"]:
            yield Finding("devices", f"npu:{index}", device["error"], PROBLEM,
                          "`npu-smi info` shows the health of the device; reset it or restart the machine")
        else:
            yield Finding("devices", f"npu:{index}", f"{device['name']}, {device['free'] / 2**30:.1f} of "
                          f"{device['total'] / 2**30:.1f} GiB free, operators work")


def report(findings):
    """The findings as text: a block for each section, remedies below what they are about."""
    marks = {OK: " ", NOTE: "!", PROBLEM: "x"}
    lines, section = [], None
    for finding in findings:
        if finding.section != section:
            section = finding.section
            lines += ["", section]
        value = finding.value.replace("\n", "\n" + " " * 23)
        lines.append(f"  {marks[finding.state]} {finding.name:18} {value}")
        if finding.remedy:
            lines.append(f"{' ' * 23}-> {finding.remedy}")
    problems = sum(finding.state == PROBLEM for finding in findings)
    lines += ["", "No problem was found." if not problems else f"{problems} problem{'s' * (problems > 1)} found."]
    return "\n".join(lines[1:])


def main(arguments=None):
    """The command. Returns 1 where there is a problem."""
    parser = argparse.ArgumentParser("python -m mindtorch doctor", description="Examines how this machine and CANN fit "
                                     "mindtorch. Ends with status 1 where there is a problem.")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    chosen = parser.parse_args(arguments)
    findings = examine()
    problems = any(finding.state == PROBLEM for finding in findings)
    if chosen.json:
        print(json.dumps({"ok": not problems, "findings": [asdict(finding) for finding in findings]}, indent=2))
    else:
        print(report(findings))
    return int(problems)


if __name__ == "__main__":
    sys.exit(main())
