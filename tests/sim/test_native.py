"""The simulator's own tests, against its C API: every `tests/sim/<library>/*.cpp` is a program that prints "ok".

`plain` runs them on the toolkit as it is installed, `valgrind` under Memcheck too. The sanitizers compile the library
sources once more, into `build/native/<variant>`, and only what has changed since. They run with
`pytest -m sanitizers` and `pytest -m valgrind`.

Adding a test is adding a file.
"""
import fcntl
import functools
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytestmark = pytest.mark.one_mode

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SOURCES = ROOT / "mindtorch" / "_sim"
PROGRAMS = sorted(HERE.glob("*/*.cpp"))
INCLUDE = [ROOT / "include", SOURCES]
FLAGS = ["-std=c++17", "-fPIC", "-pthread", "-Wall", "-Wextra", "-Werror"]
SANITIZERS = {
    # No check of enum values: a C caller may pass any int, and refusing it is what is tested.
    "address": ["-O0", "-fsanitize=address,undefined", "-fno-sanitize=enum", "-fno-sanitize-recover=all"],
    "thread": ["-O1", "-fsanitize=thread"],
}
# No search for leaks (the counts of live objects find them): in a forked child it walks device memory, page by page.
VALGRIND = ["valgrind", "-q", "--error-exitcode=9", "--leak-check=no", f"--suppressions={HERE / 'valgrind.supp'}"]
# The addresses that are reserved for a larger device are more than valgrind gives.
SMALL_DEVICE = {"MINDTORCH_SIM_MEMORY": "256MiB"}
SANITIZED = ["-g1", "-fno-omit-frame-pointer"]
# The programs run for moments: without optimisation they are ready sooner. Undefined behaviour is looked for in the
# libraries; in the programs it would take the compiler half as long again.
PROGRAM = ["-O0", "-g1", "-fno-omit-frame-pointer"]
PROGRAM_SANITIZERS = {"address": ["-fsanitize=address"], "thread": ["-fsanitize=thread"]}
# Folder of the sources: name of the library and the libraries it links, in the order of building.
LIBRARIES = {
    "runtime": ("ascendcl", []),
    "nnopbase": ("nnopbase", ["ascendcl"]),
    "opapi": ("mindtorch_kernels", []),
    "phases": ("opapi", ["mindtorch_kernels", "nnopbase", "ascendcl"]),
    "op_compiler": ("acl_op_compiler", ["ascendcl"]),
    "hccl": ("hccl", ["mindtorch_kernels", "ascendcl"]),
}
# What the programs of a folder are linked with.
NEEDS = {"runtime": ["runtime"], "opapi": ["runtime", "nnopbase", "opapi", "phases"],
         "op_compiler": ["runtime", "op_compiler"], "hccl": ["runtime", "opapi", "hccl"]}
# The headers that say what a library exports.
HEADERS = {"runtime": ["acl/acl_base_rt.h", "acl/acl_rt.h"], "opapi": ["aclnn/*.h", "aclnnop/*.h"],
           "op_compiler": ["acl/acl_op_compiler.h"], "hccl": ["hccl/hccl.h"]}
DECLARATION = re.compile(r"^(?!typedef)(?:const )?\w+ \**(acl\w+|hccl\w+)\(", re.MULTILINE | re.IGNORECASE)
ENVIRONMENT = {
    "ASAN_OPTIONS": "detect_leaks=1:detect_stack_use_after_return=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1",
}


def run(command, **options):
    """Runs a command; its output is the failure's text."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        pytest.fail(f"{' '.join(map(str, command))}\nexit status {done.returncode}\n{done.stdout}{done.stderr}",
                    pytrace=False)
    return done.stdout


def outdated(target, *sources):
    return not target.exists() or any(s.stat().st_mtime > target.stat().st_mtime for s in sources)


def headers():
    """What the libraries' sources include: all but the declarations of operators, which only programs need."""
    folders = (*(ROOT / "include" / part for part in ("acl", "aclnn", "hccl", "mindtorch")), SOURCES, HERE)
    return [path for folder in folders for path in folder.rglob("*") if path.suffix in (".h", ".inc", ".def")]


def extras(folder, build):
    """Generated sources of a library: (sources, include folders)."""
    if folder not in ("opapi", "phases"):
        return [], []
    import scipy_openblas32
    generated = build / "sim_exports"
    newest = max(p.stat().st_mtime for p in [*SOURCES.rglob("*.cpp"), *(ROOT / "mindtorch" / "_ops").rglob("*.py")])
    if not generated.exists() or generated.stat().st_mtime < newest:
        run([sys.executable, "-m", "mindtorch._ops.codegen.sim_exports", generated], cwd=ROOT)
        generated.touch()
    blas = build / "libscipy_openblas.so"       # which the library looks for in its own folder
    if not blas.exists():
        blas.symlink_to(Path(scipy_openblas32.get_lib_dir()) / blas.name)
    return sorted(generated.glob("*.cpp")), [generated]


