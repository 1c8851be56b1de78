"""Finds CANN: toolkit roots, their libraries and versions. Opens no library."""
import functools
import glob
import os
import platform
import re
from dataclasses import dataclass
from pathlib import Path

# The releases of CANN for which there are wheels.
RELEASES = ("8.0.0", "8.1.RC1", "8.2.RC1", "8.3.RC1", "8.5.0", "9.0.0", "9.1.0")
MODES = ("auto", "cann", "sim", "off")
# Variables that name a toolkit root, by priority.
VARIABLES = ("MINDTORCH_CANN_HOME", "ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")
SIMULATOR = Path(__file__).parent.parent / "_sim" / "toolkit"
PREFIXES = ("/usr/local/Ascend", "~/Ascend")
# Below a prefix: the layout from 8.5 on, then the one until 8.3.
INSTALLED = ("cann", "ascend-toolkit/latest", "nnae/latest", "nnrt/latest")
DEVICE_NODES = "/dev/davinci[0-9]*"
DRIVER, DRIVER_INFO = "/usr/local/Ascend", "/etc/ascend_install.info"
RUNTIME_LIBRARIES = ("libascendcl.so", "libacl_rt.so")


@dataclass(frozen=True)
class Toolkit:
    """A CANN toolkit: its root folder, its version, and whether it is the simulated one."""
    root: Path
    version: str
    simulated: bool = False

    def __str__(self):
        return f"CANN {self.version}{' (simulated)' if self.simulated else ''} at {self.root}"


def mode():
    """MINDTORCH_NPU."""
    chosen = os.environ.get("MINDTORCH_NPU") or "auto"
    if chosen not in MODES:
        raise RuntimeError(f"MINDTORCH_NPU={chosen} is not known: use one of {', '.join(MODES)}")
    return chosen


def find():
    """The toolkit to use, or RuntimeError with what to do about it."""
    return (None if mode() == "sim" else installed()) or simulator()


def is_requested():
    """Whether this machine has Ascend, or MINDTORCH_NPU=sim requests the simulator."""
    chosen = mode()
    return chosen == "sim" or _is_installed(chosen, *map(os.environ.get, VARIABLES), PREFIXES, DEVICE_NODES)


@functools.cache
def _is_installed(*settings):
    """Whether the settings lead to a toolkit: searched once for each, since programs ask again and again."""
    return installed() is not None


def installed():
    """This machine's toolkit; None without Ascend. RuntimeError if there is a device or a variable but no toolkit."""
    chosen = mode()
    if chosen == "off":
        raise RuntimeError("the NPU is switched off by MINDTORCH_NPU=off")
    for variable in VARIABLES:
        if os.environ.get(variable):
            return checked(Path(os.environ[variable]), f"{variable} names it")
    for root in installed_roots():
        return checked(root, "it is a standard folder of CANN")
    nodes = sorted(glob.glob(DEVICE_NODES))
    if nodes or chosen == "cann":
        because = f"there is an Ascend device ({nodes[0]})" if nodes else "MINDTORCH_NPU=cann asks for it"
        raise RuntimeError(f"no CANN toolkit was found, but {because}. Looked for {', '.join(VARIABLES)} in the "
                           f"environment and for {', '.join(INSTALLED)} below {', '.join(PREFIXES)}. Install the CANN "
                           "toolkit or name its folder in MINDTORCH_CANN_HOME; MINDTORCH_NPU=sim uses the simulator")
    return None


def simulator():
    """The simulated toolkit that comes with the package."""
    if find_library(SIMULATOR, "libascendcl.so") is None:
        raise RuntimeError(f"the simulated CANN toolkit is not built: {SIMULATOR}/lib64/libascendcl.so is missing. "
                           "Build the package, for instance with `pip install -e .`")
    return Toolkit(SIMULATOR, read_version(SIMULATOR))


def installed_roots():
    """Standard folders that exist, the newer layout first."""
    for prefix in PREFIXES:
        base = Path(prefix).expanduser()
        versions = sorted(base.glob("cann-*"), key=lambda root: version_key(root.name), reverse=True)
        for root in [base / INSTALLED[0], *versions, *(base / name for name in INSTALLED[1:])]:
            if root.is_dir():
                yield root


