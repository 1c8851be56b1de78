"""What the tests of optimizers share: the same problem in mindtorch and in torch."""
import numpy
import torch

import mindtorch

SHAPES = ((3, 4), (5,), (2, 1, 3))


class Problem:
    """Parameters of `lib` on `device`, and gradients that are the same for both libraries."""

    def __init__(self, lib, device, dtype="float32", shapes=SHAPES):
        self.lib, self.device, self.dtype = lib, device, getattr(lib, dtype)
        self.generator = numpy.random.default_rng(7)
        self.params = [self.draw(shape).requires_grad_() for shape in shapes]

    def draw(self, shape):
        values = self.generator.uniform(-1, 1, shape)
        if self.dtype.is_complex:
            values = values + 1j * self.generator.uniform(-1, 1, shape)
        return self.lib.tensor(values.tolist(), dtype=self.dtype, device=self.device)

    def gradients(self, skipped=()):
        for index, param in enumerate(self.params):
            grad = self.draw(tuple(param.shape))
            param.grad = None if index in skipped else grad

    def run(self, optimizer, steps):
        for step in range(steps):
            self.gradients(skipped=(1,) if step == 1 else ())       # one parameter has no gradient at times
            optimizer.step()


def plain(value):
    """Tensors of either library as NumPy arrays, inside containers too."""
    if isinstance(value, mindtorch.Tensor | torch.Tensor):
        value = value.detach().cpu()
        return (value.resolve_conj() if value.is_complex() else value.double()).numpy()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def assert_close(ours, theirs, tolerance=1e-5):
    """Asserts that what two libraries hold is alike; containers are compared item by item."""
    if isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        for key in theirs:
            assert_close(ours[key], theirs[key], tolerance)
    elif isinstance(theirs, list | tuple):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            assert_close(a, b, tolerance)
    elif isinstance(theirs, numpy.ndarray | float):
        numpy.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)
    else:
        assert ours == theirs
