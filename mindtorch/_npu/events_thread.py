"""pinned_use_background_threads: a thread frees pinned memory after its events, in place of the next allocation."""
import threading
import time

PAUSE = 0.0001                   # seconds between two polls while memory waits for a stream
IDLE_PAUSE = 0.002               # and while none does

_thread = None


def start():
    """Starts the thread unless it is running. A forked child starts its own."""
    global _thread
    if _thread is None or not _thread.is_alive():
        _thread = threading.Thread(target=_run, name="mindtorch-events", daemon=True)
        _thread.start()


def _run():
    from mindtorch._npu import runtime, streams
    while runtime.is_started():
        time.sleep(PAUSE if streams.pending_count() else IDLE_PAUSE)
        try:
            streams.process_deferred_now()
        except RuntimeError:
            return               # the device has failed; its next use raises
