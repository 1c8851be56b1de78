"""Operators at the edge of what they are for: fractions in bool, bytes, no elements, singular matrices, complex zeros.

torch's results, or its refusals, are the expectation.
"""
import warnings
from math import inf, nan

import numpy
import pytest
import torch

import mindtorch


def flags(lib, device):
    return lib.zeros(3, dtype=lib.bool, device=device)


def picture(lib, device, channels=1):
    values = lib.arange(12 * channels, dtype=lib.int32) * 41 % 251
    return values.to(lib.uint8).to(device).reshape(1, channels, 3, 4)


def whole(lib, device, dtype, *values):
    return lib.tensor(values, dtype=getattr(lib, dtype), device=device)


FRACTIONS = {
    "full": lambda lib, d: lib.full((2,), 0.5, dtype=lib.bool, device=d),
    "full of NaN": lambda lib, d: lib.full((2,), float("nan"), dtype=lib.bool, device=d),
    "full of 256": lambda lib, d: lib.full((2,), 256, dtype=lib.bool, device=d),
    "full of 0": lambda lib, d: lib.full((2,), 0.0, dtype=lib.bool, device=d),
    "fill_": lambda lib, d: flags(lib, d).fill_(0.5),
    "full_like": lambda lib, d: lib.full_like(flags(lib, d), 0.5),
    "masked_fill_": lambda lib, d: flags(lib, d).masked_fill_(lib.tensor([True, False, True], device=d), 0.5),
    "index_fill_": lambda lib, d: flags(lib, d).index_fill_(0, lib.tensor([1], device=d), 0.5),
    "scatter_": lambda lib, d: flags(lib, d).scatter_(0, lib.tensor([1], device=d), 0.5),
    "pad": lambda lib, d: lib.nn.functional.pad(flags(lib, d), (1, 1), value=0.5),
    "prod": lambda lib, d: lib.tensor([0.5, 0.25], device=d).prod(dtype=lib.bool),
    "prod beyond int8": lambda lib, d: lib.tensor([100, 100, 3], dtype=lib.int32, device=d).prod(0, dtype=lib.int8),
    "prod of all beyond int8": lambda lib, d: lib.tensor([100, 3], dtype=lib.int32, device=d).prod(dtype=lib.int8),
    "prod with a zero": lambda lib, d: lib.tensor([0.5, 0.0], device=d).prod(0, dtype=lib.bool),
}
NEAREST = {
    f"{mode} {size}": lambda lib, d, mode=mode, size=size: lib.nn.functional.interpolate(
        picture(lib, d), size=size, mode=mode)
    for mode in ("nearest", "nearest-exact") for size in ((5, 7), (2, 3))}
NEAREST["nearest-exact line"] = lambda lib, d: lib.nn.functional.interpolate(
    picture(lib, d)[0], size=7, mode="nearest-exact")
# On the NPU ACLNN documents uint8 for the nearest element only.
SMOOTH = {
    f"{mode} {size} {options}": lambda lib, d, mode=mode, size=size, options=options: lib.nn.functional.interpolate(
        picture(lib, d, 3), size=size, mode=mode, **options)
    for mode in ("bilinear", "bicubic") for size in ((5, 7), (2, 3), (3, 9))
    for options in ({}, {"antialias": True}, {"align_corners": True})}
INTEGRALS = {
    "int8": lambda lib, d: lib.trapezoid(whole(lib, d, "int8", 100, 100, 20)),
    "uint8": lambda lib, d: lib.trapezoid(whole(lib, d, "uint8", 200, 200, 7, 200), dx=2),
    "fractions": lambda lib, d: lib.trapezoid(whole(lib, d, "int8", 100, 100, 20), dx=0.5),
    "points": lambda lib, d: lib.trapezoid(whole(lib, d, "int8", 50, 10, 20), whole(lib, d, "int8", 0, 1, 4)),
    "one sample": lambda lib, d: lib.trapezoid(whole(lib, d, "int8", 9)),
    "columns": lambda lib, d: lib.trapezoid(whole(lib, d, "float32", 1, 2, 3, 4).reshape(2, 2), dim=0),
    "bool": lambda lib, d: lib.trapezoid(flags(lib, d)),
    "points that broadcast": lambda lib, d: lib.trapezoid(
        lib.ones(2, 3, device=d), lib.arange(9.0).reshape(3, 3).to(d) ** 2, dim=-2),
    "points of fewer dimensions": lambda lib, d: lib.trapezoid(
        lib.ones(2, 2, 3, device=d), lib.arange(6.0).reshape(2, 3).to(d) ** 2),
}
MATRICES = {"dependent": [[1.0, 2.0], [2.0, 4.0]], "zero": [[0.0, 0.0], [0.0, 0.0]], "a zero row": [[1.0, 0], [0, 0]],
            "regular": [[3.0, 4.0], [1.0, 2.0]], "batch": [[[1.0, 0], [0, 0]], [[3.0, 4.0], [1.0, 2.0]]]}
CONDITIONS = {f"{name} {p}": lambda lib, d, matrix=matrix, p=p: lib.linalg.cond(lib.tensor(matrix, device=d), p)
              for name, matrix in MATRICES.items() for p in (1, -1, float("inf"), "fro", "nuc")
              if (name, p) != ("dependent", "nuc")}       # the smallest singular value is what rounding leaves
CONDITIONS["empty"] = lambda lib, d: lib.linalg.cond(lib.zeros(2, 0, 0, device=d), 1)
NORMS = {f"{order} {shape} {dim}": lambda lib, d, order=order, shape=shape, dim=dim: lib.linalg.vector_norm(
             lib.zeros(shape, device=d), order, dim=dim)
         for order in (-1, -0.5, float("inf"), -float("inf"), 0, 2)
         for shape, dim in (((0,), None), ((2, 0), 1), ((2, 0), -1), ((0, 2), 1), ((2, 0), []))}
CONVOLUTIONS = {
    f"{name} of no channels": lambda lib, d, name=name, dims=dims: getattr(lib.nn.functional, name)(
        lib.ones(2, 0, *(4,) * dims, device=d), lib.ones(3, 0, *(2,) * dims, device=d), lib.ones(3, device=d))
    for dims, name in enumerate(("conv1d", "conv2d", "conv3d"), 1)}
POOLS = {
    f"{dims} dimensions of {batch}": lambda lib, d, dims=dims, batch=batch: getattr(
        lib.nn.functional, f"fractional_max_pool{dims}d")(
            lib.ones(batch, 2, *(5,) * dims, device=d), 2, output_size=2, _random_samples=lib.full(
                (batch, 2, dims), 0.4, device=d))
    for dims in (2, 3) for batch in (0, 2)}
WINDOWS = {f"{name} {dtype}": lambda lib, d, name=name, dtype=dtype: getattr(lib, f"{name}_window")(
               9, dtype=getattr(lib, dtype), device=d)
           for name in ("kaiser", "hann", "hamming", "blackman", "bartlett") for dtype in ("float16", "bfloat16")}


PADS = {f"circular {pad}": lambda lib, d, pad=pad: lib.nn.functional.pad(
            lib.arange(12.0).reshape(1, 1, 3, 4).to(d), pad, "circular")
        for pad in ((-1, 2), (2, -1), (-1, 1, -2, 1), (1, 1, -1, -1))}
SUMS = {
    "sum_to_size of bools": lambda lib, d: flags(lib, d).sum_to_size(1),
    "sum_to_size of bytes": lambda lib, d: whole(lib, d, "uint8", 200, 200).sum_to_size(1),
    "sum_to_size of no dimensions": lambda lib, d: lib.tensor(True, device=d).sum_to_size(()),
    "sum_to_size of the same size": lambda lib, d: flags(lib, d).sum_to_size(3),
    "tensordot of short integers": lambda lib, d: lib.tensordot(
        whole(lib, d, "int16", 3).reshape(1, 1), whole(lib, d, "int16", 1, 2).reshape(2, 1), ([0], [0])),
    "masked.cumsum": lambda lib, d: lib.masked.cumsum(whole(lib, d, "int16", 1, 2), 0, mask=flags(lib, d)[:2]),
    "masked.cumprod": lambda lib, d: lib.masked.cumprod(whole(lib, d, "uint8", 2, 2), 0)}


def written(lib, d, shape, index, values):
    x = lib.zeros(shape, device=d)
    x[index(lib, d)] = values(lib, d)
    return x


def slope(function, lib, d, *values):
    x = lib.tensor(values, device=d, requires_grad=True)
    return lib.autograd.grad(function(x).sum(), x)[0]


ADAPTIVE_POOLS = [f"adaptive_{kind}_pool{n}d" for kind in ("max", "avg") for n in (1, 2, 3)]


def normed(lib, d, dtype, into, weight):
    """What instance_norm gives with statistics of that dtype, of a sample's own and of the running ones."""
    x = lib.arange(24.0, device=d).reshape(3, 2, 4).to(getattr(lib, into))
    mean, variance = (lib.tensor(each, device=d).to(getattr(lib, dtype)) for each in ([5.001, 4.0], [2.0, 1.0]))
    weight = None if weight is None else lib.ones(2, dtype=getattr(lib, weight), device=d)
    found = [lib.nn.functional.instance_norm(x, mean, variance, weight, use_input_stats=own, momentum=0.5)
             for own in (False, True)]
    return lib.cat([each.half().reshape(-1) for each in (*found, mean, variance)])


