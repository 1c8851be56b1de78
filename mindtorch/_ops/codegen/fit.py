"""Whether the calls of rows fit a release of CANN: C compares them with the declarations of ACLNN's operators.

Those in include/aclnnop always; the vendor's too, where a toolkit of that release is installed with its headers.
"""
import functools
import importlib.util
import os
import shlex
import subprocess
import tempfile
from pathlib import Path

from . import emit_npu, emit_thunks
from .aclnn import operators
from .rows import Table

PACKAGE = Path(__file__).parents[2]
INCLUDE = PACKAGE.parent / "include"


@functools.cache
def toolkits():
    """mindtorch/_npu/toolkit.py, without the package, which is not built yet."""
    spec = importlib.util.spec_from_file_location("toolkit", PACKAGE / "_npu" / "toolkit.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@functools.cache
def calls():
    return emit_npu.Calls(Table())


def names_of(release) -> set:
    """The operators called that the release is known to have."""
    key = toolkits().version_key
    return {name for name in calls().operators if [] < key(operators()[name].since) <= key(release)}


def installed_includes(release) -> list:
    """Folders `include` of the toolkits of this release on this machine."""
    toolkit = toolkits()
    named = [Path(os.environ[name]) for name in toolkit.VARIABLES if os.environ.get(name)]
    roots = [root for root in [*named, *toolkit.installed_roots()]
             if toolkit.version_key(toolkit.read_version(root)) == toolkit.version_key(release)]
    return [folder for root in roots for folder in toolkit.include_folders(root) if (folder / "aclnnop").is_dir()]


def differences(release, include=None) -> str:
    """The C compiler's errors for the calls, compared with the declarations; \"\" if there are none."""
    names = names_of(release)
    if include is None:
        headers = {operators()[name].header for name in names}
    else:                       # the vendor's files have their own rule of names: take all
        headers = {path.name for path in Path(include, "aclnnop").glob("aclnn_*.h")}
    folders = [f"-I{folder}" for folder in (include, INCLUDE) if folder is not None]
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "calls.c")            # of which the compiler quotes lines
        source.write_text(emit_thunks.assignments(calls(), names, headers), encoding="utf-8")
        # Not -fsyntax-only: zig adds -c by itself, and warns that the two do not go together.
        command = [*shlex.split(os.environ.get("CC", "cc")), "-std=c11", "-Werror", *folders, "-c", str(source),
                   "-o", f"{source}.o"]
        return subprocess.run(command, capture_output=True, text=True, check=False).stderr


def check(release):
    """Ends the build where a call does not fit."""
    known = toolkits().RELEASES
    if release not in known:
        raise SystemExit(f"MINDTORCH_CANN={release} is not a release of CANN with a wheel of its own: use one of "
                         f"{', '.join(known)}")
    for include in (None, *installed_includes(release)):
        if said := differences(release, include):
            raise SystemExit(f"the calls of mindtorch do not fit CANN {release} as {include or INCLUDE} declares it:\n"
                             f"{said}")
