"""Samples of convolution, pooling, padding and resampling."""
from samples import FLOATING, SAMPLES, Description, sample

# Where torch's CPU rounds sums of half precision on its way, or has no kernel, there is nothing to compare with.
SUMS = ("bfloat16", "float32", "float64")
WIDE = ("float32", "float64")

_CONVOLUTIONS = (      # input, weight, stride, padding, dilation, transposed, output_padding, groups
    ((2, 3, 8), (4, 3, 3), (1,), (0,), (1,), False, (0,), 1),
    ((2, 4, 9), (4, 2, 3), (2,), (1,), (2,), False, (0,), 2),
    ((1, 3, 6, 7), (2, 3, 3, 2), (2, 1), (1, 0), (1, 2), False, (0, 0), 1),
    ((2, 4, 5, 4), (4, 1, 2, 2), (1, 1), (0, 1), (1, 1), False, (0, 0), 4),
    ((1, 2, 4, 4, 3), (3, 2, 2, 2, 2), (1, 2, 1), (0, 1, 1), (1, 1, 1), False, (0, 0, 0), 1),
    ((2, 4, 5), (4, 2, 3), (2,), (1,), (1,), True, (1,), 1),
    ((1, 4, 3, 4), (4, 2, 2, 3), (2, 1), (1, 0), (1, 2), True, (1, 0), 2),
    ((1, 2, 2, 3, 2), (2, 2, 2, 1, 2), (1, 2, 1), (0, 0, 1), (1, 1, 1), True, (0, 1, 0), 1),
)
_WRONG_CONVOLUTIONS = (
    ((2, 3, 8), (4, 2, 3), (1,), (0,), (1,), False, (0,), 1),
    ((2, 3, 8), (4, 3, 9), (1,), (0,), (1,), False, (0,), 1),
    ((2, 3, 8), (4, 3, 3), (1,), (-1,), (1,), False, (0,), 1),
    ((2, 3, 8), (4, 3, 3), (0,), (0,), (1,), False, (0,), 1),
    ((2, 4, 8), (3, 2, 3), (1,), (0,), (1,), False, (0,), 2),
    ((2, 3, 8), (2, 3, 3), (1,), (0,), (1,), True, (0,), 1),
    ((2, 3, 8), (3, 3, 3), (1,), (0,), (1,), True, (1,), 1),
)


@sample
def convolution(make):
    for given, of_weight, *rest in _CONVOLUTIONS if make.dtype in SUMS else ():
        channels = of_weight[1] * rest[-1] if rest[3] else of_weight[0]
        yield (make(*given), make(*of_weight), make(channels), *rest), {}
        yield (make(*given), make(*of_weight), None, *rest), {}
    for given, of_weight, *rest in _WRONG_CONVOLUTIONS if make.dtype == "float32" else ():
        yield (make(*given), make(*of_weight), None, *rest), {}


