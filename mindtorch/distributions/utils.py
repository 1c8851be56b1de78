"""torch.distributions.utils: what the distributions are written with."""
from __future__ import annotations

from functools import update_wrapper
from numbers import Number
from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch.nn.functional import binary_cross_entropy_with_logits, softmax

if TYPE_CHECKING:
    from mindtorch import Tensor
    from mindtorch.types import Number

EULER = 0.57721566490153286060

__all__ = ["broadcast_all", "clamp_probs", "lazy_property", "logits_to_probs", "probs_to_logits",
           "tril_matrix_to_vec", "vec_to_tril_matrix"]


def broadcast_all(*values: Tensor | Number) -> tuple[Tensor, ...]:
    """The values, tensors and numbers, as tensors of one shape; numbers take dtype and device of the tensors.

    Arguments:
        *values: tensors and numbers

    Example:
        >>> torch.distributions.utils.broadcast_all(torch.ones(2), 3.0)
        (tensor([1., 1.]), tensor([3., 3.]))
    """
    if any(not isinstance(v, mindtorch.Tensor) and hasattr(type(v), "__torch_function__") for v in values):
        return mindtorch.overrides.handle_torch_function(broadcast_all, values, *values)
    if not all(isinstance(v, (mindtorch.Tensor, Number)) for v in values):
        raise ValueError("Input arguments must all be instances of Number, torch.Tensor or objects implementing "
                         "__torch_function__.")
    tensors = [v for v in values if isinstance(v, mindtorch.Tensor)]
    like = {"dtype": tensors[0].dtype, "device": tensors[0].device} if tensors else {
        "dtype": mindtorch.get_default_dtype()}
    return mindtorch.broadcast_tensors(*(v if isinstance(v, mindtorch.Tensor) else mindtorch.tensor(v, **like)
                                         for v in values))


def standard_normal(shape: Any, like: Any) -> Any:
    """Standard normal numbers with the dtype and device of `like`."""
    return mindtorch.randn(shape, dtype=like.dtype, device=like.device)


def _standard_normal(shape, dtype, device):
    """standard_normal under the name and with the arguments that torch has it."""
    return mindtorch.randn(shape, dtype=dtype, device=device)


def sum_rightmost(value: Any, dim: Any) -> Any:
    """The sum over the last `dim` dimensions."""
    return value if dim == 0 else value.flatten(value.dim() - dim).sum(-1)


_sum_rightmost = sum_rightmost     # torch's name of it, which packages import


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities a little off 0 and 1, so that their logarithms are finite.

    Arguments:
        probs: probabilities; give these or logits

    Example:
        >>> torch.distributions.utils.clamp_probs(torch.tensor([0.0, 0.5])) > 0
        tensor([True, True])
    """
    eps = mindtorch.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """The probabilities of unnormalized logarithms, or of log odds.

    Arguments:
        logits: logarithms of probabilities, or log-odds; give these or probs
        is_binary: whether they are of two classes, not of those along the last dimension

    Example:
        >>> torch.distributions.utils.logits_to_probs(torch.tensor([0.0, 0.0]))
        tensor([0.5000, 0.5000])
    """
    return mindtorch.sigmoid(logits) if is_binary else softmax(logits, dim=-1)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """The logarithms of probabilities, or their log odds; finite.

    Arguments:
        probs: probabilities; give these or logits
        is_binary: whether they are of two classes, not of those along the last dimension

    Example:
        >>> torch.distributions.utils.probs_to_logits(torch.tensor([0.5]), is_binary=True)
        tensor([0.])
    """
    clamped = clamp_probs(probs)
    return mindtorch.log(clamped) - mindtorch.log1p(-clamped) if is_binary else mindtorch.log(clamped)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The elements of matrices (..., n, n) on and below diagonal `diag`, row by row: (..., number of them).

    Arguments:
        mat: a matrix (*, n, n)
        diag: the diagonal up to which elements count

    Example:
        >>> torch.distributions.utils.tril_matrix_to_vec(torch.tensor([[1.0, 0.0], [2.0, 3.0]]))
        tensor([1., 2., 3.])
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    rows, columns = mindtorch.tril_indices(n, n, diag, device=mat.device)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Lower triangular matrices of vectors (..., D): tril_matrix_to_vec backwards. ValueError for a D of no matrix.

    Arguments:
        vec: a vector (*, n (n + 1) / 2)
        diag: the diagonal up to which elements count

    Example:
        >>> torch.distributions.utils.vec_to_tril_matrix(torch.tensor([1.0, 2.0, 3.0]))
        tensor([[1., 0.],
                [2., 3.]])
    """
    count = vec.shape[-1]
    root = (-(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * count + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    n = round(root)
    if abs(root - n) > mindtorch.finfo(vec.dtype).eps:
        raise ValueError(f"The size of last dimension is {count} which cannot be expressed as the lower triangular part"
                         " of a square D x D matrix.")
    rows, columns = mindtorch.tril_indices(n, n, diag, device=vec.device)
    made = vec.new_zeros(*vec.shape[:-1], n, n)
    made[..., rows, columns] = vec
    return made


def binary_entropy(logits: Any, probs: Any) -> Any:
    """The entropy of an event with these log odds."""
    return binary_cross_entropy_with_logits(logits, probs, reduction="none")


def normalized(logits: Any) -> Any:
    """Logarithms whose exponentials sum to 1."""
    return logits - logits.logsumexp(-1, keepdim=True)


class lazy_property:
    """A property that is computed, with gradients, at the first access.

    Arguments:
        wrapped: the method that computes the value

    Example:
        >>> class Square:
        ...     side = torch.tensor(3.0)
        ...     @torch.distributions.utils.lazy_property
        ...     def area(self):
        ...         return self.side ** 2
        >>> Square().area
        tensor(9.)
    """

    def __init__(self, wrapped: Any) -> None:
        self.wrapped = wrapped
        update_wrapper(self, wrapped)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        with mindtorch.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value
