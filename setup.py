"""Build: generated op code, Cython modules, and the simulated CANN toolkit as plain shared libraries.

Everything else about the package stands in pyproject.toml. MINDTORCH_BUILD_JOBS sets how many compilers run at once
(default: the number of cores); MINDTORCH_WERROR=1 makes compiler warnings errors; MINDTORCH_BUILD_OPTIMIZE=0 (or 1)
compiles everything at that level, in half the time; MINDTORCH_BUILD_CACHE names a folder for what has been compiled.
MINDTORCH_CANN=8.5.0 makes the wheel for that release of CANN, mindtorch-X.Y.Z+cann8.5.0.
MINDTORCH_HOMEPAGE=https://github.com/OWNER/NAME, the address of the repository, goes into the metadata; no archive is
released without (.ci/check-release).
Every few seconds the build prints its progress; pip shows it with --verbose.
"""
import hashlib
import importlib.util
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import FIRST_EXCEPTION, ProcessPoolExecutor, ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path

import numpy
from Cython.Utils import file_generated_by_this_cython
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).parent
sys.path.insert(0, str(ROOT / "mindtorch" / "_ops"))   # the generator must not need the package that it builds

import codegen.__main__ as op_generator  # noqa: E402
import codegen.fit as fit  # noqa: E402
import codegen.sim_exports as sim_exports  # noqa: E402
from codegen.dependencies import Stamp, headers_of, up_to_date  # noqa: E402

INCLUDE = ["include", "mindtorch/_npu/_gen", numpy.get_include()]
SIM = "mindtorch/_sim"
TOOLKIT = "mindtorch._sim.toolkit"
SIM_CANN_VERSION = "8.5.0"
# The release that the wheel is for; its code is that of every other wheel.
CANN = os.environ.get("MINDTORCH_CANN") or None
VERSION_FILE = Path("mindtorch", "version.py")
WARNINGS = ["-Wall", "-Wextra"] + (["-Werror"] if os.environ.get("MINDTORCH_WERROR") == "1" else [])
# What Cython writes by design: parameters of unused slots, tables filled in part, comparisons of its own ints.
CYTHON_WARNINGS = ["-Wno-unused-parameter", "-Wno-missing-field-initializers", "-Wno-unused-function",
                   "-Wno-sign-compare", "-Wno-cast-function-type", "-Wno-ignored-optimization-argument"]
# Tensors are made by tp_new with a tuple: Cython's vectorcall form of it would unpack the tuple each time.
MACROS = [("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION"), ("CYTHON_CLINE_IN_TRACEBACK", "0"),
          ("CYTHON_VECTORCALL_TPNEW", "0")]


def optimize(level):
    return f"-O{os.environ.get('MINDTORCH_BUILD_OPTIMIZE', level)}"


# -O1, and of -O2 what code gains from that is calls and branches, without loops: it takes a third less to compile.
# Zig's clang stops at names of GCC's that it does not know.
QUICK = [optimize(2)] if "zig" in os.environ.get("CC", "") else [
    optimize(1), "-finline-small-functions", "-fpartial-inlining", "-foptimize-sibling-calls"]
# Where -O3 shows: in most of what `a + b` costs, as it inlines more, and in the generator, whose loops it vectorises.
HOT = {f"mindtorch/{name}.pyx" for name in ("_core/operators/run_operator", "_core/python/operator_function",
                                            "_core/tensor/generator", "_core/tensor/tensor", "_npu/aclnn_call",
                                            "_npu/launch", "_npu/segments")}


class SharedLibrary(Extension):
    """A plain C++ library of the simulated toolkit; there is no Python module in it."""

    def __init__(self, library, folder, needs=(), precompiled=None, **options):
        sources = sorted(str(p) for p in Path(SIM, folder).rglob("*.cpp"))
        super().__init__(f"{TOOLKIT}.lib64.{library}", sources, language="c++", **options)
        self.library = library
        self.needs = needs                  # libraries of the toolkit that this one links
        self.precompiled = precompiled      # a header that most of its sources include: it is compiled once
        self.lock = threading.Lock()        # held while that header is compiled


