"""torch.distributed.elastic.utils.process_state: what the kernel says of a process."""
from __future__ import annotations

from pathlib import Path

__all__ = ["is_uninterruptible_state", "read_proc_state"]


def read_proc_state(pid: int) -> str | None:
    """The letter of its state in /proc; None where there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    rest = text.rpartition(")")[2].split()         # the name before it may have spaces
    return rest[0] if rest else None


def is_uninterruptible_state(state: str | None) -> bool:
    """Whether it waits for a device, and no signal ends it."""
    return state == "D"
