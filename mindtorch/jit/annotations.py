"""torch.jit.annotations: types that only TorchScript knows, for the annotations of functions that it might compile."""
from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: F401, UP035 - packages import these from here


class _BroadcastingList:
    """BroadcastingList2[int]: two of them, or one that stands for both. Says nothing to Python."""

    def __getitem__(self, types: Any) -> Any:
        return None


BroadcastingList1 = _BroadcastingList()
BroadcastingList2 = _BroadcastingList()
BroadcastingList3 = _BroadcastingList()
