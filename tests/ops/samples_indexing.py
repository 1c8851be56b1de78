"""Samples of operators that take index tensors; samples.py says what a sample is."""
from dataclasses import replace

from samples import Description, sample


def places(make, shape, size, dtype="int64"):
    """Indices below `size`."""
    return make(*shape, low=0, high=size - 1, dtype=dtype)


def tensor_of(*values, shape=None, dtype="int64"):
    return Description(shape or (len(values),), values, dtype)


@sample
def index(make):
    yield (make(4, 3), (places(make, (2,), 4),)), {}


@sample
def index_put(make):
    yield (make(4, 3), (tensor_of(0, 2),), make(2, 3)), {}
    yield (make(4, 3), (tensor_of(0, 2), tensor_of(1, 1)), make(2)), {}
    yield (make(4, 3), (tensor_of(0, 2, 0),), make(3)), {"accumulate": True}
    yield (make(4, 3), (tensor_of(-1, 1, shape=(2, 1)), tensor_of(0, 2)), make()), {}
    yield (make(4, 3), (make(4, 3, dtype="bool"),), make(1)), {}
    yield (make(4, 3), (tensor_of(0, shape=(1,)),), make(2)), {}
    yield (make(4, 3), (tensor_of(0, dtype="int16"),), make(3)), {}
    yield (make(4, 3), (tensor_of(0),), make(3, dtype="float64")), {}
    yield (make(4, 3), (tensor_of(shape=(0,)),), make(3)), {}


@sample
def gather(make):
    for dtype in ("int64", "int32"):
        yield (make(4, 3), 0, places(make, (2, 3), 4, dtype)), {}
    yield (make(4, 3), -1, places(make, (4, 5), 3)), {}
    yield (make(2, 3, 4), 1, places(make, (1, 5, 2), 3)), {}
    yield (make(), 0, tensor_of(0, shape=())), {}
    yield (make(), 0, tensor_of(0, 0, 0)), {}
    yield (make(3), 0, tensor_of(2, shape=())), {}
    yield (make(4, 3), 0, tensor_of(shape=(0, 3))), {}
    yield (make(4, 3), 0, tensor_of(0)), {}
    yield (make(4, 3), 0, places(make, (1, 5), 4)), {}
    yield (make(4, 3), 0, places(make, (1, 3), 4, "uint8")), {}
    yield (make(4, 3), 2, places(make, (1, 3), 4)), {}


def _distinct(make, dtype="int64"):
    """A permutation in each column, so that no order of writing matters."""
    return tensor_of(2, 0, 1, 3, 1, 2, 0, 3, shape=(2, 4), dtype=dtype)


@sample
def scatter(make):
    for dtype in ("int64", "int32"):
        yield (make(3, 4), 1, _distinct(make, dtype), make(2, 4)), {}
    yield (make(3, 4), -1, _distinct(make), make(3, 5)), {}
    yield (make(4, 3), 0, tensor_of(3, 0, 1, shape=(1, 3)), make(1, 3)), {}
    yield (make(), 0, tensor_of(0, shape=()), make()), {}
    yield (make(3), 0, tensor_of(2, shape=()), make()), {}
    yield (make(3, 4), 0, tensor_of(shape=(0, 4)), make(0, 4)), {}
    yield (make(3, 4), 1, tensor_of(0), make(3, 4)), {}
    yield (make(3, 4), 1, _distinct(make), make(1, 4)), {}
    yield (make(3, 4), 1, _distinct(make, "uint8"), make(2, 4)), {}
    yield (make(3, 4), 1, _distinct(make), make(2, 4, dtype="float64")), {}
    yield (make(3, 4), 2, _distinct(make), make(2, 4)), {}


@sample
def scatter_value(make):
    for number in make.numbers:
        yield (make(3, 4), 1, _distinct(make), number), {}
    yield (make(3, 4), 0, tensor_of(2, 2, 2, 2, shape=(1, 4)), 3), {}
    yield (make(), 0, tensor_of(0, shape=()), 1), {}
    yield (make(3, 4), 1, tensor_of(0), 1), {}


@sample
def scatter_with(make):
    for reduce in ("add", "multiply", "mean"):
        yield (make(3, 4), 1, _distinct(make), make(2, 4)), {"reduce": reduce}


@sample
def scatter_value_with(make):
    for reduce in ("add", "multiply", "mean"):
        yield (make(3, 4), 1, _distinct(make), 2), {"reduce": reduce}


@sample
def scatter_reduce(make):
    for reduce in ("sum", "prod", "mean", "amax", "amin"):
        for include_self in (True, False):
            yield (make(3, 4), 1, tensor_of(0, 1, 0, 3, 1, 1, 0, 2, shape=(2, 4)), make(2, 4), reduce), {
                "include_self": include_self}
    yield (make(), 0, tensor_of(0, shape=()), make(), "sum"), {}
    yield (make(3, 4), 0, tensor_of(shape=(0, 4)), make(0, 4), "amax"), {}
    yield (make(3, 4), 1, _distinct(make), make(2, 4), "add"), {}
    yield (make(3, 4), 1, tensor_of(0), make(3, 4), "sum"), {}


