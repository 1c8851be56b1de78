"""default_collate and default_convert beside torch's: nested containers, arrays, numbers, refusals."""
from collections import OrderedDict, UserDict, UserList, defaultdict, namedtuple
from types import MappingProxyType

import numpy as np
import pytest
from both import OURS, assert_alike

Point = namedtuple("Point", ["x", "y"])

BATCHES = {
    "tensors": lambda s: [s.t.arange(3), s.t.arange(3) + 1],
    "tensors of two sizes": lambda s: [s.t.ones(3), s.t.ones(2)],
    "tuple of tensors": lambda s: (s.t.ones(3), s.t.ones(3)),
    "ints": lambda s: [1, 2, 3],
    "floats": lambda s: [1.5, 2.5],
    "truths": lambda s: [True, False],
    "texts": lambda s: ["a", "bc"],
    "bytes": lambda s: [b"a", b"bc"],
    "arrays": lambda s: [np.arange(3, dtype=np.int32), np.ones(3, np.int32)],
    "arrays without dimension": lambda s: [np.array(1.5), np.array(2.5)],
    "NumPy numbers": lambda s: [np.float32(1), np.float32(2)],
    "NumPy truths": lambda s: [np.bool_(True), np.bool_(False)],
    "NumPy texts": lambda s: [np.str_("a"), np.str_("b")],
    "arrays of texts": lambda s: [np.array(["a"]), np.array(["b"])],
    "arrays of objects": lambda s: [np.array([None]), np.array([None])],
    "dicts": lambda s: [{"a": 1, "b": [1, 2.0]}, {"a": 2, "b": [3, 4.0]}],
    "ordered dicts": lambda s: [OrderedDict(a=1), OrderedDict(a=2)],
    "dicts of another type": lambda s: [defaultdict(int, a=1), defaultdict(int, a=2)],
    "dicts of a user": lambda s: [UserDict(a=1), UserDict(a=2)],
    "mappings that stay": lambda s: [MappingProxyType({"a": 1}), MappingProxyType({"a": 2})],
    "namedtuples": lambda s: [Point(1, 2.0), Point(3, 4.0)],
    "tuples": lambda s: [(1, "a"), (2, "b")],
    "lists": lambda s: [[1, "a"], [2, "b"]],
    "lists of a user": lambda s: [UserList([1, 2]), UserList([3, 4])],
    "ranges": lambda s: [range(2), range(2, 4)],
    "uneven": lambda s: [[1, 2], [3]],
    "uneven later": lambda s: [(1,), (3,), (4, 5)],
    "nested": lambda s: [(Point({"a": np.ones(2)}, [1]), "x")] * 2,
    "objects": lambda s: [object, object],
    "sets": lambda s: [{1}, {2}],
    "nothing": lambda s: [None],
    "no samples": lambda s: [],
    "empty lists": lambda s: [[], []],
}
SAMPLES = {
    "text array": np.array(["a"]), "object array": np.array([None]), "array": np.arange(2), "number": np.int16(3),
    "text": "abc", "int": 4, "NumPy text": np.str_("a"), "dict": {"a": np.ones(1)}, "tuple": (np.ones(1), 2),
    "namedtuple": Point(np.ones(1), 2), "list": [np.ones(1), [np.zeros(1)]], "range": range(3),
    "ordered": OrderedDict(a=np.ones(1)), "mapping": MappingProxyType({"a": np.ones(1)}), "bytes": b"ab", "none": None,
}


@pytest.mark.quick
@pytest.mark.parametrize("case", BATCHES)
def test_default_collate(case):
    assert_alike(lambda side: side.d.default_collate(BATCHES[case](side)))


@pytest.mark.quick
@pytest.mark.parametrize("case", SAMPLES)
def test_default_convert(case):
    def convert(side):
        converted = side.d.default_convert(SAMPLES[case])
        return [type(converted).__name__, "array" if isinstance(converted, np.ndarray) else converted]
    assert_alike(convert)


@pytest.mark.quick
def test_containers_stay_as_they_were():
    batch = [{"a": [1, 2]}, {"a": [3, 4]}]
    OURS.d.default_collate(batch)
    OURS.d.default_convert(batch)
    assert batch == [{"a": [1, 2]}, {"a": [3, 4]}]


@pytest.mark.quick
def test_a_collate_function_of_ones_own_type():
    from mindtorch.utils.data._utils.collate import collate, default_collate_fn_map
    table = {**default_collate_fn_map, set: lambda batch, *, collate_fn_map: sorted(set.union(*batch))}
    assert collate([({1}, 1), ({2}, 2)], collate_fn_map=table)[0] == [1, 2]


def test_tensors_stay_on_their_device(device):
    tensors = [OURS.t.ones(2, device=device), OURS.t.zeros(2, device=device)]
    batch = OURS.d.default_collate([{"x": tensor} for tensor in tensors])["x"]
    assert batch.device.type == device
    assert batch.tolist() == [[1, 1], [0, 0]]
