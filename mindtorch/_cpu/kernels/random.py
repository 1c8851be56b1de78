"""CPU kernels of the random ops: the numbers that torch's CPU generator deals for the same seed.

Arrays are the tensors' own memory, in their own dtype; `stream` is the generator's Mersenne. torch walks a tensor that
is not contiguous in the order of its memory, so numbers are dealt in that order.
"""
import numpy as np

_FAST = 16      # from here on torch fills contiguous tensors with normal numbers in blocks of as many


def _is_half(array) -> bool:
    return array.dtype.itemsize == 2


def _is_double(array) -> bool:
    return array.dtype == np.float64


def _as_real(array):
    """A complex array as its real and imaginary parts, one after the other; others as they are."""
    return array[..., np.newaxis].view(array.real.dtype) if array.dtype.kind == "c" else array


def _with_layout_of(array, numbers):
    """`numbers`, one an element in order of memory, shaped as `array`."""
    strides = [stride for stride, size in zip(array.strides, array.shape, strict=True) if size > 1]
    if strides == sorted(strides, reverse=True):
        return numbers.reshape(array.shape)
    axes = sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]))
    dealt = numbers.reshape([array.shape[axis] for axis in axes])
    return dealt.transpose(np.argsort(axes))


def _fused(x, factor, addend):
    """x * factor + addend in float64, rounded once: torch's loops are compiled to fused instructions."""
    def halves(number):
        high = 134217729.0 * number
        high = high - (high - number)
        return high, number - high
    product = x * factor
    (x_high, x_low), (high, low) = halves(x), halves(np.float64(factor))
    product_error = ((x_high * high - product) + x_high * low + x_low * high) + x_low * low
    total = product + addend
    back = total - product
    return total + ((product - (total - back)) + (addend - back) + product_error)


def uniform(out, low, high, stream):
    """Numbers in [low, high): of 24 random bits, or 53 in float64."""
    parts = _as_real(out)
    if _is_double(parts):
        numbers = stream.doubles(parts.size)
        scale = 2.0 ** -64 if high - low > 2.0 ** 900 else 1.0          # what _fused splits must not overflow
        numbers = numbers * high if low == 0 else _fused(numbers, (high - low) * scale, low * scale) / scale
        return _filled(out, np.where(numbers == high, low, numbers))
    first, last = np.float32(low), np.float32(high)
    numbers = stream.floats(parts.size)
    if (low, high) != (0, 1):       # float64 holds the exact product, so that only one rounding is left
        numbers = (numbers.astype(np.float64) * (last - first) + first).astype(np.float32)
    numbers = numbers.astype(parts.dtype)
    # Rounding may reach the open end of the range.
    return _filled(out, np.where(numbers == parts.dtype.type(high), parts.dtype.type(low), numbers))


def _filled(out, numbers):
    if out.dtype.kind == "c":
        numbers = np.ascontiguousarray(numbers).astype(out.real.dtype).view(out.dtype)
    return _with_layout_of(out, numbers)


def bernoulli(out, p, stream):
    """1 with probability p, else 0."""
    return _with_layout_of(out, stream.doubles(out.size) < p)


def rrelu(x, noise, lower, upper, stream):
    """x times slopes: drawn in [lower, upper) where x is not positive, in the order of a loop, else 1."""
    kind = noise.dtype.type
    low, high = float(kind(lower)), float(kind(upper))
    falls = x <= 0
    noise[...] = kind(1)
    noise[falls] = (stream.doubles(np.count_nonzero(falls)) * (high - low) + low).astype(kind)
    return x * noise.astype(x.dtype)


def dropout_mask(out, input, p, stream):
    """Bytes in which a bit is 1, the lowest first, where the element of `input` stays: with the probability 1 - p."""
    bits = np.zeros(8 * out.size, bool)
    model = input if all(input.strides) else np.broadcast_to(False, input.shape)     # torch's noise is dense
    bits[:input.size] = bernoulli(model, 1 - p, stream).reshape(-1)
    return np.packbits(bits, bitorder="little")


def dropout(out, x, mask, p):
    """The kept elements of `x` times 1 / (1 - p), which is rounded to the result's dtype."""
    precise = np.float64 if _is_double(out) else np.float32
    factor = out.dtype.type(precise(1) / precise(1 - p))
    kept = x * np.unpackbits(mask, count=x.size, bitorder="little").reshape(x.shape)
    kept *= x.dtype.type(factor)      # a method of a NumPy scalar would fill Python's cache of attributes
    return kept


def bernoulli_of(out, p, stream):
    """1 with the probability in the same element of `p`, else 0."""
    p = np.broadcast_to(p, out.shape)
    if not np.all((p >= 0) & (p <= 1)):
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be "
                           "improved?  If so, please report an enhancement request to PyTorch.)")
    numbers = stream.doubles(out.size) if _is_double(p) else stream.floats(out.size)
    return _with_layout_of(out, numbers) < p


def normal(out, mean, std, stream):
    """Normal numbers by Box and Muller: in blocks for contiguous tensors of 16 elements or more, else one by one."""
    if out.dtype.kind == "c":       # both parts share the variance
        return _filled(out, normal(np.empty(2 * out.size, out.real.dtype), mean, std / np.sqrt(2.0), stream))
    if out.size >= _FAST and out.flags.c_contiguous:
        return _normal_blocks(out, mean, std, stream).reshape(out.shape)
    return _with_layout_of(out, pairs(out.size, stream) * std + mean)


