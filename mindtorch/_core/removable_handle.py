"""torch.utils.hooks.RemovableHandle, which registering a hook gives."""
from __future__ import annotations

import weakref
from collections import OrderedDict
from typing import Any, Self


class RemovableHandle:
    """The result of registering a hook: `remove()` removes the hook, and so does leaving a `with` of the handle.

    Arguments:
        hooks_dict: the dict that the hook is in
        extra_dict: further dicts with the same key

    Example:
        >>> layer = torch.nn.Linear(1, 1)
        >>> handle = layer.register_forward_hook(lambda module, args, output: print("called"))
        >>> handle.remove()
        >>> y = layer(torch.ones(1))
    """

    next_id = 0

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        self.hooks_dict_ref = _Reference(hooks_dict)
        extra = extra_dict if isinstance(extra_dict, list) else [extra_dict] if extra_dict is not None else []
        self.extra_dict_ref = tuple(_Reference(hooks) for hooks in extra)

    def remove(self) -> None:
        """Remove the hook. A second call does nothing."""
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = reference()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self) -> Any:
        return self.hooks_dict_ref(), self.id, tuple(extra() for extra in self.extra_dict_ref)

    def __setstate__(self, state: Any) -> None:
        hooks, self.id, *extra = state
        self.hooks_dict_ref = _Reference(OrderedDict() if hooks is None else hooks)
        self.extra_dict_ref = tuple(_Reference(OrderedDict() if one is None else one)
                                    for one in (extra[0] if extra else ()))
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.remove()


class _Reference:
    """A weak reference where the type has them (OrderedDict); plain dictionaries have none and are held."""

    def __init__(self, hooks: Any) -> None:
        try:
            self._get = weakref.ref(hooks)
        except TypeError:
            self._get = lambda: hooks

    def __call__(self) -> Any:
        return self._get()


RemovableHandle.__module__ = "mindtorch.utils.hooks"
