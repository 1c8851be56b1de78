"""ZeroRedundancyOptimizer in two processes, beside the plain optimizer in each."""
import pytest
from ranks import run_ranks

import mindtorch
from mindtorch.distributed.optim import ZeroRedundancyOptimizer


@pytest.mark.parametrize(("place", "options"), [
    ("cpu", {}), ("npu", {"backend": "hccl", "env": {"MINDTORCH_NPU": "sim", "MINDTORCH_SIM_DEVICES": "2"}})])
def test_training_is_that_of_the_plain_optimizer(tmp_path, place, options):
    results = run_ranks("zero_cases:train", 2, tmp_path, arguments=[place], **options)
    assert sum(zero["own"] for zero, _ in results) == 6
    assert all(zero["own"] in (2, 3, 4) for zero, _ in results)
    assert results[0][0]["join"] == results[1][0]["join"]
    for rank, (zero, plain) in enumerate(results):
        assert f"`consolidate_state_dict(to={rank})`" in zero["error"]
        for name, expected in plain.items():
            assert_close(zero[name], expected)


def assert_close(value, expected):
    if isinstance(expected, list):
        assert len(value) == len(expected)
        for pair in zip(value, expected, strict=True):
            assert_close(*pair)
    else:
        assert value == (pytest.approx(expected, rel=1e-4, abs=1e-5) if isinstance(expected, float) else expected)


@pytest.mark.parametrize(("params", "kind", "message"), [
    ([], ValueError, "empty parameter list"), (mindtorch.zeros(2), TypeError, "iterable of Tensors, but got"),
    ([mindtorch.zeros(2), mindtorch.zeros(2).double()], ValueError, "the same dense type"),
    ([mindtorch.zeros(2).to_sparse()], ValueError, "the same dense type")])
def test_wrong_parameters_are_errors_of_torch(params, kind, message):
    dist = mindtorch.distributed
    dist.init_process_group("fake", rank=0, world_size=2, store=dist.HashStore())
    try:
        with pytest.raises(kind, match=message):
            ZeroRedundancyOptimizer(params, mindtorch.optim.SGD, lr=0.1)
    finally:
        dist.destroy_process_group()
