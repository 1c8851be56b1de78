"""The engine hccl between two processes on the simulator: collectives beside torch on gloo, time-outs, mismatches."""
import pytest
from hccl_cases import CASES
from ranks import run_ranks

import mindtorch
from mindtorch import _backend

ENVIRONMENT = {"MINDTORCH_NPU": "sim", "HCCL_IF_IP": "127.0.0.1"}


def run_hccl(function, folder, *arguments, backend="hccl"):
    return run_ranks(f"hccl_cases:{function}", 2, folder, arguments=arguments, env=ENVIRONMENT, backend=backend)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """library -> rank -> case -> result."""
    return {"mindtorch": run_hccl("run_all", tmp_path_factory.mktemp("hccl"), "npu"),
            "torch": run_ranks("hccl_cases:run_all", 2, tmp_path_factory.mktemp("gloo"), "torch", arguments=["cpu"])}


@pytest.mark.parametrize("name", CASES)
def test_two_npus_have_the_results_of_torch(outcomes, name):
    for rank in range(2):
        assert outcomes["mindtorch"][rank][name] == outcomes["torch"][rank][name], f"rank {rank}"


def test_what_hccl_has_beyond_gloo(tmp_path):
    for rank, results in enumerate(run_hccl("only_hccl", tmp_path)):
        assert results == {
            "avg": [1.5] * 3, "avg of integers": [2] * 3, "premul_sum": [1.5] * 3,
            "all_gather of other sizes": [[1.0], [2.0] * 4],
            "reduce_scatter of other sizes": [2.0 + 2 * rank] * (rank + 1),
            "all_to_all": [[0.0], [1.0, 1.0]], "coalesced": [[1.0] * 2, [10.0] * 3], "future": [20.0] * 4,
            "band": "ValueError: Cannot use ReduceOp.BAND with HCCL",
            "cpu": "RuntimeError: No backend type associated with device type cpu",
            "strides": "ValueError: Tensors must be contiguous",
            "type": "RuntimeError: NPU error: HcclAllReduce failed with code 5 (feature not supported)"}


def test_a_rank_that_does_not_come_is_named_after_the_time_out(tmp_path):
    stuck, away = run_hccl("time_out", tmp_path, str(tmp_path), backend="none")
    assert away == "away"
    assert "EI0002" in stuck
    assert "rank 1" in stuck


def test_unequal_counts_are_an_error_on_both_ranks(tmp_path):
    for raised, found in run_hccl("mismatch", tmp_path, str(tmp_path), backend="none"):
        assert "EI0005" in raised
        assert "count differs between ranks" in raised
        assert "HCCL error 1 (parameter error)" in found


@pytest.mark.parametrize(("function", "arguments", "message"), [
    ("all_gather_v", ([4],), r"rank 0 of counts \[4\] has an input of 2 elements and an output of 3"),
    ("reduce_scatter_v", ([4], 0), r"rank 0 of counts \[4\] has an input of 2 elements and an output of 3"),
    ("all_to_all", ([3], [4]), r"the input has 2 elements for counts \[4\], the output 3 for counts \[3\]")])
def test_counts_that_do_not_fit_are_named(monkeypatch, function, arguments, message):
    monkeypatch.setenv("HCCL_IF_IP", "127.0.0.1")
    communicator = _backend.hccl().Communicator(_backend.hccl().get_root_info(0), 1, 0, 0, 60)
    output, input = mindtorch.ones(3, device="npu"), mindtorch.ones(2, device="npu")
    try:
        with pytest.raises(ValueError, match=message):
            getattr(communicator, function)(output, input, *arguments)
    finally:
        communicator.destroy()
