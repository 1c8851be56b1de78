"""Collectives, groups and objects between processes, beside torch on gloo."""
import pytest
from collective_cases import CASES
from ranks import run_once, run_ranks


def run_all(folder, library):
    return run_ranks("collective_cases:run_all", 2, folder, library)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """library -> rank -> case -> result, of two ranks."""
    return {library: run_once(tmp_path_factory, f"collectives_{library}", run_all, library)
            for library in ("mindtorch", "torch")}


@pytest.mark.parametrize("name", CASES)
def test_two_ranks_have_the_results_of_torch(outcomes, name):
    for rank in range(2):
        assert outcomes["mindtorch"][rank][name] == outcomes["torch"][rank][name], f"rank {rank}"
