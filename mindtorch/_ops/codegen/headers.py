"""include/aclnnop: the declarations of ACLNN's operators, one file per vendor header, from aclnn_ops.jsonl."""
from pathlib import Path

from .aclnn import operators

FOLDER = Path(__file__).parents[3] / "include" / "aclnnop"

_TEXT = """/* {names}, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; generated from mindtorch/_ops/aclnn_ops.jsonl. */
#ifndef MINDTORCH_ACLNNOP_{guard}_
#define MINDTORCH_ACLNNOP_{guard}_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {{
#endif

{body}

#ifdef __cplusplus
}}
#endif
#endif
"""


def prototypes(op) -> str:
    """The C declarations of both phases of `op`."""
    first = [*(p.declaration for p in op.parameters), "uint64_t *workspaceSize", "aclOpExecutor **executor"]
    pad = ",\n    "
    return (f"aclnnStatus {op.name}GetWorkspaceSize(\n    {pad.join(first)});\n"
            f"aclnnStatus {op.name}(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor,"
            f" aclrtStream stream);")


def render(header, ops) -> str:
    return _TEXT.format(names=", ".join(op.name for op in ops), guard=header.upper().replace(".", "_"),
                        body="\n\n".join(map(prototypes, ops)))


def files() -> dict:
    """Every header: path -> text."""
    headers = {}
    for op in sorted(operators().values(), key=lambda op: op.name):
        headers.setdefault(op.header, []).append(op)
    return {FOLDER / header: render(header, ops) for header, ops in headers.items()}