# Where a library of the toolkit finds the others, and the BLAS: here, or in the package that is installed beside ours.
RUN_PATH = "$ORIGIN:$ORIGIN/../../../../scipy_openblas32/lib"
# In the order of linking.
LIBRARIES = [
    SharedLibrary("ascendcl", "runtime", precompiled="runtime/runtime.h"),
    SharedLibrary("acl_op_compiler", "op_compiler", needs=["ascendcl"]),
    SharedLibrary("nnopbase", "nnopbase", needs=["ascendcl"]),
    # Kernels, of the simulator and of the CPU device: no errno and no floating point traps, which keep loops from being
    # vectorised and change no result; no fused multiply-add, so that every processor computes the same bits.
    SharedLibrary("mindtorch_kernels", "opapi", libraries=["dl"], precompiled="opapi/loops.h",
                  extra_compile_args=[optimize(3), "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off"]),
    SharedLibrary("hccl", "hccl", needs=["mindtorch_kernels", "ascendcl"]),
    SharedLibrary("hcomm", "hcomm", needs=["hccl"]),
    SharedLibrary("opapi", "phases", needs=["mindtorch_kernels", "nnopbase", "ascendcl"]),
]


DIRECTIVES = {"boundscheck": False, "wraparound": False, "initializedcheck": False, "cdivision": True, "binding": True,
              "auto_pickle": False, "emit_code_comments": False,    # a fifth less C; no class is pickled
              "allow_none_for_extension_args": False,               # torch.Tensor.short(None) is a TypeError
              "optimize.unpack_method_calls": False}                # few of our calls are of bound methods
# The module that has what Cython would write into each module: the class of functions, the reading of keywords, ...
SHARED_UTILITIES = "mindtorch._core._gen.cython_shared"


def cython_modules():
    yield cython_extension(SHARED_UTILITIES, f"{SHARED_UTILITIES.replace('.', '/')}.c", QUICK)
    for path in sorted(Path("mindtorch").rglob("*.pyx")):
        level = [optimize(3)] if path.as_posix() in HOT else QUICK
        yield cython_extension(".".join(path.with_suffix("").parts), str(path), level)


def cython_extension(name, source, level):
    return Extension(name, [source], include_dirs=INCLUDE, define_macros=MACROS,
                     extra_compile_args=[*level, "-g0", "-fvisibility=hidden", *WARNINGS, *CYTHON_WARNINGS])


def write_shared_utilities(path):
    """Has Cython write the module SHARED_UTILITIES, without what its memory views need: we have none."""
    if not file_generated_by_this_cython(path):
        subprocess.run([sys.executable, "-m", "cython", "generate-shared", path, "--module-name", SHARED_UTILITIES,
                        "--exclude", "MemoryView"], check=True)


def find_pxd_file(name, source_file_path):
    """The .pxd file of a module of ours. Cython would look for each name in all of sys.path; others never change."""
    places = (name.replace(".", "/") + end for end in (".pxd", "/__init__.pxd"))
    return next((path for path in places if os.path.exists(path)), None)


class Cache:
    """What compilers have made, by what they made it of, so that another build takes it: the wheel's, of an archive."""

    def __init__(self, folder, compiler):
        self.folder = Path(folder)
        version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False).stdout
        self.common = hashlib.sha256(f"{version} {sys.version} {numpy.__version__}".encode())

    def make(self, target, sources, command, compile):
        """Copies to `target` what was made of the sources by the command, or compiles it and keeps a copy."""
        digest = self.common.copy()
        digest.update(repr(command).encode())
        for source in sources:
            digest.update(Path(source).read_bytes())
        kept, target = self.folder / digest.hexdigest(), Path(target)
        if kept.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(kept, target)
            return
        compile()
        self.folder.mkdir(parents=True, exist_ok=True)
        whole = shutil.copy(target, f"{kept}.{os.getpid()}")
        os.replace(whole, kept)


