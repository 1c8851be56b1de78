"""Programs give the same results on a modelled host (MINDTORCH_SIM_COST) and with CANN's cache of operators."""
import pytest
from process import run

pytestmark = pytest.mark.one_mode

CODE = """
import mindtorch as torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 4)).to("npu")
optimizer = torch.optim.AdamW(net.parameters(), lr=0.1)
data, labels = torch.randn(12, 8).to("npu"), torch.arange(12).remainder(4).to("npu")
side, begin, end = torch.npu.Stream(), *(torch.npu.Event(enable_timing=True) for _ in range(2))
begin.record()
for step in range(4):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(net(data[step:step + 8]), labels[step:step + 8])
    loss.backward()
    optimizer.step()
    print(loss.item())
side.wait_stream(torch.npu.current_stream())
with torch.npu.stream(side):
    total = sum(p.sum() for p in net.parameters())
end.record(side)
end.synchronize()
x = torch.ones(4, device="npu")
graph = torch.npu.NPUGraph()
with torch.npu.graph(graph):
    y = x * 2 + total
graph.replay()
print(total.item(), y.tolist(), begin.elapsed_time(end) > 0)
"""


@pytest.mark.parametrize("settings", [
    {"MINDTORCH_SIM_OP_CACHE": "1"},
    {"MINDTORCH_SIM_COST": "low", "MINDTORCH_SIM_OP_CACHE": "0"},
    {"MINDTORCH_SIM_COST": "high", "MINDTORCH_SIM_OP_CACHE": "1", "ACLNN_CACHE_LIMIT": "7"},
], ids=lambda settings: "-".join(settings.values()))
def test_results(settings):
    assert run(CODE, **settings).stdout == run(CODE, MINDTORCH_SIM_OP_CACHE="0").stdout
