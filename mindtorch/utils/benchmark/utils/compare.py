"""Compare: measurements as tables, one for each label."""
from __future__ import annotations

import enum
import math
from typing import TYPE_CHECKING, Any

from mindtorch.utils.benchmark.utils import common

if TYPE_CHECKING:
    from mindtorch.utils.benchmark.utils.common import Measurement

__all__ = ["Colorize", "Compare"]

BEST, GOOD, BAD, VERY_BAD, BOLD, END = "\033[92m", "\033[34m", "\033[2m\033[91m", "\033[31m", "\033[1m", "\033[0m"
GAP = "  |  "


class Colorize(enum.Enum):
    """What Compare colours: nothing, or the fastest and slowest of each column or row.

    Example:
        >>> from mindtorch.utils import benchmark
        >>> benchmark.Colorize.ROWWISE.value
        'rowwise'
    """

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


class Compare:
    """Measurements side by side: a table for each label, a column for each description, a row for each sub-label,
    number of threads and environment.

    Arguments:
        results: the Measurements

    Example:
        >>> from mindtorch.utils import benchmark
        >>> timers = [benchmark.Timer("x + 1", globals={"x": torch.ones(n)}, label="add", sub_label=str(n))
        ...           for n in (1, 100)]
        >>> table = str(benchmark.Compare([timer.timeit(10) for timer in timers]))
    """

    def __init__(self, results: list[Measurement]) -> None:
        self._results: list[Measurement] = []
        self.extend_results(results)
        self._trim_significant_figures = self._highlight_warnings = False
        self._colorize = Colorize.NONE

    def __str__(self) -> str:
        return "\n".join(self._render())

    def extend_results(self, results: Any) -> None:
        """Add measurements; those of one task become one."""
        for result in results:
            if not isinstance(result, common.Measurement):
                raise ValueError("Expected an instance of `Measurement`, " f"got {type(result)} instead.")
        self._results.extend(results)

    def trim_significant_figures(self) -> None:
        """Show the digits that can be trusted."""
        self._trim_significant_figures = True

    def colorize(self, rowwise: bool = False) -> None:
        """Mark fast and slow times, within columns or within rows."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """Mark noisy measurements by their spread."""
        self._highlight_warnings = True

    def print(self) -> None:
        print(str(self))

    def _render(self) -> list[str]:
        results = common.Measurement.merge(self._results)
        labels = common.ordered_unique(result.label for result in results)
        return [self._table([result for result in results if result.label == label]) for label in labels]

    def _table(self, results: list[Measurement]) -> str:
        unit, scale = common.select_unit(min(result.median for result in results))
        columns = common.ordered_unique(result.description for result in results)
        environments = common.ordered_unique(result.env for result in results)
        keys = common.ordered_unique((result.num_threads, result.env, result.as_row_name) for result in results)
        keys.sort(key=lambda key: (key[0], key[1] or ""))
        cells = {((r.num_threads, r.env, r.as_row_name), r.description): r for r in results}
        formats = {column: self._format([cells.get((key, column)) for key in keys], scale) for column in columns}
        width_of_env = max(len(env or "") for env in environments) + 4 if len(environments) > 1 else 4
        head = ["", *(column or "" for column in columns)]
        lines = [head]
        above = None
        for key in keys:
            env = f"({key[1]})" if len(environments) > 1 and key[:2] != above else ""
            above = key[:2]
            texts = [self._text(cells.get((key, column)), scale, *formats[column]) for column in columns]
            lines.append([f"  {env.ljust(width_of_env)}{key[2]}", *texts])
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        shown = [GAP.join(text.center(width) for text, width in zip(head, widths, strict=True))]
        whole = len(shown[0])
        threads = None
        for key, line in zip(keys, lines[1:], strict=True):
            if key[0] != threads:
                threads = key[0]
                shown.append(f"{threads} threads: ".ljust(whole, "-"))
            first, *rest = [text.ljust(width) if not at else text.center(width)
                            for at, (text, width) in enumerate(zip(line, widths, strict=True))]
            found = [cells.get((key, column)) for column in columns]
            rest = [self._colored(text, result, self._peers(cells, result, key, columns, keys, column))
                    for text, result, column in zip(rest, found, columns, strict=True)]
            shown.append(GAP.join([first, *rest]))
        title = f" {results[0].label or ''} ".center(whole - 2, "-")
        noisy = self._highlight_warnings and any(result.has_warnings for result in results)
        note = "(! XX%) Measurement has high variance, where XX is the IQR / median * 100.\n" if noisy else ""
        return f"[{title}]\n" + "\n".join(shown) + f"\n\nTimes are in {common.unit_to_english(unit)}s ({unit}).\n{note}"

    def _format(self, results: list[Measurement | None], scale: float) -> tuple[int, int, int]:
        """(width, digits behind the point, width of the spread) of a column."""
        found = [(math.ceil(math.log10(result.median / scale)), result.significant_figures)
                 for result in results if result is not None]
        before = max(digits for digits, _ in found)
        behind = min(max(trusted - digits, 0) for digits, trusted in found) if self._trim_significant_figures else 1
        noisy = self._highlight_warnings and any(result is not None and result.has_warnings for result in results)
        return before + behind + bool(behind), behind, 7 if noisy else 0

    def _text(self, result: Measurement | None, scale: float, width: int, behind: int,
              warning: int) -> str:
        if result is None:
            return " " * (width + warning)
        value = result.median / scale
        if self._trim_significant_figures:
            value = common.trim_sigfig(value, result.significant_figures)
        noisy = self._highlight_warnings and result.has_warnings
        spread = f" (! {result.iqr / result.median * 100:.0f}%)" if noisy else ""
        return f"{value:>{width}.{behind}f}{spread:>{warning}}"

    def _peers(self, cells: Any, result: Any, key: Any, columns: Any, keys: Any, column: Any) -> list[float]:
        """The times with which that of a cell is compared."""
        if self._colorize is Colorize.NONE or result is None:
            return []
        places = [(key, c) for c in columns] if self._colorize is Colorize.ROWWISE else [(k, column) for k in keys]
        return [cells[place].median for place in places if place in cells]

    @staticmethod
    def _colored(text: str, result: Measurement | None, peers: list[float]) -> str:
        if result is None or not peers:
            return text
        best, middle = min(peers), sorted(peers)[len(peers) // 2]
        if result.median <= best * 1.1:
            return f"{BEST}{BOLD if result.median == best else ''}{text}{END}{END if result.median == best else ''}"
        color = GOOD if result.median < middle else VERY_BAD if result.median > 2 * middle else ""
        return f"{color}{text}{END}" if color else text
