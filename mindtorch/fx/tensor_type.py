"""torch.fx.tensor_type: annotations that say the sizes of a tensor, of which some may be unknown."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["Dyn", "TensorType", "is_consistent", "is_more_precise"]


class _DynType:
    """The type of Dyn, a size or a type that is not known."""

    def __init__(self) -> None:
        self.__name__ = "_DynType"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _DynType)

    def __hash__(self) -> int:
        return hash(_DynType)

    def __repr__(self) -> str:
        return "Dyn"


Dyn = _DynType()


class TensorType:
    """The type of tensors with these sizes: TensorType((2, Dyn)), or TensorType[2, Dyn].

    Arguments:
        dim: the sizes; Dyn for any

    Example:
        >>> from mindtorch.fx.tensor_type import Dyn, TensorType, is_consistent
        >>> is_consistent(TensorType((2, 3)), TensorType((2, Dyn)))
        True
    """

    def __init__(self, dim: Iterable[Any]) -> None:
        self.__origin__, self.__args__ = TensorType, dim

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorType) and list(self.__args__) == list(other.__args__)

    __hash__ = None

    def __repr__(self) -> str:
        return f"TensorType[{self.__args__}]"

    @staticmethod
    def __class_getitem__(*args: Any) -> TensorType:
        """TensorType[2, 3]."""
        sizes = args[0]
        return TensorType(sizes if isinstance(sizes, tuple) else (sizes,))


def _elementwise(relation, t1, t2):
    """Whether two TensorTypes are of one length, and the relation holds for all sizes."""
    if not isinstance(t1, TensorType) or not isinstance(t2, TensorType):
        return False
    return len(t1.__args__) == len(t2.__args__) and all(map(relation, t1.__args__, t2.__args__))


def is_consistent(t1: Any, t2: Any) -> bool:
    """Whether a value may have both types: they are equal where both are known.

    Arguments:
        t1: a type
        t2: a type

    Example:
        >>> from mindtorch.fx.tensor_type import Dyn, is_consistent
        >>> is_consistent(int, Dyn), is_consistent(int, str)
        (True, False)
    """
    return t1 == t2 or Dyn in (t1, t2) or _elementwise(is_consistent, t1, t2)


def is_more_precise(t1: Any, t2: Any) -> bool:
    """Whether the first type says all that the second says.

    Arguments:
        t1: a type
        t2: a type

    Example:
        >>> from mindtorch.fx.tensor_type import Dyn, TensorType, is_more_precise
        >>> is_more_precise(TensorType((2, 3)), TensorType((2, Dyn))), is_more_precise(Dyn, int)
        (True, False)
    """
    return t1 == t2 or t2 == Dyn or _elementwise(is_more_precise, t1, t2)
