"""Work done by several threads at once."""
import threading


def in_threads(work, count=8):
    """Runs work(number) in `count` threads at once; raises what any of them raised."""
    errors = []
    start = threading.Barrier(count)

    def body(number):
        try:
            start.wait()
            work(number)
        except BaseException as error:  # noqa: BLE001 - handed to the main thread
            errors.append(error)

    threads = [threading.Thread(target=body, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
