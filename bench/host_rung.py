"""The programs of bench/host.py in one library, in a process that bench/host.py starts.

    host_rung.py mindtorch|torch_npu SECONDS

Says {program: {"waits": us the caller waits, "ends": us until the device is done, "driver": us of modelled calls,
"misses": phases 1 that CANN's cache did not know, "hits": launches without one}}, each for one call of the program.
"""
import gc
import os
import sys
import time
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location

from bench import client
from bench.rungs import ROOT

LEAST_ROUNDS = 10   # of which the best is taken: short ones, so that a busy machine leaves some undisturbed
WIDTH, HEADS, LENGTH, BATCH, VOCABULARY, LAYERS = 128, 4, 64, 8, 64, 2


def simulator():
    """mindtorch/sim.py by itself: it needs nothing else of the package, which torch_npu's environment lacks."""
    spec = spec_from_file_location("sim", ROOT / "mindtorch" / "sim.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def networks(torch):
    """Classes of the networks, over one library."""
    nn, functional = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norms = nn.ModuleList([nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)])
            self.joint, self.back = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.feed = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

        def heads(self, x):
            return [part.view(x.shape[0], x.shape[1], HEADS, -1).transpose(1, 2)
                    for part in self.joint(self.norms[0](x)).split(WIDTH, 2)]

        def joined(self, x, seen):
            x = x + self.back(seen.transpose(1, 2).reshape(x.shape))
            return x + self.feed(self.norms[1](x))

        def forward(self, x):
            q, k, v = self.heads(x)
            return self.joined(x, functional.scaled_dot_product_attention(q, k, v, is_causal=True))

        def decode(self, x, cache, place, seen):
            q, k, v = self.heads(x)
            cache[0].index_copy_(2, place, k)
            cache[1].index_copy_(2, place, v)
            scores = (q @ cache[0].transpose(2, 3)) * (WIDTH // HEADS) ** -0.5
            return self.joined(x, scores.masked_fill(seen, -1e9).softmax(-1) @ cache[1])

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
            self.blocks = nn.ModuleList([Block() for _ in range(LAYERS)])
            self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY)

        def forward(self, tokens):
            x = self.tokens(tokens) + self.places(torch.arange(LENGTH, device=tokens.device))
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x))

        def decode(self, token, place, caches, numbers):
            x = self.tokens(token) + self.places(place)
            seen = numbers > place
            for block, cache in zip(self.blocks, caches, strict=True):
                x = block.decode(x, cache, place, seen)
            return self.head(self.norm(x)).argmax(-1)

    return Block, GPT


def training_step(torch, model, loss_of, **options):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, **options)

    def step():
        optimizer.zero_grad()
        loss_of(model).backward()
        optimizer.step()
    return step


def replay_of(torch, step):
    """The replay of a step that is captured as one graph."""
    aside = torch.npu.Stream()
    aside.wait_stream(torch.npu.current_stream())
    with torch.npu.stream(aside):
        step()
    torch.npu.synchronize()
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        step()
    return graph.replay


def decoding(torch, gpt, capture):
    """A step of generation, and the same as one graph: the token, its position and the mask keep their memory."""
    token = torch.zeros(1, 1, dtype=torch.int64, device="npu")
    place = torch.zeros(1, dtype=torch.int64, device="npu")
    numbers = torch.arange(LENGTH, device="npu")
    caches = [[torch.zeros(1, HEADS, LENGTH, WIDTH // HEADS, device="npu") for _ in "kv"] for _ in range(LAYERS)]

    def step():
        with torch.no_grad():
            token.copy_(gpt.decode(token, place, caches, numbers))
            place.add_(1)

    programs = {"decode": (step, 2)}
    if not capture:
        return programs
    return programs | {"decode, graph": (replay_of(torch, step), 5)}


def programs(torch, capture):
    """{title: (function, how many calls are measured together)}"""
    block_class, gpt_class = networks(torch)
    nn, functional = torch.nn, torch.nn.functional
    torch.manual_seed(0)
    a, b = torch.ones(4, device="npu"), torch.ones(4, device="npu")
    mlp = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)).to("npu")
    images, labels = torch.randn(64, 16).to("npu"), torch.arange(64).remainder(4).to("npu")
    block, gpt = block_class().to("npu"), gpt_class().to("npu")
    x = torch.randn(BATCH, LENGTH, WIDTH).to("npu")
    text = torch.zeros(BATCH, LENGTH, dtype=torch.int64, device="npu")

    def forward():
        with torch.no_grad():
            block(x)

    def loss_of(model):
        return functional.cross_entropy(model(text).flatten(0, 1), text.flatten())

    found = {
        "a + b": (lambda: a + b, 200),
        "MLP step, AdamW": (training_step(torch, mlp, lambda m: functional.cross_entropy(m(images), labels)), 2),
        "GPT block": (forward, 5),
        "GPT block, backward": (lambda: block(x).sum().backward(), 2),
        "GPT step, AdamW": (training_step(torch, gpt, loss_of), 1),
        **decoding(torch, gpt, capture),
    }
    if capture:
        found["GPT step, graph"] = replay_of(
            torch, training_step(torch, gpt_class().to("npu"), loss_of, capturable=True)), 5
    return found


def measure(run, count, torch, sim, seconds):
    for _ in range(3):
        run()
    waits, ends = [], []
    begin = time.perf_counter()
    while len(ends) < LEAST_ROUNDS or time.perf_counter() - begin < seconds:
        torch.npu.synchronize()
        start = time.perf_counter()
        for _ in range(count):
            run()
        waits.append(time.perf_counter() - start)
        torch.npu.synchronize()
        ends.append(time.perf_counter() - start)
    with sim.counting() as counts:
        for _ in range(count):
            run()
        torch.npu.synchronize()
    driver = sum(calls * sim.cost(function) for function, calls in counts.items())
    launches = sum(counts.operators().values())
    # Without a model the simulator does not say which phases 1 its cache knew: all of them count.
    misses = counts["phase1"] if os.environ["MINDTORCH_SIM_COST"] else sum(
        calls for function, calls in counts.items() if function.endswith("GetWorkspaceSize"))
    return {"waits": 1e6 * min(waits) / count, "ends": 1e6 * min(ends) / count,
            "driver": 1e-3 * driver / count, "misses": misses / count, "hits": (launches - misses) / count}


def main(library, seconds):
    torch = import_module("mindtorch" if library == "mindtorch" else "torch")
    import_module(library)
    sim = simulator()
    # torch_npu captures no graph with its second queue.
    found = programs(torch, library == "mindtorch" or os.environ.get("TASK_QUEUE_ENABLE") != "2")
    gc.collect()
    gc.disable()
    client.say({title: measure(run, count, torch, sim, seconds) for title, (run, count) in found.items()})


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
