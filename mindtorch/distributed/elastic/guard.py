"""A process that outlives torchrun and ends what torchrun has left: started first, it waits for the end of a pipe.

However torchrun ends, SIGKILL included, the pipe is closed. Then the guard ends the process groups that came through
the pipe, and all processes with the mark of this torchrun in the environment, until there are none. It runs as a
script, in a Python without site-packages, so that it takes little memory and starts at once.
"""
import contextlib
import os
import signal
import subprocess
import sys
import uuid

__all__ = ["MARK", "Guard"]

MARK = "MINDTORCH_TORCHRUN"


class Guard:
    """Starts the guard; `mark` goes into the environment of the workers as MARK."""

    def __init__(self):
        self.mark = uuid.uuid4().hex
        self._process = subprocess.Popen([sys.executable, "-I", "-S", __file__, self.mark], stdin=subprocess.PIPE,
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

    def watch(self, pids):
        """The process groups of these workers are to end with torchrun."""
        self._process.stdin.write(b"".join(b"%d\n" % pid for pid in pids))
        self._process.stdin.flush()

    def close(self):
        """End what is left now."""
        self._process.stdin.close()
        self._process.wait()


def _marked(mark):
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            with contextlib.suppress(OSError), open(f"/proc/{name}/environ", "rb") as file:
                if mark in file.read().split(b"\0"):
                    yield int(name)


def _main(mark):
    groups = [int(line) for line in sys.stdin]
    for group in groups:
        with contextlib.suppress(OSError):
            os.killpg(group, signal.SIGKILL)
    while pids := list(_marked(f"{MARK}={mark}".encode())):
        for pid in pids:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    _main(sys.argv[1])