def _normal_blocks(out, mean, std, stream):
    uniform = stream.doubles if _is_double(out) else stream.floats
    whole = out.size // _FAST * _FAST
    # A rest is drawn anew together with what precedes it, to make up a block; half types draw blocks only.
    drawn = uniform(whole if _is_half(out) else out.size)
    numbers = np.empty(out.size, drawn.dtype)
    numbers[:whole] = _block(drawn[:whole], mean, std)
    if whole < out.size:
        numbers[-_FAST:] = _block(uniform(_FAST), mean, std)
    return numbers


def _block(uniform, mean, std):
    rows = uniform.reshape(-1, 2, _FAST // 2)
    kind = rows.dtype.type
    radius = np.sqrt(kind(-2) * np.log(kind(1) - rows[:, 0]))
    angle = kind(2 * np.pi) * rows[:, 1]
    made = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)
    return (made * kind(std) + kind(mean)).reshape(-1)


def pairs(count, stream):
    """`count` normal numbers as torch's serial loop makes them: in pairs, the second kept for the next one."""
    made = [] if stream.normal is None or not count else [stream.normal]
    missing = count - len(made)
    if not count:
        return np.empty(0)
    uniform = stream.doubles((missing + 1) // 2 * 2).reshape(-1, 2)
    radius = np.sqrt(-2.0 * np.log1p(-uniform[:, 1]))
    angle = 2.0 * np.pi * uniform[:, 0]
    new = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).reshape(-1)
    stream.normal = float(new[-1]) if missing % 2 else None
    return np.concatenate([made, new[:missing]])


_DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}


def _representable_bounds(dtype, low, high):
    """Bounds moved inwards, as torch moves them, where a floating dtype rounds the first or last number out of them."""
    digits = _DIGITS.get(dtype.type.__name__)
    if digits is None or high == 2 ** 63:
        return low, high
    first, last = low + 1, high - 1
    if int(dtype.type(last)) >= high:
        high -= 1 << last.bit_length() - digits
    if int(dtype.type(first)) < low:
        low += 1 << abs(first).bit_length() - digits
    return low, high


def integers(out, low, high, stream):
    """Integers in [low, high); `high` of None is the end of int64. Ranges from 2**28 on take two words each."""
    low, high = _representable_bounds(out.dtype, low, high[0] if high else 2 ** 63)
    span = high - low
    if span < 1 << 28:
        numbers = stream.uint32s(out.size) % np.uint32(span) + np.int64(low)
    else:
        words = stream.uint64s(out.size)
        if span < 2 ** 64:      # else every word is a number
            words = words % np.uint64(span) + np.uint64(low % 2 ** 64)
        numbers = words.view(np.int64)
    return _with_layout_of(out, numbers)


def full_range(out, stream):
    """Integers from 0 on: to the dtype's largest, or to the end of what a floating dtype holds without gaps."""
    dtype = out.dtype
    if dtype == np.int64:
        return _with_layout_of(out, stream.uint64s(out.size) & np.uint64(2 ** 63 - 1))
    if dtype == np.float64:
        return _with_layout_of(out, stream.uint64s(out.size) % np.uint64(2 ** 53 + 1))
    end = {"b": 2, "i": 1 << 8 * dtype.itemsize - 1, "u": 1 << 8 * dtype.itemsize}.get(dtype.kind) or (
        1 << {4: 24}.get(dtype.itemsize, 11 if dtype == np.float16 else 8)) + 1
    return _with_layout_of(out, stream.uint32s(out.size) % np.uint32(end))


def exponential(out, rate, stream):
    return _with_layout_of(out, -1 / rate * np.log1p(-stream.doubles(out.size)))


def geometric(out, p, stream):
    """How many trials up to the first success."""
    return _with_layout_of(out, np.ceil(np.log(stream.doubles(out.size)) / np.log1p(-p)))


def cauchy(out, median, sigma, stream):
    return _with_layout_of(out, median + sigma * np.tan(np.pi * (stream.doubles(out.size) - 0.5)))


def log_normal(out, mean, std, stream):
    return _with_layout_of(out, np.exp(pairs(out.size, stream) * std + mean))


def multinomial(weights, count, replacement, stream):
    """Indices by weight. One sample, or several without replacement, win a race of exponential numbers."""
    replacement = replacement and count > 1
    _check_weights(weights, replacement)
    dtype, weights = weights.dtype, weights if _is_double(weights) else weights.astype(np.float32)
    if replacement:
        edges = np.cumsum(weights, axis=-1)
        edges = np.atleast_2d(edges / edges[..., -1:])
        spots = stream.doubles(len(edges) * count).reshape(len(edges), count)
        chosen = [np.searchsorted(row, spot, "left") for row, spot in zip(edges, spots, strict=True)]
        return np.stack(chosen).reshape(*weights.shape[:-1], count)
    race = exponential(np.empty(weights.shape, weights.dtype), 1, stream).astype(dtype).astype(weights.dtype)
    scores = (weights / race).astype(dtype).astype(weights.dtype)       # 16 bits leave many equal, as in torch
    return np.argsort(-scores, axis=-1, kind="stable")[..., :count]


def _check_weights(weights, replacement):
    """torch's two algorithms say differently what they cannot choose by."""
    if replacement and not np.all(weights >= 0):
        raise RuntimeError("invalid multinomial distribution (encountering probability entry < 0)")
    if replacement and not np.all(np.isfinite(weights)):
        raise RuntimeError("invalid multinomial distribution (encountering probability entry = infinity or NaN)")
    if not np.all(np.isfinite(weights) & (weights >= 0)):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if not np.all(np.sum(weights, axis=-1, dtype=np.float64) > 0):
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")


def permutation(out, stream):
    """The numbers below out.size in random order."""
    return stream.permutation(out.size)
