"""torch._dynamo.external_utils."""
from mindtorch.compiler import is_compiling

__all__ = ["is_compiling"]
