"""Why a test fails: a few words, by which failures are counted."""


def cause(file, name, record):
    """The cause of a failure, from the record of worker.py."""
    text = record.get("message", "").strip().split("\n")[0]
    return f"{record.get('type', record['status'])}: {text}"
