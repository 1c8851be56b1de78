# ruff: noqa: F822 - the names of __all__ come from the torch namespace, below
"""torch.functional: functions of the torch namespace, under the second name that they have in torch."""
import mindtorch

__all__ = ["atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes", "broadcast_tensors",
           "cartesian_prod", "cdist", "chain_matmul", "einsum", "istft", "lu", "meshgrid", "norm", "pca_lowrank",
           "split", "stft", "svd_lowrank", "tensordot", "unique", "unique_consecutive", "unravel_index"]
globals().update({name: getattr(mindtorch, name) for name in __all__})
