"""torch.distributed.elastic.utils.process_state: what the kernel says of a process."""
from __future__ import annotations

from pathlib import Path

__all__ = ["is_uninterruptible_state", "read_proc_state"]


def read_proc_state(pid: int) -> str | None:
    """The letter of the state of process `pid` in /proc: "R" for one that runs; None where there is none.

    Arguments:
        pid: the number of the process

    Example:
        >>> import os
        >>> from mindtorch.distributed.elastic.utils.process_state import read_proc_state
        >>> read_proc_state(os.getpid()) in ("R", "S", None)            # None on systems without /proc
        True
        >>> read_proc_state(-1) is None
        True
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    rest = text.rpartition(")")[2].split()         # the name before it may have spaces
    return rest[0] if rest else None


def is_uninterruptible_state(state: str | None) -> bool:
    """Whether a process of this state of read_proc_state waits for a device, and no signal ends it.

    Arguments:
        state: the state, a letter or a member of an enumeration

    Example:
        >>> from mindtorch.distributed.elastic.utils.process_state import is_uninterruptible_state
        >>> is_uninterruptible_state("D"), is_uninterruptible_state("R"), is_uninterruptible_state(None)
        (True, False, False)
    """
    return state == "D"
