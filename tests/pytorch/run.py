"""Runs PyTorch's own test files with torch, on the CPU, and with mindtorch. See README.md.

Exits with 1 where a test that torch passes fails with mindtorch and is not listed in failures-DEVICE.txt, or is listed
and passes.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from causes import cause
from worker import as_cpu, is_chosen

ONLY_CPU = "Only runs on cpu"           # what the decorator onlyCPU says as it skips a test
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build" / "pytorch-tests"
FILES = {name: int(every) for name, every in
         (line.split() for line in HERE.joinpath("files.txt").read_text().splitlines() if line[:1] not in ("#", ""))}


def fetch(suite):
    """Unpacks the test folder of PyTorch 2.6.0, from Debian's source package, into `suite`."""
    source = BUILD / "apt"
    source.mkdir(parents=True, exist_ok=True)
    for folder in ("lists/partial", "parts"):
        source.joinpath(folder).mkdir(parents=True, exist_ok=True)
    mirrors = [line.split()[1] for path in Path("/etc/apt").glob("sources.list.d/*.sources")
               for line in path.read_text().splitlines() if line.startswith("URIs:") and "security" not in line]
    mirror = (mirrors or ["http://deb.debian.org/debian"])[0]
    source.joinpath("sources.list").write_text(f"deb-src [trusted=yes] {mirror} trixie main\n")
    apt = ["apt-get", "-qq", "-o", f"Dir::Etc::SourceList={source}/sources.list",
           "-o", f"Dir::Etc::SourceParts={source}/parts", "-o", f"Dir::State::Lists={source}/lists"]
    subprocess.run([*apt, "update"], check=True)
    with tempfile.TemporaryDirectory(dir=source) as work:
        subprocess.run([*apt, "source", "--download-only", "pytorch"], check=True, cwd=work)
        archive = next(Path(work).glob("pytorch_*.orig.tar.xz"))
        subprocess.run(["tar", "-xJf", archive, "-C", work, "--wildcards", "*/test/*"], check=True)
        next(Path(work).glob("*/test")).rename(suite)


def run(library, device, chosen, options):
    """Runs the files of `chosen`, {file: each K-th test, or names}, with one library."""
    env = dict(os.environ, OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1",
               PYTHONPATH=str(ROOT), PYTHONDONTWRITEBYTECODE="1", PYTHONHASHSEED="0",
               PYTORCH_PRINT_REPRO_ON_FAILURE="0", MINDTORCH_NPU="sim" if device == "npu" else "auto",
               MINDTORCH_SIM_MEMORY="2GiB")
    files = [f"{file}:{what}" if isinstance(what, int) else f"{file}:1:{','.join(what)}"
             for file, what in chosen.items()]
    results = BUILD / "results"
    results.mkdir(exist_ok=True)
    with open(results / f"{library}.{device}.log", "w") as log:
        subprocess.run(["nice", sys.executable, HERE / "worker.py", "--timeout", str(options.timeout),
                        "--residue", str(options.residue), library, device, BUILD / "suite", results, *files], env=env,
                       stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False)


def read(library, device, file):
    """{id: record} of the last run of a file, ids as on the CPU; the names it collected; None where it was not run."""
    path = BUILD / "results" / f"{file.replace('/', '.')}.{device}.{library}"
    if not path.exists():
        return None, ()
    tests, names = {}, ()
    for record in map(json.loads, path.read_text().splitlines()):
        if record["status"] == "import":
            return {}, ()
        if record["status"] == "collected":
            names = {as_cpu(name) for name in record["names"]}
        elif record["status"] != "start":
            tests[as_cpu(record["id"])] = record
    return tests, names


def compare(device, file, every, residue=0):
    """{id: record of mindtorch} of the tests that torch passes; what mindtorch did not collect is absent.

    On the NPU without those that PyTorch has for the CPU alone: its runner makes no such test for another device, or
    the test's decorator, onlyCPU, skips it there.
    """
    theirs, _ = read("torch", "cpu", file)
    ours, names = read("mindtorch", device, file)
    if theirs is None or ours is None:
        return {}
    made = read("torch", device, file)[1] if device != "cpu" else ()
    absent = {"status": "fail", "type": "absent", "message": "not collected"}
    return {name: ours.get(name, absent) for name, record in theirs.items()
            if record["status"] == "pass" and is_chosen(name, every, residue % every)
            and (name in ours or name not in names) and (not made or name in made)
            and ours.get(name, absent).get("message") != ONLY_CPU}


def listed(device):
    """{(file, id): cause} of failures-DEVICE.txt."""
    path = HERE / f"failures-{device}.txt"
    lines = path.read_text().splitlines() if path.exists() else []
    return {(file, name): why for file, name, why in (line.split(" ", 2) for line in lines if not line.startswith("#"))}