class Build(build_ext):
    """build_ext that also knows SharedLibrary, compiles in parallel, and takes what a Cache has."""

    def finalize_options(self):
        super().finalize_options()
        self.folder = os.environ.get("MINDTORCH_BUILD_CACHE")
        self.in_tree = self.inplace or self.editable_mode
        if self.in_tree:            # keep what is compiled, so that building again compiles only what has changed
            self.build_temp = os.path.join("build", "inplace", "objects")
            self.build_lib = os.path.join("build", "inplace", "lib")

    def get_ext_filename(self, name):
        extension = self.ext_map.get(name)
        if isinstance(extension, SharedLibrary):
            *package, library = name.split(".")      # asked for with and without its package
            return os.path.join(*package, f"lib{library}.so")
        return super().get_ext_filename(name)

    def get_export_symbols(self, extension):
        return extension.export_symbols     # a plain library has no PyInit function

    def build_extensions(self):
        from Cython.Build import cythonize
        from Cython.Build.Dependencies import create_dependency_tree
        from Cython.Compiler import Code, Options
        Options.warning_errors = True
        # Of a module's strings. The functions that unpack them would be 350 lines of each module.
        vars(Code).get("compression_algorithms", []).clear()
        jobs = int(os.environ.get("MINDTORCH_BUILD_JOBS", os.cpu_count() or 1))
        self.cache = Cache(f"{self.folder}/objects", self.compiler.compiler_so[0]) if self.folder else None
        modules = [e for e in self.extensions if not isinstance(e, SharedLibrary)]
        units = [unit for library in LIBRARIES for unit in self._stale_units(library)]
        dependencies = create_dependency_tree(quiet=True)
        dependencies.context.find_pxd_file = find_pxd_file
        write_shared_utilities(modules[0].sources[0])
        for module in modules[1:]:  # read once, for all processes that are forked here
            dependencies.newest_dependency(module.sources[0])
        # Cython needs processes of its own, which are forked before there are threads; a thread waits for each of them.
        with (ProcessPoolExecutor(jobs, multiprocessing.get_context("fork")) as cython,
              ThreadPoolExecutor(jobs) as compilers):
            cython.submit(abs, 0).result()
            translate = partial(cython.submit, cythonize, quiet=True, cache=self.folder and f"{self.folder}/cython",
                                language_level=3, compiler_directives=DIRECTIVES,
                                shared_utility_qualified_name=SHARED_UTILITIES)
            work = [([path for source in module.sources for path in (source, *dependencies.included_files(source))],
                     self._build_module, module, translate) for module in modules]
            work += [([unit[1], *(h for h in unit[3] if h.endswith(".inc"))], self._compile, *unit) for unit in units]
            work.sort(key=lambda task: sum(map(os.path.getsize, task[0])), reverse=True)    # the largest first
            self._follow({compilers.submit(*task[1:]): task[0][0] for task in work})
        for library in LIBRARIES:
            self._link_library(library)

    def _follow(self, work):
        """Waits for `work`, tasks by what they compile, and says every few seconds how far it is."""
        start, waiting = time.monotonic(), set(work)
        try:
            while waiting:
                done, waiting = wait(waiting, timeout=5, return_when=FIRST_EXCEPTION)
                for task in done:
                    task.result()
                running = sorted(Path(work[task]).name for task in waiting if task.running())
                print(f"mindtorch: compiled {len(work) - len(waiting)} of {len(work)} files in "
                      f"{time.monotonic() - start:.0f} s{', at ' * bool(running)}{', '.join(running)}", flush=True)
        finally:
            for task in waiting:
                task.cancel()

    def _build_module(self, module, translate):
        (translated,) = translate([module]).result()
        module.sources = translated.sources
        self.build_extension(module)

    def build_extension(self, module):
        command = [self.compiler.compiler_so, self.compiler.linker_so, module.name, module.extra_compile_args,
                   module.define_macros]
        compile = partial(super().build_extension, module)
        target = self.get_ext_fullpath(module.name)
        headers = [header for path in module.sources for header in headers_of(path, INCLUDE[:2])]
        stamp = self._stamp(module.name, target, module.sources, headers)
        if self.force or not stamp.up_to_date():
            self._make(target, [*module.sources, *headers], command, compile)
            stamp.write()

    def _stamp(self, name, target, sources, headers):
        return Stamp(Path(self.build_temp, "stamps", name.replace("/", ".")), target, sources, headers)

    def _make(self, target, sources, command, compile):
        Path(target).unlink(missing_ok=True)    # setuptools looks at the times of sources alone, not of headers
        if self.cache:
            self.cache.make(target, sources, command, compile)
        else:
            compile()

    def copy_extensions_to_source(self):
        ROOT.joinpath(*TOOLKIT.split("."), "lib64").mkdir(parents=True, exist_ok=True)
        super().copy_extensions_to_source()

    def run(self):
        if CANN:
            fit.check(CANN)
        super().run()
        if not self.in_tree:        # always, since the folder may be that of another wheel's build
            text = VERSION_FILE.read_text(encoding="utf-8").replace("\ncann = None", f"\ncann = {CANN!r}")
            Path(self.build_lib, VERSION_FILE).write_text(text, encoding="utf-8")
        package = ROOT if self.in_tree else Path(self.build_lib)
        self._complete_toolkit(package.joinpath(*TOOLKIT.split(".")))
        subprocess.run([sys.executable, "-B", "-m", "mindtorch._stubs.generate"], cwd=package, check=True)

    def _objects(self, library):
        return {s: os.path.join(self.build_temp, os.path.splitext(s)[0] + ".o") for s in library.sources}

    def _stale_units(self, library):
        """(library, source, object) of what has to be compiled."""
        if library.library in ("mindtorch_kernels", "opapi"):
            exports = os.path.join(self.build_temp, "sim_exports")
            sim_exports.main([exports])
            library.include_dirs.append(exports)
        for source, target in self._objects(library).items():
            headers = headers_of(source, ("include", SIM, *library.include_dirs))
            if self.force or not self._stamp(source, target, [source], headers).up_to_date():
                yield library, source, target, headers

    def _compile(self, library, source, target, headers):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        command = [*self.compiler.compiler_so_cxx, "-std=c++17", optimize(2), "-g0", "-fPIC", "-fvisibility=hidden",
                   "-pthread", *WARNINGS, *library.extra_compile_args]
        quick = QUICK if source.endswith("exports.cpp") else []     # what the generator writes has no loops
        folders = [f"-I{d}" for d in ["include", SIM, *library.include_dirs]]
        common = library.precompiled and os.path.join(SIM, library.precompiled)

        def compile():
            precompiled = self._precompile(library, common, [*command, *folders]) if common in headers else []
            self.spawn([*command, *quick, *precompiled, *folders, "-c", source, "-o", target])

        self._make(target, [source, *headers], [*command, *quick], compile)
        self._stamp(source, target, [source], headers).write()

    def _precompile(self, library, header, command):
        """Compiles a header that many sources include, unless it is up to date, and returns options that include it.

        A compiler that cannot use what is compiled reads the header.
        """
        includes = Path(self.build_temp, "precompiled", f"{library.library}.h")
        target = f"{includes}.gch"
        with library.lock:
            if not up_to_date(target, header, *headers_of(header, ("include", SIM))):
                includes.parent.mkdir(parents=True, exist_ok=True)
                includes.write_text(f'#include "{library.precompiled}"\n', encoding="utf-8")
                self.spawn([*command, "-x", "c++-header", str(includes), "-o", target])
        return ["-include", str(includes)]

    def _link_library(self, library):
        target = self.get_ext_fullpath(library.name)
        folder = os.path.dirname(target)
        os.makedirs(folder, exist_ok=True)
        objects = list(self._objects(library).values())
        if self.force or not up_to_date(target, *objects):
            self.spawn([*self.compiler.linker_so_cxx, *objects, "-o", target, "-pthread", "-Wl,--no-undefined",
                        f"-Wl,-soname,lib{library.library}.so", f"-Wl,-rpath,{RUN_PATH}", f"-L{folder}",
                        *(f"-L{d}" for d in library.library_dirs), "-Wl,--no-as-needed",
                        *(f"-l{name}" for name in [*library.needs, *library.libraries])])

    def _complete_toolkit(self, root):
        """The files beside the libraries: versions, declarations, what build tools read, in a source tree the BLAS."""
        for package in ("runtime", "opbase", "ops_math", "ops_nn"):
            info = root / "share" / "info" / package
            info.mkdir(parents=True, exist_ok=True)
            (info / "version.info").write_text(f"Version={SIM_CANN_VERSION}\n", encoding="utf-8")
        for folder, name in (("pkgconfig", "cann.pc"), ("cmake/CANN", "CANNConfig.cmake")):
            text = Path(SIM, "development", name).read_text(encoding="utf-8").replace("@VERSION@", SIM_CANN_VERSION)
            target = root / "lib64" / folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        include = root / "include"
        if not self.in_tree:
            shutil.copytree("include", include, dirs_exist_ok=True)
        elif not include.exists():
            include.symlink_to(ROOT / "include")
        blas = importlib.util.find_spec("scipy_openblas32")
        if self.in_tree and blas:
            library = Path(blas.origin).with_name("lib") / "libscipy_openblas.so"
            link = root / "lib64" / library.name
            link.unlink(missing_ok=True)
            link.symlink_to(library)
        if not self.in_tree:        # a tenth less to load and to store; debuggers miss the lines, not the functions
            subprocess.run(["strip", "--strip-debug", *Path(self.build_lib).rglob("*.so")], check=True)


