"""BlockMask: which blocks of the scores of an attention are computed, and by which function parts of them are."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import mindtorch

if TYPE_CHECKING:
    from mindtorch import Tensor, device
    from mindtorch.types import Device

__all__ = ["BlockMask", "and_masks", "evaluated", "noop_mask", "or_masks", "places"]

_DEFAULT_SPARSE_BLOCK_SIZE = 128
_LISTS = ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices", "q_num_blocks", "q_indices",
          "full_q_num_blocks", "full_q_indices")


def places(shape: Any, device: Device) -> Any:
    """The numbers of batches, heads, queries and keys."""
    return [mindtorch.arange(count, device=device) for count in shape]


def evaluated(function: Any, at: Any, *scores: Any) -> Any:
    """The results of a mask_mod, or of a score_mod for a tensor of scores, of all `places`."""
    for dim in reversed(range(4)):
        numbers = tuple(0 if axis == dim else None for axis in range(4))
        function = mindtorch.vmap(function, in_dims=(*(0 for _ in scores), *numbers))
    return function(*scores, *at)


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """Allows all pairs.

    Arguments:
        batch: the index of the sample
        head: the index of the head
        token_q: the index of the query
        token_kv: the index of the key

    Example:
        >>> from mindtorch.nn.attention.flex_attention import create_mask, noop_mask
        >>> create_mask(noop_mask, 1, 1, 2, 2, device="cpu").all()
        tensor(True)
    """
    return batch.new_ones((), dtype=mindtorch.bool)


def _joined(mask_mods, start, join):
    if not all(callable(each) for each in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

    def mask_mod(b, h, q_idx, kv_idx):
        found = b.new_full((), start, dtype=mindtorch.bool)
        for each in mask_mods:
            found = join(found, each(b, h, q_idx, kv_idx))
        return found
    return mask_mod


def and_masks(*mask_mods: Any) -> Any:
    """The mask_mod that allows what all of them allow.

    Arguments:
        *mask_mods: such functions

    Example:
        >>> from mindtorch.nn.attention.flex_attention import and_masks, create_mask
        >>> near = and_masks(lambda b, h, q, k: q >= k, lambda b, h, q, k: q - k < 2)
        >>> create_mask(near, 1, 1, 3, 3, device="cpu").int()
        tensor([[[[1, 0, 0],
                  [1, 1, 0],
                  [0, 1, 1]]]], dtype=torch.int32)
    """
    return _joined(mask_mods, True, lambda one, other: one & other)


def or_masks(*mask_mods: Any) -> Any:
    """The mask_mod that allows what one of them allows.

    Arguments:
        *mask_mods: such functions

    Example:
        >>> from mindtorch.nn.attention.flex_attention import create_mask, or_masks
        >>> either = or_masks(lambda b, h, q, k: q == k, lambda b, h, q, k: k == 0)
        >>> create_mask(either, 1, 1, 3, 3, device="cpu").int()
        tensor([[[[1, 0, 0],
                  [1, 1, 0],
                  [1, 0, 1]]]], dtype=torch.int32)
    """
    return _joined(mask_mods, False, lambda one, other: one | other)


def _sliced(b, h, q_idx, kv_idx):
    raise RuntimeError("Cannot use mask_mod from a sliced BlockMask")


def _listed(dense):
    """(how many blocks of each row are set, all block numbers with those first) of a bool tensor."""
    if dense is None:
        return None, None
    order = mindtorch.argsort(dense.to(mindtorch.int32), dim=-1, descending=True, stable=True)
    return dense.sum(-1).to(mindtorch.int32), order.to(mindtorch.int32).contiguous()


def _dense(num_blocks, indices, columns):
    """The bool tensor that such lists describe."""
    listed = mindtorch.arange(indices.size(-1), device=indices.device) < num_blocks.unsqueeze(-1)
    found = mindtorch.zeros((*indices.shape[:-1], columns + 1), dtype=mindtorch.int32, device=indices.device)
    # Blocks that are not listed go to an extra column, which is cut off.
    found = found.scatter(-1, mindtorch.where(listed, indices, columns).long(), 1)
    return found[..., :columns].to(mindtorch.bool)


class BlockMask:
    """Blocks of BLOCK_SIZE scores: of each row of blocks the columns in which some pairs are allowed, those in which
    all are (`full_`), and both the other way round (`q_`); `mask_mod` says which pairs of the former are allowed.

    Arguments:
        seq_lengths: the numbers of queries and keys
        kv_num_blocks: how many blocks of keys each block of queries sees in part (B, H, rows)
        kv_indices: the numbers of these blocks (B, H, rows, columns)
        full_kv_num_blocks: how many blocks of keys each block of queries sees whole
        full_kv_indices: the numbers of these blocks
        q_num_blocks: how many blocks of queries see each block of keys in part
        q_indices: the numbers of these blocks
        full_q_num_blocks: how many blocks of queries see each block of keys whole
        full_q_indices: the numbers of these blocks
        BLOCK_SIZE: the size of a block; one int, or one for queries and one for keys
        mask_mod: a function (batch, head, query, key) of indices: whether the query sees the key

    Example:
        >>> from mindtorch.nn.attention.flex_attention import create_block_mask
        >>> causal = create_block_mask(lambda b, h, q, k: q >= k, None, None, 256, 256, device="cpu")
        >>> causal.shape, causal.sparsity()
        ((1, 1, 256, 256), 25.0)
    """

    seq_lengths: tuple[int, int]
    kv_num_blocks: Tensor
    kv_indices: Tensor
    full_kv_num_blocks: Tensor | None
    full_kv_indices: Tensor | None
    q_num_blocks: Tensor | None
    q_indices: Tensor | None
    full_q_num_blocks: Tensor | None
    full_q_indices: Tensor | None
    BLOCK_SIZE: tuple[int, int]

    def __init__(self, seq_lengths: tuple[int, int], kv_num_blocks: Tensor, kv_indices: Tensor,
                 full_kv_num_blocks: Tensor | None, full_kv_indices: Tensor | None, q_num_blocks: Tensor | None,
                 q_indices: Tensor | None, full_q_num_blocks: Tensor | None, full_q_indices: Tensor | None,
                 BLOCK_SIZE: tuple[int, int] = (_DEFAULT_SPARSE_BLOCK_SIZE, _DEFAULT_SPARSE_BLOCK_SIZE),
                 mask_mod: Any = noop_mask) -> None:
        if kv_indices.dim() < 2:
            raise RuntimeError("kv_indices must have at least 2 dimensions")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError("full_kv_num_blocks and full_kv_indices must be both provided or omitted")
        given = locals()
        for name in _LISTS:
            setattr(self, name, given[name])
        self.seq_lengths, self.BLOCK_SIZE, self.mask_mod = seq_lengths, BLOCK_SIZE, mask_mod

    @classmethod
    def _from_dense(cls, partial, full, block_size, mask_mod, seq_lengths):
        turned = None if full is None else full.mT
        return cls(seq_lengths, *_listed(partial), *_listed(full), *_listed(partial.mT), *_listed(turned),
                   BLOCK_SIZE=block_size, mask_mod=mask_mod)

    @classmethod
    def from_kv_blocks(cls, kv_num_blocks: Tensor, kv_indices: Tensor, full_kv_num_blocks: Tensor | None = None,
                       full_kv_indices: Tensor | None = None,
                       BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE, mask_mod: Any = None,
                       seq_lengths: tuple[int, int] | None = None) -> Self:
        """Makes a mask of the lists for rows of blocks, and from them the lists for columns."""
        size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
        columns = kv_indices.size(-1)
        lengths = (kv_indices.size(-2) * size[0], columns * size[1]) if seq_lengths is None else seq_lengths
        full = None if full_kv_num_blocks is None else _dense(full_kv_num_blocks, full_kv_indices, columns)
        return cls._from_dense(_dense(kv_num_blocks, kv_indices, columns), full, size, mask_mod or noop_mask, lengths)

    @property
    def shape(self) -> tuple[int, ...]:
        """(..., length of the queries, length of the keys)."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def _partial(self):
        return _dense(self.kv_num_blocks, self.kv_indices, self.kv_indices.size(-1))

    def _full(self):
        if self.full_kv_num_blocks is None:
            return mindtorch.zeros_like(self.kv_indices, dtype=mindtorch.bool)
        return _dense(self.full_kv_num_blocks, self.full_kv_indices, self.kv_indices.size(-1))

    def to_dense(self) -> Tensor:
        """1 for each block that is computed, else 0."""
        return (self._partial() | self._full()).to(mindtorch.int32)

    def numel(self) -> int:
        """How many pairs there are."""
        count = 1
        for size in self.shape:
            count *= size
        return count

    def sparsity(self) -> float:
        """The share of the pairs, in per cent, that no block holds; below 0 where blocks reach beyond the end."""
        computed = int(self.to_dense().sum()) * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1]
        return 100 * (1 - computed / self.numel())

    def _check_lengths(self, q_len, kv_len):
        rows, columns = self.seq_lengths
        if (q_len, kv_len) == (rows, columns):
            return
        told = f"block_mask was created for block_mask.shape={self.shape} but got q_len={q_len} and kv_len={kv_len}. "
        if q_len > rows or kv_len > columns:
            raise ValueError(told + "As the block mask was created for a smaller length than you're using it for, you "
                                    "likely need to create a new block mask.")
        raise ValueError(told + "As the block mask was created for a larger length than you're using it for, you can "
                                "either 1. create a new block mask with the correct length, or 2. 'adjust' the "
                                "existing block mask to the correct length by calling block_mask._adjust(q_len, "
                                "kv_len). This essentially 'crops' the block mask to the upper left corner, which does "
                                "not work for all mask_mods!")

    def _allowed(self, shape, at):
        """The pairs that may attend: all of full blocks, and of the others those that mask_mod allows."""
        def pairs(blocks):
            wide = blocks.repeat_interleave(self.BLOCK_SIZE[0], -2).repeat_interleave(self.BLOCK_SIZE[1], -1)
            return wide[..., :shape[-2], :shape[-1]]
        allowed = pairs(self._partial()) & evaluated(self.mask_mod, at)
        return allowed if self.full_kv_num_blocks is None else allowed | pairs(self._full())

    def _adjust(self, new_q_len, new_kv_len):
        """The upper left corner, for shorter sequences."""
        rows, columns = (-(-length // size) for length, size in
                         zip((new_q_len, new_kv_len), self.BLOCK_SIZE, strict=True))
        full = None if self.full_kv_num_blocks is None else self._full()[..., :rows, :columns]
        return BlockMask._from_dense(self._partial()[..., :rows, :columns], full, self.BLOCK_SIZE, self.mask_mod,
                                     (new_q_len, new_kv_len))

    def _with(self, change, mask_mod):
        lists = [None if getattr(self, name) is None else change(getattr(self, name)) for name in _LISTS]
        return BlockMask(self.seq_lengths, *lists, BLOCK_SIZE=self.BLOCK_SIZE, mask_mod=mask_mod)

    def to(self, device: device | str) -> BlockMask:
        """The same on a device; what mask_mod uses stays where it is."""
        return self._with(lambda each: each.to(device), self.mask_mod)

    def as_tuple(self, flatten: bool = True) -> tuple[Any, ...]:
        """The lengths, the lists, the sizes of blocks and the mask_mod."""
        lists = tuple(getattr(self, name) for name in _LISTS)
        if flatten:
            return (*self.seq_lengths, *lists, *self.BLOCK_SIZE, self.mask_mod)
        return (self.seq_lengths, *lists, self.BLOCK_SIZE, self.mask_mod)

    def __getitem__(self, index: int | slice | Tensor | tuple[int | slice | Tensor, ...]) -> Self:
        """Those of some batches and heads. Its mask_mod raises: it would not know which they are."""
        index = index if isinstance(index, tuple) else (index,)
        index = tuple(slice(each, each + 1 or None) if isinstance(each, int) else each for each in index)[:2]
        return self._with(lambda each: each[index], _sliced)

    def __repr__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%)"
