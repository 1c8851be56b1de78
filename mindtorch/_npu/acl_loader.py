"""Loads CANN: lazily, once, by full path.

LD_LIBRARY_PATH and set_env.sh are not needed: the loader opens the dependencies of a library before the library. A
toolkit that cannot be loaded is an error that names the file, symbol and version and says what to do. The simulator
never replaces such a toolkit.
"""
import ctypes
import os
import re
import sys
import threading
from dataclasses import replace
from pathlib import Path

from mindtorch import sim, version
from mindtorch._npu import toolkit as toolkits
from mindtorch._npu.elf import DamagedLibraryError, read_needed

SIMULATOR_SYMBOL = "simLive"         # only the simulator exports it
HCCL = "libhccl.so"
OLDEST = "8.0.RC1"                   # the oldest CANN release that has all required functions
SPLIT_OPERATORS = ("libopapi_math.so", "libopapi_nn.so", "libopapi_cv.so", "libopapi_transformer.so")
# The head of dlopen's message when a dependency is absent: the message itself may be translated.
MISSING_DEPENDENCY = re.compile(r"^(lib[^/\s:]+\.so[.\d]*): ")
UNDEFINED_SYMBOL = re.compile(r"undefined symbol: (\w+)")

_ACL_READY = False
_ACL_MODULE = None
_LOCK = threading.Lock()             # guards the three names above and below
_TOOLKIT = None
_announced = False


def ensure_acl():
    """mindtorch._npu.acl, ready for use. The first call loads CANN; after a failure the next call tries again."""
    global _ACL_READY, _ACL_MODULE
    if not _ACL_READY:
        with _LOCK:
            if not _ACL_READY:
                _ACL_MODULE = _import_acl()
                _ACL_READY = True
    return _ACL_MODULE


def open_hccl():
    """CANN's collective library, opened. Loads CANN first."""
    ensure_acl()
    return _open(_TOOLKIT, HCCL, {}, ctypes.RTLD_LOCAL)


def is_requested():
    """Whether CANN is loaded already, or the machine has Ascend, or the user requested the simulator."""
    return _ACL_READY or toolkits.is_requested()


def toolkit():
    """The Toolkit in use; None before CANN has been loaded."""
    return _TOOLKIT


def newer_functions():
    """Names of operator functions that came after the release that this mindtorch is built for, and are not called."""
    from mindtorch._npu._gen.calls import FUNCTIONS
    key = toolkits.version_key
    return frozenset(name for name, since in FUNCTIONS.items() if version.cann and key(since) > key(version.cann))


def describe_missing(function, since):
    """The reason why an operator function cannot be called."""
    came = f"it came with CANN {since}" if since else "it is not known which release of CANN has it"
    if function in newer_functions():
        return (f"{function} is not in CANN {version.cann}, which this mindtorch is built for; {came}. Install "
                f"{wheel_for(_TOOLKIT.version)}")
    return f"{function} is not in {_TOOLKIT}; {came}"


def wheel_for(found):
    """The argument of `pip install` for a toolkit of this version."""
    release = toolkits.release_for(found)
    return f"mindtorch=={version.mindtorch}" + (f"+cann{release.lower()}" if release else "")


def missing_operators():
    """Names of operator functions that mindtorch calls and the toolkit lacks."""
    from mindtorch._npu import acl
    from mindtorch._npu._gen.calls import FUNCTIONS
    return [name for name in FUNCTIONS if not acl.has_function(name)]


