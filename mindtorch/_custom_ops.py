"""torch._custom_ops: where older code asks for the context of a fake kernel."""
from mindtorch._library.fake import get_ctx

__all__ = ["get_ctx"]