@sample
def index_select(make):
    for dtype in ("int64", "int32"):
        yield (make(4, 3), 0, tensor_of(3, 0, 3, dtype=dtype)), {}
    yield (make(2, 3, 4), -2, tensor_of(1)), {}
    yield (make(4, 3), 1, tensor_of(2, shape=())), {}
    yield (make(), 0, tensor_of(0)), {}
    yield (make(4, 3), 0, tensor_of(shape=(0,))), {}
    yield (make(4, 3), 0, tensor_of(0, 1, shape=(1, 2))), {}
    yield (make(), 0, tensor_of(0, 0)), {}
    yield (make(4, 3), 0, tensor_of(0, dtype="float32")), {}


@sample
def index_add(make):
    for dtype in ("int64", "int32"):
        yield (make(4, 3), 0, tensor_of(3, 0, dtype=dtype), make(2, 3)), {}
    yield (make(4, 3), -1, tensor_of(0, 0, 2), make(4, 3)), {"alpha": 2}
    yield (make(2, 3, 4), 1, tensor_of(1, 1), make(2, 2, 4)), {}
    yield (make(3), 0, tensor_of(1, shape=()), make()), {}
    yield (make(4, 3), 0, tensor_of(shape=(0,)), make(0, 3)), {}
    yield (make(4, 3), 0, tensor_of(3, 0), make(3, 3)), {}
    yield (make(4, 3), 0, tensor_of(3, 0), make(2, 2)), {}
    yield (make(4, 3), 0, tensor_of(3, 0), make(2, 3, dtype="float64")), {}
    yield (make(4, 3), 0, tensor_of(3, 0, dtype="float32"), make(2, 3)), {}


@sample
def index_copy(make):
    yield (make(4, 3), 0, tensor_of(3, 0), make(2, 3)), {}
    yield (make(4, 3), -1, tensor_of(2), make(4, 1)), {}
    yield (make(2, 3, 4), 1, tensor_of(1, 0), make(2, 2, 4)), {}
    yield (make(3), 0, tensor_of(1, shape=()), make()), {}
    yield (make(), 0, tensor_of(0), make()), {}
    yield (make(), 0, tensor_of(0), make(1)), {}
    yield (make(1), 0, tensor_of(0), make()), {}
    yield (make(4, 3), 0, tensor_of(shape=(0,)), make(0, 3)), {}
    yield (make(1), 0, tensor_of(0, shape=(1, 1)), make(1)), {}
    yield (make(1), 0, tensor_of(0, dtype="int32"), make(1)), {}
    table = replace(make(4, 3), expandable=False)           # torch complains of overlapping elements first
    yield (table, 0, tensor_of(3, 0), make(3, 3)), {}
    yield (table, 0, tensor_of(3, 0), make(2, 2)), {}
    yield (table, 0, tensor_of(3), make(3)), {}
    yield (table, 0, tensor_of(3), make()), {}
    yield (table, 0, tensor_of(3, 0), make(2, 3, dtype="float64")), {}
    yield (table, 2, tensor_of(3, 0), make(2, 3)), {}


@sample
def index_fill(make):
    for number in make.numbers:
        yield (make(4, 3), 0, tensor_of(3, 0), number), {}
    yield (make(2, 3, 4), -2, tensor_of(1, -1, 1), 2), {}
    yield (make(3), 0, tensor_of(1, shape=()), 2), {}
    yield (make(), 0, tensor_of(0, 0), 2), {}
    yield (make(4, 3), 1, tensor_of(shape=(0,)), 2), {}
    yield (make(0, 3), 1, tensor_of(2), 2), {}
    yield from (((make(4, 3), 0, tensor_of(1), number), {}) for number in (300, 1j))
    yield (make(4, 3), 0, tensor_of(1, dtype="int32"), 2), {}
    yield (make(4, 3), 0, tensor_of(0, shape=(1, 1)), 2), {}
    yield (make(4, 3), 2, tensor_of(0), 2), {}


@sample
def index_fill_tensor(make):
    yield (make(4, 3), 0, tensor_of(3, 0), make()), {}
    yield (make(2, 3, 4), -2, tensor_of(1, -1, 1), make()), {}
    yield (make(3), 0, tensor_of(1, shape=()), make()), {}
    yield (make(), 0, tensor_of(0), make()), {}
    yield (make(4, 3), 1, tensor_of(shape=(0,)), make()), {}
    yield (make(4, 3), 0, tensor_of(1), make(dtype="float32")), {}
    yield (make(4, 3), 0, tensor_of(1), make(dtype="complex64")), {}
    yield (make(4, 3), 0, tensor_of(1), make(1)), {}
    yield (make(4, 3), 0, tensor_of(0, shape=(1, 1)), make()), {}


