"""torch.utils._pytree, torch.overrides and torch.types, beside torch 2.13."""
import collections
import dataclasses
import pickle

import pytest
import torch
import torch.overrides
import torch.utils._pytree

import mindtorch

Point = collections.namedtuple("Point", "x y")
TREE = {"b": [1, (2, None)], "a": Point(3, []), "o": collections.OrderedDict(z=4, y=5),
        "d": collections.defaultdict(list, k=6), "q": collections.deque([7, 8], maxlen=3)}

DUMPED = {"b": [1, (2, None)], "o": collections.OrderedDict(z=4), "d": collections.defaultdict(list, k=6),
          "q": collections.deque([7, 8], maxlen=3)}


def registered(module, call, **options):
    """What `call` finds out about a class of containers that is registered with the options."""
    class Own:
        def __init__(self, value):
            self.value = value
    module.register_pytree_node(Own, lambda own: ([own.value], ("c",)), lambda values, _: Own(*values), **options)
    return call(Own)


CALLS = {
    "flatten": lambda t: t.tree_flatten(TREE),
    "a leaf": lambda t: t.tree_flatten(5),
    "None": lambda t: t.tree_flatten(None),
    "empty": lambda t: [t.tree_structure(empty) for empty in ((), {}, [])],
    "slice": lambda t: t.tree_flatten(slice(1)),
    "round": lambda t: t.tree_unflatten(t.tree_leaves(TREE), t.tree_structure(TREE)),
    "too many": lambda t: t.tree_unflatten([1, 2], t.tree_structure(5)),
    "no spec": lambda t: t.tree_unflatten([1, 2], 3),
    "map": lambda t: t.tree_map(lambda x: x and -x, TREE),
    "two": lambda t: t.tree_map(lambda a, b: a + b, [1, 2], [3, 4]),
    "prefix": lambda t: t.tree_map(lambda a, b: (a, b), [1, 2], [3, [4]]),
    "no prefix": lambda t: t.tree_map(lambda a, b: (a, b), [1, [2]], [3, 4]),
    "arity": lambda t: t.tree_map(lambda a, b: a, [1], [1, 2]),
    "keys": lambda t: t.tree_map(lambda a, b: a, {"a": 1}, {"b": 2}),
    "order of keys": lambda t: t.tree_map(lambda a, b: a + b, {"a": 1, "b": 2}, {"b": 30, "a": 40}),
    "types": lambda t: t.tree_map(lambda a, b: a, [1], (1,)),
    "only": lambda t: t.tree_map_only(int, str, [1, "a", 2.5]),
    "only some": lambda t: t.tree_map_only((int, str), lambda x: x * 2, [1, "a", 2.5]),
    "only one": lambda t: t.tree_map_only(lambda x: x == 1, lambda x: 9, [1, 2]),
    "in place": lambda t: (t.tree_map_(str, [1]), t.tree_map_only_(int, str, [1])),
    "all": lambda t: [t.tree_all(bool, [1, 0]), t.tree_any(bool, [1, 0]), t.tree_all_only(int, bool, [1, "", 0]),
                      t.tree_any_only(int, bool, ["a", 0])],
    "is_leaf": lambda t: t.tree_leaves([[1, 2], 3], is_leaf=lambda x: x == [1, 2]),
    "paths": lambda t: [(t.keystr(path), leaf) for path, leaf in t.tree_leaves_with_path(TREE)],
    "map with paths": lambda t: t.tree_map_with_path(lambda path, a, b: t.keystr(path) + str(b), [1, {"k": 2}],
                                                     [3, {"k": 4}]),
    "key_get": lambda t: [t.key_get(TREE, path) for path, _ in t.tree_leaves_with_path(TREE)],
    "counts": lambda t: [getattr(t.tree_structure(TREE), name) for name in (
        "num_leaves", "num_nodes", "num_children", "type", "context")],
    "children": lambda t: (t.tree_structure(TREE).children(), t.tree_structure(5).is_leaf()),
    "arguments": lambda t: t.arg_tree_leaves(1, [2], a=3),
    "iter": lambda t: list(t.tree_iter(TREE)),
    "questions": lambda t: [t.tree_is_leaf([1]), t.tree_is_leaf(1), t.is_namedtuple(Point(1, 2)),
                            t.is_namedtuple((1, 2))],
    "functions": lambda t: [
        t._dict_flatten({"b": 1, "a": 2}), t._dict_unflatten([1], ["a"]), t._dict_flatten_with_keys({"a": 1}),
        t._list_flatten_with_keys([4]), t._tuple_flatten((4,)), t._namedtuple_flatten_with_keys(Point(1, 2))],
    "structures": lambda t: [t.is_namedtuple_class(Point), t.is_namedtuple_class(3), t.is_namedtuple_instance(Point)],
    "dumps": lambda t: t.treespec_dumps(t.tree_structure(DUMPED)),
    "loads": lambda t: t.treespec_loads(t.treespec_dumps(t.tree_structure(DUMPED))) == t.tree_structure(DUMPED),
    "loads of text": lambda t: t.treespec_loads("x"),
    "dumps of a spec only": lambda t: t.treespec_dumps(3),
    "dumps protocol": lambda t: t.treespec_dumps(t.tree_structure(3), 7),
    "loads protocol": lambda t: t.treespec_loads('[2, {}]'),
    "loads unknown": lambda t: t.treespec_loads('[1, {"type": "no", "context": "null", "children_spec": []}]'),
    "dumps own": lambda t: registered(t, lambda cls: t.treespec_dumps(t.tree_structure(cls(1))),
                                      serialized_type_name="my.Own"),
    "dumps own without a name": lambda t: registered(t, lambda cls: t.treespec_dumps(t.tree_structure(cls(1)))),
    "dumps own context": lambda t: registered(
        t, lambda cls: t.treespec_loads(t.treespec_dumps(t.tree_structure(cls(1)))) == t.tree_structure(cls(1)),
        serialized_type_name="my.Other", to_dumpable_context=list, from_dumpable_context=tuple),
    "half a context": lambda t: registered(t, str, to_dumpable_context=list),
    "own paths": lambda t: registered(
        t, lambda cls: [(t.keystr(path), leaf) for path, leaf in t.tree_flatten_with_path([cls(1)])[0]],
        flatten_with_keys_fn=lambda own: ([(t.GetAttrKey("value"), own.value)], "c")),
    "no paths": lambda t: registered(t, lambda cls: t.tree_flatten_with_path(cls(1))),
    "equal": lambda t: [t.tree_structure([1, 2]) == t.tree_structure([3, 4]),
                        t.tree_structure([1]) == t.tree_structure((1,)),
                        len({t.tree_structure([1, 2]), t.tree_structure([3, 4])})],
}


