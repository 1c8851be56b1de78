"""torch.masked: the masks that its helpers tell of, against torch."""
import pytest
import torch

import mindtorch

MASK = [[True, False, False], [False, False, False]]


@pytest.mark.parametrize("options", [{}, {"dim": 1}, {"dim": (0, 1), "keepdim": True}, {"dim": -2}])
@pytest.mark.parametrize("name", ["sum", "amax", "var", "logsumexp"])
def test_output_masks(name, options):
    def call(library):
        return library.masked._output_mask(getattr(library.masked, name), library.ones(2, 3),
                                           mask=library.tensor(MASK), **options).tolist()
    assert call(mindtorch) == call(torch)


def test_input_masks_and_dimensions():
    def call(library):
        mask = library.masked._input_mask(library.ones(4, 2, 3), mask=library.tensor(MASK))
        spread = library.masked._output_mask(library.masked.softmax, library.ones(2, 3), 1, mask=library.tensor(MASK))
        return mask.tolist(), spread.tolist(), library.masked._canonical_dim((-1, 0), 3)
    assert call(mindtorch) == call(torch)
    for dim, error in (((0, 0), RuntimeError), (3, IndexError)):
        with pytest.raises(error) as theirs:
            torch.masked._canonical_dim(dim, 3)
        with pytest.raises(error) as ours:
            mindtorch.masked._canonical_dim(dim, 3)
        assert str(ours.value) == str(theirs.value)