@sample
def take(make):
    yield (make(2, 3), tensor_of(0, 5, -1, 5)), {}
    yield (make(2, 3), tensor_of(0, 4, 1, 1, shape=(2, 2))), {}
    yield (make(2, 3), tensor_of(3, shape=())), {}
    yield (make(), tensor_of(0, 0)), {}
    yield (make(2, 3), tensor_of(shape=(0,))), {}
    yield (make(0), tensor_of(shape=(0,))), {}
    yield (make(0), tensor_of(0)), {}
    yield (make(2, 3), tensor_of(0, dtype="int32")), {}


@sample
def put(make):
    for accumulate in (False, True):
        yield (make(2, 3), tensor_of(5, 0, -2), make(3), accumulate), {}
        yield (make(2, 3), tensor_of(5, 0, 2, 1, shape=(2, 2)), make(4), accumulate), {}
        yield (make(), tensor_of(0, shape=()), make(), accumulate), {}
    yield (make(2, 3), tensor_of(1, 1, 1), make(3), True), {}
    yield (make(2, 3), tensor_of(shape=(0,)), make(0)), {}
    yield (make(0), tensor_of(0), make(1)), {}
    yield (make(2, 3), tensor_of(1), make(2)), {}
    yield (make(2, 3), tensor_of(1, dtype="int32"), make(1)), {}
    yield (make(2, 3), tensor_of(1), make(1, dtype="float64")), {}


@sample
def masked_select(make):
    for shape in ((3, 4), (4,), (3, 1), ()):
        yield (make(3, 4), make(*shape, dtype="bool")), {}
    yield (make(4), make(3, 4, dtype="bool")), {}
    yield (make(), make(3, 4, dtype="bool")), {}
    yield (make(), make(dtype="bool")), {}
    yield (make(0, 3), make(3, dtype="bool")), {}
    yield (make(2, 2), tensor_of(False, False, shape=(1, 2), dtype="bool")), {}
    yield (make(3), make(3, dtype="uint8")), {}
    yield (make(3), make(2, dtype="bool")), {}


@sample
def masked_scatter(make):
    for shape in ((3, 4), (4,), (3, 1), ()):
        yield (make(3, 4), make(*shape, dtype="bool"), make(12)), {}
    yield (make(3, 4), make(3, 4, dtype="bool"), make(4, 4)), {}
    yield (make(4), make(3, 4, dtype="bool"), make(12)), {}
    yield (make(), make(dtype="bool"), make(1)), {}
    yield (make(0, 3), make(3, dtype="bool"), make(0)), {}
    yield (make(3), make(3, dtype="uint8"), make(3)), {}
    yield (make(3), make(3, dtype="bool"), make(3, dtype="float64")), {}
    yield (make(3), make(2, dtype="bool"), make(3)), {}


@sample
def masked_fill(make):
    for shape in ((3, 4), (4,), (3, 1), ()):
        yield (make(3, 4), make(*shape, dtype="bool"), 2), {}
    yield (make(4), make(3, 4, dtype="bool"), 1), {}
    yield (make(), make(dtype="bool"), 1), {}
    yield (make(0, 3), make(3, dtype="bool"), 1), {}
    yield (make(3), make(3, dtype="uint8"), 1), {}
    yield from (((make(3), make(3, dtype="bool"), number), {}) for number in (1.5, True, 300))


@sample
def masked_fill_tensor(make):
    for shape in ((3, 4), (4,), (3, 1), ()):
        yield (make(3, 4), make(*shape, dtype="bool"), make()), {}
    yield (make(3, 4), make(4, dtype="bool"), make(1)), {}


@sample
def embedding_renorm(make):
    def table(*shape, **options):
        return replace(make(*shape, **options), expandable=False)
    for p in (2.0, 1.0, 3.5, float("inf")):
        yield (table(5, 3), tensor_of(0, 2, 2, shape=(3,)), 1.0, p), {}
    yield (table(5, 3), tensor_of(0, 4, 1, 1, shape=(2, 2), dtype="int32"), 0.5, 2.0), {}
    yield (table(5, 3), tensor_of(1, shape=()), 100.0, 2.0), {}
    yield (table(5, 3, dtype="float32"), tensor_of(shape=(0,)), 1.0, 2.0), {}
    yield (table(5), tensor_of(0), 1.0, 2.0), {}
    yield (table(5, 3), tensor_of(0, dtype="float32"), 1.0, 2.0), {}


@sample
def one_hot(make):
    yield (tensor_of(0, 2, 1),), {}
    yield (tensor_of(0, 2, 1, 1, shape=(2, 2)), 5), {}
    yield (tensor_of(1, shape=()), 3), {}
    yield (tensor_of(shape=(0,)), 3), {}
    yield (tensor_of(shape=(0,)),), {}
    yield (tensor_of(0, 2), 0), {}
    yield (tensor_of(0, 2), -5), {}
    yield (tensor_of(-1, -1),), {}
    yield (tensor_of(0, 2, dtype="int32"),), {}
