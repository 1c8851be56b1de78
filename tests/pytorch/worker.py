"""Runs test files of PyTorch with one library, and writes a JSON line per test to RESULTS/FILE.DEVICE.LIBRARY. Of
mindtorch it asks only what torch passes, by the results that lie there. Of torch on another device than the CPU, which
it does not have, it writes the names of the tests alone.

The library and the helpers are imported once. A child is forked for each file, and by that one a child for every eight
tests: a crash or a hang costs one test, and what a test leaves behind (hooks, modes) few others.

usage: worker.py [--timeout S] [--residue R] LIBRARY DEVICE SUITE RESULTS FILE:EVERY[:NAME,NAME...] ...
"""
import argparse
import contextlib
import hashlib
import importlib
import importlib.util
import json
import os
import re
import signal
import sys
import time
import traceback
import types
import unittest
import warnings
from pathlib import Path

HELPERS = ["common_methods_invocations", "common_modules", "common_optimizers", "common_nn"]
EXCLUDED = re.compile("_refs_|python_ref|TestRefs")     # torch._refs, PyTorch's Python references, is private
BATCH = 8
# Files of torch.distributed that ask for GPUs: what their text says of them -> what it says here, of this device, for
# both libraries.
FOR_GPUS = re.compile(r"distributed/(_composable/(fsdp|test_composability)|fsdp|algorithms|optim|checkpoint)/")
WITHOUT_GPUS = [(re.compile(pattern, re.MULTILINE), text) for pattern, text in (
    (r"^ *@(skip_if_lt_x_gpu|require_n_gpus_for_nccl_backend|unittest\.skip(If|Unless)\([^()]*(CUDA|GPU)).*\n", ""),
    (r"^ *@(skip_if_rocm_multiprocess|requires_nccl\(\)|skip_if_no_gpu)\n", ""),
    (r"\b(torch|device_module)\.cuda\.device_count\(\)", "2"),
    (r"\btorch\.cuda\.manual_seed\b", "torch.manual_seed"),
    (r"torch\.device\(\"cuda\", [\w.()]+\)|torch\.device\(f?\"cuda:[^\"]*\"\)", "torch.device(\"DEVICE\")"),
    (r"f?\"cuda(:[^\"]*)?\"", "\"DEVICE\""),
    (r"\"(cpu:gloo,cuda:)?nccl\"", "\"BACKEND\""), (r"\bBackend\.NCCL\b", "Backend.BACKEND"),
    (r"device_ids=\[self\.rank\]", "device_ids=None"),
    (r"\.cuda\(([^()]|\(\))*\)", ".DEVICE()"),
    (r"\btorch\.cuda\.", "torch.DEVICE."),
)]


def as_cpu(name):
    """The id that a test has with torch on the CPU. mindtorch's modules say that they are mindtorch's."""
    for theirs, ours in (("_nn_", "_mindnn_"), ("_cpu", "_npu"), ("CPU", "PRIVATEUSE1"), ("CPU.", "NPU.")):
        name = name.replace(ours, theirs)
    return name


def is_chosen(name, every, residue=0):
    """Whether a test is in one of `every` parts: by a hash of its id, so that all libraries run the same."""
    return int.from_bytes(hashlib.md5(as_cpu(name).encode()).digest()[:6]) % every == residue


# ---------------------------------------------------------------------------------------------------- importing

class Removed:
    """A name that torch had in 2.6 and has no more in 2.13: false, empty, a decorator that changes nothing."""

    def __init__(self, name):
        self.__name__ = name

    def __call__(self, *args, **kwargs):
        return args[0] if len(args) == 1 and callable(args[0]) else self

    def __bool__(self):
        return False

    def __iter__(self):
        return iter(())

    def __radd__(self, other):
        return other


def prepare(library, device, suite, files):
    """Imports the library, and the helpers that most files need."""
    os.environ.update(PYTORCH_SUITE=str(suite), PYTORCH_TESTING_DEVICE_ONLY_FOR=device, PYTORCH_SHIM=device,
                      PYTHONPATH=os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]))
    helpers = HELPERS if any(not file.startswith("distributed/") for file in files) else ["common_device_type"]
    names = ["torch.testing._internal." + name for name in helpers]
    if library == "torch":
        del os.environ["PYTORCH_SHIM"]
        if device != "cpu":
            add_device(device)
        for name in names:
            importlib.import_module(name)
        fork_ranks()
        return
    import shim
    shim.install(device)
    with shim.permissive():
        for name in names:
            importlib.import_module(name)
        fork_ranks()
    tolerate_empty_lists()


def fork_ranks():
    """The ranks of a test of torch.distributed are forked from its process, where PyTorch starts each anew."""
    import torch.multiprocessing
    from torch.testing._internal.common_distributed import MultiProcessTestCase
    forked = torch.multiprocessing.get_context("fork").Process
    MultiProcessTestCase._spawn_processes = lambda self: self._start_processes(forked)


