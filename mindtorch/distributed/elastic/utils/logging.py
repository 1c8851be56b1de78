"""torch.distributed.elastic.utils.logging: loggers of torchrun, whose level is in the variable LOGLEVEL."""
from __future__ import annotations

import logging
import os
import sys

__all__ = ["get_log_level", "get_logger"]


def get_log_level() -> str:
    """The level of loggers that nobody has set: "WARNING".

    Example:
        >>> torch.distributed.elastic.utils.logging.get_log_level()
        'WARNING'
    """
    return "WARNING"


def get_logger(name: str | None = None) -> logging.Logger:
    """A logger with the level of the variable LOGLEVEL, named after the calling module unless a name is given.

    Without the variable the level is that of get_log_level. A level that `logging` does not know raises ValueError.

    Arguments:
        name: the name of the logger; None means the calling module

    Example:
        >>> from mindtorch.distributed.elastic.utils.logging import get_logger
        >>> get_logger().name, get_logger("training").name
        ('example', 'training')
    """
    logger = logging.getLogger(name or sys._getframe(1).f_globals.get("__name__", "torchelastic"))
    logger.setLevel(os.environ.get("LOGLEVEL", get_log_level()))
    return logger
