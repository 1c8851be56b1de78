"""torch.utils._pytree: flattens nested containers to their leaves and rebuilds them."""
from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from types import UnionType
from typing import Any, NamedTuple, Self

from mindtorch import Size, return_types

__all__ = ["GetAttrKey", "KeyEntry", "KeyPath", "LeafSpec", "MappingKey", "PyTree", "SequenceKey", "TreeSpec",
           "arg_tree_leaves", "is_namedtuple", "is_namedtuple_class", "is_namedtuple_instance",
           "is_structseq_instance", "key_get", "keystr", "register_dataclass", "register_pytree_node", "tree_all",
           "tree_all_only", "tree_any", "tree_any_only", "tree_flatten", "tree_flatten_with_path", "tree_is_leaf",
           "tree_iter", "tree_leaves", "tree_leaves_with_path", "tree_map", "tree_map_", "tree_map_only",
           "tree_map_only_", "tree_map_with_path", "tree_structure", "tree_unflatten", "treespec_dumps",
           "treespec_loads"]

PyTree = Any
Context = Any


# --- paths ------------------------------------------------------------------------------------------------------------

@dataclass(frozen=True)
class SequenceKey:
    """The step to an element of a sequence."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """The element."""
        return sequence[self.idx]


@dataclass(frozen=True)
class MappingKey:
    """The step to a value of a mapping."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """The value."""
        return mapping[self.key]


@dataclass(frozen=True)
class GetAttrKey:
    """The step to an attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """The attribute."""
        return getattr(obj, self.name)


KeyEntry = SequenceKey | MappingKey | GetAttrKey
KeyPath = tuple[KeyEntry, ...]


def keystr(kp: Any) -> str:
    """A path as text: "['a'][0].x"."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: Any) -> Any:
    """The node at the end of a path."""
    for key in kp:
        obj = key.get(obj)
    return obj


# --- kinds of containers ----------------------------------------------------------------------------------------------

class NodeDef(NamedTuple):
    """How one class of containers is taken apart: (children, context), and put together; and its paths."""

    type: type
    flatten_fn: Any
    unflatten_fn: Any
    flatten_with_keys_fn: Any


SUPPORTED_NODES = {}
_DUMPED = {}            # class -> (its name in JSON, context to what JSON can hold or None, the way back or None)


def _register(cls, flatten, unflatten, keys):
    def flatten_with_keys(container):
        children, context = flatten(container)
        return list(zip(keys(container, context), children, strict=True)), context
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten, unflatten, flatten_with_keys)


def _indices(container, context):
    return map(SequenceKey, range(len(container)))


def _mapping_keys(container, context):
    return map(MappingKey, container)


def _flatten_mapping(container):
    return list(container.values()), list(container)


def _unflatten_defaultdict(children, context):
    factory, names = context
    return defaultdict(factory, zip(names, children, strict=True))


_register(tuple, lambda t: (list(t), None), lambda children, context: tuple(children), _indices)
_register(list, lambda t: (list(t), None), lambda children, context: list(children), _indices)
_register(dict, _flatten_mapping, lambda children, names: dict(zip(names, children, strict=True)), _mapping_keys)
_register(OrderedDict, _flatten_mapping, lambda children, names: OrderedDict(zip(names, children, strict=True)),
          _mapping_keys)
_register(defaultdict, lambda t: (list(t.values()), [t.default_factory, list(t)]), _unflatten_defaultdict,
          _mapping_keys)
_register(deque, lambda t: (list(t), t.maxlen), lambda children, maxlen: deque(children, maxlen=maxlen), _indices)
# The function stands for all classes that it makes.
_register(namedtuple, lambda t: (list(t), type(t)), lambda children, cls: cls(*children),
          lambda container, cls: map(GetAttrKey, cls._fields))

_register(Size, lambda t: (list(t), None), lambda children, context: tuple(children), _indices)
for _cls in [kind for kind in vars(return_types).values() if isinstance(kind, type) and issubclass(kind, tuple)]:
    _register(_cls, lambda t: (list(t), None), lambda children, _, cls=_cls: cls(children), _indices)


def register_pytree_node(cls: type[Any], flatten_fn: Any, unflatten_fn: Any, *, serialized_type_name: str | None = None,
                         to_dumpable_context: Any = None, from_dumpable_context: Any = None,
                         flatten_with_keys_fn: Any = None) -> None:
    """Has containers of class `cls` taken apart: flatten_fn(container) -> (children, context), and
    unflatten_fn(children, context) -> container. ValueError for a class that is known already.

    flatten_with_keys_fn gives pairs of a key and a child in place of children. treespec_dumps writes the class as
    `serialized_type_name`, and the context as the two functions translate it.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls!r} is already registered as pytree node.")
    if (to_dumpable_context is None) is not (from_dumpable_context is None):
        raise ValueError(f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered.")
    if serialized_type_name is not None:
        _DUMPED[cls] = (serialized_type_name, to_dumpable_context, from_dumpable_context)
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)


