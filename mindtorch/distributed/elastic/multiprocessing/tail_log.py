"""torch.distributed.elastic.multiprocessing.tail_log: log files are shown while they are written."""
from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from typing import TextIO

__all__ = ["TailLog", "tail_logfile"]

logger = logging.getLogger(__name__)


def tail_logfile(header: str, file: str, dst: TextIO, finished: threading.Event, interval_sec: float,
                 log_line_filter: Callable[[str], bool] | None = None) -> None:
    """Copy the lines of a file, which need not exist yet, to a stream, until `finished` is set and all are copied.

    Arguments:
        header: what comes before each line
        file: the path
        dst: the stream
        finished: a threading.Event
        interval_sec: seconds between two looks at the file
        log_line_filter: says which lines are copied; None means all

    Example:
        >>> import sys, tempfile, threading
        >>> from mindtorch.distributed.elastic.multiprocessing.tail_log import tail_logfile
        >>> finished = threading.Event()
        >>> finished.set()
        >>> with tempfile.NamedTemporaryFile("w") as log:
        ...     print("step 1", file=log, flush=True)
        ...     tail_logfile("[rank0]: ", log.name, sys.stdout, finished, interval_sec=0.1)
        [rank0]: step 1
    """
    while not os.path.exists(file):
        if finished.wait(interval_sec) and not os.path.exists(file):
            return
    with open(file, encoding="utf-8", errors="replace") as source:
        ended = False
        while not ended:
            ended = finished.wait(interval_sec)
            for line in source:
                if log_line_filter is None or log_line_filter(line):
                    dst.write(header + line)
            dst.flush()


class TailLog:
    """Shows the log files of workers while these write them.

    Arguments:
        name: the name of the workers: "[name0]:" comes before each line of rank 0
        log_files: the files, by local rank
        dst: the stream that they are copied to
        log_line_prefixes: what comes before each line instead, by local rank
        interval_sec: seconds between two looks at a file
        log_line_filter: says which lines are copied; None means all

    Example:
        >>> import sys, tempfile
        >>> from mindtorch.distributed.elastic.multiprocessing.tail_log import TailLog
        >>> with tempfile.NamedTemporaryFile("w") as log:
        ...     tail = TailLog("worker", {0: log.name}, sys.stdout).start()
        ...     print("step 1", file=log, flush=True)
        ...     tail.stop()
        [worker0]:step 1
    """

    def __init__(self, name: str, log_files: dict[int, str], dst: TextIO,
                 log_line_prefixes: dict[int, str] | None = None, interval_sec: float = 0.1,
                 log_line_filter: Callable[[str], bool] | None = None) -> None:
        prefixes = log_line_prefixes or {}
        self._log_files, self._dst = log_files, dst
        self._headers = {rank: prefixes.get(rank, f"[{name}{rank}]:") for rank in log_files}
        self._interval, self._filter = interval_sec, log_line_filter
        self._finished, self._stopped, self._threads = threading.Event(), False, []

    def start(self) -> TailLog:
        """Begin; a thread for each file, which does not keep the process alive."""
        self._threads = [threading.Thread(target=self._tail, args=(rank,), name=f"tail of {path}", daemon=True)
                         for rank, path in self._log_files.items()]
        for thread in self._threads:
            thread.start()
        return self

    def _tail(self, rank):
        try:
            tail_logfile(self._headers[rank], self._log_files[rank], self._dst, self._finished, self._interval,
                         self._filter)
        except OSError as error:
            logger.error("the log of rank %s, %s, cannot be shown: %s", rank, self._log_files[rank], error)

    def stop(self) -> None:
        """Copy what there is, and end."""
        self._finished.set()
        for thread in self._threads:
            thread.join()
        self._stopped = True

    def stopped(self) -> bool:
        """Whether it has ended."""
        return self._stopped