def generate():
    """Runs the generator, unless its inputs and outputs are those of its last run. pip runs this file three times."""
    folders = [Path("mindtorch", name) for name in ("_ops", "_core", "_npu", "_cpu")] + [Path("include", "aclnnop")]
    suffixes = (".toml", ".jsonl", ".txt", ".py", ".pyx", ".pxd", ".pxi", ".h")
    stamp = Path("mindtorch", "_core", "_gen", ".generated")

    def files():
        return sorted(map(str, [path for folder in folders for path in folder.rglob("*") if path.suffix in suffixes]
                          + [Path("mindtorch", "return_types.py"), *Path("docs").glob("*.md")]))

    if not (stamp.exists() and stamp.read_text(encoding="utf-8").split("\n") == files()
            and up_to_date(stamp, *files())):
        op_generator.main([])
        stamp.write_text("\n".join(files()), encoding="utf-8")


os.chdir(ROOT)
generate()
version = re.search('(?m)^mindtorch = "(.+)"', VERSION_FILE.read_text(encoding="utf-8"))[1]
def project_urls() -> dict:
    """The addresses of the metadata: those of the project as far as the build is told where it lives."""
    home = os.environ.get("MINDTORCH_HOMEPAGE", "").rstrip("/")
    own = {"Source": home, "Documentation": f"{home}#readme", "Issues": f"{home}/issues",
           "Changelog": f"{home}/blob/main/CHANGELOG.md"}
    return {**(own if home else {}), "CANN documentation": "https://www.hiascend.com/document"}


setup(version=f"{version}+cann{CANN.lower()}" if CANN else version, ext_modules=[*cython_modules(), *LIBRARIES],
      cmdclass={"build_ext": Build}, project_urls=project_urls())
