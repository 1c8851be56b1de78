"""Trains a small GPT on the sources of Python's standard library: `python examples/train_gpt.py --device npu`.

It learns to write Python character by character, and shows at the end what it has learnt. `--checkpoint FILE` saves
after each round of steps; `--resume FILE` goes on from there, to the same losses as a run that was never interrupted.

`torchrun --standalone --nproc-per-node 2 examples/train_gpt.py` trains in two processes, each with half of every batch.
The losses are those of one process. With `--fsdp` each process keeps half of the parameters, of their gradients and of
the optimizer's state.
"""
import argparse
import os
from functools import partial
from pathlib import Path

import numpy as np
from tqdm import trange

import mindtorch as torch
from mindtorch import distributed, nn
from mindtorch.distributed.fsdp import fully_shard
from mindtorch.nn import functional as F

CHARACTERS = 128        # ASCII: a token is the code of a character


class Attention(nn.Module):
    """Causal attention of several heads; (batch, time, width) to the same."""

    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        batch, time, width = x.shape
        q, k, v = self.qkv(x).view(batch, time, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=self.dropout * self.training)
        return self.out(mixed.transpose(1, 2).reshape(batch, time, width))


class Block(nn.Module):
    """Attention, then a small network for each position; each adds to what it was given."""

    def __init__(self, width, heads, dropout):
        super().__init__()
        self.attention = nn.Sequential(nn.LayerNorm(width), Attention(width, heads, dropout), nn.Dropout(dropout))
        self.mlp = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(),
                                 nn.Linear(4 * width, width), nn.Dropout(dropout))

    def forward(self, x):
        x = x + self.attention(x)
        return x + self.mlp(x)


class GPT(nn.Module):
    """Tokens (batch, time) to logits of each next token (batch, time, CHARACTERS)."""

    def __init__(self, layers=4, width=128, heads=4, context=128, dropout=0.1):
        super().__init__()
        self.context = context
        self.token, self.position = nn.Embedding(CHARACTERS, width), nn.Embedding(context, width)
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.Sequential(*[Block(width, heads, dropout) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, CHARACTERS, bias=False)
        self.head.weight = self.token.weight
        for embedding in (self.token, self.position):
            nn.init.normal_(embedding.weight, std=0.02)

    def forward(self, tokens):
        x = self.token(tokens) + self.position(torch.arange(tokens.shape[1], device=tokens.device))
        return self.head(self.norm(self.blocks(self.dropout(x))))

    @torch.no_grad()
    def write(self, prompt, count, temperature=0.8):
        """The prompt, and `count` characters that the network has drawn after it."""
        self.eval()
        tokens = encode(prompt).to(self.token.weight.device).unsqueeze(0)
        for _ in range(count):
            logits = self(tokens[:, -self.context:])[:, -1] / temperature
            tokens = torch.cat([tokens, torch.multinomial(logits.softmax(-1), 1)], dim=1)
        return bytes(tokens[0].tolist()).decode("ascii")


def encode(text):
    return torch.from_numpy(np.frombuffer(text.encode("ascii", "ignore"), np.uint8).astype(np.int64))


def standard_library():
    """The top-level modules of Python's standard library, one after the other."""
    return "".join(path.read_text(encoding="utf-8") for path in sorted(Path(os.__file__).parent.glob("*.py")))


class Training:
    """The network, what trains it, and how far that has come."""

    def __init__(self, args):
        torch.manual_seed(args.seed)
        self.args = args
        self.rank, self.ranks = 0, 1
        if distributed.is_torchelastic_launched():
            if args.device == "npu":
                count = torch.npu.device_count() or 1       # a simulated NPU counts once it has been named
                args.device = f"npu:{distributed.get_node_local_rank() % count}"
                torch.npu.set_device(args.device)
            distributed.init_process_group(distributed.get_default_backend_for_device(args.device))
            self.rank, self.ranks = distributed.get_rank(), distributed.get_world_size()
        self.corpus = encode(standard_library())
        self.model = GPT(args.layers, args.width, args.heads, args.context, args.dropout).to(args.device)
        self.trained = self.model
        if args.fsdp:
            for block in self.model.blocks:
                fully_shard(block)
            fully_shard(self.model)
        elif self.ranks > 1:
            self.trained = nn.parallel.DistributedDataParallel(self.model)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr, weight_decay=0.1)
        kind = torch.device(args.device).type
        dtype = getattr(torch, args.autocast) if args.autocast else None
        self.autocast = partial(torch.autocast, kind, dtype, enabled=dtype is not None)
        self.scaler = torch.amp.GradScaler(kind, enabled=args.autocast == "float16")     # does nothing otherwise
        self.losses = []

    def save(self, path):
        state = {name: getattr(self, name).state_dict() for name in ("model", "optimizer", "scaler")}
        torch.save(state | {"losses": self.losses}, path)

    def load(self, path):
        state = torch.load(path, map_location=self.args.device)
        for name in ("model", "optimizer", "scaler"):
            getattr(self, name).load_state_dict(state[name])
        self.losses = state["losses"]

    def batch(self):
        """Pieces of the corpus that begin anywhere, and the same pieces one character later: this rank's share."""
        starts = torch.randint(len(self.corpus) - self.args.context, (self.args.batch_size, 1))[self.rank::self.ranks]
        pieces = self.corpus[starts + torch.arange(self.args.context + 1)].to(self.args.device)
        return pieces[:, :-1], pieces[:, 1:]

    def step(self):
        """Learns from one batch; its loss, in nats a character, over all ranks."""
        tokens, following = self.batch()
        with self.autocast():
            loss = F.cross_entropy(self.trained(tokens).flatten(0, 1), following.flatten())
        self.optimizer.zero_grad()
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        if self.ranks > 1:
            loss = loss.detach() / self.ranks
            distributed.all_reduce(loss)
        return loss.item()

    def run_round(self):
        """Some steps. They have a seed of their own, so that they are the same in a run that was resumed."""
        done = len(self.losses)
        torch.manual_seed(self.args.seed + done)
        self.model.train()
        steps = trange(done, min(done + self.args.save_every, self.args.steps), desc="steps", disable=self.rank > 0)
        with steps as progress:
            for _ in progress:
                self.losses.append(self.step())
                progress.set_postfix(loss=f"{self.losses[-1]:.4f}")


