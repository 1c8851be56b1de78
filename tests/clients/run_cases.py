"""Runs the cases of cases.txt with torch_npu or with mindtorch; prints a line of JSON for each.

Started by compare.py in two processes. A case is an expression or a statement; cases share their names.
"""
import json
import re
import sys
import warnings
from pathlib import Path

CASES = Path(__file__).with_name("cases.txt")
EXPECTED_TO_DIFFER = "  # differs: "
ADDRESS = re.compile(r"0x[0-9a-f]+")


def cases(file=CASES, expected=EXPECTED_TO_DIFFER):
    """(case, why the results differ or "")."""
    for line in file.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            case, _, reason = line.partition(expected)
            yield case, reason


def plain(value):
    """The value as JSON has it; what it has no form for as its text, without addresses."""
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *map(plain, value)]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return ADDRESS.sub("0x", repr(value)).replace("torch_npu.npu", "torch.npu").replace("mindtorch", "torch")


def evaluate(case, names):
    """What the case gives: a value, the type of an exception; and the categories of warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = plain(eval(case, names)) if is_expression(case) else exec(case, names)
        except Exception as error:      # noqa: BLE001 - the exception is the answer
            value = f"raises {type(error).__name__}"
    return [value, sorted({w.category.__name__ for w in caught if w.category is not ResourceWarning})]


def is_expression(case):
    try:
        compile(case, "case", "eval")
    except SyntaxError:
        return False
    return True


def main(library):
    if library == "mindtorch":
        import mindtorch as torch
        from mindtorch import _torch_npu as torch_npu
    else:
        import torch
        import torch_npu
    names = {"torch": torch, "torch_npu": torch_npu}
    for case, _ in cases():
        print(json.dumps(["answer", evaluate(case, names)]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
