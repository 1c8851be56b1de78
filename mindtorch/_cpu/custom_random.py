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


def _parts(array):
    """A complex array as its real and imaginary parts, one after the other; others as they are."""
    return array[..., np.newaxis].view(array.real.dtype) if array.dtype.kind == "c" else array


def _deal(array, numbers):
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
    parts = _parts(out)
    if _is_double(parts):
        numbers = stream.doubles(parts.size)
        numbers = numbers * high if low == 0 else _fused(numbers, high - low, low)
        return _filled(out, np.where(numbers == high, low, numbers))
    first, last = np.float32(low), np.float32(high)
    # float64 holds the exact product, so that only one rounding is left.
    numbers = (stream.floats(parts.size).astype(np.float64) * (last - first) + first).astype(np.float32)
    numbers = numbers.astype(parts.dtype)
    # Rounding may reach the open end of the range.
    return _filled(out, np.where(numbers == parts.dtype.type(high), parts.dtype.type(low), numbers))


def _filled(out, numbers):
    if out.dtype.kind == "c":
        numbers = np.ascontiguousarray(numbers).astype(out.real.dtype).view(out.dtype)
    return _deal(out, numbers)


def bernoulli(out, p, stream):
    """1 with probability p, else 0."""
    return _deal(out, stream.doubles(out.size) < p)


def bernoulli_of(out, p, stream):
    """1 with the probability that stands at the same place of `p`."""
    p = np.broadcast_to(p, out.shape)
    if not np.all((p >= 0) & (p <= 1)):
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be "
                           "improved?  If so, please report an enhancement request to PyTorch.)")
    numbers = stream.doubles(out.size) if _is_double(p) else stream.floats(out.size)
    return _deal(out, numbers) < p


def normal(out, mean, std, stream):
    """Normal numbers by Box and Muller: in blocks for contiguous tensors of 16 elements or more, else one by one."""
    if out.dtype.kind == "c":       # both parts share the variance
        return _filled(out, normal(np.empty(2 * out.size, out.real.dtype), mean, std / np.sqrt(2.0), stream))
    if out.size >= _FAST and out.flags.c_contiguous:
        return _normal_blocks(out, mean, std, stream).reshape(out.shape)
    return _deal(out, pairs(out.size, stream) * std + mean)


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
