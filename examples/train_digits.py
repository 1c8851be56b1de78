"""Trains a convolutional network on scikit-learn's handwritten digits: `python examples/train_digits.py --device npu`.

`pip install "mindtorch[examples]"` brings what it needs. `--checkpoint FILE` saves after each epoch; `--resume FILE`
goes on from there, to the same losses as a run that was never interrupted.
"""
import argparse
from functools import partial

from sklearn.datasets import load_digits
from tqdm import tqdm

import mindtorch as torch
from mindtorch import nn
from mindtorch.nn import functional as F
from mindtorch.utils.data import DataLoader, TensorDataset, random_split

TEST_IMAGES = 360


class Network(nn.Module):
    """Two convolutions and two linear layers: images (N, 1, 8, 8) to logits (N, 10)."""

    def __init__(self, dropout=0.25):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(
            nn.Flatten(), nn.Dropout(dropout), nn.Linear(32 * 2 * 2, 64), nn.ReLU(), nn.Linear(64, 10),
        )

    def forward(self, images):
        return self.classifier(self.features(images))


def digits(batch_size):
    """Loaders of (images, labels): of those to learn from, and of those that the network never learns from."""
    data = load_digits()
    images = torch.tensor(data.images, dtype=torch.float32).unsqueeze(1) / 16     # (1797, 1, 8, 8), from 0 to 1
    everything = TensorDataset(images, torch.tensor(data.target))
    sizes = [len(everything) - TEST_IMAGES, TEST_IMAGES]
    train, test = random_split(everything, sizes, torch.Generator().manual_seed(0))
    return DataLoader(train, batch_size, shuffle=True, drop_last=True), DataLoader(test, batch_size=TEST_IMAGES)


class Training:
    """The network, what trains it, and how far that has come."""

    def __init__(self, args):
        torch.manual_seed(args.seed)
        self.args = args
        self.train_loader, self.test_loader = digits(args.batch_size)
        self.model = Network(args.dropout).to(args.device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr, weight_decay=0.01)
        steps = args.epochs * len(self.train_loader)
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, T_max=steps)
        self.epoch, self.losses = 0, []

    def save(self, path):
        state = {name: getattr(self, name).state_dict() for name in ("model", "optimizer", "scheduler")}
        torch.save(state | {"epoch": self.epoch, "losses": self.losses}, path)

    def load(self, path):
        state = torch.load(path, map_location=self.args.device)
        for name in ("model", "optimizer", "scheduler"):
            getattr(self, name).load_state_dict(state[name])
        self.epoch, self.losses = state["epoch"], state["losses"]

    def step(self, images, labels):
        """Learns from one batch; its loss."""
        loss = F.cross_entropy(self.model(images.to(self.args.device)), labels.to(self.args.device))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.scheduler.step()
        return loss.item()

    def run_epoch(self):
        """One pass over the images. It has a seed of its own, so that it is the same in a run that was resumed."""
        torch.manual_seed(self.args.seed + self.epoch)
        self.model.train()
        with tqdm(self.train_loader, desc=f"epoch {self.epoch + 1}/{self.args.epochs}") as progress:
            for images, labels in progress:
                self.losses.append(self.step(images, labels))
                progress.set_postfix(loss=f"{self.losses[-1]:.4f}")
        self.epoch += 1

    @torch.no_grad()
    def accuracy(self):
        """The share of unseen images that the network names rightly."""
        self.model.eval()
        correct = [(self.model(images.to(self.args.device)).argmax(1).cpu() == labels).float().mean().item()
                   for images, labels in self.test_loader]
        return sum(correct) / len(correct)


def plot(losses, path):
    import matplotlib
    matplotlib.use("Agg")       # a file, no window
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 4.5), layout="constrained")
    axes.semilogy(losses)
    axes.set(title="Training on handwritten digits", xlabel="step", ylabel="loss")
    axes.grid(alpha=0.3)
    figure.savefig(path)
    pyplot.close(figure)


def arguments(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0],
                                     formatter_class=partial(argparse.ArgumentDefaultsHelpFormatter, width=100))
    parser.add_argument("--device", default="npu", help="cpu, npu or npu:1")
    parser.add_argument("--epochs", type=int, default=10, help="passes over the images")
    parser.add_argument("--batch-size", type=int, default=64, help="images in a step")
    parser.add_argument("--lr", type=float, default=3e-3, help="learning rate of the first step")
    parser.add_argument("--dropout", type=float, default=0.25, help="share of features that a step leaves out")
    parser.add_argument("--seed", type=int, default=0, help="for the first weights, the order of images and dropout")
    parser.add_argument("--checkpoint", metavar="FILE", help="save to this file after each epoch")
    parser.add_argument("--resume", metavar="FILE", help="go on from this file")
    parser.add_argument("--plot", metavar="PNG", help="draw the curve of losses into this file")
    return parser.parse_args(argv)


def main(argv=None):
    args = arguments(argv)
    training = Training(args)
    if args.resume:
        training.load(args.resume)
    while training.epoch < args.epochs:
        training.run_epoch()
        if args.checkpoint:
            training.save(args.checkpoint)
    print(f"{training.accuracy():.1%} of {TEST_IMAGES} unseen images are named rightly")
    if args.plot:
        plot(training.losses, args.plot)
    return training


if __name__ == "__main__":
    main()
