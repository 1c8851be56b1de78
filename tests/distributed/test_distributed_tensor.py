"""DTensor between two processes, beside torch on gloo."""
import pytest
from ranks import run_ranks
from tensor_cases import CASES


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """library -> rank -> case -> result."""
    return {library: run_ranks("tensor_cases:run_all", 2, tmp_path_factory.mktemp(library), library)
            for library in ("mindtorch", "torch")}


def assert_close(ours, theirs):
    """Lists in lists: numbers nearly, all else exactly."""
    if isinstance(theirs, list):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert_close(one, other)
    else:
        assert ours == (pytest.approx(theirs, rel=1e-4, abs=1e-5) if isinstance(theirs, float) else theirs)


@pytest.mark.parametrize("name", CASES)
def test_two_ranks_have_the_results_of_torch(outcomes, name):
    for rank in range(2):
        assert_close(outcomes["mindtorch"][rank][name], outcomes["torch"][rank][name])
