"""Weights with a norm of their own, with the spectral norm 1, and with orthogonal columns: as parametrizations."""
from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch._tensor.docstrings import complete as _complete_docstrings
from mindtorch.autograd.grad_mode import no_grad
from mindtorch.nn import functional as F
from mindtorch.nn.modules.conv import _ConvTransposeNd
from mindtorch.nn.modules.module import Module
from mindtorch.nn.utils.parametrize import register_parametrization
from mindtorch.nn.utils.weight_norm import weight_of

if TYPE_CHECKING:
    from mindtorch import Tensor

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def _weight(module, name):
    """The parameter or buffer that is about to be parametrized."""
    value = getattr(module, name, None)
    if not isinstance(value, mindtorch.Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return value


class _OrthMaps(enum.Enum):
    matrix_exp = enum.auto()
    cayley = enum.auto()
    householder = enum.auto()


def _is_orthogonal(matrix):
    """Whether the columns are orthonormal, up to rounding."""
    width = matrix.size(-1)
    identity = mindtorch.eye(width, dtype=matrix.dtype, device=matrix.device)
    error = 10 * matrix.size(-2) * mindtorch.finfo(matrix.dtype).eps
    return mindtorch.allclose(matrix.mH @ matrix, identity, atol=error)


def _reflections(matrix):
    """The reflections that make `matrix` upper triangular: their vectors, without the 1 on top, below the diagonal,
    and on it the signs that the diagonal gets. geqrf without its factors, which follow from the vectors.
    """
    packed = matrix.clone()
    for place in range(matrix.size(-1)):
        column = packed[..., place:, place:place + 1]
        norm = mindtorch.linalg.vector_norm(column, dim=-2, keepdim=True)
        top = column[..., :1, :]
        sign = mindtorch.where(top == 0, mindtorch.ones_like(top), top.sgn())
        above = top + sign * norm
        below = column[..., 1:, :] / mindtorch.where(above == 0, mindtorch.ones_like(above), above)
        vector = mindtorch.cat([mindtorch.ones_like(top), below], -2)
        tau = 2.0 / (vector.mH @ vector)
        rest = packed[..., place:, place + 1:]
        rest -= vector @ (tau * (vector.mH @ rest))
        packed[..., place:, place:place + 1] = mindtorch.cat([-sign * (norm != 0), below], -2)
    return packed


def _columns(packed):
    """The product of reflections, each column times the sign on the diagonal."""
    below = packed.tril(diagonal=-1)
    tau = 2.0 / (1.0 + (below * below.conj()).sum(dim=-2))
    return mindtorch.linalg.householder_product(below, tau) * packed.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


def _make_orthogonal(matrix):
    """The Q of its QR decomposition whose R has a positive diagonal."""
    return _columns(_reflections(matrix))


class _Orthogonal(Module):
    """An orthogonal matrix out of any; `base`, where there is one, is what the matrix is while the original is -1."""

    base: Tensor

    def __init__(self, weight: Any, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map is _OrthMaps.householder:
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        rows, columns = X.size(-2), X.size(-1)
        wide = rows < columns
        if wide:
            X, rows, columns = X.mT, columns, rows
        if self.orthogonal_map is _OrthMaps.householder:
            found = _columns(X)
        else:
            found = self._of_skew_(X, rows, columns)
        if hasattr(self, "base"):
            found = self.base @ found
        return found.mT if wide else found

    def _of_skew_(self, X, rows, columns):
        """The image of the matrix A with A^H = -A that the lower triangle gives."""
        lower = X.tril()
        if rows != columns:
            lower = mindtorch.cat([lower, lower.new_zeros((*lower.shape[:-1], rows - columns))], -1)
        skew = lower - lower.mH
        if self.orthogonal_map is _OrthMaps.matrix_exp:
            found = mindtorch.matrix_exp(skew)
        else:
            identity = mindtorch.eye(rows, dtype=skew.dtype, device=skew.device)
            found = mindtorch.linalg.solve(identity - 0.5 * skew, identity + 0.5 * skew)
        return found[..., :columns]

    @no_grad()
    def right_inverse(self, Q: Tensor) -> Tensor:
        """The original of an orthogonal matrix, or of the one that is near."""
        if Q.shape != self.shape:
            raise ValueError(f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape "
                             f"{Q.shape}.")
        wide = Q.size(-2) < Q.size(-1)
        tall = Q.mT if wide else Q
        if hasattr(self, "base"):
            self._set_base_(tall)
            original = mindtorch.zeros_like(tall)
            original.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        elif self.orthogonal_map is _OrthMaps.householder:
            original = _reflections(tall)
        else:
            raise NotImplementedError("It is not possible to assign to the matrix exponential or the Cayley "
                                      "parametrizations when use_trivialization=False.")
        return original.mT if wide else original

    def _set_base_(self, tall):
        """Columns that are missing for a square matrix are drawn."""
        rows, columns = tall.size(-2), tall.size(-1)
        if rows != columns:
            drawn = mindtorch.randn((*tall.shape[:-2], rows, rows - columns), dtype=tall.dtype, device=tall.device)
            self.base = _make_orthogonal(mindtorch.cat([tall, drawn], -1))
        else:
            self.base = tall.clone() if _is_orthogonal(tall) else _make_orthogonal(tall)


def orthogonal(module: Module, name: str = "weight", orthogonal_map: str | None = None, *,
               use_trivialization: bool = True) -> Module:
    """Have a matrix, or a batch of them, orthonormal columns, or rows where it is wider than tall.

    `orthogonal_map` is "matrix_exp", "cayley" or "householder". With `use_trivialization` the map is relative to a
    base, and any orthogonal matrix can be assigned.

    Arguments:
        orthogonal_map: "matrix_exp", "cayley" or "householder"; None chooses by the shape
        use_trivialization: whether the map begins at the parameter's own value

    Example:
        >>> net = nn.utils.parametrizations.orthogonal(nn.Linear(3, 3))
        >>> torch.allclose(net.weight @ net.weight.t(), torch.eye(3), atol=1e-5)
        True
    """
    weight = _weight(module, name)
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    chosen = getattr(_OrthMaps, orthogonal_map, None)
    if chosen is None:
        raise ValueError('orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: '
                         f"{orthogonal_map}")
    made = _Orthogonal(weight, chosen, use_trivialization=use_trivialization)
    register_parametrization(module, name, made, unsafe=True)
    return module


class _WeightNorm(Module):
    """The norms and the directions of all slices along `dim`."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Any, weight_v: Any) -> Tensor:
        return weight_of(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Any) -> Any:
        return mindtorch.norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int = 0) -> Any:
    """Train the norms of the slices of a weight along `dim` (or of all of it, None) apart from their directions.

    Example:
        >>> net = nn.utils.parametrizations.weight_norm(nn.Linear(2, 3))
        >>> net.parametrizations.weight.original0.shape
        torch.Size([3, 1])
    """
    made = _WeightNorm(dim)
    register_parametrization(module, name, made, unsafe=True)

    def rename(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        """States that torch.nn.utils.weight_norm wrote."""
        old = [f"{prefix}{name}_g", f"{prefix}{name}_v"]
        if all(key in state_dict for key in old):
            for place, key in enumerate(old):
                state_dict[f"{prefix}parametrizations.{name}.original{place}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(rename)
    return module


class _SpectralNorm(Module):
    """Division by the largest singular value, to which the vectors `_u` and `_v` come nearer with each forward."""

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        if not -weight.ndim <= dim < weight.ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{weight.ndim}, {weight.ndim - 1}] "
                             f"but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError("Expected n_power_iterations to be positive, but got "
                             f"n_power_iterations={n_power_iterations}")
        self.dim = dim if dim >= 0 else dim + weight.ndim
        self.eps = eps
        if weight.ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._matrix_(weight).detach()
            for buffer, length in zip(("_u", "_v"), matrix.shape, strict=True):
                drawn = matrix.new_empty(length).normal_(0, 1)
                self.register_buffer(buffer, F.normalize(drawn, dim=0, eps=eps))
            self._power_method(matrix, 15)

    def _matrix_(self, weight):
        """`dim` are the rows, the rest is the columns."""
        return weight.movedim(self.dim, 0).flatten(1)

    @no_grad()
    def _power_method(self, matrix, times):
        for _ in range(times):
            self._u.copy_(F.normalize(matrix.mv(self._v), dim=0, eps=self.eps))
            self._v.copy_(F.normalize(matrix.mH.mv(self._u), dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix_(weight)
        if self.training:
            self._power_method(matrix.detach(), self.n_power_iterations)
        # Copies: the next forward changes the vectors, and backward needs these.
        u, v = self._u.clone(), self._v.clone()
        return weight / mindtorch.vdot(u, matrix.mv(v))

    def right_inverse(self, value: Tensor) -> Tensor:
        """A value is taken as it is: its norm is made 1 when it is asked for."""
        return value


def spectral_norm(module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
                  dim: int | None = None) -> Module:
    """Have a weight, seen as a matrix whose rows are `dim`, the spectral norm 1.

    The singular value is found by `n_power_iterations` steps with each forward in training.

    Example:
        >>> net = nn.utils.parametrizations.spectral_norm(nn.Linear(2, 3), n_power_iterations=50)
        >>> torch.linalg.matrix_norm(net.weight.detach(), 2)
        tensor(1.0000)
    """
    weight = _weight(module, name)
    if dim is None:
        dim = 1 if isinstance(module, _ConvTransposeNd) else 0
    register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
    return module


_complete_docstrings(globals(), "nn.utils")