WRITES = {
    "True alone": lambda lib, d: written(lib, d, (2, 3), lambda lib, d: True, lambda lib, d: lib.ones(3, device=d)),
    "values that do not fit no places": lambda lib, d: written(
        lib, d, (2, 3), lambda lib, d: lib.zeros(2, 3, dtype=lib.bool, device=d), lambda lib, d: lib.ones(4, device=d)),
    "indices that do not fit": lambda lib, d: written(
        lib, d, (2, 0, 3), lambda lib, d: (slice(None), flags(lib, d)[:0], lib.ones(3, device=d).bool()),
        lambda lib, d: 0.5),
    "places before dtypes": lambda lib, d: written(
        lib, d, (3, 3), lambda lib, d: (lib.tensor([0, 1, 2], device=d), lib.tensor([0, 1], device=d)),
        flags)}
ENDLESS = [complex(x, y) for x in (float("inf"), -float("inf"), 1.0) for y in (float("inf"), float("nan"), 2.0)]
EQUALS = [[(i * i + 3 * i * j) % 7 % 4 for i in range(20)] for j in range(6)]
FOUND_BY_PROGRAMS = {
    **{f"{name} of as many {dtype} matrices as they have rows": lambda lib, d, name=name, dtype=dtype: lib.view_as_real(
        getattr(lib.linalg, name)(lib.tensor([[[2, 1], [1, 3]], [[4, 1], [2, 2]]], dtype=getattr(lib, dtype),
                                             device=d))[0].to(lib.complex64).contiguous())
       for name in ("inv", "inv_ex") for dtype in ("float32", "float64", "complex64", "complex128")},
    **{f"{name} of complex numbers without end": lambda lib, d, name=name: lib.view_as_real(getattr(lib, name)(
        lib.tensor(ENDLESS, device=d)[:, None], lib.tensor(ENDLESS, device=d)))
       for name in ("add", "sub", "mul", "rsub", "div")},
    **{f"{name} of numbers without end": lambda lib, d, name=name: lib.view_as_real(getattr(lib, name)(
        lib.tensor([*ENDLESS, 0, complex(0, float("inf"))], dtype=lib.complex128, device=d)))
       for name in ("reciprocal", "rsqrt")},
    **{f"the place among equals of {name} of {dtype}": lambda lib, d, name=name, dtype=dtype: lib.stack([
        getattr(line.to(getattr(lib, dtype)), name)(*((k,) if name == "kthvalue" else (0,)))[1]
        for line in lib.tensor(EQUALS, device=d) for k in (1, 4, 9, 20)])
       for name in ("kthvalue", "median", "nanmedian") for dtype in ("float32", "float64", "int64", "int8")},
    **{f"{name} of no {dtype}": lambda lib, d, name=name, dtype=dtype: getattr(
        lib.ones(0, 3, dtype=getattr(lib, dtype), device=d), name)()
       for name in ("median", "nanmedian") for dtype in ("int8", "int16", "int32", "int64", "uint8", "float32")},
    **{f"mean of complex numbers into {dtype}": lambda lib, d, dtype=dtype: lib.mean(
        lib.tensor([[1 + 2j, 4.0], [2j, 6.0]], device=d), 0, out=lib.zeros(2, dtype=getattr(lib, dtype), device=d))
       for dtype in ("float32", "float64")},
    **{f"NaN in reflection {column}": lambda lib, d, column=column: lib.linalg.householder_product(
        lib.ones(4, 3, device=d).index_put((lib.tensor([3], device=d), lib.tensor([column], device=d)),
                                           lib.tensor([float("nan")], device=d)), lib.tensor([0.5, 2.0, 1.5], device=d))
       for column in range(3)},
    **{f"masked.prod of one number, dtype={dtype}": lambda lib, d, dtype=dtype: lib.masked.prod(
        lib.tensor(3, dtype=lib.int16, device=d), dtype=dtype and getattr(lib, dtype))
       for dtype in (None, "int16", "float32")},
    **{f"least squares of zeros in a batch, {part}": lambda lib, d, part=part: getattr(lib.linalg.lstsq(
        lib.tensor([[[1.0, 2.0], [3.0, 5.0], [0.0, 1.0]]], device=d) * lib.arange(2, device=d).view(2, 1, 1),
        lib.ones(2, 3, 1, device=d), driver="gels"), part) for part in ("solution", "residuals")},
    "least squares of full rank, whatever rcond is": lambda lib, d: lib.linalg.lstsq(
        lib.tensor([[1.0, 0.0], [0.0, 0.125], [0.0, 0.0]], device=d), lib.ones(3, 1, device=d), rcond=0.5,
        driver="gels")[0],
    "pinv of halves without elements": lambda lib, d: lib.linalg.pinv(lib.ones(2, 0, 0, device=d).half()),
    "pinv of halves": lambda lib, d: lib.ones(2, 2, device=d).bfloat16().pinverse(),
    "pinv of integers": lambda lib, d: lib.linalg.pinv(lib.ones(2, 2, device=d).long()),
    "pinv of a line": lambda lib, d: lib.linalg.pinv(lib.ones(3, device=d)),
    **{f"{name} of numbers without end": lambda lib, d, name=name: lib.view_as_real(getattr(lib, name)(lib.tensor(
        [complex(x, y) for x in (float("inf"), -float("inf"), 0.0, 2.0, 3e37) for y in (0.0, -1.0, float("inf"))],
        device=d))) for name in ("atan", "atanh")},
    "digamma beside its root": lambda lib, d: lib.digamma(
        lib.tensor([1.6094379425048828, 1.5, 1.25, 2.0, 7.25, 9.75], dtype=lib.float64, device=d)),
    "lgamma beside its roots": lambda lib, d: lib.lgamma(
        lib.tensor([0.9933071490757153, 2.0001], dtype=lib.float64, device=d)),
    "the largest of differences that are NaN": lambda lib, d: distances_with_nan(lib, d, lib.cdist),
    "the largest of a matrix's differences that are NaN": lambda lib, d: distances_with_nan(
        lib, d, lambda x, y, p: lib.pdist(x, p)),
    "strides of what needs no cast": lambda lib, d: lib.tensor([size for x in (
        lib.ones(2, 6, device=d)[:, ::2], lib.ones(2, 3, 2, 2, device=d).contiguous(memory_format=lib.channels_last))
        for size in (*x.float(memory_format=lib.contiguous_format).stride(),
                     *x.to(lib.float32, memory_format=lib.contiguous_format).stride(),
                     *x.double(memory_format=lib.contiguous_format).stride())]),
    "strides in channels_last without elements": lambda lib, d: lib.tensor([[
        *x.stride(), x.is_contiguous(memory_format=lib.channels_last),
        x.contiguous(memory_format=lib.channels_last) is x]
        for shape in ((3, 2, 3, 0), (3, 0, 2, 2), (0, 2, 3, 2), (2, 2, 0, 3), (2, 1, 3, 0))
        for x in (lib.ones(shape, device=d).contiguous(memory_format=lib.channels_last),
                  lib.empty(shape, device=d, memory_format=lib.channels_last),
                  lib.ones(shape, device=d).clone(memory_format=lib.channels_last))]),
    "the place of no number": lambda lib, d: lib.tensor(4.0, device=d).topk(0)[1],
    **{f"masked {name} of {dtype}": lambda lib, d, name=name, dtype=dtype: getattr(lib.masked, name)(
        whole(lib, d, dtype, 1, 0, 1), 0, dtype=lib.float32, mask=whole(lib, d, "bool", 1, 1, 0))
        for name in ("softmax", "log_softmax", "softmin") for dtype in ("int8", "bool", "complex64", "float16")},
    "strides of a hash": lambda lib, d: lib.tensor(lib.hash_tensor(lib.ones(3, 2, 1, 2, device=d).contiguous(
        memory_format=lib.channels_last), dim=2, keepdim=True).stride()),
    "strides in channels_last of one channel, and of one pixel": lambda lib, d: lib.tensor([[
        size for x in (made, made.contiguous(memory_format=lib.channels_last),
                       made.clone(memory_format=lib.channels_last))
        for y in (x.to(memory_format=lib.channels_last), x.float(memory_format=lib.channels_last),
                  x.double(memory_format=lib.channels_last), x.to(memory_format=lib.contiguous_format),
                  x.double(memory_format=lib.contiguous_format))
        for size in (*y.stride(), y is x)] for shape in ((2, 1, 4, 4), (2, 2, 1, 1), (1, 1, 1, 1))
        for made in [lib.ones(shape, device=d)]]),
    "a loss of complex targets": lambda lib, d: lib.nn.functional.binary_cross_entropy_with_logits(
        lib.tensor([0.5, -3.0], device=d), lib.tensor([0.3 + 1j, 2 - 1j], device=d), reduction="none"),
    "an index of eight dimensions": lambda lib, d: lib.ones(
        2, 1, 1, 1, 1, 1, 1, 3, device=d)[lib.tensor([True, False], device=d), None, 0],
    "singular values of infinity": lambda lib, d: lib.linalg.svdvals(
        lib.tensor([[1.0, float("inf"), 2.0], [2.0, 3.0, 1.0], [1.0, 0.0, 5.0]], device=d)),
    "a fraction among integers": lambda lib, d: lib.searchsorted(whole(lib, d, "int32", 1, 2), 1.5),
    "the bucket of a fraction": lambda lib, d: lib.bucketize(-0.5, whole(lib, d, "int64", -1, 0)),
    "zeros of a transform": lambda lib, d: 1 / lib.fft.ihfft2(lib.tensor([[-2.09, 0.5]], device=d)).imag,
    "a transform with no imaginary part": lambda lib, d: lib.fft.fft(lib.tensor([-2.09, 2.0], device=d)).imag.abs(),
    "a quarter of a turn": lambda lib, d: lib.fft.fft(lib.tensor([1.0, 3.0, 1.0, 3.0], device=d)).imag.abs(),
    "a power that is a tensor": lambda lib, d: lib.linalg.matrix_power(
        lib.ones(2, 2, device=d), whole(lib, d, "int64", 3)[0]),
    "an infinite power": lambda lib, d: lib.linalg.matrix_power(lib.ones(2, 2, device=d), float("inf")),
    "a power that is a bool": lambda lib, d: lib.linalg.matrix_power(lib.ones(2, 2, device=d), True),
    "a line that is filled in": lambda lib, d: lib.ones(3, device=d).masked_fill_(
        whole(lib, d, "int64", 1, 0, 1), lib.ones(1, device=d)),
    "a complex number that is filled in": lambda lib, d: lib.ones(3, device=d).masked_fill_(
        whole(lib, d, "int64", 1, 0, 1), lib.tensor(1j, device=d)),
    "lu of matrices without elements": lambda lib, d: lib.linalg.lu_factor(lib.ones(2, 0, device=d)).LU,
    "lu of a batch of them": lambda lib, d: lib.linalg.lu(lib.ones(3, 0, 2, device=d)).P,
    "mode of NaN": lambda lib, d: lib.mode(lib.full((2,), float("nan"), device=d)).values,
    "lcm beyond int8": lambda lib, d: lib.lcm(whole(lib, d, "int8", 127, -5), whole(lib, d, "int8", 2, 3)),
    "polynomials of infinite degree": lambda lib, d: lib.special.hermite_polynomial_h(
        lib.ones(2, device=d), lib.tensor([float("inf"), 2.0], device=d)),
    "no differences along no dimension": lambda lib, d: lib.diff(lib.zeros(3, device=d), 0, 1),
    "variance of integers": lambda lib, d: lib.masked.var(whole(lib, d, "int64", 1, 2, 4), 0),
    "slopes of int8": lambda lib, d: lib.gradient(
        whole(lib, d, "int8", -8, 6, 9), spacing=[whole(lib, d, "int8", 4, 2, 6)])[0],
    **{f"the gradient of {name} of no size": lambda lib, d, name=name, dims=int(name[-2]): slope(
        lambda x: getattr(lib.nn.functional, name)(x.reshape(2, *[2] * dims), [0] + [1] * (dims - 1)),
        lib, d, *range(2 ** (dims + 1))) for name in ADAPTIVE_POOLS},
    **{f"running statistics of {dtype}, {into}, {weight}": lambda lib, d, dtype=dtype, into=into, weight=weight: normed(
        lib, d, dtype, into, weight) for dtype in ("int64", "bool", "float64", "float16", "float32")
       for into, weight in (("float32", None), ("float16", "float32"), ("float16", "float16"), ("float32", "float64"))},
    "a dimension that is a tensor": lambda lib, d: lib.ops.aten._safe_softmax.default(
        lib.ones(2, 3, device=d), lib.tensor(1.0, device=d)),
}
SLOPES = {"acosh below -1": lambda lib, d: slope(lib.acosh, lib, d, -2.0, -3.28, 1.36),
          "maximum of NaN": lambda lib, d: slope(
              lambda x: lib.maximum(x, lib.ones(3, device=d)) * x, lib, d, float("nan"), 1.0, 2.0)}
