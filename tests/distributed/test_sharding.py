"""DTensor and fully_shard between two processes on both devices, beside torch on gloo."""
import concurrent.futures

import pytest
from ranks import run_once, run_ranks
from sharding_cases import CASES

RUNS = {("torch", "cpu"): {}, ("mindtorch", "cpu"): {},
        ("mindtorch", "npu"): {"env": {"MINDTORCH_NPU": "sim", "HCCL_IF_IP": "127.0.0.1"}, "backend": "hccl"}}


def run_all(folder, library, device):
    return run_ranks("sharding_cases:run_all", 2, folder, library, arguments=[device], **RUNS[library, device])


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """(library, device) -> rank -> case -> result."""
    def run(library, device):
        return run_once(tmp_path_factory, f"sharding_{library}_{device}", run_all, library, device)

    with concurrent.futures.ThreadPoolExecutor() as pool:
        return dict(zip(RUNS, pool.map(run, *zip(*RUNS, strict=True)), strict=True))


def assert_close(ours, theirs, tolerance):
    """Lists in lists: numbers nearly, all else exactly."""
    if isinstance(theirs, list):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert_close(one, other, tolerance)
    else:
        assert ours == (pytest.approx(theirs, rel=tolerance, abs=tolerance) if isinstance(theirs, float) else theirs)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_two_ranks_have_the_results_of_torch(outcomes, name, device):
    for rank in range(2):
        assert_close(outcomes["mindtorch", device][rank][name], outcomes["torch", "cpu"][rank][name],
                     5e-3 if name == "mixed_precision" else 5e-5)
