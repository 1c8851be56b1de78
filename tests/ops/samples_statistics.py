"""Samples of reductions, scans, sorts and searches."""
from samples import FLOATING, INTEGRAL, Description, sample


def distinct(make, *shape, start=0):
    """Elements that all differ, so that selections have one answer only."""
    count = 1
    for size in shape:
        count *= size
    values = [start + i for i in range(count)]
    make.random.shuffle(values)
    kind = bool if make.dtype == "bool" else int if make.dtype in INTEGRAL else float
    return Description(shape, tuple(map(kind, values)), make.dtype)


@sample
def variance(make):
    yield (make(2, 3),), {}
    yield (make(2, 3, 4), [1]), {}
    yield (make(2, 3, 4), (0, -1)), {"keepdim": True}
    yield (make(2, 3, 4), [0, 1]), {"correction": 0}
    yield (make(2, 3),), {"correction": 2, "keepdim": True}
    yield (make(2, 3), [1]), {"correction": 5}
    yield (make(), [0]), {"correction": 0}
    yield (make(),), {}
    yield (make(0, 3), [0]), {}
    yield (make(0, 3), [1]), {}
    yield (make(0, 3),), {}
    yield (make(2, 3), [2]), {}
    yield (make(8, special=True),), {}


@sample
def product(make):
    for shape in ((2, 3), (), (0, 3), (3, 1, 2)):
        yield (make(*shape),), {}
    yield (make(2, 3),), {"dtype": "float32"}
    yield (make(8, special=True),), {}


@sample
def product_dim(make):
    yield (make(2, 3, 4), 1), {}
    yield (make(2, 3, 4), -1, True), {}
    yield (make(2, 3), 0), {"dtype": "int64"}
    yield (make(), 0), {}
    yield (make(3, 0), 0), {}
    yield (make(3, 0), 1), {}
    yield (make(2, 3), 2), {}
    yield (make(8, special=True), 0), {}


@sample
def logsumexp(make):
    yield (make(2, 3), 1), {}
    yield (make(2, 3, 4), (0, 2), True), {}
    yield (make(2, 3), [0, 1]), {}
    yield (make(), 0), {}
    yield (make(0, 3), 0), {}
    yield (make(0, 3), 1), {}
    yield (make(2, 3), 2), {}
    if make.dtype in FLOATING:
        yield (make(8, special=True), 0), {}


@sample
def scan(make):
    yield (make(2, 3, 4), 1), {}
    yield (make(5), -1), {}
    yield (make(2, 3), 0), {}
    yield (make(), 0), {}
    yield (make(0, 3), 0), {}
    yield (make(2, 3), 2), {}
    yield (make(8, special=True), 0), {}


@sample
def scan_ordered(make):
    """Without infinities, which torch's order of summation decides."""
    yield (make(2, 3, 4), 1), {}
    yield (make(5), -1), {}
    yield (make(), 0), {}
    yield (make(0, 3), 0), {}
    yield (make(2, 3), 2), {}


@sample
def scan_dtype(make):
    yield from scan(make)
    yield (make(2, 3), 0), {"dtype": "float32"}
    yield (make(2, 3), 1), {"dtype": "bool"}


@sample
def sort(make):
    yield (make(2, 3, 4),), {}
    yield (make(2, 3, 4), 1), {}
    yield (make(7), -1, True), {}
    yield (make(2, 3),), {"dim": 0, "descending": True}
    yield (make(),), {}
    yield (make(0, 3), 0), {}
    yield (make(2, 3), 2), {}
    yield (make(8, special=True),), {}
    yield (make(8, special=True),), {"descending": True}


@sample
def sort_stable(make):
    for args, kwargs in sort(make):
        names = dict(zip(("dim", "descending"), args[1:], strict=False))
        yield args[:1], {"stable": True, **names, **kwargs}
    yield (make(5),), {"stable": False}
    yield (make(5),), {"stable": None}


