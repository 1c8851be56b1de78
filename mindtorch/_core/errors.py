"""Exceptions that torch has and Python has not."""


class OutOfMemoryError(RuntimeError):
    """A device has no room for an allocation, not even after all cached memory was given back."""


class AcceleratorError(RuntimeError):
    """For `except` clauses of programs: failures of an NPU are RuntimeErrors, as in torch_npu, not of this type."""


class LinAlgError(RuntimeError):
    """A matrix is not what a function of linear algebra needs: it is singular, or not positive definite."""


OutOfMemoryError.__module__ = AcceleratorError.__module__ = "mindtorch"     # where users find them:
LinAlgError.__module__ = "mindtorch.linalg"                                 # torch.linalg.LinAlgError
