"""Operators and methods of tensors."""
import numpy as np

import mindtorch as torch
from mindtorch import Tensor

x = torch.tensor([[1.0, -2.0], [3.0, 4.0]], device="cpu")
k: float = 2.0
total: Tensor = (x * k + 1).sum(dim=0)
scaled: Tensor = 2 * x - x / 3 + (-x) ** 2 - abs(x) @ x.T
mask: Tensor = (x > 0) & ~(x == 1)
picked: Tensor = x[mask]
row: Tensor = x[0, ..., None, 1:]
x[0] = 5.0
x += 1
ones = torch.ones(2, 3, dtype=torch.float32, device="cpu", requires_grad=True)
zeros = torch.zeros((2, 3), dtype=torch.int64)
like = torch.zeros_like(ones, dtype=torch.bool)
shape: tuple[int, ...] = ones.shape
rows, columns = ones.shape
first: int = ones.size(0)
values, indices = torch.max(x, dim=1)
best: Tensor = x.max(dim=-1, keepdim=True).values
largest: Tensor = torch.max(x)
q, r = torch.linalg.qr(x)
norm: Tensor = torch.linalg.norm(x, ord=2)
spectrum: Tensor = torch.fft.rfft(x, dim=-1)
special: Tensor = torch.special.expit(x)
stacked = torch.stack([x, x], dim=0).view(2, -1).permute(1, 0).reshape(-1)
parts: tuple[Tensor, ...] = torch.chunk(x, 2, dim=0)
left, right = x.split(1)
joined: Tensor = torch.cat([left, right], dim=1).to("cpu").to(torch.float16).float()
number: float = x.sum().item()
count: int = x.numel()
array: np.ndarray = x.detach().cpu().numpy()
back: Tensor = torch.from_numpy(np.zeros(3)).to(device=torch.device("cpu"), dtype=torch.float32)
chosen = torch.where(x > 0, x, torch.zeros_like(x)).clamp(min=0, max=1)
counted = torch.arange(0, 10, 2).float().mean()
drawn = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
same: bool = torch.equal(x, x) and torch.allclose(x, x, atol=1e-6)
summed: Tensor = torch.einsum("ij,jk->ik", x, x)
torch.add(x, x, alpha=2, out=x)
x.add_(1).mul_(2.0).clamp_(0, 1)
limits: float = torch.finfo(torch.float32).eps
torch.manual_seed(0)
(found,) = torch.nonzero(x.sum(1) > 0, as_tuple=True)
places: Tensor = x.nonzero()
found_columns: Tensor = x.nonzero(as_tuple=True)[1]
wide, high = torch.broadcast_tensors(torch.ones(2, 1), torch.ones(3))
both: tuple[torch.Tensor, ...] = torch.atleast_2d(torch.ones(2), torch.ones(3))
products: torch.Tensor = torch.cartesian_prod(torch.arange(2), torch.arange(3))
grid = torch.meshgrid(torch.arange(3), torch.arange(3), indexing="ij")
ordered, order = torch.sort(x, dim=1, descending=True)
top = x.topk(1).indices
with torch.no_grad():
    moved = x.clone().requires_grad_(True)
moved.sum().backward()
gradient: Tensor | None = moved.grad
if gradient is not None:
    print(gradient.norm(), float(gradient.sum()), len(gradient), [row.shape for row in gradient])


@torch.no_grad()
def evaluated(value: Tensor) -> Tensor:
    return value * 2


answer: Tensor = evaluated(x)
torch.save({"x": x}, "x.pt")
loaded = torch.load("x.pt", weights_only=True)
