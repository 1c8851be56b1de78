"""Random programs: lists of Python statements that mean the same with torch and with mindtorch.

A program is written while torch runs it, since what a statement may do depends on the tensors that exist. Then torch
and mindtorch run it side by side, and every tensor is compared after every statement.
"""
import ast
import itertools
import math
import random
import re
import sys
import warnings
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import mindtorch

OPS = Path(__file__).resolve().parents[1] / "ops"
sys.path.insert(0, str(OPS))
from opinfo import RANDOM, infos  # noqa: E402
from samples import SAMPLES, Description, Make  # noqa: E402

from mindtorch._ops.codegen.rows import Table  # noqa: E402

FLOATING = ("float32", "float64", "float16", "bfloat16")
COMPLEX = ("complex64", "complex128")
INTEGRAL = ("int64", "int32", "int16", "int8", "uint8")
# How often each is drawn.
DTYPES = ("float32",) * 8 + FLOATING + COMPLEX + INTEGRAL + ("int64", "bool", "bool")
LARGEST = 64        # elements of a literal
# What a block of statements may be written under.
BLOCKS = ("torch.no_grad()", "torch.no_grad()", "torch.inference_mode()", "torch.enable_grad()",
          "torch.set_grad_enabled(False)", "torch.autocast(device, dtype=torch.bfloat16)",
          "torch.autocast(device, dtype=torch.float16)")
# Random numbers of the CPU, which are torch's; those of an NPU are others. No views, since an NPU gets copies.
DRAWS = ("torch.rand({shape}, dtype={dtype})", "torch.randn({shape}, dtype={dtype})",
         "torch.randint(-3, 9, {shape}, dtype={dtype})", "torch.randint({big}, {shape}, dtype={dtype})",
         "torch.randperm({count}, dtype={dtype})",
         "torch.rand({shape}, generator=torch.Generator().manual_seed({big}))", "torch.rand_like({ones})",
         "torch.randn_like({ones})", "torch.bernoulli({ones} * 0.3)", "torch.nn.functional.dropout({ones}, 0.3)",
         "torch.nn.functional.alpha_dropout({ones}, 0.3, True)", "torch.nn.functional.rrelu(-{ones}, training=True)",
         "torch.nn.Dropout(0.6)({ones})", "{ones}.normal_(2, 0.5)", "{ones}.uniform_(-1, 2)",
         "{ones}.bernoulli_(0.7)", "{ones}.exponential_(0.5)", "{ones}.random_()", "{ones}.random_(2, 90)",
         "{ones}.cauchy_()", "{ones}.log_normal_()", "{ones}.geometric_(0.3)",
         "torch.normal(0.0, 2.0, {shape}, dtype={dtype})", "torch.normal({ones}, {ones})",
         "torch.poisson({ones} * 3)", "torch.multinomial({ones}.reshape(-1), {few}, True)",
         "torch.multinomial({ones}.reshape(-1), {few})", "torch.nn.init.xavier_uniform_({ones}.reshape(1, -1)).clone()",
         "torch.nn.init.kaiming_normal_({ones}.reshape(1, -1)).clone()", "torch.nn.init.trunc_normal_({ones})",
         "torch.distributions.Normal({ones}, 2.0).sample()",
         "torch.distributions.Categorical(logits={ones}.reshape(-1)).sample(({few},)).clone()")
# Functions of one tensor, or of a sample of it, for torch.func.
FUNCTIONS = ("x.sin()", "x * x", "x.exp().sum(-1)", "x.tanh().cumsum(0)", "torch.softmax(x, -1)", "x ** 3",
             "x.abs() + 1", "x.t() @ x", "x[0]", "x[..., 0] * 2", "x.reshape(-1).flip(0)",
             "torch.where(x > 0, x, x * x)", "x.max()", "torch.nn.functional.gelu(x)",
             "torch.stack([x, x * 2]).prod(0)", "x.std(-1)", "x.sort(-1)[0]", "x.sigmoid()",
             "torch.nn.functional.layer_norm(x, x.shape[-1:])", "x.clone().mul_(2)", "x.norm()",
             "x.unsqueeze(0).expand(2, *x.shape)", "torch.cat([x.flatten(), x.flatten()])", "x.clamp(-1, 1)",
             "torch.logsumexp(x, -1)", "x.mean() * x", "x.to(torch.float64)")
TRANSFORMS = ("torch.func.grad(lambda x: ({f}).sum())({v})", "torch.vmap(lambda x: {f})({v})",
              "torch.vmap(lambda x: {f}, in_dims=-1, out_dims=-1)({v})",
              "torch.func.jvp(lambda x: {f}, ({v},), ({v} * 2,))", "torch.func.jacrev(lambda x: {f})({v})",
              "torch.func.jacfwd(lambda x: {f})({v})", "torch.vmap(torch.func.grad(lambda x: ({f}).sum()))({v})",
              "torch.func.hessian(lambda x: ({f}).sum())({v})",
              "torch.func.grad_and_value(lambda x: ({f}).sum())({v})", "torch.func.vjp(lambda x: {f}, {v})[0]",
              "torch.func.grad(torch.func.grad(lambda x: ({f}).sum(), has_aux=False))({v})",
              "torch.autograd.functional.jacobian(lambda x: {f}, {v})",
              "torch.utils.checkpoint.checkpoint(lambda x: {f}, {v}, use_reentrant=False)",
              "torch.vmap(lambda x, y: ({f}) + y, in_dims=(0, None))({v}, {v})")
# What has no defined elements, draws random numbers or writes to files; settings of the process; torch's derivatives of
# the last three are not exact.
LEFT_OUT = {"empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided", "resize",
            "resize_as", "set", "random", "from_file", "lobpcg", "item", "tolist", "equal",
            "einsum", "to_sparse", "matrix_exp", "as_strided_scatter", "ctc_loss"}
# They write to some of their operands.
WRITES_OPERANDS = {"batch_norm", "instance_norm", "nn.functional.batch_norm", "nn.functional.instance_norm",
                   "native_batch_norm"}


@dataclass(frozen=True)
class Statement:
    text: str
    operator: str           # what is tried, for reports
    creates: str = ""       # the variable of a literal
    refused: str = ""       # torch's error


