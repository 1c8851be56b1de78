"""Shared by the rungs: operands, the measurement of a rung, and native parts that are built before it."""
import ctypes
import os
import shlex
import subprocess
import time
from importlib.util import module_from_spec, spec_from_file_location
from itertools import repeat
from pathlib import Path

ROOT = Path(__file__).parent.parent
BUILD = Path(__file__).parent / "build"
COUNT = 1000            # ops in one timed call: stays below the depth of a stream's queue
ROUNDS = 60
INCLUDE = [str(ROOT / "include")]


def seconds_per_operator():
    """The clock of the benches: their rounds are COUNT operators, so what they measure is the time of one."""
    return time.perf_counter() / COUNT


def measure(benchmark, rung, op, run, synchronize):
    """Times run(COUNT), which does the op COUNT times; the stream is empty before each round and after it."""
    benchmark.group, benchmark.name = op, rung
    benchmark.extra_info.update(rung=rung, op=op)

    def timed():
        run(COUNT)
        synchronize()

    benchmark.pedantic(timed, rounds=ROUNDS, warmup_rounds=3, setup=synchronize)


def python_loop(statement, **names):
    """A function of a count that runs `statement` so many times, as a user's own loop would."""
    scope = dict(names, repeat=repeat)
    exec(f"def run(count):\n    for _ in repeat(None, count):\n        {statement}", scope)
    return scope["run"]


class Buffers(ctypes.Structure):
    """struct Buffers of floor.c."""

    _fields_ = [("x", ctypes.c_void_p), ("y", ctypes.c_void_p), ("out", ctypes.c_void_p),
                ("workspace", ctypes.c_void_p), ("workspace_bytes", ctypes.c_uint64), ("stream", ctypes.c_void_p)]


def build_floor(toolkit):
    """floor.c, compiled against our declarations and linked with the toolkit's libraries."""
    BUILD.mkdir(exist_ok=True)
    library = BUILD / "libfloor.so"
    lib64 = Path(toolkit) / "lib64"
    subprocess.run([*shlex.split(os.environ.get("CC", "cc")), "-O2", "-Wall", "-Wextra", "-shared", "-fPIC",
                    f"-I{ROOT / 'include'}", ROOT / "bench" / "floor.c", "-o", library, f"-L{lib64}",
                    f"-Wl,-rpath,{lib64}", "-lopapi", "-lnnopbase", "-lascendcl"], check=True)
    return ctypes.CDLL(str(library))


def build_loop(name):
    """bench/{name}.pyx as a module: it cimports what the package has below Python, as the generated code does."""
    from Cython.Build import cythonize
    from setuptools import Distribution, Extension
    extension = Extension(name, [str(ROOT / "bench" / f"{name}.pyx")], include_dirs=INCLUDE,
                          extra_compile_args=["-O2", "-g0"])
    modules = cythonize([extension], build_dir=str(BUILD), include_path=[str(ROOT)], quiet=True, language_level=3)
    command = Distribution({"ext_modules": modules}).get_command_obj("build_ext")
    command.build_lib = command.build_temp = str(BUILD)
    command.ensure_finalized()
    command.run()
    spec = spec_from_file_location(name, command.get_ext_fullpath(name))
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