COMPLEX = {"slope of logcumsumexp": lambda lib, d: slope(
    lambda x: lib.logcumsumexp(x, 0).abs(), lib, d, 0.3 + 0.4j, 1 - 1j, 0.5 + 2j)}
SUMS_INTO_ANOTHER_DTYPE = {
    f"{name} of {operand} into {into}": lambda lib, d, name=name, operand=operand, into=into: getattr(lib, name)(
        whole(lib, d, operand, 1, 2, 2044) * 1.3, 0, out=whole(lib, d, into))
    for name in ("mean", "nansum", "nanmean")
    for operand, into in (("float16", "float32"), ("float32", "float64"), ("float64", "float16"))}
REPEATS = {
    "the 0-th difference beside others": lambda lib, d: lib.diff(lib.ones(2, device=d), 0, 0, lib.zeros(1, device=d)),
    "no places, with a size": lambda lib, d: lib.repeat_interleave(whole(lib, d, "int64"), output_size=3),
    "places of short integers": lambda lib, d: lib.unravel_index(whole(lib, d, "int16", 1, 5), (2, 3))[0],
    "integers beside fractions": lambda lib, d: lib.cosine_similarity(
        whole(lib, d, "int64", 1, 2), whole(lib, d, "float32", 0.5, 3), dim=0),
    "a limit that rounds to 0": lambda lib, d: lib.nn.functional.hardtanh(whole(lib, d, "uint8", 0, 3), -0.5, 1),
    "no elements, with a size": lambda lib, d: lib.repeat_interleave(
        lib.ones(0, device=d), whole(lib, d, "int64"), output_size=0),
    "distances of two dtypes from nothing": lambda lib, d: lib.cdist(
        lib.ones(2, 5, device=d), lib.ones(0, 5, dtype=lib.float16, device=d)),
    "coordinates that are NaN and that differ": lambda lib, d: lib.cat([lib.cdist(
        lib.tensor([[1.0, float("nan")], [1.0, 2.0]], dtype=dtype, device=d),
        lib.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=dtype, device=d), p=0.0).float()
        for dtype in (lib.float32, lib.float64)]),
    "differences into fractions": lambda lib, d: lib.diff(
        whole(lib, d, "int32", 1, 4, 9), 2, out=lib.ones(1, device=d)),
    "combinations of one": lambda lib, d: lib.combinations(lib.ones(1, device=d), 70, True),
    "combinations of more than there are": lambda lib, d: lib.combinations(lib.ones(1, device=d), 70),
    "a margin that is rounded": lambda lib, d: lib.nn.functional.hinge_embedding_loss(
        whole(lib, d, "int8", 1, 2), -lib.ones(2, device=d), 8.4, reduction="none")}


def distances_with_nan(lib, d, distances):
    """Those of an infinite p, and their slopes."""
    x = lib.tensor([[1.0, float("nan")], [2.0, 3.0], [float("inf"), 1.0], [2.0, 5.0]], device=d, requires_grad=True)
    found = distances(x, x.detach() + 1, p=float("inf"))
    found.sum().backward()
    return lib.cat([found.detach().reshape(-1), x.grad.reshape(-1)])


AT_NAN = {f"{name} of {dtype}": lambda lib, d, name=name, dtype=dtype: getattr(lib, name)(
    *(t.reshape(-1) for t in lib.meshgrid(*[whole(
        lib, d, dtype, float("nan"), float("inf"), 0, 1, -1, 2.5)] * 2, indexing="ij")))
    for name in ("igamma", "igammac", "heaviside") for dtype in ("float32", "float64")}