_register_pytree_node = register_pytree_node


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """A TreeSpec as JSON. NotImplementedError for classes that have no name there."""
    from mindtorch.utils._treespec_json import dumps
    return dumps(treespec, protocol)


def treespec_loads(serialized: str) -> TreeSpec:
    """The TreeSpec that treespec_dumps has written."""
    from mindtorch.utils._treespec_json import loads
    return loads(serialized)


def register_dataclass(cls: type[Any], *, field_names: list[str] | None = None,
                       drop_field_names: list[str] | None = None, serialized_type_name: str | None = None) -> None:
    """Has instances of a data class taken apart into their fields.

    Where not all are meant, `field_names` lists those that are and `drop_field_names` those that keep their defaults;
    ValueError where the two do not account for all fields.
    """
    if not is_dataclass(cls) and field_names is None:
        raise ValueError("field_names must be specified with a list of all fields used to initialize "
                         f"{cls}, as it is not a dataclass.")
    known = {field.name for field in fields(cls) if field.init} if is_dataclass(cls) else set(field_names)
    names = [field.name for field in fields(cls) if field.init] if field_names is None else list(field_names)
    missing = known - set(names) - set(drop_field_names or () if field_names else ())
    unexpected = set(names) - known
    if missing or unexpected:
        raise ValueError("field_names does not include all dataclass fields.\n"
                         + (f"Missing fields in `field_names`: {missing}.\n" if missing else "")
                         + (f"Unexpected fields in `field_names`: {unexpected}.\n" if unexpected else ""))
    register_pytree_node(
        cls, lambda obj: ([getattr(obj, name) for name in names], [names, []]),
        lambda children, _: cls(**dict(zip(names, children, strict=True))),
        flatten_with_keys_fn=lambda obj: ([(GetAttrKey(name), getattr(obj, name)) for name in names], [names, []]))


def is_namedtuple(obj: object | type) -> bool:
    """Whether `obj` is a named tuple, or a class of them."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_namedtuple_instance(obj: object) -> bool:
    """Whether `obj` is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_structseq_instance(obj: object) -> bool:
    """Whether an object is a struct sequence of C, such as torch.return_types.max."""
    return isinstance(obj, tuple) and all(hasattr(type(obj), name) for name in ("n_fields", "n_sequence_fields"))


def is_namedtuple_class(cls: type) -> bool:
    """Whether `cls` is a class of named tuples."""
    return isinstance(cls, type) and issubclass(cls, tuple) and isinstance(getattr(cls, "_fields", None), tuple)


def _get_node_type(tree):
    """The class of an object; collections.namedtuple for all classes of named tuples that are not registered."""
    if type(tree) not in SUPPORTED_NODES and is_namedtuple(tree):
        return namedtuple
    return type(tree)


def _node_type(tree):
    """The key of SUPPORTED_NODES for an object; None for a leaf."""
    kind = _get_node_type(tree)
    return kind if kind in SUPPORTED_NODES else None


def tree_is_leaf(tree: Any, is_leaf: Any = None) -> bool:
    """Whether `tree` is no container, or one that is_leaf(tree) says to leave whole."""
    return (is_leaf is not None and is_leaf(tree)) or _node_type(tree) is None


# torch's names for the functions of its own containers: _dict_flatten, _dict_unflatten, _dict_flatten_with_keys.
for _name, _cls in {"tuple": tuple, "list": list, "dict": dict, "namedtuple": namedtuple, "ordereddict": OrderedDict,
                    "defaultdict": defaultdict, "deque": deque}.items():
    globals().update({f"_{_name}_flatten": SUPPORTED_NODES[_cls].flatten_fn,
                      f"_{_name}_unflatten": SUPPORTED_NODES[_cls].unflatten_fn,
                      f"_{_name}_flatten_with_keys": SUPPORTED_NODES[_cls].flatten_with_keys_fn})


