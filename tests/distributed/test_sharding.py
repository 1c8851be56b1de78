"""DTensor and what stands on it between two and four processes on both devices, beside torch on gloo."""
import concurrent.futures
import functools

import pytest
from ranks import run_once, run_ranks
from sharding_cases import CASES

pytestmark = pytest.mark.one_mode

RUNS = {("torch", "cpu"): {}, ("mindtorch", "cpu"): {},
        ("mindtorch", "npu"): {"env": {"MINDTORCH_NPU": "sim", "HCCL_IF_IP": "127.0.0.1"}, "backend": "hccl"}}


def run_all(folder, size, library, device):
    return run_ranks("sharding_cases:run_all", size, folder, library, arguments=[device], **RUNS[library, device])


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """A function that gives, for a number of ranks, (library, device) -> rank -> case -> result."""
    @functools.cache
    def of_ranks(size):
        def run(library, device):
            name = f"sharding_{library}_{device}_{size}"
            return run_once(tmp_path_factory, name, run_all, size, library, device)

        with concurrent.futures.ThreadPoolExecutor() as pool:
            return dict(zip(RUNS, pool.map(run, *zip(*RUNS, strict=True)), strict=True))

    return of_ranks


def assert_close(ours, theirs, tolerance):
    """Lists in lists: numbers nearly, all else exactly."""
    if isinstance(theirs, list):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert_close(one, other, tolerance)
    else:
        assert ours == (pytest.approx(theirs, rel=tolerance, abs=tolerance) if isinstance(theirs, float) else theirs)


@pytest.mark.parametrize(("size", "name"), [(size, name) for size in CASES for name in CASES[size]])
@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_ranks_have_the_results_of_torch(outcomes, size, name, device):
    results = outcomes(size)
    for rank in range(size):
        assert_close(results["mindtorch", device][rank][name], results["torch", "cpu"][rank][name],
                     5e-3 if name == "mixed_precision" else 5e-5)