def _size_of_result(given, of_weight, stride, padding, dilation, transposed, output_padding, groups):
    dims = zip(given[2:], of_weight[2:], stride, padding, dilation, output_padding, strict=True)
    channels = of_weight[1] * groups if transposed else of_weight[0]
    return (given[0], channels, *((n - 1) * s - 2 * p + d * (k - 1) + o + 1 if transposed else
                                  (n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d, o in dims))


@sample
def convolution_backward(make):
    for number, (given, of_weight, *rest) in enumerate(_CONVOLUTIONS if make.dtype in SUMS else ()):
        result = _size_of_result(given, of_weight, *rest)
        mask = ([True, True, True], [True, True, False], [False, True, True])[number % 3]
        yield (make(*result), make(*given), make(*of_weight), (result[1],), *rest, mask), {}


# --- pooling ---------------------------------------------------------------------------------------------------------

_POOLS = {       # kernel, stride, padding, dilation, ceil_mode
    2: (([3, 2], [2, 1], [1, 1], [1, 1], False), ([2, 2], [2, 2], [0, 0], [1, 2], True),
        ([2, 3], [3, 2], [1, 0], [2, 1], True)),
    3: (([2, 2, 2], [1, 2, 1], [0, 1, 1], [1, 1, 1], False), ([1, 2, 2], [2, 2, 2], [0, 0, 1], [1, 1, 1], True)),
}
_IMAGES = {1: ((2, 3, 6), (2, 5)), 2: ((2, 2, 5, 6), (3, 4, 5)), 3: ((1, 2, 4, 3, 5), (2, 4, 4, 3))}


def _places(image, kernel, stride, padding, dilation, ceil_mode):
    sizes = []
    for n, k, s, p, d in zip(image[-len(kernel):], kernel, stride, padding, dilation, strict=True):
        room = n + 2 * p - d * (k - 1) - 1
        count = (room + (s - 1 if ceil_mode else 0)) // s + 1
        sizes.append(count - (ceil_mode and (count - 1) * s >= n + p))
    return (*image[:-len(kernel)], *sizes)


def _pooled(dims):
    return ((image, pool) for image in _IMAGES[dims] for pool in _POOLS[dims])


def _pool_samples(dims):
    def max_pool(make):
        for image, pool in _pooled(dims) if make.dtype in FLOATING else ():
            yield (make(*image), *pool), {}
        yield (make(2, 2, 0, 4, 4), *_POOLS[dims][0]), {}

    def max_pool_backward(make):
        for image, pool in _pooled(dims) if make.dtype in FLOATING else ():
            places = _places(image, *pool)
            yield (make(*places), make(*image), *pool, make(*places, low=0, high=7, dtype="int64")), {}

    averaged = FLOATING if dims == 2 else WIDE

    def avg_pool(make):
        for image, (kernel, stride, padding, _, ceil_mode) in _pooled(dims) if make.dtype in averaged else ():
            yield (make(*image), kernel, stride, padding, ceil_mode), {}
            yield (make(*image), kernel, stride, padding, ceil_mode, False), {}
            yield (make(*image), kernel, stride, padding, ceil_mode, True, 5), {}
        yield (make(2, 2, 4, 4, 4, 4), *_POOLS[dims][0][:3]), {}

    def avg_pool_backward(make):
        for image, (kernel, stride, padding, _, ceil_mode) in _pooled(dims) if make.dtype in averaged else ():
            places = _places(image, kernel, stride, padding, [1] * dims, ceil_mode)
            for rest in ((True, None), (False, None), (True, 3)):
                yield (make(*places), make(*image), kernel, stride, padding, ceil_mode, *rest), {}

    def adaptive_pool(make):
        for image in _IMAGES[dims] if make.dtype in FLOATING else ():
            for sizes in ([1, 1, 1], [2, 3, 4], [7, 2, 3], [5, 6, 5]):
                yield (make(*image), sizes[:dims]), {}
        yield (make(2, 4), [1] * dims), {}

    def adaptive_pool_backward(make):
        for image in _IMAGES[dims] if make.dtype in FLOATING else ():
            for sizes in ([1, 1, 1], [2, 3, 4], [7, 2, 3]):
                yield (make(*image[:-dims], *sizes[:dims]), make(*image)), {}

    def adaptive_max_pool_backward(make):
        # In three dimensions torch takes indices for contiguous: equal ones are the same in any layout.
        low, high, summed = (0, 7, FLOATING) if dims == 2 else (3, 3, WIDE)
        for (grad, image), _ in adaptive_pool_backward(make) if make.dtype in summed else ():
            yield (grad, image, make(*grad.shape, low=low, high=high, dtype="int64")), {}

    for function in (max_pool, max_pool_backward, avg_pool, avg_pool_backward, adaptive_pool, adaptive_pool_backward,
                     adaptive_max_pool_backward):
        name = function.__name__
        stem = name.removesuffix("_backward")
        SAMPLES[f"{stem}{dims}d{name.removeprefix(stem)}"] = function


for _dims in (2, 3):
    _pool_samples(_dims)


_COLUMNS = (     # image, kernel, dilation, padding, stride, places
    ((2, 3, 5, 6), [2, 3], [1, 1], [0, 1], [1, 2], 12), ((2, 4, 4), [2, 2], [2, 1], [1, 0], [1, 1], 12),
)


@sample
def im2col(make):
    for image, *rest, _ in _COLUMNS:
        yield (make(*image), *rest), {}
    if make.dtype == "float32":
        yield (make(2, 3, 2, 2), [3, 3], [1, 1], [0, 0], [1, 1]), {}


@sample
def col2im(make):
    for image, kernel, *rest, places in _COLUMNS:
        columns = (*image[:-3], image[-3] * kernel[0] * kernel[1], places)
        yield (make(*columns), list(image[-2:]), kernel, *rest), {}
    if make.dtype == "float32":
        yield (make(1, 5, 12), [5, 6], [2, 3], [1, 1], [0, 1], [1, 2]), {}


# --- padding, other sizes --------------------------------------------------------------------------------------------

@sample
def constant_pad_nd(make):
    for shape, pad in (((2, 3), [1, 2]), ((2, 3), [1, 0, -1, 2]), ((3, 4), [-1, -2]), ((2, 1, 3), [0, 1, 1, 1, 2, 0]),
                       ((3,), []), ((0, 2), [1, 1]), ((2, 3), [-3, 0])):
        yield (make(*shape), pad), {}
        yield (make(*shape), pad, 2), {}
    yield (make(2, 3), [1]), {}
    yield (make(2, 3), [-2, -2]), {}
    yield (make(3), [1, 1, 1, 1]), {}


_PADS = {1: ([2, 1], [0, -1], [-1, 3]), 2: ([1, 2, 0, 1], [-1, 1, 2, -1]), 3: ([1, 0, 2, 1, 1, 2], [0, 1, -1, 0, 1, 0])}


def _pad_samples(dims):
    def image_pad(make):
        for image in _IMAGES[dims]:
            for pad in _PADS[dims]:
                yield (make(*image), pad), {}
        if make.dtype == "float32":
            yield (make(2, 0, *(3,) * dims), _PADS[dims][0]), {}
            yield (make(2), _PADS[dims][0]), {}

    def image_pad_backward(make):
        for image in _IMAGES[dims] if make.dtype in WIDE else ():
            for pad in _PADS[dims]:
                sizes = [n + a + b for n, a, b in zip(image[-dims:], pad[-2::-2], pad[-1::-2], strict=True)]
                yield (make(*image[:-dims], *sizes), make(*image), pad), {}

    SAMPLES[f"image_pad{dims}d"], SAMPLES[f"image_pad{dims}d_backward"] = image_pad, image_pad_backward


def _upsample_samples(dims, aligned):
    sizes = ([4, 7, 5], [3, 3, 3], [10, 12, 6], [1, 1, 1])
    flags = ((True,), (False,)) if aligned else ((),)

    def upsample(make):
        for size in sizes if make.dtype in SUMS else ():
            for flag in flags:
                yield (make(*_IMAGES[dims][0]), size[:dims], *flag), {}
        for flag in flags if make.dtype in SUMS else ():
            yield (make(*_IMAGES[dims][0]), [7] * dims, *flag, *[1.3, 1.3, 1.6][:dims]), {}
        yield (make(2, 3), sizes[0][:dims], *flags[0]), {}

    def upsample_backward(make):
        for size in sizes if make.dtype in SUMS else ():
            for flag in flags:
                image = _IMAGES[dims][0]
                yield (make(*image[:2], *size[:dims]), size[:dims], list(image), *flag), {}

    ending = "_aligned" if aligned else ""
    SAMPLES[f"upsample{dims}d{ending}"], SAMPLES[f"upsample{dims}d_backward{ending}"] = upsample, upsample_backward


for _dims in (1, 2, 3):
    _pad_samples(_dims)
    _upsample_samples(_dims, aligned=False)
    _upsample_samples(_dims, aligned=True)


# --- the reverse of pooling, grids -----------------------------------------------------------------------------------

# Every index once: torch does not say which of several elements with one index stays.
_UNPOOLED = {
    2: (((1, 2, 2), [4, 4], (0, 3, 8, 15)), ((2, 1, 1, 3), [2, 3], (5, 0, 2, 1, 2, 3))),
    3: (((1, 1, 2, 2), [2, 2, 3], (0, 3, 8, 11)), ((1, 1, 1, 1, 2), [2, 3, 3], (17, 4))),
}


def _unpool_samples(dims):
    def max_unpool(make):
        windows = () if dims == 2 else ([2] * 3, [0] * 3)
        for shape, size, indices in _UNPOOLED[dims]:
            places = Description(shape, indices, "int64", expandable=False)
            yield (make(*shape), places, size, *windows), {}
            yield (make(*shape[:-1], 5), places, size, *windows), {}
            yield (make(2, *shape), places, size, *windows), {}
            yield (make(*shape), make(*shape), size, *windows), {}
    return max_unpool


for _dims in (2, 3):
    SAMPLES[f"max_unpool{_dims}d"] = _unpool_samples(_dims)


_SAMPLED = {
    2: (((2, 3, 4, 5), (2, 3, 2, 2)), ((1, 1, 1, 3), (1, 2, 2, 2)), ((1, 2, 3, 3), (1, 4, 3, 2))),
    3: (((2, 2, 3, 4, 2), (2, 2, 3, 1, 3)), ((1, 1, 1, 3, 2), (1, 2, 2, 2, 3))),
}
_WRONG_GRIDS = {
    2: (((1, 1, 3), (1, 2, 2)), ((2, 1, 3, 3), (1, 2, 2, 2)), ((1, 1, 3, 3), (1, 2, 2, 3)),
        ((1, 1, 0, 3), (1, 2, 2, 2))),
    3: (((1, 1, 3, 3), (1, 2, 2, 2)), ((1, 1, 3, 3, 3), (1, 2, 2, 2, 2)), ((1, 1, 3, 0, 3), (1, 2, 2, 2, 3))),
}


def _grid_samples(dims):
    modes = [(mode, padding, aligned) for mode in range(4 - dims + 1) for padding in range(3)
             for aligned in (True, False)]

    def grid_sampler(make):
        # In half precision torch finds positions in it.
        for image, grid in _SAMPLED[dims] if make.dtype in WIDE else ():
            yield from (((make(*image), make(*grid, low=-1.7, high=1.7), *rest), {}) for rest in modes)
        for image, grid in _WRONG_GRIDS[dims]:
            yield (make(*image), make(*grid), 0, 0, False), {}
        yield (make(*_SAMPLED[dims][1][0]), make(*_SAMPLED[dims][1][1], dtype="float64"), 0, 0, False), {}

    def grid_sampler_backward(make):
        for image, grid in _SAMPLED[dims] if make.dtype in WIDE else ():
            for number, rest in enumerate(modes):
                mask = ([True, True], [False, True])[number % 2]        # torch computes that of the grid always
                operands = make(*image[:2], *grid[1:-1]), make(*image), make(*grid, low=-1.7, high=1.7)
                yield (*operands, *rest, mask), {}

    return grid_sampler, grid_sampler_backward


for _dims in (2, 3):
    SAMPLES[f"grid_sampler{_dims}d"], SAMPLES[f"grid_sampler{_dims}d_backward"] = _grid_samples(_dims)


@sample
def affine_grid(make):
    for aligned in (True, False) if make.dtype in FLOATING else ():
        yield (make(2, 2, 3), [2, 1, 3, 4], aligned), {}
        yield (make(2, 3, 4), [2, 1, 2, 3, 4], aligned), {}
        if make.dtype in WIDE:
            yield (make(1, 2, 3), [1, 1, 1, 2], aligned), {}
    if make.dtype == "float32":
        yield from (((make(*shape), size, True), {}) for shape, size in (
            ((2, 2, 3), [1, 1, 3, 4]), ((1, 3, 4), [1, 1, 3, 4]), ((1, 2, 3), [1, 3, 4]), ((2, 3), [1, 1, 3, 4])))


# --- antialiasing ----------------------------------------------------------------------------------------------------

@sample
def upsample2d_antialias(make):
    images = ((2, 3, 7, 6), [3, 4], (0.45, 0.7)), ((1, 2, 3, 2), [5, 7], (1.7, 3.6))
    for image, sizes, given in images if make.dtype in WIDE else ():
        yield from (((make(*image), sizes, aligned, *scales), {})
                    for aligned in (True, False) for scales in ((), given))
    if make.dtype in WIDE:
        yield from (((make(*image), sizes, False), {}) for image, sizes in (
            ((2, 3, 4), [3, 4]), ((1, 1, 4, 4), [0, 2]), ((0, 1, 4, 4), [2, 2]), ((1, 1, 0, 4), [2, 2])))


@sample
def upsample2d_antialias_backward(make):
    for aligned in (True, False) if make.dtype in WIDE else ():
        yield (make(2, 3, 3, 4), [3, 4], [2, 3, 7, 6], aligned), {}
        yield (make(1, 2, 5, 7), [5, 7], [1, 2, 3, 2], aligned, 1.7, None), {}
