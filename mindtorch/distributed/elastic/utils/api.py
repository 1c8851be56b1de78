"""torch.distributed.elastic.utils.api: environment variables, and placeholders in the arguments of workers."""
from __future__ import annotations

import os
from string import Template
from typing import Any

from mindtorch.distributed.elastic.utils.distributed import get_socket_with_port

__all__ = ["get_env_variable_or_raise", "get_socket_with_port", "macros"]


def get_env_variable_or_raise(env_name: str) -> str:
    """The value of an environment variable; a ValueError where it is not set.

    Arguments:
        env_name: the name of the variable

    Example:
        >>> from mindtorch.distributed.elastic.utils import get_env_variable_or_raise
        >>> get_env_variable_or_raise("NOT_SET")
        Traceback (most recent call last):
        ValueError: Environment variable NOT_SET expected, but not set
    """
    value = os.environ.get(env_name)
    if value is None:
        raise ValueError(f"Environment variable {env_name} expected, but not set")
    return value


class macros:
    """Placeholders in the arguments of a worker, which torchrun replaces.

    Example:
        >>> from mindtorch.distributed.elastic.utils import macros
        >>> macros.substitute(["--device", f"npu:{macros.local_rank}"], "1")
        ['--device', 'npu:1']
    """

    local_rank = "${local_rank}"

    @staticmethod
    def substitute(args: list[Any], local_rank: str) -> list[Any]:
        """The arguments with the local rank in its place."""
        return [Template(each).safe_substitute(local_rank=local_rank) if isinstance(each, str) else each
                for each in args]
