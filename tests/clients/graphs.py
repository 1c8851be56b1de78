"""A stranger's client captures graphs: a computation, and a whole training step. Prints 'ok' last."""
import copy

import torch
import torch_npu  # noqa: F401 - it adds the device npu to torch

x = torch.ones(4).npu()
graph = torch.npu.NPUGraph()
with torch.npu.graph(graph):
    y = x * 2 + 1
for factor in (1.0, 3.0):
    x.fill_(factor)
    graph.replay()
    assert y.cpu().tolist() == [factor * 2 + 1] * 4
try:
    with torch.npu.graph(torch.npu.NPUGraph()):
        (x + 1).cpu()
    raise AssertionError("a copy to the host was captured")
except RuntimeError:
    assert (x + 1).cpu().tolist() == [4.0] * 4

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4)).npu()
twin = copy.deepcopy(net)
data, target = torch.randn(64, 16).npu(), torch.randint(0, 4, (64,)).npu()
optimizers = [torch.optim.SGD(model.parameters(), lr=0.1, foreach=False) for model in (net, twin)]


def step(model, optimizer):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(data), target)
    loss.backward()
    optimizer.step()
    return loss


aside = torch.npu.Stream()
aside.wait_stream(torch.npu.current_stream())
with torch.npu.stream(aside):
    step(net, optimizers[0])
torch.npu.current_stream().wait_stream(aside)
training = torch.npu.NPUGraph()
with torch.npu.graph(training):
    loss = step(net, optimizers[0])
for number in range(5):
    expected = step(twin, optimizers[1])
    if number > 0:
        training.replay()
        torch.testing.assert_close(loss.cpu(), expected.cpu())
for p, q in zip(net.parameters(), twin.parameters(), strict=True):
    torch.testing.assert_close(p.cpu(), q.cpu())
print("ok")