def _import_acl():
    global _TOOLKIT
    found = toolkits.find()
    key = toolkits.version_key
    if [] < key(found.version) < key(OLDEST):
        raise RuntimeError(f"{found} is too old for mindtorch. Install CANN {OLDEST} or newer, or name another toolkit "
                           "in MINDTORCH_CANN_HOME")
    if version.cann and [] < key(found.version) < key(version.cann):
        raise RuntimeError(f"this mindtorch is built for CANN {version.cann}, and {found} is older. Install "
                           f"{wheel_for(found.version)}, or a toolkit of release {version.cann} or newer")
    runtime, operators = open_libraries(found)
    if hasattr(runtime[0], SIMULATOR_SYMBOL):        # also if a variable names its folder
        found = replace(found, simulated=True)
        sim.name_blas()
    from mindtorch._npu import acl
    missing = acl.load_functions([lib._handle for lib in runtime], [lib._handle for lib in operators],
                                 newer_functions())
    if missing:
        raise RuntimeError(f"{found} lacks {', '.join(missing)}, which mindtorch needs (looked in "
                           f"{', '.join(Path(lib._name).name for lib in runtime)}). Install CANN {OLDEST} or newer")
    _TOOLKIT = found
    if found.simulated:
        sim.before_calls.append(acl.drain_queues)
        _announce_simulator(found)
    return acl


def _announce_simulator(found):
    global _announced
    if not _announced:
        _announced = True
        print(f"mindtorch: device 'npu' is simulated on the CPU: {found}", file=sys.stderr)


def open_libraries(found):
    """(runtime libraries, operator libraries) of the toolkit, opened."""
    loaded = {}
    names = [name for name in toolkits.RUNTIME_LIBRARIES if toolkits.find_library(found.root, name)]
    runtime = [_open(found, name, loaded, ctypes.RTLD_GLOBAL) for name in [*names, "libnnopbase.so"]]
    # From 8.5 on the operators are in several libraries, which export the names of the old one: load only one of them.
    names = ["libopapi.so"]
    if toolkits.find_library(found.root, "libopapi.so") is None:
        names = [name for name in SPLIT_OPERATORS if toolkits.find_library(found.root, name)] or names
    return runtime, [_open(found, name, loaded, ctypes.RTLD_LOCAL) for name in names]


def _find(found, name):
    """The path of a library in the toolkit or the driver; None where neither has it."""
    inside_driver = (folder / name for folder in toolkits.driver_folders() if (folder / name).is_file())
    return toolkits.find_library(found.root, name) or next(inside_driver, None)


def _open(found, name, loaded, scope):
    """Opens a library by full path, after those that it needs from the toolkit or the driver."""
    if name in loaded:
        return loaded[name]
    path = _find(found, name)
    if path is None:
        raise RuntimeError(_incomplete(found, name))
    loaded[name] = None                              # ends a cycle of dependencies
    try:
        needed = read_needed(path)
    except DamagedLibraryError as error:
        raise RuntimeError(f"{path} of {found} {error}. {_remedy(name)}") from None
    for other in needed:
        if _find(found, other) is not None:          # else it is the system's
            _open(found, other, loaded, scope)
    try:
        loaded[name] = ctypes.CDLL(str(path), mode=scope | os.RTLD_NOW)
    except OSError as error:
        raise RuntimeError(_diagnosis(found, path, str(error))) from None
    return loaded[name]


def _join_paths(folders):
    return ", ".join(str(folder) for folder in folders) or "none"


def _incomplete(found, name):
    return (f"{found} is incomplete: {name} is neither in {_join_paths(toolkits.library_folders(found.root))} nor in "
            f"the driver's folders ({_join_paths(toolkits.driver_folders())}). {_remedy(name)}")


def _remedy(name):
    if name in ("libascend_hal.so", "libdcmi.so", "libc_sec.so", "libmmpa.so"):
        return "The Ascend driver brings it: install the driver, or correct its path in /etc/ascend_install.info"
    if name in (HCCL, "libhcomm.so"):
        return "Communication between devices needs it: install CANN's package hccl"
    return "Install the toolkit again, or name another one in MINDTORCH_CANN_HOME"


def _diagnosis(found, path, error):
    """The meaning of dlopen's message, and a remedy."""
    dependency = MISSING_DEPENDENCY.match(error)
    if dependency and dependency[1] != path.name:
        return _incomplete(found, dependency[1])
    symbol = UNDEFINED_SYMBOL.search(error)
    if symbol:
        return (f"{path} of {found} needs the symbol {symbol[1]}, which no library of the toolkit or the driver has. "
                "Their versions do not match: install a driver and a toolkit of the same release")
    return f"{path} of {found} cannot be loaded: {error}. {_remedy(path.name)}"