# --- structures -------------------------------------------------------------------------------------------------------

class TreeSpec:
    """The structure of nested containers without the leaves."""

    def __init__(self, type: Any, context: Any, children: Any) -> None:
        self.type = type                # None for a leaf
        self._context = context
        self._children = children

    context = property(lambda self: self._context)
    num_children = property(lambda self: len(self._children))

    @cached_property
    def num_leaves(self) -> Any:
        return 1 if self.type is None else sum(child.num_leaves for child in self._children)

    @cached_property
    def num_nodes(self) -> Any:
        return 1 + sum(child.num_nodes for child in self._children)

    def is_leaf(self) -> bool:
        """Whether it is the structure of a single leaf."""
        return self.type is None

    def children(self) -> list[Self]:
        """The structures of the container's items."""
        return list(self._children)

    def child(self, index: int) -> Self:
        """The structure of one item."""
        return self._children[index]

    def __eq__(self, other: Any) -> bool:
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return (self.type, self._context, self._children) == (other.type, other._context, other._children)

    def __hash__(self) -> int:
        context = self._context
        return hash((self.type, repr(context) if isinstance(context, list) else context, tuple(self._children)))

    def __repr__(self, indent: int = 0) -> str:
        if self.type is None:
            return "*"
        prefix = f"TreeSpec({self.type.__name__}, {self._context}, ["
        indent += 2
        inner = (",\n" + " " * indent).join(child.__repr__(indent) for child in self._children)
        return f"{prefix}{inner}])"

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The containers with those leaves. ValueError for another number of them."""
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a "
                             f"pytree that holds {self.num_leaves} items ({self}).")
        return self._build(iter(leaves))

    def _build(self, leaves):
        if self.type is None:
            return next(leaves)
        children = [child._build(leaves) for child in self._children]
        return SUPPORTED_NODES[self.type].unflatten_fn(children, self._context)

    def flatten_up_to(self, tree: Any) -> Any:
        """The subtrees of `tree` at the leaves of this structure. ValueError if `tree` has another structure."""
        if self.type is None:
            return [tree]
        found = _node_type(tree)
        if found is not self.type:
            raise ValueError(f"Node type mismatch; expected {self.type!r}, but got {found or type(tree)!r}.")
        items, context = _items(tree)
        if len(items) != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(items)}.")
        if isinstance(tree, dict):
            items = self._in_order(tree)
        elif context != self._context:
            raise ValueError(f"Node context mismatch for custom node type {self.type!r}.")
        return [leaf for child, item in zip(self._children, items, strict=True) for leaf in child.flatten_up_to(item)]

    def _in_order(self, mapping):
        names = self._context[1] if self.type is defaultdict else self._context
        if set(names) != set(mapping):
            missing, extra = set(names) - set(mapping), set(mapping) - set(names)
            told = (f"; missing key(s): {missing}" if missing else "") + (f"; extra key(s): {extra}" if extra else "")
            raise ValueError(f"Node keys mismatch{told}.")
        return [mapping[name] for name in names]


_LEAF = TreeSpec(None, None, [])


class _MetaLeafSpec(type):
    def __instancecheck__(cls, instance: Any) -> Any:
        return isinstance(instance, TreeSpec) and instance.is_leaf()


class LeafSpec(TreeSpec, metaclass=_MetaLeafSpec):
    """The structure of a single leaf."""

    def __init__(self) -> None:
        super().__init__(None, None, [])


def _items(tree):
    """(children, context) of a container."""
    return SUPPORTED_NODES[_node_type(tree)].flatten_fn(tree)


def _flatten(tree, leaves, is_leaf):
    if tree_is_leaf(tree, is_leaf):
        leaves.append(tree)
        return _LEAF
    items, context = _items(tree)
    return TreeSpec(_node_type(tree), context, [_flatten(item, leaves, is_leaf) for item in items])


# --- functions on trees -----------------------------------------------------------------------------------------------

def tree_flatten(tree: Any, is_leaf: Any = None) -> tuple[list[Any], TreeSpec]:
    """(list of leaves, TreeSpec). What is in no known container is a leaf, None too."""
    leaves = []
    spec = _flatten(tree, leaves, is_leaf)
    return leaves, spec


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """The containers of `treespec` with those leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"Expected `treespec` to be an instance of PyTreeSpec but got item of type {type(treespec)}.")
    return treespec.unflatten(leaves)