def tolerate_empty_lists():
    """@ops or @parametrize with a list that is empty, since what it names is missing, makes no tests."""
    from torch.testing._internal import common_device_type, common_utils
    for kind in (common_device_type.ops, common_utils.parametrize):
        def _parametrize_test(self, *args, plain=kind._parametrize_test, **kwargs):
            try:
                yield from plain(self, *args, **kwargs)
            except ValueError as error:
                if "An empty " not in str(error):
                    raise
        kind._parametrize_test = _parametrize_test


def without_gpus(suite, file, device):
    """A copy of a test file that asks for GPUs, which asks for the device."""
    text = suite.joinpath(file).read_text()
    backend = "gloo" if device == "cpu" else "hccl"
    for pattern, instead in WITHOUT_GPUS:
        text = pattern.sub(instead.replace("Backend.BACKEND", f"Backend.{backend.upper()}").replace(
            "BACKEND", backend).replace("DEVICE", device), text)
    torch = sys.modules["torch"]
    torch.accelerator.device_count = lambda: 4          # as many as any of the files asks for
    path = suite / "without_gpus" / device / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def load(suite, file, device):
    """The module of a test file, imported under its own name."""
    path = without_gpus(suite, file, device) if FOR_GPUS.match(file) else suite / file
    sys.path[1:1] = [str(path.parent), str(suite)]
    sys.argv[:] = [str(path)]
    os.chdir(suite)
    undefined = {}
    while True:
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
        vars(module).update(undefined)
        try:
            with sys.modules["shim"].permissive() if "shim" in sys.modules else contextlib.nullcontext():
                spec.loader.exec_module(module)
            return module
        except ImportError as error:            # a name that torch has removed: the same for both libraries
            found = re.match(r"cannot import name '(\w+)' from '(?:mind)?(torch\b[\w.]*)'", str(error))
            helpers = sys.modules.get(found[2]) if found else None
            if helpers is None or hasattr(helpers, found[1]):
                raise
            setattr(helpers, found[1], getattr(helpers, found[1].removesuffix("_and_refs"), Removed(found[1])))
        except NameError as error:              # a class that a helper that is missing would have put into the module
            if "shim" not in sys.modules or error.name in undefined or type(error) is not NameError:
                raise
            undefined[error.name] = type(error.name, (unittest.TestCase,), {})


def add_device(name):
    """Gives torch a device of an out-of-tree backend, so that PyTorch's helpers make the tests for one. None runs."""
    import torch
    torch.utils.rename_privateuse1_backend(name)
    module = types.ModuleType(f"torch.{name}")
    module.is_available, module.device_count, module.current_device = lambda: True, lambda: 1, lambda: 0
    torch._register_device_module(name, module)


def load_tests(module):
    """The tests of a module, by their ids. A class that cannot be instantiated has none."""
    found = {}
    for kind in vars(module).values():
        if isinstance(kind, type) and issubclass(kind, unittest.TestCase):
            with contextlib.suppress(Exception):
                found |= tests_of(unittest.defaultTestLoader.loadTestsFromTestCase(kind))
    return found


def tests_of(suite):
    """The tests of a unittest suite, by their ids."""
    if isinstance(suite, unittest.TestSuite):
        return {name: test for each in suite for name, test in tests_of(each).items()}
    return {f"{type(suite).__name__}.{suite._testMethodName}": suite}


# ------------------------------------------------------------------------------------------------------ running

class Result(unittest.TestResult):
    """What became of one test: the worst of what its parts reported."""
    STATUSES = ["pass", "skip", "fail"]

    def __init__(self):
        super().__init__()
        self.record = {"status": "pass"}

    def _worst(self, status, **about):
        if self.STATUSES.index(status) > self.STATUSES.index(self.record["status"]):
            self.record = {"status": status, **about}

    def addError(self, test, error):
        self._worst("fail", **described(error[1]))

    addFailure = addError

    def addSkip(self, test, reason):
        self._worst("skip", message=str(reason)[:200])

    def addUnexpectedSuccess(self, test):
        self._worst("fail", type="AssertionError", message="unexpected success")

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self._worst("fail", **described(error[1]))


def described(error):
    """What led to an exception: helpers raise theirs from it."""
    root = error
    while root.__cause__ is not None:
        root = root.__cause__
    frames = traceback.extract_tb(root.__traceback__ or error.__traceback__)
    kind, message = type(root).__name__, str(root)
    if re.match(r"(Process|Thread) \d+ exited with", message):        # a rank: what it raised
        kind, message = re.findall(r"^(?:\w+\.)*(\w+): (.*)", message, re.MULTILINE)[-1]
    return {"type": kind, "message": message[:700],
            "frames": [f"{'/'.join(Path(f.filename).parts[-2:])}:{f.lineno}:{f.name}" for f in frames[-6:]],
            "line": next((f.line for f in reversed(frames) if f.filename.startswith(os.environ["PYTORCH_SUITE"])), "")}


