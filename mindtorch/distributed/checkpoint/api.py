"""torch.distributed.checkpoint.api: the error of a save or a load, in all ranks what went wrong in any."""
from __future__ import annotations

import traceback

__all__ = ["CheckpointException"]

WRAPPED_EXCEPTION = tuple[BaseException, traceback.StackSummary]


def _wrap_exception(error: BaseException) -> WRAPPED_EXCEPTION:
    """An exception and where it was raised, in a form that can be sent."""
    frames = [(frame.filename, frame.lineno, frame.name, frame.line)
              for frame in traceback.extract_tb(error.__traceback__)]
    return error, traceback.StackSummary.from_list(frames)


def _is_wrapped_exception(obj: object) -> bool:
    return (isinstance(obj, tuple) and len(obj) == 2 and isinstance(obj[0], BaseException)
            and isinstance(obj[1], traceback.StackSummary))


class CheckpointException(BaseException):
    """A step of a save or a load has failed; `failures` says in which ranks, and of what.

    Arguments:
        msg: the message
        failures: what each rank has raised

    Example:
        >>> try:
        ...     dist.checkpoint.load({"x": torch.zeros(2)}, checkpoint_id="/no/such/folder")
        ... except dist.checkpoint.CheckpointException as error:
        ...     print(sorted(error.failures))           # the ranks
        [0]
    """

    def __init__(self, msg: str, failures: dict[int, WRAPPED_EXCEPTION]) -> None:
        super().__init__(msg, failures)
        self._failures = failures

    @property
    def failures(self) -> dict[int, WRAPPED_EXCEPTION]:
        """Rank -> (its exception, where it was raised)."""
        return self._failures

    def __str__(self) -> str:
        lines = [f"CheckpointException ranks:{self._failures.keys()}\n"]
        for rank, (error, frames) in self._failures.items():
            lines += [f"Traceback (most recent call last): (RANK {rank})\n", *traceback.format_list(frames),
                      *traceback.format_exception_only(type(error), value=error)]
        return "".join(lines)
