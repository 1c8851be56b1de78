"""Exceptions that torch has and Python has not, and what linear algebra says of a matrix that it cannot take."""


class OutOfMemoryError(RuntimeError):
    """A device has no room for an allocation, not even after all cached memory was given back.

    Example:
        >>> try:
        ...     torch.empty(1 << 50, dtype=torch.uint8, device="npu")
        ... except torch.OutOfMemoryError:
        ...     print("no room")
        no room
    """


class AcceleratorError(RuntimeError):
    """For `except` clauses of programs: failures of an NPU are RuntimeErrors, as in torch_npu, not of this type.

    Example:
        >>> issubclass(torch.AcceleratorError, RuntimeError)
        True
    """


class LinAlgError(RuntimeError):
    """A matrix is not what a function of linear algebra needs: it is singular, or not positive definite.

    Example:
        >>> try:
        ...     torch.linalg.inv(torch.zeros(2, 2))
        ... except torch.linalg.LinAlgError:
        ...     print("singular")
        singular
    """


OutOfMemoryError.__module__ = AcceleratorError.__module__ = "mindtorch"     # where users find them
LinAlgError.__module__ = "mindtorch.linalg"                                 # torch.linalg.LinAlgError

SINGULAR = "The solver failed because the input matrix is singular."
NOT_INVERTIBLE = ("The diagonal element {0} is zero, the inversion could not be completed because the input matrix is "
                  "singular.")
ZERO_BLOCK = "diagonal element {0} of D is zero"
ZERO_PIVOT = ("U[{0},{0}] is zero and using it on lu_solve would result in a division by zero. If you still want to "
              "perform the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)")
RANK_DEFICIENT = ("The least squares solution could not be computed because the input matrix does not have full rank "
                  "(error code: {0}).")
NOT_POSITIVE_DEFINITE = ("The factorization could not be completed because the input is not positive-definite (the "
                         "leading minor of order {0} is not positive-definite).")
NOT_FINITE = "The algorithm failed to converge because the input matrix contained non-finite values."
NOT_CONVERGED = ("The algorithm failed to converge because the input matrix is ill-conditioned or has too many "
                 "repeated {what} (error code: {{0}}).")


def raise_first_failure(info, function, what, error=LinAlgError):
    """An error for the first matrix of a batch whose info is not 0; `what` may have {0} for that number."""
    infos = info.reshape(-1).tolist()
    first = next((index for index, number in enumerate(infos) if number), None)
    if first is not None:
        where = f"(Batch element {first}): " if info.ndim else ""
        raise error(f"{function}: {where}{what.format(infos[first])}")
