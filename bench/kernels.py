"""`python -m bench.kernels`: the simulator's kernels beside NumPy's on one thread, as ratios of time (1: as fast).

Convolution and attention stand beside torch's on the CPU. OPENBLAS_NUM_THREADS=2 gives all of them two threads.

Unlike the other rungs, which time the host's part of an op, this one times the arithmetic. NumPy computes float16 by
table and knows bfloat16 by ml_dtypes only. Words on the command line pick the lines that contain one of them.
"""
import os
import sys

for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

import time  # noqa: E402

import numpy as np  # noqa: E402

import mindtorch as torch  # noqa: E402

SIZES = (100 * 100, 1024 * 1024)
ROUNDS = 7
FLOATS = ("float32", "float16", "bfloat16")
REALS = (*FLOATS, "int64")


def logistic(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    powers = np.exp(x - x.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


# Name: (dtypes, layouts, mindtorch's expression, NumPy's); x and y are squares, b is a row that broadcasts.
CASES = {
    "x + y": ((*REALS, "bool"), "ctm", lambda t, x, y, b: t.add(x, y), lambda x, y, b: np.add(x, y)),
    "x * b": (REALS, "c", lambda t, x, y, b: t.mul(x, b), lambda x, y, b: np.multiply(x, b)),
    "x / y": (FLOATS, "c", lambda t, x, y, b: t.div(x, y), lambda x, y, b: np.divide(x, y)),
    "copy_": (REALS, "c", lambda t, x, y, b: x.copy_(y), lambda x, y, b: np.copyto(x, y)),
    "x > y": ((*REALS, "bool"), "ctm", lambda t, x, y, b: t.gt(x, y), lambda x, y, b: np.greater(x, y)),
    "relu": (("float32",), "c", lambda t, x, y, b: t.relu(x), lambda x, y, b: np.maximum(x, 0)),
    "sqrt": (("float32",), "c", lambda t, x, y, b: t.sqrt(x), lambda x, y, b: np.sqrt(x)),
    "exp": (FLOATS, "ct", lambda t, x, y, b: t.exp(x), lambda x, y, b: np.exp(x)),
    "log": (FLOATS, "c", lambda t, x, y, b: t.log(x), lambda x, y, b: np.log(x)),
    "tanh": (FLOATS, "c", lambda t, x, y, b: t.tanh(x), lambda x, y, b: np.tanh(x)),
    "sigmoid": (("float32",), "c", lambda t, x, y, b: t.sigmoid(x), lambda x, y, b: logistic(x)),
    "copy": ((*REALS, "bool"), "t", lambda t, x, y, b: x.contiguous(), lambda x, y, b: np.ascontiguousarray(x)),
    "sum()": (REALS, "ct", lambda t, x, y, b: t.sum(x), lambda x, y, b: np.sum(x)),
    "sum(0)": (REALS, "ct", lambda t, x, y, b: t.sum(x, 0), lambda x, y, b: np.sum(x, 0)),
    "sum(1)": (REALS, "ct", lambda t, x, y, b: t.sum(x, 1), lambda x, y, b: np.sum(x, 1)),
    "amax(0)": (REALS, "c", lambda t, x, y, b: t.amax(x, 0), lambda x, y, b: np.amax(x, 0)),
    "amax(1)": (REALS, "c", lambda t, x, y, b: t.amax(x, 1), lambda x, y, b: np.amax(x, 1)),
    "argmax(1)": (REALS, "c", lambda t, x, y, b: t.argmax(x, 1), lambda x, y, b: np.argmax(x, 1)),
    "any(1)": (("bool",), "c", lambda t, x, y, b: t.any(x, 1), lambda x, y, b: np.any(x, 1)),
    "softmax(1)": (("float32",), "c", lambda t, x, y, b: t.softmax(x, 1), lambda x, y, b: softmax(x)),
    "x @ y": (("float32",), "ctm", lambda t, x, y, b: t.matmul(x, y), lambda x, y, b: np.matmul(x, y)),
}
LAYOUTS = {"c": "contiguous", "t": "transposed", "m": "mixed"}


def operands(dtype, layout, size):
    """(x, y, b) for mindtorch and for NumPy, with the same values."""
    side = round(size ** 0.5)
    generator = np.random.default_rng(0)
    arrays = []
    for shape, transposed in (((side, side), layout in "tm"), ((side, side), layout == "t"), ((side,), False)):
        values = generator.uniform(0.5, 3.0, shape).astype("float32")
        tensor = torch.tensor(values > 1 if dtype == "bool" else values, device="npu").to(getattr(torch, dtype))
        array = as_array(values > 1 if dtype == "bool" else values, dtype)
        arrays.append((tensor.t(), array.T) if transposed else (tensor, array))
    return tuple(zip(*arrays, strict=True))


# --- convolution and attention, beside torch -------------------------------------------------------------------------

def arrays(*shapes):
    generator = np.random.default_rng(0)
    return [generator.standard_normal(shape).astype("float32") for shape in shapes]


def leaves(lib, device, *shapes):
    return [lib.tensor(array, device=device).requires_grad_(True) for array in arrays(*shapes)]


def backward(lib, result, inputs):
    """A call that differentiates `result` once more each time."""
    grad = lib.ones_like(result.detach())
    return lambda: lib.autograd.grad(result, inputs, grad, retain_graph=True)


def convolve(lib, device):
    x, weight = (t.detach() for t in leaves(lib, device, (8, 64, 56, 56), (64, 64, 3, 3)))
    return lambda: lib.nn.functional.conv2d(x, weight, padding=1)


def convolve_backward(lib, device):
    inputs = leaves(lib, device, (8, 64, 56, 56), (64, 64, 3, 3))
    return backward(lib, lib.nn.functional.conv2d(*inputs, padding=1), inputs)


def attend(lib, device, causal=False):
    given = [t.detach() for t in leaves(lib, device, *[(4, 8, 256, 64)] * 3)]
    return lambda: lib.nn.functional.scaled_dot_product_attention(*given, is_causal=causal)


def attend_causally(lib, device):
    return attend(lib, device, True)


def attend_backward(lib, device):
    inputs = leaves(lib, device, *[(4, 8, 256, 64)] * 3)
    return backward(lib, lib.nn.functional.scaled_dot_product_attention(*inputs, is_causal=True), inputs)


NETWORKS = {"conv2d": convolve, "conv2d backward": convolve_backward, "attention": attend,
            "causal attention": attend_causally, "causal attention backward": attend_backward}


def compare_networks(words):
    """A line for each, in float32: 8x64x56x56 by 64x64x3x3, and 4x8x256x64."""
    lines = {name: make for name, make in NETWORKS.items() if not words or any(word in name for word in words)}
    if not lines:
        return
    import torch as oracle
    oracle.set_num_threads(int(os.environ["OPENBLAS_NUM_THREADS"]))
    print(f"{'beside torch ' + oracle.__version__:34}{'':10}mindtorch      torch   ratio")
    for name, make in lines.items():
        ours = seconds(make(torch, "npu"), torch.npu.synchronize)
        theirs = seconds(make(oracle, "cpu"), lambda: None)
        print(f"{name:44}{1e3 * ours:6.1f} ms{1e3 * theirs:8.1f} ms{ours / theirs:8.2f}", flush=True)


def as_array(values, dtype):
    if dtype == "bfloat16":
        import ml_dtypes
        return values.astype(ml_dtypes.bfloat16)
    return values.astype(dtype)


def seconds(run, finish):
    """The best of several rounds, each long enough to hide what a launch costs."""
    start = time.perf_counter()
    run()
    finish()
    repeats = max(1, min(500, int(0.01 / (time.perf_counter() - start))))
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(repeats):
            run()
        finish()
        times.append((time.perf_counter() - start) / repeats)
    return min(times)


def compare(name, dtype, layout, size):
    """(mindtorch's seconds, NumPy's)."""
    _, _, ours, theirs = CASES[name]
    tensors, arrays = operands(dtype, layout, size)
    torch.npu.synchronize()
    return (seconds(lambda: ours(torch, *tensors), torch.npu.synchronize),
            seconds(lambda: theirs(*arrays), lambda: None))


def main(words):
    print(torch.npu.get_device_name())
    heads = [f"{size:.0e} elements" for size in SIZES]
    print(f"{'':34}" + "".join(f"{head:>32}" for head in heads))
    for name, (dtypes, layouts, _, _) in CASES.items():
        for line in [f"{name:12}{dtype:10}{LAYOUTS[layout]:12}" for layout in layouts for dtype in dtypes]:
            if words and not any(word in line for word in words):
                continue
            dtype, layout = line.split()[-2:]
            cells = []
            for size in SIZES:
                ours, theirs = compare(name, dtype, layout[0], size)
                cells.append(f"{1e6 * ours:9.1f} us{1e6 * theirs:9.1f} us{ours / theirs:8.2f}")
            print(line + "".join(f"{cell:>32}" for cell in cells), flush=True)
    compare_networks(words)


if __name__ == "__main__":
    main(sys.argv[1:])
