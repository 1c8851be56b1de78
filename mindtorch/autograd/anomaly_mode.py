"""torch.autograd.anomaly_mode: errors of backward tell where in the forward they come from."""
from __future__ import annotations

import warnings

from mindtorch._core.autograd.node import is_anomaly_check_nan_enabled, is_anomaly_enabled, set_anomaly_enabled

__all__ = ["detect_anomaly", "set_detect_anomaly"]


class set_detect_anomaly:
    """`mode` from now on, and until the end of the block where it is used with `with`. For all threads.

    Inside, every node keeps the traceback of its operator, which a warning shows when backward fails there; with
    `check_nan` a gradient that holds NaN is a failure.

    Arguments:
        mode: whether it is on
        check_nan: whether NaN in a gradient raises an error

    Example:
        >>> with torch.autograd.set_detect_anomaly(True):
        ...     print(torch.is_anomaly_enabled())
        True
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.before = (is_anomaly_enabled(), is_anomaly_check_nan_enabled())
        set_anomaly_enabled(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        set_anomaly_enabled(*self.before)


class detect_anomaly(set_detect_anomaly):
    """Anomaly detection inside a `with` block. It slows everything down.

    Arguments:
        check_nan: whether NaN in a gradient raises an error

    Example:
        >>> x = torch.tensor([0.0], requires_grad=True)
        >>> try:
        ...     with torch.autograd.detect_anomaly():
        ...         (x.sqrt() * 0).backward()
        ... except RuntimeError as error:
        ...     print(str(error)[:50])
        Function 'SqrtBackward0' returned nan values in it
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.before = (is_anomaly_enabled(), is_anomaly_check_nan_enabled())
        self.check_nan = check_nan
        warnings.warn("Anomaly Detection has been enabled. This mode will increase the runtime and should only be "
                      "enabled for debugging.", stacklevel=2)

    def __enter__(self) -> None:
        self.before = (is_anomaly_enabled(), is_anomaly_check_nan_enabled())
        set_anomaly_enabled(True, self.check_nan)
