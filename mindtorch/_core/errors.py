"""Exceptions that torch has and Python has not."""


class OutOfMemoryError(RuntimeError):
    """A device has no room for an allocation, not even after all cached memory was given back."""


class LinAlgError(RuntimeError):
    """A matrix is not what a function of linear algebra needs: it is singular, or not positive definite."""


OutOfMemoryError.__module__ = "mindtorch"       # where users find them: torch.OutOfMemoryError,
LinAlgError.__module__ = "mindtorch.linalg"     # torch.linalg.LinAlgError