@sample
def topk(make):
    yield (distinct(make, 2, 3, 4), 2), {}
    yield (distinct(make, 2, 3, 4), 2, 1), {}
    yield (distinct(make, 2, 7), 3), {"largest": False}
    yield (distinct(make, 2, 3), 3, 1, True, True), {}
    yield (make(), 1), {}
    yield (make(2, 3), 0), {}
    yield (make(2, 3), 4), {}
    yield (make(2, 3), -1), {}
    yield (make(2, 3), 1, 2), {}
    yield (make(0, 3), 2), {}


@sample
def kthvalue(make):
    yield (distinct(make, 2, 3, 4), 2), {}
    yield (distinct(make, 2, 3, 4), 1, 1), {}
    yield (distinct(make, 2, 7), 7), {"keepdim": True}
    yield (make(), 1), {}
    yield (make(2, 3), 0), {}
    yield (make(2, 3), 4), {}
    yield (make(2, 3), 1, 2), {}
    yield (make(3, 0), 1, 0), {}
    yield (make(3, 0), 1, 1), {}


@sample
def median_all(make):
    for shape in ((2, 3), (5,), (), *([(0, 3)] if make.dtype in FLOATING else [])):
        yield (make(*shape),), {}
    yield (make(8, special=True),), {}


@sample
def median(make):
    yield (distinct(make, 2, 3, 4), 1), {}
    yield (distinct(make, 2, 3, 4), -1, True), {}
    yield (distinct(make, 2, 5),), {"dim": -1}
    yield (make(), 0), {}
    yield (make(3, 0), 0), {}
    yield (make(3, 0), 1), {}
    yield (make(2, 3), 2), {}
    if make.dtype in FLOATING:
        yield (make(1, 8, special=True), 1), {}


@sample
def mode(make):
    yield (make(2, 3, 4), 1), {}
    yield (make(2, 9), -1, True), {}
    yield (make(9),), {}
    yield (make(),), {}
    yield (make(3, 0), 0), {}
    yield (make(3, 0), 1), {}
    yield (make(2, 3), 2), {}


@sample
def searchsorted(make):
    ordered = [False, True] if make.dtype == "bool" else [0, 1, 1, 3, 5]
    line = Description((len(ordered),), tuple(ordered), make.dtype)
    rows = Description((2, len(ordered)), tuple(ordered) * 2, make.dtype)
    for right in (False, True):
        yield (line, make(2, 3, low=-1, high=6)), {"right": right}
        yield (rows, make(2, 7, low=-1, high=6)), {"right": right}
    yield (line, make(4)), {"side": "right", "out_int32": True}
    yield (line, make(4)), {"side": "left", "right": True}
    yield (line, make(4)), {"side": "middle"}
    yield (rows, make(3, 7)), {}
    yield (make(), make(3)), {}
    yield (line, make()), {}
    yield (line, make(0, 3)), {}
    yield (rows, make()), {}
    yield (line, make(3, dtype="float32")), {}
    yield (line, 2), {}
    shuffled = Description((3,), (True, False, True) if make.dtype == "bool" else (4, 0, 2), make.dtype)
    yield (shuffled, make(4)), {"sorter": Description((3,), (1, 2, 0), "int64")}
    yield (shuffled, make(4)), {"sorter": Description((3,), (1, 2, 0), "float32")}
    yield (shuffled, make(4)), {"sorter": Description((2,), (1, 0), "int64")}


@sample
def histc(make):
    for shape in ((2, 9), (5,), ()):
        yield (make(*shape),), {"bins": 4, "min": -3, "max": 3}
        yield (make(*shape), 5), {}
    yield (make(6), 11), {}
    yield (make(0, 3), 3), {}
    yield (make(6), 0), {}
    yield (make(6), 3, 2, 1), {}
    yield (make(6), 3, 0, float("inf")), {}


# --- distinct elements -----------------------------------------------------------------------------------------------

def _few(make, *values, shape=None):
    """Equal elements in every dtype: 0 and 1 are what a bool holds."""
    return Description(shape or (len(values),), values, make.dtype)


