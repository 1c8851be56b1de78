"""torch.quasirandom: the points of torch."""
import pytest
import torch

import mindtorch


@pytest.mark.parametrize("dimension", [1, 2, 7, 300])
@pytest.mark.parametrize("scramble", [False, True])
def test_points(dimension, scramble):
    def points(library):
        engine = library.quasirandom.SobolEngine(dimension, scramble, seed=3)
        found = [engine.draw().tolist(), engine.draw(6).tolist()]
        found.append(engine.fast_forward(5).draw(2, dtype=library.float64).tolist())
        engine.reset()
        found.append(engine.fast_forward(3).draw(4).tolist())
        engine.reset()
        out = library.empty(0)
        assert engine.draw_base2(3, out=out) is out
        return [*found, out.tolist(), engine.num_generated, repr(engine)]
    assert points(mindtorch) == points(torch)


@pytest.mark.parametrize(("call", "message"), [
    (lambda engine: engine(0), "Supported range"), (lambda engine: engine(21202), "Supported range"),
    (lambda engine: engine(2).fast_forward(3).draw_base2(2), "The balance properties")])
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message) as theirs:
        call(torch.quasirandom.SobolEngine)
    with pytest.raises(ValueError, match=message) as ours:
        call(mindtorch.quasirandom.SobolEngine)
    assert str(ours.value) == str(theirs.value)