def outcome(call, module):
    try:
        return repr(call(module))
    except Exception as error:      # noqa: BLE001 - any exception is an outcome
        return type(error).__name__, str(error)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_trees(call):
    assert outcome(call, mindtorch.utils._pytree) == outcome(call, torch.utils._pytree)


@pytest.mark.parametrize("lib", [mindtorch, torch], ids=["mindtorch", "torch"])
def test_own_classes(lib):
    """The same results from both."""
    pytree = lib.utils._pytree

    class Bag(list):
        pass

    @dataclasses.dataclass
    class Pair:
        left: object
        right: object = None
        note: str = "none"

    pytree.register_pytree_node(Bag, lambda bag: (list(bag), "bag"), lambda items, context: Bag(items))
    pytree.register_dataclass(Pair, field_names=["left", "right"], drop_field_names=["note"])
    with pytest.raises(ValueError, match="is already registered as pytree node"):
        pytree.register_pytree_node(Bag, list, Bag)
    with pytest.raises(ValueError, match="Did not find a flatten_with_keys_fn for type"):
        pytree.tree_leaves_with_path(Bag([1]))
    with pytest.raises(ValueError, match="field_names does not include all dataclass fields"):
        pytree.register_dataclass(dataclasses.make_dataclass("Other", "ab"), field_names=["a"])
    made = pytree.tree_map(lambda x: x + 1, Pair(Bag([1, 2]), 3, "lost"))
    assert made == Pair(Bag([2, 3]), 4)
    assert type(made.left) is Bag
    assert [pytree.keystr(path) for path, _ in pytree.tree_flatten_with_path(Pair(1, [2]))[0]] == [".left", ".right[0]"]
    values, spec = pytree.tree_flatten([lib.Size([2, 3]), lib.ones(2).max(0)])
    assert values[:2] == [2, 3]
    assert pytree.tree_unflatten(values, spec)[1].values.item() == 1
    assert pytree.tree_unflatten(values, spec)[0] == (2, 3)


