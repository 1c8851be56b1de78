from collections.abc import Callable
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])

def overridable(function: _Function, modes_only: bool = False,
                unpack: Callable[..., tuple[Any, ...]] | None = None) -> _Function: ...
def __getattr__(name: str) -> Any: ...
