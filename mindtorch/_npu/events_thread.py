"""pinned_use_background_threads: a thread that releases what the streams have passed, instead of each request."""
import threading
import time

PAUSE = 0.0001                   # seconds between two looks while something waits for a stream
IDLE_PAUSE = 0.002               # and while nothing does

_thread = None


def start():
    """Begins the thread, unless there is one; a forked child has none."""
    global _thread
    if _thread is None or not _thread.is_alive():
        _thread = threading.Thread(target=_run, name="mindtorch-events", daemon=True)
        _thread.start()


def _run():
    from mindtorch._npu import host_memory, runtime
    while runtime.is_started():
        time.sleep(PAUSE if host_memory.pending() else IDLE_PAUSE)
        try:
            host_memory.drain_now()
        except RuntimeError:
            return               # the device has failed, which its next use says