def arguments(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0],
                                     formatter_class=partial(argparse.ArgumentDefaultsHelpFormatter, width=100))
    parser.add_argument("--device", default="npu", help="cpu, npu or npu:1")
    parser.add_argument("--steps", type=int, default=1000, help="batches to learn from")
    parser.add_argument("--batch-size", type=int, default=16, help="pieces of text in a step")
    parser.add_argument("--layers", type=int, default=4, help="blocks of attention and MLP")
    parser.add_argument("--width", type=int, default=128, help="features of a character")
    parser.add_argument("--heads", type=int, default=4, help="heads of attention")
    parser.add_argument("--context", type=int, default=128, help="characters that the network sees")
    parser.add_argument("--lr", type=float, default=1e-3, help="learning rate")
    parser.add_argument("--dropout", type=float, default=0.1, help="share of features that a step leaves out")
    parser.add_argument("--autocast", choices=["bfloat16", "float16"], help="compute in 16 bits where that is enough")
    parser.add_argument("--fsdp", action="store_true", help="cut parameters over the processes of torchrun")
    parser.add_argument("--seed", type=int, default=0, help="for first weights, batches, dropout and the sample")
    parser.add_argument("--checkpoint", metavar="FILE", help="save to this file after each round of steps")
    parser.add_argument("--save-every", type=int, default=100, help="steps of a round")
    parser.add_argument("--resume", metavar="FILE", help="go on from this file")
    parser.add_argument("--sample", type=int, default=300, help="characters to write at the end")
    args = parser.parse_args(argv)
    if args.fsdp and (args.checkpoint or args.resume):
        parser.error("--fsdp writes and reads no file of one process")
    return args


def main(argv=None):
    args = arguments(argv)
    training = Training(args)
    if args.resume:
        training.load(args.resume)
    while len(training.losses) < args.steps:
        training.run_round()
        if args.checkpoint and training.rank == 0:
            training.save(args.checkpoint)
    torch.manual_seed(args.seed)
    if training.rank == 0 or args.fsdp:         # whose parameters lie on all ranks
        sample = training.model.write("def ", args.sample)
        if training.rank == 0:
            print(sample)
    if training.ranks > 1:
        distributed.destroy_process_group()
    return training


if __name__ == "__main__":
    main()
