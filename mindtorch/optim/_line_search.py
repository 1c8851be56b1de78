"""How far to go along a direction: a search for a point that fulfils the strong Wolfe conditions.

The method is that of Nocedal and Wright, Numerical Optimization, section 3.5: steps grow until two points bracket a
good one, then the bracket shrinks; cubics through two points and their slopes say where to look.
"""
from __future__ import annotations

from typing import Any, NamedTuple


class Limits(NamedTuple):
    """What a good point is: the shares of the first slope by which the loss has to sink, and that may be left."""
    decrease: float = 1e-4
    curvature: float = 0.9
    smallest_bracket: float = 1e-9


class Point(NamedTuple):
    """A place on the line: how far it is, the loss there, its gradient, and the slope along the line."""
    t: float
    loss: float
    grad: Any
    slope: float = 0.0


def lowest(a: Any, b: Any, bounds: Any = None) -> Any:
    """Where the cubic through two points with their slopes is lowest, within `bounds` or between the two."""
    low, high = bounds or sorted((a.t, b.t))
    if a.t > b.t:
        a, b = b, a
    if a.t == b.t:
        return (low + high) / 2
    middle = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = middle * middle - a.slope * b.slope
    spread = b.slope - a.slope + 2 * square**0.5 if square >= 0 else 0
    if not spread:
        return (low + high) / 2
    return min(max(b.t - (b.t - a.t) * ((b.slope + square**0.5 - middle) / spread), low), high)


def strong_wolfe(at: Any, length: Any, start: Any, size: Any, most: Any, limits: Limits) -> Any:
    """The point to go to, and how often `at`, which gives the Point of a length, was called: once, and `most` times.

    `length` is the first to try, `start` the Point of 0, `size` the largest element of the direction.
    """
    low, high, calls, done = _bracket(at, length, start, most, limits)
    stalled = False
    while not done and calls <= most and abs(high.t - low.t) * size >= limits.smallest_bracket:
        length, stalled = _between(low, high, stalled)
        point, calls = at(length), calls + 1
        if _is_high(point, start, limits) or point.loss >= low.loss:
            low, high = _by_loss(low, point)
        else:
            done = _is_flat(point, start, limits)
            if not done and point.slope * (high.t - low.t) >= 0:
                high = low
            low = point
    return low, calls


def _is_high(point, start, limits):
    return point.loss > start.loss + limits.decrease * point.t * start.slope


def _is_flat(point, start, limits):
    return abs(point.slope) <= -limits.curvature * start.slope


def _by_loss(a, b):
    return (a, b) if a.loss <= b.loss else (b, a)


def _bracket(at, length, start, most, limits):
    """Two points with a good one between them, the lower first; how often `at` was called; whether that one is good."""
    before, point, calls = start, at(length), 1
    while calls <= most:
        if _is_high(point, start, limits) or (calls > 2 and point.loss >= before.loss):
            return *_by_loss(before, point), calls, False
        if _is_flat(point, start, limits):
            return point, point, calls, True
        if point.slope >= 0:
            return *_by_loss(before, point), calls, False
        length = lowest(before, point, (point.t + 0.01 * (point.t - before.t), point.t * 10))
        before, point, calls = point, at(length), calls + 1
    return *_by_loss(start, point), calls, False


def _between(low, high, stalled):
    """The length to try in a bracket, and whether it is near an end: twice in a row it is drawn inside."""
    length = lowest(low, high)
    least, most = sorted((low.t, high.t))
    margin = 0.1 * (most - least)
    if min(most - length, length - least) >= margin:
        return length, False
    if not stalled and least < length < most:
        return length, True
    return (most - margin if abs(length - most) < abs(length - least) else least + margin), False
