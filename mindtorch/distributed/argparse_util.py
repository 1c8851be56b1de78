"""torch.distributed.argparse_util: arguments whose defaults come from environment variables PET_NAME."""
from __future__ import annotations

import os
from argparse import Action, ArgumentParser, Namespace
from typing import Any

__all__ = ["check_env", "env"]


def _variable(dest):
    return os.environ.get(f"PET_{dest.upper()}")


class env(Action):
    """The argument's value; without it that of the variable, which also serves for a required argument.

    Arguments:
        dest: the name of the option
        default: the value where neither option nor variable is given
        required: whether the option has to be given
        **kwargs: as of ArgumentParser.add_argument

    Example:
        >>> import argparse, os
        >>> os.environ["PET_NNODES"] = "2"
        >>> parser = argparse.ArgumentParser()
        >>> _ = parser.add_argument("--nnodes", action=dist.argparse_util.env)
        >>> parser.parse_args([]).nnodes, parser.parse_args(["--nnodes=4"]).nnodes
        ('2', '4')
        >>> del os.environ["PET_NNODES"]
    """

    def __init__(self, dest: str, default: Any = None, required: bool = False, **kwargs: Any) -> None:
        value = _variable(dest)
        default = default if value is None else value
        super().__init__(dest=dest, default=default, required=required and not default, **kwargs)

    def __call__(self, parser: ArgumentParser, namespace: Namespace, values: Any,
                 option_string: str | None = None) -> None:
        setattr(namespace, self.dest, values)


class check_env(Action):
    """True if the argument is there; without it whether the variable is a number other than 0.

    Arguments:
        dest: the name of the option
        default: the value where neither option nor variable is given
        **kwargs: as of ArgumentParser.add_argument

    Example:
        >>> import argparse, os
        >>> os.environ["PET_VERBOSE"] = "1"
        >>> parser = argparse.ArgumentParser()
        >>> _ = parser.add_argument("--verbose", action=dist.argparse_util.check_env)
        >>> parser.parse_args([]).verbose
        True
        >>> del os.environ["PET_VERBOSE"]
    """

    def __init__(self, dest: str, default: bool = False, **kwargs: Any) -> None:
        value = _variable(dest)
        super().__init__(dest=dest, const=True, nargs=0, default=default if value is None else bool(int(value)),
                         **kwargs)

    def __call__(self, parser: ArgumentParser, namespace: Namespace, values: Any,
                 option_string: str | None = None) -> None:
        setattr(namespace, self.dest, self.const)