@dataclass
class Difference:
    program: list           # of statements, the last one differs
    device: str
    kind: str               # values, dtype, shape, stride, ... or error
    words: str

    @property
    def signature(self):
        return self.device, self.program[-1].operator, self.kind


# --- writing programs ----------------------------------------------------------------------------------------------

@cache
def rows():
    """Rows with samples whose results are defined."""
    return [row for row in Table().rows if row.samples and not row.schema.argument("generator")
            and {"own", "npu", "aten"}.isdisjoint(row.variants)
            and not row.schema.name.startswith(("_", "native_"))
            and row.schema.name.strip("_") not in LEFT_OUT]


@cache
def database():
    """Names of PyTorch's op database that are functions of torch or methods, without random ones."""
    found = []
    for name, info in infos().items():
        hidden = info.name.startswith(("_", "jiterator", "ops.", "sparse", "native_")) \
            or info.name.rpartition(".")[2].strip("_") in LEFT_OUT or info.variant_test_name.startswith("partial")
        if not any(word in name for word in RANDOM) and not hidden:
            owner = torch
            for part in info.name.split("."):
                owner = getattr(owner, part, None)
            if callable(owner) or hasattr(torch.Tensor, info.name):
                found.append(name)
    return found


@cache
def samples_of(name, dtype):
    """Arguments of an op of the database, those of small tensors alone."""
    info = infos()[name]
    random.seed(0)
    torch.manual_seed(0)
    numpy.random.seed(0)
    try:
        chosen = [(sample.input, *sample.args, sample.kwargs) for _, sample in
                  zip(range(24), info.sample_inputs("cpu", dtype), strict=False)]
    except Exception:      # noqa: BLE001 - torch makes no samples of that dtype
        return []

    def small(value):
        if isinstance(value, torch.Tensor):
            return value.numel() <= LARGEST and value.layout is torch.strided
        if isinstance(value, dict):
            return all(map(small, value.values()))
        return all(map(small, value)) if isinstance(value, (list, tuple)) else value is None or \
            isinstance(value, (bool, int, float, complex, str)) or type(value).__module__ == "torch"
    return [arguments for arguments in chosen if small(arguments)]


