"""The operators of ACLNN that each statement of launches.txt launches, a line of JSON each.

    python tests/clients/launches.py torch_npu|mindtorch

Started by compare.py in two processes. Every statement runs twice, and the second time counts.
"""
import importlib.util
import json
import sys
import warnings
from pathlib import Path

from run_cases import cases

HERE = Path(__file__).parent
STATEMENTS = HERE / "launches.txt"
EXPECTED_TO_LAUNCH_MORE = "  # more: "


def simulator():
    """mindtorch.sim, which counts calls, without mindtorch."""
    path = HERE.parents[1] / "mindtorch" / "sim.py"
    spec = importlib.util.spec_from_file_location("sim", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def launches(statement, names, sim):
    """{operator: how often}, or the type of an exception."""
    code = compile(statement, "statement", "exec")
    try:
        exec(code, names)
        names["torch"].npu.synchronize()
        with sim.counting() as counts:
            exec(code, names)
            names["torch"].npu.synchronize()
    except Exception as error:      # noqa: BLE001 - not every operator has a kernel
        return f"raises {type(error).__name__}"
    return {name: count for name, count in counts.items()
            if count and name.startswith("aclnn") and not name.endswith("GetWorkspaceSize")}


def main(library):
    warnings.simplefilter("ignore")
    if library == "mindtorch":
        import mindtorch as torch
    else:
        import torch
        import torch_npu  # noqa: F401 - it adds the device npu to torch
    names, sim = {"torch": torch}, simulator()
    for statement, _ in cases(STATEMENTS, EXPECTED_TO_LAUNCH_MORE):
        print(json.dumps(["answer", launches(statement, names, sim)]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
