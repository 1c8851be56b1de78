"""torch.layout and torch.memory_format: the few instances there are."""


class _NamedConstant:
    __slots__ = ("_name",)

    def __init__(self, name):
        self._name = name

    def __repr__(self):
        return f"torch.{self._name}"

    def __reduce__(self):
        return self._name

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


class layout(_NamedConstant):
    """How a tensor holds its elements: strided in memory, or sparse.

    Arguments:
        name: the name

    Example:
        >>> torch.ones(2).layout
        torch.strided
    """

    __slots__ = ()

    def __reduce__(self):
        return _get_layout, (repr(self),)           # as in files of torch


class memory_format(_NamedConstant):
    """The order of strides that a copy gets.

    Arguments:
        name: the name

    Example:
        >>> x = torch.ones(1, 2, 3, 3).contiguous(memory_format=torch.channels_last)
        >>> x.stride()
        (18, 1, 6, 2)
    """

    __slots__ = ()


strided = layout("strided")
sparse_coo = layout("sparse_coo")
sparse_csr = layout("sparse_csr")
sparse_csc = layout("sparse_csc")
sparse_bsr = layout("sparse_bsr")
sparse_bsc = layout("sparse_bsc")
jagged = layout("jagged")
_mkldnn = layout("_mkldnn")
contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")


def _get_layout(name):
    """The layout of that name in a file."""
    if name not in LAYOUTS:
        raise RuntimeError(f"there is no layout {name!r}")
    return LAYOUTS[name]


_get_layout.__module__ = "mindtorch.serialization"          # files name this module
LAYOUTS = {repr(kind): kind for kind in (strided, sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc)}


def require_strided(given, function):
    """An error for any other layout=."""
    if not isinstance(given, layout):
        raise TypeError(f"{function}(): argument 'layout' must be torch.layout, not {type(given).__name__}")
    if given is not strided:
        raise NotImplementedError(f"{function}(): mindtorch has strided tensors only, not layout={given!r}")
