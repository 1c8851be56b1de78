"""Allocators under one loop (pairs.c): what taking a block and giving it back costs."""
import ctypes
import os
import random
import shlex
import subprocess

from bench.rungs import BUILD, ROOT

KIB, MIB = 1 << 10, 1 << 20


def sizes_between(low, high, count=64):
    """As many small sizes as large ones: `count` of them, the same each time."""
    draw = random.Random(0)
    return [int(low * (high / low) ** draw.random()) for _ in range(count)]


# What is timed: sizes in turn, and how many blocks are in use while a pair is taken.
WORKLOADS = {"1000 B": ([1000], 1), "2 MiB": ([2 * MIB], 1), "12 MiB": ([12 * MIB], 1),
             "512 B to 16 MiB": (sizes_between(512, 16 * MIB), 16)}
# What is alive meanwhile: sizes in turn, and whether there are as many free blocks between those in use.
ARRANGEMENTS = {"of one size": ([1000], False), "of many sizes": (sizes_between(256, 64 * KIB), False),
                "of many sizes, gaps between": (sizes_between(256, 64 * KIB), True)}


def compile_native(source, library, *options):
    """bench/{source} as a shared library in the build folder, unless it is there already."""
    path, target = ROOT / "bench" / source, BUILD / library
    BUILD.mkdir(exist_ok=True)
    if not target.exists() or target.stat().st_mtime < path.stat().st_mtime:
        compiler = ("CXX", "c++ -std=c++17") if path.suffix == ".cpp" else ("CC", "cc")
        fresh = target.with_suffix(f".{os.getpid()}")        # other processes may do the same
        subprocess.run([*shlex.split(os.environ.get(*compiler)), "-O2", "-Wall", "-Wextra", "-shared", "-fPIC", path,
                        "-o", fresh, *map(str, options)], check=True)
        fresh.rename(target)
    return target


class Subject:
    """An allocator: the addresses of its functions `take` and `give`, and what gives its cache back."""

    def __init__(self, take, give, empty_cache):
        self.empty_cache = empty_cache
        self.library = ctypes.PyDLL(str(compile_native("pairs.c", "libpairs.so")))
        self.library.take_all.restype = ctypes.c_void_p
        self.library.time_pairs.restype = ctypes.c_double
        self.take, self.give = ctypes.c_void_p(take), ctypes.c_void_p(give)

    def measure(self, workloads, arrangement, live, count):
        """Nanoseconds of a pair of each workload, with so many blocks of an arrangement alive."""
        sizes, gaps = ARRANGEMENTS[arrangement]
        total = live * (1 + gaps)
        blocks = ctypes.c_void_p(self.library.take_all(self.take, self.give, *vector(sizes), ctypes.c_size_t(total)))
        if not blocks:
            raise MemoryError(f"{total} blocks {arrangement}")
        if gaps:
            self.library.make_gaps(self.give, blocks, ctypes.c_size_t(total))
        costs = [self.cost(*WORKLOADS[workload], count) for workload in workloads]
        self.library.give_all(self.give, blocks, ctypes.c_size_t(total))
        return costs

    def cost(self, sizes, window, count):
        numbers = map(ctypes.c_size_t, (window, count))
        cost = self.library.time_pairs(self.take, self.give, *vector(sizes), *numbers)
        if cost < 0:
            raise MemoryError(f"blocks of {sizes}")
        return cost


def vector(sizes):
    return (ctypes.c_uint64 * len(sizes))(*sizes), ctypes.c_size_t(len(sizes))


def addresses(library, *names):
    """Those of functions of a library; None: of the process."""
    functions = ctypes.CDLL(library)
    return [ctypes.cast(getattr(functions, name), ctypes.c_void_p).value for name in names]
