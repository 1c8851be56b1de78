"""torch.fx.traceback: notes that tracing would keep with the nodes of a graph."""
import contextlib
import functools

from mindtorch._submodules import module_getattr

__all__ = ["annotate", "annotate_fn", "get_current_meta", "has_preserved_node_meta", "preserve_node_meta"]

_meta = {}
_preserving = False


@contextlib.contextmanager
def preserve_node_meta(enable=True):
    """Within this context `annotate` keeps its notes.

    Arguments:
        enable: whether it has an effect

    Example:
        >>> with torch.fx.traceback.preserve_node_meta():
        ...     torch.fx.traceback.has_preserved_node_meta()
        True
    """
    global _preserving
    before, _preserving = _preserving, enable
    try:
        yield
    finally:
        _preserving = before


def has_preserved_node_meta():
    """Whether preserve_node_meta is active.

    Example:
        >>> torch.fx.traceback.has_preserved_node_meta()
        False
    """
    return _preserving


@contextlib.contextmanager
def annotate(annotation_dict):
    """Within this context the notes of a dict are the current ones, where preserve_node_meta is active.

    Arguments:
        annotation_dict: the notes by name

    Example:
        >>> with torch.fx.traceback.preserve_node_meta(), torch.fx.traceback.annotate({"stage": 0}):
        ...     torch.fx.traceback.get_current_meta()["custom"]
        {'stage': 0}
    """
    global _meta
    before = _meta
    if _preserving:
        _meta = {**_meta, "custom": {**_meta.get("custom", {}), **annotation_dict}}
    try:
        yield
    finally:
        _meta = before


def annotate_fn(annotation_dict):
    """A decorator: `annotate` around each call.

    Arguments:
        annotation_dict: the notes by name

    Example:
        >>> @torch.fx.traceback.annotate_fn({"stage": 1})
        ... def current():
        ...     return torch.fx.traceback.get_current_meta().get("custom")
        >>> with torch.fx.traceback.preserve_node_meta():
        ...     current()
        {'stage': 1}
    """
    def decorate(function):
        @functools.wraps(function)
        def called(*args, **kwargs):
            with annotate(annotation_dict):
                return function(*args, **kwargs)
        return called
    return decorate


def get_current_meta():
    """The current notes.

    Example:
        >>> torch.fx.traceback.get_current_meta()
        {}
    """
    return _meta


__getattr__ = module_getattr(__name__)
