"""Write or refresh include/aclnnop: `python -m mindtorch._ops.codegen.headers aclnnAdd aclnnExp ...`

Each operator named joins the operators that its header declares already; the declarations follow from the facts in
aclnn_ops.jsonl alone, so running it with no name must change nothing (a test holds it to that).
"""
import re
import sys
from pathlib import Path

from .aclnn import operators

FOLDER = Path(__file__).parents[3] / "include" / "aclnnop"

_TEXT = """/* {names}, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
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


def _declare(type_, name):
    return f"{type_}{name}" if type_.endswith("*") else f"{type_} {name}"


def prototypes(op) -> str:
    """The C declarations of both phases of `op`."""
    first = [_declare(p.type, p.name) for p in op.parameters]
    first += ["uint64_t *workspaceSize", "aclOpExecutor **executor"]
    pad = ",\n    "
    return (f"aclnnStatus {op.name}GetWorkspaceSize(\n    {pad.join(first)});\n"
            f"aclnnStatus {op.name}(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor,"
            f" aclrtStream stream);")


def render(ops) -> str:
    ops = sorted(ops, key=lambda op: op.name)
    return _TEXT.format(names=", ".join(op.name for op in ops), body="\n\n".join(map(prototypes, ops)),
                        guard=ops[0].header.upper().replace(".", "_"))


def declared() -> dict:
    """Header name -> operators that the header in include/aclnnop declares now."""
    found = {}
    for path in FOLDER.glob("*.h"):
        names = re.findall(r"aclnnStatus (\w+)GetWorkspaceSize", path.read_text(encoding="utf-8"))
        found[path.name] = {operators()[name] for name in names}
    return found


def main(names):
    headers = declared()
    for name in names:
        op = operators()[name]
        headers.setdefault(op.header, set()).add(op)
    FOLDER.mkdir(parents=True, exist_ok=True)
    for header, ops in headers.items():
        (FOLDER / header).write_text(render(ops), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
