"""torch.distributed.argparse_util: arguments whose defaults come from environment variables PET_NAME."""
from __future__ import annotations

import os
from argparse import Action, ArgumentParser, Namespace
from typing import Any

__all__ = ["check_env", "env"]


def _variable(dest):
    return os.environ.get(f"PET_{dest.upper()}")


class env(Action):
    """The argument's value; without it that of the variable, which also serves for a required argument."""

    def __init__(self, dest: str, default: Any = None, required: bool = False, **kwargs: Any) -> None:
        value = _variable(dest)
        default = default if value is None else value
        super().__init__(dest=dest, default=default, required=required and not default, **kwargs)

    def __call__(self, parser: ArgumentParser, namespace: Namespace, values: Any,
                 option_string: str | None = None) -> None:
        setattr(namespace, self.dest, values)


class check_env(Action):
    """True if the argument is there; without it whether the variable is a number other than 0."""

    def __init__(self, dest: str, default: bool = False, **kwargs: Any) -> None:
        value = _variable(dest)
        super().__init__(dest=dest, const=True, nargs=0, default=default if value is None else bool(int(value)),
                         **kwargs)

    def __call__(self, parser: ArgumentParser, namespace: Namespace, values: Any,
                 option_string: str | None = None) -> None:
        setattr(namespace, self.dest, self.const)
