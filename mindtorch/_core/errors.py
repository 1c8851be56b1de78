"""Exceptions that torch has and Python has not."""


class OutOfMemoryError(RuntimeError):
    """A device has no room for an allocation, not even after all cached memory was given back."""


OutOfMemoryError.__module__ = "mindtorch"       # where users find it: torch.OutOfMemoryError
