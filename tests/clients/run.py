"""Runs a script under the published torch_npu wheel on top of a CANN toolkit, such as the simulated one.

    python tests/clients/run.py --toolkit TOOLKIT_ROOT tests/clients/basic.py [ARGUMENT ...]

The interpreter must be that of an environment with torch and torch_npu in it (`make test-clients` makes one).

torch_npu links more libraries than a program of plain ACL and ACLNN calls needs: graph engine, data transfer and
others. What the toolkit lacks of them is made up for by libraries in which every function the wheel wants and nobody
defines names itself and aborts. So the wheel loads, and nothing it really calls goes unnoticed. `--list` prints what
the toolkit lacks. The exit status is the script's.
"""
import argparse
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

# Libraries that the wheel names in its NEEDED entries.
LINKED = ("hccl", "ascendcl", "acl_op_compiler", "ge_runner", "graph", "acl_tdt_channel")
# Symbols that the interpreter or the compiler's runtime provides.
PROVIDED = re.compile(r"_?Py|_ITM_|__gmon_start__|__cxa_|_ZTH")
SYSTEM_FOLDERS = ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64")
SYSTEM_LIBRARIES = ("libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libgcc_s.so.1",
                    "libstdc++.so.6", "ld-linux-x86-64.so.2")

FUNCTION = """\
    .globl {name}
    .type {name}, @function
{name}:
    leaq .Lname_{name}(%rip), %rdi
    call puts@PLT
    xorl %edi, %edi
    call fflush@PLT
    call abort@PLT
"""
NAME = '.Lname_{name}: .asciz "torch_npu called {name}, which the toolkit does not define"\n'


def symbols(library, kind):
    """Names in the dynamic symbol table: kind is "--defined-only" or "--undefined-only"."""
    table = subprocess.run(["nm", "-D", kind, library], capture_output=True, text=True, check=False).stdout
    return {fields[-1].split("@")[0] for line in table.splitlines() if len(fields := line.split()) >= 2}


def wheel_libraries(site):
    """The wheel's own libraries, those of the optional ATB component aside."""
    found = [*(site / "torch_npu" / "lib").glob("*.so"), *(site / "torch_npu").glob("_C*.so")]
    return sorted(path for path in found if "atb" not in path.name)


def lacking(wheel, site, lib64):
    """The functions that the wheel links and that no library at hand defines."""
    system = [path for name in SYSTEM_LIBRARIES for folder in SYSTEM_FOLDERS if (path := Path(folder, name)).exists()]
    defined = set()
    for library in [*wheel, *(site / "torch" / "lib").glob("*.so*"), *lib64.glob("lib*.so"), *system]:
        defined |= symbols(library, "--defined-only")
    wanted = set().union(*(symbols(library, "--undefined-only") for library in wheel))
    return sorted(name for name in wanted - defined if not PROVIDED.match(name))


def write_library(folder, library, names, lib64):
    """lib<library>.so, whose functions abort; a look-up through it reaches libascendcl, as on a real installation."""
    source = folder / f"{library}.S"
    source.write_text("    .text\n" + "".join(FUNCTION.format(name=name) for name in names)
                      + "    .section .rodata\n" + "".join(NAME.format(name=name) for name in names)
                      + '    .section .note.GNU-stack,"",@progbits\n', encoding="utf-8")
    subprocess.run([os.environ.get("CC", "cc"), "-shared", f"-Wl,-soname,lib{library}.so",
                    "-o", folder / f"lib{library}.so", source, f"-L{lib64}", "-Wl,--no-as-needed", "-lascendcl",
                    f"-Wl,-rpath-link,{lib64}"], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--toolkit", type=Path, required=True, help="root of the toolkit; its lib64 is searched")
    parser.add_argument("--list", action="store_true", help="print what the toolkit lacks, run nothing")
    parser.add_argument("script", nargs="?")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()

    lib64 = options.toolkit.resolve() / "lib64"
    site = Path(sysconfig.get_paths()["purelib"])
    wheel = wheel_libraries(site)
    if not wheel:
        sys.exit("torch_npu is not installed in this environment")
    missing = lacking(wheel, site, lib64)
    absent = [name for name in LINKED if not (lib64 / f"lib{name}.so").exists()]
    if options.list:
        print("libraries the toolkit lacks:", *absent)
        print("functions the toolkit lacks:", *missing)
        return 0
    if missing and not absent:
        sys.exit(f"the toolkit has every library, but not these functions: {' '.join(missing)}")
    if not options.script:
        parser.error("which script?")
    with tempfile.TemporaryDirectory() as folder:
        for index, library in enumerate(absent):
            write_library(Path(folder), library, missing if index == 0 else [], lib64)
        environment = dict(os.environ, LD_LIBRARY_PATH=f"{lib64}:{folder}")
        return subprocess.run([sys.executable, options.script, *options.arguments], env=environment,
                              check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
