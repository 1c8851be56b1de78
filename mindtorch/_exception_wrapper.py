"""An exception on its way from one process to another."""
import sys
import traceback

__all__ = ["ExceptionWrapper", "KeyErrorMessage"]


class KeyErrorMessage(str):
    """A text that KeyError shows as it is, lines and all."""

    __slots__ = ()

    def __repr__(self):
        return str(self)


class ExceptionWrapper:
    """Type and printed traceback of the exception being handled: those can be pickled, a traceback cannot."""

    def __init__(self, exc_info=None, where="in background"):
        exc_info = exc_info or sys.exc_info()
        self.exc_type = exc_info[0]
        self.exc_msg = "".join(traceback.format_exception(*exc_info))
        self.where = where

    def reraise(self):
        """Raises the exception's type with its traceback as the message; RuntimeError where that type wants more."""
        message = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            message = KeyErrorMessage(message)
        elif getattr(self.exc_type, "message", None):
            raise self.exc_type(message=message)
        try:
            exception = self.exc_type(message)
        except Exception:  # noqa: BLE001 - the type's own constructor may raise anything
            raise RuntimeError(message) from None
        try:
            raise exception
        finally:
            del exception       # its traceback leads to this frame: a cycle would keep alive all that it passes
