"""Simulated toolkits as those of releases of CANN: their layout, versions, and no function that came later."""
import platform
import re
from pathlib import Path

from mindtorch._npu import toolkit
from mindtorch._ops.codegen.aclnn import operators

LAYOUT_CHANGED = "8.5.0"            # the first release in cann-<version>, with its operators in several libraries
# The first release that is known to have each function of the runtime, where that is not the oldest.
RUNTIME_SINCE = {
    "8.0.RC3": "aclrtGetMemUceInfo aclrtDeviceTaskAbort",
    "8.1.RC1": "aclrtEventGetTimestamp aclmdlRICaptureBegin aclmdlRICaptureGetInfo aclmdlRICaptureEnd "
               "aclmdlRIExecuteAsync aclmdlRIDestroy aclmdlRICaptureTaskGrpBegin aclmdlRICaptureTaskGrpEnd "
               "aclmdlRICaptureTaskUpdateBegin aclmdlRICaptureTaskUpdateEnd",
    "8.2.RC1": "aclrtHostRegister aclrtHostUnregister",
    "8.3.RC1": "aclrtSetDeviceResLimit aclrtGetDeviceResLimit aclrtSetStreamResLimit aclrtGetStreamResLimit "
               "aclrtResetStreamResLimit aclrtUseStreamResInCurrentThread aclrtUnuseStreamResInCurrentThread "
               "aclrtGetResInCurrentThread",
    "8.5.0": "aclrtDeviceGetUuid aclrtIpcGetEventHandle aclrtIpcOpenEventHandle aclrtLaunchHostFunc "
             "aclrtSetOpExecuteTimeOutWithMs aclrtHostRegisterV2 aclmdlRIDebugJsonPrint",
}
SPLIT = ("libopapi_math.so", "libopapi_nn.so", "libopapi_cv.so", "libopapi_transformer.so")


def is_newer(since, release):
    return toolkit.version_key(since) > toolkit.version_key(release)


def without(library, hidden):
    """A library's bytes with other names for the functions for which `hidden` is true: no program finds them."""
    def rename(found):
        name = found[0].decode()
        return found[0][:-2] + b"~~" if hidden(name.removesuffix("GetWorkspaceSize")) else found[0]
    return re.sub(rb"(?<=\0)acl\w+(?=\0)", rename, Path(library).read_bytes())


def lay_out(folder, release, split=False):
    """The root of a simulated toolkit in `folder`, laid out as the release is installed.

    With `split` each operator is in one of several libraries, and libopapi.so is not there.
    """
    if is_newer(LAYOUT_CHANGED, release):
        root = folder / "ascend-toolkit" / release
        lib64, info = root / f"{platform.machine()}-linux" / "lib64", root / "ascend_toolkit_install.info"
        (folder / "ascend-toolkit" / "latest").parent.mkdir(parents=True)
        (folder / "ascend-toolkit" / "latest").symlink_to(root)
    else:
        root = folder / f"cann-{release}"
        lib64, info = root / "lib64", root / "share" / "info" / "runtime" / "version.info"
        (folder / "cann").symlink_to(root)
    lib64.mkdir(parents=True)
    info.parent.mkdir(parents=True, exist_ok=True)
    info.write_text(f"version={release}\n", encoding="utf-8")
    since = {name: first for first, names in RUNTIME_SINCE.items() for name in names.split()}
    since |= {operator.name: operator.since for operator in operators().values() if operator.since}

    later = {name for name, first in since.items() if is_newer(first, release)}
    for library in (toolkit.SIMULATOR / "lib64").glob("lib*.so"):
        if library.name == "libopapi.so" and split:
            for place, part in enumerate(SPLIT):
                (lib64 / part).write_bytes(without(library, lambda name, place=place: name in later
                                                   or sum(name.encode()) % len(SPLIT) != place))
        elif library.name in ("libopapi.so", "libascendcl.so"):
            (lib64 / library.name).write_bytes(without(library, later.__contains__))
        else:
            (lib64 / library.name).symlink_to(library)
    return root
