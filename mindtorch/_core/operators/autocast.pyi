from collections.abc import Callable
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])

def with_autocast_policy(name: str) -> Callable[[_Function], _Function]: ...
def __getattr__(name: str) -> Any: ...