def write_list(device, failures):
    """Writes failures-DEVICE.txt."""
    head = (f"# What torch passes and mindtorch does not, on {device}: file, test, cause. `make test-pytorch` keeps\n"
            "# it true: a line goes when its test passes, and none comes.\n")
    lines = (f"{file} {name} {why}\n" for (file, name), why in sorted(failures.items()))
    HERE.joinpath(f"failures-{device}.txt").write_text(head + "".join(lines))


def report(device, files, residue=0):
    """Prints 'passed N of M' per file and in total; returns {(file, id): record} of all that were compared."""
    def line(what, found):
        passed = sum(record["status"] == "pass" for record in found.values())
        if found:
            print(f"{what:40} {passed:6} {len(found):6}  {passed / len(found):6.1%}")

    print(f"{device:40} passed     of")
    compared = {}
    for file, every in files.items():
        found = compare(device, file, every, residue)
        line(file, found)
        compared |= {(file, name): record for name, record in found.items()}
    line("total", compared)
    if device != "cpu":
        line("of these, on the device", {key: record for key, record in compared.items() if takes_device(key[1])})
    return compared


def is_for(device, file):
    """Whether a file of the list is run on a device: those of torch.distributed use gloo, which is for the CPU."""
    return device == "cpu" or not file.startswith("distributed/")


def takes_device(name):
    """Whether PyTorch makes the test for each device: then its class is called after one. Others run on the CPU."""
    return name.partition(".")[0].endswith("CPU")


def causes(failures):
    """Prints the causes of failures, by the number of tests that each costs."""
    groups = defaultdict(list)
    for key, why in failures.items():
        groups[why].append(key)
    for why, keys in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])):
        print(f"{len(keys):5} {why}   [{' '.join(min(keys))}]")


def changes(device, compared):
    """What contradicts the list: (listed tests that pass, tests that fail unlisted)."""
    known = listed(device)
    failing = {key for key, record in compared.items() if record["status"] != "pass"}
    return sorted(known.keys() & compared.keys() - failing), sorted(failing - known.keys())


def check(device, files, options):
    """Whether the list is true of the last run. What fails unlisted is run a second time, alone, before it counts."""
    compared = report(device, files, options.residue)
    passing, failing = changes(device, compared)
    if failing and not options.report:
        again = defaultdict(list)
        for file, name in failing:
            if "id" in compared[file, name]:                # it is there
                again[file].append(compared[file, name]["id"])
        run("mindtorch", device, again, options)
        compared = report(device, files, options.residue)
        passing, failing = changes(device, compared)
    if options.causes:
        causes({key: cause(*key, record) for key, record in compared.items() if record["status"] != "pass"})
    if options.update or options.write:
        known = listed(device)
        fresh = {key: cause(*key, compared[key]) for key in failing} if options.write else {}
        write_list(device, {key: why for key, why in (known | fresh).items() if key not in passing})
    for file, name in passing:
        print(f"{device}: passes, though failures-{device}.txt lists it: {file} {name}")
    for file, name in failing:
        print(f"{device}: fails, unlisted: {file} {name}: {cause(file, name, compared[file, name])}")
    return not passing and not failing


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", help="paths below PyTorch's test folder; those of files.txt without")
    parser.add_argument("--device", default="cpu,npu")
    parser.add_argument("--every", type=int, help="run each K-th test, in place of what files.txt says")
    parser.add_argument("--residue", type=int, default=0, help="which of the K parts; the lists are about part 0")
    parser.add_argument("--timeout", type=float, default=25, help="seconds for a test")
    parser.add_argument("--reuse", action="store_true", help="take torch's results from the last run")
    parser.add_argument("--report", action="store_true", help="run nothing, compare the last run's results")
    parser.add_argument("--causes", action="store_true", help="print why tests fail, by number of tests")
    parser.add_argument("--update", action="store_true", help="take from the lists what passes")
    parser.add_argument("--write", action="store_true", help="and add what fails")
    options = parser.parse_args()
    files = {file: options.every or FILES.get(file, 1) for file in options.files or FILES}
    BUILD.mkdir(parents=True, exist_ok=True)
    if not BUILD.joinpath("suite").exists():
        fetch(BUILD / "suite")
    if not options.report and not options.reuse:
        for device in {"cpu", *options.device.split(",")}:
            run("torch", device, files, options)
    true = True
    for device in options.device.split(","):
        own = files if options.files else {file: every for file, every in files.items() if is_for(device, file)}
        if not options.report:
            run("mindtorch", device, own, options)
        true &= check(device, own, options)
    sys.exit(not true)


if __name__ == "__main__":
    main()
