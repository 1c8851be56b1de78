"""torch.testing.FileCheck: what a text must have, in order."""
from __future__ import annotations

import re
from typing import Any

__all__ = ["FileCheck"]

_KINDS = {"CHECK": "check", "CHECK-NEXT": "check_next", "CHECK-SAME": "check_same", "CHECK-NOT": "check_not",
          "CHECK-DAG": "check_dag", "CHECK-REGEX": "check_regex"}


class FileCheck:
    """A list of checks; `run(text)` raises RuntimeError at the first that fails. A check begins where the last ended.

    Example:
        >>> torch.testing.FileCheck().check("add").check_next("mul").check_not("div").run("an add\\nand a mul")
    """

    def __init__(self) -> None:
        self._checks: list[tuple[str, Any, int]] = []

    def __repr__(self) -> str:
        return "FileCheck checks:\n" + "".join(f"\t{_said(kind, count)}: {wanted}\n"
                                               for kind, wanted, count in self._checks)

    def _add(self, kind, wanted, count=0):
        self._checks.append((kind, wanted, count))
        return self

    def check(self, test_string: str) -> FileCheck:
        """The text has this."""
        return self._add("CHECK", test_string)

    def check_next(self, test_string: str) -> FileCheck:
        """The next line has this."""
        return self._add("CHECK-NEXT", test_string)

    def check_same(self, test_string: str) -> FileCheck:
        """The same line has this."""
        return self._add("CHECK-SAME", test_string)

    def check_not(self, test_string: str) -> FileCheck:
        """The text up to the next check does not have this."""
        return self._add("CHECK-NOT", test_string)

    def check_dag(self, test_string: str) -> FileCheck:
        """The text has this; calls of check_dag in a row may be met in any order."""
        return self._add("CHECK-DAG", test_string)

    def check_regex(self, test_string: str) -> FileCheck:
        """The text has what the regular expression describes."""
        return self._add("CHECK-REGEX", test_string)

    def check_count(self, test_string: str, count: int, exactly: bool = False) -> FileCheck:
        """The text has this so many times; with `exactly`, no more than that up to the next check."""
        self._add("CHECK-COUNT", test_string, count)
        return self._add("CHECK-NOT", test_string) if exactly else self

    def run(self, text: Any, checked: Any = None) -> None:
        """Check a text. Of two arguments, the first is a text with the checks as comments, "# CHECK: add"."""
        if checked is not None:
            self._read(str(text))
            text = checked
        if not self._checks:
            raise RuntimeError("No checks have been added to this instance of FileCheck! Check for bad input.")
        _Run(str(text)).all(self._checks)

    def _read(self, text):
        for kind, exactly, count, wanted in re.findall(
                r"# *(CHECK(?:-(?:NEXT|SAME|NOT|DAG|REGEX|COUNT))?)(?:-(EXACTLY-)?(\d+))?: *(.*)", text):
            if kind == "CHECK-COUNT":
                self.check_count(wanted.strip(), int(count), bool(exactly))
            else:
                getattr(self, _KINDS[kind])(wanted.strip())


def _said(kind, count):
    return f"{kind}-{count}" if count else kind


class _Run:
    """A text, how far it has been checked, and the strings that must not come before the next check."""

    def __init__(self, text: str) -> None:
        self.text, self.place, self.forbidden = text, 0, []

    def all(self, checks: list) -> None:
        dag = []
        for kind, wanted, count in checks:
            if dag and kind != "CHECK-DAG":
                self._unordered(dag)
                dag = []
            if kind == "CHECK-NOT":
                self.forbidden.append(wanted)
            elif kind == "CHECK-DAG":
                dag.append(wanted)
            else:
                for _ in range(max(count, 1)):
                    self._advance(kind, wanted, count)
        if dag:
            self._unordered(dag)
        self._refuse(self.place, len(self.text))

    def _found(self, kind, wanted, count=0):
        """(start, end) of what is wanted, behind the place."""
        pattern = wanted if kind == "CHECK-REGEX" else re.escape(wanted)
        found = re.compile(pattern).search(self.text, self.place)
        if found is None:
            raise RuntimeError(f'Expected to find "{wanted}" but did not find it\nSearched string:\n'
                               f"{self.text[self._line():]}\nFrom {_said(kind, count)}: {wanted}\n")
        return found.span()

    def _line(self):
        """Where the line begins that the place is in."""
        return self.text.rfind("\n", 0, self.place) + 1

    def _advance(self, kind, wanted, count):
        start, end = self._found(kind, wanted, count)
        if kind in ("CHECK-NEXT", "CHECK-SAME"):
            breaks = self.text.count("\n", self.place, start)
            if breaks != (kind == "CHECK-NEXT"):
                raise RuntimeError(f'Expected to find "{wanted}" in the {"next" if kind == "CHECK-NEXT" else "same"} '
                                   f"line, but found it {breaks} lines below\n{self.text[self._line():]}\n"
                                   f"From {kind}: {wanted}\n")
        self._refuse(self.place, start)
        self.place = end

    def _unordered(self, wanted):
        spans = [self._found("CHECK-DAG", each) for each in wanted]
        self._refuse(self.place, min(start for start, _ in spans))
        self.place = max(end for _, end in spans)

    def _refuse(self, start, end):
        for wanted in self.forbidden:
            place = self.text.find(wanted, start, end)
            if place >= 0:
                line = self.text.rfind("\n", 0, place) + 1
                below = self.text.find("\n", place)
                shown = self.text[line:] if below < 0 else self.text[line:below]
                raise RuntimeError(f'Expected to not find "{wanted}" but found it\n{shown}\n{" " * (place - line)}'
                                   f"{'~' * len(wanted)} <--- HERE\nFrom CHECK-NOT: {wanted}\n")
        self.forbidden = []
