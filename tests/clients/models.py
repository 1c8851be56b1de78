"""What everyday scripts do: print, index with masks, train a convolutional net, a transformer and a recurrent net,
beside torch on the CPU. Prints 'ok' last."""
import copy
import io

import torch
import torch_npu  # noqa: F401 - it adds the device npu to torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.projections = nn.ModuleList([nn.Linear(width, 3 * width), nn.Linear(width, width)])
        self.feed = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2)
                   for part in self.projections[0](self.norms[0](x)).split(width, 2))
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(batch, length, width)
        x = x + self.projections[1](seen)
        return x + self.feed(self.norms[1](x))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(20, 16), nn.Embedding(12, 16)
        self.blocks = nn.Sequential(Block(16, 2), Block(16, 2))
        self.norm, self.head = nn.LayerNorm(16), nn.Linear(16, 20)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        return self.head(self.norm(self.blocks(x))).flatten(0, 1)


class Recurrent(nn.Module):
    """A long short-term memory in plain operators: the wheel's own LSTMCell does not call ACLNN."""

    def __init__(self):
        super().__init__()
        self.gates, self.head = nn.Linear(6 + 10, 4 * 10), nn.Linear(10, 3)

    def forward(self, steps):
        hidden = memory = torch.zeros(len(steps), 10, device=steps.device)
        for step in steps.unbind(1):
            enter, keep, leave, new = self.gates(torch.cat([step, hidden], 1)).chunk(4, 1)
            memory = keep.sigmoid() * memory + enter.sigmoid() * new.tanh()
            hidden = leave.sigmoid() * memory.tanh()
        return self.head(hidden)


def convolutional():
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 8, 3, padding=1),
        nn.GroupNorm(2, 8), nn.SiLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(32, 5))


def losses(net, optimizer, data, target):
    """Of a few steps."""
    found = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(data), target)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        found.append(loss.item())
    return found


def train(net, data, target):
    twin = copy.deepcopy(net).npu()
    expected = losses(net, torch.optim.AdamW(net.parameters(), lr=1e-2), data, target)
    found = losses(twin, torch.optim.AdamW(twin.parameters(), lr=1e-2), data.npu(), target.npu())
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-4)
    assert found[-1] < found[0]


def print_and_index():
    x = torch.arange(-6.0, 6.0).reshape(3, 4)
    y = x.npu()
    assert str(torch.ones(2).npu()) == "tensor([1., 1.], device='npu:0')"
    assert repr(y) == repr(x).replace(")", ", device='npu:0')")
    for pick in (lambda t: t[t > 0], lambda t: t[t.sum(1) > 0], lambda t: t[:, torch.tensor([2, 0], device=t.device)],
                 lambda t: torch.where(t > 1), lambda t: (t > 1).nonzero(), lambda t: t.masked_select(t < 0),
                 lambda t: torch.unique((t / 3).floor(), return_inverse=True, return_counts=True),
                 lambda t: t.flip(1).roll(1, 0).tril(), lambda t: t.repeat(2, 1), lambda t: t.sort(1, descending=True)):
        torch.testing.assert_close([part.cpu() for part in listed(pick(y))], [*listed(pick(x))])
    x[x < 0], y[y < 0] = 7.0, 7.0
    torch.testing.assert_close(y.cpu(), x)


def listed(found):
    return (found,) if isinstance(found, torch.Tensor) else tuple(found)


def compare_losses():
    torch.manual_seed(1)
    x, t = torch.rand(4, 3), torch.rand(4, 3)
    for loss in (F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.binary_cross_entropy, F.binary_cross_entropy_with_logits,
                 lambda a, b: F.kl_div(a.log_softmax(1), b, reduction="batchmean")):
        a, b = x.clone().requires_grad_(), x.npu().requires_grad_()
        expected, found = loss(a, t), loss(b, t.npu())
        expected.backward()
        found.backward()
        torch.testing.assert_close((found.cpu(), b.grad.cpu()), (expected, a.grad), rtol=1e-4, atol=1e-5)


def mixed_precision():
    torch.manual_seed(2)
    net = nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.Dropout(0.1), nn.GELU(), nn.Linear(16, 3)).npu()
    optimizer, scaler = torch.optim.AdamW(net.parameters(), lr=1e-2), torch.amp.GradScaler("npu")
    data, target = torch.randn(16, 8).npu(), torch.randint(0, 3, (16,)).npu()
    for _ in range(3):
        optimizer.zero_grad()
        with torch.autocast("npu", dtype=torch.float16):
            loss = F.cross_entropy(net(data), target)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    file = io.BytesIO()
    torch.save(net.state_dict(), file)
    file.seek(0)
    for name, value in torch.load(file, map_location="cpu").items():
        assert value.isfinite().all(), name


torch.manual_seed(0)
print_and_index()
compare_losses()
train(convolutional(), torch.randn(8, 1, 8, 8), torch.randint(0, 5, (8,)))
tokens = torch.randint(0, 20, (4, 13))
train(Transformer(), tokens[:, :-1], tokens[:, 1:].flatten())
train(Recurrent(), torch.randn(8, 5, 6), torch.randint(0, 3, (8,)))
mixed_precision()
torch.npu.synchronize()
print("ok")
