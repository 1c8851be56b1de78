"""Runs the tests that published packages bring with their sources, with torch and, unmodified, with mindtorch: what
passes with torch alone is listed, by its error.

    python tests/clients/packages/own_tests.py --packages INTERPRETER [PACKAGE ...]

Run by an interpreter that has torch; INTERPRETER has the packages, pytest, what mindtorch needs, and no torch. pip
fetches the source archives into build/package-sources. The exit status is 1 where a test passes with torch alone.
"""
import argparse
import collections
import os
import subprocess
import sys
import tarfile
import xml.etree.ElementTree
from pathlib import Path

ROOT = Path(__file__).parents[3]
SOURCES = ROOT / "build" / "package-sources"
# Source archive -> the folders of its tests.
PACKAGES = {"linear_operator==0.6.1": ["test"], "gpytorch==1.15.2": ["test"]}
OPTIONS = ["-q", "-p", "no:cacheprovider", "-o", "addopts=", "-o", "python_files=test_*.py *_test.py", "-W", "ignore",
           "--continue-on-collection-errors"]


def unpacked(package):
    """The folder of a package's sources."""
    SOURCES.mkdir(parents=True, exist_ok=True)
    name = package.replace("==", "-")
    if not (SOURCES / name).exists():
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:",
                        "--no-build-isolation", "--dest", SOURCES, package], check=True)
        with tarfile.open(SOURCES / f"{name}.tar.gz") as archive:
            archive.extractall(SOURCES, filter="data")
    return SOURCES / name


def outcomes(command, folder, tests, report, path):
    """Test -> the message of its failure; "" where it passed."""
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(map(str, path)), MINDTORCH_NPU="sim")
    subprocess.run([*command, *OPTIONS, f"--junitxml={report}", *tests], cwd=folder, env=environment, check=False,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    found = {}
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        faults = [child.get("message") or child.tag for child in case if child.tag in ("failure", "error", "skipped")]
        found[f"{case.get('classname')}.{case.get('name')}"] = " ".join(faults[0].split())[:160] if faults else ""
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--packages", required=True)
    parser.add_argument("names", nargs="*", default=list(PACKAGES))
    args = parser.parse_args()
    listing = "import sys; print(*(each for each in sys.path if each.endswith('-packages')), sep='\\n')"
    packages = subprocess.run([args.packages, "-c", listing], check=True, capture_output=True, text=True).stdout.split()
    # The packages come after what the interpreter with torch has itself.
    behind = f"import sys; sys.path += {packages!r}; import pytest; sys.exit(pytest.main(sys.argv[1:]))"
    wrong = 0
    for name in args.names:
        folder = unpacked(name)
        theirs = outcomes([sys.executable, "-c", behind], folder, PACKAGES[name], SOURCES / f"{name}.torch.xml",
                          [folder])
        ours = outcomes([args.packages, "-m", "mindtorch", "-m", "pytest"], folder, PACKAGES[name],
                        SOURCES / f"{name}.mindtorch.xml", [folder, ROOT])
        passed = [test for test, fault in theirs.items() if not fault]
        faults = collections.Counter(ours.get(test, "not collected") for test in passed)
        print(f"{name}: {faults.pop('', 0)} of {len(passed)} tests that pass with torch")
        for fault, count in faults.most_common():
            print(f"  {count} x {fault}")
        wrong += sum(faults.values())
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
