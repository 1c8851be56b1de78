"""Generate the operators' code: `python -m codegen` in mindtorch/_ops, or mindtorch._ops.codegen once it is built.

Files are only written where their text changed, so that nothing is compiled again without need.
"""
import sys
from pathlib import Path

from . import (
    emit_calls,
    emit_compiled,
    emit_cpu,
    emit_decomposition,
    emit_docs,
    emit_functions,
    emit_grad,
    emit_npu,
    emit_rules,
    emit_table,
    emit_thunks,
    headers,
)
from .rows import RowError, Table

PACKAGE = Path(__file__).parents[2]
CORE, NPU, CPU = (PACKAGE / part / "_gen" for part in ("_core", "_npu", "_cpu"))
FOLDERS = (CORE, CORE / "backward", NPU, CPU, headers.FOLDER)      # all that is in them is generated


def outputs(table) -> dict:
    """Every generated file: path -> text."""
    families = table.families
    rows, rules_used = emit_table.entries(table)
    calls = emit_npu.Calls(table)
    files = {
        CORE / "__init__.py": emit_grad.NOTE.format(source="*.toml"), CORE / "__init__.pxd": "",
        CORE / "rows.py": emit_table.module(rows), CORE / "rules.pyx": emit_rules.module(rules_used),
        CORE / "functions.py": emit_functions.module(table), CORE / "namespace.py": emit_functions.namespace(),
        CORE / "autocast_policies.py": emit_table.policies(table),
        CORE / "support.py": emit_grad.NOTE.format(source="*.toml") + emit_docs.support_py(table),
        CORE / "schemas.py": emit_table.schemas(table), CORE / "nodes.py": emit_grad.nodes_py(table),
        CORE / "backward" / "__init__.py": emit_grad.NOTE.format(source="*.toml"),
        NPU / "__init__.py": emit_grad.NOTE.format(source="*.toml"), NPU / "calls.py": calls.module(),
        NPU / "thunks.pyx": emit_thunks.module(calls), NPU / "decompositions.py": emit_decomposition.module(table),
        CPU / "__init__.py": emit_cpu.package_init(families), CPU / "calls.py": emit_compiled.module(table, calls),
        PACKAGE.parent / "docs" / "ops.md": emit_docs.ops_md(table),
        PACKAGE.parent / "docs" / "rows.md": emit_docs.rows_md(),
        PACKAGE.parent / "docs" / "rules.md": emit_docs.rules_md(rules_used),
    }
    files |= {CORE / name: text for name, text in emit_calls.modules(table).items()}
    for family in families:
        files[CPU / f"{family}.py"] = emit_cpu.family_py(table, family)
    for family in {row.family for row in table.rows if emit_grad.recorded(row)}:
        files[CORE / "backward" / f"{family}.py"] = emit_grad.backward_py(table, family)
    return files | headers.files()


def write(files):
    """Write what differs; what rows and operators that are gone became is removed."""
    for folder in FOLDERS:
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.iterdir():
            if path not in files and path.suffix in (".py", ".pyx", ".pxd", ".pxi", ".h"):
                path.unlink()
    for path, text in files.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def main(arguments):
    if arguments:
        raise SystemExit(f"usage: python -m codegen (no arguments, got {arguments})")
    try:
        write(outputs(Table()))
    except RowError as error:
        raise SystemExit(f"generator: {error}") from None


if __name__ == "__main__":
    main(sys.argv[1:])