# The last thing that is refused is a dtype without a kernel.
REFUSED_FIRST = {
    "a wider Fourier transform of real numbers": lambda lib, d: lib.fft.ifft(
        lib.ones(3, device=d), out=whole(lib, d, "complex128", 0)),
    "half a wider Fourier transform": lambda lib, d: lib.fft.ihfft(
        lib.ones(3, device=d), out=whole(lib, d, "complex128", 0)),
    "groups of no channels": lambda lib, d: lib.nn.functional.group_norm(lib.ones(2, 4, device=d), 0),
    "a loss of complex targets with weights": lambda lib, d: lib.nn.functional.binary_cross_entropy_with_logits(
        lib.ones(2, device=d), whole(lib, d, "complex64", 1j, 2), pos_weight=lib.ones(2, device=d)),
    "rows without elements": lambda lib, d: lib.nn.functional.embedding(lib.tensor([2, 5], device=d), lib.ones(3, 0)),
    "a row before those without elements": lambda lib, d: lib.ones(0, 3).index_select(1, lib.tensor([0, -1])),
    "places in a line": lambda lib, d: lib.zeros(3, device=d).index_add_(0, lib.tensor([7], device=d), lib.ones(1)),
    "places in rows": lambda lib, d: lib.zeros(2, 3).index_add_(1, lib.tensor([7]), lib.ones(2, 1)),
    "a dimension that the source has not": lambda lib, d: lib.index_reduce(
        lib.ones(2, 2), 1, lib.tensor([0]), lib.ones(2), "amax"),
    "a mean into whole numbers": lambda lib, d: lib.mean(lib.ones(2), 0, out=whole(lib, d, "int64")),
    "bits into what requires a gradient": lambda lib, d: lib.bitwise_and(
        whole(lib, d, "int64", 3), 2, out=lib.ones(1, device=d, requires_grad=True)),
    "a backward of reflections": lambda lib, d: lib.geqrf(lib.eye(2, requires_grad=True)).a.sum().backward(),
    "a backward of an indefinite matrix": lambda lib, d: lib.linalg.ldl_factor(
        lib.eye(2, requires_grad=True)).LD.sum().backward(),
    "sizes": lambda lib, d: lib.bitwise_and(lib.ones(2, device=d), lib.ones(3, device=d)),
    "a dimension, before out=": lambda lib, d: lib.argmin(lib.ones(2, 3, device=d), 5, out=lib.ones(2, 3, device=d)),
    "sizes, before out=": lambda lib, d: lib.stack([lib.ones(2), lib.ones(3)], out=flags(lib, d)),
    "a number, before out=": lambda lib, d: lib.cat([lib.ones(()), lib.ones(3)], out=flags(lib, d)),
    "a result in place": lambda lib, d: whole(lib, d, "int64", 1).bitwise_xor_(0.5),
    "a dimension": lambda lib, d: flags(lib, d).log_softmax(2),
    "memory": lambda lib, d: lib.ones(1, dtype=lib.complex64, device=d).expand(3).fmod_(2),
    "out=": lambda lib, d: lib.remainder(lib.ones(2, dtype=lib.complex64, device=d), 2, out=whole(lib, d, "int32", 1)),
    "a Fourier transform into real numbers": lambda lib, d: lib.fft.fft(lib.ones(3, device=d),
                                                                         out=lib.zeros(3, device=d)),
    "a source without elements": lambda lib, d: lib.scatter(
        lib.tensor(2.0, device=d), 0, lib.tensor(0, device=d), lib.ones(0, device=d)),
    "a diagonal of a leaf": lambda lib, d: lib.ones(0, 3, device=d, requires_grad=True).fill_diagonal_(1),
    "a cosine of complex numbers": lambda lib, d: lib.cosine_similarity(
        whole(lib, d, "complex64", 1j), whole(lib, d, "complex64", 1), dim=0),
    "places of rows": lambda lib, d: lib.lu_unpack(lib.ones(2, 2), lib.tensor([1, 5], dtype=lib.int32)),
    "an index of fractions": lambda lib, d: lib.unravel_index(lib.ones(2, device=d), (2, 3)),
    "one tensor for several copies": lambda lib, d: lib.unbind_copy(lib.ones(2, 2), out=lib.ones(2)),
    "a number for a tensor": lambda lib, d: lib.linalg.tensorsolve(lib.ones(2, 2), 2),
    "a difference with bools": lambda lib, d: lib.nn.functional.smooth_l1_loss(lib.ones(2), lib.ones(2) > 0, beta=0),
    "factors that are no matrix": lambda lib, d: lib.lu_unpack(lib.ones(2), lib.ones(2, dtype=lib.int32)),
    "weights of a margin with a gradient": lambda lib, d: lib.nn.functional.multi_margin_loss(
        lib.ones(2, 3, device=d), lib.tensor([0, 1], device=d), weight=lib.ones(3, device=d, requires_grad=True)),
    "no place of a leaf": lambda lib, d: lib.ones(3, device=d, requires_grad=True).index_put_(
        (flags(lib, d),), lib.ones((), device=d)),
    "no place of a leaf, in brackets": lambda lib, d: lib.ones(3, device=d, requires_grad=True).__setitem__(
        flags(lib, d), lib.ones((), device=d)),
    "more is cut than there is": lambda lib, d: lib.constant_pad_nd(lib.ones(2, 4, device=d), (1, 0, -3, 4)),
    "edges of another dtype": lambda lib, d: lib.histogramdd(
        lib.ones(3, 2), [lib.tensor([0.0, 2.0]), whole(lib, "cpu", "int8", 0, 2)]),
    "two dtypes in a product": lambda lib, d: lib.nn.functional.bilinear(
        lib.ones(2, 3, device=d), lib.ones(2, 4, device=d), lib.ones(5, 3, 4, device=d),
        lib.ones(5, dtype=lib.float16, device=d)),
    "differences into whole numbers": lambda lib, d: lib.diff(lib.ones(4, device=d), out=whole(lib, d, "int32", 1)),
    "combinations of too many": lambda lib, d: lib.combinations(lib.ones(2, device=d), 70, True),
    "the mean of whole numbers": lambda lib, d: lib.nn.functional.hinge_embedding_loss(
        whole(lib, d, "int8", 1, 2), lib.ones(2, device=d), 0.5),
    "weights with a gradient": lambda lib, d: lib.nn.functional.nll_loss(
        lib.ones(2, 3), lib.tensor([0, 1]), lib.ones(3, requires_grad=True)),
    "too few reflections": lambda lib, d: lib.ormqr(lib.ones(3, 3), lib.ones(2), lib.ones(3, 2)),
    "too few reflections from the right": lambda lib, d: lib.ormqr(lib.ones(3, 3), lib.ones(2), lib.ones(2, 3), False),
    "one tensor for two results": lambda lib, d: lib.histogram(lib.ones(3), lib.tensor([0.0, 2.0]), out=lib.ones(())),
    "averages of small integers": lambda lib, d: lib.nn.functional.avg_pool2d(lib.ones(1, 1, 2, dtype=lib.int32), 1)}
# int64, which ACLNN averages no windows of.
AVERAGES = {
    "line": lambda lib: lib.nn.functional.avg_pool1d(lib.arange(-6, 6).reshape(1, 2, 6), 3, 1, 1),
    "plane": lambda lib: lib.nn.functional.avg_pool2d(
        lib.tensor([[[[9, -4, 2, -7], [3, 3, -2, -2]]]]), (2, 3), 1, (1, 1)),
    "volume": lambda lib: lib.nn.functional.avg_pool3d(lib.arange(-24, 24).reshape(1, 2, 2, 3, 4), 2),
    "divisor": lambda lib: lib.nn.functional.avg_pool2d(lib.arange(-6, 6).reshape(1, 3, 4), 2, divisor_override=3),
    "response norm": lambda lib: lib.nn.functional.local_response_norm(lib.arange(-9, 9).reshape(1, 6, 3), 2)}



def laid_out(*tensors):
    return [(tuple(t.shape), t.stride(), t.storage_offset(), t.requires_grad, t.tolist()) for t in tensors]


def cat_of_nothing(lib, d, *others, dim):
    e = lib.zeros(0, device=d, requires_grad=True)
    joined = lib.cat([e, *others, e], dim)
    joined.sum().backward()
    return laid_out(joined.detach(), e.grad)