class Writer:
    """Writes one program; torch runs each statement at once."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = {"torch": torch, "device": "cpu"}
        self.program = []
        self.count = 0
        self.block, self.left = "", 0       # and how many steps it lasts

    def write(self, length):
        for _ in range(self.random.randrange(1, 3)):
            self.literal(self.shape())
        steps = [(self.row, 10), (self.from_database, 5), (self.pointwise, 5), (self.view, 5), (self.change, 4),
                 (self.index, 3), (self.assign, 3), (self.cast, 2), (self.backward, 2), (self.draw, 1), (self.hook, 1),
                 (self.transform, 2)]
        while len(self.program) < length:
            if not self.left:
                self.block = self.random.choice(BLOCKS) if self.chance(0.07) else ""
                self.left = self.random.randrange(1, 4)
            step, = self.random.choices([s for s, _ in steps], [weight for _, weight in steps])
            step()
            self.left -= 1
        if self.random.random() < 0.7:
            self.backward()
        return self.program

    # pieces

    def chance(self, probability):
        return self.random.random() < probability

    def add(self, text, operator, creates=""):
        """A new statement, in the block that is written. False where torch raises."""
        text = f"with {self.block}: {text}" if self.block and not creates and operator != "requires_grad_" else text
        error = execute(Statement(text, operator), self.names)
        refused = "" if error is None else f"{type(error).__name__}: {error}"
        self.program.append(Statement(text, operator, creates, refused))
        return error is None

    def name(self):
        self.count += 1
        return f"v{self.count}"

    def tensors(self, condition=lambda t: True):
        return [name for name, value in self.names.items()
                if isinstance(value, torch.Tensor) and value.layout is torch.strided and is_valid(value)
                and condition(value)]

    def shape(self):
        dims = self.random.choice((0, 1, 1, 2, 2, 2, 3, 3, 4))
        return tuple(self.random.choice((1, 2, 2, 3, 3, 4, 5) if self.chance(0.95) else (0,)) for _ in range(dims))

    def value(self, dtype):
        if dtype == "bool":
            return self.chance(0.5)
        if dtype in INTEGRAL:
            low = 0 if dtype == "uint8" else -5
            return self.random.randint(low, 9) if self.chance(0.97) else self.random.choice((127, 100, low))
        if dtype in COMPLEX:
            return complex(round(self.random.uniform(-3, 3), 2), round(self.random.uniform(-3, 3), 2))
        if self.chance(0.02):
            return self.random.choice((math.nan, math.inf, -math.inf, -0.0, 0.0, 1e4))
        return self.random.choice((-2.0, -1.0, 0.0, 0.5, 1.0, 2.0)) if self.chance(0.2) else \
            round(self.random.uniform(-4, 4), 2)

    def literal(self, shape, dtype=None, values=None, grad=None):
        """The name of a new tensor, in a random layout."""
        dtype = dtype or self.random.choice(DTYPES)
        count = math.prod(shape)
        while count > LARGEST:
            shape = tuple(max(1, size - 1) for size in shape)
            count = math.prod(shape)
        values = [self.value(dtype) for _ in range(count)] if values is None else values
        name, order = self.name(), list(range(len(shape)))
        layout = self.random.choice(("dense",) * 6 + ("permuted", "permuted", "strided", "offset", "expanded") + (
            "channels_last",) * 6 * (len(shape) == 4))
        inner = tuple(shape)
        if layout == "permuted":
            self.random.shuffle(order)
            inner = tuple(shape[axis] for axis in order)
        text = f"torch.tensor({written(values)}, dtype=torch.{dtype}).to(device).reshape({inner})"
        if layout == "permuted" and order != sorted(order):
            text += f".permute({tuple(order.index(axis) for axis in range(len(order)))})"
        elif layout == "strided" and shape and count:
            text += f".repeat_interleave(2, {len(shape) - 1})[..., ::2]"
        elif layout == "channels_last":
            text += ".contiguous(memory_format=torch.channels_last)"
        elif layout == "offset" and shape and count:
            text = f"torch.cat([{text}[:1], {text}])[1:]" if count < 12 else text
        elif layout == "expanded" and shape and count:
            axis = self.random.randrange(len(shape))
            text += f".narrow({axis}, 0, 1).expand({tuple(shape)})"
        self.add(f"{name} = {text}", "literal", name)
        if dtype in FLOATING + COMPLEX and (self.chance(0.35) if grad is None else grad):
            self.add(f"{name}.requires_grad_()", "requires_grad_")
        return name

    def argument(self, value, sizes):
        """The text of an argument that a sample has: tensors become variables."""
        if isinstance(value, Description):
            return self.tensor_like(tuple(sizes.get(size, size) for size in value.shape), value.dtype,
                                    value.values if not sizes else None)
        if isinstance(value, torch.Tensor):
            values = value.detach().resolve_conj().resolve_neg().reshape(-1).tolist()
            return self.tensor_like(tuple(value.shape), str(value.dtype).removeprefix("torch."), values)
        if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
            items = [self.argument(item, sizes) for item in value]
            return f"[{', '.join(items)}]" if isinstance(value, list) else f"({''.join(i + ', ' for i in items)})"
        if isinstance(value, float) and not math.isfinite(value):
            return f"float('{value}')"
        if isinstance(value, torch.Size):
            return repr(tuple(value))
        if isinstance(value, torch.device) or value == "cpu":
            return "device"
        if isinstance(value, int) and not isinstance(value, bool) and self.chance(0.03):
            return str(value + self.random.choice((-2, -1, 1)))
        return repr(value)

    def tensor_like(self, shape, dtype, values=None):
        """A variable of that shape: one that is there, or a new one."""
        known = self.tensors(lambda t: tuple(t.shape) == shape and dtype in FLOATING and t.is_floating_point())
        if known and self.chance(0.4):
            return self.random.choice(known)
        if dtype == "float32" and self.chance(0.15):
            dtype = self.random.choice(DTYPES)
            values = None
        return self.literal(shape, dtype, None if values is None else list(values))

    # steps

    def row(self):
        """An operator of the table with the arguments of a sample, its sizes perhaps replaced."""
        row = self.random.choice(rows())
        dtype = self.random.choice(DTYPES)
        try:
            samples = list(SAMPLES[row.samples](Make(dtype, seed=self.random.random())))
        except (ValueError, TypeError):
            return
        if not samples:
            return
        args, kwargs = self.random.choice(samples)
        sizes = {}
        if self.chance(0.3):
            sizes = {size: self.random.choice((size, 1, 2, 3, 4, 0 if self.chance(0.1) else 5)) for size in range(1, 7)}
        described = [value for value in (*args, *kwargs.values()) if isinstance(value, Description)]
        if sum(math.prod(value.shape) for value in described) > 4 * LARGEST or \
                any(math.prod(value.shape) > LARGEST for value in described):
            return
        texts = [self.argument(value, sizes) for value in args]
        keywords = {name: f"torch.{value}" if name.endswith("dtype") and isinstance(value, str)
                    else self.argument(value, sizes) for name, value in kwargs.items()}
        self.call(row.schema.name, texts, keywords, "function" in row.variants and hasattr(torch, row.schema.name),
                  "method" in row.variants, bool(row.inplace), row.takes_out and not row.factory, row.factory)

    def call(self, name, texts, keywords, function, method, inplace, out, factory=False):
        """One of the forms that an operator has."""
        if name in WRITES_OPERANDS and len(set(texts)) < len(texts):
            return                  # two running means in one place
        forms = ["function"] * (3 * function) + ["method"] * (2 * method) + ["in-place"] * (2 * inplace * method) + \
            ["out"] * (out and function)
        if not forms:
            return
        form = self.random.choice(forms)
        if factory and form == "function":
            keywords = {**keywords, "device": "device"}
        given = [f"{key}={value}" for key, value in keywords.items()]
        if form in ("method", "in-place"):
            if not texts or not isinstance(self.names.get(texts[0]), torch.Tensor):
                return
            target, texts = texts[0], texts[1:]
            if form == "in-place" and name.startswith("logical_") and self.names[target].requires_grad:
                return              # torch's autograd does not see these writes
            if form == "in-place" and any(self.overlaps(target, text) for text in texts):
                return              # torch reads what it has written, unless both fill their memory
            if form == "in-place" and target not in self.writable():
                return
            name += "_" * (form == "in-place")
            called = f"{target}.{name}({', '.join((*texts, *given))})"
        else:
            if form == "out":
                operands = " ".join((*texts, *keywords.values()))
                given.append(f"out={self.output(operands)}")
            called = f"torch.{name}({', '.join((*texts, *given))})"
        self.assigned(called, name + (".out" if form == "out" else ""))

    def overlaps(self, one, other):
        """Whether two variables share memory and show different elements of it."""
        pair = [self.names.get(name) for name in (one, other)]
        return all(isinstance(t, torch.Tensor) for t in pair) and one != other and share_memory(*pair)

    def writable(self):
        """All but integers that a view shows of fractions with a history, which torch loses, unfolded tensors, whose
        elements lie on each other, and zeros without memory, which some of torch's derivatives return."""
        return self.tensors(lambda t: (t._base is None or t._base.dtype == t.dtype or not t._base.requires_grad)
                            and not overlaps_itself(t) and not t._is_zerotensor())

    def output(self, operands):
        """A variable for out=, which shares no memory with others: where it is resized, they lose it here alone."""
        owners = Counter(memory_of(self.names[name]) for name in self.tensors())
        known = self.tensors(lambda t: owners[memory_of(t)] == 1 and not t._is_zerotensor())
        known = [name for name in known if name not in re.findall(r"\w+", operands)]
        return self.random.choice(known) if known and self.chance(0.7) else self.literal(self.shape(), grad=False)

    def assigned(self, called, operator):
        """Keeps the result, each tensor of several in a variable of its own."""
        name = self.name()
        if self.add(f"{name} = {called}", operator):
            value = self.names[name]
            if isinstance(value, (tuple, list)):
                for number, item in enumerate(value[:4]):
                    if isinstance(item, torch.Tensor):
                        self.add(f"{self.name()} = {name}[{number}]", operator)
                self.names.pop(name)

    def from_database(self):
        name = self.random.choice(database())
        info = infos()[name]
        dtype = getattr(torch, self.random.choice(DTYPES))
        chosen = samples_of(name, dtype)
        if not chosen:
            return
        *args, kwargs = self.random.choice(chosen)
        texts = [self.argument(value, {}) for value in args]
        keywords = {key: self.argument(value, {}) for key, value in kwargs.items()}
        owner = torch
        for part in info.name.split("."):
            owner = getattr(owner, part, None)
        plain = "." not in info.name
        self.call(info.name, texts, keywords, callable(owner), plain and hasattr(torch.Tensor, info.name),
                  plain and hasattr(torch.Tensor, info.name + "_"), info.supports_out)

    def pointwise(self):
        """An elementwise operator on tensors that are there, broadcast if need be."""
        known = self.tensors()
        if self.chance(0.35):
            chosen = [row for row in rows() if row.samples.startswith("unary")]
            row = self.random.choice(chosen)
            texts = [self.random.choice(known)]
        else:
            chosen = [row for row in rows() if row.samples.startswith("binary")]
            row = self.random.choice(chosen)
            first = self.random.choice(known)
            fitting = self.tensors(lambda t: broadcasts(t.shape, self.names[first].shape))
            number = self.random.choice(("2", "0.5", "-1", "True", "3", "1.5", "0", "(1+2j)"))
            texts = [first, self.random.choice(fitting) if self.chance(0.75) else number]
            if self.chance(0.4):
                symbol = self.random.choice(("+", "-", "*", "/", "//", "%", "**", "<", ">=", "==", "!=", "&", "|", "^"))
                if self.chance(0.2):
                    texts.reverse()
                if self.chance(0.25) and symbol in "+-*/%" and isinstance(self.names.get(texts[0]), torch.Tensor) \
                        and not self.overlaps(*texts) and texts[0] in self.writable():
                    self.add(f"{texts[0]} {symbol}= {texts[1]}", f"{symbol}=")
                else:
                    self.assigned(f"{texts[0]} {symbol} {texts[1]}", symbol)
                return
        self.call(row.schema.name, texts, {}, "function" in row.variants and hasattr(torch, row.schema.name),
                  "method" in row.variants, bool(row.inplace), row.takes_out)

    def view(self):
        name = self.random.choice(self.tensors())
        tensor = self.names[name]
        dims = tensor.dim()
        axis = self.random.randrange(-dims, dims) if dims else self.random.choice((0, -1))
        other = self.random.randrange(-dims, dims) if dims else 0
        size = tensor.shape[axis] if dims else 1
        order = list(range(dims))
        self.random.shuffle(order)
        start = self.random.randint(0, max(0, size - 1))
        choices = [f"transpose({axis}, {other})", f"permute({tuple(order)})", f"unsqueeze({axis})", "squeeze()",
                   f"squeeze({axis})", f"select({axis}, {start})", f"narrow({axis}, {start}, {max(0, size - start)})",
                   "flatten()", "reshape(-1)", "view(-1)", "t()", "mT", "T", "detach()",
                   f"diagonal(0, {axis}, {other})",
                   f"expand({(2, *tensor.shape)})", f"movedim({axis}, {other})", f"unfold({axis}, {min(2, size)}, 1)",
                   f"chunk(2, {axis})[0]", f"split(1, {axis})[-1]", f"unbind({axis})[0]", "contiguous()", "clone()",
                   f"view_as({name})", f"swapaxes({axis}, {other})", f"tensor_split(2, {axis})[0]",
                   f"as_strided({tuple(tensor.shape)}, {tensor.stride()})", f"reshape({(1, -1)})", "real", "imag",
                   "conj().resolve_conj()", "view(torch.uint8)", "view(torch.int32)", "H.resolve_conj()",
                   "mH.resolve_conj()", f"hsplit({max(1, size)})[0]",
                   f"unflatten({axis}, ({size}, 1))", "contiguous(memory_format=torch.channels_last)",
                   "clone(memory_format=torch.contiguous_format)", "adjoint().resolve_conj()", "ravel()",
                   "swapdims(0, -1)"]
        chosen = self.random.choice(choices)
        self.assigned(f"{name}.{chosen}", chosen.partition("(")[0])

    def change(self):
        """An in-place write, through a view or not."""
        name = self.random.choice(self.writable() or [self.literal(self.shape())])
        tensor = self.names[name]
        fitting = self.tensors(lambda t: broadcasts(t.shape, tensor.shape) and t.dim() <= tensor.dim())
        other = self.random.choice([each for each in fitting if not self.overlaps(name, each)])
        choices = [f"add_({other})", f"mul_({other})", f"copy_({other})", "zero_()", "fill_(0.5)", "neg_()", "abs_()",
                   f"sub_({other}, alpha=2)", "clamp_(-1, 1)", f"masked_fill_({other} > 0, 1.5)", "sigmoid_()",
                   "t_()", "unsqueeze_(0)", "squeeze_()", "transpose_(0, -1)", f"lerp_({other}, 0.5)", "relu_()",
                   "tanh_()", f"addcmul_({other}, {other}, value=0.5)", "exp_()", "detach_()", f"pow_({other})",
                   "cumsum_(0)", "tril_()", f"div_({other}, rounding_mode='floor')",
                   f"remainder_({other})", f"eq_({other})", f"fmod_({other})", "square_()", "sgn_()",
                   "fill_diagonal_(1)",
                   f"masked_fill_({other} > 0, {other})", f"maximum({other})", f"where({other} > 0, 1.0)"]
        chosen = self.random.choice(choices)
        self.assigned(f"{name}.{chosen}", chosen.partition("(")[0])

    def subscript(self, tensor):
        """What stands in brackets."""
        parts = []
        for size in tensor.shape:
            if self.chance(0.25) and parts:
                break
            i, j = sorted((self.random.randint(-size, size), self.random.randint(-size, size)))
            parts.append(self.random.choice((
                ":", ":", f"{i}:{j}", f"::{self.random.randint(1, 3)}", f"{i}:", f":{j}",
                str(self.random.randint(-size, max(0, size - 1))), "None", "...", "True",
                f"torch.tensor([{self.random.randint(-size, max(0, size - 1))}, 0], device=device)",
                f"[{self.random.randint(-size, max(0, size - 1))}, 0, 0]",
                f"torch.tensor({[self.chance(0.5) for _ in range(size)]}, dtype=torch.bool, device=device)")))
        if parts.count("...") > 1:
            parts = [p for p in parts if p != "..."]
        return ", ".join(parts) or self.random.choice(("None", "...", "()", "True", "0"))

    def index(self):
        name = self.random.choice(self.tensors())
        tensor = self.names[name]
        masks = self.tensors(lambda t: t.dtype in (torch.bool, torch.int64) and t.dim() <= tensor.dim())
        chosen = self.random.choice(masks) if masks and self.chance(0.25) else \
            f"{name} > 0" if self.chance(0.15) else self.subscript(tensor)
        self.assigned(f"{name}[{chosen}]", "getitem")

    def assign(self):
        name = self.random.choice(self.writable() or [self.literal(self.shape(), grad=False)])
        chosen = f"{name} > 0" if self.chance(0.2) else self.subscript(self.names[name])
        apart = [each for each in self.tensors() if not self.overlaps(name, each)]
        value = self.random.choice((*apart, "0.5", "2", "True"))
        sign = self.random.choice(("=", "=", "=", "+=", "*="))
        self.add(f"{name}[{chosen}] {sign} {value}", "setitem")

    def cast(self):
        name, dtype = self.random.choice(self.tensors()), self.random.choice(DTYPES)
        chosen = self.random.choice((f"to(torch.{dtype})", f"to(torch.{dtype})", "float()", "double()", "long()",
                                     "half()", "bool()", f"type(torch.{dtype})", f"to(torch.{dtype}, copy=True)"))
        self.assigned(f"{name}.{chosen}", chosen.partition("(")[0])

    def draw(self):
        """Random numbers after a seed."""
        shape = self.shape()
        dtype = self.random.choice((*FLOATING, "float32", "float32", "int64", "int32", "uint8"))
        seed, big = self.random.randrange(10 ** 6), self.random.choice((100, 2 ** 31, 2 ** 40))
        text = self.random.choice(DRAWS).format(shape=shape, dtype=f"torch.{dtype}", count=self.random.randrange(30),
                                                few=self.random.randrange(1, 4), big=big,
                                                ones=f"torch.ones({shape}, dtype=torch.{dtype})")
        name = self.name()
        if self.add(f"torch.manual_seed({seed}); {name} = ({text}).to(device)", "draw", name):
            kind = self.names[name].dtype               # in float64, too, the numbers are those of this dtype
            text = self.program[-1].text.replace(").to(device)", f").to(dtype={kind}).to(device)")
            self.program[-1] = Statement(text, "draw", name)

    def hook(self):
        """A hook on a tensor, or a gradient that is kept."""
        known = self.tensors(lambda t: t.requires_grad and is_inexact(t))
        if not known:
            return
        name = self.random.choice(known)
        chosen = self.random.choice(("register_hook(lambda grad: grad * 2)", "register_hook(lambda grad: None)",
                                     "register_hook(lambda grad: grad.clone().clamp_(-1, 1))", "retain_grad()",
                                     "register_hook(lambda grad: grad.double())",
                                     "register_hook(lambda grad: grad[:1])",
                                     "register_post_accumulate_grad_hook(lambda leaf: leaf.grad.mul_(0.5) and None)",
                                     "register_hook(lambda grad: torch.where(grad > 0, grad, 0.0))"))
        self.add(f"{name}.{chosen}", chosen.partition("(")[0])

    def transform(self):
        """A transform of torch.func."""
        fitting = self.tensors(lambda t: t.dtype in (torch.float32, torch.float64) and t.dim() > 0)
        name = self.random.choice(fitting if fitting and self.chance(0.8) else self.tensors())
        chosen = self.random.choice(TRANSFORMS)
        called = chosen.format(v=name, f=self.random.choice(FUNCTIONS))
        self.assigned(called, chosen.partition("(")[0].removeprefix("torch."))

    def backward(self):
        known = self.tensors(lambda t: t.requires_grad and t.grad_fn is not None)
        if not known:
            return
        name = self.random.choice(known)
        tensor = self.names[name]
        of = f"{name}.abs()" if tensor.is_complex() else name
        leaves = self.tensors(lambda t: t.requires_grad and t.is_leaf)
        if leaves and self.chance(0.2):
            create = self.chance(0.6)
            chosen = self.random.choice(leaves if self.chance(0.8) else self.tensors(lambda t: t.requires_grad))
            retain = ", retain_graph=True" if self.chance(0.2) else ""
            self.assigned(f"torch.autograd.grad({of}.sum(), {chosen}, allow_unused=True, "
                          f"create_graph={create}{retain})[0]", "grad")
            return
        given = ""
        if self.chance(0.25):
            given = self.random.choice(("retain_graph=True", "retain_graph=True", "create_graph=True",
                                        f"inputs=[{self.random.choice(leaves)}]" if leaves else ""))
        if self.chance(0.1):
            called = f"{of}.backward({', '.join(each for each in (f'torch.ones_like({of})', given) if each)})"
        else:
            loss = f"({of} * {of}).sum()" if self.chance(0.4) else f"{of}.sum()"
            called = f"{loss}.backward({given})"
        for _ in range(2 if "retain" in given and self.chance(0.5) else 1):
            if not self.add(called, "backward"):
                return
        kept = self.tensors(lambda t: t.requires_grad and (t.is_leaf or t.retains_grad))
        for leaf in kept:
            if self.names[leaf].grad is not None and self.chance(0.6):
                self.add(f"{self.name()} = {leaf}.grad", "grad")
            if self.chance(0.03):
                self.add(f"{leaf}.grad = None", "grad")


