"""A training script as they are written for torch. Prints losses, the same under torch and mindtorch.

    program_training.py FOLDER [--device DEVICE]
"""
import argparse
import os
import random

import numpy as np
import torch
import torch.backends.cudnn as cudnn
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.autograd import Variable
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.optim.lr_scheduler import CosineAnnealingLR
from torch.utils.data import DataLoader, Dataset, random_split


class Waves(Dataset):
    """Which of three frequencies a noisy wave has."""

    def __init__(self, count):
        generator = np.random.default_rng(5)
        self.labels = generator.integers(0, 3, count)
        phase = np.linspace(0, 6, 32)[None, :] * (self.labels[:, None] + 1)
        self.waves = (np.sin(phase) + 0.1 * generator.standard_normal((count, 32))).astype(np.float32)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return torch.from_numpy(self.waves[index]), int(self.labels[index])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv1d(1, 8, 3, padding=1, bias=False), nn.BatchNorm1d(8),
                                      nn.ReLU(inplace=True), nn.MaxPool1d(2))
        self.mix = nn.MultiheadAttention(8, 2, batch_first=True)
        self.head = nn.Linear(8 * 16, 3)
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Conv1d)):
                nn.init.kaiming_normal_(module.weight)

    def forward(self, x):
        x = self.features(x.unsqueeze(1)).transpose(1, 2)
        x = x + self.mix(x, x, x, need_weights=False)[0]
        if torch.jit.is_scripting() or torch.compiler.is_compiling():
            raise RuntimeError("neither is meant here")
        return F.log_softmax(self.head(x.flatten(1)), dim=-1)


def run_epoch(model, loader, device, optimizer=None):
    model.train(optimizer is not None)
    total, correct = 0.0, 0
    with torch.set_grad_enabled(optimizer is not None), sdpa_kernel(SDPBackend.MATH):
        for batch in loader:
            waves, labels = (Variable(part.to(device, non_blocking=True)) for part in batch)
            output = model(waves)
            loss = F.nll_loss(output, labels)
            if optimizer is not None:
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
            total += loss.item() * len(labels)
            correct += output.argmax(1).eq(labels).sum().item()
    return total / len(loader.dataset), correct


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--device", default=None)
    args = parser.parse_args()
    device = torch.device(args.device or ("cuda" if torch.cuda.is_available() else "cpu"))
    if torch.backends.mps.is_available() or (dist.is_available() and dist.is_initialized()):
        raise SystemExit("one process on one device is meant")
    random.seed(1)
    np.random.seed(1)
    torch.manual_seed(1)
    torch.cuda.manual_seed_all(1)
    cudnn.benchmark, cudnn.deterministic = False, True
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("high")
    torch.use_deterministic_algorithms(True)

    training, held_out = random_split(Waves(96), [64, 32], generator=torch.Generator().manual_seed(2))
    loader = DataLoader(training, batch_size=16, shuffle=True, num_workers=1, drop_last=True,
                        generator=torch.Generator().manual_seed(3))
    test_loader = DataLoader(held_out, batch_size=32)
    model = torch.compile(Net().to(device), disable=True)
    optimizer = optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.01)
    scheduler = CosineAnnealingLR(optimizer, T_max=3)
    path = os.path.join(args.folder, "checkpoint.pt")
    for epoch in range(3):
        loss, correct = run_epoch(model, loader, device, optimizer)
        scheduler.step()
        print(f"epoch {epoch}: loss {loss:.4f}, correct {correct}, rate {scheduler.get_last_lr()[0]:.5f}")
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, path)
    checkpoint = torch.load(path, map_location="cpu")
    model = Net().to(device)
    model.load_state_dict(checkpoint["model"])
    print("parameters", sum(p.numel() for p in model.parameters() if p.requires_grad), checkpoint["epoch"])
    loss, correct = run_epoch(model, test_loader, device)
    print(f"held out: loss {loss:.4f}, correct {correct}")


if __name__ == "__main__":
    main()