def compile_objects(sources, folder, options):
    """Compiles what is out of date, in parallel; returns the objects."""
    folder.mkdir(parents=True, exist_ok=True)
    objects = [folder / f"{source.stem}_{len(source.parts)}.o" for source in sources]
    with ThreadPoolExecutor(int(os.environ.get("MINDTORCH_BUILD_JOBS", os.cpu_count() or 1))) as pool:
        work = [pool.submit(run, ["g++", "-c", source, "-o", target, *options])
                for source, target in zip(sources, objects, strict=True) if outdated(target, source, *headers())]
        for done in work:
            done.result()
    return objects


@functools.cache
def sanitized_library(folder, variant):
    """Builds one library with a sanitizer, in one of the processes that test; returns the folder it is in."""
    build = ROOT / "build" / "native" / variant
    build.mkdir(parents=True, exist_ok=True)
    with open(build / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        build_sanitized(folder, variant, build)
    return build


def build_sanitized(folder, variant, build):
    name, links = LIBRARIES[folder]
    generated, include = extras(folder, build)
    sources = [*sorted((SOURCES / folder).rglob("*.cpp")), *generated]
    options = [*FLAGS, *SANITIZED, *SANITIZERS[variant], "-fvisibility=hidden", *(f"-I{i}" for i in INCLUDE + include)]
    objects = compile_objects(sources, build / folder, options)
    library = build / f"lib{name}.so"
    if outdated(library, *objects):
        run(["g++", "-shared", "-o", library, *objects, f"-Wl,-soname,lib{name}.so", "-pthread", *SANITIZERS[variant],
             f"-L{build}", "-Wl,-rpath,$ORIGIN", *(f"-l{link}" for link in links), "-ldl"])


def declare(library, folder):
    """Writes declared.h, with a library's headers, and declared.inc, with DECLARED(name) for all their functions."""
    include = ROOT / "include"
    headers = sorted(path for pattern in HEADERS[library] for path in include.glob(pattern))
    names = [name for header in headers for name in DECLARATION.findall(header.read_text())]
    if library == "opapi":      # of operators without a kernel one is as good as all, which take minutes to compile
        from mindtorch._ops.codegen import aclnn, sim_exports
        absent = sorted(aclnn.operators().keys() - sim_exports.runnable().keys())[1:]
        names = sorted(set(names).difference(absent, (f"{name}GetWorkspaceSize" for name in absent)))
    assert names
    (folder / "declared.h").write_text("".join(f'#include "{h.relative_to(include)}"\n' for h in headers))
    (folder / "declared.inc").write_text("".join(f"DECLARED({name})\n" for name in names))


def library_folder(program, variant):
    if variant in SANITIZERS:
        return [sanitized_library(folder, variant) for folder in NEEDS[program.parent.name]][-1]
    from mindtorch import sim  # here, so that the sanitizers' runs need no built package
    lib64 = sim.toolkit() / "lib64"
    if not (lib64 / "libascendcl.so").exists():
        pytest.fail(f"the simulated toolkit is not built: {lib64} is missing", pytrace=False)
    return lib64


def runs():
    """Every program in each variant; kernels that know of no thread are left out of the thread sanitizer."""
    for program in PROGRAMS:
        threads = program.parent.name != "opapi" or "<thread>" in program.read_text(encoding="utf-8")
        for variant in ("plain", "valgrind", "address", *(["thread"] if threads else [])):
            mark = {"plain": (), "valgrind": pytest.mark.valgrind}.get(variant, pytest.mark.sanitizers)
            yield pytest.param(program, variant, id=f"{program.parent.name}-{program.stem}-{variant}", marks=mark)


@pytest.mark.parametrize(("program", "variant"), list(runs()))
def test_native(program, variant, tmp_path):
    if variant == "valgrind" and shutil.which("valgrind") is None:
        pytest.fail("install the package valgrind", pytrace=False)
    lib64 = library_folder(program, variant)
    libraries = [f"-l{LIBRARIES[folder][0]}" for folder in reversed(NEEDS[program.parent.name])]
    binary = tmp_path / program.stem
    if "declared.inc" in program.read_text(encoding="utf-8"):
        declare(program.parent.name, tmp_path)
    run(["g++", program, "-o", binary, *FLAGS, *PROGRAM, *PROGRAM_SANITIZERS.get(variant, []),
         *(f"-I{i}" for i in [*INCLUDE, tmp_path]), f"-L{lib64}", *libraries, f"-Wl,-rpath,{lib64}",
         f"-Wl,-rpath-link,{lib64}"])
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("MINDTORCH_", "ASCEND_"))}
    if variant == "valgrind":
        out = run([*VALGRIND, binary], env=clean | SMALL_DEVICE, timeout=300)
    else:
        # A sanitizer's dlopen does not look where the library that calls it says.
        blas = {"MINDTORCH_SIM_BLAS": str(lib64 / "libscipy_openblas.so")} if variant in SANITIZERS else {}
        out = run([binary], env=clean | ENVIRONMENT | blas, timeout=300)
    assert out.splitlines()[-1:] == ["ok"]