def checked(root, because):
    """The toolkit at `root`, which must hold the runtime library for this processor."""
    where = f"{root} is used as the CANN toolkit because {because}"
    if not root.is_dir():
        raise RuntimeError(f"{where}, but there is no such folder. Correct the variable, or unset it")
    if not has_runtime(root) and (near := roots_near(root)):
        raise RuntimeError(f"{where}, but the toolkit is at {near[0]}. Correct the variable")
    if not has_runtime(root):
        machine = platform.machine()
        foreign = [p.name for p in root.glob("*-linux") if p.name != f"{machine}-linux"]
        if foreign:
            raise RuntimeError(f"{where}, but it is for {', '.join(foreign)} and this machine is {machine}. Install "
                               f"the {machine} package")
        folders = ", ".join(str(folder) for folder in library_folders(root)) or "no lib64 folder at all"
        raise RuntimeError(f"{where}, but {' or '.join(RUNTIME_LIBRARIES)} is not there (looked in {folders}). The "
                           f"installation (version {read_version(root)}) is incomplete: install the toolkit again")
    return Toolkit(root, read_version(root))


def has_runtime(root):
    """Whether the folder holds the runtime library for this processor."""
    return any(find_library(root, name) for name in RUNTIME_LIBRARIES)


def roots_near(folder):
    """Toolkit roots one or two levels above or below a folder, for the message where the wrong level was named."""
    below = (folder / name for name in (*INSTALLED, "latest", "toolkit"))
    candidates = [*folder.resolve().parents[:2], *below, *sorted(folder.glob("cann-*"))]
    return [root for root in candidates if has_runtime(root)]


def library_folders(root):
    """The folders of a toolkit with libraries for this processor, the largest first."""
    names = ("lib64", f"{platform.machine()}-linux/lib64", "runtime/lib64", "compiler/lib64", "opp/lib64",
             "lib64/plugin/opskernel", "lib64/plugin/nnengine")
    return [root / name for name in names if (root / name).is_dir()]


def include_folders(root):
    """The folders of a toolkit with C declarations."""
    return [root / name for name in ("include", f"{platform.machine()}-linux/include") if (root / name).is_dir()]


def driver_root():
    """The folder with the driver and the firmware, which the toolkit's libraries need."""
    try:
        text = Path(DRIVER_INFO).read_text(encoding="utf-8")
    except OSError:
        text = ""
    found = re.search(r"^Driver_Install_Path_Param=(.+)$", text, re.MULTILINE)
    return Path(found[1].strip() if found else DRIVER)


def driver_folders():
    """The folders of the driver's libraries."""
    names = ("driver/lib64", "driver/lib64/common", "driver/lib64/driver")
    return [driver_root() / name for name in names if (driver_root() / name).is_dir()]


def find_library(root, name):
    """Path of a library of the toolkit, or None."""
    return next((folder / name for folder in library_folders(root) if (folder / name).is_file()), None)


def read_version(root):
    """The version in the toolkit's files, in either layout; "unknown" if there is none."""
    machine = f"{platform.machine()}-linux"
    files = [*(root / "share" / "info" / package / "version.info" for package in ("runtime", "opbase", "toolkit")),
             root / machine / "ascend_toolkit_install.info", root / "ascend_toolkit_install.info",
             root / "runtime" / "version.info", root / "compiler" / "version.info", root / "version.info",
             root / machine / "ascend_nnrt_install.info", root / machine / "ascend_nnae_install.info"]
    for file in files:
        if version := version_in(file):
            return version
    named = re.search(r"(\d+\.\d+[\w.]*)$", root.resolve().name)
    return named[1] if named else "unknown"


def version_in(file):
    """The version that a file such as version.info states; None without one."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    found = re.search(r"^version\s*=\s*\[?([^\s\]]+)", text, re.MULTILINE | re.IGNORECASE)
    return found and found[1]


def version_key(text):
    """Sorts versions of CANN: 8.0.0 < 8.1.RC1 < 8.5.0.alpha1 < 8.5.0. What names no version comes first."""
    found = re.search(r"(\d+(?:\.\d+)*)(?:[.-]?(alpha|beta|rc)\.?(\d*))?", text.lower())
    if not found:
        return []
    numbers = [*map(int, found[1].split(".")), 0, 0][:3]
    return [*numbers, ("alpha", "beta", "rc", None).index(found[2]), int(found[3] or 0)]


def release_for(version):
    """The newest of RELEASES that is not newer than a toolkit's version; None for an older or an unknown one."""
    return max((r for r in RELEASES if version_key(r) <= version_key(version)), key=version_key, default=None)
