"""Answers the questions of questions.txt, a line of JSON each: with torch_npu, or with mindtorch where it is told so.

Started by compare.py in two processes. A question is an expression or a statement; questions share their names.
"""
import json
import re
import sys
import warnings
from pathlib import Path

QUESTIONS = Path(__file__).with_name("questions.txt")
EXPECTED_TO_DIFFER = "  # differs: "
ADDRESS = re.compile(r"0x[0-9a-f]+")


def questions(file=QUESTIONS, expected=EXPECTED_TO_DIFFER):
    """(question, why the answers differ or "")."""
    for line in file.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            question, _, reason = line.partition(expected)
            yield question, reason


def plain(value):
    """The value as JSON has it; what it has no form for as its text, without addresses."""
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *map(plain, value)]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return ADDRESS.sub("0x", repr(value)).replace("torch_npu.npu", "torch.npu").replace("mindtorch", "torch")


def answer(question, names):
    """What the question gives: a value, the type of an exception; and the categories of warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = plain(eval(question, names)) if is_expression(question) else exec(question, names)
        except Exception as error:      # noqa: BLE001 - the exception is the answer
            value = f"raises {type(error).__name__}"
    return [value, sorted({w.category.__name__ for w in caught if w.category is not ResourceWarning})]


def is_expression(question):
    try:
        compile(question, "question", "eval")
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
    for question, _ in questions():
        print(json.dumps(["answer", answer(question, names)]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
