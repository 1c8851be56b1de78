# ruff: noqa: F822, PLE0604 - the names of __all__ come from the torch namespace, below
"""torch.functional: functions of the torch namespace, under the second name that they have in torch."""
import mindtorch

__all__ = [*mindtorch._OF_FUNCTIONAL, "istft", "pca_lowrank", "svd_lowrank"]
globals().update({name: getattr(mindtorch, name) for name in __all__})