@pytest.mark.parametrize("lib", [mindtorch, torch], ids=["mindtorch", "torch"])
def test_overrides(lib):
    class Stand:
        @classmethod
        def __torch_function__(cls, function, types, args, kwargs=None):
            return "answer", types, args

    class Refuses(Stand):
        @classmethod
        def __torch_function__(cls, function, types, args, kwargs=None):
            return NotImplemented

    def api():
        raise AssertionError

    overrides = lib.overrides
    stand = Stand()
    assert [overrides.is_tensor_like(x) for x in (lib.ones(1), stand, 3, [lib.ones(1)])] == [True, True, False, False]
    assert overrides.has_torch_function((1, stand))
    assert not overrides.has_torch_function((1, "a"))
    answer, types, args = overrides.handle_torch_function(api, (stand, Refuses(), 1), 5)
    assert (answer, set(types), args) == ("answer", {Stand, Refuses}, (5,))
    with pytest.raises(TypeError, match="api"):
        overrides.handle_torch_function(api, (Refuses(),), 5)
    assert overrides.is_tensor_method_or_property(lib.Tensor.add)
    assert not overrides.is_tensor_method_or_property(lib.add)


def test_types():
    from mindtorch.types import Number, _dtype, _size
    assert isinstance(mindtorch.float32, _dtype)
    assert isinstance(2.5, Number)
    assert _size


@pytest.mark.parametrize("lib", [mindtorch, torch], ids=["mindtorch", "torch"])
@pytest.mark.parametrize("text", ["2.13.0", "2.13.0+cpu", "2.1.0a0+git", "1.0rc1", "2.0.0.dev20230101", "2.0.post1"])
def test_versions(lib, text):
    version = lib.torch_version.TorchVersion(text)
    others = ["2.13", "2.13.0", "2.13.0+cpu", (2, 13), (2, 0), (2, 13, 0, "a"), "1.0", "parrot", "2.0", "2.1.0", [1, 0]]
    compared = [[version < other, version <= other, version == other, version >= other, version > other]
                for other in others]
    theirs = torch.torch_version.TorchVersion(text)
    assert compared == [[theirs < other, theirs <= other, theirs == other, theirs >= other, theirs > other]
                        for other in others]
    assert str(pickle.loads(pickle.dumps(version))) == text
    assert hash(version) == hash(text)


def test_own_version():
    from importlib.metadata import version

    from packaging.version import Version
    assert Version(mindtorch.__version__).release == Version(torch.__version__).release
    assert mindtorch.__version__.endswith(mindtorch.version.mindtorch)
    # A build for a release of CANN leaves its version, with "+cann", in the metadata of the tree.
    assert mindtorch.version.mindtorch.partition("+")[0] == version("mindtorch").partition("+")[0]
    assert mindtorch.__version__ >= "2.13"


@pytest.mark.filterwarnings("ignore:.*LeafSpec.* is deprecated:FutureWarning")
def test_leaves():
    for lib in (mindtorch, torch):
        tree = lib.utils._pytree
        assert tree.LeafSpec() == tree.tree_structure(1)
        assert tree.TreeSpec(list, None, [tree.LeafSpec(), tree.LeafSpec()]) == tree.tree_structure([1, 2])
        assert [tree._get_node_type(each) for each in (1, [], Point(1, 2))] == [int, list, collections.namedtuple]
    assert isinstance(mindtorch.utils._pytree.tree_structure(1), mindtorch.utils._pytree.LeafSpec)
    assert not isinstance(mindtorch.utils._pytree.tree_structure([1]), mindtorch.utils._pytree.LeafSpec)
