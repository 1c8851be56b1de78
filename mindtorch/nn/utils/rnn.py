"""Sequences of several lengths: padded to one length, or packed without padding."""
from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from mindtorch import (
    arange,
    cat,
    empty_like,
    float16,
    float32,
    float64,
    full,
    int8,
    int16,
    int32,
    int64,
    is_tensor,
    stack,
    tensor,
    uint8,
)
from mindtorch._tensor.docstrings import complete as _complete_docstrings

if TYPE_CHECKING:
    from mindtorch import Tensor
    from mindtorch.types import Device

__all__ = ["PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence",
           "pad_sequence", "unpack_sequence", "unpad_sequence"]


class _Fields(NamedTuple):
    data: object
    batch_sizes: object
    sorted_indices: object
    unsorted_indices: object


class PackedSequence(_Fields):
    """The elements of all sequences step by step; `batch_sizes` says how many sequences have each step.

    The sequences lie from the longest to the shortest: `sorted_indices` says which are where.

    Arguments:
        data: the elements of all sequences, step by step
        batch_sizes: how many sequences each step has, on the CPU
        sorted_indices: the order in which the sequences were sorted; None means they were not
        unsorted_indices: the inverse of sorted_indices

    Example:
        >>> packed = nn.utils.rnn.pack_sequence([torch.tensor([1, 2, 3]), torch.tensor([4])])
        >>> packed.data, packed.batch_sizes
        (tensor([1, 4, 2, 3]), tensor([2, 1, 1]))
    """

    def __new__(cls, data: Tensor, batch_sizes: Tensor | None = None, sorted_indices: Tensor | None = None,
                unsorted_indices: Tensor | None = None) -> Self:
        if batch_sizes is None:
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        if batch_sizes.device.type != "cpu":
            raise ValueError("batch_sizes should always be on CPU. Instances of PackedSequence should never be created "
                             "manually. They should be instantiated by functions like pack_sequence and "
                             f"pack_padded_sequences in nn.utils.rnn. Got device: {batch_sizes.device}")
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """The elements elsewhere or of another dtype; the indices follow to the device."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        moved = (None if one is None else one.to(data.device) for one in (self.sorted_indices, self.unsorted_indices))
        return type(self)(data, self.batch_sizes, *moved)

    def pin_memory(self) -> Self:
        """The elements, and the indices, in page-locked host memory."""
        return type(self)(*(None if one is None else one.pin_memory() for one in self))

    def is_pinned(self) -> bool:
        """Whether the elements are in page-locked host memory."""
        return self.data.is_pinned()

    @property
    def is_cuda(self) -> bool:
        return self.data.is_cuda

    def cpu(self) -> Self:
        return self.to("cpu")

    def npu(self, device: Device = "npu") -> Any:
        return self.to(device)


def _cast(name, dtype):
    def cast(self):
        return self.to(dtype=dtype)
    cast.__name__, cast.__doc__ = name, f"The elements in {dtype}."
    return cast


for _name, _dtype in (("double", float64), ("float", float32), ("half", float16), ("long", int64), ("int", int32),
                      ("short", int16), ("char", int8), ("byte", uint8)):
    setattr(PackedSequence, _name, _cast(_name, _dtype))


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """Where each index stands in `permutation`.

    Arguments:
        permutation: the order, a tensor of int64 indices; None gives None

    Example:
        >>> nn.utils.rnn.invert_permutation(torch.tensor([2, 0, 1]))
        tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    places = arange(permutation.numel(), device=permutation.device)
    return empty_like(permutation).scatter_(0, permutation, places)


def pack_padded_sequence(input: Tensor, lengths: Tensor | list[int], batch_first: bool = False,
                         enforce_sorted: bool = True) -> PackedSequence:
    """The first `lengths` steps of each of the sequences (T, N, *).

    Arguments:
        input: the padded sequences (L, N, *), or (N, L, *) with batch_first

    Example:
        >>> padded = torch.tensor([[1, 2, 3], [4, 0, 0]])
        >>> packed = nn.utils.rnn.pack_padded_sequence(padded, [3, 1], batch_first=True)
        >>> packed.data, packed.batch_sizes
        (tensor([1, 4, 2, 3]), tensor([2, 1, 1]))
    """
    lengths = lengths.to("cpu") if is_tensor(lengths) else tensor(lengths, dtype=int64, device="cpu")
    indices = None
    if not enforce_sorted:
        lengths, order = lengths.sort(descending=True)
        indices = order.to(input.device)
        input = input.index_select(0 if batch_first else 1, indices)
    input = input.transpose(0, 1) if batch_first else input
    counts = lengths.tolist()
    if input.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    if len(counts) != input.size(1):
        raise RuntimeError(f"Expected `len(lengths)` to be equal to batch_size, but got {len(counts)} "
                           f"(batch_size={input.size(1)})")
    if any(length <= 0 for length in counts):
        raise RuntimeError("Length of all samples has to be greater than 0, but found an element in 'lengths' that is "
                           "<= 0")
    if any(before < behind for before, behind in pairwise(counts)):
        raise RuntimeError("`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can "
                           "pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this "
                           "requirement if you do not need ONNX exportability.")
    if counts[0] > input.size(0):
        raise RuntimeError(f"Expected `lengths` of at most {input.size(0)} steps, but got {counts[0]}")
    sizes = [sum(length > step for length in counts) for step in range(counts[0])]
    data = cat([input[step, :size] for step, size in enumerate(sizes)])
    return PackedSequence(data, tensor(sizes, dtype=int64, device="cpu"), indices)


