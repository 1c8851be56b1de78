"""A process that outlives torchrun and ends what torchrun has left: started first, it waits for the end of a pipe.

However torchrun ends, SIGKILL included, the pipe is closed. Then the guard ends the process groups that came through
the pipe, and all processes with the mark of this torchrun in the environment, until there are none, and removes the
files of shared memory that ranks have left which were killed as MPI started. It runs as a script, in a Python without
site-packages, so that it takes little memory and starts at once.
"""
import contextlib
import glob
import os
import signal
import subprocess
import sys
import time
import uuid

__all__ = ["MARK", "NOTE", "Guard"]

_PATIENCE = 2       # seconds in which a process that has just been started gets its environment

MARK = "MINDTORCH_TORCHRUN"
NOTE = "mindtorch_mpi_{}_{}"    # a file of /dev/shm, by the mark and by what MPICH names its files there by


class Guard:
    """Starts the guard; `mark` goes into the environment of the workers as MARK."""

    def __init__(self):
        self.mark = uuid.uuid4().hex
        self._process = subprocess.Popen([sys.executable, "-I", "-S", __file__, self.mark], stdin=subprocess.PIPE,
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        os.register_at_fork(after_in_child=self._process.stdin.close)       # a forked worker must not hold the pipe

    def watch(self, pids):
        """The process groups of these workers are to end with torchrun."""
        self._process.stdin.write(b"".join(b"%d\n" % pid for pid in pids))
        self._process.stdin.flush()

    def close(self):
        """End what is left now."""
        self._process.stdin.close()
        self._process.wait()


def _read(name):
    with open(name, "rb") as file:
        return file.read()


def _marked(mark, folder="/proc"):
    """(the processes with the mark, whether there is one that has not got its environment yet).

    A process that has just been started has neither arguments nor environment for a moment, while its parent goes on.
    """
    found, is_unsure = [], False
    for name in os.listdir(folder):
        if name.isdigit() and int(name) != os.getpid():
            with contextlib.suppress(OSError):
                process = f"{folder}/{name}"
                environment = _read(f"{process}/environ")
                if mark in environment.split(b"\0"):
                    found.append(int(name))
                elif not environment and not _read(f"{process}/cmdline"):
                    state, parent = _read(f"{process}/stat").rpartition(b")")[2].split()[:2]
                    is_unsure |= state not in b"ZX" and parent not in (b"0", b"2")       # of the kernel's threads
    return found, is_unsure


def _main(mark):
    groups = [int(line) for line in sys.stdin]
    for group in groups:
        with contextlib.suppress(OSError):
            os.killpg(group, signal.SIGKILL)
    mark, patience = f"{MARK}={mark}".encode(), time.monotonic() + _PATIENCE
    pids, is_unsure = _marked(mark)
    while pids or (is_unsure and time.monotonic() < patience):
        for pid in pids:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if not pids:
            time.sleep(0.01)
        pids, is_unsure = _marked(mark)


def _remove_files(mark):
    for note in glob.glob("/dev/shm/" + NOTE.format(mark, "*")):
        for path in [*glob.glob(f"/dev/shm/mpich_shm_{note.rpartition('_')[2]}_*"), note]:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)


if __name__ == "__main__":
    _main(sys.argv[1])
    _remove_files(sys.argv[1])
