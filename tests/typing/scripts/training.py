"""A training loop: data, optimizer, schedule, autocast."""
from collections.abc import Iterator

import mindtorch as torch
from mindtorch import Tensor, nn, optim
from mindtorch.optim.lr_scheduler import CosineAnnealingLR, LambdaLR, OneCycleLR
from mindtorch.utils.data import DataLoader, Dataset, RandomSampler, TensorDataset, random_split


class Squares(Dataset[tuple[Tensor, Tensor]]):
    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        return torch.tensor([float(index)]), torch.tensor([float(index ** 2)])


def batches(loader: DataLoader[tuple[Tensor, Tensor]]) -> Iterator[tuple[Tensor, Tensor]]:
    yield from loader


device = torch.device("npu" if torch.npu.is_available() else "cpu")
data = Squares(64)
train, held = random_split(data, [48, 16], generator=torch.Generator().manual_seed(0))
loader = DataLoader(train, batch_size=8, shuffle=True, num_workers=0, drop_last=True, pin_memory=False)
other = DataLoader(TensorDataset(torch.randn(8, 2), torch.randn(8)), batch_size=2,
                   sampler=RandomSampler(range(8)))
model = nn.Sequential(nn.Linear(1, 16), nn.ReLU(), nn.Linear(16, 1)).to(device)
criterion = nn.MSELoss()
optimizer = optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.999), weight_decay=0.01)
plain = optim.SGD([{"params": model.parameters(), "lr": 0.1}], lr=0.01, momentum=0.9, nesterov=True)
schedule = CosineAnnealingLR(optimizer, T_max=10)
warm = LambdaLR(plain, lr_lambda=lambda step: min(1.0, step / 10))
cycle = OneCycleLR(plain, max_lr=0.1, total_steps=10)
scaler = torch.amp.GradScaler("npu", enabled=False)
best: float = float("inf")
for epoch in range(2):
    running = 0.0
    for batch in loader:
        inputs, targets = batch[0].to(device, non_blocking=True), batch[1].to(device)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device_type="cpu", dtype=torch.bfloat16, enabled=False):
            loss: Tensor = criterion(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        running += loss.item() * inputs.size(0)
    schedule.step()
    best = min(best, running / len(data))
    print(epoch, running, schedule.get_last_lr()[0], optimizer.param_groups[0]["lr"])
with torch.inference_mode():
    model.eval()
    predicted = model(torch.zeros(1, 1, device=device))