def tree_iter(tree: Any, is_leaf: Any = None) -> Iterable[Any]:
    """The leaves, one after the other."""
    if tree_is_leaf(tree, is_leaf):
        yield tree
        return
    for item in _items(tree)[0]:
        yield from tree_iter(item, is_leaf)


def tree_leaves(tree: Any, is_leaf: Any = None) -> list[Any]:
    """The leaves, as a list."""
    return list(tree_iter(tree, is_leaf))


def tree_structure(tree: Any, is_leaf: Any = None) -> TreeSpec:
    """The TreeSpec."""
    return tree_flatten(tree, is_leaf)[1]


def arg_tree_leaves(*args: Any, **kwargs: Any) -> list[Any]:
    """The leaves of all arguments."""
    return tree_leaves((args, kwargs))


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Any = None) -> Any:
    """func(leaf, *others) for each leaf, in containers as before; `rests` are built alike, at least down to there."""
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(map(func, leaves, *(spec.flatten_up_to(rest) for rest in rests)))


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Any = None) -> Any:
    """Calls func(leaf, *others) for each leaf, and returns `tree`."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _predicate(types_or_pred):
    if isinstance(types_or_pred, (type, tuple, UnionType)):
        return lambda leaf: isinstance(leaf, types_or_pred)
    if callable(types_or_pred):
        return types_or_pred
    raise TypeError("Argument must be a type, a tuple of types, or a callable.")


def tree_map_only(type_or_types_or_pred: Any, /, func: Any, tree: Any, is_leaf: Any = None) -> Any:
    """func(leaf) for the leaves of a type, or that a predicate picks; the others as they are."""
    picks = _predicate(type_or_types_or_pred)
    return tree_map(lambda leaf: func(leaf) if picks(leaf) else leaf, tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred: Any, /, func: Any, tree: Any, is_leaf: Any = None) -> Any:
    """Calls func(leaf) for the leaves of a type, or that a predicate picks, and returns `tree`."""
    tree_map_only(type_or_types_or_pred, func, tree, is_leaf)
    return tree


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: Any = None) -> bool:
    """Whether `pred` is true of every leaf."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: Any = None) -> bool:
    """Whether `pred` is true of a leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types: Any, /, pred: Any, tree: Any, is_leaf: Any = None) -> bool:
    """Whether `pred` is true of every leaf of a type."""
    return all(pred(leaf) for leaf in tree_iter(tree, is_leaf) if isinstance(leaf, type_or_types))


def tree_any_only(type_or_types: Any, /, pred: Any, tree: Any, is_leaf: Any = None) -> bool:
    """Whether `pred` is true of a leaf of a type."""
    return any(pred(leaf) for leaf in tree_iter(tree, is_leaf) if isinstance(leaf, type_or_types))


def _with_paths(tree, path, is_leaf):
    if tree_is_leaf(tree, is_leaf):
        yield path, tree
        return
    with_keys = SUPPORTED_NODES[_node_type(tree)].flatten_with_keys_fn
    if with_keys is None:
        raise ValueError(f"Did not find a flatten_with_keys_fn for type: {type(tree)}. Please pass a "
                         "flatten_with_keys_fn argument to register_pytree_node.")
    for key, item in with_keys(tree)[0]:
        yield from _with_paths(item, (*path, key), is_leaf)


def tree_leaves_with_path(tree: Any, is_leaf: Any = None) -> Any:
    """Pairs of a leaf's path, a tuple of keys, and the leaf."""
    return list(_with_paths(tree, (), is_leaf))


def tree_flatten_with_path(tree: Any, is_leaf: Any = None) -> Any:
    """(pairs of path and leaf, TreeSpec)."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Any = None) -> Any:
    """func(path, leaf, *others) for each leaf, in containers as before."""
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    rests = [spec.flatten_up_to(rest) for rest in rests]
    return spec.unflatten(func(*pair, *others) for pair, *others in zip(pairs, *rests, strict=True))
