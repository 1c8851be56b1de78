"""Compares what an example prints with what it should."""
import doctest
import math
import re

NUMBER = re.compile(r"-?\d+(?:\.\d*)?(?:e[-+]\d+)?")


class Checker(doctest.OutputChecker):
    """Numbers may differ in the last digits, as they do between processors; the text around them may not."""

    def check_output(self, want, got, optionflags):
        texts = ["".join(NUMBER.sub("#", text).replace("+", "").split()) for text in (want, got)]
        numbers = [[float(number) for number in NUMBER.findall(text)] for text in (want, got)]
        return texts[0] == texts[1] and all(
            math.isclose(a, b, rel_tol=1e-3, abs_tol=1e-4) for a, b in zip(*numbers, strict=True))
