"""torch.quasirandom: points of Sobol sequences, which fill the unit cube more evenly than random ones."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

import mindtorch

if TYPE_CHECKING:
    from mindtorch import Tensor, dtype

__all__ = ["SobolEngine"]


def _direction_numbers(dimension, bits):
    """(dimension, bits) integers, from the table of Joe and Kuo that SciPy has."""
    try:
        from importlib.resources import files
        with files("scipy.stats").joinpath("_sobol_direction_numbers.npz").open("rb") as file, \
                numpy.load(file) as table:
            polynomials, initial = table["poly"][:dimension], table["vinit"][:dimension]
    except ModuleNotFoundError:
        raise ImportError("torch.quasirandom reads its direction numbers from SciPy. pip install scipy") from None
    found = numpy.ones((dimension, bits), numpy.int64)
    for row, polynomial, start in zip(found[1:], polynomials[1:].tolist(), initial[1:], strict=True):
        degree = polynomial.bit_length() - 1
        row[:degree] = start[:degree]
        for place in range(degree, bits):
            row[place] = row[place - degree]
            for k in range(degree):
                if polynomial >> (degree - 1 - k) & 1:
                    row[place] ^= row[place - k - 1] << (k + 1)
    return found << numpy.arange(bits - 1, -1, -1)


class SobolEngine:
    """SobolEngine(dimension, scramble=False, seed=None): points of a Sobol sequence, by draw().

    With `scramble` its digits are mixed at random, by `seed`, and shifted.

    Arguments:
        dimension: the number of coordinates
        scramble: whether the points are moved at random
        seed: the seed of that; None means a random one

    Example:
        >>> torch.quasirandom.SobolEngine(dimension=2).draw(3)
        tensor([[0.0000, 0.0000],
                [0.5000, 0.5000],
                [0.7500, 0.2500]])
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: Any, scramble: bool = False, seed: Any = None) -> None:
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        self.num_generated = 0
        self.sobolstate = mindtorch.from_numpy(_direction_numbers(dimension, self.MAXBIT))
        self.shift = mindtorch.zeros(dimension, dtype=mindtorch.int64, device="cpu")
        if scramble:
            self._scramble()
        self.quasi = self.shift.clone()
        self._first_point = (self.quasi / 2 ** self.MAXBIT).reshape(1, -1)

    def _scramble(self):
        generator = None
        if self.seed is not None:
            generator = mindtorch.Generator("cpu")
            generator.manual_seed(self.seed)
        bits = self.MAXBIT
        digits = mindtorch.randint(2, (self.dimension, bits), generator=generator, device="cpu")
        self.shift = (digits << mindtorch.arange(bits, device="cpu")).sum(1)
        mixed = mindtorch.randint(2, (self.dimension, bits, bits), generator=generator, device="cpu").tril().numpy()
        mixed |= numpy.eye(bits, dtype=numpy.int64)
        rows = (mixed << numpy.arange(bits - 1, -1, -1)).sum(-1)
        state, result = self.sobolstate.numpy(), numpy.zeros((self.dimension, bits), numpy.int64)
        for row in rows.T:              # the digits of the result, the highest first
            parity = state & row[:, None]
            for shift in (16, 8, 4, 2, 1):
                parity ^= parity >> shift
            result = result << 1 | parity & 1
        self.sobolstate = mindtorch.from_numpy(result)

    def _advance(self, n, generated):
        """The n integer points behind the one that `quasi` is, the last of which it becomes."""
        places = [(~number & number + 1).bit_length() - 1 for number in range(generated, generated + n)]
        steps = self.sobolstate.numpy()[:, places].T
        points = numpy.bitwise_xor.accumulate(numpy.concatenate([self.quasi.numpy()[None], steps]))
        self.quasi = mindtorch.from_numpy(points[-1].copy())
        return points[1:]

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: dtype | None = None) -> Tensor:
        """The next n points: a tensor (n, dimension), of the default dtype where none is given."""
        dtype = dtype or mindtorch.get_default_dtype()
        first = self.num_generated == 0
        points = mindtorch.from_numpy(self._advance(n - first, self.num_generated - (not first)))
        result = points.to(dtype) / 2 ** self.MAXBIT
        if first:
            result = mindtorch.cat((self._first_point.to(dtype), result))
        self.num_generated += n
        return result if out is None else out.resize_(result.shape).copy_(result)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: dtype | None = None) -> Tensor:
        """The next 2**m points. ValueError where the number of points so far would not become a power of 2."""
        n = 2 ** m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError("The balance properties of Sobol' points require n to be a power of 2. "
                             f"{self.num_generated} points have been previously generated, then: "
                             f"n={self.num_generated}+2**{m}={total}. If you still want to do this, please use "
                             "'SobolEngine.draw()' instead.")
        return self.draw(n=n, out=out, dtype=dtype)

    def reset(self) -> Any:
        """Back to the first point."""
        self.quasi = self.shift.clone()
        self.num_generated = 0
        return self

    def fast_forward(self, n: Any) -> Any:
        """Leaves out n points."""
        first = self.num_generated == 0
        self._advance(n - first, self.num_generated - (not first))
        self.num_generated += n
        return self

    def __repr__(self) -> str:
        parts = [f"dimension={self.dimension}"]
        if self.scramble:
            parts.append("scramble=True")
        if self.seed is not None:
            parts.append(f"seed={self.seed}")
        return f"{type(self).__name__}({', '.join(parts)})"