def is_valid(tensor):
    """Whether torch knows its history: of a view that a write has made invalid, `grad_fn` raises."""
    try:
        tensor.grad_fn      # noqa: B018 - asking is the test
    except RuntimeError:
        return False
    return True


def is_inexact(tensor):
    return tensor.dtype.is_floating_point or tensor.dtype.is_complex


def memory_of(tensor):
    """The address of its storage; of torch's zeros without memory, as sgn's gradient, something of its own."""
    return id(tensor) if tensor._is_zerotensor() else tensor.untyped_storage().data_ptr()


def share_memory(*tensors):
    return len(set(map(memory_of, tensors))) == 1


def overlaps_itself(tensor):
    """Whether elements lie on each other, as those of unfolded tensors; expanded ones do not count."""
    return 0 not in tensor.stride() and tensor.numel() > 1 + sum(
        (n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))


def broadcasts(one, other):
    return all(a == b or 1 in (a, b) for a, b in zip(reversed(one), reversed(other), strict=False))


def written(values):
    """A list as Python reads it, numbers with three decimals."""
    values = [complex(round(v.real, 3), round(v.imag, 3)) if isinstance(v, complex) else
              round(v, 3) if isinstance(v, float) else v for v in values]
    return "[" + ", ".join(f"float('{v}')" if isinstance(v, float) and not math.isfinite(v) else repr(v)
                           for v in values) + "]"


