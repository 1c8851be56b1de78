# ruff: noqa: F401 - all of these names are what the module consists of
"""torch.types: names for what signatures take."""
import os
from builtins import bool as _bool
from builtins import bytes as _bytes
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from collections.abc import Sequence
from typing import IO, TypeAlias

from mindtorch import Size, Tensor
from mindtorch import device as _device
from mindtorch import dtype as _dtype
from mindtorch import layout as _layout
from mindtorch.storage import UntypedStorage as Storage

__all__ = ["Device", "FileLike", "Number", "Storage"]

_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_TensorOrOptionalTensors: TypeAlias = Tensor | Sequence[Tensor | None]
_size: TypeAlias = Size | list[_int] | tuple[_int, ...]
_dispatchkey: TypeAlias = _str
Number: TypeAlias = _int | _float | _bool
_Number = (_int, _float, _bool)
FileLike: TypeAlias = _str | os.PathLike[_str] | IO[_bytes]
Device: TypeAlias = _device | _str | _int | None
IntLikeType: TypeAlias = _int
FloatLikeType: TypeAlias = _float
BoolLikeType: TypeAlias = _bool
