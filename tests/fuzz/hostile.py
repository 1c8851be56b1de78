"""Calls with arguments that make no sense: an error of Python, of torch's type, and nothing else.

Where the arguments are small, torch is called too; where they are huge, which torch would allocate, mindtorch alone.
"""
import functools
import random
from functools import cache

import torch
from programs import Difference, Statement, Writer, database, error_type, execute, fault, samples_of

import mindtorch

SMALL = (
    "None", "'x'", "b'x'", "-1", "0", "1", "2", "3", "-5", "1.5", "-0.5", "float('nan')", "True", "False", "1j", "[]",
    "()", "[1, 2]", "(0,)", "[-1]", "[0, 0]", "[1.5]", "['x']", "[None]", "{}", "{'a': 1}", "object()", "...",
    "slice(None)", "torch.float32", "torch.int64", "torch.device('cpu')", "'sum'", "'mean'", "torch.strided",
    "range(3)", "int", "[[[[]]]]", "torch.ones((), device=device)", "torch.ones(0, device=device)",
    "torch.ones(2, 3, device=device)", "torch.ones(2, 0, device=device)", "torch.ones(3, 3, device=device)",
    "torch.zeros(3, dtype=torch.int64, device=device)", "torch.ones(2, 3, dtype=torch.bool, device=device)",
    "torch.ones(2, dtype=torch.complex64, device=device)", "torch.ones(1, 1, 1, 1, 1, 1, device=device)",
    "torch.ones(2, 3, device=device, requires_grad=True)", "torch.full((2,), float('nan'), device=device)",
    "[torch.ones(2, device=device)]", "[torch.ones(2, device=device), None]", "torch.ones(2, device='meta')",
    "torch.zeros(2, dtype=torch.uint8, device=device)",
)
HUGE = (
    "2**31", "2**31 - 1", "2**62", "-2**63", "2**63", "2**100", "-2**100", "1e300", "float('inf')", "[2**40, 2**40]",
    "(2**62, 2**62)", "[-2**63]", "[2**63]", "(2**31,) * 70", "[0, 2**62]", "deep(2000)", "'x' * 10**6",
    "[1] * 10**5",
)
KEYWORDS = (
    "dim", "out", "dtype", "device", "keepdim", "size", "n", "weight", "mode", "reduction", "requires_grad", "p",
    "generator", "nonsense", "padding", "stride", "kernel_size",
)
# They change the process, wait, write files or go on for ever; or are decorators and classes. torch's lstsq crashes.
LEFT_OUT = (
    "set_", "save", "load", "compile", "hub", "fork", "wait", "manual_seed", "seed", "_", "init", "use_", "from_file",
    "enable_", "disable_", "export", "vmap", "cond", "while_loop", "overrides", "profiler", "share_memory",
    "pin_memory", "register_", "is_", "get_", "module_load", "backward", "import_", "broadcast_coalesced", "typename",
    "apply", "breakpoint", "rendezvous", "lstsq",
)


def deep(levels):
    value = []
    for _ in range(levels):
        value = [value]
    return value


@cache
def functions():
    """Dotted names that torch and mindtorch both have."""
    found = []
    for path in ("", "nn.functional.", "linalg.", "fft.", "special.", "Tensor.", "distributed.", "nn.utils.",
                 "sparse."):
        theirs, ours = torch, mindtorch
        for part in filter(None, path.split(".")):
            theirs, ours = getattr(theirs, part), getattr(ours, part)
        found += [f"torch.{path}{name}" for name in sorted(dir(theirs))
                  if not name.startswith(LEFT_OUT) and hasattr(ours, name) and callable(getattr(theirs, name))
                  and not isinstance(getattr(theirs, name), type) and not name[0].isupper()]
    return found


@cache
def classes():
    """Dotted names of classes that torch and mindtorch both have, and that only keep what they are given."""
    found = []
    for path in ("nn", "utils.data", "optim", "optim.lr_scheduler", "distributions"):
        theirs, ours = (functools.reduce(getattr, path.split("."), lib) for lib in (torch, mindtorch))
        # Transformers copy a layer, whatever it is, as often as they are told, in torch too.
        found += [f"torch.{path}.{name}" for name in dir(theirs)
                  if isinstance(getattr(theirs, name), type) and hasattr(ours, name) and name[0].isupper()
                  and not name.startswith("Transformer")]
    return found


class Caller:
    """Writes one call."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def value(self, huge):
        return self.random.choice(HUGE if huge and self.random.random() < 0.5 else SMALL)

    def write(self):
        """(program, whether torch may run it)."""
        huge = self.random.random() < 0.4
        if self.random.random() < 0.5:
            program = self.nearly_right(huge)
            if program is not None:
                return program, not huge and "lstsq" not in program[-1].operator        # which ends torch's process
        name = self.random.choice(classes() if self.random.random() < 0.15 else functions())
        count = self.random.choice((0, 1, 1, 2, 2, 2, 3, 3, 4, 6))
        texts = [self.value(huge) for _ in range(count)]
        if count and self.random.random() < 0.8:
            texts[0] = self.random.choice([text for text in SMALL if text.startswith("torch.ones(")])
        texts += [f"{key}={self.value(huge)}" for key in KEYWORDS if self.random.random() < 0.03]
        return [Statement(f"v1 = {name}({', '.join(texts)})", name.removeprefix("torch."))], not huge

    def nearly_right(self, huge):
        """A sample of the op database with one argument replaced."""
        writer = Writer(self.random.random())
        writer.names["deep"] = deep
        writer.execute = False
        name = self.random.choice(database())
        samples = samples_of(name, torch.float32)
        if not samples:
            return None
        *args, keywords = self.random.choice(samples)
        texts = [writer.argument(value, {}) for value in args] + \
            [f"{key}={writer.argument(value, {})}" for key, value in keywords.items()]
        place = self.random.randrange(len(texts))
        key, equals, _ = texts[place].rpartition("=") if place >= len(args) else ("", "", "")
        texts[place] = key + equals + self.value(huge)
        base = name.partition(":")[0]
        owner = torch
        for part in base.split("."):
            owner = getattr(owner, part, None)
        prefix = "torch" if callable(owner) else "torch.Tensor"
        return [*writer.program, Statement(f"v0 = {prefix}.{base}({', '.join(texts)})", base)]


# What a wrong call may raise.
ERRORS = (
    TypeError, ValueError, RuntimeError, IndexError, OverflowError, NotImplementedError, AttributeError,
    AssertionError, KeyError, MemoryError, BufferError,
)


def outcome(program, library, device):
    names = {"torch": library, "device": device, "deep": deep}
    for statement in program[:-1]:
        error = execute(statement, names)
        if error is not None:           # the NPU has no tensors of that kind
            return error
    return execute(program[-1], names)


def check(program, small, device, allowed):
    """(Difference or None, reason or None)."""
    ours = outcome(program, mindtorch, device)
    if small:
        theirs = outcome(program, torch, "cpu")
        if error_type(ours) == error_type(theirs):
            return None, None
        kind = "other error" if ours and theirs else "refused though right" if ours else \
            "fault" if fault(device) else "accepted"
        words = f"torch: {theirs!r:.200}, here: {ours!r:.300}"
    elif ours is None or isinstance(ours, ERRORS):
        return None, None
    else:
        kind, words = "error", f"here: {ours!r:.300}"
    statement = program[-1]
    reason = allowed(device, statement, "refused", f"{type(ours).__name__}: {ours}") or \
        allowed(device, statement, kind, words)
    return (None, reason) if reason else (Difference(program, device, kind, words), None)