# --- running them --------------------------------------------------------------------------------------------------

@cache
def compiled(text):
    return compile(text, text, "exec")


def execute(statement, names):
    """Runs a statement. Gives what it raised, or None."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(compiled(statement.text), names)
        except Exception as error:      # noqa: BLE001 - whatever is raised is compared
            return error
    return None


def fault(device):
    """The fault of the NPU that a statement has caused, or None."""
    if device == "npu":
        try:
            mindtorch.npu.synchronize()
        except RuntimeError as error:
            return error
    return None


def array_of(tensor):
    tensor = tensor.detach().cpu().resolve_conj().resolve_neg().clone()     # numpy() forbids to resize the storage
    return (tensor.double() if tensor.dtype.is_floating_point else tensor).numpy()


def variables(names):
    return {name: value for name, value in names.items() if isinstance(value, (torch.Tensor, mindtorch.Tensor))}


PATTERNS = 4        # in which literals are changed


def disturb(tensor, pattern):
    """Multiplies elements by 1 + eps or 1 - eps, or leaves them."""
    if is_inexact(tensor):
        base = tensor._base if tensor._base is not None else tensor
        places = torch.arange(base.numel()).reshape(base.shape)
        signs = (places % 3 - 1, 1 - places % 3, 1 - places % 2 * 2, places * 0 + 1)[pattern]
        with torch.no_grad():
            base.mul_(1 + torch.finfo(base.dtype).eps * signs.to(base.real.dtype))


class Inexact(TorchDispatchMode):
    """Disturbs what operators compute, as a library does whose results are exact to a unit in the last place."""

    def __init__(self, pattern):
        super().__init__()
        self.pattern = pattern

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if not any(returned.alias_info for returned in func._schema.returns):
            for each in tree_leaves(result):
                if isinstance(each, torch.Tensor) and not each._is_zerotensor():
                    disturb(each, self.pattern)
        return result


CASTS = ("to", "type", "float", "half")
NARROW = r"torch\.(float32|float16|bfloat16)"


def widened(statement):
    """The text of a statement that computes in float64."""
    text = re.sub(rf"(dtype={NARROW}\)\.to\(device\))", r"\1.double()", statement.text)
    text = re.sub(r"(dtype=torch\.complex64\)\.to\(device\))", r"\1.to(torch.complex128)", text)
    if statement.operator in CASTS:
        return re.sub(r"\.((to|type)\(" + NARROW + r"(, copy=True)?\)|float\(\)|half\(\))$", r"\g<0>.double()",
                      text.replace("torch.complex64", "torch.complex128"))
    return text if statement.creates else re.sub(f"dtype={NARROW}", "dtype=torch.float64",
                                                 text.replace("dtype=torch.complex64", "dtype=torch.complex128"))


def call_of(statement, before):
    """The call that made the tuple of which a statement takes an item; else the statement itself."""
    item = re.fullmatch(r"(?:with .*: )?\w+ = (\w+)\[\d+\]", statement.text)
    made = [earlier for earlier in before if item and re.search(rf"\b{item[1]} = ", earlier.text)
            and earlier.operator == statement.operator]
    return made[-1] if made else statement


# Nodes that have saved an extremum, and look for the elements that are equal to it.
EXTREMA = "Amax|Amin|Max|Min|LinalgVectorNorm"


class Comparison:
    """Runs a program with torch and with mindtorch on a device."""

    def __init__(self, program, device, allowed=lambda *_: None):
        self.program, self.device, self.allowed = program, device, allowed
        self.theirs = {"torch": torch, "device": "cpu"}
        self.ours = {"torch": mindtorch, "device": device}
        self.steps, self.reasons = 0, []

    def run(self):
        """The first Difference without a reason, or None."""
        for number, statement in enumerate(self.program):
            reason = self.reason(number, "fault", statement.refused)
            ours = None if reason else execute(statement, self.ours) or fault(self.device)
            if "(ACL_ERROR_RT_AICORE_EXCEPTION" in str(ours):       # nothing more runs in this process
                words = f"here: {ours!r:.300}"
                reason = statement.refused or self.reason(number, "fault", words)
                return None if reason else Difference(self.program[:number + 1], self.device, "fault", words)
            if ours is not None:
                reason = self.reason(number, "refused", f"{type(ours).__name__}: {ours}")
            if isinstance(ours, NameError) or reason:
                self.forget(statement)
                self.reasons += [reason] * (reason is not None)
                continue
            theirs = execute(statement, self.theirs)
            if isinstance(theirs, NameError):
                continue
            self.steps += statement.operator not in ("literal", "requires_grad_")
            allowed = False
            # All reasons are looked for before a variable is forgotten: a reason may ask what the others' operands are.
            found = [(*each, self.reason(number, *each)) for each in self.differences(ours, theirs, number)]
            for kind, words, reason in found:
                if reason is None:
                    return Difference(self.program[:number + 1], self.device, kind, words)
                self.reasons.append(reason)
                self.forget(statement)
                self.forget_named(statement.text if kind == "error" else words, kind == "error")
                allowed = True
                if kind == "error" and re.search(r"[^_]_$|=$|setitem|\.out", statement.operator):
                    return None         # one library has written, or recorded, what the other has not
            if not self.synchronise(refused=allowed or ours is not None):
                return None
        return None

    def reason(self, number, kind, words):
        return self.allowed(self.device, self.program[number], kind, words, self.program[:number], self.theirs)

    def forget(self, statement):
        """The variable of a statement that was left out is not there for those that follow."""
        for node in ast.walk(ast.parse(statement.text)):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                for names in (self.ours, self.theirs):
                    names.pop(node.id, None)

    def forget_named(self, words, views=False):
        """Nor is one that differs for a reason: what follows goes on without it, and all others with torch's values.

        What one library has written to and the other has not may have another history, and so may all its views.
        """
        named = set(re.findall(r"\bv\d+", words.partition(":")[0] if ": torch" in words else words))
        known = variables(self.theirs)
        if views:
            named |= {name for name, tensor in known.items()
                      if any(share_memory(tensor, known[other]) for other in named & known.keys())}
        for name in named:
            for names in (self.ours, self.theirs):
                names.pop(name, None)

    def differences(self, ours, theirs, number):
        if error_type(ours) != error_type(theirs):
            named = map(self.theirs.get, re.findall(r"\w+", self.program[number].text))
            empty = any(isinstance(value, torch.Tensor) and value.numel() == 0 for value in named)
            yield "error", f"torch: {theirs!r:.200}, here: {ours!r:.300}" + " (no elements)" * empty
        if ours is not None or theirs is not None:
            return                      # what a refused call leaves behind is not compared
        mine = variables(self.ours)
        for name, expected in variables(self.theirs).items():
            if name not in mine:
                yield "result", f"{name} is {self.ours.get(name)!r:.60}"
                continue
            given = mine[name]
            for kind in ("dtype", "shape", "stride", "storage_offset", "requires_grad", "is_leaf", "is_inference"):
                wanted, found = (attribute(t, kind) for t in (expected, given))
                if kind in ("stride", "storage_offset") and not expected.numel():
                    continue            # the place of no elements, which follows from their strides, says nothing
                if kind == "stride":
                    wanted, found = places(expected), places(given)
                if str(wanted) != str(found):
                    yield kind, f"{name} of {expected.dtype}: torch {wanted}, here {found}"
                    return
            for what, one, other in ((name, expected, given), (f"{name}.grad", grad_of(expected), grad_of(given))):
                if (one is None) != (other is None):
                    yield "grad", f"{what}: torch {one}, here {other}"
                elif one is not None and (words := self.unequal(one, other, what, number)):
                    yield "values", words
        for name, value in self.theirs.items():
            if isinstance(value, (bool, int, float, complex)) and name in self.ours:
                found = self.ours[name]
                near = found == value or numpy.isclose(found, value, equal_nan=True)
                if type(found) is not type(value) or not near:
                    yield "result", f"{name}: torch {value!r}, here {found!r:.60}"

    def unequal(self, expected, given, what, number):
        """In words where elements differ, or ""."""
        if not is_inexact(expected) and any(is_inexact(other) and share_memory(expected, other)
                                            for other in variables(self.theirs).values()):
            return ""           # the bits of fractions, which are compared as such
        one, other = array_of(expected), array_of(given)
        if one.shape != other.shape:
            return f"{what}: torch {one.shape}, here {other.shape}"
        if numpy.array_equal(one, other, equal_nan=one.dtype.kind in "fc"):
            return ""
        if not is_inexact(expected):
            bad = one != other
        else:
            with numpy.errstate(all="ignore"):
                bad = self.too_far(one, other, expected.dtype, what, number)
        if not bad.any():
            return ""
        place = tuple(int(i) for i in numpy.argwhere(bad)[0])
        return (f"{what}{list(place)}: torch {one[place]!r}, here {other[place]!r}; "
                f"{int(bad.sum())} of {bad.size} differ, {expected.dtype}")

    def too_far(self, one, other, dtype, what, number):
        """Where `other` is further from torch's elements than rounding explains.

        A few units in the last place need no explanation. Beyond that, torch's own distance from the result in float64
        says what rounding does; and what torch's result changes by when the literals do, or the results of the
        operators that the statement consists of: float64 needs these as well, and jumps as those of floor.
        """
        eps = max(torch.finfo(dtype).eps, *self.precisions(number))
        is_gradient = self.program[number].operator in ("backward", "grad")
        bound = eps * (4 * numpy.abs(one) + 2 * sizes(one) + 1 / (1 if is_gradient and eps < 1e-5 else 64))
        # 1 / 64: of operands near 1, for sums that are 0 but for what rounding leaves; gradients are many such sums

        def far(centre, bound):
            same = (other == centre) | (numpy.isnan(other) & numpy.isnan(centre))
            return ~(same | (numpy.abs(other - centre) <= bound))

        bad = far(one, bound)
        exact = self.exact(what, number) if bad.any() and eps > torch.finfo(torch.float64).eps else None
        if exact is not None and exact.shape == one.shape:
            beyond = numpy.isfinite(exact) & ~numpy.isfinite(one) & ~numpy.isfinite(other)     # of the dtype
            bad &= far(exact, bound + 4 * like_the_worst(numpy.abs(one - exact), exact)) & ~beyond
        for change, pattern in itertools.product((self.disturbed, self.inexact), range(PATTERNS)):
            disturbed = change(what, number, pattern) if bad.any() else None
            if disturbed is not None and disturbed.shape == one.shape:
                spread = numpy.abs(disturbed - one)
                leaps = (one != disturbed) & ~numpy.isfinite(spread) & ~(numpy.isnan(one) & numpy.isnan(disturbed))
                bad &= ~leaps & far(one, bound + 16 * like_the_worst(spread, one))
        return bad

    def precisions(self, number):
        """The eps of the dtypes that a statement computes in; integers are computed in float32."""
        for name in re.findall(r"\w+", self.program[number].text):
            value = self.theirs.get(name)
            if isinstance(value, torch.Tensor):
                yield torch.finfo(value.dtype if is_inexact(value) else torch.float32).eps
        yield 0.0

    def again(self, what, number, text=lambda statement: statement.text, created=lambda tensor: None,
              mode=nullcontext):
        """What torch gives if the program up to that statement runs once more, changed; None where it cannot.

        The last statement, and the call whose result it takes an item of, run within `mode`. So do transforms where the
        last one runs backward, since what they have saved is compared nowhere.
        """
        last = {id(self.program[number]), id(call_of(self.program[number], self.program[:number]))}
        if self.program[number].operator in ("backward", "grad"):
            last |= {id(each) for each in self.program[:number]
                     if re.match(r"(autograd\.)?func(tional)?\.", each.operator)}
        names = {"torch": torch, "device": "cpu"}
        for statement in self.program[:number + 1]:
            if statement.creates and statement.creates not in self.ours:
                continue
            with mode() if id(statement) in last else nullcontext():
                execute(Statement(text(statement), statement.operator), names)
            made = re.search(r"(\w+) = ", statement.text)[1] if statement.operator in CASTS else statement.creates
            if made in names and not any(names[made] is other for name, other in names.items() if name != made):
                created(names[made])
        name, _, grad = what.partition(".")
        value = grad_of(names[name]) if grad and name in names else names.get(name)
        return array_of(value) if isinstance(value, torch.Tensor) else None

    def exact(self, what, number):
        """The result in float64, of literals as they are and of casts that round as they do."""
        default = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        try:
            return self.again(what, number, widened)
        finally:
            torch.set_default_dtype(default)

    def disturbed(self, what, number, pattern):
        """What torch gives if literals, and what casts have rounded, are changed by one unit in their last place."""
        return self.again(what, number, created=lambda tensor: disturb(tensor, pattern))

    def inexact(self, what, number, pattern):
        """What torch gives if every operator within the statement rounds its result by one unit in the last place."""
        return self.again(what, number, mode=lambda: Inexact(pattern))

    def synchronise(self, refused):
        """Gives mindtorch's tensors the exact values of torch's, so that errors do not add up.

        False where a refused call has left tensors of different shapes or strides.
        """
        mine = variables(self.ours)
        for name, expected in variables(self.theirs).items():
            for one, other in ((expected, mine[name]), (grad_of(expected), grad_of(mine[name]))):
                if refused and (one is None) != (other is None):
                    return False
                if one is None or other is None:
                    continue
                if tuple(one.shape) != tuple(other.shape) or (refused and places(one) != places(other)):
                    return False
                if not (refused or is_inexact(one)):
                    continue
                written = unexpanded(other.detach())
                wanted = one.detach()[tuple(slice(size) for size in written.shape)]
                array, found = array_of(wanted), array_of(written)
                if not numpy.array_equal(array, found, equal_nan=True):
                    alone = not any(share_memory(one, each) for each in variables(self.theirs).values()
                                    if each is not one)
                    if alone and is_valid(other) and re.match(EXTREMA, type(other.grad_fn).__name__):
                        other.data = other.detach().clone()
                        written = unexpanded(other.detach())
                    with mindtorch.inference_mode(written.is_inference()):
                        written.data.copy_(mindtorch.tensor(array).to(written.dtype))
        return True


def sizes(values):
    """The sizes of elements, at least the median: what is smaller may be what is left of others, and as inexact."""
    found = numpy.abs(values)
    known = found[numpy.isfinite(found) & (found > 0)]
    return numpy.fmax(found, numpy.median(known)) if known.size else numpy.ones_like(found)


def like_the_worst(errors, values):
    """For each element the error that it has if it is as inexact as the worst is, for its size."""
    sized = sizes(values)
    relative = errors / sized
    return relative.max(initial=0, where=numpy.isfinite(relative)) * sized


def unexpanded(tensor):
    """The elements of a tensor that lie each in a place of its own."""
    for dim, (stride, size) in enumerate(zip(tensor.stride(), tensor.shape, strict=True)):
        tensor = tensor.narrow(dim, 0, 1) if stride == 0 and size > 1 else tensor
    return tensor


def error_type(error):
    """NotImplementedError, which is a RuntimeError, and that one say the same: what is refused stands in the words."""
    return "RuntimeError" if isinstance(error, NotImplementedError) else type(error).__name__.lstrip("_")


def attribute(tensor, name):
    """Of a view that a write has made invalid, some attributes are errors."""
    try:
        found = getattr(tensor, name)
    except RuntimeError as error:
        return error_type(error)
    return found() if callable(found) else found


def places(tensor):
    """The strides along which elements lie."""
    return [stride for stride, size in zip(tensor.stride(), tensor.shape, strict=True) if size != 1 and tensor.numel()]


def grad_of(tensor):
    return tensor.grad if is_valid(tensor) and tensor.is_leaf else None


# --- shrinking -----------------------------------------------------------------------------------------------------

def shrink(difference, allowed):
    """The same difference from as few statements as possible."""
    def still(program):
        found = Comparison(program, difference.device, allowed).run()
        return found if found is not None and found.signature == difference.signature else None

    at = len(difference.program) - 2
    while at >= 0:
        shorter = still(difference.program[:at] + difference.program[at + 1:])
        if shorter is not None:
            difference = shorter
            at = min(at, len(difference.program) - 1)
        at -= 1
    return difference


def source(difference):
    """A script that shows the difference."""
    lines = "\n".join(f"    {statement.text}" for statement in difference.program)
    last = difference.program[-1].text.partition(" = ")[0]
    shown = last if last.isidentifier() else difference.words.partition("[")[0].partition(":")[0].partition(" ")[0]
    shown = shown if shown.partition(".")[0].isidentifier() and difference.kind != "error" else "None"
    return (f"# {difference.kind} on {difference.device}. {difference.words}\n"
            f"import torch\n\nimport mindtorch\n\n\ndef program(torch, device):\n{lines}\n    return {shown}\n\n\n"
            f"for lib, device in ((torch, 'cpu'), (mindtorch, '{difference.device}')):\n"
            "    try:\n        print(program(lib, device))\n"
            "    except Exception as error:\n        print(repr(error))\n")
