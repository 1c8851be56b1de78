"""torch.layout and torch.memory_format: the few instances there are."""


class _Constant:
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


class layout(_Constant):
    """How the elements lie in memory; every tensor here is strided."""

    __slots__ = ()


class memory_format(_Constant):
    """The order of strides that a copy gets."""

    __slots__ = ()


strided = layout("strided")
contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")