@sample
def unique(make):
    for flags in ((True, True, True), (True, True, False), (True, False, False)):
        yield (_few(make, 1, 0, 1, 1, 0, 0), *flags), {}
        yield (_few(make, 1, 0, 1, 1, 0, 0, shape=(2, 3)), *flags), {}
        yield (_few(make, 1, shape=()), *flags), {}
        yield (make(0, 3), *flags), {}
    yield (make(8, special=True), True, True, True), {}
    yield (make(700, low=0, high=50), True, True, True), {}


@sample
def unique_dim(make):
    slices = _few(make, 1, 0, 1, 0, 0, 1, 1, 0, 1, 1, 0, 0, shape=(3, 2, 2))
    for dim in (0, 1, -1):
        yield (slices, dim, True, True, True), {}
    yield (_few(make, 1, 0, 1), 0), {}
    yield (make(0, 3), 0), {}
    yield (make(0, 3), 1), {}
    yield (make(), 0), {}
    yield (make(2, 3), 2), {}


@sample
def unique_consecutive(make):
    line = _few(make, 1, 1, 0, 0, 0, 1)
    for flags in ((True, True), (True, False), (False, False)):
        yield (line, *flags), {}
        yield (_few(make, 1, 1, 0, 0, shape=(2, 2)), *flags), {}
        yield (_few(make, 1, shape=()), *flags), {}
    for dim in (0, -1):
        yield (_few(make, 1, 0, 1, 0, 0, 0, shape=(3, 2)), True, True, dim), {}
    yield (make(8, special=True), True, True), {}
    yield (make(0, 3), True, True, 0), {}
    yield (make(0, 3), True, True, 1), {}
    yield (make(), True, True, 0), {}
    yield (make(2, 3), True, True, 2), {}


@sample
def bincount(make):
    def numbers(*values, dtype="int64", shape=None):
        return Description(shape or (len(values),), values, dtype)
    for dtype in INTEGRAL:
        yield (numbers(1, 3, 1, 0, dtype=dtype),), {}
    yield (numbers(1, 3, 1), make(3)), {}
    yield (numbers(1, 3, 1), make(3), 6), {}
    yield (numbers(2, 2),), {"minlength": 2}
    yield (numbers(shape=(0,)),), {"minlength": 3}
    yield (numbers(shape=(0,)), make(0)), {}
    yield (numbers(-1, 1),), {}
    yield (numbers(1, 1), make(3)), {}
    yield (numbers(1, 1, shape=(1, 2)),), {}
    yield (numbers(1),), {"minlength": -1}
    yield (make(3, dtype="float32"),), {}


# --- distances of rows -----------------------------------------------------------------------------------------------

_NORMS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, float("inf"))


@sample
def cdist(make):
    for p in _NORMS if make.dtype in ("float32", "float64") else ():
        yield from (((make(*one), make(*other), p, None), {}) for one, other in (
            ((4, 3), (2, 3)), ((2, 4, 3), (3, 3)), ((2, 1, 3, 2), (3, 4, 2)), ((0, 2), (3, 2)), ((2, 0), (3, 0))))
    if make.dtype == "float32":
        yield from (((make(*one), make(*other), p, mode), {}) for one, other, p, mode in (
            ((4, 3), (2, 3), 2.0, 1), ((4, 3), (2, 3), 2.0, 2), ((4, 3), (2, 3), 2.0, 3), ((4, 3), (2, 3), -1.0, None),
            ((3,), (2, 3), 2.0, None), ((4, 2), (2, 3), 2.0, None), ((2, 4, 3), (3, 2, 3), 2.0, None)))
        yield (make(2, 3), make(2, 3, dtype="float64"), 1.0, None), {}


@sample
def cdist_backward(make):
    # torch tells from the distances that it is given which coordinate decides the norm inf.
    for p in _NORMS[:-1] if make.dtype in ("float32", "float64") else ():
        yield (make(4, 2), make(4, 3), make(2, 3), p, make(4, 2, low=1)), {}
        yield (make(2, 4, 2), make(2, 4, 3), make(2, 2, 3), p, make(2, 4, 2, low=1)), {}


@sample
def pdist(make):
    for p in _NORMS if make.dtype in ("float32", "float64") else ():
        yield from (((make(*shape), p), {}) for shape in ((4, 3), (1, 3), (2, 0), (0, 3)))
