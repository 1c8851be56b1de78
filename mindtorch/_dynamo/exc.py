"""torch._dynamo.exc: what a compiler would raise. mindtorch has none: the classes are for `except` clauses."""
from mindtorch._submodules import module_getattr

__all__ = ["BackendCompilerFailed", "InternalTorchDynamoError", "TorchDynamoException", "TorchRuntimeError",
           "Unsupported", "UserError"]


class TorchDynamoException(RuntimeError):
    """What they all are."""


class InternalTorchDynamoError(TorchDynamoException):
    """A mistake of the compiler."""


class BackendCompilerFailed(TorchDynamoException):
    """The backend could not compile a graph."""


class Unsupported(TorchDynamoException):
    """Python that a graph cannot have."""


class TorchRuntimeError(TorchDynamoException):
    """An operator refused its arguments while the graph was made."""


class UserError(Unsupported):
    """A program that used the compiler wrongly."""


__getattr__ = module_getattr(__name__)