class Timeout(BaseException):
    """A test takes too long."""


def run_test(test, timeout):
    """The record of one test."""
    def alarm(*_):
        raise Timeout

    signal.signal(signal.SIGALRM, alarm)
    signal.setitimer(signal.ITIMER_REAL, timeout)
    result = Result()
    try:
        with warnings.catch_warnings():
            type(test).setUpClass()
            test.run(result)
        return result.record
    except unittest.SkipTest as reason:
        return {"status": "skip", "message": str(reason)[:200]}
    except Timeout:
        return {"status": "timeout"}
    except BaseException as error:  # noqa: BLE001 - whatever a test raises is its result, SystemExit too
        return {"status": "fail", **described(error)}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def run_batch(tests, timeout, write):
    """In a child of its own."""
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    for name, test in tests.items():
        write(id=name, status="start")
        began = time.monotonic()
        record = run_test(test, timeout)
        write(id=name, seconds=round(time.monotonic() - began, 2), **record)
        if device_failed():             # and stays so in this process
            return


def device_failed():
    """Whether a test has left the device of this process unusable, as an index out of bounds does."""
    npu = getattr(sys.modules.get("mindtorch"), "npu", None)
    try:
        if npu and npu.is_initialized():
            npu.synchronize()
    except RuntimeError:
        return True
    return False


def wait(child, path, patience):
    """The status of a child that ends, and True where it had to be killed: nothing was written for `patience` s."""
    size = os.path.getsize(path)
    changed = time.monotonic()
    while True:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return status, False
        if os.path.getsize(path) != size:
            size, changed = os.path.getsize(path), time.monotonic()
        elif time.monotonic() - changed > patience:
            os.killpg(child, signal.SIGKILL)
            return os.waitpid(child, 0)[1], True
        time.sleep(0.02)


def records_since(path, offset):
    """The records that have been written completely from `offset` on."""
    with open(path) as file:
        file.seek(offset)
        return [json.loads(line) for line in file if line.endswith("\n")]


def passed_by_torch(path):
    """The tests that count: those that torch passes, by its results."""
    return {record["id"] for record in records_since(path, 0) if record["status"] == "pass"}


def run_file(options, file, every, wanted):
    """Runs the chosen tests of one file; or those `wanted`, again, whose results then come behind the others."""
    path = options.results / f"{file.replace('/', '.')}.{options.device}.{options.library}"
    if not wanted:
        path.write_text("")

    def write(**record):
        with open(path, "a") as out:
            out.write(json.dumps(record) + "\n")

    try:
        module = load(options.suite, file, options.device)
        tests = load_tests(module)
    except BaseException as error:  # noqa: BLE001 - a file that raises as it is imported has no tests
        write(status="import", **described(error))
        return
    tests = {name: test for name, test in tests.items() if not EXCLUDED.search(name)
             and is_chosen(name, every, options.residue % every) and (not wanted or name in wanted)}
    if not wanted:
        missing = getattr(sys.modules.get("shim"), "missing_names", ())
        write(status="collected", names=list(tests), missing=sorted(missing))
    if options.library == "torch" and options.device != "cpu":
        return
    if options.library == "mindtorch":
        passed = passed_by_torch(options.results / f"{file.replace('/', '.')}.cpu.torch")
        tests = {name: test for name, test in tests.items() if as_cpu(name) in passed}
    todo = sorted(tests)
    while todo:
        offset = path.stat().st_size
        child = os.fork()
        if child == 0:
            run_batch({name: tests[name] for name in todo[:BATCH]}, options.timeout, write)
            os._exit(0)
        status, killed = wait(child, path, options.timeout + 8)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)            # what its tests left running
        records = records_since(path, offset)
        ended = {each["id"] for each in records if each["status"] != "start"}
        started = {each["id"] for each in records} or {todo[0]}
        for name in started - ended:
            write(id=name, status="timeout" if killed else "crash", message=f"signal {status & 127}")
        todo = [name for name in todo if name not in started]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--timeout", type=float, default=25)
    parser.add_argument("--residue", type=int, default=0)
    parser.add_argument("library", choices=["mindtorch", "torch"])
    parser.add_argument("device")
    parser.add_argument("suite", type=lambda path: Path(path).resolve())
    parser.add_argument("results", type=lambda path: Path(path).resolve())
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    prepare(options.library, options.device, options.suite, options.files)
    for item in options.files:
        file, every, wanted = (item + "::").split(":")[:3]
        child = os.fork()
        if child == 0:
            try:
                run_file(options, file, int(every), set(filter(None, wanted.split(","))))
            finally:
                sys.stdout.flush()
                os._exit(0)
        os.waitpid(child, 0)
        print(options.library, options.device, file, flush=True)


if __name__ == "__main__":
    main()