LAYOUTS = {
    "a product added to columns into another shape": lambda lib, d: laid_out(lib.addr(
        lib.ones(3, 2, device=d).t(), lib.ones(2, device=d), lib.ones(3, device=d), out=lib.ones(0, device=d))),
    "a product added to columns": lambda lib, d: laid_out(
        *[lib.addr(a, lib.ones(2, device=d), lib.ones(3, device=d))
          for a in (lib.ones(3, 2, device=d).t(), lib.ones(2, 3, device=d), lib.ones(3, device=d))]),
    "places in a tensor": lambda lib, d: laid_out(*lib.unravel_index(lib.arange(6, device=d), (2, 3))),
    "places in a tensor, by columns": lambda lib, d: laid_out(
        *lib.unravel_index(lib.arange(6, device=d).reshape(2, 3).t(), (4, 1, 2))),
    "places beyond a tensor": lambda lib, d: laid_out(*lib.unravel_index(lib.tensor([7, -1], device=d), (2, 3))),
    "no places": lambda lib, d: laid_out(*lib.unravel_index(lib.zeros(0, device=d).byte(), (10, 3, 5))),
    "nothing joined along no dimension": lambda lib, d: cat_of_nothing(lib, d, dim=3),
    "nothing beside a matrix": lambda lib, d: cat_of_nothing(lib, d, lib.ones(2, 3, device=d), dim=1),
    "nothing beside a line along no dimension": lambda lib, d: cat_of_nothing(lib, d, lib.ones(3, device=d), dim=1),
    "edges with gaps": lambda lib, d: laid_out(
        *lib.histogram(lib.tensor(0.5, device=d), lib.arange(6.0, device=d)[::2])),
    "edges of several columns": lambda lib, d: laid_out(
        *lib.histogramdd(lib.ones(3, 2, device=d), [lib.arange(6.0, device=d)[::2]] * 2).bin_edges),
    "inverses of no matrices": lambda lib, d: laid_out(
        *[lib.linalg.pinv(lib.zeros(0, 3, 2, device=d, requires_grad=True), rtol=lib.ones(shape, device=d))
          for shape in ((0, 3, 2), (4,), (7, 1))]),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts_of_torch(name, device):
    outcomes = []
    for lib, d in ((mindtorch, device), (torch, "cpu")):
        try:
            outcomes.append(LAYOUTS[name](lib, d))
        except Exception as error:      # noqa: BLE001 - what torch refuses must be refused
            outcomes.append((type(error), str(error)))
    assert outcomes[0] == outcomes[1]


def test_edges_of_a_histogram_are_a_copy(device):
    """Those of histogramdd are the tensors that were given, as in torch."""
    for lib, d in ((mindtorch, device), (torch, "cpu")):
        edges = lib.tensor([0.0, 1.0, 4.0], device=d)
        points = lib.ones(3, 1, device=d)
        copy, same = lib.histogram(points, edges).bin_edges, lib.histogramdd(points, [edges]).bin_edges[0]
        edges.mul_(2)
        assert copy.tolist() == [0, 1, 4]
        assert same.tolist() == [0, 2, 8]


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("columns", [2, 4, 8, 16])
def test_a_column_is_negated_in_place(dtype, columns):
    """The CPU's kernels do not do it with NumPy, whose loop reads other elements at some strides."""
    x = mindtorch.arange(3 * columns, dtype=getattr(mindtorch, dtype)).reshape(3, columns)
    x[:, 0].neg_()
    assert x.flatten().tolist() == [-i if i % columns == 0 else i for i in range(3 * columns)]


def test_slopes_of_logcumsumexp_of_16_bits():
    for dtype in ("float16", "bfloat16"):
        slopes = []
        for lib in (mindtorch, torch):
            x = lib.tensor([[3.5, 2.0, 2.0], [-0.5, -0.25, 3.25]], dtype=getattr(lib, dtype), requires_grad=True)
            found = x.logcumsumexp(1)
            (found * found).sum().backward()
            slopes.append(torch.tensor(x.grad.float().tolist()))
        torch.testing.assert_close(*slopes, rtol=0.02, atol=0.02)


def test_solutions_without_a_derivative():
    for lib in (mindtorch, torch):
        factors, pivots = lib.linalg.ldl_factor(lib.eye(3))
        for operand in (0, 1):
            given = [factors.clone(), lib.ones(3, 2)]
            given[operand].requires_grad_()
            solved = lib.linalg.ldl_solve(given[0], pivots, given[1])
            assert solved.requires_grad
            with pytest.raises(RuntimeError, match="derivative for aten::linalg_ldl_solve is not implemented"):
                solved.sum().backward()


@pytest.mark.parametrize("name", AVERAGES)
def test_averages_of_integers(name):
    ours, theirs = (AVERAGES[name](lib) for lib in (mindtorch, torch))
    assert str(ours.dtype) == str(theirs.dtype)
    torch.testing.assert_close(torch.tensor(ours.tolist()), torch.tensor(theirs.tolist()))


def test_meta_does_not_look_at_what_kernels_refuse():
    for lib in (mindtorch, torch):
        assert lib.ones(2, device="meta").bitwise_not().dtype is lib.float32
        with pytest.raises(NotImplementedError, match="not implemented for 'Float'"):
            lib.ones(2).bitwise_not()


def test_a_factorization_with_nan():
    """The last pivot has no column below it, whatever it is."""
    matrix = [[1.0, 2.0], [2.0, float("nan")]]
    ours, theirs = (lib.linalg.ldl_factor_ex(lib.tensor(matrix)).pivots.tolist() for lib in (mindtorch, torch))
    assert ours == theirs


@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd"])
@pytest.mark.parametrize("rows", [2, 4])
def test_residuals_have_a_history(driver, rows):
    for lib in (mindtorch, torch):
        a = lib.arange(3.0 * rows).reshape(rows, 3).sin().requires_grad_()
        found = lib.linalg.lstsq(a, lib.ones(rows, 2), driver=driver)
        assert [found.solution.requires_grad, found.residuals.requires_grad, found.singular_values.requires_grad] == [
            True, True, False]


def test_the_number_of_elements_that_are_not_0_gives_no_gradient(device):
    for lib, d in ((mindtorch, device), (torch, "cpu")):
        x = lib.ones(3, device=d, requires_grad=True)
        lib.linalg.vector_norm(x, 0).backward()
        assert x.grad is None


def outcome(call, lib, device):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = call(lib, device)
        except Exception as error:      # noqa: BLE001 - what torch refuses must be refused
            return type(error), str(error)
    return result if lib is torch else torch.from_numpy(_portable(result).cpu().numpy().copy()).to(
        getattr(torch, str(result.dtype).removeprefix("torch.")))


def _portable(result):
    return result.float() if result.dtype is mindtorch.bfloat16 else result


def check(call, device, **tolerance):
    ours, theirs = outcome(call, mindtorch, device), outcome(call, torch, "cpu")
    if isinstance(theirs, tuple):
        assert ours == theirs
    else:
        assert not isinstance(ours, tuple), ours
        torch.testing.assert_close(ours, theirs, equal_nan=True, **tolerance)


EVERYWHERE = {f"{kind}: {name}": call for kind, calls in {
    "fraction in bool": FRACTIONS, "bytes": NEAREST, "integral": INTEGRALS, "norm of nothing": NORMS,
    "convolution": CONVOLUTIONS, "fractional pool": POOLS, "condition": CONDITIONS, "pad": PADS,
    "write": WRITES, "repeat": REPEATS, "slope": SLOPES, "found by programs": FOUND_BY_PROGRAMS,
    "NaN": AT_NAN}.items()
    for name, call in calls.items()}


@pytest.mark.parametrize("name", EVERYWHERE)
def test_results_of_torch(name, device):
    check(EVERYWHERE[name], device)


@pytest.mark.parametrize("name", [name for name in mindtorch.fft.__all__ if not name.endswith(("freq", "shift"))])
@pytest.mark.parametrize("dtype", ["float32", "int64", "complex64"])
def test_transforms_into_numbers_of_another_kind(name, dtype, device):
    """An int64 could not hold the result, but a complex64 could hold a real one, and torch refuses it too."""
    check(lambda lib, d: getattr(lib.fft, name)(lib.ones(2, 2, device=d), out=lib.zeros(
        0, dtype=getattr(lib, dtype), device=d)).abs(), device)


def test_a_number_has_no_dimension_to_unflatten(device):
    for lib, d in ((mindtorch, device), (torch, "cpu")):
        with pytest.raises(RuntimeError, match="Dimension specified as 0 but tensor has no dimensions"):
            lib.tensor(3.0, device=d).unflatten(-1, (1, 1))


def test_repeats_may_be_written_to_before_backward(device):
    for lib, d in ((mindtorch, device), (torch, "cpu")):
        x, repeats = lib.ones(2, 3, device=d, requires_grad=True), lib.tensor([2, 1], device=d)
        repeated = lib.repeat_interleave(x, repeats, 0)
        repeats.zero_()
        repeated.sum().backward()
        assert x.grad.tolist() == [[2.0] * 3, [1.0] * 3]


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_numbers(name):
    check(COMPLEX[name], "cpu")


def test_polynomials_of_a_huge_degree_are_refused(device):
    for degree in (2**31 - 1, mindtorch.tensor([1, 2**31], device=device)):
        with pytest.raises(RuntimeError, match="degree above 1048576"):
            mindtorch.special.hermite_polynomial_he(mindtorch.ones(2, device=device), degree)


@pytest.mark.parametrize("name", SUMS)
def test_sums_of_integers(name):
    """ACLNN documents few integers for these."""
    check(SUMS[name], "cpu")


@pytest.mark.parametrize("name", SUMS_INTO_ANOTHER_DTYPE)
def test_sums_are_computed_in_the_dtype_of_out(name):
    check(SUMS_INTO_ANOTHER_DTYPE[name], "cpu")


@pytest.mark.parametrize("name", REFUSED_FIRST)
def test_order_of_refusals(name):
    (ours, _), (theirs, _) = (outcome(REFUSED_FIRST[name], lib, "cpu") for lib in (mindtorch, torch))
    assert ours is theirs


def test_factors_with_a_zero_have_no_inverse():
    for factor in ([[1.0, 0.0], [2.0, 0.0]], [[[1.0, 0.0], [2.0, 3.0]], [[0.0, 0.0], [1.0, 0.0]]]):
        with pytest.raises(torch.linalg.LinAlgError) as expected:
            torch.cholesky_inverse(torch.tensor(factor))
        with pytest.raises(mindtorch.linalg.LinAlgError) as raised:
            mindtorch.cholesky_inverse(mindtorch.tensor(factor))
        assert str(raised.value) == str(expected.value)


def test_pivots_of_another_batch_are_refused(device):
    """torch reads and writes beyond its memory."""
    pivots = mindtorch.ones(0, 5, dtype=mindtorch.int32, device=device)
    with pytest.raises(RuntimeError, match="same batch dimensions"):
        mindtorch.lu_unpack(mindtorch.ones(3, 3, device=device), pivots)


@pytest.mark.parametrize("name", SMOOTH)
def test_bytes_between_elements(name):
    check(SMOOTH[name], "cpu", rtol=0, atol=0)


@pytest.mark.parametrize("name", WINDOWS)
def test_windows_of_16_bits(name, device):
    """All but Kaiser's round after the same steps; the device's own cosine and Bessel function differ by an ulp."""
    ulp = 2 ** -10 if "b" not in name.split()[1] else 2 ** -7
    check(WINDOWS[name], device, rtol=0, atol=0 if device == "cpu" and "kaiser" not in name else 2 * ulp)


def test_bytes_between_lines_are_refused(device):
    with pytest.raises(NotImplementedError):
        mindtorch.nn.functional.interpolate(picture(mindtorch, "cpu")[0].to(device), size=7, mode="linear")


def test_correlation_of_complex_rows():
    rows = [[1 + 2j, 2 - 1j, 0.5j], [1j, 3, 2 + 2j]]
    check(lambda lib, d: lib.corrcoef(lib.tensor(rows, device=d)), "cpu")


def test_second_derivative_of_a_complex_magnitude(device):
    def second(lib, device):
        x = lib.tensor([0, 3 + 4j], device=device, requires_grad=True)
        first, = lib.autograd.grad(x.abs().sum(), x, create_graph=True)
        return lib.autograd.grad(first.real.sum(), x)[0].detach()
    check(second, device)


@pytest.mark.parametrize(("scale", "shift"), [(1, 0), (1, 100), (1000, 0)])
def test_norms_of_many_elements(scale, shift, device):
    """Half a million elements in a group: a running sum in float32 would lose three digits."""
    x = torch.randn(2, 4, 512, 512, generator=torch.Generator().manual_seed(0)) * scale + shift
    ours = mindtorch.from_numpy(x.numpy()).to(device)
    found = torch.from_numpy(mindtorch.nn.functional.group_norm(ours, 2).cpu().numpy())
    expected = torch.nn.functional.group_norm(x.double(), 2).float()
    # The mean is exact to an ulp of the elements' size, which is shift / scale deviations.
    torch.testing.assert_close(found, expected, rtol=2e-6, atol=2 ** -22 * (1 + shift / scale))


NAN = float("nan")
ROWS_WITH_NAN = {
    "alike": [[NAN, 1], [NAN, 1], [0, 1], [0, 1]], "mixed": [[NAN, 1], [2, 1], [NAN, 0], [0, 1]],
    "not transitive": [[2, 1], [NAN, 1], [0, NAN], [NAN, 0], [0, 1]], "one column": [[3], [NAN], [1], [2], [NAN]],
    "sixteen": [[(7 * i) % 5 if i % 3 else NAN, i % 2] for i in range(16)],
}


@pytest.mark.parametrize("rows", ROWS_WITH_NAN)
@pytest.mark.parametrize("dim", [0, 1])
def test_distinct_rows_with_nan(rows, dim, device):
    """NaN differs from everything; where it stands, the next elements decide the order."""
    for part in range(3):
        check(lambda lib, d, part=part: lib.unique(
            lib.tensor(ROWS_WITH_NAN[rows], dtype=lib.float32, device=d), dim=dim, return_inverse=True,
            return_counts=True)[part], device)


def test_the_permutation_is_a_constant(device):
    factors = mindtorch.linalg.lu(mindtorch.eye(3, device=device, requires_grad=True) + 1)
    assert [factor.requires_grad for factor in factors] == [False, True, True]


def test_slopes_of_means_beside_infinity():
    """An infinite slope of one window reaches no element of another."""
    x = mindtorch.zeros(1, 1, 4, 4, dtype=mindtorch.float64, requires_grad=True)
    slopes = mindtorch.tensor([[[[float("inf"), 1], [1, 1]]]], dtype=mindtorch.float64)
    mindtorch.nn.functional.avg_pool2d(x, 2).backward(slopes)
    assert x.grad[0, 0, :, 2:].tolist() == [[0.25, 0.25]] * 4
    assert x.grad[0, 0, :2, :2].isinf().all()


@pytest.mark.parametrize("modes", [(-2, 1), (3, 0), (0, 3), (0, -1)])
@pytest.mark.parametrize("dims", [2, 3])
def test_modes_that_no_grid_sampler_has(modes, dims, device):
    """torch returns what was in the memory of the result."""
    x = mindtorch.ones(1, 1, *[2] * dims, device=device)
    grid = mindtorch.zeros(1, *[1] * dims, dims, device=device)
    with pytest.raises(RuntimeError, match="there is no interpolation mode"):
        getattr(mindtorch, f"grid_sampler_{dims}d")(x, grid, *modes, True)


@pytest.mark.parametrize("order", [(0, 2, 1, 3), (0, 1, 2, 3)])
def test_channels_last_of_nothing(order, device):
    """The strides decide whether it is a copy, with a history, though nothing is copied."""
    def made(lib, where):
        x = lib.zeros(0, 3, 4, 3, device=where).permute(order).requires_grad_()
        last = x.contiguous(memory_format=lib.channels_last)
        again = last.contiguous(memory_format=lib.channels_last)
        return last.is_leaf, last.stride()[1], again is last
    assert made(mindtorch, device) == made(torch, "cpu") == (False, 1, True)


def test_solving_without_the_solution(device):
    """Both operands have a gradient where only the copy of one is used."""
    def slopes(lib, where):
        A = lib.ones(2, 2, device=where, requires_grad=True)
        B = lib.ones(2, 1, device=where, requires_grad=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            lib.triangular_solve(B, A)[1].sum().backward()
        return A.grad.tolist(), B.grad.tolist()
    assert slopes(mindtorch, device) == slopes(torch, "cpu")


def test_combinations_of_a_huge_number_end_at_once(device):
    for with_replacement in (False, True):
        with pytest.raises(RuntimeError, match="overflow"):
            mindtorch.combinations(mindtorch.ones(2, device=device), 2 ** 31, with_replacement)
    assert mindtorch.combinations(mindtorch.ones(1, device=device), 2 ** 31).shape == (0, 2 ** 31)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("dims", [(), (1,)])
def test_slopes_of_products_in_another_dtype(dims, dtype, device):
    """They are those of the elements as they were multiplied: without the imaginary part."""
    def slope(lib, where):
        x = lib.tensor([[1 + 1j, 2 - 0.5j], [0.1 + 0.3j, 1]], device=where, requires_grad=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            x.prod(*dims, dtype=getattr(lib, dtype)).sum().abs().backward()
        return [complex(value) for value in x.grad.cpu().reshape(-1).tolist()]
    assert slope(mindtorch, device) == pytest.approx(slope(torch, "cpu"), rel=1e-5)


def test_nan_to_num_in_place_keeps_where_it_was_finite(device):
    def slope(lib, where):
        leaf = lib.tensor([1.0, float("nan"), 3.0], device=where, requires_grad=True)
        x = leaf * 2
        (x.nan_to_num_() * x).sum().backward()
        return leaf.grad.tolist()
    assert slope(mindtorch, device) == slope(torch, "cpu")


@pytest.mark.parametrize("size", [0, (0, 1), (-1, 2)])
def test_blocks_have_elements(size):
    for lib in (torch, mindtorch):
        with pytest.raises(RuntimeError, match="blocksize"):
            lib.ones(2, 4).to_sparse_bsr(size)


def test_meshgrid_without_an_order():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")             # torch asks for one
        for lib in (torch, mindtorch):
            assert lib.meshgrid(lib.arange(2), lib.arange(3), indexing=None)[0].tolist() == [[0, 0, 0], [1, 1, 1]]


@pytest.mark.parametrize("call", [
    lambda lib: lib.nn.functional.cosine_similarity(lib.ones(2), 1.0), lambda lib: lib.prelu(lib.ones(2), 0.5),
    lambda lib: lib.nn.functional.pairwise_distance(lib.ones(2), 1), lambda lib: lib.nn.functional.poisson_nll_loss(
        lib.ones(2), 2.0),
], ids=["cosine_similarity", "prelu", "pairwise_distance", "poisson_nll_loss"])
def test_numbers_where_a_tensor_must_be(call):
    for lib in (torch, mindtorch):
        with pytest.raises(TypeError, match="must be Tensor, not"):
            call(lib)


def test_equal_elements_do_not_deviate(device):
    """Their mean, rounded, is not one of them."""
    x = mindtorch.tensor([0.1, 1.7, 2.3], device=device).expand(5, 7, 3)
    for dims in (0, (0, 1), 1):
        assert x.var(dims).abs().max().item() == 0
        assert mindtorch.std_mean(x, dims)[0].abs().max().item() == 0


def test_a_padding_that_is_no_integer():
    for lib in (torch, mindtorch):
        with pytest.raises(TypeError, match="must be int, not float"):
            lib.nn.functional.embedding(lib.tensor([1]), lib.ones(5, 5), padding_idx=float("nan"))


@pytest.mark.parametrize("name", ["mul_", "remainder_"])
def test_writes_to_no_elements_keep_the_old_ones(name, device):
    """The second write changes nothing that the first one's derivative needs."""
    def slope(lib, where):
        number = lib.tensor(2.0, device=where, requires_grad=True)
        x = lib.zeros(0, 2, device=where)
        getattr(x, name)(number).view(-1).add_(number)
        (x * x).sum().backward()
        return number.grad.item()
    assert slope(mindtorch, device) == slope(torch, "cpu") == 0


def test_the_second_derivative_of_a_complex_rms_norm_without_elements(device):
    def shape(lib, device):
        x = lib.zeros(0, 3, dtype=lib.complex64, device=device, requires_grad=True)
        y = lib.nn.functional.rms_norm(x, (3,))
        grad, = lib.autograd.grad(y, x, lib.ones_like(y), create_graph=True)
        again, = lib.autograd.grad(grad, x, lib.ones_like(grad))
        return grad.requires_grad, tuple(again.shape)
    assert shape(mindtorch, device) == shape(torch, "cpu") == (True, (0, 3))


@pytest.mark.parametrize("name", ["atol", "rtol", "rcond"])
def test_the_tolerances_of_pinv_require_no_gradient(name, device):
    for lib, where in ((torch, "cpu"), (mindtorch, device)):
        matrix, tolerance = lib.eye(3, device=where), lib.tensor(0.01, device=where, requires_grad=True)
        with pytest.raises(RuntimeError, match=r"'linalg_pinv' is not differentiable .* argument '[ar]tol'"):
            lib.linalg.pinv(matrix, **{name: tolerance})
        with lib.no_grad():
            lib.linalg.pinv(matrix, **{name: tolerance})


def test_the_gradient_of_a_strided_view_of_an_expanded_complex_tensor(device):
    def gradient(lib, device):
        x = lib.tensor([1 + 2j, 3 - 1j], device=device, requires_grad=True)
        view = x.expand(2, 2).as_strided((3,), (0,), 1)
        return lib.autograd.grad(lib.view_as_real(view * view).sum(), x)[0].tolist()
    assert gradient(mindtorch, device) == gradient(torch, "cpu")


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", ["asin", "acos", "asinh", "acosh", "atan", "atanh"])
def test_the_sign_of_zero_chooses_the_side_of_a_cut(name, dtype, device):
    values = [complex(a, b) for a in (2.33, -2.33) for b in (0.0, -0.0)]
    values += [complex(b, a) for a in (2.33, -2.33) for b in (0.0, -0.0)] if name in ("asinh", "atan") else []
    ours, theirs = (getattr(lib, name)(lib.tensor(values, dtype=getattr(lib, dtype), device=where)).tolist()
                    for lib, where in ((mindtorch, device), (torch, "cpu")))
    assert ours == pytest.approx(theirs, rel=1e-5)


def test_ldl_solve_of_a_zero_on_the_diagonal_divides_by_it():
    def solution(lib):
        factor, pivots = lib.tensor([[1.0, 0.0], [2.0, 0.0]]), lib.tensor([1, 2], dtype=lib.int32)
        return str(lib.linalg.ldl_solve(factor, pivots, lib.tensor([[1.0], [3.0]])).tolist())
    assert solution(mindtorch) == solution(torch) == "[[-inf], [inf]]"


def test_atanh_of_complex_numbers_below_zero_is_exact(device):
    z = mindtorch.tensor([-1 - 0.002j, -1.01 + 0.003j, -0.5 + 2j], dtype=mindtorch.complex128, device=device)
    expected = torch.tensor(z.tolist(), dtype=torch.complex128).atanh()
    assert z.atanh().tolist() == pytest.approx(expected.tolist(), rel=1e-14)


@pytest.mark.parametrize("name", ["gelu", "erf"])
def test_far_from_zero_the_normal_distribution_is_0_or_1(name, device):
    # torch's GELU of infinity is NaN on some processors.
    values = [float("inf") if name == "erf" else 1e38, float("nan"), 1e30, 40.0, -40.0, -1e30, -float("inf"), 0.0]
    ours, theirs = ((lib.erf if name == "erf" else lib.nn.functional.gelu)(
        lib.tensor(values, device=where)) for lib, where in ((mindtorch, device), (torch, "cpu")))
    assert str((ours + 0.0).tolist()) == str((theirs + 0.0).tolist())


@pytest.mark.parametrize("exponents", [[200, -3, 0], [-200, 3, 1], [200.0, -3.0, 0.5]])
def test_ldexp_of_integers_goes_beyond_the_dtype(exponents, device):
    """Of an integer the power is no number of the dtype; the result is one. That of a fraction is infinity."""
    def result(lib, where):
        return lib.ldexp(lib.tensor([1e-30, 1.5, -2.0], device=where), lib.tensor(exponents, device=where)).tolist()
    assert result(mindtorch, device) == pytest.approx(result(torch, "cpu"), rel=1e-6)


def test_the_derivative_of_ldexp_is_the_power_of_a_negative_integer(device):
    """torch's is 0, a power of integers."""
    x = mindtorch.ones(3, device=device, requires_grad=True)
    mindtorch.ldexp(x, mindtorch.tensor([-2, 0, 3], device=device)).sum().backward()
    assert x.grad.tolist() == [0.25, 1, 8]


def test_the_spacing_of_a_gradient_may_be_bytes_that_wrap(device):
    def slopes(lib, where):
        values = lib.tensor([[1.0, 5.0, -2.0], [4.0, -3.0, 8.0]], device=where)
        return str(lib.gradient(values, dim=1, spacing=[whole(lib, where, "uint8", 2, 6, 2)])[0].cpu())
    assert slopes(mindtorch, device) == slopes(torch, "cpu")


@pytest.mark.parametrize("name", ["trapz", "trapezoid"])
def test_no_integral_of_flags(name, device):
    for lib, where in ((torch, "cpu"), (mindtorch, device)):
        with pytest.raises(RuntimeError, match="received a bool input for `y`"):
            getattr(lib, name)(flags(lib, where), dx=2.0)


INFERENCE = {
    "add": lambda lib, x, y: lib.add(x, x, out=y), "comparison": lambda lib, x, y: lib.ne(x, 1.5, out=y),
    "sum": lambda lib, x, y: lib.sum(x, 0, out=y), "cat": lambda lib, x, y: lib.cat([x], out=y),
    "linspace": lambda lib, x, y: lib.linspace(0, 1, 2, out=y), "scan": lambda lib, x, y: lib.cumsum(x, 0, out=y),
    "product": lambda lib, x, y: lib.mm(x[None], x[:, None], out=y), "max": lambda lib, x, y: lib.max(x, 0, out=(
        y, lib.tensor(0, device=x.device))), "resize_": lambda lib, x, y: y.resize_(5),
    "logical": lambda lib, x, y: y.logical_or_(x)}


@pytest.mark.parametrize("name", INFERENCE)
def test_writes_to_tensors_of_inference_mode(name, device):
    for lib, d in ((mindtorch, device), (torch, "cpu")):
        x = lib.tensor([1.0, 2.0], device=d)
        with lib.inference_mode():
            y = x * 1
        with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
            INFERENCE[name](lib, x, y)
        assert lib is torch or y.tolist() == [1.0, 2.0]         # torch has written before it refuses


def test_detach_in_place_in_inference_mode_changes_nothing(device):
    for lib, d in ((mindtorch, device), (torch, "cpu")):
        x = lib.ones(2, requires_grad=True, device=d) * 2
        with lib.inference_mode():
            assert x.detach_() is x
            assert x[:1].detach_().requires_grad            # a view is not looked at, either
        assert x.requires_grad


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("exponent", [-2, -1, -0.5, 0.5, 2, 3])
def test_powers_of_infinite_complex_numbers(exponent, dtype, device):
    """Roots, reciprocals and products, as in torch: a power by logarithms has other infinities and NaN."""
    parts = (0.0, -0.0, 1.0, -1.5, inf, -inf, nan)
    values = [complex(real, imaginary) for real in parts for imaginary in parts]
    expected = torch.tensor(values, dtype=getattr(torch, dtype)) ** exponent
    found = mindtorch.tensor(values, dtype=getattr(mindtorch, dtype), device=device) ** exponent
    numpy.testing.assert_allclose(found.cpu().numpy().view(expected.real.numpy().dtype),
                                  expected.numpy().view(expected.real.numpy().dtype), rtol=1e-6)


DTYPES_OF_RESULTS = {
    "weights of no integers": lambda lib, d: lib.bincount(lib.zeros(0, dtype=lib.int64, device=d),
                                                          lib.ones(2, device=d), minlength=3),
    "trapezoid": lambda lib, d: lib.trapezoid(lib.ones(2, 0, dtype=lib.int16, device=d)),
    "trapezoid of points": lambda lib, d: lib.trapezoid(lib.ones(2, 0, dtype=lib.bool, device=d),
                                                        lib.ones(0, device=d)),
    "trapezoid of a tensor with a history": lambda lib, d: lib.trapezoid(
        lib.ones(2, 0, device=d, requires_grad=True)),
    "margin_ranking_loss of integers": lambda lib, d: lib.nn.functional.margin_ranking_loss(
        *lib.arange(6, dtype=lib.int64, device=d).reshape(3, 2), reduction="none"),
    "ldexp in double precision": lambda lib, d: lib.ldexp(lib.ones(2, dtype=lib.float64, device=d),
                                                          lib.tensor(0.3, dtype=lib.float16, device=d)),
    "ldexp of a float32": lambda lib, d: lib.ldexp(lib.ones(2, device=d),
                                                   lib.tensor([0.3, 1.3], dtype=lib.float16, device=d)),
}


@pytest.mark.parametrize("name", DTYPES_OF_RESULTS)
def test_dtypes_and_precision_are_torchs(name, device):
    expected, found = DTYPES_OF_RESULTS[name](torch, "cpu"), DTYPES_OF_RESULTS[name](mindtorch, device)
    assert str(found.dtype) == str(expected.dtype)
    assert found.requires_grad == expected.requires_grad
    assert found.tolist() == pytest.approx(expected.tolist(), rel=1e-6)


@pytest.mark.parametrize("width", [0, 2])
@pytest.mark.parametrize("places", [[0], [[1, 0]], [-1], []])
def test_embedding_in_a_weight_without_rows(places, width):
    def outcome(lib):
        try:
            return tuple(lib.nn.functional.embedding(lib.tensor(places, dtype=lib.int64), lib.ones(0, width)).shape)
        except (RuntimeError, IndexError) as error:
            return type(error), str(error)
    assert outcome(mindtorch) == outcome(torch)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_soft_margin_loss_of_complex_numbers(dtype, device):
    def loss(lib, device):
        x, target = (lib.tensor(values, dtype=getattr(lib, dtype), device=device) for values in (
            [1 - 2j, 0.5 + 0.25j, -3j], [1.0, -1.0, 0.5j]))
        return lib.nn.functional.soft_margin_loss(x, target, reduction="none").cpu().numpy()
    numpy.testing.assert_allclose(loss(mindtorch, device), loss(torch, "cpu"), rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
@pytest.mark.parametrize("order", [1, 2, 3, inf])
@pytest.mark.parametrize("exponent", [0.6, -0.6])
def test_norms_have_the_range_of_their_dtype(exponent, order, dtype, device):
    """A square that a float32 does not hold is infinite, or 0, as in torch: a clipped gradient shows it."""
    size = 10.0 ** (exponent * (308 if dtype == "float64" else 38))
    expected = torch.linalg.vector_norm(torch.tensor([size, 0.0], dtype=getattr(torch, dtype)), order)
    found = mindtorch.linalg.vector_norm(mindtorch.tensor([size, 0.0], dtype=getattr(mindtorch, dtype), device=device),
                                         order)
    assert found.item() == pytest.approx(expected.item(), rel=1e-2)


@pytest.mark.parametrize("name", ["multi_margin_loss", "multilabel_margin_loss"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("scores", [(-inf, -inf, 0, 0, -inf), (inf, 0, 1, inf, 2), (nan, 1, 2, 3, 0)])
def test_margins_that_are_not_a_number_are_no_loss(name, scores, dtype, device):
    def loss(lib, device):
        x = lib.tensor(scores, dtype=getattr(lib, dtype), device=device, requires_grad=True)
        target = lib.tensor(1 if name == "multi_margin_loss" else [1, 3, -1, 0, 0], device=device)
        found = getattr(lib.nn.functional, name)(x, target)
        found.backward()
        return [found.item(), *x.grad.tolist()]
    assert loss(mindtorch, device) == pytest.approx(loss(torch, "cpu"), nan_ok=True)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("exponent", [-3, -5, "tensor"])
def test_negative_powers_of_huge_complex_numbers_are_0(exponent, dtype, device):
    found = []
    for lib, place in ((mindtorch, device), (torch, "cpu")):
        most = lib.finfo(getattr(lib, dtype)).max * 0.9
        base = lib.tensor([complex(most, -most), 2j], dtype=getattr(lib, dtype), device=place)
        power = base ** (lib.full_like(base, -3) if exponent == "tensor" else exponent)
        found.append(lib.view_as_real(power).cpu().numpy())
    numpy.testing.assert_allclose(*found, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("matrix", [[[nan]], [[1.0, nan], [2.0, 3.0]], [[1.0, 2.0], [nan, 3.0]], [[2.0]], [[0.0]]])
def test_the_sign_of_a_determinant_that_is_nan_is_0(matrix, device):
    expected, found = torch.linalg.slogdet(torch.tensor(matrix)), mindtorch.linalg.slogdet(
        mindtorch.tensor(matrix, device=device))
    assert [x.item() for x in found] == pytest.approx([x.item() for x in expected], nan_ok=True)


SHAPES_OF_RESULTS = {
    "indices of no integers, none of them": lambda lib, d: lib.take_along_dim(
        lib.ones(5, 5, device=d), lib.ones(2, 0, device=d)),
    "batch_norm of nothing": lambda lib, d: lib.nn.functional.batch_norm(
        lib.ones(0, device=d), *[lib.ones(1, device=d) for _ in range(4)], training=True),
    "batch_norm of nothing by what it learnt": lambda lib, d: lib.nn.functional.batch_norm(
        lib.ones(0, device=d), lib.ones(1, device=d), lib.ones(1, device=d)),
    "trapezoid of points of more dimensions": lambda lib, d: lib.trapezoid(
        lib.ones(3, 3, device=d), lib.ones(1, 1, 1, 1, device=d)),
    "cumulative_trapezoid of points of more dimensions": lambda lib, d: lib.cumulative_trapezoid(
        lib.ones(3, 3, device=d), lib.ones(1, 1, 1, 1, device=d)),
    "full_like of a number out of range on meta": lambda lib, d: lib.full_like(lib.ones(2, device="meta"), 1j),
    "full of a number out of range on meta": lambda lib, d: lib.full((2,), 1e10, dtype=lib.int8, device="meta"),
}


@pytest.mark.parametrize("name", SHAPES_OF_RESULTS)
def test_what_has_no_elements_has_torchs_shape(name, device):
    expected, found = SHAPES_OF_RESULTS[name](torch, "cpu"), SHAPES_OF_RESULTS[name](mindtorch, device)
    assert (tuple(found.shape), str(found.dtype)) == (tuple(expected.shape), str(expected.dtype))


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("image", [(0,), (0, 4), (4, 0), (2, 0, 4)])
@pytest.mark.parametrize(("batch", "channels"), [(3, 2), (0, 2)])
def test_convolutions_of_empty_images_are_refused(batch, channels, image, transposed, device):
    """An empty batch is not, and on meta nothing is."""
    def call(lib, place):
        n = len(image)
        return lib.convolution(lib.ones(batch, channels, *image, device=place),
                               lib.ones(2, 2, *[2] * n, device=place), None,
                               [1] * n, [0 if transposed else 1] * n, [1] * n, transposed, [0] * n, 1)
    assert call(mindtorch, "meta").shape == call(torch, "meta").shape
    if batch == 0:
        assert call(mindtorch, device).shape == call(torch, "cpu").shape
        return
    with pytest.raises(RuntimeError, match="Only zero batch or zero channel inputs") as expected:
        call(torch, "cpu")
    with pytest.raises(RuntimeError) as raised:
        call(mindtorch, device)
    assert str(raised.value) == str(expected.value)


@pytest.mark.parametrize("call", [
    "max(x, x, keepdim=True)", "max(x, keepdim=True)", "min(x, x, True)", "median(x, keepdim=True)",
    "nanmedian(x, keepdim=True)", "Tensor.max(x, x, keepdim=x)", "max(x, 1, keepdim=x)", "sum(x, keepdim=True)",
    "mean(x, keepdim=True)", "sum(x, out=x)", "Tensor.sum(x, keepdims=True)", "Tensor.mean(x, keepdim=True)"])
def test_keepdim_needs_a_dim(call, device):
    for lib, place in ((torch, "cpu"), (mindtorch, device)):
        with pytest.raises(TypeError):
            eval(f"lib.{call}", {"lib": lib, "x": lib.ones(2, 3, device=place)})


@pytest.mark.parametrize("call", ["sum(keepdim=True)", "mean(keepdim=True)", "sum(wrong=1)", "sum()", "sum(None, True)",
                                  "mean(axis=None, keepdims=True)", "sum(dim=None, dtype=lib.float64)", "mean(())"])
def test_all_elements_or_some_dimensions(call, device):
    check(lambda lib, d: eval(f"x.{call}", {"lib": lib, "x": lib.ones(2, 3, device=d)}), device)


@pytest.mark.parametrize("repeats", [(0,), (2, 0), (2, 1)])
def test_the_gradient_of_no_copies_has_no_history(repeats, device):
    def gradient(lib, device):
        x = lib.tensor([-4.0, 2.0], dtype=lib.float64, device=device, requires_grad=True)
        copies = x.repeat(repeats)
        found, = lib.autograd.grad((copies * copies).sum(), x, create_graph=True)
        return found.tolist(), found.requires_grad
    assert gradient(mindtorch, device) == gradient(torch, "cpu")


@pytest.mark.parametrize("call", [
    "linalg.vecdot(m, m, out=x)", "deg2rad(m, out=x)", "eye(3, out=x)", "kron(m, m, out=x)",
    "quantile(m, 0.5, 0, out=x)", "fft.ifft(m.to(lib.complex64), out=x.to(lib.complex64))", "linalg.pinv(m, out=x)",
    "linalg.matrix_power(m, 2, out=x)", "linalg.multi_dot([m, m], out=x)", "normal(m, m, out=x)",
    "special.round(m, decimals=1, out=x)", "tensordot(m, m, 1, out=x)", "t_copy(m, out=x)"])
@pytest.mark.parametrize("leaf", [True, False])
@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
def test_an_out_that_requires_a_gradient_is_resized(call, leaf, device):
    def shape(lib, place):
        m = lib.eye(3, device=place)
        x = lib.ones(5, 2, device=place, requires_grad=True)
        x = x if leaf else x * 2
        with lib.no_grad():
            return tuple(eval(f"lib.{call}", {"lib": lib, "m": m, "x": x}).shape)
    assert shape(mindtorch, device) == shape(torch, "cpu")


@pytest.mark.parametrize("index", [[-1], [-3, 2], [3], [0, -4]])
@pytest.mark.parametrize("dtype", ["float32", "float16", "complex64"])
def test_embedding_renorm_counts_from_the_end(index, dtype):
    """Of the CPU; on the NPU such an index is out of bounds."""
    def call(lib):
        weight = lib.tensor([[3.0, 4.0], [0.0, 1.0], [5.0, 5.0]]).to(getattr(lib, dtype))
        return lib.embedding_renorm_(weight, lib.tensor(index), 2.0, 2.0)
    check(lambda lib, device: call(lib), "cpu", rtol=1e-3, atol=0)


@pytest.mark.parametrize("base", ["int64", "uint8", "float32"])
def test_the_gradient_of_an_exponent_is_as_precise_as_the_power(base, device):
    def slope(lib, place):
        exponent = lib.tensor([2.0, -1.2], dtype=lib.float64, device=place, requires_grad=True)
        (lib.tensor([5, 3], dtype=getattr(lib, base), device=place) ** exponent).sum().backward()
        return exponent.grad.cpu().numpy()
    numpy.testing.assert_allclose(slope(mindtorch, device), slope(torch, "cpu"), rtol=1e-12)


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn", "hfftn", "ihfftn"])
def test_a_fourier_transform_of_one_size(name, device):
    expected, found = (getattr(lib.fft, name)(lib.ones(3, 3, device=place), 2)
                       for lib, place in ((torch, "cpu"), (mindtorch, device)))
    assert tuple(found.shape) == tuple(expected.shape)
