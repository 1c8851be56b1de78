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
    """How the elements lie in memory. Every tensor here is strided; the others are for code that compares with them."""

    __slots__ = ()


class memory_format(_NamedConstant):
    """The order of strides that a copy gets."""

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


def require_strided(given, function):
    """An error for any layout= that asks for something else."""
    if not isinstance(given, layout):
        raise TypeError(f"{function}(): argument 'layout' must be torch.layout, not {type(given).__name__}")
    if given is not strided:
        raise NotImplementedError(f"{function}(): mindtorch has strided tensors only, not layout={given!r}")
