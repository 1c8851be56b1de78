"""float32 to the 8-bit floats, rounded as in torch: ml_dtypes, corrected where it differs."""
import ml_dtypes
import numpy as np


def _saturated(values, dtype):
    """For a dtype without infinities: larger numbers become the largest one."""
    most = np.float32(ml_dtypes.finfo(dtype).max)
    return np.clip(values, -most, most).astype(dtype)


def _one_nan(values, dtype):
    """NaN as the one whose bits are all set."""
    found = values.astype(dtype)
    bits = found.view(np.uint8)
    bits[np.isnan(values)] |= 0x7F
    return found


def _exponents(values, dtype):
    """Powers of two: the rounded exponent of float32, without the sign; the smallest one replaces 0."""
    bits = values.view(np.uint32)
    exponents = bits >> 23 & 0xFF
    # Halfway goes up, but not from numbers below the least exponent, which have no leading 1.
    halfway = np.where(exponents > 0, 0x400000, 0x400001).astype(np.uint32)
    up = (bits & 0x7FFFFF >= halfway) & (exponents < 255)
    return (exponents + up).astype(np.uint8).view(dtype)


_ROUNDED = {"float8_e4m3fn": _saturated, "float8_e5m2": _one_nan, "float8_e8m0fnu": _exponents}


def rounded(values, dtype):
    """An array of float32 as one of a float of 8 bits."""
    values = np.asarray(values, order="C")
    known = _ROUNDED.get(dtype.name)
    return values.astype(dtype) if known is None else known(values, dtype)
