"""FullyShardedDataParallel between two processes, beside fully_shard."""
import pytest
from ranks import run_ranks

pytestmark = pytest.mark.one_mode

NPU = {"env": {"MINDTORCH_NPU": "sim", "HCCL_IF_IP": "127.0.0.1"}, "backend": "hccl"}


@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_it_trains_as_fully_shard_does(tmp_path, device):
    for results in run_ranks("wrapper_cases:training", 2, tmp_path, arguments=[device],
                             **(NPU if device == "npu" else {})):
        for name, (ours, theirs) in results.items():
            assert ours == theirs, name


def test_policies_choose_what_is_wrapped(tmp_path):
    layers = ["*.0", "*.1.up", "*.1.down", "*.2.up", "*.2.down", "*.3"]
    blocks = ["", "*.1", "*.2"]
    expected = [[""], ["", "*.1.up", "*.1.down", "*.2.up", "*.2.down"], ["", *layers], blocks, blocks,
                "FullyShardedDataParallel", "Linear"]
    assert run_ranks("wrapper_cases:what_is_wrapped", 2, tmp_path) == [expected] * 2


@pytest.mark.parametrize("checkpointed", [False, True])
def test_states_are_whole_or_parts_and_go_back(tmp_path, checkpointed):
    for rank, found in enumerate(run_ranks("wrapper_cases:states", 2, tmp_path, arguments=[checkpointed])):
        assert found == [True, True, True, [0, 0] if rank else [16, 16], ["DTensor", "<All keys matched successfully>"],
                         "FULL_STATE_DICT"]


def test_summoned_parameters_are_whole_and_written_back(tmp_path):
    expected = [True, ["1.norm.bias", "2.norm.bias"], [1.0] * 5]
    assert run_ranks("wrapper_cases:summoned", 2, tmp_path) == [expected] * 2