def pad_packed_sequence(sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0,
                        total_length: int | None = None) -> tuple[Tensor, Tensor]:
    """The sequences (T, N, *) with `padding_value` behind the shorter ones, and their lengths.

    Arguments:
        sequence: a PackedSequence
        total_length: the length of the result; None means that of the longest

    Example:
        >>> packed = nn.utils.rnn.pack_sequence([torch.tensor([1, 2, 3]), torch.tensor([4])])
        >>> nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
        (tensor([[1, 2, 3],
                [4, 0, 0]]), tensor([3, 1]))
    """
    sizes = sequence.batch_sizes.tolist()
    steps = len(sizes) if total_length is None else total_length
    if steps < len(sizes):
        raise ValueError("Expected total_length to be at least the length of the longest sequence in input, but got "
                         f"total_length={total_length} and max sequence length being {len(sizes)}")
    lengths = tensor([sum(size > place for size in sizes) for place in range(sizes[0])], dtype=int64, device="cpu")
    sequences = _sequences(sequence.data, sizes, lengths.tolist())
    padded = pad_sequence(sequences, padding_value=padding_value)
    if steps > len(sizes):
        padded = cat([padded, full((steps - len(sizes), *padded.shape[1:]), padding_value,
                                   dtype=padded.dtype, device=padded.device)])
    padded = padded.transpose(0, 1) if batch_first else padded
    if sequence.unsorted_indices is None:
        return padded, lengths
    return (padded.index_select(0 if batch_first else 1, sequence.unsorted_indices),
            lengths.index_select(0, sequence.unsorted_indices.to("cpu")))


def _sequences(data, sizes, lengths):
    """Each of the packed sequences alone."""
    starts = [sum(sizes[:step]) for step in range(len(sizes))]
    return [data.index_select(0, tensor([starts[step] + place for step in range(length)], device=data.device))
            for place, length in enumerate(lengths)]


def pad_sequence(sequences: Tensor | list[Tensor], batch_first: bool = False, padding_value: float = 0.0,
                 padding_side: str = "right") -> Tensor:
    """Tensors (length, *) together as (T, N, *), shorter ones padded on `padding_side`.

    Arguments:
        padding_side: "right" or "left"

    Example:
        >>> sequences = [torch.tensor([1, 2, 3]), torch.tensor([4])]
        >>> nn.utils.rnn.pad_sequence(sequences, batch_first=True, padding_value=-1)
        tensor([[ 1,  2,  3],
                [ 4, -1, -1]])
    """
    if not hasattr(sequences, "__iter__"):
        raise RuntimeError("pad_sequence: Expected iterable for input sequences, but got arg of type: "
                           f"{type(sequences)}")
    sequences = list(sequences)
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    steps = max(len(one) for one in sequences)

    def padded(one):
        shape = steps - len(one), *one.shape[1:]
        more = full(shape, padding_value, dtype=one.dtype, device=one.device)
        return cat([one, more] if padding_side == "right" else [more, one])
    return stack([padded(one) for one in sequences], 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """Each of the padded sequences alone, at its length.

    Arguments:
        padded_sequences: the padded sequences (L, N, *), or (N, L, *) with batch_first

    Example:
        >>> padded = torch.tensor([[1, 2, 3], [4, 0, 0]])
        >>> nn.utils.rnn.unpad_sequence(padded, torch.tensor([3, 1]), batch_first=True)
        [tensor([1, 2, 3]), tensor([4])]
    """
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[:length] for row, length in zip(rows.unbind(0), lengths.tolist(), strict=False)]


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Tensors (length, *) packed together.

    Example:
        >>> packed = nn.utils.rnn.pack_sequence([torch.tensor([4]), torch.tensor([1, 2, 3])], enforce_sorted=False)
        >>> packed.data, packed.sorted_indices
        (tensor([1, 4, 2, 3]), tensor([1, 0]))
    """
    lengths = [len(one) for one in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Each of the packed sequences alone.

    Arguments:
        packed_sequences: a PackedSequence

    Example:
        >>> nn.utils.rnn.unpack_sequence(nn.utils.rnn.pack_sequence([torch.tensor([1, 2, 3]), torch.tensor([4])]))
        [tensor([1, 2, 3]), tensor([4])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


_complete_docstrings(globals(), "nn.utils")
